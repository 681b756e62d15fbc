"""Runs check_plans.sh on changed layouts, and reads the workflow."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = os.path.abspath("examples/ci/check_plans.sh")
PROGRAM = os.path.abspath("compiler/cli/reshardc")
HOSTILE = "@everyone <img src=x> | `a` [b](c)\n# d"


class Job(unittest.TestCase):
    """A folder with plans/toy as it is committed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.toy = os.path.join(self.root, "plans", "toy")
        os.makedirs(self.toy, exist_ok=True)
        for name in ("train", "infer", "topo"):
            shutil.copy("examples/toy/%s.json" % name, self.toy)
        self.compile()

    def compile(self, folder="toy"):
        inputs = [os.path.join(self.root, "plans", folder, name + ".json")
                  for name in ("train", "infer", "topo")]
        subprocess.run([PROGRAM] + inputs + ["-o", os.path.join(self.root, "plans", folder, "plan.fb")],
                       check=True, stdout=subprocess.DEVNULL)

    def edit(self, name, old, new):
        path = os.path.join(self.toy, name)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text.replace(old, new))

    def run_script(self, *arguments, cwd="", **environment):
        """Exit status and Markdown."""
        done = subprocess.run(
            [SCRIPT] + list(arguments), cwd=os.path.join(self.root, cwd), check=False, stdout=subprocess.PIPE, timeout=60,
            env={"PATH": os.environ["PATH"], "RESHARDC": PROGRAM, "HOME": self.root, **environment})
        return done.returncode, done.stdout.decode()


