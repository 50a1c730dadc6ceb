// What a decision costs when the key is one of ten million, drawn at random: most of it is waiting
// for one cache line, so it is set beside a bare locked add to a random line of the same footprint,
// and beside what a program would otherwise use. Medians of five interleaved runs.
//   keyed_table [--smoke] [--flood SECONDS]
// --flood: how long to send nothing but new keys at a table of a million (default 3; 0: not).
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <tbb/concurrent_hash_map.h>
#include <unistd.h>

#include "base/key_hash.h"
#include "base/zero_pages.h"
#include "sluice/compact_keyed_limiter.h"
#include "sluice/fake_clock.h"
#include "sluice/keyed_limiter.h"
#include "stores/memory_table.h"

namespace sluice {
namespace {

constexpr int kRuns = 5;
constexpr std::size_t kBatch = 16;
constexpr Instant kNow{1'000'000'000'000};
constexpr Limit kLimit{.algorithm = Algorithm::token_bucket, .requests = 10'000, .burst = 10'000};
constexpr Cost kFirstCost = 2000;  // What filling takes of each key; too much is then 9000.

using SteadyClock = std::chrono::steady_clock;

// The same keys in the same order for every row.
class RandomKeys {
 public:
  explicit RandomKeys(std::uint64_t keys) : keys_(keys) {}
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint64_t>((Wide{state_} * keys_) >> 64);
  }

 private:
  std::uint64_t keys_;
  std::uint64_t state_ = 0x9E37'79B9'7F4A'7C15U;
};

struct Row {
  std::string name;
  int baseline;  // Index of the row to be divided by.
  std::function<void(RandomKeys&, std::uint64_t ops)> work;
  std::vector<double> ns{};

