// Many threads at once: nothing is admitted twice, whatever happens to the rules meanwhile.
#include <atomic>
#include <thread>

#include "engine_fixture.h"

namespace sluice::test {
namespace {

constexpr unsigned kThreads = 4;

class CountingSink final : public AnswerSink {
 public:
  void answer(const Answer& answer) noexcept override {
    ++answers;
    if (answer.verdict == Verdict::allowed) ++allowed;
  }
  std::uint64_t answers = 0;
  std::uint64_t allowed = 0;
};

template <typename Work>
void run_threads(Work work) {
  std::vector<std::thread> threads;
  for (unsigned lane = 0; lane < kThreads; ++lane) threads.emplace_back([=] { work(lane); });
  for (std::thread& thread : threads) thread.join();
}

EngineOptions with_lanes() {
  EngineOptions options;
  options.lanes = kThreads;
  return options;
}

TEST(EngineThreads, SeveralLimitsOfARequestAreOneStepForAll) {
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 4000, algorithm: token_bucket}
  - key: tenant
    rate_limit: {unit: day, requests_per_unit: 5000}
  - key: all
    rate_limit: {unit: day, requests_per_unit: 6000, algorithm: sliding_window}
)",
                       Instant{0}, with_lanes()};
  std::atomic<std::uint64_t> allowed{0};
  run_threads([&](unsigned lane) {
    CountingSink sink;
    // Two users in opposite order of keys, so that locks meet.
    OwnedRequest one{"test", {"user=a", "tenant=t", "all=x"}};
    OwnedRequest two{"test", {"all=x", "tenant=t", "user=b"}};
    for (int i = 0; i < 5000; ++i) {
      test.engine->check(lane, ((lane + static_cast<unsigned>(i)) % 2 == 0 ? one : two).get(),
                         sink);
    }
    EXPECT_EQ(sink.answers, 5000U);
    allowed += sink.allowed;
  });
  EXPECT_EQ(allowed, 5000U) << "what the tenant has";
  const std::uint64_t users = test.left("user=a") + test.left("user=b");
  EXPECT_EQ(users, 8000U - 5000U) << "refusals cost the users nothing";
  EXPECT_EQ(test.left("all=x"), 1000U);
}

TEST(EngineThreads, ReloadsUnderLoadAdmitNothingExtra) {  // RLD 173, 175; E05
  constexpr std::string_view kRules = R"(
domain: test
descriptors:
  - key: k
    rate_limit: {unit: day, requests_per_unit: 1000, algorithm: token_bucket, burst: 1000}
  - key: other
    rate_limit: {unit: second, requests_per_unit: 1}
)";
  constexpr std::string_view kOtherRules = R"(
domain: test
descriptors:
  - key: new
    rate_limit: {unit: hour, requests_per_unit: 5}
  - key: k
    rate_limit: {unit: day, requests_per_unit: 900, algorithm: token_bucket, burst: 900}
)";
  EngineUnderTest test{kRules, Instant{0}, with_lanes()};
  const std::array rules{rules_of(kRules), rules_of(kOtherRules)};
  std::atomic<std::uint64_t> allowed{0};
  std::atomic<unsigned> running{kThreads};
  std::thread reloader([&] {
    for (std::size_t i = 0; running.load() > 0; ++i) {
      ASSERT_TRUE(test.engine->replace_rules(rules[i % 2]).has_value());
      ASSERT_TRUE(test.engine->set_kill_switch("test", "other", false).has_value() || i > 0);
      test.engine->metrics();
    }
  });
  run_threads([&](unsigned lane) {
    CountingSink sink;
    OwnedRequest request{"test", {"k=x"}};
    for (int i = 0; i < 20'000; ++i) test.engine->check(lane, request.get(), sink);
    allowed += sink.allowed;
    --running;
  });
  reloader.join();
  EXPECT_LE(allowed, 1000U);
  EXPECT_GE(allowed, 900U);
}

TEST(EngineThreads, ProgramsWithoutLanesMayAskFromAnywhere) {
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: k
    rate_limit: {unit: day, requests_per_unit: 1000}
)",
                       Instant{0}};
  std::atomic<std::uint64_t> allowed{0};
  run_threads([&](unsigned) {
    for (int i = 0; i < 500; ++i) {
      if (test.take({"k=x"}).verdict == Verdict::allowed) ++allowed;
    }
  });
  EXPECT_EQ(allowed, 1000U);
}

TEST(EngineThreads, CountersOfAllLanesAddUp) {
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: k
    detailed_metric: true
    rate_limit: {unit: day, requests_per_unit: 10}
)",
                       Instant{0}, with_lanes()};
  run_threads([&](unsigned lane) {
    CountingSink sink;
    OwnedRequest request{"test", {"k=x"}};
    for (int i = 0; i < 1000; ++i) test.engine->check(lane, request.get(), sink);
  });
  EXPECT_EQ(test.rule_metrics("k=x").hits, kThreads * 1000U);
  EXPECT_EQ(count_of(test.rule_metrics("k=x"), DecisionKind::allowed), 10U);
}

}  // namespace
}  // namespace sluice::test
