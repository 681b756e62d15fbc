#include "compiler/cli/report_command.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/emit/serialize_plan.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// A folder that is gone with it.
struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("report_command_test." + std::to_string(getpid()))) {
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string Add(const std::string& name, const Plan& plan) const {
    const StatusOr<std::vector<uint8_t>> bytes = SerializePlan(plan);
    REQUIRE(bytes.ok());
    std::ofstream(path / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes->data()),
               static_cast<std::streamsize>(bytes->size()));
    return path / name;
  }
  std::filesystem::path path;
};

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_CASE("the page of a plan that breaks a rule is written, and the answer is no") {
  const Folder folder;
  Plan plan = testing::ToyPlan();
  const std::string good = folder.Add("good.fb", plan);
  plan.header.totals.network_bytes += 1;
  const std::string bad = folder.Add("bad.fb", plan);
  const std::string page = folder.path / "page.html";
  RealFileSystem files;
  std::ostringstream out, err;
  CHECK(RunReport({good, bad, page}, files, out, err) == ExitCode::kNo);
  CHECK(out.str() == "good.fb: sound\nbad.fb: violated\ndifferent\n");
  CHECK(err.str().find(bad + ": ") == 0);
  CHECK(err.str().find(good) == std::string::npos);
  CHECK(TextOf(page).find("Not sound.") != std::string::npos);
  CHECK(TextOf(page).find("not simulated, because") != std::string::npos);

  CHECK(RunReport({good, "", page}, files, out, err) == ExitCode::kYes);
  CHECK(TextOf(page).find("Not sound.") == std::string::npos);
}

}  // namespace
}  // namespace reshard
