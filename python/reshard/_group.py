"""What the processes of a torch.distributed group tell each other."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple, Union

import torch.distributed as dist

from .errors import ReshardError

_Said = Union[str, Tuple[int, str, str]]  # what is said of an error


def gather(mine: Any, group: Any) -> List[Any]:
    """Collective: what each rank of the group says, by rank."""
    said: List[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(said, mine, group=group)
    return said


def from_first(make: Callable[[], Any], group: Any) -> Any:
    """Collective: what make() returns on the group's first rank. Its error is one on all ranks, in
    place of a wait for what does not come."""
    said: List[Any] = [None]
    raised: Optional[Exception] = None
    if dist.get_rank(group) == 0:
        try:
            said = [(make(), None)]
        except Exception as error:
            raised = error
            said = [(None, _told(error))]
    dist.broadcast_object_list(said, src=dist.get_global_rank(group, 0), group=group)
    value, told = said[0]
    if raised is not None:
        raise raised
    if told is not None:
        raise _heard(told)
    return value


def _told(error: Exception) -> _Said:
    if isinstance(error, ReshardError):
        return error.result, error.code, error.text
    return str(error) or type(error).__name__


def _heard(told: _Said) -> Exception:
    if isinstance(told, str):
        return RuntimeError(f"rank 0 of the process group: {told}")
    result, code, text = told
    return ReshardError(result, code, f"rank 0 of the process group: {text}")
