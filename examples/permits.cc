// How many may be at work at once: two connections to a database, shared by six workers. A permit
// is given back when it goes out of scope, also by an exception.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "sluice/permit.h"
#include "sluice/system_clock.h"

int main() {
  using namespace std::chrono_literals;
  const sluice::SystemClock clock;
  // A worker that never comes back loses its place after 30 s.
  sluice::ConcurrencyLimiter connections(2, clock, {.permit_ttl = 30s});

  std::atomic<int> at_work{0};
  std::atomic<bool> was_exceeded{false};
  std::vector<std::thread> workers;
  for (int worker = 1; worker <= 6; ++worker) {
    workers.emplace_back([&] {
      const sluice::PermitResult waited = connections.acquire(1, clock.now() + 10s);
      if (!waited.permit) return;
      if (++at_work > 2) was_exceeded = true;
      --at_work;  // Here the query would run.
    });
  }
  for (std::thread& worker : workers) worker.join();

  const sluice::Permit first = connections.try_acquire();
  const sluice::Permit second = connections.try_acquire();
  std::printf("a third at once: %s\n", connections.try_acquire() ? "allowed" : "refused");
  std::printf("more than two at work: %s\n", was_exceeded ? "yes" : "never");
  return was_exceeded ? 1 : 0;
}
