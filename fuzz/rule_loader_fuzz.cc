// Rule files of any bytes: they load or are refused with a reason, and whatever loads
// can be compiled and asked.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/rule_loader.h"
#include "engine/rule_matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace sluice;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  LoadedRules loaded =
      parse_rules(text, "fuzz.yaml", {.same_domain = RuleSetBuilder::SameDomain::merge});
  if (!loaded.errors.empty()) {
    if (!loaded.rules.nodes().empty()) std::abort();
    return 0;
  }
  const RuleMatcher matcher(std::make_shared<const RuleSet>(std::move(loaded.rules)));
  const RuleSet& rules = matcher.rules();
  // Every rule of the first level answers to its own key and value, or one before it does.
  for (const RuleDomain& domain : rules.domains()) {
    for (std::uint32_t i = domain.first_node; i != kNoIndex; i = rules.nodes()[i].next_sibling) {
      const Entry entry{rules.key(rules.nodes()[i]), rules.value(rules.nodes()[i])};
      std::array<std::string_view, 1> identity;
      if (matcher.match(domain, {&entry, 1}, identity).node == nullptr) std::abort();
    }
  }
  return 0;
}
