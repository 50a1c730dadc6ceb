#include "load/load_tally.h"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

using namespace std::chrono_literals;

LoadPlan plan_with(std::vector<std::string> count, std::vector<std::string> expect = {}) {
  LoadPlan plan;
  plan.count_headers = std::move(count);
  plan.expect_headers = std::move(expect);
  return plan;
}

void answer(LoadTally& tally, int status, std::string_view lines = {}, Duration latency = 1ms) {
  tally.request_started();
  tally.answered(tally.read({status, lines, false}), latency);
}

TEST(LoadTally, CountsAnswersByMeaningAndStatus) {
  LoadTally tally{plan_with({})};
  answer(tally, 200);
  answer(tally, 200);
  answer(tally, 429);
  answer(tally, 503);
  tally.finished(2s, 0);
  EXPECT_EQ(tally.value("requests"), 4);
  EXPECT_EQ(tally.value("allowed"), 2);
  EXPECT_EQ(tally.value("rejected"), 1);
  EXPECT_EQ(tally.value("unexpected"), 1);
  EXPECT_EQ(tally.value("status[503]"), 1);
  EXPECT_EQ(tally.value("status[404]"), 0);
  EXPECT_EQ(tally.value("error_rate"), 0.25);
  EXPECT_EQ(tally.value("rate"), 2);
}

TEST(LoadTally, CountsByTheValueOfAHeader) {
  LoadTally tally{plan_with({"X-Instance-ID"})};
  answer(tally, 200, "x-instance-id: a\r\n");
  answer(tally, 429, "X-Instance-ID: a\r\n");
  answer(tally, 200, "X-Instance-ID: b\r\n");
  answer(tally, 200);
  EXPECT_EQ(tally.value("X-Instance-ID[a]"), 2);
  EXPECT_EQ(tally.value("X-Instance-ID[b]"), 1);
  EXPECT_EQ(tally.value("X-Instance-ID[c]"), 0);
  EXPECT_EQ(tally.value("X-Instance-ID"), 3);
  ASSERT_EQ(tally.headers()[0].values.size(), 3u);
  EXPECT_EQ(tally.headers()[0].values[0].counts.rejected, 1u);
  EXPECT_EQ(tally.headers()[0].values[2].text, "(missing)");
}

TEST(LoadTally, KeepsNoMoreThanABoundedNumberOfValues) {
  LoadTally tally{plan_with({"X"})};
  for (int i = 0; i < 1000; ++i) answer(tally, 200, "X: " + std::to_string(i) + "\r\n");
  EXPECT_EQ(tally.headers()[0].values.size(), 65u);
  EXPECT_EQ(tally.value("X[63]"), 1);
  EXPECT_EQ(tally.value("X[(other)]"), 936);
}

TEST(LoadTally, ChecksStatusAndHeadersOfEveryAnswer) {
  LoadTally tally{plan_with({}, {"Retry-After", "X-Instance-ID"})};
  answer(tally, 200, "Retry-After: 1\r\nX-Instance-ID: a\r\n");
  answer(tally, 429, "X-Instance-ID: a\r\n");
  answer(tally, 500);
  EXPECT_EQ(tally.value("checks_passed"), 5);
  EXPECT_EQ(tally.value("checks_failed"), 4);
  EXPECT_EQ(tally.value("missing_header"), 2);
}

TEST(LoadTally, TellsFailuresApartAndKeepsTheFirstReason) {
  LoadTally tally{plan_with({})};
  for (int i = 0; i < 5; ++i) tally.request_started();
  tally.failed(Failure::connect, 1, "refused");
  tally.failed(Failure::lost, 3, "reset");
  tally.failed(Failure::lost, 1, "closed");
  tally.failed(Failure::timeout, 0, "nothing");
  EXPECT_EQ(tally.value("connect_errors"), 1);
  EXPECT_EQ(tally.value("lost"), 4);
  EXPECT_EQ(tally.value("timeouts"), 0);
  EXPECT_EQ(tally.value("failed"), 5);
  EXPECT_EQ(tally.value("error_rate"), 1);
  EXPECT_EQ(tally.why(Failure::lost), "reset");
  EXPECT_EQ(tally.why(Failure::timeout), "");
}

TEST(LoadTally, KnowsWhichThresholdsItCanTell) {
  const LoadTally tally{plan_with({"X-Instance-ID"})};
  const auto can_tell = [&](std::string_view text) {
    const auto threshold = parse_threshold(text);
    return threshold && tally.can_tell(*threshold);
  };
  EXPECT_TRUE(can_tell("allowed==100"));
  EXPECT_TRUE(can_tell("p99<5ms"));
  EXPECT_TRUE(can_tell("error_rate<0.01"));
  EXPECT_TRUE(can_tell("error_rate<1%"));
  EXPECT_TRUE(can_tell("status[200]>=1"));
  EXPECT_TRUE(can_tell("X-Instance-ID[a]==1"));
  EXPECT_TRUE(can_tell("X-Instance-ID==2"));
  EXPECT_FALSE(can_tell("alowed==100"));
  EXPECT_FALSE(can_tell("p99<5"));
  EXPECT_FALSE(can_tell("allowed<5ms"));
  EXPECT_FALSE(can_tell("status[abc]==1"));
  EXPECT_FALSE(can_tell("status[200==1"));
  EXPECT_FALSE(can_tell("X-Other[a]==1"));
}

}  // namespace
}  // namespace sluice::load
