// One limit for a whole program: 100 requests an hour on average, 3 at once.
#include "sluice/limiter.h"

#include <cstdio>

#include "sluice/system_clock.h"

int main() {
  using namespace std::chrono_literals;
  const sluice::SystemClock clock;
  const auto limiter =
      sluice::Limiter::open(
          {.algorithm = sluice::Algorithm::token_bucket, .requests = 100, .period = 1h, .burst = 3},
          clock)
          .value();
  int refused = 0;
  for (int request = 1; request <= 5; ++request) {
    const sluice::Decision decision = limiter->decide();
    if (decision.verdict == sluice::Verdict::allowed) {
      std::printf("request %d: allowed, %u more at once\n", request, decision.remaining);
    } else {
      ++refused;
      std::printf("request %d: refused, try again in %lld s\n", request,
                  static_cast<long long>(
                      std::chrono::ceil<std::chrono::seconds>(decision.retry_after).count()));
    }
  }
  limiter->refund();  // One of them failed before it cost anything.
  std::printf("after a refund: %s\n", limiter->try_acquire() ? "allowed" : "refused");
  return refused == 2 ? 0 : 1;
}
