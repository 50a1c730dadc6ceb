// The charges of one check, decided as one: over the distinct keys that they touch, on copies of
// their states, first all decisions, then, if the check passes, all charges. Knows nothing of
// locks; whoever drives it (memory_store.cc) reads the states before and writes them after.
//
// Several charges of one key are decided as if in order: a later one is asked together with what
// the earlier ones would take, so that its wait, too, is that of the whole request.
#pragma once

#include <cstdint>
#include <span>

#include <boost/container/static_vector.hpp>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/store.h"
#include "stores/memory_table.h"
#include "stores/slab.h"

namespace sluice {

// Under which hash the table knows a charge's key: states of different kinds never meet. Two
// different operations, or the compiler does both in one vector, which it then loads from where two
// halves were just stored: that waits until they are in memory, after all loads before them.
inline KeyHash table_hash(KeyHash hash, std::uint64_t state_kind) noexcept {
  return {hash.high ^ state_kind, hash.low + state_kind};
}

// Whether the refusals of these charges, as their decisions say, let the check pass.
bool passes(std::span<const Charge> charges, bool quota_passes) noexcept;

class ChargeStep {
 public:
  // Requires 1 to kAccessesMax / 2 charges, all with plans.
  ChargeStep(const Check& check, std::span<Charge> charges) noexcept;

  // One for each distinct key, in no order. The driver fills in `slot`.
  std::span<KeyAccess> keys() noexcept { return {keys_.data(), keys_.size()}; }
  // Whether some key keeps more than its 16 bytes. That memory may be read under its lock alone.
  bool has_memory() const noexcept { return has_memory_; }

  // Decides all charges and marks the keys to be written. False: none is. Pure but for the
  // decisions; may be called again after `slot` was read anew.
  bool decide(const Slab& slab) noexcept;

  // Gets the memory that the charges need. False: there is no room, and nothing is held.
  bool reserve_memory(Slab& slab) noexcept;

  // After decide() and reserve_memory(): charges. The keys' slots are ready to be written. All
  // concurrency charges get one permit id.
  void charge(Slab& slab) noexcept;

  // After decide(), when there was no room: says so in the charges that lacked it.
  void leave_undecided() noexcept;

 private:
  struct Part {  // One charge.
    std::uint32_t key = 0;
    std::uint32_t block = kNoBlock;
    bool was_blocked = false;
    bool is_charged = false;
  };
  struct KeyNeeds {
    const LimitPlan* plan = nullptr;  // Null for a block, which is never charged.
    Cost pending = 0;                 // What the charges before would take.
    bool is_charged = false;
    bool is_converted = false;  // By make_current(), from other numbers.
    bool lacks_memory = false;
    Slab::Handle larger = Slab::kNone;
  };
  static constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

  std::uint32_t key_index(KeyHash hash, const LimitPlan* plan) noexcept;
  void decide_part(const Slab& slab, Part& part, Charge& charge) noexcept;
  void decide_block(Part& part, Charge& charge) noexcept;
  std::span<std::byte> memory(const Slab& slab, std::uint32_t key) const noexcept;

  const Check& check_;
  std::span<Charge> charges_;
  bool has_memory_ = false;
  boost::container::static_vector<Part, MemoryTable::kAccessesMax / 2> parts_;
  boost::container::static_vector<KeyAccess, MemoryTable::kAccessesMax> keys_;
  boost::container::static_vector<KeyNeeds, MemoryTable::kAccessesMax> needs_;
};

}  // namespace sluice
