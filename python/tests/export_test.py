"""Exporters between two processes (gloo): all ranks speak, and hear the same; Megatron-Core's sharded
state as plain classes that have the attributes the exporter reads."""
import datetime
import json
import os
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace

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
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from reshard.torch import export_dtensors, export_mcore_sharded, record_loader, save_recorded

WORLD = 2


def refusal(work):
    try:
        work()
    except ValueError as error:
        return str(error)
    return ""


def sharded(key, data, global_shape, global_offset, fragments, prepended=0, **more):
    """What Megatron-Core's ShardedTensor has."""
    return SimpleNamespace(
        key=key, data=data, dtype=data.dtype, local_shape=tuple(data.shape),
        global_shape=global_shape, global_offset=global_offset, axis_fragmentations=fragments,
        prepend_axis_num=prepended, replica_id=(0, 0, 0), **more)


def factory(key, data, parts):
    """What ShardedTensorFactory has: `parts` are made when it is built."""
    return SimpleNamespace(key=key, data=data, build=lambda: parts)


def mcore_state(rank):
    fc1 = torch.zeros(8, 3)
    gate, up = fc1.chunk(2, 0)
    return {
        "decoder": {"layers.0.fc1.weight": factory("decoder.fc1", fc1, [
            sharded("decoder.fc1", gate, (16, 3), (4 * rank, 0), (4, 1)),
            sharded("decoder.fc1", up, (16, 3), (8 + 4 * rank, 0), (4, 1))])},
        "qkv": sharded("layers.qkv", torch.zeros(4, 3, dtype=torch.bfloat16), (5, 8, 3),
                       (2, 4 * rank, 0), (5, 2, 1), prepended=1),
        "optimizer": ["not sharded", 3],
    }


def mcore_tensors():
    """The checkpoint: layer 2 of five, whose fused QKV has two groups."""
    rows = {"q": 4, "k": 2, "v": 2}
    return {"model.%d.%s" % (layer, name): ((rows[name], 3), torch.bfloat16)
            for layer in range(5) for name in rows}


MCORE_TENSORS = mcore_tensors() if torch is not None else {}
MCORE_ALIASES = [{"key": "layers.qkv", "for": {"l": "0..5"}, "index": ["{l}"], "is": {
    "op": "group_cat", "groups": 2, "in": ["model.{l}.q", "model.{l}.k", "model.{l}.v"]}}]


