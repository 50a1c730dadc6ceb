#include "engine/pending_request.h"

#include <algorithm>
#include <utility>

#include "base/key_hash.h"
#include "engine/lane.h"
#include "engine/request_bounds.h"
#include "engine/snapshot.h"

namespace sluice {
namespace {

// Name in the store of a request's own limit: the rule's path, so that it is found beside the
// rule, and what no path of keys contains.
void name_override(RuleLimit& rule, const RuleDomain& domain, std::span<const Entry> entries,
                   std::string_view unit) {
  rule.domain = domain.name;
  rule.label.clear();
  rule.id.clear();
  append_rule_id(rule.id, domain.name);
  for (const Entry& entry : entries) {
    if (!rule.label.empty()) rule.label += '/';
    rule.label += entry.key;
    append_rule_id(rule.id, entry.key);
  }
  rule.id += "~override-";
  rule.id += unit;
}

DecisionKind kind_of(const LimitInPlay& limit, const Charge& charge) noexcept {
  if (limit.is_excused) return DecisionKind::undecided;
  switch (charge.decision.verdict) {
    case Verdict::allowed:
      return DecisionKind::allowed;
    case Verdict::denied:
      return charge.role == Role::shadow ? DecisionKind::shadow_denied : DecisionKind::denied;
    case Verdict::shed:
      return DecisionKind::shed;
    case Verdict::undecided:
      break;
  }
  return DecisionKind::undecided;
}

}  // namespace

void PendingRequest::begin(const Request& request, SnapshotView& view, AnswerSink& sink) noexcept {
  request_ = &request;
  view_ = &view;
  snapshot_ = view.snapshot.get();
  sink_ = &sink;
  domain_ = nullptr;
  now_ = request.now.ns != 0 ? request.now : lane_.parts_.clock.now();
  is_timed_ = ++lane_.requests_ % kLatencySampling == 0;
  has_matched_ = false;
  quota_passes_ = false;
  limits_.clear();
  charges_.clear();
  refunds_ = 0;
  answers_.clear();
  identities_used_ = 0;
  replaced_.clear();
  overrides_used_ = 0;
  permit_.clear();

  std::string problem;
  if (!is_within(request, lane_.parts_.options.bounds, problem)) {
    return answer_error(ErrorCode::invalid_argument, std::move(problem));
  }
  if (asks_by_permit(request)) {
    begin_permit();
  } else {
    begin_rules();
  }
}

void PendingRequest::begin_rules() {
  answers_.resize(request_->descriptors.size());
  domain_ = find_domain();
  if (domain_ == nullptr) {
    if (request_->operation == Operation::take) lane_.counters_.unmatched_unknown_domain.add(1);
    lane_.warn_of_unknown_domain(request_->domain, now_);
    return answer({.descriptors = answers_});
  }
  std::size_t entries = 0;
  bool has_refunds = false;
  for (const Descriptor& descriptor : request_->descriptors) {
    entries += descriptor.entries.size();
    has_refunds |= is_refund(descriptor);
  }
  if (identities_.size() < entries) identities_.resize(entries);
  if (has_refunds) match_descriptors(*domain_, true);
  refunds_ = charges_.size();
  match_descriptors(*domain_, false);
  if (!replaced_.empty()) drop_replaced();
  submit();
}

const RuleDomain* PendingRequest::find_domain() const noexcept {
  const RuleDomain* last = view_->last_domain;
  if (last != nullptr && last->name == request_->domain) return last;
  const RuleDomain* found = snapshot_->matcher().find_domain(request_->domain);
  if (found != nullptr) view_->last_domain = found;
  return found;
}

void PendingRequest::match_descriptors(const RuleDomain& domain, bool are_refunds) {
  for (std::uint32_t i = 0; i < request_->descriptors.size(); ++i) {
    const Descriptor& descriptor = request_->descriptors[i];
    if (is_refund(descriptor) != are_refunds) continue;
    const std::span identity{identities_.data() + identities_used_, descriptor.entries.size()};
    identities_used_ += identity.size();
    Matching matching{domain, descriptor, i, identity, {}};
    match_descriptor(matching);
  }
}

void PendingRequest::match_descriptor(Matching& matching) {
  const Descriptor& descriptor = matching.descriptor;
  if (descriptor.limit && !descriptor.entries.empty()) {
    has_matched_ = true;
    return play_override(matching);
  }
  matching.match =
      snapshot_->matcher().match(matching.domain, descriptor.entries, matching.identity);
  if (matching.match.limits.empty()) {
    quota_passes_ |= lane_.parts_.options.quota_mode;
    return;
  }
  has_matched_ = true;
  answers_[matching.index].metadata = matching.match.metadata;
  for (const RuleLimit& rule : matching.match.limits) {
    replaced_.insert(replaced_.end(), rule.replaces.begin(), rule.replaces.end());
    play_rule(matching, rule);
  }
}

void PendingRequest::play_rule(const Matching& matching, const RuleLimit& rule) {
  const EngineOptions& options = lane_.parts_.options;
  const Snapshot::CompiledLimit& compiled = snapshot_->compiled(rule);
  const bool shows_values = rule.detailed_metric || matching.match.metric_values != 0;
  const std::uint32_t series =
      shows_values ? lane_.detailed_series(matching.match, rule, matching.descriptor.entries,
                                           matching.identity)
                   : compiled.series;
  const bool is_quota = rule.quota_mode || options.quota_mode;
  if (rule.unlimited) {
    answers_[matching.index].rule = &rule;
    answers_[matching.index].decision = kPassWithoutNumbers;
    quota_passes_ |= is_quota;
    if (request_->operation == Operation::take && !is_refund(matching.descriptor)) {
      lane_.counters_.series.at(series).count(DecisionKind::allowed, cost_of(matching.descriptor));
    }
    return;
  }
  const bool is_silent_refusal =
      rule.shadow_mode || compiled.is_killed.load(std::memory_order_relaxed);
  const Role role = is_silent_refusal || options.shadow_mode ? Role::shadow
                    : is_quota                               ? Role::quota
                                                             : Role::enforced;
  play(matching, {&rule, matching.index, series, is_silent_refusal}, role, compiled.plan);
}

void PendingRequest::play_override(const Matching& matching) {
  const EngineOptions& options = lane_.parts_.options;
  if (overrides_used_ == overrides_.size()) overrides_.push_back(std::make_unique<Override>());
  Override& own = *overrides_[overrides_used_++];
  const LimitOverride& limit = *matching.descriptor.limit;
  const std::span<const Entry> entries = matching.descriptor.entries;
  name_override(own.rule, matching.domain, entries, limit.unit);
  own.rule.id_hash = process_key_seed().hash(own.rule.id).low;
  own.rule.limit = {.requests = limit.requests, .period = limit.period};
  own.plan = make_plan(own.rule.limit);
  for (std::size_t i = 0; i < entries.size(); ++i) matching.identity[i] = entries[i].value;
  answers_[matching.index].is_override = true;
  const Role role = options.shadow_mode  ? Role::shadow
                    : options.quota_mode ? Role::quota
                                         : Role::enforced;
  play(matching,
       {&own.rule, matching.index, snapshot_->compiled(matching.domain).override_series, false},
       role, own.plan);
}

void PendingRequest::play(const Matching& matching, LimitInPlay limit, Role role,
                          const LimitPlan& plan) {
  limits_.push_back(limit);
  Charge& charge = charges_.emplace_back();
  charge.plan = &plan;
  charge.key = {limit.rule->id, limit.rule->id_hash, matching.identity};
  charge.hash = hash_key(charge.key);
  charge.cost = cost_of(matching.descriptor);
  charge.role = role;
}

void PendingRequest::drop_replaced() {
  std::size_t kept = 0;
  std::size_t refunds_kept = 0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const std::string& name = limits_[i].rule->name;
    if (!name.empty() && std::find(replaced_.begin(), replaced_.end(), name) != replaced_.end()) {
      continue;
    }
    limits_[kept] = limits_[i];
    charges_[kept] = charges_[i];
    ++kept;
    if (i < refunds_) ++refunds_kept;
  }
  limits_.resize(kept);
  charges_.resize(kept);
  refunds_ = refunds_kept;
}

