// A JSON body through both decoders. Whatever it is, there is a request or a reason; what a request
// holds lies within the body's bounds, and its answer is JSON that reads back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/byte_buffer.h"
#include "wire/check_json.h"
#include "wire/flat_json.h"
#include "wire/json_text.h"
#include "wire/query.h"
#include "wire/rls_json.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Every string of a request survives being written as JSON and read again.
void round_trip(const sluice::Request& request) {
  for (const sluice::Descriptor& descriptor : request.descriptors) {
    require(!descriptor.entries.empty(), "a descriptor without entries");
    for (const sluice::Entry& entry : descriptor.entries) {
      require(!entry.key.empty(), "an entry without a key");
      sluice::ByteBuffer json;
      json.append("{\"v\":");
      sluice::append_json_string(json, entry.value);
      json.append('}');
      const auto back = sluice::FlatJson::parse(json.view());
      require(back.has_value() && *back.value().string("v") == entry.value, "a value changed");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  static sluice::CheckDecoder check;
  for (const auto operation : {sluice::Operation::take, sluice::Operation::release}) {
    const sluice::Request* const request = check.decode(body, operation);
    if (request == nullptr) {
      require(!check.problem().detail.empty(), "refused without a reason");
    } else {
      round_trip(*request);
    }
  }
  static sluice::RlsDecoder rls;
  if (const sluice::Request* const request = rls.decode(body); request != nullptr) {
    require(request->hits > 0, "zero hits");
    round_trip(*request);
  }
  (void)sluice::parse_query(body);
  return 0;
}
