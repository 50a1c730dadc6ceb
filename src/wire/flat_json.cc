#include "wire/flat_json.h"

#include <algorithm>

#include "wire/json_reader.h"

namespace sluice {

class FlatJsonEvents final : public JsonEvents {
 public:
  FlatJson object;
  std::string problem;

  bool begin_object() override {
    if (is_inside_) return fail("must be a string or true or false");
    is_inside_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool begin_array() override { return fail("must be a string or true or false"); }
  bool end_array() override { return true; }
  bool key(std::string_view name) override {
    name_ = name;
    return object.find(name) == nullptr || fail("is there twice");
  }
  bool string(std::string_view text) override { return add(std::string(text)); }
  bool number(JsonNumber) override { return fail("must be a string or true or false"); }
  bool boolean(bool is_true) override { return add(is_true); }
  bool null() override { return fail("must be a string or true or false"); }

 private:
  bool add(FlatJson::Value value) {
    if (!is_inside_) return fail("");
    object.fields_.emplace_back(name_, std::move(value));
    return true;
  }
  bool fail(std::string_view why) {
    problem = is_inside_ ? name_ + " " + std::string(why) : "the body must be a JSON object";
    return false;
  }

  std::string name_;
  bool is_inside_ = false;
};

Result<FlatJson> FlatJson::parse(std::string_view text) {
  JsonReader reader;
  FlatJsonEvents events;
  switch (reader.read(text, events)) {
    case JsonReader::Outcome::complete:
      return std::move(events.object);
    case JsonReader::Outcome::stopped:
      return Error{ErrorCode::invalid_argument, events.problem};
    case JsonReader::Outcome::malformed:
      break;
  }
  return Error{ErrorCode::invalid_argument, reader.problem(text)};
}

const FlatJson::Value* FlatJson::find(std::string_view name) const noexcept {
  const auto field =
      std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
  return field == fields_.end() ? nullptr : &field->second;
}

const std::string* FlatJson::string(std::string_view name) const noexcept {
  const Value* const value = find(name);
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

const bool* FlatJson::boolean(std::string_view name) const noexcept {
  const Value* const value = find(name);
  return value == nullptr ? nullptr : std::get_if<bool>(value);
}

std::optional<std::string_view> FlatJson::other_than(
    std::span<const std::string_view> names) const {
  for (const auto& [name, value] : fields_) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return name;
  }
  return std::nullopt;
}

}  // namespace sluice
