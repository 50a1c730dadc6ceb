#include "stores/memory_store.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/key_hash.h"
#include "sluice/algorithm/limit_generations.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<MemoryStore> open_store(const TableOptions& options = {.keys_max = 1000}) {
  auto store = MemoryStore::open(options);
  return std::move(*store);
}

class LastCheck final : public CheckSink {
 public:
  void complete(Check& /*check*/) noexcept override { ++completed; }
  int completed = 0;
};

KeyHash key(std::string_view name) {
  const std::array values{name};
  return hash_key({.rule = {}, .rule_hash = 1, .identity = values});
}

Charge charge_of(const LimitPlan& plan, std::string_view name, Cost cost = 1,
                 Role role = Role::enforced) {
  return {.plan = &plan, .key = {}, .hash = key(name), .cost = cost, .role = role};
}

// Runs one check; its charges keep their answers.
Verdict run(MemoryStore& store, std::span<Charge> charges, Instant now,
            Operation operation = Operation::take) {
  LastCheck sink;
  Check check{.operation = operation, .charges = charges, .now = now};
  check.sink = &sink;
  std::array checks{&check};
  store.submit(checks);
  EXPECT_EQ(sink.completed, 1);
  return check.verdict;
}

Decision take(MemoryStore& store, const LimitPlan& plan, std::string_view name, Cost cost,
              Instant now) {
  Charge charge = charge_of(plan, name, cost);
  run(store, {&charge, 1}, now);
  return charge.decision;
}

LimitPlan plan_of(const Limit& limit) {
  EXPECT_TRUE(validate_limit(limit).has_value());
  return make_plan(limit);
}

const LimitPlan kBucket10 = plan_of(
    {.algorithm = Algorithm::token_bucket, .requests = 10, .period = seconds{1}, .burst = 10});
const LimitPlan kWindow3 =
    plan_of({.algorithm = Algorithm::fixed_window, .requests = 3, .period = seconds{60}});
const LimitPlan kWindow5 =
    plan_of({.algorithm = Algorithm::fixed_window, .requests = 5, .period = seconds{61}});

constexpr Instant kStart{1'000'000'000'000};

TEST(MemoryStore, DecidesEachKeyForItself) {
  const auto store = open_store();
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(take(*store, kBucket10, "a", 1, kStart).remaining, 9 - i);
  }
  const Decision denied = take(*store, kBucket10, "a", 1, kStart);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, milliseconds{100});
  EXPECT_EQ(take(*store, kBucket10, "b", 1, kStart).verdict, Verdict::allowed);
}

