// What the admin port shows of the rules in force: /v1/rules for programs, /rlconfig for people.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_buffer.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice::server {

std::string_view algorithm_name(const Limit& limit) noexcept;

// The most hits that one key can be allowed within any one period, and why, in words. Of
// concurrency: at any one time. For one daemon; with scope local each has its own count.
struct AdmissionBound {
  std::uint64_t hits = 0;
  std::string_view reason;
};
AdmissionBound admission_bound(const Limit& limit) noexcept;

// {"domains":[{"domain":..,"rules":[{"rule":..,"limit":{..},"bound":{..}},..]},..]}: each limit
// once, however many values share it.
std::string rules_page(const RuleSet& rules);

// {"algorithm":..,"requests":..,"period_ms":..}: only what the algorithm looks at.
void append_limit(ByteBuffer& out, const Limit& limit);

// envoyproxy/ratelimit's dump: a line for each node that has a limit, at most kRuleLinesMax.
inline constexpr std::size_t kRuleLinesMax = 100'000;
std::string rlconfig_page(const RuleSet& rules);

}  // namespace sluice::server
