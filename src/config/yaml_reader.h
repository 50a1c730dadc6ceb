// YAML as a stream of events (libyaml, whose grammar is the one envoyproxy/ratelimit reads), and
// small trees of it where random access pays. Nothing throws; after an error every further event
// is `failed`.
//
// libyaml and not yaml-cpp: the events of a million rules take 3 s instead of 24 s.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/problem.h"

namespace sluice {

inline constexpr std::size_t kYamlDepthMax = 64;          // Of one tree.
inline constexpr std::size_t kYamlTreeBytesMax = 65'536;  // Of the scalars of one tree.

struct YamlEvent {
  enum class Kind : std::uint8_t {
    document,  // One begins.
    scalar,
    mapping,   // One begins.
    sequence,  // One begins.
    end,       // Of the innermost mapping or sequence, or of the document.
    finished,  // No more documents.
    failed,
  };
  Kind kind = Kind::failed;
  bool is_plain = false;       // A scalar without quotes.
  std::uint32_t line = 0;      // From 1.
  std::string_view text = {};  // Of a scalar; until the next event is read.

  bool is_null() const noexcept;  // `~`, `null` or nothing.
};

class YamlReader {
 public:
  explicit YamlReader(std::istream& in);  // Outlives the reader.
  ~YamlReader();
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  YamlEvent next();
  const Problem& problem() const noexcept { return problem_; }  // After `failed`; without a file.
  YamlEvent fail(std::uint32_t line, std::string message);

 private:
  struct Parser;

  YamlEvent convert();

  std::unique_ptr<Parser> parser_;
  Problem problem_;
  bool has_failed_ = false;
};

struct YamlField;

// A mapping keeps the order of its fields and what was written twice.
struct YamlValue {
  enum class Kind : std::uint8_t { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  bool is_plain = false;
  std::uint32_t line = 0;
  std::string text;               // scalar; of null what stood there.
  std::vector<YamlValue> items;   // sequence
  std::vector<YamlField> fields;  // mapping
};

struct YamlField {
  std::string key;
  std::uint32_t line = 0;
  YamlValue value;
};

// Reads the value that `first` begins, to its end. Bounded by the constants above; beyond them
// the reader fails. False when it did.
bool read_tree(YamlReader& reader, const YamlEvent& first, YamlValue& value);

// Reads over the rest of the value that `first` begins.
void skip_tree(YamlReader& reader, const YamlEvent& first);

// A JSON text of the value; plain scalars that are numbers, true or false become such.
std::string json_text(const YamlValue& value);

}  // namespace sluice
