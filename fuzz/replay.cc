// Replays a corpus: every file below the folders given goes once through the fuzz target that this
// is linked with, in the ordinary tests and with any compiler. An empty corpus fails, so that a
// wrong path cannot pass.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

int replay_folder(const char* folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::cout << entry.path().string() << std::endl;  // Flushed: the last line names a crash.
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) count += replay_folder(argv[i]);
  std::cout << count << " inputs replayed\n";
  return count > 0 ? 0 : 1;
}
