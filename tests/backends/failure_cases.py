"""A rank of a job is killed or stopped: what do the others say? One matrix for all backends of processes.

Every survivor has to come back with an error that names the rank, the round and a param, or with all
its params complete; what it calls complete has to be so to the last byte; nobody may commit; and the
survivors go on with a plan of their own, in the same processes and on the same buffers.
"""

import os
import re
import signal
import tempfile

from tests.backends.failure_job import RANKS, TIMEOUT_MS, Job, compile_plan

# Another process ended or is silent: what a rank that waits for it says.
SILENT = "rank {0} did not .*, and does not answer|rank {0}, which does not answer"


class FailureCases:
    """Mixed into a unittest.TestCase for each backend."""

    # What somebody who waited for a rank says when it was killed, and with which result.
    killed = SILENT
    killed_result = "timeout"
    # Ways to start survivors that connect in other ways, too.
    survivor_options = ((),)

    def missing(self):
        """Why no job can be started here; None when it can."""
        raise NotImplementedError

    def job(self, arguments, options):
        """Starts RANKS processes of the test's program; the command and its environment."""
        raise NotImplementedError

    def setUp(self):
        why = self.missing()
        if why:
            self.skipTest(why)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.plan = compile_plan(self.folder, "plan")

    def run_job(self, victim, when, how, survivors_plan=None, options=()):
        arguments = [self.plan, victim, when, how, TIMEOUT_MS]
        if survivors_plan:
            arguments.append(survivors_plan)
        job = Job(*self.job(list(map(str, arguments)), options))
        try:
            saw = job.wait_for("result", RANKS - 1)
            went_on = job.wait_for("survivors", RANKS - 1) if survivors_plan else []
        finally:
            job.end()
        self.assertEqual(sorted(line["rank"] for line in saw),
                         [rank for rank in range(RANKS) if rank != victim], job.errors)
        return saw, went_on

    def check_survivor(self, saw, victim):
        state = saw["state"]
        self.assertEqual(state["wrong_bytes"], 0, saw)
        self.assertEqual(state["listed"], state["complete_count"], saw)
        self.assertEqual(state["started"], 2)
        self.assertNotEqual(saw["commit"], "ok", saw)
        self.assertTrue(saw["destroyed"], saw)
        if saw["result"] == "ok":
            self.assertEqual(state["complete_count"], state["destination_count"], saw)
            self.assertEqual(state["complete_generation"], 2)
            self.assertIn("; this rank's own part of generation 2 is complete, ", saw["commit_text"])
            return
        self.assertIn(saw["result"], ("timeout", "aborted", self.killed_result), saw)
        self.assertEqual(saw["again"], saw["result"])
        self.assertEqual(state["complete_generation"], 1)
        self.assertRegex(saw["text"], r"round \d+ of execution 1: ", saw)
        self.assertRegex(saw["text"], r"\brank %d\b" % victim, saw)
        self.assertIn("; this rank did not complete generation 2: " + saw["text"], saw["commit_text"])
        if state["complete_count"] < state["destination_count"]:
            self.assertRegex(saw["text"], r"'layers\.\d+\.w' (is|and \d+ more are) incomplete")

    def check_failure(self, victim, when, how):
        saw, _ = self.run_job(victim, when, how)
        for line in saw:
            self.check_survivor(line, victim)
        failed = [line for line in saw if line["result"] != "ok"]
        if when == "end":
            self.assertEqual(failed, [])
            for line in saw:
                self.assertIn("no answer from rank", line["commit_text"], line)
            self.assertTrue(any(re.search(r"\b%d\b" % victim, line["commit_text"])
                                for line in saw), saw)
            return
        # Somebody waited for the victim itself, and says so.
        direct, result = ((self.killed, self.killed_result) if how == "kill" else
                          (SILENT, "timeout"))
        said = [line for line in failed if re.search(direct.format(victim), line["text"])]
        self.assertTrue(said, failed)
        self.assertTrue(any(line["result"] == result for line in said), failed)

    def test_a_source_is_killed_at_the_start(self):
        self.check_failure(1, "start", "kill")

    def test_a_source_is_killed_in_the_middle(self):
        self.check_failure(0, "middle", "kill")

    def test_a_destination_is_killed_at_the_start(self):
        self.check_failure(5, "start", "kill")

    def test_a_destination_is_killed_in_the_middle(self):
        self.check_failure(9, "middle", "kill")

    def test_a_destination_is_killed_at_the_end(self):
        self.check_failure(10, "end", "kill")

    def test_a_source_is_stopped_at_the_start(self):
        self.check_failure(2, "start", "stop")

    def test_a_destination_is_stopped_in_the_middle(self):
        self.check_failure(6, "middle", "stop")

    def test_a_rank_is_stopped_at_the_end(self):
        self.check_failure(3, "end", "stop")

    def test_a_rank_that_was_stopped_does_not_commit_alone(self):
        # It goes on when all others have given up; rank 0 collects what all say in a commit.
        for victim in (0, 7):
            arguments = [self.plan, victim, "end", "stop", TIMEOUT_MS]
            job = Job(*self.job(list(map(str, arguments)), ()))
            try:
                saw = job.wait_for("result", RANKS - 1)
                os.kill(job.processes()[victim], signal.SIGCONT)
                resumed = job.wait_for("resumed", 1)
            finally:
                job.end()
            self.assertEqual(len(saw), RANKS - 1, job.errors)
            for line in saw:
                self.check_survivor(line, victim)
                self.assertIn("no answer from rank %d; " % victim, line["commit_text"])
            self.assertEqual([line["resumed"] for line in resumed], [victim], job.errors)
            self.assertNotEqual(resumed[0]["commit"], "ok", resumed)

    def test_survivors_go_on_with_a_plan_of_their_own(self):
        # Other layouts, which leave rank 2 over: without rank 3 its replica is of no use. And the
        # same layouts without the rank that failed.
        others = compile_plan(self.folder, "without_2_and_3", "--exclude-ranks", "2-3", sources=(0, 1))
        excluded = compile_plan(self.folder, "without_3", "--exclude-ranks", "3")
        for plan, left_over, options in ((others, [2], self.survivor_options[0]),
                                         (excluded, [], self.survivor_options[-1])):
            saw, went_on = self.run_job(3, "middle", "kill", plan, options)
            for line in saw:
                self.check_survivor(line, 3)
            self.assertEqual(sorted(line["rank"] for line in went_on),
                             [rank for rank in range(RANKS) if rank != 3])
            for line in went_on:
                if line["rank"] in left_over:
                    self.assertEqual(line["survivors"], "not in the plan")
                    continue
                self.assertEqual(
                    (line["survivors"], line["commit"], line["generation"], line["wrong_bytes"]),
                    ("ok", "ok", 3, 0), line)

