"""No baseline is faster than what no schedule can beat.

Each baseline is a rule whose loads are added up exactly, and the bound holds for every rule: if one
of them is below it, the rule has left bytes out. Seeded random jobs of small hosts, sides that share
ranks, NICs of several rates that GPUs share, groups behind uplinks.
"""
import json
import os
import random
import subprocess
import tempfile
import unittest

PROGRAM = "compiler/cli/reshardc"
FIRST_SEED = 4000
JOBS = 80


def random_topology(chance):
    """Hosts of one to three GPUs with NVLink, whose GPUs have a NIC each or share one."""
    types, nodes, ranks, first = {}, [], [], 0
    groups = [{"name": "g%d" % g, "uplink_bw_per_leaf": chance.choice([1, 2, 50])} for g in range(2)]
    for host in range(chance.randint(2, 4)):
        gpus = chance.randint(1, 3)
        sharing = chance.randint(1, gpus)
        nics = [{"name": "n%d" % first_gpu, "bw": chance.choice([1, 2, 4]),
                 "gpus": list(range(first_gpu, min(gpus, first_gpu + sharing)))}
                for first_gpu in range(0, gpus, sharing)]
        types["t%d" % host] = {"gpus": gpus, "nics": nics}
        nodes.append({"names": "h%d" % host, "type": "t%d" % host,
                      "group": chance.choice(groups)["name"]})
        ranks.append({"ranks": "%d-%d" % (first, first + gpus - 1), "nodes": "h%d" % host})
        first += gpus
    fabric = {"name": "f", "kind": "flat"}
    if chance.random() < 0.5:
        fabric["groups"] = groups
    return first, {"format": "reshard-topo", "version": 1, "node_types": types, "nodes": nodes,
                   "scaleup": [{"name": "d", "per": "node", "bw": chance.choice([0.5, 2, 100])}],
                   "fabrics": [fabric], "ranks": ranks}


def layout(side, tensors):
    """Tensors of (bytes, ranks that hold it, ranks that need it), each a param of its own."""
    where = 1 if side == "source" else 2
    return {"format": "reshard-layout", "version": 1, "side": side,
            "colocated": side == "destination",
            "logical": [{"name": "t%d" % t, "shape": [tensor[0]], "dtype": "u8"}
                        for t, tensor in enumerate(tensors)],
            "meshes": {"m": {"axes": ["x"],
                             "ranks": sorted({r for tensor in tensors for r in tensor[where]})}},
            "explicit": [{"rank": rank, "param": "p%d" % t, "dtype": "u8", "shape": [tensor[0]],
                          "pieces": [{"t": "t%d" % t, "src": [[0, tensor[0]]],
                                      "dst": [[0, tensor[0]]]}]}
                         for t, tensor in enumerate(tensors) for rank in tensor[where]]}


def random_job(seed):
    chance = random.Random(seed)
    count, topo = random_topology(chance)
    tensors = [(chance.randint(1, 4000) * 1000, chance.sample(range(count), chance.randint(1, 2)),
                chance.sample(range(count), chance.randint(1, chance.choice([1, 2, count]))))
               for _ in range(chance.choice([1, 1, 2, 5]))] if count > 1 else []
    return (layout("source", tensors), layout("destination", tensors), topo) if tensors else None


def run(arguments):
    done = subprocess.run([PROGRAM] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)
    if done.returncode != 0:
        raise AssertionError("%s: exit %d: %s" % (arguments[0], done.returncode, done.stderr))
    return json.loads(done.stdout)


class BaselinesTest(unittest.TestCase):
    def test_none_is_below_the_bound(self):
        compared, colocated = 0, 0
        for seed in range(FIRST_SEED, FIRST_SEED + JOBS):
            job = random_job(seed)
            if not job:
                continue
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                paths = [os.path.join(folder, name) for name in ("train", "infer", "topo", "plan.fb")]
                for path, document in zip(paths, job):
                    with open(path, "w", encoding="utf-8") as stream:
                        json.dump(document, stream)
                bound_ns = run(["compile"] + paths[:3] + ["-o", paths[3], "--json"])["bound_ns"]
                simulated = run(["simulate", paths[3], "--round-cost", "0ns", "--baselines", "--json"])
                for baseline in simulated["baselines"]:
                    with self.subTest(baseline=baseline["name"]):
                        self.assertGreaterEqual(baseline["busiest_port_ns"], bound_ns)
                        self.assertGreaterEqual(baseline["time_ns"], bound_ns)
                        compared += bound_ns > 0
                sides = [set(side["meshes"]["m"]["ranks"]) for side in job[:2]]
                colocated += bool(sides[0] & sides[1])
        # The jobs are no trivial ones.
        self.assertGreater(compared, 3 * JOBS)
        self.assertGreater(colocated, JOBS // 4)


if __name__ == "__main__":
    unittest.main()
