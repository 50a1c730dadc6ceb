// Reserving and waiting on a fake clock: a test waits until the others sleep, moves the time, and
// waits for what must follow.
#include <future>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/fake_clock.h"
#include "sluice/limiter.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Limit bucket(std::uint32_t requests, std::uint32_t burst, Duration period = 1s) {
  return {
      .algorithm = Algorithm::token_bucket, .requests = requests, .period = period, .burst = burst};
}

Instant at(Duration since_epoch) {
  return Instant{} + since_epoch;
}

class WaitingTest : public testing::Test {
 protected:
  using Waiting = std::future<AcquireResult>;

  void open(const Limit& limit, const LimiterOptions& options = {}) {
    limiter_ = Limiter::open(limit, clock_, options).value();
  }
  void open_drained(const Limit& limit, const LimiterOptions& options = {}) {
    open(limit, options);
    ASSERT_TRUE(limiter_->try_acquire(limit.burst));
  }
  // A thread that waits, asleep in the line when this returns.
  Waiting wait_for(Cost cost, Instant deadline = kInstantMax, std::stop_token stop = {}) {
    const std::size_t asleep = clock_.sleepers();
    Waiting waiting = std::async(std::launch::async, [=, this] {
      const AcquireResult result = limiter_->acquire(cost, deadline, stop);
      ended_at_ns_ = clock_.now().ns;
      return result;
    });
    clock_.await_sleepers(asleep + 1);
    return waiting;
  }
  static bool is_waiting(const Waiting& waiting) {
    return waiting.wait_for(0s) == std::future_status::timeout;
  }
  // Moves time on to where a waiter must be let go, and not a nanosecond before.
  void expect_granted_at(Waiting& waiting, Instant due) {
    clock_.set(due - 1ns);
    EXPECT_TRUE(is_waiting(waiting));
    clock_.set(due);
    EXPECT_EQ(waiting.get().outcome, AcquireOutcome::granted);
    EXPECT_EQ(ended_at_ns_, due.ns);
  }

  FakeClock clock_;
  std::unique_ptr<Limiter> limiter_;
  std::atomic<std::int64_t> ended_at_ns_{0};
};

// Reservations.

TEST_F(WaitingTest, ReservationsQueueAndOthersAreToldSo) {
  open_drained(bucket(10, 10));
  EXPECT_EQ(limiter_->reserve(5).wait(), 500ms);
  EXPECT_EQ(limiter_->reserve(5).wait(), 1s);
  EXPECT_EQ(limiter_->decide(1).retry_after, 1100ms);
}

TEST_F(WaitingTest, CancellingTheNewestGivesAllBack) {
  open_drained(bucket(10, 10));
  Reservation first = limiter_->reserve(5);
  Reservation second = limiter_->reserve(5);
  EXPECT_EQ(second.cancel(), 5U);
  EXPECT_EQ(limiter_->decide(1).retry_after, 600ms);
  EXPECT_EQ(first.cancel(), 5U);
  EXPECT_EQ(limiter_->decide(1).retry_after, 100ms);
}

TEST_F(WaitingTest, CancellingAnEarlierOneGivesBackWhatLaterOnesLeave) {
  open_drained(bucket(10, 10));
  Reservation first = limiter_->reserve(5);
  Reservation second = limiter_->reserve(3);
  EXPECT_EQ(first.cancel(), 2U);
  EXPECT_EQ(limiter_->decide(1).retry_after, 700ms);
  EXPECT_EQ(second.cancel(), 3U);
}

TEST_F(WaitingTest, CancellingNeverLetsTwoBurstsMeet) {
  open_drained(bucket(10, 10));
  Reservation first = limiter_->reserve(10);
  const Reservation second = limiter_->reserve(10);
  EXPECT_EQ(second.at(), at(2s));
  EXPECT_EQ(first.cancel(), 0U);
  clock_.set(at(2s));
  EXPECT_FALSE(limiter_->try_acquire());
}

TEST_F(WaitingTest, CancellingLateOrTwiceGivesNothing) {
  open_drained(bucket(10, 10));
  Reservation reservation = limiter_->reserve(5);
  clock_.set(at(500ms));
  EXPECT_EQ(reservation.cancel(), 0U);
  Reservation another = limiter_->reserve(5);
  EXPECT_EQ(another.cancel(), 5U);
  EXPECT_EQ(another.cancel(), 0U);
  Reservation moved = std::move(another);
  EXPECT_EQ(moved.cancel(), 0U);
}

