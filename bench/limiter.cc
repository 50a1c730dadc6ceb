// What a decision of one limiter costs, beside what the machine itself charges for the same memory
// traffic: medians of five interleaved runs, so that a slow moment touches all rows alike.
//   limiter [--smoke]
#include "sluice/limiter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sluice/leased_limiter.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

constexpr int kRuns = 5;

// Does `ops` operations and returns something that depends on all of them.
using Work = std::function<std::uint64_t(std::uint64_t ops)>;

struct Row {
  std::string name;
  unsigned threads;
  Work work;
  std::vector<double> ns;  // Per operation, as its thread sees it; one a run.

  double median() const {
    std::vector<double> sorted = ns;
    std::nth_element(sorted.begin(), sorted.begin() + kRuns / 2, sorted.end());
    return sorted[kRuns / 2];
  }
};

std::atomic<std::uint64_t> sink;

double measure(const Row& row, std::uint64_t ops) {
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> longest_ns{0};
  for (unsigned t = 0; t < row.threads; ++t) {
    threads.emplace_back([&] {
      sink += row.work(ops / 16);  // Warm; a leased limiter has given out its lease.
      ++ready;
      while (ready < row.threads) {
      }
      const auto began = std::chrono::steady_clock::now();
      sink += row.work(ops);
      const std::int64_t ns = (std::chrono::steady_clock::now() - began).count();
      std::int64_t seen = longest_ns;
      while (ns > seen && !longest_ns.compare_exchange_weak(seen, ns)) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(longest_ns) / static_cast<double>(ops);
}

Work repeat(auto operation) {
  return [operation](std::uint64_t ops) {
    auto local = operation;  // In registers: what it captured is not part of what it costs.
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < ops; ++i) sum += local();
    return sum;
  };
}

Limit bucket(std::uint32_t requests, std::uint32_t burst,
             Duration period = std::chrono::seconds{1}) {
  return {
      .algorithm = Algorithm::token_bucket, .requests = requests, .period = period, .burst = burst};
}

struct alignas(64) Word {
  std::atomic<std::uint64_t> value{0};
  std::mutex mutex;
};

class Bench {
 public:
  explicit Bench(std::uint64_t ops) : ops_(ops) {
    (void)denying_->try_acquire(1, drained_at_);
    for (const unsigned threads : {1U, 2U}) add_rows(threads);
  }

  void run() {
    for (int i = 0; i < kRuns; ++i) {
      for (Row& row : rows_) row.ns.push_back(measure(row, ops_));
    }
  }

  void print() const {
    std::printf("ns an operation, median of %d interleaved runs of %llu operations a thread\n",
                kRuns, static_cast<unsigned long long>(ops_));
    for (const unsigned threads : {1U, 2U}) {
      std::printf("\n%-46s %8s   %s\n", threads == 1 ? "one thread" : "two threads, one limiter",
                  "ns", "against");
      for (const Row& row : rows_) {
        if (row.threads == threads) {
          std::printf("%-46s %8.2f   %s\n", row.name.c_str(), row.median(), bar(row).c_str());
        }
      }
    }
  }

 private:
  void add_rows(unsigned threads) {
    const auto add = [&](const char* name, Work work) {
      rows_.push_back({name, threads, std::move(work), {}});
    };
    add("relaxed load",
        repeat([word = &word_] { return word->value.load(std::memory_order_relaxed); }));
    add("load + CAS", repeat([word = &word_] {
          std::uint64_t old = word->value.load(std::memory_order_relaxed);
          while (!word->value.compare_exchange_weak(old, old + 1)) {
          }
          return old;
        }));
    add("fetch_add", repeat([word = &word_] { return word->value.fetch_add(1); }));
    add("std::mutex, lock and unlock", repeat([word = &word_] {
          const std::lock_guard lock(word->mutex);
          return std::uint64_t{1};
        }));
    add("clock", repeat([] {
          return static_cast<std::uint64_t>(
              std::chrono::steady_clock::now().time_since_epoch().count());
        }));
    add("clock, then load + CAS", repeat([word = &word_] {
          const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
          std::uint64_t old = word->value.load(std::memory_order_relaxed);
          while (!word->value.compare_exchange_weak(old, old + 1)) {
          }
          return old + static_cast<std::uint64_t>(now);
        }));
    // A token a nanosecond, so each of these is allowed, and the bucket is never at rest.
    add("Limiter, now given, allow", [limiter = allowing_.get()](std::uint64_t ops) {
      std::uint64_t allowed = 0;
      for (std::uint64_t i = 0; i < ops; ++i) {
        allowed += limiter->try_acquire(1, Instant{static_cast<std::int64_t>(i + 1)});
      }
      return allowed;
    });
    add("Limiter, now given, deny", repeat([limiter = denying_.get(), now = drained_at_] {
          return limiter->try_acquire(1, now);
        }));
    add("Limiter, now given, allow, whole Decision",
        [limiter = allowing_.get()](std::uint64_t ops) {
          std::uint64_t remaining = 0;
          for (std::uint64_t i = 0; i < ops; ++i) {
            remaining += limiter->decide(1, Instant{static_cast<std::int64_t>(i + 1)}).remaining;
          }
          return remaining;
        });
    add("Limiter, own clock, allow",
        repeat([limiter = own_clock_.get()] { return limiter->try_acquire(); }));
    add("Limiter, own clock, deny",
        repeat([limiter = denying_.get()] { return limiter->try_acquire(); }));
    add("LeasedLimiter, own clock, allow",
        repeat([limiter = leased_.get()] { return limiter->try_acquire(); }));
  }

  double of(const char* name, unsigned threads) const {
    return std::find_if(rows_.begin(), rows_.end(),
                        [&](const Row& row) { return row.name == name && row.threads == threads; })
        ->median();
  }

  std::string bar(const Row& row) const {
    std::array<char, 128> text{};
    const double cas = of("load + CAS", row.threads);
    const double clock = of("clock", row.threads);
    const double clock_and_cas = of("clock, then load + CAS", row.threads);
    if (row.name == "Limiter, now given, allow") {
      std::snprintf(text.data(), text.size(), "%.2fx load + CAS (bar 1.25x)", row.median() / cas);
    } else if (row.name == "Limiter, now given, deny") {
      std::snprintf(text.data(), text.size(), "bar 2 ns");
    } else if (row.name == "Limiter, own clock, allow") {
      std::snprintf(text.data(), text.size(),
                    "%.2fx clock, then load + CAS; clock + %.2fx load + CAS (bar 1.25x)",
                    row.median() / clock_and_cas, (row.median() - clock) / cas);
    } else if (row.name == "LeasedLimiter, own clock, allow") {
      std::snprintf(text.data(), text.size(), "%.2fx Limiter with its own clock (bar 3 ns)",
                    row.median() / of("Limiter, own clock, allow", row.threads));
    }
    return text.data();
  }

  std::uint64_t ops_;
  SystemClock clock_;
  Word word_;
  // A thousand million tokens a second: no loop here is that fast.
  std::unique_ptr<Limiter> allowing_ = Limiter::open(bucket(kRateMax, kCostMax), clock_).value();
  std::unique_ptr<Limiter> own_clock_ = Limiter::open(bucket(kRateMax, kCostMax), clock_).value();
  std::unique_ptr<Limiter> denying_ =  // One token in ten years.
      Limiter::open(bucket(1, 1, kPeriodMax), clock_).value();
  const Instant drained_at_ = clock_.now();
  std::unique_ptr<LeasedLimiter> leased_ =
      LeasedLimiter::open(bucket(kRateMax, kCostMax), clock_, {.threads_max = 2}).value();
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  sluice::Bench bench(is_smoke ? 100'000 : 10'000'000);
  bench.run();
  bench.print();
}
