#include "sluice/vocabulary/error_table.h"

#include <set>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ErrorTable, HasOneRowForEachCodeInTheOrderOfTheCodes) {
  for (std::size_t i = 0; i < kErrorTable.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kErrorTable[i].code), i);
  }
  EXPECT_EQ(static_cast<std::size_t>(ErrorCode::internal) + 1, kErrorTable.size());
}

TEST(ErrorTable, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (const ErrorMeaning& row : kErrorTable) names.insert(row.name);
  EXPECT_EQ(names.size(), kErrorTable.size());
}

TEST(ErrorTable, ARetryIsWorthItExactlyWhereTheServiceIsUnavailable) {
  for (const ErrorMeaning& row : kErrorTable) {
    EXPECT_EQ(row.is_worth_retrying, row.http_status == 503) << row.name;
    EXPECT_EQ(row.is_worth_retrying, row.grpc_status == 14) << row.name;
    EXPECT_EQ(row.is_worth_retrying, row.resp_prefix == "UNAVAILABLE") << row.name;
    EXPECT_EQ(row.is_worth_retrying, row.exit_status == 4) << row.name;
  }
}

TEST(ErrorTable, NoErrorLooksLikeARefusal) {
  for (const ErrorMeaning& row : kErrorTable) {
    EXPECT_NE(row.http_status, 429) << row.name;
    EXPECT_NE(row.exit_status, 3) << row.name;
    EXPECT_NE(row.exit_status, 0) << row.name;
  }
}

TEST(ErrorTable, ASilentStoreIsUnavailableEverywhere) {
  const ErrorMeaning& silent = meaning_of(ErrorCode::store_unavailable);
  EXPECT_EQ(silent.http_status, 503);
  EXPECT_EQ(silent.grpc_status, 14);
  EXPECT_EQ(silent.resp_prefix, "UNAVAILABLE");
  EXPECT_EQ(silent.exit_status, 4);
}

}  // namespace
}  // namespace sluice
