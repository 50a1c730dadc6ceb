// Rule files as envoyproxy/ratelimit's users have them, and which of their limits a descriptor
// meets: loader, rule set and matcher together. Fixtures are written anew after that project's.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/rule_loader.h"
#include "engine/rule_matcher.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kBasic = R"(
domain: test-domain
descriptors:
  - key: key1
    value: value1
    descriptors:
      - {key: subkey1, rate_limit: {unit: second, requests_per_unit: 5}}
      - {key: subkey1, value: subvalue1, rate_limit: {unit: SECOND, requests_per_unit: 10}}
  - {key: key2, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: key2, value: value2, rate_limit: {unit: minute, requests_per_unit: 30}}
  - {key: key2, value: value3}
  - {key: key3, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: key4, rate_limit: {name: key4_rate_limit, unit: day, requests_per_unit: 1}}
  - key: key5
    value: value5
    rate_limit: {unit: day, requests_per_unit: 15}
    descriptors:
      - {key: subkey5, value: subvalue5, rate_limit: {unit: day, requests_per_unit: 25}}
  - {key: key6, rate_limit: {unlimited: true}}
  - {key: key7, rate_limit: {unit: minute, requests_per_unit: 70}, detailed_metric: true}
)";

constexpr std::string_view kWildcards = R"(
domain: test-domain
descriptors:
  - {key: wild, value: foo*, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: noWild, value: foo, rate_limit: {unit: minute, requests_per_unit: 21}}
  - {key: noVal, rate_limit: {unit: minute, requests_per_unit: 22}}
  - {key: midWild, value: bar*b, rate_limit: {unit: minute, requests_per_unit: 23}}
  - {key: multiWild, value: foo*bar*baz, rate_limit: {unit: minute, requests_per_unit: 10}}
  - key: nestedWild
    value: val1
    descriptors:
      - {key: wild, value: goo*, rate_limit: {unit: minute, requests_per_unit: 24}}
)";

