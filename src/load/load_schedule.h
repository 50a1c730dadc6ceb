// Which request starts when. In a closed loop one starts whenever a connection is free. In an open
// loop request n is due at n/rate seconds whether or not the server keeps up, and its latency
// counts from that instant: a stalled server cannot hide by stalling the client (coordinated
// omission). Time is passed in. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "load/load_plan.h"

namespace sluice::load {

class LoadSchedule {
 public:
  explicit LoadSchedule(const LoadPlan& plan);

  struct Start {
    std::uint64_t number;  // Of the request, from 0 over all targets.
    Instant due;           // What its latency counts from.
  };

  void begin(Instant now) { begin_ = now; }

  // The next request of a target, if it is due and the run is not over.
  std::optional<Start> take(std::size_t target, Instant now);

  // No request will start any more.
  bool is_over(Instant now) const;
  void stop() { is_stopped_ = true; }

  // Open loop: when the target's next request is due; kInstantMax when there is none, or in a
  // closed loop.
  Instant next_due(std::size_t target) const;

  // Open loop: requests that were due by `now` and never started.
  std::uint64_t unsent(Instant now) const;

 private:
  std::uint64_t number_of(std::size_t target) const;
  Instant due_at(std::uint64_t number) const;
  Instant end() const { return duration_ ? begin_ + *duration_ : kInstantMax; }

  std::vector<std::uint64_t> started_;  // By target.
  std::uint64_t total_;
  std::optional<Duration> duration_;
  double ns_per_request_;  // 0 in a closed loop.
  Instant begin_{0};
  bool is_stopped_ = false;
};

}  // namespace sluice::load