TEST(MemoryStore, AClockThatGoesBackIsHarmless) {
  const auto store = open_store();
  const Instant ten{10'000'000'000};
  EXPECT_EQ(take(*store, kBucket10, "a", 10, ten).verdict, Verdict::allowed);
  EXPECT_EQ(take(*store, kBucket10, "a", 1, ten - seconds{5}).retry_after, milliseconds{5100});
  EXPECT_EQ(take(*store, kBucket10, "a", 1, ten).retry_after, milliseconds{100});
  EXPECT_EQ(take(*store, kBucket10, "a", 1, ten + milliseconds{100}).verdict, Verdict::allowed);
}

TEST(MemoryStore, OneRefusalOfSeveralLimitsChargesNone) {
  const auto store = open_store();
  take(*store, kWindow3, "user", 3, kStart);
  std::array charges{charge_of(kWindow5, "tenant"), charge_of(kWindow3, "user")};
  EXPECT_EQ(run(*store, charges, kStart), Verdict::denied);
  EXPECT_EQ(charges[0].decision.verdict, Verdict::allowed);
  EXPECT_EQ(charges[0].decision.remaining, 5U);
  EXPECT_FALSE(charges[0].charged);
  EXPECT_EQ(store->look(kWindow5, key("tenant"), kStart).remaining, 5U);
}

TEST(MemoryStore, SeveralLimitsThatAllowAreAllCharged) {
  const auto store = open_store();
  std::array charges{charge_of(kWindow5, "tenant"), charge_of(kWindow3, "user")};
  EXPECT_EQ(run(*store, charges, kStart), Verdict::allowed);
  EXPECT_EQ(charges[0].decision.remaining, 4U);
  EXPECT_EQ(charges[1].decision.remaining, 2U);
  EXPECT_TRUE(charges[0].charged && charges[1].charged);
}

TEST(MemoryStore, ChargeEachChargesTheLimitsThatAllow) {
  const auto store = open_store();
  take(*store, kWindow3, "user", 3, kStart);
  std::array charges{charge_of(kWindow5, "tenant"), charge_of(kWindow3, "user")};
  Check check{.charge_each = true, .charges = charges, .now = kStart};
  store->decide(check);
  EXPECT_EQ(check.verdict, Verdict::denied);
  EXPECT_EQ(charges[0].decision.remaining, 4U);
}

TEST(MemoryStore, AShadowLimitIsChargedAndNeverBlocks) {
  const auto store = open_store();
  for (int i = 0; i < 4; ++i) {
    std::array charges{charge_of(kWindow5, "tenant"), charge_of(kWindow3, "user", 1, Role::shadow)};
    EXPECT_EQ(run(*store, charges, kStart), Verdict::allowed);
    EXPECT_EQ(charges[1].decision.verdict, i < 3 ? Verdict::allowed : Verdict::denied);
    EXPECT_EQ(charges[1].charged, i < 3);
  }
}

TEST(MemoryStore, QuotaLimitsRefuseOnlyWhenAllOfThemDo) {
  const auto store = open_store();
  const auto ask = [&](bool quota_passes) {
    std::array charges{charge_of(kWindow5, "q5", 1, Role::quota),
                       charge_of(kWindow3, "q3", 1, Role::quota)};
    Check check{.quota_passes = quota_passes, .charges = charges, .now = kStart};
    store->decide(check);
    return check.verdict;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(false), Verdict::allowed);
  EXPECT_EQ(ask(false), Verdict::denied);
  EXPECT_EQ(ask(true), Verdict::allowed);
}

TEST(MemoryStore, TwoChargesOfOneKeyAreDecidedInOrder) {
  const auto store = open_store();
  std::array charges{charge_of(kWindow5, "a", 3), charge_of(kWindow5, "a", 2)};
  EXPECT_EQ(run(*store, charges, kStart), Verdict::allowed);
  EXPECT_EQ(charges[0].decision.remaining, 2U);
  EXPECT_EQ(charges[1].decision.remaining, 0U);

  std::array more{charge_of(kWindow5, "b", 3), charge_of(kWindow5, "b", 3)};
  EXPECT_EQ(run(*store, more, kStart), Verdict::denied);
  EXPECT_EQ(more[0].decision.verdict, Verdict::allowed);
  EXPECT_EQ(more[1].decision.verdict, Verdict::denied);
  EXPECT_EQ(more[1].decision.retry_after, kNever);  // Both together never fit.
  EXPECT_EQ(store->look(kWindow5, key("b"), kStart).remaining, 5U);
}

TEST(MemoryStore, PeekWritesNothing) {
  const auto store = open_store();
  Charge charge = charge_of(kWindow3, "a");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run(*store, {&charge, 1}, kStart, Operation::peek), Verdict::allowed);
    EXPECT_EQ(charge.decision.remaining, 3U);
  }
  EXPECT_EQ(store->counters(kStart).keys, 0U);
}

TEST(MemoryStore, RefundGivesBackAndClamps) {
  const auto store = open_store();
  take(*store, kWindow3, "a", 2, kStart);
  Charge charge = charge_of(kWindow3, "a", 1);
  EXPECT_EQ(run(*store, {&charge, 1}, kStart, Operation::refund), Verdict::allowed);
  EXPECT_EQ(charge.decision.remaining, 2U);
  charge.cost = 50;
  run(*store, {&charge, 1}, kStart, Operation::refund);
  EXPECT_EQ(charge.decision.remaining, 3U);
  Charge unknown = charge_of(kWindow3, "unknown", 5);
  EXPECT_EQ(run(*store, {&unknown, 1}, kStart, Operation::refund), Verdict::allowed);
}

