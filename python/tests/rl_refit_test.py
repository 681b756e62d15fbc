"""The example rl_refit: a trainer's DTensors and an engine's loader become a plan, which moves the
weights between processes after each step; the engine's logits are the trainer's bit for bit."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from tests.backends import mpi_job

LIBRARY = "runtime/exec/mpi/libreshard_mpi.so"
BUILT = {"bin/reshardc": "compiler/cli/reshardc", "lib/libreshard.so": "runtime/c_api/libreshard.so",
         "lib/libreshard_mpi.so": LIBRARY}


class RlRefitTest(unittest.TestCase):

    def setUp(self):
        try:
            import torch  # noqa: F401, PLC0415
        except ImportError:
            self.skipTest("PyTorch is not installed (tools/setup_python)")

    def check(self, run, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, path in BUILT.items():
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                os.symlink(os.path.abspath(path), os.path.join(folder, name))
            done = run("examples/rl_refit/refit.py", "--steps", "3", "--reshard", folder, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^plan [0-9a-f]{12}: 22,848 bytes over the network")
        self.assertEqual(re.findall(r"generation (\d+): .* logits equal bit for bit", done.stdout),
                         ["2", "3", "4"])

    def test_torchrun(self):
        def run(*arguments):
            return subprocess.run(
                [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone",
                 "--nproc-per-node", "6", *arguments],
                env=dict(os.environ, PYTHONPATH=os.path.abspath("python"),
                         PYTHONDONTWRITEBYTECODE="1"),
                capture_output=True, text=True, timeout=280, check=False)
        self.check(run)

    def test_mpirun(self):
        why = mpi_job.missing(LIBRARY)
        if why:
            self.skipTest(why)

        def run(*arguments):
            return mpi_job.run(6, "env", "PYTHONPATH=" + os.path.abspath("python"), sys.executable,
                               "-B", *arguments, timeout=280)
        self.check(run, "--mpi")


if __name__ == "__main__":
    unittest.main()
