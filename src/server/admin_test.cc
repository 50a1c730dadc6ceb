#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/admin/rule_pages.h"
#include "server/rule_source.h"
#include "server/test_server.h"

namespace sluice::server {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Admin, ShowsWhatWasCounted) {
  TestServer test;
  TestClient client = test.start().client();
  for (int i = 0; i < 3; ++i) client.post("/v1/check", check_body("api_key", "m"));
  client.post("/v1/check", R"({"domain":"nowhere","descriptors":[{"a":"b"}]})");
  const ReceivedResponse page = test.admin().get("/metrics");
  EXPECT_EQ(page.field("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const std::string_view line :
       {R"(sluice_requests_total{domain="api",verdict="allowed"} 2)",
        R"(sluice_requests_total{domain="api",verdict="denied"} 1)",
        R"(sluice_unmatched_total{domain="~unknown"} 1)",
        R"(sluice_decisions_total{domain="api",rule="api_key",verdict="denied"} 1)",
        R"(sluice_hits_total{domain="api",rule="api_key"} 3)",
        R"(sluice_limit{domain="api",rule="api_key"} 2)",
        R"(sluice_tokens{domain="api",rule="api_key"} 0)", "sluice_decision_seconds_bucket",
        "sluice_table_keys ", "sluice_table_evictions_total 0",
        R"(sluice_config_reloads_total{result="ok"})", "sluice_config_info{hash=",
        "sluice_connections 1", R"(sluice_build_info{version="test"} 1)"}) {
    EXPECT_TRUE(has(page.body, std::string(line))) << line << "\n" << page.body;
  }
}

TEST(Admin, ShowsEachRuleWithItsBound) {
  TestServer test;
  TestClient admin = test.start().admin();
  const std::string rules = admin.get("/v1/rules").body;
  EXPECT_TRUE(has(rules, R"({"rule":"api_key","id":"api/api_key","limit":{"algorithm":)"
                         R"("fixed_window","requests":2,"period_ms":60000},"bound":{"hits":4,)"))
      << rules;
  EXPECT_TRUE(has(rules, R"("algorithm":"token_bucket","requests":1,"period_ms":1000,"burst":3)"));
  EXPECT_TRUE(has(rules, R"("unlimited":true)"));
  const std::string dump = admin.get("/rlconfig").body;
  EXPECT_TRUE(has(dump, "api.api_key: unit=MINUTE requests_per_unit=2, shadow_mode: false\n"))
      << dump;
}

TEST(Admin, LooksAtAKeyAndResetsIt) {
  TestServer test;
  TestClient client = test.start().client();
  TestClient admin = test.admin();
  client.post("/v1/check", check_body("api_key", "a b", 2));
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "a b")).status, 429);
  const ReceivedResponse key = admin.get("/v1/keys?domain=api&api_key=a%20b");
  EXPECT_EQ(key.status, 200);
  EXPECT_TRUE(has(key.body, R"("remaining":0)")) << key.body;
  EXPECT_EQ(admin.get("/v1/keys?domain=api&api_key=a%20b", "DELETE").body, "{\"reset\":1}\n");
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "a b")).status, 200);
  EXPECT_EQ(admin.get("/v1/keys?domain=none&api_key=x").status, 404);
  EXPECT_EQ(admin.get("/v1/keys").status, 400);
  EXPECT_EQ(admin.get("/v1/keys?domain=api").status, 400);
  EXPECT_EQ(admin.get("/v1/keys?domain=api&api_key=%zz").status, 400);
  EXPECT_EQ(admin.post("/v1/keys", "").field("allow"), "GET, HEAD, DELETE");
}

