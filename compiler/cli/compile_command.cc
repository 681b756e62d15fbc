#include "compiler/cli/compile_command.h"

#include <utility>

#include "compiler/cli/progress.h"
#include "compiler/frontend/json_node.h"
#include "compiler/plan_tools/summary.h"

namespace reshard {
namespace {

// Reads an input; an unreadable one is an error that names it.
bool ReadInput(const std::string& path, FileSystem& files, std::ostream& err, InputFile* out) {
  StatusOr<std::string> text = files.Read(path, kMaxJsonBytes);
  if (!text.ok()) {
    err << EscapeForTerminal(path) << ": error: " << text.status().message() << " [cannot-read]\n";
    return false;
  }
  out->path = path == "-" ? "<stdin>" : path;
  out->text = std::move(*text);
  return true;
}

}  // namespace

ExitCode RunCompile(const CompileArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err) {
  InputFile train;
  InputFile infer;
  InputFile topo;
  bool readable = ReadInput(args.train, files, err, &train);
  readable &= ReadInput(args.infer, files, err, &infer);
  readable &= ReadInput(args.topo, files, err, &topo);
  if (!readable) return ExitCode::kCannotJudge;

  Diagnostics diags;
  Compilation compilation;
  Progress progress(err);
  const bool ok = Compile(
      std::move(train), std::move(infer), std::move(topo), args.options,
      args.dump_after.value_or(Stage::kPlan), &diags,
      [&](Stage stage) { progress.Enter(StageText(stage)); }, &compilation);
  diags.Print(compilation.sources, args.max_errors, err);
  if (!ok) return ExitCodeFor(diags);

  if (!args.output.empty()) {
    const Status written = files.Write(args.output, compilation.bytes);
    if (!written.ok()) {
      err << EscapeForTerminal(args.output) << ": error: " << written.message()
          << " [cannot-write]\n";
      return ExitCode::kCannotJudge;
    }
  }
  // A plan on standard output leaves no room for text there.
  std::ostream& report = args.output == "-" ? err : out;
  PrintSummary(compilation.plan, Summarize(compilation.plan),
               static_cast<int64_t>(compilation.bytes.size()), report);
  return ExitCode::kYes;
}

}  // namespace reshard
