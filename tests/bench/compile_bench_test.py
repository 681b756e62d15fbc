"""Tests what the compile benchmark reports of the smallest case, except the times."""
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/bench")
import compile_bench as bench  # noqa: E402


class CompileBenchTest(unittest.TestCase):
    def test_reports_the_plan_and_what_the_process_used(self):
        with tempfile.TemporaryDirectory() as folder:
            row = bench.measure("compiler/cli/reshardc", bench.CASES[0], 2, folder)
        self.assertEqual("qwen3-64", row["name"])
        # Known of this job: ingress of 470.2 GB over 8 NICs of 50 GB/s, each byte once.
        self.assertEqual(1175468172, row["bound_ns"])
        self.assertEqual(1.0, row["network_per_needed"])
        self.assertGreaterEqual(row["ratio"], row["balance"])
        self.assertGreaterEqual(row["balance"], 1.0)
        self.assertGreater(row["plan_bytes"], 1000)
        for part in ("compile", "verify"):
            self.assertGreater(row[part]["seconds"], 0)
            self.assertGreater(row[part]["peak_bytes"], 1e6)
            self.assertLess(row[part]["peak_bytes"], 1e9)
        lines = bench.table([row], bench.COLUMNS).split("\n")
        self.assertEqual(3, len(lines))
        self.assertIn("Qwen3-235B", lines[2])

    def test_the_largest_jobs_keep_their_budgets(self):
        for case in bench.CASES:
            if "4096" not in case[0]:
                continue
            with self.subTest(case[0]), tempfile.TemporaryDirectory() as folder:
                row = bench.measure("compiler/cli/reshardc", case, 1, folder)
                self.assertLessEqual(row["plan_bytes"], 24e6)
                self.assertLessEqual(row["balance"], 1.01)
                self.assertLessEqual(row["ratio"], 1.05)
                self.assertLess(row["compile"]["peak_bytes"], 1e9)

    def test_memory_below_that_of_the_starting_process_is_unknown(self):
        self.assertEqual("20 MB", bench.memory({"peak_bytes": 20e6, "floor_bytes": 15e6}))
        self.assertEqual("< 15 MB", bench.memory({"peak_bytes": 15.1e6, "floor_bytes": 15e6}))

    def test_busiest_port_is_of_one_direction(self):
        nics = [{"send_bytes": 30, "receive_bytes": 40, "bytes_per_s": 10},
                {"send_bytes": 50, "receive_bytes": 0, "bytes_per_s": 25}]
        self.assertEqual(4e9, bench.busiest_port_ns(nics))

    def test_a_command_that_fails_is_an_error(self):
        with self.assertRaisesRegex(bench.BenchError, "exit status 2"):
            bench.run_once(["compiler/cli/reshardc", "verify", "absent.fb"])


if __name__ == "__main__":
    unittest.main()
