#include "base/zero_pages.h"

#include <cstdint>
#include <string>

#include <sys/mman.h>

namespace sluice {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Below this a few scattered keys on huge pages would cost more memory than they save time.
constexpr std::size_t kHugeFromBytes = std::size_t{64} << 20;

}  // namespace

Result<ZeroPages> ZeroPages::open(std::size_t bytes) {
  const bool is_huge = bytes >= kHugeFromBytes;
  ZeroPages pages;
  pages.mapped_bytes_ = bytes + (is_huge ? kHugePageBytes : 0);
  void* const mapped = ::mmap(nullptr, pages.mapped_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return Error{ErrorCode::overloaded, "no room for " + std::to_string(bytes) + " bytes"};
  }
  pages.mapped_ = mapped;
  pages.data_ = static_cast<std::byte*>(mapped);
  if (is_huge) {
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    pages.data_ += (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
    // Advice only: a kernel without huge pages serves small ones.
    (void)::madvise(pages.data_, bytes, MADV_HUGEPAGE);
  }
  return pages;
}

ZeroPages::~ZeroPages() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

}  // namespace sluice
