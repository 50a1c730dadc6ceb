// Whether a request makes sense and stays within the bounds, whichever protocol it came by.
#pragma once

#include <string>

#include "sluice/vocabulary/engine_options.h"
#include "sluice/vocabulary/request.h"

namespace sluice {

// False, with the field and the reason in `problem`: the request is answered as invalid.
bool is_within(const Request& request, const RequestBounds& bounds, std::string& problem);

// A release or a renewal names its permit and nothing else.
inline bool asks_by_permit(const Request& request) noexcept {
  return request.operation == Operation::release || request.operation == Operation::renew;
}

}  // namespace sluice
