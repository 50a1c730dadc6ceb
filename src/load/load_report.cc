#include "load/load_report.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "load/json_line.h"

namespace sluice::load {
namespace {

struct FailureName {
  Failure failure;
  std::string_view name;
};
constexpr FailureName kFailureNames[] = {{Failure::connect, "connect_errors"},
                                         {Failure::lost, "lost"},
                                         {Failure::not_taken, "not_taken"},
                                         {Failure::timeout, "timeouts"},
                                         {Failure::bad_answer, "bad_answers"}};

struct Percentile {
  std::string_view name;
  double share;
};
constexpr Percentile kPercentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};

double milliseconds(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f}ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f}us", ns / 1e3);
  return ns < 1e9 ? fmt::format("{:.2f}ms", ns / 1e6) : fmt::format("{:.2f}s", ns / 1e9);
}

std::string time_text(Duration time) {
  return time_text(static_cast<double>(time.count()));
}

std::string actual_text(const ThresholdResult& result) {
  switch (result.threshold.unit) {
    case Threshold::Unit::nanoseconds:
      return time_text(result.actual);
    case Threshold::Unit::share:
      return fmt::format("{:.3f}%", result.actual * 100);
    case Threshold::Unit::number:
      return fmt::format("{}", result.actual);
  }
  return {};
}

using Out = std::back_insert_iterator<std::string>;

void print_counts(Out out, const LoadTally& tally) {
  const auto row = [&](std::string_view name, std::uint64_t count) {
    const std::uint64_t all = tally.requests();
    const double share = all == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(all);
    fmt::format_to(out, "  {:<16}{:>12}{:>9.2f} %\n", name, count, share);
  };
  row("allowed", tally.counts().allowed);
  row("rejected", tally.counts().rejected);
  row("unexpected", tally.counts().unexpected);
  row("failed", tally.failures());
  for (std::size_t status = 0; status < tally.statuses().size(); ++status) {
    const std::uint64_t count = tally.statuses()[status];
    if (count > 0) row(fmt::format("status {}", status), count);
  }
  for (const auto& [failure, name] : kFailureNames) {
    if (tally.failures(failure) == 0) continue;
    row(name, tally.failures(failure));
    fmt::format_to(out, "    the first: {}\n", tally.why(failure));
  }
  if (tally.unsent() > 0) {
    fmt::format_to(out, "  {:<16}{:>12}   due, but not sent before the time was up\n", "unsent",
                   tally.unsent());
  }
}

void print_latencies(Out out, const LatencyHistogram& latencies) {
  fmt::format_to(out, "\n  latency ");
  for (const auto& [name, share] : kPercentiles) {
    fmt::format_to(out, "  {} {}", name, time_text(latencies.percentile(share)));
  }
  fmt::format_to(out, "  max {}\n", time_text(latencies.max()));
}

void print_headers(Out out, const LoadTally& tally) {
  for (const auto& header : tally.headers()) {
    fmt::format_to(out, "\n  {:<32}{:>12}{:>12}{:>12}\n", header.name, "answers", "allowed",
                   "rejected");
    for (const auto& [text, counts] : header.values) {
      fmt::format_to(out, "    {:<30}{:>12}{:>12}{:>12}\n", text, counts.answers, counts.allowed,
                     counts.rejected);
    }
  }
}

void add_counts(JsonLine& line, const AnswerCounts& counts) {
  line.member("answers", counts.answers)
      .member("allowed", counts.allowed)
      .member("rejected", counts.rejected)
      .member("unexpected", counts.unexpected);
}

std::string json_latencies(const LatencyHistogram& latencies) {
  JsonLine line;
  line.member("min", milliseconds(latencies.min())).member("mean", milliseconds(latencies.mean()));
  for (const auto& [name, share] : kPercentiles) {
    line.member(name, milliseconds(latencies.percentile(share)));
  }
  return line.member("max", milliseconds(latencies.max())).text();
}

std::string json_statuses(const LoadTally& tally) {
  JsonLine line;
  for (std::size_t status = 0; status < tally.statuses().size(); ++status) {
    if (tally.statuses()[status] > 0) line.member(std::to_string(status), tally.statuses()[status]);
  }
  return line.text();
}

