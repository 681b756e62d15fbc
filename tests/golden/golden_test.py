"""Runs every .case file below tests/golden and compares text and exit status exactly."""
import difflib
import glob
import os
import re
import sys
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

ROOT = os.getcwd()
PROGRAMS = {
    "reshardc": "compiler/cli/reshardc",
    "reshard-run": "runtime/run/reshard-run",
}
CASES = sorted(glob.glob("tests/golden/**/*.case", recursive=True))

# Codes that no small input can cause, and the unit test that does.
ELSEWHERE = {
    "plan-too-large": "needs a plan of 2 GiB: compiler/emit/serialize_plan_test.cc lowers the limit",
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
        self.assertEqual([], golden.wrong_codes(case, results), path)


class CompletenessTest(unittest.TestCase):
    """Every diagnostic code has a case that announces it, with its severity."""

    def test_every_code_has_a_case(self):
        with open("compiler/diag/diagnostic_codes.def", encoding="utf-8") as definitions:
            codes = set(re.findall(r'^RESHARD_DIAGNOSTIC\(\w+, "([a-z0-9-]+)"',
                                   definitions.read(), re.MULTILINE))
        self.assertIn("shape-mismatch", codes)
        announced = set()
        for path in CASES:
            announced |= {code for _, code in golden.parse(path, ROOT).codes}
        self.assertEqual([], sorted(codes - announced - set(ELSEWHERE)), "codes without a case")
        self.assertEqual([], sorted(set(ELSEWHERE) & announced), "ELSEWHERE is not needed")


def _add(path):
    name = "test_" + os.path.relpath(path, "tests/golden")[:-len(".case")].replace("/", "_")
    setattr(GoldenTest, name, lambda self: self.check(path))


for found_case in CASES:
    _add(found_case)

if __name__ == "__main__":
    unittest.main()
