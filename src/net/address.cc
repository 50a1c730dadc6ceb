#include "net/address.h"

#include <charconv>

#include <boost/asio/ip/address.hpp>
#include <sys/un.h>

namespace sluice::net {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view kUnixPrefix = "unix:";

Error invalid(std::string_view text, std::string_view why) {
  return {ErrorCode::invalid_argument,
          "address \"" + std::string(text) + "\": " + std::string(why)};
}

}  // namespace

bool Address::is_loopback() const {
  boost::system::error_code error;
  return is_unix() || (ip::make_address(host, error).is_loopback() && !error);
}

std::string Address::text() const {
  if (is_unix()) return std::string(kUnixPrefix) + path;
  std::string text;
  const bool is_v6 = host.find(':') != std::string::npos;
  is_v6 ? text.append("[").append(host).append("]") : text.append(host);
  return text.append(":").append(std::to_string(port));
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  if (text.starts_with(kUnixPrefix)) {
    address.path = text.substr(kUnixPrefix.size());
    if (address.path.empty()) return invalid(text, "a path must follow unix:");
    if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {
      return invalid(text, "a unix socket's path is at most 107 bytes long");
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return invalid(text, "expected HOST:PORT, [IPV6]:PORT, :PORT or unix:/PATH");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size()) {
    return invalid(text, "the port must be a number from 0 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host == "*") host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code error;
  const ip::address numeric = ip::make_address(host, error);
  if (error) return invalid(text, "the host must be a numeric address or localhost");
  address.host = numeric.to_string();
  return address;
}

}  // namespace sluice::net
