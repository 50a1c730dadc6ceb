// The JSON of /v1/check and its siblings: body -> Request, Answer -> body. A descriptor is
// {"api_key":"k1"}, its entries in written order, or, when it has an array `entries`,
// {"entries":[{"key":..,"value":..}],"hits":..,"limit":{"requests_per_unit":..,"unit":".."}}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"
#include "sluice/vocabulary/request.h"
#include "wire/json_reader.h"
#include "wire/request_parts.h"

namespace sluice {

// Reused for many bodies; allocates nothing once it has seen one of the size. One thread at a time.
class CheckDecoder final : JsonEvents {
 public:
  // The request, valid until the next decode and while the body is; null: see problem().
  // release and renew take {"permit":".."} alone, the others domain, descriptors and hits.
  const Request* decode(std::string_view body, Operation operation);
  const BodyProblem& problem() const noexcept { return problem_; }

 private:
  enum class Where : std::uint8_t {
    outside,
    top,
    descriptors,
    descriptor,
    entries,
    entry,
    limit,
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

  bool top_key(std::string_view name);
  bool descriptor_key(std::string_view name);
  bool top_string(std::string_view text);
  bool limit_string(std::string_view text);
  bool end_descriptor();
  bool end_entry();
  bool end_limit();
  bool is_complete();
  bool takes_permit() const noexcept;
  bool see(std::uint32_t bit);
  bool fail(std::string_view detail);
  bool fail_at(std::string field, std::string_view detail);
  bool fail_type();
  std::string path() const;

  JsonReader reader_;
  RequestParts parts_;
  Request request_;
  LimitOverride limit_;
  BodyProblem problem_;
  std::string_view key_;
  std::string_view first_short_;  // Name of the descriptor's first entry in short form.
  Where where_ = Where::outside;
  std::uint32_t seen_ = 0;        // Bits of the top level's fields.
  std::uint32_t seen_inner_ = 0;  // Of the descriptor's.
  std::uint32_t seen_leaf_ = 0;   // Of the entry's or the limit's.
  std::size_t entries_in_long_form_ = 0;
};

// {"verdict":..,"limit":..,...,"descriptors":[..]} of contract; for every verdict.
void append_check_answer(ByteBuffer& out, const Answer& answer);

}  // namespace sluice
