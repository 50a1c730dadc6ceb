// Flags to LoadPlan, the run, the report. Progress goes to stderr and only to a terminal, the
// report to stdout. Exit status: 0, 99 when a threshold failed, 1 when no connection could be made.
#include "load.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include <unistd.h>

#include "base/duration_text.h"
#include "load/load_report.h"
#include "load/load_run.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

constexpr int kNoServer = 1;
constexpr int kThresholdFailed = 99;
constexpr Duration kDefaultDuration = std::chrono::seconds{10};

constexpr const char* kExamples =
    "{i} in a path, header or body becomes the request's number, {rand:N} a random number below "
    "N.\n"
    "Thresholds: NAME OP VALUE with any name of the report, such as allowed, rejected, "
    "unexpected,\n"
    "failed, lost, missing_header, checks_failed, error_rate, rate, p50, p95, p99, max,\n"
    "status[CODE], and of a counted header NAME (how many values) and NAME[value].\n"
    "\n"
    "Examples:\n"
    "  sluice load --url http://127.0.0.1:8080/v1/check -n 250 \\\n"
    "      -b '{\"domain\":\"api\",\"descriptors\":[{\"api_key\":\"k1\"}]}' \\\n"
    "      --threshold 'allowed==100' --threshold 'p99<5ms'\n"
    "  sluice load --url http://127.0.0.1:8080/v1/check -d 30s -r 20000 -c 50 \\\n"
    "      -b "
    "'{\"domain\":\"api\",\"descriptors\":[{\"api_key\":\"user{rand:1000000}\"}]}'\n"
    "  sluice load --url http://a:80/ --url http://b:80/ -n 250 -H 'X-API-Key: k1' \\\n"
    "      --count-header X-Instance-ID --expect-header X-Instance-ID\n"
    "\n"
    "Exit status: 0; 1 no connection could be made; 2 wrong usage; 99 a threshold failed.";

struct Flags {
  std::vector<std::string> urls;
  std::string method;
  std::vector<std::string> headers;
  std::string body;
  std::string body_file;
  std::uint64_t requests = 0;
  std::string duration;
  std::string timeout = "10s";
  std::vector<std::string> thresholds;
  bool wants_json = false;
  bool is_quiet = false;
  load::LoadPlan plan;
};

[[noreturn]] void usage(const std::string& flag, const std::string& reason) {
  throw CLI::ValidationError(flag, reason);
}

Duration time_of(const std::string& flag, const std::string& text) {
  const auto time = parse_duration(text);
  if (!time || *time <= Duration{0})
    usage(flag, "'" + text + "': write a time such as 500ms or 1m30s");
  return *time;
}

std::string read_body(const Flags& flags) {
  if (flags.body_file.empty()) return flags.body;
  std::ifstream file{flags.body_file, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  if (!file) usage("--body-file", "cannot read " + flags.body_file);
  return bytes;
}

load::LoadPlan plan_of(const Flags& flags) {
  load::LoadPlan plan = flags.plan;
  const std::string body = read_body(flags);
  for (const std::string& text : flags.urls) {
    auto url = load::parse_url(text);
    if (!url) usage("--url", url.error().message);
    std::string method = flags.method;
    if (method.empty()) method = body.empty() ? "GET" : "POST";
    plan.targets.push_back({std::move(method), std::move(*url), flags.headers, body});
    if (auto made = load::RequestTemplate::make(plan.targets.back()); !made) {
      usage("load", made.error().message);
    }
  }
  if (plan.count_headers.size() > load::kCountHeadersMax) {
    usage("--count-header", "at most " + std::to_string(load::kCountHeadersMax) + " are counted");
  }
  if (flags.requests > 0) plan.requests = flags.requests;
  if (!flags.duration.empty()) plan.duration = time_of("--duration", flags.duration);
  if (!plan.requests && !plan.duration) plan.duration = kDefaultDuration;
  plan.timeout = time_of("--timeout", flags.timeout);
  return plan;
}

std::vector<load::Threshold> thresholds_of(const Flags& flags, const load::LoadPlan& plan) {
  const auto knows = std::make_unique<load::LoadTally>(plan);
  std::vector<load::Threshold> thresholds;
  for (const std::string& text : flags.thresholds) {
    auto threshold = load::parse_threshold(text);
    if (!threshold) usage("--threshold", threshold.error().message);
    if (!knows->can_tell(*threshold)) {
      usage("--threshold", "'" + text + "': no such number, or not in that unit; see --help");
    }
    thresholds.push_back(std::move(*threshold));
  }
  return thresholds;
}

// Set by the first SIGINT or SIGTERM; the second one ends the process.
std::atomic<bool> is_stopped{false};

void stop(int number) {
  is_stopped = true;
  std::signal(number, SIG_DFL);
}

int run(const Flags& flags) {
  const load::LoadPlan plan = plan_of(flags);
  const std::vector<load::Threshold> thresholds = thresholds_of(flags, plan);
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);

  load::LoadProgress progress;
  const bool is_live = !flags.is_quiet && ::isatty(STDERR_FILENO) != 0;
  if (is_live) {
    progress = [](const load::LoadTally& tally) {
      std::fprintf(stderr, "\r\x1b[K%s", load::progress_text(tally).c_str());
    };
  }
  const SystemClock clock;
  const auto tally = load::run_load(plan, clock, is_stopped, progress);
  if (is_live) std::fputs("\r\x1b[K", stderr);
  if (!tally) {
    std::fprintf(stderr, "sluice load: %s\n", tally.error().message.c_str());
    return kNoServer;
  }
  const auto results = load::judge(thresholds, *tally);
  const std::string report = flags.wants_json ? load::report_json(*tally, results) + "\n"
                                              : load::report_text(plan, *tally, results);
  std::fputs(report.c_str(), stdout);
  for (const load::ThresholdResult& result : results) {
    if (!result.holds) return kThresholdFailed;
  }
  return 0;
}

