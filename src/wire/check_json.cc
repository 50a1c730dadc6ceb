#include "wire/check_json.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "wire/json_text.h"
#include "wire/rate_numbers.h"

namespace sluice {
namespace {

enum Seen : std::uint32_t {
  kDomain = 1,
  kDescriptors = 2,
  kHits = 4,
  kPermit = 16,
  kEntries = 32,
  kLimit = 64,
  kKey = 128,
  kValue = 256,
  kRequestsPerUnit = 512,
  kUnit = 1024,
};

constexpr std::string_view kWholeNumber = "must be a whole number from 0 up";

}  // namespace

const Request* CheckDecoder::decode(std::string_view body, Operation operation) {
  parts_.clear();
  request_ = Request{};
  request_.operation = operation;
  where_ = Where::outside;
  key_ = first_short_ = {};  // They point into the last body.
  seen_ = seen_inner_ = seen_leaf_ = 0;
  switch (reader_.read(body, *this)) {
    case JsonReader::Outcome::stopped:
      return nullptr;
    case JsonReader::Outcome::malformed:
      problem_ = {"", reader_.problem(body)};
      return nullptr;
    case JsonReader::Outcome::complete:
      break;
  }
  if (!is_complete()) return nullptr;
  request_.descriptors = parts_.tie();
  return &request_;
}

bool CheckDecoder::takes_permit() const noexcept {
  return request_.operation == Operation::release || request_.operation == Operation::renew;
}

bool CheckDecoder::is_complete() {
  if (takes_permit()) {
    return (seen_ & kPermit) != 0 || fail_at("permit", "is missing");
  }
  if ((seen_ & kDomain) == 0) return fail_at("domain", "is missing");
  if (request_.domain.empty()) return fail_at("domain", "must not be empty");
  if (parts_.descriptors() == 0) return fail_at("descriptors", "must have at least one");
  return true;
}

// Marks a field of the current object as seen. A second time is an error: which one would count?
bool CheckDecoder::see(std::uint32_t bit) {
  std::uint32_t& seen = where_ == Where::top ? seen_ : seen_leaf_;
  if ((seen & bit) != 0) return fail("is there twice");
  seen |= bit;
  return true;
}

bool CheckDecoder::key(std::string_view name) {
  key_ = name;
  switch (where_) {
    case Where::top:
      return top_key(name);
    case Where::descriptor:
      return descriptor_key(name);
    case Where::entry:
      if (name == "key") return see(kKey);
      if (name == "value") return see(kValue);
      return fail("is no field of an entry; those are key and value");
    case Where::limit:
      if (name == "requests_per_unit") return see(kRequestsPerUnit);
      if (name == "unit") return see(kUnit);
      return fail("is no field of a limit; those are requests_per_unit and unit");
    default:
      return true;
  }
}

bool CheckDecoder::top_key(std::string_view name) {
  if (takes_permit()) {
    return name == "permit" ? see(kPermit) : fail("is no field here; there is only permit");
  }
  if (name == "domain") return see(kDomain);
  if (name == "descriptors") return see(kDescriptors);
  if (name == "hits") return see(kHits);
  if (name == "request_id") return fail("is not offered by this version: it needs a shared store");
  return fail("is no field here; those are domain, descriptors and hits");
}

// Which form it is shows in the value, and perhaps only later; so here only what is there twice.
bool CheckDecoder::descriptor_key(std::string_view name) {
  if ((name == "entries" && (seen_inner_ & kEntries) != 0) ||
      (name == "hits" && (seen_inner_ & kHits) != 0) ||
      (name == "limit" && (seen_inner_ & kLimit) != 0)) {
    return fail("is there twice");
  }
  if (first_short_.data() != nullptr && entries_in_long_form_ == 0 && parts_.has_entry(name)) {
    return fail("is there twice");
  }
  return true;
}

bool CheckDecoder::string(std::string_view text) {
  switch (where_) {
    case Where::top:
      return top_string(text);
    case Where::descriptor:
      if (parts_.entries() == kEntriesMax) return fail("is one entry too many");
      if (key_.empty()) return fail("a key must not be empty");
      if (first_short_.data() == nullptr) first_short_ = key_;
      parts_.add_entry(key_, text);
      return true;
    case Where::entry:
      (key_ == "key" ? parts_.entry().key : parts_.entry().value) = text;
      return true;
    case Where::limit:
      return limit_string(text);
    default:
      return fail_type();
  }
}

bool CheckDecoder::top_string(std::string_view text) {
  if (key_ == "domain") {
    request_.domain = text;
  } else if (key_ == "permit") {
    request_.permit = text;
  } else {
    return fail_type();
  }
  return true;
}

bool CheckDecoder::limit_string(std::string_view text) {
  if (key_ != "unit") return fail_type();
  const Unit* const unit = find_unit(text);
  if (unit == nullptr) {
    return fail("must be one of second, minute, hour, day, week, month and year");
  }
  limit_.unit = unit->name;
  limit_.period = unit->period;
  return true;
}

bool CheckDecoder::number(JsonNumber number) {
  const bool is_hits = key_ == "hits" && (where_ == Where::top || where_ == Where::descriptor);
  const bool is_requests = key_ == "requests_per_unit" && where_ == Where::limit;
  if (!is_hits && !is_requests) return fail_type();
  if (!number.is_whole) return fail(kWholeNumber);
  if (number.is_negative) return fail("must not be negative; /v1/refund gives hits back");
  if (is_requests) {
    if (number.magnitude > kCostMax) return fail("must be at most 4294967295");
    limit_.requests = static_cast<std::uint32_t>(number.magnitude);
  } else if (where_ == Where::top) {
    request_.hits = number.magnitude;
  } else {
    seen_inner_ |= kHits;
    parts_.descriptor().hits = number.magnitude;
  }
  return true;
}

bool CheckDecoder::boolean(bool) {
  return fail_type();
}
bool CheckDecoder::null() {
  return fail_type();
}

bool CheckDecoder::begin_object() {
  switch (where_) {
    case Where::outside:
      where_ = Where::top;
      return true;
    case Where::descriptors:
      if (parts_.descriptors() == kDescriptorsMax) return fail("is one descriptor too many");
      parts_.begin_descriptor();
      where_ = Where::descriptor;
      seen_inner_ = 0;
      first_short_ = {};
      entries_in_long_form_ = 0;
      return true;
    case Where::entries:
      if (parts_.entries() == kEntriesMax) return fail("is one entry too many");
      parts_.add_entry({}, {});
      ++entries_in_long_form_;
      where_ = Where::entry;
      seen_leaf_ = 0;
      return true;
    case Where::descriptor:
      if (key_ != "limit") return fail_type();
      seen_inner_ |= kLimit;
      where_ = Where::limit;
      seen_leaf_ = 0;
      limit_ = {};
      return true;
    default:
      return fail_type();
  }
}

bool CheckDecoder::end_object() {
  switch (where_) {
    case Where::descriptor:
      where_ = Where::descriptors;
      return end_descriptor();
    case Where::entry:
      where_ = Where::entries;
      return end_entry();
    case Where::limit:
      where_ = Where::descriptor;
      return end_limit();
    default:
      where_ = Where::outside;
      return true;
  }
}

bool CheckDecoder::end_descriptor() {
  const bool is_long = (seen_inner_ & kEntries) != 0;
  const auto place = [&](std::string_view field) {
    return fmt::format("descriptors[{}]{}", parts_.descriptors() - 1, field);
  };
  if (is_long && first_short_.data() != nullptr) {
    return fail_at(place(".") + std::string(first_short_),
                   "is no field beside entries; those are hits and limit");
  }
  if (!is_long && seen_inner_ != 0) {
    return fail_at(place((seen_inner_ & kHits) != 0 ? ".hits" : ".limit"),
                   "must be a string, or stand beside an array of entries");
  }
  if (parts_.descriptor_entries() == 0) return fail_at(place(""), "must have at least one entry");
  return true;
}

bool CheckDecoder::end_entry() {
  const auto place = [&](std::string_view field) {
    return fmt::format("descriptors[{}].entries[{}].{}", parts_.descriptors() - 1,
                       entries_in_long_form_ - 1, field);
  };
  if ((seen_leaf_ & kKey) == 0) return fail_at(place("key"), "is missing");
  if ((seen_leaf_ & kValue) == 0) return fail_at(place("value"), "is missing");
  if (parts_.entry().key.empty()) return fail_at(place("key"), "must not be empty");
  return true;
}

bool CheckDecoder::end_limit() {
  const auto place = [&](std::string_view field) {
    return fmt::format("descriptors[{}].limit.{}", parts_.descriptors() - 1, field);
  };
  if ((seen_leaf_ & kRequestsPerUnit) == 0) {
    return fail_at(place("requests_per_unit"), "is missing");
  }
  if ((seen_leaf_ & kUnit) == 0) return fail_at(place("unit"), "is missing");
  parts_.descriptor().limit = limit_;
  return true;
}

bool CheckDecoder::begin_array() {
  if (where_ == Where::top && key_ == "descriptors") {
    where_ = Where::descriptors;
    return true;
  }
  if (where_ == Where::descriptor && key_ == "entries") {
    seen_inner_ |= kEntries;
    where_ = Where::entries;
    return true;
  }
  return fail_type();
}

bool CheckDecoder::end_array() {
  where_ = where_ == Where::entries ? Where::descriptor : Where::top;
  return true;
}

// A value of the wrong type: says which one belongs there.
bool CheckDecoder::fail_type() {
  switch (where_) {
    case Where::outside:
      return fail("the body must be a JSON object");
    case Where::descriptors:
    case Where::entries:
      return fail("must be an object");
    case Where::top:
      if (key_ == "descriptors") return fail("must be an array of objects");
      return fail(key_ == "hits" ? kWholeNumber : "must be a string");
    case Where::descriptor:
      if (key_ == "hits") return fail("must be a whole number from 0 up, or a string");
      if (key_ == "limit") return fail("must be an object, or a string");
      return fail(key_ == "entries" ? "must be an array of objects, or a string"
                                    : "must be a string");
    case Where::entry:
      return fail("must be a string");
    case Where::limit:
      return fail(key_ == "unit" ? "must be a string" : kWholeNumber);
  }
  return false;
}

bool CheckDecoder::fail(std::string_view detail) {
  return fail_at(path(), detail);
}

bool CheckDecoder::fail_at(std::string field, std::string_view detail) {
  problem_.detail = field.empty() ? std::string(detail) : fmt::format("{} {}", field, detail);
  problem_.field = std::move(field);
  return false;
}

std::string CheckDecoder::path() const {
  // Inside an array the next element is meant; inside an object its current field.
  const std::size_t inside = parts_.descriptors() - 1;
  switch (where_) {
    case Where::outside:
      return "";
    case Where::top:
      return std::string(key_);
    case Where::descriptors:
      return fmt::format("descriptors[{}]", parts_.descriptors());
    case Where::descriptor:
      return fmt::format("descriptors[{}].{}", inside, key_);
    case Where::entries:
      return fmt::format("descriptors[{}].entries[{}]", inside, entries_in_long_form_);
    case Where::entry:
      return fmt::format("descriptors[{}].entries[{}].{}", inside, entries_in_long_form_ - 1, key_);
    case Where::limit:
      return fmt::format("descriptors[{}].limit.{}", inside, key_);
  }
  return "";
}

namespace {

constexpr std::array<std::string_view, 4> kVerdicts{"allowed", "denied", "shed", "undecided"};

void append_decision(ByteBuffer& out, Verdict verdict, const DescriptorAnswer* answer) {
  out.append("\"verdict\":\"");
  out.append(kVerdicts[static_cast<std::size_t>(verdict)]);
  if (answer == nullptr || !answer->has_numbers()) {
    out.append(
        "\",\"limit\":null,\"remaining\":null,\"retry_after_ms\":0,\"reset_after_ms\":0,\"rule\":");
  } else {
    const Decision& decision = answer->decision;
    out.append("\",\"limit\":");
    out.append_number(decision.limit);
    out.append(",\"remaining\":");
    out.append_number(decision.remaining);
    out.append(",\"retry_after_ms\":");
    if (decision.retry_after == kNever) {
      out.append("null");
    } else {
      out.append_number(ceil_to_ms(decision.retry_after));
    }
    out.append(",\"reset_after_ms\":");
    out.append_number(ceil_to_ms(decision.reset_after));
    out.append(",\"rule\":");
  }
  if (answer == nullptr || answer->rule == nullptr) {
    out.append("null");
  } else {
    append_json_string(out, answer->rule->label);
  }
}

bool is_shaped(const Answer& answer) {
  return answer.delay > Duration{0} ||
         std::any_of(answer.descriptors.begin(), answer.descriptors.end(), [](const auto& d) {
           return d.rule != nullptr && d.rule->limit.algorithm == Algorithm::leaky_bucket;
         });
}

}  // namespace

void append_check_answer(ByteBuffer& out, const Answer& answer) {
  out.append('{');
  append_decision(out, answer.verdict,
                  answer.deciding ? &answer.descriptors[*answer.deciding] : nullptr);
  if (!answer.permit.empty()) {
    out.append(",\"permit\":");
    append_json_string(out, answer.permit);
  }
  if (answer.verdict == Verdict::allowed && is_shaped(answer)) {
    out.append(",\"delay_ms\":");
    out.append_number(ceil_to_ms(answer.delay));
  }
  out.append(",\"descriptors\":[");
  for (std::size_t i = 0; i < answer.descriptors.size(); ++i) {
    out.append(i == 0 ? "{" : ",{");
    append_decision(out, answer.descriptors[i].decision.verdict, &answer.descriptors[i]);
    out.append('}');
  }
  out.append("]}\n");
}

}  // namespace sluice
