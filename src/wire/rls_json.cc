#include "wire/rls_json.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/json_text.h"
#include "wire/rate_numbers.h"

namespace sluice {

const Request* RlsDecoder::decode(std::string_view body) {
  parts_.clear();
  request_ = Request{};
  where_ = Where::outside;
  field_ = Field::none;
  name_ = {};
  std::fill(std::begin(seen_), std::end(seen_), std::uint16_t{0});
  switch (reader_.read(body, *this)) {
    case JsonReader::Outcome::stopped:
      return nullptr;
    case JsonReader::Outcome::malformed:
      problem_ = reader_.problem(body);
      return nullptr;
    case JsonReader::Outcome::complete:
      break;
  }
  if (request_.domain.empty()) problem_ = "domain must not be empty";
  if (parts_.descriptors() == 0) problem_ = "descriptors must not be empty";
  if (request_.domain.empty() || parts_.descriptors() == 0) return nullptr;
  if (request_.hits == 0) request_.hits = 1;  // Absent and 0 are one in proto3.
  request_.descriptors = parts_.tie();
  return &request_;
}

bool RlsDecoder::fail(std::string_view detail) {
  problem_ = std::string(name_.empty() ? "the body" : name_).append(" ").append(detail);
  return false;
}

RlsDecoder::Field RlsDecoder::field_of(std::string_view name) const noexcept {
  switch (where_) {
    case Where::top:
      if (name == "domain") return Field::domain;
      if (name == "descriptors") return Field::descriptors;
      if (name == "hitsAddend" || name == "hits_addend") return Field::hits_addend;
      return Field::none;
    case Where::descriptor:
      if (name == "entries") return Field::entries;
      if (name == "limit") return Field::limit;
      if (name == "hitsAddend" || name == "hits_addend") return Field::hits_addend;
      if (name == "isNegativeHits" || name == "is_negative_hits") return Field::is_negative_hits;
      return Field::none;
    case Where::entry:
      if (name == "key") return Field::key;
      if (name == "value") return Field::value;
      return Field::none;
    case Where::limit:
      if (name == "requestsPerUnit" || name == "requests_per_unit") return Field::requests_per_unit;
      if (name == "unit") return Field::unit;
      return Field::none;
    default:
      return Field::none;
  }
}

bool RlsDecoder::key(std::string_view name) {
  name_ = name;
  field_ = field_of(name);
  if (field_ == Field::none) return fail("is no field here");
  std::uint16_t& seen = seen_[where_ == Where::top ? 0 : where_ == Where::descriptor ? 1 : 2];
  const auto bit = static_cast<std::uint16_t>(field_);
  if ((seen & bit) != 0) return fail("is there twice");
  seen = static_cast<std::uint16_t>(seen | bit);
  return true;
}

bool RlsDecoder::string(std::string_view text) {
  switch (field_) {
    case Field::domain:
      request_.domain = text;
      return true;
    case Field::key:
      parts_.entry().key = text;
      return true;
    case Field::value:
      parts_.entry().value = text;
      return true;
    case Field::unit: {
      const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                     [&](const Unit& u) { return u.enum_name == text; });
      if (unit == kUnits.end()) return fail("is no unit");
      limit_.unit = unit->name;
      limit_.period = unit->period;
      return true;
    }
    case Field::hits_addend:
    case Field::requests_per_unit: {
      std::uint64_t value = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
      if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
        return fail("must be a whole number");
      }
      return whole_number(value);
    }
    default:
      return fail("must not be a string");
  }
}

bool RlsDecoder::number(JsonNumber number) {
  if (!number.is_whole || number.is_negative) return fail("must be a whole number from 0 up");
  if (field_ == Field::unit) {
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
      return static_cast<std::uint64_t>(u.enum_number) == number.magnitude;
    });
    if (unit == kUnits.end()) return fail("is no unit");
    limit_.unit = unit->name;
    limit_.period = unit->period;
    return true;
  }
  if (field_ != Field::hits_addend && field_ != Field::requests_per_unit) {
    return fail("must not be a number");
  }
  return whole_number(number.magnitude);
}

bool RlsDecoder::whole_number(std::uint64_t value) {
  const bool is_descriptors_hits = where_ == Where::descriptor;  // A UInt64Value; others uint32.
  if (!is_descriptors_hits && value > kCostMax) return fail("must be at most 4294967295");
  if (field_ == Field::requests_per_unit) {
    limit_.requests = static_cast<std::uint32_t>(value);
  } else if (is_descriptors_hits) {
    parts_.descriptor().hits = value;
  } else {
    request_.hits = value;
  }
  return true;
}

