#include "config/settings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <variant>

#include "base/duration_text.h"
#include "config/closest_name.h"
#include "config/field_reader.h"
#include "config/yaml_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kWhenFull[] = {"evict_nearest_to_rest", "refuse"};
constexpr std::string_view kLogLevels[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kLogFormats[] = {"auto", "plain", "json"};
constexpr std::string_view kProtocols[] = {"http"};
constexpr std::string_view kLater = "is not offered by this version";
constexpr std::size_t kFileBytesMax = 65'536;

// Keys that the contract names and that wait for the parts they belong to.
constexpr std::string_view kLaterPaths[] = {"stores", "store.timeout"};

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Whole numbers of a setting. Units stand in the name.
struct Count {
  std::uint64_t& (*target)(Settings&);
  std::uint64_t least;
  std::uint64_t most;
};
struct Choice {
  std::span<const std::string_view> choices;
  void (*set)(Settings&, std::size_t);
};
struct Text {
  std::string& (*target)(Settings&);
  Result<void> (*check)(std::string_view) = nullptr;
};
struct Path {
  std::string& (*target)(Settings&);
};
struct Paths {
  std::vector<std::string>& (*target)(Settings&);
};
struct Listen {};   // A list of addresses, or of mappings in the file.
struct Workers {};  // auto, or a count.
using Type = std::variant<Count, Choice, Text, Path, Paths, Listen, Workers,
                          Duration& (*)(Settings&), bool& (*)(Settings&)>;

struct Row {
  std::string_view path;
  std::string_view short_flag;
  Type type;
  std::string_view default_text;
  std::string_view meaning;
};

Result<void> check_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const bool has_host = colon != std::string_view::npos && colon > 0;
  if (!has_host || !parse_count(address.substr(colon + 1), 0, 65'535)) {
    return invalid("'" + std::string{address} + "' is not HOST:PORT, such as 127.0.0.1:8080");
  }
  const std::string_view host = address.substr(0, colon);
  if (host.find(':') != std::string_view::npos && !(host.front() == '[' && host.back() == ']')) {
    return invalid("an IPv6 address stands in brackets, such as [::1]:8080");
  }
  return {};
}

Result<void> check_store(std::string_view url) {
  if (url == "memory://") return {};
  return invalid("'" + std::string{url} + "': only memory:// is offered by this version");
}

// The table. Order: as documented.
constexpr Row kRows[] = {
    {"listen", "--listen", Listen{}, "127.0.0.1:8080",
     "Where requests are answered: a list of addresses, or in the file of {address, protocols, "
     "token_file}. Port 0 takes any free one."},
    {"admin.address", "--admin",
     Text{[](Settings& s) -> std::string& { return s.admin.address; }, check_address},
     "127.0.0.1:6070",
     "Where metrics and administration are answered. Beyond loopback it needs a token_file."},
    {"admin.token_file", "", Path{[](Settings& s) -> std::string& { return s.admin.token_file; }},
     "", "A file with the bearer token that the admin port asks for."},
    {"store.url", "--store",
     Text{[](Settings& s) -> std::string& { return s.store_url; }, check_store}, "memory://",
     "Where counters live."},
    {"rules", "--rules", Paths{[](Settings& s) -> std::vector<std::string>& { return s.rules; }},
     "", "Rule files, and folders of them. None: a built-in example."},
    {"merge_domains", "", +[](Settings& s) -> bool& { return s.merge_domains; }, "false",
     "Files that name the same domain add up; otherwise that is an error."},
    {"workers", "--workers", Workers{}, "auto", "Event loops. auto: one for each core."},
    {"drain_timeout", "", +[](Settings& s) -> Duration& { return s.drain_timeout; }, "10s",
     "How long SIGTERM waits for what is in flight."},
    {"table.keys_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.table.keys_max; }, 1024, 1ULL << 32},
     "1000000", "Keys in memory that are not at rest."},
    {"table.when_full", "",
     Choice{kWhenFull,
            [](Settings& s, std::size_t i) { s.table.when_full = static_cast<WhenFull>(i); }},
     "evict_nearest_to_rest",
     "What a new key does to a full table: take the place of the key that is nearest to rest, or "
     "be refused."},
    {"limits.connections_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.connections_max; }, 1, 1'000'000},
     "20000", "Open connections. One more is closed at once."},
    {"limits.header_bytes_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.header_bytes_max; }, 1024,
           1'048'576},
     "16384", "Request line and headers together. Beyond: 431."},
    {"limits.headers_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.headers_max; }, 8, 10'000}, "100",
     "Headers of a request. Beyond: 431."},
    {"limits.body_bytes_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.body_bytes_max; }, 256, 67'108'864},
     "65536", "Body of a request. Beyond: 413."},
    {"limits.descriptors_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.descriptors_max; }, 1, 1024}, "64",
     "Descriptors of a request. Beyond: 400."},
    {"limits.value_bytes_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.limits.value_bytes_max; }, 16, 1'048'576},
     "4096", "Bytes of one key or value. Beyond: 400."},
    {"limits.request_timeout", "",
     +[](Settings& s) -> Duration& { return s.limits.request_timeout; }, "10s",
     "From the first byte of a request to its last. Beyond: 408."},
    {"limits.idle_timeout", "", +[](Settings& s) -> Duration& { return s.limits.idle_timeout; },
     "1m15s", "How long a connection may wait between requests."},
    {"metrics.detailed_series_max", "",
     Count{[](Settings& s) -> std::uint64_t& { return s.detailed_series_max; }, 0, 1'000'000},
     "1000", "Series that detailed_metric and value_to_metric may open; the rest share one."},
    {"log.level", "",
     Choice{kLogLevels, [](Settings& s, std::size_t i) { s.log.level = kLogLevels[i]; }}, "info",
     "The least that is logged. Requests are never logged one by one."},
    {"log.format", "",
     Choice{kLogFormats,
            [](Settings& s, std::size_t i) { s.log.format = static_cast<LogFormat>(i); }},
     "auto", "auto: plain on a terminal, JSON else."},
};

