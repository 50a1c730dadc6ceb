#include "config/reference.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "config/rule_fields.h"
#include "config/settings.h"

namespace sluice {
namespace {

constexpr std::string_view kDialect = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view kGenerated = "Written by sluice-reference; do not edit.";
constexpr std::string_view kDuration = R"(^([0-9]+([.][0-9]+)?(d|h|m|s|ms|us|ns))+$)";

std::string quote(std::string_view text) {
  std::string out{"\""};
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// An object of members that are JSON already, in this order, on one line or on one line each.
using Members = std::vector<std::pair<std::string, std::string>>;

std::string object(const Members& members) {
  std::string out{"{"};
  for (const auto& [name, json] : members) {
    if (out.size() > 1) out += ", ";
    out.append(quote(name)).append(": ").append(json);
  }
  return out + "}";
}

std::string block(const Members& members, std::size_t depth) {
  const std::string indent(2 * (depth + 1), ' ');
  std::string out{"{"};
  for (const auto& [name, json] : members) {
    out.append(out.size() > 1 ? ",\n" : "\n").append(indent);
    out.append(quote(name)).append(": ").append(json);
  }
  return out + "\n" + std::string(2 * depth, ' ') + "}";
}

std::string list(std::span<const std::string_view> names) {
  std::string out{"["};
  for (const std::string_view name : names) {
    if (out.size() > 1) out += ", ";
    out += quote(name);
  }
  return out + "]";
}

// Rule files take choices in any case; editors are offered them in lower case.
std::string any_case(std::span<const std::string_view> names) {
  std::string pattern{"^("};
  for (const std::string_view name : names) {
    if (pattern.size() > 2) pattern += '|';
    for (const char c : name) {
      if (c >= 'a' && c <= 'z') {
        pattern += {'[', static_cast<char>(c - 'a' + 'A'), c, ']'};
      } else {
        pattern += c;
      }
    }
  }
  return "[" + object({{"enum", list(names)}}) + ", " +
         object({{"type", R"("string")"}, {"pattern", quote(pattern + ")$")}}) + "]";
}

// The members that describe a value of the kind, without its meaning.
Members type_of(const Field& field) {
  const auto offered = field.choices.first(std::min(field.offered, field.choices.size()));
  switch (field.kind) {
    case FieldKind::text:
      return {{"type", R"(["string", "number", "boolean"])"}};
    case FieldKind::yes_or_no:
      return {{"type", R"("boolean")"}};
    case FieldKind::count:
      return {{"type", R"("integer")"},
              {"minimum", std::to_string(field.least)},
              {"maximum", std::to_string(field.most)}};
    case FieldKind::share:
      return {{"type", R"("number")"}, {"minimum", "0"}, {"maximum", "1"}};
    case FieldKind::duration:
      return {{"type", R"("string")"}, {"pattern", quote(kDuration)}};
    case FieldKind::choice:
      return {{"anyOf", any_case(offered)}};
    case FieldKind::texts:
      return {{"type", R"("array")"}, {"items", object({{"type", R"("string")"}})}};
    case FieldKind::names:
      return {{"type", R"("array")"}, {"items", R"({"$ref": "#/$defs/name"})"}};
    case FieldKind::any:
      return {{"type", R"("object")"}};
    case FieldKind::limit:
      return {{"$ref", R"("#/$defs/limit")"}};
    case FieldKind::limits:
      return {{"type", R"("array")"},
              {"items", R"({"$ref": "#/$defs/limit"})"},
              {"minItems", "1"},
              {"maxItems", "16"}};
    case FieldKind::descriptors:
      return {{"type", R"("array")"}, {"items", R"({"$ref": "#/$defs/descriptor"})"}};
  }
  return {};
}

std::string mapping_schema(std::span<const Field> fields, const Members& more, std::size_t depth) {
  Members properties;
  for (const Field& field : fields) {
    if (!field.is_offered()) continue;
    Members members{{"description", quote(field.meaning)}};
    for (auto& member : type_of(field)) members.push_back(std::move(member));
    properties.emplace_back(field.name, object(members));
  }
  Members schema{{"type", R"("object")"},
                 {"additionalProperties", "false"},
                 {"properties", block(properties, depth + 1)}};
  schema.insert(schema.end(), more.begin(), more.end());
  return block(schema, depth);
}

std::string rules_schema() {
  const std::string limit = mapping_schema(
      limit_fields(),
      {{"anyOf", R"([{"required": ["requests_per_unit"]}, {"required": ["unlimited"]}])"},
       {"not", R"({"required": ["unit", "period"]})"}},
      2);
  const std::string descriptor = mapping_schema(
      descriptor_fields(),
      {{"required", R"(["key"])"}, {"not", R"({"required": ["rate_limit", "rate_limits"]})"}}, 2);
  constexpr Field kName[] = {{"name", FieldKind::text, "Of a limit."}};
  const std::string name = mapping_schema(kName, {{"required", R"(["name"])"}}, 2);
  const std::string schema = mapping_schema(
      domain_fields(),
      {{"required", R"(["domain"])"},
       {"$defs", block({{"descriptor", descriptor}, {"limit", limit}, {"name", name}}, 1)}},
      0);
  return "{\n  \"$schema\": " + quote(kDialect) + ",\n  \"$comment\": " + quote(kGenerated) +
         ",\n  \"title\": \"A rule file of Sluice\"," + schema.substr(1) + "\n";
}

Members type_of(const SettingInfo& setting) {
  if (setting.path == "listen") {
    const std::string address = object({{"type", R"("string")"}});
    const std::string listener = object(
        {{"type", R"("object")"},
         {"additionalProperties", "false"},
         {"required", R"(["address"])"},
         {"properties", object({{"address", address},
                                {"protocols", R"({"type": "array", "items": {"enum": ["http"]}})"},
                                {"token_file", R"({"type": "string"})"}})}});
    const std::string item = "[" + address + ", " + listener + "]";
    return {{"anyOf", "[" + address + ", " +
                          object({{"type", R"("array")"}, {"items", object({{"anyOf", item}})}}) +
                          "]"}};
  }
  if (setting.most > 0) {
    return {{"type", R"("integer")"},
            {"minimum", std::to_string(setting.least)},
            {"maximum", std::to_string(setting.most)}};
  }
  if (!setting.choices.empty()) return {{"enum", list(setting.choices)}};
  if (setting.type == "true or false") return {{"type", R"("boolean")"}};
  if (setting.type == "duration") return {{"type", R"("string")"}, {"pattern", quote(kDuration)}};
  if (setting.type == "paths") {
    return {{"type", R"(["string", "array"])"}, {"items", R"({"type": "string"})"}};
  }
  if (setting.path == "workers") return {{"type", R"(["string", "integer"])"}};
  return {{"type", R"("string")"}};
}

std::string settings_schema() {
  Members top;
  std::map<std::string, Members> groups;
  for (const SettingInfo& setting : setting_table()) {
    Members members{{"description", quote(setting.meaning)}};
    for (auto& member : type_of(setting)) members.push_back(std::move(member));
    const std::size_t dot = setting.path.find('.');
    if (dot == std::string::npos) {
      top.emplace_back(setting.path, object(members));
    } else {
      groups[setting.path.substr(0, dot)].emplace_back(setting.path.substr(dot + 1),
                                                       object(members));
    }
  }
  for (const auto& [name, members] : groups) {
    top.emplace_back(name, block({{"type", R"("object")"},
                                  {"additionalProperties", "false"},
                                  {"properties", block(members, 3)}},
                                 2));
  }
  return block({{"$schema", quote(kDialect)},
                {"$comment", quote(kGenerated)},
                {"title", quote("The settings file of Sluice")},
                {"type", R"("object")"},
                {"additionalProperties", "false"},
                {"properties", block(top, 1)}},
               0) +
         "\n";
}

std::string code(std::string_view text) {
  return text.empty() ? "" : "`" + std::string{text} + "`";
}

std::string settings_page() {
  std::string page = R"(# Settings

Every setting of `sluice serve` has a key in the settings file (`--config FILE`), an environment
variable and a flag. Flags win over the environment, the environment over the file. Lists are
separated by commas in a variable; a flag is repeated. Paths in the file are seen from the file's
folder. Durations are `100ms`, `1m30s`, `30d`. A key that is not listed is an error, told with file
and line; `sluice validate FILE` tells them all. Editors read
[schema/settings.schema.json](schema/settings.schema.json);
[../examples/sluice.yaml](../examples/sluice.yaml) is a file to start from.

| Setting | Flag | Variable | Value | Default | Meaning |
|---|---|---|---|---|---|
)";
  for (const SettingInfo& setting : setting_table()) {
    std::string flag = code(setting.flag);
    if (!setting.short_flag.empty()) flag = code(setting.short_flag) + ", " + flag;
    page.append("| ").append(code(setting.path)).append(" | ").append(flag);
    page.append(" | ").append(code(setting.environment)).append(" | ").append(setting.type);
    page.append(" | ").append(code(setting.default_text)).append(" | ").append(setting.meaning);
    page.append(" |\n");
  }
  return page + "\n<!-- " + std::string{kGenerated} + " -->\n";
}

std::string value_text(const Field& field) {
  switch (field.kind) {
    case FieldKind::text:
      return "text";
    case FieldKind::yes_or_no:
      return "true or false";
    case FieldKind::count:
      return "count, " + std::to_string(field.least) + " to " + std::to_string(field.most);
    case FieldKind::share:
      return "0 to 1";
    case FieldKind::duration:
      return "duration";
    case FieldKind::choice: {
      std::string text;
      for (const std::string_view name :
           field.choices.first(std::min(field.offered, field.choices.size()))) {
        text.append(text.empty() ? "" : ", ").append(code(name));
      }
      return text;
    }
    case FieldKind::texts:
      return "list of text";
    case FieldKind::names:
      return "list of `name: NAME`";
    case FieldKind::any:
      return "mapping";
    case FieldKind::limit:
      return "a limit";
    case FieldKind::limits:
      return "list of limits";
    case FieldKind::descriptors:
      return "list of descriptors";
  }
  return "";
}

std::string key_table(std::string_view title, std::span<const Field> fields) {
  std::string table = "## " + std::string{title} + "\n\n| Key | Value | Meaning |\n|---|---|---|\n";
  for (const Field& field : fields) {
    if (!field.is_offered()) continue;
    table.append("| ").append(code(field.name)).append(" | ").append(value_text(field));
    table.append(" | ").append(field.meaning).append(" |\n");
  }
  return table + "\n";
}

std::string rule_keys_page() {
  return R"(# Every key of a rule file

[rules.md](rules.md) explains them; editors read
[schema/rules.schema.json](schema/rules.schema.json).

)" + key_table("A file", domain_fields()) +
         key_table("A descriptor", descriptor_fields()) + key_table("A limit", limit_fields()) +
         "<!-- " + std::string{kGenerated} + " -->\n";
}

}  // namespace

std::vector<ReferenceFile> reference_files() {
  return {{"docs/settings.md", settings_page()},
          {"docs/rule_keys.md", rule_keys_page()},
          {"docs/schema/rules.schema.json", rules_schema()},
          {"docs/schema/settings.schema.json", settings_schema()}};
}

}  // namespace sluice
