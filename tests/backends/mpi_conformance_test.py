"""The conformance suite of the backends on MPI: processes, shared memory and messages, TCP."""

import re
import unittest

from tests.backends import mpi_job

SUITE = "tests/backends/mpi_conformance"
RANKS = 16
GROUPS = {"toy": 3, "m2n_w4": 61, "m2n_w8": 200, "uneven": 9, "strided": 9, "colocated": 9,
          "rounds": 3, "models": 2, "random": 20}


class MpiConformanceTest(unittest.TestCase):
    def setUp(self):
        why = mpi_job.missing(SUITE)
        if why:
            self.skipTest(why)

    def check(self, memory, groups, options):
        job = mpi_job.run(RANKS, SUITE, memory, *groups, options=options)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        right = dict(re.findall(r"^(\w+): (\d+) of \2 right$", job.stdout, re.M))
        self.assertEqual(right, {group: str(GROUPS[group]) for group in groups})

    def test_memory_shared_inside_domains(self):
        self.check("shared", list(GROUPS), ("--mca", "btl", "vader,self"))

    def test_messages_inside_domains(self):
        self.check("messages", ["toy", "m2n_w4", "strided", "rounds", "models"],
                   ("--mca", "btl", "vader,self"))

    def test_executions_on_threads_of_the_library(self):
        self.check("threads", ["toy", "strided", "rounds", "models"],
                   ("--mca", "btl", "vader,self"))

    def test_tcp_between_all_processes(self):
        self.check("shared", ["toy", "uneven", "colocated", "rounds", "models"],
                   ("--mca", "btl", "tcp,self"))


if __name__ == "__main__":
    unittest.main()