// One value from anywhere, given to its place in Settings.
struct Setter {
  Settings& settings;
  std::span<const std::string> values;  // One, but of lists.

  const std::string& value() const { return values[0]; }

  Result<void> operator()(const Count& count) const {
    const Result<std::uint64_t> read = parse_count(value(), count.least, count.most);
    if (!read) return read.error();
    count.target(settings) = *read;
    return {};
  }
  Result<void> operator()(const Choice& choice) const {
    const Result<std::size_t> read = parse_choice(value(), choice.choices);
    if (!read) return read.error();
    choice.set(settings, *read);
    return {};
  }
  Result<void> operator()(const Text& text) const {
    if (Result<void> valid = text.check(value()); !valid) return valid;
    text.target(settings) = value();
    return {};
  }
  Result<void> operator()(const Path& path) const {
    path.target(settings) = value();
    return {};
  }
  Result<void> operator()(const Paths& paths) const {
    paths.target(settings).assign(values.begin(), values.end());
    return {};
  }
  Result<void> operator()(const Listen&) const {
    settings.listen.clear();
    for (const std::string& address : values) {
      if (Result<void> valid = check_address(address); !valid) return valid;
      settings.listen.push_back({.address = address});
    }
    return {};
  }
  Result<void> operator()(const Workers&) const {
    settings.workers = 0;
    if (value() == "auto") return {};
    const Result<std::uint64_t> read = parse_count(value(), 1, 1024);
    if (!read) return read.error();
    settings.workers = *read;
    return {};
  }
  Result<void> operator()(Duration& (*target)(Settings&)) const {
    const Result<Duration> read = parse_duration(value());
    if (!read) return read.error();
    if (*read == Duration{0}) return invalid("must be more than 0");
    target(settings) = *read;
    return {};
  }
  Result<void> operator()(bool& (*target)(Settings&)) const {
    const Result<bool> read = parse_yes_or_no(value());
    if (!read) return read.error();
    target(settings) = *read;
    return {};
  }
};

Result<void> set(Settings& settings, const Row& row, std::span<const std::string> values) {
  const bool is_list =
      std::holds_alternative<Paths>(row.type) || std::holds_alternative<Listen>(row.type);
  if (values.empty() || (!is_list && values.size() > 1)) return invalid("must be one value");
  return std::visit(Setter{settings, values}, row.type);
}

