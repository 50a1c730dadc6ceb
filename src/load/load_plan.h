// What one run of the load generator is to do; `sluice load` fills it from its flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load/request_template.h"
#include "sluice/vocabulary/time.h"

namespace sluice::load {

inline constexpr std::uint32_t kConnectionsMax = 50'000;
inline constexpr std::uint32_t kPipelineMax = 1024;
inline constexpr std::size_t kCountHeadersMax = 8;

struct LoadPlan {
  std::vector<RequestParts>
      targets;                     // At least one; request n goes to target n modulo their number.
  std::uint32_t connections = 10;  // Over all targets, at least one each.
  std::uint32_t pipeline = 1;      // Requests in flight on one connection.
  std::optional<std::uint64_t> requests;  // Ends after so many ...
  std::optional<Duration> duration;       // ... or so long, whichever is first.
  double per_second = 0;                  // Open loop at this rate; 0 is as fast as answers come.
  Duration timeout = std::chrono::seconds{10};  // For one connect and for one answer.
  std::vector<int> expect_statuses = {200, 429};
  std::vector<std::string> expect_headers;  // Every answer must carry them.
  std::vector<std::string> count_headers;   // Answers are counted by their values.
  std::uint64_t seed = 1;                   // Of `{rand:N}`.
};

}  // namespace sluice::load
