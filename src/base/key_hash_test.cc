#include "base/key_hash.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

KeyHash hash_of(const std::vector<std::string_view>& values, std::uint64_t rule_hash = 1) {
  return hash_key(Key{.rule = {}, .rule_hash = rule_hash, .identity = values});
}

TEST(KeyHash, EqualKeysHashAlikeAndOthersDoNot) {
  EXPECT_EQ(hash_of({"k1"}), hash_of({"k1"}));
  EXPECT_FALSE(hash_of({"k1"}) == hash_of({"k2"}));
  EXPECT_FALSE(hash_of({"k1"}, 1) == hash_of({"k1"}, 2));
}

TEST(KeyHash, ValuesNeverRunIntoEachOther) {
  EXPECT_FALSE(hash_of({"a", "b_c"}) == hash_of({"a_b", "c"}));
  EXPECT_FALSE(hash_of({"ab"}) == hash_of({"a", "b"}));
  EXPECT_FALSE(hash_of({}) == hash_of({""}));
  EXPECT_FALSE(hash_of({""}) == hash_of({"", ""}));
}

TEST(KeyHash, TakesAnyBytesAndAnyLength) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(hash_of({"a\0b"sv}) == hash_of({"a\0c"sv}));
  EXPECT_FALSE(hash_of({"\xff\xfe"sv}) == hash_of({"\xff\xff"sv}));
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  const std::string zeros(5000, '\0');
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    const KeyHash hash = hash_of({std::string_view{zeros}.substr(0, size)});
    EXPECT_TRUE(seen.emplace(hash.high, hash.low).second) << size;
  }
}

TEST(KeyHash, LastByteOfALongKeyMatters) {
  std::string a(100'000, 'x');
  std::string b = a;
  b.back() = 'y';
  EXPECT_FALSE(hash_of({a}) == hash_of({b}));
  EXPECT_FALSE(hash_of({a, "1"}) == hash_of({a, "2"}));
}

TEST(KeyHash, AnotherSeedGivesOtherHashes) {
  const KeySeed one;
  const KeySeed two;
  EXPECT_FALSE(one.hash("key") == two.hash("key"));
  EXPECT_FALSE(one.hash(std::uint64_t{7}) == two.hash(std::uint64_t{7}));
}

TEST(KeyHash, NumbersInARowSpreadOverAllBits) {
  const KeySeed seed;
  std::uint64_t high_or = 0;
  std::uint64_t high_and = ~std::uint64_t{0};
  std::set<std::uint32_t> tags;
  for (std::uint64_t number = 0; number < 4096; ++number) {
    const KeyHash hash = seed.hash(number);
    high_or |= hash.high;
    high_and &= hash.high;
    tags.insert(static_cast<std::uint32_t>(hash.low));
  }
  EXPECT_EQ(high_or, ~std::uint64_t{0});
  EXPECT_EQ(high_and, 0U);
  EXPECT_GE(tags.size(), 4090U);
}

}  // namespace
}  // namespace sluice
