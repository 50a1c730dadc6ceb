#include "server/http/check_handler.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "sluice/vocabulary/error_table.h"
#include "wire/check_json.h"
#include "wire/rate_limit_fields.h"
#include "wire/rls_json.h"

namespace sluice::server {
namespace {

using http1::Method;

constexpr std::string_view kJsonType = "application/json";

struct CheckRoute {
  std::string_view path;
  Operation operation;
};
constexpr std::array<CheckRoute, 5> kCheckRoutes{{
    {"/v1/check", Operation::take},
    {"/v1/peek", Operation::peek},
    {"/v1/refund", Operation::refund},
    {"/v1/release", Operation::release},
    {"/v1/renew", Operation::renew},
}};

// application/json, in any case, with or without parameters. None at all is taken as meant.
bool is_json(std::string_view content_type) {
  if (content_type == kJsonType || content_type.empty()) return true;
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return std::equal(type.begin(), type.end(), kJsonType.begin(), kJsonType.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

// What a verdict is in HTTP.
unsigned status_of(const Answer& answer) {
  switch (answer.verdict) {
    case Verdict::allowed:
      return 200;
    case Verdict::denied:
      return 429;
    case Verdict::shed:
      return 503;
    case Verdict::undecided:
      return answer.error == nullptr
                 ? 503
                 : static_cast<unsigned>(meaning_of(answer.error->code).http_status);
  }
  return 500;
}

}  // namespace

// One request under way. Its sink is called by the engine, at once or when the store has answered.
class CheckHandler::Checking final : public AnswerSink {
 public:
  explicit Checking(CheckHandler& handler) : handler_(handler) {}

  CheckDecoder check;
  RlsDecoder rls;
  Exchange* exchange = nullptr;
  const Request* request = nullptr;
  bool is_rls = false;

  void answer(const Answer& answer) noexcept override;

 private:
  void respond_decided(const Answer& answer);
  void respond_undecided(const Answer& answer);

  CheckHandler& handler_;
};

void CheckHandler::Checking::answer(const Answer& answer) noexcept {
  const bool is_decided = answer.verdict == Verdict::allowed || answer.verdict == Verdict::denied;
  if (is_decided) {
    respond_decided(answer);
  } else {
    respond_undecided(answer);
  }
  handler_.end(*this);
}

void CheckHandler::Checking::respond_decided(const Answer& answer) {
  ByteBuffer& fields = handler_.fields_;
  ByteBuffer& body = handler_.body_;
  fields.clear();
  body.clear();
  append_rate_limit_fields(fields, *request, answer);
  if (is_rls) {
    append_rls_answer(body, *request, answer);
  } else {
    append_check_answer(body, answer);
  }
  exchange->respond({.status = status_of(answer),
                     .content_type = kJsonType,
                     .further_fields = fields.view(),
                     .body = body.view()});
}

void CheckHandler::Checking::respond_undecided(const Answer& answer) {
  ByteBuffer& fields = handler_.fields_;
  fields.clear();
  const unsigned status = status_of(answer);
  if (is_rls && status < 500) return respond_text(*exchange, 400, "Bad Request\n");
  if (answer.verdict == Verdict::shed) {
    append_rate_limit_fields(fields, *request, answer);
    return respond_problem(*exchange,
                           {.status = 503,
                            .detail = "refused for load, not for quota",
                            .field = {},
                            .type = kReducedCapacityType,
                            .title = "Temporary Reduced Capacity"},
                           fields.view());
  }
  respond_problem(*exchange,
                  {.status = status,
                   .detail = answer.error == nullptr ? "undecided: no store answered"
                                                     : std::string_view(answer.error->message),
                   .field = {},
                   .title = {}},
                  "Cache-Control: no-store\r\n");
}

CheckHandler::CheckHandler(Engine& engine, unsigned lane, const Readiness& readiness)
    : engine_(engine), lane_(lane), readiness_(readiness) {}
CheckHandler::~CheckHandler() = default;

CheckHandler::Checking& CheckHandler::begin(Exchange& exchange) {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Checking>(*this));
    idle_.reserve(all_.size());  // So that end() cannot fail.
    idle_.push_back(all_.back().get());
  }
  Checking& checking = *idle_.back();
  idle_.pop_back();
  checking.exchange = &exchange;
  return checking;
}

void CheckHandler::end(Checking& checking) {
  idle_.push_back(&checking);
}

void CheckHandler::serve(const http1::Request& request, Exchange& exchange) {
  for (const CheckRoute& route : kCheckRoutes) {
    if (route.path != request.path) continue;
    if (request.method != Method::post) return respond_not_allowed(exchange, "POST");
    return check(request, route.operation, exchange);
  }
  if (request.path == "/json") {
    if (request.method != Method::post) return respond_not_allowed(exchange, "POST");
    return check_rls(request, exchange);
  }
  if (serve_health(request, exchange, readiness_)) return;
  respond_problem(exchange, {.status = 404,
                             .detail = "no such path; requests are decided at POST /v1/check",
                             .field = {},
                             .title = {}});
}

void CheckHandler::check(const http1::Request& request, Operation operation, Exchange& exchange) {
  if (!is_json(request.content_type)) {
    return respond_problem(exchange, {.status = 415,
                                      .detail = "send Content-Type: application/json",
                                      .field = "Content-Type",
                                      .title = {}});
  }
  if (request.has_content_coding) {
    return respond_problem(exchange, {.status = 415,
                                      .detail = "send the body without a Content-Encoding",
                                      .field = "Content-Encoding",
                                      .title = {}});
  }
  Checking& checking = begin(exchange);
  checking.is_rls = false;
  checking.request = checking.check.decode(request.body, operation);
  if (checking.request == nullptr) {
    const BodyProblem& problem = checking.check.problem();
    respond_problem(exchange,
                    {.status = 400, .detail = problem.detail, .field = problem.field, .title = {}});
    return end(checking);
  }
  engine_.check(lane_, *checking.request, checking);
}

void CheckHandler::check_rls(const http1::Request& request, Exchange& exchange) {
  Checking& checking = begin(exchange);
  checking.is_rls = true;
  checking.request = checking.rls.decode(request.body);
  if (checking.request == nullptr) {
    respond_text(exchange, 400, "Bad Request\n");
    return end(checking);
  }
  engine_.check(lane_, *checking.request, checking);
}

bool serve_health(const http1::Request& request, Exchange& exchange, const Readiness& readiness) {
  const bool is_alive = request.path == "/healthz";
  if (!is_alive && request.path != "/readyz") return false;
  if (request.method != Method::get && request.method != Method::head) {
    respond_not_allowed(exchange, "GET, HEAD");
    return true;
  }
  const std::string_view why_not = is_alive ? std::string_view{} : readiness();
  if (why_not.empty()) {
    respond_text(exchange, 200, "ok\n");
  } else {
    respond_problem(exchange, {.status = 503, .detail = why_not, .field = {}, .title = {}});
  }
  return true;
}

}  // namespace sluice::server
