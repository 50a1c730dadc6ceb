#include "server/metrics_page.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace sluice::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::string_view kUnknownDomain = "~unknown";  // No domain's name: all unknown together.

// Collects the families of one page.
class Page {
 public:
  MetricFamily& family(std::string name, std::string help, MetricType type) {
    families_.push_back({std::move(name), std::move(help), type, {}});
    return families_.back();
  }
  void single(std::string name, std::string help, MetricType type, double value,
              Labels labels = {}) {
    add(family(std::move(name), std::move(help), type), std::move(labels), value);
  }
  static void add(MetricFamily& family, Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family.metric.push_back(std::move(metric));
  }
  std::string text() const { return prometheus::TextSerializer{}.Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

double number(std::uint64_t count) {
  return static_cast<double>(count);
}

void add_requests(Page& page, const EngineMetrics& engine) {
  MetricFamily& requests =
      page.family("sluice_requests_total", "Requests that matched a rule, by what they were told.",
                  MetricType::Counter);
  for (const DomainMetrics& domain : engine.domains) {
    for (std::size_t i = 0; i < kVerdictNames.size(); ++i) {
      Page::add(requests, {{"domain", domain.domain}, {"verdict", std::string(kVerdictNames[i])}},
                number(domain.requests[i]));
    }
  }
  MetricFamily& unmatched =
      page.family("sluice_unmatched_total", "Requests that matched no rule, and were allowed.",
                  MetricType::Counter);
  for (const DomainMetrics& domain : engine.domains) {
    Page::add(unmatched, {{"domain", domain.domain}}, number(domain.unmatched));
  }
  Page::add(unmatched, {{"domain", std::string(kUnknownDomain)}},
            number(engine.unmatched_unknown_domain));
}

void add_rules(Page& page, const EngineMetrics& engine) {
  const auto labels = [](const RuleMetrics& rule) {
    return Labels{{"domain", rule.domain}, {"rule", rule.rule}};
  };
  MetricFamily& decisions =
      page.family("sluice_decisions_total", "Decisions of each limit, by its own verdict.",
                  MetricType::Counter);
  for (const RuleMetrics& rule : engine.rules) {
    for (std::size_t i = 0; i < kDecisionKinds; ++i) {
      Labels with_verdict = labels(rule);
      with_verdict.push_back({"verdict", std::string(kDecisionKindNames[i])});
      Page::add(decisions, std::move(with_verdict), number(rule.decisions[i]));
    }
  }
  MetricFamily& hits = page.family("sluice_hits_total", "Hits asked of each limit, charged or not.",
                                   MetricType::Counter);
  for (const RuleMetrics& rule : engine.rules) Page::add(hits, labels(rule), number(rule.hits));
  MetricFamily& limits =
      page.family("sluice_limit", "The count that each limit allows.", MetricType::Gauge);
  for (const RuleMetrics& rule : engine.rules) {
    if (rule.limit) Page::add(limits, labels(rule), *rule.limit);
  }
  MetricFamily& tokens =
      page.family("sluice_tokens", "Least remaining among the decisions since the last scrape.",
                  MetricType::Gauge);
  for (const RuleMetrics& rule : engine.rules) {
    if (rule.tokens) Page::add(tokens, labels(rule), *rule.tokens);
  }
}

void add_latency(Page& page, const LatencyMetrics& latency) {
  ClientMetric metric;
  for (std::size_t i = 0; i + 1 < LatencyMetrics::kBuckets; ++i) {
    metric.histogram.sample_count += latency.counts[i];
    metric.histogram.bucket.push_back(
        {metric.histogram.sample_count,
         static_cast<double>(LatencyMetrics::upper_bound(i).count()) * 1e-9});
  }
  metric.histogram.sample_count += latency.counts.back();
  metric.histogram.sample_sum = number(latency.sum_ns) * 1e-9;
  page.family("sluice_decision_seconds",
              "Time from a request's arrival in the engine to its answer; a sample of requests.",
              MetricType::Histogram)
      .metric.push_back(std::move(metric));
}

}  // namespace

std::string metrics_page(const EngineMetrics& engine, const ServerMetrics& server) {
  Page page;
  add_requests(page, engine);
  add_rules(page, engine);
  add_latency(page, engine.latency);
  page.single("sluice_table_keys", "Keys in memory, at rest or not.", MetricType::Gauge,
              number(engine.table_keys));
  page.single("sluice_table_evictions_total",
              "Keys that were forgotten before they were at rest, because the table was full.",
              MetricType::Counter, number(engine.table_evictions));
  MetricFamily& reloads =
      page.family("sluice_config_reloads_total",
                  "Reloads of the rules; a failed one changes nothing.", MetricType::Counter);
  Page::add(reloads, {{"result", "ok"}}, number(engine.reloads_ok));
  Page::add(reloads, {{"result", "failed"}}, number(engine.reloads_failed));
  page.single("sluice_config_info", "Always 1; the hash is of the rules in force.",
              MetricType::Gauge, 1, {{"hash", server.config_hash}});
  page.single("sluice_connections", "Open connections of the data port.", MetricType::Gauge,
              number(server.connections));
  page.single("sluice_connections_refused_total",
              "Connections closed at once because too many were open.", MetricType::Counter,
              number(server.connections_refused));
  page.single("sluice_connection_timeouts_total",
              "Connections closed because the peer was slow or idle.", MetricType::Counter,
              number(server.connection_timeouts));
  page.single("sluice_build_info", "Always 1; the version of this program.", MetricType::Gauge, 1,
              {{"version", server.version}});
  return page.text();
}

}  // namespace sluice::server
