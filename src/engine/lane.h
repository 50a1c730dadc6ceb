// What one thread needs to check requests: the snapshot it works with, its counters, its pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/lane_counters.h"
#include "engine/pending_request.h"
#include "engine/rules_in_force.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/engine_options.h"
#include "sluice/vocabulary/store.h"

namespace sluice {

// What all lanes share.
struct EngineParts {
  EngineParts(const EngineOptions& engine_options, Store& engine_store, const Clock& engine_clock)
      : options(engine_options), store(engine_store), clock(engine_clock) {}

  const EngineOptions options;
  Store& store;
  const Clock& clock;
  RulesInForce rules;
  std::atomic<std::int64_t> next_unknown_domain_ns{0};  // When the hook may be told again.
};

class Lane {
 public:
  explicit Lane(EngineParts& parts) : parts_(parts) {}
  // Requires that nothing is under way.
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void check(const Request& request, AnswerSink& sink) noexcept;

  LaneCounters& counters() noexcept { return counters_; }

 private:
  friend class PendingRequest;

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  void refresh();
  PendingRequest* take_pending();
  void drop_old_views() noexcept;
  void give_back(PendingRequest& pending, SnapshotView& view) noexcept;

  // Where a limit counts whose label carries values of the request.
  std::uint32_t detailed_series(const RuleMatch& match, const RuleLimit& rule,
                                std::span<const Entry> entries,
                                std::span<const std::string_view> identity);
  void warn_of_unknown_domain(std::string_view domain, Instant now);

  EngineParts& parts_;
  LaneCounters counters_;
  std::uint64_t epoch_ = 0;
  std::deque<SnapshotView> views_;  // Oldest first; the last is current.
  std::vector<std::unique_ptr<PendingRequest>> pendings_;
  PendingRequest* free_ = nullptr;  // Chained by PendingRequest::next_free_.
  std::uint32_t requests_ = 0;      // Wraps: every kLatencySampling-th is timed.
  std::string label_;               // Scratch of detailed_series().
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> detailed_;
};

}  // namespace sluice
