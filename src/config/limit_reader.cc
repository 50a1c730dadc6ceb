#include "config/limit_reader.h"

#include <algorithm>

#include "base/duration_text.h"
#include "config/rule_fields.h"
#include "config/rule_loader.h"

namespace sluice {
namespace {

constexpr std::size_t kReplacesMax = 64;

class LimitReader {
 public:
  LimitReader(const YamlValue& mapping, ProblemLog& log)
      : mapping_(mapping), log_(log), fields_(mapping, limit_fields(), log) {}

  RuleLimit read() {
    fields_.read("name", rule_.name, kRuleKeyBytesMax);
    fields_.read("unlimited", rule_.unlimited);
    read_replaces();
    read_places();
    if (rule_.unlimited) {
      refuse_numbers();
    } else {
      read_numbers();
    }
    return std::move(rule_);
  }

 private:
  Limit& limit() { return rule_.limit; }
  bool is_bucket() {
    return limit().algorithm == Algorithm::token_bucket ||
           limit().algorithm == Algorithm::leaky_bucket;
  }

  void refuse_numbers() {
    for (const Field& field : limit_fields()) {
      if (field.name == "name" || field.name == "unlimited" || field.name == "replaces") continue;
      if (fields_.has(field.name))
        fields_.error(field.name,
                      "should not specify " + std::string{field.name} + " when unlimited");
    }
  }

  void read_numbers() {
    if (!fields_.has("requests_per_unit")) {
      log_.error(mapping_.line, "requests_per_unit is missing (0 would refuse every request)");
    }
    fields_.read("requests_per_unit", limit().requests);
    if (const auto choice = fields_.read_choice("algorithm")) {
      limit().algorithm = static_cast<Algorithm>(*choice >= kAlgorithmGcra ? *choice - 1 : *choice);
    }
    if (limit().algorithm == Algorithm::concurrency) {
      refuse("concurrency has no period", {"unit", "unit_multiplier", "period"});
    } else {
      read_period();
      refuse("only for algorithm concurrency", {"permit_ttl"});
    }
    read_burst();
    fields_.read("sub_windows", limit().sub_windows);
    fields_.read("block_for", limit().block_for);
    fields_.read("count_denied", limit().count_denied);
    fields_.read("overdraft", limit().overdraft);
    fields_.read("permit_ttl", limit().permit_ttl);
    const Result<void> valid = validate_limit(limit());
    if (!valid) log_.error(line_of_message(valid.error().message), valid.error().message);
  }

  void read_period() {
    std::uint32_t multiplier = 1;
    fields_.read("unit_multiplier", multiplier);
    if (fields_.has("period")) {
      refuse("stands beside period: a limit has one of them", {"unit", "unit_multiplier"});
      fields_.read("period", limit().period);
      return;
    }
    if (!fields_.has("unit")) {
      log_.error(mapping_.line, "invalid rate limit unit '': unit or period is missing");
      return;
    }
    if (const auto unit = fields_.read_choice("unit")) {
      const Duration length = unit_length(*unit);
      // A product beyond 10 years is refused by validate_limit; one that would overflow, here.
      limit().period = length > kNever / multiplier ? kNever : length * multiplier;
    }
  }

  void read_burst() {
    if (!is_bucket()) return refuse("only for token_bucket and leaky_bucket", {"burst"});
    limit().burst = limit().requests;
    fields_.read("burst", limit().burst);
    if (limit().algorithm != Algorithm::token_bucket || limit().requests == 0) return;
    if (limit().burst == 0) {
      fields_.warning("burst", "0 lets nothing through");
    } else if (limit().burst < limit().requests) {
      const Duration refill = limit().period / limit().requests * limit().burst;
      fields_.warning("burst", "the bucket is full after " + format_duration(refill) +
                                   ": callers that pause longer get fewer than " +
                                   std::to_string(limit().requests) + " each " +
                                   format_duration(limit().period));
    }
  }

  // Scopes other than local need a store that can be shared; there is none yet.
  void read_places() {
    constexpr std::string_view kLater =
        "needs a store shared by daemons, which this version does not offer; ";
    if (const auto scope = fields_.read_choice("scope"); scope && *scope != kScopeLocal) {
      fields_.error("scope", std::string{kLater} + "leave it out or say local");
    }
    double share = 1;
    fields_.read("fallback_share", share);
    fields_.read_choice("on_store_error");
    for (const char* name : {"store", "on_store_error", "fallback_share"}) {
      if (fields_.has(name)) fields_.error(name, std::string{kLater} + "leave it out");
    }
    Duration warm_up{0};
    fields_.read("warm_up", warm_up);
    if (fields_.has("warm_up")) fields_.error("warm_up", "is not offered by this version");
  }

  void read_replaces() {
    const YamlValue* const list = fields_.find("replaces");
    if (list == nullptr || list->kind == YamlValue::Kind::null) return;
    if (list->kind != YamlValue::Kind::sequence || list->items.size() > kReplacesMax) {
      return fields_.error("replaces", "must be a list of at most 64 `name: ...`");
    }
    constexpr Field kName[] = {{"name", FieldKind::text, ""}};
    for (const YamlValue& item : list->items) {
      std::string name;
      if (item.kind == YamlValue::Kind::mapping) {
        FieldReader(item, kName, log_).read("name", name, kRuleKeyBytesMax);
      }
      if (name.empty()) {
        log_.error(item.line, "replaces: should not have an empty replaces entry");
      } else if (name == rule_.name) {
        log_.error(item.line, "replaces: should not contain the name of the same limit");
      } else {
        rule_.replaces.push_back(std::move(name));
      }
    }
  }

  void refuse(const std::string& reason, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (fields_.has(name)) fields_.error(name, reason);
    }
  }

  // validate_limit() begins with the name of the field.
  std::uint32_t line_of_message(std::string_view message) {
    const std::string_view name = message.substr(0, message.find(':'));
    return fields_.line_of(name == "period" && !fields_.has(name) ? "unit" : name);
  }

  const YamlValue& mapping_;
  ProblemLog& log_;
  FieldReader fields_;
  RuleLimit rule_;
};

}  // namespace

std::optional<RuleLimit> read_limit(const YamlValue& mapping, ProblemLog& log) {
  if (mapping.kind != YamlValue::Kind::mapping) {
    log.error(mapping.line, "rate_limit: must be a mapping");
    return std::nullopt;
  }
  const std::size_t errors_before = log.error_count();
  RuleLimit rule = LimitReader(mapping, log).read();
  if (log.error_count() > errors_before) return std::nullopt;
  return rule;
}

}  // namespace sluice
