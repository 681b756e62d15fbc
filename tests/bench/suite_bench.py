"""Compiles the suite of schedules and prints how far each is from what no schedule can beat.

Usage: tools/bench suite [--json FILE] [--keep FOLDER] [CASE...]

Balance is the busiest NIC alone against the bound. Times are simulated, at a cost of 20 us and of 50 us
a round, each of a plan that was compiled for it; the predicted one is the compiler's at 20 us. *best
other* is the shortest time of the baselines (load models, docs/simulate.md) against ours at 20 us: below
1 another way to move the weights is faster.

Ends with a line for each bar that a case misses (suite/bars.py). Exit status 1: one that is not known.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

from compile_bench import PROGRAM, BenchError, busiest_port_ns, run_once
from suite.bars import missed
from suite.cases import CASES, write


def simulate(program, plan, options):
    """What `reshardc simulate` says of a plan, at the cost of a round that it was made for."""
    return json.loads(run_once([program, "simulate", plan, "--json"] + options)[3])


def compile_sound(program, inputs, plan, options):
    """Compiles and verifies; returns the seconds computed and the summary."""
    _, user, _, text = run_once([program, "compile"] + inputs + ["-o", plan, "--json"] + options)
    if json.loads(run_once([program, "verify", plan, "--json"])[3])["verdict"] != "sound":
        raise BenchError(plan + " is not sound")
    return user, json.loads(text)


def measure(program, name, folder):
    """One row of the table, as a dictionary."""
    inputs = write(name, folder)
    plan = os.path.join(folder, name + ".fb")
    user, summary = compile_sound(program, inputs, plan, [])
    shown = json.loads(run_once([program, "show", plan, "--json", "--rows", "0"])[3])
    simulated = simulate(program, plan, ["--baselines"])
    slow_plan = os.path.join(folder, name + "_50us.fb")
    compile_sound(program, inputs, slow_plan, ["--round-cost", "50us"])
    slow = simulate(program, slow_plan, [])
    if (simulated["round_cost_ns"], slow["round_cost_ns"]) != (20_000, 50_000):
        raise BenchError(name + ": simulated with other costs of a round")
    bound_ns = summary["bound_ns"]
    best = min(simulated["baselines"], key=lambda baseline: baseline["time_ns"])
    return {
        "name": name,
        "user_seconds": user,
        "bound_ns": bound_ns,
        "balance": busiest_port_ns(shown["nics"]) / bound_ns,
        "predicted_ratio": summary["predicted_ns"] / bound_ns,
        "ratio": simulated["total_ns"] / bound_ns,
        "slow_ratio": slow["total_ns"] / bound_ns,
        "best_other": best["name"],
        "best_other_ratio": best["time_ns"] / simulated["total_ns"],
        "rounds": summary["rounds"],
        "staging_bytes": summary["max_staging_bytes"],
        "binding_cut": summary["binding_cut"],
    }


COLUMNS = [
    ("", lambda row: CASES[row["name"]][0]),
    ("bound", lambda row: "%.3f s" % (row["bound_ns"] / 1e9)),
    ("balance", lambda row: "%.3f" % row["balance"]),
    ("predicted", lambda row: "%.3f" % row["predicted_ratio"]),
    ("20 us", lambda row: "%.3f" % row["ratio"]),
    ("50 us", lambda row: "%.3f" % row["slow_ratio"]),
    ("best other", lambda row: "%.3f" % row["best_other_ratio"]),
    ("rounds", lambda row: "{:,}".format(row["rounds"])),
    ("staging", lambda row: "%.0f MiB" % (row["staging_bytes"] / 2**20)),
    ("compile, user", lambda row: "%.2f s" % row["user_seconds"]),
    ("binding cut", lambda row: row["binding_cut"]),
]


def table(rows):
    """The rows as a Markdown table, with a line of medians."""
    lines = [[title for title, _ in COLUMNS], ["---"] + ["---:"] * (len(COLUMNS) - 2) + ["---"]]
    lines += [[text(row) for _, text in COLUMNS] for row in rows]
    medians = ["%.3f" % statistics.median(row[key] for row in rows)
               for key in ("balance", "predicted_ratio", "ratio", "slow_ratio", "best_other_ratio")]
    lines.append(["*median*", ""] + medians + [""] * (len(COLUMNS) - 5))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench suite")
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="of " + " ".join(CASES) + "; default all")
    parser.add_argument("--keep", metavar="FOLDER", help="write inputs and plans there")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    args = parser.parse_args(arguments)
    unknown = set(args.cases) - set(CASES)
    if unknown:
        parser.error("no case is called " + ", ".join(sorted(unknown)))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for name in args.cases or CASES:
            print("measuring " + CASES[name][0], file=sys.stderr)
            rows.append(measure(PROGRAM, name, folder))
    print(table(rows))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"schema": "reshardc-suite/2", "rows": rows}, stream, indent=2)
            stream.write("\n")
    new, known = missed(rows, len(rows) == len(CASES))
    for line in known + new:
        print("bar missed: " + line)
    return 1 if new else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit("tools/bench: %s" % error)
