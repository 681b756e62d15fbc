"""Recorded copies of weight loaders: what vLLM's loader does to Qwen3-235B and DeepSeek-V3 with tensor
parallel size 8, written down copy by copy, against the layouts that people wrote."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
from importing import rank_storage, run  # noqa: E402

LAYOUTS = "tests/data/layouts/"
TOPOLOGIES = "tests/data/topologies/"
TP = 8


class Loader:
    """One rank's loader: every copy as views of a checkpoint tensor and of a param."""

    def __init__(self, rank):
        self.rank = rank
        self.tensors, self.params, self.copies = {}, {}, []

    def param(self, name, *shape, dtype="bf16"):
        self.params[name] = {"shape": list(shape), "dtype": dtype}

    def copy(self, tensor, shape, begin, extent, param, offset, row=None, dtype="bfloat16"):
        """Rows and columns of a tensor from `begin` on to `offset` in a param of rows of `row`."""
        self.tensors[tensor] = {"shape": list(shape), "dtype": dtype}
        stride = [shape[1], 1] if len(shape) == 2 else [1]
        self.copies.append({
            "src": tensor, "dst": param,
            "src_view": {"offset": sum(b * s for b, s in zip(begin, stride)), "shape": list(extent),
                         "stride": stride},
            "dst_view": {"offset": offset, "shape": list(extent),
                         "stride": [row or extent[-1], 1][2 - len(extent):]}})

    def whole(self, name, *shape, dtype="bf16"):
        self.param(name, *shape, dtype=dtype)
        self.copy(name, shape, [0] * len(shape), shape, name, 0, dtype=dtype)

    def rows(self, name, count, columns):
        """A shard of rows."""
        part = count // TP
        self.param(name, part, columns)
        self.copy(name, (count, columns), [self.rank * part, 0], (part, columns), name, 0)

    def columns(self, name, count, columns):
        """A shard of columns."""
        part = columns // TP
        self.param(name, count, part)
        self.copy(name, (count, columns), [0, self.rank * part], (count, part), name, 0)

    def gate_and_up(self, prefix, count, hidden):
        """Shards of gate's rows, then of up's."""
        part, fused = count // TP, prefix + "gate_up_proj.weight"
        self.param(fused, 2 * part, hidden)
        for half, tensor in enumerate(("gate_proj", "up_proj")):
            self.copy(f"{prefix}{tensor}.weight", (count, hidden), [self.rank * part, 0],
                      (part, hidden), fused, half * part * hidden)

    def experts(self, prefix, experts, count, hidden):
        part = count // TP
        w13, w2 = prefix + "experts.w13_weight", prefix + "experts.w2_weight"
        self.param(w13, experts, 2 * part, hidden)
        self.param(w2, experts, hidden, part)
        for expert in range(experts):
            name = f"{prefix}experts.{expert}."
            for half, tensor in enumerate(("gate_proj", "up_proj")):
                self.copy(f"{name}{tensor}.weight", (count, hidden), [self.rank * part, 0],
                          (part, hidden), w13, (expert * 2 + half) * part * hidden)
            self.copy(name + "down_proj.weight", (hidden, count), [0, self.rank * part],
                      (hidden, part), w2, expert * hidden * part)

    def recording(self, ranks):
        return {"format": "reshard-import/recorded-copies", "version": 1, "ranks": ranks,
                "tensors": self.tensors, "params": self.params, "copies": self.copies}


class QwenLoader(Loader):
    """Qwen3-235B."""
    FIRST_RANK, REPLICAS = 64, 8
    LAYERS, EXPERTS, HIDDEN, EXPERT_ROWS, VOCABULARY = 94, 128, 4096, 1536, 151936
    HEAD, QUERY_HEADS, KV_HEADS = 128, 64, 4

    def attention(self, prefix):
        queries, kv = self.QUERY_HEADS // TP * self.HEAD, self.HEAD
        fused = prefix + "qkv_proj.weight"
        self.param(fused, queries + 2 * kv, self.HIDDEN)
        self.copy(prefix + "q_proj.weight", (self.QUERY_HEADS * self.HEAD, self.HIDDEN),
                  [self.rank * queries, 0], (queries, self.HIDDEN), fused, 0)
        # Fewer KV heads than ranks: neighbours hold the same one.
        head = self.rank // (TP // self.KV_HEADS)
        for number, tensor in enumerate(("k_proj", "v_proj")):
            self.copy(f"{prefix}{tensor}.weight", (self.KV_HEADS * self.HEAD, self.HIDDEN),
                      [head * self.HEAD, 0], (self.HEAD, self.HIDDEN), fused,
                      (queries + number * kv) * self.HIDDEN)
        self.columns(prefix + "o_proj.weight", self.HIDDEN, self.QUERY_HEADS * self.HEAD)
        self.whole(prefix + "q_norm.weight", self.HEAD)
        self.whole(prefix + "k_norm.weight", self.HEAD)

    def load(self):
        self.rows("model.embed_tokens.weight", self.VOCABULARY, self.HIDDEN)
        self.rows("lm_head.weight", self.VOCABULARY, self.HIDDEN)
        self.whole("model.norm.weight", self.HIDDEN)
        for layer in range(self.LAYERS):
            prefix = f"model.layers.{layer}."
            self.attention(prefix + "self_attn.")
            self.experts(prefix + "mlp.", self.EXPERTS, self.EXPERT_ROWS, self.HIDDEN)
            self.whole(prefix + "mlp.gate.weight", self.EXPERTS, self.HIDDEN)
            self.whole(prefix + "input_layernorm.weight", self.HIDDEN)
            self.whole(prefix + "post_attention_layernorm.weight", self.HIDDEN)


