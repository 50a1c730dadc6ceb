// What a caller asks and what it is told, in the words of no protocol. Everything is borrowed: a
// request and its bytes stay valid until it is answered, an answer only while the sink is being
// called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/vocabulary/rule.h"
#include "sluice/vocabulary/store.h"

namespace sluice {

struct Entry {
  std::string_view key;
  std::string_view value;
};

// A limit that travels with the request: a fixed window of its own under the rule's path.
struct LimitOverride {
  std::uint32_t requests = 0;
  Duration period{0};
  std::string_view unit;  // Lower case, part of its key: "minute".
};

struct Descriptor {
  std::span<const Entry> entries{};
  std::optional<Cost> hits{};  // Instead of the request's.
  std::optional<LimitOverride> limit{};
  bool is_negative_hits = false;  // A refund of `hits`.
};

struct Request {
  Operation operation = Operation::take;
  std::string_view domain{};
  std::span<const Descriptor> descriptors{};
  Cost hits = 1;
  Instant now{};  // When it came, on the engine's clock; zero: the engine reads its clock.
  Instant deadline = kInstantMax;
  std::string_view request_id{};
  std::string_view
      permit{};  // release, renew: as an answer gave it. No domain or descriptors then.
};

// A pass that no count stands behind: the rule is unlimited, or its store is silent and it fails
// open. Recognised by more remaining than the limit has.
inline constexpr Decision kPassWithoutNumbers{.remaining =
                                                  std::numeric_limits<std::uint32_t>::max()};

// The answer for one descriptor, in the order of the request.
struct DescriptorAnswer {
  const RuleLimit* rule = nullptr;  // The limit that decides; null when nothing matched.
  Decision decision{};              // Of that limit.
  std::string_view metadata{};      // Of the rule's descriptor: a JSON object as text, or empty.
  bool is_override = false;         // The numbers came with the request.
  bool is_quota = false;            // It refuses only when every quota limit does.

  // Whether `decision` has a limit and remaining hits to show.
  bool has_numbers() const noexcept {
    return rule != nullptr && decision.remaining <= decision.limit;
  }
};

struct Answer {
  Verdict verdict = Verdict::allowed;
  std::optional<std::size_t>
      deciding{};  // Index of the descriptor that decides; none: no rate headers.
  std::span<const DescriptorAnswer> descriptors{};
  std::string_view permit{};     // Of concurrency rules, when allowed.
  Duration delay{0};             // The longest of leaky buckets.
  const Error* error = nullptr;  // Set when undecided, or when the request was refused as invalid.
};

class AnswerSink {
 public:
  // Called exactly once for each request, on the thread that asked, perhaps before check() returns.
  virtual void answer(const Answer& answer) noexcept = 0;

 protected:
  ~AnswerSink() = default;
};

}  // namespace sluice
