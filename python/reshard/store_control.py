"""A control channel over a key-value store of torch.distributed: what NCCL backends ask who is missing.

NCCL cannot say whom a rank waits for in vain. Over this channel, which lives as long as the backend, the
ranks that are left compare how far they are and name those that do not answer.
"""

from __future__ import annotations

import ctypes as c
import datetime
import hashlib
import time
from typing import Any, Dict, List, Optional, Tuple

import torch.distributed as dist

from . import _abi
from ._group import from_first


class StoreControl:
    """The channel of one member.

    Attributes:
        control: for options of backends; valid as long as this object is.
        failure: what the store raised last, or None.
    """

    def __init__(self, store: Any, member: int, member_count: int) -> None:
        """Not collective.

        Args:
            store: of torch.distributed, the same for all members and used by nobody else.
            member: below member_count.
        """
        self._store = store
        self._member = member
        self._calls: Dict[Tuple[int, ...], int] = {}
        self.failure: Optional[BaseException] = None
        self._function = _abi.AllGather(self._all_gather)  # C calls it
        self.control = _abi.Control(all_gather=self._function, member=member,
                                    member_count=member_count)

    @classmethod
    def over(cls, process_group: Any, address: str) -> "StoreControl":
        """Collective over the group: with a store in its first process.

        Args:
            address: of this host, as the others reach it.
        """
        made: List[Any] = []

        def make() -> Tuple[str, int]:
            try:
                made.append(dist.TCPStore(address, 0, is_master=True, wait_for_workers=False))
            except Exception as error:
                raise RuntimeError("cannot make a store: "
                                   + (str(error) or type(error).__name__)) from error
            return address, made[0].port

        host, port = from_first(make, process_group)
        if not made:
            made.append(dist.TCPStore(host, port, is_master=False, wait_for_workers=False))
        return cls(made[0], dist.get_rank(process_group), dist.get_world_size(process_group))

    def _all_gather(self, _: object, members: Any, count: int, mine: int, size: int, out: int,
                    timeout_ns: int) -> int:
        try:
            group = tuple(members[:count])
            call = self._calls.get(group, 0)
            self._calls[group] = call + 1
            return self._exchange(group, call, c.string_at(mine, size), out, timeout_ns)
        except BaseException as error:  # none may pass through C
            self.failure = error
            return _abi.ERROR_IO

    def _exchange(self, group: Tuple[int, ...], call: int, mine: bytes, out: int,
                  timeout_ns: int) -> int:
        name = hashlib.sha1(repr(group).encode()).hexdigest()

        def key(of_call: int, member: int) -> str:
            return f"{name}/{of_call}/{member}"
        end = time.monotonic() + timeout_ns * 1e-9
        self._store.set(key(call, self._member), mine)
        missing = not self._wait([key(call, member) for member in group], end)
        for position, member in enumerate(group):
            if missing and not self._store.check([key(call, member)]):
                continue  # the library sees that nothing came
            said = self._store.get(key(call, member))
            if len(said) != len(mine):
                raise ValueError(f"member {member} makes another call than member {self._member}")
            c.memmove(out + position * len(mine), said, len(mine))
        if missing:
            return _abi.ERROR_TIMEOUT
        # All have begun this call, so nobody reads what the one before left.
        if call > 0:
            self._store.delete_key(key(call - 1, self._member))
        return _abi.OK

    def _wait(self, keys: List[str], end: float) -> bool:
        """Whether all are there before `end`."""
        while True:
            # In parts: a store takes no times that are very long, and 0 for its own default.
            left = min(end - time.monotonic(), 60.0)
            try:
                self._store.wait(keys, datetime.timedelta(seconds=max(left, 0.001)))
                return True
            except RuntimeError:
                if time.monotonic() >= end:
                    return False
                self._store.check(keys[:1])  # raises when the store is gone
