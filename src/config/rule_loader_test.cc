#include "config/rule_loader.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The problems of a text as `line: message`.
std::vector<std::string> lines_of(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) {
    lines.push_back(std::to_string(problem.line) + ": " + problem.message);
  }
  return lines;
}

std::vector<std::string> errors_of(std::string_view text) {
  return lines_of(parse_rules(text, "f.yaml").errors);
}

std::vector<std::string> warnings_of(std::string_view text) {
  const LoadedRules loaded = parse_rules(text, "f.yaml");
  EXPECT_THAT(lines_of(loaded.errors), IsEmpty());
  return lines_of(loaded.warnings);
}

// A file whose one descriptor has this rate_limit, written in flow style: it stands on line 2.
std::string with_limit(const std::string& limit) {
  return "domain: d\ndescriptors: [{key: k, rate_limit: {" + limit + "}}]\n";
}

Limit limit_of(const std::string& limit) {
  const LoadedRules loaded = parse_rules(with_limit(limit), "f.yaml");
  EXPECT_THAT(lines_of(loaded.errors), IsEmpty()) << limit;
  return loaded.rules.limits().empty() ? Limit{} : loaded.rules.limits()[0].limit;
}

TEST(RuleLoader, ReadsADomainWithNestedDescriptors) {
  const LoadedRules loaded = parse_rules(R"(
domain: api
charge: each
descriptors:
  - descriptors:            # Keys may come in any order.
      - key: path
        value: /search
        rate_limit: {unit: SECOND, requests_per_unit: 1}
        detailed_metric: true
    key: address
    rate_limit:
      unit: minute
      unit_multiplier: 5
      requests_per_unit: 10
      name: per_address
    shadow_mode: true
    metadata: {owner: team-a, level: 3, tags: [x, "1"]}
)",
                                         "api.yaml");
  ASSERT_THAT(lines_of(loaded.errors), IsEmpty());
  ASSERT_THAT(loaded.rules.domains(), SizeIs(1));
  EXPECT_TRUE(loaded.rules.domains()[0].charge_each);
  const RuleNode& address = loaded.rules.nodes()[loaded.rules.domains()[0].first_node];
  EXPECT_EQ(loaded.rules.key(address), "address");
  EXPECT_EQ(address.line, 5U);
  EXPECT_EQ(loaded.rules.metadata(address), R"({"owner":"team-a","level":3,"tags":["x","1"]})");
  const RuleLimit& per_address = loaded.rules.limits(address)[0];
  EXPECT_EQ(per_address.limit.period, 5min);
  EXPECT_EQ(per_address.label, "per_address");
  EXPECT_EQ(per_address.id, "api/address");
  EXPECT_TRUE(per_address.shadow_mode);
  const RuleLimit& path = loaded.rules.limits(loaded.rules.nodes()[address.first_child])[0];
  EXPECT_EQ(path.id, "api/address/path");
  EXPECT_EQ(path.label, "address/path");
  EXPECT_TRUE(path.detailed_metric);
}

TEST(RuleLoader, ReadsEveryKeyOfALimit) {
  EXPECT_EQ(limit_of("period: 1m30s, requests_per_unit: 4").period, 90s);
  EXPECT_EQ(limit_of("unit: month, requests_per_unit: 4").period, 720h);
  EXPECT_EQ(limit_of("unit: Year, requests_per_unit: 4").period, 8760h);
  EXPECT_EQ(limit_of("unit: WEEK, requests_per_unit: 0").requests, 0U);
  for (const char* algorithm : {"token_bucket", "gcra"}) {
    const Limit bucket =
        limit_of("unit: day, requests_per_unit: 7, algorithm: " + std::string{algorithm} +
                 ", overdraft: true, block_for: 1h");
    EXPECT_EQ(bucket.algorithm, Algorithm::token_bucket);
    EXPECT_EQ(bucket.burst, 7U);
    EXPECT_TRUE(bucket.overdraft);
    EXPECT_EQ(bucket.block_for, 1h);
  }
  const Limit slices = limit_of(
      "unit: minute, requests_per_unit: 7, algorithm: sliding_window, sub_windows: 6, "
      "count_denied: yes");
  EXPECT_EQ(slices.sub_windows, 6U);
  EXPECT_TRUE(slices.count_denied);
  const Limit leaky =
      limit_of("unit: minute, requests_per_unit: 7, algorithm: leaky_bucket, burst: 0");
  EXPECT_EQ(leaky.algorithm, Algorithm::leaky_bucket);
  EXPECT_EQ(leaky.burst, 0U);
  const Limit permits =
      limit_of("requests_per_unit: 7, algorithm: concurrency, permit_ttl: 5s, scope: local");
  EXPECT_EQ(permits.algorithm, Algorithm::concurrency);
  EXPECT_EQ(permits.permit_ttl, 5s);
}

