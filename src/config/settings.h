// The daemon's settings. One table (settings.cc) states each path, its type, default and meaning;
// from it come the keys of the file, the environment variables, the flags, docs/settings.md and
// the JSON Schema. Flags win over the environment, the environment over the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/vocabulary/problem.h"
#include "sluice/vocabulary/table_options.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

struct ListenSettings {
  std::string address = "127.0.0.1:8080";
  std::vector<std::string> protocols = {"http"};
  std::string token_file = {};
};

struct AdminSettings {
  std::string address = "127.0.0.1:6070";
  std::string token_file = {};
};

struct TableSettings {
  std::uint64_t keys_max = 0;
  WhenFull when_full = WhenFull::evict_nearest_to_rest;
};

// What a client may ask of the data port. A request beyond them gets a 4xx, a connection beyond
// them is closed.
struct InputLimits {
  std::uint64_t header_bytes_max = 0;  // Request line and headers together: 431.
  std::uint64_t headers_max = 0;       // 431.
  std::uint64_t body_bytes_max = 0;    // 413.
  std::uint64_t descriptors_max = 0;   // Of one request: 400.
  std::uint64_t value_bytes_max = 0;   // Of one key or value: 400.
  std::uint64_t connections_max = 0;
  Duration request_timeout{0};  // From the first byte of a request to its last: 408.
  Duration idle_timeout{0};     // Of a connection between requests.
};

enum class LogFormat : std::uint8_t { automatic, plain, json };  // automatic: plain on a terminal.

struct LogSettings {
  std::string level = {};  // debug info warn error
  LogFormat format = LogFormat::automatic;
};

struct Settings {
  Settings();  // The defaults of the table.

  std::vector<ListenSettings> listen = {{}};
  AdminSettings admin = {};
  std::string store_url = {};  // memory:// and no other yet.
  TableSettings table = {};
  std::vector<std::string> rules = {};  // Files and folders; none: the built-in example.
  bool merge_domains = false;           // Files of the same domain add up instead of an error.
  std::uint64_t workers = 0;            // Event loops; 0: one for each core.
  Duration drain_timeout{0};            // How long SIGTERM waits for what is in flight.
  InputLimits limits = {};
  LogSettings log = {};
  std::uint64_t detailed_series_max = 0;  // Series that detailed_metric may open.
};

// One row of the table, for flags and documentation.
struct SettingInfo {
  std::string path = {};         // "store.url"
  std::string flag = {};         // "--store-url"
  std::string short_flag = {};   // "--store", or empty.
  std::string environment = {};  // "SLUICE_STORE_URL"
  std::string type = {};         // "duration", "count", "yes or no", ...
  std::string default_text = {};
  std::string meaning = {};
  bool is_list = false;  // The flag may be repeated; the variable separates by commas.
  std::span<const std::string_view> choices = {};
  std::uint64_t least = 0;  // Of a count.
  std::uint64_t most = 0;
};

std::span<const SettingInfo> setting_table();

struct SettingSources {
  std::string file = {};                                              // Empty: none.
  std::vector<std::pair<std::string, std::string>> environment = {};  // All variables: name, value.
  std::vector<std::pair<std::string, std::string>> flags = {};        // Path of the setting, value.
};

struct LoadedSettings {
  Settings settings;  // Meaningful only without errors.
  std::vector<Problem> errors;
  std::vector<Problem> warnings;
};

LoadedSettings load_settings(const SettingSources& sources);

// Whether the first known key of a file is a setting's and not a rule file's.
bool is_settings_file(const std::string& path);

}  // namespace sluice
