"""export_dtensors: where DTensors have their elements, for `reshardc import dtensor`."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

import torch
import torch.distributed as dist

from .executor import Params

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


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).replace("torch.", "")


def export_dtensors(model: Params, process_group: Any = None) -> Dict[str, Any]:
    """Says how every param and persistent buffer is spread over ranks.

    Args:
        model: a module, or tensors by name. DTensors by mesh and placements; other tensors are taken
            to be whole and equal on all ranks of the group.
        process_group: of torch.distributed; None: the default one, or a world of one process. When
            there is one, collective: the local shapes of all ranks are gathered as a check.

    Returns:
        What `reshardc import dtensor` reads (docs/import.md): shapes in elements, ranks of the group.

    Raises:
        ValueError: a placement that does not say where values are.
    """
    entries: Mapping[str, torch.Tensor] = (
        model.state_dict(keep_vars=True) if isinstance(model, torch.nn.Module) else model)
    grouped = dist.is_available() and dist.is_initialized()
    world = dist.get_world_size(process_group) if grouped else 1
    reading = "replay" if _torch_version() >= _REPLAY_SINCE else "order"
    meshes: Dict[str, Dict[str, Any]] = {}
    tensors: List[Dict[str, Any]] = []
    shapes: Dict[str, List[int]] = {}
    for name, tensor in entries.items():
        if not isinstance(tensor, torch.Tensor):
            continue
        mesh = getattr(tensor, "device_mesh", None)
        if mesh is None:
            said = {"dim_names": ["all"], "mesh": list(range(world))}
            placements = ["R"]
        else:
            names = mesh.mesh_dim_names or tuple(f"d{d}" for d in range(mesh.mesh.dim()))
            said = {"dim_names": list(names), "mesh": mesh.mesh.tolist()}
            placements = [_placement(placement, name) for placement in tensor.placements]
        key = next((key for key, value in meshes.items() if value == said), f"m{len(meshes)}")
        meshes[key] = said
        entry = {"fqn": name, "global_shape": list(tensor.shape), "dtype": _dtype(tensor),
                 "mesh": key, "placements": placements}
        if any(placement.startswith("_S") for placement in placements):
            entry["strided"] = reading
        tensors.append(entry)
        local = getattr(tensor, "_local_tensor", tensor)
        shapes[name] = list(local.shape)
    everyone: List[Any] = [shapes]
    if grouped:
        everyone = [None] * world
        dist.all_gather_object(everyone, shapes, group=process_group)
    local_shapes = {name: {str(rank): said[name] for rank, said in enumerate(everyone)}
                    for name in shapes}
    return {"format": "reshard-import/dtensor", "version": 1, "torch": torch.__version__,
            "world": world, "meshes": meshes, "tensors": tensors,
            "check": {"per_rank_local_shapes": local_shapes}}
