"""Strided views: which elements of a storage a tensor shows, in elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

import torch


@dataclass(frozen=True)
class View:
    """Element (i, j, ...) lies at offset + i * stride[0] + j * stride[1] + ..."""

    offset: int
    shape: Tuple[int, ...]
    stride: Tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "View":
        return cls(tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))

    @property
    def count(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def last(self) -> int:
        """The highest offset of an element, of which there is one."""
        return self.offset + sum((extent - 1) * step for extent, step in zip(self.shape, self.stride))

    def moved(self, elems: int) -> "View":
        return View(self.offset + elems, self.shape, self.stride)

    def json(self) -> Dict[str, Any]:
        return {"offset": self.offset, "shape": list(self.shape), "stride": list(self.stride)}


class NotStrided(Exception):
    """What is read cannot be said as steps along the dims of a dense tensor."""


@dataclass(frozen=True)
class Walk:
    """One step along a dim of a dense tensor.

    Attributes:
        dim: of the dense tensor.
        step: in indices of that dim.
        extent: how many indices are shown, the first at the beginning of the view.
        part: which dim of the view this is a part of.
    """

    dim: int
    step: int
    extent: int
    part: int


def walk_dense(view: View, dense: View) -> Tuple[List[int], List[Walk]]:
    """Says a view of a dense tensor as steps along the tensor's dims.

    Args:
        view: of the storage of `dense`.
        dense: a tensor without gaps or overlaps, its dims in any order of strides.

    Returns:
        The index of the view's first element in the dense tensor, and the steps: for each dim of the
        view above one element, outermost first, one step for each dim of the dense tensor that it
        passes through (as after a reshape). No dim of the dense tensor is walked twice.

    Raises:
        NotStrided: there is no such form.
    """
    order = sorted(range(len(dense.shape)), key=lambda d: -dense.stride[d])
    order = [d for d in order if dense.shape[d] > 1]
    start = [0] * len(dense.shape)
    rest = view.offset - dense.offset
    for d in order:
        start[d], rest = divmod(rest, dense.stride[d])
    if rest != 0 or any(not 0 <= start[d] < dense.shape[d] for d in order):
        raise NotStrided
    walks: List[Walk] = []
    used = set()
    for part, (extent, stride) in enumerate(zip(view.shape, view.stride)):
        found: List[Walk] = []
        while extent > 1:
            d = next((d for d in order if stride > 0 and stride % dense.stride[d] == 0), None)
            if d is None or d in used:
                raise NotStrided
            used.add(d)
            step = stride // dense.stride[d]
            if start[d] + (extent - 1) * step < dense.shape[d]:
                found.append(Walk(d, step, extent, part))
                break
            # Through the end of the dim: then from its beginning, in full rows.
            outer = order[order.index(d) - 1] if order.index(d) > 0 else None
            rows, left = divmod(extent * step, dense.shape[d])
            if start[d] != 0 or dense.shape[d] % step or left or outer is None:
                raise NotStrided
            found.append(Walk(d, step, dense.shape[d] // step, part))
            extent, stride = rows, dense.stride[outer]
        walks += reversed(found)
    return start, walks
