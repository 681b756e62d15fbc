"""Models for tests of importers: config values of public models, the tensors that their files hold,
and safetensors files that have headers and no data (sparse files of the right size)."""
import json
import os
import struct

DTYPE_BYTES = {"BF16": 2, "F32": 4, "F8_E4M3": 1}


def _config(architecture, **values):
    config = {"architectures": [architecture], "torch_dtype": "bfloat16",
              "tie_word_embeddings": False}
    config.update(values)
    return config


def _deepseek(**values):
    config = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
              "qk_rope_head_dim": 64, "v_head_dim": 128, "hidden_size": 7168,
              "num_hidden_layers": 61, "intermediate_size": 18432, "moe_intermediate_size": 2048,
              "n_shared_experts": 1, "moe_layer_freq": 1, "topk_method": "noaux_tc"}
    config.update(values)
    return _config("DeepseekV3ForCausalLM", **config)


CONFIGS = {
    "qwen3-235b": _config(
        "Qwen3MoeForCausalLM", hidden_size=4096, num_hidden_layers=94, vocab_size=151936,
        num_attention_heads=64, num_key_value_heads=4, head_dim=128, num_experts=128,
        moe_intermediate_size=1536, intermediate_size=12288, decoder_sparse_step=1,
        mlp_only_layers=[], attention_bias=False, sliding_window=None, rope_theta=1000000.0),
    "qwen3-30b": _config(
        "Qwen3MoeForCausalLM", hidden_size=2048, num_hidden_layers=48, vocab_size=151936,
        num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_experts=128,
        moe_intermediate_size=768, decoder_sparse_step=1, mlp_only_layers=[]),
    "qwen3-32b": _config(
        "Qwen3ForCausalLM", hidden_size=5120, num_hidden_layers=64, vocab_size=151936,
        num_attention_heads=64, num_key_value_heads=8, head_dim=128, intermediate_size=25600),
    "llama-3.1-70b": _config(
        "LlamaForCausalLM", hidden_size=8192, num_hidden_layers=80, vocab_size=128256,
        num_attention_heads=64, num_key_value_heads=8, intermediate_size=28672, mlp_bias=False),
    "deepseek-v3": _deepseek(
        vocab_size=129280, num_attention_heads=128, n_routed_experts=256, first_k_dense_replace=3,
        n_group=8, num_nextn_predict_layers=1,
        quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]}),
    "kimi-k2": _deepseek(
        vocab_size=163840, num_attention_heads=64, n_routed_experts=384, first_k_dense_replace=1,
        n_group=1, num_nextn_predict_layers=0),
    "gpt-oss-120b": _config(
        "GptOssForCausalLM", hidden_size=2880, num_hidden_layers=36, vocab_size=201088,
        num_attention_heads=64, num_key_value_heads=8, head_dim=64, intermediate_size=2880,
        num_local_experts=128),
}


def _attention(config, family):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    if family == "DeepseekV3ForCausalLM":
        nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
        value, kv_rank = config["v_head_dim"], config["kv_lora_rank"]
        q_rank = config.get("q_lora_rank")
        if q_rank:
            yield "q_a_proj.weight", [q_rank, hidden]
            yield "q_a_layernorm.weight", [q_rank]
            yield "q_b_proj.weight", [heads * (nope + rope), q_rank]
        else:
            yield "q_proj.weight", [heads * (nope + rope), hidden]
        yield "kv_a_proj_with_mqa.weight", [kv_rank + rope, hidden]
        yield "kv_a_layernorm.weight", [kv_rank]
        yield "kv_b_proj.weight", [heads * (nope + value), kv_rank]
        yield "o_proj.weight", [hidden, heads * value]
        return
    size = config.get("head_dim") or hidden // heads
    rows = {"q": heads * size, "k": config["num_key_value_heads"] * size,
            "v": config["num_key_value_heads"] * size}
    for part, count in rows.items():
        yield part + "_proj.weight", [count, hidden]
    yield "o_proj.weight", [hidden, heads * size]
    with_bias = config.get("attention_bias", family == "GptOssForCausalLM")
    if with_bias or family == "Qwen2ForCausalLM":
        for part, count in rows.items():
            yield part + "_proj.bias", [count]
    if with_bias and family != "Qwen2ForCausalLM":
        yield "o_proj.bias", [hidden]
    if family in ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM"):
        yield "q_norm.weight", [size]
        yield "k_norm.weight", [size]
    if family == "GptOssForCausalLM":
        yield "sinks", [heads]


