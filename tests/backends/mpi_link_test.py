"""The network of a domain goes away under a job of MPI: the cases of link_cases.py."""

import os
import sys
import unittest

sys.path.insert(0, os.getcwd())
from tests.backends import link_cases, mpi_job  # noqa: E402

PROGRAM = "tests/backends/mpi_failure"


def command(lab, _, arguments):
    return lab.command(os.path.abspath(PROGRAM), *arguments, options=("--enable-recovery",))


class MpiLinkTest(link_cases.LinkCases, unittest.TestCase):
    def missing(self):
        return mpi_job.missing(PROGRAM)

    def program(self):
        return __file__


if __name__ == "__main__":
    link_cases.run_inside(sys.argv[1], command)
