#include "base/closest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kWrittenMax = 64;  // Nothing longer is a slip of a known name.

}  // namespace

// Three rows of the usual table (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string_view closest_name(std::string_view written, std::span<const std::string_view> names) {
  if (written.empty() || written.size() > kWrittenMax) return {};
  std::string_view closest;
  std::size_t distance_max = std::max<std::size_t>(1, written.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(written, name);
    if (distance >= distance_max) continue;
    distance_max = distance;
    closest = name;
  }
  return closest;
}

std::string did_you_mean(std::string_view written, std::span<const std::string_view> names) {
  const std::string_view closest = closest_name(written, names);
  if (closest.empty()) return {};
  return std::string{"; did you mean '"}.append(closest).append("'?");
}

}  // namespace sluice
