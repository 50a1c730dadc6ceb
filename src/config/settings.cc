#include "config/settings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/closest_name.h"
#include "config/field_reader.h"
#include "config/settings_table.h"
#include "config/yaml_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kProtocols[] = {"http"};
constexpr std::string_view kLater = "is not offered by this version";
constexpr std::size_t kFileBytesMax = 65'536;

// Keys that the contract names and that wait for the parts they belong to.
constexpr std::string_view kLaterPaths[] = {"stores", "store.timeout"};

bool is_group(const std::string& path) {
  return std::ranges::any_of(
      setting_table(), [&](const SettingInfo& info) { return info.path.starts_with(path + "."); });
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

// The settings file: nested mappings whose paths are the table's.
class SettingsFile {
 public:
  SettingsFile(Settings& settings, const std::string& name, ProblemLog& log)
      : settings_(settings), folder_(std::filesystem::path(name).parent_path()), log_(log) {}

  void read(std::istream& in) {
    YamlReader reader(in);
    YamlValue value;
    if (reader.next().kind == YamlEvent::Kind::document &&
        read_tree(reader, reader.next(), value) && reader.next().kind == YamlEvent::Kind::end &&
        reader.next().kind == YamlEvent::Kind::document) {
      reader.fail(value.line, "more than one document");
    }
    if (!reader.problem().message.empty()) {
      return log_.error(reader.problem().line, reader.problem().message);
    }
    if (value.kind == YamlValue::Kind::null) return;
    if (value.kind != YamlValue::Kind::mapping) {
      return log_.error(value.line, "a settings file must be a mapping");
    }
    read_group(value, "");
  }

 private:
  void read_group(const YamlValue& group, const std::string& prefix) {
    std::vector<std::string_view> seen;
    for (const YamlField& field : group.fields) {
      const std::string path = prefix + field.key;
      if (std::ranges::find(seen, field.key) != seen.end()) {
        log_.error(field.line, path + ": stands here twice");
      }
      seen.push_back(field.key);
      if (field.value.kind == YamlValue::Kind::null) continue;
      if (const auto index = find_setting(path)) {
        read_setting(*index, field.value);
      } else if (is_group(path) && field.value.kind == YamlValue::Kind::mapping) {
        read_group(field.value, path + ".");
      } else if (is_group(path)) {
        log_.error(field.line, path + ": must be a mapping");
      } else if (std::ranges::find(kLaterPaths, path) != std::end(kLaterPaths)) {
        log_.error(field.line, path + ": " + std::string{kLater});
      } else {
        log_.error(field.line, "unknown setting '" + path + "'" + suggestion(prefix, field.key));
      }
    }
  }

  void read_setting(std::size_t index, const YamlValue& value) {
    const SettingInfo& info = setting_table()[index];
    if (info.path == "listen") return read_listen(value);
    const bool is_path = info.type == "path" || info.type == "paths";
    std::vector<std::string> values;
    const auto add = [&](const YamlValue& item) {
      if (item.kind != YamlValue::Kind::scalar) return false;
      values.push_back(is_path ? beside_file(item.text) : item.text);
      return true;
    };
    const bool is_flat = value.kind == YamlValue::Kind::sequence
                             ? std::ranges::all_of(value.items, add)
                             : add(value);
    if (!is_flat) return error(value, info.path, "must be plain text");
    if (value.kind == YamlValue::Kind::sequence && values.empty()) return;
    if (const Result<void> done = apply_setting(settings_, index, values); !done) {
      error(value, info.path, done.error().message);
    }
  }

  void read_listen(const YamlValue& value) {
    const auto items =
        value.kind == YamlValue::Kind::sequence ? std::span(value.items) : std::span(&value, 1);
    settings_.listen.clear();
    for (const YamlValue& item : items) {
      ListenSettings listen;
      if (item.kind == YamlValue::Kind::mapping) {
        read_listen_fields(item, listen);
      } else {
        listen.address = item.text;
      }
      if (const Result<void> valid = check_address(listen.address); !valid) {
        error(item, "listen", valid.error().message);
      }
      settings_.listen.push_back(std::move(listen));
    }
    if (items.empty()) error(value, "listen", "is empty");
  }

  void read_listen_fields(const YamlValue& mapping, ListenSettings& listen) {
    constexpr Field kFields[] = {{"address", FieldKind::text, ""},
                                 {"protocols", FieldKind::texts, ""},
                                 {"token_file", FieldKind::text, ""},
                                 {"tls", FieldKind::any, ""}};
    FieldReader fields(mapping, kFields, log_);
    listen.address.clear();
    fields.read("address", listen.address, kFileBytesMax);
    fields.read("token_file", listen.token_file, kFileBytesMax);
    listen.token_file = beside_file(listen.token_file);
    if (fields.has("tls")) fields.error("tls", std::string{kLater});
    if (!fields.has("protocols")) return;
    const YamlValue& protocols = *fields.find("protocols");
    for (const YamlValue& protocol : protocols.items) {
      if (std::ranges::find(kProtocols, protocol.text) == std::end(kProtocols)) {
        error(protocol, "protocols",
              "'" + protocol.text + "' " + std::string{kLater} + "; only http is");
      }
    }
    if (protocols.items.empty()) fields.error("protocols", "must be a list such as [http]");
  }

  // Paths in a file are seen from its folder.
  std::string beside_file(const std::string& path) const {
    if (path.empty() || path.find("://") != std::string::npos) return path;
    return folder_ / path;
  }

  static std::string suggestion(std::string_view prefix, std::string_view key) {
    std::vector<std::string_view> names;
    for (const SettingInfo& info : setting_table()) {
      if (!info.path.starts_with(prefix)) continue;
      const std::string_view rest = std::string_view{info.path}.substr(prefix.size());
      names.push_back(rest.substr(0, rest.find('.')));
    }
    return did_you_mean(key, names);
  }

  void error(const YamlValue& value, std::string_view path, const std::string& message) {
    log_.error(value.line, std::string{path} + ": " + message);
  }

  Settings& settings_;
  std::filesystem::path folder_;
  ProblemLog& log_;
};

void read_file(Settings& settings, const std::string& name, ProblemLog& log) {
  log.begin_file(name);
  std::ifstream in(name, std::ios::binary);
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(name, failure);
  if (failure) return log.error(0, failure.message());
  if (!in) return log.error(0, "cannot be opened");
  if (bytes > kFileBytesMax) return log.error(0, "larger than 64 KiB");
  SettingsFile(settings, name, log).read(in);
}

// An unknown variable is no error (an orchestrator may set SLUICE_PORT and the like), but one that
// looks like a slip is told.
void read_environment(Settings& settings, const SettingSources& sources, ProblemLog& log) {
  std::vector<std::string_view> names;
  for (const SettingInfo& info : setting_table()) names.push_back(info.environment);
  for (const auto& [name, value] : sources.environment) {
    if (!name.starts_with("SLUICE_") || value.empty()) continue;
    const auto known = std::ranges::find(names, std::string_view{name});
    if (known == names.end()) {
      const std::string guess = did_you_mean(name, names);
      const bool is_slip = !guess.empty() && edit_distance(name, closest_name(name, names)) <= 2;
      if (is_slip) log.warning(0, "unknown variable " + name + guess);
      continue;
    }
    const auto index = static_cast<std::size_t>(known - names.begin());
    const bool is_list = setting_table()[index].is_list;
    const Result<void> done =
        apply_setting(settings, index, is_list ? split(value) : std::vector<std::string>{value});
    if (!done) log.error(0, name + ": " + done.error().message);
  }
}

void read_flags(Settings& settings, const SettingSources& sources, ProblemLog& log) {
  for (std::size_t index = 0; index < setting_table().size(); ++index) {
    const SettingInfo& info = setting_table()[index];
    std::vector<std::string> values;
    for (const auto& [path, value] : sources.flags) {
      if (path == info.path) values.push_back(value);
    }
    if (values.empty()) continue;
    const Result<void> done = apply_setting(settings, index, values);
    if (!done) log.error(0, info.flag + ": " + done.error().message);
  }
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:");
}

}  // namespace

bool is_settings_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  YamlReader reader(in);
  if (reader.next().kind != YamlEvent::Kind::document) return false;
  if (reader.next().kind != YamlEvent::Kind::mapping) return false;
  for (YamlEvent key = reader.next(); key.kind == YamlEvent::Kind::scalar; key = reader.next()) {
    const std::string name{key.text};
    if (name == "domain" || name == "descriptors") return false;
    if (find_setting(name) || is_group(name)) return true;
    skip_tree(reader, reader.next());
  }
  return false;
}

LoadedSettings load_settings(const SettingSources& sources) {
  LoadedSettings loaded;
  ProblemLog log;
  if (!sources.file.empty()) read_file(loaded.settings, sources.file, log);
  log.begin_file("");
  read_environment(loaded.settings, sources, log);
  read_flags(loaded.settings, sources, log);
  const AdminSettings& admin = loaded.settings.admin;
  if (!is_loopback(admin.address) && admin.token_file.empty()) {
    log.error(0,
              "admin.address: '" + admin.address + "' is not loopback: it needs admin.token_file");
  }
  loaded.errors = log.take_errors();
  loaded.warnings = log.take_warnings();
  return loaded;
}

}  // namespace sluice
