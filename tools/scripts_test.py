"""Runs tools/setup and tools/launch against stand-ins for dpkg-query, apt-get and bazel."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


class ScriptTest(unittest.TestCase):
    """A copy of the scripts in a folder of its own, and stand-ins first on PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "a checkout")
        self.programs = os.path.join(folder.name, "programs")
        for path in ("tools", "compiler/cli"):
            os.makedirs(os.path.join(self.root, path))
        os.mkdir(self.programs)
        for name in ("launch", "reshardc", "setup"):
            shutil.copy(os.path.join("tools", name), os.path.join(self.root, "tools", name))
        self.log = os.path.join(folder.name, "log")
        open(self.log, "w", encoding="utf-8").close()
        self.stand_in("id", "echo 0")
        self.packages(missing=[])

    def stand_in(self, name, text):
        write_program(os.path.join(self.programs, name),
                      f"#!/bin/sh\necho \"{name} $*\" >> '{self.log}'\n{text}\n")

    def packages(self, missing):
        """All packages count as installed, except these."""
        self.stand_in("dpkg-query",
                      "shift 3\nfor p in \"$@\"; do case \" %s \" in *\" $p \"*) ;; "
                      "*) echo \"installed $p\";; esac; done" % " ".join(missing))

    def run_script(self, name, *arguments, cwd=None):
        path = self.programs + ":" + os.environ["PATH"]
        return subprocess.run([os.path.join(self.root, "tools", name), *arguments],
                              cwd=cwd or self.root, env={**os.environ, "PATH": path},
                              capture_output=True, text=True, check=False)

    def calls(self, name):
        with open(self.log, encoding="utf-8") as file:
            return [line.strip() for line in file if line.startswith(name + " ")]


class SetupTest(ScriptTest):
    def test_lists_every_package_that_the_workspace_names(self):
        with open("WORKSPACE", encoding="utf-8") as file:
            libraries = re.findall(r"^system_library\(\n(.*?)^\)", file.read(), re.M | re.S)
        # A library that a define announces is optional: what needs it is skipped without it.
        named = {re.search(r'package = "([^"]+)"', library).group(1)
                 for library in libraries if "optional_define" not in library}
        self.assertIn("doctest-dev", named)
        with open("tools/setup", encoding="utf-8") as file:
            listed = re.search(r"packages=\(([^)]*)\)", file.read()).group(1).split()
        self.assertLessEqual(named, set(listed))

    def test_is_silent_when_nothing_is_missing(self):
        self.stand_in("apt-get", "exit 1")
        done = self.run_script("setup")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls("apt-get"), [])

    def test_root_installs_only_what_is_missing(self):
        self.packages(missing=["g++", "python3"])
        self.stand_in("apt-get", "echo noise; exit 0")
        done = self.run_script("setup")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(done.stderr, "tools/setup: installing g++ python3\n")
        self.assertTrue(self.calls("apt-get")[-1].endswith(" g++ python3"))

    def test_all_installs_what_is_optional_too(self):
        self.packages(missing=["openmpi-bin", "libopenmpi-dev"])
        self.assertEqual(self.run_script("setup").returncode, 0)
        self.assertEqual(self.calls("apt-get"), [])
        self.stand_in("apt-get", "exit 0")
        done = self.run_script("setup", "--all")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "tools/setup: installing libopenmpi-dev openmpi-bin\n"))
        self.assertEqual(self.run_script("setup", "--some").returncode, 2)

    def test_failing_install_shows_why(self):
        self.packages(missing=["g++"])
        self.stand_in("apt-get", "echo 'E: no space left'; exit 100")
        done = self.run_script("setup")
        self.assertEqual(done.returncode, 2)
        self.assertIn("E: no space left", done.stderr)
        self.assertTrue(done.stderr.endswith("apt-get could not install: g++\n"))

    def test_plain_user_gets_one_line(self):
        self.packages(missing=["g++", "doctest-dev"])
        self.stand_in("id", "echo 1000")
        done = self.run_script("setup")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("apt-get install --no-install-recommends doctest-dev g++", done.stderr)