def _gated(prefix, hidden, rows):
    return [(prefix + "gate_proj.weight", [rows, hidden]), (prefix + "up_proj.weight", [rows, hidden]),
            (prefix + "down_proj.weight", [hidden, rows])]


def _mlp(config, family, layer):
    hidden = config["hidden_size"]
    if family == "GptOssForCausalLM":
        count, rows = config["num_local_experts"], config["intermediate_size"]
        return [("router.weight", [count, hidden]), ("router.bias", [count]),
                ("experts.gate_up_proj", [count, hidden, 2 * rows]),
                ("experts.gate_up_proj_bias", [count, 2 * rows]),
                ("experts.down_proj", [count, rows, hidden]),
                ("experts.down_proj_bias", [count, hidden])]
    count = config.get("num_experts") or config.get("n_routed_experts")
    if not count or layer < config.get("first_k_dense_replace", 0):
        return _gated("", hidden, config["intermediate_size"])
    rows = config["moe_intermediate_size"]
    out = [("gate.weight", [count, hidden])]
    if family == "DeepseekV3ForCausalLM":
        out.append(("gate.e_score_correction_bias", [count]))
        if config.get("n_shared_experts"):
            out += _gated("shared_experts.", hidden, rows * config["n_shared_experts"])
    for expert in range(count):
        out += _gated("experts.%d." % expert, hidden, rows)
    return out


def tensors(config):
    """{name: (shape, dtype)} of what the job holds: without quantization, without layers for
    multi-token prediction."""
    family, = config["architectures"]
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    out = {"model.embed_tokens.weight": ([vocab, hidden], "BF16"),
           "model.norm.weight": ([hidden], "BF16")}
    if not config["tie_word_embeddings"]:
        out["lm_head.weight"] = ([vocab, hidden], "BF16")
    for layer in range(config["num_hidden_layers"]):
        prefix = "model.layers.%d." % layer
        for norm in ("input_layernorm", "post_attention_layernorm"):
            out[prefix + norm + ".weight"] = ([hidden], "BF16")
        for name, shape in _attention(config, family):
            out[prefix + "self_attn." + name] = (shape, "BF16")
        for name, shape in _mlp(config, family, layer):
            dtype = "F32" if name.endswith("e_score_correction_bias") else "BF16"
            out[prefix + "mlp." + name] = (shape, dtype)
    return out


def as_published(config):
    """{name: (shape, dtype)} as the model's own files have it: fp8 with block scales, and the layers
    for multi-token prediction."""
    out = tensors(config)
    for extra in range(config.get("num_nextn_predict_layers", 0)):
        prefix = "model.layers.%d." % (config["num_hidden_layers"] + extra)
        last = "model.layers.%d." % (config["num_hidden_layers"] - 1)
        for name, entry in list(out.items()):
            if name.startswith(last):
                out[prefix + name[len(last):]] = entry
        out[prefix + "eh_proj.weight"] = ([config["hidden_size"], 2 * config["hidden_size"]], "BF16")
        out[prefix + "shared_head.head.weight"] = ([config["vocab_size"], config["hidden_size"]],
                                                   "BF16")
    if "quantization_config" in config:
        for name, (shape, dtype) in list(out.items()):
            if len(shape) == 2 and name.endswith("_proj.weight") and "eh_proj" not in name:
                out[name] = (shape, "F8_E4M3")
                out[name + "_scale_inv"] = ([-(-extent // 128) for extent in shape], "F32")
    return out


def write_file(path, entries):
    """A safetensors file with a header for these entries and a hole in place of the data."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, dtype) in entries.items():
        size = DTYPE_BYTES[dtype]
        for extent in shape:
            size *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        stream.truncate(8 + len(text) + offset)


def write_model(folder, config, entries, files=1):
    """config.json, `files` safetensors files and their index."""
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as stream:
        json.dump(config, stream)
    names = list(entries)
    if files == 1:
        write_file(os.path.join(folder, "model.safetensors"), entries)
        return
    weight_map = {}
    for i in range(files):
        file = "model-%05d-of-%05d.safetensors" % (i + 1, files)
        part = names[i * len(names) // files:(i + 1) * len(names) // files]
        write_file(os.path.join(folder, file), {name: entries[name] for name in part})
        weight_map.update((name, file) for name in part)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as stream:
        json.dump({"metadata": {"total_size": 0}, "weight_map": weight_map}, stream)
