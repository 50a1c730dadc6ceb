#include "server/admin/rule_pages.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/json_text.h"
#include "wire/rate_numbers.h"

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 6> kAlgorithmNames{
    "fixed_window", "sliding_window", "sliding_log", "token_bucket", "leaky_bucket", "concurrency"};

void append_field(ByteBuffer& out, std::string_view name, std::int64_t value) {
  out.append(",\"");
  out.append(name);
  out.append("\":");
  out.append_number(value);
}

void append_flag(ByteBuffer& out, std::string_view name, bool is_on) {
  if (!is_on) return;
  out.append(",\"");
  out.append(name);
  out.append("\":true");
}

void append_rule(ByteBuffer& out, const RuleLimit& rule) {
  out.append("{\"rule\":");
  append_json_string(out, rule.label);
  out.append(",\"id\":");
  append_json_string(out, rule.id);
  if (rule.unlimited) {
    out.append(",\"unlimited\":true}");
    return;
  }
  out.append(",\"limit\":");
  append_limit(out, rule.limit);
  append_flag(out, "shadow_mode", rule.shadow_mode);
  append_flag(out, "quota_mode", rule.quota_mode);
  if (!rule.replaces.empty()) {
    out.append(",\"replaces\":[");
    for (std::size_t i = 0; i < rule.replaces.size(); ++i) {
      if (i > 0) out.append(',');
      append_json_string(out, rule.replaces[i]);
    }
    out.append(']');
  }
  const AdmissionBound bound = admission_bound(rule.limit);
  out.append(",\"bound\":{\"hits\":");
  out.append_number(bound.hits);
  out.append(",\"reason\":");
  append_json_string(out, bound.reason);
  out.append("}}");
}

// domain.key_value.key_value of a node.
std::string path_of(const RuleSet& rules, const RuleNode& node) {
  std::string path;
  const RuleNode* at = &node;
  for (;;) {
    std::string part(rules.key(*at));
    if (at->value_size > 0) part.append("_").append(rules.value(*at));
    if (!path.empty()) part.append(".").append(path);
    path = std::move(part);
    if ((at->parent & kDomainParent) != 0) break;
    at = &rules.nodes()[at->parent];
  }
  std::string whole = rules.domains()[at->parent & ~kDomainParent].name;
  return whole.append(".").append(path);
}

}  // namespace

std::string_view algorithm_name(const Limit& limit) noexcept {
  return kAlgorithmNames[static_cast<std::size_t>(limit.algorithm)];
}

AdmissionBound admission_bound(const Limit& limit) noexcept {
  const std::uint64_t requests = limit.requests;
  if (limit.overdraft) return {kCostMax, "overdraft: every hit is allowed and charged"};
  switch (limit.algorithm) {
    case Algorithm::fixed_window:
      return {requests * 2, "twice the limit: the end of one window and the start of the next"};
    case Algorithm::sliding_window:
      if (limit.sub_windows > 0) return {requests, "exact: the oldest slice is counted whole"};
      return {requests > 0 ? requests * 2 - 1 : 0,
              "almost twice the limit: the estimate spreads the previous window evenly"};
    case Algorithm::sliding_log:
      return {requests, "exact: every hit is remembered"};
    case Algorithm::token_bucket:
      return {requests + limit.burst, "the burst, and what refills meanwhile"};
    case Algorithm::leaky_bucket:
      return {requests + 1, "one at once, the others at the rate, if callers wait as told"};
    case Algorithm::concurrency:
      return {requests, "exact: a permit not given back is taken back"};
  }
  return {};
}

void append_limit(ByteBuffer& out, const Limit& limit) {
  const auto ms = [](Duration duration) { return ceil_to_ms(duration); };
  out.append("{\"algorithm\":\"");
  out.append(algorithm_name(limit));
  out.append('"');
  append_field(out, "requests", limit.requests);
  if (limit.algorithm == Algorithm::concurrency) {
    append_field(out, "permit_ttl_ms", ms(limit.permit_ttl));
  } else {
    append_field(out, "period_ms", ms(limit.period));
  }
  const bool is_bucket =
      limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket;
  if (is_bucket) append_field(out, "burst", limit.burst);
  if (limit.sub_windows > 0) append_field(out, "sub_windows", limit.sub_windows);
  if (limit.block_for > Duration{0}) append_field(out, "block_for_ms", ms(limit.block_for));
  if (limit.warm_up > Duration{0}) append_field(out, "warm_up_ms", ms(limit.warm_up));
  append_flag(out, "count_denied", limit.count_denied);
  append_flag(out, "overdraft", limit.overdraft);
  out.append('}');
}

std::string rules_page(const RuleSet& rules) {
  std::unordered_map<std::string_view, std::vector<const RuleLimit*>> limits;
  for (const RuleLimit& rule : rules.limits()) limits[rule.domain].push_back(&rule);
  ByteBuffer out;
  out.append("{\"domains\":[");
  for (const RuleDomain& domain : rules.domains()) {
    out.append(domain.index == 0 ? "{\"domain\":" : ",{\"domain\":");
    append_json_string(out, domain.name);
    out.append(domain.charge_each ? ",\"charge\":\"each\",\"rules\":[" : ",\"rules\":[");
    bool is_first = true;
    for (const RuleLimit* const rule : limits[domain.name]) {
      if (!is_first) out.append(',');
      is_first = false;
      append_rule(out, *rule);
    }
    out.append("]}");
  }
  out.append("]}\n");
  return std::string(out.view());
}

std::string rlconfig_page(const RuleSet& rules) {
  std::string page;
  std::size_t lines = 0;
  for (const RuleNode& node : rules.nodes()) {
    for (const RuleLimit& rule : rules.limits(node)) {
      if (++lines > kRuleLinesMax) {
        return page + "... and more; /v1/rules has each limit once\n";
      }
      page += path_of(rules, node) + ": ";
      if (rule.unlimited) {
        page += "unlimited\n";
        continue;
      }
      const Unit* const unit = unit_of(rule.limit.period);
      page += "unit=" + std::string(unit == nullptr ? "UNKNOWN" : unit->enum_name);
      page += " requests_per_unit=" + std::to_string(rule.limit.requests);
      if (unit == nullptr || unit->period != rule.limit.period) {
        page += " period=" + std::to_string(ceil_to_ms(rule.limit.period)) + "ms";
      }
      if (rule.limit.algorithm != Algorithm::fixed_window) {
        page += " algorithm=" + std::string(algorithm_name(rule.limit));
      }
      page += ", shadow_mode: ";
      page += rule.shadow_mode ? "true\n" : "false\n";
    }
  }
  return page;
}

}  // namespace sluice::server
