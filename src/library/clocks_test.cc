#include <thread>

#include <gtest/gtest.h>

#include "sluice/fake_clock.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(WallAnchor, FollowsAStepOfTheWallClock) {
  WallAnchor anchor;
  anchor.observe(Instant{} + 100s, Instant{} + 40s);
  EXPECT_EQ(anchor.offset(), -60s);
  anchor.observe(Instant{} + 200s, Instant{} + 260s);
  EXPECT_EQ(anchor.offset(), 60s);
}

TEST(WallAnchor, IgnoresWhatTwoClockReadsMayDiffer) {
  WallAnchor anchor;
  anchor.observe(Instant{} + 1s, Instant{} + 1s + 9ms);
  EXPECT_EQ(anchor.offset(), 0s);
  anchor.observe(Instant{} + 1s, Instant{} + 1s - 9ms);
  EXPECT_EQ(anchor.offset(), 0s);
}

TEST(SystemClock, StartsAtUnixTimeAndNeverGoesBack) {
  const auto wall_before = std::chrono::system_clock::now().time_since_epoch();
  const SystemClock clock;
  Instant last = clock.now();
  EXPECT_LT(Duration{last.ns} - wall_before, 1h);
  EXPECT_GT(Duration{last.ns} - wall_before, -1h);
  for (int i = 0; i < 1000; ++i) {
    const Instant now = clock.now();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(clock.wall_offset(), 0s);
}

TEST(FakeClock, CountsItsReads) {
  const FakeClock clock(Instant{5});
  EXPECT_EQ(clock.now(), Instant{5});
  EXPECT_EQ(clock.now(), Instant{5});
  EXPECT_EQ(clock.reads(), 2U);
}

TEST(FakeClock, WakesThoseWhoseTimeHasCome) {
  FakeClock clock;
  Wakeup wakeup;
  std::thread sleeper([&] { clock.sleep(wakeup, Instant{} + 10ms); });
  clock.await_sleepers(1);
  clock.advance(9ms);
  EXPECT_EQ(clock.sleepers(), 1U);
  clock.advance(1ms);
  sleeper.join();
  EXPECT_EQ(clock.sleepers(), 0U);
}

TEST(FakeClock, LetsARingEndASleep) {
  FakeClock clock;
  Wakeup wakeup;
  std::thread sleeper([&] { clock.sleep(wakeup, kInstantMax); });
  clock.await_sleepers(1);
  wakeup.ring();
  sleeper.join();
}

TEST(Wakeup, RemembersARingThatCameFirst) {
  const SystemClock clock;
  Wakeup wakeup;
  wakeup.ring();
  clock.sleep(wakeup, clock.now() + 24h);  // Returns at once, or the test times out.
}

}  // namespace
}  // namespace sluice
