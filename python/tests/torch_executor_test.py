"""Executor of reshard.torch: modules and dicts bound by name, storage that has to stay, every value."""
import sys
import unittest

sys.path.insert(0, "python/tests")
import native  # noqa: E402
import ranks as rank_threads  # noqa: E402

reshard = native.use_built()
try:
    import torch
except ImportError:
    torch = None
if torch is not None:
    from reshard.torch import Executor

HIDDEN, ROWS = 6, 8  # of the model
TRAINERS, SERVERS = (0, 1), (2, 3)


def layouts():
    """Two trainers have halves of rows, two servers halves of columns; norm and step are on all."""
    logical = [{"name": "proj.weight", "shape": [ROWS, HIDDEN], "dtype": "bf16"},
               {"name": "norm.weight", "shape": [HIDDEN], "dtype": "f32"},
               {"name": "count", "shape": [], "dtype": "i64"}]

    def side(name, first, placement):
        return {
            "format": "reshard-layout", "version": 1, "side": name, "rank_base": first,
            "logical": logical, "meshes": {"m": {"axes": ["tp"], "ranks": [first, first + 1]}},
            "params": [{"name": "proj.weight", "tensor": "proj.weight", "mesh": "m",
                        "placements": [placement]},
                       {"name": "norm.weight", "tensor": "norm.weight", "mesh": "m",
                        "placements": ["R"]},
                       {"name": "count", "tensor": "count", "mesh": "m", "placements": ["R"]}]}
    return side("source", 0, "S(0)"), side("destination", 2, "S(1)")


