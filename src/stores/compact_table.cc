#include "stores/compact_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/backoff.h"
#include "sluice/vocabulary/wide.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sluice {
namespace {

constexpr std::uint64_t kKeysPerLine = 4;  // Of eight places: 16 bytes a key.
constexpr std::uint64_t kSpareLines = 8;
constexpr std::uint64_t kKeysMax = std::uint64_t{1} << 31;
constexpr std::uint64_t kTokenTicksMin = 1024;
constexpr int kShiftMin = -60;
constexpr std::uint64_t kLagTicksMax = std::uint64_t{1} << 30;
constexpr std::uint32_t kSampleLines = 4096;

std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref{const_cast<std::uint64_t&>(word)}.load(std::memory_order_relaxed);
}

// A word is all there is to a key, so no other memory hangs on it: relaxed is enough.
bool swap(std::uint64_t& word, std::uint64_t expected, std::uint64_t desired) noexcept {
  return std::atomic_ref{word}.compare_exchange_strong(expected, desired,
                                                       std::memory_order_relaxed);
}

}  // namespace

CompactPlan::CompactPlan(const Limit& limit) noexcept : burst(limit.burst) {
  const Wide period = static_cast<std::uint64_t>(limit.period.count());
  const Wide requests = limit.requests;
  const auto token_ticks = [&] {  // Rounded to the nearest.
    const Wide ticks = shift >= 0 ? period << shift : period;
    const Wide divisor = shift >= 0 ? requests : requests << -shift;
    return static_cast<std::uint64_t>((ticks + divisor / 2) / divisor);
  };
  for (shift = kShiftMin; token_ticks() < kTokenTicksMin;) ++shift;
  interval = token_ticks();
  span = interval * burst;
  const std::uint64_t second = ticks(Instant{1'000'000'000});
  ahead_max = span + std::clamp(second, interval, kLagTicksMax);
}

Duration CompactPlan::wait(std::uint64_t ticks) const noexcept {
  if (shift <= 0) return Duration{static_cast<std::int64_t>(ticks << -shift)};
  return Duration{static_cast<std::int64_t>((ticks + (std::uint64_t{1} << shift) - 1) >> shift)};
}

Result<std::unique_ptr<CompactTable>> CompactTable::open(const Limit& limit,
                                                         const TableOptions& options) {
  if (options.keys_max < 1 || options.keys_max > kKeysMax) {
    return Error{ErrorCode::invalid_argument, "keys_max: must lie between 1 and 2147483648"};
  }
  const std::uint64_t lines = (options.keys_max + kKeysPerLine - 1) / kKeysPerLine + kSpareLines;
  Result<ZeroPages> pages = ZeroPages::open(lines * sizeof(Line));
  if (!pages) return pages.error();
  return std::unique_ptr<CompactTable>(new CompactTable(
      std::move(*pages), static_cast<std::uint32_t>(lines), limit, options.when_full));
}

CompactTable::CompactTable(ZeroPages pages, std::uint32_t line_count, const Limit& limit,
                           WhenFull when_full) noexcept
    : pages_(std::move(pages)),
      lines_(reinterpret_cast<Line*>(pages_.data())),  // All zero is an empty line.
      line_count_(line_count),
      plan_(limit),
      when_full_(when_full) {}

int CompactTable::find(const Line& line, std::uint32_t tag) noexcept {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
  // Four loads of two words. What they say is only a hint: the word found is read again, and a key
  // missed because its word changed meanwhile is looked for again under the lock for adding.
  const auto* pairs = reinterpret_cast<const __m128i*>(line.words.data());
  const auto upper_halves = [&](int at) {
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(pairs + at)),
                                           _mm_castsi128_ps(_mm_load_si128(pairs + at + 1)),
                                           _MM_SHUFFLE(3, 1, 3, 1)));
  };
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const __m128i front = _mm_cmpeq_epi32(_mm_srli_epi32(upper_halves(0), kTickBits - 32), wanted);
  const __m128i back = _mm_cmpeq_epi32(_mm_srli_epi32(upper_halves(2), kTickBits - 32), wanted);
  const __m128i both = _mm_packs_epi32(front, back);
  const auto matches =
      static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(both, _mm_setzero_si128())));
  return std::countr_zero(matches | 1U << kWays);
#else
  int way = 0;
  while (way < kWays && load(line.words[way]) >> kTickBits != tag) ++way;
  return way;
#endif
}

// The key's word, or null.
std::uint64_t* CompactTable::find(KeyHash hash) const noexcept {
  const std::uint32_t tag = tag_of(hash);
  const std::uint32_t first = first_line(hash);
  if (const int way = find(lines_[first], tag); way < kWays) return &lines_[first].words[way];
  Line& second = lines_[other_line(first, tag)];
  const int way = find(second, tag);
  return way < kWays ? &second.words[way] : nullptr;
}

std::optional<bool> CompactTable::take(KeyHash hash, Cost cost, Instant now) noexcept {
  if (cost > plan_.burst) return false;
  const std::uint64_t cost_ticks = cost * plan_.interval;
  const std::uint64_t now_ticks = plan_.ticks(now);
  const std::uint32_t tag = tag_of(hash);
  for (;;) {
    std::uint64_t* const place = find(hash);
    if (place == nullptr) return cost == 0 ? true : add(hash, cost_ticks, now_ticks);
    const std::uint64_t word = load(*place);
    if (word >> kTickBits != tag) continue;
    const std::uint64_t ahead = ahead_of(word, now_ticks) + cost_ticks;
    if (cost_ticks > 0 && ahead > plan_.span) return false;
    if (cost == 0 || swap(*place, word, make_word(tag, now_ticks + ahead))) return true;
  }
}

