"""Keeps tools/bench network working: bytes and counters, no times."""
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/bench")
import network_bench as bench  # noqa: E402
import network_lab  # noqa: E402


def interfaces():
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout.count("\n")


class NetworkBenchTest(unittest.TestCase):
    def setUp(self):
        why = bench.missing()
        if why:
            self.skipTest(why)

    def test_every_scheme_is_right_and_the_counters_tell_them_apart(self):
        before = interfaces()
        options = bench.parse(["--repeat", "1", "--tensors", "16", "--rate", "400"])
        rows = {row["scheme"]: row for row in bench.measure("tp4_to_2x_tp2x2", options)}
        self.assertEqual(set(bench.SCHEMES), set(rows))
        # 16 MiB through four NICs of 400 Mbit/s.
        rate = 4 * 400e6 / 8 * network_lab.PAYLOAD
        self.assertAlmostEqual(16 * 2**20 / rate, rows["plan"]["bound_seconds"], places=5)
        # A domain needs every byte once; by itself every one of its replicas needs it. Packets that
        # TCP sends again count too, on a machine that is busy.
        for scheme, copies in (("plan", 1), ("ring", 1), ("point_to_point", 2)):
            self.assertGreater(rows[scheme]["received"], copies * 0.999)
            self.assertLess(rows[scheme]["received"], copies * 1.1)
        # A broadcast holds a tensor, a ring the model, which needs a little less in new pages; the
        # plan only its staging memory.
        self.assertGreater(rows["gather_bcast"]["peak_bytes"], 2**20 - 2**16)
        self.assertGreater(rows["ring"]["peak_bytes"], 12 * 2**20)
        self.assertLess(rows["plan"]["peak_bytes"], 4 * 2**20)
        self.assertEqual(before, interfaces())

    def test_cases_are_complete(self):
        for name, (case, _) in bench.CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                ranks = sum(map(len, case.ranks_of_domains))
                bench.write_inputs(case(), [500] * ranks, 16, folder)
                for tensor in range(16):
                    rows = sorted(shard[1:] for shard in case().shards(tensor, 16))
                    self.assertEqual(bench.ROWS, sum(count for _, count in rows))
                    self.assertEqual([sum(c for _, c in rows[:i]) for i in range(len(rows))],
                                     [first for first, _ in rows])


if __name__ == "__main__":
    unittest.main()
