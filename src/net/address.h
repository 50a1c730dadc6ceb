// Where to listen: "127.0.0.1:8080", "[::1]:8080", ":8080" (every address), "unix:/path".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/vocabulary/error.h"

namespace sluice::net {

struct Address {
  std::string host;        // Numeric; empty for a unix socket.
  std::uint16_t port = 0;  // 0: any free one.
  std::string path;        // Of a unix socket; else empty.

  bool is_unix() const noexcept { return !path.empty(); }
  bool is_loopback() const;  // Also unix sockets: none of them is reached from another machine.
  std::string text() const;

  friend bool operator==(const Address&, const Address&) = default;
};

// invalid_argument: what is wrong with it. Host names are not looked up, save "localhost".
Result<Address> parse_address(std::string_view text);

}  // namespace sluice::net
