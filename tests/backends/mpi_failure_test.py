"""Failing ranks of jobs of MPI: the cases of failure_cases.py."""

import unittest

from tests.backends import mpi_job
from tests.backends.failure_cases import FailureCases
from tests.backends.failure_job import RANKS

PROGRAM = "tests/backends/mpi_failure"


class MpiFailureTest(FailureCases, unittest.TestCase):
    survivor_options = ((), ("--mca", "btl", "tcp,self"))

    def missing(self):
        return mpi_job.missing(PROGRAM)

    def job(self, arguments, options):
        return (mpi_job.command(RANKS, PROGRAM, *arguments, options=("--enable-recovery", *options)),
                mpi_job.environment())


if __name__ == "__main__":
    unittest.main()
