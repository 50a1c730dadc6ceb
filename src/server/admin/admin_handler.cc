#include "server/admin/admin_handler.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "server/admin/rule_pages.h"
#include "sluice/vocabulary/error_table.h"
#include "wire/flat_json.h"
#include "wire/query.h"
#include "wire/rate_numbers.h"

namespace sluice::server {
namespace {

using http1::Method;

void respond_error(Exchange& exchange, const Error& error, std::string_view field = {}) {
  respond_problem(exchange, {.status = static_cast<unsigned>(meaning_of(error.code).http_status),
                             .detail = error.message,
                             .field = field,
                             .title = {}});
}

void respond_json(Exchange& exchange, std::string_view body) {
  exchange.respond({.status = 200,
                    .content_type = "application/json",
                    .further_fields = "Cache-Control: no-store\r\n",
                    .body = body});
}

// ?domain=D&key=value&...: the first pair names the domain, the others are the descriptor's
// entries.
struct KeyQuery {
  Query pairs;
  std::vector<Entry> entries;

  std::string_view domain() const { return pairs.front().second; }
};

std::optional<KeyQuery> read_key_query(const http1::Request& request, Exchange& exchange) {
  auto pairs = parse_query(request.query);
  if (!pairs) {
    respond_error(exchange, pairs.error());
    return std::nullopt;
  }
  KeyQuery query{std::move(*pairs), {}};
  if (query.pairs.size() < 2 || query.pairs.front().first != "domain") {
    respond_error(exchange, {ErrorCode::invalid_argument,
                             "expected ?domain=DOMAIN&KEY=VALUE..., the entries of one descriptor "
                             "in their order"});
    return std::nullopt;
  }
  for (std::size_t i = 1; i < query.pairs.size(); ++i) {
    query.entries.push_back({query.pairs[i].first, query.pairs[i].second});
  }
  return query;
}

void append_key_view(ByteBuffer& out, const KeyView& key) {
  out.append("{\"rule\":");
  append_json_string(out, key.rule);
  out.append(",\"id\":");
  append_json_string(out, key.id);
  out.append(",\"limit\":");
  append_limit(out, key.limit);
  out.append(",\"remaining\":");
  out.append_number(key.decision.remaining);
  out.append(",\"retry_after_ms\":");
  if (key.decision.retry_after == kNever) {
    out.append("null");
  } else {
    out.append_number(ceil_to_ms(key.decision.retry_after));
  }
  out.append(",\"reset_after_ms\":");
  out.append_number(ceil_to_ms(key.decision.reset_after));
  out.append('}');
}

}  // namespace

AdminHandler::AdminHandler(Engine& engine, const Readiness& readiness,
                           std::function<ServerMetrics()> metrics)
    : engine_(engine), readiness_(readiness), metrics_(std::move(metrics)) {}

void AdminHandler::serve(const http1::Request& request, Exchange& exchange) {
  if (serve_health(request, exchange, readiness_)) return;
  const bool is_read = request.method == Method::get || request.method == Method::head;
  const auto show = [&](void (AdminHandler::*page)(Exchange&)) {
    return is_read ? (this->*page)(exchange) : respond_not_allowed(exchange, "GET, HEAD");
  };
  if (request.path == "/metrics") return show(&AdminHandler::show_metrics);
  if (request.path == "/v1/rules") return show(&AdminHandler::show_rules);
  if (request.path == "/rlconfig") return show(&AdminHandler::show_rlconfig);
  if (request.path == "/v1/keys") {
    if (is_read) return look_at_key(request, exchange);
    if (request.method == Method::delete_) return reset_key(request, exchange);
    return respond_not_allowed(exchange, "GET, HEAD, DELETE");
  }
  if (request.path == "/v1/kill-switch") {
    if (is_read) return show_kill_switches(exchange);
    if (request.method == Method::put) return set_kill_switch(request, exchange);
    return respond_not_allowed(exchange, "GET, HEAD, PUT");
  }
  respond_problem(exchange, {.status = 404,
                             .detail = "no such path; there are /metrics, /healthz, /readyz, "
                                       "/v1/rules, /v1/keys, /v1/kill-switch and /rlconfig",
                             .field = {},
                             .title = {}});
}

void AdminHandler::show_metrics(Exchange& exchange) {
  const std::string page = metrics_page(engine_.metrics(), metrics_());
  exchange.respond({.status = 200,
                    .content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .further_fields = {},
                    .body = page});
}

void AdminHandler::show_rules(Exchange& exchange) {
  respond_json(exchange, rules_page(*engine_.rules()));
}

void AdminHandler::show_rlconfig(Exchange& exchange) {
  respond_text(exchange, 200, rlconfig_page(*engine_.rules()));
}

void AdminHandler::look_at_key(const http1::Request& request, Exchange& exchange) {
  const auto query = read_key_query(request, exchange);
  if (!query) return;
  const auto keys = engine_.look_at_key(query->domain(), query->entries);
  if (!keys) return respond_error(exchange, keys.error());
  ByteBuffer body;
  body.append("{\"keys\":[");
  for (std::size_t i = 0; i < keys->size(); ++i) {
    if (i > 0) body.append(',');
    append_key_view(body, (*keys)[i]);
  }
  body.append("]}\n");
  respond_json(exchange, body.view());
}

void AdminHandler::reset_key(const http1::Request& request, Exchange& exchange) {
  const auto query = read_key_query(request, exchange);
  if (!query) return;
  const auto known = engine_.reset_key(query->domain(), query->entries);
  if (!known) return respond_error(exchange, known.error());
  respond_json(exchange, "{\"reset\":" + std::to_string(*known) + "}\n");
}

void AdminHandler::show_kill_switches(Exchange& exchange) {
  ByteBuffer body;
  body.append("{\"on\":[");
  bool is_first = true;
  for (const Engine::KillSwitch& one : engine_.kill_switches()) {
    body.append(is_first ? "{\"domain\":" : ",{\"domain\":");
    is_first = false;
    append_json_string(body, one.domain);
    body.append(",\"rule\":");
    append_json_string(body, one.rule);
    body.append('}');
  }
  body.append("]}\n");
  respond_json(exchange, body.view());
}

void AdminHandler::set_kill_switch(const http1::Request& request, Exchange& exchange) {
  constexpr std::array<std::string_view, 3> kFields{"domain", "rule", "on"};
  const auto body = FlatJson::parse(request.body);
  if (!body) return respond_error(exchange, body.error());
  const auto fail = [&](std::string_view field, std::string_view why) {
    respond_error(exchange,
                  {ErrorCode::invalid_argument, std::string(field) + " " + std::string(why)},
                  field);
  };
  if (const auto other = body->other_than(kFields)) {
    return fail(*other, "is no field here; those are domain, rule and on");
  }
  const std::string* const domain = body->string("domain");
  const std::string* const rule = body->string("rule");
  const bool* const is_on = body->boolean("on");
  if (domain == nullptr) return fail("domain", "must be a string");
  if (rule == nullptr) return fail("rule", "must be a string");
  if (is_on == nullptr) return fail("on", "must be true or false");
  if (const auto set = engine_.set_kill_switch(*domain, *rule, *is_on); !set) {
    return respond_error(exchange, set.error());
  }
  show_kill_switches(exchange);
}

}  // namespace sluice::server
