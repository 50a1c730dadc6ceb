// Rules instead of single limits: what the daemon does, inside a program. Two limits meet on one
// request, and both must allow it.
#include "sluice/engine.h"

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "sluice/vocabulary/rule_set.h"

namespace {

sluice::RuleDraft limited(std::string_view key, const sluice::Limit& limit) {
  sluice::RuleDraft draft{.key = key};
  draft.limits.emplace_back().limit = limit;
  return draft;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  sluice::RuleSetBuilder builder;
  const auto domain = builder.add_domain("shop");
  builder.add_node(domain, limited("user", {.algorithm = sluice::Algorithm::sliding_log,
                                            .requests = 3,
                                            .period = 1min}));
  builder.add_node(domain, limited("tenant", {.algorithm = sluice::Algorithm::token_bucket,
                                              .requests = 100,
                                              .burst = 20}));
  std::vector<sluice::Problem> problems;
  const auto rules = std::make_shared<const sluice::RuleSet>(builder.build(problems));
  auto engine = sluice::Engine::open({}).value();
  if (!problems.empty() || !engine->replace_rules(rules)) return 1;

  const std::array user{sluice::Entry{"user", "ada"}};
  const std::array tenant{sluice::Entry{"tenant", "acme"}};
  const std::array descriptors{sluice::Descriptor{.entries = user},
                               sluice::Descriptor{.entries = tenant}};
  int allowed = 0;
  for (int request = 1; request <= 5; ++request) {
    const sluice::OwnedAnswer answer =
        engine->check({.domain = "shop", .descriptors = descriptors});
    if (answer.verdict == sluice::Verdict::allowed) ++allowed;
    const auto& deciding = answer.descriptors[answer.deciding.value_or(0)];
    std::printf("request %d: %s by %s, %u left\n", request,
                answer.verdict == sluice::Verdict::allowed ? "allowed" : "refused",
                deciding.rule.c_str(), deciding.decision.remaining);
  }
  return allowed == 3 ? 0 : 1;
}
