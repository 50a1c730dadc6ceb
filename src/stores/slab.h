// Bounded memory for what does not fit into a state: logs, slices, permits. A buddy allocator:
// blocks are 64 bytes times a power of two, and a freed block joins its free neighbour, so that
// memory given back by many small logs serves one large one; lists of sizes would keep it for ever.
// Pages are taken from the system when first written. Any thread; blocks are touched without the
// lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "base/zero_pages.h"
#include "sluice/vocabulary/error.h"

namespace sluice {

class Slab {
 public:
  // Names a block. kNone is no block; every other value came from allocate().
  using Handle = std::uint32_t;
  static constexpr Handle kNone = 0;
  static constexpr std::size_t kBlockBytesMin = 64;
  static constexpr std::size_t kBlockBytesMax = std::size_t{4} << 20;
  static constexpr std::size_t kBytesMax = std::size_t{8} << 30;

  // Of `bytes_max` (at most kBytesMax) whole blocks of the largest size are used; a small slab's
  // largest block is smaller. invalid_argument, overloaded.
  static Result<std::unique_ptr<Slab>> open(std::size_t bytes_max);

  // A block of at least so many bytes, at most twice as many, aligned to 64, of undefined content.
  // kNone when there is no room.
  Handle allocate(std::size_t bytes) noexcept SLUICE_EXCLUDES(mutex_);
  // Requires a handle that allocate() gave and that was not freed since. kNone is fine.
  void free(Handle handle) noexcept SLUICE_EXCLUDES(mutex_);

  // The whole block; empty for kNone.
  std::span<std::byte> block(Handle handle) const noexcept {
    if (handle == kNone) return {};
    return {base_ + unit_of(handle) * kBlockBytesMin, kBlockBytesMin << order_of(handle)};
  }

  std::size_t bytes_used() const noexcept SLUICE_EXCLUDES(mutex_);

 private:
  // A handle is the first unit (64 bytes) of the block, above its order plus one.
  static constexpr unsigned kOrderBits = 5;
  static constexpr unsigned kOrders = 17;  // 64 B to 4 MiB.
  static Handle handle_of(std::size_t unit, unsigned order) noexcept {
    return static_cast<Handle>(unit << kOrderBits | (order + 1));
  }
  static std::size_t unit_of(Handle handle) noexcept { return handle >> kOrderBits; }
  static unsigned order_of(Handle handle) noexcept {
    return (handle & ((1U << kOrderBits) - 1)) - 1;
  }

  // Links of a free block, kept in itself. Units; kEnd ends a list.
  struct Free {
    std::uint32_t previous;
    std::uint32_t next;
  };
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  Slab(ZeroPages pages, ZeroPages free_orders, std::size_t units, unsigned top_order) noexcept;
  Free& free_at(std::size_t unit) const noexcept SLUICE_REQUIRES(mutex_);
  void push(std::size_t unit, unsigned order) noexcept SLUICE_REQUIRES(mutex_);
  void remove(std::size_t unit, unsigned order) noexcept SLUICE_REQUIRES(mutex_);

  ZeroPages pages_;
  ZeroPages free_orders_pages_;
  std::byte* base_;
  std::size_t units_;
  unsigned top_order_;
  mutable Mutex mutex_;
  // For each unit that a free block starts at: its order plus one; 0 elsewhere.
  std::uint8_t* free_orders_ SLUICE_GUARDED_BY(mutex_);
  std::array<std::uint32_t, kOrders> heads_ SLUICE_GUARDED_BY(mutex_);
  std::size_t untouched_ SLUICE_GUARDED_BY(mutex_) = 0;  // From this unit on nothing was given out.
  std::size_t bytes_used_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