void PendingRequest::begin_permit() {
  if (!decode_permit(request_->permit, permit_places_))
    return answer_error(ErrorCode::not_found, "permit: not known here");
  permit_plans_.clear();
  permit_plans_.reserve(permit_places_.size());
  for (const PermitPlace& place : permit_places_) {
    permit_plans_.push_back(
        make_plan({.algorithm = Algorithm::concurrency, .permit_ttl = place.ttl}));
    Charge& charge = charges_.emplace_back();
    charge.plan = &permit_plans_.back();
    charge.hash = place.hash;
    charge.permit = place.id;
  }
  submit();
}

void PendingRequest::submit() {
  if (charges_.empty()) return finish();
  std::array<Check*, 2> ready{};
  std::size_t ready_count = 0;
  const auto add = [&](Check& check, std::span<Charge> charges, Operation operation) {
    if (charges.empty()) return;
    check = {.operation = operation,
             .charge_each = domain_ != nullptr && domain_->charge_each,
             .quota_passes = quota_passes_,
             .charges = charges,
             .now = now_,
             .wall_offset = lane_.parts_.clock.wall_offset(),
             .deadline = request_->deadline,
             .sink = this};
    if (!request_->request_id.empty()) {
      const KeyHash id = process_key_seed().hash(request_->request_id);
      check.request_id = {id.high, id.low};
    }
    ready[ready_count++] = &check;
  };
  const std::span charges{charges_};
  add(checks_[0], charges.first(refunds_), Operation::refund);
  add(checks_[1], charges.subspan(refunds_), request_->operation);
  checks_open_ = static_cast<std::uint32_t>(ready_count);
  const std::span checks{ready.data(), ready_count};
  if (now_ < request_->deadline) return lane_.parts_.store.submit(checks);
  for (Check* late : checks) {
    late->verdict = Verdict::undecided;
    late->error = ErrorCode::timeout;
    complete(*late);
  }
}

