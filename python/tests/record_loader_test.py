"""record_loader against the loader itself: what was recorded, copied element by element, and what a
compiled plan moves, have to be what the loader leaves in the params when it really runs."""
import json
import os
import sys
import tempfile
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
    import torch.distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from reshard.torch import Executor, record_loader, save_recorded


def addresses(view):
    """Offsets of a view's elements, row-major."""
    offsets = [view["offset"]]
    for extent, stride in zip(view["shape"], view["stride"]):
        offsets = [offset + i * stride for offset in offsets for i in range(extent)]
    return offsets


def numbered(names):
    """Tensors by name, all of whose elements are different integers from 1 on."""
    tensors, first = {}, 1
    for name, (shape, _) in names.items():
        count = torch.Size(shape).numel()
        tensors[name] = torch.arange(first, first + count, dtype=torch.int32).reshape(shape)
        first += count
    return tensors


def merged_loader(rank, tp, heads, kv_heads, dim):
    """A loader as vLLM's are: one call per checkpoint tensor, merged params, this rank's slices."""
    def load(params, weights):
        q_rows, kv_rows = heads * dim // tp, max(1, kv_heads // tp) * dim
        kv_rank = rank if kv_heads >= tp else rank * kv_heads // tp
        for name, weight in weights:
            if name == "q":
                params["qkv"].data.narrow(0, 0, q_rows).copy_(
                    weight.narrow(0, rank * q_rows, q_rows))
            elif name in ("k", "v"):
                start = q_rows + (kv_rows if name == "v" else 0)
                params["qkv"].data[start:start + kv_rows].copy_(
                    weight[kv_rank * kv_rows:(kv_rank + 1) * kv_rows])
            elif name in ("gate", "up"):
                rows = weight.shape[0] // tp
                params["gate_up"].data.chunk(2, dim=0)[name == "up"].copy_(
                    weight.chunk(tp, dim=0)[rank])
                assert rows * 2 == params["gate_up"].shape[0]
            elif name == "down":
                columns = weight.shape[1] // tp
                params["down"].data.copy_(weight.narrow(1, rank * columns, columns))
            elif name == "norm":
                params["norm"].data.copy_(weight)
    return load


def shapes(**names):
    return {name: (shape, torch.int32) for name, shape in names.items()}


