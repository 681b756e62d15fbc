#include "compiler/cli/compile_command.h"

#include <sstream>
#include <utility>

#include "compiler/cli/progress.h"
#include "compiler/cli/read_input.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/dump_stage.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/summary.h"

namespace reshard {
ExitCode RunCompile(const CompileArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err) {
  std::optional<InputFile> train = ReadInput(args.train, files, err);
  std::optional<InputFile> infer = ReadInput(args.infer, files, err);
  std::optional<InputFile> topo = ReadInput(args.topo, files, err);
  if (!train || !infer || !topo) return ExitCode::kCannotJudge;

  Diagnostics diags;
  Compilation compilation;
  Progress progress(err);
  const bool ok = Compile(
      *std::move(train), *std::move(infer), *std::move(topo), args.options,
      args.dump_after.value_or(Stage::kPlan), &diags,
      [&](Stage stage) { progress.Enter(StageText(stage)); }, &compilation);
  diags.Print(compilation.sources, args.max_errors, err);
  if (!ok) return ExitCodeFor(diags);

  if (args.dump_after && *args.dump_after != Stage::kPlan) {
    std::ostringstream dump;
    DumpStage(compilation, *args.dump_after, dump);
    WriteEscaped(dump.str(), out);
    return ExitCode::kYes;
  }
  if (!args.output.empty()) {
    const Status written = files.Write(args.output, compilation.bytes);
    if (!written.ok()) {
      err << ShownPath(args.output) << ": error: " << written.message() << " [cannot-write]\n";
      return ExitCode::kCannotJudge;
    }
  }
  // A plan on standard output leaves no room for text there.
  std::ostream& report = args.output == "-" ? err : out;
  const int64_t plan_bytes = static_cast<int64_t>(compilation.bytes.size());
  const PlanSummary summary = Summarize(compilation.plan);
  std::ostringstream text;
  if (args.json) {
    JsonWriter json;
    json.BeginObject();
    json.Field("schema", "reshardc-compile/1");
    WriteSummary(compilation.plan, summary, plan_bytes, &json);
    json.End();
    text << json.Text() << "\n";
  } else {
    PrintSummary(compilation.plan, summary, plan_bytes, text);
  }
  WriteEscaped(text.str(), report);
  return ExitCode::kYes;
}

}  // namespace reshard
