"""What tools/gpu-check's program says where there is no GPU, and the plan that it brings along."""
import os
import subprocess
import tempfile
import unittest


class NoGpuTest(unittest.TestCase):
    def test_it_says_so_by_name(self):
        done = subprocess.run(["tests/gpu/gpu_check"], capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 2:
            self.skipTest("there is a GPU")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^SKIPPED: gpu-check: .*(no GPU|not built in)")
        self.assertEqual("0 passed, 0 failed, 1 skipped", lines[-1])

    def test_its_own_plan_has_six_ranks_and_a_stage_inside_domains(self):
        with tempfile.TemporaryDirectory() as folder:
            inputs = ["tests/gpu/six_ranks/%s.json" % part for part in ("train", "infer", "topo")]
            done = subprocess.run(["compiler/cli/reshardc", *inputs, "-o", os.path.join(folder, "p.fb")],
                                  capture_output=True, text=True, check=False)
        self.assertEqual("", done.stderr)
        self.assertIn("source      2 ranks, ", done.stdout)
        self.assertIn("destination 4 ranks, ", done.stdout)
        self.assertIn("scale-up    16.8 MB between ranks of a domain", done.stdout)

    def test_usage(self):
        done = subprocess.run(["tests/gpu/gpu_check", "--what"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
