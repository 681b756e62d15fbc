"""Failing ranks of jobs of TCP: the cases of failure_cases.py."""

import tempfile
import unittest

from tests.backends import tcp_job
from tests.backends.failure_cases import FailureCases
from tests.backends.failure_job import RANKS

PROGRAM = "tests/backends/tcp_failure"


class TcpFailureTest(FailureCases, unittest.TestCase):
    # The end of a connection says it at once.
    killed = "rank {0} did not .*: its process has ended, or the connection broke"
    killed_result = "unavailable"

    def missing(self):
        return None

    def job(self, arguments, options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        addresses = ["127.0.0.1"] * RANKS
        return tcp_job.command(PROGRAM, folder.name, addresses, *arguments), tcp_job.environment()


if __name__ == "__main__":
    unittest.main()
