// What each error code means to the outside: the one table for every protocol and the command line.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "sluice/vocabulary/error.h"

namespace sluice {

struct ErrorMeaning {
  ErrorCode code;
  std::string_view name;   // As in problem documents and logs.
  bool is_worth_retrying;  // The same request may succeed later.
  int http_status;
  int grpc_status;               // google.rpc.Code
  std::string_view resp_prefix;  // First word of a RESP error.
  int exit_status;               // Of a `sluice` command that ends with it.
};

inline constexpr std::array<ErrorMeaning, 10> kErrorTable{{
    {ErrorCode::invalid_argument, "invalid_argument", false, 400, 3, "ERR", 2},
    {ErrorCode::not_found, "not_found", false, 404, 5, "ERR", 1},
    {ErrorCode::store_unavailable, "store_unavailable", true, 503, 14, "UNAVAILABLE", 4},
    {ErrorCode::timeout, "timeout", true, 503, 14, "UNAVAILABLE", 4},
    {ErrorCode::overloaded, "overloaded", true, 503, 14, "UNAVAILABLE", 4},
    {ErrorCode::corrupt_data, "corrupt_data", false, 400, 3, "ERR", 1},
    {ErrorCode::unsupported, "unsupported", false, 501, 12, "ERR", 1},
    {ErrorCode::cancelled, "cancelled", false, 499, 1, "ERR", 1},
    {ErrorCode::closed, "closed", true, 503, 14, "UNAVAILABLE", 4},
    {ErrorCode::internal, "internal", false, 500, 13, "ERR", 1},
}};

constexpr const ErrorMeaning& meaning_of(ErrorCode code) noexcept {
  return kErrorTable[static_cast<std::size_t>(code)];
}

}  // namespace sluice