  double median() const {
    std::vector<double> sorted = ns;
    std::nth_element(sorted.begin(), sorted.begin() + kRuns / 2, sorted.end());
    return sorted[kRuns / 2];
  }
};

template <typename T>
T take_or_exit(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

// One word in each cache line of a stretch of memory.
class Lines {
 public:
  explicit Lines(std::uint64_t bytes)
      : count_(bytes / 64), pages_(take_or_exit(ZeroPages::open(bytes))) {
    for (std::uint64_t i = 0; i < count_; ++i) word(i) = 1;
  }
  void add(std::uint64_t key) noexcept {
    const auto hash = static_cast<std::uint64_t>(Wide{key * 0x9E37'79B9'7F4A'7C15U} * count_ >> 64);
    std::atomic_ref{word(hash)}.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::uint64_t& word(std::uint64_t line) noexcept {
    return *reinterpret_cast<std::uint64_t*>(pages_.data() + line * 64);
  }
  std::uint64_t count_;
  ZeroPages pages_;
};

struct LockedMap {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, State> states;
};

using TbbMap = tbb::concurrent_hash_map<std::uint64_t, State>;

std::size_t resident_bytes() {
  unsigned long total = 0;
  unsigned long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void require(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

class Bench {
 public:
  Bench(std::uint64_t keys, std::uint64_t ops) : keys_(keys), ops_(ops) {
    fill();
    add_rows();
  }

  void run() {
    for (int i = 0; i < kRuns; ++i) {
      for (Row& row : rows_) {
        RandomKeys keys(keys_);
        row.work(keys, ops_ / 16);
        const auto began = SteadyClock::now();
        row.work(keys, ops_);
        const double ns = static_cast<double>((SteadyClock::now() - began).count());
        row.ns.push_back(ns / static_cast<double>(ops_));
      }
    }
  }

  void print() const {
    std::printf("\n%-44s %8s %8s\n", "one thread, random keys, now given", "ns", "ratio");
    for (const Row& row : rows_) {
      std::printf("%-44s %8.1f %8.2f\n", row.name.c_str(), row.median(),
                  row.median() / rows_[row.baseline].median());
    }
  }

  // Every key is still what filling and the runs made it.
  void check_none_lost() {
    std::uint64_t lost = 0;
    std::uint64_t compact_lost = 0;
    for (std::uint64_t key = 0; key < keys_; ++key) {
      lost += exact_->peek(key, 1, kNow).remaining > kLimit.burst - kFirstCost ? 1 : 0;
      compact_lost += compact_->peek(key, 1, kNow).remaining > kLimit.burst - kFirstCost ? 1 : 0;
    }
    std::printf("\nkeys lost of %llu: exact %llu, compact %llu\n",
                static_cast<unsigned long long>(keys_), static_cast<unsigned long long>(lost),
                static_cast<unsigned long long>(compact_lost));
    require(lost == 0, "the exact table lost a key");
  }

  // The longest of many single calls on a filling table, and the most lines that one touched.
  void find_worst_call() const {
    const auto table = take_or_exit(MemoryTable::open({.keys_max = keys_}, nullptr));
    Duration longest{0};
    for (std::uint64_t key = 0; key < keys_; ++key) {
      const KeyHash hash = process_key_seed().hash(key);
      const auto began = SteadyClock::now();
      table->update(hash, kNow, [](State& state) {
        state = {kNow + Duration{1}, 1};
        return true;
      });
      longest = std::max<Duration>(longest, SteadyClock::now() - began);
    }
    const int lines = table->lines_touched_max();
    std::printf(
        "worst call while %llu keys were added: %.1f us (with page faults), %d cache lines\n",
        static_cast<unsigned long long>(keys_), static_cast<double>(longest.count()) / 1e3, lines);
    require(lines <= MemoryTable::kLinesMax, "a call touched too many lines");
    require(table->evictions() == 0, "the table lost a key");
  }

 private:
  void fill() {
    const auto bytes_of = [this](const char* name, const std::function<void()>& make) {
      const std::size_t before = resident_bytes();
      make();
      std::printf("%-44s %8.1f bytes a key\n", name,
                  static_cast<double>(resident_bytes() - before) / static_cast<double>(keys_));
    };
    bytes_of("KeyedLimiter", [this] {
      exact_ = take_or_exit(KeyedLimiter::open(kLimit, clock_, {.keys_max = keys_}));
      for (std::uint64_t key = 0; key < keys_; ++key) exact_->try_acquire(key, kFirstCost, kNow);
    });
    bytes_of("CompactKeyedLimiter", [this] {
      compact_ = take_or_exit(CompactKeyedLimiter::open(kLimit, clock_, {.keys_max = keys_}));
      for (std::uint64_t key = 0; key < keys_; ++key) compact_->try_acquire(key, kFirstCost, kNow);
    });
    bytes_of("std::unordered_map + mutex", [this] {
      for (std::uint64_t key = 0; key < keys_; ++key) map_.states.emplace(key, State{});
    });
    bytes_of("tbb::concurrent_hash_map", [this] {
      for (std::uint64_t key = 0; key < keys_; ++key) tbb_.insert({key, State{}});
    });
    exact_lines_ = std::make_unique<Lines>(keys_ * 32);
    compact_lines_ = std::make_unique<Lines>(keys_ * 16);
  }

  template <typename Limiter>
  static void one_by_one(Limiter& limiter, RandomKeys& keys, std::uint64_t ops, Cost cost) {
    for (std::uint64_t i = 0; i < ops; ++i) {
      sink_ = sink_ + (limiter.try_acquire(keys.next(), cost, kNow) ? 1 : 0);
    }
  }

  template <typename Limiter>
  static void batched(Limiter& limiter, RandomKeys& keys, std::uint64_t ops) {
    std::vector<LimiterKey> batch(kBatch, LimiterKey{0});
    std::array<bool, kBatch> is_allowed{};
    for (std::uint64_t i = 0; i < ops; i += kBatch) {
      for (LimiterKey& key : batch) key = LimiterKey{keys.next()};
      limiter.try_acquire(batch, 1, kNow, is_allowed);
      sink_ = sink_ + (is_allowed[0] ? 1 : 0);
    }
  }

  void add_rows() {
    rows_.push_back({"bare locked add, 32 bytes a key", 0, [this](RandomKeys& keys, auto ops) {
                       for (std::uint64_t i = 0; i < ops; ++i) exact_lines_->add(keys.next());
                     }});
    rows_.push_back({"bare locked add, 16 bytes a key", 1, [this](RandomKeys& keys, auto ops) {
                       for (std::uint64_t i = 0; i < ops; ++i) compact_lines_->add(keys.next());
                     }});
    rows_.push_back({"KeyedLimiter, allow", 0,
                     [this](RandomKeys& keys, auto ops) { one_by_one(*exact_, keys, ops, 1); }});
    rows_.push_back({"KeyedLimiter, deny", 0,
                     [this](RandomKeys& keys, auto ops) { one_by_one(*exact_, keys, ops, 9000); }});
    rows_.push_back({"KeyedLimiter, allow, batches of 16", 0,
                     [this](RandomKeys& keys, auto ops) { batched(*exact_, keys, ops); }});
    rows_.push_back({"CompactKeyedLimiter, allow", 1,
                     [this](RandomKeys& keys, auto ops) { one_by_one(*compact_, keys, ops, 1); }});
    rows_.push_back({"CompactKeyedLimiter, batches of 16", 1,
                     [this](RandomKeys& keys, auto ops) { batched(*compact_, keys, ops); }});
    rows_.push_back({"std::unordered_map + mutex, add", 0, [this](RandomKeys& keys, auto ops) {
                       for (std::uint64_t i = 0; i < ops; ++i) {
                         const std::lock_guard lock(map_.mutex);
                         ++map_.states[keys.next()].payload;
                       }
                     }});
    rows_.push_back({"tbb::concurrent_hash_map, add", 0, [this](RandomKeys& keys, auto ops) {
                       for (std::uint64_t i = 0; i < ops; ++i) {
                         TbbMap::accessor found;
                         if (tbb_.find(found, keys.next())) ++found->second.payload;
                       }
                     }});
  }

  static inline volatile std::uint64_t sink_ = 0;

  std::uint64_t keys_;
  std::uint64_t ops_;
  FakeClock clock_{kNow};
  std::unique_ptr<KeyedLimiter> exact_;
  std::unique_ptr<CompactKeyedLimiter> compact_;
  LockedMap map_;
  TbbMap tbb_;
  std::unique_ptr<Lines> exact_lines_;
  std::unique_ptr<Lines> compact_lines_;
  std::vector<Row> rows_;
};

// Nothing but keys never seen, as an attacker sends them: memory must stay flat.
void flood(std::chrono::seconds span) {
  if (span.count() == 0) return;
  FakeClock clock{kNow};
  const auto limiter = take_or_exit(KeyedLimiter::open(
      {.algorithm = Algorithm::token_bucket, .requests = 10, .burst = 20}, clock));
  const std::size_t before = resident_bytes();
  std::size_t early = 0;
  std::uint64_t keys = 0;
  const auto began = SteadyClock::now();
  auto elapsed = SteadyClock::duration{0};
  while (elapsed < span) {
    for (int i = 0; i < 1000; ++i) limiter->try_acquire(keys++, 1, kNow + elapsed);
    elapsed = SteadyClock::now() - began;
    if (early == 0 && keys >= 3'000'000) early = resident_bytes();
  }
  std::printf(
      "flood of %.1f M keys in %lld s (%.1f M/s) at a table of 1 M: %.1f MB after 3 M keys, "
      "%.1f MB at the end; %llu live keys evicted\n",
      static_cast<double>(keys) / 1e6, static_cast<long long>(span.count()),
      static_cast<double>(keys) / 1e6 / static_cast<double>(span.count()),
      static_cast<double>(early - before) / 1e6,
      static_cast<double>(resident_bytes() - before) / 1e6,
      static_cast<unsigned long long>(limiter->counters().evictions));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  bool is_smoke = false;
  int flood_seconds = -1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) is_smoke = true;
    if (std::strcmp(argv[i], "--flood") == 0 && i + 1 < argc) flood_seconds = std::atoi(argv[++i]);
  }
  if (flood_seconds < 0) flood_seconds = is_smoke ? 0 : 3;
  {
    sluice::Bench bench(is_smoke ? 100'000 : 10'000'000, is_smoke ? 100'000 : 4'000'000);
    bench.run();
    bench.print();
    bench.check_none_lost();
    bench.find_worst_call();
  }
  sluice::flood(std::chrono::seconds{flood_seconds});
  return 0;
}