constexpr std::string_view kShared = R"(
domain: test-domain
descriptors:
  - {key: files, value: files/*, share_threshold: true,
     rate_limit: {unit: minute, requests_per_unit: 100}}
  - key: nested
    value: parent
    descriptors:
      - {key: files, value: nested/*, share_threshold: true,
         rate_limit: {unit: minute, requests_per_unit: 200}}
  - key: files
    value: top/*
    share_threshold: true
    descriptors:
      - {key: files, value: nested/*, share_threshold: true,
         rate_limit: {unit: minute, requests_per_unit: 300}}
  - key: route
    value: api/*
    share_threshold: true
    value_to_metric: true
    descriptors:
      - {key: method, rate_limit: {unit: minute, requests_per_unit: 60}}
  - key: service
    value: svc/*
    share_threshold: true
    descriptors:
      - {key: endpoint, rate_limit: {unit: minute, requests_per_unit: 80}, detailed_metric: true}
  - key: path
    value: path/*
    share_threshold: true
    descriptors:
      - key: file
        value: file/*
        descriptors:
          - {key: type, rate_limit: {unit: minute, requests_per_unit: 120}}
  - {key: file, value: test1, rate_limit: {unit: minute, requests_per_unit: 50}}
  - {key: file, value: test*, share_threshold: true,
     rate_limit: {unit: minute, requests_per_unit: 101}}
  - {key: midpath, value: /api*v1, share_threshold: true,
     rate_limit: {unit: minute, requests_per_unit: 102}}
  - {key: multiroute, value: svc*ep*rpc, share_threshold: true,
     rate_limit: {unit: minute, requests_per_unit: 51}}
  - key: tenant
    value: t*prod
    share_threshold: true
    descriptors:
      - {key: resource, value: res*v2, share_threshold: true,
         rate_limit: {unit: minute, requests_per_unit: 61}}
)";

struct Found {
  RuleMatch match;
  std::vector<std::string_view> identity;
  std::string label;
  std::uint32_t requests = 0;  // Of the first limit; 0: nothing limits.
};

class Rules {
 public:
  explicit Rules(std::string_view text) : matcher_(load(text)) {}

  const RuleMatcher& matcher() const { return matcher_; }

  Found find(const std::vector<Entry>& entries) const {
    Found found;
    found.identity.resize(entries.size());
    const RuleDomain& domain = matcher_.rules().domains()[0];
    found.match = matcher_.match(domain, entries, found.identity);
    if (found.match.limits.empty()) return found;
    found.requests = found.match.limits[0].limit.requests;
    append_metric_label(found.label, found.match, found.match.limits[0], entries, found.identity);
    return found;
  }

 private:
  static std::shared_ptr<const RuleSet> load(std::string_view text) {
    LoadedRules loaded = parse_rules(text, "rules.yaml");
    EXPECT_THAT(loaded.errors, IsEmpty()) << problem_text(loaded.errors.at(0));
    return std::make_shared<const RuleSet>(std::move(loaded.rules));
  }

  RuleMatcher matcher_;
};

TEST(EnvoyRules, KnowOnlyTheirDomains) {
  const Rules rules(kBasic);
  EXPECT_EQ(rules.matcher().find_domain("foo_domain"), nullptr);
  EXPECT_NE(rules.matcher().find_domain("test-domain"), nullptr);
}

TEST(EnvoyRules, LimitOnlyDescriptorsAsLongAsTheRule) {
  const Rules rules(kBasic);
  EXPECT_EQ(rules.find({{"key1", "value1"}}).requests, 0U);
  EXPECT_EQ(rules.find({{"key1", "value1"}, {"subkey1", "something"}}).requests, 5U);
  EXPECT_EQ(rules.find({{"key1", "value1"}, {"subkey1", "subvalue1"}}).requests, 10U);
  EXPECT_EQ(rules.find({{"key1", "other"}, {"subkey1", "subvalue1"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"key2", "value2"}, {"subkey", "subvalue"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"key5", "value5"}}).requests, 15U);
  EXPECT_EQ(rules.find({{"key5", "value5"}, {"subkey5", "subvalue5"}}).requests, 25U);
  EXPECT_EQ(rules.find({}).match.node, nullptr);
}

TEST(EnvoyRules, PreferAValueAndLetOneWithoutALimitThrough) {
  const Rules rules(kBasic);
  EXPECT_EQ(rules.find({{"key2", "something"}}).requests, 20U);
  EXPECT_EQ(rules.find({{"key2", "value2"}}).requests, 30U);
  const Found allowed = rules.find({{"key2", "value3"}});
  EXPECT_NE(allowed.match.node, nullptr);
  EXPECT_THAT(allowed.match.limits, IsEmpty());
}

TEST(EnvoyRules, CarryNamesAndUnlimited) {
  const Rules rules(kBasic);
  EXPECT_EQ(rules.find({{"key4", "foo"}}).match.limits[0].name, "key4_rate_limit");
  EXPECT_TRUE(rules.find({{"key6", "foo"}}).match.limits[0].unlimited);
  EXPECT_EQ(rules.find({{"key7", "foo"}}).label, "key7=foo");
}

TEST(EnvoyRules, MatchPatternsAndCountEachValueByItself) {
  const Rules rules(kWildcards);
  EXPECT_EQ(rules.find({{"wild", "foo1"}}).requests, 20U);
  EXPECT_THAT(rules.find({{"wild", "foo1"}}).identity, ElementsAre("foo1"));
  EXPECT_THAT(rules.find({{"wild", "foo2"}}).identity, ElementsAre("foo2"));
  EXPECT_EQ(rules.find({{"wild", "bar"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"noWild", "foo1"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"noVal", "anything"}}).requests, 22U);
  EXPECT_EQ(rules.find({{"midWild", "bar12b"}}).requests, 23U);
  EXPECT_EQ(rules.find({{"midWild", "bara"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"midWild", "xbarb"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"multiWild", "foo123bar456baz"}}).requests, 10U);
  EXPECT_EQ(rules.find({{"multiWild", "foobarbaz"}}).requests, 10U);
  EXPECT_EQ(rules.find({{"multiWild", "foobaz"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"nestedWild", "val1"}, {"wild", "goo2"}}).requests, 24U);
}

TEST(EnvoyRules, CountValuesTogetherWhereTheThresholdIsShared) {
  const Rules rules(kShared);
  EXPECT_EQ(rules.find({{"file", "test1"}}).requests, 50U);
  EXPECT_THAT(rules.find({{"file", "test1"}}).identity, ElementsAre("test1"));
  for (const char* value : {"test2", "test23"}) {
    const Found found = rules.find({{"file", value}});
    EXPECT_EQ(found.requests, 101U);
    EXPECT_THAT(found.identity, ElementsAre("test*"));
  }
  const Found nested = rules.find({{"files", "top/f1"}, {"files", "nested/f1"}});
  EXPECT_EQ(nested.requests, 300U);
  EXPECT_THAT(nested.identity, ElementsAre("top/*", "nested/*"));
  EXPECT_THAT(rules.find({{"nested", "parent"}, {"files", "nested/x"}}).identity,
              ElementsAre("parent", "nested/*"));
  const Found mixed = rules.find({{"path", "path/foo"}, {"file", "file/doc1"}, {"type", "pdf"}});
  EXPECT_EQ(mixed.requests, 120U);
  EXPECT_THAT(mixed.identity, ElementsAre("path/*", "file/doc1", "pdf"));
  EXPECT_THAT(rules.find({{"midpath", "/api/x/v1"}}).identity, ElementsAre("/api*v1"));
  EXPECT_THAT(rules.find({{"multiroute", "svc1ep2rpc"}}).identity, ElementsAre("svc*ep*rpc"));
  EXPECT_THAT(rules.find({{"tenant", "t1prod"}, {"resource", "res9v2"}}).identity,
              ElementsAre("t*prod", "res*v2"));
}

TEST(EnvoyRules, ShowInMetricsWhatTheRuleAsksFor) {
  const Rules shared(kShared);
  EXPECT_EQ(shared.find({{"service", "svc/user"}, {"endpoint", "get"}}).label,
            "service=svc/*/endpoint=get");
  EXPECT_EQ(shared.find({{"route", "api/v1"}, {"method", "GET"}}).label, "route=api/*/method");
  const Rules values(R"(
domain: domain
descriptors:
  - key: route
    value_to_metric: true
    descriptors:
      - key: http_method
        value_to_metric: true
        descriptors:
          - {key: subject_id, rate_limit: {unit: minute, requests_per_unit: 60}}
          - {key: detailed,
             rate_limit: {unit: minute, requests_per_unit: 60}, detailed_metric: true}
  - key: k1
    descriptors:
      - key: k2
        value_to_metric: true
        descriptors:
          - {key: k3, rate_limit: {unit: minute, requests_per_unit: 60}}
)");
  EXPECT_EQ(values.find({{"route", "draw"}, {"http_method", "GET"}, {"subject_id", "123"}}).label,
            "route=draw/http_method=GET/subject_id");
  EXPECT_EQ(values.find({{"route", "draw"}, {"http_method", "GET"}, {"detailed", "123"}}).label,
            "route=draw/http_method=GET/detailed=123");
  EXPECT_EQ(values.find({{"k1", "X"}, {"k2", "Y"}, {"k3", "Z"}}).label, "k1/k2=Y/k3");
}

