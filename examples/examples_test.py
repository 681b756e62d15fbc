"""Runs the command of every example and compares what it prints with expected.txt."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

PROGRAMS = {
    "reshardc": "compiler/cli/reshardc",
    "reshard-run": "runtime/run/reshard-run",
}
FOLDERS = sorted(os.path.dirname(path) for path in glob.glob("examples/*/command"))

# Inputs that the tests read too: an example shows what is tested.
COPIES = {
    "examples/toy/train.json": "tests/data/layouts/toy_train.json",
    "examples/toy/infer.json": "tests/data/layouts/toy_infer.json",
    "examples/toy/topo.json": "tests/data/topologies/toy.json",
    "examples/qwen3_235b/train.json": "tests/data/layouts/qwen3_235b_train.json",
    "examples/qwen3_235b/infer.json": "tests/data/layouts/qwen3_235b_infer.json",
    "examples/qwen3_235b/topo.json": "tests/data/topologies/h100_64_64.json",
}


class ExamplesTest(unittest.TestCase):
    """One method per example, added below."""

    maxDiff = None

    def check(self, folder):
        with open(os.path.join(folder, "expected.txt"), encoding="utf-8") as stream:
            expected = stream.read()
        with tempfile.TemporaryDirectory() as work:
            for path in glob.glob(os.path.join(folder, "*")):
                shutil.copy(path, work)
            done = subprocess.run(["/bin/sh", "./command"], cwd=work, capture_output=True,
                                  env=golden.environment_with(PROGRAMS, work), timeout=60,
                                  check=False)
        self.assertEqual(0, done.returncode, done.stderr.decode())
        self.assertEqual(expected, done.stdout.decode())

    def test_every_folder_is_complete(self):
        self.assertGreaterEqual(len(FOLDERS), 3)
        for folder in FOLDERS:
            names = {os.path.basename(path) for path in glob.glob(folder + "/*")}
            self.assertLessEqual({"README.md", "command", "expected.txt", "infer.json",
                                  "topo.json", "train.json"}, names, folder)

    def test_shared_inputs_are_equal(self):
        for copy, original in COPIES.items():
            with open(copy, "rb") as one, open(original, "rb") as other:
                self.assertEqual(other.read(), one.read(), copy)


def _add(folder):
    name = "test_example_" + os.path.basename(folder)
    setattr(ExamplesTest, name, lambda self: self.check(folder))


for found in FOLDERS:
    _add(found)

if __name__ == "__main__":
    unittest.main()
