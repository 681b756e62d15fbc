"""export_dtensors: where DTensors have their elements, for `reshardc import dtensor`."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Sequence

import torch
import torch.distributed as dist

from .._group import gather
from ._dtypes import dtype_word
from .executor import Params, local_tensor

# The reading of strided shards whose split is uneven: up to 2.9 storage follows the order of the mesh
# dims, from 2.10 on each shard is found by replaying the splits.
_REPLAY_SINCE = (2, 10)


def _torch_version() -> tuple:
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def _placement(placement: Any, name: str) -> str:
    kind = type(placement).__name__
    if kind == "_StridedShard":
        return f"_S({placement.dim},{placement.split_factor})"
    if kind == "Shard":
        return f"S({placement.dim})"
    if kind == "Replicate":
        return "R"
    raise ValueError(f"'{name}' has the placement {placement}: only Shard, _StridedShard and "
                     "Replicate say where values are (reduce partial sums first)")


def _in_group(ranks: Any, group: Any, name: str) -> Any:
    """The mesh's ranks, nested lists, as ranks of the group."""
    if isinstance(ranks, list):
        return [_in_group(part, group, name) for part in ranks]
    if group is None:
        return ranks
    try:
        return dist.get_group_rank(group, ranks)
    except (RuntimeError, ValueError):
        raise ValueError(f"'{name}' is on rank {ranks}, which is not in the group") from None


def _describe(name: str, tensor: torch.Tensor, group: Any) -> Dict[str, Any]:
    """One tensor as this rank has it. "local_shape" is None for ranks outside of its mesh, "mesh" is
    None for tensors that are no DTensors."""
    entry = {"fqn": name, "global_shape": list(tensor.shape), "dtype": dtype_word(tensor.dtype)}
    mesh = getattr(tensor, "device_mesh", None)
    if mesh is None:
        return {"entry": {**entry, "placements": ["R"]}, "mesh": None,
                "local_shape": list(tensor.shape)}
    entry["placements"] = [_placement(placement, name) for placement in tensor.placements]
    if any(placement.startswith("_S") for placement in entry["placements"]):
        entry["strided"] = "replay" if _torch_version() >= _REPLAY_SINCE else "order"
    names = mesh.mesh_dim_names or tuple(f"d{dim}" for dim in range(mesh.mesh.dim()))
    local = None if mesh.get_coordinate() is None else list(local_tensor(tensor).shape)
    return {"entry": entry, "local_shape": local,
            "mesh": {"dim_names": list(names),
                     "mesh": _in_group(mesh.mesh.tolist(), group, name)}}


def _tied(entries: Mapping[str, Any]) -> Dict[str, List[str]]:
    """The first name of each tensor -> its further names: one tensor, or the same elements of one
    storage."""
    first: Dict[Any, str] = {}
    names: Dict[str, List[str]] = {}
    for name, tensor in entries.items():
        if not isinstance(tensor, torch.Tensor):
            continue
        local = local_tensor(tensor)
        place: Any = id(tensor)
        if local.device.type != "meta" and local.numel() > 0:
            place = (local.data_ptr(), tuple(local.shape), local.stride(), local.dtype,
                     tuple(tensor.shape))
        if place in first:
            names[first[place]].append(name)
        else:
            first[place] = name
            names[name] = []
    return names


def _merge(everyone: Sequence[Sequence[Mapping[str, Any]]]) -> Dict[str, Any]:
    """What all ranks said: a tensor's mesh, placements and shape have to be the same on all."""
    first: Dict[str, Mapping[str, Any]] = {}
    shapes: Dict[str, Dict[str, List[int]]] = {}
    holders: Dict[str, List[int]] = {}
    for rank, described in enumerate(everyone):
        for one in described:
            name = one["entry"]["fqn"]
            earlier = first.setdefault(name, one)
            if (earlier["entry"], earlier["mesh"]) != (one["entry"], one["mesh"]):
                raise ValueError(f"'{name}' is {earlier['entry']} on {earlier['mesh']} on rank "
                                 f"{holders[name][0]} and {one['entry']} on {one['mesh']} on rank "
                                 f"{rank}")
            holders.setdefault(name, []).append(rank)
            shapes.setdefault(name, {})
            if one["local_shape"] is not None:
                shapes[name][str(rank)] = one["local_shape"]
    keys: Dict[str, str] = {}
    meshes: Dict[str, Any] = {}
    tensors = []
    for name, one in first.items():
        mesh = one["mesh"] or {"dim_names": ["all"], "mesh": holders[name]}
        key = keys.setdefault(json.dumps(mesh), f"m{len(keys)}")
        meshes[key] = mesh
        tensors.append({**one["entry"], "mesh": key})
    return {"meshes": meshes, "tensors": tensors, "check": {"per_rank_local_shapes": shapes}}


def export_dtensors(model: Params, process_group: Any = None) -> Dict[str, Any]:
    """Says how every param and persistent buffer is spread over ranks.

    Args:
        model: a module, or tensors by name. DTensors by mesh and placements; other tensors are taken
            to be whole and equal on all ranks that have one of that name. Pipeline stages may have
            different names. Tied params, which are one tensor, are one entry with all their names.
        process_group: of torch.distributed; None: the default one, or a world of one process. When
            there is one, collective: all ranks get what all have said, and their local shapes as a
            check.

    Returns:
        What `reshardc import dtensor` reads (docs/import.md): shapes in elements, ranks of the group.

    Raises:
        ValueError: a placement that does not say where values are, or ranks that do not agree.
    """
    entries: Mapping[str, torch.Tensor] = (
        model.state_dict(keep_vars=True) if isinstance(model, torch.nn.Module) else model)
    described = []
    for name, others in _tied(entries).items():
        described.append(_describe(name, entries[name], process_group))
        if others:
            described[-1]["entry"]["shares"] = others
    everyone: List[Any] = [described]
    if dist.is_available() and dist.is_initialized():
        everyone = gather(described, process_group)
    return {"format": "reshard-import/dtensor", "version": 1, "torch": torch.__version__,
            "world": len(everyone), **_merge(everyone)}
