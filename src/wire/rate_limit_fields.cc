#include "wire/rate_limit_fields.h"

#include <algorithm>
#include <string_view>

#include "wire/rate_numbers.h"

namespace sluice {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};

// A String of RFC 9651. It holds ASCII only; other bytes are written as in a URI.
void append_field_string(ByteBuffer& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  out.append('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out.append('%');
      out.append(kHex[byte >> 4]);
      out.append(kHex[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') out.append('\\');
    out.append(c);
  }
  out.append('"');
}

// When `remaining` grows by one, for a bucket: the whole refill less what follows that hit. Windows
// say when they are at rest, which is no earlier.
Duration until_more(const Limit& limit, const Decision& decision) {
  const bool is_bucket =
      limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket;
  Duration wait = decision.reset_after;
  if (is_bucket && limit.requests > 0 && decision.limit > decision.remaining + 1) {
    const auto later_hits = static_cast<std::int64_t>(decision.limit - decision.remaining - 1);
    const Duration later{
        static_cast<std::int64_t>(static_cast<double>(limit.period.count()) / limit.requests *
                                  static_cast<double>(later_hits))};
    wait = std::max(wait - later, Duration{0});
  }
  // Whoever comes back after Retry-After passes, so there is more by then.
  if (decision.retry_after > Duration{0}) wait = std::min(wait, decision.retry_after);
  return wait;
}

void append_policy(ByteBuffer& out, const RuleLimit& rule, std::uint32_t requests,
                   Duration period) {
  out.append("RateLimit-Policy: ");
  append_field_string(out, rule.label);
  out.append(";q=");
  out.append_number(requests);
  if (rule.limit.algorithm == Algorithm::concurrency) {
    out.append(";qu=\"concurrent-requests\"");
  } else if (period % kSecond == Duration{0}) {  // A part of a second cannot be said.
    out.append(";w=");
    out.append_number(ceil_to_seconds(period));
  }
  out.append("\r\n");
}

}  // namespace

void append_rate_limit_fields(ByteBuffer& out, const Request& request, const Answer& answer) {
  out.append("Cache-Control: no-store\r\n");
  if (!answer.deciding) return;
  const DescriptorAnswer& deciding = answer.descriptors[*answer.deciding];
  if (!deciding.has_numbers()) return;
  const Decision& decision = deciding.decision;
  const RuleLimit& rule = *deciding.rule;

  Duration period = rule.limit.period;
  std::uint32_t requests = rule.limit.requests;
  if (deciding.is_override) {
    const auto& limit = request.descriptors[*answer.deciding].limit;
    if (limit) period = limit->period;
    requests = decision.limit;
  }
  append_policy(out, rule, requests, period);
  out.append("RateLimit: ");
  append_field_string(out, rule.label);
  out.append(";r=");
  out.append_number(decision.remaining);
  out.append(";t=");
  out.append_number(ceil_to_seconds(until_more(rule.limit, decision)));
  out.append("\r\nX-RateLimit-Limit: ");
  out.append_number(decision.limit);
  out.append("\r\nX-RateLimit-Remaining: ");
  out.append_number(decision.remaining);
  out.append("\r\nX-RateLimit-Reset: ");
  out.append_number(ceil_to_seconds(decision.reset_after));
  out.append("\r\n");
  const bool is_refusal = answer.verdict == Verdict::denied || answer.verdict == Verdict::shed;
  if (is_refusal && decision.retry_after != kNever) {
    out.append("Retry-After: ");
    out.append_number(std::max<std::int64_t>(1, ceil_to_seconds(decision.retry_after)));
    out.append("\r\n");
  }
}

}  // namespace sluice
