// What came of the requests of one run: every request that started ends as one answer or one
// failure, and is counted once. Its size is fixed but for at most 64 values of each counted header.
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/latency_histogram.h"
#include "load/load_plan.h"
#include "load/response_scanner.h"
#include "load/threshold.h"

namespace sluice::load {

enum class Failure : std::uint8_t {
  connect,    // No connection.
  lost,       // The connection ended before the answer.
  not_taken,  // Pipelined behind an answer that closed the connection: not served, by the protocol.
  timeout,    // No answer in time.
  bad_answer,  // Bytes that are no HTTP/1 answer.
};
inline constexpr std::size_t kFailures = 5;

// The counters of answers: all, or those with one value of a header.
struct AnswerCounts {
  std::uint64_t answers = 0;
  std::uint64_t allowed = 0;     // 200
  std::uint64_t rejected = 0;    // 429
  std::uint64_t unexpected = 0;  // Not one of LoadPlan::expect_statuses.
};

class LoadTally {
 public:
  struct Value {
    std::string text;
    AnswerCounts counts;
  };
  struct CountedHeader {
    std::string name;
    std::vector<Value> values;  // In order of appearance; "(missing)" and "(other)" among them.
  };
  // What an answer's head said, until the answer is complete.
  struct Marks {
    int status = 0;
    std::uint32_t headers_missing = 0;
    std::array<std::uint32_t, kCountHeadersMax> values{};
  };

  explicit LoadTally(const LoadPlan& plan);

  void request_started() noexcept { ++requests_; }
  Marks read(const ResponseHead& head);
  void answered(const Marks& marks, Duration latency) noexcept;
  void failed(Failure failure, std::uint64_t requests, std::string_view why);
  void finished(Duration elapsed, std::uint64_t unsent) noexcept;

  std::uint64_t requests() const noexcept { return requests_; }
  std::uint64_t failures(Failure failure) const noexcept;
  std::uint64_t failures() const noexcept;
  // Why the first request failed so; empty when none did.
  const std::string& why(Failure failure) const noexcept;
  const AnswerCounts& counts() const noexcept { return counts_; }
  const std::array<std::uint64_t, 600>& statuses() const noexcept { return statuses_; }
  const std::vector<CountedHeader>& headers() const noexcept { return headers_; }
  const LatencyHistogram& latencies() const noexcept { return latencies_; }
  std::uint64_t headers_missing() const noexcept { return headers_missing_; }
  std::uint64_t checks_passed() const noexcept { return checks_passed_; }
  std::uint64_t checks_failed() const noexcept { return checks_failed_; }
  std::uint64_t unsent() const noexcept { return unsent_; }
  Duration elapsed() const noexcept { return elapsed_; }
  double answers_per_second() const noexcept;

  // By the name a threshold uses: every name in the report, `status[CODE]`, `HEADER[value]` and
  // `HEADER` (how many values). None for an unknown name.
  std::optional<double> value(std::string_view name) const;
  // Whether value() may know that name after the run; `unit` must suit it.
  bool can_tell(const Threshold& threshold) const;

 private:
  std::optional<double> bracketed(std::string_view name) const;
  std::uint32_t value_index(CountedHeader& header, std::optional<std::string_view> value);

  std::uint64_t requests_ = 0;
  AnswerCounts counts_;
  std::array<std::uint64_t, 600> statuses_{};
  std::array<bool, 600> is_expected_{};
  std::vector<std::string> expect_headers_;
  std::vector<CountedHeader> headers_;
  LatencyHistogram latencies_;
  std::array<std::uint64_t, kFailures> failures_{};
  std::array<std::string, kFailures> whys_;
  std::uint64_t headers_missing_ = 0;  // Answers that lack a header they must carry.
  std::uint64_t checks_passed_ = 0;    // Of each answer: its status, and each header it must carry.
  std::uint64_t checks_failed_ = 0;
  std::uint64_t unsent_ = 0;
  Duration elapsed_{0};
};

}  // namespace sluice::load
