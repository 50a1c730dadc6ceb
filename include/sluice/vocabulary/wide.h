// 128-bit integers for products that 64 bits cannot hold.
#pragma once

namespace sluice {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

}  // namespace sluice
