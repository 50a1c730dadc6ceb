#include "sluice/permit.h"

#include <future>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/fake_clock.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Instant at(Duration since_epoch) {
  return Instant{} + since_epoch;
}

class PermitTest : public testing::Test {
 protected:
  using Waiting = std::future<PermitResult>;

  // A thread that waits, asleep in the line when this returns.
  Waiting wait_for(ConcurrencyLimiter& limiter, Cost cost = 1, Instant deadline = kInstantMax,
                   std::stop_token stop = {}) {
    const std::size_t asleep = clock_.sleepers();
    Waiting waiting = std::async(std::launch::async,
                                 [=, &limiter] { return limiter.acquire(cost, deadline, stop); });
    clock_.await_sleepers(asleep + 1);
    return waiting;
  }
  static bool is_waiting(const Waiting& waiting) {
    return waiting.wait_for(0s) == std::future_status::timeout;
  }

  FakeClock clock_;
};

TEST_F(PermitTest, AdmitsUpToTheLimitAtOnce) {
  ConcurrencyLimiter limiter(2, clock_);
  Permit first = limiter.try_acquire();
  const Permit second = limiter.try_acquire();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(limiter.try_acquire());
  EXPECT_TRUE(first.release());
  EXPECT_TRUE(limiter.try_acquire());
}

TEST_F(PermitTest, GivesBackWhenItGoesOutOfScope) {
  ConcurrencyLimiter limiter(1, clock_);
  for (int i = 0; i < 3; ++i) {
    const Permit permit = limiter.try_acquire();
    EXPECT_TRUE(permit);
  }
  EXPECT_EQ(limiter.stats().in_use, 0U);
}

TEST_F(PermitTest, ReleasesExactlyOnceHoweverOftenAsked) {
  ConcurrencyLimiter limiter(2, clock_);
  const Permit other = limiter.try_acquire();
  Permit permit = limiter.try_acquire();
  EXPECT_TRUE(permit.release());
  EXPECT_FALSE(permit.release());
  EXPECT_FALSE(permit);
  EXPECT_EQ(limiter.stats().in_use, 1U);
}

TEST_F(PermitTest, AMovedPermitIsReleasedByItsNewOwner) {
  ConcurrencyLimiter limiter(2, clock_);
  Permit permit = limiter.try_acquire();
  Permit owner = std::move(permit);
  EXPECT_FALSE(permit.release());  // NOLINT(bugprone-use-after-move): that is the test.
  EXPECT_EQ(limiter.stats().in_use, 1U);
  owner = limiter.try_acquire();  // Replaces, and so releases, the first.
  EXPECT_EQ(limiter.stats().in_use, 1U);
}

TEST_F(PermitTest, TakesSeveralPlacesOrNone) {
  ConcurrencyLimiter limiter(5, clock_);
  const Permit three = limiter.try_acquire(3);
  EXPECT_FALSE(limiter.try_acquire(3));
  EXPECT_EQ(limiter.stats().in_use, 3U);
  EXPECT_TRUE(limiter.try_acquire(2));
  EXPECT_EQ(limiter.acquire(6).outcome, AcquireOutcome::never);
}

TEST_F(PermitTest, AHolderThatNeverComesBackLosesItsPlace) {
  ConcurrencyLimiter limiter(1, clock_, {.permit_ttl = 60s});
  Permit lost = limiter.try_acquire();
  clock_.set(at(60s) - 1ns);
  EXPECT_FALSE(limiter.try_acquire());
  clock_.set(at(60s));
  const Permit next = limiter.try_acquire();
  EXPECT_TRUE(next);
  EXPECT_FALSE(lost.release());  // Frees nobody else's place.
  EXPECT_EQ(limiter.stats().in_use, 1U);
  EXPECT_EQ(limiter.stats().expired, 1U);
  EXPECT_EQ(limiter.stats().late_releases, 1U);
}

TEST_F(PermitTest, RenewingKeepsThePlace) {
  ConcurrencyLimiter limiter(1, clock_, {.permit_ttl = 60s});
  Permit permit = limiter.try_acquire();
  clock_.set(at(50s));
  EXPECT_TRUE(permit.renew());
  clock_.set(at(109s));
  EXPECT_FALSE(limiter.try_acquire());
  clock_.set(at(110s));
  EXPECT_FALSE(permit.renew());
  EXPECT_TRUE(limiter.try_acquire());
  EXPECT_FALSE(permit.release());
}

TEST_F(PermitTest, AReleaseLetsTheFirstInLineGo) {
  ConcurrencyLimiter limiter(1, clock_);
  Permit held = limiter.try_acquire();
  Waiting first = wait_for(limiter);
  Waiting second = wait_for(limiter);
  held.release();
  PermitResult granted = first.get();
  EXPECT_EQ(granted.outcome, AcquireOutcome::granted);
  EXPECT_TRUE(is_waiting(second));
  EXPECT_FALSE(limiter.try_acquire());
  granted.permit.release();
  EXPECT_TRUE(second.get().permit);
  EXPECT_EQ(limiter.stats().in_use, 0U);
  EXPECT_EQ(limiter.stats().waits.wake_ups, 2U);
}

