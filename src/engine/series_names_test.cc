#include "engine/series_names.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(SeriesNames, ANameKeepsItsNumber) {
  SeriesNames names{10};
  const std::uint32_t first = names.number_of("domain", "rule");
  const std::uint32_t second = names.number_of("domain", "other");
  EXPECT_NE(first, second);
  EXPECT_NE(first, 0U);
  EXPECT_EQ(names.number_of("domain", "rule"), first);
  EXPECT_EQ(names.name(first).domain, "domain");
  EXPECT_EQ(names.name(first).label, "rule");
}

TEST(SeriesNames, DomainAndLabelDoNotRunTogether) {
  SeriesNames names{10};
  EXPECT_NE(names.number_of("ab", "c"), names.number_of("a", "bc"));
}

TEST(SeriesNames, WhatFindsNoPlaceIsCountedTogether) {
  SeriesNames names{3};
  names.number_of("d", "1");
  names.number_of("d", "2");
  EXPECT_EQ(names.number_of("d", "3"), 0U);
  EXPECT_NE(names.number_of("d", "1"), 0U);
  EXPECT_EQ(names.name(0).label, "~other");
  EXPECT_EQ(names.size(), 3U);
}

TEST(SeriesNames, NamesMadeByCallersHaveABoundOfTheirOwn) {
  SeriesNames names{10};
  EXPECT_NE(names.detailed_number_of("d", "x=1", 2), 0U);
  EXPECT_NE(names.detailed_number_of("d", "x=2", 2), 0U);
  EXPECT_EQ(names.detailed_number_of("d", "x=3", 2), 0U);
  EXPECT_NE(names.detailed_number_of("d", "x=2", 2), 0U) << "known";
  EXPECT_NE(names.number_of("d", "rule"), 0U) << "rules do not compete with them";
}

}  // namespace
}  // namespace sluice
