// One request under way: matched, charged, waiting for the store, answered. Lives in its lane's
// pool and keeps its memory, so that once warm a request allocates nothing. One thread.
//
//   begin -> match descriptors -> drop what is replaced -> submit (refunds first, then takes)
//         -> complete, once for each check -> excuse silent limits, perhaps submit the rest again
//         -> answer -> back to the pool
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/limit_in_play.h"
#include "engine/permit_token.h"
#include "engine/rule_matcher.h"
#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/request.h"
#include "sluice/vocabulary/store.h"

namespace sluice {

class Lane;
class Snapshot;

// A snapshot and how many requests of one lane still read it.
struct SnapshotView {
  std::shared_ptr<const Snapshot> snapshot;
  std::uint32_t readers = 0;
  const RuleDomain* last_domain = nullptr;  // Of the request before: mostly this one's too.
};

class PendingRequest final : public CheckSink {
 public:
  explicit PendingRequest(Lane& lane) : lane_(lane) {}
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;

  // Answers `sink` exactly once, perhaps before it returns; then this is back in the lane's pool.
  void begin(const Request& request, SnapshotView& view, AnswerSink& sink) noexcept;

  void complete(Check& check) noexcept override;

 private:
  friend class Lane;

  // The limit that a request brought along, dressed as a rule.
  struct Override {
    RuleLimit rule;
    LimitPlan plan;
  };
  // A descriptor on its way to its limits.
  struct Matching {
    const RuleDomain& domain;
    const Descriptor& descriptor;
    std::uint32_t index = 0;  // In the request.
    std::span<std::string_view> identity;
    RuleMatch match;
  };

  void begin_rules();
  const RuleDomain* find_domain() const noexcept;
  void begin_permit();

  // Enters the limits of all descriptors that are refunds, or of all others.
  void match_descriptors(const RuleDomain& domain, bool are_refunds);
  void match_descriptor(Matching& matching);
  void play_rule(const Matching& matching, const RuleLimit& rule);
  void play_override(const Matching& matching);
  void play(const Matching& matching, LimitInPlay limit, Role role, const LimitPlan& plan);
  void drop_replaced();

  void submit();
  // Takes undecided limits whose policy lets that pass out of the check. Whether the check has to
  // be submitted again for the others.
  bool excuse(Check& check);
  void finish();
  void finish_permit();
  void count(Verdict verdict);
  void answer_error(ErrorCode code, std::string message);
  void answer(const Answer& whole);
  // What to say of a store that did not decide; valid until the next call.
  const Error& silence(ErrorCode code);

  bool is_refund(const Descriptor& descriptor) const noexcept;
  Cost cost_of(const Descriptor& descriptor) const noexcept {
    return descriptor.hits.value_or(request_->hits);
  }
  std::string_view make_permit();

  Lane& lane_;
  const Request* request_ = nullptr;
  PendingRequest* next_free_ = nullptr;
  SnapshotView* view_ = nullptr;
  const Snapshot* snapshot_ = nullptr;  // Of view_.
  AnswerSink* sink_ = nullptr;
  const RuleDomain* domain_ = nullptr;
  Instant now_;
  bool is_timed_ = false;  // Its latency goes into the histogram.
  bool has_matched_ = false;
  bool quota_passes_ = false;
  std::uint32_t checks_open_ = 0;
  ErrorCode error_code_ = ErrorCode::internal;  // Of the last check that was undecided.

  std::array<Check, 2> checks_;  // Refunds; takes or peeks.
  std::vector<LimitInPlay> limits_;
  std::vector<Charge> charges_;  // charges_[i] belongs to limits_[i].
  std::size_t refunds_ = 0;      // So many of them come first and give back.
  std::vector<DescriptorAnswer> answers_;
  std::vector<std::string_view> identities_;
  std::size_t identities_used_ = 0;
  std::vector<std::string_view> replaced_;  // Names of limits that others stand in for.
  std::vector<std::unique_ptr<Override>> overrides_;
  std::size_t overrides_used_ = 0;
  std::vector<PermitPlace> permit_places_;
  std::vector<LimitPlan> permit_plans_;
  std::string permit_;
  Error error_;
};

}  // namespace sluice
