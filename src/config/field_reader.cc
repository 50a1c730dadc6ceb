#include "config/field_reader.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/closest_name.h"
#include "base/duration_text.h"
#include "config/rule_loader.h"

namespace sluice {
namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Long and unprintable text does not belong into a message.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  std::string out{"'"};
  for (const char c : text.substr(0, kShownMax)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + (text.size() > kShownMax ? "...'" : "'");
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_number = end == text.data() + text.size() && !text.empty();
  if (is_number && failure == std::errc{} && count >= least && count <= most) return count;
  const bool is_negative = text.starts_with('-') && text.size() > 1;
  if (is_negative) return invalid(quoted(text) + " is negative; it must be a whole number");
  if (!is_number && failure != std::errc::result_out_of_range) {
    return invalid(quoted(text) + " is not a whole number");
  }
  return invalid(quoted(text) + " must lie between " + std::to_string(least) + " and " +
                 std::to_string(most));
}

Result<bool> parse_yes_or_no(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return invalid(quoted(text) + " is neither true nor false");
}

Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> choices) {
  const std::string word = lower(text);
  const auto found = std::ranges::find(choices, word);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  std::string message = quoted(text) + " is none of";
  for (const std::string_view choice : choices) message.append(" ").append(choice);
  return invalid(message + did_you_mean(word, choices));
}

void ProblemLog::Kept::add(Problem problem) {
  if (problems.size() < kProblemsMax) {
    problems.push_back(std::move(problem));
  } else {
    ++left_out;
  }
}

std::vector<Problem> ProblemLog::Kept::take(std::string_view word) {
  std::ranges::stable_sort(
      problems, {}, [](const Problem& problem) { return std::tie(problem.file, problem.line); });
  if (left_out > 0) {
    problems.push_back({"", 0, "and " + std::to_string(left_out) + " more " + std::string{word}});
  }
  return std::move(problems);
}

void ProblemLog::error(std::uint32_t line, std::string message) {
  errors_.add({file_, line, std::move(message)});
}

void ProblemLog::warning(std::uint32_t line, std::string message) {
  warnings_.add({file_, line, std::move(message)});
}

void ProblemLog::add_errors(std::vector<Problem> problems) {
  for (Problem& problem : problems) errors_.add(std::move(problem));
}

void ProblemLog::add_warnings(std::vector<Problem> problems) {
  for (Problem& problem : problems) warnings_.add(std::move(problem));
}

std::vector<Problem> ProblemLog::take_errors() {
  return errors_.take("errors");
}
std::vector<Problem> ProblemLog::take_warnings() {
  return warnings_.take("warnings");
}

FieldReader::FieldReader(const YamlValue& mapping, std::span<const Field> known, ProblemLog& log)
    : mapping_(mapping), known_(known), log_(log) {
  constexpr std::size_t kFieldsMax = 64;  // More cannot be right, and comparing them takes long.
  if (mapping.fields.size() > kFieldsMax) log_.error(mapping.line, "more than 64 keys");
  for (const YamlField& written :
       std::span(mapping.fields).first(std::min(mapping.fields.size(), kFieldsMax))) {
    if (find(written.key) != &written.value) {
      log_.error(written.line, "key " + quoted(written.key) + " stands here twice");
    }
    if (std::ranges::find(known, written.key, &Field::name) != known.end()) continue;
    std::vector<std::string_view> names;
    for (const Field& field : known) names.push_back(field.name);
    log_.error(written.line,
               "unknown key " + quoted(written.key) + did_you_mean(lower(written.key), names));
  }
}

const YamlValue* FieldReader::find(std::string_view name) const {
  const auto found = std::ranges::find(mapping_.fields, name, &YamlField::key);
  return found == mapping_.fields.end() ? nullptr : &found->value;
}

bool FieldReader::has(std::string_view name) const {
  const YamlValue* const value = find(name);
  return value != nullptr && value->kind != YamlValue::Kind::null;
}

std::uint32_t FieldReader::line_of(std::string_view name) const {
  const YamlValue* const value = find(name);
  return value == nullptr ? mapping_.line : value->line;
}

const Field& FieldReader::field(std::string_view name) const {
  return *std::ranges::find(known_, name, &Field::name);
}

const YamlValue* FieldReader::find_scalar(std::string_view name) {
  if (!has(name)) return nullptr;
  const YamlValue* const value = find(name);
  if (value->kind == YamlValue::Kind::scalar) return value;
  error(name, value->kind == YamlValue::Kind::mapping ? "must be one value, not a mapping"
                                                      : "must be one value, not a list");
  return nullptr;
}

void FieldReader::error(std::string_view name, const std::string& message) {
  log_.error(line_of(name), std::string{name} + ": " + message);
}

void FieldReader::warning(std::string_view name, const std::string& message) {
  log_.warning(line_of(name), std::string{name} + ": " + message);
}

void FieldReader::read(std::string_view name, std::string& text, std::size_t bytes_max) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return;
  if (value->text.size() > bytes_max) {
    error(name, "longer than " + std::to_string(bytes_max) + " bytes");
    return;
  }
  text = value->text;
}

void FieldReader::read(std::string_view name, bool& flag) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return;
  const Result<bool> read = parse_yes_or_no(value->text);
  if (!read || !value->is_plain) return error(name, "must be true or false");
  flag = *read;
}

void FieldReader::read(std::string_view name, std::uint32_t& count) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return;
  if (!value->is_plain) return error(name, quoted(value->text) + " is text, not a whole number");
  const Result<std::uint64_t> read = parse_count(value->text, field(name).least, field(name).most);
  if (!read) return error(name, read.error().message);
  count = static_cast<std::uint32_t>(*read);
}

void FieldReader::read(std::string_view name, double& share) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return;
  double number = -1;
  const char* const end = value->text.data() + value->text.size();
  const auto [stopped, failure] = std::from_chars(value->text.data(), end, number);
  if (failure != std::errc{} || stopped != end || !(number >= 0 && number <= 1)) {
    return error(name, quoted(value->text) + " must be a number between 0 and 1");
  }
  share = number;
}

void FieldReader::read(std::string_view name, Duration& duration) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return;
  const Result<Duration> read = parse_duration(value->text);
  if (!read) return error(name, read.error().message);
  duration = *read;
}

std::optional<std::size_t> FieldReader::read_choice(std::string_view name) {
  const YamlValue* const value = find_scalar(name);
  if (value == nullptr) return std::nullopt;
  const Result<std::size_t> read = parse_choice(value->text, field(name).choices);
  if (read) return *read;
  error(name, read.error().message);
  return std::nullopt;
}

}  // namespace sluice
