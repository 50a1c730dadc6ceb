#include "tests/conformance/case_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "sluice/vocabulary/wide.h"

namespace sluice::conformance {
namespace {

using Words = std::vector<std::string_view>;

struct Unit {
  std::string_view name;
  std::int64_t ns;
};

constexpr std::array kUnits{Unit{"ns", 1},
                            Unit{"us", 1'000},
                            Unit{"ms", 1'000'000},
                            Unit{"s", 1'000'000'000},
                            Unit{"m", 60'000'000'000},
                            Unit{"h", 3'600'000'000'000},
                            Unit{"d", 86'400'000'000'000}};

// The words of `unit:` in rule files.
constexpr std::array kPeriods{
    Unit{"second", 1},     Unit{"minute", 60},       Unit{"hour", 3'600},     Unit{"day", 86'400},
    Unit{"week", 604'800}, Unit{"month", 2'592'000}, Unit{"year", 31'536'000}};

constexpr std::array<std::pair<std::string_view, Algorithm>, 7> kAlgorithms{{
    {"fixed_window", Algorithm::fixed_window},
    {"sliding_window", Algorithm::sliding_window},
    {"sliding_log", Algorithm::sliding_log},
    {"token_bucket", Algorithm::token_bucket},
    {"gcra", Algorithm::token_bucket},
    {"leaky_bucket", Algorithm::leaky_bucket},
    {"concurrency", Algorithm::concurrency},
}};

constexpr std::array<std::pair<std::string_view, Action>, 5> kActions{{
    {"take", Action::take},
    {"peek", Action::peek},
    {"refund", Action::refund},
    {"release", Action::release},
    {"renew", Action::renew},
}};

template <typename Table>
auto find(const Table& table, std::string_view name) -> std::optional<decltype(table[0].second)> {
  for (const auto& [word, value] : table) {
    if (word == name) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.ns;
  }
  return std::nullopt;
}

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_flag(std::string_view text, bool& flag) {
  flag = text == "true";
  return flag || text == "false";
}

bool parse_into(std::string_view text, Duration& duration) {
  const auto parsed = parse_duration(text);
  duration = parsed.value_or(Duration{0});
  return parsed.has_value();
}

Words split(std::string_view line) {
  Words words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') return words;
    line.remove_prefix(begin);
    const std::size_t length = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  Result<std::vector<Case>> parse() {
    while (!text_.empty()) {
      const std::size_t length = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, length);
      text_.remove_prefix(std::min(length + 1, text_.size()));
      ++line_;
      const Words words = split(line);
      if (words.empty()) continue;
      if (const std::string reason = parse_line(line, words); !reason.empty()) {
        return Error{ErrorCode::invalid_argument,
                     file_ + ":" + std::to_string(line_) + ": " + reason};
      }
    }
    return std::move(cases_);
  }

 private:
  // Each returns what is wrong, or nothing.
  std::string parse_line(std::string_view line, const Words& words) {
    if (words[0] == "case") {
      if (words.size() < 2) return "a case needs a name";
      const auto begin = static_cast<std::size_t>(words[1].data() - line.data());
      const auto end =
          static_cast<std::size_t>(words.back().data() - line.data()) + words.back().size();
      cases_.push_back({.file = file_,
                        .line = line_,
                        .name = std::string(line.substr(begin, end - begin)),
                        .limit = {},
                        .steps = {}});
      has_limit_ = false;
      return {};
    }
    if (cases_.empty()) return "expected `case NAME` first";
    if (words[0] == "limit") {
      if (has_limit_) return "a case begins with one limit; later: `at TIME limit ...`";
      has_limit_ = true;
      return parse_limit(words, 1, cases_.back().limit);
    }
    if (words[0] != "at") return "expected `case`, `limit` or `at`, got `" + word(words, 0) + "`";
    if (!has_limit_) return "a case needs a `limit` before its steps";
    return parse_step(words);
  }

  std::string parse_limit(const Words& words, std::size_t from, Limit& limit) {
    bool has_burst = false;
    std::int64_t unit_seconds = 0;
    std::int64_t multiplier = 1;
    for (std::size_t i = from; i < words.size(); ++i) {
      const std::size_t sign = words[i].find('=');
      if (sign == std::string_view::npos) return "expected KEY=VALUE, got `" + word(words, i) + "`";
      const std::string_view key = words[i].substr(0, sign);
      const std::string_view value = words[i].substr(sign + 1);
      has_burst |= key == "burst";
      if (key == "unit") {
        const auto seconds = find_unit(kPeriods, value);
        if (!seconds) return "no such unit: `" + std::string(value) + "`";
        unit_seconds = *seconds;
      } else if (key == "unit_multiplier") {
        if (!parse_number(value, multiplier)) return "not a number: `" + std::string(value) + "`";
      } else if (const std::string reason = parse_limit_key(key, value, limit); !reason.empty()) {
        return reason;
      }
    }
    if (unit_seconds > 0) limit.period = std::chrono::seconds{unit_seconds * multiplier};
    if (!has_burst) limit.burst = limit.requests;
    const auto valid = validate_limit(limit);
    return valid ? std::string{} : valid.error().message;
  }

  static std::string parse_limit_key(std::string_view key, std::string_view value, Limit& limit) {
    bool is_good = true;
    if (key == "algorithm") {
      const auto algorithm = find(kAlgorithms, value);
      if (!algorithm) return "no such algorithm: `" + std::string(value) + "`";
      limit.algorithm = *algorithm;
    } else if (key == "requests" || key == "requests_per_unit") {
      is_good = parse_number(value, limit.requests);
    } else if (key == "period") {
      is_good = parse_into(value, limit.period);
    } else if (key == "burst") {
      is_good = parse_number(value, limit.burst);
    } else if (key == "sub_windows") {
      is_good = parse_number(value, limit.sub_windows);
    } else if (key == "permit_ttl") {
      is_good = parse_into(value, limit.permit_ttl);
    } else if (key == "block_for") {
      is_good = parse_into(value, limit.block_for);
    } else if (key == "warm_up") {
      is_good = parse_into(value, limit.warm_up);
    } else if (key == "count_denied") {
      is_good = parse_flag(value, limit.count_denied);
    } else if (key == "overdraft") {
      is_good = parse_flag(value, limit.overdraft);
    } else {
      return "no such key of a limit: `" + std::string(key) + "`";
    }
    return is_good ? std::string{}
                   : "bad value for " + std::string(key) + ": `" + std::string(value) + "`";
  }

  // at TIME ACTION [N|NAME] [key=NAME] [permit=NAME] [-> OUTCOME [FIELD=VALUE]...]
  std::string parse_step(const Words& words) {
    Step step{.line = line_,
              .at = {},
              .action = Action::take,
              .cost = 1,
              .key = {},
              .permit = {},
              .limit = {},
              .expected = {}};
    const auto at = words.size() > 1 ? parse_duration(words[1]) : std::nullopt;
    if (!at) return "expected a time after `at`, got `" + word(words, 1) + "`";
    step.at = Instant{} + *at;
    if (word(words, 2) == "limit") {
      step.action = Action::change_limit;
      if (auto reason = parse_limit(words, 3, step.limit); !reason.empty()) return reason;
      cases_.back().steps.push_back(std::move(step));
      return {};
    }
    const auto action = find(kActions, word(words, 2));
    if (!action) return "no such action: `" + word(words, 2) + "`";
    step.action = *action;
    std::size_t i = 3;
    for (; i < words.size() && words[i] != "->"; ++i) {
      if (const auto reason = parse_argument(words[i], step); !reason.empty()) return reason;
    }
    const bool names_permit = step.action == Action::release || step.action == Action::renew;
    if (names_permit && step.permit.empty()) return word(words, 2) + " needs a permit's name";
    if (i < words.size()) {
      if (const auto reason = parse_expected(words, i + 1, step.expected); !reason.empty()) {
        return reason;
      }
    }
    cases_.back().steps.push_back(std::move(step));
    return {};
  }

  static std::string parse_argument(std::string_view text, Step& step) {
    if (text.starts_with("key=")) {
      step.key = text.substr(4);
    } else if (text.starts_with("permit=")) {
      step.permit = text.substr(7);
    } else if (step.action == Action::release || step.action == Action::renew) {
      step.permit = text;
    } else if (!parse_number(text, step.cost)) {
      return "not a cost: `" + std::string(text) + "`";
    }
    return {};
  }

  std::string parse_expected(const Words& words, std::size_t from, Expected& expected) {
    static constexpr std::array<std::string_view, 5> kOutcomes{"allowed", "denied", "never", "ok",
                                                               "not_found"};
    expected.outcome = word(words, from);
    if (std::find(kOutcomes.begin(), kOutcomes.end(), expected.outcome) == kOutcomes.end()) {
      return "no such outcome: `" + expected.outcome + "`";
    }
    for (std::size_t i = from + 1; i < words.size(); ++i) {
      const std::size_t sign = std::min(words[i].find('='), words[i].size() - 1);
      const std::string_view field = words[i].substr(0, sign);
      const std::string_view value = words[i].substr(sign + 1);
      bool is_good = true;
      if (field == "remaining") {
        is_good = parse_number(value, expected.remaining.emplace());
      } else if (field == "limit") {
        is_good = parse_number(value, expected.limit.emplace());
      } else if (field == "retry") {
        is_good = parse_into(value, expected.retry.emplace());
      } else if (field == "reset") {
        is_good = parse_into(value, expected.reset.emplace());
      } else if (field == "delay") {
        is_good = parse_into(value, expected.delay.emplace());
      } else {
        return "no such field: `" + std::string(field) + "`";
      }
      if (!is_good) return "bad value: `" + word(words, i) + "`";
    }
    return {};
  }

  static std::string word(const Words& words, std::size_t i) {
    return i < words.size() ? std::string(words[i]) : std::string{};
  }

  const std::string& file_;
  std::string_view text_;
  int line_ = 0;
  bool has_limit_ = false;
  std::vector<Case> cases_;
};

// One number with its unit off the front of the text.
std::optional<SignedWide> take_part(std::string_view& text) {
  SignedWide whole = 0;
  SignedWide scale = 1;
  bool is_fraction = false;
  std::size_t length = 0;
  for (; length < text.size(); ++length) {
    const char c = text[length];
    if (c == '.' && !is_fraction) {
      is_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    whole = whole * 10 + (c - '0');
    if (is_fraction) scale *= 10;
    if (whole > 10'000'000'000'000'000'000U || scale > 1'000'000'000'000) return std::nullopt;
  }
  if (length == 0 || text[length - 1] == '.') return std::nullopt;
  text.remove_prefix(length);
  const std::size_t unit_length = std::min(text.find_first_of("0123456789."), text.size());
  const auto unit = find_unit(kUnits, text.substr(0, unit_length));
  text.remove_prefix(unit_length);
  if (!unit || whole * *unit % scale != 0) return std::nullopt;  // Less than a nanosecond.
  return whole * *unit / scale;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{0};
  SignedWide sum = 0;
  do {
    const auto part = take_part(text);
    if (!part) return std::nullopt;
    sum += *part;
    if (sum > Duration::max().count()) return std::nullopt;
  } while (!text.empty());
  return Duration{static_cast<std::int64_t>(sum)};
}

std::string format_duration(Duration duration) {
  if (duration == kNever) return "never";
  if (duration == Duration{0}) return "0";
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    if (duration.count() % unit->ns == 0) {
      return std::to_string(duration.count() / unit->ns) + std::string(unit->name);
    }
  }
  return std::to_string(duration.count()) + "ns";
}

Result<std::vector<Case>> parse_case_file(const std::string& file, std::string_view text) {
  return Parser(file, text).parse();
}

}  // namespace sluice::conformance