TEST(MemoryStore, CountDeniedChargesWhoeverRefused) {
  const auto store = open_store();
  const LimitPlan counting = plan_of({.algorithm = Algorithm::fixed_window,
                                      .requests = 5,
                                      .period = seconds{62},
                                      .count_denied = true});
  take(*store, kWindow3, "user", 3, kStart);
  for (int i = 0; i < 3; ++i) {
    std::array charges{charge_of(counting, "tenant"), charge_of(kWindow3, "user")};
    EXPECT_EQ(run(*store, charges, kStart), Verdict::denied);
    EXPECT_TRUE(charges[0].charged);
    EXPECT_FALSE(charges[1].charged);
  }
  EXPECT_EQ(store->look(counting, key("tenant"), kStart).remaining, 2U);
  take(*store, counting, "tenant", 100, kStart);  // Never fits, and counts.
  EXPECT_EQ(store->look(counting, key("tenant"), kStart).remaining, 0U);
}

TEST(MemoryStore, ABlockBeginsWithTheLimitsOwnRefusalAndIsNotProlonged) {
  const auto store = open_store();
  Limit limit = kBucket10.limit;
  limit.block_for = seconds{30};
  const LimitPlan plan = plan_of(limit);
  EXPECT_EQ(take(*store, plan, "a", 10, kStart).verdict, Verdict::allowed);
  EXPECT_EQ(take(*store, plan, "a", 11, kStart).retry_after, kNever);  // Begins no block.
  EXPECT_EQ(take(*store, plan, "a", 1, kStart).retry_after, seconds{30});
  EXPECT_EQ(take(*store, plan, "a", 1, kStart + seconds{29}).retry_after, seconds{1});
  EXPECT_EQ(take(*store, plan, "a", 0, kStart + seconds{29}).verdict, Verdict::allowed);
  EXPECT_EQ(take(*store, plan, "a", 10, kStart + seconds{30}).verdict, Verdict::allowed);
}

TEST(MemoryStore, AnotherLimitsRefusalBeginsNoBlock) {
  const auto store = open_store();
  Limit limit = kBucket10.limit;
  limit.block_for = seconds{30};
  const LimitPlan plan = plan_of(limit);
  take(*store, kWindow3, "user", 3, kStart);
  std::array charges{charge_of(plan, "a"), charge_of(kWindow3, "user")};
  EXPECT_EQ(run(*store, charges, kStart), Verdict::denied);
  EXPECT_EQ(take(*store, plan, "a", 1, kStart).remaining, 9U);
}

TEST(MemoryStore, ResetForgetsTheKeyAndItsBlock) {
  const auto store = open_store();
  Limit limit = kBucket10.limit;
  limit.block_for = seconds{30};
  const LimitPlan plan = plan_of(limit);
  EXPECT_FALSE(store->reset(plan, key("a"), kStart));
  take(*store, plan, "a", 10, kStart);
  take(*store, plan, "a", 1, kStart);
  EXPECT_TRUE(store->reset(plan, key("a"), kStart));
  EXPECT_EQ(take(*store, plan, "a", 1, kStart).remaining, 9U);
}

TEST(MemoryStore, OverdraftIsAlwaysChargedAndRepaid) {
  const auto store = open_store();
  Limit limit = kBucket10.limit;
  limit.overdraft = true;
  const LimitPlan plan = plan_of(limit);
  EXPECT_EQ(take(*store, plan, "a", 25, kStart).verdict, Verdict::allowed);
  Charge charge = charge_of(plan, "a");
  EXPECT_EQ(run(*store, {&charge, 1}, kStart, Operation::peek), Verdict::denied);
  EXPECT_EQ(charge.decision.retry_after, milliseconds{1600});
}

