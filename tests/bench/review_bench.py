"""Measures what reviewers of plans wait for: diff, explain, show and report, of two plans of one job.

Usage: tools/bench review [--repeat N] [--json FILE] [CASE...]

The second plan of a case serves the same model in another layout. For the third its templates are cut in
two, which says the same in other words: the most that diff has to look at. Times are medians over N runs of
wall clock, and of what the process itself computed (user). Memory is its largest resident set.
"""
import copy
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compile_bench as bench  # noqa: E402

# Name, title, and the cases of compile_bench that are the first and the second plan; options of the second.
CASES = [
    ("qwen3-64", "Qwen3-235B, 64 to 64, TP8 in one chain", "qwen3-64", "qwen3-64", ["--heads", "1"]),
    ("deepseek-4096", "DeepSeek-V3, 4096 to 4096, TP8 and TP32", "deepseek-4096", "deepseek-4096-tp32", []),
]
CUT = 30  # templates over layers are cut before this one


def cut_templates(layout):
    """The same layout with each template over the layers as two."""
    layout = copy.deepcopy(layout)
    for key in ("logical", "params"):
        entries = []
        for entry in layout.get(key, []):
            loop = [name for name, values in entry.get("for", {}).items() if str(values).endswith("..L")]
            if not loop:
                entries.append(entry)
                continue
            begin = entry["for"][loop[0]].split("..")[0]
            for part in ("%s..%d" % (begin, CUT), "%d..L" % CUT):
                entries.append({**entry, "for": {**entry["for"], loop[0]: part}})
        if key in layout:
            layout[key] = entries
    return layout


def compile_plan(program, inputs, options, path):
    bench.run_once([program, "compile"] + inputs + options + ["-o", path])


def make_plans(program, case, folder):
    """Paths of the two plans, and of the second with its templates cut."""
    paths = []
    for name, options in ((case[2], []), (case[3], case[4])):
        _, train, infer, topo, _ = [known for known in bench.CASES if known[0] == name][0]
        inputs = [bench.LAYOUTS + train + ".json", bench.LAYOUTS + infer + ".json",
                  bench.TOPOLOGIES + topo + ".json"]
        paths.append(os.path.join(folder, "plan%d.fb" % len(paths)))
        compile_plan(program, inputs, options, paths[-1])
    cut = []
    for path in inputs[:2]:
        with open(path, encoding="utf-8") as stream:
            layout = cut_templates(json.load(stream))
        cut.append(os.path.join(folder, os.path.basename(path)))
        with open(cut[-1], "w", encoding="utf-8") as stream:
            json.dump(layout, stream)
    paths.append(os.path.join(folder, "cut.fb"))
    compile_plan(program, cut + inputs[2:], options, paths[-1])
    return paths


def asked_of(program, plan):
    """A rank, its largest kind of param, an element of it, and a NIC: what to explain."""
    shown = json.loads(bench.run_once([program, "show", plan, "--json"])[3])
    destination = json.loads(bench.run_once([program, "show", plan, "--points"])[3])
    rank = destination[-1]["rank"]
    params = [entry for entry in destination if entry["rank"] == rank]
    largest = max(params, key=lambda entry: len(entry["shape"]))
    return rank, largest["param"], ",".join("0" for _ in largest["shape"]), shown["nics"][0]["name"]


def commands(program, plans, folder):
    """Name, arguments, and the exit status of what is measured."""
    first, second, cut = plans
    rank, param, at, nic = asked_of(program, second)
    of_param = ["explain", second, "--rank", str(rank), "--param", param]
    page = os.path.join(folder, "page.html")
    return [
        ("diff", ["diff", first, second], 1),
        ("diff --fail-if", ["diff", first, second, "--fail-if", "time<-100%,coverage"], 0),
        ("diff, templates cut", ["diff", second, cut], 0),
        ("show", ["show", second], 0),
        ("show --ranks", ["show", second, "--ranks", "--rows", "0"], 0),
        ("explain a param", of_param, 0),
        ("explain an element", of_param + ["--at", at, "--why"], 0),
        ("explain --nic", ["explain", second, "--nic", nic], 0),
        ("report of one", ["report", second, "-o", page], 0),
        ("report of two", ["report", first, second, "-o", page], 0),
        # The last: what a program is started with grows by what Python has read.
        ("show --canonical", ["show", second, "--canonical"], 0),
    ]


def measure(program, case, repeat):
    """The rows of one case, as dictionaries."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plans = make_plans(program, case, folder)
        for name, arguments, status in commands(program, plans, folder):
            print("measuring %s: %s" % (case[0], name), file=sys.stderr)
            figures, output = bench.run_repeatedly([program] + arguments, repeat, status)
            row = {"case": case[0], "name": name, "output_bytes": len(output), **figures}
            if arguments[0] == "report":
                row["output_bytes"] = os.path.getsize(arguments[-1])
            rows.append(row)
    return rows


COLUMNS = [
    ("", lambda row: row["name"]),
    ("time", lambda row: "%.2f s" % row["seconds"]),
    ("(user)", lambda row: "%.2f s" % row["user_seconds"]),
    ("memory", bench.memory),
    ("prints", lambda row: "%.1f kB" % (row["output_bytes"] / 1e3)),
]


def main(arguments):
    args = bench.parse("tools/bench review", [case[0] for case in CASES], 3, arguments)
    rows = []
    for case in CASES:
        if args.cases and case[0] not in args.cases:
            continue
        of_case = measure(bench.PROGRAM, case, args.repeat)
        print("%s\n\n%s\n" % (case[1], bench.table(of_case, COLUMNS)))
        rows += of_case
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"schema": "reshardc-bench-review/1", "repeat": args.repeat,
                       "cpus": os.cpu_count(), "rows": rows}, stream, indent=2)
            stream.write("\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except bench.BenchError as error:
        sys.exit("tools/bench: %s" % error)
