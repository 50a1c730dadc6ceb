// Bytes that grow at the back and are taken from the front: what a connection has read and not yet
// understood, or has to say and not yet sent. Keeps its memory when emptied, so a buffer in steady
// use allocates nothing. One thread at a time.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sluice {

class ByteBuffer {
 public:
  std::size_t size() const noexcept { return end_ - begin_; }
  bool is_empty() const noexcept { return begin_ == end_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::span<char> bytes() noexcept { return {bytes_.get() + begin_, size()}; }
  std::string_view view() const noexcept { return {bytes_.get() + begin_, size()}; }

  // Room for at least `bytes` more, written by the caller and then announced by grow_by. Bytes
  // already held may move.
  std::span<char> free_space(std::size_t bytes) {
    if (capacity_ - end_ < bytes) make_room(bytes);
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void grow_by(std::size_t bytes) noexcept { end_ += bytes; }

  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(free_space(text.size()).data(), text.data(), text.size());
    end_ += text.size();
  }
  void append(char c) {
    free_space(1)[0] = c;
    ++end_;
  }
  void append_number(std::integral auto number) {
    constexpr std::size_t kDigitsMax = 20;
    char* const first = free_space(kDigitsMax).data();
    end_ += static_cast<std::size_t>(std::to_chars(first, first + kDigitsMax, number).ptr - first);
  }

  // Requires bytes <= size().
  void take_front(std::size_t bytes) noexcept {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() noexcept { begin_ = end_ = 0; }

  // Gives the memory back.
  void release() noexcept {
    bytes_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  void make_room(std::size_t bytes) {
    if (capacity_ - size() >= bytes) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, size());
    } else {
      const std::size_t capacity = std::max(size() + bytes, capacity_ * 2);
      auto grown = std::make_unique_for_overwrite<char[]>(capacity);
      if (!is_empty()) std::memcpy(grown.get(), bytes_.get() + begin_, size());
      bytes_ = std::move(grown);
      capacity_ = capacity;
    }
    end_ = size();
    begin_ = 0;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sluice
