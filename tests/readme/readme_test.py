"""Runs the commands of README.md and compares what they print with what it shows.

A ```sh block is one script, run from the repository's root (in a copy). The ```text block that
follows it at once is its output: a line "..." stands for any lines, and times and rates of an
execution are not compared.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

PROGRAMS = {
    "reshardc": "compiler/cli/reshardc",
    "reshard-run": "runtime/run/reshard-run",
}
# What a test cannot run: it would build, or take minutes. These have tests of their own.
NOT_RUN = ("tools/test", "tools/bench", "tools/setup")
MEASURED = re.compile(r"[0-9.e-]+ (?:s|ms|us|GB/s)(?![\w/])")
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def read_blocks():
    with open("README.md", encoding="utf-8") as stream:
        return BLOCK.findall(stream.read())


def pattern_of(expected):
    """A regular expression for an output as README.md shows it."""
    parts = []
    for line in expected.splitlines():
        if line == "...":
            parts.append(r"(?:.*\n)*")
            continue
        measured = MEASURED.split(line) if line.startswith("time:") else [line]
        parts.append(r"\S+ \S+".join(re.escape(part) for part in measured) + "\n")
    return re.compile("".join(parts))


class ReadmeTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "checkout")
        self.temporary = os.path.join(folder.name, "tmp")
        os.makedirs(os.path.join(self.root, "tools"))
        os.mkdir(self.temporary)
        shutil.copytree("examples", os.path.join(self.root, "examples"))
        for name, program in PROGRAMS.items():
            os.symlink(os.path.abspath(program), os.path.join(self.root, "tools", name))
        self.environment = golden.environment_with({}, folder.name)

    def test_commands_print_what_is_shown(self):
        ran = 0
        for script, expected in read_blocks():
            if script.startswith(NOT_RUN):
                self.assertTrue(os.access(script.split()[0], os.X_OK), script)
                continue
            done = subprocess.run(
                ["/bin/sh", "-ec", script.replace("/tmp/", self.temporary + "/")], cwd=self.root,
                env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60,
                check=False)
            self.assertEqual(0, done.returncode, script)
            found = done.stdout.decode().replace(self.temporary + "/", "/tmp/")
            if not pattern_of(expected).fullmatch(found):
                self.assertEqual(expected, found, script)
            ran += 1
        self.assertGreaterEqual(ran, 5)

    def test_every_command_is_in_a_block_that_runs(self):
        with open("README.md", encoding="utf-8") as stream:
            rest = BLOCK.sub("", stream.read())
        self.assertEqual([], re.findall(r"^\s*(?:\$ )?tools/.*", rest, re.MULTILINE))
        self.assertNotIn("```", rest)

    def test_differences_are_seen(self):
        self.assertTrue(pattern_of("a\n...\nb\n").fullmatch("a\nx\ny\nb\n"))
        self.assertFalse(pattern_of("a\n...\nb\n").fullmatch("a\nx\nc\n"))
        shown = "time: 38.6 ms (median of 1), 4.68 MB delivered at 0.121 GB/s\n"
        self.assertTrue(pattern_of(shown).fullmatch(
            "time: 8 ms (median of 1), 4.68 MB delivered at 3.1e-05 GB/s\n"))
        self.assertFalse(pattern_of(shown).fullmatch(
            "time: 8 ms (median of 1), 4.69 MB delivered at 3.1 GB/s\n"))


if __name__ == "__main__":
    unittest.main()
