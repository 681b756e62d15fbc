"""DTensor's own answers against the compiler's, element by element.

For each vector PyTorch shards a tensor of numbered elements on every rank (a fake process group stands
in for the others). What it exports is imported, compiled into a plan from one rank that has the whole
tensor, and executed: every rank has to get what PyTorch gave it.
"""
import ctypes
import json
import sys
import unittest
from unittest import mock

sys.path.insert(0, "python/tests")
import native  # noqa: E402
import ranks as rank_threads  # noqa: E402

reshard = native.use_built()
try:
    import torch
except ImportError:
    torch = None
if torch is not None:
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.distributed.tensor.placement_types import _StridedShard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from reshard.torch import export_dtensors

VECTORS = "tests/data/vectors/dtensor_vectors.json"
PARTIAL = "v19_partial_source"


def read_cases():
    with open(VECTORS, encoding="utf-8") as stream:
        return json.load(stream)["cases"]


def placement_of(text):
    if text == "R":
        return Replicate()
    if text.startswith("P"):
        return Partial()
    numbers = [int(number) for number in text[text.index("(") + 1:-1].split(",")]
    return Shard(*numbers) if text.startswith("S") else _StridedShard(
        numbers[0], split_factor=numbers[1])


def flat_ranks(mesh):
    return [mesh] if isinstance(mesh, int) else [rank for part in mesh for rank in flat_ranks(part)]


class World:
    """One vector as PyTorch has it on every rank.

    Attributes:
        locals: tensor by rank of the mesh: what the rank stores.
        places: (local shape, global offset) by rank, as PyTorch computes them from the placements.
        exported: what export_dtensors returns when all ranks have spoken.
    """

    def __init__(self, case):
        self.size = max(flat_ranks(case["mesh"])) + 1
        self.locals, self.places, said = {}, {}, []
        whole = torch.arange(torch.Size(case["global_shape"]).numel(), dtype=torch.int32).reshape(
            case["global_shape"])
        for rank in range(self.size):
            dist.init_process_group("fake", rank=rank, world_size=self.size, store=FakeStore())
            try:
                mesh = DeviceMesh("cpu", torch.tensor(case["mesh"]), _init_backend=False)
                placements = [placement_of(text) for text in case["placements"]]
                # Without a source rank each rank takes its part of its own copy.
                tensor = distribute_tensor(whole, mesh, placements, src_data_rank=None)
                if rank in flat_ranks(case["mesh"]):
                    self.locals[rank] = tensor._local_tensor.contiguous()
                    shape, offset = compute_local_shape_and_global_offset(whole.shape, mesh,
                                                                          placements)
                    self.places[rank] = (list(shape), list(offset))
                with mock.patch.object(dist, "all_gather_object", self.gather(rank, said)):
                    self.exported = export_dtensors({"w": tensor})
            finally:
                dist.destroy_process_group()

    def gather(self, rank, said):
        """The ranks speak one after the other; the last one hears all."""
        def all_gather_object(heard, mine, group=None):
            said.append(mine)
            heard[:rank + 1] = said
            heard[rank + 1:] = [[] for _ in range(self.size - rank - 1)]
        return all_gather_object


def executed(plan, whole):
    """What each destination rank holds after a plan was executed, as bytes; rank of `whole` gives."""
    backends = reshard.loopback_backends(plan)
    buffers = {}

    def run(rank):
        executor = reshard.RankExecutor(plan, rank, backends[plan.ranks.index(rank)], timeout=20)
        for param in plan.params(rank):
            buffer = bytearray(whole) if param.side == "source" else bytearray(param.bytes)
            start = ctypes.addressof(ctypes.c_char.from_buffer(buffer)) if buffer else 0
            executor.bind(param.name, param.side, start, len(buffer))
            if param.side == "destination":
                buffers[rank] = buffer
        executor.prepare(20)
        executor.start(1)
        executor.wait()
        executor.commit(20)
        executor.close()

    for error in rank_threads.on_all(plan.ranks, run).values():
        if error is not None:
            raise error
    return buffers


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class DtensorVectorsTest(unittest.TestCase):
    maxDiff = None

    def test_pytorch_says_what_the_vectors_say(self):
        for case in read_cases():
            if case["name"] == PARTIAL:
                continue
            world = World(case)
            replays = world.exported["tensors"][0].get("strided") != "order"
            for rank, entry in case["ranks"].items():
                if not replays:
                    entry = entry.get("order_semantics", entry)
                with self.subTest(case=case["name"], rank=rank):
                    indices = [[start + i for start, count in runs for i in range(count)]
                               for runs in entry["runs"]]
                    expected = torch.arange(torch.Size(case["global_shape"]).numel(),
                                            dtype=torch.int32).reshape(case["global_shape"])
                    for dim, listed in enumerate(indices):
                        expected = expected.index_select(dim, torch.tensor(listed,
                                                                           dtype=torch.long))
                    found = world.locals[int(rank)]
                    self.assertEqual(entry["local_shape"], list(found.shape))
                    self.assertTrue(torch.equal(expected, found))
                    self.assertEqual((entry["local_shape"], entry["global_offset"]),
                                     world.places[int(rank)])

    def test_every_rank_gets_what_pytorch_gives_it(self):
        compared = 0
        for case in read_cases():
            if case["name"] == PARTIAL:
                continue
            with self.subTest(case=case["name"]):
                compared += self.compare(World(case), case["global_shape"])
        self.assertEqual(1095, compared)

    def compare(self, world, shape):
        """Returns how many elements were compared."""
        layout = reshard.import_layout("dtensor", world.exported, side="destination")
        self.assertEqual({(str(rank), tuple(local.shape)) for rank, local in world.locals.items()},
                         {(str(fact["rank"]), tuple(fact["shape"])) for fact in layout["expect"]})
        giver = rank_threads.whole_layout("source", world.size, {"w": (shape, "i32")})
        topology = rank_threads.one_node(world.size + 1)
        if 0 in shape:  # there is no plan, but the local shapes under "expect" were compared
            with self.assertRaises(reshard.CompileError) as caught:
                reshard.compile(giver, layout, topology)
            self.assertEqual(["nothing-to-move"],
                             [d.code for d in caught.exception.diagnostics])
            return 0
        plan = reshard.compile(giver, layout, topology)
        self.assertEqual("sound", plan.verify()["verdict"])
        count = torch.Size(shape).numel()
        held = executed(plan, bytes((ctypes.c_int32 * count)(*range(count))))
        # Ranks whose part is empty store no param.
        self.assertLessEqual(set(held), set(world.locals))
        for rank, local in world.locals.items():
            self.assertEqual(local.flatten().tolist(),
                             list((ctypes.c_int32 * local.numel()).from_buffer_copy(
                                 held.get(rank, b""))), rank)
        return sum(local.numel() for local in world.locals.values())

    def test_partial_sums_are_refused(self):
        case = next(case for case in read_cases() if case["name"] == PARTIAL)
        with self.assertRaisesRegex(ValueError, "'w' has the placement .*reduce partial sums"):
            World(case)

    def test_all_vectors_are_there(self):
        self.assertEqual(20, len(read_cases()))


if __name__ == "__main__":
    unittest.main()
