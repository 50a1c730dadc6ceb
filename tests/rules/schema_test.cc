// The JSON Schemas against the files they describe: what the loaders take passes, what they refuse
// for its shape does not. The validator below knows the keywords that the schemas use, no more.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/reference.h"
#include "config/rule_loader.h"
#include "config/settings.h"
#include "config/yaml_reader.h"

namespace sluice {
namespace {

using testing::IsEmpty;

// JSON is YAML: one reader serves both.
YamlValue tree_of(std::istream& in) {
  YamlReader reader(in);
  YamlValue value;
  reader.next();
  EXPECT_TRUE(read_tree(reader, reader.next(), value)) << reader.problem().message;
  return value;
}

YamlValue tree_of_text(const std::string& text) {
  std::istringstream in(text);
  return tree_of(in);
}

const YamlValue* member(const YamlValue& object, std::string_view name) {
  for (const YamlField& field : object.fields) {
    if (field.key == name) return &field.value;
  }
  return nullptr;
}

class Schema {
 public:
  explicit Schema(const std::string& path) {
    for (const ReferenceFile& file : reference_files()) {
      if (file.path == path) root_ = tree_of_text(file.text);
    }
    EXPECT_FALSE(root_.fields.empty());
  }

  bool accepts(const YamlValue& value) const { return accepts(root_, value); }

 private:
  using Kind = YamlValue::Kind;

  bool accepts(const YamlValue& schema, const YamlValue& value) const {
    for (const YamlField& keyword : schema.fields) {
      if (!obeys(schema, keyword.key, keyword.value, value)) return false;
    }
    return true;
  }

  bool obeys(const YamlValue& schema, const std::string& keyword, const YamlValue& rule,
             const YamlValue& value) const {
    const auto holds = [&](const YamlValue& one) { return accepts(one, value); };
    if (keyword == "$ref") {
      return accepts(*member(*member(root_, "$defs"), rule.text.substr(8)), value);
    }
    if (keyword == "anyOf") return std::ranges::any_of(rule.items, holds);
    if (keyword == "not") return !accepts(rule, value);
    if (keyword == "enum") {
      return std::ranges::any_of(rule.items, [&](const YamlValue& one) {
        return value.kind == Kind::scalar && one.text == value.text;
      });
    }
    if (keyword == "type") return has_type(rule, value);
    if (keyword == "pattern") return std::regex_match(value.text, std::regex(rule.text));
    if (keyword == "minimum")
      return !is_whole(value) || std::stoull(value.text) >= std::stoull(rule.text);
    if (keyword == "maximum")
      return !is_whole(value) || std::stoull(value.text) <= std::stoull(rule.text);
    if (keyword == "required") {
      return std::ranges::all_of(
          rule.items, [&](const YamlValue& name) { return member(value, name.text) != nullptr; });
    }
    if (keyword == "items") {
      return std::ranges::all_of(value.items,
                                 [&](const YamlValue& one) { return accepts(rule, one); });
    }
    if (keyword == "properties") {
      return std::ranges::all_of(value.fields, [&](const YamlField& field) {
        const YamlValue* const property = member(rule, field.key);
        return property == nullptr || accepts(*property, field.value);
      });
    }
    if (keyword == "additionalProperties") {
      return std::ranges::all_of(value.fields, [&](const YamlField& field) {
        return member(*member(schema, "properties"), field.key) != nullptr;
      });
    }
    return true;
  }

  static bool is_whole(const YamlValue& value) {
    return value.is_plain && !value.text.empty() &&
           value.text.find_first_not_of("0123456789") == std::string::npos;
  }

  static bool has_type(const YamlValue& rule, const YamlValue& value) {
    if (rule.kind == Kind::sequence) {
      return std::ranges::any_of(rule.items,
                                 [&](const YamlValue& one) { return has_type(one, value); });
    }
    const bool is_boolean = value.is_plain && (value.text == "true" || value.text == "false");
    if (rule.text == "object") return value.kind == Kind::mapping;
    if (rule.text == "array") return value.kind == Kind::sequence;
    if (value.kind != Kind::scalar) return false;
    if (rule.text == "boolean") return is_boolean;
    if (rule.text == "integer" || rule.text == "number") return is_whole(value);
    return !is_whole(value) && !is_boolean;
  }

  YamlValue root_;
};

class SchemaTest : public testing::Test {
 protected:
  bool takes_rules(const std::string& text) { return rules_.accepts(tree_of_text(text)); }
  bool takes_settings(const std::string& text) { return settings_.accepts(tree_of_text(text)); }

  Schema rules_{"docs/schema/rules.schema.json"};
  Schema settings_{"docs/schema/settings.schema.json"};
};

TEST_F(SchemaTest, TakesEveryExampleAndSoDoTheLoaders) {
  std::size_t seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SLUICE_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string path = entry.path();
    ++seen;
    std::ifstream in(path);
    const bool is_settings = is_settings_file(path);
    EXPECT_TRUE((is_settings ? settings_ : rules_).accepts(tree_of(in))) << path;
    if (is_settings) {
      EXPECT_THAT(load_settings({.file = path}).errors, IsEmpty()) << path;
    } else {
      const LoadedRules loaded = load_rules({&path, 1});
      EXPECT_THAT(loaded.errors, IsEmpty()) << path;
      EXPECT_THAT(loaded.warnings, IsEmpty()) << path;
    }
  }
  EXPECT_GE(seen, 4U);
}

TEST_F(SchemaTest, RefusesRulesOfAWrongShape) {
  const std::string head = "domain: d\ndescriptors: [{key: k, rate_limit: ";
  EXPECT_TRUE(takes_rules(head + "{unit: MINUTE, requests_per_unit: 1}}]"));
  EXPECT_TRUE(takes_rules(head + "{unlimited: true}, value: 5}]"));
  for (const char* limit :
       {"{unit: minute}", "{unit: foo, requests_per_unit: 1}",
        "{unit: minute, requests_per_unit: x}", "{unit: minute, requests_per_unit: 4294967296}",
        "{unit: minute, requests: 1}", "[]", "{unit: minute, period: 1s, requests_per_unit: 1}",
        "{period: 1, requests_per_unit: 1}", "{unit: minute, requests_per_unit: 1, scope: shared}",
        "{unit: minute, requests_per_unit: 1, replaces: [x]}"}) {
    EXPECT_FALSE(takes_rules(head + limit + "}]")) << limit;
  }
  EXPECT_FALSE(takes_rules("descriptors: []"));
  EXPECT_FALSE(takes_rules("domain: d\ndescriptors: [{value: v}]"));
  EXPECT_FALSE(takes_rules("domain: d\ndescriptors: [{key: k, descriptors: [{ke: k}]}]"));
}

TEST_F(SchemaTest, RefusesSettingsOfAWrongShape) {
  EXPECT_TRUE(takes_settings("listen: 127.0.0.1:1\nworkers: auto\n"));
  for (const char* text : {"lisen: x", "table: {keys_max: 1}", "table: {when_full: never}",
                           "limits: {idle_timeout: 5}", "listen: [{protocols: [http]}]", "log: []",
                           "merge_domains: 1"}) {
    EXPECT_FALSE(takes_settings(text)) << text;
  }
}

}  // namespace
}  // namespace sluice
