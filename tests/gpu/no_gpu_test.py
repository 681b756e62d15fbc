"""What tools/gpu-check's program says where there is no GPU."""
import subprocess
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

    def test_usage(self):
        done = subprocess.run(["tests/gpu/gpu_check", "--what"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