std::optional<bool> CompactTable::add(KeyHash hash, std::uint64_t cost_ticks,
                                      std::uint64_t now) noexcept {
  // The same for both lines of a key, so for all who would add it.
  const std::uint32_t first = first_line(hash);
  const std::uint32_t lock = tag_of(hash) + first + other_line(first, tag_of(hash));
  std::atomic<bool>& is_held = add_locks_[lock % kAddLocks].is_held;
  for (Backoff backoff; is_held.exchange(true, std::memory_order_acquire); backoff.pause()) {
  }
  std::optional<bool> answer;
  for (;;) {
    const std::uint32_t tag = tag_of(hash);
    std::uint64_t* place = find(hash);
    const bool is_known = place != nullptr;
    if (!is_known) place = choose_place(hash, now);
    if (place == nullptr) break;
    const std::uint64_t word = load(*place);
    if (is_known && word >> kTickBits != tag) continue;
    const std::uint64_t before = debt_of(word, now);
    const std::uint64_t ahead = (is_known ? before : 0) + cost_ticks;
    answer = ahead <= plan_.span;
    if (!*answer) break;
    if (!swap(*place, word, make_word(tag, now + ahead))) continue;
    if (!is_known && before > 0) evictions_.fetch_add(1, std::memory_order_relaxed);
    break;
  }
  is_held.store(false, std::memory_order_release);
  if (!answer) refusals_.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

// A word at rest in one of the key's lines; when there is none, the nearest to it, or null. The
// first line, which a decision reads first, keeps its last places for keys whose other line is
// fuller still: so, half full, hardly any pair of lines is ever full.
std::uint64_t* CompactTable::choose_place(KeyHash hash, std::uint64_t now) noexcept {
  constexpr int kKept = 2;
  const std::uint32_t first = first_line(hash);
  std::uint64_t* nearest = nullptr;
  std::uint64_t least = kTickMask;
  std::uint64_t* best = nullptr;
  int most_free = 0;
  for (const std::uint32_t line : {first, other_line(first, tag_of(hash))}) {
    std::uint64_t* free = nullptr;
    int free_count = 0;
    for (std::uint64_t& word : lines_[line].words) {
      const std::uint64_t debt = debt_of(load(word), now);
      if (debt == 0) {
        free = &word;
        ++free_count;
      } else if (debt < least) {
        least = debt;
        nearest = &word;
      }
    }
    if (line == first && free_count > kKept) return free;
    if (free_count > most_free) {
      most_free = free_count;
      best = free;
    }
  }
  if (best != nullptr) return best;
  return when_full_ == WhenFull::evict_nearest_to_rest ? nearest : nullptr;
}

std::uint64_t CompactTable::ahead(KeyHash hash, Instant now) const noexcept {
  for (;;) {
    const std::uint64_t* const place = find(hash);
    if (place == nullptr) return 0;
    const std::uint64_t word = load(*place);
    if (word >> kTickBits == tag_of(hash)) return ahead_of(word, plan_.ticks(now));
  }
}

void CompactTable::refund(KeyHash hash, Cost cost, Instant now) noexcept {
  const std::uint64_t cost_ticks = std::min<Cost>(cost, plan_.burst) * plan_.interval;
  const std::uint64_t now_ticks = plan_.ticks(now);
  for (;;) {
    std::uint64_t* const place = find(hash);
    if (place == nullptr) return;
    const std::uint64_t word = load(*place);
    if (word >> kTickBits != tag_of(hash)) continue;
    const std::uint64_t ahead = ahead_of(word, now_ticks);
    const std::uint64_t left = ahead - std::min(ahead, cost_ticks);
    if (left == ahead || swap(*place, word, make_word(tag_of(hash), now_ticks + left))) return;
  }
}

void CompactTable::erase(KeyHash hash) noexcept {
  for (;;) {
    std::uint64_t* const place = find(hash);
    if (place == nullptr) return;
    const std::uint64_t word = load(*place);
    if (word >> kTickBits == tag_of(hash) && swap(*place, word, 0)) return;
  }
}

void CompactTable::prefetch_second(KeyHash hash) const noexcept {
  const std::uint32_t tag = tag_of(hash);
  const std::uint32_t first = first_line(hash);
  const bool is_first = find(lines_[first], tag) < kWays;
  __builtin_prefetch(&lines_[is_first ? first : other_line(first, tag)], 1);
}

std::uint64_t CompactTable::estimate_keys(Instant now) const noexcept {
  const std::uint32_t sample = std::min(line_count_, kSampleLines);
  const std::uint64_t now_ticks = plan_.ticks(now);
  std::uint64_t keys = 0;
  for (std::uint32_t i = 0; i < sample; ++i) {
    for (const std::uint64_t& word : lines_[std::uint64_t{i} * line_count_ / sample].words) {
      keys += debt_of(load(word), now_ticks) > 0 ? 1 : 0;
    }
  }
  return keys * line_count_ / sample;
}

}  // namespace sluice