TEST(MemoryStore, ALiveChangeKeepsTheTokensAndTheStateOfOthers) {
  const auto store = open_store();
  LimitGenerations generations;
  Limit limit = kBucket10.limit;
  const LimitPlan before = *generations.make_plan(limit);
  limit.requests = 100;
  limit.burst = 100;
  const LimitPlan after = *generations.make_plan(limit);
  take(*store, before, "a", 6, kStart);
  take(*store, before, "b", 6, kStart);
  EXPECT_EQ(take(*store, after, "a", 1, kStart).remaining, 3U);
  EXPECT_EQ(take(*store, before, "b", 1, kStart).remaining, 3U);
}

TEST(MemoryStore, AChangedPeriodStartsAtRest) {
  const auto store = open_store();
  take(*store, kWindow3, "a", 3, kStart);
  Limit limit = kWindow3.limit;
  limit.period = seconds{90};
  EXPECT_EQ(take(*store, plan_of(limit), "a", 1, kStart).remaining, 2U);
}

TEST(MemoryStore, PermitsAreHeldReleasedAndRenewed) {
  const auto store = open_store();
  const LimitPlan plan =
      plan_of({.algorithm = Algorithm::concurrency, .requests = 2, .permit_ttl = seconds{60}});
  std::array first{charge_of(plan, "a")};
  std::array second{charge_of(plan, "a")};
  std::array third{charge_of(plan, "a")};
  EXPECT_EQ(run(*store, first, kStart), Verdict::allowed);
  EXPECT_EQ(run(*store, second, kStart), Verdict::allowed);
  EXPECT_FALSE(first[0].permit == second[0].permit);
  EXPECT_EQ(run(*store, third, kStart), Verdict::denied);

  Charge held{.plan = nullptr, .key = {}, .hash = key("a"), .permit = first[0].permit};
  EXPECT_EQ(run(*store, {&held, 1}, kStart, Operation::release), Verdict::allowed);
  EXPECT_TRUE(held.charged);
  EXPECT_EQ(run(*store, {&held, 1}, kStart, Operation::release), Verdict::allowed);
  EXPECT_FALSE(held.charged);
  EXPECT_EQ(run(*store, third, kStart), Verdict::allowed);

  held.plan = &plan;
  held.permit = second[0].permit;
  EXPECT_EQ(run(*store, {&held, 1}, kStart + seconds{50}, Operation::renew), Verdict::allowed);
  EXPECT_EQ(store->look(plan, key("a"), kStart + seconds{70}).remaining, 1U);
  EXPECT_EQ(run(*store, {&held, 1}, kStart + seconds{200}, Operation::renew), Verdict::denied);
}

TEST(MemoryStore, ARefusedRequestHoldsNoPermit) {
  const auto store = open_store();
  const LimitPlan plan = plan_of({.algorithm = Algorithm::concurrency, .requests = 2});
  take(*store, kWindow3, "user", 3, kStart);
  for (int i = 0; i < 1000; ++i) {
    std::array charges{charge_of(plan, "a"), charge_of(kWindow3, "user")};
    EXPECT_EQ(run(*store, charges, kStart), Verdict::denied);
  }
  EXPECT_EQ(store->look(plan, key("a"), kStart).remaining, 2U);
}

TEST(MemoryStore, TheLastPermitGivenBackFreesItsMemory) {
  const auto store = open_store();
  const LimitPlan plan = plan_of({.algorithm = Algorithm::concurrency, .requests = 100});
  std::vector<Charge> charges;
  for (int i = 0; i < 100; ++i) {
    charges.push_back(charge_of(plan, "a"));
    EXPECT_EQ(run(*store, {&charges.back(), 1}, kStart), Verdict::allowed);
  }
  EXPECT_GT(store->counters(kStart).slab_bytes, 0U);
  for (Charge& charge : charges) {
    run(*store, {&charge, 1}, kStart, Operation::release);
    EXPECT_TRUE(charge.charged);
  }
  EXPECT_EQ(store->counters(kStart).slab_bytes, 0U);
}

