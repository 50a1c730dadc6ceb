#include "config/rule_fields.h"

#include "sluice/vocabulary/limit.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using enum FieldKind;

constexpr std::string_view kUnits[] = {"second", "minute", "hour", "day", "week", "month", "year"};
constexpr Duration kUnitLengths[] = {1s, 1min, 1h, 24h, 168h, 720h, 8760h};
// `gcra` stands behind `token_bucket`, so the rest are in the order of enum Algorithm.
constexpr std::string_view kAlgorithms[] = {"fixed_window", "sliding_window", "sliding_log",
                                            "token_bucket", "gcra",           "leaky_bucket",
                                            "concurrency"};
constexpr std::string_view kScopes[] = {"local", "shared", "leased", "async"};
constexpr std::string_view kStoreErrorPolicies[] = {"fail_closed", "fail_open", "local"};
constexpr std::string_view kCharges[] = {"all", "each"};

constexpr Field kDomainFields[] = {
    {"domain", text, "The name that requests carry; unique among all files."},
    {"charge", choice,
     "all: one refusal charges no limit of the request. each: every limit counts for itself.",
     kCharges},
    {"descriptors", descriptors, "The rules, tried by key and value."},
};

constexpr Field kDescriptorFields[] = {
    {"key", text, "The entry's key. Must be there."},
    {"value", text,
     "The entry's value; a * in it stands for any run of characters. Without it: every value, each "
     "counted by itself."},
    {"rate_limit", limit, "The limit of requests that end here. Without one they are let through."},
    {"rate_limits", limits, "Instead of rate_limit: several limits, all of which must allow."},
    {"descriptors", descriptors, "Rules for the entry that follows."},
    {"shadow_mode", yes_or_no, "Count and report, but never refuse."},
    {"quota_mode", yes_or_no, "Refuse only when every quota rule of the request refuses."},
    {"detailed_metric", yes_or_no, "Metrics show the caller's values (a bounded number of them)."},
    {"value_to_metric", yes_or_no, "Metrics show the value of this entry."},
    {"share_threshold", yes_or_no,
     "All values that match the pattern share one counter instead of one each."},
    {"metadata", any, "Handed back with the answer; any mapping."},
};

constexpr Field kLimitFields[] = {
    {"requests_per_unit", count,
     "How many requests in each period (of concurrency: at once). 0 refuses every request."},
    {"unit", choice, "The period. A month is 30 days, a year 365; windows start at UTC multiples.",
     kUnits},
    {"unit_multiplier", count, "The period is this many units.", {}, 1, 1'000'000},
    {"period", duration, "Instead of unit: any length from 1ms to 10 years (3650d)."},
    {"algorithm", choice, "How requests are counted. gcra is another name of token_bucket.",
     kAlgorithms},
    {"burst", count,
     "token_bucket: how many at once. leaky_bucket: how many may wait. Default: "
     "requests_per_unit."},
    {"sub_windows",
     count,
     "sliding_window: 0 estimates from two windows; N slices never let more through in any period.",
     {},
     0,
     kSubWindowsMax},
    {"block_for", duration, "Once over the limit, refuse for this long."},
    {"count_denied", yes_or_no, "fixed_window, sliding_window: refused requests count too."},
    {"overdraft", yes_or_no, "Always allow and charge, into debt; later requests wait for it."},
    {"permit_ttl", duration, "concurrency: a permit not released by then is taken back."},
    {"warm_up", duration, "How long a cold limit takes to reach its full rate.", {}, 0, 0, 0},
    {"name", text, "What answers and metrics call it, and what `replaces` refers to."},
    {"unlimited", yes_or_no, "Let everything through; no other number may stand beside it."},
    {"replaces", names, "Limits (by name) that do not apply when this one does."},
    {"scope", choice, "Where it is counted: in this daemon alone.", kScopes, 0, 0, 1},
    {"store", text, "Which of the settings' stores counts it.", {}, 0, 0, 0},
    {"on_store_error", choice, "What to answer while the store is away.", kStoreErrorPolicies, 0, 0,
     0},
    {"fallback_share",
     share,
     "on_store_error local: the part of the limit each daemon allows.",
     {},
     0,
     0,
     0},
};

}  // namespace

std::span<const Field> domain_fields() {
  return kDomainFields;
}
std::span<const Field> descriptor_fields() {
  return kDescriptorFields;
}
std::span<const Field> limit_fields() {
  return kLimitFields;
}

Duration unit_length(std::size_t choice) {
  return kUnitLengths[choice];
}

}  // namespace sluice