class CheckPlansTest(Job):

    def test_what_has_not_changed_passes(self):
        status, text = self.run_script("plans/toy")
        self.assertEqual((0, "### plans/toy\n\n**equal**: <code>old.fb</code> to <code>new.fb</code>\n\n"),
                         (status, text))

    def test_a_changed_layout_fails_unless_gates_allow_it(self):
        self.edit("infer.json", "S(1)", "S(0)")
        status, text = self.run_script("plans/toy")
        self.assertEqual(1, status)
        self.assertIn("**different**", text)
        self.assertIn("destination re-sharded", text)
        status, text = self.run_script("--fail-if", "coverage,time>+5%", "plans/toy")
        self.assertEqual(0, status)
        self.assertIn("<code>passed</code>", text)
        self.assertIn("destination re-sharded", text)
        status, text = self.run_script("--fail-if", "layouts", "plans/toy")
        self.assertEqual(1, status)
        self.assertIn("<code>FAILED</code>", text)

    def test_a_layout_that_does_not_fit_fails_with_its_place(self):
        self.edit("infer.json", "[8,8]", "[8,4]")
        status, text = self.run_script("plans/toy")
        self.assertNotEqual(0, status)
        self.assertIn("**does not compile**", text)
        self.assertIn("\n    plans/toy/infer.json:2:", text)
        self.assertIn("[shape-mismatch]", text)

    def test_what_is_no_layout_cannot_be_judged(self):
        self.edit("infer.json", "{", "")
        status, text = self.run_script("plans/toy")
        self.assertEqual(2, status)
        self.assertIn("**does not compile**", text)

    def test_a_plan_of_other_layouts_is_no_committed_plan_to_trust(self):
        with open(os.path.join(self.toy, "plan.fb"), "r+b") as stream:
            stream.seek(200)
            stream.write(b"\xff")
        status, text = self.run_script("plans/toy")
        self.assertEqual(2, status)
        self.assertIn("[bad-plan]", text)

    def test_a_folder_without_a_plan_is_new(self):
        os.remove(os.path.join(self.toy, "plan.fb"))
        status, text = self.run_script("--reports", "pages", "plans/toy")
        self.assertEqual(0, status)
        self.assertIn("**new plan**", text)
        self.assertIn("    network     256 B in 8 messages into 1 domain", text)
        self.assertEqual(["plans+toy.html"], os.listdir(os.path.join(self.root, "pages")))

    def test_one_bad_plan_of_several_decides(self):
        other = os.path.join(self.root, "plans", "other")
        shutil.copytree(self.toy, other)
        self.edit("infer.json", "S(1)", "S(0)")
        status, text = self.run_script("plans/other/", "plans/toy/")
        self.assertEqual(1, status)
        self.assertLess(text.index("### plans/other\n"), text.index("### plans/toy\n"))
        self.assertIn("**equal**", text)
        # Also where another one could not be judged at all.
        status, _ = self.run_script("plans/absent", "plans/toy")
        self.assertEqual(1, status)
        status, _ = self.run_script("plans/absent", "plans/other")
        self.assertEqual(2, status)

    def test_pages_show_both_plans(self):
        self.edit("infer.json", "S(1)", "S(0)")
        status, _ = self.run_script("--fail-if", "coverage", "--reports", "pages", "plans/toy")
        self.assertEqual(0, status)
        with open(os.path.join(self.root, "pages", "plans+toy.html"), encoding="utf-8") as stream:
            self.assertIn("The plans are different.", stream.read())

    def test_each_plan_has_a_page_of_its_own(self):
        folders = ["a/b/c", "a/b-c", "a-b/c", "a-b-c"]
        for folder in folders:
            shutil.copytree(self.toy, os.path.join(self.root, folder))
        # Another name of the same folder is not another page.
        status, _ = self.run_script("--reports", "pages", *folders, "a//b/c/")
        self.assertEqual(0, status)
        self.assertEqual(sorted(folder.replace("/", "+") + ".html" for folder in folders),
                         sorted(os.listdir(os.path.join(self.root, "pages"))))

    def test_names_become_no_markdown(self):
        for name in ("train.json", "infer.json"):
            self.edit(name, '"w"', json.dumps(HOSTILE))
        self.edit("infer.json", "S(1)", "S(0)")
        status, text = self.run_script("plans/toy")
        self.assertEqual(1, status)
        for word in ("@everyone", "<img", "[b](c)", "`a`", "\n# d"):
            self.assertNotIn(word, text)
        self.assertIn("&#64;everyone &#60;img", text)
        # In a message the name stands in an indented line, where nothing is markup.
        self.edit("infer.json", "[8,8]", "[8,4]")
        status, text = self.run_script("plans/toy")
        lines = [line for line in text.splitlines() if "@everyone" in line]
        self.assertTrue(lines)
        self.assertEqual([], [line for line in lines if not line.startswith("    ")])

    def test_folders_with_unusual_names_are_refused(self):
        for name in ("<img>", "a`b", "a b", "a\nb", "$(id)"):
            shutil.copytree(self.toy, os.path.join(self.root, "plans", name))
            status, text = self.run_script("plans/" + name)
            self.assertEqual(2, status)
            self.assertTrue(text.startswith("### a folder whose name has other characters"))
            self.assertNotIn(name, text)

    def assert_refused(self, what, folder="plans/toy", **environment):
        for arguments in ([], ["--reports", "pages"]):
            status, text = self.run_script(*arguments, folder, TIME_LIMIT_S="10", **environment)
            self.assertEqual((2, "### %s\n\n**refused**: only folders and files are read\n\n    %s\n\n\n" % (
                re.sub("//+", "/", folder).rstrip("/"), what)), (status, text))
            self.assertFalse(os.path.exists(os.path.join(self.root, "pages")))

    def test_links_are_not_followed(self):
        for name in ("train.json", "infer.json", "topo.json", "plan.fb"):
            path = os.path.join(self.toy, name)
            os.rename(path, path + ".kept")
            for target in ("/proc/self/environ", "/dev/null", name + ".kept", "nowhere"):
                os.symlink(target, path)
                self.assert_refused("plans/toy/%s is a link" % name, SECRET_TOKEN="x")
                os.remove(path)
            os.rename(path + ".kept", path)
        self.assertEqual(0, self.run_script("plans/toy")[0])
        os.symlink("plans", os.path.join(self.root, "linked"))
        os.symlink("toy", os.path.join(self.root, "plans", "linked"))
        self.assert_refused("linked is a link", "linked/toy")
        for folder in ("plans/linked", "plans/linked/", "plans/linked//", "plans/linked/."):
            self.assert_refused("plans/linked is a link", folder)

    def test_what_is_no_file_is_not_read(self):
        for name in ("train.json", "infer.json", "topo.json", "plan.fb"):
            path = os.path.join(self.toy, name)
            os.rename(path, path + ".kept")
            os.mkfifo(path)
            self.assert_refused("plans/toy/%s is no file" % name)
            os.remove(path)
            os.mkdir(path)
            self.assert_refused("plans/toy/%s is no file" % name)
            os.rmdir(path)
            os.rename(path + ".kept", path)

    def test_a_program_that_does_not_end_is_ended(self):
        slow = os.path.join(self.root, "slow")
        with open(slow, "w", encoding="utf-8") as stream:
            stream.write("#!/bin/sh\nexec sleep 3600\n")
        os.chmod(slow, 0o755)
        status, text = self.run_script("plans/toy", RESHARDC=slow, TIME_LIMIT_S="0.2")
        self.assertEqual(2, status)
        self.assertIn("**does not compile** (exit status 124)", text)

    def test_memory_is_limited(self):
        status, text = self.run_script("plans/toy", MEMORY_LIMIT_KB="2000")
        self.assertEqual(2, status)
        self.assertIn("**does not compile** (exit status 1", text)

    def test_wrong_usage(self):
        for arguments in ((), ("--base",), ("--bogus", "plans/toy"), ("--fail-if", "coverage")):
            self.assertEqual(2, self.run_script(*arguments)[0])
        status, text = self.run_script("--fail-if", "tme>1", "plans/toy")
        self.assertEqual(2, status)
        self.assertIn("[bad-gate]", text)


