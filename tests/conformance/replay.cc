#include "tests/conformance/replay.h"

#include <algorithm>

namespace sluice::conformance {
namespace {

struct Got {
  std::string outcome;
  Decision decision;
};

std::string outcome_of(const Decision& decision) {
  switch (decision.verdict) {
    case Verdict::allowed:
      return "allowed";
    case Verdict::denied:
      return decision.retry_after == kNever ? "never" : "denied";
    case Verdict::shed:
      return "shed";
    case Verdict::undecided:
      break;
  }
  return "undecided";
}

// After what answers no numbers of its own, the fields describe the key as a peek finds it.
Got play(const Step& step, Subject& subject) {
  switch (step.action) {
    case Action::take: {
      const Decision decision = subject.take(step.key, step.cost, step.at, step.permit);
      return {outcome_of(decision), decision};
    }
    case Action::peek: {
      const Decision decision = subject.peek(step.key, step.cost, step.at);
      return {outcome_of(decision), decision};
    }
    case Action::refund:
      subject.refund(step.key, step.cost, step.at);
      return {"ok", subject.peek(step.key, 0, step.at)};
    case Action::release:  // Releasing what is not held is fine.
      subject.release(step.key, step.permit, step.at);
      return {"ok", subject.peek(step.key, 0, step.at)};
    case Action::renew: {
      const bool is_held = subject.renew(step.key, step.permit, step.at);
      return {is_held ? "ok" : "not_found", subject.peek(step.key, 0, step.at)};
    }
    case Action::change_limit:
      break;
  }
  const auto changed = subject.set_limit(step.limit);
  return {changed ? "ok" : changed.error().message, {}};
}

class Comparison {
 public:
  void field(const char* name, const std::string& expected, const std::string& got) {
    if (expected == got) return;
    expected_ += std::string(expected_.empty() ? "" : " ") + name + expected;
    got_ += std::string(got_.empty() ? "" : " ") + name + got;
  }
  template <typename Number>
  void number(const char* name, const std::optional<Number>& expected, Number got) {
    if (expected) field(name, std::to_string(*expected), std::to_string(got));
  }
  void duration(const char* name, const std::optional<Duration>& expected, Duration got) {
    if (expected) field(name, format_duration(*expected), format_duration(got));
  }
  // Empty when nothing differs.
  std::string text() const {
    return expected_.empty() ? "" : "expected " + expected_ + ", got " + got_;
  }

 private:
  std::string expected_;
  std::string got_;
};

}  // namespace

std::vector<std::string> replay(const Case& played, Subject& subject) {
  std::vector<std::string> differences;
  const auto report = [&](int line, const std::string& text) {
    differences.push_back(played.file + ":" + std::to_string(line) + ": " + text + "  (case " +
                          played.name + ")");
  };
  if (const auto set = subject.set_limit(played.limit); !set) {
    report(played.line, set.error().message);
    return differences;
  }
  for (const Step& step : played.steps) {
    const Got got = play(step, subject);
    const Expected& expected = step.expected;
    Comparison comparison;
    if (step.action == Action::change_limit) comparison.field("", "ok", got.outcome);
    if (!expected.outcome.empty()) comparison.field("", expected.outcome, got.outcome);
    comparison.number("limit=", expected.limit, got.decision.limit);
    comparison.number("remaining=", expected.remaining, got.decision.remaining);
    comparison.duration("retry=", expected.retry, got.decision.retry_after);
    comparison.duration("reset=", expected.reset, got.decision.reset_after);
    comparison.duration("delay=", expected.delay, got.decision.delay);
    if (const std::string text = comparison.text(); !text.empty()) report(step.line, text);
  }
  return differences;
}

}  // namespace sluice::conformance
