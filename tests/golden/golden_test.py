"""Runs every .case file below tests/golden and compares text and exit status exactly."""
import difflib
import glob
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import golden  # noqa: E402

ROOT = os.getcwd()
PROGRAMS = {
    "reshardc": "compiler/cli/reshardc",
    "reshard-run": "runtime/run/reshard-run",
}


class GoldenTest(unittest.TestCase):
    """One method per case, added below."""

    maxDiff = None

    def check(self, path):
        case = golden.parse(path, ROOT)
        results = golden.run(case, PROGRAMS)
        for step, (code, stdout, stderr) in zip(case.steps, results):
            for name, expected, found in (("stdout", step.stdout, stdout),
                                          ("stderr", step.stderr, stderr)):
                if found != expected:
                    lines = difflib.unified_diff(expected.splitlines(True), found.splitlines(True),
                                                 "expected " + name, "found " + name)
                    self.fail("%s: %s\n%s\nreproduce or accept: tests/golden/update %s" % (
                        path, step.command, "".join(lines), path))
            self.assertEqual(step.exit, code, "%s: exit status of: %s" % (path, step.command))
        self.assertEqual([], golden.missing_codes(case, results), path)


def _add(path):
    name = "test_" + os.path.relpath(path, "tests/golden")[:-len(".case")].replace("/", "_")
    setattr(GoldenTest, name, lambda self: self.check(path))


for found_case in sorted(glob.glob("tests/golden/**/*.case", recursive=True)):
    _add(found_case)

if __name__ == "__main__":
    unittest.main()
