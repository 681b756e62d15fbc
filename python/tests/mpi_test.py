"""Executors over MPI: a process for each rank, started by mpirun."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "python/tests")
sys.path.insert(0, "tests/backends")
import mpi_job  # noqa: E402
import native  # noqa: E402

reshard = native.use_built()

MISSING = mpi_job.missing(native.MPI_LIBRARY)


@unittest.skipIf(MISSING, MISSING)
class MpiTest(unittest.TestCase):
    def test_every_rank_is_a_process(self):
        plan = reshard.compile(*["examples/toy/%s.json" % name
                                 for name in ("train", "infer", "topo")])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "toy.fb")
            plan.save(path)
            done = mpi_job.run(6, sys.executable, "-B", "python/tests/mpi_worker.py", path)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({"rank %d of 6: right" % rank for rank in range(6)},
                         set(done.stdout.splitlines()))


if __name__ == "__main__":
    unittest.main()