TEST(MemoryStore, ALogGrowsWithItsHitsAndStaysExact) {
  const auto store = open_store();
  const LimitPlan plan =
      plan_of({.algorithm = Algorithm::sliding_log, .requests = 500, .period = seconds{10}});
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(take(*store, plan, "a", 1, kStart + milliseconds{i}).verdict, Verdict::allowed);
  }
  const Decision denied = take(*store, plan, "a", 1, kStart + milliseconds{500});
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, milliseconds{9500});
  EXPECT_EQ(take(*store, plan, "a", 1, kStart + seconds{10}).verdict, Verdict::allowed);
}

TEST(MemoryStore, SubWindowsAndLogsOfRefusedRequestsAreUntouched) {
  const auto store = open_store();
  const LimitPlan slices = plan_of({.algorithm = Algorithm::sliding_window,
                                    .requests = 10,
                                    .period = seconds{1},
                                    .sub_windows = 10});
  const LimitPlan log =
      plan_of({.algorithm = Algorithm::sliding_log, .requests = 10, .period = seconds{1}});
  take(*store, kWindow3, "user", 3, kStart);
  std::array charges{charge_of(slices, "a", 2), charge_of(log, "a", 2),
                     charge_of(kWindow3, "user")};
  EXPECT_EQ(run(*store, charges, kStart), Verdict::denied);
  EXPECT_EQ(store->look(slices, key("a"), kStart).remaining, 10U);
  EXPECT_EQ(store->look(log, key("a"), kStart).remaining, 10U);
  charges[2] = charge_of(kWindow3, "another");
  EXPECT_EQ(run(*store, charges, kStart), Verdict::allowed);
  EXPECT_EQ(store->look(slices, key("a"), kStart).remaining, 8U);
  EXPECT_EQ(store->look(log, key("a"), kStart).remaining, 8U);
}

TEST(MemoryStore, AFullSlabLeavesChecksUndecidedUntilKeysComeToRest) {
  const auto store = open_store({.keys_max = 1000, .slab_bytes_max = 8192});
  const LimitPlan plan =
      plan_of({.algorithm = Algorithm::sliding_log, .requests = 100, .period = seconds{1}});
  int undecided = 0;
  for (int i = 0; i < 100; ++i) {
    Charge charge = charge_of(plan, std::to_string(i));
    if (run(*store, {&charge, 1}, kStart) == Verdict::undecided) {
      ++undecided;
      EXPECT_EQ(charge.decision.verdict, Verdict::undecided);
      EXPECT_FALSE(charge.charged);
    }
  }
  EXPECT_GT(undecided, 0);
  EXPECT_EQ(store->counters(kStart).refusals, static_cast<std::uint64_t>(undecided));
  // Idle memory is found again, at the latest when the walk around the table came by.
  int tries = 0;
  while (take(*store, plan, "new", 1, kStart + seconds{1}).verdict == Verdict::undecided) ++tries;
  EXPECT_LT(tries, 30);
}

TEST(MemoryStore, AFullTableUnderRefuseLeavesNewKeysUndecidedAndChargesNothing) {
  const auto store = open_store({.keys_max = 1, .when_full = WhenFull::refuse});
  take(*store, kWindow5, "known", 1, kStart);
  for (int i = 0; i < 200; ++i) take(*store, kWindow3, std::to_string(i), 1, kStart);
  std::array charges{charge_of(kWindow5, "known"), charge_of(kWindow3, "new")};
  int tries = 0;
  while (run(*store, charges, kStart) != Verdict::undecided) {
    charges[1] = charge_of(kWindow3, "new" + std::to_string(++tries));
  }
  EXPECT_EQ(charges[0].decision.verdict, Verdict::allowed);
  EXPECT_EQ(charges[1].decision.verdict, Verdict::undecided);
  EXPECT_EQ(store->look(kWindow5, key("known"), kStart).remaining, charges[0].decision.remaining);
  EXPECT_EQ(store->counters(kStart).evictions, 0U);
}

