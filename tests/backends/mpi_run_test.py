"""reshard-run --backend mpi, as people start it."""

import json
import os
import subprocess
import tempfile
import unittest

from tests.backends import mpi_job
from tests.backends.failure_job import RANKS, compile_plan

RUN = "runtime/run/reshard-run"
SUITE = "tests/backends/mpi_conformance"


class MpiRunTest(unittest.TestCase):
    def setUp(self):
        # The suite is built where MPI is; the program itself always.
        why = mpi_job.missing(SUITE)
        if why:
            self.skipTest(why)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.plan = compile_plan(self.folder, "plan")

    def shell(self, script, processes=RANKS):
        """Every process runs the script; $R is its number. All come to their end."""
        return mpi_job.run(processes, "/bin/sh", "-c", "R=$OMPI_COMM_WORLD_RANK; " + script,
                           options=("--enable-recovery",))

    def test_every_byte_is_compared_and_member_0_reports(self):
        for options in ([], ["--no-shared-memory"]):
            done = mpi_job.run(RANKS, RUN, self.plan, "--backend", "mpi", "--check", "--repeat", "2",
                               "--json", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["backend"], "mpi")
            self.assertEqual(report["executions"], 2)
            # Two source replicas and two destination replicas of 8 MiB.
            self.assertEqual(report["check"],
                             {"compared_bytes": 2 * 4 * 8 * 2**20, "wrong_bytes": 0, "first": None})
            self.assertEqual(report["staging_bytes"]["allocated"], report["staging_bytes"]["planned"])

    def test_a_rank_with_another_plan_is_named_by_all_with_both_digests(self):
        other = compile_plan(self.folder, "other", "--heads", "1")
        digests = []
        for plan in (self.plan, other):
            shown = subprocess.run(["compiler/cli/reshardc", "verify", plan, "--json"],
                                   capture_output=True, text=True, check=True)
            digests.append(json.loads(shown.stdout)["root_digest"])
        self.assertNotEqual(*digests)
        done = self.shell("[ $R = 4 ] && P=%s || P=%s; exec %s $P --backend mpi --timeout 20" % (
            other, self.plan, os.path.abspath(RUN)))
        said = [line for line in done.stderr.splitlines() if "ranks hold different plans" in line]
        self.assertEqual(len(said), RANKS, done.stderr)
        for line in said:
            self.assertIn("ranks 0-3,5-11 " + digests[0], line)
            self.assertIn("rank 4 " + digests[1], line)
        self.assertEqual(done.stdout, "")

    def test_a_plan_that_one_process_cannot_read_ends_all(self):
        done = self.shell("[ $R = 7 ] && P=nowhere.fb || P=%s; exec %s $P --backend mpi" % (
            self.plan, os.path.abspath(RUN)))
        self.assertIn("member 7: error: ", done.stderr)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_job_of_another_size_than_the_plan(self):
        done = self.shell("exec %s %s --backend mpi" % (os.path.abspath(RUN), self.plan), 5)
        self.assertEqual(done.stderr.count("error: the plan has 12 ranks and the job 5 processes"), 1)


if __name__ == "__main__":
    unittest.main()
