#include "load/socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

namespace sluice::load {

void FileDescriptor::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

Result<std::vector<Address>> resolve(const Url& url) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (failure != 0) {
    return Error{ErrorCode::not_found, url.host + ": " + ::gai_strerror(failure)};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{found, ::freeaddrinfo};
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Address address;
    address.size = each->ai_addrlen;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    addresses.push_back(address);
  }
  return addresses;
}

Result<FileDescriptor> begin_connect(const Address& address) {
  const int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  FileDescriptor socket{::socket(address.bytes.ss_family, kind, 0)};
  if (socket.get() < 0) return Error{ErrorCode::store_unavailable, error_text(errno)};
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (::connect(socket.get(), to, address.size) != 0 && errno != EINPROGRESS) {
    return Error{ErrorCode::store_unavailable, error_text(errno)};
  }
  return socket;
}

Result<void> finish_connect(int fd) {
  int failure = 0;
  socklen_t size = sizeof failure;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
  if (failure != 0) return Error{ErrorCode::store_unavailable, error_text(failure)};
  return {};
}

}  // namespace sluice::load