std::string json_headers(const LoadTally& tally) {
  JsonLine headers;
  for (const auto& header : tally.headers()) {
    JsonLine values;
    for (const auto& [text, counts] : header.values) {
      JsonLine value;
      add_counts(value, counts);
      values.raw(text, value.text());
    }
    headers.raw(header.name, values.text());
  }
  return headers.text();
}

std::string json_reasons(const LoadTally& tally) {
  JsonLine line;
  for (const auto& [failure, name] : kFailureNames) {
    if (tally.failures(failure) > 0) line.member(name, std::string_view{tally.why(failure)});
  }
  return line.text();
}

std::string json_thresholds(const std::vector<ThresholdResult>& results) {
  std::string list;
  for (const ThresholdResult& result : results) {
    JsonLine line;
    line.member("threshold", std::string_view{result.threshold.text})
        .member("actual", result.actual)
        .member("ok", result.holds);
    list += (list.empty() ? "" : ",") + line.text();
  }
  return "[" + list + "]";
}

}  // namespace

std::vector<ThresholdResult> judge(const std::vector<Threshold>& thresholds,
                                   const LoadTally& tally) {
  std::vector<ThresholdResult> results;
  for (const Threshold& threshold : thresholds) {
    const double actual = tally.value(threshold.name).value_or(0);
    results.push_back({threshold, actual, threshold.holds_for(actual)});
  }
  return results;
}

std::string report_text(const LoadPlan& plan, const LoadTally& tally,
                        const std::vector<ThresholdResult>& results) {
  std::string text;
  const Out out = std::back_inserter(text);
  for (const RequestParts& target : plan.targets) {
    fmt::format_to(out, "{} http://{}{}\n", target.method, target.url.authority, target.url.target);
  }
  fmt::format_to(out, "  {} requests in {}, {:.0f} answers/s\n\n", tally.requests(),
                 time_text(tally.elapsed()), tally.answers_per_second());
  print_counts(out, tally);
  print_latencies(out, tally.latencies());
  print_headers(out, tally);
  fmt::format_to(out, "\n  checks          {} passed, {} failed", tally.checks_passed(),
                 tally.checks_failed());
  if (!plan.expect_headers.empty()) {
    fmt::format_to(out, "; missing_header {}", tally.headers_missing());
  }
  fmt::format_to(out, "\n");
  for (const ThresholdResult& result : results) {
    fmt::format_to(out, "  threshold       {:<8}{}  ({})\n", result.holds ? "ok" : "FAILED",
                   result.threshold.text, actual_text(result));
  }
  return text;
}

std::string report_json(const LoadTally& tally, const std::vector<ThresholdResult>& results) {
  const bool is_ok = std::all_of(results.begin(), results.end(),
                                 [](const ThresholdResult& result) { return result.holds; });
  JsonLine line;
  line.member("requests", tally.requests());
  add_counts(line, tally.counts());
  line.member("failed", tally.failures());
  for (const auto& [failure, name] : kFailureNames) line.member(name, tally.failures(failure));
  line.member("unsent", tally.unsent())
      .member("missing_header", tally.headers_missing())
      .member("checks_passed", tally.checks_passed())
      .member("checks_failed", tally.checks_failed())
      .member("error_rate", tally.value("error_rate").value_or(0))
      .member("elapsed_ms", milliseconds(tally.elapsed()))
      .member("rate", tally.answers_per_second())
      .raw("latency_ms", json_latencies(tally.latencies()))
      .raw("status", json_statuses(tally))
      .raw("headers", json_headers(tally))
      .raw("reasons", json_reasons(tally))
      .raw("thresholds", json_thresholds(results))
      .member("ok", is_ok);
  return line.text();
}

std::string progress_text(const LoadTally& tally) {
  const LatencyHistogram& latencies = tally.latencies();
  return fmt::format(
      "{:6.1f}s {:>10} answers {:>9.0f}/s  allowed {}  rejected {}  failed {}  p99 {}",
      milliseconds(tally.elapsed()) / 1e3, tally.counts().answers, tally.answers_per_second(),
      tally.counts().allowed, tally.counts().rejected, tally.failures() + tally.counts().unexpected,
      time_text(latencies.percentile(0.99)));
}

}  // namespace sluice::load
