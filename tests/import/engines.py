"""What Megatron-Core, FSDP2 and vLLM make of a model's tensors, rank by rank: {rank: {param: Elements}}.

Written after what their loaders do step by step, not after the rules of the importer."""
from elements import Elements, joined, stacked


class Model:
    """A model's config and its tensors as Elements."""

    def __init__(self, config, entries):
        self.config = config
        self.family, = config["architectures"]
        self.layers = config["num_hidden_layers"]
        self.experts = next((config[key] for key in ("num_experts", "n_routed_experts",
                                                     "num_local_experts") if key in config), 0)
        self.dense_layers = config.get("first_k_dense_replace", 0) if self.experts else self.layers
        self.tied = config["tie_word_embeddings"]
        self.is_oss = self.family == "GptOssForCausalLM"
        self._tensors = {name: Elements.whole(name, shape) for name, (shape, _) in entries.items()}

    def __contains__(self, name):
        return name in self._tensors

    def __getitem__(self, name):
        return self._tensors[name]

    def names(self):
        return list(self._tensors)

    def head_dim(self):
        return self.config.get("head_dim") or (self.config["hidden_size"] //
                                               self.config["num_attention_heads"])

    def lm_head(self):
        return self["model.embed_tokens.weight" if self.tied else "lm_head.weight"]


