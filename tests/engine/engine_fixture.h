// An engine on a fake clock and rules as YAML text, asked in one line each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/rule_loader.h"
#include "sluice/engine.h"
#include "sluice/fake_clock.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice::test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// One descriptor: entries as `key=value / key=value`, and what may travel with it.
struct Ask {
  Ask(const char* text) : entries(text) {}             // NOLINT(google-explicit-constructor)
  Ask(std::string text) : entries(std::move(text)) {}  // NOLINT(google-explicit-constructor)

  Ask with_hits(Cost count) const {
    Ask ask = *this;
    ask.hits = count;
    return ask;
  }
  Ask giving_back(Cost count) const {
    Ask ask = with_hits(count);
    ask.is_negative_hits = true;
    return ask;
  }
  Ask with_limit(std::uint32_t requests, Duration period, std::string_view unit) const {
    Ask ask = *this;
    ask.limit = LimitOverride{requests, period, unit};
    return ask;
  }

  std::string entries;
  std::optional<Cost> hits;
  std::optional<LimitOverride> limit;
  bool is_negative_hits = false;
};

inline std::shared_ptr<const RuleSet> rules_of(std::string_view yaml) {
  LoadedRules loaded = parse_rules(yaml, "test.yaml");
  for (const Problem& problem : loaded.errors) ADD_FAILURE() << problem_text(problem);
  return std::make_shared<const RuleSet>(std::move(loaded.rules));
}

// A request that owns its text.
class OwnedRequest {
 public:
  OwnedRequest(std::string domain, std::vector<Ask> asks)
      : domain_(std::move(domain)), asks_(std::move(asks)) {
    entries_.resize(asks_.size());
    for (std::size_t i = 0; i < asks_.size(); ++i) {
      split(asks_[i].entries, entries_[i]);
      descriptors_.push_back(
          {entries_[i], asks_[i].hits, asks_[i].limit, asks_[i].is_negative_hits});
    }
    request_.domain = domain_;
    request_.descriptors = descriptors_;
  }
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;

  Request& get() { return request_; }

 private:
  static void split(std::string_view text, std::vector<Entry>& entries) {
    while (!text.empty()) {
      const std::size_t end = text.find(" / ");
      const std::string_view entry = text.substr(0, end);
      const std::size_t equals = entry.find('=');
      entries.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
    }
  }

  std::string domain_;
  std::vector<Ask> asks_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<Descriptor> descriptors_;
  Request request_;
};

class EngineUnderTest {
 public:
  explicit EngineUnderTest(std::string_view yaml, Instant start = {1'000'000'000'000},
                           EngineOptions options = {})
      : clock(start) {
    options.clock = &clock;
    engine = Engine::open(options).value();
    load(yaml);
  }

  void load(std::string_view yaml) {
    const Result<void> replaced = engine->replace_rules(rules_of(yaml));
    ASSERT_TRUE(replaced.has_value()) << replaced.error().message;
  }

  OwnedAnswer ask(Operation operation, std::vector<Ask> asks, Cost hits = 1,
                  std::string domain = "test") {
    OwnedRequest request{std::move(domain), std::move(asks)};
    request.get().operation = operation;
    request.get().hits = hits;
    return engine->check(request.get());
  }
  OwnedAnswer take(std::vector<Ask> asks, Cost hits = 1) {
    return ask(Operation::take, std::move(asks), hits);
  }
  OwnedAnswer peek(std::vector<Ask> asks, Cost hits = 1) {
    return ask(Operation::peek, std::move(asks), hits);
  }
  OwnedAnswer refund(std::vector<Ask> asks, Cost hits = 1) {
    return ask(Operation::refund, std::move(asks), hits);
  }
  OwnedAnswer ask_permit(Operation operation, std::string_view permit) {
    return engine->check(Request{.operation = operation, .permit = permit});
  }
  // How many single hits are left, without taking one.
  std::uint32_t left(Ask asked) {
    return peek({std::move(asked)}, 0).descriptors[0].decision.remaining;
  }

  RuleMetrics rule_metrics(std::string_view rule, std::string_view domain = "test") {
    for (RuleMetrics& each : engine->metrics().rules) {
      if (each.domain == domain && each.rule == rule) return each;
    }
    return {};
  }
  DomainMetrics domain_metrics(std::string_view domain = "test") {
    for (DomainMetrics& each : engine->metrics().domains) {
      if (each.domain == domain) return each;
    }
    return {};
  }

  FakeClock clock;
  std::unique_ptr<Engine> engine;
};

inline std::uint64_t count_of(const RuleMetrics& metrics, DecisionKind kind) {
  return metrics.decisions[static_cast<std::size_t>(kind)];
}

}  // namespace sluice::test
