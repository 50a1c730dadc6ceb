#include "stores/charge_step.h"

#include <algorithm>

#include "base/random.h"
#include "sluice/algorithm/block_for.h"
#include "sluice/algorithm/decide.h"

namespace sluice {

bool passes(std::span<const Charge> charges, bool quota_passes) noexcept {
  bool has_quota = false;
  for (const Charge& charge : charges) {
    const bool is_allowed = charge.decision.verdict == Verdict::allowed;
    if (charge.role == Role::enforced && !is_allowed) return false;
    has_quota |= charge.role == Role::quota;
    quota_passes |= charge.role == Role::quota && is_allowed;
  }
  return quota_passes || !has_quota;
}

ChargeStep::ChargeStep(const Check& check, std::span<Charge> charges) noexcept
    : check_(check), charges_(charges) {
  for (const Charge& charge : charges_) {
    const LimitPlan& plan = *charge.plan;
    has_memory_ |= algorithm::memory_bytes_max(plan) > 0;
    Part part{.key = key_index(table_hash(charge.hash, plan.state_kind), &plan)};
    if (plan.limit.block_for > Duration{0}) {
      part.block =
          key_index(table_hash(charge.hash, plan.state_kind ^ block_for::kStateKind), nullptr);
    }
    parts_.push_back(part);
  }
}

std::uint32_t ChargeStep::key_index(KeyHash hash, const LimitPlan* plan) noexcept {
  const auto known = std::find_if(keys_.begin(), keys_.end(),
                                  [hash](const KeyAccess& key) { return key.hash == hash; });
  const auto index = static_cast<std::uint32_t>(known - keys_.begin());
  if (known == keys_.end()) {
    keys_.push_back({.hash = hash});
    needs_.push_back({.plan = plan});
  }
  return index;
}

std::span<std::byte> ChargeStep::memory(const Slab& slab, std::uint32_t key) const noexcept {
  const SlotState& slot = keys_[key].slot;
  if (!slot.owns_slab) return {};
  return slab.block(static_cast<Slab::Handle>(slot.state.payload));
}

bool ChargeStep::decide(const Slab& slab) noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    KeyNeeds& needs = needs_[i];
    SlotState& slot = keys_[i].slot;
    needs.pending = 0;
    needs.is_charged = false;
    needs.is_converted = false;
    keys_[i].write = false;
    if (needs.plan == nullptr) continue;
    // A state of the other kind can only be another key's, by a collision of all hash bits kept.
    const bool wants_memory = algorithm::memory_bytes_max(*needs.plan) > 0;
    if (wants_memory != slot.owns_slab) slot = {};
    const std::uint64_t payload = slot.state.payload;
    algorithm::make_current(slot.state, *needs.plan, check_.now);
    needs.is_converted = slot.state.payload != payload;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) decide_part(slab, parts_[i], charges_[i]);

  const bool is_passing = passes(charges_, check_.quota_passes);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    const Charge& charge = charges_[i];
    const bool is_allowed = charge.decision.verdict == Verdict::allowed;
    const bool is_asked =
        check_.operation == Operation::take && charge.cost > 0 && !part.was_blocked;
    part.is_charged = is_asked && ((is_allowed && is_passing) || charge.plan->limit.count_denied);
    // A refusal, too, writes a state that was converted to other numbers.
    keys_[part.key].write |= part.is_charged || (needs_[part.key].is_converted && is_asked);
    needs_[part.key].is_charged |= part.is_charged;
  }
  return std::any_of(keys_.begin(), keys_.end(), [](const KeyAccess& key) { return key.write; });
}

// One charge's own decision.
void ChargeStep::decide_part(const Slab& slab, Part& part, Charge& charge) noexcept {
  const KeyAccess& key = keys_[part.key];
  KeyNeeds& needs = needs_[part.key];
  const Cost cost = std::min(charge.cost, kCostMax + 1);  // Beyond any limit, and sums stay exact.
  const Cost asked = cost == 0 ? 0 : needs.pending + cost;
  charge.charged = false;
  const algorithm::Ask ask{.cost = asked, .now = check_.now, .wall_offset = check_.wall_offset};
  const std::span<const std::byte> held = memory(slab, part.key);
  charge.decision = check_.operation == Operation::peek
                        ? algorithm::peek(key.slot.state, held, *charge.plan, ask)
                        : algorithm::decide(key.slot.state, held, *charge.plan, ask);
  if (part.block != kNoBlock) decide_block(part, charge);
  if (charge.decision.verdict == Verdict::allowed || charge.plan->limit.count_denied) {
    needs.pending = asked == 0 ? needs.pending : asked;
  }
}

