"""record_loader: what an inference engine's own weight loader does, as strided copies.

The loader runs once with tensors that have shapes but no bytes (device "meta"). Views of a tensor
share its storage, also without bytes, so that every copy says by itself which elements of which
checkpoint tensor go where in which param. Nothing is guessed: an operation that computes on values is
an error that names it, and nothing that writes to a param is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .._group import gather
from .executor import DTYPE_NAMES, local_tensor, named_tensors
from .strided_view import NotStrided, View, Walk, walk_dense

# Name -> (shape, dtype).
NamesAndShapes = Mapping[str, Tuple[Sequence[int], torch.dtype]]

_aten = torch.ops.aten
# Results that are new tensors with the values of their input, in the input's order.
_CLONES = {_aten.clone.default, _aten._to_copy.default, _aten._reshape_copy.default}
# Arguments of _to_copy that say where, not what.
_WHERE = ("device", "pin_memory", "non_blocking")
# Write one value everywhere, which needs no checkpoint tensor.
_FILLS = {_aten.zero_.default, _aten.fill_.Scalar, _aten.fill_.Tensor}


@dataclass(frozen=True)
class _Part:
    """A box of a derived tensor that holds elements of a checkpoint tensor.

    Attributes:
        box: [begin, end) for each dim of the derived tensor.
        source: name of the checkpoint tensor.
        offset: in it, of the box's first element.
        stride: in it, for each dim of the derived tensor.
    """

    box: Tuple[Tuple[int, int], ...]
    source: str
    offset: int
    stride: Tuple[int, ...]


class _Origin:
    """A storage that holds checkpoint elements: a checkpoint tensor, or one derived from some.

    Attributes:
        tensor: all of it. Keeps the storage alive, whose address is what it is known by.
        name: of the checkpoint tensor; None for derived ones.
        parts: of a derived one.
    """

    def __init__(self, tensor: torch.Tensor, name: Optional[str], parts: Sequence[_Part]) -> None:
        self.tensor = tensor
        self.name = name
        self.parts = parts


@dataclass(frozen=True)
class _Piece:
    """Elements of a checkpoint tensor and where they go, views of the same shape."""

    source: str
    source_view: View
    target_view: View


class _Recorder(TorchDispatchMode):
    def __init__(self, params: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        # By storage: a flat buffer may hold several.
        self._params: Dict[int, List[Tuple[str, torch.Tensor]]] = {}
        for name, tensor in params.items():
            self._params.setdefault(_key(tensor), []).append((name, tensor))
        self._origins: Dict[int, _Origin] = {}
        self.copies: List[Tuple[str, _Piece]] = []  # param name, what is copied there

    def add_source(self, name: str, tensor: torch.Tensor) -> None:
        self._origins[_key(tensor)] = _Origin(tensor, name, ())

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        traced = [tensor for tensor in _tensors((args, kwargs)) if _key(tensor) in self._origins]
        # A DTensor's own operations on its local tensor would not be seen here.
        written = [tensor for tensor in map(local_tensor, _written(func, args, kwargs))
                   if _key(tensor) in self._params]
        if not traced and not written:
            return func(*args, **kwargs)
        if func is _aten.copy_.default:
            if written and written[0] is not args[0]:
                raise NotImplementedError(
                    f"the loader copies to param '{self._param_name(written[0])}' as a DTensor: copy "
                    "this rank's part to its local tensor (to_local)")
            return self._copy(args[0], args[1])
        if written and not traced:
            self._write(func, written[0])
            return args[0]
        if func._schema.is_mutable or any(
                not tensor.is_meta for tensor in _tensors((args, kwargs))):
            raise self._refusal(func, traced[0])
        if func is _aten._to_copy.default:  # to another device: there is nothing to be brought there
            kwargs = {key: value for key, value in kwargs.items() if key not in _WHERE}
        result = func(*args, **kwargs)
        if all(_key(tensor) in self._origins for tensor in _tensors(result)):
            return result  # views
        if func in _CLONES and result.dtype == args[0].dtype:
            self._derive(result, [([(0, extent) for extent in result.shape], args[0])])
        elif func in (_aten.cat.default, _aten.stack.default):
            self._join(func, result, args, kwargs)
        else:
            raise self._refusal(func, traced[0])
        return result

    def _name(self, tensor: torch.Tensor) -> str:
        origin = self._origins[_key(tensor)]
        return origin.name or (origin.parts[0].source if origin.parts else "an empty tensor")

    def _refusal(self, func: Any, tensor: torch.Tensor) -> NotImplementedError:
        return NotImplementedError(
            f"the loader applies {func} to checkpoint tensor '{self._name(tensor)}': a plan moves "
            "bytes and does not compute; do this before or after the transfer")

    def _join(self, func: Any, result: torch.Tensor, args: Tuple[Any, ...],
              kwargs: Dict[str, Any]) -> None:
        inputs = args[0]
        traced = next(tensor for tensor in inputs if _key(tensor) in self._origins)
        dim = (args[1] if len(args) > 1 else kwargs.get("dim", 0)) % result.dim()
        parts, at = [], 0
        for tensor in inputs:
            if _key(tensor) not in self._origins or tensor.dtype != result.dtype:
                raise self._refusal(func, traced)
            if func is _aten.stack.default:
                tensor = tensor.unsqueeze(dim)
            box = [(0, extent) for extent in result.shape]
            box[dim] = (at, at + tensor.shape[dim])
            at += tensor.shape[dim]
            parts.append((box, tensor))
        self._derive(result, parts)

    def _derive(self, result: torch.Tensor,
                contents: Sequence[Tuple[List[Tuple[int, int]], torch.Tensor]]) -> None:
        """`result` is new and dense; each box of it holds what a traced tensor shows."""
        whole = View.of(result)
        parts: List[_Part] = []
        for box, tensor in contents:
            offset = whole.offset + sum(begin * step for (begin, _), step in zip(box, whole.stride))
            into = View(offset, tuple(end - begin for begin, end in box), whole.stride)
            for piece in self._resolve(into, tensor):
                start, walks = walk_dense(piece.target_view, whole)
                extents, strides = [1] * len(whole.shape), [0] * len(whole.shape)
                for walk in walks:
                    if walk.step != 1 or walk.extent != piece.source_view.shape[walk.part]:
                        raise NotImplementedError(f"'{piece.source}' is cut and joined in steps")
                    extents[walk.dim] = walk.extent
                    strides[walk.dim] = piece.source_view.stride[walk.part]
                parts.append(_Part(tuple((begin, begin + extent)
                                         for begin, extent in zip(start, extents)),
                                   piece.source, piece.source_view.offset, tuple(strides)))
        self._origins[_key(result)] = _Origin(result, None, parts)

    def _resolve(self, into: View, tensor: torch.Tensor) -> List[_Piece]:
        """What lies where when `tensor` is copied to the view `into` of the same shape."""
        origin = self._origins[_key(tensor)]
        read = View.of(tensor)
        if read.count == 0:
            return []
        if tensor.dtype != origin.tensor.dtype:
            raise NotImplementedError(
                f"the loader reads '{self._name(tensor)}', which is {origin.tensor.dtype}, as "
                f"{tensor.dtype}: copies are recorded in elements of the tensor")
        if origin.name is not None:
            return [_Piece(origin.name, read, into)]
        try:
            start, walks = walk_dense(read, View.of(origin.tensor))
        except NotStrided:
            raise NotImplementedError(
                f"a view of shape {list(read.shape)} of what was made from '{self._name(tensor)}' "
                "does not follow its dims") from None
        into_stride = _strides_of(walks, into)
        return [piece for part in origin.parts
                for piece in _inside(part, start, walks, into.offset, into_stride)]

    def _write(self, func: Any, target: torch.Tensor) -> None:
        """A write to a param of what is in no checkpoint tensor: fills of padding are left out."""
        if func not in _FILLS:
            raise NotImplementedError(
                f"the loader applies {func} to param '{self._param_name(target)}': a plan moves "
                "bytes and does not compute; do this after the transfer")
        params = dict(self._touched(target))
        for name, piece in self.copies:
            if name in params and not _disjoint(target, piece.target_view, params[name]):
                raise NotImplementedError(
                    f"the loader applies {func} to elements of param '{name}' that "
                    f"'{piece.source}' was copied to before: a plan would leave the copy there")

    def _touched(self, view: torch.Tensor) -> List[Tuple[str, torch.Tensor]]:
        """The params of a storage that lie, by their first and last bytes, where the view does."""
        first, last = _byte_range(view)
        return [(name, param) for name, param in self._params[_key(view)]
                for begin, end in [_byte_range(param)] if first < end and begin < last]

    def _param_name(self, view: torch.Tensor) -> str:
        return (self._touched(view) or self._params[_key(view)])[0][0]

    def _param_of(self, target: torch.Tensor) -> Tuple[str, torch.Tensor]:
        """The one param that a view with elements is in."""
        found = self._touched(target)
        if not found:
            raise NotImplementedError(
                f"the loader copies to the storage of '{self._param_name(target)}', outside of it, "
                "where no param is")
        name, param = found[-1]  # tied ones are one tensor with several names
        for other, tensor in found:
            if (View.of(tensor), tensor.dtype) != (View.of(param), param.dtype):
                raise NotImplementedError(
                    f"the loader copies to bytes where params '{other}' and '{name}' both are, or "
                    "to both in one: copy to each param by itself")
        (first, last), (begin, end) = _byte_range(target), _byte_range(param)
        if first < begin or last > end:
            raise NotImplementedError(f"the loader copies to '{name}' and beyond its elements")
        if not param.is_contiguous():
            raise NotImplementedError(
                f"param '{name}' has shape {list(param.shape)} and strides {list(param.stride())}: "
                "params of a plan are contiguous")
        return name, param

    def _copy(self, target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        if _key(target) not in self._params:
            raise NotImplementedError(
                f"the loader copies between '{self._name(source)}' and a tensor that is no param: "
                "bytes that come from there cannot be followed")
        if target.numel() == 0:
            return target
        if _key(source) in self._params:
            raise NotImplementedError(
                f"the loader copies param '{self._param_name(source)}' to param "
                f"'{self._param_name(target)}': only copies of checkpoint tensors are recorded")
        if _key(source) not in self._origins:
            raise NotImplementedError(
                f"the loader copies a tensor that is made of no checkpoint tensor to param "
                f"'{self._param_name(target)}': bytes that come from there cannot be followed")
        param, whole = self._param_of(target)
        if target.dtype != whole.dtype:
            raise NotImplementedError(
                f"the loader copies to a view of param '{param}', which is {whole.dtype}, as "
                f"{target.dtype}: copies are recorded in elements of the param")
        if target.dtype != source.dtype:
            raise NotImplementedError(
                f"'{self._name(source)}' is {source.dtype} and '{param}' is {target.dtype}: a plan "
                "does not convert")
        into = View.of(target).moved(-whole.storage_offset())
        for piece in self._resolve(into, source.expand(target.shape)):
            self.copies.append((param, piece))
        return target


def _byte_range(tensor: torch.Tensor) -> Tuple[int, int]:
    """[begin, end) in its storage, gaps included; empty for a tensor without elements."""
    view, unit = View.of(tensor), tensor.element_size()
    return view.offset * unit, (view.last + 1 if view.count else view.offset) * unit


def _disjoint(tensor: torch.Tensor, copied: View, param: torch.Tensor) -> bool:
    """Whether a view of a param's storage and one of its elements share none; False where that is
    not easy to say."""
    unit = param.element_size()
    first, last = (at - param.storage_offset() * unit for at in _byte_range(tensor))
    if copied.count == 0 or last <= copied.offset * unit or (copied.last + 1) * unit <= first:
        return True
    if tensor.dtype != param.dtype:
        return False
    whole = View.of(param).moved(-param.storage_offset())
    try:
        boxes = [walk_dense(view, whole)
                 for view in (View.of(tensor).moved(-param.storage_offset()), copied)]
    except NotStrided:
        return False
    (start, walks), (other_start, other_walks) = boxes
    end, other_end = _last_indices(start, walks), _last_indices(other_start, other_walks)
    return any(end[dim] < other_start[dim] or other_end[dim] < start[dim]
               for dim in range(param.dim()))


def _last_indices(start: Sequence[int], walks: Sequence[Walk]) -> List[int]:
    last = list(start)
    for walk in walks:
        last[walk.dim] += (walk.extent - 1) * walk.step
    return last


def _strides_of(walks: Sequence[Walk], into: View) -> List[int]:
    """The step in `into` for each walk: where a dim was cut, its inner parts run faster."""
    strides = [0] * len(walks)
    inner: Dict[int, int] = {}
    for number in reversed(range(len(walks))):
        walk = walks[number]
        passed = inner.get(walk.part, 1)
        strides[number] = into.stride[walk.part] * passed
        inner[walk.part] = passed * walk.extent
    return strides


def _inside(part: _Part, start: Sequence[int], walks: Sequence[Walk], into_offset: int,
            into_stride: Sequence[int]) -> List[_Piece]:
    """The elements walked that lie in the part: one piece, or none."""
    walked = {walk.dim for walk in walks}
    for dim, (begin, end) in enumerate(part.box):
        if dim not in walked and not begin <= start[dim] < end:
            return []
    source_offset = part.offset + sum((start[dim] - begin) * part.stride[dim]
                                      for dim, (begin, _) in enumerate(part.box))
    shape, source_stride = [], []
    for walk, step in zip(walks, into_stride):
        begin, end = part.box[walk.dim]
        first = max(0, -(-(begin - start[walk.dim]) // walk.step))
        last = min(walk.extent, -(-(end - start[walk.dim]) // walk.step))
        if first >= last:
            return []
        shape.append(last - first)
        source_stride.append(walk.step * part.stride[walk.dim])
        source_offset += first * source_stride[-1]
        into_offset += first * step
    return [_Piece(part.source, View(source_offset, tuple(shape), tuple(source_stride)),
                   View(into_offset, tuple(shape), tuple(into_stride)))]


def _key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _written(func: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any]
             ) -> Iterator[torch.Tensor]:
    """The tensors that an operation writes to, by its schema."""
    if not func._schema.is_mutable:
        return
    for position, argument in enumerate(func._schema.arguments):
        if argument.is_write:
            yield from _tensors(kwargs[argument.name] if argument.name in kwargs else
                                args[position] if position < len(args) else None)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _dtype(name: str, dtype: torch.dtype) -> str:
    if dtype not in DTYPE_NAMES:
        raise NotImplementedError(f"'{name}' is {dtype}, which layouts do not have; they have "
                                  + ", ".join(DTYPE_NAMES.values()))
    return DTYPE_NAMES[dtype]


def record_loader(model: Any, load_weights: Callable[[Iterable[Tuple[str, torch.Tensor]]], Any],
                  names_and_shapes: NamesAndShapes, *, rank: int = 0) -> Dict[str, Any]:
    """Runs an engine's weight loader once without bytes and records every copy that it makes.

    Args:
        model: the engine's module on this rank (real or on "meta"), or a dict of its params by name.
            Its params are not changed: fills of elements that no copy went to before are left out
            (a plan does not write padding), all other writes are recorded or refused.
        load_weights: the engine's loader; gets (name, tensor) for every checkpoint tensor.
        names_and_shapes: the checkpoint: name -> (shape, dtype). The names are those of the logical
            tensors of the trainer's layout.
        rank: of this process in the plan.

    Returns:
        What `reshardc import recorded-copies` reads (docs/import.md); sizes in elements.

    Raises:
        NotImplementedError: the loader computes on values, converts, copies to a tensor that is no
            param, or writes something else than checkpoint tensors to a param; it names the
            operation and the tensor. Or params overlap, or one that is written has gaps, or a
            dtype that layouts do not have.
        RuntimeError: a param was allocated anew while it was loaded.
    """
    params = named_tensors(model)
    before = {name: tensor.data_ptr() for name, tensor in params.items()}
    recorder = _Recorder(params)
    sources = []
    for name, (shape, dtype) in names_and_shapes.items():
        tensor = torch.empty(tuple(shape), dtype=dtype, device="meta")
        recorder.add_source(name, tensor)
        sources.append((name, tensor))
    with recorder, torch.no_grad():
        load_weights(iter(sources))
    after = named_tensors(model)
    for name in params:
        if name not in after or _key(after[name]) != _key(params[name]) or \
                after[name].data_ptr() != before[name]:
            raise RuntimeError(f"the loader allocated '{name}' anew: record after it is in its place")
    used = sorted({piece.source for _, piece in recorder.copies})
    written = {param for param, _ in recorder.copies}
    return {
        "format": "reshard-import/recorded-copies", "version": 1, "rank": rank,
        "tensors": {name: {"shape": list(names_and_shapes[name][0]),
                           "dtype": _dtype(name, names_and_shapes[name][1])} for name in used},
        "params": {name: {"shape": list(tensor.shape), "dtype": _dtype(name, tensor.dtype)}
                   for name, tensor in params.items() if name in written},
        "copies": [{"src": piece.source, "src_view": piece.source_view.json(), "dst": param,
                    "dst_view": piece.target_view.json()} for param, piece in recorder.copies],
    }


def save_recorded(record: Dict[str, Any], folder: str, process_group: Any = None) -> Optional[str]:
    """Writes what a rank recorded: with a group one file for each distinct content, by the lowest
    rank that has it, which names all ranks that do.

    Args:
        record: of `record_loader`.
        folder: exists; the same on all ranks when they share a file system.
        process_group: of torch.distributed, collective: whose ranks' contents are compared. None:
            every rank writes a file of its own.

    Returns:
        The file's path, or None when a lower rank wrote the same content.
    """
    content = {key: value for key, value in record.items() if key != "rank"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    everyone = [(record["rank"], digest)]
    if process_group is not None:
        everyone = gather((record["rank"], digest), process_group)
    ranks = sorted(rank for rank, other in everyone if other == digest)
    if ranks[0] != record["rank"]:
        return None
    name = digest[:16] if process_group is not None else f"rank{record['rank']}"
    path = os.path.join(folder, f"copies-{name}.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({**content, "ranks": ranks}, file, indent=1)
    os.replace(path + ".part", path)
    return path