def speak(rank, folder):
    """One process of two: writes what it heard."""
    dist.init_process_group("gloo", rank=rank, world_size=WORLD,
                            timeout=datetime.timedelta(seconds=100), store=dist.FileStore(folder + "/store", WORLD))
    mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))

    def dtensor(local, placement, shape):
        stride = torch.empty(shape).stride()
        return DTensor.from_local(local, mesh, [placement], run_check=False, shape=shape,
                                  stride=stride)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.uneven = torch.nn.Parameter(dtensor(torch.zeros(2 - rank, 4), Shard(0),
                                                     torch.Size((3, 4))))
            self.norm = torch.nn.Parameter(dtensor(torch.zeros(4, dtype=torch.bfloat16),
                                                   Replicate(), torch.Size((4,))))
            self.tied = self.norm
            self.register_buffer("scale", torch.ones(2))
            self.register_buffer("scratch", torch.ones(2), persistent=False)
            setattr(self, "stage%d" % rank, torch.nn.Parameter(torch.zeros(1 + rank)))

    params = {"p": torch.zeros(2)}
    recorded = [record_loader(params, lambda weights: [params["p"].copy_(w[first:first + 2])
                                                       for _, w in weights],
                              {"w": ((4,), torch.float32)}, rank=rank)
                for first in (0, 1 + rank)]
    partial = {"w": dtensor(torch.zeros(3), Partial(), torch.Size((3,)))}
    heard = {
        "dtensors": export_dtensors(Model()),
        "mcore": export_mcore_sharded(mcore_state(rank), rank, MCORE_ALIASES, dist.group.WORLD,
                                      MCORE_TENSORS),
        "refused": [refusal(lambda: export_dtensors(partial)),
                    refusal(lambda: export_dtensors({"w": torch.zeros(3 + rank)}))],
        "saved": [save_recorded(record, folder, dist.group.WORLD) for record in recorded],
    }
    with open(os.path.join(folder, "heard%d.json" % rank), "w", encoding="utf-8") as stream:
        json.dump(heard, stream)
    dist.barrier()
    dist.destroy_process_group()


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class TwoProcessesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            processes = [subprocess.Popen([sys.executable, "-B", __file__, str(rank), folder])
                         for rank in range(WORLD)]
            statuses = [process.wait(200) for process in processes]
            assert statuses == [0] * WORLD, statuses
            cls.heard, cls.files = [], {}
            for rank in range(WORLD):
                with open(os.path.join(folder, "heard%d.json" % rank), encoding="utf-8") as stream:
                    cls.heard.append(json.load(stream))
            for name in os.listdir(folder):
                if name.startswith("copies-"):
                    with open(os.path.join(folder, name), encoding="utf-8") as stream:
                        cls.files[name] = json.load(stream)

    def test_both_hear_the_same(self):
        for key in ("dtensors", "mcore"):
            self.assertEqual(self.heard[0][key], self.heard[1][key])

    def test_dtensors(self):
        export = self.heard[0]["dtensors"]
        self.assertEqual(2, export["world"])
        mesh_of = {t["fqn"]: export["meshes"][t["mesh"]] for t in export["tensors"]}
        said = {t["fqn"]: (t["global_shape"], t["dtype"], t["placements"]) for t in
                export["tensors"]}
        self.assertEqual(
            {"uneven": ([3, 4], "float32", ["S(0)"]), "norm": ([4], "bfloat16", ["R"]),
             "scale": ([2], "float32", ["R"]),
             "stage0": ([1], "float32", ["R"]), "stage1": ([2], "float32", ["R"])}, said)
        self.assertEqual({"norm": ["tied"]}, {t["fqn"]: t["shares"] for t in export["tensors"]
                                              if "shares" in t})
        self.assertEqual({"dim_names": ["tp"], "mesh": [0, 1]}, mesh_of["uneven"])
        self.assertEqual([0, 1], mesh_of["scale"]["mesh"])
        self.assertEqual([[0], [1]], [mesh_of["stage%d" % rank]["mesh"] for rank in (0, 1)])
        self.assertEqual({"0": [2, 4], "1": [1, 4]},
                         export["check"]["per_rank_local_shapes"]["uneven"])

    def test_dtensors_are_imported_as_they_are(self):
        layout = reshard.import_layout("dtensor", self.heard[0]["dtensors"])
        reader = rank_threads.whole_layout("destination", 2, {
            "uneven": ((3, 4), "f32"), "scale": ((2,), "f32"), "norm": ((4,), "bf16"),
            "stage0": ((1,), "f32"), "stage1": ((2,), "f32")})
        # A tied param is one buffer, and one tensor under both names.
        norm = next(param for param in reader["params"] if param["name"] == "norm")
        reader["params"].append(dict(norm, name="head", tensor="tied"))
        plan = reshard.compile(layout, reader, rank_threads.one_node(3))
        self.assertEqual([(2, 4), (1, 4)], [
            next(p.shape for p in plan.params(rank) if p.name == "uneven") for rank in (0, 1)])
        self.assertEqual(["stage1"], [p.name for p in plan.params(1) if "stage" in p.name])
        flow, = plan.explain(2, "uneven", (2, 1))["flows"]
        self.assertEqual([1], flow["sources"])

    def test_a_local_shape_that_is_another_is_found_by_the_importer_or_the_compiler(self):
        export = json.loads(json.dumps(self.heard[0]["dtensors"]))
        export["check"]["per_rank_local_shapes"]["uneven"]["1"] = [2, 4]
        with self.assertRaises(reshard.CompileError) as caught:
            layout = reshard.import_layout("dtensor", export)
            reshard.compile(layout, rank_threads.whole_layout(
                "destination", 2, {"scale": ((2,), "f32")}), rank_threads.one_node(3))
        self.assertIn("expect-failed", {d.code for d in caught.exception.diagnostics})

    def test_what_is_refused(self):
        for heard in self.heard:
            self.assertIn("'w' has the placement", heard["refused"][0])
            self.assertIn("on rank 0 and ", heard["refused"][1])

    def test_one_file_for_each_content(self):
        saved = [heard["saved"] for heard in self.heard]
        self.assertIsNone(saved[1][0])  # both recorded it: written by rank 0
        self.assertEqual({"[0, 1]": [0], "[0]": [1], "[1]": [2]}, {
            str(file["ranks"]): [copy["src_view"]["offset"] for copy in file["copies"]]
            for file in self.files.values()})

    def test_mcore(self):
        export = self.heard[0]["mcore"]
        self.assertEqual(MCORE_ALIASES, export["logical_aliases"])
        self.assertEqual({"shape": [2, 3], "dtype": "bfloat16"}, export["tensors"]["model.2.k"])
        found = {(e["rank"], e["key"], tuple(e["global_offset"])): e for e in export["entries"]}
        self.assertEqual(6, len(found))
        up = found[1, "decoder.fc1", (12, 0)]
        self.assertEqual(("decoder.layers.0.fc1.weight", [[4, 4], [0, 3]], "float32", [4, 1], 0),
                         (up["local_param"], up["local_view"], up["dtype"],
                          up["axis_fragmentations"], up["prepend_axis_num"]))
        self.assertEqual([[0, 4], [0, 3]], found[0, "decoder.fc1", (0, 0)]["local_view"])
        qkv = found[1, "layers.qkv", (2, 4, 0)]
        self.assertEqual(([4, 3], [5, 8, 3], 1, [0, 0, 0], "bfloat16"), (
            qkv["local_shape"], qkv["global_shape"], qkv["prepend_axis_num"], qkv["replica_id"],
            qkv["dtype"]))
        self.assertNotIn("local_view", qkv)

    def test_mcore_is_imported(self):
        layout = reshard.import_layout("mcore-sharded", self.heard[0]["mcore"])
        reader = rank_threads.whole_layout("destination", 2, {
            "decoder.fc1": ((16, 3), "f32"), "model.2.q": ((4, 3), "bf16"),
            "model.2.k": ((2, 3), "bf16"), "model.2.v": ((2, 3), "bf16")})
        plan = reshard.compile(layout, reader, rank_threads.one_node(3))
        for rank in (0, 1):
            self.assertEqual({"decoder.layers.0.fc1.weight": (8, 3), "qkv": (4, 3)},
                             {param.name: param.shape for param in plan.params(rank)})
        # Rank 1 has the second group, in its order: two rows of q, one of k, one of v.
        for name, row, source in (("model.2.q", 1, 0), ("model.2.q", 2, 1), ("model.2.k", 1, 1),
                                  ("model.2.v", 0, 0), ("decoder.fc1", 5, 1), ("decoder.fc1", 8, 0)):
            with self.subTest(name=name, row=row):
                flow, = plan.explain(2, name, (row, 0))["flows"]
                self.assertEqual([source], flow["sources"])


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class OneProcessTest(unittest.TestCase):
    def test_tensors_without_a_process_group(self):
        export = export_dtensors({"w": torch.zeros(2, 3), "skipped": 7})
        self.assertEqual((1, ["w"]), (export["world"], [t["fqn"] for t in export["tensors"]]))
        layout = reshard.import_layout("dtensor", export)
        plan = reshard.compile(layout, rank_threads.whole_layout(
            "destination", 1, {"w": ((2, 3), "f32")}), rank_threads.one_node(2))
        self.assertEqual(24, plan.stats.network_bytes + plan.stats.scaleup_bytes)

    def test_mcore_states_that_are_refused(self):
        whole = torch.zeros(8, 3)
        flat = sharded("a", whole, (8, 3), (0, 0), (1, 1), flattened_range=slice(0, 5))
        steps = factory("b", whole, [sharded("b", whole[::2], (8, 3), (0, 0), (2, 1))])
        copies = factory("c", whole, [sharded("c", whole[:4].clone(), (8, 3), (0, 0), (2, 1))])
        for state, said in ((flat, "flattened"), (steps, "no boxes"), (copies, "no boxes")):
            with self.assertRaisesRegex(ValueError, "'name'.*" + said):
                export_mcore_sharded({"name": state}, 0)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        speak(int(sys.argv[1]), sys.argv[2])
    else:
        unittest.main()