def empty(**names):
    return {name: torch.full(shape, -1, dtype=torch.int32) for name, shape in names.items()}


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class RecordLoaderTest(unittest.TestCase):
    maxDiff = None

    def record(self, params, load, names, rank=0):
        """The record, after its copies were compared with a real run."""
        recorded = record_loader(params, lambda weights: load(params, weights), names, rank=rank)
        for name, tensor in params.items():
            self.assertTrue((tensor == -1).all(), name + " was changed")
        real, weights = self.loaded(params, load, names)
        copied = {name: torch.full((tensor.numel(),), -1, dtype=torch.int32)
                  for name, tensor in real.items()}
        for copy in recorded["copies"]:
            self.assertEqual(copy["src_view"]["shape"], copy["dst_view"]["shape"])
            source = weights[copy["src"]].flatten()
            for taken, put in zip(addresses(copy["src_view"]), addresses(copy["dst_view"])):
                copied[copy["dst"]][put] = source[taken]
        for name, tensor in real.items():
            self.assertEqual(tensor.flatten().tolist(), copied[name].tolist(), name)
        return recorded

    @staticmethod
    def loaded(params, load, names):
        real = {name: tensor.clone() for name, tensor in params.items()}
        weights = numbered(names)
        load(real, iter(weights.items()))
        return real, weights

    LLAMA = dict(q=(16, 6), k=(4, 6), v=(4, 6), gate=(8, 6), up=(8, 6), down=(6, 8), norm=(6,))

    def llama_rank(self, rank, tp):
        kv_rows = max(1, 2 // tp) * 2
        params = empty(qkv=(16 // tp + 2 * kv_rows, 6), gate_up=(16 // tp, 6), down=(6, 8 // tp),
                       norm=(6,))
        load = merged_loader(rank, tp, heads=8, kv_heads=2, dim=2)
        return params, load

    def test_a_merged_loader_on_every_rank(self):
        names = shapes(**self.LLAMA)
        for tp in (1, 2, 4):
            for rank in range(tp):
                with self.subTest(tp=tp, rank=rank):
                    recorded = self.record(*self.llama_rank(rank, tp), names, rank)
                    self.assertEqual(7, len(recorded["copies"]))
                    self.assertEqual(rank, recorded["rank"])
                    self.assertEqual({"qkv", "gate_up", "down", "norm"}, set(recorded["params"]))

    def test_a_plan_of_the_recording_moves_what_the_loader_loads(self):
        names = shapes(**self.LLAMA)
        tp = 4  # two KV heads: each on two ranks
        files, params = [], {}
        for rank in range(tp):
            params[rank], load = self.llama_rank(rank, tp)
            files.append(record_loader(params[rank], lambda weights, rank=rank, load=load: load(
                params[rank], weights), names, rank=rank))
        layout = reshard.import_layout("recorded-copies", *files)
        giver = rank_threads.whole_layout(
            "source", tp, {name: (shape, "i32") for name, (shape, _) in names.items()})
        plan = reshard.compile(giver, layout, rank_threads.one_node(tp + 1))
        backends = reshard.loopback_backends(plan)
        weights = numbered(names)

        def run(rank):
            sides = dict(source=weights) if rank == tp else dict(destination=params[rank])
            executor = Executor(plan, rank, backend=backends[rank], timeout=20, **sides)
            generation = executor.step()
            executor.close()
            return generation

        self.assertEqual({rank: 1 for rank in range(tp + 1)},
                         rank_threads.on_all(range(tp + 1), run))
        for rank in range(tp):
            real, _ = self.loaded(*self.llama_rank(rank, tp), names)
            for name, tensor in real.items():
                self.assertEqual(tensor.tolist(), params[rank][name].tolist(), (rank, name))

    def test_views_of_all_kinds(self):
        def load(params, weights):
            w = dict(weights)
            params["rows"].copy_(w["q"][1::3])
            params["columns"].copy_(w["q"][:, 1:5:2])
            params["turned"].copy_(w["q"].t()[:, :3])
            params["folded"].copy_(w["q"].view(2, 4, 2, 3).permute(2, 0, 3, 1))
            params["chunk"].copy_(w["q"].chunk(4, 0)[2].unsqueeze(0))
            params["into"][:, 2].copy_(w["k"][:, 0])
            params["into"][1:3, :2] = w["k"][2:4, 3:5]
            params["wide"].copy_(w["k"][:, 2:3].expand(4, 5))
            params["one"].copy_(w["k"][3, 4])
            params["split"].copy_(w["q"].split([3, 5], 0)[1].unflatten(1, (2, 3)).select(1, 1))

        recorded = self.record(
            empty(rows=(3, 6), columns=(8, 2), turned=(6, 3), folded=(2, 2, 3, 4), chunk=(1, 2, 6),
                  into=(4, 3), wide=(4, 5), one=(), split=(5, 3)),
            load, shapes(q=(8, 6), k=(4, 6)))
        self.assertEqual(10, len(recorded["copies"]))

    def test_tensors_made_of_checkpoint_tensors(self):
        def load(params, weights):
            w = dict(weights)
            params["cat"].copy_(torch.cat([w["k"], w["v"]], 0)[1:7])
            params["stack"].copy_(torch.stack([w["k"], w["v"]], 0)[:, 1:3, :].contiguous())
            params["dense"].copy_(w["q"].t().contiguous().view(-1)[8:24].reshape(2, 8))
            params["mixed"].copy_(torch.cat([w["q"].chunk(2, 0)[1], w["k"]], 1).reshape(2, 2, 12)[1])
            params["clone"].copy_(w["q"].clone()[2:4].clone()[:, ::2])
            params["experts"].copy_(torch.stack(
                [torch.cat([w["k"][e:e + 2], w["v"][e:e + 2]]) for e in (2, 0)])[:, 1:3, :4])

        self.record(empty(cat=(6, 6), stack=(2, 2, 6), dense=(2, 8), mixed=(2, 12), clone=(2, 3),
                          experts=(2, 2, 4)),
                    load, shapes(q=(8, 6), k=(4, 6), v=(4, 6)))

    def test_moving_to_a_device_is_no_conversion(self):
        def load(params, weights):
            for _, weight in weights:
                params["p"].copy_(weight.to("cpu", copy=True)[:2])
        self.record(empty(p=(2, 3)), load, shapes(w=(4, 3)))

    def test_a_later_copy_wins(self):
        def load(params, weights):
            for _, weight in weights:
                params["p"].copy_(weight)
        recorded = self.record(empty(p=(2, 3)), load, shapes(a=(2, 3), b=(2, 3)))
        self.assertEqual(["a", "b"], [copy["src"] for copy in recorded["copies"]])

    def test_modules_and_what_the_loader_does_not_touch(self):
        module = torch.nn.Linear(6, 4, bias=True, dtype=torch.float32)
        before = module.weight.detach().clone()

        def load(weights):
            for name, weight in weights:
                if name == "w":
                    module.weight.data.copy_(weight)

        recorded = record_loader(module, load, {"w": ((4, 6), torch.float32),
                                                "unused": ((3,), torch.float32)})
        self.assertEqual({"weight": {"shape": [4, 6], "dtype": "f32"}}, recorded["params"])
        self.assertEqual({"w": {"shape": [4, 6], "dtype": "f32"}}, recorded["tensors"])
        self.assertTrue(torch.equal(before, module.weight))

    def test_a_module_without_memory(self):
        module = torch.nn.Linear(3, 2, bias=False, device="meta")
        recorded = record_loader(
            module, lambda weights: [module.weight.data.copy_(w.t()) for _, w in weights],
            {"w": ((3, 2), torch.float32)})
        self.assertEqual([1, 2], recorded["copies"][0]["src_view"]["stride"])

    def refused(self, expected, load, params=None, **names):
        params = empty(p=(2, 3)) if params is None else params
        with self.assertRaisesRegex(NotImplementedError, expected):
            record_loader(params, lambda weights: load(params, weights),
                          shapes(**(names or {"w": (2, 3)})))

    def test_arithmetic_is_refused_by_name(self):
        for work in (lambda w: w.mul(2), lambda w: w + 1, lambda w: -w, lambda w: w.float(), lambda w: w + torch.ones(3),
                     lambda w: w.sum(0), lambda w: w.flip(0), lambda w: w[torch.tensor([1, 0])],
                     lambda w: w.roll(1, 0), lambda w: w.repeat(2, 1), lambda w: w.tril()):
            self.refused("to checkpoint tensor 'w'", lambda params, weights, work=work: [
                params["p"].copy_(work(w)) for _, w in weights])
        self.refused("checkpoint tensor 'w'", lambda params, weights: [
            w.add_(1) for _, w in weights])

    def test_values_cannot_be_read(self):
        for work in (lambda w: w[0, 0].item(), lambda w: bool((w > 0).any()), lambda w: w.tolist()):
            with self.assertRaises((NotImplementedError, RuntimeError)):
                record_loader(empty(p=(2, 3)), lambda weights, work=work: [
                    work(w) for _, w in weights], shapes(w=(2, 3)))

    def test_copies_that_convert_are_refused(self):
        self.refused("'w' is torch.int32 and 'p' is torch.bfloat16",
                     lambda params, weights: [params["p"].copy_(w) for _, w in weights],
                     {"p": torch.zeros(2, 3, dtype=torch.bfloat16)})

    def test_views_of_another_dtype_are_refused(self):
        uint8, float32 = torch.uint8, torch.float32
        self.refused("reads 'w', which is torch.int32, as torch.float32", lambda params, weights: [
            params["p"].copy_(w.view(float32)) for _, w in weights],
            {"p": torch.zeros(2, 3)})
        self.refused("view of param 'p', which is torch.int32, as torch.uint8",
                     lambda params, weights: [params["p"].view(uint8)[:1].copy_(w.view(uint8)[:1])
                                              for _, w in weights])
        self.refused("reads 'w', which is torch.int32, as torch.uint8", lambda params, weights: [
            torch.cat([w.view(uint8), w.view(uint8)]) for _, w in weights])
        self.refused("reads 'w', which is torch.int32, as torch.float32", lambda params, weights: [
            params["p"].copy_(w.clone().view(float32)) for _, w in weights],
            {"p": torch.zeros(2, 3)})

    def test_a_dtype_that_layouts_do_not_have(self):
        params = {"p": torch.zeros(4, dtype=torch.complex64)}
        names = {"w": ((4,), torch.complex64)}
        with self.assertRaisesRegex(NotImplementedError, "'w' is torch.complex64"):
            record_loader(params, lambda weights: [params["p"].copy_(w) for _, w in weights], names)
        self.assertEqual([], record_loader(params, list, names)["copies"])

    def test_copies_to_what_is_no_param_are_refused(self):
        self.refused("'w' and a tensor that is no param", lambda params, weights: [
            torch.empty(2, 3, dtype=torch.int32).copy_(w) for _, w in weights])

    def test_joining_with_other_tensors_is_refused(self):
        self.refused("aten.cat", lambda params, weights: [
            torch.cat([w, torch.zeros(1, 3, dtype=torch.int32)]) for _, w in weights])

    def test_params_are_neither_changed_nor_computed_on(self):
        p, q = (torch.full((4, 4), value, dtype=torch.int32) for value in (3, 5))
        held = p.clone(), q.clone()

        def swap(rows):
            kept = rows[:2].clone()
            rows[:2].copy_(rows[2:])
            rows[2:].copy_(kept)

        for work, said in (
                (lambda: q.copy_(p), "copies param 'p' to param 'q'"),
                (lambda: swap(p), "copies param 'p' to param 'p'"),
                (lambda: p[:2].copy_(q[:2].clone()), "made of no checkpoint tensor to param 'p'"),
                (lambda: p.mul_(2), "aten.mul_.Tensor to param 'p'"),
                (lambda: torch.add(q, 1, out=p), "aten.add.out to param 'p'"),
                (lambda: torch._foreach_mul_([q, p], 2), "aten._foreach_mul_.Scalar to param 'q'"),
                (lambda: p.data.t().clamp_(0, 1), "aten.clamp_.default to param 'p'"),
                (lambda: p.resize_(2), "aten.resize_.default to param 'p'"),
                (lambda: p.zero_(), "aten.zero_.default to elements of param 'p' that 'w'")):
            with self.subTest(said=said):
                self.refused(said, lambda params, weights, work=work: [
                    (params["p"].copy_(w), work()) for _, w in weights], {"p": p, "q": q}, w=(4, 4))
                self.assertTrue(torch.equal(held[0], p) and torch.equal(held[1], q))

    def test_dtensors(self):
        torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
        self.addCleanup(torch.distributed.destroy_process_group)
        mesh = init_device_mesh("cpu", (2,))
        local = torch.full((2, 3), 7, dtype=torch.int32)
        params = {"p": DTensor.from_local(local, mesh, [Shard(0)], run_check=False)}
        for work, said in ((lambda p, w: p.mul_(2), "aten.mul_.Tensor to param 'p'"),
                           (lambda p, w: p.copy_(w), "to param 'p' as a DTensor"),
                           (lambda p, w: (p.to_local().copy_(w[2:]), p.zero_()), "elements of param 'p'")):
            self.refused(said, lambda params, weights, work=work: [
                work(params["p"], w) for _, w in weights], params, w=(4, 3))
        recorded = record_loader(params, lambda weights: [
            (params["p"].zero_(), params["p"].to_local().copy_(w[2:])) for _, w in weights],
            shapes(w=(4, 3)))
        self.assertEqual([6], [copy["src_view"]["offset"] for copy in recorded["copies"]])
        self.assertTrue((local == 7).all())

    def test_fills_of_padding_are_left_out(self):
        def load(weights):
            params["rows"].zero_()
            for _, weight in weights:
                params["rows"][:4].copy_(weight)
                params["columns"][:, :3].copy_(weight)
                params["steps"][::2, :3].copy_(weight)
            params["rows"][4:].fill_(7)
            params["columns"][:, 3:] = 0
            params["steps"][:, 3].fill_(torch.tensor(1, dtype=torch.int32))
            torch.nn.init.ones_(params["unused"])

        params = empty(rows=(6, 3), columns=(4, 5), steps=(8, 4), unused=(2,))
        recorded = record_loader(params, load, shapes(w=(4, 3)))
        self.assertEqual(["rows", "columns", "steps"], [copy["dst"] for copy in recorded["copies"]])
        self.assertEqual({"rows", "columns", "steps"}, set(recorded["params"]))
        for name, tensor in params.items():
            self.assertTrue((tensor == -1).all(), name)

    def test_fills_of_what_was_copied_are_refused(self):
        for fill in (lambda p: p[3:], lambda p: p[:, 2:], lambda p: p.view(-1)[10:13],
                     lambda p: p[0, 0]):
            self.refused("aten.fill_.Scalar to elements of param 'p' that 'w' was copied to",
                         lambda params, weights, fill=fill: [
                             (params["p"][:4, :3].copy_(w), fill(params["p"]).fill_(0))
                             for _, w in weights], empty(p=(5, 4)), w=(4, 3))

    @staticmethod
    def flat():
        """A buffer of 40 elements: a, a gap of 4, b; and what is all of it."""
        whole = torch.full((40,), -1, dtype=torch.int32)
        return whole, {"a": whole[:12].view(4, 3), "b": whole[16:].view(8, 3)}

    def test_params_of_one_buffer(self):
        _, params = self.flat()

        def load(real, weights):
            for name, weight in weights:
                if name == "u":
                    real["b"][5:].copy_(weight)
                else:
                    real["a"].copy_(weight)
                    real["b"].data.narrow(0, 0, 4).copy_(weight)

        # Of their own, as the test's copies of them are.
        expected = self.record({name: tensor.clone() for name, tensor in params.items()}, load,
                               shapes(w=(4, 3), u=(3, 3)))
        recorded = record_loader(params, lambda weights: load(params, weights),
                                 shapes(w=(4, 3), u=(3, 3)))
        self.assertEqual(expected, recorded)
        only_a = record_loader(params, lambda weights: [params["a"].copy_(w) for _, w in weights],
                               shapes(w=(4, 3)))
        self.assertEqual({"a"}, set(only_a["params"]))
        record_loader(params, lambda weights: [  # beside it, not in it
            (params["a"].copy_(w), params["b"].zero_()) for _, w in weights], shapes(w=(4, 3)))

    def test_places_that_are_in_no_one_param(self):
        whole, params = self.flat()
        for place, said in ((whole[12:15], "the storage of 'a', outside of it"),
                            (whole[10:13], "to 'a' and beyond its elements"),
                            (whole[9:18], "params 'a' and 'b' both"), (whole[:40:20], "'a' and 'b'")):
            self.refused(said, lambda _, weights, place=place: [
                place.copy_(w[:place.numel()]) for _, w in weights], params, w=(9,))
        self.refused("aten.zero_.default to elements of param 'a'", lambda _, weights: [
            (params["a"].copy_(w), whole.zero_()) for _, w in weights], params, w=(4, 3))
        overlap = {"q": whole[:12], "qkv": whole[:36]}
        self.refused("params 'q' and 'qkv' both are", lambda _, weights: [
            overlap["q"].copy_(w) for _, w in weights], overlap, w=(12,))

    def test_params_with_gaps(self):
        columns = {"p": torch.full((4, 8), -1, dtype=torch.int32)[:, :4]}
        self.refused(r"param 'p' has shape \[4, 4\] and strides \[8, 1\]", lambda _, weights: [
            columns["p"].copy_(w) for _, w in weights], columns, w=(4, 4))

    def test_tied_params_are_recorded_once(self):
        module = torch.nn.Module()
        module.a = module.b = torch.nn.Parameter(torch.zeros(2, 3))
        recorded = record_loader(module, lambda weights: [module.a.data.copy_(w) for _, w in weights],
                                 {"w": ((2, 3), torch.float32)})
        self.assertEqual(1, len(recorded["params"]))

    def test_a_param_that_was_allocated_anew(self):
        module = torch.nn.Linear(3, 2, bias=False)

        def load(weights):
            for _, weight in weights:
                module.weight.data = torch.zeros(2, 3)
        with self.assertRaisesRegex(RuntimeError, "'weight' anew"):
            record_loader(module, load, {"w": ((2, 3), torch.float32)})

    def test_files_of_ranks_on_their_own(self):
        names = shapes(norm=(6,))
        params = empty(norm=(6,))
        recorded = [record_loader(params, lambda weights: [params["norm"].copy_(w)
                                                           for _, w in weights], names, rank=rank)
                    for rank in (5, 7)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [save_recorded(record, folder) for record in recorded]
            self.assertEqual(sorted(map(os.path.basename, paths)), sorted(os.listdir(folder)))
            for path, record in zip(paths, recorded):
                with open(path, encoding="utf-8") as stream:
                    saved = json.load(stream)
                self.assertEqual([record.pop("rank")], saved.pop("ranks"))
                self.assertEqual(record, saved)
            layout = reshard.import_layout("recorded-copies", *paths)
        self.assertEqual([5, 7], layout["meshes"]["recorded"]["ranks"])


if __name__ == "__main__":
    unittest.main()
