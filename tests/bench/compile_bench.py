"""Measures compiling and verifying plans for real models: time, memory, size, distance from the bound.

Usage: tools/bench compile [--repeat N] [--json FILE] [CASE...]

Times are medians over N runs: wall clock, and what the process itself computed (user). Memory is its
largest resident set. The kernel counts what the starting process (Python) had before the program
was loaded, so that less than that can only be said to be less.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = "bazel-bin/compiler/cli/reshardc"
LAYOUTS = "tests/data/layouts/"
TOPOLOGIES = "tests/data/topologies/"

# Name, source layout, destination layout, topology, and the name of each in the table.
CASES = [
    ("qwen3-64", "qwen3_235b_train", "qwen3_235b_infer", "h100_64_64",
     "Qwen3-235B, 64 to 64, TP8"),
    ("deepseek-128", "deepseek_v3_128_train", "deepseek_v3_128_infer", "h100_128_128",
     "DeepSeek-V3, 128 to 128, TP8"),
    ("deepseek-256", "deepseek_v3_train", "deepseek_v3_infer", "h100_256_256",
     "DeepSeek-V3, 256 to 256, TP32"),
    ("deepseek-4096", "deepseek_v3_4096_train", "deepseek_v3_4096_infer", "h100_4096_4096",
     "DeepSeek-V3, 4096 to 4096, TP8"),
    ("deepseek-4096-tp32", "deepseek_v3_4096_train", "deepseek_v3_4096_tp32_infer",
     "h100_4096_4096", "DeepSeek-V3, 4096 to 4096, TP32"),
]


class BenchError(Exception):
    """A command that failed."""


def run_once(command, status_wanted=0):
    """Runs a command; returns (wall seconds, user seconds, peak bytes, standard output)."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        child.stderr.close()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        # Popen did not see the end of its child: wait4 took it.
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != status_wanted:
            raise BenchError("%s: exit status %d\n%s" % (
                " ".join(command), child.returncode, errors.decode()))
        output.seek(0)
        return wall, usage.ru_utime, usage.ru_maxrss * 1024, output.read().decode()


def run_repeatedly(command, repeat, status_wanted=0):
    """Medians of times, the largest memory, and the output of the last run."""
    runs = [run_once(command, status_wanted) for _ in range(repeat)]
    return {
        "seconds": statistics.median(run[0] for run in runs),
        "user_seconds": statistics.median(run[1] for run in runs),
        "peak_bytes": max(run[2] for run in runs),
        "floor_bytes": run_once(["/bin/true"])[2],
    }, runs[-1][3]


def busiest_port_ns(nics):
    """The time that the busiest NIC needs for its bytes in one direction."""
    return max(max(nic["send_bytes"], nic["receive_bytes"]) * 1e9 / nic["bytes_per_s"]
               for nic in nics)


def measure(program, case, repeat, folder):
    """One row of the table, as a dictionary."""
    name, train, infer, topo, _ = case
    inputs = [LAYOUTS + train + ".json", LAYOUTS + infer + ".json", TOPOLOGIES + topo + ".json"]
    plan = os.path.join(folder, name + ".fb")
    compiled, text = run_repeatedly([program, "compile"] + inputs + ["-o", plan, "--json"], repeat)
    summary = json.loads(text)
    verified, text = run_repeatedly([program, "verify", plan, "--json"], repeat)
    if json.loads(text)["verdict"] != "sound":
        raise BenchError(plan + " is not sound")
    shown = json.loads(run_once([program, "show", plan, "--json", "--rows", "0"])[3])
    return {
        "name": name,
        "compile": compiled,
        "verify": verified,
        "plan_bytes": os.path.getsize(plan),
        "classes": summary["classes"],
        "predicted_ns": summary["predicted_ns"],
        "bound_ns": summary["bound_ns"],
        "ratio": summary["predicted_ns"] / summary["bound_ns"],
        "balance": busiest_port_ns(shown["nics"]) / summary["bound_ns"],
        "network_per_needed": summary["network_bytes"] / summary["needed_network_bytes"],
    }


def memory(part):
    """The memory of a part of a row, as text."""
    less = part["peak_bytes"] <= 1.02 * part["floor_bytes"]
    return "%s%.0f MB" % ("< " if less else "", part["peak_bytes"] / 1e6)


COLUMNS = [
    ("", lambda row: {case[0]: case[4] for case in CASES}[row["name"]]),
    ("compile", lambda row: "%.2f s" % row["compile"]["seconds"]),
    ("(user)", lambda row: "%.2f s" % row["compile"]["user_seconds"]),
    ("memory", lambda row: memory(row["compile"])),
    ("plan", lambda row: "%.2f MB" % (row["plan_bytes"] / 1e6)),
    ("classes", lambda row: "{:,}".format(row["classes"])),
    ("predicted", lambda row: "%.3f s" % (row["predicted_ns"] / 1e9)),
    ("/ bound", lambda row: "%.3f" % row["ratio"]),
    ("balance", lambda row: "%.3f" % row["balance"]),
    ("network", lambda row: "%.3fx" % row["network_per_needed"]),
    ("verify", lambda row: "%.2f s" % row["verify"]["seconds"]),
    ("memory", lambda row: memory(row["verify"])),
]


def table(rows, columns):
    """The rows as a Markdown table. A column is its title and the text for a row."""
    lines = [[title for title, _ in columns], ["---"] + ["---:"] * (len(columns) - 1)]
    lines += [[text(row) for _, text in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def parse(program, names, repeat, arguments):
    """Options of a benchmark of named cases, each run `repeat` times unless told otherwise."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="of " + " ".join(names) + "; default all")
    parser.add_argument("--repeat", type=int, default=repeat,
                        help="runs of each, default %d" % repeat)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    args = parser.parse_args(arguments)
    unknown = set(args.cases) - set(names)
    if unknown:
        parser.error("no case is called " + ", ".join(sorted(unknown)))
    if args.repeat < 1:
        parser.error("--repeat is at least 1")
    return args


def main(arguments):
    args = parse("tools/bench compile", [case[0] for case in CASES], 5, arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if args.cases and case[0] not in args.cases:
                continue
            print("measuring " + case[4], file=sys.stderr)
            rows.append(measure(PROGRAM, case, args.repeat, folder))
    print(table(rows, COLUMNS))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"schema": "reshardc-bench/1", "repeat": args.repeat,
                       "cpus": os.cpu_count(), "rows": rows}, stream, indent=2)
            stream.write("\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit("tools/bench: %s" % error)
