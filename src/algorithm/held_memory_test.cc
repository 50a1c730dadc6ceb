// The algorithms that keep more than their 16 bytes: log and concurrency; and blocks.
#include <vector>

#include <gtest/gtest.h>

#include "sluice/algorithm/block_for.h"
#include "sluice/algorithm/decide.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LimitPlan log_of(std::uint32_t requests) {
  return make_plan(
      {.algorithm = Algorithm::sliding_log, .requests = requests, .period = seconds{10}});
}

LimitPlan permits_of(std::uint32_t requests) {
  return make_plan(
      {.algorithm = Algorithm::concurrency, .requests = requests, .permit_ttl = seconds{10}});
}

TEST(SlidingLog, WhoseRingIsFullCountsHitsLongerButNeverShorter) {
  const LimitPlan plan = log_of(10);
  std::vector<sliding_log::Entry> entries(1 + 2);
  State state;
  for (std::int64_t ms = 0; ms < 5; ++ms) {
    sliding_log::take(state, entries, plan, 1, Instant{} + milliseconds{ms});
  }
  EXPECT_FALSE(sliding_log::has_room(state, entries, plan, Instant{} + milliseconds{5}));
  EXPECT_EQ(sliding_log::peek(state, entries, plan, 0, Instant{} + seconds{10}).remaining, 6U);
  EXPECT_EQ(sliding_log::peek(state, entries, plan, 0, Instant{} + seconds{10} + milliseconds{3})
                .remaining,
            6U)
      << "joined the newest, which is four milliseconds old";
}

TEST(SlidingLog, GrowsWithoutForgetting) {
  const LimitPlan plan = log_of(100);
  std::vector<sliding_log::Entry> few(1 + 3);
  State state;
  for (std::int64_t s = 0; s < 12; ++s) {  // Around the ring, so that it is not in order.
    if (s % 4 == 0) state.payload = 99;
    sliding_log::take(state, few, plan, 1, Instant{} + seconds{s * 4});
  }
  std::vector<sliding_log::Entry> many(1 + 50, {-1, UINT64_MAX});
  sliding_log::grow(few, many);
  const Instant now = Instant{} + seconds{44};
  EXPECT_EQ(sliding_log::peek(state, many, plan, 100, now).retry_after,
            sliding_log::peek(state, few, plan, 100, now).retry_after);
  EXPECT_EQ(sliding_log::take(state, many, plan, 1, now).remaining, 96U);
  EXPECT_EQ(state.payload, 99U) << "the handle is the caller's";
}

TEST(Concurrency, WithoutAFreeSlotIsUndecidedAndTakesNothing) {
  const LimitPlan plan = permits_of(5);
  std::vector<concurrency::Slot> slots(1 + 2);
  State state;
  ASSERT_EQ(concurrency::take(state, slots, plan, 1, {0}, {1, 1}).verdict, Verdict::allowed);
  ASSERT_EQ(concurrency::take(state, slots, plan, 1, {0}, {2, 2}).verdict, Verdict::allowed);
  EXPECT_FALSE(concurrency::has_room(state, slots, {0}));
  EXPECT_EQ(concurrency::take(state, slots, plan, 1, {0}, {3, 3}).verdict, Verdict::undecided);
  EXPECT_EQ(concurrency::in_use(state, slots, {0}), 2U);
  std::vector<concurrency::Slot> more(1 + 5);
  concurrency::grow(slots, more);
  EXPECT_EQ(concurrency::take(state, more, plan, 1, {0}, {3, 3}).verdict, Verdict::allowed);
  EXPECT_TRUE(concurrency::release(state, more, {1, 1}, {0}));
  EXPECT_TRUE(concurrency::release(state, more, {2, 2}, {0}));
}

TEST(Concurrency, TellsApartIdsThatFallOnOneSlot) {
  const LimitPlan plan = permits_of(50);
  std::vector<concurrency::Slot> slots(concurrency::slots_of(plan));
  State state;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(concurrency::take(state, slots, plan, 1, {0}, {i, 50 * i}).verdict, Verdict::allowed);
  }
  for (const std::uint64_t i : {7U, 0U, 19U, 18U, 1U}) {
    EXPECT_TRUE(concurrency::release(state, slots, {i, 50 * i}, {0}));
    EXPECT_FALSE(concurrency::release(state, slots, {i, 50 * i}, {0}));
    EXPECT_FALSE(concurrency::release(state, slots, {i + 100, 50 * i}, {0}));
  }
  EXPECT_EQ(concurrency::in_use(state, slots, {0}), 15U);
}

