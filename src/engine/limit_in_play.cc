#include "engine/limit_in_play.h"

namespace sluice {
namespace {

// Refusals first, silence second, passes last.
int severity(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::denied:
    case Verdict::shed:
      return 2;
    case Verdict::undecided:
      return 1;
    case Verdict::allowed:
      break;
  }
  return 0;
}

Decision shown(const LimitInPlay& limit, const Decision& decision) noexcept {
  Decision shown = decision;
  if (limit.is_excused) shown = kPassWithoutNumbers;
  if (limit.is_silent_refusal && shown.verdict != Verdict::allowed) {
    shown.verdict = Verdict::allowed;
    shown.retry_after = Duration{0};
  }
  if (limit.is_silent_refusal) shown.delay = Duration{0};
  return shown;
}

}  // namespace

Verdict verdict_of(std::span<const LimitInPlay> limits, std::span<const Charge> charges,
                   bool quota_passes) noexcept {
  bool has_quota = false;
  bool is_undecided = false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Verdict verdict = charges[i].decision.verdict;
    if (charges[i].role == Role::shadow) continue;
    if (limits[i].is_excused) {
      quota_passes |= charges[i].role == Role::quota;
    } else if (verdict == Verdict::undecided) {
      is_undecided = true;
    } else if (charges[i].role == Role::quota) {
      has_quota = true;
      quota_passes |= verdict == Verdict::allowed;
    } else if (verdict != Verdict::allowed) {
      return Verdict::denied;
    }
  }
  if (is_undecided) return Verdict::undecided;
  return has_quota && !quota_passes ? Verdict::denied : Verdict::allowed;
}

bool is_stricter(const Decision& a, const Decision& b) noexcept {
  const int a_severity = severity(a.verdict);
  const int b_severity = severity(b.verdict);
  if (a_severity != b_severity) return a_severity > b_severity;
  if (a_severity > 0) return a.retry_after > b.retry_after;  // kNever is the longest.
  if (a.remaining != b.remaining) return a.remaining < b.remaining;
  return a.reset_after > b.reset_after;
}

bool passes_sooner(const Decision& a, const Decision& b) noexcept {
  const bool a_refuses = severity(a.verdict) > 0;
  const bool b_refuses = severity(b.verdict) > 0;
  if (a_refuses != b_refuses) return b_refuses;
  return a_refuses ? is_stricter(b, a) : is_stricter(a, b);
}

void describe(std::span<const LimitInPlay> limits, std::span<const Charge> charges,
              std::span<DescriptorAnswer> answers) noexcept {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    DescriptorAnswer& answer = answers[limits[i].descriptor];
    const Decision decision = shown(limits[i], charges[i].decision);
    answer.is_quota = charges[i].role == Role::quota;
    const auto& goes_first = answer.is_quota ? passes_sooner : is_stricter;
    if (answer.rule != nullptr && !goes_first(decision, answer.decision)) continue;
    answer.rule = limits[i].rule;
    answer.decision = decision;
  }
  for (DescriptorAnswer& answer : answers) {
    if (answer.rule == nullptr) answer.metadata = {};  // All its limits were replaced.
  }
}

std::optional<std::size_t> deciding_descriptor(std::span<const DescriptorAnswer> answers,
                                               Verdict verdict) noexcept {
  std::optional<std::size_t> quota;  // Which of the quota descriptors stands for all.
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].is_quota || !answers[i].has_numbers()) continue;
    if (!quota || passes_sooner(answers[i].decision, answers[*quota].decision)) quota = i;
  }
  std::optional<std::size_t> deciding;
  bool has_verdict = false;  // Of the whole: such a descriptor goes before any other.
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const DescriptorAnswer& answer = answers[i];
    if (!answer.has_numbers() || (answer.is_quota && quota != i)) continue;
    const bool agrees = answer.decision.verdict == verdict;
    const bool goes_first =
        !deciding || (agrees && !has_verdict) ||
        (agrees == has_verdict && is_stricter(answer.decision, answers[*deciding].decision));
    if (!goes_first) continue;
    deciding = i;
    has_verdict = agrees;
  }
  return deciding;
}

}  // namespace sluice
