"""The bench of the runtime works: it is run on the smallest case, and no time is looked at."""
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

sys.path.insert(0, "tests/bench")
import runtime_bench  # noqa: E402


class RuntimeBenchTest(unittest.TestCase):
    def test_the_smallest_case(self):
        for name, path in runtime_bench.PROGRAMS.items():
            runtime_bench.PROGRAMS[name] = path[len("bazel-bin/"):]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            out = io.StringIO()
            with redirect_stdout(out):
                self.assertEqual(0, runtime_bench.main(["--json", path, "--repeat", "1"],
                                                       runtime_bench.QUICK))
            with open(path, encoding="utf-8") as stream:
                result = json.load(stream)
        self.assertEqual("reshard-bench-runtime/1", result["schema"])
        self.assertEqual([128, 1024, 65536], [row["row_bytes"] for row in result["pack"]])
        self.assertEqual(0, result["execution"]["allocations"])
        self.assertEqual(4, result["execution"]["ranks"])
        self.assertGreater(result["execution"]["rounds"], 50)
        paced = result["paced"][0]
        # Bytes never arrive before the links let them.
        self.assertGreater(paced["over_predicted"], 0.5)
        self.assertIn("| 2 to 2 | 4 |", out.getvalue())


if __name__ == "__main__":
    unittest.main()
