// envoyproxy/ratelimit's POST /json: RateLimitRequest and RateLimitResponse of
// envoy.service.ratelimit.v3 as proto3 JSON. Both spellings of a field are read (hitsAddend,
// hits_addend), numbers may be strings, null is absent; an unknown or repeated field is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"
#include "sluice/vocabulary/request.h"
#include "wire/json_reader.h"
#include "wire/request_parts.h"

namespace sluice {

// Reused for many bodies; allocates nothing once it has seen one of the size. One thread at a time.
class RlsDecoder final : JsonEvents {
 public:
  // The request, valid until the next decode and while the body is; null: see problem().
  const Request* decode(std::string_view body);
  const std::string& problem() const noexcept { return problem_; }

 private:
  enum class Where : std::uint8_t { outside, top, descriptors, descriptor, entries, entry, limit };
  enum class Field : std::uint16_t {
    none = 0,
    domain = 1,
    descriptors = 2,
    hits_addend = 4,
    entries = 8,
    limit = 16,
    is_negative_hits = 32,
    key = 64,
    value = 128,
    requests_per_unit = 256,
    unit = 512,
  };

  bool begin_object() override;
  bool end_object() override;
  bool begin_array() override;
  bool end_array() override;
  bool key(std::string_view name) override;
  bool string(std::string_view text) override;
  bool number(JsonNumber number) override;
  bool boolean(bool is_true) override;
  bool null() override;

  Field field_of(std::string_view name) const noexcept;
  bool whole_number(std::uint64_t value);
  bool fail(std::string_view detail);

  JsonReader reader_;
  RequestParts parts_;
  Request request_;
  LimitOverride limit_;
  std::string problem_;
  std::string_view name_;
  Field field_ = Field::none;
  Where where_ = Where::outside;
  std::uint16_t seen_[3] = {};  // Of the top level, the descriptor, the entry or limit.
};

// Requires a verdict of allowed or denied.
void append_rls_answer(ByteBuffer& out, const Request& request, const Answer& answer);

}  // namespace sluice
