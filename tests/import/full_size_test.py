"""Seven public models at their real sizes, from the headers of their files to a proven plan."""
import json
import math
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
import hf_model  # noqa: E402
from importing import import_model, megatron, rank_storage, run, vllm  # noqa: E402

# Tensors and elements of the models as they are published.
TOTALS = {
    "qwen3-235b": (36945, 235093634560),
    "qwen3-30b": (18867, 30532122624),
    "qwen3-32b": (707, 32762123264),
    "llama-3.1-70b": (723, 70553706496),
    "deepseek-v3": (46183, 684489845504),
    "kimi-k2": (69975, 1026408232448),
    "gpt-oss-120b": (615, 116829156672),
}


def write_topology(path, ranks):
    topology = {
        "format": "reshard-topo", "version": 1,
        "node_types": {"host": {"gpus": 8, "nics": {"for": 8, "name": "n{i}", "bw": 50,
                                                    "gpu": "{i}"}}},
        "nodes": [{"names": "h[0-%d]" % (-(-ranks // 8) - 1), "type": "host"}],
        "scaleup": [{"name": "nvl-{node}", "per": "node", "bw": 370}],
        "fabrics": [{"name": "ib", "kind": "flat"}],
        "ranks": [{"ranks": "0-%d" % (ranks - 1), "nodes": "h[0-%d]" % (-(-ranks // 8) - 1)}]}
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(topology, stream)


class FullSizeTest(unittest.TestCase):

    def check(self, name, train, infer, files=1, model=None):
        """Imports, compiles and verifies; the bytes that each side stores."""
        config = hf_model.CONFIGS[name]
        with tempfile.TemporaryDirectory() as folder:
            hf_model.write_model(folder, config, hf_model.as_published(config), files)
            done = import_model(folder, train, infer, model)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("%s tensors" % format(len(hf_model.tensors(config)), ","), done.stdout)
            paths = [os.path.join(folder, file) for file in ("train.json", "infer.json", "topo.json")]
            # Templates: the size does not grow with the number of layers or experts.
            self.assertLess(os.path.getsize(paths[0]), 15_000)
            write_topology(paths[2], train["world"] + infer["world"])
            plan = os.path.join(folder, "plan.fb")
            compiled = run(*paths, "-o", plan)
            self.assertEqual(compiled.returncode, 0, compiled.stderr)
            verified = run("verify", plan)
            self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
            return {side: sum(size for _, size in ranks.values())
                    for side, ranks in rank_storage(*paths[:2]).items()}

    def elements(self, name):
        return sum(math.prod(shape) for shape, _ in
                   hf_model.tensors(hf_model.CONFIGS[name]).values())

    def test_models_are_the_published_ones(self):
        for name, (tensors, elements) in TOTALS.items():
            with self.subTest(name):
                config = hf_model.CONFIGS[name]
                sizes = {tensor: math.prod(shape)
                         for tensor, (shape, _) in hf_model.tensors(config).items()}
                if name == "deepseek-v3":
                    # One more layer, with a projection of two states, three norms, and an
                    # embedding and a head of its own.
                    hidden, vocab = config["hidden_size"], config["vocab_size"]
                    sizes.update([("mtp." + tensor, size) for tensor, size in sizes.items()
                                  if tensor.startswith("model.layers.60.")])
                    sizes.update({"eh_proj": 2 * hidden * hidden, "enorm": hidden, "hnorm": hidden,
                                  "norm": hidden, "embed": vocab * hidden, "head": vocab * hidden})
                self.assertEqual((len(sizes), sum(sizes.values())), (tensors, elements))

    def test_qwen3_30b(self):
        stored = self.check("qwen3-30b", megatron(world=16, tp=2, pp=2, ep=8, etp=1,
                                                  experts="te_grouped"),
                            vllm(world=8, tp=4, dp=2, enable_expert_parallel=True), 16)
        self.assertGreater(stored["destination"], 2 * 2 * self.elements("qwen3-30b"))

    def test_qwen3_32b(self):
        stored = self.check("qwen3-32b", {"engine": "fsdp2", "world": 16}, vllm(world=8, tp=8, dp=1),
                            17)
        # Nothing is padded where one rank has each element.
        self.assertEqual(stored["source"], 2 * self.elements("qwen3-32b"))

    def test_llama_70b(self):
        stored = self.check("llama-3.1-70b", megatron(world=32, tp=4, cp=2, pp=4, vpp=5),
                            {"engine": "hf", "world": 30, "tensors": "file_per_rank"}, 30)
        self.assertEqual(stored["destination"], 2 * self.elements("llama-3.1-70b"))

    def test_deepseek_v3_in_one_engine(self):
        self.check("deepseek-v3", megatron(world=256, tp=1, pp=16, ep=16, etp=1,
                                           experts="te_grouped", pipeline={"first": 3, "last": 2}),
                   vllm(world=32, tp=1, dp=32, dp_mode="vllm_dp", enable_expert_parallel=True,
                        expert_placement="round_robin"), 163,
                   {"mtp": "omitted", "dequantized": True})

    def test_kimi_k2(self):
        self.check("kimi-k2", megatron(world=256, tp=8, pp=16, ep=16, etp=1, experts="te_grouped",
                                       pipeline={"first": 3, "last": 2}),
                   vllm(world=64, tp=16, dp=4), 61)

    def test_gpt_oss_120b(self):
        self.check("gpt-oss-120b", megatron(world=32, tp=4, pp=4, ep=8, etp=1,
                                            experts="te_grouped"),
                   vllm(world=16, tp=4, dp=4, enable_expert_parallel=True), 15)


if __name__ == "__main__":
    unittest.main()