class DeepseekLoader(Loader):
    """DeepSeek-V3 without its layer for multi-token prediction."""
    FIRST_RANK, REPLICAS = 128, 16
    LAYERS, DENSE, EXPERTS, HIDDEN, VOCABULARY = 61, 3, 256, 7168, 129280
    ROWS, EXPERT_ROWS, HEADS, QUERY_RANK, KV_RANK, NOPE, ROPE = 18432, 2048, 128, 1536, 512, 128, 64

    def attention(self, prefix):
        fused, rows = prefix + "fused_qkv_a_proj.weight", self.KV_RANK + self.ROPE
        self.param(fused, self.QUERY_RANK + rows, self.HIDDEN)
        self.copy(prefix + "q_a_proj.weight", (self.QUERY_RANK, self.HIDDEN), [0, 0],
                  (self.QUERY_RANK, self.HIDDEN), fused, 0)
        self.copy(prefix + "kv_a_proj_with_mqa.weight", (rows, self.HIDDEN), [0, 0],
                  (rows, self.HIDDEN), fused, self.QUERY_RANK * self.HIDDEN)
        self.rows(prefix + "q_b_proj.weight", self.HEADS * (self.NOPE + self.ROPE), self.QUERY_RANK)
        self.rows(prefix + "kv_b_proj.weight", self.HEADS * 2 * self.NOPE, self.KV_RANK)
        self.columns(prefix + "o_proj.weight", self.HIDDEN, self.HEADS * self.NOPE)
        self.whole(prefix + "q_a_layernorm.weight", self.QUERY_RANK)
        self.whole(prefix + "kv_a_layernorm.weight", self.KV_RANK)

    def load(self):
        self.rows("model.embed_tokens.weight", self.VOCABULARY, self.HIDDEN)
        self.rows("lm_head.weight", self.VOCABULARY, self.HIDDEN)
        self.whole("model.norm.weight", self.HIDDEN)
        for layer in range(self.LAYERS):
            prefix = f"model.layers.{layer}."
            self.attention(prefix + "self_attn.")
            if layer < self.DENSE:
                self.gate_and_up(prefix + "mlp.", self.ROWS, self.HIDDEN)
                self.columns(prefix + "mlp.down_proj.weight", self.HIDDEN, self.ROWS)
            else:
                self.experts(prefix + "mlp.", self.EXPERTS, self.EXPERT_ROWS, self.HIDDEN)
                self.whole(prefix + "mlp.gate.weight", self.EXPERTS, self.HIDDEN)
                self.whole(prefix + "mlp.gate.e_score_correction_bias", self.EXPERTS, dtype="f32")
                shared = prefix + "mlp.shared_experts."
                self.gate_and_up(shared, self.EXPERT_ROWS, self.HIDDEN)
                self.columns(shared + "down_proj.weight", self.HIDDEN, self.EXPERT_ROWS)
            self.whole(prefix + "input_layernorm.weight", self.HIDDEN)
            self.whole(prefix + "post_attention_layernorm.weight", self.HIDDEN)


def write_recordings(kind, folder):
    """One file for each rank of a replica, with the ranks of all replicas; paths and copies of one."""
    paths = []
    for rank in range(TP):
        loader = kind(rank)
        loader.load()
        paths.append(os.path.join(folder, f"copies{rank}.json"))
        ranks = [kind.FIRST_RANK + rank + TP * replica for replica in range(kind.REPLICAS)]
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(loader.recording(ranks), stream)
    return paths, len(loader.copies)


class RecordedCopiesTest(unittest.TestCase):

    def check(self, kind, name, topology, copies, entries):
        train, by_hand = (f"{LAYOUTS}{name}_{side}.json" for side in ("train", "infer"))
        with tempfile.TemporaryDirectory() as folder:
            files, count = write_recordings(kind, folder)
            self.assertEqual(count, copies)
            layout = os.path.join(folder, "infer.json")
            done = run("import", "recorded-copies", *files, "-o", layout)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            # Tens of thousands of tensors, most of them read by every rank, in a few entries with loops.
            with open(layout, encoding="utf-8") as stream:
                self.assertEqual(len(json.load(stream)["explicit"]), TP * entries)
            self.assertEqual(rank_storage(train, layout)["destination"],
                             rank_storage(train, by_hand)["destination"])
            same = run("check", train, by_hand, "--against", layout)
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            # Holders, needers and bytes of each class.
            classes = [run("compile", train, infer, TOPOLOGIES + topology, "--dump-after=transfers")
                       for infer in (layout, by_hand)]
            self.assertEqual(classes[0].returncode, 0, classes[0].stderr)
            # Not assertEqual: a difference of megabytes takes unittest minutes to show.
            self.assertTrue(classes[0].stdout == classes[1].stdout, "the classes differ")
            done = run("import", "recorded-copies", *files[:2], "-o", layout, "--max-pieces",
                       str(copies + 1000))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("error: "), 1)
            self.assertIn("copies1.json", done.stderr)
            self.assertIn("[too-many-pieces]", done.stderr)

    def test_qwen3_235b(self):
        self.check(QwenLoader, "qwen3_235b", "h100_64_64.json", 36945, 12)

    def test_deepseek_v3(self):
        self.check(DeepseekLoader, "deepseek_v3_128", "h100_128_128.json", 45395, 19)


if __name__ == "__main__":
    unittest.main()
