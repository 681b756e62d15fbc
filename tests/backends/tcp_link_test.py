"""The network of a domain goes away under a job of TCP: the cases of link_cases.py."""

import os
import sys
import unittest

sys.path.insert(0, os.getcwd())
from tests.backends import link_cases, tcp_job  # noqa: E402

PROGRAM = "tests/backends/tcp_failure"


def command(lab, folder, arguments):
    meeting = os.path.join(folder, "meeting")
    os.mkdir(meeting)
    places = lab.places()
    return tcp_job.command(os.path.abspath(PROGRAM), meeting, [address for _, address in places],
                           *arguments, prefixes=[inside for inside, _ in places])


class TcpLinkTest(link_cases.LinkCases, unittest.TestCase):
    def missing(self):
        return None

    def program(self):
        return __file__


if __name__ == "__main__":
    link_cases.run_inside(sys.argv[1], command)
