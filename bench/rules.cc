// Rule sets at size: how long a file takes to load, what a value occupies, and what a match costs
// with a thousand and with a million exact values of one key.
//
//   rules [--smoke]
//
// A match is measured on random values, so that the slot, the node and the bytes of the value are
// as cold as the caches make them; a dependent random read over the same memory is the baseline.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "config/rule_loader.h"
#include "engine/rule_matcher.h"

namespace {

using namespace sluice;
using Seconds = std::chrono::duration<double>;

double since(std::chrono::steady_clock::time_point start) {
  return Seconds(std::chrono::steady_clock::now() - start).count();
}

std::string value_of(std::size_t i) {
  return fmt::format("customer-{:08}", i);
}

// Fifty different limits among the values, as plans of customers would be.
void write_rules(const std::string& file, std::size_t values) {
  std::ofstream out(file);
  out << "domain: api\ndescriptors:\n";
  for (std::size_t i = 0; i < values; ++i) {
    out << "  - key: api_key\n    value: " << value_of(i) << "\n    rate_limit:\n"
        << "      unit: minute\n      requests_per_unit: " << 100 * (1 + i % 50) << "\n";
  }
}

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Random reads, each address taken from the read before.
double dependent_read_ns(std::size_t bytes) {
  std::vector<std::uint32_t> next(bytes / sizeof(std::uint32_t));
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<std::uint32_t>(i);
  std::mt19937_64 random(1);
  for (std::size_t i = next.size() - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  constexpr std::size_t kReads = 2'000'000;
  std::uint32_t at = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kReads; ++i) at = next[at];
  const double ns = since(start) * 1e9 / kReads;
  return at == 0xffff'ffff ? 0 : ns;
}

double match_ns(const RuleMatcher& matcher, std::size_t values) {
  constexpr std::size_t kQueries = 1 << 16;
  std::mt19937_64 random(2);
  std::vector<std::string> queries;
  for (std::size_t i = 0; i < kQueries; ++i) queries.push_back(value_of(random() % values));
  const RuleDomain& domain = *matcher.find_domain("api");
  double best = 1e9;
  std::size_t found = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& query : queries) {
      const Entry entry{"api_key", query};
      std::string_view identity;
      found += matcher.match(domain, {&entry, 1}, {&identity, 1}).limits.size();
    }
    best = std::min(best, since(start) * 1e9 / kQueries);
  }
  if (found != 5 * kQueries) std::abort();
  return best;
}

void measure(const std::string& folder, std::size_t values) {
  const std::string file = folder + "/rules.yaml";
  write_rules(file, values);
  const std::size_t before = resident_bytes();
  auto start = std::chrono::steady_clock::now();
  LoadedRules loaded = load_rules({&file, 1});
  const double load = since(start);
  if (!loaded.errors.empty()) {
    fmt::print(stderr, "{}\n", problem_text(loaded.errors[0]));
    std::exit(1);
  }
  const auto rules = std::make_shared<const RuleSet>(std::move(loaded.rules));
  start = std::chrono::steady_clock::now();
  const RuleMatcher matcher(rules);
  const double compile = since(start);
  const double bytes = static_cast<double>(rules->memory_bytes() + matcher.memory_bytes());
  const double grown = static_cast<double>(resident_bytes()) - static_cast<double>(before);
  fmt::print(
      "{:>9} values: load {:.3f} s, compile {:.3f} s, {:.0f} bytes a value "
      "(resident {:.0f}), match {:.0f} ns\n",
      values, load, compile, bytes / static_cast<double>(values),
      std::max(grown, 0.0) / static_cast<double>(values), match_ns(matcher, values));
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("sluice-bench-rules-{}", getpid());
  std::filesystem::create_directories(folder);
  measure(folder, 1000);
  measure(folder, is_smoke ? 10'000 : 1'000'000);
  std::filesystem::remove_all(folder);
  if (!is_smoke)
    fmt::print("a dependent random read over 64 MB: {:.0f} ns\n", dependent_read_ns(64 << 20));
}
