#include "serve.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/byte_buffer.h"
#include "config/rule_loader.h"
#include "config/settings.h"
#include "logging.h"
#include "server/rule_source.h"
#include "server/server.h"
#include "sluice/engine.h"
#include "wire/json_text.h"

namespace sluice {
namespace {

constexpr int kFailed = 1;
constexpr int kUsageError = 2;

struct ServeFlags {
  std::string config;
  std::vector<std::vector<std::string>> values;  // Of each row of setting_table().
};

void complain(std::string_view what) {
  std::fprintf(stderr, "sluice: %.*s\n", static_cast<int>(what.size()), what.data());
}

net::Milliseconds to_ms(Duration duration) {
  return std::chrono::duration_cast<net::Milliseconds>(duration);
}

SettingSources sources_of(const ServeFlags& flags) {
  SettingSources sources;
  sources.file = flags.config;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  const auto table = setting_table();
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (const std::string& value : flags.values[row]) {
      sources.flags.emplace_back(table[row].path, value);
    }
  }
  return sources;
}

// The first line of the file, without the space around it.
Result<std::string> read_token(const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream stream(file);
  std::string token;
  std::getline(stream, token);
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "token file " + file + ": no token in its first line"};
  }
  return token;
}

Result<server::ListenOptions> listen_options(const std::string& address,
                                             const std::string& token_file) {
  auto parsed = net::parse_address(address);
  if (!parsed) return parsed.error();
  auto token = read_token(token_file);
  if (!token) return token.error();
  return server::ListenOptions{std::move(*parsed), std::move(*token)};
}

unsigned workers_of(const Settings& settings) {
  if (settings.workers > 0) return static_cast<unsigned>(settings.workers);
  return std::max(1U, std::thread::hardware_concurrency());
}

EngineOptions engine_options(const Settings& settings) {
  EngineOptions options;
  options.lanes = workers_of(settings);
  options.table.keys_max = settings.table.keys_max;
  options.table.when_full = settings.table.when_full;
  options.bounds.descriptors_max = settings.limits.descriptors_max;
  options.bounds.value_bytes_max = settings.limits.value_bytes_max;
  options.detailed_series_max = settings.detailed_series_max;
  options.on_unknown_domain = [](std::string_view domain) {
    ByteBuffer quoted;  // It is a caller's: no byte of it may look like a line of ours.
    append_json_string(quoted, domain);
    spdlog::warn("a request names the domain {}, which no rule file has: allowed", quoted.view());
  };
  return options;
}

Result<server::ServerOptions> server_options(const Settings& settings) {
  server::ServerOptions options;
  for (const ListenSettings& listen : settings.listen) {
    auto one = listen_options(listen.address, listen.token_file);
    if (!one) return one.error();
    options.listen.push_back(std::move(*one));
  }
  auto admin = listen_options(settings.admin.address, settings.admin.token_file);
  if (!admin) return admin.error();
  options.admin = std::move(*admin);
  options.workers = workers_of(settings);
  options.request_limits.header_bytes_max =
      static_cast<std::uint32_t>(settings.limits.header_bytes_max);
  options.request_limits.headers_max = static_cast<std::uint32_t>(settings.limits.headers_max);
  options.request_limits.body_bytes_max =
      static_cast<std::uint32_t>(settings.limits.body_bytes_max);
  options.connection_limits.request_timeout = to_ms(settings.limits.request_timeout);
  options.connection_limits.idle_timeout = to_ms(settings.limits.idle_timeout);
  options.connections_max = settings.limits.connections_max;
  options.drain_timeout = to_ms(settings.drain_timeout);
  options.version = SLUICE_VERSION;
  return options;
}

// As many files as the system lets us have: a connection is one.
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// A request that the rules know, to try.
std::string example_request(const RuleSet& rules, const net::Address& address) {
  if (rules.domains().empty() || rules.nodes().empty()) return {};
  const RuleDomain& domain = rules.domains().front();
  if (domain.first_node == kNoIndex) return {};
  const RuleNode& node = rules.nodes()[domain.first_node];
  const std::string_view value = rules.value(node);
  const std::string server = address.is_unix()
                                 ? fmt::format("--unix-socket {} http://localhost", address.path)
                                 : address.text();
  return fmt::format(
      "curl -i {}/v1/check --json '{{\"domain\":\"{}\",\"descriptors\":[{{\"{}\":\"{}\"}}]}}'",
      server, domain.name, rules.key(node), value.empty() ? "k1" : value);
}

