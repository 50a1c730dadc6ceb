// What becomes of the decisions of a request's limits: the verdict of the whole, the limit that
// decides for each descriptor, the descriptor that decides for the whole. Pure: no state, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sluice/vocabulary/request.h"
#include "sluice/vocabulary/rule.h"
#include "sluice/vocabulary/store.h"

namespace sluice {

// One limit of a request under way; its charge stands at the same place of the check's charges.
struct LimitInPlay {
  const RuleLimit* rule = nullptr;
  std::uint32_t descriptor = 0;    // Index in the request.
  std::uint32_t series = 0;        // Where it is counted.
  bool is_silent_refusal = false;  // Shadow rule or kill switch: shown as allowed whatever it says.
  bool is_excused = false;         // Undecided, and its policy lets that pass: out of the decision.
};

// Whether nobody waits for this limit's answer: undecided, it lets the request pass.
inline bool is_excusable(const LimitInPlay& limit, const Charge& charge) noexcept {
  return charge.role == Role::shadow || limit.rule->on_store_error == StoreErrorPolicy::fail_open;
}

// The verdict over all limits, by their roles. `quota_passes`: a quota descriptor without a charge
// (unlimited, unmatched) passes.
Verdict verdict_of(std::span<const LimitInPlay> limits, std::span<const Charge> charges,
                   bool quota_passes) noexcept;

// Whether `a` rather than `b` describes an answer: a refusal before silence before a pass; of
// refusals the longest wait, one without end first; of passes the smallest remaining, then the
// longest reset.
bool is_stricter(const Decision& a, const Decision& b) noexcept;

// Whether `a` rather than `b` stands for quota limits, of which one that passes is enough: a pass
// before a refusal, of refusals the shortest wait.
bool passes_sooner(const Decision& a, const Decision& b) noexcept;

// Writes each limit's decision into its descriptor's answer if it is the one that decides there.
void describe(std::span<const LimitInPlay> limits, std::span<const Charge> charges,
              std::span<DescriptorAnswer> answers) noexcept;

// The descriptor whose numbers describe the whole answer; none: no limit has numbers to show.
std::optional<std::size_t> deciding_descriptor(std::span<const DescriptorAnswer> answers,
                                               Verdict verdict) noexcept;

}  // namespace sluice