def model(rows, columns):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = torch.nn.Linear(columns, rows, bias=False, dtype=torch.bfloat16)
            self.norm = torch.nn.RMSNorm(HIDDEN)
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))
            self.register_buffer("scratch", torch.zeros(3), persistent=False)
            self.extra = torch.nn.Parameter(torch.zeros(5))  # no param of the plan
    return Model()


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class TorchExecutorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = reshard.compile(*layouts(), rank_threads.one_node(4))

    def setUp(self):
        self.whole = {}
        self.models = {rank: model(ROWS // 2, HIDDEN) for rank in TRAINERS}
        self.models.update({rank: model(ROWS, HIDDEN // 2) for rank in SERVERS})
        self.backends = dict(zip(self.plan.ranks, reshard.loopback_backends(self.plan)))
        self.executors = {}
        self.timeout = 20

    def side(self, rank):
        return "source" if rank in TRAINERS else "destination"

    def make(self, **changes):
        """Executors on all ranks, with other weights or arguments for some: errors by rank."""
        def work(rank):
            arguments = {self.side(rank): self.models[rank], "timeout": self.timeout}
            arguments.update(changes.get("rank%d" % rank, {}))
            self.executors[rank] = Executor(self.plan, rank, backend=self.backends[rank],
                                            **arguments)
        return rank_threads.on_all(self.plan.ranks, work)

    def each(self, work=lambda executor: executor.step()):
        return rank_threads.on_all(self.plan.ranks, lambda rank: work(self.executors[rank]))

    def train(self):
        """New weights, changed in place as an optimizer does."""
        with torch.no_grad():
            self.whole = {"proj": torch.randn(ROWS, HIDDEN).to(torch.bfloat16),
                          "norm": torch.randn(HIDDEN)}
            for rank in TRAINERS:
                self.models[rank].proj.weight.copy_(self.whole["proj"].chunk(2, 0)[rank])
                self.models[rank].norm.weight.copy_(self.whole["norm"])
                self.models[rank].count += 1

    def check(self, count):
        for rank in SERVERS:
            self.assertTrue(torch.equal(self.whole["proj"].chunk(2, 1)[rank - 2],
                                        self.models[rank].proj.weight))
            self.assertTrue(torch.equal(self.whole["norm"], self.models[rank].norm.weight))
            self.assertEqual(count, self.models[rank].count.item())
            self.assertEqual(0, self.models[rank].extra.abs().sum().item())

    def test_every_value_after_every_step(self):
        self.assertEqual({None}, set(self.make().values()))
        for step in (1, 2, 3):
            self.train()
            self.assertEqual({rank: step for rank in range(4)}, self.each())
            self.check(step)
        self.assertEqual({rank: 10 for rank in range(4)}, self.each(lambda e: e.step(10)))
        self.assertEqual({rank: 11 for rank in range(4)}, self.each())
        state = self.executors[3].state
        self.assertEqual({"proj.weight", "norm.weight", "count"}, set(state.complete))
        self.assertEqual(ROWS * HIDDEN // 2 * 2 + HIDDEN * 4 + 8,
                         self.executors[3].stats.delivered_bytes)

    def test_a_dict_in_place_of_a_module(self):
        tensors = {"proj.weight": torch.zeros(ROWS, HIDDEN // 2, dtype=torch.bfloat16),
                   "norm.weight": torch.zeros(HIDDEN), "count": torch.zeros((), dtype=torch.int64)}
        self.assertEqual({None}, set(self.make(rank2={"destination": tensors}).values()))
        self.train()
        self.each()
        self.assertTrue(torch.equal(self.whole["proj"][:, :3], tensors["proj.weight"]))
        self.assertEqual(1, tensors["count"].item())

    def test_a_tensor_that_cannot_be_bound_is_an_error_on_all_ranks(self):
        self.models[2].proj.weight = torch.nn.Parameter(
            torch.zeros(ROWS, HIDDEN // 2, dtype=torch.bfloat16).to_sparse(), requires_grad=False)
        # The others do not wait for it until this time is over.
        everybody = {"rank%d" % rank: {"prepare_timeout": 3600} for rank in range(4)}
        errors = self.make(**everybody)
        self.assertIsInstance(errors[2], ValueError)
        self.assertIn("'proj.weight' has the layout torch.sparse_coo", str(errors[2]))
        for rank in (0, 1, 3):
            self.assertIsInstance(errors[rank], reshard.ReshardError)
            self.assertIn("rank 2 failed: ", str(errors[rank]))
            self.assertIn("'proj.weight'", str(errors[rank]))

    def refused_at_step(self, change, said):
        self.timeout = 5  # which passes before the others are told
        self.assertEqual({None}, set(self.make().values()))
        self.train()
        self.assertEqual({1}, set(self.each().values()))
        held = self.models[2].proj.weight.clone()
        change()
        errors = self.each()
        self.assertIsInstance(errors[0], RuntimeError)
        self.assertRegex(str(errors[0]), said)
        for rank in (1, 2, 3):  # the others are told, too
            self.assertIsInstance(errors[rank], reshard.ReshardError)
        self.assertTrue(torch.equal(held, self.models[2].proj.weight))

    def test_a_param_with_new_storage(self):
        def change():
            self.models[0].proj.weight.data = self.models[0].proj.weight.data.clone()
        self.refused_at_step(change, "source 'proj.weight' was bound as")

    def test_another_param_object(self):
        def change():
            self.models[0].norm.weight = torch.nn.Parameter(torch.ones(HIDDEN))
        self.refused_at_step(change, "source 'norm.weight' was bound as")

    def test_a_param_that_is_gone(self):
        def change():
            del self.models[0].proj
        self.refused_at_step(change, "source 'proj.weight' is gone")

    def test_a_param_of_another_dtype(self):
        self.refused_at_step(lambda: self.models[0].to(torch.float64),
                             "weights were allocated anew since they were bound")

    def test_a_param_that_the_model_does_not_have(self):
        del self.models[3].norm
        errors = self.make()
        for error in errors.values():
            self.assertIsInstance(error, reshard.ReshardError)
        self.assertIn("norm.weight", str(errors[3]))
        self.assertIn("rank 3", str(errors[0]))

    def test_tensors_that_do_not_fit(self):
        for wrong, said in ((torch.zeros(HIDDEN, dtype=torch.float16), "f16"),
                            (torch.zeros(HIDDEN + 1), "7"), (torch.zeros(2 * HIDDEN)[::2], "stride")):
            with self.subTest(said=said):
                self.setUp()
                tensors = dict(self.models[2].state_dict(keep_vars=True))
                tensors["norm.weight"] = wrong
                errors = self.make(rank2={"destination": tensors})
                self.assertIsInstance(errors[2], reshard.ReshardError)
                self.assertIn("norm.weight", str(errors[2]))
                self.assertIn(said, str(errors[2]))

    def test_arguments(self):
        for arguments, said in ((dict(backend="smoke signals"), "backend is"),
                                (dict(backend=self.backends[0]), "rank is needed"),
                                (dict(backend="nccl"), "process_group is needed")):
            with self.assertRaisesRegex(ValueError, said):
                Executor(self.plan, source=self.models[0], **arguments)

    def test_closed(self):
        self.make()
        self.each(lambda executor: executor.close())
        with self.assertRaises(ValueError):
            self.executors[0].step()

    def share(self):
        """A plan in which proj.weight is head.weight, too."""
        source, destination = layouts()
        for layout in (source, destination):
            layout["params"][0]["shares"] = ["head.weight"]
        self.plan = reshard.compile(source, destination, rank_threads.one_node(4))
        self.setUp()

    def test_names_of_a_param_that_are_two_tensors(self):
        self.share()
        self.models[2].head = torch.nn.Linear(HIDDEN // 2, ROWS, bias=False, dtype=torch.bfloat16)
        errors = self.make()
        self.assertIs(RuntimeError, type(errors[2]))
        self.assertRegex(str(errors[2]), "destination 'proj.weight' and 'head.weight' are one param")
        for rank in (0, 1, 3):
            self.assertIsInstance(errors[rank], reshard.ReshardError)
            self.assertIn("proj.weight", str(errors[rank]))

    def test_names_of_a_param_that_become_two_tensors(self):
        self.share()
        for each in self.models.values():
            each.head = torch.nn.Module()
            each.head.weight = each.proj.weight

        def change():
            self.models[0].head.weight = torch.nn.Parameter(self.models[0].proj.weight.clone())
        self.refused_at_step(change, "source 'proj.weight' and 'head.weight' are one param")

    def test_params_are_bound_by_any_of_their_names(self):
        self.share()
        tensors = dict(self.models[2].state_dict(keep_vars=True))
        tensors["head.weight"] = tensors.pop("proj.weight")
        self.assertEqual({None}, set(self.make(rank2={"destination": tensors}).values()))
        self.train()
        self.assertEqual({1}, set(self.each().values()))
        self.check(1)


if __name__ == "__main__":
    unittest.main()
