// What an algorithm, a store or the engine answers. Every number is defined in docs/semantics.md.
#pragma once

#include <cstdint>

#include "sluice/vocabulary/time.h"

namespace sluice {

enum class Verdict : std::uint8_t {
  allowed,
  denied,     // Over the quota. Not an error.
  shed,       // Refused for load, not for quota.
  undecided,  // The store is silent or the table is full; the rule's policy turns it into an
              // answer.
};

struct Decision {
  Verdict verdict = Verdict::allowed;
  std::uint32_t limit = 0;      // The count that the limit allows: requests, or burst of a bucket.
  std::uint32_t remaining = 0;  // How many single hits would pass at once, after this one.
  Duration retry_after{0};      // When the same request, alone, would pass; 0 when allowed; kNever.
  Duration reset_after{0};      // When the key is at rest.
  Duration delay{0};            // leaky_bucket: hold an allowed hit for so long.
};

}  // namespace sluice
