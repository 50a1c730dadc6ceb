// JSON as events, over Boost.JSON's validating parser: strict RFC 8259, UTF-8 only, bounded depth,
// no document in memory. Keys and strings arrive whole: as views into the text when they hold no
// escapes, else into the reader's own buffer, which lasts until the next parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

// A number as it was written, as far as a caller here may need it.
struct JsonNumber {
  bool is_whole = false;        // 1, 1.0 and 1e0 are; 1.5 is not.
  bool is_negative = false;     // -0 is not.
  std::uint64_t magnitude = 0;  // Of a whole number; saturates at 2^64-1.
};

// Told what is in the text, in order. false stops the parse; the implementation knows why.
class JsonEvents {
 public:
  virtual bool begin_object() = 0;
  virtual bool end_object() = 0;
  virtual bool begin_array() = 0;
  virtual bool end_array() = 0;
  virtual bool key(std::string_view name) = 0;
  virtual bool string(std::string_view text) = 0;
  virtual bool number(JsonNumber number) = 0;
  virtual bool boolean(bool is_true) = 0;
  virtual bool null() = 0;

 protected:
  ~JsonEvents() = default;
};

inline constexpr std::size_t kJsonDepthMax = 8;

// Reused for many texts, so that it allocates nothing in steady state. One thread at a time.
class JsonReader {
 public:
  enum class Outcome : std::uint8_t { complete, stopped, malformed };

  JsonReader();
  ~JsonReader();
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  Outcome read(std::string_view text, JsonEvents& events);
  // After malformed: what is wrong and at which byte.
  std::string problem(std::string_view text) const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice
