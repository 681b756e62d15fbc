"""Executors of all ranks as threads over loopback: every byte, and what is refused."""
import ctypes
import dataclasses
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "python/tests")
import native  # noqa: E402
import ranks  # noqa: E402

reshard = native.use_built()
from reshard import _abi  # noqa: E402

TOY = ["examples/toy/%s.json" % name for name in ("train", "infer", "topo")]


def address(buffer):
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


class Job:
    """All ranks of a plan in this process, with a buffer for each param."""

    def __init__(self, plan, **options):
        self.plan = plan
        self.buffers = {}
        self.executors = {}
        self.backends = reshard.loopback_backends(plan)
        for rank, backend in zip(plan.ranks, self.backends):
            self.executors[rank] = reshard.RankExecutor(plan, rank, backend, timeout=20, **options)
            for param in plan.params(rank):
                self.buffers[rank, param.name] = bytearray(param.bytes)

    def bind(self, without=(), **changes):
        for (rank, name), buffer in self.buffers.items():
            if (rank, name) in without:
                continue
            param = next(p for p in self.plan.params(rank) if p.name == name)
            said = dict(dtype=param.dtype, shape=param.shape, strides=param.strides)
            self.executors[rank].bind(name, param.side, address(buffer), len(buffer),
                                      **{**said, **changes.get("rank%d" % rank, {})})

    def each(self, work):
        """Runs work(executor) for all ranks at once: result or exception, by rank."""
        return ranks.on_all(self.executors, lambda rank: work(self.executors[rank]))

    def close(self):
        for executor in self.executors.values():
            executor.close()
        for backend in self.backends:
            backend.close()


class ExecutorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = reshard.compile(*TOY)

    def job(self, **options):
        job = Job(self.plan, **options)
        self.addCleanup(job.close)
        return job

    def fill(self, job, step):
        """Elements of w get numbers; rank r of two holds rows 4r to 4r + 3."""
        for rank in (0, 1):
            values = [1000 * step + 8 * (4 * rank + row) + column
                      for row in range(4) for column in range(8)]
            job.buffers[rank, "w"][:] = memoryview((ctypes.c_uint32 * 32)(*values)).cast("B")

    def check(self, job, step):
        for rank in range(2, 6):
            found = list((ctypes.c_uint32 * 16).from_buffer_copy(job.buffers[rank, "w"]))
            columns = (2 * (rank - 2), 2 * (rank - 2) + 1)
            self.assertEqual([1000 * step + 8 * row + column
                              for row in range(8) for column in columns], found, rank)

    @staticmethod
    def step(generation):
        def work(executor):
            executor.start(generation)
            while not executor.wait(0.01):
                pass
            return executor.commit(20)
        return work

    def refused(self, results, code):
        """The error of each rank; one of them has the code."""
        for result in results.values():
            self.assertIsInstance(result, reshard.ReshardError)
        self.assertIn(code, {error.code for error in results.values()})
        return results

    def test_every_byte_of_several_generations(self):
        job = self.job(verify_executions=1)
        job.bind()
        self.assertEqual({None}, set(job.each(lambda e: e.prepare(20)).values()))
        for step, generation in enumerate((1, 2, 7), 1):
            self.fill(job, step)
            self.assertEqual({rank: generation for rank in range(6)},
                             job.each(self.step(generation)))
            self.check(job, step)
        state = job.executors[3].state
        self.assertEqual((7, 7, ("w",), 1, False, False),
                         (state.started_generation, state.complete_generation, state.complete,
                          state.destination_count, state.running, state.failed))
        stats = job.executors[3].stats
        self.assertEqual((64, 64, 0), (stats.received_bytes, stats.delivered_bytes,
                                       stats.sent_bytes))
        self.assertEqual(128, job.executors[0].stats.sent_bytes)
        # Trainers that send to it, and the other ranks of its domain.
        self.assertEqual({0, 1, 2, 4, 5}, set(job.executors[3].peer_waits))

    def test_a_param_without_a_buffer(self):
        job = self.job()
        job.bind(without={(3, "w")})
        errors = self.refused(job.each(lambda e: e.prepare(20)), "invalid-argument")
        self.assertIn("'w'", str(errors[3]))
        self.assertIn("rank 3", str(errors[0]))  # all ranks hear who is at fault
        # All may bind and prepare again.
        for executor in job.executors.values():
            executor.unbind()
        job.bind()
        self.assertEqual({None}, set(job.each(lambda e: e.prepare(20)).values()))
        self.fill(job, 1)
        job.each(self.step(1))
        self.check(job, 1)

    def test_buffers_that_do_not_fit(self):
        for changes, said in ((dict(shape=(2, 8)), "[2, 8]"), (dict(dtype="bf16"), "bf16"),
                              (dict(strides=(1, 8)), "stride")):
            with self.subTest(changes=changes):
                job = self.job()
                job.bind(rank4=changes)
                errors = self.refused(job.each(lambda e: e.prepare(20)), "invalid-argument")
                self.assertIn(said, str(errors[4]))
        job = self.job()
        job.buffers[4, "w"] = bytearray(63)
        job.bind()
        errors = self.refused(job.each(lambda e: e.prepare(20)), "invalid-argument")
        self.assertIn("63", str(errors[4]))
        self.assertIn("64", str(errors[4]))

    def test_a_name_that_the_plan_does_not_have(self):
        job = self.job()
        job.bind()
        job.executors[2].bind("no_such_param", "destination", address(bytearray(64)), 64)
        errors = self.refused(job.each(lambda e: e.prepare(20)), "invalid-argument")
        self.assertIn("no_such_param", str(errors[2]))

    def test_calls_in_another_order(self):
        executor = self.job().executors[0]
        with self.assertRaises(reshard.ReshardError) as caught:
            executor.start(1)
        self.assertEqual("wrong-order", caught.exception.code)
        with self.assertRaises(reshard.ReshardError) as caught:
            executor.wait()
        self.assertEqual("wrong-order", caught.exception.code)

    def test_generations_rise(self):
        job = self.job()
        job.bind()
        job.each(lambda e: e.prepare(20))
        self.fill(job, 1)
        job.each(self.step(3))
        for generation in (0, 3):
            with self.assertRaises(reshard.ReshardError) as caught:
                job.executors[0].start(generation)
            self.assertEqual("invalid-argument", caught.exception.code)

    def test_an_abort_ends_all_ranks_and_nothing_is_committed(self):
        job = self.job()
        job.bind()
        job.each(lambda e: e.prepare(20))

        def work(executor):
            if executor.rank == 0:
                executor.abort("out of paper")
                return executor.commit(20)
            executor.start(1)
            executor.wait()
            return executor.commit(20)

        errors = job.each(work)
        for error in errors.values():
            self.assertIsInstance(error, reshard.ReshardError)
        self.assertTrue(any("out of paper" in str(error) for error in errors.values()))
        for rank in range(2, 6):
            self.assertTrue(job.executors[rank].state.failed)
            self.assertEqual(0, job.executors[rank].state.complete_generation)

    def test_a_closed_executor(self):
        job = self.job()
        job.executors[0].close()
        job.executors[0].close()
        with self.assertRaises(ValueError):
            job.executors[0].prepare()

    def test_times(self):
        executor = self.job().executors[0]
        for seconds in (0, -1, float("nan")):
            with self.assertRaises(ValueError):
                executor.prepare(seconds)
        for seconds in (-1, float("nan")):
            with self.assertRaises(ValueError):
                executor.wait(seconds)

    def test_waits_that_only_ask_and_waits_without_end(self):
        job = self.job()
        job.bind()
        job.each(lambda e: e.prepare(20))
        self.fill(job, 1)

        def work(executor):
            executor.start(1)
            if executor.rank % 2 == 0:
                return executor.wait(float("inf"))
            while not executor.wait(0):
                pass
            return True

        self.assertEqual({rank: True for rank in range(6)}, job.each(work))
        self.check(job, 1)

    def test_stats_have_what_the_library_says(self):
        job = self.job()
        job.bind()
        job.each(lambda e: e.prepare(20))
        job.each(self.step(1))
        fields = {field.name.replace("_seconds", "_ns")
                  for field in dataclasses.fields(job.executors[2].stats)}
        self.assertEqual({name for name, _ in _abi.Stats._fields_}
                         - {"struct_size", "peer_count"}, fields)

    def test_sides(self):
        executor = self.job().executors[0]
        with self.assertRaises(ValueError):
            executor.bind("w", "train", 0, 0)

    def test_the_trace_of_an_execution(self):
        job = self.job(trace=True)
        job.bind()
        job.each(lambda e: e.prepare(20))
        job.each(self.step(1))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            job.executors[2].write_trace(path)
            with open(path, encoding="utf-8") as stream:
                trace = json.load(stream)
        self.assertTrue(trace["traceEvents"] if isinstance(trace, dict) else trace)

    def test_a_replica_commits_alone(self):
        job = self.job()
        for rank, backend in zip(self.plan.ranks, job.backends):
            job.executors[rank].close()
            replica = (0, 1) if rank < 2 else (2, 3) if rank < 4 else (4, 5)
            job.executors[rank] = reshard.RankExecutor(self.plan, rank, backend, timeout=20,
                                                       replica=replica)
        job.bind()
        self.assertEqual({None}, set(job.each(lambda e: e.prepare(20)).values()))
        self.fill(job, 1)
        self.assertEqual({1}, set(job.each(self.step(1)).values()))
        self.check(job, 1)


if __name__ == "__main__":
    unittest.main()
