"""Tests the suite of schedules: its inputs compile, and its figures are those of the plans."""
import json
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/bench")
import suite_bench as bench  # noqa: E402
from suite import bars, cases  # noqa: E402

PROGRAM = "compiler/cli/reshardc"
# Compiled and simulated in a second or two each; their figures are the same on every machine.
QUICK = ("pcie", "qwen3", "rails", "slow-destination-nic", "tp32")


class SuiteBenchTest(unittest.TestCase):
    def test_base_case_moves_the_model_once_into_every_node(self):
        with tempfile.TemporaryDirectory() as folder:
            row = bench.measure(PROGRAM, "base", folder)
        # DeepSeek-V3 without MTP: all parameters of 2 bytes, but for the routers' biases of 4, into
        # 8 NICs of 50 GB/s.
        model_bytes = 671026404352 * 2 + 58 * 256 * 4
        self.assertEqual(model_bytes * 10**9 // (400 * 10**9), row["bound_ns"])
        self.assertGreaterEqual(row["balance"], 1.0)
        self.assertGreaterEqual(row["ratio"], row["balance"])
        self.assertGreater(row["slow_ratio"], row["ratio"])
        # At most 3 slots of 256 MiB a rank: at least so many rounds, whose costs add up.
        least_rounds = model_bytes // 8 // (256 * 2**20 // 3)
        self.assertGreaterEqual(row["slow_ratio"] - row["ratio"],
                                0.9 * least_rounds * 30_000 / row["bound_ns"])
        lines = bench.table([row]).split("\n")
        self.assertEqual(4, len(lines))
        self.assertIn("median", lines[3])

    def test_quick_cases_reach_the_bars(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = [bench.measure(PROGRAM, name, folder) for name in QUICK]
        self.assertEqual(([], []), bars.missed(rows, False))

    def test_a_miss_is_known_only_as_far_as_it_is_stated(self):
        good = {"name": "a", "balance": 1.003, "ratio": 1.03, "slow_ratio": 1.05,
                "best_other_ratio": 0.995}
        self.assertEqual(([], []), bars.missed([good], True))
        for key, value, count in (("balance", 1.004, 1), ("balance", 1.011, 2), ("ratio", 1.031, 1),
                                  ("ratio", 1.051, 2), ("slow_ratio", 1.0506, 1),
                                  ("best_other_ratio", 0.994, 1)):
            with self.subTest(key=key, value=value):
                new, known = bars.missed([dict(good, **{key: value})], True)
                self.assertEqual((count, 0), (len(new), len(known)))
        before = dict(bars.KNOWN)
        self.addCleanup(lambda: (bars.KNOWN.clear(), bars.KNOWN.update(before)))
        bars.KNOWN[("a", "slow_ratio")] = (1.055, "few rounds")
        self.assertEqual(([], ["a: simulated at 50 us is 1.055, at most 1.05 (known: few rounds)"]),
                         bars.missed([dict(good, slow_ratio=1.055)], True))
        self.assertEqual((["a: simulated at 50 us is 1.056, at most 1.05"], []),
                         bars.missed([dict(good, slow_ratio=1.056)], True))

    def test_known_misses_are_of_cases(self):
        keys = {entry[0] for entry in bars.AT_MOST + bars.AT_LEAST}
        for name, key in bars.KNOWN:
            self.assertIn(name, cases.CASES)
            self.assertIn(key, keys)

    def test_gpus_without_nvlink_share_the_ingress_of_their_nic(self):
        with tempfile.TemporaryDirectory() as folder:
            row = bench.measure(PROGRAM, "pcie", folder)
        self.assertIn("ingress of old0/gpu0,old0/gpu1", row["binding_cut"].replace(", ", ","))
        self.assertLess(row["balance"], 1.01)

    def test_every_case_is_valid_input(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in cases.CASES:
                with self.subTest(name):
                    bench.run_once([PROGRAM, "check"] + cases.write(name, folder)[:2])

    def test_cases_differ_in_what_they_say(self):
        texts = {json.dumps(case[1:]) for case in cases.CASES.values()}
        self.assertEqual(len(cases.CASES), len(texts))

    def test_unsharded_keeps_everything_else(self):
        layout = cases.expert_parallel_destination(16, 8, 32)
        stacked = {param["name"].split(".")[-1]: param["value"] for param in layout["params"]
                   if param["mesh"] == "expert"}
        self.assertEqual(["w13_weight", "w2_weight"], sorted(stacked))
        experts = "model.layers.{l}.mlp.experts.{e}."
        self.assertEqual({"op": "cat", "dim": 0, "in": [experts + "gate_proj.weight",
                                                        experts + "up_proj.weight"]},
                         stacked["w13_weight"]["in"])
        self.assertEqual(experts + "down_proj.weight", stacked["w2_weight"]["in"])


if __name__ == "__main__":
    unittest.main()
