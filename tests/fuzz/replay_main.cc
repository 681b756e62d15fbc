// main() of a fuzz target without libFuzzer: replays a corpus, then seeded random mutations of it.
//
//   NAME CORPUS_FOLDER_OR_FILE... [--mutations=N] [--seed=S] [--only=K]
//
// Input K is a function of the corpus, the seed and K alone. The inputs run in a child process; if
// it ends before they do, the parent saves the input that it ran and prints how to run it again.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxInputBytes = 1 << 16;
constexpr uint64_t kAllInputs = UINT64_MAX;

struct Options {
  std::vector<std::string> paths;
  uint64_t mutations = 3000;
  uint64_t seed = 1;
  uint64_t only = kAllInputs;
};

bool ParseNumber(std::string_view arg, std::string_view prefix, uint64_t* out) {
  if (!arg.starts_with(prefix)) return false;
  arg.remove_prefix(prefix.size());
  const auto parsed = std::from_chars(arg.data(), arg.data() + arg.size(), *out);
  return parsed.ec == std::errc() && parsed.ptr == arg.data() + arg.size();
}

bool ParseOptions(int argc, char** argv, Options* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (!arg.starts_with("--")) {
      out->paths.emplace_back(arg);
    } else if (!ParseNumber(arg, "--mutations=", &out->mutations) &&
               !ParseNumber(arg, "--seed=", &out->seed) &&
               !ParseNumber(arg, "--only=", &out->only)) {
      return false;
    }
  }
  return !out->paths.empty();
}

// The files of the corpus, sorted by path: a folder's own order is not stable.
std::vector<std::string> ReadCorpus(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, uint64_t seed, uint64_t index)
      : corpus_(corpus), random_(seed * 0x9E3779B97F4A7C15 + index) {}

  std::string Make() {
    std::string input = corpus_[Below(corpus_.size())];
    if (input.size() > kMaxInputBytes) input.resize(kMaxInputBytes);
    for (size_t edits = 1 + Below(6); edits > 0; --edits) Edit(&input);
    return input;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void Edit(std::string* input) {
    const size_t at = Below(input->size() + 1);
    const size_t bytes = std::min(Below(1 + Below(32)) + 1, input->size() - at);
    switch (Below(7)) {
      case 0:  // one bit
        if (at < input->size()) (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8)));
        break;
      case 1:  // one byte
        if (at < input->size()) (*input)[at] = static_cast<char>(Below(256));
        break;
      case 2:
        input->erase(at, bytes);
        break;
      case 3:  // the same again, somewhere else
        Insert(Below(input->size() + 1), input->substr(at, bytes), input);
        break;
      case 4: {  // a part of another input
        const std::string& other = corpus_[Below(corpus_.size())];
        const size_t begin = Below(other.size() + 1);
        Insert(at, other.substr(begin, 1 + Below(64)), input);
        break;
      }
      case 5:
        Insert(at, Token(), input);
        break;
      default:  // a number or a mark in place of what was there
        input->replace(at, bytes, Token());
        break;
    }
  }

  std::string Token() {
    static const char* const kTokens[] = {"0",
                                          "1",
                                          "-1",
                                          "4096",
                                          "1e9",
                                          "0.5",
                                          "2147483648",
                                          "9223372036854775807",
                                          "18446744073709551616",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "\"",
                                          ",",
                                          ":",
                                          "..",
                                          "{i}",
                                          "[0-9]",
                                          "\\u0000",
                                          "null",
                                          "true",
                                          "[0-999999999]",
                                          " ",
                                          "\n"};
    return kTokens[Below(std::size(kTokens))];
  }

  static void Insert(size_t at, const std::string& text, std::string* input) {
    if (input->size() + text.size() <= kMaxInputBytes) input->insert(at, text);
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

std::string InputOf(const std::vector<std::string>& corpus, const Options& options,
                    uint64_t index) {
  if (index < corpus.size()) return corpus[index];
  return Mutator(corpus, options.seed, index).Make();
}

void RunInput(const std::string& input) {
  // A buffer of exactly this size: with the address sanitizer a read past the end is seen.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

int ReportFailure(const std::vector<std::string>& corpus, const Options& options, uint64_t index,
                  const char* program) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = std::string(folder != nullptr ? folder : ".") + "/failing-input";
  std::ofstream(path, std::ios::binary) << InputOf(corpus, options, index);
  std::printf("input %llu failed; it is saved as %s\nagain: %s",
              static_cast<unsigned long long>(index), path.c_str(), program);
  for (const std::string& corpus_path : options.paths) std::printf(" %s", corpus_path.c_str());
  std::printf(" --seed=%llu --only=%llu\n", static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(index));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr, "usage: %s CORPUS... [--mutations=N] [--seed=S] [--only=K]\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = ReadCorpus(options.paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "the corpus is empty\n");
    return 2;
  }
  if (options.only != kAllInputs) {
    RunInput(InputOf(corpus, options, options.only));
    return 0;
  }
  void* shared =
      mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto* current = static_cast<volatile uint64_t*>(shared);
  const uint64_t count = corpus.size() + options.mutations;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (uint64_t i = 0; i < count; ++i) {
      *current = i;
      RunInput(InputOf(corpus, options, i));
    }
    *current = count;
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 2;
  const uint64_t reached = *current;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || reached != count) {
    return ReportFailure(corpus, options, reached, argv[0]);
  }
  std::printf("%zu inputs of the corpus and %llu mutations (seed %llu)\n", corpus.size(),
              static_cast<unsigned long long>(options.mutations),
              static_cast<unsigned long long>(options.seed));
  return 0;
}
