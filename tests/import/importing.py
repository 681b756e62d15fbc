"""Runs reshardc for tests of importers."""
import json
import os
import subprocess

PROGRAM = "compiler/cli/reshardc"


def run(*arguments):
    """The finished process; text, not checked."""
    return subprocess.run([PROGRAM] + list(arguments), capture_output=True, text=True, check=False)


def megatron(**values):
    """"train" of a parallel.json."""
    train = {"engine": "megatron-core", "order": "tp-cp-ep-dp-pp", "cp": 1, "vpp": 1,
             "vocab": {"make_divisible_by": 128}, "qkv": "group_interleaved",
             "glu": "gate_up_per_tp_shard", "glu_interleave": None}
    train.update(values)
    return train


def vllm(**values):
    """"infer" of a parallel.json."""
    infer = {"engine": "vllm", "version": "0.25", "pp": 1, "dp_mode": "independent_replicas",
             "enable_expert_parallel": False, "expert_placement": "linear", "eplb": False,
             "moe_backend": "triton", "vocab": {"pad_to": 64}, "weight_state": "checkpoint_layout",
             "dtype": "bf16", "quant": None}
    infer.update(values)
    return infer


def import_model(folder, train, infer, model=None):
    """Imports the model in `folder` into it; returns the process."""
    entry = {"shapes": "from-safetensors-headers"}
    entry.update(model or {})
    parallel = {"format": "reshard-import/hf-parallel", "version": 1, "model": entry,
                "train": train, "infer": infer}
    path = os.path.join(folder, "parallel.json")
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(parallel, stream)
    return run("import", "safetensors", folder, "--parallel", path, "-o", folder)


def rank_storage(*layouts):
    """{side: {rank: (params, bytes)}} of layouts, or an AssertionError with what was printed."""
    done = run("check", *layouts, "--json")
    assert done.returncode == 0, done.stderr
    return {side["side"]: {rank["rank"]: (rank["params"], rank["bytes"]) for rank in side["ranks"]}
            for side in json.loads(done.stdout)["sides"]}
