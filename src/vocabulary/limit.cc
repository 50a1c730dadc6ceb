#include "sluice/vocabulary/limit.h"

#include "sluice/vocabulary/wide.h"

namespace sluice {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

bool is_window(Algorithm algorithm) {
  return algorithm == Algorithm::fixed_window || algorithm == Algorithm::sliding_window;
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::fixed_window:
      return "fixed_window";
    case Algorithm::sliding_window:
      return "sliding_window";
    case Algorithm::sliding_log:
      return "sliding_log";
    case Algorithm::token_bucket:
      return "token_bucket";
    case Algorithm::leaky_bucket:
      return "leaky_bucket";
    case Algorithm::concurrency:
      return "concurrency";
  }
  return "";
}

Result<void> validate_limit(const Limit& limit) {
  if (limit.algorithm == Algorithm::concurrency) {
    if (limit.requests > kPermitsMax)
      return invalid("requests_per_unit: at most 65536 permits a key");
    if (limit.permit_ttl < kPeriodMin || limit.permit_ttl > kPeriodMax) {
      return invalid("permit_ttl: must lie between 1ms and 10 years");
    }
  } else {
    if (limit.period < kPeriodMin || limit.period > kPeriodMax) {
      return invalid("period: must lie between 1ms and 10 years");
    }
    if (Wide{limit.requests} * 1'000'000'000U > Wide{kRateMax} * limit.period.count()) {
      return invalid("requests_per_unit: more than 1000000000 a second");
    }
    const bool has_burst =
        limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket;
    if (has_burst && limit.requests > 0 &&
        Wide{limit.burst} * limit.period.count() > Wide{kPeriodMax.count()} * limit.requests) {
      return invalid("burst: takes more than 10 years to refill");
    }
  }
  if (limit.sub_windows > 0 && limit.algorithm != Algorithm::sliding_window) {
    return invalid("sub_windows: only for algorithm sliding_window");
  }
  if (limit.sub_windows > kSubWindowsMax) return invalid("sub_windows: at most 1000");
  if (limit.sub_windows > 0 && limit.period / limit.sub_windows < Duration{1}) {
    return invalid("sub_windows: more of them than nanoseconds in the period");
  }
  if (limit.algorithm == Algorithm::sliding_log && limit.requests > kSlidingLogRequestsMax) {
    return invalid(
        "requests_per_unit: a sliding_log keeps at most 65536 hits; use sliding_window with "
        "sub_windows");
  }
  if (limit.count_denied && !is_window(limit.algorithm)) {
    return invalid("count_denied: only for fixed_window and sliding_window");
  }
  if (limit.overdraft && limit.algorithm == Algorithm::concurrency) {
    return invalid("overdraft: not for concurrency");
  }
  if (limit.block_for < Duration{0} || limit.block_for > kPeriodMax) {
    return invalid("block_for: must lie between 0 and 10 years");
  }
  if (limit.warm_up < Duration{0} || limit.warm_up > kPeriodMax) {
    return invalid("warm_up: must lie between 0 and 10 years");
  }
  return {};
}

}  // namespace sluice