void PendingRequest::complete(Check& check) noexcept {
  if (check.verdict == Verdict::undecided) {
    error_code_ = check.error;
    if (excuse(check)) {
      Check* again = &check;
      return lane_.parts_.store.submit({&again, 1});
    }
  }
  if (--checks_open_ == 0) finish();
}

bool PendingRequest::excuse(Check& check) {
  if (limits_.empty()) return false;  // A permit has no rule to ask.
  const auto is_undecided = [](const Charge& charge) {
    return charge.decision.verdict == Verdict::undecided;
  };
  // A store that is silent as a whole need not mark each charge.
  if (std::none_of(check.charges.begin(), check.charges.end(), is_undecided)) {
    for (Charge& charge : check.charges) charge.decision = {.verdict = Verdict::undecided};
  }
  LimitInPlay* limit = limits_.data() + (check.charges.data() - charges_.data());
  bool has_new = false;
  bool has_decided = false;
  bool all_excused = true;
  for (Charge& charge : check.charges) {
    LimitInPlay& own = *limit++;
    if (!is_undecided(charge)) {
      has_decided = true;
    } else if (is_excusable(own, charge)) {
      has_new |= !own.is_excused;
      own.is_excused = true;
      charge.cost = 0;  // Submitted again, it asks for nothing and needs no room.
    } else {
      all_excused = false;
    }
  }
  return has_new && has_decided && all_excused && !check.charge_each;
}

