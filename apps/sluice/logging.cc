#include "logging.h"

#include <chrono>
#include <memory>
#include <string>

#include <fmt/chrono.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/byte_buffer.h"
#include "wire/json_text.h"

namespace sluice {
namespace {

// {"time":"2026-01-02T03:04:05.678Z","level":"info","message":"..."}
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto time = message.time.time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() % 1000;
    const std::time_t second = spdlog::log_clock::to_time_t(message.time);
    fmt::format_to(std::back_inserter(out),
                   "{{\"time\":\"{:%Y-%m-%dT%H:%M:%S}.{:03}Z\",\"level\":", fmt::gmtime(second),
                   ms);
    ByteBuffer json;
    const auto level = spdlog::level::to_string_view(message.level);
    append_json_string(json, {level.data(), level.size()});
    json.append(",\"message\":");
    append_json_string(json, {message.payload.data(), message.payload.size()});
    json.append("}\n");
    out.append(json.view().data(), json.view().data() + json.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

void set_up_logging(std::string_view level, LogLines lines) {
  std::shared_ptr<spdlog::logger> logger;
  if (lines == LogLines::json) {
    logger = spdlog::create<spdlog::sinks::stderr_sink_mt>("sluice");
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger = spdlog::create<spdlog::sinks::stderr_color_sink_mt>("sluice");
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  }
  logger->set_level(spdlog::level::from_str(std::string(level)));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace sluice