TEST_F(WaitingTest, CancellingAfterALiveChangeGivesNothing) {
  open_drained(bucket(10, 10));
  Reservation reservation = limiter_->reserve(5);
  ASSERT_TRUE(limiter_->set_limit(bucket(20, 10)));
  EXPECT_EQ(reservation.cancel(), 0U);
}

// Any sequence of reserving and cancelling, then every instant at which cost is used: in no window
// more than burst + rate * length.
TEST_F(WaitingTest, NoSequenceOfCancelsOvershoots) {
  const std::uint64_t seed = 3;
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    open(bucket(10, 10));
    Instant now;
    std::vector<std::pair<Reservation, Cost>> pending;
    std::map<std::int64_t, Cost> used;
    for (int step = 0; step < 60; ++step) {
      now = now + Duration{random() % 400'000'000};
      const Cost cost = 1 + random() % 10;
      if (random() % 3 == 0 && !pending.empty()) {
        const std::size_t which = random() % pending.size();
        auto& [reservation, reserved] = pending[which];
        if (reservation.at() > now) {
          (void)reservation.cancel(now);
          pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(which));
        }
      } else if (random() % 2 == 0) {
        Reservation reservation = limiter_->reserve(cost, now);
        pending.emplace_back(std::move(reservation), cost);
      } else if (limiter_->try_acquire(cost, now)) {
        used[now.ns] += cost;
      }
    }
    for (const auto& [reservation, cost] : pending) used[reservation.at().ns] += cost;
    // A bucket of exact tokens, fed in order of use, must never be overdrawn.
    double tokens = 10;
    std::int64_t last = 0;
    for (const auto& [ns, cost] : used) {
      tokens = std::min(10.0, tokens + static_cast<double>(ns - last) * 10 / 1e9);
      tokens -= static_cast<double>(cost);
      last = ns;
      ASSERT_GE(tokens, -1e-6) << "seed " << seed << ", round " << round;
    }
  }
}

TEST_F(WaitingTest, ALeakyBucketsReservationIsItsDelay) {
  open({.algorithm = Algorithm::leaky_bucket, .requests = 10, .burst = 2});
  EXPECT_EQ(limiter_->reserve().wait(), 0s);
  EXPECT_EQ(limiter_->reserve().wait(), 100ms);
  Reservation last = limiter_->reserve();
  EXPECT_EQ(last.wait(), 200ms);
  EXPECT_FALSE(limiter_->reserve().is_granted());
  EXPECT_EQ(last.cancel(), 1U);
  EXPECT_TRUE(limiter_->reserve().is_granted());
}

TEST_F(WaitingTest, AWindowReservesOnlyWhatFitsAtOnce) {
  open({.requests = 2, .period = 10s});
  EXPECT_TRUE(limiter_->reserve(2).is_granted());
  const Reservation refused = limiter_->reserve();
  EXPECT_FALSE(refused.is_granted());
  EXPECT_EQ(refused.wait(), 10s);
}

// Waiting.

TEST_F(WaitingTest, SaysAtOnceThatTheDeadlineComesTooEarly) {
  open_drained(bucket(10, 1));
  const AcquireResult result = limiter_->acquire(1, at(50ms));
  EXPECT_EQ(result.outcome, AcquireOutcome::deadline);
  EXPECT_EQ(result.wait, 100ms);
  EXPECT_EQ(limiter_->peek().retry_after, 100ms);  // Nothing was consumed.
}

TEST_F(WaitingTest, GrantsAtOnceWhateverTheDeadline) {
  open(bucket(10, 10));
  clock_.set(at(1s));
  EXPECT_TRUE(limiter_->acquire(1, at(0s)));
}

TEST_F(WaitingTest, AStoppedWaiterGivesItsTokenBack) {
  open_drained(bucket(10, 10));
  std::stop_source stop;
  Waiting waiting = wait_for(1, kInstantMax, stop.get_token());
  EXPECT_EQ(limiter_->peek().retry_after, 200ms);
  clock_.set(at(40ms));
  stop.request_stop();
  EXPECT_EQ(waiting.get().outcome, AcquireOutcome::cancelled);
  EXPECT_EQ(limiter_->peek().retry_after, 60ms);
}

