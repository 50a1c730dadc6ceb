#include "config/settings.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("sluice-settings-" + std::string{info->name()} + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~SettingsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    std::ofstream(folder_ / "sluice.yaml") << text;
    return folder_ / "sluice.yaml";
  }

  LoadedSettings load(const std::string& text) const {
    return load_settings({.file = write(text)});
  }

  std::vector<std::string> errors_of(const std::string& text) const {
    std::vector<std::string> lines;
    for (const Problem& problem : load(text).errors) {
      lines.push_back(std::to_string(problem.line) + ": " + problem.message);
    }
    return lines;
  }

  std::filesystem::path folder_;
};

std::vector<std::string> messages(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(problem.message);
  return texts;
}

TEST_F(SettingsTest, HaveDefaults) {
  const Settings settings = load_settings({}).settings;
  ASSERT_THAT(settings.listen, SizeIs(1));
  EXPECT_EQ(settings.listen[0].address, "127.0.0.1:8080");
  EXPECT_EQ(settings.admin.address, "127.0.0.1:6070");
  EXPECT_EQ(settings.store_url, "memory://");
  EXPECT_EQ(settings.table.keys_max, 1'000'000U);
  EXPECT_EQ(settings.limits.idle_timeout, 75s);
  EXPECT_THAT(settings.rules, IsEmpty());
  EXPECT_EQ(settings.workers, 0U);
}

TEST_F(SettingsTest, ReadTheFile) {
  const LoadedSettings loaded = load(R"(
listen:
  - {address: "0.0.0.0:9090", protocols: [http], token_file: token}
  - "[::1]:9091"
admin: {address: "127.0.0.1:0"}
store: {url: "memory://"}
table: {keys_max: 5000, when_full: refuse}
rules: [rules/, /etc/more.yaml]
workers: 3
limits:
  idle_timeout: 1m30s
log: {format: json}
)");
  ASSERT_THAT(messages(loaded.errors), IsEmpty());
  const Settings& settings = loaded.settings;
  ASSERT_THAT(settings.listen, SizeIs(2));
  EXPECT_EQ(settings.listen[0].address, "0.0.0.0:9090");
  EXPECT_EQ(settings.listen[0].token_file, folder_ / "token");
  EXPECT_EQ(settings.listen[1].address, "[::1]:9091");
  EXPECT_EQ(settings.table.keys_max, 5000U);
  EXPECT_EQ(settings.table.when_full, WhenFull::refuse);
  EXPECT_THAT(settings.rules, ElementsAre((folder_ / "rules/").string(), "/etc/more.yaml"));
  EXPECT_EQ(settings.workers, 3U);
  EXPECT_EQ(settings.limits.idle_timeout, 90s);
  EXPECT_EQ(settings.log.format, LogFormat::json);
}

TEST_F(SettingsTest, TakeFlagsOverEnvironmentOverFile) {
  SettingSources sources{.file = write("workers: 1\ntable: {keys_max: 2000}\ndrain_timeout: 1s\n")};
  sources.environment = {
      {"SLUICE_WORKERS", "2"}, {"SLUICE_TABLE_KEYS_MAX", "3000"}, {"SLUICE_RULES", "a.yaml,b"}};
  sources.flags = {{"workers", "3"}, {"listen", "127.0.0.1:1"}, {"listen", "127.0.0.1:2"}};
  const LoadedSettings loaded = load_settings(sources);
  ASSERT_THAT(messages(loaded.errors), IsEmpty());
  EXPECT_EQ(loaded.settings.workers, 3U);
  EXPECT_EQ(loaded.settings.table.keys_max, 3000U);
  EXPECT_EQ(loaded.settings.drain_timeout, 1s);
  EXPECT_THAT(loaded.settings.rules, ElementsAre("a.yaml", "b"));
  EXPECT_THAT(loaded.settings.listen, SizeIs(2));
}

