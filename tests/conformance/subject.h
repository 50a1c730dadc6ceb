// What a conformance case runs against: the oracle, the algorithm headers on a plain map, or a
// store. Cases run on virtual time from Unix time 0; a subject belongs to one case.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/limit.h"

namespace sluice::conformance {

class Subject {
 public:
  virtual ~Subject() = default;

  virtual Result<void> set_limit(const Limit& limit) = 0;
  virtual Decision take(const std::string& key, Cost cost, Instant now,
                        const std::string& permit) = 0;
  virtual Decision peek(const std::string& key, Cost cost, Instant now) = 0;
  virtual void refund(const std::string& key, Cost cost, Instant now) = 0;
  virtual bool release(const std::string& key, const std::string& permit, Instant now) = 0;
  virtual bool renew(const std::string& key, const std::string& permit, Instant now) = 0;
};

// The naive limiter of oracle.h.
std::unique_ptr<Subject> make_oracle_subject();

// include/sluice/algorithm, with states in a map.
std::unique_ptr<Subject> make_header_subject();

// src/stores' memory store, through Store::submit.
Result<std::unique_ptr<Subject>> make_memory_subject();

// `oracle`, `headers` or `memory`. unsupported: a store that is not built yet.
Result<std::unique_ptr<Subject>> make_subject(std::string_view store);

}  // namespace sluice::conformance
