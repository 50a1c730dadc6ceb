#include "base/key_hash.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/random.h"

namespace sluice {
namespace {

// Common keys are gathered here and hashed in one go; longer ones are streamed, which costs more.
constexpr std::size_t kGatheredBytesMax = 256;

KeyHash key_hash(XXH128_hash_t hash) noexcept {
  return {hash.high64, hash.low64};
}

std::size_t encoded_bytes(const Key& key) noexcept {
  std::size_t bytes = sizeof key.rule_hash;
  for (const std::string_view value : key.identity) bytes += sizeof(std::uint64_t) + value.size();
  return bytes;
}

// Calls append(pointer, size) with each part of the key's unambiguous form, in order.
template <typename Append>
void encode(const Key& key, Append append) noexcept {
  append(&key.rule_hash, sizeof key.rule_hash);
  for (const std::string_view value : key.identity) {
    const std::uint64_t size = value.size();
    append(&size, sizeof size);
    append(value.data(), value.size());
  }
}

}  // namespace

KeySeed::KeySeed() noexcept {
  fill_random(secret_);
  fill_random(std::as_writable_bytes(std::span{numbers_}));
  for (std::size_t i = 1; i < numbers_.size(); i += 2) numbers_[i] |= 1;
}

KeyHash KeySeed::hash(std::string_view bytes) const noexcept {
  return key_hash(
      XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret_.data(), secret_.size()));
}

KeyHash KeySeed::hash(const Key& key) const noexcept {
  const std::size_t bytes = encoded_bytes(key);
  if (bytes <= kGatheredBytesMax) {
    std::array<char, kGatheredBytesMax> gathered;
    char* end = gathered.data();
    encode(key, [&end](const void* part, std::size_t size) {
      if (size > 0) std::memcpy(end, part, size);
      end += size;
    });
    return hash(std::string_view{gathered.data(), bytes});
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset_withSecret(&state, secret_.data(), secret_.size());
  encode(key, [&state](const void* part, std::size_t size) {
    if (size > 0) XXH3_128bits_update(&state, part, size);
  });
  return key_hash(XXH3_128bits_digest(&state));
}

const KeySeed& process_key_seed() noexcept {
  static const KeySeed seed;
  return seed;
}

}  // namespace sluice
