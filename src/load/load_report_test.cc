#include "load/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::load {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class LoadReport : public ::testing::Test {
 protected:
  LoadReport() {
    plan_.targets.push_back({"POST", *parse_url("http://h/x"), {}, "{}"});
    plan_.count_headers = {"X-Instance-ID"};
    tally_ = std::make_unique<LoadTally>(plan_);
    for (int i = 0; i < 3; ++i) tally_->request_started();
    tally_->answered(tally_->read({200, "X-Instance-ID: \"a\\\xff\r\n", false}), 2ms);
    tally_->answered(tally_->read({429, "X-Instance-ID: b\r\n", false}), 4ms);
    tally_->failed(Failure::lost, 1, "reset");
    tally_->finished(500ms, 0);
  }

  std::vector<ThresholdResult> judged(std::string_view threshold) const {
    return judge({*parse_threshold(threshold)}, *tally_);
  }

  LoadPlan plan_;
  std::unique_ptr<LoadTally> tally_;
};

TEST_F(LoadReport, SaysInJsonWhatThresholdsCallIt) {
  const std::string json = report_json(*tally_, judged("allowed==1"));
  EXPECT_THAT(json, HasSubstr(R"("requests":3,"answers":2,"allowed":1,"rejected":1)"));
  EXPECT_THAT(json, HasSubstr(R"("lost":1)"));
  EXPECT_THAT(json, HasSubstr(R"("rate":4.000000)"));
  EXPECT_THAT(json, HasSubstr(R"("status":{"200":1,"429":1})"));
  EXPECT_THAT(json, HasSubstr("\"\\\"a\\\\\xef\xbf\xbd\":{\"answers\":1,\"allowed\":1,"));
  EXPECT_THAT(json, HasSubstr(R"("reasons":{"lost":"reset"})"));
  EXPECT_THAT(json, HasSubstr(R"("max":4.000000)"));
  EXPECT_TRUE(json.ends_with(R"("ok":true})"));
}

TEST_F(LoadReport, SaysWhichThresholdFailed) {
  const auto results = judged("p99<1ms");
  EXPECT_FALSE(results[0].holds);
  EXPECT_TRUE(report_json(*tally_, results).ends_with(R"("ok":false})"));
  EXPECT_THAT(report_text(plan_, *tally_, results), HasSubstr("FAILED  p99<1ms  (4.00ms)"));
}

TEST_F(LoadReport, ShowsPeopleCountsAndTheFirstReasonOfAFailure) {
  const std::string text = report_text(plan_, *tally_, {});
  EXPECT_THAT(text, HasSubstr("POST http://h/x\n"));
  EXPECT_THAT(text, HasSubstr("the first: reset"));
  EXPECT_THAT(text, HasSubstr("X-Instance-ID"));
  EXPECT_THAT(text, Not(HasSubstr("unsent")));
}

}  // namespace
}  // namespace sluice::load
