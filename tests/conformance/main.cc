// sluice-conformance [--store memory|oracle|headers|URL] FILE...
// Exit status: 0 when every case agrees, 1 when one differs, 2 when it was called wrongly or a file
// cannot be read.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/conformance/replay.h"

namespace {

using namespace sluice;
using namespace sluice::conformance;

constexpr const char* kUsage =
    "Usage: sluice-conformance [--store memory|oracle|headers|URL] FILE...\n"
    "Replays conformance cases on virtual time and prints each difference as\n"
    "`file:line: expected ..., got ...`. The store is memory unless said otherwise.\n"
    "Example: sluice-conformance --store oracle tests/conformance/cases/*.case\n";

int fail(const std::string& reason) {
  std::cerr << reason << '\n';
  return 2;
}

struct Tally {
  int cases = 0;
  int steps = 0;
  int differences = 0;
};

void play(const std::vector<Case>& cases, const std::string& store, Tally& tally) {
  for (const Case& played : cases) {
    auto subject = make_subject(store);
    const auto differences = replay(played, **subject);
    for (const std::string& difference : differences) std::cout << difference << '\n';
    ++tally.cases;
    tally.steps += static_cast<int>(played.steps.size());
    tally.differences += static_cast<int>(differences.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string store = "memory";
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::cout << kUsage;
      return 0;
    }
    if (argument == "--store" && i + 1 < argc) {
      store = argv[++i];
    } else if (argument.starts_with("--")) {
      return fail("no such option: " + argument + "\n" + kUsage);
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) return fail(kUsage);
  if (const auto subject = make_subject(store); !subject) return fail(subject.error().message);

  Tally tally;
  for (const std::string& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return fail(file + ": cannot be read");
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto cases = parse_case_file(file, text);
    if (!cases) return fail(cases.error().message);
    play(*cases, store, tally);
  }
  std::cout << tally.cases << " cases, " << tally.steps << " steps, " << tally.differences
            << " differences (" << store << ")\n";
  return tally.differences == 0 ? 0 : 1;
}
