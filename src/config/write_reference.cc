// sluice-reference [--check] FOLDER: writes the generated pages and schemas below the project's
// folder, or says which of them are stale.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/reference.h"

namespace {

bool is_current(const std::filesystem::path& path, const std::string& text) {
  std::ifstream in(path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(in), {}} == text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_check = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 2 && !is_check) {
    std::fprintf(stderr, "usage: sluice-reference [--check] FOLDER\n");
    return 2;
  }
  int stale = 0;
  for (const sluice::ReferenceFile& file : sluice::reference_files()) {
    const std::filesystem::path path = std::filesystem::path(argv[argc - 1]) / file.path;
    if (is_current(path, file.text)) continue;
    if (is_check) {
      std::printf("%s is stale; run sluice-reference on the project's folder\n", file.path.c_str());
      ++stale;
      continue;
    }
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file.text;
  }
  return stale == 0 ? 0 : 1;
}
