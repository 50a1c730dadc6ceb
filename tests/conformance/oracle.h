// A naive limiter, written apart from include/sluice/algorithm and meant to be obviously right
// rather than fast: a bucket is a balance that grows, a window is a list of counts, a log is a list
// of hits. Each algorithm says only whether a cost fits at an instant, when a key is at rest, and
// what a charge does; every number of a Decision is then found by asking those questions again and
// again (bisection), never by a formula.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/limit.h"

namespace sluice::conformance {

// One key of one algorithm.
class Model {
 public:
  virtual ~Model() = default;
  virtual std::unique_ptr<Model> copy() const = 0;
  virtual bool is_ever_seen() const = 0;
  // The limit changed to one of the same algorithm and period.
  virtual void change_limit(const Limit& limit, Instant now) = 0;
  // Whether `cost` hits pass at `now`, if nothing else happens until then.
  virtual bool fits(Cost cost, Instant now) const = 0;
  virtual bool is_at_rest(Instant now) const = 0;
  virtual void charge(Cost cost, Instant now, const std::string& permit) = 0;
  virtual void refund(Cost cost, Instant now) = 0;
  // Of concurrency alone.
  virtual bool release(const std::string& /*permit*/, Instant /*now*/) { return false; }
  virtual bool renew(const std::string& /*permit*/, Instant /*now*/) { return false; }
};

std::unique_ptr<Model> make_model(const Limit& limit);

// All keys of one limit.
class Oracle {
 public:
  explicit Oracle(const Limit& limit) : limit_(limit) {}

  void change_limit(const Limit& limit);
  Decision take(const std::string& key, Cost cost, Instant now, const std::string& permit = {});
  Decision peek(const std::string& key, Cost cost, Instant now) const;
  void refund(const std::string& key, Cost cost, Instant now);
  bool release(const std::string& key, const std::string& permit, Instant now);
  bool renew(const std::string& key, const std::string& permit, Instant now);

 private:
  struct Entry {
    std::unique_ptr<Model> model;
    Limit limit;  // Under which the model was last charged.
    Instant blocked_until;
  };

  // The key's model under today's limit: a copy, or the kept one.
  std::unique_ptr<Model> current(const std::string& key, Instant now) const;
  Model& make_current(const std::string& key, Instant now);
  Decision describe(const Model& model, const std::string& key, Cost cost, Instant now) const;

  Limit limit_;
  std::map<std::string, Entry> entries_;
};

}  // namespace sluice::conformance