TEST_F(WaitingTest, ACallThatIsStoppedAlreadyConsumesNothing) {
  open(bucket(10, 10));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(limiter_->acquire(1, kInstantMax, stop.get_token()).outcome, AcquireOutcome::cancelled);
  EXPECT_EQ(limiter_->peek().remaining, 10U);
}

TEST_F(WaitingTest, ReleasesAHundredInOrderWithOneWakeUpEach) {
  open_drained(bucket(100, 1));
  std::vector<Waiting> waiting;
  for (int i = 0; i < 100; ++i) waiting.push_back(wait_for(1));
  EXPECT_EQ(limiter_->wait_stats().waiting, 100U);
  for (int i = 0; i < 100; ++i) {
    expect_granted_at(waiting[static_cast<std::size_t>(i)], at((i + 1) * 10ms));
  }
  EXPECT_EQ(limiter_->wait_stats().wake_ups, 100U);
  EXPECT_EQ(limiter_->wait_stats().waiting, 0U);
}

TEST_F(WaitingTest, NobodyOvertakesTheLine) {
  open_drained(bucket(10, 10));
  Waiting first = wait_for(5);
  Waiting second = wait_for(1);
  clock_.set(at(499ms));
  EXPECT_FALSE(limiter_->try_acquire());
  expect_granted_at(first, at(500ms));
  EXPECT_FALSE(limiter_->try_acquire());
  expect_granted_at(second, at(600ms));
}

TEST_F(WaitingTest, ARaisedRateReleasesEarlier) {
  open_drained(bucket(1, 10));
  Waiting first = wait_for(10);
  Waiting second = wait_for(1);
  clock_.set(at(1s));
  ASSERT_TRUE(limiter_->set_limit(bucket(100, 10)));
  clock_.await_sleepers(2);
  expect_granted_at(first, at(1090ms));
  clock_.await_sleepers(1);
  expect_granted_at(second, at(1100ms));
}

TEST_F(WaitingTest, ALoweredRateReleasesLater) {
  open_drained(bucket(100, 10));
  Waiting waiting = wait_for(10);
  clock_.set(at(50ms));
  ASSERT_TRUE(limiter_->set_limit(bucket(10, 10)));
  clock_.set(at(100ms));
  EXPECT_TRUE(is_waiting(waiting));
  clock_.await_sleepers(1);
  expect_granted_at(waiting, at(550ms));
}

TEST_F(WaitingTest, AChangeThatStartsAtRestKeepsTheLineCharged) {
  open_drained(bucket(10, 10));
  Waiting first = wait_for(8);
  Waiting second = wait_for(8);
  ASSERT_TRUE(limiter_->set_limit(bucket(600, 10, 60s)));
  EXPECT_EQ(first.get().outcome, AcquireOutcome::granted);  // At rest the first fits at once,
  clock_.await_sleepers(1);
  expect_granted_at(second, at(600ms));  // the second when 8 of the 10 have been paid for.
}

TEST_F(WaitingTest, AChangeToAWindowKeepsTheLine) {
  open_drained(bucket(1, 10));
  Waiting first = wait_for(2);
  Waiting second = wait_for(2);
  ASSERT_TRUE(limiter_->set_limit({.requests = 3, .period = 10s}));
  EXPECT_EQ(first.get().outcome, AcquireOutcome::granted);
  EXPECT_EQ(limiter_->peek().remaining, 1U);
  clock_.await_sleepers(1);
  expect_granted_at(second, at(10s));
}

TEST_F(WaitingTest, ALimitThatTheCostCannotFitEndsTheWait) {
  for (const Limit& limit : {bucket(10, 4), bucket(0, 0)}) {
    clock_.set(at(0s));
    open_drained(bucket(10, 10));
    Waiting waiting = wait_for(5);
    ASSERT_TRUE(limiter_->set_limit(limit));
    const AcquireResult result = waiting.get();
    EXPECT_EQ(result.outcome, AcquireOutcome::never);
    EXPECT_EQ(result.wait, kNever);
    ASSERT_TRUE(limiter_->set_limit(bucket(10, 10)));
    EXPECT_EQ(limiter_->peek().retry_after, 100ms);  // It left nothing behind.
  }
}

