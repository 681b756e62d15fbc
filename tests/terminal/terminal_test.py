"""What reshardc prints on a terminal, made with a pseudo-terminal, and into a pipe."""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

# As people read them: "1,234", "7.4", but "3" and "4" of "3-4".
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
EXAMPLE = "examples/deepseek_v3_small/"
LONG = "model.layers.2.mlp.experts.w13_weight"


class TerminalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = golden.environment_with({"reshardc": "compiler/cli/reshardc"},
                                                   folder.name)
        self.environment["TERM"] = "xterm"
        for name in ("train.json", "infer.json", "topo.json"):
            shutil.copy(EXAMPLE + name, self.folder)
        subprocess.run(["reshardc", "train.json", "infer.json", "topo.json", "-o", "plan.fb", "-q"],
                       cwd=self.folder, env=self.environment, check=True)

    def on_terminal(self, command, columns, **environment):
        """What a command prints where all its streams are a terminal; its exit status."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen(command, cwd=self.folder, env=dict(self.environment, **environment),
                                 stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        printed = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            printed += part
        os.close(ours)
        return printed.decode().replace("\r\n", "\n"), child.wait(timeout=60)

    def in_pipe(self, command, **environment):
        done = subprocess.run(command, cwd=self.folder, env=dict(self.environment, **environment),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    SHOW = ["reshardc", "show", "plan.fb", "--tensor", "model.layers.2.mlp.experts.3.up_proj.weight"]

    def test_tables_fit_the_terminal(self):
        for columns, environment in ((80, {}), (300, {"COLUMNS": "80"})):
            printed, _ = self.on_terminal(self.SHOW, columns, NO_COLOR="1", **environment)
            rows = [line for line in printed.splitlines() if line.startswith("  ")]
            self.assertGreater(len(rows), 5)
            self.assertLessEqual(max(map(len, rows)), 80)
            self.assertNotIn(LONG, printed)
        printed, _ = self.on_terminal(self.SHOW, 300, NO_COLOR="1")
        self.assertIn(LONG, printed)

    def test_narrow_terminals_show_the_same_numbers(self):
        with open(os.path.join(self.folder, "infer.json"), encoding="utf-8") as stream:
            padded = stream.read().replace('"multiple":64', '"multiple":1024')
        with open(os.path.join(self.folder, "padded.json"), "w", encoding="utf-8") as stream:
            stream.write(padded)
        subprocess.run(["reshardc", "train.json", "padded.json", "topo.json", "-o", "new.fb", "-q"],
                       cwd=self.folder, env=self.environment, check=True)
        for command in (self.SHOW, ["reshardc", "show", "plan.fb"],
                        ["reshardc", "diff", "plan.fb", "new.fb", "--fail-if", "time<+5%,coverage,copies"],
                        ["reshardc", "explain", "plan.fb", "--rank", "17", "--param", LONG, "--why"]):
            plain = self.in_pipe(command)[0]
            for columns in (60, 80, 120):
                with self.subTest(command=command, columns=columns):
                    printed, _ = self.on_terminal(command, columns, NO_COLOR="1")
                    self.assertEqual(sorted(NUMBER.findall(plain)), sorted(NUMBER.findall(printed)))
                    self.assertNotIn("\u2026", printed)

    def test_a_pipe_gets_everything_plain(self):
        printed, _, _ = self.in_pipe(self.SHOW, COLUMNS="40")
        self.assertIn(LONG, printed)
        self.assertNotIn("\x1b", printed)
        wide, _ = self.on_terminal(self.SHOW, 0, NO_COLOR="1")  # a terminal of unknown width
        self.assertEqual(printed, wide)

    def test_colours(self):
        verify = ["reshardc", "verify", "plan.fb"]
        green = "\x1b[32msound\x1b[0m: "
        self.assertTrue(self.on_terminal(verify, 200)[0].startswith(green))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal(verify, 200, **environment)[0])
        self.assertNotIn("\x1b", self.on_terminal(verify + ["--color", "never"], 200)[0])
        self.assertTrue(self.in_pipe(verify + ["--color=always"])[0].startswith(green))
        self.assertEqual(self.in_pipe(verify)[0],
                         self.in_pipe(verify + ["--color=always"])[0].replace(green, "sound: "))
        lost, status = self.on_terminal(["reshardc", "show", "absent.fb"], 200)
        self.assertIn("\x1b[1;31merror:\x1b[0m", lost)
        self.assertEqual(2, status)

    def test_machine_formats_are_never_painted(self):
        for options in (["--json"], ["--format", "markdown"], ["--canonical"], ["--dot", "domains"]):
            command = ["reshardc", "show", "plan.fb"] + options
            plain = self.in_pipe(command)[0]
            self.assertNotIn("\x1b", self.on_terminal(command, 60)[0], options)
            self.assertEqual(plain, self.on_terminal(command, 60)[0], options)

    def test_quiet_leaves_the_exit_status_and_errors(self):
        for command, status in ((["verify", "plan.fb"], 0), (["show", "plan.fb"], 0),
                                (["check", "train.json", "infer.json"], 0),
                                (["simulate", "plan.fb"], 0), (["diff", "plan.fb", "plan.fb"], 0),
                                (["explain", "plan.fb", "--edge", "0", "17"], 0),
                                (["compile", "train.json", "infer.json", "topo.json"], 0)):
            self.assertEqual(("", "", status), self.in_pipe(["reshardc"] + command + ["--quiet"]))
        printed, errors, status = self.in_pipe(["reshardc", "show", "absent.fb", "-q"])
        self.assertEqual(("", 2), (printed, status))
        self.assertIn("[cannot-read]", errors)


if __name__ == "__main__":
    unittest.main()
