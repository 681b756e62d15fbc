"""Imported layouts of Qwen3-235B and DeepSeek-V3 against those that people wrote: equal classes, with
all their bytes, holders and needers, and as many params and bytes on each rank."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
import hf_model  # noqa: E402
from importing import import_model, megatron, rank_storage, run, vllm  # noqa: E402

LAYOUTS = "tests/data/layouts/"
TOPOLOGIES = "tests/data/topologies/"


class SameAsByHandTest(unittest.TestCase):

    def compare(self, name, train, infer, by_hand, topology, files, model=None):
        config = hf_model.CONFIGS[name]
        with tempfile.TemporaryDirectory() as folder:
            hf_model.write_model(folder, config, hf_model.as_published(config), files)
            done = import_model(folder, train, infer, model)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            imported = [os.path.join(folder, file) for file in ("train.json", "infer.json")]
            written = [LAYOUTS + file + ".json" for file in by_hand]
            self.assertEqual(rank_storage(*imported), rank_storage(*written))
            classes = [run("compile", *layouts, TOPOLOGIES + topology, "--dump-after=transfers")
                       for layouts in (imported, written)]
            self.assertEqual(classes[0].returncode, 0, classes[0].stderr)
            self.assertGreater(classes[0].stdout.count("\nclass "), 100)
            # Not assertEqual: a difference of megabytes takes unittest minutes to show.
            self.assertTrue(classes[0].stdout == classes[1].stdout, "the classes differ")

    def test_qwen3_235b(self):
        train = megatron(world=64, tp=2, cp=2, pp=4, ep=16, etp=1, experts="te_grouped",
                         pipeline={"first": 23, "last": 23}, tie_embeddings=False)
        self.compare("qwen3-235b", train, vllm(world=64, tp=8, dp=8),
                     ("qwen3_235b_train", "qwen3_235b_infer"), "h100_64_64.json", 118)

    def compare_deepseek(self, train, infer, by_hand, topology):
        self.compare("deepseek-v3", megatron(tp=1, etp=1, experts="te_grouped", **train),
                     vllm(**infer), by_hand, topology, 163,
                     model={"mtp": "omitted", "dequantized": True})

    def test_deepseek_v3_128(self):
        # 61 layers on 4 stages in an order that 'first' and 'last' cannot say.
        stages = [[0, 15], [15, 30], [30, 46], [46, 61]]
        self.compare_deepseek({"world": 128, "pp": 4, "ep": 16, "pipeline": {"stages": stages}},
                              {"world": 128, "tp": 8, "dp": 16},
                              ("deepseek_v3_128_train", "deepseek_v3_128_infer"),
                              "h100_128_128.json")

    def test_deepseek_v3_256(self):
        self.compare_deepseek({"world": 256, "pp": 16, "ep": 16,
                               "pipeline": {"first": 3, "last": 2}},
                              {"world": 256, "tp": 32, "dp": 8},
                              ("deepseek_v3_train", "deepseek_v3_infer"), "h100_256_256.json")

    def test_deepseek_v3_4096(self):
        self.compare_deepseek({"world": 4096, "pp": 16, "ep": 64,
                               "pipeline": {"first": 3, "last": 2}},
                              {"world": 4096, "tp": 8, "dp": 512},
                              ("deepseek_v3_4096_train", "deepseek_v3_4096_infer"),
                              "h100_4096_4096.json")


if __name__ == "__main__":
    unittest.main()
