"""`git diff` of a committed plan, with the settings that docs/review.md shows."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

CASE = "GitTest.test_textconv_shows_rows"
PROGRAMS = {"reshardc": "compiler/cli/reshardc"}
EXAMPLE = "examples/toy/"


def settings():
    """The line of .gitattributes and the git command that the page shows."""
    with open("docs/review.md", encoding="utf-8") as stream:
        section = stream.read().split("## Plans in git")[1].split("\n## ")[0]
    attributes = re.search(r"^```text\n(.*?)^```", section, re.M | re.S).group(1)
    command = re.search(r"^```sh\n(.*?)^```", section, re.M | re.S).group(1)
    return attributes, command


class GitTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("git") is None:
            print("SKIPPED: %s: git is not installed" % CASE)
            self.skipTest("git is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = golden.environment_with(PROGRAMS, folder.name)
        self.environment.update({
            "HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.invalid",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.invalid"})
        for name in ("train.json", "infer.json", "topo.json"):
            shutil.copy(EXAMPLE + name, self.folder)

    def run_script(self, script):
        done = subprocess.run(["/bin/sh", "-ec", script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)
        self.assertEqual(0, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    def test_textconv_shows_rows(self):
        attributes, command = settings()
        self.run_script("git init -q .")
        with open(os.path.join(self.folder, ".gitattributes"), "w", encoding="utf-8") as stream:
            stream.write(attributes)
        self.run_script(command)
        self.run_script("reshardc train.json infer.json topo.json -o plan.fb -q\n"
                        "git add plan.fb .gitattributes; git commit -q -m first")
        self.assertEqual("", self.run_script("git diff"))
        # Another option of the compiler that changes nothing else: one row of the header.
        self.run_script("reshardc train.json infer.json topo.json -o plan.fb --max-staging 64MiB -q")
        changed = [line for line in self.run_script("git diff").splitlines()
                   if re.match(r"[-+][^-+]", line)]
        self.assertEqual(["-option max-staging=268435456", "+option max-staging=67108864"], changed)
        # Another layout: the log tells which param is held otherwise.
        self.run_script("sed 's/S(1)/S(0)/' infer.json > rows.json\n"
                        "reshardc train.json rows.json topo.json -o plan.fb -q\n"
                        "git commit -q -a -m second")
        log = self.run_script("git log -p -1")
        self.assertRegex(log, r"(?m)^-destination w .* shape \[8,2\] ")
        self.assertRegex(log, r"(?m)^\+destination w .* shape \[2,8\] ")
        self.assertNotIn("Binary files", log)


if __name__ == "__main__":
    unittest.main()