@unittest.skipIf(shutil.which("git") is None, "no git")
class AgainstARevisionTest(Job):

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "plans")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b"] + list(arguments), cwd=self.root, check=True,
            env={**os.environ, "HOME": self.root}, stdout=subprocess.PIPE)
        return done.stdout.decode()

    def test_the_plan_of_the_revision_is_compared(self):
        self.assertEqual(0, self.run_script("--base", "HEAD", "plans/toy")[0])
        self.edit("infer.json", "S(1)", "S(0)")
        self.compile()
        self.assertEqual(0, self.run_script("plans/toy")[0])
        status, text = self.run_script("--base", "HEAD", "plans/toy")
        self.assertEqual(1, status)
        self.assertIn("destination re-sharded", text)
        self.assertNotIn("is not what its layouts compile to", text)
        self.assertEqual(0, self.run_script("--base", "HEAD", "--fail-if", "coverage", "plans/toy")[0])

    def test_a_plan_that_was_not_compiled_again_fails_whatever_the_gates(self):
        self.edit("infer.json", "S(1)", "S(0)")
        status, text = self.run_script("--base", "HEAD", "--fail-if", "coverage", "plans/toy")
        self.assertEqual(1, status)
        self.assertIn("**plan.fb is not what its layouts compile to**", text)

    def test_a_folder_that_the_revision_lacks_is_new(self):
        shutil.copytree(self.toy, os.path.join(self.root, "plans", "more"))
        status, text = self.run_script("--base", "HEAD", "plans/more")
        self.assertEqual(0, status)
        self.assertIn("**new plan**", text)

    def test_a_revision_that_does_not_exist_is_no_new_plan(self):
        for revision in ("origin/main", "0" * 40, "HEAD^1", "HEAD:plans"):
            with self.subTest(revision):
                status, text = self.run_script("--base", revision, "--fail-if", "coverage", "plans/toy")
                self.assertEqual(2, status)
                self.assertIn("**could not be judged**", text)
                self.assertIn("\n    %s: " % revision, text)
                self.assertNotIn("new plan", text)
        for revision in ("", "--all"):
            self.assertEqual((2, ""), self.run_script("--base", revision, "plans/toy"))

    def test_outside_of_a_repository_nothing_can_be_judged(self):
        os.rename(os.path.join(self.root, ".git"), os.path.join(self.root, "git"))
        status, text = self.run_script("--base", "HEAD", "plans/toy")
        self.assertEqual(2, status)
        self.assertIn("not a git repository", text)

    def test_a_plan_whose_object_is_missing_cannot_be_judged(self):
        blob = self.git("rev-parse", "HEAD:plans/toy/plan.fb").strip()
        os.remove(os.path.join(self.root, ".git", "objects", blob[:2], blob[2:]))
        status, text = self.run_script("--base", "HEAD", "plans/toy")
        self.assertEqual(2, status)
        self.assertIn("**could not be judged**: the plan to compare with cannot be read", text)

    def test_a_deleted_plan_fails_whatever_the_gates(self):
        os.remove(os.path.join(self.toy, "plan.fb"))
        status, text = self.run_script("--base", "HEAD", "--fail-if", "coverage", "plans/toy")
        self.assertEqual(1, status)
        self.assertIn("**plan.fb is missing**", text)
        self.assertIn("**equal**", text)  # still compared with that of the revision

    def test_a_deleted_folder_fails_unless_that_is_allowed(self):
        shutil.copytree(self.toy, os.path.join(self.root, "plans", "more"))
        shutil.rmtree(self.toy)
        for arguments in (["--fail-if", "coverage", "plans/more"], ["./plans/more/"]):
            status, text = self.run_script("--base", "HEAD", *arguments)
            self.assertEqual(1, status)
            self.assertIn("plans/toy\n\n**removed plan**", text)
            self.assertIn("**new plan**", text)
        status, text = self.run_script("--base", "HEAD", "--allow-removed", "plans/more")
        self.assertEqual(0, status)
        self.assertIn("### plans/toy\n\n**removed plan**", text)
        # Beside folders of the root, too.
        status, text = self.run_script("--base", "HEAD", "more", cwd="plans")
        self.assertEqual(1, status)
        self.assertIn("### toy\n\n**removed plan**", text)

    def test_a_deleted_folder_with_an_unusual_name_is_not_overlooked(self):
        for name in ("a b", 'a"b', "a\nb", "<img>"):
            shutil.copytree(self.toy, os.path.join(self.root, "plans", name))
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "more")
            shutil.rmtree(os.path.join(self.root, "plans", name))
            status, text = self.run_script("--base", "HEAD", "plans/toy")
            self.assertEqual(2, status)
            self.assertIn("### a folder whose name has other characters", text)
            self.assertNotIn(name, text)
            self.git("commit", "-q", "-a", "-m", "fewer")

    def test_a_moved_folder_is_compared_with_where_it_was(self):
        self.git("mv", "plans/toy", "plans/moved")
        self.toy = os.path.join(self.root, "plans", "moved")
        status, text = self.run_script("--base", "HEAD", "--fail-if", "layouts", "plans/moved")
        self.assertEqual(0, status)
        self.assertIn("moved, compared with what was in plans/toy:\n\n**equal**", text)
        self.assertNotIn("removed plan", text)
        self.edit("infer.json", "S(1)", "S(0)")
        self.compile("moved")
        status, text = self.run_script("--base", "HEAD", "--fail-if", "layouts", "plans/moved")
        self.assertEqual(1, status)
        self.assertIn("<code>FAILED</code>", text)
        self.assertIn("destination re-sharded", text)

    def move(self, old, new):
        os.makedirs(os.path.join(self.root, os.path.dirname(new)), exist_ok=True)
        self.git("mv", old, new)
        self.toy = os.path.join(self.root, new)

    def test_a_folder_moved_to_another_parent_is_compared_with_where_it_was(self):
        # Nothing that is given stands beside the folder that is gone.
        self.move("plans/toy", "plans/a/ds")
        shutil.copytree(self.toy, os.path.join(self.root, "plans", "b", "other"))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        for old, new in (("plans/a/ds", "plans/b/toy"), ("plans/b/toy", "toy"), ("toy", "plans/c/d/toy")):
            with self.subTest(new):
                self.move(old, new)
                self.edit("infer.json", *(("S(1)", "S(0)") if new != "toy" else ("S(0)", "S(1)")))
                self.compile(os.path.join("..", new))
                for cwd, shown in (("", old), ("plans", old[6:] if old[:6] == "plans/" else ":/" + old)):
                    for gates, expected in (("layouts", 1), ("coverage", 0)):
                        status, text = self.run_script(
                            "--base", "HEAD", "--fail-if", gates, os.path.relpath(new, cwd or "."), cwd=cwd)
                        self.assertEqual(expected, status)
                        self.assertIn("moved, compared with what was in %s:\n\n**different**" % shown, text)
                        self.assertIn("destination re-sharded", text)
                        self.assertNotIn("removed plan", text)
                self.git("add", "-A")
                self.git("commit", "-q", "-m", "moved")
                self.assertEqual(0, self.run_script("--base", "HEAD", "--fail-if", "layouts", new)[0])

    def test_a_plan_moved_from_the_root_of_the_repository_is_compared(self):
        for name in ("train.json", "infer.json", "topo.json", "plan.fb"):
            self.git("mv", "plans/toy/" + name, name)
        self.git("commit", "-q", "-m", "root")
        self.assertEqual(0, self.run_script("--base", "HEAD", ".")[0])
        os.makedirs(self.toy, exist_ok=True)
        for name in ("train.json", "infer.json", "topo.json", "plan.fb"):
            self.git("mv", name, "plans/toy/" + name)
        self.edit("infer.json", "S(1)", "S(0)")
        self.compile()
        status, text = self.run_script("--base", "HEAD", "--fail-if", "layouts", "plans/toy")
        self.assertEqual(1, status)
        self.assertIn("moved, compared with what was in .:\n\n**different**", text)

    def test_a_plan_removed_elsewhere_in_the_repository_fails_unless_that_is_allowed(self):
        for name in ("plans/a/ds", "far/away"):
            shutil.copytree(self.toy, os.path.join(self.root, name))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")
        self.assertEqual(0, self.run_script("--base", "HEAD", "plans/toy")[0])
        shutil.rmtree(os.path.join(self.root, "plans", "a"))
        shutil.rmtree(os.path.join(self.root, "far"))
        status, text = self.run_script("--base", "HEAD", "--fail-if", "coverage", "plans/toy")
        self.assertEqual(1, status)
        self.assertEqual(2, text.count("**removed plan**"))
        self.assertIn("### plans/a/ds\n\n**removed plan**", text)
        self.assertIn("### far/away\n\n**removed plan**", text)
        self.assertEqual(0, self.run_script("--base", "HEAD", "--allow-removed", "plans/toy")[0])

    def test_an_unusual_name_that_is_still_there_is_no_matter(self):
        shutil.copytree(self.toy, os.path.join(self.root, "far", "a b"))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")
        self.assertEqual(0, self.run_script("--base", "HEAD", "plans/toy")[0])

    def test_a_folder_that_is_moved_and_written_anew_does_not_pass_unseen(self):
        self.git("mv", "plans/toy", "plans/moved")
        for name in ("train", "infer", "topo"):
            path = os.path.join(self.root, "plans", "moved", name + ".json")
            with open(path, encoding="utf-8") as stream:
                value = json.load(stream)
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(value, stream, indent=7)
        self.compile("moved")
        status, text = self.run_script("--base", "HEAD", "--fail-if", "coverage", "plans/moved")
        self.assertEqual(1, status)
        self.assertIn("### plans/toy\n\n**removed plan**", text)


class WorkflowTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with open("examples/ci/reshard-plans.yml", encoding="utf-8") as stream:
            text = stream.read()
        cls.lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        cls.text = "\n".join(cls.lines)
        cls.jobs = re.split(r"^  (?=\w+:$)", cls.text[cls.text.index("\njobs:"):], flags=re.MULTILINE)[1:]

    def test_it_runs_on_pull_requests_alone(self):
        events = self.text[self.text.index("\non:\n"):self.text.index("\npermissions:")]
        self.assertEqual(["pull_request"], re.findall(r"^  (\w+):", events, re.MULTILINE))

    def test_it_may_read_and_one_job_may_comment(self):
        self.assertIn("\npermissions:\n  contents: read\n", self.text)
        self.assertEqual(2, len(self.jobs))
        self.assertEqual([False, True], ["permissions:" in job for job in self.jobs])
        self.assertIn("    permissions:\n      pull-requests: write\n    steps:", self.jobs[1])
        self.assertNotIn("checkout", self.jobs[1])
        self.assertNotIn("secrets.", self.text)
        self.assertEqual(self.text.count("actions/checkout@"),
                         self.text.count("persist-credentials: false"))

    def test_every_job_has_a_time_limit(self):
        for job in self.jobs:
            self.assertRegex(job, r"\n    timeout-minutes: \d+\n")

    def test_actions_are_pinned(self):
        uses = re.findall(r"uses: (\S+)", self.text)
        self.assertGreaterEqual(len(uses), 5)
        for action in uses:
            self.assertRegex(action, r"^actions/[\w-]+@[0-9a-f]{40}$")

    def test_nothing_of_the_pull_request_is_put_into_a_script(self):
        for expression in re.findall(r"\$\{\{(.*?)\}\}", self.text):
            self.assertNotRegex(expression, r"title|body|head\.ref|label|user|inputs")
        scripts = re.findall(r"run: \|?\n?((?:          .*\n?)+|.*)", self.text)
        self.assertEqual([], [script for script in scripts if "${{" in script])

    def test_no_plan_is_executed(self):
        with open(SCRIPT, encoding="utf-8") as stream:
            script = stream.read()
        self.assertNotIn("reshard-run", self.text + script)


if __name__ == "__main__":
    unittest.main()
