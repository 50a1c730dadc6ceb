// The fields of one YAML mapping, read by name against a table of what may stand there. A wrong
// type, an unknown or repeated key is a problem with its line; the reader goes on, so that all
// problems of a file are told at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_reader.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/problem.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

enum class FieldKind : std::uint8_t {
  text,
  yes_or_no,
  count,  // A whole number.
  share,  // 0 to 1.
  duration,
  choice,  // One of Field::choices.
  texts,   // A list of text.
  names,   // A list of {name: text}.
  any,     // A mapping of anything.
  limit,   // The mappings and lists of rule files.
  limits,
  descriptors,
};

struct Field {
  static constexpr std::size_t kAllOffered = ~std::size_t{0};

  std::string_view name;
  FieldKind kind = FieldKind::text;
  std::string_view meaning;  // One line for the schema and the documentation.
  std::span<const std::string_view> choices = {};
  std::uint64_t least = 0;  // count
  std::uint64_t most = 0xffff'ffff;
  // How many of the choices this version takes, the first ones; 0: it does not take the key.
  std::size_t offered = kAllOffered;

  bool is_offered() const noexcept { return offered > 0; }
};

// Where problems go, up to a bound; what is beyond is counted.
class ProblemLog {
 public:
  void begin_file(std::string_view file) { file_ = file; }
  void error(std::uint32_t line, std::string message);
  void warning(std::uint32_t line, std::string message);
  void add_errors(std::vector<Problem> problems);  // They carry their own file.
  void add_warnings(std::vector<Problem> problems);

  std::size_t error_count() const noexcept { return errors_.problems.size() + errors_.left_out; }
  // In the order of lines; the last says how many more there are.
  std::vector<Problem> take_errors();
  std::vector<Problem> take_warnings();

 private:
  struct Kept {
    std::vector<Problem> problems;
    std::size_t left_out = 0;
    void add(Problem problem);
    std::vector<Problem> take(std::string_view word);
  };
  std::string file_;
  Kept errors_;
  Kept warnings_;
};

class FieldReader {
 public:
  // Checks the keys at once. The mapping outlives the reader.
  FieldReader(const YamlValue& mapping, std::span<const Field> known, ProblemLog& log);

  const YamlValue* find(std::string_view name) const;
  bool has(std::string_view name) const;               // Neither absent nor null.
  std::uint32_t line_of(std::string_view name) const;  // Else the mapping's.

  // Each leaves its target as it is when the field is absent, null or wrong.
  void read(std::string_view name, std::string& text, std::size_t bytes_max);
  void read(std::string_view name, bool& flag);
  void read(std::string_view name, std::uint32_t& count);
  void read(std::string_view name, double& share);
  void read(std::string_view name, Duration& duration);
  // The index of the choice, letters compared without case.
  std::optional<std::size_t> read_choice(std::string_view name);

  void error(std::string_view name, const std::string& message);
  void warning(std::string_view name, const std::string& message);

 private:
  const Field& field(std::string_view name) const;
  const YamlValue* find_scalar(std::string_view name);

  const YamlValue& mapping_;
  std::span<const Field> known_;
  ProblemLog& log_;
};

// Shared with flags and the environment, where values are bare text. The error says what is
// expected.
Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least, std::uint64_t most);
Result<bool> parse_yes_or_no(std::string_view text);
Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> choices);

}  // namespace sluice