TEST_F(WaitingTest, ARefundMovesTheLineUp) {
  open_drained(bucket(10, 10));
  Waiting first = wait_for(5);
  Waiting second = wait_for(5);
  limiter_->refund(3);
  clock_.await_sleepers(2);
  expect_granted_at(first, at(200ms));
  clock_.await_sleepers(1);
  expect_granted_at(second, at(700ms));
}

TEST_F(WaitingTest, APenaltyMovesTheLineBack) {
  open_drained(bucket(10, 10));
  Waiting waiting = wait_for(5);
  limiter_->charge(5);
  clock_.set(at(500ms));
  EXPECT_TRUE(is_waiting(waiting));
  clock_.await_sleepers(1);
  expect_granted_at(waiting, at(1s));
}

TEST_F(WaitingTest, ABlockHoldsTheLine) {
  open_drained(bucket(10, 10));
  Waiting waiting = wait_for(1);
  limiter_->block(5s);
  clock_.set(at(100ms));
  clock_.await_sleepers(1);
  expect_granted_at(waiting, at(5s));
}

TEST_F(WaitingTest, ThoseBehindMoveUpWhenOneLeaves) {
  open_drained(bucket(10, 10));
  std::stop_source stop;
  Waiting first = wait_for(2);
  Waiting leaver = wait_for(5, kInstantMax, stop.get_token());
  Waiting last = wait_for(3);
  stop.request_stop();
  EXPECT_EQ(leaver.get().outcome, AcquireOutcome::cancelled);
  EXPECT_EQ(limiter_->peek().retry_after, 600ms);
  expect_granted_at(first, at(200ms));
  clock_.await_sleepers(1);
  expect_granted_at(last, at(500ms));
}

TEST_F(WaitingTest, AReservationBehindALeaverKeepsItsInstant) {
  open_drained(bucket(10, 10));
  std::stop_source stop;
  Waiting leaver = wait_for(10, kInstantMax, stop.get_token());
  Reservation reservation = limiter_->reserve(4);
  EXPECT_EQ(reservation.at(), at(1400ms));
  Waiting last = wait_for(2);
  stop.request_stop();
  EXPECT_EQ(leaver.get().outcome, AcquireOutcome::cancelled);
  clock_.await_sleepers(1);
  expect_granted_at(last, at(1s));  // Charged: 10 - (10 - 4) + 4 + 2.
}

TEST_F(WaitingTest, CancellingAReservationMovesUpThoseBehindItAlone) {
  open_drained(bucket(10, 10));
  Waiting first = wait_for(5);
  Reservation reservation = limiter_->reserve(5);
  Waiting last = wait_for(2);
  EXPECT_EQ(reservation.cancel(), 3U);
  expect_granted_at(first, at(500ms));
  clock_.await_sleepers(1);
  expect_granted_at(last, at(900ms));
}

TEST_F(WaitingTest, ADeadlineThatAChangePassedEndsTheWait) {
  open_drained(bucket(10, 10));
  Waiting waiting = wait_for(5, at(600ms));
  limiter_->charge(5);
  clock_.set(at(500ms));
  clock_.await_sleepers(1);
  clock_.set(at(600ms));
  EXPECT_EQ(waiting.get().outcome, AcquireOutcome::deadline);
  EXPECT_TRUE(limiter_->try_acquire(1));  // 6 tokens came, 5 were the penalty's.
}

TEST_F(WaitingTest, OneMoreThanMayWaitIsToldAtOnce) {
  open_drained(bucket(1, 1), {.waiters_max = 3});
  std::vector<Waiting> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(wait_for(1));
  const AcquireResult refused = limiter_->acquire(1);
  EXPECT_EQ(refused.outcome, AcquireOutcome::queue_full);
  EXPECT_EQ(refused.wait, 4s);
  limiter_->close();
}

TEST_F(WaitingTest, ClosingWakesEverybodyAndGivesTheirTokensBack) {
  open_drained(bucket(1, 1));
  std::vector<Waiting> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(wait_for(1));
  limiter_->close();
  for (Waiting& one : waiting) EXPECT_EQ(one.get().outcome, AcquireOutcome::closed);
  EXPECT_EQ(limiter_->acquire(1).outcome, AcquireOutcome::closed);
  EXPECT_EQ(limiter_->decide().retry_after, 1s);  // Decisions go on.
}