bool RlsDecoder::boolean(bool is_true) {
  if (field_ != Field::is_negative_hits) return fail("must not be a boolean");
  parts_.descriptor().is_negative_hits = is_true;
  return true;
}

bool RlsDecoder::null() {
  const bool is_field = where_ == Where::top || where_ == Where::descriptor ||
                        where_ == Where::entry || where_ == Where::limit;
  return is_field || fail("must not be null");
}

bool RlsDecoder::begin_object() {
  switch (where_) {
    case Where::outside:
      where_ = Where::top;
      return true;
    case Where::descriptors:
      if (parts_.descriptors() == kDescriptorsMax) return fail("are too many");
      parts_.begin_descriptor();
      where_ = Where::descriptor;
      seen_[1] = 0;
      return true;
    case Where::entries:
      if (parts_.entries() == kEntriesMax) return fail("are too many");
      parts_.add_entry({}, {});
      where_ = Where::entry;
      seen_[2] = 0;
      return true;
    case Where::descriptor:
      if (field_ != Field::limit) return fail("must not be an object");
      where_ = Where::limit;
      seen_[2] = 0;
      limit_ = {};
      return true;
    default:
      return fail("must not be an object");
  }
}

bool RlsDecoder::end_object() {
  field_ = Field::none;  // Until the next key: a value without one belongs nowhere.
  switch (where_) {
    case Where::descriptor:
      where_ = Where::descriptors;
      return parts_.descriptor_entries() > 0 || fail("of one descriptor are empty");
    case Where::entry:
      where_ = Where::entries;
      return !parts_.entry().key.empty() || fail("of one entry is empty");
    case Where::limit:
      where_ = Where::descriptor;
      if (limit_.unit.empty()) return fail("has no unit");
      parts_.descriptor().limit = limit_;
      return true;
    default:
      where_ = Where::outside;
      return true;
  }
}

bool RlsDecoder::begin_array() {
  if (where_ == Where::top && field_ == Field::descriptors) {
    where_ = Where::descriptors;
  } else if (where_ == Where::descriptor && field_ == Field::entries) {
    where_ = Where::entries;
  } else {
    return fail("must not be an array");
  }
  return true;
}

bool RlsDecoder::end_array() {
  where_ = where_ == Where::entries ? Where::descriptor : Where::top;
  field_ = Field::none;
  return true;
}

namespace {

void append_current_limit(ByteBuffer& out, const RuleLimit& rule, const Decision& decision,
                          Duration period, bool is_override) {
  out.append("\"currentLimit\":{");
  std::string_view separator;
  if (!rule.name.empty() && !is_override) {
    out.append("\"name\":");
    append_json_string(out, rule.name);
    separator = ",";
  }
  const std::uint32_t requests = is_override ? decision.limit : rule.limit.requests;
  if (requests > 0) {
    out.append(separator);
    out.append("\"requestsPerUnit\":");
    out.append_number(requests);
    separator = ",";
  }
  if (const Unit* const unit = unit_of(period); unit != nullptr) {
    out.append(separator);
    out.append("\"unit\":\"");
    out.append(unit->enum_name);
    out.append('"');
  }
  out.append('}');
}

void append_status(ByteBuffer& out, const Descriptor& descriptor, const DescriptorAnswer& answer) {
  const Decision& decision = answer.decision;
  out.append(decision.verdict == Verdict::denied ? "{\"code\":\"OVER_LIMIT\"" : "{\"code\":\"OK\"");
  if (answer.has_numbers()) {
    const bool is_override = answer.is_override && descriptor.limit;
    out.append(',');
    append_current_limit(out, *answer.rule, decision,
                         is_override ? descriptor.limit->period : answer.rule->limit.period,
                         is_override);
    if (decision.remaining > 0) {
      out.append(",\"limitRemaining\":");
      out.append_number(decision.remaining);
    }
    out.append(",\"durationUntilReset\":\"");
    out.append_number(ceil_to_seconds(decision.reset_after));
    out.append("s\"");
  }
  out.append('}');
}

}  // namespace

void append_rls_answer(ByteBuffer& out, const Request& request, const Answer& answer) {
  out.append("{\"overallCode\":\"");
  out.append(answer.verdict == Verdict::allowed ? "OK\",\"statuses\":["
                                                : "OVER_LIMIT\",\"statuses\":[");
  for (std::size_t i = 0; i < answer.descriptors.size(); ++i) {
    if (i > 0) out.append(',');
    append_status(out, request.descriptors[i], answer.descriptors[i]);
  }
  out.append("]}");
}

}  // namespace sluice
