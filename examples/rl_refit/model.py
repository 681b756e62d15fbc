"""A small transformer twice: as a trainer has it (DTensors, separate weights, tensor parallel size 2)
and as an inference engine has it (merged weights, tensor parallel size 4, repeated KV heads).

Both compute the same sums in the same order, so that equal weights give equal bits: products are
summed along contiguous rows, and sums over ranks are made of CHUNKS parts in a fixed order.
"""
import torch
import torch.distributed as dist
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

LAYERS, VOCABULARY, HIDDEN, HEADS, KV_HEADS, HEAD, MLP = 2, 32, 16, 4, 2, 4, 32
CHUNKS = 4  # of the sums over ranks


def checkpoint_shapes():
    """Name -> (shape, dim that tensor parallelism cuts, or None)."""
    shapes = {"model.embed_tokens.weight": ((VOCABULARY, HIDDEN), None),
              "model.norm.weight": ((HIDDEN,), None),
              "lm_head.weight": ((VOCABULARY, HIDDEN), None)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        shapes.update({
            prefix + "input_layernorm.weight": ((HIDDEN,), None),
            prefix + "self_attn.q_proj.weight": ((HEADS * HEAD, HIDDEN), 0),
            prefix + "self_attn.k_proj.weight": ((KV_HEADS * HEAD, HIDDEN), 0),
            prefix + "self_attn.v_proj.weight": ((KV_HEADS * HEAD, HIDDEN), 0),
            prefix + "self_attn.o_proj.weight": ((HIDDEN, HEADS * HEAD), 1),
            prefix + "post_attention_layernorm.weight": ((HIDDEN,), None),
            prefix + "mlp.gate_proj.weight": ((MLP, HIDDEN), 0),
            prefix + "mlp.up_proj.weight": ((MLP, HIDDEN), 0),
            prefix + "mlp.down_proj.weight": ((HIDDEN, MLP), 1)})
    return shapes


def linear(x, weight):
    return (x.unsqueeze(-2) * weight).sum(-1)


class SumOverRanks(torch.autograd.Function):
    """Adds the CHUNKS parts that all ranks have, in their order; each rank gives its own."""

    @staticmethod
    def forward(ctx, parts, group):
        ctx.count = parts.shape[0]
        everyone = [torch.empty_like(parts) for _ in range(dist.get_world_size(group))]
        dist.all_gather(everyone, parts.contiguous(), group=group)
        total = None
        for part in torch.cat(everyone):
            total = part if total is None else total + part
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient.unsqueeze(0).expand(ctx.count, *gradient.shape), None


class EnterRanks(torch.autograd.Function):
    """What all ranks use in parallel: their gradients add up."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


def reduced_linear(x, weight, group):
    """A linear layer whose inputs are spread over ranks."""
    count = CHUNKS // dist.get_world_size(group)
    parts = torch.stack([linear(part, rows) for part, rows in
                         zip(x.chunk(count, -1), weight.chunk(count, -1))])
    return SumOverRanks.apply(parts, group)


def norm(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight


def attention(q, k, v):
    """Causal; [tokens, heads, HEAD] each, KV heads repeated for their query heads."""
    repeat = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(repeat, 1).transpose(0, 1).contiguous() for x in (k, v))
    q = q.transpose(0, 1).contiguous()
    scores = linear(q, k.unsqueeze(1)) * HEAD**-0.5
    tokens = scores.shape[-1]
    mask = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), -1)
    mixed = linear(weights, v.transpose(1, 2).contiguous().unsqueeze(1))
    return mixed.transpose(0, 1).flatten(1)


def forward(weights, tokens, group):
    """Logits [tokens, VOCABULARY]. `weights` gives the local qkv, o, gate_up, down of a layer."""
    x = weights.embedding()[tokens]
    for layer in range(LAYERS):
        q, k, v = weights.qkv(layer, EnterRanks.apply(norm(x, weights.norm(layer, 0)), group))
        x = x + reduced_linear(attention(q, k, v), weights.output(layer), group)
        gate, up = weights.gate_up(layer, EnterRanks.apply(norm(x, weights.norm(layer, 1)), group))
        gate, up = gate.contiguous(), up.contiguous()  # other strides, other roundings
        x = x + reduced_linear(torch.nn.functional.silu(gate) * up, weights.down(layer), group)
    return linear(norm(x, weights.final_norm()), weights.head())


class _Plain:
    """Weights that both sides have in the same form."""

    def get(self, name):
        raise NotImplementedError

    def embedding(self):
        return self.get("model.embed_tokens.weight")

    def final_norm(self):
        return self.get("model.norm.weight")

    def head(self):
        return self.get("lm_head.weight")

    def norm(self, layer, number):
        name = ("input_layernorm", "post_attention_layernorm")[number]
        return self.get(f"model.layers.{layer}.{name}.weight")

    def output(self, layer):
        return self.get(f"model.layers.{layer}.self_attn.o_proj.weight")

    def down(self, layer):
        return self.get(f"model.layers.{layer}.mlp.down_proj.weight")


class Trainer(_Plain):
    """DTensors under the checkpoint's names."""

    def __init__(self, mesh, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.group = mesh.get_group()
        self.params = {}
        for name, (shape, dim) in checkpoint_shapes().items():
            value = torch.randn(shape, generator=generator) * 0.3 if len(shape) > 1 \
                else torch.ones(shape)
            placement = Replicate() if dim is None else Shard(dim)
            self.params[name] = torch.nn.Parameter(distribute_tensor(value, mesh, [placement]))

    def get(self, name):
        return self.params[name].to_local()

    def qkv(self, layer, x):
        parts = (linear(x, self.get(f"model.layers.{layer}.self_attn.{name}_proj.weight"))
                 for name in "qkv")
        return (part.unflatten(-1, (-1, HEAD)) for part in parts)

    def gate_up(self, layer, x):
        return (linear(x, self.get(f"model.layers.{layer}.mlp.{name}_proj.weight"))
                for name in ("gate", "up"))

    def update(self, loss, rate):
        """One step of gradient descent, in place: the executor is bound to the storage."""
        loss.backward()
        with torch.no_grad():
            for param in self.params.values():
                param.to_local().sub_(rate * param.grad.to_local())
                param.grad = None


class Engine(_Plain):
    """Merged weights of one rank, filled by a loader like that of an inference engine."""

    def __init__(self, rank, size, group):
        self.rank, self.size, self.group = rank, size, group
        self.q_rows = HEADS // size * HEAD
        self.params = {"model.embed_tokens.weight": torch.empty(VOCABULARY, HIDDEN),
                       "model.norm.weight": torch.empty(HIDDEN),
                       "lm_head.weight": torch.empty(VOCABULARY, HIDDEN)}
        for layer in range(LAYERS):
            prefix = f"model.layers.{layer}."
            self.params.update({
                prefix + "input_layernorm.weight": torch.empty(HIDDEN),
                prefix + "self_attn.qkv_proj.weight": torch.empty(self.q_rows + 2 * HEAD, HIDDEN),
                prefix + "self_attn.o_proj.weight": torch.empty(HIDDEN, self.q_rows),
                prefix + "post_attention_layernorm.weight": torch.empty(HIDDEN),
                prefix + "mlp.gate_up_proj.weight": torch.empty(2 * MLP // size, HIDDEN),
                prefix + "mlp.down_proj.weight": torch.empty(HIDDEN, MLP // size)})

    def get(self, name):
        return self.params[name]

    def load_weights(self, weights):
        """From whole checkpoint tensors; knows nothing of the trainer."""
        for name, tensor in weights:
            stem, kind = name.rsplit(".", 2)[0], name.rsplit(".", 2)[1]
            if kind in ("q_proj", "k_proj", "v_proj"):
                heads = HEADS if kind == "q_proj" else KV_HEADS
                rows = self.q_rows if kind == "q_proj" else HEAD
                begin = {"q_proj": 0, "k_proj": self.q_rows, "v_proj": self.q_rows + HEAD}[kind]
                shard = self.rank * rows if heads >= self.size else \
                    self.rank // (self.size // heads) * HEAD
                self.params[f"{stem}.qkv_proj.weight"][begin:begin + rows].copy_(
                    tensor.narrow(0, shard, rows))
            elif kind in ("gate_proj", "up_proj"):
                merged = self.params[f"{stem}.gate_up_proj.weight"].chunk(2)
                merged[kind == "up_proj"].copy_(tensor.chunk(self.size)[self.rank])
            elif kind in ("o_proj", "down_proj"):
                self.params[name].copy_(tensor.chunk(self.size, 1)[self.rank])
            else:
                self.params[name].copy_(tensor)

    def qkv(self, layer, x):
        merged = linear(x, self.get(f"model.layers.{layer}.self_attn.qkv_proj.weight"))
        return (part.unflatten(-1, (-1, HEAD)) for part in
                merged.split([self.q_rows, HEAD, HEAD], -1))

    def gate_up(self, layer, x):
        return linear(x, self.get(f"model.layers.{layer}.mlp.gate_up_proj.weight")).chunk(2, -1)

    def generate(self, first, count, generator):
        """`count` further tokens, sampled from what the weights say."""
        tokens = [first]
        with torch.no_grad():
            for _ in range(count):
                logits = forward(self, torch.tensor(tokens), self.group)[-1]
                tokens.append(int(torch.multinomial(torch.softmax(logits, -1), 1,
                                                    generator=generator)))
        return tokens