void add_request_flags(CLI::App* load, Flags& flags) {
  load->add_option("--url", flags.urls, "Where to; several take turns, request by request")
      ->required()
      ->allow_extra_args(false)
      ->type_name("URL");
  load->add_option("-X,--method", flags.method, "Method (default GET, with a body POST)")
      ->type_name("METHOD");
  load->add_option("-H,--header", flags.headers, "'Name: value'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("HEADER");
  load->add_option("-b,--body", flags.body, "Body of each request")->type_name("TEXT");
  load->add_option("--body-file", flags.body_file, "File that holds the body")
      ->excludes("--body")
      ->type_name("FILE");
  load->add_option("--seed", flags.plan.seed, "Of {rand:N}")->capture_default_str()->type_name("N");
}

void add_run_flags(CLI::App* load, Flags& flags) {
  load::LoadPlan& plan = flags.plan;
  load->add_option("-n,--requests", flags.requests, "End after so many requests")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}))
      ->type_name("N");
  load->add_option("-d,--duration", flags.duration, "End after so long, as 30s (default 10s)")
      ->type_name("TIME");
  load->add_option("-c,--connections", plan.connections, "Connections, over all URLs")
      ->check(CLI::Range(1U, load::kConnectionsMax))
      ->capture_default_str()
      ->type_name("N");
  load->add_option("-p,--pipeline", plan.pipeline, "Requests in flight on one connection")
      ->check(CLI::Range(1U, load::kPipelineMax))
      ->capture_default_str()
      ->type_name("N");
  load->add_option("-r,--rate", plan.per_second,
                   "Requests a second, whether or not the server keeps up; latencies count from "
                   "when a request was due (default: as fast as answers come)")
      ->check(CLI::Range(0.001, 1e8))
      ->type_name("N");
  load->add_option("--timeout", flags.timeout, "For one connect and one answer")
      ->capture_default_str()
      ->type_name("TIME");
}

void add_report_flags(CLI::App* load, Flags& flags) {
  load::LoadPlan& plan = flags.plan;
  load->add_option("--expect-status", plan.expect_statuses,
                   "Statuses that are not unexpected (default 200,429)")
      ->delimiter(',')
      ->check(CLI::Range(200, 599))
      ->type_name("CODES");
  load->add_option("--expect-header", plan.expect_headers, "A header that every answer must carry")
      ->allow_extra_args(false)
      ->type_name("NAME");
  load->add_option("--count-header", plan.count_headers, "Count answers by the value of a header")
      ->allow_extra_args(false)
      ->type_name("NAME");
  load->add_option("--threshold", flags.thresholds,
                   "What must hold, as 'allowed==100' or 'p99<5ms'")
      ->allow_extra_args(false)
      ->type_name("EXPRESSION");
  load->add_flag("--json", flags.wants_json, "Report as one line of JSON");
  load->add_flag("-q,--quiet", flags.is_quiet, "No progress line");
}

}  // namespace

void add_load(CLI::App& app, int& exit_status) {
  auto flags = std::make_shared<Flags>();
  CLI::App* load = app.add_subcommand("load", "Put load on a server and count the answers");
  load->footer(kExamples);
  add_request_flags(load, *flags);
  add_run_flags(load, *flags);
  add_report_flags(load, *flags);
  load->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace sluice
