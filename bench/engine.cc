// What the engine adds to a decision: matching, identity, roles, the answer, counters.
//
//   engine [--smoke]
//
// Each row is a request that a lane checks again and again, with the instant passed in; the
// baseline is a keyed limiter's decision on the same random keys, few enough for the caches and too
// many. Medians of five interleaved runs. Allocations of the measured part are counted: there are
// none.
#include "sluice/engine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/rule_loader.h"
#include "sluice/keyed_limiter.h"
#include "sluice/system_clock.h"
#include "sluice/vocabulary/rule_set.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using namespace sluice;

constexpr std::size_t kKeys = 1 << 16;
constexpr int kRuns = 5;

constexpr std::string_view kRules = R"(
domain: api
descriptors:
  - key: api_key
    rate_limit: {unit: second, requests_per_unit: 1000000, algorithm: token_bucket}
  - key: tenant
    rate_limit: {unit: minute, requests_per_unit: 1000000000}
  - key: route
    descriptors:
      - key: method
        rate_limit: {unit: minute, requests_per_unit: 1000000000, algorithm: sliding_window}
  - key: banned
    rate_limit: {unit: day, requests_per_unit: 1}
)";

class NullSink final : public AnswerSink {
 public:
  void answer(const Answer& answer) noexcept override {
    verdicts[static_cast<std::size_t>(answer.verdict)] += 1;
  }
  std::array<std::uint64_t, 4> verdicts{};
};

// One request, warm as a server's is that was just parsed; only its values change.
class Traffic {
 public:
  Traffic& add(std::vector<Entry> entries) {
    entries_[descriptors_used_] = std::move(entries);
    descriptors_[descriptors_used_].entries = entries_[descriptors_used_];
    ++descriptors_used_;
    request_.domain = "api";
    request_.descriptors = std::span{descriptors_}.first(descriptors_used_);
    return *this;
  }
  // The value of a descriptor's first entry.
  void set(std::size_t descriptor, std::string_view value) {
    entries_[descriptor][0].value = value;
  }
  Request& request() { return request_; }

 private:
  std::array<std::vector<Entry>, 3> entries_;
  std::array<Descriptor, 3> descriptors_;
  std::size_t descriptors_used_ = 0;
  Request request_;
};

struct Row {
  std::string name;
  std::function<void(std::size_t)> once;  // One decision on the key of this number.
  std::vector<double> ns{};
  std::uint64_t allocations = 0;
};

void measure(Row& row, std::span<const std::uint32_t> order) {
  for (const std::uint32_t key : order.first(order.size() / 8)) row.once(key);
  const std::uint64_t before = allocations.load();
  const auto start = std::chrono::steady_clock::now();
  for (const std::uint32_t key : order) row.once(key);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  row.allocations += allocations.load() - before;
  row.ns.push_back(took.count() / static_cast<double>(order.size()));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Five interleaved runs of all rows over the same random keys; the first row is the baseline.
void compare(std::vector<Row>& rows, std::size_t keys, std::size_t decisions) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same order for every row.
  std::vector<std::uint32_t> order(decisions);
  for (std::uint32_t& key : order) key = static_cast<std::uint32_t>(random() % keys);
  for (Row& row : rows) row.ns.clear();
  for (int run = 0; run < kRuns; ++run) {
    for (Row& row : rows) measure(row, order);
  }
  const double baseline = median(rows[0].ns);
  fmt::print("{:36} {:>8} {:>8} {:>12}\n", fmt::format("{} random keys, one thread", keys), "ns",
             "ratio", "allocations");
  for (const Row& row : rows) {
    fmt::print("{:36} {:8.1f} {:7.2f}x {:12}\n", row.name, median(row.ns),
               median(row.ns) / baseline, row.allocations);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  const std::size_t decisions = is_smoke ? 50'000 : 500'000;

  SystemClock clock;
  EngineOptions options;
  options.clock = &clock;
  const auto engine = Engine::open(options).value();
  LoadedRules loaded = parse_rules(kRules, "bench.yaml");
  if (!engine->replace_rules(std::make_shared<const RuleSet>(std::move(loaded.rules)))) return 1;
  const auto limiter =
      KeyedLimiter::open(
          {.algorithm = Algorithm::token_bucket, .requests = 1'000'000, .burst = 1'000'000}, clock)
          .value();

  std::vector<std::string> values;
  for (std::size_t i = 0; i < kKeys; ++i) values.push_back(fmt::format("customer-{:08}", i));
  Traffic one;
  Traffic three;
  Traffic unmatched;
  Traffic banned;
  one.add({{"api_key", ""}});
  three.add({{"api_key", ""}}).add({{"tenant", ""}}).add({{"route", ""}, {"method", "GET"}});
  unmatched.add({{"unheard_of", ""}});
  banned.add({{"banned", ""}});
  NullSink sink;
  const auto check = [&](Traffic& traffic) {
    traffic.request().now = clock.now();
    return [&values, &traffic, &sink, engine = engine.get()](std::size_t key) {
      traffic.set(0, values[key]);
      engine->check(0, traffic.request(), sink);
    };
  };
  const auto check_three = [&, once = check(three)](std::size_t key) {
    three.set(1, values[key % 100]);
    three.set(2, values[key % 1000]);
    once(key);
  };
  for (std::size_t i = 0; i < kKeys; ++i) check(banned)(i);

  std::vector<Row> rows{
      {"keyed limiter, by text (baseline)",
       [&, now = clock.now()](std::size_t key) {
         sink.verdicts[limiter->try_acquire(values[key], 1, now) ? 0 : 1] += 1;
       }},
      {"engine, 1 descriptor", check(one)},
      {"engine, 3 descriptors, 4 entries", check_three},
      {"engine, denied", check(banned)},
      {"engine, unmatched", check(unmatched)},
  };
  for (const std::size_t keys : {std::size_t{64}, kKeys}) compare(rows, keys, decisions);
  return sink.verdicts[0] > 0 ? 0 : 1;
}