TEST(RuleLoader, ReadsUnquotedTrueAndNumbersAsText) {
  const LoadedRules loaded = parse_rules(
      "domain: d\ndescriptors: [{key: a, value: true}, {key: a, value: 123}, {key: 1}]", "f");
  ASSERT_THAT(lines_of(loaded.errors), IsEmpty());
  EXPECT_EQ(loaded.rules.value(loaded.rules.nodes()[0]), "true");
  EXPECT_EQ(loaded.rules.value(loaded.rules.nodes()[1]), "123");
  EXPECT_EQ(loaded.rules.key(loaded.rules.nodes()[2]), "1");
}

TEST(RuleLoader, ReadsSeveralLimitsOfOneDescriptor) {
  const LoadedRules loaded = parse_rules(R"(
domain: d
descriptors:
  - key: k
    rate_limits:
      - {unit: second, requests_per_unit: 10, name: burst guard}
      - {unit: day, requests_per_unit: 1000, algorithm: gcra, replaces: [{name: x}, {name: y}]}
      - {unlimited: true}
)",
                                         "f");
  ASSERT_THAT(lines_of(loaded.errors), IsEmpty());
  ASSERT_THAT(loaded.rules.limits(), SizeIs(3));
  EXPECT_EQ(loaded.rules.limits()[0].id, "d/k/burst%20guard");
  EXPECT_EQ(loaded.rules.limits()[1].id, "d/k/token_bucket-86400s");
  EXPECT_THAT(loaded.rules.limits()[1].replaces, ElementsAre("x", "y"));
  EXPECT_TRUE(loaded.rules.limits()[2].unlimited);
}

// --- What envoyproxy/ratelimit refuses, and with what words ---

TEST(RuleLoader, RefusesAFileWithoutADomain) {
  EXPECT_THAT(errors_of("descriptors: []"), ElementsAre(HasSubstr("empty domain")));
  EXPECT_THAT(errors_of(""), ElementsAre(HasSubstr("empty")));
  EXPECT_THAT(errors_of("# nothing\n"), ElementsAre(HasSubstr("empty")));
  EXPECT_THAT(errors_of("---\n"), ElementsAre("2: a rule file must be a mapping with a domain"));
  EXPECT_THAT(errors_of("[a]"), ElementsAre("1: a rule file must be a mapping with a domain"));
}

TEST(RuleLoader, RefusesADescriptorWithoutAKey) {
  EXPECT_THAT(errors_of("domain: d\ndescriptors:\n  - value: x\n"),
              ElementsAre("3: descriptor has empty key"));
}

TEST(RuleLoader, RefusesAnUnknownUnitOrNone) {
  EXPECT_THAT(errors_of(with_limit("unit: foo, requests_per_unit: 1")),
              ElementsAre(AllOf(HasSubstr("2: unit: 'foo'"), HasSubstr("second minute hour"))));
  EXPECT_THAT(errors_of(with_limit("requests_per_unit: 1")),
              ElementsAre(HasSubstr("invalid rate limit unit ''")));
  EXPECT_THAT(errors_of(with_limit("unit: ~, requests_per_unit: 1")),
              ElementsAre(HasSubstr("invalid rate limit unit ''")));
}

