// A limit for each of many keys in bounded memory: every user has 2 at once and 10 an hour, and a
// batch of keys is decided in one call.
#include <array>
#include <cstdio>

#include "sluice/keyed_limiter.h"
#include "sluice/system_clock.h"

int main() {
  const sluice::SystemClock clock;
  const auto limiter = sluice::KeyedLimiter::open({.algorithm = sluice::Algorithm::token_bucket,
                                                   .requests = 10,
                                                   .period = std::chrono::hours{1},
                                                   .burst = 2},
                                                  clock, {.keys_max = 100'000})
                           .value();

  int refused = 0;
  for (const char* user : {"ada", "ada", "ada", "grace"}) {
    const bool is_allowed = limiter->try_acquire(user);
    if (!is_allowed) ++refused;
    std::printf("%s: %s\n", user, is_allowed ? "allowed" : "refused");
  }

  const std::array<sluice::LimiterKey, 3> batch{"linus", "linus", "linus"};
  std::array<bool, 3> is_allowed{};
  limiter->try_acquire(batch, 1, clock.now(), is_allowed);
  for (const bool one : is_allowed) refused += one ? 0 : 1;
  std::printf("of three at once, linus gets %d\n", is_allowed[0] + is_allowed[1] + is_allowed[2]);
  return refused == 2 ? 0 : 1;
}
