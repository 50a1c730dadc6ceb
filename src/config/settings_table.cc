#include "config/settings_table.h"

#include <algorithm>
#include <variant>

#include "base/duration_text.h"
#include "config/field_reader.h"

namespace sluice {
namespace {

constexpr std::string_view kWhenFull[] = {"evict_nearest_to_rest", "refuse"};
constexpr std::string_view kLogLevels[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kLogFormats[] = {"auto", "plain", "json"};

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
  if (const auto* const count = std::get_if<Count>(&row.type)) {
    info.least = count->least;
    info.most = count->most;
  }
  return info;
}

}  // namespace

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

std::optional<std::size_t> find_setting(std::string_view path) {
  const auto* const row = std::ranges::find(kRows, path, &Row::path);
  if (row == std::end(kRows)) return std::nullopt;
  return static_cast<std::size_t>(row - std::begin(kRows));
}

Result<void> apply_setting(Settings& settings, std::size_t index,
                           std::span<const std::string> values) {
  const bool is_list = setting_table()[index].is_list;
  if (values.empty() || (!is_list && values.size() > 1)) return invalid("must be one value");
  return std::visit(Setter{settings, values}, kRows[index].type);
}

std::span<const SettingInfo> setting_table() {
  static const std::vector<SettingInfo> table = [] {
    std::vector<SettingInfo> infos;
    for (const Row& row : kRows) infos.push_back(info_of(row));
    return infos;
  }();
  return table;
}

Settings::Settings() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    const std::string value{kRows[i].default_text};
    if (!value.empty()) static_cast<void>(apply_setting(*this, i, std::span(&value, 1)));
  }
}

}  // namespace sluice
