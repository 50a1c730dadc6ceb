// The few socket calls that a client needs, with an owner for the descriptor and errors in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "load/url.h"
#include "sluice/vocabulary/error.h"

namespace sluice::load {

// Owns a file descriptor. -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const noexcept { return fd_; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Every address of a host, in the order to try them; blocks. Errors: not_found.
Result<std::vector<Address>> resolve(const Url& url);

// Begins to connect a non-blocking socket without Nagle's delay; writable once it is connected or
// has failed. Errors: store_unavailable.
Result<FileDescriptor> begin_connect(const Address& address);

// What became of it. Errors: store_unavailable.
Result<void> finish_connect(int fd);

std::string error_text(int error_number);

}  // namespace sluice::load
