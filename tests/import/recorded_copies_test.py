"""Recorded copies of a weight loader: what vLLM's loader does to Qwen3-235B with tensor parallel size 8,
written down copy by copy, against the layout that people wrote."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
from importing import rank_storage, run  # noqa: E402

TRAIN = "tests/data/layouts/qwen3_235b_train.json"
BY_HAND = "tests/data/layouts/qwen3_235b_infer.json"
TOPOLOGY = "tests/data/topologies/h100_64_64.json"

LAYERS, EXPERTS, HIDDEN, EXPERT_ROWS, VOCABULARY = 94, 128, 4096, 1536, 151936
HEAD, QUERY_HEADS, KV_HEADS, TP, FIRST_RANK, REPLICAS = 128, 64, 4, 8, 64, 8


class Loader:
    """One rank's loader: every copy as views of a checkpoint tensor and of a param."""

    def __init__(self, rank):
        self.rank = rank
        self.tensors, self.params, self.copies = {}, {}, []

    def param(self, name, *shape):
        self.params[name] = {"shape": list(shape), "dtype": "bf16"}

    def copy(self, tensor, shape, begin, extent, param, offset, row=None):
        """Rows and columns of a tensor from `begin` on to `offset` in a param of rows of `row`."""
        self.tensors[tensor] = {"shape": list(shape), "dtype": "bfloat16"}
        stride = [shape[1], 1] if len(shape) == 2 else [1]
        self.copies.append({
            "src": tensor, "dst": param,
            "src_view": {"offset": sum(b * s for b, s in zip(begin, stride)), "shape": list(extent),
                         "stride": stride},
            "dst_view": {"offset": offset, "shape": list(extent),
                         "stride": [row or extent[-1], 1][2 - len(extent):]}})

    def whole(self, name, *shape):
        self.param(name, *shape)
        self.copy(name, shape, [0] * len(shape), shape, name, 0)

    def rows(self, name, count, columns):
        """A shard of rows."""
        part = count // TP
        self.param(name, part, columns)
        self.copy(name, (count, columns), [self.rank * part, 0], (part, columns), name, 0)

    def attention(self, prefix):
        queries, kv = QUERY_HEADS // TP * HEAD, HEAD
        fused = prefix + "qkv_proj.weight"
        self.param(fused, queries + 2 * kv, HIDDEN)
        self.copy(prefix + "q_proj.weight", (QUERY_HEADS * HEAD, HIDDEN), [self.rank * queries, 0],
                  (queries, HIDDEN), fused, 0)
        # Fewer KV heads than ranks: neighbours hold the same one.
        head = self.rank // (TP // KV_HEADS)
        for number, tensor in enumerate(("k_proj", "v_proj")):
            self.copy(f"{prefix}{tensor}.weight", (KV_HEADS * HEAD, HIDDEN), [head * HEAD, 0],
                      (HEAD, HIDDEN), fused, (queries + number * kv) * HIDDEN)
        columns = QUERY_HEADS * HEAD // TP
        self.param(prefix + "o_proj.weight", HIDDEN, columns)
        self.copy(prefix + "o_proj.weight", (HIDDEN, QUERY_HEADS * HEAD), [0, self.rank * columns],
                  (HIDDEN, columns), prefix + "o_proj.weight", 0)
        self.whole(prefix + "q_norm.weight", HEAD)
        self.whole(prefix + "k_norm.weight", HEAD)

    def experts(self, prefix):
        part = EXPERT_ROWS // TP
        w13, w2 = prefix + "experts.w13_weight", prefix + "experts.w2_weight"
        self.param(w13, EXPERTS, 2 * part, HIDDEN)
        self.param(w2, EXPERTS, HIDDEN, part)
        for expert in range(EXPERTS):
            name = f"{prefix}experts.{expert}."
            for half, tensor in enumerate(("gate_proj", "up_proj")):
                self.copy(f"{name}{tensor}.weight", (EXPERT_ROWS, HIDDEN), [self.rank * part, 0],
                          (part, HIDDEN), w13, (expert * 2 + half) * part * HIDDEN)
            self.copy(name + "down_proj.weight", (HIDDEN, EXPERT_ROWS), [0, self.rank * part],
                      (HIDDEN, part), w2, expert * HIDDEN * part)
        self.whole(prefix + "gate.weight", EXPERTS, HIDDEN)

    def load(self):
        self.rows("model.embed_tokens.weight", VOCABULARY, HIDDEN)
        self.rows("lm_head.weight", VOCABULARY, HIDDEN)
        self.whole("model.norm.weight", HIDDEN)
        for layer in range(LAYERS):
            prefix = f"model.layers.{layer}."
            self.attention(prefix + "self_attn.")
            self.experts(prefix + "mlp.")
            self.whole(prefix + "input_layernorm.weight", HIDDEN)
            self.whole(prefix + "post_attention_layernorm.weight", HIDDEN)

    def recording(self):
        ranks = [FIRST_RANK + self.rank + TP * replica for replica in range(REPLICAS)]
        return {"format": "reshard-import/recorded-copies", "version": 1, "ranks": ranks,
                "tensors": self.tensors, "params": self.params, "copies": self.copies}


def classes(layout):
    """The transfers that the compiler finds, as text: holders, needers and bytes of each class."""
    done = run("compile", TRAIN, layout, TOPOLOGY, "--dump-after=transfers")
    assert done.returncode == 0, done.stderr
    return done.stdout


class RecordedCopiesTest(unittest.TestCase):

    def test_qwen3_235b(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for rank in range(TP):
                loader = Loader(rank)
                loader.load()
                files.append(os.path.join(folder, f"copies{rank}.json"))
                with open(files[-1], "w", encoding="utf-8") as stream:
                    json.dump(loader.recording(), stream)
            layout = os.path.join(folder, "infer.json")
            done = run("import", "recorded-copies", *files, "-o", layout)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            # 36,945 tensors, most of them read by every rank, in a few entries with loops.
            with open(layout, encoding="utf-8") as stream:
                entries = json.load(stream)["explicit"]
            self.assertEqual(len(entries), TP * 12)
            self.assertEqual(rank_storage(TRAIN, layout)["destination"],
                             rank_storage(TRAIN, BY_HAND)["destination"])
            self.assertTrue(classes(layout) == classes(BY_HAND), "the classes differ")
            done = run("import", "recorded-copies", files[0], "-o", layout, "--max-pieces", "1000")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("error: "), 1)
            self.assertIn("[too-many-pieces]", done.stderr)


if __name__ == "__main__":
    unittest.main()
