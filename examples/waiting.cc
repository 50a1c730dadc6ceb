// Waiting for a turn instead of being refused: first come, first served, with a deadline and a way
// to give up. Nobody polls: each waiter sleeps until its own turn.
#include <cstdio>
#include <thread>
#include <vector>

#include "sluice/limiter.h"
#include "sluice/system_clock.h"

int main() {
  using namespace std::chrono_literals;
  const sluice::SystemClock clock;
  const auto limiter =
      sluice::Limiter::open(
          {.algorithm = sluice::Algorithm::token_bucket, .requests = 100, .burst = 1}, clock)
          .value();

  std::vector<std::thread> workers;
  for (int worker = 1; worker <= 4; ++worker) {
    workers.emplace_back([&, worker] {
      if (limiter->acquire()) std::printf("worker %d: its turn\n", worker);
    });
  }
  for (std::thread& worker : workers) worker.join();

  // The next turn is 10 ms away: told at once that it does not fit into 1 ms.
  const sluice::AcquireResult late = limiter->acquire(1, clock.now() + 1ms);
  std::printf("with a deadline: %s\n", late ? "granted" : "too late, nothing was consumed");

  // A place in the future, given back.
  sluice::Reservation reservation = limiter->reserve();
  std::printf("reserved, in %lld us\n", static_cast<long long>(reservation.wait() / 1us));
  (void)reservation.cancel();

  // Anybody may call off the waiting of others.
  std::stop_source stop;
  (void)limiter->reserve(1);
  std::thread impatient([&] {
    const auto result = limiter->acquire(1, sluice::kInstantMax, stop.get_token());
    std::printf("impatient worker: %s\n", result ? "granted" : "stopped");
  });
  stop.request_stop();
  impatient.join();
}
