"""The parallel settings of NCCL M2N's nine system files on the models that its benchmark has, through
`import m2n`: every element of every rank, and the classes, against layouts that are written here piece
by piece from the benchmark's rules; the bytes of each rank; and plans that deliver every byte."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
import hf_model  # noqa: E402
from importing import rank_storage, run  # noqa: E402

# Of the training side and of the generation side: GPUs, tp, cp, ep, pp, dp.
SETTINGS = {
    "dsv3-128gpus-gb200": ((64, 1, 1, 16, 4, 1), (64, 8, 1, 1, 1, 8)),
    "dsv3-256gpus-gb200": ((128, 1, 1, 16, 8, 1), (128, 8, 1, 1, 1, 16)),
    "dsv3-pp-64gpus-gb200": ((32, 1, 1, 16, 2, 1), (32, 8, 1, 1, 1, 4)),
    "qwen235b-TP2CP2PP4EP16-128gpus-gb200": ((64, 2, 2, 16, 4, 1), (64, 8, 1, 1, 1, 8)),
    "qwen3-32b-dp1-tp1-to-dp1-tp1": ((1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1)),
    "qwen3-32b-dp1-tp2-to-dp1-tp2": ((2, 2, 1, 1, 1, 1), (2, 2, 1, 1, 1, 1)),
    "qwen3-32b-dp1-tp4-to-dp1-tp4": ((4, 4, 1, 1, 1, 1), (4, 4, 1, 1, 1, 1)),
    "qwen3-32b-tp2pp4dp2-to-tp1dp16-32gpus-gb200": ((16, 2, 1, 1, 4, 2), (16, 1, 1, 1, 1, 16)),
    "qwen3-32b-tp4pp4dp2-to-tp4dp8-64gpus-h100": ((32, 4, 1, 1, 4, 2), (32, 4, 1, 1, 1, 8)),
}
KEYS = ("num_gpus", "tp_size", "cp_size", "ep_size", "pp_size", "dp_size")

BY_ROWS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "q_a_proj", "q_b_proj",
           "kv_a_proj_with_mqa", "kv_b_proj", "embed_tokens", "lm_head")
BY_COLUMNS = ("o_proj", "down_proj")


def toy_deepseek():
    """One layer of DeepSeek-V3 without attention, in fp8, as the benchmark ships it."""
    config = dict(hf_model.CONFIGS["deepseek-v3"], num_hidden_layers=1, first_k_dense_replace=0,
                  num_nextn_predict_layers=0)
    return {name: entry for name, entry in hf_model.as_published(config).items()
            if name.startswith("model.layers.0.") and "self_attn" not in name}


MODELS = {"qwen3-32b": lambda: hf_model.tensors(hf_model.CONFIGS["qwen3-32b"]),
          "dsv3-toy": toy_deepseek,
          "qwen3-235b": lambda: hf_model.tensors(hf_model.CONFIGS["qwen3-235b"])}


LAYOUT_DTYPES = {"BF16": "bf16", "F32": "f32", "F8_E4M3": "f8e4m3"}


def is_expert(name):
    return "experts" in name.split(".")


def cut_of(name, training, tp, ep):
    """How many ranks share a tensor between them, and the dim that they cut: None for whole experts."""
    words = name.split(".")
    if is_expert(name):
        if ep > 1:
            return ep, None
        if training:
            return 1, 0
    if words[-1] == "weight" and words[-2] in BY_ROWS:
        return tp, 0
    if words[-1] == "weight" and words[-2] in BY_COLUMNS:
        return tp, 1
    return 1, 0


def stage_of(name, layers, stages):
    words = name.split(".")
    if "layers" in words:
        return int(words[2]) * stages // layers
    return 0 if "embed_tokens" in words else stages - 1


def param_of(name):
    """The param that a tensor is in: the experts of a layer are one."""
    words = name.split(".")
    if is_expert(name):
        del words[words.index("experts") + 1]
    return ".".join(words)


def layers_of(entries):
    return 1 + max(int(name.split(".")[2]) for name in entries if ".layers." in name)


def expected_storage(entries, sizes, training, first_rank):
    """{rank: (params, bytes)}."""
    gpus, tp, _, ep, stages, _ = sizes
    layers = layers_of(entries)
    held = [{} for _ in range(stages)]  # per stage: bytes of each param
    for name, (shape, dtype) in entries.items():
        size = hf_model.DTYPE_BYTES[dtype]
        for extent in shape:
            size *= extent
        # Experts come whole: a rank has its share of their sum.
        stage = held[stage_of(name, layers, stages)]
        stage.setdefault(param_of(name), [0, cut_of(name, training, tp, ep)[0]])[0] += size
    per_stage = gpus // stages
    storage = [(len(params), sum(size // parts for size, parts in params.values()))
               for params in held]
    return {first_rank + rank: storage[rank // per_stage] for rank in range(gpus)}


def by_hand(entries, sizes, training, first_rank):
    """The layout of one side, piece by piece: for each param and part of it, who has it and what it is."""
    gpus, tp, cp, ep, stages, _ = sizes
    per_stage, layers = gpus // stages, layers_of(entries)
    explicit = []
    params = {}
    for name in entries:
        params.setdefault(param_of(name), []).append(name)
    for param, tensors in params.items():
        shape, dtype = entries[tensors[0]]
        parts, dim = cut_of(tensors[0], training, tp, ep)
        stage = stage_of(tensors[0], layers, stages)
        stacked = is_expert(tensors[0])
        for part in range(parts):
            # tp is the fastest index of a rank; of experts on the training side ep is.
            faster = tp * cp if dim is None and not training else 1
            ranks = [first_rank + stage * per_stage + index for index in range(per_stage)
                     if index // faster % parts == part]
            begin, extent = [0] * len(shape), list(shape)
            if dim is not None:
                extent[dim] //= parts
                begin[dim] = part * extent[dim]
            count = len(tensors) // (parts if dim is None else 1)
            first = part * count if dim is None else 0
            pieces = []
            for place, tensor in enumerate(tensors[first:first + count] if stacked else tensors):
                piece = {"t": tensor, "src": [[b, e] for b, e in zip(begin, extent)],
                         "dst": [[place, 1]] * stacked + [[0, e] for e in extent]}
                if stacked:
                    piece["dims"] = [None] + list(range(len(extent)))
                pieces.append(piece)
            explicit.append({"ranks": ",".join(map(str, ranks)), "param": param,
                             "dtype": LAYOUT_DTYPES[dtype], "shape": [count] * stacked + extent,
                             "pieces": pieces})
    return {"format": "reshard-layout", "version": 1,
            "side": "source" if training else "destination",
            "logical": [{"name": name, "shape": list(shape), "dtype": LAYOUT_DTYPES[dtype]}
                        for name, (shape, dtype) in entries.items()],
            "meshes": {"all": {"axes": ["rank"],
                               "ranks": list(range(first_rank, first_rank + gpus))}},
            "explicit": explicit}


def classes(*inputs):
    """Bytes, holders and needers of each class of transfers."""
    done = run("compile", *inputs, "--dump-after=transfers")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("class ")]
    return sorted(line.split(" ", 2)[2] for line in lines)


class M2nSettingsTest(unittest.TestCase):

    def import_settings(self, name, entries, folder):
        train, generation = SETTINGS[name]
        with open(os.path.join(folder, "model.json"), "w", encoding="utf-8") as stream:
            json.dump({tensor: {"shape": shape, "dtype": dtype, "shard": "model.safetensors"}
                       for tensor, (shape, dtype) in entries.items()}, stream)
        with open(os.path.join(folder, "system.json"), "w", encoding="utf-8") as stream:
            json.dump({"_comment": name, "train": dict(zip(KEYS, train), fsdp_size=1),
                       "generation": dict(zip(KEYS, generation), fsdp_size=1)}, stream)
        done = run("import", "m2n", "--model", os.path.join(folder, "model.json"), "--system",
                   os.path.join(folder, "system.json"), "-o", folder, "--gpus-per-node", "4",
                   "--nodes-per-domain", "18")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [os.path.join(folder, file) for file in ("train.json", "infer.json", "topo.json")]

    def check_same_as_by_hand(self, entries, name, paths, folder):
        """Element by element, and in the classes of the transfers."""
        hand = []
        for side, sizes in enumerate(SETTINGS[name]):
            hand.append(os.path.join(folder, ("hand_train.json", "hand_infer.json")[side]))
            with open(hand[-1], "w", encoding="utf-8") as stream:
                json.dump(by_hand(entries, sizes, side == 0, side * SETTINGS[name][0][0]), stream)
            same = run("check", paths[0], *paths[side:side + side], "--against", hand[-1])
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        imported, written = (classes(*layouts, paths[2]) for layouts in (paths[:2], hand))
        self.assertGreater(len(imported), 0)
        # Not assertEqual: a difference of thousands of lines takes unittest minutes to show.
        self.assertTrue(imported == written, "the classes differ")

    def check_model(self, model):
        entries = MODELS[model]()
        for name, (train, generation) in SETTINGS.items():
            with self.subTest(settings=name), tempfile.TemporaryDirectory() as folder:
                paths = self.import_settings(name, entries, folder)
                self.check_same_as_by_hand(entries, name, paths, folder)
                # Few templates, however many tensors.
                self.assertLess(os.path.getsize(paths[0]), 20_000)
                self.assertEqual(rank_storage(*paths[:2]), {
                    "source": expected_storage(entries, train, True, 0),
                    "destination": expected_storage(entries, generation, False, train[0])})
                plan = os.path.join(folder, "plan.fb")
                compiled = run(*paths, "-o", plan)
                self.assertEqual(compiled.returncode, 0, compiled.stderr)
                verified = run("verify", plan)
                self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

    def test_qwen3_32b(self):
        self.assertEqual(len(MODELS["qwen3-32b"]()), 707)
        self.check_model("qwen3-32b")

    def test_toy_deepseek(self):
        self.assertEqual(len(MODELS["dsv3-toy"]()), 1546)
        self.check_model("dsv3-toy")

    def test_qwen3_235b(self):
        name = "qwen235b-TP2CP2PP4EP16-128gpus-gb200"
        entries = MODELS["qwen3-235b"]()
        with tempfile.TemporaryDirectory() as folder:
            paths = self.import_settings(name, entries, folder)
            self.check_same_as_by_hand(entries, name, paths, folder)
            storage = rank_storage(*paths[:2])
            self.assertEqual(storage["source"], expected_storage(entries, SETTINGS[name][0], True, 0))
            # No KV heads are replicated here and nothing is padded: just the model, eight times.
            self.assertEqual(sum(size for _, size in storage["destination"].values()),
                             sum(size for _, size in expected_storage(
                                 entries, SETTINGS[name][1], False, 64).values()))


if __name__ == "__main__":
    unittest.main()