TEST(Admin, SwitchesARuleOff) {
  TestServer test;
  TestClient client = test.start().client();
  TestClient admin = test.admin();
  client.post("/v1/check", check_body("api_key", "k", 2));
  EXPECT_EQ(admin.get("/v1/kill-switch").body, "{\"on\":[]}\n");
  const auto set = [&](std::string_view body) {
    return admin.post("/v1/kill-switch", body, "PUT");
  };
  EXPECT_EQ(set(R"({"domain":"api","rule":"api_key","on":true})").body,
            "{\"on\":[{\"domain\":\"api\",\"rule\":\"api_key\"}]}\n");
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "k")).status, 200);
  set(R"({"domain":"api","rule":"api_key","on":false})");
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "k")).status, 429);
  EXPECT_EQ(set(R"({"domain":"api","rule":"none","on":true})").status, 404);
  EXPECT_EQ(set(R"({"domain":"api","rule":"api_key"})").status, 400);
  EXPECT_EQ(set(R"({"domain":"api","rule":"api_key","on":"yes"})").status, 400);
  EXPECT_EQ(set(R"({"domain":"api","rule":"api_key","on":true,"x":"y"})").status, 400);
}

TEST(Admin, SaysWhichPathsThereAre) {
  TestServer test;
  TestClient admin = test.start().admin();
  EXPECT_EQ(admin.get("/v1/check").status, 404);
  EXPECT_EQ(admin.get("/readyz").status, 200);
  EXPECT_EQ(admin.post("/metrics", "").status, 405);
}

TEST(AdmissionBound, SaysWhatAPeriodCanLetThrough) {
  Limit limit{.requests = 100, .period = std::chrono::seconds{60}, .burst = 20};
  const auto bound = [&](Algorithm algorithm) {
    limit.algorithm = algorithm;
    return admission_bound(limit).hits;
  };
  EXPECT_EQ(bound(Algorithm::fixed_window), 200);
  EXPECT_EQ(bound(Algorithm::sliding_window), 199);
  EXPECT_EQ(bound(Algorithm::sliding_log), 100);
  EXPECT_EQ(bound(Algorithm::token_bucket), 120);
  EXPECT_EQ(bound(Algorithm::concurrency), 100);
  limit.sub_windows = 10;
  EXPECT_EQ(bound(Algorithm::sliding_window), 100);
}

class RuleSourceTest : public testing::Test {
 protected:
  RuleSourceTest() {
    std::filesystem::create_directory(folder_);
    auto opened = Engine::open({});
    EXPECT_TRUE(opened);
    engine_ = std::move(*opened);
  }
  ~RuleSourceTest() override { std::filesystem::remove_all(folder_); }
  void write(std::string_view text) const { std::ofstream(folder_ / "rules.yaml") << text; }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("sluice-rules-" + std::to_string(::getpid()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<Engine> engine_;
};

TEST_F(RuleSourceTest, ServesTheBuiltInExampleWithoutPaths) {
  RuleSource source(*engine_, {}, {});
  EXPECT_TRUE(source.load().is_in_force);
  EXPECT_EQ(engine_->rules()->domains().size(), 1);
  EXPECT_FALSE(source.hash().empty());
}

TEST_F(RuleSourceTest, KeepsTheOldRulesWhenTheNewOnesAreWrong) {
  write("domain: old\n");
  RuleSource source(*engine_, {folder_.string()}, {});
  ASSERT_TRUE(source.load().is_in_force);
  const std::string hash = source.hash();

  write("domain: new\ndescriptors:\n  - kee: x\n");
  std::promise<RuleReport> promise;
  source.reload_in_background([&](const RuleReport& report) { promise.set_value(report); });
  const RuleReport report = promise.get_future().get();
  EXPECT_FALSE(report.is_in_force);
  ASSERT_FALSE(report.errors.empty());
  EXPECT_EQ(report.errors.front().line, 3);
  EXPECT_EQ(engine_->rules()->domains().front().name, "old");
  EXPECT_EQ(source.hash(), hash);
  EXPECT_EQ(engine_->metrics().reloads_failed, 1);
}

TEST_F(RuleSourceTest, PutsNewRulesInForce) {
  write("domain: old\n");
  RuleSource source(*engine_, {folder_.string()}, {});
  ASSERT_TRUE(source.load().is_in_force);
  const std::string hash = source.hash();
  write("domain: new\n");
  std::promise<bool> promise;
  source.reload_in_background(
      [&](const RuleReport& report) { promise.set_value(report.is_in_force); });
  EXPECT_TRUE(promise.get_future().get());
  EXPECT_EQ(engine_->rules()->domains().front().name, "new");
  EXPECT_NE(source.hash(), hash);
}

}  // namespace
}  // namespace sluice::server
