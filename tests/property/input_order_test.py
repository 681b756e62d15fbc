"""The plan's bytes depend on neither the order of JSON keys nor that of entries.

Keys of every object, and the arrays whose order has no meaning, are shuffled in the inputs of the
examples and of some cases of the suite.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/bench")
from suite.cases import CASES  # noqa: E402

PROGRAM = "compiler/cli/reshardc"
EXAMPLES = ("deepseek_v3_small", "qwen3_235b", "toy")
SUITE = ("colocated", "mixed-rates", "nvl72-bf16", "rails", "tp32")
LAYOUT_ARRAYS = ("aliases", "expect", "explicit", "logical", "params", "unused")
TOPOLOGY_ARRAYS = ("fabrics", "nodes", "overrides", "ranks", "scaleup")


def with_other_order(value, chance):
    """The value with the keys of all its objects shuffled."""
    if isinstance(value, list):
        return [with_other_order(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: with_other_order(value[key], chance) for key in keys}


def arrays_inside(document):
    """The arrays without order inside of the entries of others."""
    for fabric in document.get("fabrics", []):
        yield fabric.get("groups", [])
    for entry in document.get("explicit", []):
        yield entry["pieces"]
    for entry in document.get("expect", []):
        yield entry.get("points", [])
    for param in document.get("params", []):
        yield param.get("where", [])
        yield param.get("shares", [])
    for node_type in document.get("node_types", {}).values():
        nics = node_type.get("nics", [])
        yield from (nic.get("gpus", []) for nic in ([nics] if isinstance(nics, dict) else nics))
        yield [] if isinstance(nics, dict) else nics
        yield from node_type.get("numa", [])
        switches = node_type.get("pcie", {}).get("switches", [])
        yield from switches
        yield switches


def shuffled(document, chance):
    """The document in another order of keys and of entries; how many arrays changed."""
    document = with_other_order(document, chance)
    moved = 0
    arrays = [document.get(key, []) for key in LAYOUT_ARRAYS + TOPOLOGY_ARRAYS]
    arrays += arrays_inside(document)
    for array in arrays:
        before = list(array)
        chance.shuffle(array)
        moved += array != before
    return document, moved


def explicit_job():
    """Params piece by piece, with fills and an alias, on ranks whose nodes are listed backwards."""
    def entry(rank, param, tensor, rows, first, fill=None):
        made = {"rank": rank, "param": param, "dtype": "f32", "shape": [8, 4],
                "pieces": [{"t": tensor, "src": [[first + 2 * i, 2], [0, 4]],
                            "dst": [[2 * i, 2], [0, 4]]} for i in range(rows // 2)]}
        if fill:
            made["fill"] = fill
        return made
    head = {"format": "reshard-layout", "version": 1}
    train = dict(head, side="source", rank_base=0,
                 logical=[{"name": "t%d" % i, "shape": [8, 4], "dtype": "f32"} for i in range(12)],
                 aliases=[{"name": "u", "of": "t3"}, {"name": "v", "of": "u"}],
                 meshes={"m": {"axes": ["x"], "shape": [2]}},
                 explicit=[entry(i % 2, "p%d" % i, "t%d" % i, 8, 0) for i in range(12)])
    infer = dict(head, side="destination", rank_base=2,
                 meshes={"m": {"axes": ["x"], "shape": [2]}},
                 explicit=[entry(2 + half, "q%d" % i, "v" if i == 3 else "t%d" % i, 4, 4 * half,
                                 "zero") for i in range(12) for half in (0, 1)])
    topo = {"format": "reshard-topo", "version": 1,
            "node_types": {"n": {"gpus": 1, "nics": [{"name": "n0", "bw": 50, "gpu": 0}]}},
            "nodes": [{"names": "n%d" % i, "type": "n"} for i in (3, 0, 2, 1)],
            "fabrics": [{"name": "f", "kind": "flat"}],
            "ranks": [{"ranks": str(i), "nodes": "n%d" % i} for i in range(4)]}
    return train, infer, topo


def nics_job():
    """Nodes of four GPUs with NICs of several rates, on rails, behind switches, shared or far."""
    head = {"format": "reshard-layout", "version": 1}

    def layout(side, base, axes):
        return dict(head, side=side, rank_base=base,
                    logical=[{"name": "w%d" % i, "shape": [64, 64 + 8 * i], "dtype": "f32"}
                             for i in range(9)],
                    meshes={"m": {"axes": ["x", "y"], "shape": [2, 4]}},
                    params=[{"name": "p%d" % i, "mesh": "m", "where": ["x >= 0", "y < 4"],
                             "shares": ["s%d" % i, "r%d" % i],
                             "value": {"op": "shard", "dim": i % 2, "axes": axes[i % 3],
                                       "in": "w%d" % i}} for i in range(9)],
                    expect=[{"rank": base, "param": "p%d" % i, "points":
                             [{"at": [0, k], "tensor": "w%d" % i, "index": [0, k]}
                              for k in range(4)]} for i in range(9)])
    nics = [{"name": "mlx5_10", "bw": 50, "gpus": [0, 1], "rail": 0},
            {"name": "mlx5_2", "bw": 25, "gpu": 2, "rail": 1},
            {"name": "mlx5_1", "bw": 40, "gpu": 2, "rail": 0},
            {"name": "mlx5_0", "bw": 12.5, "rail": 1, "numa": 1},
            {"name": "mlx5_3", "bw": 20, "numa": 1, "gdr": False, "rail": 0}]
    topo = {"format": "reshard-topo", "version": 1,
            "node_types": {"n": {"gpus": 4, "nics": nics, "numa": [[0, 1], [2, 3]],
                                 "pcie": {"gpu_bw": 60, "switches": [[0, 1], [2], [3]],
                                          "host_bounce_bw": 10}}},
            "nodes": [{"names": "a[0-1]", "type": "n", "group": "g"},
                      {"names": "b[0-1]", "type": "n", "group": "h"}],
            "scaleup": [{"name": "s{node}", "per": "node", "bw": 300}],
            "fabrics": [{"name": "f", "kind": "rails", "rails": 2, "oversubscription": 2,
                         "groups": [{"name": "g"}, {"name": "h"}]}],
            "overrides": [{"node": "b1", "nic": "mlx5_2", "bw": 5},
                          {"node": "a0", "nic": "mlx5_10", "bw": 30}],
            "ranks": [{"ranks": "0-7", "nodes": "a[0-1]"}, {"ranks": "8-15", "nodes": "b[0-1]"}]}
    return (layout("source", 0, (["x"], ["y"], ["x", "y"])),
            layout("destination", 8, (["y"], ["x", "y"], ["y"])), topo)


class InputOrderTest(unittest.TestCase):
    def plan_bytes(self, documents):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, part) for part in ("train", "infer", "topo", "plan.fb")]
            for path, document in zip(paths, documents):
                with open(path, "w", encoding="utf-8") as stream:
                    json.dump(document, stream)
            subprocess.run([PROGRAM, "compile", *paths[:3], "-o", paths[3], "-q"], check=True)
            with open(paths[3], "rb") as stream:
                return stream.read()

    def check(self, documents, seed):
        chance = random.Random(seed)
        others, moved = zip(*(shuffled(document, chance) for document in documents))
        self.assertGreater(sum(moved), 0)
        self.assertEqual(self.plan_bytes(documents), self.plan_bytes(others))

    def test_examples(self):
        for seed, name in enumerate(EXAMPLES):
            with self.subTest(example=name):
                documents = []
                for part in ("train", "infer", "topo"):
                    path = os.path.join("examples", name, part + ".json")
                    with open(path, encoding="utf-8") as stream:
                        documents.append(json.load(stream))
                self.check(documents, seed)

    def test_cases_of_the_suite(self):
        for seed, name in enumerate(SUITE):
            with self.subTest(case=name):
                self.check(CASES[name][1:], seed)

    def test_explicit_params(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.check(explicit_job(), seed)

    def test_nics_and_lists_of_params(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.check(nics_job(), seed)

    def test_an_order_that_has_a_meaning_changes_the_plan(self):
        train, infer, topo = explicit_job()
        before = self.plan_bytes((train, infer, topo))
        topo["ranks"][0]["nodes"], topo["ranks"][3]["nodes"] = "n3", "n0"
        self.assertNotEqual(before, self.plan_bytes((train, infer, topo)))


if __name__ == "__main__":
    unittest.main()
