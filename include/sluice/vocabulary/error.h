// Expected failures. Denied is not an error: a verdict is (decision.h). A code says what the caller
// does next; the one table that maps codes to retry, HTTP, gRPC, RESP and exit status is in
// error_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sluice {

enum class ErrorCode : std::uint8_t {
  invalid_argument,   // The request makes no sense; a retry will not help.
  not_found,          // No such rule, key, permit or path.
  store_unavailable,  // The store cannot be reached.
  timeout,            // The deadline passed; what happened is unknown.
  overloaded,         // A bound of ours was reached (queue, table, waiters); try later.
  corrupt_data,       // A peer or a file sent bytes that do not decode.
  unsupported,        // Understood, but not offered here.
  cancelled,          // The caller gave up.
  closed,             // The object is shut down.
  internal,           // Our own fault.
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

// A value or an Error. Accessors do not check: ask has_value() first.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & noexcept { return *std::get_if<0>(&content_); }
  const T& value() const& noexcept { return *std::get_if<0>(&content_); }
  T&& value() && noexcept { return std::move(*std::get_if<0>(&content_)); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }

  const Error& error() const noexcept { return *std::get_if<1>(&content_); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const noexcept { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace sluice
