// The store in this process's memory: every algorithm over the concurrent table, decided on the
// calling thread before submit() returns. Bounded by `keys_max` and `slab_bytes_max`; no thread and
// no timer of its own. Any thread may call anything.
//
// One check is one step for everybody else: the locks of all its keys are taken in address order,
// the limits are decided on copies, and only then written. Nothing is ever rolled back. A refusal
// by states of 16 bytes is read without a lock and stores nothing, unless its limit says so
// (count_denied, block_for).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/store.h"
#include "sluice/vocabulary/table_options.h"
#include "sluice/vocabulary/time.h"
#include "stores/memory_table.h"
#include "stores/slab.h"

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
  static constexpr std::size_t kChargesMax = MemoryTable::kAccessesMax / 2;

  // Reserves the address space; pages are taken from the system as keys arrive. invalid_argument:
  // an option out of range. overloaded: the system has no such room.
  static Result<std::unique_ptr<MemoryStore>> open(const TableOptions& options);

  // Completes every check before it returns.
  //   take     Each concurrency charge gets a permit id.
  //   release  Needs no plan. `charged` says whether the permit was held; if not, that is fine.
  //   renew    Denied when the permit is held no more.
  //   refund   Allowed; of concurrency, the permits that expire first go.
  void submit(std::span<Check*> checks) noexcept override;

  // One check without its sink.
  void decide(Check& check) noexcept;

  // What one key would answer to a single hit; writes nothing.
  Decision look(const LimitPlan& plan, KeyHash hash, Instant now,
                Duration wall_offset = {}) noexcept;

  // Makes a key one never seen, its block included. Whether it was not at rest.
  bool reset(const LimitPlan& plan, KeyHash hash, Instant now) noexcept;

  MemoryStoreCounters counters(Instant now) const noexcept;

  // For callers that decide on states themselves, under table_hash() (charge_step.h).
  MemoryTable& table() noexcept { return *table_; }

 private:
  MemoryStore(std::unique_ptr<Slab> slab, std::unique_ptr<MemoryTable> table) noexcept;

  bool decide_step(const Check& check, std::span<Charge> charges) noexcept;
  bool decide_single(const Check& check, Charge& charge) noexcept;
  void refund(const Check& check, Charge& charge) noexcept;
  bool change_permit(const Check& check, Charge& charge) noexcept;
  template <typename Change>
  bool change_memory(KeyHash hash, Instant now, Change change) noexcept;

  std::unique_ptr<Slab> slab_;  // Outlives the table, which gives slabs back.
  std::unique_ptr<MemoryTable> table_;
  std::atomic<std::uint64_t> slab_refusals_{0};
};

}  // namespace sluice
