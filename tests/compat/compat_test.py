"""Plans that earlier releases stored are read, proven and executed as they were then.

Stored plans never change. A new version of the format comes with plans of its own (schemas/README.md).
"""

import glob
import json
import os
import re
import subprocess
import unittest

# Root digests: what `reshardc verify` said of each plan when it was stored.
DIGESTS = {
    # examples/toy
    "version_1/toy.fb": "7a6d99fe16fa0695dffb912ecd72985c43f772d574454e991604c39f604c1685",
    # To five nodes, passed on from node to node in 18 rounds, with padding, reordered rows, a second name
    # and a limit on staging.
    "version_1/trees.fb": "58336c446ca7ac271162475eb487aba68a5a360bc3511d76fffff4bcc8a0b7c1",
}
FOLDER = "tests/compat"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class CompatTest(unittest.TestCase):
    def test_every_version_has_plans(self):
        with open("runtime/plan/plan.h", encoding="utf-8") as file:
            newest = int(re.search(r"kPlanVersion = (\d+);", file.read()).group(1))
        stored = {os.path.relpath(path, FOLDER) for path in glob.glob(FOLDER + "/version_*/*.fb")}
        self.assertEqual(set(DIGESTS), stored)
        self.assertEqual({f"version_{version}" for version in range(1, newest + 1)},
                         {os.path.dirname(path) for path in stored})

    def test_plans_are_what_they_were_and_sound(self):
        for path, digest in DIGESTS.items():
            with self.subTest(path):
                found = run("compiler/cli/reshardc", "verify", os.path.join(FOLDER, path), "--json")
                self.assertEqual((0, ""), (found.returncode, found.stderr))
                self.assertEqual(digest, json.loads(found.stdout)["root_digest"])

    def test_plans_move_every_byte(self):
        for path in DIGESTS:
            with self.subTest(path):
                found = run("runtime/run/reshard-run", os.path.join(FOLDER, path), "--check",
                            "--repeat", "2", "--json")
                self.assertEqual(0, found.returncode, found.stderr)
                self.assertEqual((2, 0), (json.loads(found.stdout)["executions"],
                                          json.loads(found.stdout)["check"]["wrong_bytes"]))


if __name__ == "__main__":
    unittest.main()
