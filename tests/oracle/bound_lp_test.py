"""The printed bound against a linear program that knows every way to move the bytes.

A job of a few domains is compiled, and the shortest time of all fluid schedules is computed: each byte
of a tensor goes along some forest that starts at domains with a copy and reaches every domain that
needs it, through whatever other domains. The bound may never be above it. Nothing of the compiler
takes part but the number that it prints.
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

# Debian's own Python has scipy, another one that comes first in PATH may not.
sys.path.append("/usr/lib/python3/dist-packages")
try:
    from scipy.optimize import linprog
except ImportError:
    linprog = None

PROGRAM = "compiler/cli/reshardc"
GB = 10**9


class Job:
    """Domains of GPUs with a NIC each, and tensors of bytes that some ranks hold and some need."""

    def __init__(self, domains, tensors):
        self.domains = domains  # per domain the GB/s of its NICs, one per rank
        self.tensors = tensors  # of (bytes, ranks that hold it, ranks that need it)
        self.domain_of = [d for d, rates in enumerate(domains) for _ in rates]

    def topology(self):
        nodes, types, ranks = [], {}, []
        for d, rates in enumerate(self.domains):
            first = self.domain_of.index(d)
            types["t%d" % d] = {"gpus": len(rates), "nics": [
                {"name": "n%d" % i, "bw": rate, "gpu": i} for i, rate in enumerate(rates)]}
            nodes.append({"names": "h%d" % d, "type": "t%d" % d})
            ranks.append({"ranks": "%d-%d" % (first, first + len(rates) - 1), "nodes": "h%d" % d})
        return {"format": "reshard-topo", "version": 1, "node_types": types, "nodes": nodes,
                "scaleup": [{"name": "{node}", "per": "node", "bw": 400}],
                "fabrics": [{"name": "net", "kind": "flat"}], "ranks": ranks}

    def layout(self, side):
        stored = [(rank, t, bytes_) for t, (bytes_, holders, needers) in enumerate(self.tensors)
                  for rank in (holders if side == "source" else needers)]
        ranks = sorted({rank for rank, _, _ in stored})
        layout = {
            "format": "reshard-layout", "version": 1, "side": side,
            "logical": [{"name": "t%d" % t, "shape": [tensor[0]], "dtype": "u8"}
                        for t, tensor in enumerate(self.tensors)],
            "meshes": {"m": {"axes": ["x"], "ranks": ranks}},
            "explicit": [{"rank": rank, "param": "p%d" % t, "dtype": "u8", "shape": [bytes_],
                          "pieces": [{"t": "t%d" % t, "src": [[0, bytes_]], "dst": [[0, bytes_]]}]}
                         for rank, t, bytes_ in stored]}
        if side == "destination":
            layout["colocated"] = True
        return layout

    def printed_bound(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, value in (("train", self.layout("source")), ("infer", self.layout("destination")),
                                ("topo", self.topology())):
                paths.append(os.path.join(folder, name + ".json"))
                with open(paths[-1], "w", encoding="utf-8") as stream:
                    json.dump(value, stream)
            done = subprocess.run([PROGRAM, "compile"] + paths + ["--json"], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode != 0:
                raise AssertionError(done.stderr.decode() + json.dumps(vars(self)))
            return json.loads(done.stdout)["bound_ns"] / 1e9

    def forests(self, holders, needers):
        """Per way to move a byte: how often each domain sends and receives it."""
        count = len(self.domains)
        rest = [d for d in range(count) if d not in holders]
        found = set()
        for parents in itertools.product([None] + list(range(count)), repeat=len(rest)):
            parent = dict(zip(rest, parents))
            if any(parent[d] is None for d in needers if d not in holders):
                continue
            if all(self._starts_at(d, parent, holders) for d in rest if parent[d] is not None):
                sends = tuple(sum(p == d for p in parents) for d in range(count))
                receives = tuple(int(parent.get(d) is not None) for d in range(count))
                found.add((sends, receives))
        return sorted(found)

    @staticmethod
    def _starts_at(domain, parent, holders):
        seen = set()
        while domain not in holders:
            if domain is None or domain in seen:
                return False
            seen.add(domain)
            domain = parent[domain]
        return True

    def shortest_time(self):
        """The time of the best fluid schedule, in seconds."""
        count = len(self.domains)
        columns, equal_rows, equal_to = [], [], []
        for bytes_, holders, needers in self.tensors:
            first = len(columns)
            columns += self.forests({self.domain_of[r] for r in holders},
                                    {self.domain_of[r] for r in needers})
            equal_rows.append((first, len(columns)))
            equal_to.append(bytes_ / GB)
        width = len(columns) + 1  # and the time
        upper = []
        for d in range(count):
            rate = sum(self.domains[d])
            for direction in (0, 1):
                upper.append([column[direction][d] for column in columns] + [-rate])
        equal = [[float(a <= i < b) for i in range(width)] for a, b in equal_rows]
        solved = linprog([0] * (width - 1) + [1], A_ub=upper, b_ub=[0] * len(upper), A_eq=equal,
                         b_eq=equal_to, method="highs")
        if not solved.success:
            raise AssertionError(solved.message)
        return solved.fun


def random_job(seed):
    """Two to four domains, some slow; holders and needers anywhere, also on the same ranks."""
    rng = random.Random(seed)
    domains = [[rng.choice([1, 2, 4]) for _ in range(rng.randint(1, 2))]
               for _ in range(rng.randint(2, 4))]
    ranks = range(sum(len(rates) for rates in domains))
    tensors = []
    for _ in range(rng.randint(1, 4)):
        tensors.append((rng.randint(1, 50) * 10**7, rng.sample(ranks, rng.randint(1, 2)),
                        rng.sample(ranks, rng.randint(1, len(ranks)))))
    return Job(domains, tensors)


@unittest.skipIf(linprog is None, "python3-scipy is not installed")
class BoundLpTest(unittest.TestCase):
    def check(self, job):
        """Returns the bound and the best time."""
        bound, best = job.printed_bound(), job.shortest_time()
        self.assertLessEqual(bound, best * (1 + 1e-7) + 1e-9)
        return bound, best

    def test_random_jobs_are_never_faster_than_the_bound(self):
        tight = 0
        for seed in range(60):
            with self.subTest(seed=seed):
                bound, best = self.check(random_job(seed))
                tight += bound > 0.999 * best
        self.assertGreater(tight, 20)  # a bound of nothing would be below everything

    def test_an_idle_relay_helps_the_bound_knows(self):
        # A slow holder, a fast trainer that needs nothing, and three needers that send slowly.
        job = Job([[4], [4], [1], [1], [1]], [(10**8, [0], [2, 3, 4])])
        bound, best = self.check(job)
        self.assertAlmostEqual(0.1, bound, places=6)
        self.assertAlmostEqual(0.1, best, places=6)

    def test_holders_that_also_need(self):
        job = Job([[1], [1], [1]], [(10**8, [0], [1, 2]), (10**8, [1], [0, 2]), (10**8, [2], [0, 1])])
        bound, best = self.check(job)
        self.assertAlmostEqual(0.2, bound, places=6)
        self.assertAlmostEqual(0.2, best, places=6)

    def test_all_nics_of_the_holder_s_domain_send(self):
        job = Job([[1, 1, 1, 1], [4]], [(10**8, [0], [4])])
        bound, best = self.check(job)
        self.assertAlmostEqual(0.025, bound, places=6)
        self.assertAlmostEqual(0.025, best, places=6)


if __name__ == "__main__":
    unittest.main()