TEST_F(WaitingTest, DestroyingWakesEverybodyAndWaitsForThemToLeave) {
  open_drained(bucket(1, 1));
  std::vector<Waiting> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(wait_for(1));
  limiter_.reset();
  for (Waiting& one : waiting) EXPECT_EQ(one.get().outcome, AcquireOutcome::closed);
}

TEST_F(WaitingTest, AWindowsLineIsServedInOrder) {
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_log}) {
    clock_.set(at(0s));
    open_drained({.algorithm = algorithm, .requests = 2, .period = 10s, .burst = 2});
    Waiting first = wait_for(2);
    Waiting second = wait_for(1);
    expect_granted_at(first, at(10s));
    clock_.await_sleepers(1);
    expect_granted_at(second, at(20s));
  }
}

TEST_F(WaitingTest, ALeakyBucketPacesThoseWhoWait) {
  open({.algorithm = Algorithm::leaky_bucket, .requests = 10, .burst = 2});
  EXPECT_TRUE(limiter_->acquire());
  Waiting first = wait_for(1);
  Waiting second = wait_for(1);
  EXPECT_EQ(limiter_->acquire().outcome, AcquireOutcome::queue_full);
  expect_granted_at(first, at(100ms));
  clock_.await_sleepers(1);
  expect_granted_at(second, at(200ms));
}

// Stress.

// Whoever falls asleep is stopped there and then.
class StoppingClock final : public Clock {
 public:
  Instant now() const noexcept override { return Instant{}; }
  Duration wall_offset() const noexcept override { return 0s; }
  void sleep(Wakeup& /*wakeup*/, Instant /*until*/) const noexcept override {
    own_stop->request_stop();
  }

  static thread_local std::stop_source* own_stop;
};
thread_local std::stop_source* StoppingClock::own_stop = nullptr;

TEST(Waiting, CancelledWaitsLeaveNothing) {
  const StoppingClock clock;
  const auto limiter = Limiter::open(bucket(1, 10, 1h), clock).value();
  ASSERT_TRUE(limiter->try_acquire(10));
  constexpr int kWaitsPerThread = 40'000;
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kWaitsPerThread; ++i) {
        std::stop_source stop;
        StoppingClock::own_stop = &stop;
        cancelled +=
            limiter->acquire(2, kInstantMax, stop.get_token()).outcome == AcquireOutcome::cancelled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cancelled, 4 * kWaitsPerThread);
  EXPECT_EQ(limiter->wait_stats().wake_ups, 4U * kWaitsPerThread);  // Each had truly joined.
  EXPECT_EQ(limiter->wait_stats().waiting, 0U);
  EXPECT_EQ(limiter->peek().retry_after, 1h);  // As if nobody had ever waited.
}

TEST_F(WaitingTest, CancellingJustBeforeTheTurnCostsNothing) {
  open_drained(bucket(10, 10));
  for (int round = 0; round < 1000; ++round) {
    std::stop_source stop;
    Waiting waiting = wait_for(10, kInstantMax, stop.get_token());
    stop.request_stop();
    ASSERT_EQ(waiting.get().outcome, AcquireOutcome::cancelled);
  }
  EXPECT_EQ(limiter_->peek().retry_after, 100ms);
}

// Real threads, real time: only what must hold however slow the machine is.
TEST(Waiting, ManyThreadsWaitStopAndChangeAtOnce) {
  const SystemClock clock;
  const auto limiter = Limiter::open(bucket(20'000, 5), clock).value();
  const Instant began = clock.now();
  std::atomic<std::uint64_t> granted{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        std::stop_source stop;
        if (random() % 8 == 0) stop.request_stop();
        const Instant deadline = clock.now() + Duration{random() % 1'000'000};
        const Cost cost = 1 + random() % 3;
        if (limiter->acquire(cost, deadline, stop.get_token())) granted += cost;
        if (random() % 16 == 0) (void)limiter->reserve(1).cancel();
        if (random() % 16 == 0) (void)limiter->set_limit(bucket(20'000, 5 + random() % 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limiter->wait_stats().waiting, 0U);
  EXPECT_GT(granted, 0U);
  const double seconds = static_cast<double>((clock.now() - began).count()) / 1e9;
  EXPECT_LE(static_cast<double>(granted), 6 + 20'000 * seconds);
}

}  // namespace
}  // namespace sluice
