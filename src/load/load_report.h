// What a run looks like to people and to programs.
#pragma once

#include <string>
#include <vector>

#include "load/load_plan.h"
#include "load/load_tally.h"
#include "load/threshold.h"

namespace sluice::load {

struct ThresholdResult {
  Threshold threshold;
  double actual = 0;
  bool holds = false;
};

// Requires that the tally can tell each of them.
std::vector<ThresholdResult> judge(const std::vector<Threshold>& thresholds,
                                   const LoadTally& tally);

// Many lines, for a terminal or a log.
std::string report_text(const LoadPlan& plan, const LoadTally& tally,
                        const std::vector<ThresholdResult>& results);

// One line of JSON: the names of thresholds, latencies in milliseconds.
std::string report_json(const LoadTally& tally, const std::vector<ThresholdResult>& results);

// One short line, no line end.
std::string progress_text(const LoadTally& tally);

}  // namespace sluice::load
