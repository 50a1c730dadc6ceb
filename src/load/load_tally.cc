// One table names every number of the report for thresholds.
#include "load/load_tally.h"

#include <algorithm>
#include <charconv>

namespace sluice::load {
namespace {

constexpr std::size_t kValuesMax = 64;
constexpr std::string_view kMissing = "(missing)";
constexpr std::string_view kOther = "(other)";  // What came after the first 64 values.

double as_double(std::uint64_t count) {
  return static_cast<double>(count);
}
double as_double(Duration time) {
  return static_cast<double>(time.count());
}

using Unit = Threshold::Unit;
struct Named {
  std::string_view name;
  Unit unit;
  double (*read)(const LoadTally&);
};

constexpr Named kNames[] = {
    {"requests", Unit::number, [](const LoadTally& t) { return as_double(t.requests()); }},
    {"answers", Unit::number, [](const LoadTally& t) { return as_double(t.counts().answers); }},
    {"allowed", Unit::number, [](const LoadTally& t) { return as_double(t.counts().allowed); }},
    {"rejected", Unit::number, [](const LoadTally& t) { return as_double(t.counts().rejected); }},
    {"unexpected", Unit::number,
     [](const LoadTally& t) { return as_double(t.counts().unexpected); }},
    {"failed", Unit::number, [](const LoadTally& t) { return as_double(t.failures()); }},
    {"connect_errors", Unit::number,
     [](const LoadTally& t) { return as_double(t.failures(Failure::connect)); }},
    {"lost", Unit::number, [](const LoadTally& t) { return as_double(t.failures(Failure::lost)); }},
    {"not_taken", Unit::number,
     [](const LoadTally& t) { return as_double(t.failures(Failure::not_taken)); }},
    {"timeouts", Unit::number,
     [](const LoadTally& t) { return as_double(t.failures(Failure::timeout)); }},
    {"bad_answers", Unit::number,
     [](const LoadTally& t) { return as_double(t.failures(Failure::bad_answer)); }},
    {"unsent", Unit::number, [](const LoadTally& t) { return as_double(t.unsent()); }},
    {"missing_header", Unit::number,
     [](const LoadTally& t) { return as_double(t.headers_missing()); }},
    {"checks_passed", Unit::number,
     [](const LoadTally& t) { return as_double(t.checks_passed()); }},
    {"checks_failed", Unit::number,
     [](const LoadTally& t) { return as_double(t.checks_failed()); }},
    {"error_rate", Unit::share,
     [](const LoadTally& t) {
       const double errors = as_double(t.failures() + t.counts().unexpected);
       return t.requests() == 0 ? 0 : errors / as_double(t.requests());
     }},
    {"rate", Unit::number, [](const LoadTally& t) { return t.answers_per_second(); }},
    {"elapsed", Unit::nanoseconds, [](const LoadTally& t) { return as_double(t.elapsed()); }},
    {"min", Unit::nanoseconds, [](const LoadTally& t) { return as_double(t.latencies().min()); }},
    {"mean", Unit::nanoseconds, [](const LoadTally& t) { return as_double(t.latencies().mean()); }},
    {"p50", Unit::nanoseconds,
     [](const LoadTally& t) { return as_double(t.latencies().percentile(0.50)); }},
    {"p90", Unit::nanoseconds,
     [](const LoadTally& t) { return as_double(t.latencies().percentile(0.90)); }},
    {"p95", Unit::nanoseconds,
     [](const LoadTally& t) { return as_double(t.latencies().percentile(0.95)); }},
    {"p99", Unit::nanoseconds,
     [](const LoadTally& t) { return as_double(t.latencies().percentile(0.99)); }},
    {"p999", Unit::nanoseconds,
     [](const LoadTally& t) { return as_double(t.latencies().percentile(0.999)); }},
    {"max", Unit::nanoseconds, [](const LoadTally& t) { return as_double(t.latencies().max()); }},
};

const Named* named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const Named& n) { return n.name == name; });
  return found == std::end(kNames) ? nullptr : found;
}

void count(AnswerCounts& counts, int status, bool is_expected) noexcept {
  ++counts.answers;
  counts.allowed += status == 200 ? 1 : 0;
  counts.rejected += status == 429 ? 1 : 0;
  counts.unexpected += is_expected ? 0 : 1;
}

}  // namespace