class LaunchTest(ScriptTest):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.root, "compiler/cli/main.cc")
        self.write_source("1")
        self.bazel_builds("echo built; exit 0")

    def write_source(self, text):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(text)

    def bazel_builds(self, text):
        """A program that prints the source, its arguments and its folder, and ends with 7."""
        self.stand_in("bazel", "mkdir -p bazel-bin/compiler/cli; rm -f bazel-bin/compiler/cli/reshardc\n"
                      "{ echo '#!/bin/sh'; echo echo version $(cat compiler/cli/main.cc); "
                      "echo 'echo \"$@\"; pwd; exit 7'; } > bazel-bin/compiler/cli/reshardc\n"
                      "chmod 555 bazel-bin/compiler/cli/reshardc\n" + text)

    def version(self):
        """Runs the program; returns what it was built from."""
        done = self.run_script("reshardc")
        self.assertEqual(done.stderr.replace(self.first_note(), ""), "")
        return done.stdout.split()[1]

    @staticmethod
    def first_note():
        return "building reshardc; the first time takes about a minute\n"

    def test_builds_once_and_passes_everything_on(self):
        elsewhere = os.path.dirname(self.root)
        done = self.run_script("reshardc", "show", "a b", cwd=elsewhere)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, f"version 1\nshow a b\n{elsewhere}\n")
        self.assertEqual(done.stderr, self.first_note())
        done = self.run_script("reshardc", "-", cwd=elsewhere)
        self.assertEqual((done.returncode, done.stderr), (7, ""))
        self.assertEqual(len(self.calls("bazel")), 1)
        self.assertEqual(len(self.calls("dpkg-query")), 1)

    def test_rebuilds_after_every_kind_of_change(self):
        self.assertEqual(self.version(), "1")
        self.write_source("2")
        self.assertEqual(self.version(), "2")
        # As when a file with an old date is copied over it (cp -p).
        self.write_source("3")
        os.utime(self.source, (1, 1))
        self.assertEqual(self.version(), "3")
        builds = len(self.calls("bazel"))
        extra = os.path.join(self.root, "compiler/cli/extra.cc")
        open(extra, "w", encoding="utf-8").close()
        self.version()
        os.remove(extra)
        self.version()
        self.assertEqual(len(self.calls("bazel")), builds + 2)
        self.version()
        self.assertEqual(len(self.calls("bazel")), builds + 2)

    def test_runs_the_program_itself_and_not_what_another_mode_built(self):
        self.version()
        os.chmod(os.path.join(self.root, "bazel-bin/compiler/cli/reshardc"), 0o755)
        write_program(os.path.join(self.root, "bazel-bin/compiler/cli/reshardc"),
                      "#!/bin/sh\necho version asan\n")
        self.assertEqual(self.version(), "1")

    def test_broken_source_shows_the_error_and_never_the_old_program(self):
        self.version()
        self.write_source("broken")
        self.bazel_builds("echo 'main.cc:1: error'; exit 1")
        for _ in range(2):
            done = self.run_script("reshardc")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("main.cc:1: error", done.stderr)
        self.bazel_builds("exit 0")
        self.assertEqual(self.version(), "broken")
        self.assertEqual(sorted(os.listdir(os.path.join(self.root, ".cache/launch"))),
                         ["reshardc", "reshardc.stamp"])

    def test_change_during_the_build_is_not_missed(self):
        self.bazel_builds("sleep 0.05; echo 5 > compiler/cli/main.cc; exit 0")
        self.assertEqual(self.version(), "1")
        self.bazel_builds("exit 0")
        self.assertEqual(self.version(), "5")

    def test_missing_packages_end_it_before_the_build(self):
        self.packages(missing=["g++"])
        self.stand_in("id", "echo 1000")
        done = self.run_script("reshardc")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(self.calls("bazel"), [])


if __name__ == "__main__":
    unittest.main()
