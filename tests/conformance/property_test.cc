// Random sequences, for every algorithm: each step answered by the oracle and by the headers alike,
// and what all answers have in common whatever the oracle says. The seeds are fixed and printed
// with a failure; SLUICE_SEED sets another.
#include <cstdlib>
#include <random>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/algorithm/decide.h"
#include "tests/conformance/case_file.h"
#include "tests/conformance/subject.h"

namespace sluice::conformance {

std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  return out << (decision.verdict == Verdict::allowed ? "allowed" : "refused")
             << " limit=" << decision.limit << " remaining=" << decision.remaining
             << " retry=" << format_duration(decision.retry_after)
             << " reset=" << format_duration(decision.reset_after)
             << " delay=" << format_duration(decision.delay);
}

namespace {

using Random = std::mt19937_64;

constexpr Duration kSecond = std::chrono::seconds{1};

std::uint64_t seed() {
  const char* given = std::getenv("SLUICE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20'240'607;
}

std::uint64_t below(Random& random, std::uint64_t bound) {
  return random() % bound;
}

struct Kind {
  const char* name;
  Algorithm algorithm;
  bool has_sub_windows;
};

constexpr Kind kKinds[] = {{"FixedWindow", Algorithm::fixed_window, false},
                           {"SlidingWindow", Algorithm::sliding_window, false},
                           {"SubWindows", Algorithm::sliding_window, true},
                           {"SlidingLog", Algorithm::sliding_log, false},
                           {"TokenBucket", Algorithm::token_bucket, false},
                           {"LeakyBucket", Algorithm::leaky_bucket, false},
                           {"Concurrency", Algorithm::concurrency, false}};

// Small counts, so that edges are met often, and periods that do not divide evenly.
Limit random_limit(const Kind& kind, Random& random) {
  constexpr Duration kPeriods[] = {std::chrono::milliseconds{1}, kSecond, 7 * kSecond,
                                   Duration{1'000'003}, std::chrono::hours{24 * 365}};
  Limit limit;
  limit.algorithm = kind.algorithm;
  limit.requests = static_cast<std::uint32_t>(below(random, 20) == 0 ? 0 : 1 + below(random, 40));
  limit.period = kPeriods[below(random, std::size(kPeriods))];
  limit.burst = static_cast<std::uint32_t>(below(random, 8) == 0 ? 0 : 1 + below(random, 40));
  if (limit.period > std::chrono::hours{1}) limit.burst %= 8;
  if (kind.has_sub_windows) limit.sub_windows = static_cast<std::uint32_t>(1 + below(random, 12));
  limit.permit_ttl = limit.period;
  const bool counts_denied =
      kind.algorithm == Algorithm::fixed_window || kind.algorithm == Algorithm::sliding_window;
  limit.count_denied = counts_denied && below(random, 4) == 0;
  limit.overdraft = kind.algorithm != Algorithm::concurrency && below(random, 4) == 0;
  if (below(random, 4) == 0) limit.block_for = Duration{1 + (limit.period.count() * 3) / 2};
  return limit;
}

// Other numbers of the same algorithm and period: what lives is kept.
Limit changed(Limit limit, const Kind& kind, Random& random) {
  const Limit other = random_limit(kind, random);
  limit.requests = other.requests;
  limit.burst = limit.period > std::chrono::hours{1} ? other.burst % 8 : other.burst;
  limit.permit_ttl = std::max(kPeriodMin, limit.permit_ttl / 2);
  return limit;
}

// To edges: where the last answer said that something changes, and a nanosecond before.
Instant next_instant(Instant now, const Limit& limit, const Decision& last, Random& random) {
  const auto period = static_cast<std::uint64_t>(limit.period.count());
  switch (below(random, 10)) {
    case 0:
      return now + Duration{static_cast<std::int64_t>(below(random, period))};
    case 1:
      return now + Duration{1};
    case 2:
      return last.retry_after == kNever ? now : now + last.retry_after;
    case 3:
      return last.retry_after == kNever || last.retry_after == Duration{0}
                 ? now
                 : now + last.retry_after - Duration{1};
    case 4:
      return now + last.reset_after;
    case 5:
      return now + Duration{static_cast<std::int64_t>(below(random, period / 10 + 1))};
    case 6:  // Back, sometimes.
      return below(random, 8) == 0
                 ? Instant{std::max<std::int64_t>(
                       0, now.ns - static_cast<std::int64_t>(below(random, 2 * period)))}
                 : now;
    default:
      return now;
  }
}

Cost random_cost(const Limit& limit, Random& random) {
  switch (below(random, 8)) {
    case 0:
      return 0;
    case 1:
      return below(random, limit.requests + 3U);
    case 2:
      return below(random, limit.burst + 3U);
    default:
      return 1;
  }
}

class Properties : public testing::TestWithParam<Kind> {};

// Answers of one step by one subject, as text that a failure can show.
std::string play(Subject& subject, std::uint64_t action, const std::string& key, Cost cost,
                 Instant now, const std::string& permit, Decision& last) {
  std::ostringstream text;
  if (action < 6) {
    last = subject.take(key, cost, now, permit);
    text << "take " << cost << " -> " << last;
  } else if (action < 8) {
    last = subject.peek(key, cost, now);
    text << "peek " << cost << " -> " << last;
  } else if (action == 8) {
    subject.refund(key, cost, now);
    text << "refund " << cost << " -> " << subject.peek(key, 1, now);
  } else {
    const bool is_release = cost % 2 == 0;
    const bool done =
        is_release ? subject.release(key, permit, now) : subject.renew(key, permit, now);
    text << (is_release ? "release " : "renew ") << permit << " " << done << " -> "
         << subject.peek(key, 1, now);
  }
  return text.str();
}

enum class Time { goes_back, only_forward };

// Plays the same random steps against both and compares every number of every answer.
template <typename MakeSubject>
void compare_with_oracle(const Kind& kind, Time time, MakeSubject make_tested) {
  constexpr int kLimits = 300;
  constexpr int kSteps = 250;
  Random random(seed());
  for (int i = 0; i < kLimits; ++i) {
    Limit limit = random_limit(kind, random);
    const std::unique_ptr<Subject> tested = make_tested();
    const auto oracle = make_oracle_subject();
    ASSERT_TRUE(tested->set_limit(limit));
    ASSERT_TRUE(oracle->set_limit(limit));
    Instant now{static_cast<std::int64_t>(below(random, 1'000'000'000'000))};
    Decision last;
    std::string history;
    for (int step = 0; step < kSteps; ++step) {
      const Instant next = next_instant(now, limit, last, random);
      now = time == Time::goes_back ? next : std::max(now, next);
      if (below(random, 25) == 0) {
        limit = changed(limit, kind, random);
        ASSERT_TRUE(tested->set_limit(limit));
        ASSERT_TRUE(oracle->set_limit(limit));
        history += "limit requests=" + std::to_string(limit.requests) +
                   " burst=" + std::to_string(limit.burst) + "\n";
      }
      const bool has_permits = limit.algorithm == Algorithm::concurrency;
      const std::uint64_t action = below(random, has_permits ? 11 : 9);
      const std::string key = below(random, 4) == 0 ? "b" : "a";
      const Cost cost = random_cost(limit, random);
      const std::string permit =
          action < 6 ? "new" + std::to_string(step)
                     : "new" + std::to_string(below(random, static_cast<std::uint64_t>(step) + 1));
      const std::string expected = play(*oracle, action, key, cost, now, permit, last);
      const std::string got = play(*tested, action, key, cost, now, permit, last);
      history += "at " + std::to_string(now.ns) + "ns key=" + key + " " + got + "\n";
      ASSERT_EQ(got, expected) << "seed " << seed() << ", limit " << i << ": "
                               << "requests=" << limit.requests << " burst=" << limit.burst
                               << " period=" << limit.period.count()
                               << " sub_windows=" << limit.sub_windows
                               << " count_denied=" << limit.count_denied
                               << " overdraft=" << limit.overdraft
                               << " block_for=" << limit.block_for.count() << "\n"
                               << history;
    }
  }
}

TEST_P(Properties, TheHeadersAnswerAsTheOracleDoes) {
  compare_with_oracle(GetParam(), Time::goes_back, make_header_subject);
}

TEST_P(Properties, TheMemoryStoreAnswersAsTheOracleDoes) {
  // A store may forget a key at rest, so time that goes back beyond that finds a new one.
  compare_with_oracle(GetParam(), Time::only_forward, [] { return make_memory_subject().value(); });
}

// One key over the headers, which a test may copy to try things on.
struct Key {
  explicit Key(const Limit& limit)
      : plan(make_plan(limit)), memory(algorithm::memory_bytes_max(plan)) {}

  Decision take(Cost cost, Instant now) {
    ++permits;
    return algorithm::take(state, memory, plan, {cost, now}, {permits, permits});
  }
  Decision peek(Cost cost, Instant now) const {
    return algorithm::peek(state, memory, plan, {cost, now});
  }
  friend bool operator==(const Key& a, const Key& b) {
    return a.state.rest_at == b.state.rest_at && a.state.payload == b.state.payload &&
           a.memory == b.memory;
  }

  LimitPlan plan;
  State state;
  std::vector<std::byte> memory;
  std::uint64_t permits = 0;
};

// Keys in states that random hits led to, with a moment to look at each.
template <typename Check>
void for_random_states(const Kind& kind, Check check) {
  Random random(seed());
  for (int i = 0; i < 4'000; ++i) {
    Limit limit = random_limit(kind, random);
    limit.count_denied = limit.overdraft = false;
    Key key(limit);
    Instant now{static_cast<std::int64_t>(below(random, 1'000'000'000'000))};
    Decision last;
    for (std::uint64_t hits = below(random, 30); hits > 0; --hits) {
      now = std::max(now, next_instant(now, limit, last, random));
      last = key.take(random_cost(limit, random), now);
    }
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", state " + std::to_string(i));
    check(key, now, random);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(Properties, AsManySingleHitsPassAsRemain) {
  for_random_states(GetParam(), [](Key key, Instant now, Random&) {
    const std::uint32_t remaining = key.peek(0, now).remaining;
    for (std::uint32_t i = 0; i < remaining; ++i) {
      ASSERT_EQ(key.take(1, now).verdict, Verdict::allowed) << i << " of " << remaining;
    }
    ASSERT_EQ(key.take(1, now).verdict, Verdict::denied);
  });
}

TEST_P(Properties, ARetryAtTheAnnouncedMomentPassesAndOneEarlierDoesNot) {
  for_random_states(GetParam(), [](const Key& key, Instant now, Random& random) {
    const Cost cost = 1 + below(random, key.plan.limit.requests + 1U);
    Key copy = key;
    const Duration wait = copy.take(cost, now).retry_after;
    if (wait == Duration{0} || wait == kNever) return;
    Key early = key;
    ASSERT_EQ(early.take(cost, now + wait - Duration{1}).verdict, Verdict::denied);
    ASSERT_EQ(copy.take(cost, now + wait).verdict, Verdict::allowed);
  });
}

TEST_P(Properties, AfterResetTheKeyIsAsNew) {
  for_random_states(GetParam(), [](const Key& key, Instant now, Random&) {
    const Decision decision = key.peek(1, now);
    const Instant rest = now + decision.reset_after;
    ASSERT_TRUE(key.state.is_at_rest(rest));
    ASSERT_EQ(key.peek(1, rest).remaining, Key(key.plan.limit).peek(1, rest).remaining);
    if (decision.reset_after > Duration{0}) {
      ASSERT_FALSE(key.state.is_at_rest(rest - Duration{1}));
    }
  });
}

TEST_P(Properties, ARefusalChangesNothing) {
  for_random_states(GetParam(), [](Key key, Instant now, Random&) {
    for (Cost cost = 1; cost < 50; ++cost) {
      Key copy = key;
      if (copy.take(cost, now).verdict != Verdict::denied) continue;
      copy.permits = key.permits;
      ASSERT_EQ(copy, key);
    }
  });
}

TEST_P(Properties, ACostOfManyPassesWhenAsManySingleHitsDo) {
  for_random_states(GetParam(), [](const Key& key, Instant now, Random& random) {
    const Cost cost = 1 + below(random, key.plan.limit.requests + 1U);
    Key whole = key;
    Key split = key;
    const bool is_allowed = whole.take(cost, now).verdict == Verdict::allowed;
    Cost passed = 0;
    while (passed < cost && split.take(1, now).verdict == Verdict::allowed) ++passed;
    ASSERT_EQ(passed == cost, is_allowed);
    if (is_allowed) {
      ASSERT_EQ(whole.peek(1, now).remaining, split.peek(1, now).remaining);
      ASSERT_EQ(whole.peek(1, now).reset_after, split.peek(1, now).reset_after);
    }
  });
}

TEST_P(Properties, TimeThatGoesBackGrantsNoMoreThanTheLimit) {
  for_random_states(GetParam(), [](Key key, Instant now, Random& random) {
    const std::uint32_t most = key.peek(0, kInstantMax).limit;
    const Instant before{
        now.ns - static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(now.ns) + 1))};
    std::uint32_t passed = 0;
    while (passed <= most && key.take(1, before).verdict == Verdict::allowed) ++passed;
    ASSERT_LE(passed, most);
  });
}

INSTANTIATE_TEST_SUITE_P(OfEachAlgorithm, Properties, testing::ValuesIn(kKinds),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Arrivals in bursts and pauses, in nanoseconds from the last.
Duration random_pause(Random& random) {
  switch (below(random, 4)) {
    case 0:
      return Duration{0};
    case 1:
      return Duration{static_cast<std::int64_t>(below(random, 1'000'000))};
    case 2:
      return Duration{static_cast<std::int64_t>(below(random, 100'000'000))};
    default:
      return Duration{static_cast<std::int64_t>(below(random, 30'000'000))};
  }
}

// Watches admissions for one that comes too early: `burst` and `requests` each period are the most
// in any span, over every pair of admitted hits.
class SpanBound {
 public:
  explicit SpanBound(const Limit& limit) : limit_(limit) {}

  // Times must not go back.
  [[nodiscard]] bool admits(Instant at, Cost cost) {
    const SignedWide drained = SignedWide{at.ns} * limit_.requests;
    least_ = is_empty_ ? admitted_ - drained : std::min(least_, admitted_ - drained);
    is_empty_ = false;
    admitted_ += SignedWide{cost} * limit_.period.count();
    return admitted_ - drained - least_ <= SignedWide{limit_.burst} * limit_.period.count();
  }

 private:
  Limit limit_;
  bool is_empty_ = true;
  SignedWide admitted_ = 0;
  SignedWide least_ = 0;
};

TEST(TokenBucketBound, NoSpanHoldsMoreThanBurstAndWhatDripsInMeanwhile) {
  const Limit limit{
      .algorithm = Algorithm::token_bucket, .requests = 10, .period = kSecond, .burst = 10};
  Random random(seed());
  Key key(limit);
  SpanBound bound(limit);
  Instant now;
  int admitted = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    now = now + random_pause(random);
    const Cost cost = 1 + below(random, 3);
    if (!token_bucket::try_take(key.state, key.plan, cost, now)) continue;
    ++admitted;
    ASSERT_TRUE(bound.admits(now, cost)) << "hit " << i << ", seed " << seed();
  }
  EXPECT_GT(admitted, 100'000);
}

class StrictBound : public testing::TestWithParam<Kind> {};

TEST_P(StrictBound, NoSpanOfOnePeriodHoldsMoreThanTheLimit) {
  Limit limit{.algorithm = GetParam().algorithm, .requests = 100, .period = 60 * kSecond};
  if (GetParam().has_sub_windows) limit.sub_windows = 30;
  Random random(seed());
  Key key(limit);
  std::vector<Instant> admitted;
  Instant now;
  for (int i = 0; i < 300'000; ++i) {
    now = now + Duration{10 * random_pause(random).count()};
    if (key.take(1, now).verdict != Verdict::allowed) continue;
    admitted.push_back(now);
    const std::size_t count = admitted.size();
    if (count > 100) {
      ASSERT_GE(now - admitted[count - 101], limit.period) << "hit " << i << ", seed " << seed();
    }
  }
  EXPECT_GT(admitted.size(), 10'000U);
}

INSTANTIATE_TEST_SUITE_P(OfStrictAlgorithms, StrictBound, testing::Values(kKinds[2], kKinds[3]),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Reservations, GrantedAndCancelledInAnyOrderKeepTheBound) {
  const Limit limit{
      .algorithm = Algorithm::token_bucket, .requests = 10, .period = kSecond, .burst = 10};
  Random random(seed());
  for (int round = 0; round < 3'000; ++round) {
    Key key(limit);
    Instant now{static_cast<std::int64_t>(below(random, 1'000))};
    std::vector<token_bucket::Reservation> places;
    for (int step = 0; step < 40; ++step) {
      now = now + Duration{random_pause(random).count() * 4};
      if (below(random, 3) == 0 && !places.empty()) {
        const auto chosen =
            places.begin() + static_cast<std::ptrdiff_t>(below(random, places.size()));
        if (now >= chosen->ready_at) continue;
        token_bucket::cancel(key.state, key.plan, *chosen, now);
        places.erase(chosen);
        continue;
      }
      const auto place = token_bucket::reserve(key.state, key.plan, 1 + below(random, 10), now,
                                               Duration{3 * kSecond});
      if (place.is_granted) places.push_back(place);
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.ready_at < b.ready_at; });
    SpanBound bound(limit);
    for (const auto& place : places) {
      ASSERT_TRUE(bound.admits(place.ready_at, place.cost))
          << "round " << round << ", seed " << seed();
    }
  }
}

TEST(LiveChange, ToTheSameOrOtherNumbersAThousandTimesASecondMintsNothing) {
  LimitGenerations generations;
  const auto plan_of = [&](std::uint32_t requests, std::uint32_t burst) {
    return *generations.make_plan({.algorithm = Algorithm::token_bucket,
                                   .requests = requests,
                                   .period = kSecond,
                                   .burst = burst});
  };
  State state;
  int admitted = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    const LimitPlan plan = plan_of(10, ms % 2 == 0 ? 10 : 7);
    for (int hit = 0; hit < 20; ++hit) {
      const Instant now = Instant{} + std::chrono::microseconds{ms * 1000 + hit * 50};
      admitted += token_bucket::try_take(state, plan, 1, now) ? 1 : 0;
    }
  }
  EXPECT_LE(admitted, 110);
  EXPECT_GE(admitted, 109);
}

}  // namespace
}  // namespace sluice::conformance