TEST(Concurrency, AddsToAnIdThatIsHeldAlready) {
  const LimitPlan plan = permits_of(10);
  std::vector<concurrency::Slot> slots(concurrency::slots_of(plan));
  State state;
  concurrency::take(state, slots, plan, 2, {0}, {1, 1});
  EXPECT_EQ(concurrency::take(state, slots, plan, 3, Instant{} + seconds{1}, {1, 1}).remaining, 5U);
  EXPECT_EQ(state.rest_at, Instant{} + seconds{11});
  EXPECT_TRUE(concurrency::release(state, slots, {1, 1}, Instant{} + seconds{2}));
  EXPECT_EQ(concurrency::in_use(state, slots, Instant{} + seconds{2}), 0U);
  EXPECT_TRUE(state.is_at_rest(Instant{} + seconds{2}));
}

TEST(BlockFor, BeginsWithARefusalThatHasAnEnd) {
  const LimitPlan plan = make_plan({.requests = 1, .period = seconds{1}, .block_for = seconds{30}});
  State block;
  block_for::begin(block, plan, {.verdict = Verdict::allowed}, {0});
  block_for::begin(block, plan, {.verdict = Verdict::denied, .retry_after = kNever}, {0});
  EXPECT_FALSE(block_for::is_blocked(block, {0}));
  const Decision own{.verdict = Verdict::denied, .remaining = 3, .retry_after = seconds{1}};
  block_for::begin(block, plan, own, {0});
  EXPECT_TRUE(block_for::is_blocked(block, {0}));
  EXPECT_EQ(block_for::blocked_decision(block, own, 1, {0}).retry_after, seconds{30});
  EXPECT_EQ(block_for::blocked_decision(block, own, 1, {0}).remaining, 0U);
  EXPECT_FALSE(block_for::is_blocked(block, Instant{} + seconds{30}));
}

TEST(Decide, SaysWhatTakeWouldAndWritesNothing) {
  Limit limit{.algorithm = Algorithm::token_bucket, .requests = 10, .burst = 10, .overdraft = true};
  const LimitPlan plan = make_plan(limit);
  State state;
  EXPECT_EQ(algorithm::decide(state, {}, plan, {.cost = 25}).verdict, Verdict::allowed);
  EXPECT_EQ(algorithm::peek(state, {}, plan, {.cost = 25}).verdict, Verdict::denied);
  EXPECT_EQ(state.rest_at, Instant{});
}

TEST(Decide, NeedsNoMemoryOfAKeyAtRestUntilItTakes) {
  for (const LimitPlan& plan :
       {log_of(5), permits_of(5),
        make_plan({.algorithm = Algorithm::sliding_window, .requests = 5, .sub_windows = 4})}) {
    State state{{5}, 77};
    EXPECT_EQ(algorithm::peek(state, {}, plan, {1, {9}}).remaining, 5U);
    EXPECT_EQ(algorithm::decide(state, {}, plan, {6, {9}}).retry_after, kNever);
    algorithm::refund(state, {}, plan, {3, {9}});
    EXPECT_TRUE(state.is_at_rest({9}));
    EXPECT_EQ(state.payload, 77U) << "the handle is the caller's";
  }
}

TEST(Decide, TellsStatesApartThatCannotBeReadAsEachOthers) {
  const Limit limit{.algorithm = Algorithm::sliding_window, .requests = 10, .period = seconds{1}};
  const auto kind = [&](auto change) {
    Limit other = limit;
    change(other);
    return make_plan(other).state_kind;
  };
  const std::uint64_t same = make_plan(limit).state_kind;
  EXPECT_EQ(kind([](Limit& other) { other.requests = 7; }), same);
  EXPECT_NE(kind([](Limit& other) { other.period = seconds{2}; }), same);
  EXPECT_NE(kind([](Limit& other) { other.sub_windows = 5; }), same);
  EXPECT_NE(kind([](Limit& other) { other.algorithm = Algorithm::fixed_window; }), same);
}

}  // namespace
}  // namespace sluice
