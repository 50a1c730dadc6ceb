#include "config/rule_loader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/limit_reader.h"
#include "config/rule_fields.h"
#include "config/rule_warnings.h"
#include "config/yaml_reader.h"

namespace sluice {
namespace {

using Kind = YamlEvent::Kind;

constexpr std::size_t kLimitsMax = 16;  // Of one descriptor.

// Reads the documents of one file after the other into one builder. A descriptor's own fields are
// a small tree; its `descriptors` are read as they come.
class RuleFileReader {
 public:
  RuleFileReader(RuleSetBuilder& builder, ProblemLog& log) : builder_(builder), log_(log) {}

  void read_file(std::istream& in, const std::string& name) {
    builder_.begin_file(name);
    log_.begin_file(name);
    YamlReader reader(in);
    reader_ = &reader;
    bool is_empty = true;
    YamlEvent event = reader.next();
    for (; event.kind == Kind::document; event = reader.next()) {
      is_empty = false;
      read_domain(reader.next());
      if (reader.next().kind != Kind::end) break;
    }
    const Problem& problem = reader.problem();
    if (!problem.message.empty()) {
      has_broken_file_ = true;
      log_.error(problem.line, problem.message);
    } else if (is_empty) {
      log_.error(1, "the file is empty; it must have a domain");
    }
    reader_ = nullptr;
  }

  // A file ended in the middle: what its tree lacks says nothing.
  bool has_broken_file() const noexcept { return has_broken_file_; }

 private:
  void read_domain(const YamlEvent& first) {
    const std::uint32_t line = first.line;
    if (first.kind != Kind::mapping) {
      log_.error(line, "a rule file must be a mapping with a domain");
      return skip_tree(*reader_, first);
    }
    const std::uint32_t domain = builder_.open_domain(line);
    YamlValue own;
    if (!read_mapping(line, domain, 0, own)) return;
    FieldReader fields(own, domain_fields(), log_);
    std::string name;
    fields.read("domain", name, kRuleKeyBytesMax);
    const auto charge = fields.read_choice("charge");
    builder_.define_domain(domain, name, charge == kChargeEach);
  }

  // Collects the fields of a domain or a descriptor and enters its children into the tree. False
  // when the reader has failed.
  bool read_mapping(std::uint32_t line, std::uint32_t node, std::size_t depth, YamlValue& own) {
    own.kind = YamlValue::Kind::mapping;
    own.line = line;
    for (YamlEvent event = reader_->next(); event.kind != Kind::end; event = reader_->next()) {
      if (event.kind != Kind::scalar) {
        reader_->fail(event.line, "a key must be plain text");
        return false;
      }
      YamlField& field = own.fields.emplace_back();
      field.key = event.text;
      field.line = field.value.line = event.line;
      const YamlEvent value = reader_->next();
      if (field.key != "descriptors") {
        if (!read_tree(*reader_, value, field.value)) return false;
      } else if (!read_descriptors(value, node, depth)) {
        return false;
      }
    }
    return true;
  }

