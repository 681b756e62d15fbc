"""Measures the runtime: packing, loading, rounds, and the time of paced plans against predictions.

Usage: tools/bench runtime [--json FILE] [--repeat N]

Packing is measured against a plain loop over the same rows. Paced plans run on links of some MB/s
(`reshard-run --pace 1`), so that a round takes longer than this machine's own work; the measured
median is divided by what `reshardc` predicted and by what `reshardc simulate` says. Nothing is
asserted: run it on an idle machine.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PROGRAMS = {
    "reshardc": "bazel-bin/compiler/cli/reshardc",
    "reshard-run": "bazel-bin/runtime/run/reshard-run",
    "pack_bench": "bazel-bin/tests/bench/pack_bench",
    "runtime_bench": "bazel-bin/tests/bench/runtime_bench",
}


class BenchError(Exception):
    """A program that did not do what it should."""


def call(name, *arguments):
    """Standard output of a program."""
    done = subprocess.run([PROGRAMS[name], *arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise BenchError("%s %s: exit %d\n%s" % (name, " ".join(arguments), done.returncode,
                                                 done.stderr))
    return done.stdout


def job(sources, domains, ranks_per_domain, tp, mib, nic_gb_per_s):
    """Rows of a matrix on the sources, columns over tp ranks on the others, in several replicas."""
    count = domains * ranks_per_domain
    columns = 4096
    logical = [{"name": "w", "shape": [mib * 1024 * 1024 // 2 // columns, columns],
                "dtype": "bf16"}]

    def layout(side, base, axes, shape, placements):
        return {"format": "reshard-layout", "version": 1, "side": side, "rank_base": base,
                "logical": logical, "meshes": {"m": {"axes": axes, "shape": shape}},
                "params": [{"name": "w", "tensor": "w", "mesh": "m", "placements": placements}]}

    def node(gpus):
        return {"gpus": gpus, "nics": {"for": gpus, "name": "n{i}", "bw": nic_gb_per_s,
                                       "gpu": "{i}"}}

    names = "i[0-%d]" % (domains - 1)
    topo = {"format": "reshard-topo", "version": 1,
            "node_types": {"a": node(sources), "b": node(ranks_per_domain)},
            "nodes": [{"names": "t0", "type": "a"}, {"names": names, "type": "b"}],
            "scaleup": [{"name": "nvl-{node}", "per": "node", "bw": round(nic_gb_per_s * 9, 6)}],
            "fabrics": [{"name": "ib", "kind": "flat", "lat": 5}],
            "ranks": [{"ranks": "0-%d" % (sources - 1), "nodes": "t0", "order": "node-major"},
                      {"ranks": "%d-%d" % (sources, sources + count - 1), "nodes": names,
                       "order": "node-major"}]}
    return (layout("source", 0, ["x"], [sources], ["S(0)"]),
            layout("destination", sources, ["r", "t"], [count // tp, tp], ["R", "S(1)"]), topo)


def compile_job(folder, name, files, *options):
    """The plan's path."""
    paths = []
    for kind, content in zip(("train", "infer", "topo"), files):
        paths.append(os.path.join(folder, "%s_%s.json" % (name, kind)))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    plan = os.path.join(folder, name + ".fb")
    call("reshardc", *paths, "-o", plan, *options)
    return plan


# 33 ms of a NIC. Larger messages share ports worse: first come, first served.
SLICE = "128KiB"
# name, (sources, domains, ranks per domain, tp, MiB), NIC GB/s
PACED = [
    ("4 to 4", (4, 1, 4, 4, 32), 0.004),
    ("4 to 2 x 4", (4, 2, 4, 2, 32), 0.004),
    ("4 to 3 x 4", (4, 3, 4, 4, 32), 0.004),
    ("8 to 4 x 4", (8, 4, 4, 4, 32), 0.004),
]
QUICK = [("2 to 2", (2, 1, 2, 2, 1), 0.02)]


def measure_paced(folder, cases, repeat):
    """One row per case."""
    rows = []
    for number, (name, shape, rate) in enumerate(cases):
        plan = compile_job(folder, "paced%d" % number, job(*shape, rate), "--slice", SLICE)
        run = json.loads(call("reshard-run", plan, "--pace", "1", "--repeat", str(repeat),
                              "--json"))
        simulated = json.loads(call("reshardc", "simulate", plan, "--json"))
        seconds = sorted(run["seconds"])
        median = run["median_seconds"]
        rows.append({"case": name, "ranks": run["plan"]["ranks"], "rounds": run["plan"]["rounds"],
                     "predicted_seconds": run["predicted_seconds"],
                     "simulated_seconds": simulated["total_ns"] / 1e9,
                     "measured_seconds": median, "fastest_seconds": seconds[0],
                     "slowest_seconds": seconds[-1],
                     "over_predicted": median / run["predicted_seconds"],
                     "over_simulated": median / (simulated["total_ns"] / 1e9)})
    return rows


def measure(cases, repeat):
    """Everything, as one object."""
    with tempfile.TemporaryDirectory(prefix="runtime_bench.") as folder:
        # Slices of 4 KiB: rounds of which little but their own cost is left.
        rounds = compile_job(folder, "rounds", job(2, 1, 2, 2, 2, 50), "--slice", "4KiB")
        return {"schema": "reshard-bench-runtime/1",
                "pack": json.loads(call("pack_bench", str(2 * repeat + 1))),
                "execution": json.loads(call("runtime_bench", rounds, str(2 * repeat + 1))),
                "paced": measure_paced(folder, cases, repeat)}


def print_tables(result):
    """For people."""
    print("| rows of | pack GB/s | plain loop | / plain | unpack GB/s | plain loop | / plain | memcpy |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in result["pack"]:
        print("| %d B | %.2f | %.2f | %.3f | %.2f | %.2f | %.3f | %.2f |" % (
            row["row_bytes"], row["pack_gb_per_s"], row["plain_pack_gb_per_s"],
            row["pack_over_plain"], row["unpack_gb_per_s"], row["plain_unpack_gb_per_s"],
            row["unpack_over_plain"], row["memcpy_gb_per_s"]))
    execution = result["execution"]
    print("\n%d ranks, %d rounds: loaded in %.2f ms, bound and prepared in %.2f ms, %.1f us a round, "
          "%d allocations in %s" % (
              execution["ranks"], execution["rounds"], execution["load_seconds"] * 1e3,
              execution["bind_and_prepare_seconds"] * 1e3, execution["us_per_round"],
              execution["allocations"], "all executions"))
    print("\n| paced | ranks | rounds | predicted | simulated | measured | / predicted | / simulated |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in result["paced"]:
        print("| %s | %d | %d | %.3f s | %.3f s | %.3f s (%.3f to %.3f) | %.3f | %.3f |" % (
            row["case"], row["ranks"], row["rounds"], row["predicted_seconds"],
            row["simulated_seconds"], row["measured_seconds"], row["fastest_seconds"],
            row["slowest_seconds"], row["over_predicted"], row["over_simulated"]))


def main(arguments, cases=None):
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tools/bench runtime")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--repeat", type=int, default=7, help="of paced runs (default 7)")
    options = parser.parse_args(arguments)
    try:
        result = measure(PACED if cases is None else cases, max(1, options.repeat))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    print_tables(result)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(result, stream, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
