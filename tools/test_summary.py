"""Adds up the test cases of all test programs of one `bazel test`.

Usage: test_summary.py --bazel-status=N EVENTS

EVENTS is what --build_event_json_file wrote. The logs that it names are read, and
not those in bazel-testlogs, which keeps the logs of earlier runs. What a test
program counts for:
- if its last line is "N passed, N failed, N skipped", that;
- otherwise, the sums of doctest's "test cases:" lines, where each line
  "SKIPPED: NAME: REASON" turns a passed case into a skipped one;
- otherwise one case: failed, passed, or skipped if it prints such a line.
A program that Bazel calls failed has at least one failed case, and so has a test
that does not build, and a build that fails for another reason.

Shows the logs of the failed programs and the SKIPPED lines, and ends with the
total. Exit status: 0 if tests ran and none failed, else 1.
"""

import argparse
import dataclasses
import json
import re
import sys
import urllib.parse

FINAL_LINE = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
DOCTEST_LINE = re.compile(r"\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|"
                          r"\s*(\d+) failed \|\s*(\d+) skipped")
SKIPPED_LINE = re.compile(r"^SKIPPED: .*$", re.MULTILINE)
SHOWN_LOG_LINES = 60
# Bazel's exit status where the targets hold no test.
NO_TESTS_STATUS = 4


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclasses.dataclass
class TestRun:
    label: str
    status: str  # Bazel's word: PASSED, FLAKY, FAILED, TIMEOUT, ...
    log_path: str  # empty when there is no log

    @property
    def succeeded(self):
        return self.status in ("PASSED", "FLAKY")


@dataclasses.dataclass
class Outcome:
    """What the events say: the last attempt of each run, and what did not build."""

    runs: list
    unbuilt_tests: list
    finished: bool


def log_path_of(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.log":
            url = urllib.parse.urlparse(output.get("uri", ""))
            return urllib.parse.unquote(url.path) if url.scheme == "file" else ""
    return ""


def read_events(lines):
    runs = {}
    tests = set()
    unbuilt = set()
    finished = False
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # Bazel was killed while it wrote: no `finished` event follows
        identity = event.get("id", {})
        if "targetConfigured" in identity and "testSize" in event.get("configured", {}):
            tests.add(identity["targetConfigured"]["label"])
        elif "targetCompleted" in identity:
            if not event.get("completed", {}).get("success"):
                unbuilt.add(identity["targetCompleted"]["label"])
        elif "testResult" in identity:
            key = identity["testResult"]
            result = event.get("testResult", {})
            # Attempts of one run come in order; the last one decides.
            runs[(key["label"], key.get("run"), key.get("shard"))] = TestRun(
                key["label"], result.get("status", "NO_STATUS"), log_path_of(result))
        elif "finished" in event:
            finished = True
    return Outcome(sorted(runs.values(), key=lambda run: run.label),
                   sorted(unbuilt & tests), finished)


def read_log(path):
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def count_cases(log, succeeded):
    """What one program counts for, given its log and Bazel's verdict."""
    skipped_lines = len(SKIPPED_LINE.findall(log))
    lines = log.strip().splitlines()
    final = FINAL_LINE.fullmatch(lines[-1].strip()) if lines else None
    doctest = DOCTEST_LINE.findall(log)
    if final:
        counts = Counts(*map(int, final.groups()))
    elif doctest:
        counts = Counts()
        for row in doctest:
            counts.add(Counts(*map(int, row)))
        moved = min(skipped_lines, counts.passed)
        counts.add(Counts(passed=-moved, skipped=moved))
    elif not succeeded:
        counts = Counts(failed=1)
    else:
        counts = Counts(skipped=1) if skipped_lines else Counts(passed=1)
    if not succeeded and counts.failed == 0:
        counts.failed = 1
    return counts


def show_failure(run, log, out):
    lines = log.rstrip().splitlines()
    if len(lines) > 2 and lines[1].startswith("Executing tests from "):
        del lines[:3]  # Bazel's own heading
    if len(lines) > SHOWN_LOG_LINES:
        lines = [f"... (the last {SHOWN_LOG_LINES} lines)"] + lines[-SHOWN_LOG_LINES:]
    out.write(f"\n==== {run.label}: {run.status}, log: {run.log_path or 'none'}\n")
    out.write("".join(line + "\n" for line in lines))


def summarize(lines, bazel_status, out):
    """Writes the summary of the events to `out`; returns the exit status."""
    outcome = read_events(lines)
    total = Counts()
    skipped_lines = []
    bad_labels = []
    for run in outcome.runs:
        log = read_log(run.log_path)
        counts = count_cases(log, run.succeeded)
        total.add(counts)
        skipped_lines += SKIPPED_LINE.findall(log)
        if counts.failed:
            bad_labels.append(f"{run.label} ({run.status})")
            show_failure(run, log, out)
    for label in outcome.unbuilt_tests:
        total.failed += 1
        bad_labels.append(f"{label} (does not build)")
    if bazel_status == NO_TESTS_STATUS:
        bad_labels.append("no tests found")
    elif total.failed == 0 and (bazel_status != 0 or not outcome.finished):
        total.failed += 1
        bad_labels.append(f"the build fails (Bazel's exit status {bazel_status})")
    elif total == Counts():
        bad_labels.append("no tests ran")
    for line in skipped_lines:
        out.write(line + "\n")
    if bad_labels:
        out.write("\n" + "".join(f"FAILED: {label}\n" for label in bad_labels))
    out.write(f"{total}\n")
    return 1 if bad_labels else 0


def main():
    parser = argparse.ArgumentParser(description="Adds up the cases of all test programs.")
    parser.add_argument("--bazel-status", type=int, required=True)
    parser.add_argument("events")
    options = parser.parse_args()
    try:
        with open(options.events, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        lines = []  # Bazel did not get so far
    return summarize(lines, options.bazel_status, sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
