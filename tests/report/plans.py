"""Plans and pages for the tests of `reshardc report`."""
import json
import os
import subprocess

PROGRAM = "compiler/cli/reshardc"
LAYOUTS = "tests/data/layouts/"
TOPOLOGIES = "tests/data/topologies/"
SMALL = ["examples/deepseek_v3_small/%s.json" % name for name in ("train", "infer", "topo")]
QWEN = [LAYOUTS + "qwen3_235b_train.json", LAYOUTS + "qwen3_235b_infer.json",
        TOPOLOGIES + "h100_64_64.json"]
LARGE = [LAYOUTS + "deepseek_v3_4096_train.json", LAYOUTS + "deepseek_v3_4096_infer.json",
         TOPOLOGIES + "h100_4096_4096.json"]
HOSTILE_TENSORS = [
    "<script>alert(1)</script>", "</script><!--", "\"><img src=x onerror=alert(1)>", "a'b&amp;c",
    "javascript:alert(1)", "line\nfeed\u001b[31m", "right\u202eto left", "é.weight"]


def reshardc(*arguments):
    """What the program prints; it has to succeed."""
    return subprocess.run([PROGRAM] + list(arguments), check=True, stdout=subprocess.PIPE).stdout


def compile_plan(folder, name, inputs):
    path = os.path.join(folder, name)
    reshardc("compile", *inputs, "-o", path)
    return path


def report(folder, name, *plans):
    path = os.path.join(folder, name)
    reshardc("report", *plans, "-o", path)
    return path


def hostile_inputs(folder):
    """Input files with names that mean something to HTML, JavaScript or a terminal."""
    paths = []
    for side, ranks, placement in (("source", [0, 1], "S(0)"), ("destination", [2, 3, 4, 5], "S(1)")):
        layout = {
            "format": "reshard-layout", "version": 1, "side": side, "rank_base": ranks[0],
            "logical": [{"name": name, "shape": [8, 8], "dtype": "f32"} for name in HOSTILE_TENSORS],
            "meshes": {"m": {"axes": ["x"], "ranks": ranks}},
            "params": [{"name": "p" + name, "tensor": name, "mesh": "m", "placements": [placement]}
                       for name in HOSTILE_TENSORS]}
        paths.append(os.path.join(folder, side + ".json"))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(layout, stream)
    with open(TOPOLOGIES + "toy.json", encoding="utf-8") as stream:
        text = stream.read().replace("nvl-{node}", "<b>{node}</b>").replace('"n{i}"', '"</script>{i}"')
    paths.append(os.path.join(folder, "topo.json"))
    with open(paths[-1], "w", encoding="utf-8") as stream:
        stream.write(text)
    return paths


def explicit_names(count):
    return ["model.layers.%d.block%d.weight" % (i // 7, i % 7) for i in range(count)]


def explicit_inputs(folder, count):
    """So many tensors, each written out on ranks of its own."""
    paths = []
    for side, first in (("source", 0), ("destination", 2)):
        layout = {
            "format": "reshard-layout", "version": 1, "side": side, "rank_base": first,
            "logical": [{"name": name, "shape": [8, 8]} for name in explicit_names(count)],
            "meshes": {"m": {"axes": ["x"], "ranks": list(range(first, 2 + 2 * first))}},
            "explicit": [{"rank": first + i % 2, "param": name, "dtype": "bf16", "shape": [8, 8],
                          "pieces": [{"t": name, "src": [[0, 8], [0, 8]], "dst": [[0, 8], [0, 8]]}]}
                         for i, name in enumerate(explicit_names(count))]}
        paths.append(os.path.join(folder, "explicit_%s.json" % side))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(layout, stream)
    return paths + [TOPOLOGIES + "toy.json"]
