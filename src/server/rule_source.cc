#include "server/rule_source.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice::server {

const std::string_view kExampleRules = R"(# Each API key: 100 requests a minute.
domain: api
descriptors:
  - key: api_key
    rate_limit: {requests_per_unit: 100, unit: minute}
)";

namespace {

// Of the files' names and bytes. Not a secret, only a name.
std::string hash_of(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) {
    std::ifstream stream(file, std::ios::binary);
    all.append(file).append(1, '\0');
    all.append(std::istreambuf_iterator<char>(stream), {});
  }
  if (files.empty()) all = kExampleRules;
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

}  // namespace

RuleSource::RuleSource(Engine& engine, std::vector<std::string> paths, RuleLoadOptions options)
    : engine_(engine), paths_(std::move(paths)), options_(options) {}

RuleSource::~RuleSource() = default;

RuleReport RuleSource::load() {
  LoadedRules loaded = paths_.empty() ? parse_rules(kExampleRules, "built-in example", options_)
                                      : load_rules(paths_, options_);
  RuleReport report{.is_in_force = false,
                    .limits = loaded.rules.limits().size(),
                    .errors = std::move(loaded.errors),
                    .warnings = std::move(loaded.warnings)};
  if (report.errors.empty()) {
    std::string hash = hash_of(paths_.empty() ? std::vector<std::string>{} : loaded.files);
    const auto replaced =
        engine_.replace_rules(std::make_shared<const RuleSet>(std::move(loaded.rules)));
    if (replaced) {
      const MutexLock lock(mutex_);
      hash_ = std::move(hash);
      report.is_in_force = true;
    } else {
      report.errors.push_back({"", 0, replaced.error().message});
    }
  } else {
    engine_.count_failed_reload();
  }
  return report;
}

void RuleSource::reload_in_background(std::function<void(const RuleReport&)> report) {
  const MutexLock lock(mutex_);
  wanted_ = std::move(report);
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  wakeup_.notify_one();
}

void RuleSource::run(const std::stop_token& stop) {
  for (;;) {
    std::function<void(const RuleReport&)> report;
    {
      const MutexLock lock(mutex_);
      const auto is_wanted = [this]() SLUICE_REQUIRES(mutex_) { return wanted_ != nullptr; };
      if (!wakeup_.wait(mutex_, stop, is_wanted)) return;
      report = std::exchange(wanted_, nullptr);
    }
    report(load());
  }
}

std::string RuleSource::hash() const {
  const MutexLock lock(mutex_);
  return hash_;
}

}  // namespace sluice::server
