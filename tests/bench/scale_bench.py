"""Measures cost against ranks and tensors: compiling, verifying, plan size, loading one rank's part.

Usage: tools/bench scale [--json FILE] [--plot FILE] [--keep FOLDER] [CASE...]

DeepSeek-V3 grows from 1024 to 16384 ranks a side, as TP8 and as TP32; sharded tensors of a dense
model (FSDP) spread over 4096 ranks; explicit layouts grow from 1,000 to 100,000 tensors. Times are
what the processes themselves computed (user), of one run; loading is the median of 9.
"""
import argparse
import json
import math
import os
import sys
import tempfile

from compile_bench import LAYOUTS, PROGRAM, TOPOLOGIES, BenchError, memory, run_once, table

LOADER = "bazel-bin/tests/bench/load_rank_bench"


def read(path):
    """A JSON file."""
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def topology(source_ranks, destination_ranks):
    """Nodes of 8 GPUs with 8 NICs of 50 GB/s, as many as the ranks need."""
    topo = read(TOPOLOGIES + "h100_4096_4096.json")
    topo.pop("comment", None)
    first = 0
    topo["nodes"], topo["ranks"] = [], []
    for side, ranks in (("train", source_ranks), ("infer", destination_ranks)):
        names = "%s[0000-%04d]" % (side, ranks // 8 - 1)
        topo["nodes"].append({"names": names, "type": "dgx-h100"})
        topo["ranks"].append({"ranks": "%d-%d" % (first, first + ranks - 1), "nodes": names,
                              "order": "node-major"})
        first += ranks
    return topo


def deepseek(ranks, tp):
    """DeepSeek-V3, PP16 EP64 with so many expert replicas that all ranks are used, to TPn."""
    train = read(LAYOUTS + "deepseek_v3_4096_train.json")
    train["meshes"]["dense"]["shape"] = [16, ranks // 16, 1]
    train["meshes"]["expert"]["shape"] = [16, ranks // 1024, 64, 1]
    infer = read(LAYOUTS + "deepseek_v3_4096_%sinfer.json" % ("tp32_" if tp == 32 else ""))
    infer["rank_base"] = ranks
    infer["meshes"]["serve"]["shape"] = [ranks // tp, tp]
    for layout in (train, infer):
        layout.pop("comment", None)
    return train, infer, topology(ranks, ranks)


MATRICES = (("wq", 8192, 8192, 0), ("wk", 1024, 8192, 0), ("wv", 1024, 8192, 0),
            ("wo", 8192, 8192, 1), ("gate", 28672, 8192, 0), ("up", 28672, 8192, 0),
            ("down", 8192, 28672, 1))


def fsdp(ranks):
    """80 layers of matrices, each in rows over all ranks, to TP32."""
    layers = {"l": "0..80"}
    logical, source, destination = [], [], []
    for name, rows, columns, dim in MATRICES:
        tensor = "layers.{l}." + name
        logical.append({"for": layers, "name": tensor, "shape": [rows, columns]})
        source.append({"for": layers, "name": tensor, "mesh": "all", "value": {
            "op": "shard", "dim": 0, "uneven": "chunk", "axes": ["dp"], "in": tensor}})
        destination.append({"for": layers, "name": tensor, "mesh": "serve", "value": {
            "op": "shard", "dim": dim, "axes": ["tp"], "in": tensor}})
    head = {"format": "reshard-layout", "version": 1}
    train = {**head, "side": "source", "rank_base": 0, "logical": logical,
             "meshes": {"all": {"axes": ["dp"], "shape": [ranks]}}, "params": source}
    infer = {**head, "side": "destination", "rank_base": ranks,
             "meshes": {"serve": {"axes": ["replica", "tp"], "shape": [ranks // 32, 32]}},
             "params": destination}
    return train, infer, topology(ranks, ranks)


def explicit(tensors):
    """So many tensors on 8 ranks, each written out, to halves on 8 ranks."""
    def entry(rank, index, first_row, rows):
        return {"rank": rank, "param": "t%d.w" % index, "dtype": "bf16", "shape": [rows, 64],
                "pieces": [{"t": "t%d.w" % index, "src": [[first_row, rows], [0, 64]],
                            "dst": [[0, rows], [0, 64]]}]}
    head = {"format": "reshard-layout", "version": 1}
    train = {**head, "side": "source", "rank_base": 0,
             "logical": [{"name": "t%d.w" % i, "shape": [64, 64]} for i in range(tensors)],
             "meshes": {"m": {"axes": ["x"], "shape": [8]}},
             "explicit": [entry(i % 8, i, 0, 64) for i in range(tensors)]}
    infer = {**head, "side": "destination", "rank_base": 8,
             "meshes": {"m": {"axes": ["x"], "shape": [8]}},
             "explicit": [entry(8 + (2 * i + half) % 8, i, 32 * half, 32)
                          for i in range(tensors) for half in (0, 1)]}
    return train, infer, topology(8, 8)


# Name: (series, position in it, function, arguments, source ranks).
CASES = {}
for _tp in (8, 32):
    for _ranks in (1024, 2048, 4096, 8192, 16384):
        CASES["deepseek-%d-tp%d" % (_ranks, _tp)] = (
            "DeepSeek-V3 to TP%d, ranks a side" % _tp, _ranks, deepseek, (_ranks, _tp), _ranks)
for _ranks in (256, 1024, 4096):
    CASES["fsdp-%d" % _ranks] = ("FSDP to TP32, ranks a side", _ranks, fsdp, (_ranks,), _ranks)
for _tensors in (1000, 10000, 100000):
    CASES["explicit-%d" % _tensors] = ("explicit, tensors", _tensors, explicit, (_tensors,), 8)


def write(name, folder):
    """Writes the inputs of a case; returns their paths."""
    _, _, make, arguments, _ = CASES[name]
    paths = []
    for part, content in zip(("train", "infer", "topo"), make(*arguments)):
        paths.append(os.path.join(folder, "%s_%s.json" % (name, part)))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    return paths


def part_of(run):
    """Times and memory of a run."""
    return {"user_seconds": run[1], "peak_bytes": run[2],
            "floor_bytes": run_once(["/bin/true"])[2]}


def measure(program, loader, name, folder):
    """One row of the table, as a dictionary."""
    series, position, _, _, source_ranks = CASES[name]
    inputs = write(name, folder)
    plan = os.path.join(folder, name + ".fb")
    compiled = run_once([program, "compile"] + inputs + ["-o", plan, "--json"])
    verified = run_once([program, "verify", plan, "--json"])
    if json.loads(verified[3])["verdict"] != "sound":
        raise BenchError(name + ": the plan is not sound")
    lines = run_once([loader, plan, "9", "0", str(source_ranks)])[3].split("\n")[:2]
    summary = json.loads(compiled[3])
    return {
        "name": name,
        "series": series,
        "position": position,
        "compile": part_of(compiled),
        "verify": part_of(verified),
        "load_seconds": max(int(line.split()[2]) for line in lines) / 1e9,
        "plan_bytes": os.path.getsize(plan),
        "classes": summary["classes"],
        "ratio": summary["predicted_ns"] / summary["bound_ns"],
    }


COLUMNS = [
    ("", lambda row: row["series"]),
    ("number", lambda row: "{:,}".format(row["position"])),
    ("compile, user", lambda row: "%.2f s" % row["compile"]["user_seconds"]),
    ("memory", lambda row: memory(row["compile"])),
    ("plan", lambda row: "%.1f MB" % (row["plan_bytes"] / 1e6)),
    ("classes", lambda row: "{:,}".format(row["classes"])),
    ("/ bound", lambda row: "%.3f" % row["ratio"]),
    ("verify, user", lambda row: "%.2f s" % row["verify"]["user_seconds"]),
    ("memory", lambda row: memory(row["verify"])),
    ("load a rank", lambda row: "%.0f ms" % (row["load_seconds"] * 1e3)),
]


PLOT_WIDTH, PLOT_HEIGHT, PLOT_EDGE = 760, 440, 60
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
CURVES = (("compile", ""), ("verify", "6,4"))


def plot(rows):
    """An SVG: user seconds against ranks or tensors, both in powers of ten."""
    def place(position, seconds):
        # Ranks and tensors lie between 10^2 and 10^5.5, seconds between 10^-3 and 10^2.
        x = (math.log10(position) - 2) / 3.5
        y = (math.log10(max(seconds, 1e-3)) + 3) / 5
        return (PLOT_EDGE + x * (PLOT_WIDTH - 2 * PLOT_EDGE),
                PLOT_HEIGHT - PLOT_EDGE - y * (PLOT_HEIGHT - 2 * PLOT_EDGE))

    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
             'font-family="sans-serif" font-size="12">' % (PLOT_WIDTH, PLOT_HEIGHT),
             '<rect width="100%" height="100%" fill="white"/>']
    for power in range(2, 6):
        x, y = place(10**power, 1e-3)
        lines.append('<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>' % (
            x, y + 20, "{:,}".format(10**power)))
    for power in range(-3, 3):
        x, y = place(100, 10.0**power)
        lines.append('<line x1="%.0f" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (
            x, y, PLOT_WIDTH - PLOT_EDGE, y))
        lines.append('<text x="%.0f" y="%.1f" text-anchor="end">%g s</text>' % (
            x - 6, y + 4, 10.0**power))
    for number, series in enumerate(dict.fromkeys(row["series"] for row in rows)):
        color = COLORS[number % len(COLORS)]
        for curve, dashes in CURVES:
            points = [place(row["position"], row[curve]["user_seconds"])
                      for row in rows if row["series"] == series]
            lines.append(
                '<polyline points="%s" fill="none" stroke="%s" stroke-dasharray="%s"/>' % (
                    " ".join("%.1f,%.1f" % point for point in points), color, dashes))
            lines += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (*point, color)
                      for point in points]
        lines.append('<text x="%d" y="%d" fill="%s">%s</text>' % (
            PLOT_EDGE + 10, 20 + 16 * number, color, series))
    lines.append('<text x="%d" y="20" text-anchor="end">compile (line), verify (dashes)</text>' % (
        PLOT_WIDTH - PLOT_EDGE))
    return "\n".join(lines + ["</svg>"]) + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench scale")
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="of " + " ".join(CASES) + "; default all")
    parser.add_argument("--keep", metavar="FOLDER", help="write inputs and plans there")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--plot", metavar="FILE", help="also draw the times, an SVG")
    args = parser.parse_args(arguments)
    unknown = set(args.cases) - set(CASES)
    if unknown:
        parser.error("no case is called " + ", ".join(sorted(unknown)))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for name in args.cases or CASES:
            print("measuring " + name, file=sys.stderr)
            rows.append(measure(PROGRAM, LOADER, name, folder))
    print(table(rows, COLUMNS))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"schema": "reshardc-scale/1", "rows": rows}, stream, indent=2)
            stream.write("\n")
    if args.plot:
        with open(args.plot, "w", encoding="utf-8") as stream:
            stream.write(plot(rows))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit("tools/bench: %s" % error)
