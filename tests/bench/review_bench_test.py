"""Tests what the review benchmark runs of the smallest case, except the times."""
import sys
import unittest

sys.path.insert(0, "tests/bench")
import compile_bench  # noqa: E402
import review_bench as bench  # noqa: E402


class ReviewBenchTest(unittest.TestCase):
    def test_every_command_answers_as_it_has_to(self):
        # A wrong exit status is an error: the plans of a case differ, the one with cut templates does not.
        rows = bench.measure("compiler/cli/reshardc", bench.CASES[0], 1)
        self.assertEqual(len(rows), len({row["name"] for row in rows}))
        for command in ("diff", "show", "explain", "report"):
            self.assertTrue([row for row in rows if row["name"].startswith(command)], command)
        for row in rows:
            self.assertGreater(row["output_bytes"], 100, row["name"])
            self.assertGreater(row["peak_bytes"], 1e6)
        pages = [row["output_bytes"] for row in rows if row["name"].startswith("report")]
        self.assertGreater(pages[1], pages[0])
        self.assertEqual(2 + len(rows), len(compile_bench.table(rows, bench.COLUMNS).split("\n")))

    def test_cut_templates_cover_the_same_loop(self):
        layout = {"logical": [{"for": {"l": "DENSE..L", "e": "0..E"}, "name": "a{l}{e}"}, {"name": "b"}],
                  "params": [{"for": {"e": "0..E"}, "name": "c{e}"}]}
        cut = bench.cut_templates(layout)
        self.assertEqual([{"l": "DENSE..30", "e": "0..E"}, {"l": "30..L", "e": "0..E"}],
                         [entry["for"] for entry in cut["logical"][:2]])
        self.assertEqual([layout["logical"][1]], cut["logical"][2:])
        self.assertEqual(layout["params"], cut["params"])

    def test_another_status_is_an_error(self):
        with self.assertRaisesRegex(compile_bench.BenchError, "exit status 2"):
            compile_bench.run_once(["compiler/cli/reshardc", "verify", "absent.fb"], 1)


if __name__ == "__main__":
    unittest.main()
