"""export_mcore_sharded: where Megatron-Core has its elements."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch

from .._group import gather
from ._dtypes import dtype_word
from .strided_view import NotStrided, View, walk_dense


def _is_sharded(value: Any) -> bool:
    return all(hasattr(value, name) for name in
               ("key", "local_shape", "global_shape", "global_offset", "axis_fragmentations"))


def _is_factory(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("build", "data", "key"))


def _leaves(value: Any, name: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{name}.{number}" if name else str(number))
    else:
        yield name, value


def _local_view(part: torch.Tensor, whole: torch.Tensor, name: str) -> List[List[int]]:
    """[start, length] in each dim of the param."""
    try:
        start, walks = walk_dense(View.of(part), View.of(whole))
    except NotStrided:
        start, walks = [], None
    extents = [1] * whole.dim()
    for walk in walks or []:
        extents[walk.dim] = walk.extent
    if walks is None or any(walk.step != 1 for walk in walks) or \
            part.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr():
        raise ValueError(f"'{name}' is saved in parts that are no boxes of the param")
    return [[begin, extent] for begin, extent in zip(start, extents)]


def _entry(rank: int, name: str, sharded: Any, view: Optional[List[List[int]]]) -> Dict[str, Any]:
    if getattr(sharded, "flattened_range", None) is not None:
        raise ValueError(f"'{name}' is saved flattened (distributed optimizer); export the model's "
                         "sharded_state_dict")
    entry: Dict[str, Any] = {
        "rank": rank, "key": sharded.key, "local_param": name,
        "dtype": dtype_word(sharded.dtype),
        "local_shape": list(sharded.local_shape), "global_shape": list(sharded.global_shape),
        "global_offset": list(sharded.global_offset),
        "axis_fragmentations": list(sharded.axis_fragmentations),
        "prepend_axis_num": int(getattr(sharded, "prepend_axis_num", 0)),
        "replica_id": list(sharded.replica_id) if isinstance(sharded.replica_id, (list, tuple))
        else [int(sharded.replica_id)],
    }
    if view is not None:
        entry["local_view"] = view
    return entry


def export_mcore_sharded(sharded_state_dict: Mapping[str, Any], rank: int,
                         logical_aliases: Sequence[Mapping[str, Any]] = (),
                         process_group: Any = None,
                         names_and_shapes: Mapping[str, Tuple[Sequence[int], torch.dtype]] = {}
                         ) -> Dict[str, Any]:
    """Says which part of which logical tensor each param of a rank is.

    Args:
        sharded_state_dict: of a Megatron-Core model: nested dicts with ShardedTensor and
            ShardedTensorFactory leaves; others are left out.
        rank: of this process.
        logical_aliases: how keys in fused form (QKV, linear_fc1) relate to checkpoint tensors, as
            docs/import.md says; put into the result as they are.
        process_group: of torch.distributed, collective: the result has the entries of all its ranks.
            None: of this rank only.
        names_and_shapes: the checkpoint tensors that aliases name: name -> (shape, dtype). The
            importer needs them; it also takes them from a file (--shapes).

    Returns:
        What `reshardc import mcore-sharded` reads: one entry for each ShardedTensor of each rank;
        offsets and shapes in elements.

    Raises:
        ValueError: a param that is saved flattened, or in parts that are no boxes.
    """
    entries = []
    for name, leaf in _leaves(sharded_state_dict, ""):
        if _is_sharded(leaf):
            entries.append(_entry(rank, name, leaf, None))
        elif _is_factory(leaf):
            for _, part in _leaves(leaf.build(), ""):
                if _is_sharded(part):
                    entries.append(_entry(rank, name, part,
                                          _local_view(part.data, leaf.data, name)))
    if process_group is not None:
        entries = [entry for one in gather(entries, process_group) for entry in one]
    return {"format": "reshard-import/mcore-sharded", "version": 1, "entries": entries,
            "tensors": {name: {"shape": list(shape), "dtype": dtype_word(dtype)}
                        for name, (shape, dtype) in names_and_shapes.items()},
            "logical_aliases": [dict(alias) for alias in logical_aliases]}