void announce(const server::Server& server, const Engine& engine, const Settings& settings) {
  std::string on;
  for (const net::Address& address : server.addresses()) {
    if (!on.empty()) on += ", ";
    on += address.text();
  }
  spdlog::info("sluice {} listens on {}, admin on {}, with {} worker(s), rules: {}", SLUICE_VERSION,
               on, server.admin_address()->text(), workers_of(settings),
               settings.rules.empty() ? "the built-in example"
                                      : fmt::format("{}", fmt::join(settings.rules, ", ")));
  const std::string example = example_request(*engine.rules(), server.addresses().front());
  if (!example.empty() && settings.log.format != LogFormat::json) {
    std::printf("try: %s\n", example.c_str());
    std::fflush(stdout);
  }
}

void log_reload(const server::RuleReport& report) {
  for (const Problem& problem : report.warnings) spdlog::warn("{}", problem_text(problem));
  for (const Problem& problem : report.errors) spdlog::error("{}", problem_text(problem));
  if (report.is_in_force) {
    spdlog::info("rules reloaded: {} limits", report.limits);
  } else {
    spdlog::error("rules not reloaded: {} error(s); the old ones stay in force",
                  report.errors.size());
  }
}

// SIGTERM and SIGINT drain, SIGHUP reloads; a second SIGINT while draining is as good as the first.
class Signals {
 public:
  Signals(server::Server& server, server::RuleSource& rules)
      : server_(server), rules_(rules), set_(server.loop().context(), SIGTERM, SIGINT, SIGHUP) {
    wait();
  }

 private:
  void wait() {
    set_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGHUP) {
        rules_.reload_in_background(log_reload);
      } else {
        spdlog::info("{}: draining", signal == SIGTERM ? "SIGTERM" : "SIGINT");
        server_.shut_down();
      }
      wait();
    });
  }

  server::Server& server_;
  server::RuleSource& rules_;
  boost::asio::signal_set set_;
};

int serve(const Settings& settings) {
  set_up_logging(settings.log.level,
                 settings.log.format == LogFormat::json ? LogLines::json : LogLines::plain);
  std::signal(SIGPIPE, SIG_IGN);
  raise_file_limit();

  const auto failed = [](const Error& error) {
    complain(error.message);
    return kFailed;
  };
  auto engine = Engine::open(engine_options(settings));
  if (!engine) return failed(engine.error());
  RuleLoadOptions load_options;
  if (settings.merge_domains) load_options.same_domain = RuleSetBuilder::SameDomain::merge;
  server::RuleSource rules(**engine, settings.rules, load_options);
  const server::RuleReport report = rules.load();
  for (const Problem& problem : report.errors) complain(problem_text(problem));
  if (!report.is_in_force) return kFailed;
  for (const Problem& problem : report.warnings) spdlog::warn("{}", problem_text(problem));

  auto options = server_options(settings);
  if (!options) return failed(options.error());
  options->config_hash = [&rules] { return rules.hash(); };
  auto server = server::Server::open(**engine, std::move(*options));
  if (!server) return failed(server.error());
  Signals signals(**server, rules);
  announce(**server, **engine, settings);
  (*server)->run();
  spdlog::info("drained; goodbye");
  return 0;
}

int load_and_serve(const ServeFlags& flags) {
  const LoadedSettings loaded = load_settings(sources_of(flags));
  bool is_usage = false;
  for (const Problem& problem : loaded.errors) {
    complain(problem_text(problem));
    is_usage = is_usage || problem.file.empty();
  }
  if (!loaded.errors.empty()) return is_usage ? kUsageError : kFailed;
  for (const Problem& problem : loaded.warnings) complain(problem_text(problem));
  return serve(loaded.settings);
}

std::string flag_names(const SettingInfo& info) {
  std::string names(info.flag);
  if (!info.short_flag.empty() && info.short_flag != info.flag) {
    names += "," + std::string(info.short_flag);
  }
  return names;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_status) {
  auto* const command = app.add_subcommand("serve", "Run the daemon.");
  command->footer(
      "Without flags: a memory store, a built-in example rule, 127.0.0.1:8080, and the admin port\n"
      "on 127.0.0.1:6070. SIGTERM drains and ends it, SIGHUP reads the rules again.\n"
      "Example: sluice serve --rules rules/ --listen 0.0.0.0:8080");
  const auto flags = std::make_shared<ServeFlags>();
  command->add_option("--config", flags->config, "Settings file (YAML)")->type_name("FILE");
  const auto table = setting_table();
  flags->values.resize(table.size());
  for (std::size_t row = 0; row < table.size(); ++row) {
    const SettingInfo& info = table[row];
    std::string help(info.meaning);
    help += fmt::format(" [{}]", info.environment);
    auto* const option = command->add_option(flag_names(info), flags->values[row], help);
    option->type_name(std::string(info.type));
    if (!info.default_text.empty()) option->default_str(std::string(info.default_text));
    option->expected(1);
    if (info.is_list) option->take_all()->allow_extra_args(false);
  }
  command->callback([flags, &exit_status] { exit_status = load_and_serve(*flags); });
}

}  // namespace sluice