TEST(EnvoyRules, TakeTheFirstPatternOfTheFile) {
  const Rules rules(R"(
domain: d
descriptors:
  - {key: a, value: x*, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: a, value: xy*, rate_limit: {unit: minute, requests_per_unit: 2}}
)");
  EXPECT_EQ(rules.find({{"a", "xyz"}}).requests, 1U);
}

TEST(EnvoyRules, RefuseAllOfOneAddressAndLimitEachOther) {
  const Rules rules(R"(
domain: edge_proxy_per_ip
descriptors:
  - {key: remote_address, rate_limit: {unit: second, requests_per_unit: 10}}
  - {key: remote_address, value: 50.0.0.5, rate_limit: {unit: second, requests_per_unit: 0}}
)");
  const Found blocked = rules.find({{"remote_address", "50.0.0.5"}});
  EXPECT_EQ(blocked.match.limits.size(), 1U);
  EXPECT_EQ(blocked.requests, 0U);
  EXPECT_EQ(rules.find({{"remote_address", "50.0.0.6"}}).requests, 10U);
}

// Keys and values are told apart by where they stand, so nothing that they contain joins two rules.
TEST(EnvoyRules, DoNotConfuseAKeyWithAKeyAndItsValue) {
  const Rules rules(R"(
domain: d
descriptors:
  - {key: a, value: b, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: a_b, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: "a:b", rate_limit: {unit: minute, requests_per_unit: 3}}
)");
  EXPECT_EQ(rules.find({{"a", "b"}}).requests, 1U);
  EXPECT_EQ(rules.find({{"a_b", "c"}}).requests, 2U);
  EXPECT_EQ(rules.find({{"a:b", "c"}}).requests, 3U);
  EXPECT_EQ(rules.find({{"a", "b_c"}}).match.node, nullptr);
  EXPECT_EQ(rules.find({{"a", std::string_view("b\0", 2)}}).match.node, nullptr);
}

TEST(EnvoyRules, GiveTheSameIdWhateverTheNumbers) {
  const auto id_of = [](const std::string& limit) {
    const Rules rules("domain: d\ndescriptors: [{key: k, rate_limit: {" + limit + "}}]");
    return rules.matcher().rules().limits()[0].id;
  };
  EXPECT_EQ(id_of("unit: minute, requests_per_unit: 10"),
            id_of("unit: hour, requests_per_unit: 20, algorithm: token_bucket"));
}

}  // namespace
}  // namespace sluice