TEST(MemoryStore, RefusesACheckOfTooManyCharges) {
  const auto store = open_store();
  std::vector<Charge> charges(MemoryStore::kChargesMax + 1, charge_of(kWindow3, "a"));
  Check check{.charges = charges, .now = kStart};
  store->decide(check);
  EXPECT_EQ(check.verdict, Verdict::undecided);
  EXPECT_EQ(check.error, ErrorCode::invalid_argument);
  charges.pop_back();
  Check largest{.charges = charges, .now = kStart};
  store->decide(largest);
  EXPECT_EQ(largest.verdict, Verdict::denied);
}

TEST(MemoryStore, ACheckWithoutChargesIsAllowed) {
  const auto store = open_store();
  EXPECT_EQ(run(*store, {}, kStart), Verdict::allowed);
}

// Many threads, several limits at once: what is charged is exactly what was allowed.
TEST(MemoryStore, ManyThreadsOnSeveralLimitsChargeExactlyWhatIsAllowed) {
  const auto store = open_store({.keys_max = 64});
  const LimitPlan user =
      plan_of({.algorithm = Algorithm::fixed_window, .requests = 3000, .period = seconds{60}});
  const LimitPlan tenant =
      plan_of({.algorithm = Algorithm::sliding_log, .requests = 5000, .period = seconds{60}});
  const LimitPlan global = plan_of({.algorithm = Algorithm::token_bucket,
                                    .requests = 10'000,
                                    .period = seconds{100'000},
                                    .burst = 10'000});
  constexpr int kThreads = 4;
  constexpr int kEach = 5000;
  const std::array<std::string_view, 3> users{"u0", "u1", "u2"};
  std::array<std::atomic<std::uint32_t>, 3> allowed{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto who = static_cast<std::size_t>(i + t) % users.size();
        // u2 is of another tenant, and its limits come in another order.
        std::array charges{charge_of(global, "all"), charge_of(user, users[who]),
                           charge_of(tenant, who == 2 ? "t1" : "t0")};
        if (who == 2) std::swap(charges[0], charges[2]);
        Check check{.charges = charges, .now = kStart};
        store->decide(check);
        if (check.verdict == Verdict::allowed) ++allowed[who];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto used = [&](const LimitPlan& plan, std::string_view name) {
    const Decision seen = store->look(plan, key(name), kStart);
    return seen.limit - seen.remaining;
  };
  EXPECT_EQ(used(user, "u0"), allowed[0]);
  EXPECT_EQ(used(user, "u1"), allowed[1]);
  EXPECT_EQ(used(user, "u2"), allowed[2]);
  EXPECT_EQ(used(tenant, "t0"), allowed[0] + allowed[1]);
  EXPECT_EQ(used(tenant, "t1"), allowed[2]);
  EXPECT_EQ(used(global, "all"), allowed[0] + allowed[1] + allowed[2]);
  EXPECT_EQ(allowed[0] + allowed[1], 5000U);
  EXPECT_EQ(allowed[2], 3000U);
}

TEST(MemoryStore, ManyThreadsNeverHoldMorePermitsThanThereAre) {
  const auto store = open_store();
  const LimitPlan plan = plan_of({.algorithm = Algorithm::concurrency, .requests = 10});
  std::atomic<int> held{0};
  std::atomic<int> peak{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Charge charge = charge_of(plan, "a", 1 + static_cast<Cost>(i % 3));
        Check check{.charges = {&charge, 1}, .now = kStart};
        store->decide(check);
        if (check.verdict != Verdict::allowed) continue;
        const int now_held =
            held.fetch_add(static_cast<int>(charge.cost)) + static_cast<int>(charge.cost);
        int seen = peak.load();
        while (now_held > seen && !peak.compare_exchange_weak(seen, now_held)) {
        }
        held.fetch_sub(static_cast<int>(charge.cost));
        check.operation = Operation::release;
        store->decide(check);
        EXPECT_TRUE(charge.charged);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak.load(), 10);
  EXPECT_EQ(store->look(plan, key("a"), kStart).remaining, 10U);
  EXPECT_EQ(store->counters(kStart).slab_bytes, 0U);
}

}  // namespace
}  // namespace sluice
