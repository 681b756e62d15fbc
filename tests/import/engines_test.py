"""Imported layouts of small models against what the engines' loaders make of their tensors: which params
a rank has, their shapes, and which element of the model stands where."""
import json
import os
import random
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/import")
import engines  # noqa: E402
import hf_model  # noqa: E402
from importing import import_model, megatron, rank_storage, run, vllm  # noqa: E402

SEED = 20261129
POINTS = 24  # of each param on each rank, beside its first and last element


def small(name, **values):
    """A public model with other sizes."""
    config = dict(hf_model.CONFIGS[name], hidden_size=12, vocab_size=90, num_hidden_layers=4)
    if config["architectures"] != ["DeepseekV3ForCausalLM"]:
        config.update(num_attention_heads=8, num_key_value_heads=2, head_dim=4)
    config.update(values)
    return config


DENSE = {"intermediate_size": 16}
MOE = {"num_experts": 6, "moe_intermediate_size": 8}
OSS = {"intermediate_size": 8, "num_local_experts": 4}
MLA = {"num_attention_heads": 4, "q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 3,
       "qk_rope_head_dim": 2, "v_head_dim": 4, "intermediate_size": 16, "moe_intermediate_size": 8,
       "n_routed_experts": 8, "first_k_dense_replace": 1, "n_group": 2,
       "num_nextn_predict_layers": 0, "quantization_config": None}


def small_megatron(**values):
    return megatron(vocab={"make_divisible_by": 8}, **values)


def small_vllm(**values):
    return vllm(**dict({"vocab": {"pad_to": 16}}, **values))