TEST(RuleLoader, RefusesNumbersBesideUnlimited) {
  EXPECT_THAT(errors_of(with_limit("unlimited: true, unit: day")),
              ElementsAre("2: unit: should not specify unit when unlimited"));
}

TEST(RuleLoader, RefusesReplacesWithoutANameOrOfItself) {
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, replaces: [{name: ~}]")),
              ElementsAre(HasSubstr("should not have an empty replaces entry")));
  EXPECT_THAT(
      errors_of(with_limit("unit: day, requests_per_unit: 1, name: a, replaces: [{name: a}]")),
      ElementsAre(HasSubstr("name of the same limit")));
}

TEST(RuleLoader, RefusesUnknownKeysAndSaysWhatWasMeant) {
  EXPECT_THAT(errors_of("domain: d\ndescriptors:\n  - key: a\n    ratelimit: {}\n"),
              ElementsAre("4: unknown key 'ratelimit'; did you mean 'rate_limit'?"));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, requestsperunit: 1")),
              ElementsAre("2: unknown key 'requestsperunit'; did you mean 'requests_per_unit'?"));
}

TEST(RuleLoader, RefusesDescriptorsThatAreNoMappings) {
  EXPECT_THAT(errors_of("domain: d\ndescriptors: [a, b]\n"),
              ElementsAre(HasSubstr("list of type other than map: a"),
                          HasSubstr("list of type other than map: b")));
  EXPECT_THAT(errors_of("domain: d\ndescriptors: 5\n"), ElementsAre(HasSubstr("must be a list")));
}

TEST(RuleLoader, RefusesWhatIsNotYaml) {
  EXPECT_THAT(errors_of("\"\"\""), ElementsAre(HasSubstr("1: not YAML")));
}

TEST(RuleLoader, RefusesTheSameDescriptorTwice) {
  EXPECT_THAT(
      errors_of("domain: d\ndescriptors:\n  - key: a\n    value: b\n  - {key: a, value: b}"),
      ElementsAre("5: duplicate descriptor composite key 'd.a_b', first at f.yaml:3"));
}

// --- What our own keys allow ---

TEST(RuleLoader, RefusesNumbersThatAreNotWholeOrTooLarge) {
  for (const char* count : {"-1", "0.2", "1e3", "5000000000", "99999999999999999999", "'100'",
                            "[1]", "x", "0x10", "1_000"}) {
    EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: " + std::string{count})),
                Contains(HasSubstr("2: requests_per_unit: ")))
        << count;
  }
  EXPECT_THAT(errors_of(with_limit("unit: day")),
              ElementsAre(HasSubstr("requests_per_unit is missing")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, unit_multiplier: 0")),
              ElementsAre(HasSubstr("unit_multiplier")));
}

TEST(RuleLoader, RefusesRatesAndSpansBeyondWhatIsExact) {
  EXPECT_THAT(errors_of(with_limit("period: 1ms, requests_per_unit: 1000001")),
              ElementsAre(HasSubstr("more than 1000000000 a second")));
  EXPECT_THAT(errors_of(with_limit("unit: year, unit_multiplier: 11, requests_per_unit: 1")),
              ElementsAre(HasSubstr("10 years")));
  EXPECT_THAT(errors_of(with_limit("unit: year, unit_multiplier: 1000000, requests_per_unit: 1")),
              ElementsAre(HasSubstr("10 years")));
  EXPECT_THAT(errors_of(with_limit("unit: year, requests_per_unit: 1, algorithm: token_bucket, "
                                   "burst: 4294967295")),
              ElementsAre(HasSubstr("burst")));
  EXPECT_THAT(errors_of(with_limit("period: 999us, requests_per_unit: 1")),
              ElementsAre(HasSubstr("period")));
}

