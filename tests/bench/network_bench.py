"""Moves weights between shaped NICs: by plans, and in the ways that people use instead.

Usage: tools/bench network [--rate MBIT] [--repeat N] [--tensors N] [--json FILE] [CASE...]

Network namespaces are the domains (needs root, or user namespaces), Open MPI carries all schemes. Runs of
the schemes take turns; the table has medians. *bound* is what no schedule can beat at the payload rate of
the shaped NICs. *received* is the payload that the kernel counted into a destination domain, the worst of
them, over what the domain needs. *memory* is what one rank takes beside its params, at its peak.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import network_lab  # noqa: E402

# Started from the root of the repository: as Bazel runs tests, or built by tools/bench.
BIN = "" if os.path.exists("compiler/cli/reshardc") else "bazel-bin/"
SCHEMES = {"plan": "the plan", "ring": "multi-rail ring broadcast",
           "gather_bcast": "gather and broadcast", "point_to_point": "point to point"}
ROWS, ROW_BYTES = 256, 4096  # 1 MiB a tensor, of f32
# What a round costs processes that share a few cores, about; the compiler counts 20 us, as of GPUs.
ROUND_NS = 100_000


class BenchError(Exception):
    pass


def mesh(axes, ranks):
    return {"m": {"axes": axes, "ranks": ranks}}


class TensorParallel:
    """TP4 to 2 domains of TP2 with 2 replicas in each."""

    ranks_of_domains = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    parts, replicas = 2, 4

    def source(self, tensors):
        return {"meshes": mesh(["tp"], [0, 1, 2, 3]), "params": [
            {"for": {"l": "0..%d" % tensors}, "name": "w{l}", "mesh": "m",
             "value": {"op": "shard", "dim": 0, "axes": ["tp"], "in": "w{l}"}}]}

    def shards(self, _tensor, _tensors):
        return [[rank, rank * ROWS // 4, ROWS // 4] for rank in range(4)]


class ExpertParallel:
    """EP4 PP2 to 3 domains of TP4: every tensor is whole on one source rank."""

    ranks_of_domains = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15], [16, 17, 18, 19]]
    parts, replicas = 4, 3

    def source(self, tensors):
        half = tensors // 8  # tensors = 2 stages * 4 experts * layers
        return {"meshes": mesh(["pp", "ep"], [[0, 1, 2, 3], [4, 5, 6, 7]]), "params": [
            {"for": {"l": "0..%d" % tensors}, "name": "w{l}", "mesh": "m",
             "where": ["pp==l//%d" % (4 * half), "ep==l%4"], "value": "w{l}"}]}

    def shards(self, tensor, tensors):
        return [[tensor // (tensors // 2) * 4 + tensor % 4, 0, ROWS]]


# name: layouts, rates of NICs in parts of the rate, by rank
CASES = {
    "tp4_to_2x_tp2x2": (TensorParallel, {}),
    "ep4_pp2_to_3x_tp4": (ExpertParallel, {}),
    "one_slow_nic": (TensorParallel, {5: 0.25}),
}


def write_inputs(case, rates, tensors, folder):
    """The three files for reshardc, and the case as network_rank reads it."""
    logical = [{"for": {"l": "0..%d" % tensors}, "name": "w{l}", "shape": [ROWS, ROW_BYTES // 4],
                "dtype": "f32"}]
    first = len(rates) - case.parts * case.replicas  # destination ranks come last
    groups = [[first + g * case.parts + p for p in range(case.parts)] for g in range(case.replicas)]
    train = {"format": "reshard-layout", "version": 1, "side": "source", "logical": logical,
             **case.source(tensors)}
    infer = {"format": "reshard-layout", "version": 1, "side": "destination", "logical": logical,
             "meshes": mesh(["replica", "tp"], groups), "params": [
                 {"for": {"l": "0..%d" % tensors}, "name": "w{l}", "mesh": "m",
                  "value": {"op": "shard", "dim": 1, "axes": ["tp"], "in": "w{l}"}}]}
    types, nodes, placed = {}, [], []
    for d, ranks in enumerate(case.ranks_of_domains):
        types["t%d" % d] = {"gpus": 4, "nics": [
            {"name": "nic%d" % k, "gpu": k, "bw": payload_gb(rates[r])} for k, r in enumerate(ranks)]}
        nodes.append({"names": "node%d" % d, "type": "t%d" % d})
        placed.append({"ranks": "%d-%d" % (ranks[0], ranks[-1]), "nodes": "node%d" % d})
    topo = {"format": "reshard-topo", "version": 1, "node_types": types, "nodes": nodes,
            "scaleup": [{"name": "{node}", "per": "node", "bw": 4}],
            "fabrics": [{"name": "net", "kind": "flat"}], "ranks": placed}
    parts = [[rank, p * ROW_BYTES // case.parts, ROW_BYTES // case.parts]
             for group in groups for p, rank in enumerate(group)]
    domain_of = [d for d, ranks in enumerate(case.ranks_of_domains) for _ in ranks]
    network = {"domain_of": domain_of, "tensors": [
        {"name": "w%d" % l, "rows": ROWS, "row_bytes": ROW_BYTES,
         "shards": case.shards(l, tensors), "parts": parts} for l in range(tensors)]}
    paths = {}
    for name, content in (("train", train), ("infer", infer), ("topo", topo), ("case", network)):
        paths[name] = os.path.join(folder, name + ".json")
        with open(paths[name], "w", encoding="utf-8") as file:
            json.dump(content, file)
    return paths


def payload_gb(rate):
    """GB/s of payload through a NIC of `rate` Mbit/s."""
    return round(rate * network_lab.PAYLOAD / 8 / 1000, 9)


def compile_plan(name, inputs, plan, options):
    """Writes the plan; returns its summary."""
    def compiled(slice_text):
        done = subprocess.run([BIN + "compiler/cli/reshardc", "compile", *inputs, "-o", plan, "--json",
                               "--slice", slice_text], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError("%s: %s" % (name, done.stderr))
        return json.loads(done.stdout)

    def cost(slice_text):
        summary = compiled(slice_text)
        return summary["predicted_ns"] + summary["rounds"] * ROUND_NS

    if options.slice:
        return compiled(options.slice)
    sizes = ["%dKiB" % (options.tensors * kib) for kib in (64, 128, 256, 512, 1024, 2048)]
    return compiled(min(sizes, key=cost))


def run_case(name, options, folder):
    """Inside the sandbox: one row of the table for each scheme."""
    case, slow = CASES[name][0](), CASES[name][1]
    rates = [options.rate * slow.get(rank, 1) for rank in range(sum(
        len(d) for d in case.ranks_of_domains))]
    paths = write_inputs(case, rates, options.tensors, folder)
    plan = os.path.join(folder, "plan.fb")
    summary = compile_plan(name, [paths[key] for key in ("train", "infer", "topo")], plan, options)
    lab = network_lab.Lab([[rates[r] for r in ranks] for ranks in case.ranks_of_domains], folder)
    command = lab.command(os.path.abspath(BIN + "tests/bench/network_rank"), paths["case"], plan,
                          str(options.repeat))
    done = subprocess.run(command, env=lab.environment(), capture_output=True, text=True, check=False,
                          timeout=options.timeout)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise BenchError("%s: mpirun ended with %d\n%s" % (name, done.returncode, done.stderr))
    return summarize(name, case, options, summary, lines)


def summarize(name, case, options, summary, lines):
    needed = options.tensors * ROWS * ROW_BYTES
    bound, predicted = summary["bound_ns"] * 1e-9, summary["predicted_ns"] * 1e-9
    first = sum(map(len, case.ranks_of_domains)) - case.parts * case.replicas
    destinations = [d for d, ranks in enumerate(case.ranks_of_domains) if ranks[0] >= first]
    rows = []
    for scheme in SCHEMES:
        runs = [line for line in lines if line["scheme"] == scheme]
        if len(runs) != options.repeat:
            raise BenchError("%s: %d runs of %s" % (name, len(runs), scheme))
        if any(line["wrong_bytes"] for line in runs):
            raise BenchError("%s: %s left wrong bytes" % (name, scheme))
        seconds = [line["seconds"] for line in runs]
        rows.append({
            "case": name, "scheme": scheme, "seconds": seconds,
            "median_seconds": statistics.median(seconds), "bound_seconds": bound,
            "predicted_seconds": predicted,
            "ratio": statistics.median(seconds) / bound,
            "received": max(statistics.median([line["received"][d] for line in runs]) / needed
                            for d in destinations),
            "peak_bytes": max(line["peak_bytes"] for line in runs)})
    return rows


def print_rows(rows, options):
    ours = rows[0]["median_seconds"]
    print("%s, %g Mbit/s a NIC, %d MiB, median of %d (bound %.3f s, plan predicted %.3f s)" % (
        rows[0]["case"], options.rate, options.tensors * ROWS * ROW_BYTES >> 20, options.repeat,
        rows[0]["bound_seconds"], rows[0]["predicted_seconds"]))
    print("  %-28s %9s %9s %9s %10s %12s" % ("", "seconds", "/ bound", "/ plan", "received", "memory"))
    for row in rows:
        print("  %-28s %9.3f %9.3f %9.2f %9.3fx %9.1f MB" % (
            SCHEMES[row["scheme"]], row["median_seconds"], row["ratio"], row["median_seconds"] / ours,
            row["received"], row["peak_bytes"] / 1e6))
    sys.stdout.flush()


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench network", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=500, help="of every NIC, in Mbit/s")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--tensors", type=int, default=64, help="of 1 MiB each, a multiple of 8")
    parser.add_argument("--slice", help="as of reshardc; default: the best of several where a round "
                        "costs 1 ms")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one case")
    parser.add_argument("--json", help="writes all rows here")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="of " + ", ".join(CASES))
    options = parser.parse_args(arguments)
    for name in options.cases:
        if name not in CASES:
            parser.error("no case '%s'" % name)
    if options.tensors < 8 or options.tensors % 8 or options.repeat < 1:
        parser.error("tensors come in eights, and repeat at least once")
    return options


def missing():
    """Why nothing can be measured here; None when it can."""
    if not os.path.exists(BIN + "tests/bench/network_rank"):
        return "built without MPI (Debian packages libopenmpi-dev and openmpi-bin)"
    return network_lab.missing()


def measure(name, options):
    """Runs a case in a sandbox of its own: its namespaces, files and processes end with it."""
    inside = subprocess.Popen(
        network_lab.unshare() + [sys.executable, os.path.abspath(__file__), "--inside",
                                 json.dumps([name, vars(options)])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = inside.communicate()
    finally:
        inside.kill()  # and with it all processes of the sandbox
    if inside.returncode != 0:
        raise BenchError(errors.strip())
    return json.loads(out.splitlines()[-1])


def main(arguments):
    if arguments[:1] == ["--inside"]:
        name, values = json.loads(arguments[1])
        try:
            print(json.dumps(run_case(name, argparse.Namespace(**values),
                                      tempfile.mkdtemp(dir="/run"))))
        except (BenchError, OSError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            return 2
        return 0
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # so that what was started ends too
    why = missing()
    if why is not None:
        print("SKIPPED: bench network: %s" % why)
        return 0
    everything = []
    for name in options.cases or CASES:
        try:
            rows = measure(name, options)
        except BenchError as error:
            print(error, file=sys.stderr)
            return 2
        print_rows(rows, options)
        everything += rows
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "reshard-bench-network/1", "rows": everything}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