  bool read_descriptors(const YamlEvent& first, std::uint32_t parent, std::size_t depth) {
    if (first.is_null()) return true;
    if (first.kind == Kind::failed) return false;
    if (first.kind != Kind::sequence || depth == kRuleDepthMax) {
      log_.error(first.line, first.kind != Kind::sequence ? "descriptors: must be a list"
                                                          : "descriptors: nested deeper than 16");
      skip_tree(*reader_, first);
      return true;
    }
    for (YamlEvent event = reader_->next(); event.kind != Kind::end; event = reader_->next()) {
      if (event.kind == Kind::failed) return false;
      if (event.kind != Kind::mapping) {
        log_.error(event.line, "descriptors: list of type other than map: " +
                                   std::string{event.text.substr(0, 80)});
        skip_tree(*reader_, event);
      } else if (!read_descriptor(event.line, parent, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  bool read_descriptor(std::uint32_t line, std::uint32_t parent, std::size_t depth) {
    if (++nodes_ > kRuleNodesMax) {
      reader_->fail(line, "more than " + std::to_string(kRuleNodesMax) + " descriptors");
      return false;
    }
    const std::uint32_t node = builder_.open_node(parent, line);
    YamlValue own;
    if (!read_mapping(line, node, depth, own)) return false;
    define(node, own);
    return true;
  }

  void define(std::uint32_t node, const YamlValue& own) {
    FieldReader fields(own, descriptor_fields(), log_);
    std::string key;
    std::string value;
    std::string metadata;
    fields.read("key", key, kRuleKeyBytesMax);
    fields.read("value", value, kRuleValueBytesMax);
    RuleDraft draft{.key = key, .value = value};
    fields.read("share_threshold", draft.share_threshold);
    fields.read("value_to_metric", draft.value_to_metric);
    if (draft.share_threshold && value.find('*') == std::string::npos) {
      fields.error("share_threshold", "needs a value with a * in it");
    }
    read_limits(fields, draft);
    read_metadata(fields, metadata);
    draft.metadata = metadata;
    builder_.define_node(node, draft);
  }

  void read_limits(FieldReader& fields, RuleDraft& draft) {
    const YamlValue* const one = fields.has("rate_limit") ? fields.find("rate_limit") : nullptr;
    const YamlValue* const list = fields.has("rate_limits") ? fields.find("rate_limits") : nullptr;
    if (one != nullptr && list != nullptr) {
      return fields.error("rate_limits", "stands beside rate_limit: a descriptor has one of them");
    }
    if (one != nullptr) add_limit(*one, draft);
    if (list != nullptr) {
      if (list->kind != YamlValue::Kind::sequence || list->items.empty() ||
          list->items.size() > kLimitsMax) {
        return fields.error("rate_limits", "must be a list of 1 to 16 limits");
      }
      draft.is_list = true;
      for (const YamlValue& item : list->items) add_limit(item, draft);
    }
    bool is_shadow = false;
    bool is_quota = false;
    bool is_detailed = false;
    fields.read("shadow_mode", is_shadow);
    fields.read("quota_mode", is_quota);
    fields.read("detailed_metric", is_detailed);
    for (RuleLimit& rule : draft.limits) {
      rule.shadow_mode = is_shadow;
      rule.quota_mode = is_quota;
      rule.detailed_metric = is_detailed;
    }
    for (const char* name : {"shadow_mode", "quota_mode"}) {
      if (fields.has(name) && one == nullptr && list == nullptr) {
        fields.warning(name, "has no effect without a rate_limit");
      }
    }
  }

  void add_limit(const YamlValue& mapping, RuleDraft& draft) {
    if (std::optional<RuleLimit> rule = read_limit(mapping, log_)) {
      draft.limits.push_back(std::move(*rule));
    }
  }

  void read_metadata(FieldReader& fields, std::string& metadata) {
    if (!fields.has("metadata")) return;
    const YamlValue& value = *fields.find("metadata");
    if (value.kind != YamlValue::Kind::mapping) {
      return fields.error("metadata", "must be a mapping");
    }
    metadata = json_text(value);
    if (metadata.size() > kRuleMetadataBytesMax) {
      fields.error("metadata", "longer than " + std::to_string(kRuleMetadataBytesMax) + " bytes");
    }
  }

  RuleSetBuilder& builder_;
  ProblemLog& log_;
  YamlReader* reader_ = nullptr;
  std::size_t nodes_ = 0;
  bool has_broken_file_ = false;
};

// The files that a path stands for; problems go into the log.
std::vector<std::string> files_of(const std::string& path, ProblemLog& log) {
  namespace fs = std::filesystem;
  log.begin_file(path);
  if (path.find("://") != std::string::npos) {
    log.error(0, "only files and folders can be read by this version");
    return {};
  }
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string extension = entry->path().extension();
    if (extension != ".yaml" && extension != ".yml") continue;
    std::error_code ignored;
    if (!entry->is_directory(ignored)) files.push_back(entry->path());
    if (files.size() > kRuleFilesMax) break;
  }
  if (failure) log.error(0, failure.message());
  if (!failure && files.empty()) log.error(0, "holds no *.yaml or *.yml");
  std::ranges::sort(files);
  return files;
}

bool open_file(const std::string& name, std::ifstream& in, ProblemLog& log) {
  std::error_code failure;
  log.begin_file(name);
  const std::uintmax_t bytes = std::filesystem::file_size(name, failure);
  if (failure) {
    log.error(0, failure.message());
    return false;
  }
  if (bytes > kRuleFileBytesMax) {
    log.error(0, "larger than 1 GiB");
    return false;
  }
  in.open(name, std::ios::binary);
  if (!in) log.error(0, "cannot be opened");
  return in.is_open();
}

LoadedRules finish(RuleSetBuilder& builder, const RuleFileReader& reader, ProblemLog& log,
                   std::vector<std::string> files) {
  LoadedRules loaded;
  loaded.files = std::move(files);
  std::vector<Problem> problems;
  loaded.rules = builder.build(problems);
  if (!reader.has_broken_file()) log.add_errors(std::move(problems));
  if (log.error_count() > 0) loaded.rules = RuleSet{};
  log.add_warnings(warnings_about(loaded.rules));
  loaded.errors = log.take_errors();
  loaded.warnings = log.take_warnings();
  return loaded;
}

}  // namespace

LoadedRules load_rules(std::span<const std::string> paths, const RuleLoadOptions& options) {
  RuleSetBuilder builder(options.same_domain);
  ProblemLog log;
  RuleFileReader reader(builder, log);
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : files_of(path, log)) files.push_back(std::move(file));
  }
  if (files.size() > kRuleFilesMax) {
    log.error(0, "more than " + std::to_string(kRuleFilesMax) + " files");
    files.clear();
  }
  for (const std::string& file : files) {
    if (std::ifstream in; open_file(file, in, log)) reader.read_file(in, file);
  }
  return finish(builder, reader, log, std::move(files));
}

LoadedRules parse_rules(std::string_view text, std::string_view file,
                        const RuleLoadOptions& options) {
  RuleSetBuilder builder(options.same_domain);
  ProblemLog log;
  std::istringstream in{std::string{text}};
  RuleFileReader reader(builder, log);
  reader.read_file(in, std::string{file});
  return finish(builder, reader, log, {std::string{file}});
}

std::string problem_text(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += ':' + std::to_string(problem.line);
  return text.empty() ? problem.message : text + ": " + problem.message;
}

}  // namespace sluice
