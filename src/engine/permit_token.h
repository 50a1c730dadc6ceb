// A permit as its holder sees it: text that says where the permit lies and proves that this process
// made it, so that a release needs nothing else and survives any change of the rules. Base64url of
// {time to live, key hash, id} for each concurrency key of the request, and a tag over all of it
// under the process's seed. A text that is not ours decodes to nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/store.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

inline constexpr std::size_t kPermitPlacesMax = 256;

struct PermitPlace {
  Duration ttl{0};  // Of the limit that gave it; what a renewal extends it by.
  KeyHash hash;
  PermitId id;
};

// Writes the text over `text`, which keeps its memory. Requires 1 to kPermitPlacesMax places.
void encode_permit(std::span<const PermitPlace> places, std::string& text);

// Fills `places`, which keeps its memory. False, and none: the text is not one of ours.
bool decode_permit(std::string_view text, std::vector<PermitPlace>& places);

}  // namespace sluice
