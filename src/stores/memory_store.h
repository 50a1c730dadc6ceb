// The store in this process's memory: every algorithm over the concurrent table, decided on the
// calling thread before submit() returns. Bounded by `keys_max` and `slab_bytes_max`; no thread and
// no timer of its own. Any thread may call anything.
//
// One check is one step for everybody else: the locks of all its keys are taken in address order,
// the limits are decided on copies, and only then written. Nothing is ever rolled back. A refusal
// is read without a lock and stores nothing, unless its limit says so (count_denied, block_for).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/store.h"
#include "sluice/vocabulary/table_options.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

struct MemoryStoreCounters {
  std::uint64_t keys = 0;       // Not at rest; an estimate from a sample above some thousands.
  std::uint64_t evictions = 0;  // Of keys not at rest.
  std::uint64_t refusals = 0;   // Checks left undecided because the table or the slab was full.
  std::uint64_t slab_bytes = 0;
};

class MemoryStore final : public Store {
 public:
  // The most charges of one check; a check with more is undecided: invalid_argument.
  static constexpr std::size_t kChargesMax = 256;

  // Reserves the address space; pages are taken from the system as keys arrive. invalid_argument:
  // an option out of range. overloaded: the system has no such room.
  static Result<std::unique_ptr<MemoryStore>> open(const TableOptions& options);

  ~MemoryStore() override;

  // Completes every check before it returns. Of a `take`, all concurrency charges get one permit
  // id. `release` needs no plan; `renew` takes permit_ttl from it. Releasing what is not held is
  // fine. Of a `refund` on a concurrency charge without a permit id, the oldest permits go.
  void submit(std::span<Check*> checks) noexcept override;

  // What one key would answer to a single hit; writes nothing.
  Decision look(const LimitPlan& plan, KeyHash hash, Instant now, Duration wall_offset) const;

  // Makes a key one never seen, its block included. Whether it was not at rest.
  bool reset(const LimitPlan& plan, KeyHash hash, Instant now);

  MemoryStoreCounters counters(Instant now) const;

 private:
  MemoryStore();
};

}  // namespace sluice