TEST_F(PermitTest, ALargeRequestIsNotOvertakenBySmallOnes) {
  ConcurrencyLimiter limiter(2, clock_);
  Permit held = limiter.try_acquire();
  Waiting large = wait_for(limiter, 2);
  EXPECT_FALSE(limiter.try_acquire(1));
  Waiting small = wait_for(limiter, 1);
  held.release();
  EXPECT_EQ(large.get().outcome, AcquireOutcome::granted);
  EXPECT_EQ(small.get().outcome, AcquireOutcome::granted);
}

TEST_F(PermitTest, AnExpiryLetsTheFirstInLineGo) {
  ConcurrencyLimiter limiter(1, clock_, {.permit_ttl = 60s});
  Permit lost = limiter.try_acquire();
  Waiting waiting = wait_for(limiter);
  clock_.set(at(60s));
  EXPECT_TRUE(waiting.get().permit);
}

TEST_F(PermitTest, WaitsNoLongerThanTheDeadline) {
  ConcurrencyLimiter limiter(1, clock_);
  const Permit held = limiter.try_acquire();
  EXPECT_EQ(limiter.acquire(1, at(0s)).outcome, AcquireOutcome::deadline);
  Waiting waiting = wait_for(limiter, 1, at(10ms));
  clock_.set(at(10ms) - 1ns);
  EXPECT_TRUE(is_waiting(waiting));
  clock_.set(at(10ms));
  EXPECT_EQ(waiting.get().outcome, AcquireOutcome::deadline);
}

TEST_F(PermitTest, AStoppedWaiterMakesWayForTheNext) {
  ConcurrencyLimiter limiter(2, clock_);
  const Permit held = limiter.try_acquire();
  std::stop_source stop;
  Waiting large = wait_for(limiter, 2, kInstantMax, stop.get_token());
  Waiting small = wait_for(limiter, 1);
  stop.request_stop();
  EXPECT_EQ(large.get().outcome, AcquireOutcome::cancelled);
  EXPECT_EQ(small.get().outcome, AcquireOutcome::granted);
}

TEST_F(PermitTest, OneMoreThanMayWaitIsToldAtOnce) {
  ConcurrencyLimiter limiter(1, clock_, {.waiters_max = 1});
  const Permit held = limiter.try_acquire();
  Waiting waiting = wait_for(limiter);
  EXPECT_EQ(limiter.acquire().outcome, AcquireOutcome::queue_full);
  limiter.close();
  EXPECT_EQ(waiting.get().outcome, AcquireOutcome::closed);
  EXPECT_EQ(limiter.acquire().outcome, AcquireOutcome::closed);
}

TEST_F(PermitTest, AChangedLimitHoldsAtOnce) {
  ConcurrencyLimiter limiter(1, clock_);
  const Permit held = limiter.try_acquire();
  Waiting waiting = wait_for(limiter);
  limiter.set_limit(2);
  PermitResult granted = waiting.get();
  EXPECT_TRUE(granted.permit);
  limiter.set_limit(1);
  EXPECT_EQ(limiter.stats().in_use, 2U);  // Nothing is taken back,
  granted.permit.release();
  EXPECT_FALSE(limiter.try_acquire());  // and the one that is left fills the limit.
  Waiting never = wait_for(limiter);
  limiter.set_limit(0);
  EXPECT_EQ(never.get().outcome, AcquireOutcome::never);
}

TEST_F(PermitTest, DestroyingWakesThoseWhoWait) {
  auto limiter = std::make_unique<ConcurrencyLimiter>(1, clock_);
  Permit held = limiter->try_acquire();
  Waiting waiting = wait_for(*limiter);
  limiter->close();
  EXPECT_EQ(waiting.get().outcome, AcquireOutcome::closed);
  held.release();
  limiter.reset();
}

TEST(Permit, NeverMoreThanTheLimitAreAtWork) {
  const SystemClock clock;
  ConcurrencyLimiter limiter(10, clock, {.permit_ttl = 1h});
  std::atomic<int> at_work{0};
  std::atomic<int> peak{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 500; ++i) {
        const Instant deadline = random() % 4 == 0 ? clock.now() + 100us : kInstantMax;
        PermitResult result = random() % 2 == 0 ? limiter.acquire(1, deadline)
                                                : PermitResult{{}, limiter.try_acquire()};
        if (!result.permit) continue;
        const int now_at_work = ++at_work;
        int seen = peak;
        while (now_at_work > seen && !peak.compare_exchange_weak(seen, now_at_work)) {
        }
        --at_work;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak, 10);
  EXPECT_EQ(limiter.stats().in_use, 0U);
  EXPECT_EQ(limiter.stats().waits.waiting, 0U);
}

}  // namespace
}  // namespace sluice
