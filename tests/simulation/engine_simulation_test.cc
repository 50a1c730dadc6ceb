// The engine over a store that answers late, out of order, or not at all, on a fake clock. Each run
// draws its own course from a seed, which every failure prints; SLUICE_SEED=n replays one.
//
// The store is the memory store behind a queue: a check waits a random time and is then applied, or
// is lost and completed at its deadline as timed out. So what was admitted can be compared with
// what the limits allow.
#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "engine/engine_core.h"
#include "stores/memory_store.h"
#include "tests/engine/engine_fixture.h"

namespace sluice::test {
namespace {

using Random = std::mt19937_64;

class LateStore final : public Store {
 public:
  LateStore(const FakeClock& clock, Random& random, unsigned percent_lost)
      : clock_(clock),
        random_(random),
        percent_lost_(percent_lost),
        memory_(MemoryStore::open({.keys_max = 10'000}).value()) {}

  void submit(std::span<Check*> checks) noexcept override {
    for (Check* check : checks) {
      const Duration wait{static_cast<std::int64_t>(random_() % 20'000'000)};
      const bool is_lost = random_() % 100 < percent_lost_;
      waiting_.push_back({check, is_lost ? check->deadline : clock_.now() + wait, is_lost});
    }
  }

  // Completes what is due, in random order. Whether anything still waits.
  bool run() {
    std::shuffle(waiting_.begin(), waiting_.end(), random_);
    std::vector<Waiting> due;
    std::erase_if(waiting_, [&](const Waiting& each) {
      const bool is_due = each.at <= clock_.now() || each.check->deadline <= clock_.now();
      if (is_due) due.push_back(each);
      return is_due;
    });
    for (const Waiting& each : due) complete(each);
    return !waiting_.empty();
  }

  MemoryStore& memory() { return *memory_; }

 private:
  struct Waiting {
    Check* check;
    Instant at;
    bool is_lost;
  };

  void complete(const Waiting& each) {
    Check* check = each.check;
    if (each.is_lost || check->deadline <= clock_.now()) {
      check->verdict = Verdict::undecided;
      check->error = ErrorCode::timeout;
      check->sink->complete(*check);
      return;
    }
    check->now = clock_.now();
    memory_->submit({&check, 1});
  }

  const FakeClock& clock_;
  Random& random_;
  unsigned percent_lost_;
  std::unique_ptr<MemoryStore> memory_;
  std::vector<Waiting> waiting_;
};

// Remembers how often it was told, and what.
class OnceSink final : public AnswerSink {
 public:
  void answer(const Answer& answer) noexcept override {
    ++answers;
    verdict = answer.verdict;
    permit = answer.permit;
    if (answer.error != nullptr) error = answer.error->code;
  }
  int answers = 0;
  Verdict verdict{};
  std::string permit;
  std::optional<ErrorCode> error;
};

struct Rule {
  std::string_view key;
  RuleLimit limit;
};

// Rule files cannot say on_store_error while daemons have no store of their own; the engine can.
std::shared_ptr<const RuleSet> rules_of(const std::vector<Rule>& rules) {
  RuleSetBuilder builder;
  const std::uint32_t domain = builder.add_domain("test");
  for (const Rule& rule : rules) {
    RuleDraft draft;
    draft.key = rule.key;
    draft.limits = {rule.limit};
    builder.add_node(domain, draft);
  }
  std::vector<Problem> problems;
  auto set = std::make_shared<const RuleSet>(builder.build(problems));
  EXPECT_TRUE(problems.empty());
  return set;
}

RuleLimit per_day(std::uint32_t requests) {
  RuleLimit rule;
  rule.limit = {.requests = requests, .period = 24h};
  return rule;
}

RuleLimit fail_open(RuleLimit rule) {
  rule.on_store_error = StoreErrorPolicy::fail_open;
  return rule;
}

RuleLimit shadow(RuleLimit rule) {
  rule.shadow_mode = true;
  return rule;
}

RuleLimit bucket(RuleLimit rule) {
  rule.limit.algorithm = Algorithm::token_bucket;
  rule.limit.burst = rule.limit.requests;
  return rule;
}

std::shared_ptr<const RuleSet> some_rules() {
  return rules_of({{"closed", per_day(40)},
                   {"open", fail_open(per_day(50))},
                   {"shadow", shadow(per_day(5))},
                   {"bucket", bucket(per_day(30))}});
}

std::shared_ptr<const RuleSet> same_rules_and_more() {
  return rules_of({{"another", per_day(1)},
                   {"bucket", bucket(per_day(30))},
                   {"open", fail_open(per_day(50))},
                   {"closed", per_day(40)},
                   {"shadow", shadow(per_day(5))}});
}

struct Asked {
  std::unique_ptr<OwnedRequest> request;
  OnceSink sink;
  std::vector<std::string_view> keys;
};

std::uint64_t first_seed() {
  const char* given = std::getenv("SLUICE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

class Simulation {
 public:
  Simulation(std::uint64_t seed, unsigned percent_lost)
      : random_(seed), store_(clock_, random_, percent_lost), core_(options(), store_, clock_) {
    EXPECT_TRUE(core_.replace_rules(some_rules()).has_value());
  }

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      ask();
      if (random_() % 3 == 0)
        clock_.advance(Duration{static_cast<std::int64_t>(random_() % 5'000'000)});
      if (random_() % 2 == 0) store_.run();
      if (random_() % 50 == 0) {
        const bool is_more = random_() % 2 == 0;
        EXPECT_TRUE(
            core_.replace_rules(is_more ? same_rules_and_more() : some_rules()).has_value());
      }
    }
    while (store_.run()) clock_.advance(1ms);
  }

  const std::vector<std::unique_ptr<Asked>>& asked() const { return asked_; }
  EngineCore& core() { return core_; }

  // How many requests with this key were allowed, or refused, or left undecided.
  int count(std::string_view key, Verdict verdict) const {
    int count = 0;
    for (const auto& each : asked_) {
      const bool has_key = std::ranges::find(each->keys, key) != each->keys.end();
      if (has_key && each->sink.verdict == verdict) ++count;
    }
    return count;
  }

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.lanes = 2;
    return options;
  }

  void ask() {
    constexpr std::array<std::string_view, 4> kKeys{"closed", "open", "shadow", "bucket"};
    auto asked = std::make_unique<Asked>();
    std::vector<Ask> asks;
    for (const std::string_view key : kKeys) {
      if (random_() % 2 != 0) continue;
      asks.emplace_back(std::string{key} + "=x");
      asked->keys.push_back(key);
    }
    if (asks.empty()) return;
    asked->request = std::make_unique<OwnedRequest>("test", std::move(asks));
    asked->request->get().deadline = clock_.now() + 15ms;
    asked_.push_back(std::move(asked));
    Asked& last = *asked_.back();
    core_.check(static_cast<unsigned>(random_() % 2), last.request->get(), last.sink);
  }

  FakeClock clock_{Instant{1'000'000'000}};
  Random random_;
  LateStore store_;
  EngineCore core_;
  std::vector<std::unique_ptr<Asked>> asked_;
};

class EngineSimulation : public testing::TestWithParam<unsigned> {};

TEST_P(EngineSimulation, EveryRequestIsAnsweredOnceAndNoLimitIsExceeded) {
  const unsigned percent_lost = GetParam();
  std::uint64_t seed = first_seed();
  for (int round = 0; round < 20; ++round, ++seed) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    Simulation simulation{seed, percent_lost};
    simulation.run(400);
    for (const auto& each : simulation.asked()) {
      EXPECT_EQ(each->sink.answers, 1);
      const bool is_undecided = each->sink.verdict == Verdict::undecided;
      EXPECT_EQ(is_undecided, each->sink.error.has_value());
      const bool may_be_undecided = std::ranges::any_of(
          each->keys, [](std::string_view key) { return key == "closed" || key == "bucket"; });
      EXPECT_TRUE(!is_undecided || may_be_undecided) << "fail_open and shadow let silence pass";
    }
    EXPECT_LE(simulation.count("closed", Verdict::allowed), 40);
    EXPECT_LE(simulation.count("bucket", Verdict::allowed), 30);
    if (percent_lost == 100) {
      EXPECT_EQ(simulation.count("closed", Verdict::allowed), 0);
      EXPECT_EQ(simulation.count("closed", Verdict::denied), 0) << "silence is not a refusal";
      EXPECT_EQ(simulation.count("open", Verdict::denied), 0);
      EXPECT_GT(simulation.count("open", Verdict::allowed), 0);
    }
    const EngineMetrics metrics = simulation.core().metrics();
    std::uint64_t counted = 0;
    for (const DomainMetrics& domain : metrics.domains) {
      for (const std::uint64_t count : domain.requests) counted += count;
    }
    EXPECT_EQ(counted, simulation.asked().size());
  }
}

INSTANTIATE_TEST_SUITE_P(PercentLost, EngineSimulation, testing::Values(0U, 20U, 100U));

TEST(EngineSimulation, RequestsUnderWayAreBounded) {
  FakeClock clock{Instant{1}};
  Random random{1};  // NOLINT(cert-msc51-cpp)
  LateStore store{clock, random, 0};
  EngineOptions options;
  options.pending_max = 3;
  EngineCore core{options, store, clock};
  ASSERT_TRUE(core.replace_rules(some_rules()).has_value());
  OwnedRequest request{"test", {"closed=x"}};
  request.get().deadline = clock.now() + 1s;
  std::array<OnceSink, 5> sinks;
  for (OnceSink& sink : sinks) core.check(0, request.get(), sink);
  EXPECT_EQ(sinks[2].answers, 0);
  EXPECT_EQ(sinks[3].error, ErrorCode::overloaded);
  EXPECT_EQ(sinks[4].error, ErrorCode::overloaded);
  while (store.run()) clock.advance(1ms);
  for (const OnceSink& sink : sinks) EXPECT_EQ(sink.answers, 1);
  OnceSink again;
  core.check(0, request.get(), again);
  EXPECT_EQ(again.answers, 0) << "there is room again";
  while (store.run()) clock.advance(1ms);
  EXPECT_EQ(again.verdict, Verdict::allowed);
}

TEST(EngineSimulation, ASinkMayAskAgainFromItsAnswer) {
  FakeClock clock{Instant{1}};
  const auto memory = MemoryStore::open({.keys_max = 100}).value();
  EngineCore core{EngineOptions{}, *memory, clock};
  ASSERT_TRUE(core.replace_rules(some_rules()).has_value());
  OwnedRequest request{"test", {"bucket=x"}};
  class AskingSink final : public AnswerSink {
   public:
    AskingSink(EngineCore& core, const Request& request) : core_(core), request_(request) {}
    void answer(const Answer& answer) noexcept override {
      if (answer.verdict == Verdict::allowed) ++allowed;
      if (++answers < 100) core_.check(0, request_, *this);
    }
    int answers = 0;
    int allowed = 0;

   private:
    EngineCore& core_;
    const Request& request_;
  };
  AskingSink sink{core, request.get()};
  core.check(0, request.get(), sink);
  EXPECT_EQ(sink.answers, 100);
  EXPECT_EQ(sink.allowed, 30);
}

TEST(EngineSimulation, AFullTableExcusesTheRulesThatAllowIt) {
  EngineOptions options;
  options.table = {.keys_max = 1, .when_full = WhenFull::refuse};
  EngineUnderTest test{"domain: none\n", Instant{0}, options};
  ASSERT_TRUE(test.engine
                  ->replace_rules(rules_of({{"closed", per_day(1000)},
                                            {"open", fail_open(per_day(10))},
                                            {"shadow", shadow(per_day(10))}}))
                  .has_value());
  test.take({"closed=known"});
  int silent = 0;
  for (int i = 0; i < 200; ++i) {
    if (test.take({"closed=" + std::to_string(i)}).verdict == Verdict::undecided) ++silent;
  }
  ASSERT_GT(silent, 0) << "the table is full";
  const std::uint32_t before = test.left("closed=known");
  for (int i = 0; i < 10; ++i) {
    const std::string value = "=new" + std::to_string(i);
    EXPECT_EQ(test.take({"closed=known", "open" + value, "shadow" + value}).verdict,
              Verdict::allowed);
  }
  EXPECT_EQ(test.left("closed=known"), before - 10) << "what is known is still charged";
  EXPECT_GT(count_of(test.rule_metrics("open"), DecisionKind::undecided), 0U);
}

}  // namespace
}  // namespace sluice::test
