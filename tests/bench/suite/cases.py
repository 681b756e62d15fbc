"""The cases of the schedule suite: layouts of real models on clusters that differ in one thing each.

Layouts are those of tests/data with another mesh; topologies are made here. NICs carry 50 GB/s, the
line rate, unless a case is about something else.
"""
import copy
import json
import os

LAYOUTS = "tests/data/layouts/"
NODE_GPUS = 8
NIC = 50


def _load(name):
    with open(LAYOUTS + name + ".json", encoding="utf-8") as stream:
        return json.load(stream)


def deepseek_source(pipeline, expert_parallel, replicas):
    """DeepSeek-V3 on pipeline x expert_parallel x replicas GPUs, dense weights on all of a stage."""
    layout = _load("deepseek_v3_128_train")
    layout["symbols"].update({"PP": pipeline, "EP": expert_parallel})
    layers = layout["symbols"]["L"]
    starts = [layers * stage // pipeline for stage in range(pipeline + 1)]
    layout["pipeline"]["stages"] = [list(pair) for pair in zip(starts, starts[1:])]
    layout["meshes"]["dense"]["shape"] = [pipeline, replicas * expert_parallel, 1]
    layout["meshes"]["expert"]["shape"] = [pipeline, replicas, expert_parallel, 1]
    return layout


def deepseek_destination(replicas, tensor_parallel, rank_base=128):
    """DeepSeek-V3 on `replicas` engines of `tensor_parallel` GPUs."""
    layout = _load("deepseek_v3_128_infer")
    layout["rank_base"] = rank_base
    layout["meshes"]["serve"]["shape"] = [replicas, tensor_parallel]
    return layout


def expert_parallel_destination(replicas, tensor_parallel, expert_parallel):
    """Experts whole on groups of `expert_parallel` GPUs, the rest tensor-parallel."""
    layout = deepseek_destination(replicas, tensor_parallel)
    groups = replicas * tensor_parallel // expert_parallel
    layout["symbols"]["EP"] = expert_parallel
    layout["meshes"]["expert"] = {"axes": ["group", "ep"], "shape": [groups, expert_parallel]}
    for param in layout["params"]:
        if ".experts." not in param["name"]:
            continue
        param["mesh"] = "expert"
        param["value"]["over"] = {"e": "ep*(E//EP)..(ep+1)*(E//EP)"}
        param["value"]["in"] = _unsharded(param["value"]["in"])
    return layout


def _unsharded(value):
    """The value without its shards."""
    if isinstance(value, str):
        return value
    if value["op"] == "shard":
        return _unsharded(value["in"])
    value = dict(value)
    inner = value["in"]
    value["in"] = [_unsharded(v) for v in inner] if isinstance(inner, list) else _unsharded(inner)
    return value


def with_dtype(layout, dtype):
    """The layout with all bf16 tensors of another type."""
    layout = copy.deepcopy(layout)
    for tensor in layout["logical"]:
        tensor.setdefault("dtype", dtype)
    return layout


def qwen_box_source():
    """A Qwen3 of 8 layers, 32 experts and a fifth of the vocabulary on one box of 4 GPUs."""
    layout = _load("qwen3_235b_train")
    layout["symbols"].update({"L": 8, "E": 32, "V": 32768, "TP": 4, "EP": 4})
    layout["pipeline"]["stages"] = [[0, 8]]
    layout["meshes"]["dense"]["shape"] = [1, 1, 1, 4]
    layout["meshes"]["expert"]["shape"] = [1, 1, 4, 1]
    for param in layout["params"]:
        param["where"] = [text.replace("pp==3", "pp==0") for text in param.get("where", [])]
        if not param["where"]:
            del param["where"]
    return layout


def qwen_box_destination():
    """The same Qwen3 on three engines of 2 GPUs."""
    layout = _load("qwen3_235b_infer")
    layout["symbols"].update({"L": 8, "E": 32, "V": 32768})
    layout["rank_base"] = 4
    layout["meshes"]["serve"]["shape"] = [3, 2]
    return layout


def node_type(rates=(NIC,) * NODE_GPUS, gpus_per_nic=1):
    """A host of NODE_GPUS GPUs whose NIC i of rate rates[i] belongs to the next gpus_per_nic."""
    nics = []
    for i, rate in enumerate(rates):
        own = list(range(i * gpus_per_nic, (i + 1) * gpus_per_nic))
        nics.append({"name": "mlx5_%d" % i, "bw": rate, "gpus": own, "rail": i})
    return {"gpus": NODE_GPUS, "gpu": {"local_copy_bw": 1300}, "nics": nics}


def topology(source_nodes, destination_nodes, source_type=None, destination_type=None):
    """Nodes train0.. and then infer0.. of 8 GPUs, NVLink inside a node, a flat fabric."""
    names = {"train": source_nodes, "infer": destination_nodes}
    hosts = {side: "%s[0-%d]" % (side, count - 1) for side, count in names.items()}
    source_ranks = source_nodes * NODE_GPUS
    ranks = source_ranks + destination_nodes * NODE_GPUS
    return {
        "format": "reshard-topo", "version": 1,
        "node_types": {"train": source_type or node_type(), "infer": destination_type or node_type()},
        "nodes": [{"names": hosts[side], "type": side} for side in names],
        "scaleup": [{"name": "nvl-{node}", "per": "node", "bw": 370, "lat": 2}],
        "fabrics": [{"name": "ib", "kind": "flat", "lat": 5}],
        "ranks": [{"ranks": "0-%d" % (source_ranks - 1), "nodes": hosts["train"]},
                  {"ranks": "%d-%d" % (source_ranks, ranks - 1), "nodes": hosts["infer"]}]}


def with_slow_nic(topo, node, rate):
    """One NIC of one node at another rate."""
    return dict(topo, overrides=[{"node": node, "nic": "mlx5_3", "bw": rate}])


def racks(source_nodes, destination_nodes):
    """Domains of 8 nodes, as 64 GPUs of an NVL72 rack."""
    topo = topology(source_nodes, destination_nodes)
    topo["scaleup"] = [
        {"name": "nvl72-%s%d" % (side, i), "nodes": "%s[%d-%d]" % (side, 8 * i, 8 * i + 7), "bw": 720,
         "lat": 2.5}
        for side, count in (("train", source_nodes), ("infer", destination_nodes))
        for i in range(count // 8)]
    return topo


def rails(source_nodes, destination_nodes):
    """Rails with a unit of each side behind uplinks that carry half of what its NICs could send."""
    topo = topology(source_nodes, destination_nodes)
    for node in topo["nodes"]:
        node["group"] = node["type"]
    topo["fabrics"] = [{
        "name": "ib", "kind": "rails", "rails": NODE_GPUS, "oversubscription": 2.0,
        "groups": [{"name": "train"}, {"name": "infer"}],
        "same_rail_same_group": {"lat": 5}, "cross_group": {"via": "spine", "lat": 9}}]
    return topo


def colocated(nodes):
    """One pool of nodes; the layouts say which ranks train and which serve."""
    topo = topology(nodes, 1)
    ranks = nodes * NODE_GPUS
    topo["nodes"] = topo["nodes"][:1]
    del topo["node_types"]["infer"]
    topo["ranks"] = [{"ranks": "0-%d" % (ranks - 1), "nodes": "train[0-%d]" % (nodes - 1)}]
    return topo


def pcie_boxes():
    """Two boxes of 4 GPUs with one NIC far from half of them, and an older box of 2."""
    with open("tests/data/topologies/pcie_box.json", encoding="utf-8") as stream:
        return json.load(stream)


def _cases():
    """Name -> (what it is, source layout, destination layout, topology)."""
    base = deepseek_source(4, 16, 2)
    tp8 = deepseek_destination(16, 8)
    flat = topology(16, 16)
    paired = node_type((NIC,) * 4, 2)
    mixed = node_type((NIC, NIC // 2) * 4)
    return {
        "base": ("128 to 128, TP8", base, tp8, flat),
        "tp4": ("TP4 x 32", base, deepseek_destination(32, 4), flat),
        "tp1": ("TP1 x 128", base, deepseek_destination(128, 1), flat),
        "source-16": ("16 source GPUs", deepseek_source(1, 16, 1),
                      deepseek_destination(16, 8, 16), topology(2, 16)),
        "source-8": ("8 source GPUs", deepseek_source(1, 8, 1), deepseek_destination(16, 8, 8),
                     topology(1, 16)),
        "source-24": ("24 source GPUs", deepseek_source(3, 8, 1),
                      deepseek_destination(16, 8, 24), topology(3, 16)),
        "no-replicas": ("no expert replicas", deepseek_source(4, 32, 1), tp8, flat),
        "shared-source-nics": ("a NIC per 2 source GPUs", base, tp8, topology(16, 16, paired)),
        "shared-destination-nics": ("a NIC per 2 destination GPUs", base, tp8,
                                    topology(16, 16, None, paired)),
        "slow-source-nic": ("a source NIC at 25 %", base, tp8,
                            with_slow_nic(flat, "train5", NIC / 4)),
        "slow-destination-nic": ("a destination NIC at 25 %", base, tp8,
                                 with_slow_nic(flat, "infer5", NIC / 4)),
        "96-40": ("96 to 40", deepseek_source(3, 16, 2), deepseek_destination(5, 8, 96),
                  topology(12, 5)),
        "24-120": ("24 to 120", deepseek_source(3, 8, 1), deepseek_destination(15, 8, 24),
                   topology(3, 15)),
        "nvl72-bf16": ("64-GPU domains, BF16", base, tp8, racks(16, 16)),
        "nvl72-fp8": ("64-GPU domains, FP8", with_dtype(base, "f8e4m3"), tp8, racks(16, 16)),
        "tp32": ("TP32 over 4 domains", base, deepseek_destination(4, 32), flat),
        "ep32": ("EP32 experts, TP8 dense", base, expert_parallel_destination(16, 8, 32), flat),
        "qwen3": ("Qwen3-235B, 64 to 64, TP8", _load("qwen3_235b_train"),
                  _load("qwen3_235b_infer"), topology(8, 8)),
        "one-domain": ("Qwen3-235B, one 64-GPU domain to another", _load("qwen3_235b_train"),
                       _load("qwen3_235b_infer"), racks(8, 8)),
        "rails": ("rails, spine 2:1", base, tp8, rails(16, 16)),
        "pcie": ("PCIe boxes", qwen_box_source(), qwen_box_destination(), pcie_boxes()),
        "mixed-rates": ("NICs at 50 and 25 GB/s in turn", base, tp8,
                        topology(16, 16, mixed, mixed)),
        "colocated": ("half of the trainers serve", base,
                      dict(deepseek_destination(16, 8, 64), colocated=True), colocated(24)),
    }


CASES = _cases()


def write(name, folder):
    """Writes the three inputs of a case into `folder`; returns their paths."""
    paths = []
    for part, value in zip(("train", "infer", "topo"), CASES[name][1:]):
        paths.append(os.path.join(folder, "%s_%s.json" % (name, part)))
        with open(paths[-1], "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1)
    return paths