def rounded_up(value, multiple):
    return -(-value // multiple) * multiple


# Megatron-Core

def coordinates(rank, order, sizes):
    """Coordinates of a rank; the first word of the order varies fastest."""
    out = {}
    for axis in order.split("-"):
        out[axis] = rank % sizes[axis]
        rank //= sizes[axis]
    return out


def megatron_layers(layers, train, stage, chunk):
    """The layers of a virtual stage, by Megatron's offsets."""
    stages, chunks = train["pp"], train.get("vpp", 1)
    pipeline = train.get("pipeline") or {}
    if "stages" in pipeline:
        ranges = pipeline["stages"][stage]
        begin, end = ranges[chunk] if isinstance(ranges[0], list) else ranges
        return range(begin, end)
    first, last = pipeline.get("first"), pipeline.get("last")
    middle_stages = stages - (first is not None) - (last is not None)
    middle = layers - (first or 0) - (last or 0)
    per_chunk = {"first": (first or 0) // chunks, "last": (last or 0) // chunks,
                 "middle": middle // max(middle_stages, 1) // chunks}
    whole_chunk = per_chunk["first"] + per_chunk["last"] + per_chunk["middle"] * middle_stages
    begin = chunk * whole_chunk
    if stage > 0 or first is None:
        begin += per_chunk["first"]
        begin += (stage - (first is not None)) * per_chunk["middle"]
    kind = ("first" if stage == 0 and first is not None else
            "last" if stage == stages - 1 and last is not None else "middle")
    return range(begin, begin + per_chunk[kind])


class MegatronRank:
    """The params of one rank."""

    def __init__(self, model, train, rank):
        self.model, self.train = model, train
        world = train["world"]
        tp, cp, pp = (train.get(axis, 1) for axis in ("tp", "cp", "pp"))
        ep, etp = train.get("ep", 1), train.get("etp", 1)
        dense = coordinates(rank, train["order"], {"tp": tp, "cp": cp, "ep": 1, "pp": pp,
                                                   "dp": world // (tp * cp * pp)})
        expert = coordinates(rank, train["order"], {"tp": etp, "cp": 1, "ep": ep, "pp": pp,
                                                    "dp": world // (etp * ep * pp)})
        assert dense["pp"] == expert["pp"]
        self.stage = dense["pp"]
        self.tp = (dense["tp"], tp)
        self.ep = (expert["ep"], ep)
        self.etp = (expert["tp"], etp)
        self.params = {}

    def build(self):
        chunks = self.train.get("vpp", 1)
        for chunk in range(chunks):
            prefix = "model%d." % chunk if chunks > 1 else ""
            if self.stage == 0 and chunk == 0:
                self.params[prefix + "embedding.word_embeddings.weight"] = self.vocab(
                    self.model["model.embed_tokens.weight"])
            if self.stage == self.train["pp"] - 1 and chunk == chunks - 1:
                self.params[prefix + "decoder.final_layernorm.weight"] = self.model[
                    "model.norm.weight"]
                if not self.model.tied or self.train["pp"] > 1:
                    self.params[prefix + "output_layer.weight"] = self.vocab(self.model.lm_head())
            layers = megatron_layers(self.model.layers, self.train, self.stage, chunk)
            for local, layer in enumerate(layers):
                self.add_layer(prefix + "decoder.layers.%d." % local, layer)
        return self.params

    def vocab(self, tensor):
        rows = rounded_up(tensor.shape[0],
                          self.train["vocab"]["make_divisible_by"] * self.tp[1])
        return tensor.padded(rows).part(0, *self.tp)

    def add_layer(self, to, layer):
        get = lambda name: self.model["model.layers.%d.%s" % (layer, name)]
        add = lambda name, value: self.params.__setitem__(to + name, value)
        has = lambda name: "model.layers.%d.%s" % (layer, name) in self.model
        if has("self_attn.kv_b_proj.weight"):
            self.add_mla(get, add, has)
        else:
            self.add_gqa(get, add, has)
        if layer < self.model.dense_layers:
            add("mlp.linear_fc1.layer_norm_weight", get("post_attention_layernorm.weight"))
            self.add_gated("mlp.", get, add, "mlp.")
            return
        add("pre_mlp_layernorm.weight", get("post_attention_layernorm.weight"))
        add("mlp.router.weight", get("mlp.router.weight" if self.model.is_oss else
                                     "mlp.gate.weight"))
        if has("mlp.router.bias"):
            add("mlp.router.bias", get("mlp.router.bias"))
        if has("mlp.gate.e_score_correction_bias"):
            add("mlp.router.expert_bias", get("mlp.gate.e_score_correction_bias"))
        if has("mlp.shared_experts.up_proj.weight"):
            self.add_gated("mlp.shared_experts.", get, add, "mlp.shared_experts.")
        self.add_experts(get, add)

    def add_gqa(self, get, add, has):
        config = self.model.config
        add("self_attention.linear_qkv.layer_norm_weight", get("input_layernorm.weight"))
        groups, size = config["num_key_value_heads"], self.model.head_dim()
        heads = config["num_attention_heads"] // groups
        for suffix in ("weight", "bias"):
            if not has("self_attn.q_proj." + suffix):
                continue
            q, k, v = (get("self_attn.%s_proj.%s" % (part, suffix)) for part in "qkv")
            rows = []
            for group in range(groups):
                rows.append(q.take(0, range(group * heads * size, (group + 1) * heads * size)))
                rows.append(k.take(0, range(group * size, (group + 1) * size)))
                rows.append(v.take(0, range(group * size, (group + 1) * size)))
            add("self_attention.linear_qkv." + suffix, joined(rows).part(0, *self.tp))
        for part in "qk":
            if has("self_attn.%s_norm.weight" % part):
                add("self_attention.%s_layernorm.weight" % part,
                    get("self_attn.%s_norm.weight" % part))
        if has("self_attn.sinks"):
            add("self_attention.core_attention.softmax_offset",
                get("self_attn.sinks").part(0, *self.tp))
        add("self_attention.linear_proj.weight", get("self_attn.o_proj.weight").part(1, *self.tp))
        if has("self_attn.o_proj.bias"):
            add("self_attention.linear_proj.bias", get("self_attn.o_proj.bias"))

    def add_mla(self, get, add, has):
        add("input_layernorm.weight", get("input_layernorm.weight"))
        if has("self_attn.q_proj.weight"):
            add("self_attention.linear_q_proj.weight", get("self_attn.q_proj.weight").part(0, *self.tp))
        else:
            add("self_attention.linear_q_down_proj.weight", get("self_attn.q_a_proj.weight"))
            add("self_attention.linear_q_up_proj.layer_norm_weight",
                get("self_attn.q_a_layernorm.weight"))
            add("self_attention.linear_q_up_proj.weight",
                get("self_attn.q_b_proj.weight").part(0, *self.tp))
        add("self_attention.linear_kv_down_proj.weight", get("self_attn.kv_a_proj_with_mqa.weight"))
        add("self_attention.linear_kv_up_proj.layer_norm_weight",
            get("self_attn.kv_a_layernorm.weight"))
        add("self_attention.linear_kv_up_proj.weight",
            get("self_attn.kv_b_proj.weight").part(0, *self.tp))
        add("self_attention.linear_proj.weight", get("self_attn.o_proj.weight").part(1, *self.tp))

    def add_gated(self, to, get, add, path):
        add(to + "linear_fc1.weight", joined([get(path + half + "_proj.weight").part(0, *self.tp)
                                              for half in ("gate", "up")]))
        add(to + "linear_fc2.weight", get(path + "down_proj.weight").part(1, *self.tp))

    def fc1(self, gate, up):
        """One expert's gate and up on this rank, in blocks where the trainer interleaves them."""
        gate, up = gate.part(0, *self.etp), up.part(0, *self.etp)
        block = self.train.get("glu_interleave") or gate.shape[0]
        rows = []
        for begin in range(0, gate.shape[0], block):
            rows += [half.take(0, range(begin, begin + block)) for half in (gate, up)]
        return joined(rows)

    def expert_params(self, get, expert):
        if not self.model.is_oss:
            gate, up, down = (get("mlp.experts.%d.%s_proj.weight" % (expert, part))
                              for part in ("gate", "up", "down"))
            return {"linear_fc1.weight": self.fc1(gate, up),
                    "linear_fc2.weight": down.part(1, *self.etp)}
        both = get("mlp.experts.gate_up_proj").expert(expert).transposed()
        bias = get("mlp.experts.gate_up_proj_bias").expert(expert)
        down = get("mlp.experts.down_proj").expert(expert).transposed()
        even, odd = range(0, both.shape[0], 2), range(1, both.shape[0], 2)
        return {"linear_fc1.weight": self.fc1(both.take(0, even), both.take(0, odd)),
                "linear_fc1.bias": self.fc1(bias.take(0, even), bias.take(0, odd)),
                "linear_fc2.weight": down.part(1, *self.etp),
                "linear_fc2.bias": get("mlp.experts.down_proj_bias").expert(expert)}

    def add_experts(self, get, add):
        per_rank = self.model.experts // self.ep[1]
        mine = [self.expert_params(get, self.ep[0] * per_rank + i) for i in range(per_rank)]
        for name in mine[0]:
            if self.train["experts"] == "single_grouped":
                add("mlp.experts." + name, stacked([params[name] for params in mine]))
                continue
            for i, params in enumerate(mine):
                add("mlp.experts.local_experts.%d.%s" % (i, name)
                    if self.train["experts"] == "sequential" else
                    "mlp.experts.%s%d" % (name, i), params[name])


def megatron(model, train):
    return {rank: MegatronRank(model, train, rank).build() for rank in range(train["world"])}


# FSDP2

def in_transformers(model, experts):
    """The params of the model's modules: transformers 5 has one of all experts of a layer."""
    params = {name: model[name] for name in model.names()}
    if experts != "stacked":
        return params
    for layer in range(model.dense_layers, model.layers):
        prefix = "model.layers.%d.mlp.experts." % layer
        mine = [[params.pop("%s%d.%s_proj.weight" % (prefix, expert, part))
                 for part in ("gate", "up", "down")] for expert in range(model.experts)]
        params[prefix + "gate_up_proj"] = stacked([joined([gate, up]) for gate, up, _ in mine])
        params[prefix + "down_proj"] = stacked([down for _, _, down in mine])
    return params


def fsdp2(model, train):
    tp, replicas = train.get("tp", 1), train.get("dp_replicate", 1)
    shards = train["world"] // tp // replicas
    out = {}
    for rank in range(train["world"]):
        tp_rank, shard = rank % tp, rank // tp % shards
        out[rank] = {}
        for name, tensor in in_transformers(model, train.get("experts")).items():
            if name.endswith("e_score_correction_bias"):  # a buffer
                out[rank][name] = tensor
                continue
            part = name.split(".")[-2]
            if tp > 1 and part in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj",
                                   "embed_tokens", "lm_head"):
                tensor = tensor.chunk(0, tp_rank, tp)
            elif tp > 1 and part in ("o_proj", "down_proj"):
                tensor = tensor.chunk(1, tp_rank, tp)
            out[rank][name] = tensor.chunk(0, shard, shards)
    return out


# vLLM

class VllmRank:
    """The params of one rank, by the steps of vLLM's weight loaders."""

    def __init__(self, model, infer, rank):
        self.model, self.infer = model, infer
        tp, stages, dp = infer["tp"], infer.get("pp", 1), infer.get("dp", 1)
        self.tp_rank, self.tp = rank % tp, tp
        self.stage, self.stages = rank // tp % stages, stages
        dp_rank = rank // (tp * stages)
        together = infer.get("dp_mode") == "vllm_dp"
        # Experts see tensor parallelism flattened over the data parallel ranks of the engine.
        self.flat_size = tp * dp if together else tp
        self.flat_rank = dp_rank * tp + self.tp_rank if together else self.tp_rank
        minor = int(infer["version"].split(".")[1])
        self.experts = "mlp.experts.routed_experts." if minor >= 24 else "mlp.experts."
        self.use_ep = infer.get("enable_expert_parallel", False) and self.flat_size > 1
        self.params = {}

    def layer_range(self):
        counts = [self.model.layers // self.stages] * self.stages
        for i in range(2, self.model.layers % self.stages + 2):
            counts[-i] += 1
        begin = sum(counts[:self.stage])
        return range(begin, begin + counts[self.stage])

    def build(self):
        is_first, is_last = self.stage == 0, self.stage == self.stages - 1
        if is_first or (self.model.tied and is_last):
            self.params["model.embedding.weight" if self.model.is_oss else
                        "model.embed_tokens.weight"] = self.vocab(
                            self.model["model.embed_tokens.weight"])
        if is_last:
            self.params["model.norm.weight"] = self.model["model.norm.weight"]
            if not self.model.tied:
                self.params["lm_head.weight"] = self.vocab(self.model["lm_head.weight"])
        for layer in self.layer_range():
            self.add_layer(layer)
        return self.params

    def vocab(self, tensor):
        rows = rounded_up(tensor.shape[0], self.infer["vocab"]["pad_to"])
        return tensor.padded(rows).part(0, self.tp_rank, self.tp)

    def column(self, tensor):
        return tensor.part(0, self.tp_rank, self.tp)

    def row(self, tensor):
        return tensor.part(1, self.tp_rank, self.tp)

    def add_layer(self, layer):
        prefix = "model.layers.%d." % layer
        get = lambda name: self.model[prefix + name]
        has = lambda name: prefix + name in self.model
        add = lambda name, value: self.params.__setitem__(prefix + name, value)
        for norm in ("input_layernorm.weight", "post_attention_layernorm.weight"):
            add(norm, get(norm))
        if has("self_attn.kv_b_proj.weight"):
            self.add_mla(get, add, has)
        else:
            self.add_gqa(get, add, has)
        if layer < self.model.dense_layers:
            self.add_gated("mlp.", get, add, False)
        elif self.model.is_oss:
            self.add_oss_experts(get, add)
        else:
            add("mlp.gate.weight", get("mlp.gate.weight"))
            if has("mlp.gate.e_score_correction_bias"):
                add("mlp.gate.e_score_correction_bias", get("mlp.gate.e_score_correction_bias"))
            if has("mlp.shared_experts.up_proj.weight"):
                self.add_gated("mlp.shared_experts.", get, add,
                               self.infer.get("shared_experts") == "replicated")
            self.add_experts(get, add)

    def kv_heads(self, tensor, size):
        """This rank's heads of k or v, or its copy of one."""
        heads = tensor.shape[0] // size
        if heads >= self.tp:
            return tensor.part(0, self.tp_rank, self.tp)
        return tensor.part(0, self.tp_rank // (self.tp // heads), heads)

    def add_gqa(self, get, add, has):
        to = "attn." if self.model.is_oss else "self_attn."
        size = self.model.head_dim()
        for suffix in ("weight", "bias"):
            if has("self_attn.q_proj." + suffix):
                add(to + "qkv_proj." + suffix, joined([
                    self.column(get("self_attn.q_proj." + suffix)),
                    self.kv_heads(get("self_attn.k_proj." + suffix), size),
                    self.kv_heads(get("self_attn.v_proj." + suffix), size)]))
        for norm in ("q_norm.weight", "k_norm.weight"):
            if has("self_attn." + norm):
                add(to + norm, get("self_attn." + norm))
        if has("self_attn.sinks"):
            add(to + "sinks", self.column(get("self_attn.sinks")))
        add(to + "o_proj.weight", self.row(get("self_attn.o_proj.weight")))
        if has("self_attn.o_proj.bias"):
            add(to + "o_proj.bias", get("self_attn.o_proj.bias"))

    def add_mla(self, get, add, has):
        if has("self_attn.q_proj.weight"):
            add("self_attn.q_proj.weight", self.column(get("self_attn.q_proj.weight")))
            add("self_attn.kv_a_proj_with_mqa.weight", get("self_attn.kv_a_proj_with_mqa.weight"))
        else:
            add("self_attn.fused_qkv_a_proj.weight", joined([
                get("self_attn.q_a_proj.weight"), get("self_attn.kv_a_proj_with_mqa.weight")]))
            add("self_attn.q_a_layernorm.weight", get("self_attn.q_a_layernorm.weight"))
            add("self_attn.q_b_proj.weight", self.column(get("self_attn.q_b_proj.weight")))
        add("self_attn.kv_a_layernorm.weight", get("self_attn.kv_a_layernorm.weight"))
        add("self_attn.kv_b_proj.weight", self.column(get("self_attn.kv_b_proj.weight")))
        add("self_attn.o_proj.weight", self.row(get("self_attn.o_proj.weight")))

    def add_gated(self, path, get, add, whole):
        column = (lambda tensor: tensor) if whole else self.column
        row = (lambda tensor: tensor) if whole else self.row
        add(path + "gate_up_proj.weight", joined([column(get(path + "gate_proj.weight")),
                                                  column(get(path + "up_proj.weight"))]))
        add(path + "down_proj.weight", row(get(path + "down_proj.weight")))

    def local_experts(self):
        if not self.use_ep:
            return range(self.model.experts)
        if self.infer.get("expert_placement") == "round_robin":
            return range(self.flat_rank, self.model.experts, self.flat_size)
        base, rest = divmod(self.model.experts, self.flat_size)
        begin = self.flat_rank * base + min(self.flat_rank, rest)
        return range(begin, begin + base + (self.flat_rank < rest))

    def add_experts(self, get, add):
        ranks = (0, 1) if self.use_ep else (self.flat_rank, self.flat_size)
        part = lambda expert, name, dim: get("mlp.experts.%d.%s_proj.weight" % (expert, name)).part(
            dim, *ranks)
        mine = self.local_experts()
        add(self.experts + "w13_weight", stacked([joined([part(expert, "gate", 0),
                                                       part(expert, "up", 0)]) for expert in mine]))
        add(self.experts + "w2_weight", stacked([part(expert, "down", 1) for expert in mine]))

    def add_oss_experts(self, get, add):
        add("mlp.router.weight", get("mlp.router.weight"))
        add("mlp.router.bias", get("mlp.router.bias"))
        both, down = get("mlp.experts.gate_up_proj"), get("mlp.experts.down_proj")
        bias, down_bias = get("mlp.experts.gate_up_proj_bias"), get("mlp.experts.down_proj_bias")
        mine = list(self.local_experts())
        both, down, bias, down_bias = (tensor.take(0, mine)
                                       for tensor in (both, down, bias, down_bias))
        if not self.use_ep:
            size = self.model.config["intermediate_size"] // self.flat_size
            begin = self.flat_rank * size
            both = both.take(2, range(2 * begin, 2 * (begin + size)))
            bias = bias.take(1, range(2 * begin, 2 * (begin + size)))
            down = down.take(1, range(begin, begin + size))
            if self.flat_rank != 0:
                down_bias = Elements(down_bias.shape, [None] * len(down_bias.data))
        transpose = lambda tensor: stacked([tensor.expert(i).transposed()
                                            for i in range(tensor.shape[0])])
        add(self.experts + "w13_weight", transpose(both))
        add(self.experts + "w13_bias", bias)
        add(self.experts + "w2_weight", transpose(down))
        add(self.experts + "w2_bias", down_bias)


def vllm(model, infer):
    return {rank: VllmRank(model, infer, rank).build() for rank in range(infer["world"])}
