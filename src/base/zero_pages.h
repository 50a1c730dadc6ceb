// A stretch of zeroed memory straight from the system. A page costs nothing until it is written, so
// a table may be reserved at its full size on a small machine. From 64 MiB on it is aligned to and
// advised as 2 MiB pages, which spare a random access most of its address translation.
#pragma once

#include <cstddef>
#include <utility>

#include "sluice/vocabulary/error.h"

namespace sluice {

class ZeroPages {
 public:
  ZeroPages() = default;

  // overloaded: the system gives no such stretch.
  static Result<ZeroPages> open(std::size_t bytes);

  ~ZeroPages();
  ZeroPages(ZeroPages&& other) noexcept { swap(other); }
  ZeroPages& operator=(ZeroPages&& other) noexcept {
    swap(other);
    return *this;
  }

  // Aligned to a page at least.
  std::byte* data() const noexcept { return data_; }

 private:
  void swap(ZeroPages& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
  }

  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace sluice
