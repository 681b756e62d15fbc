"""Tests what the scale benchmark reports of its smallest cases, except the times."""
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, "tests/bench")
import scale_bench as bench  # noqa: E402


class ScaleBenchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.rows = [bench.measure("compiler/cli/reshardc", "tests/bench/load_rank_bench", name,
                                      folder)
                        for name in ("explicit-1000", "fsdp-256", "deepseek-1024-tp8")]

    def test_reports_what_was_compiled(self):
        # 8 holders, each tensor in halves on two of 8 needers: needers follow from the holder.
        self.assertEqual(16, self.rows[0]["classes"])
        for row in self.rows:
            self.assertGreaterEqual(row["ratio"], 1.0)
            self.assertGreater(row["plan_bytes"], 1000)
            self.assertGreater(row["load_seconds"], 0)

    def test_draws_every_row_twice(self):
        drawing = xml.etree.ElementTree.fromstring(bench.plot(self.rows))
        circles = [node for node in drawing.iter() if node.tag.endswith("circle")]
        self.assertEqual(2 * len(self.rows), len(circles))
        for circle in circles:
            self.assertTrue(0 < float(circle.get("cx")) < bench.PLOT_WIDTH)
            self.assertTrue(0 < float(circle.get("cy")) < bench.PLOT_HEIGHT)

    def test_a_table_row_per_case(self):
        self.assertEqual(2 + len(self.rows), len(bench.table(self.rows, bench.COLUMNS).split("\n")))


if __name__ == "__main__":
    unittest.main()