TEST(RuleLoader, RefusesKeysThatContradictEachOther) {
  EXPECT_THAT(errors_of(with_limit("unit: day, period: 1s, requests_per_unit: 1")),
              ElementsAre(HasSubstr("unit: stands beside period")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, burst: 2")),
              ElementsAre(HasSubstr("burst: only for token_bucket")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, algorithm: concurrency")),
              ElementsAre(HasSubstr("unit: concurrency has no period")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, permit_ttl: 1s")),
              ElementsAre(HasSubstr("permit_ttl: only for algorithm concurrency")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, algorithm: gcra, "
                                   "count_denied: true")),
              ElementsAre(HasSubstr("count_denied: only for")));
  EXPECT_THAT(errors_of("domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, "
                        "requests_per_unit: 1}, rate_limits: []}]"),
              ElementsAre(HasSubstr("stands beside rate_limit")));
  EXPECT_THAT(errors_of("domain: d\ndescriptors: [{key: k, rate_limits: []}]"),
              ElementsAre(HasSubstr("1 to 16")));
  EXPECT_THAT(errors_of("domain: d\ndescriptors: [{key: k, value: a, share_threshold: true}]"),
              ElementsAre(HasSubstr("needs a value with a *")));
}

TEST(RuleLoader, RefusesWhatNeedsASharedStoreAndSaysSo) {
  for (const char* key : {"scope: shared", "scope: leased", "scope: async", "store: pop",
                          "on_store_error: fail_open", "fallback_share: 0.5"}) {
    EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, " + std::string{key})),
                ElementsAre(HasSubstr("needs a store shared by daemons")))
        << key;
  }
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, scope: shard")),
              ElementsAre(HasSubstr("did you mean 'shared'")));
  EXPECT_THAT(errors_of(with_limit("unit: day, requests_per_unit: 1, warm_up: 30s")),
              ElementsAre(HasSubstr("warm_up: is not offered")));
}

TEST(RuleLoader, TellsEveryProblemInTheOrderOfLines) {
  EXPECT_THAT(
      errors_of(R"(domain: d
descriptors:
  - descriptors:
      - key: b
        rate_limit: {unit: hours, requests_per_unit: 1}
    key: a
    key: c
  - kye: x
)"),
      ElementsAre("5: unit: 'hours' is none of second minute hour day week month year; "
                  "did you mean 'hour'?",
                  "7: key 'key' stands here twice", "8: unknown key 'kye'; did you mean 'key'?",
                  "8: descriptor has empty key"));
}

TEST(RuleLoader, StopsListingProblemsAtABound) {
  std::string text = "domain: d\ndescriptors:\n";
  for (int i = 0; i < 1000; ++i) text += "  - kye: x\n";
  const std::vector<std::string> errors = errors_of(text);
  ASSERT_THAT(errors, SizeIs(kProblemsMax + 1));
  EXPECT_EQ(errors.back(), "0: and 1900 more errors");
}

