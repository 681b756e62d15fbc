"""The network of one domain goes away: before an execution, in the middle of one, and before its commit.

Three domains of four ranks, each a network namespace; ranks go on running, and the launcher too, which has
a network of its own. Every rank has to come back with an error that names a rank on the other side. One
matrix for all backends of processes.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from tests.backends.failure_job import HANG_SECONDS, RANKS, TIMEOUT_MS, Job, compile_plan
from tests.bench import network_lab

# 8 MiB into the four NICs of a domain: half a second.
RATE_MBIT = 32
CUT_DOMAIN = 1
INSIDE = {4, 5, 6, 7}
# Of the domain that is cut off; stops at the page of its params that is half-way through, until the cut
# is made.
STOPS = 5
# In the middle the cut is made while others wait for the one that stopped.
TIMEOUTS_MS = {"start": TIMEOUT_MS, "middle": 3 * TIMEOUT_MS, "end": TIMEOUT_MS}


def await_stop(process):
    """Waits until the process is stopped; an error when it ends first."""
    for _ in range(100 * HANG_SECONDS):
        with open("/proc/%d/stat" % process, encoding="ascii", errors="replace") as stream:
            if stream.read().rpartition(")")[2].split()[0] == "T":
                return
        time.sleep(0.01)
    raise TimeoutError("rank %d did not come to the middle" % STOPS)


def cut(folder):
    commands = os.path.join(folder, "cut")
    with open(commands, "w", encoding="ascii") as stream:
        stream.writelines("link set nic%d-%d down\n" % (k, CUT_DOMAIN) for k in range(4))
    network_lab.run(["ip", "-batch", commands])


def run_inside(when, command):
    """In the sandbox: the job, and the cut. `command(lab, folder, arguments)` starts its processes."""
    folder = tempfile.mkdtemp(dir="/run")
    plan = compile_plan(folder, "plan")
    cut_file = os.path.join(folder, "is_cut")
    lab = network_lab.Lab([[RATE_MBIT] * 4] * 3, folder)
    job = Job(command(lab, folder, [plan, str(STOPS), when, "link", str(TIMEOUTS_MS[when]), "",
                                    cut_file]), lab.environment())
    try:
        job.wait_for("ready", RANKS)
        if when == "middle":
            process = job.processes()[STOPS]
            await_stop(process)
            cut(folder)
            os.kill(process, signal.SIGCONT)
        else:
            job.wait_for("waits", RANKS)
            cut(folder)
            with open(cut_file, "w", encoding="ascii"):
                pass
        saw = job.wait_for("result", RANKS)
    finally:
        job.end()
    print(json.dumps({"saw": saw, "errors": job.errors}))


class LinkCases:
    """Mixed into a unittest.TestCase for each backend."""

    def missing(self):
        """Why no job can be started here; None when it can."""
        raise NotImplementedError

    def program(self):
        """The test itself: with `when` as its argument it does `run_inside`."""
        raise NotImplementedError

    def setUp(self):
        why = self.missing() or network_lab.missing()
        if why:
            self.skipTest(why)

    def cut_at(self, when):
        """What all ranks saw."""
        done = subprocess.run(
            network_lab.unshare() + [sys.executable, os.path.abspath(self.program()), when],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = json.loads(done.stdout.splitlines()[-1])
        saw = job["saw"]
        self.assertEqual(sorted(line["rank"] for line in saw), list(range(RANKS)), job["errors"])
        for line in saw:
            self.assertEqual(line["state"]["wrong_bytes"], 0, line)
            self.assertEqual(line["state"]["listed"], line["state"]["complete_count"], line)
            self.assertNotEqual(line["commit"], "ok", line)
            self.assertTrue(line["destroyed"], line)
        return saw

    def check_failed(self, failed):
        """Each error names, in the end, a rank on the other side of the cut from who says it."""
        for line in failed:
            self.assertIn(line["result"], ("timeout", "aborted"), line)
            self.assertRegex(line["text"], r"round \d+ of execution 1: ", line)
            named = re.findall(r"rank (\d+)(?: did not [^;,]*, and|, which) does not answer", line["text"])
            speaker = re.match(r"rank (\d+) failed: ", line["text"])
            speaker = int(speaker.group(1)) if speaker else line["rank"]
            self.assertTrue(named, line)
            self.assertNotEqual(int(named[-1]) in INSIDE, speaker in INSIDE, line)

    def test_before_the_execution(self):
        saw = self.cut_at("start")
        # Nobody may send before the receiver says so, and that it cannot.
        self.assertEqual([], [line for line in saw if line["result"] == "ok"])
        self.check_failed(saw)
        for line in saw:
            if line["rank"] >= 4:
                self.assertLess(line["state"]["complete_count"], line["state"]["destination_count"])

    def test_in_the_middle(self):
        failed = [line for line in self.cut_at("middle") if line["result"] != "ok"]
        # All that receive, on both sides; a source may have given its last bytes to the kernel.
        self.assertLessEqual(set(range(4, RANKS)), {line["rank"] for line in failed})
        self.check_failed(failed)

    def test_before_the_commit(self):
        for line in self.cut_at("end"):
            self.assertEqual("ok", line["result"], line)
            self.assertEqual(line["state"]["complete_count"], line["state"]["destination_count"])
            self.assertEqual(2, line["state"]["complete_generation"])
            # All that a rank does not hear from are on the other side.
            named = re.search(r"no answer from ranks? ([\d, ]+)", line["commit_text"])
            self.assertTrue(named, line)
            for rank in named.group(1).split(", "):
                self.assertNotEqual(int(rank) in INSIDE, line["rank"] in INSIDE, line)
