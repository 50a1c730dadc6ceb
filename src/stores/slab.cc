#include "stores/slab.h"

#include <algorithm>
#include <bit>

namespace sluice {

Result<std::unique_ptr<Slab>> Slab::open(std::size_t bytes_max) {
  if (bytes_max > kBytesMax) {
    return Error{ErrorCode::invalid_argument, "slab_bytes_max: at most 8 GiB"};
  }
  const std::size_t largest = std::bit_floor(std::min(bytes_max, kBlockBytesMax));
  const unsigned top_order =
      largest < kBlockBytesMin ? 0 : static_cast<unsigned>(std::countr_zero(largest) - 6);
  const std::size_t block_units = std::size_t{1} << top_order;
  const std::size_t units = bytes_max / kBlockBytesMin / block_units * block_units;
  Result<ZeroPages> pages = ZeroPages::open(std::max(units, std::size_t{1}) * kBlockBytesMin);
  if (!pages) return pages.error();
  Result<ZeroPages> free_orders = ZeroPages::open(std::max(units, std::size_t{1}));
  if (!free_orders) return free_orders.error();
  return std::unique_ptr<Slab>(
      new Slab(std::move(*pages), std::move(*free_orders), units, top_order));
}

Slab::Slab(ZeroPages pages, ZeroPages free_orders, std::size_t units, unsigned top_order) noexcept
    : pages_(std::move(pages)),
      free_orders_pages_(std::move(free_orders)),
      base_(pages_.data()),
      units_(units),
      top_order_(top_order),
      free_orders_(reinterpret_cast<std::uint8_t*>(free_orders_pages_.data())) {
  heads_.fill(kEnd);
}

Slab::Free& Slab::free_at(std::size_t unit) const noexcept {
  return *reinterpret_cast<Free*>(base_ + unit * kBlockBytesMin);
}

void Slab::push(std::size_t unit, unsigned order) noexcept {
  const auto self = static_cast<std::uint32_t>(unit);
  free_at(unit) = {.previous = kEnd, .next = heads_[order]};
  if (heads_[order] != kEnd) free_at(heads_[order]).previous = self;
  heads_[order] = self;
  free_orders_[unit] = static_cast<std::uint8_t>(order + 1);
}

void Slab::remove(std::size_t unit, unsigned order) noexcept {
  const Free links = free_at(unit);
  (links.previous == kEnd ? heads_[order] : free_at(links.previous).next) = links.next;
  if (links.next != kEnd) free_at(links.next).previous = links.previous;
  free_orders_[unit] = 0;
}

Slab::Handle Slab::allocate(std::size_t bytes) noexcept {
  const std::size_t wanted_units = (bytes + kBlockBytesMin - 1) / kBlockBytesMin;
  const auto wanted =
      static_cast<unsigned>(std::bit_width(std::max(wanted_units, std::size_t{1}) - 1));
  if (wanted > top_order_) return kNone;
  const MutexLock lock(mutex_);
  unsigned order = wanted;
  while (order <= top_order_ && heads_[order] == kEnd) ++order;
  std::size_t unit = 0;
  if (order <= top_order_) {
    unit = heads_[order];
    remove(unit, order);
  } else {
    if (untouched_ == units_) return kNone;
    order = top_order_;
    unit = untouched_;
    untouched_ += std::size_t{1} << order;
  }
  while (order > wanted) {
    --order;
    push(unit + (std::size_t{1} << order), order);
  }
  bytes_used_ += kBlockBytesMin << wanted;
  return handle_of(unit, wanted);
}

void Slab::free(Handle handle) noexcept {
  if (handle == kNone) return;
  std::size_t unit = unit_of(handle);
  unsigned order = order_of(handle);
  const MutexLock lock(mutex_);
  bytes_used_ -= kBlockBytesMin << order;
  for (; order < top_order_; ++order) {
    const std::size_t buddy = unit ^ (std::size_t{1} << order);
    if (free_orders_[buddy] != order + 1) break;
    remove(buddy, order);
    unit = std::min(unit, buddy);
  }
  push(unit, order);
}

std::size_t Slab::bytes_used() const noexcept {
  const MutexLock lock(mutex_);
  return bytes_used_;
}

}  // namespace sluice