TEST(RuleLoader, BoundsNestingAndRefusesAnchors) {
  std::string text = "domain: d\ndescriptors: ";
  for (int i = 0; i < 17; ++i) text += "[{key: k, descriptors: ";
  text += "[]";
  for (int i = 0; i < 17; ++i) text += "}]";
  EXPECT_THAT(errors_of(text), ElementsAre(HasSubstr("nested deeper than 16")));
  EXPECT_THAT(errors_of("domain: &a d\ndescriptors: *a"), ElementsAre(HasSubstr("anchors")));
  EXPECT_THAT(errors_of("domain: d\nx: " + std::string(100'000, '[')),
              ElementsAre(HasSubstr("nested deeper than 64")));
}

TEST(RuleLoader, BoundsTheBytesOfKeysAndValues) {
  EXPECT_THAT(errors_of("domain: " + std::string(256, 'd')), Contains(HasSubstr("255 bytes")));
  EXPECT_THAT(
      errors_of("domain: d\ndescriptors: [{key: k, value: " + std::string(4097, 'v') + "}]"),
      ElementsAre(HasSubstr("4096 bytes")));
}

TEST(RuleLoader, WarnsOfRulesThatNeverApply) {
  EXPECT_THAT(warnings_of(R"(domain: d
descriptors:
  - {key: k, value: a*}
  - {key: k, value: ab*c}
  - {key: k, value: "*"}
  - {key: k}
  - {key: other}
)"),
              ElementsAre("4: never applies: line 3 ('a*') takes all that fits 'ab*c'",
                          "6: never applies: line 5 ('*') takes every value"));
}

TEST(RuleLoader, WarnsOfWhatIsProbablyNotMeant) {
  EXPECT_THAT(warnings_of(with_limit("unit: minute, requests_per_unit: 60, algorithm: gcra, "
                                     "burst: 10")),
              ElementsAre(HasSubstr("full after 10s")));
  EXPECT_THAT(warnings_of(with_limit("unit: day, requests_per_unit: 1, replaces: [{name: x}]")),
              ElementsAre(HasSubstr("no limit of the domain is called 'x'")));
  EXPECT_THAT(warnings_of("domain: d\ndescriptors: [{key: k, shadow_mode: true}]"),
              ElementsAre(HasSubstr("no effect")));
}

// --- Files and folders ---

class RuleFiles : public testing::Test {
 protected:
  RuleFiles() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("sluice-rules-" + std::string{info->name()} + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~RuleFiles() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  LoadedRules load(RuleSetBuilder::SameDomain same = RuleSetBuilder::SameDomain::refuse) const {
    const std::string path = folder_;
    return load_rules(std::span(&path, 1), {same});
  }

  std::filesystem::path folder_;
};

TEST_F(RuleFiles, AreReadInTheOrderOfTheirNames) {
  write("b.yaml", "domain: second\n");
  write("a.yml", "domain: first\n---\ndomain: also\n");
  write("notes.txt", "not yaml: [");
  const LoadedRules loaded = load();
  ASSERT_THAT(lines_of(loaded.errors), IsEmpty());
  ASSERT_THAT(loaded.rules.domains(), SizeIs(3));
  EXPECT_EQ(loaded.rules.domains()[0].name, "first");
  EXPECT_EQ(loaded.rules.domains()[1].name, "also");
  EXPECT_EQ(loaded.rules.domains()[2].name, "second");
}

TEST_F(RuleFiles, MayNotShareADomainUnlessTheyAreMerged) {
  write("a.yaml", "domain: d\ndescriptors: [{key: a}]\n");
  write("b.yaml", "domain: d\ndescriptors: [{key: b}]\n");
  EXPECT_THAT(lines_of(load().errors), ElementsAre(HasSubstr("duplicate domain 'd'")));
  EXPECT_THAT(load(RuleSetBuilder::SameDomain::merge).errors, IsEmpty());
  write("b.yaml", "domain: d\ndescriptors: [{key: a}]\n");
  EXPECT_THAT(lines_of(load(RuleSetBuilder::SameDomain::merge).errors),
              ElementsAre(HasSubstr("duplicate descriptor composite key 'd.a'")));
}

TEST_F(RuleFiles, ThatCannotBeReadAreErrors) {
  EXPECT_THAT(lines_of(load().errors), ElementsAre(HasSubstr("holds no *.yaml")));
  const std::string paths[] = {folder_ / "absent.yaml", "etcd://host/prefix"};
  const LoadedRules loaded = load_rules(paths);
  ASSERT_THAT(loaded.errors, SizeIs(2));
  EXPECT_THAT(problem_text(loaded.errors[0]), HasSubstr("absent.yaml: No such file"));
  EXPECT_THAT(problem_text(loaded.errors[1]), HasSubstr("only files and folders"));
}

TEST_F(RuleFiles, AllTellTheirProblems) {
  write("a.yaml", "domain: d\nx: 1\n");
  write("b.yaml", "domain: e\n\ny: 1\n");
  const LoadedRules loaded = load();
  ASSERT_THAT(loaded.errors, SizeIs(2));
  EXPECT_THAT(problem_text(loaded.errors[0]), HasSubstr("a.yaml:2: unknown key 'x'"));
  EXPECT_THAT(problem_text(loaded.errors[1]), HasSubstr("b.yaml:3: unknown key 'y'"));
}

}  // namespace
}  // namespace sluice
