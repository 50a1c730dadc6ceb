// One run of the load generator: an epoll loop on the calling thread, made to saturate a server
// from one core. Requests are copied from prebuilt bytes, a read takes many answers, a write many
// requests; the loop allocates nothing per request.
#pragma once

#include <atomic>
#include <functional>

#include "load/load_plan.h"
#include "load/load_tally.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/error.h"

namespace sluice::load {

// Called about four times a second while the run lasts.
using LoadProgress = std::function<void(const LoadTally&)>;

// Blocks until the plan is done and every request has its answer, its failure or its timeout. Once
// `is_stopped` is set, from any thread or a signal handler, no request starts any more. Errors:
// not_found (host), store_unavailable (no connection could be made at all), invalid_argument
// (requests that cannot be written), overloaded (too few file descriptors).
Result<LoadTally> run_load(const LoadPlan& plan, const Clock& clock,
                           const std::atomic<bool>& is_stopped, const LoadProgress& progress);

}  // namespace sluice::load
