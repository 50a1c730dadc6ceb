// Plays a case against a subject and lists what differs.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/case_file.h"
#include "tests/conformance/subject.h"

namespace sluice::conformance {

// One line for each step that differs: `file:line: expected ..., got ...`.
std::vector<std::string> replay(const Case& played, Subject& subject);

}  // namespace sluice::conformance
