// Where state lives. The engine submits checks and is told the outcome through each check's sink:
// at once by the memory store, later by a remote one. The engine does not know the difference.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

struct LimitPlan;

enum class Operation : std::uint8_t {
  take,     // Decide all charges, then charge all; one refusal charges none.
  peek,     // Decide, write nothing.
  refund,   // Give cost back.
  release,  // Give a permit back.
  renew,    // Extend a permit by its limit's permit_ttl.
};

// How a charge's refusal counts for the whole check.
enum class Role : std::uint8_t {
  enforced,  // Its refusal refuses the check.
  shadow,    // Decided and charged like the others, but its refusal refuses nothing.
  quota,     // Refuses only when every quota charge of the check refuses.
};

// One permit of a concurrency key. Unguessable: holding it is the right to release it.
struct PermitId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(PermitId, PermitId) = default;
};

// One limit of a check. The store fills in the answer part.
struct Charge {
  const LimitPlan* plan = nullptr;  // Outlives the check (algorithm/limit_plan.h).
  Key key;
  KeyHash hash;  // hash_key(key) under this process's seed (src/base/key_hash.h).
  Cost cost = 1;
  Role role = Role::enforced;
  PermitId
      permit{};  // release, renew: which one. After an allowed take of concurrency: the new one.

  Decision decision{};   // This limit's own answer.
  bool charged = false;  // Whether state was written for it.
};

class CheckSink;

// A whole request to one store: all or nothing, unless `charge_each`.
struct Check {
  Operation operation = Operation::take;
  bool charge_each = false;   // envoyproxy/ratelimit's way: each limit for itself.
  bool quota_passes = false;  // Some quota descriptor outside this check passes.
  std::span<Charge> charges;
  Instant now;
  Duration wall_offset{0};
  Instant deadline = kInstantMax;
  std::array<std::uint64_t, 2> request_id{};  // Zero: none.
  CheckSink* sink = nullptr;

  // Answer: allowed, denied, or undecided with `error` (also when one charge is undecided).
  Verdict verdict = Verdict::allowed;
  ErrorCode error = ErrorCode::internal;  // Meaningful when undecided.
  Check* next = nullptr;                  // For whoever holds the check to chain it.
};

class CheckSink {
 public:
  // Called exactly once for each submitted check, on the thread that submitted it, perhaps before
  // submit returns. Must not throw.
  virtual void complete(Check& check) noexcept = 0;

 protected:
  ~CheckSink() = default;
};

class Store {
 public:
  virtual ~Store() = default;

  // The checks and all they refer to stay valid until completed. Any thread; never throws, never
  // blocks on I/O.
  virtual void submit(std::span<Check*> checks) noexcept = 0;
};

}  // namespace sluice
