#include "engine/request_bounds.h"

namespace sluice {
namespace {

std::string at(std::size_t descriptor) {
  return "descriptors[" + std::to_string(descriptor) + "]";
}

std::string at(std::size_t descriptor, std::size_t entry, const char* part) {
  return at(descriptor) + ".entries[" + std::to_string(entry) + "]." + part;
}

std::string more_than(std::size_t bound, const char* what) {
  return ": more than " + std::to_string(bound) + " " + what;
}

// The first problem of one descriptor; empty when there is none.
std::string problem_of(const Descriptor& descriptor, std::size_t index,
                       const RequestBounds& bounds) {
  if (descriptor.entries.size() > bounds.entries_max) {
    return at(index) + more_than(bounds.entries_max, "entries");
  }
  for (std::size_t i = 0; i < descriptor.entries.size(); ++i) {
    const Entry& entry = descriptor.entries[i];
    if (entry.key.size() > bounds.key_bytes_max) {
      return at(index, i, "key") + more_than(bounds.key_bytes_max, "bytes");
    }
    if (entry.value.size() > bounds.value_bytes_max) {
      return at(index, i, "value") + more_than(bounds.value_bytes_max, "bytes");
    }
  }
  if (descriptor.limit) {
    if (descriptor.limit->unit.size() > bounds.key_bytes_max) {
      return at(index) + ".limit.unit" + more_than(bounds.key_bytes_max, "bytes");
    }
    const Limit limit{.requests = descriptor.limit->requests, .period = descriptor.limit->period};
    if (const Result<void> valid = validate_limit(limit); !valid) {
      return at(index) + ".limit." + valid.error().message;
    }
  }
  return {};
}

}  // namespace

bool is_within(const Request& request, const RequestBounds& bounds, std::string& problem) {
  if (asks_by_permit(request)) {
    if (request.permit.empty()) problem = "permit: must not be empty";
    return problem.empty();
  }
  if (request.domain.empty()) {
    problem = "domain: must not be empty";
  } else if (request.domain.size() > bounds.domain_bytes_max) {
    problem = "domain" + more_than(bounds.domain_bytes_max, "bytes");
  } else if (request.descriptors.empty()) {
    problem = "descriptors: must not be empty";
  } else if (request.descriptors.size() > bounds.descriptors_max) {
    problem = "descriptors" + more_than(bounds.descriptors_max, "of them");
  }
  for (std::size_t i = 0; problem.empty() && i < request.descriptors.size(); ++i) {
    problem = problem_of(request.descriptors[i], i, bounds);
  }
  return problem.empty();
}

}  // namespace sluice
