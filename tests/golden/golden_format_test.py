"""Tests golden.py: reading .case files, running them, and what it takes for a difference."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/golden")
import golden  # noqa: E402

CASE = """# Why.
# expect-error: shape-mismatch
--- file a.json
{"a": 1}
--- run cat a.json
--- exit 0
--- stdout
{"a": 1}
--- stderr
--- run sh -c 'echo "x:1:2: error: it differs [shape-mismatch]" >&2; exit 2'
--- exit 2
--- stdout
--- stderr
x:1:2: error: it differs [shape-mismatch]
"""


class GoldenFormatTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def parse(self, text):
        path = os.path.join(self.root, "x.case")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return golden.parse(path, self.root)

    def test_reads_runs_and_renders_itself(self):
        case = self.parse(CASE)
        self.assertEqual("Why.", case.reason)
        self.assertEqual({"a.json": '{"a": 1}\n'}, case.files)
        results = golden.run(case, {})
        self.assertEqual([(0, '{"a": 1}\n', ""),
                          (2, "", "x:1:2: error: it differs [shape-mismatch]\n")], results)
        self.assertEqual([], golden.wrong_codes(case, results))
        self.assertEqual(CASE, golden.render(case, results))

    def test_steps_share_a_folder_that_is_new_for_each_run(self):
        case = self.parse("# Why.\n--- run echo 1 >> f; cat f\n--- run echo 2 >> f; cat f\n")
        for _ in range(2):
            self.assertEqual([(0, "1\n", ""), (0, "1\n2\n", "")], golden.run(case, {}))

    def test_missing_unannounced_and_downgraded_codes_are_differences(self):
        case = self.parse(CASE)
        self.assertEqual(["does not report the error [shape-mismatch]"],
                         golden.wrong_codes(case, [(0, "", "")]))
        self.assertEqual(["reports the warning [unused-tensor]"], golden.wrong_codes(case, [
            (0, "", "x: error: a [shape-mismatch]\nx: warning: b [unused-tensor]\n")]))
        self.assertEqual(["does not report the error [shape-mismatch]",
                          "reports the warning [shape-mismatch]"], golden.wrong_codes(case, [
                              (0, "", "warning: a [shape-mismatch]\n")]))

    def test_copies_and_edits_files_of_the_repository(self):
        with open(os.path.join(self.root, "d.json"), "w", encoding="utf-8") as stream:
            stream.write('{"a": [1, 2], "b": "x/y"}\n')
        case = self.parse('# Why.\n--- file e.json\n@d.json s/[1, 2]/[3]/ s|"x/y"|"z"|\n--- run true\n')
        self.assertEqual('{"a": [3], "b": "z"}\n', case.files["e.json"])

    def test_refuses_edits_that_change_nothing(self):
        with open(os.path.join(self.root, "d.json"), "w", encoding="utf-8") as stream:
            stream.write("{}\n")
        for edit in ("s/absent/x/", "s/{}/{}/", "s/{}", "t/{}/x/"):
            with self.assertRaises(golden.CaseError, msg=edit):
                self.parse("# Why.\n--- file e.json\n@d.json %s\n--- run true\n" % edit)

    def test_refuses_files_that_are_no_case(self):
        for text in ("", "--- run true\n", "# Why.\n", "# Why.\nstray\n--- run true\n",
                     "# Why.\n--- stdout\n--- run true\n", "# Why.\n--- runs true\n"):
            with self.assertRaises(golden.CaseError, msg=text):
                self.parse(text)


if __name__ == "__main__":
    unittest.main()
