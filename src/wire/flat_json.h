// A JSON object of plain values, as small requests to the admin port are:
// {"domain":"api","on":true}.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/vocabulary/error.h"

namespace sluice {

class FlatJson {
 public:
  // invalid_argument: not an object of strings and booleans, or a name there twice.
  static Result<FlatJson> parse(std::string_view text);

  // Null: there is no such field, or it is of the other type.
  const std::string* string(std::string_view name) const noexcept;
  const bool* boolean(std::string_view name) const noexcept;
  // The first field that is not among these names.
  std::optional<std::string_view> other_than(std::span<const std::string_view> names) const;

 private:
  friend class FlatJsonEvents;
  using Value = std::variant<std::string, bool>;
  const Value* find(std::string_view name) const noexcept;

  std::vector<std::pair<std::string, Value>> fields_;
};

}  // namespace sluice