const Row* find_row(std::string_view path) {
  const auto* const row = std::ranges::find(kRows, path, &Row::path);
  return row == std::end(kRows) ? nullptr : row;
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
      if (const Row* const row = find_row(path)) {
        read_row(*row, field.value);
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

  void read_row(const Row& row, const YamlValue& value) {
    if (std::holds_alternative<Listen>(row.type)) return read_listen(value);
    std::vector<std::string> values;
    const bool is_path =
        std::holds_alternative<Path>(row.type) || std::holds_alternative<Paths>(row.type);
    const auto add = [&](const YamlValue& item) {
      if (item.kind != YamlValue::Kind::scalar) return false;
      values.push_back(is_path ? beside_file(item.text) : item.text);
      return true;
    };
    const bool is_flat = value.kind == YamlValue::Kind::sequence
                             ? std::ranges::all_of(value.items, add)
                             : add(value);
    if (!is_flat) return error(value, row.path, "must be plain text");
    if (value.kind == YamlValue::Kind::sequence && values.empty()) return;
    if (const Result<void> done = set(settings_, row, values); !done) {
      error(value, row.path, done.error().message);
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

  static bool is_group(const std::string& path) {
    return std::ranges::any_of(kRows,
                               [&](const Row& row) { return row.path.starts_with(path + "."); });
  }

  static std::string suggestion(std::string_view prefix, std::string_view key) {
    std::vector<std::string_view> names;
    for (const Row& row : kRows) {
      if (!row.path.starts_with(prefix)) continue;
      const std::string_view rest = row.path.substr(prefix.size());
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
        set(settings, kRows[index], is_list ? split(value) : std::vector<std::string>{value});
    if (!done) log.error(0, name + ": " + done.error().message);
  }
}

void read_flags(Settings& settings, const SettingSources& sources, ProblemLog& log) {
  for (const Row& row : kRows) {
    std::vector<std::string> values;
    for (const auto& [path, value] : sources.flags) {
      if (path == row.path) values.push_back(value);
    }
    if (values.empty()) continue;
    const Result<void> done = set(settings, row, values);
    if (!done) log.error(0, "--" + std::string{row.path} + ": " + done.error().message);
  }
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:");
}

struct TypeName {
  std::string operator()(const Count& count) const {
    return "count, " + std::to_string(count.least) + " to " + std::to_string(count.most);
  }
  std::string operator()(const Choice& choice) const {
    std::string text;
    for (const std::string_view name : choice.choices)
      text.append(text.empty() ? "" : ", ").append(name);
    return text;
  }
  std::string operator()(const Text&) const { return "text"; }
  std::string operator()(const Path&) const { return "path"; }
  std::string operator()(const Paths&) const { return "paths"; }
  std::string operator()(const Listen&) const { return "addresses"; }
  std::string operator()(const Workers&) const { return "auto or count, 1 to 1024"; }
  std::string operator()(Duration& (*)(Settings&)) const { return "duration"; }
  std::string operator()(bool& (*)(Settings&)) const { return "true or false"; }
};

SettingInfo info_of(const Row& row) {
  SettingInfo info{.path = std::string{row.path},
                   .flag = "--" + std::string{row.path},
                   .short_flag = std::string{row.short_flag},
                   .environment = "SLUICE_" + std::string{row.path},
                   .type = std::visit(TypeName{}, row.type),
                   .default_text = std::string{row.default_text},
                   .meaning = std::string{row.meaning}};
  for (char& c : info.flag) c = c == '.' || c == '_' ? '-' : c;
  for (char& c : info.environment) {
    c = c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (info.flag == info.short_flag) info.short_flag.clear();
  info.is_list = info.type == "paths" || info.type == "addresses";
  if (const auto* const choice = std::get_if<Choice>(&row.type)) info.choices = choice->choices;
  return info;
}

}  // namespace

std::span<const SettingInfo> setting_table() {
  static const std::vector<SettingInfo> table = [] {
    std::vector<SettingInfo> infos;
    for (const Row& row : kRows) infos.push_back(info_of(row));
    return infos;
  }();
  return table;
}

Settings::Settings() {
  for (const Row& row : kRows) {
    const std::string value{row.default_text};
    if (!value.empty()) static_cast<void>(set(*this, row, std::span(&value, 1)));
  }
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
