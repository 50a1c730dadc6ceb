// How large memory may grow, and what happens then: of the memory store and of keyed limiters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// What a key never seen meets when every place that it may take holds a key that is not at rest.
enum class WhenFull : std::uint8_t {
  evict_nearest_to_rest,  // It takes the place of the one that loses least; counted.
  refuse,  // It is undecided, overloaded; its rule's on_store_error answers. Counted.
};

struct TableOptions {
  std::size_t keys_max = 1'000'000;  // [1, 2^31]. So many fit; 32 bytes each, taken as they come.
  WhenFull when_full = WhenFull::evict_nearest_to_rest;
  std::size_t slab_bytes_max = std::size_t{64} << 20;  // Logs, slices and permits of all keys.
};

}  // namespace sluice
