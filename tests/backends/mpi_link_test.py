"""The network of one domain goes away in the middle of an execution.

Three domains of four ranks, each a network namespace; ranks go on running, and the launcher too, which has
a network of its own. Every rank has to come back with an error that names a rank on the other side.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.getcwd())
from tests.backends import mpi_job  # noqa: E402
from tests.backends.failure_job import PROGRAM, RANKS, TIMEOUT_MS, Job, compile_plan  # noqa: E402
from tests.bench import network_lab  # noqa: E402

# 8 MiB into the four NICs of a domain: half a second.
RATE_MBIT = 32
CUT_DOMAIN = 1
INSIDE = {4, 5, 6, 7}


def run_inside():
    """In the sandbox: the job, and the cut when all ranks are in their second execution."""
    folder = tempfile.mkdtemp(dir="/run")
    plan = compile_plan(folder, "plan")
    lab = network_lab.Lab([[RATE_MBIT] * 4] * 3, folder)
    job = Job(lab.command(os.path.abspath(PROGRAM), plan, "-1", "middle", "link", str(TIMEOUT_MS), "",
                          options=("--enable-recovery",)), lab.environment())
    try:
        seconds = [line["seconds"] for line in job.wait_for("ready", RANKS)]
        time.sleep(max(seconds, default=0) / 2)
        for k in range(4):
            network_lab.run(["ip", "link", "set", "nic%d-%d" % (k, CUT_DOMAIN), "down"])
        saw = job.wait_for("result", RANKS)
    finally:
        job.end()
    print(json.dumps({"saw": saw, "errors": job.errors}))


class MpiLinkTest(unittest.TestCase):
    def setUp(self):
        why = mpi_job.missing(PROGRAM) or network_lab.missing()
        if why:
            self.skipTest(why)

    def test_both_sides_of_a_cut_come_back_with_an_error(self):
        done = subprocess.run(network_lab.unshare() + [sys.executable, os.path.abspath(__file__)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = json.loads(done.stdout.splitlines()[-1])
        saw = job["saw"]
        self.assertEqual(sorted(line["rank"] for line in saw), list(range(RANKS)), job["errors"])
        failed = [line for line in saw if line["result"] != "ok"]
        # All that receive, on both sides; a source may have given its last bytes to the kernel.
        self.assertLessEqual(set(range(4, RANKS)), {line["rank"] for line in failed})
        for line in saw:
            self.assertEqual(line["state"]["wrong_bytes"], 0, line)
            self.assertEqual(line["state"]["listed"], line["state"]["complete_count"], line)
            self.assertNotEqual(line["commit"], "ok", line)
            self.assertTrue(line["destroyed"], line)
        for line in failed:
            self.assertIn(line["result"], ("timeout", "aborted"), line)
            self.assertRegex(line["text"], r"round \d+ of execution 1: ", line)
            named = re.findall(r"rank (\d+)(?: did not [^;,]*, and|, which) does not answer", line["text"])
            speaker = re.match(r"rank (\d+) failed: ", line["text"])
            speaker = int(speaker.group(1)) if speaker else line["rank"]
            self.assertTrue(named, line)
            self.assertNotEqual(int(named[-1]) in INSIDE, speaker in INSIDE, line)


if __name__ == "__main__":
    run_inside()
