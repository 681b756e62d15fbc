"""Feeds tools/test_summary.py fabricated events and logs, one for each situation."""

import io
import json
import os
import tempfile
import unittest

from tools import test_summary

DOCTEST = """exec ${{PAGER:-/usr/bin/less}} "$0" || exit 1
Executing tests from //a:b
-----------------------------------------------------------------------------
[doctest] doctest version is "2.4.9"
{extra}===============================================================================
[doctest] test cases: {run} | {passed} passed | {failed} failed | {skipped} skipped
[doctest] assertions: 9 | 9 passed | 0 failed |
[doctest] Status: SUCCESS!
"""


def doctest_log(passed, failed=0, skipped=0, extra=""):
    return DOCTEST.format(run=passed + failed, passed=passed, failed=failed, skipped=skipped,
                          extra=extra)


class Build:
    """Fabricated events of one `bazel test`."""

    def __init__(self, folder):
        self.folder = folder
        self.events = []

    def test(self, label, status="PASSED", log=None, run=1, shard=1, attempt=1):
        outputs = [{"name": "test.xml", "uri": "file:///nowhere/test.xml"}]
        if log is not None:
            path = os.path.join(self.folder, f"{len(self.events)} test.log")
            with open(path, "w", encoding="utf-8") as file:
                file.write(log)
            outputs.append({"name": "test.log", "uri": "file://" + path.replace(" ", "%20")})
        self.configured(label)
        self.events.append({
            "id": {"targetCompleted": {"label": label}},
            "completed": {"success": True}})
        self.events.append({
            "id": {"testResult": {"label": label, "run": run, "shard": shard, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": outputs}})

    def configured(self, label):
        self.events.append({
            "id": {"targetConfigured": {"label": label}},
            "configured": {"targetKind": "cc_test rule", "testSize": "SMALL"}})

    def finished(self, status):
        self.events.append({"id": {"buildFinished": {}}, "finished": {"exitCode": {"code": status}}})

    def summary(self, bazel_status=0):
        """Finishes the build; returns (exit status, lines of the summary)."""
        self.finished(bazel_status)
        return self.summary_so_far(bazel_status)

    def summary_so_far(self, bazel_status):
        out = io.StringIO()
        lines = [json.dumps(event) + "\n" for event in self.events]
        status = test_summary.summarize(lines, bazel_status, out)
        return status, out.getvalue().splitlines()


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Build(folder.name)

    def expect(self, bazel_status, status, last_line, *parts):
        actual, lines = self.build.summary(bazel_status)
        self.assertEqual(lines[-1], last_line)
        self.assertEqual(actual, status)
        for part in parts:
            self.assertIn(part, "\n".join(lines))
        return lines

    def test_all_pass_and_nothing_else_is_said(self):
        self.build.test("//a:x", log=doctest_log(3, skipped=1))
        self.build.test("//a:y", log=doctest_log(4))
        self.assertEqual(self.expect(0, 0, "7 passed, 0 failed, 1 skipped"),
                         ["7 passed, 0 failed, 1 skipped"])

    def test_failing_case_shows_its_log_without_bazels_heading(self):
        self.build.test("//a:x", "FAILED", doctest_log(2, failed=1, extra="x.cc:5: ERROR\n"))
        self.build.test("//a:y", log=doctest_log(4))
        lines = self.expect(3, 1, "6 passed, 1 failed, 0 skipped", "x.cc:5: ERROR",
                            "FAILED: //a:x (FAILED)")
        self.assertFalse([line for line in lines if "PAGER" in line])

    def test_long_log_is_shown_from_its_end(self):
        self.build.test("//a:x", "FAILED", "".join(f"line {i}\n" for i in range(500)))
        lines = self.expect(3, 1, "0 passed, 1 failed, 0 skipped", "line 499")
        self.assertNotIn("line 439", lines)
        self.assertIn("line 440", lines)

    def test_crash_without_a_count(self):
        self.build.test("//a:x", "FAILED", "[doctest] doctest version is 2.4.9\nSegmentation fault\n")
        self.expect(3, 1, "0 passed, 1 failed, 0 skipped")

    def test_crash_that_doctest_counts_is_not_counted_twice(self):
        self.build.test("//a:x", "FAILED", doctest_log(1, failed=1))
        self.expect(3, 1, "1 passed, 1 failed, 0 skipped")

    def test_bad_exit_after_all_cases_passed(self):
        self.build.test("//a:x", "FAILED", doctest_log(5))
        self.expect(3, 1, "5 passed, 1 failed, 0 skipped")

    def test_failed_cases_of_a_program_that_exits_with_zero(self):
        self.build.test("//a:x", log=doctest_log(1, failed=2))
        self.expect(0, 1, "1 passed, 2 failed, 0 skipped")

    def test_timeout(self):
        self.build.test("//a:x", "TIMEOUT", "-- Test timed out at ... --\n")
        self.expect(3, 1, "0 passed, 1 failed, 0 skipped", "FAILED: //a:x (TIMEOUT)")

    def test_log_is_missing(self):
        self.build.test("//a:x")
        self.build.test("//a:y", "FAILED")
        self.expect(3, 1, "1 passed, 1 failed, 0 skipped")

    def test_several_doctest_runs_in_one_log(self):
        self.build.test("//a:x", log=doctest_log(2) + doctest_log(3, skipped=1))
        self.expect(0, 0, "5 passed, 0 failed, 1 skipped")

    def test_own_final_line_wins_over_doctest_lines(self):
        self.build.test("//a:x", log=doctest_log(2) + "7 passed, 0 failed, 2 skipped\n\n")
        self.expect(0, 0, "7 passed, 0 failed, 2 skipped")

    def test_line_that_is_not_the_last_counts_for_nothing(self):
        self.build.test("//a:x", log="7 passed, 0 failed, 2 skipped\nbye\n")
        self.expect(0, 0, "1 passed, 0 failed, 0 skipped")

    def test_script_without_counts_is_one_case(self):
        self.build.test("//a:x", log="hello\n")
        self.build.test("//a:y", "FAILED", "hello\n")
        self.expect(3, 1, "1 passed, 1 failed, 0 skipped")

    def test_skipped_lines_are_repeated_before_the_total(self):
        self.build.test("//a:script", log="SKIPPED: gpu: no device\n")
        self.build.test("//a:doctest", log=doctest_log(3, extra="SKIPPED: mpi: not installed\n"))
        self.build.test("//a:counted", log="SKIPPED: nic: none\n1 passed, 0 failed, 1 skipped\n")
        lines = self.expect(0, 0, "3 passed, 0 failed, 3 skipped")
        self.assertEqual(lines[:-1], ["SKIPPED: nic: none", "SKIPPED: mpi: not installed",
                                      "SKIPPED: gpu: no device"])

    def test_only_the_last_attempt_counts_but_every_run_and_shard(self):
        self.build.test("//a:x", "FAILED", doctest_log(1, failed=1), attempt=1)
        self.build.test("//a:x", "PASSED", doctest_log(2), attempt=2)
        self.build.test("//a:y", log=doctest_log(2), run=1)
        self.build.test("//a:y", log=doctest_log(2), run=2)
        self.build.test("//a:z", log=doctest_log(4), shard=1)
        self.build.test("//a:z", log=doctest_log(5), shard=2)
        self.expect(0, 0, "15 passed, 0 failed, 0 skipped")

    def test_test_that_does_not_compile(self):
        self.build.test("//a:x", log=doctest_log(2))
        self.build.configured("//a:broken")
        self.build.events.append({"id": {"targetCompleted": {"label": "//a:broken"}},
                                  "completed": {"failureDetail": {"message": "gcc failed"}}})
        self.expect(1, 1, "2 passed, 1 failed, 0 skipped", "FAILED: //a:broken (does not build)")

    def test_test_that_cannot_be_analyzed(self):
        self.build.configured("//a:broken")
        self.build.events.append({"id": {"targetCompleted": {"label": "//a:broken"}},
                                  "aborted": {"reason": "ANALYSIS_FAILURE"}})
        self.expect(1, 1, "0 passed, 1 failed, 0 skipped", "FAILED: //a:broken (does not build)")

    def test_library_that_does_not_compile(self):
        self.build.test("//a:x", log=doctest_log(2))
        self.build.events.append({"id": {"targetCompleted": {"label": "//a:lib"}}, "completed": {}})
        self.expect(1, 1, "2 passed, 1 failed, 0 skipped", "the build fails")

    def test_build_file_with_a_syntax_error(self):
        self.expect(1, 1, "0 passed, 1 failed, 0 skipped", "the build fails")

    def test_bazel_was_killed_while_it_wrote(self):
        self.build.test("//a:x", log=doctest_log(2))
        out = io.StringIO()
        lines = [json.dumps(event) for event in self.build.events] + ['{"id": {"testRes']
        self.assertEqual(test_summary.summarize(lines, 0, out), 1)
        self.assertEqual(out.getvalue().splitlines()[-1], "2 passed, 1 failed, 0 skipped")

    def test_no_tests(self):
        self.expect(4, 1, "0 passed, 0 failed, 0 skipped", "FAILED: no tests found")

    def test_programs_without_any_case(self):
        self.build.test("//a:x", log=doctest_log(0))
        self.expect(0, 1, "0 passed, 0 failed, 0 skipped", "FAILED: no tests ran")

    def test_cached_results_count(self):
        self.build.test("//a:x", log=doctest_log(2))
        self.build.events[-1]["testResult"]["cachedLocally"] = True
        self.expect(0, 0, "2 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