// The block of a limit that has refused before, or does so now.
void ChargeStep::decide_block(Part& part, Charge& charge) noexcept {
  KeyAccess& block = keys_[part.block];
  State& state = block.slot.state;
  part.was_blocked = block_for::is_blocked(state, check_.now);
  if (!part.was_blocked && check_.operation == Operation::take && charge.cost > 0) {
    block_for::begin(state, *charge.plan, charge.decision, check_.now);
    block.write |= block_for::is_blocked(state, check_.now);
  }
  if (block_for::is_blocked(state, check_.now)) {
    charge.decision = block_for::blocked_decision(state, charge.decision, charge.cost, check_.now);
  }
}

bool ChargeStep::reserve_memory(Slab& slab) noexcept {
  if (!has_memory_) return true;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    KeyNeeds& needs = needs_[i];
    needs.larger = Slab::kNone;
    needs.lacks_memory = false;
    if (!needs.is_charged) continue;
    const std::span<std::byte> held = memory(slab, static_cast<std::uint32_t>(i));
    const std::size_t bytes_max = algorithm::memory_bytes_max(*needs.plan);
    const bool wants_more =
        bytes_max > 0 && (held.empty() || algorithm::wants_memory(keys_[i].slot.state, held,
                                                                  *needs.plan, check_.now));
    if (!wants_more) continue;
    needs.larger = slab.allocate(
        std::clamp(2 * held.size(), algorithm::memory_bytes_min(*needs.plan), bytes_max));
    needs.lacks_memory = needs.larger == Slab::kNone;
    if (!needs.lacks_memory) continue;
    for (const KeyNeeds& earlier : std::span{needs_.data(), i}) slab.free(earlier.larger);
    return false;
  }
  return true;
}

void ChargeStep::charge(Slab& slab) noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (needs_[i].larger == Slab::kNone) continue;
    SlotState& slot = keys_[i].slot;
    const std::span<std::byte> held = memory(slab, static_cast<std::uint32_t>(i));
    if (!held.empty()) {
      if (!slot.state.is_at_rest(check_.now)) {
        algorithm::move_memory(*needs_[i].plan, held, slab.block(needs_[i].larger));
      }
      slab.free(static_cast<Slab::Handle>(slot.state.payload));
    }
    slot.state.payload = needs_[i].larger;
    slot.owns_slab = true;
  }
  PermitId permit;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].is_charged) continue;
    Charge& charge = charges_[i];
    if (charge.plan->limit.algorithm == Algorithm::concurrency) {
      if (permit == PermitId{}) permit = {random_bits(), random_bits()};
      charge.permit = permit;
    }
    charge.decision = algorithm::take(
        keys_[parts_[i].key].slot.state, memory(slab, parts_[i].key), *charge.plan,
        {.cost = charge.cost, .now = check_.now, .wall_offset = check_.wall_offset}, charge.permit);
    charge.charged = true;
    if (parts_[i].block == kNoBlock) continue;
    const State& block = keys_[parts_[i].block].slot.state;  // Begun by this refusal, if at all.
    if (block_for::is_blocked(block, check_.now)) {
      charge.decision =
          block_for::blocked_decision(block, charge.decision, charge.cost, check_.now);
    }
  }
}

void ChargeStep::leave_undecided() noexcept {
  const auto lacks_room = [this](std::uint32_t key) {
    return (keys_[key].write && keys_[key].way == Bucket::kAbsent) || needs_[key].lacks_memory;
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!lacks_room(part.key) && (part.block == kNoBlock || !lacks_room(part.block))) continue;
    charges_[i].decision = {.verdict = Verdict::undecided};
  }
}

}  // namespace sluice
