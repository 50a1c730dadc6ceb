// Once warm, a request allocates nothing. A program of its own: it counts every allocation.
#include <atomic>
#include <cstdlib>
#include <new>

#include "engine_fixture.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace sluice::test {
namespace {

class PermitSink final : public AnswerSink {
 public:
  void answer(const Answer& answer) noexcept override {
    verdict = answer.verdict;
    size = answer.permit.copy(permit.data(), permit.size());
  }
  Verdict verdict{};
  std::array<char, 256> permit{};
  std::size_t size = 0;
};

constexpr std::string_view kRules = R"(
domain: test
descriptors:
  - key: user
    rate_limit: {unit: second, requests_per_unit: 5}
  - key: tenant
    rate_limit: {unit: minute, requests_per_unit: 1000, algorithm: token_bucket}
  - key: path
    value: api/*
    rate_limit: {unit: minute, requests_per_unit: 1000, algorithm: sliding_window}
  - key: job
    rate_limit: {requests_per_unit: 5, algorithm: concurrency}
  - key: detailed
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 3}
)";

TEST(EngineAllocation, AWarmLaneAllocatesNothing) {
  EngineOptions options;
  options.table.keys_max = 1000;
  EngineUnderTest test{kRules, Instant{0}, options};
  OwnedRequest one{"test", {"user=u"}};
  OwnedRequest three{"test", {"user=u", "tenant=t", "path=api/users"}};
  OwnedRequest unmatched{"test", {"other=x"}};
  OwnedRequest unknown{"unheard_of", {"user=u"}};
  OwnedRequest detailed{"test", {"detailed=u"}};
  OwnedRequest refund{"test", {"user=u", Ask{"tenant=t"}.giving_back(1)}};
  OwnedRequest own{"test", {Ask{"user=u"}.with_limit(5, 1h, "hour")}};
  OwnedRequest job{"test", {"job=j"}};
  PermitSink sink;
  const auto ask_all = [&] {
    for (OwnedRequest* request : {&one, &three, &unmatched, &unknown, &detailed, &refund, &own}) {
      test.engine->check(0, request->get(), sink);
    }
    test.engine->check(0, job.get(), sink);
    ASSERT_EQ(sink.verdict, Verdict::allowed);
    const std::string_view permit{sink.permit.data(), sink.size};
    test.engine->check(0, {.operation = Operation::release, .permit = permit}, sink);
    ASSERT_EQ(sink.verdict, Verdict::allowed);
  };
  for (int i = 0; i < 100; ++i) ask_all();
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 10'000; ++i) {
    ask_all();
    test.clock.advance(1ms);
  }
  EXPECT_EQ(allocations.load() - before, 0U);
}

TEST(EngineAllocation, NewKeysAllocateNothingEither) {
  EngineOptions options;
  options.table.keys_max = 10'000;
  EngineUnderTest test{kRules, Instant{0}, options};
  std::vector<std::unique_ptr<OwnedRequest>> requests;
  for (int i = 0; i < 20'000; ++i) {
    requests.push_back(std::make_unique<OwnedRequest>(
        "test", std::vector<Ask>{"user=" + std::to_string(i), "tenant=" + std::to_string(i)}));
  }
  PermitSink sink;
  test.engine->check(0, requests[0]->get(), sink);
  const std::uint64_t before = allocations.load();
  for (const auto& request : requests) test.engine->check(0, request->get(), sink);
  EXPECT_EQ(allocations.load() - before, 0U);
}

}  // namespace
}  // namespace sluice::test
