"""One process of mpirun: executes the toy plan and compares every element. Arguments: plan file."""
import ctypes
import sys

sys.path.insert(0, "python/tests")
import native  # noqa: E402

reshard = native.use_built()
from reshard import mpi  # noqa: E402


def main(path):
    backend = mpi.mpi_backend(timeout=60)
    plan = mpi.plan_for_mpi(reshard.Plan.load(path))
    world = mpi.world()
    rank = plan.ranks[world.rank]
    param, = plan.params(rank)
    values = (ctypes.c_uint32 * (param.bytes // 4))()
    executor = reshard.RankExecutor(plan, rank, backend, timeout=60)
    executor.bind(param.name, param.side, ctypes.addressof(values), param.bytes, dtype=param.dtype,
                  shape=param.shape)
    executor.prepare(60)
    for step in (1, 2):
        if rank < 2:  # rows 4 * rank to 4 * rank + 3 of 8
            values[:] = [1000 * step + 32 * rank + i for i in range(32)]
        executor.start(step)
        executor.wait()
        assert executor.commit(60) == step
        if rank >= 2:  # two columns
            expected = [1000 * step + 8 * row + column for row in range(8)
                        for column in (2 * (rank - 2), 2 * (rank - 2) + 1)]
            assert list(values) == expected, (rank, list(values))
    executor.close()
    print("rank %d of %d: right" % (rank, world.size))


if __name__ == "__main__":
    main(sys.argv[1])