LoadTally::LoadTally(const LoadPlan& plan) : expect_headers_(plan.expect_headers) {
  for (const int status : plan.expect_statuses)
    is_expected_.at(static_cast<std::size_t>(status)) = true;
  for (const std::string& name : plan.count_headers) headers_.push_back({name, {}});
}

LoadTally::Marks LoadTally::read(const ResponseHead& head) {
  Marks marks;
  marks.status = head.status;
  for (const std::string& name : expect_headers_) {
    marks.headers_missing += find_header(head.lines, name) ? 0 : 1;
  }
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    marks.values[i] = value_index(headers_[i], find_header(head.lines, headers_[i].name));
  }
  return marks;
}

std::uint32_t LoadTally::value_index(CountedHeader& header, std::optional<std::string_view> value) {
  const auto find = [&](std::string_view text) {
    return std::find_if(header.values.begin(), header.values.end(),
                        [&](const Value& known) { return known.text == text; });
  };
  std::string_view text = value.value_or(kMissing);
  auto at = find(text);
  if (at == header.values.end() && header.values.size() >= kValuesMax) at = find(text = kOther);
  if (at == header.values.end()) at = header.values.insert(at, Value{std::string{text}, {}});
  return static_cast<std::uint32_t>(at - header.values.begin());
}

void LoadTally::answered(const Marks& marks, Duration latency) noexcept {
  const auto status = static_cast<std::size_t>(marks.status);
  const bool is_expected = is_expected_[status];
  ++statuses_[status];
  count(counts_, marks.status, is_expected);
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    count(headers_[i].values[marks.values[i]].counts, marks.status, is_expected);
  }
  const std::uint64_t failed = marks.headers_missing + (is_expected ? 0U : 1U);
  headers_missing_ += marks.headers_missing > 0 ? 1 : 0;
  checks_failed_ += failed;
  checks_passed_ += expect_headers_.size() + 1 - failed;
  latencies_.record(latency);
}

void LoadTally::failed(Failure failure, std::uint64_t requests, std::string_view why) {
  if (requests == 0) return;
  const auto kind = static_cast<std::size_t>(failure);
  if (failures_[kind] == 0) whys_[kind] = why;
  failures_[kind] += requests;
}

void LoadTally::finished(Duration elapsed, std::uint64_t unsent) noexcept {
  elapsed_ = elapsed;
  unsent_ = unsent;
}

std::uint64_t LoadTally::failures(Failure failure) const noexcept {
  return failures_[static_cast<std::size_t>(failure)];
}

std::uint64_t LoadTally::failures() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t failures : failures_) sum += failures;
  return sum;
}

const std::string& LoadTally::why(Failure failure) const noexcept {
  return whys_[static_cast<std::size_t>(failure)];
}

double LoadTally::answers_per_second() const noexcept {
  return elapsed_ <= Duration{0} ? 0 : as_double(counts_.answers) * 1e9 / as_double(elapsed_);
}

std::optional<double> LoadTally::value(std::string_view name) const {
  if (const Named* const found = named(name)) return found->read(*this);
  return bracketed(name);
}

std::optional<double> LoadTally::bracketed(std::string_view name) const {
  const std::size_t open = name.find('[');
  const std::string_view outer = name.substr(0, open);
  const bool has_index = open != std::string_view::npos && name.ends_with(']');
  if (open != std::string_view::npos && !has_index) return std::nullopt;
  const std::string_view index = has_index ? name.substr(open + 1, name.size() - open - 2) : "";
  if (outer == "status" && has_index) {
    std::size_t status = 0;
    const auto [end, code] = std::from_chars(index.data(), index.data() + index.size(), status);
    const bool is_status = code == std::errc{} && end == index.data() + index.size() &&
                           status >= 100 && status < statuses_.size();
    return is_status ? std::optional{as_double(statuses_[status])} : std::nullopt;
  }
  for (const CountedHeader& header : headers_) {
    if (header.name != outer) continue;
    if (!has_index) return as_double(header.values.size());
    for (const Value& value : header.values) {
      if (value.text == index) return as_double(value.counts.answers);
    }
    return 0;
  }
  return std::nullopt;
}

bool LoadTally::can_tell(const Threshold& threshold) const {
  const Named* const found = named(threshold.name);
  const Unit unit = found != nullptr ? found->unit : Unit::number;
  const bool unit_suits =
      threshold.unit == unit || (unit == Unit::share && threshold.unit == Unit::number);
  return unit_suits && value(threshold.name).has_value();
}

}  // namespace sluice::load
