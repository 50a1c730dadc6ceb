// The operator is the first of `= ! < >` outside brackets: a name such as `X-Instance-ID[a=b]` may
// hold them.
#include "load/threshold.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace sluice::load {
namespace {

using Operator = Threshold::Operator;
using Unit = Threshold::Unit;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::size_t operator_in(std::string_view text) {
  const std::size_t bracket = text.find('[');
  const std::size_t first = text.find_first_of("=!<>");
  if (bracket > first) return first;
  return text.find_first_of("=!<>", std::min(text.rfind(']'), text.size()));
}

bool read_operator(std::string_view& text, Operator& op) {
  constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"==", Operator::equal},    {"!=", Operator::unequal}, {"<=", Operator::at_most},
      {">=", Operator::at_least}, {"<", Operator::less},     {">", Operator::greater}};
  for (const auto& [sign, meaning] : kOperators) {
    if (!text.starts_with(sign)) continue;
    text.remove_prefix(sign.size());
    op = meaning;
    return true;
  }
  return false;
}

bool read_value(std::string_view text, Threshold& threshold) {
  struct Suffix {
    std::string_view text;
    double factor;
    Unit unit;
  };
  constexpr Suffix kSuffixes[] = {{"", 1, Unit::number},          {"%", 0.01, Unit::share},
                                  {"ns", 1, Unit::nanoseconds},   {"us", 1e3, Unit::nanoseconds},
                                  {"ms", 1e6, Unit::nanoseconds}, {"s", 1e9, Unit::nanoseconds}};
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) return false;
  const std::string_view rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const Suffix& suffix : kSuffixes) {
    if (rest != suffix.text) continue;
    threshold.value = number * suffix.factor;
    threshold.unit = suffix.unit;
    return true;
  }
  return false;
}

}  // namespace

bool Threshold::holds_for(double actual) const noexcept {
  switch (op) {
    case Operator::equal:
      return actual == value;
    case Operator::unequal:
      return actual != value;
    case Operator::less:
      return actual < value;
    case Operator::at_most:
      return actual <= value;
    case Operator::greater:
      return actual > value;
    case Operator::at_least:
      return actual >= value;
  }
  return false;
}

Result<Threshold> parse_threshold(std::string_view text) {
  Threshold threshold;
  threshold.text = text;
  const std::size_t at = operator_in(text);
  threshold.name = trimmed(text.substr(0, at));
  std::string_view rest = at == std::string_view::npos ? "" : text.substr(at);
  if (threshold.name.empty() || !read_operator(rest, threshold.op) ||
      !read_value(trimmed(rest), threshold)) {
    return Error{ErrorCode::invalid_argument,
                 "'" + std::string{text} +
                     "': write NAME, one of == != < <= > >=, and a number with an optional unit "
                     "(ns us ms s %), such as 'allowed==100' or 'p99<5ms'"};
  }
  return threshold;
}

}  // namespace sluice::load
