// Bytes of a connection, through the request reader and the data port's paths, to an engine with
// rules. What arrives in pieces must be understood as what arrives at once.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "config/rule_loader.h"
#include "server/http/check_handler.h"
#include "sluice/engine.h"
#include "wire/http1_request.h"

namespace sluice {
namespace {

constexpr std::string_view kRules = R"(
domain: api
descriptors:
  - key: api_key
    rate_limit: {requests_per_unit: 3, unit: minute}
  - key: bucket
    rate_limit: {algorithm: token_bucket, requests_per_unit: 1, unit: second, burst: 3}
  - key: job
    rate_limit: {algorithm: concurrency, requests_per_unit: 2}
)";

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Sink final : server::Exchange {
  int answers = 0;
  void respond(const server::Response& response) override {
    require(response.status >= 200 && response.status <= 599, "a status that is none");
    ++answers;
  }
};

struct Daemon {
  std::unique_ptr<Engine> engine;
  server::Readiness readiness = [] { return std::string_view(); };
  std::unique_ptr<server::CheckHandler> handler;

  Daemon() {
    EngineOptions options;
    options.table.keys_max = 1000;
    auto opened = Engine::open(options);
    require(opened.has_value(), "no engine");
    engine = std::move(*opened);
    LoadedRules loaded = parse_rules(kRules, "fuzz");
    require(loaded.errors.empty(), "no rules");
    require(
        engine->replace_rules(std::make_shared<const RuleSet>(std::move(loaded.rules))).has_value(),
        "no rules in force");
    handler = std::make_unique<server::CheckHandler>(*engine, 0, readiness);
  }
};

// What the reader makes of the bytes when they come `step` at a time.
std::vector<std::string> read(std::string_view bytes, std::size_t step, Daemon* daemon) {
  std::vector<std::string> seen;
  std::string rest(bytes);  // Chunked bodies are laid together in place.
  http1::RequestReader reader({});
  std::size_t arrived = 0;
  while (arrived < rest.size()) {
    arrived = std::min(arrived + step, rest.size());
    const auto progress = reader.read({rest.data(), arrived});
    if (progress == http1::RequestReader::Progress::refused) {
      seen.push_back("refused");
      break;
    }
    if (progress != http1::RequestReader::Progress::complete) continue;
    const http1::Request& request = reader.request();
    seen.push_back(std::string(request.path) + "\n" + std::string(request.body));
    if (daemon != nullptr) {
      Sink sink;
      daemon->handler->serve(request, sink);
      require(sink.answers == 1, "not exactly one answer");
    }
    require(reader.request_bytes() <= arrived, "more taken than given");
    rest.erase(0, reader.request_bytes());
    reader.reset();
    arrived = 0;
  }
  return seen;
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static sluice::Daemon daemon;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto whole = sluice::read(text, text.size() + 1, &daemon);
  auto pieces = sluice::read(text, 1, nullptr);
  // Nonsense may be refused at once, or not before a head's end is there to be seen.
  if (pieces.size() + 1 == whole.size() && whole.back() == "refused") pieces.push_back("refused");
  sluice::require(pieces == whole, "pieces are understood differently");
  return 0;
}