TEST_F(SettingsTest, TellWhereAFileIsWrong) {
  EXPECT_THAT(errors_of("lisen: x\ntable:\n  keys_mx: 1\n  when_full: never\n"),
              ElementsAre("1: unknown setting 'lisen'; did you mean 'listen'?",
                          "3: unknown setting 'table.keys_mx'; did you mean 'keys_max'?",
                          HasSubstr("4: table.when_full: 'never' is none of")));
  EXPECT_THAT(errors_of("workers: -1\ndrain_timeout: 5\ntable: 7\n"),
              ElementsAre(HasSubstr("1: workers: '-1' is negative"),
                          HasSubstr("2: drain_timeout: '5' is not a duration"),
                          "3: table: must be a mapping"));
  EXPECT_THAT(errors_of("workers: 1\nworkers: 2\n"), ElementsAre("2: workers: stands here twice"));
  EXPECT_THAT(errors_of("workers: [1, 2]\n"), ElementsAre("1: workers: must be one value"));
  EXPECT_THAT(errors_of("a: [\n"), ElementsAre(HasSubstr("not YAML")));
  EXPECT_THAT(errors_of("- a\n"), ElementsAre(HasSubstr("must be a mapping")));
}

TEST_F(SettingsTest, RefuseWhatIsNotOffered) {
  EXPECT_THAT(errors_of("store: {url: \"valkey://host:6379\"}\n"),
              ElementsAre(HasSubstr("only memory:// is offered")));
  EXPECT_THAT(errors_of("store: {timeout: 10ms}\nstores: {a: {}}\n"),
              ElementsAre("1: store.timeout: is not offered by this version",
                          "2: stores: is not offered by this version"));
  EXPECT_THAT(errors_of("listen: [{address: \"127.0.0.1:1\", protocols: [http, grpc], tls: {}}]\n"),
              ElementsAre("1: tls: is not offered by this version",
                          "1: protocols: 'grpc' is not offered by this version; only http is"));
}

TEST_F(SettingsTest, RefuseAddressesWithoutAPort) {
  for (const char* address : {"8080", ":8080", "localhost", "::1:80", "127.0.0.1:65536", ""}) {
    EXPECT_THAT(load_settings({.flags = {{"listen", address}}}).errors, SizeIs(1)) << address;
  }
}

TEST_F(SettingsTest, AskForATokenBeyondLoopback) {
  EXPECT_THAT(messages(load_settings({.flags = {{"admin.address", "0.0.0.0:6070"}}}).errors),
              ElementsAre(HasSubstr("needs admin.token_file")));
  EXPECT_THAT(load_settings({.flags = {{"admin.address", "0.0.0.0:6070"},
                                       {"admin.token_file", "/run/token"}}})
                  .errors,
              IsEmpty());
}

TEST_F(SettingsTest, LeaveUnknownVariablesAloneUnlessTheyLookLikeASlip) {
  const LoadedSettings loaded = load_settings({.environment = {{"SLUICE_PORT", "tcp://10.0.0.1:80"},
                                                               {"SLUICE_SERVICE_HOST", "10.0.0.1"},
                                                               {"SLUICE_WORKRES", "3"}}});
  EXPECT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(messages(loaded.warnings),
              ElementsAre("unknown variable SLUICE_WORKRES; did you mean 'SLUICE_WORKERS'?"));
}

TEST_F(SettingsTest, NameTheFlagOrVariableThatIsWrong) {
  EXPECT_THAT(messages(load_settings({.environment = {{"SLUICE_WORKERS", "x"}},
                                      .flags = {{"table.keys_max", "1"}}})
                           .errors),
              ElementsAre(HasSubstr("SLUICE_WORKERS: 'x' is not a whole number"),
                          HasSubstr("--table-keys-max: '1' must lie between")));
}

TEST_F(SettingsTest, AreTheDefaultsThatTheTableStates) {
  for (const SettingInfo& info : setting_table()) {
    if (info.default_text.empty()) continue;
    EXPECT_THAT(load_settings({.flags = {{info.path, info.default_text}}}).errors, IsEmpty())
        << info.path;
  }
}

TEST_F(SettingsTest, AreToldFromRules) {
  EXPECT_TRUE(is_settings_file(write("rules: [a]\n")));
  EXPECT_TRUE(is_settings_file(write("x: 1\ntable: {}\n")));
  EXPECT_FALSE(is_settings_file(write("descriptors: []\ndomain: d\n")));
  EXPECT_FALSE(is_settings_file(write("[")));
  EXPECT_FALSE(is_settings_file(folder_));
  EXPECT_FALSE(is_settings_file(folder_ / "absent"));
}

}  // namespace
}  // namespace sluice