class EnginesTest(unittest.TestCase):

    def check(self, config, train, infer, files=1):
        """Imports, and compares both layouts with the engines."""
        entries = hf_model.tensors(config)
        model = engines.Model(config, entries)
        trainer = engines.fsdp2 if train["engine"] == "fsdp2" else engines.megatron
        with tempfile.TemporaryDirectory() as folder:
            hf_model.write_model(folder, config, entries, files)
            done = import_model(folder, train, infer)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            layouts = [os.path.join(folder, name) for name in ("train.json", "infer.json")]
            sides = [trainer(model, train)]
            if infer["engine"] == "vllm":
                sides.append(engines.vllm(model, infer))
            else:
                sides.append(self.whole_tensors(model, infer, files))
            sides[1] = {rank + train["world"]: params for rank, params in sides[1].items()}
            self.compare(layouts, sides)
            return layouts, sides

    @staticmethod
    def whole_tensors(model, infer, files):
        names = model.names()
        if infer["tensors"] == "replicated":
            return {rank: {name: model[name] for name in names} for rank in range(infer["world"])}
        return {rank: {name: model[name] for name in
                       names[rank * len(names) // files:(rank + 1) * len(names) // files]}
                for rank in range(infer["world"])}

    def compare(self, layouts, sides):
        storage = rank_storage(*layouts)
        for layout, side, name in zip(layouts, sides, ("source", "destination")):
            self.assertEqual({rank: params for rank, (params, _) in storage[name].items()},
                             {rank: len(params) for rank, params in side.items()})
            self.add_facts(layout, side)
        done = run("check", *layouts)
        self.assertEqual((done.returncode, done.stderr[:2000]), (0, ""), "seed %d" % SEED)

    @staticmethod
    def add_facts(path, side):
        """Writes what the engine does into the layout as `expect`."""
        chance = random.Random(SEED)
        facts = []
        for rank, params in side.items():
            for name, elements in params.items():
                indices = list(elements.indices())
                chosen = indices[:1] + indices[-1:] + chance.sample(indices, min(POINTS, len(indices)))
                points = [{"at": list(at), "tensor": elements.at(at)[0],
                           "index": list(elements.at(at)[1])}
                          for at in sorted(set(chosen)) if elements.at(at) is not None]
                facts.append({"rank": rank, "param": name, "shape": list(elements.shape),
                              "points": points})
        with open(path, encoding="utf-8") as stream:
            layout = json.load(stream)
        layout["expect"] = facts
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(layout, stream)

    def test_llama_with_fewer_kv_heads_than_ranks(self):
        self.check(small("llama-3.1-70b", **DENSE), small_megatron(world=8, tp=2, pp=2),
                   small_vllm(world=8, tp=4, dp=2))

    def test_fewer_kv_heads_than_trainer_ranks(self):
        self.check(small("llama-3.1-70b", **DENSE), small_megatron(world=4, tp=4, pp=1),
                   small_vllm(world=2, tp=2, dp=1))

    def test_tied_qwen3_with_virtual_stages(self):
        self.check(small("qwen3-32b", num_hidden_layers=8, tie_word_embeddings=True, **DENSE),
                   small_megatron(world=8, tp=2, cp=2, pp=2, vpp=2, tie_embeddings=True),
                   small_vllm(world=6, tp=2, pp=3, dp=1))

    def test_tied_qwen3_on_one_stage(self):
        self.check(small("qwen3-32b", tie_word_embeddings=True, **DENSE),
                   small_megatron(world=2, tp=2, pp=1), small_vllm(world=1, tp=1, dp=1))

    def test_virtual_and_uneven_stages(self):
        self.check(small("qwen3-32b", num_hidden_layers=14, **DENSE),
                   small_megatron(world=4, tp=1, pp=4, vpp=2, pipeline={"first": 2, "last": 4}),
                   small_vllm(world=4, tp=1, pp=4, dp=1))

    def test_stages_as_listed(self):
        self.check(small("qwen3-32b", num_hidden_layers=5, **DENSE),
                   small_megatron(world=2, tp=1, pp=2, vpp=2, pipeline={
                       "stages": [[[0, 2], [3, 4]], [[2, 3], [4, 5]]]}),
                   small_vllm(world=2, tp=2, dp=1))

    def test_qwen2_with_biases(self):
        config = small("qwen3-32b", **DENSE)
        config["architectures"] = ["Qwen2ForCausalLM"]
        self.check(config, small_megatron(world=4, tp=2, pp=2), small_vllm(world=4, tp=4, dp=1))

    def test_biases_of_all_projections(self):
        self.check(small("llama-3.1-70b", attention_bias=True, **DENSE),
                   small_megatron(world=2, tp=2, pp=1), small_vllm(world=2, tp=2, dp=1))

    def test_qwen3_moe_with_uneven_experts_over_an_engine(self):
        self.check(small("qwen3-30b", num_hidden_layers=5, **MOE),
                   small_megatron(world=24, order="cp-tp-ep-dp-pp", tp=2, cp=2, pp=3, ep=2, etp=2,
                                  experts="te_grouped", pipeline={"first": 1, "last": 2}),
                   small_vllm(world=4, tp=2, dp=2, dp_mode="vllm_dp", enable_expert_parallel=True))

    def test_qwen3_moe_cut_over_an_engine(self):
        self.check(small("qwen3-30b", **MOE),
                   small_megatron(world=12, tp=2, pp=2, ep=3, etp=1, experts="sequential",
                                  glu_interleave=2),
                   small_vllm(world=4, tp=2, dp=2, dp_mode="vllm_dp"))

    def test_deepseek_round_robin(self):
        self.check(small("deepseek-v3", **MLA),
                   small_megatron(world=8, tp=2, pp=2, ep=2, etp=2, experts="single_grouped"),
                   small_vllm(world=8, tp=4, dp=2, version="0.23.1", enable_expert_parallel=True,
                              expert_placement="round_robin"))

    def test_deepseek_without_low_rank_queries(self):
        self.check(small("kimi-k2", **dict(MLA, q_lora_rank=None, n_shared_experts=2, n_group=1)),
                   small_megatron(world=4, tp=2, pp=1, ep=4, etp=1, experts="te_grouped"),
                   small_vllm(world=8, tp=2, dp=4, dp_mode="vllm_dp", enable_expert_parallel=True,
                              shared_experts="replicated"))

    def test_gpt_oss_cut_over_ranks(self):
        self.check(small("gpt-oss-120b", **OSS),
                   small_megatron(world=8, tp=2, pp=2, ep=2, etp=2, experts="te_grouped"),
                   small_vllm(world=4, tp=2, dp=2, dp_mode="vllm_dp"))

    def test_gpt_oss_experts_over_ranks(self):
        self.check(small("gpt-oss-120b", **OSS),
                   small_megatron(world=4, tp=1, pp=2, ep=2, etp=1, experts="single_grouped",
                                  glu_interleave=4),
                   small_vllm(world=2, tp=2, dp=1, enable_expert_parallel=True))

    def test_fsdp2_uneven(self):
        self.check(small("qwen3-32b", tie_word_embeddings=True, **DENSE),
                   {"engine": "fsdp2", "world": 7},
                   {"engine": "hf", "world": 2, "tensors": "replicated"})

    def test_fsdp2_of_replicas_over_tensor_parallelism(self):
        self.check(small("llama-3.1-70b", **DENSE),
                   {"engine": "fsdp2", "world": 8, "tp": 2, "dp_replicate": 2, "tp_plan": "column_row",
                    "strided": "order"}, small_vllm(world=2, tp=2, dp=1))

    def test_fsdp2_of_expert_modules(self):
        self.check(small("deepseek-v3", **MLA), {"engine": "fsdp2", "world": 3, "experts": "modules"},
                   small_vllm(world=2, tp=2, dp=1))

    def test_fsdp2_of_stacked_experts(self):
        self.check(small("deepseek-v3", **MLA), {"engine": "fsdp2", "world": 5, "experts": "stacked"},
                   small_vllm(world=2, tp=2, dp=1))

    def test_fsdp2_of_experts_to_files(self):
        self.check(small("gpt-oss-120b", **OSS), {"engine": "fsdp2", "world": 3},
                   {"engine": "hf", "world": 3, "tensors": "file_per_rank"}, files=3)

    def test_experts_to_files(self):
        self.check(small("deepseek-v3", **MLA), small_megatron(world=2, tp=1, pp=2, ep=1, etp=1,
                                                               experts="te_grouped"),
                   {"engine": "hf", "world": 4, "tensors": "file_per_rank"}, files=4)

    def test_files_with_every_key(self):
        configs = {"all_keys": small("qwen3-30b", **dict(MOE, num_experts=8)),
                   "stacked": small("qwen3-30b", **MOE),
                   "whole_tensors": small("llama-3.1-70b", **DENSE),
                   "stages": small("qwen3-32b", **DENSE)}
        for name, config in configs.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = "tests/data/imports/parallel_%s.json" % name
                with open(path, encoding="utf-8") as stream:
                    parallel = json.load(stream)
                hf_model.write_model(folder, config, {})
                copy = os.path.join(folder, "parallel.json")
                shutil.copy(path, copy)
                done = run("import", "safetensors", "--parallel", copy, "-o", folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                model = engines.Model(config, hf_model.tensors(config))
                train, infer = parallel["train"], parallel["infer"]
                infer.setdefault("vocab", {"pad_to": 64})
                infer.setdefault("version", "0.25")
                sides = [(engines.fsdp2 if train["engine"] == "fsdp2" else engines.megatron)(
                    model, train), engines.vllm(model, infer) if infer["engine"] == "vllm" else
                         self.whole_tensors(model, infer, 1)]
                sides[1] = {rank + train["world"]: params for rank, params in sides[1].items()}
                self.compare([os.path.join(folder, file) for file in ("train.json", "infer.json")],
                             sides)

    def test_a_wrong_layout_would_be_seen(self):
        config = small("qwen3-30b", **MOE)
        layouts, sides = None, None
        train = small_megatron(world=2, tp=1, pp=1, ep=2, etp=1, experts="te_grouped")
        entries = hf_model.tensors(config)
        with tempfile.TemporaryDirectory() as folder:
            hf_model.write_model(folder, config, entries)
            self.assertEqual(import_model(folder, train, small_vllm(world=2, tp=2, dp=1)).returncode,
                             0)
            layouts = [os.path.join(folder, name) for name in ("train.json", "infer.json")]
            with open(layouts[1], encoding="utf-8") as stream:
                text = stream.read()
            with open(layouts[1], "w", encoding="utf-8") as stream:
                stream.write(text.replace("gate_proj", "x_proj").replace("up_proj", "gate_proj")
                             .replace("x_proj", "up_proj"))
            sides = engines.vllm(engines.Model(config, entries), small_vllm(world=2, tp=2, dp=1))
            self.add_facts(layouts[1], {rank + 2: params for rank, params in sides.items()})
            done = run("check", *layouts)
            self.assertEqual(done.returncode, 1)
            self.assertIn("[expect-failed]", done.stderr)


if __name__ == "__main__":
    unittest.main()
