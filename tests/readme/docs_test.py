"""Runs the commands of docs/*.md and compares what they print with what the pages show.

The ```sh blocks of a page run one after the other in one folder: a copy of
examples/deepseek_v3_small with its plan as plan.fb and old.fb and another one as new.fb, and with
reshardc and reshard-run on the PATH. The ```text block that follows a block at once is its output
("..." stands for any lines); without one only the exit status counts, and that nothing is wrong.
Commands in the text that are about plan.fb, such as `reshardc verify plan.fb`, run after them and
must understand their arguments.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/golden")
sys.path.insert(0, "tests/readme")
import golden  # noqa: E402
import readme_test  # noqa: E402

INLINE = re.compile(r"`(reshard(?:c|-run) [^`]*\bplan\.fb\b[^`]*)`")


def pages():
    found = {}
    for path in sorted(glob.glob("docs/*.md")):
        with open(path, encoding="utf-8") as stream:
            found[path] = stream.read()
    return found


class DocsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = golden.environment_with(readme_test.PROGRAMS, folder.name)

    def folder_of(self, page):
        """A fresh folder for the commands of a page."""
        name = os.path.join(self.folder, os.path.basename(page) + ".d")
        shutil.copytree("examples/deepseek_v3_small", name)
        os.mkdir(os.path.join(name, ".home"))
        made = self.run_script(
            "reshardc train.json infer.json topo.json -o plan.fb -q\n"
            "cp plan.fb old.fb\n"
            "reshardc train.json infer.json topo.json -o new.fb --slice 64KiB -q", name)
        self.assertEqual(0, made.returncode, made.stderr)
        return name

    def run_script(self, script, folder):
        return subprocess.run(
            ["/bin/sh", "-ec", script], cwd=folder, stdin=subprocess.DEVNULL,
            env=dict(self.environment, HOME=os.path.join(folder, ".home")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)

    def test_blocks_print_what_is_shown(self):
        ran = 0
        for page, text in pages().items():
            folder = self.folder_of(page)
            for script, expected in readme_test.BLOCK.findall(text):
                with self.subTest(page=page, script=script):
                    if script.startswith(readme_test.NOT_RUN):
                        self.assertTrue(os.access(script.split()[0], os.X_OK), script)
                        continue
                    if script.startswith("git "):  # git_test.py runs these
                        continue
                    done = self.run_script(script, folder)
                    self.assertEqual((0, b""), (done.returncode, done.stderr), script)
                    found = done.stdout.decode()
                    if expected and not readme_test.pattern_of(expected).fullmatch(found):
                        self.assertEqual(expected, found, script)
                    ran += 1
        self.assertGreaterEqual(ran, 6)

    def test_commands_in_the_text_are_understood(self):
        commands = sorted({re.sub(r"\s+", " ", command).replace("\\|", "|")
                           for text in pages().values()
                           for command in INLINE.findall(readme_test.BLOCK.sub("", text))})
        self.assertGreaterEqual(len(commands), 5)
        folder = self.folder_of("text")
        for command in commands:
            with self.subTest(command=command):
                done = self.run_script(command, folder)
                self.assertIn(done.returncode, (0, 1), done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
