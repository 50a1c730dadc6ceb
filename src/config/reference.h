// What editors and readers see of the tables of rule_fields.h and settings.h: JSON Schemas
// (draft 2020-12) and Markdown tables. `sluice-reference` writes them into docs/, a test compares.
#pragma once

#include <string>
#include <vector>

namespace sluice {

struct ReferenceFile {
  std::string path;  // Below the folder of the project.
  std::string text;
};

std::vector<ReferenceFile> reference_files();

}  // namespace sluice
