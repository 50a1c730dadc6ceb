#include "engine/permit_token.h"

#include <array>
#include <cstring>

#include "base/key_hash.h"

namespace sluice {
namespace {

constexpr std::size_t kPlaceBytes = sizeof(PermitPlace);
constexpr std::size_t kTagBytes = sizeof(KeyHash);
constexpr std::size_t kBytesMax = kPermitPlacesMax * kPlaceBytes + kTagBytes;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static_assert(std::has_unique_object_representations_v<PermitPlace>);  // Copied as bytes.

constexpr std::array<std::int8_t, 256> kSextets = [] {
  std::array<std::int8_t, 256> sextets{};
  sextets.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    sextets[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return sextets;
}();

constexpr std::size_t text_size(std::size_t bytes) {
  return (bytes * 8 + 5) / 6;
}

void append_base64url(std::string_view bytes, std::string& text) {
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8 | static_cast<unsigned char>(byte)) & 0xffffU;
    for (bit_count += 8; bit_count >= 6; bit_count -= 6) {
      text.push_back(kAlphabet[(bits >> (bit_count - 6)) & 63U]);
    }
  }
  if (bit_count > 0) text.push_back(kAlphabet[(bits << (6 - bit_count)) & 63U]);
}

// How many bytes came out; 0 when a character is none of the alphabet's, or when the last ones
// carry bits that no encoder writes: each permit has one text. Requires room for all of them.
std::size_t decode_base64url(std::string_view text, char* bytes) {
  std::uint32_t bits = 0;
  int bit_count = 0;
  std::size_t size = 0;
  for (const char c : text) {
    const std::int8_t sextet = kSextets[static_cast<unsigned char>(c)];
    if (sextet < 0) return 0;
    bits = (bits << 6 | static_cast<std::uint32_t>(sextet)) & 0x3fffU;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      bytes[size++] = static_cast<char>(bits >> bit_count & 0xffU);
    }
  }
  const bool is_canonical = bit_count < 6 && (bits & ((1U << bit_count) - 1)) == 0;
  return is_canonical ? size : 0;
}

KeyHash tag_of(std::string_view bytes) noexcept {
  return process_key_seed().hash(bytes);
}

}  // namespace

void encode_permit(std::span<const PermitPlace> places, std::string& text) {
  std::array<char, kBytesMax> bytes;
  const std::size_t size = places.size_bytes();
  std::memcpy(bytes.data(), places.data(), size);
  const KeyHash tag = tag_of({bytes.data(), size});
  std::memcpy(bytes.data() + size, &tag, kTagBytes);
  text.clear();
  text.reserve(text_size(size + kTagBytes));
  append_base64url({bytes.data(), size + kTagBytes}, text);
}

bool decode_permit(std::string_view text, std::vector<PermitPlace>& places) {
  places.clear();
  if (text.size() > text_size(kBytesMax)) return false;
  std::array<char, kBytesMax> bytes;
  const std::size_t size = decode_base64url(text, bytes.data());
  if (size < kPlaceBytes + kTagBytes) return false;
  const std::size_t place_bytes = size - kTagBytes;
  if (place_bytes % kPlaceBytes != 0) return false;
  const KeyHash tag = tag_of({bytes.data(), place_bytes});
  if (std::memcmp(&tag, bytes.data() + place_bytes, kTagBytes) != 0) return false;
  places.resize(place_bytes / kPlaceBytes);
  std::memcpy(places.data(), bytes.data(), place_bytes);
  return true;
}

}  // namespace sluice