void PendingRequest::finish() {
  if (asks_by_permit(*request_)) return finish_permit();
  // Refunds answer for themselves; they decide for the whole only where nothing else is asked.
  const std::size_t first = refunds_ < charges_.size() ? refunds_ : 0;
  Answer whole;
  whole.verdict = verdict_of(std::span{limits_}.subspan(first), std::span{charges_}.subspan(first),
                             quota_passes_);
  describe(limits_, charges_, answers_);
  whole.descriptors = answers_;
  whole.deciding = deciding_descriptor(answers_, whole.verdict);
  whole.permit = make_permit();
  if (whole.verdict == Verdict::allowed) {
    for (const DescriptorAnswer& each : answers_) {
      whole.delay = std::max(whole.delay, each.decision.delay);
    }
  } else if (whole.verdict == Verdict::undecided) {
    whole.error = &silence(error_code_);
  }
  if (request_->operation == Operation::take) count(whole.verdict);
  answer(whole);
}

void PendingRequest::finish_permit() {
  const Check& check = checks_[1];
  if (check.verdict == Verdict::undecided) {
    return answer({.verdict = Verdict::undecided, .error = &silence(check.error)});
  }
  // A release of what is not held is fine; a renewal is not.
  const bool is_held = std::all_of(charges_.begin(), charges_.end(),
                                   [](const Charge& charge) { return charge.charged; });
  if (check.operation == Operation::renew && !is_held) {
    return answer_error(ErrorCode::not_found, "permit: no longer held");
  }
  answer({});
}

void PendingRequest::count(Verdict verdict) {
  DomainCounters& domain = lane_.counters_.domains.at(snapshot_->compiled(*domain_).series);
  if (!has_matched_) return domain.unmatched.add(1);
  domain.requests[static_cast<std::size_t>(verdict)].add(1);
  for (std::size_t i = refunds_; i < limits_.size(); ++i) {
    const LimitInPlay& limit = limits_[i];
    const DecisionKind kind = kind_of(limit, charges_[i]);
    SeriesCounters& series = lane_.counters_.series.at(limit.series);
    series.count(kind, cost_of(request_->descriptors[limit.descriptor]));
    if (kind != DecisionKind::undecided) series.lower(charges_[i].decision.remaining);
  }
}

std::string_view PendingRequest::make_permit() {
  if (request_->operation != Operation::take) return {};
  permit_places_.clear();
  for (std::size_t i = refunds_; i < charges_.size(); ++i) {
    const Charge& charge = charges_[i];
    const Limit& limit = charge.plan->limit;
    if (limit.algorithm != Algorithm::concurrency || !charge.charged || charge.cost == 0) continue;
    permit_places_.push_back({limit.permit_ttl, charge.hash, charge.permit});
  }
  if (permit_places_.empty()) return {};
  encode_permit(permit_places_, permit_);
  return permit_;
}

void PendingRequest::answer_error(ErrorCode code, std::string message) {
  error_ = {code, std::move(message)};
  answer({.verdict = Verdict::undecided, .descriptors = answers_, .error = &error_});
}

void PendingRequest::answer(const Answer& whole) {
  if (is_timed_) lane_.counters_.latency.add(lane_.parts_.clock.now() - now_);
  sink_->answer(whole);
  lane_.give_back(*this, *view_);
}

const Error& PendingRequest::silence(ErrorCode code) {
  error_.code = code;
  // Assigned, not replaced: a flood of silence allocates nothing.
  switch (code) {
    case ErrorCode::overloaded:
      error_.message = "no room to count this key";
      break;
    case ErrorCode::timeout:
      error_.message = "the store did not answer in time";
      break;
    default:
      error_.message = "the store did not decide";
  }
  return error_;
}

bool PendingRequest::is_refund(const Descriptor& descriptor) const noexcept {
  return request_->operation == Operation::refund ||
         (request_->operation == Operation::take && descriptor.is_negative_hits);
}

}  // namespace sluice
