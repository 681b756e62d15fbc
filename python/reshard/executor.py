"""Executors: run the part of one rank in a plan, again and again.

Buffers here are addresses and sizes; reshard.torch binds tensors.
"""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from . import _abi
from ._library import Library
from .plan import Plan

_SIDES = {"source": _abi.SOURCE, "destination": _abi.DESTINATION}


def _ns(seconds: Optional[float]) -> int:
    """0 stands for the library's default; infinity for no end."""
    if seconds is None:
        return 0
    if seconds == float("inf"):
        return _abi.FOREVER
    if not seconds > 0:
        raise ValueError(f"a timeout is above 0 seconds, found {seconds}")
    return max(1, int(seconds * 1e9))


class Backend:
    """How one rank reaches the others. Serves one executor at a time."""

    def __init__(self, handle: c.c_void_p, lib: Library, needs: object = None) -> None:
        """`needs`: what the library calls as long as the backend or its executor lives."""
        self._handle = handle
        self._library = lib
        self._needs = needs

    def close(self) -> None:
        """Frees the backend; executors that use it keep what they need."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.call("reshard_backend_destroy", handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def loopback_backends(plan: Plan, pace: float = 0.0) -> List[Backend]:
    """Backends for all ranks of a plan as threads of this process, one for each rank.

    Args:
        plan: its ranks are the members.
        pace: 0 for as fast as memory is; X lets the topology's links carry 1/X of their rate.
    """
    count = plan.stats.ranks
    handles = (_abi.Handle * count)()
    options = _abi.LoopbackOptions(pace=pace)
    plan._library.call("reshard_backend_loopback_create", count, c.byref(options), handles)
    return [Backend(_abi.Handle(handle), plan._library) for handle in handles]


@dataclass(frozen=True)
class ExecutionStats:
    """What the last execution of one rank did. Bytes and seconds; see reshard.h for each field."""

    elapsed_seconds: float
    sent_bytes: int
    received_bytes: int
    read_bytes: int
    local_bytes: int
    delivered_bytes: int
    fill_seconds: float
    pack_seconds: float
    start_seconds: float
    copy_seconds: float
    network_wait_seconds: float
    landed_wait_seconds: float
    slot_wait_seconds: float
    slowest_wait_seconds: float
    slowest_peer: Optional[int]


@dataclass(frozen=True)
class ExecutorState:
    """What a rank's destination params hold.

    Attributes:
        started_generation: by the last start; 0: none yet.
        complete_generation: the last that `wait` confirmed in the buffers that are bound; 0: none.
        complete: destination params that hold the generation started last in full, by name.
        destination_count: destination params that are moved.
        staging_bytes: memory for messages, really allocated.
        running, failed: of the executor.
    """

    started_generation: int
    complete_generation: int
    complete: Tuple[str, ...]
    destination_count: int
    staging_bytes: int
    running: bool
    failed: bool


class RankExecutor:
    """The part of one rank. Not for several threads at the same time.

    `prepare` and `commit` are collective: all ranks have to call them, each on a thread of its own
    when several live in one process.
    """

    def __init__(self, plan: Plan, rank: int, backend: Backend, *,
                 timeout: Optional[float] = None, trace: bool = False, verify_executions: int = 0,
                 replica: Optional[Sequence[int]] = None) -> None:
        """Makes the executor; no other rank takes part yet.

        Args:
            plan: loaded from the same library file as the backend.
            rank: of the plan.
            backend: how it reaches the others.
            timeout: seconds that one wait for another rank may last; None: 30.
            trace: keep what happened when, for `write_trace`.
            verify_executions: the first so many executions compare a hash of every tensor; the same
                on all ranks.
            replica: the ranks that have to hold one generation before any of them serves it; None:
                all ranks.
        """
        self.plan = plan
        self.rank = rank
        self._backend = backend
        self._library = plan._library
        self._handle: Optional[c.c_void_p] = None
        options = _abi.ExecutorOptions(wait_timeout_ns=_ns(timeout), trace=int(trace),
                                       verify_executions=verify_executions)
        if replica is not None:
            members = (c.c_uint32 * len(replica))(*replica)
            options.replica = c.cast(members, c.POINTER(c.c_uint32))
            options.replica_count = len(members)
        handle = _abi.Handle()
        self._library.call("reshard_executor_create", plan._handle, rank, backend._handle,
                           c.byref(options), c.byref(handle))
        self._handle = handle

    def close(self) -> None:
        """Frees the executor; an execution that runs ends with an error on all ranks."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.call("reshard_executor_destroy", handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def bind(self, name: str, side: str, address: int, size_bytes: int, *,
             dtype: Optional[str] = None, shape: Optional[Sequence[int]] = None,
             strides: Optional[Sequence[int]] = None, device: int = _abi.HOST_DEVICE) -> None:
        """Names the buffer of one param.

        Args:
            name: of the param, or one of its shares.
            side: "source" or "destination".
            address: of the first byte.
            size_bytes: of the buffer.
            dtype, shape, strides: what the caller takes the buffer for (extents and strides in
                elements); compared with the plan where given.
            device: number of a CUDA device, or -1 for host memory.
        """
        if side not in _SIDES:
            raise ValueError(f"side is 'source' or 'destination', found {side!r}")
        buffer = _abi.Buffer(
            name=name.encode(), side=_SIDES[side],
            device=device, data=address, bytes=size_bytes,
            dtype=dtype.encode() if dtype is not None else None)
        if shape is not None:
            extents = (c.c_int64 * max(1, len(shape)))(*shape)
            buffer.shape = c.cast(extents, c.POINTER(c.c_int64))
            buffer.dim_count = len(shape)
        if strides is not None:
            steps = (c.c_int64 * max(1, len(strides)))(*strides)
            buffer.strides = c.cast(steps, c.POINTER(c.c_int64))
        self._call("reshard_executor_bind", c.byref(buffer))

    def unbind(self) -> None:
        """Forgets all buffers; `bind` and `prepare` follow."""
        self._call("reshard_executor_unbind")

    def prepare(self, timeout: Optional[float] = None) -> None:
        """Collective: checks all buffers, agrees on the plan with all ranks, allocates, connects.

        Args:
            timeout: seconds; None: 300.
        """
        self._call("reshard_executor_prepare", _ns(timeout))

    def start(self, generation: int, stream: int = 0) -> None:
        """Begins an execution.

        Args:
            generation: counts the weights from 1 on: higher each time, the same on all ranks.
            stream: a cudaStream_t with device backends, otherwise 0.
        """
        self._call("reshard_executor_start", stream or None, generation)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """True when all destination params hold the generation; False when it still runs.

        Args:
            timeout: seconds; 0: only asks; None: until it ends, which the waits' own timeout bounds.
        """
        nanoseconds = 0 if timeout == 0 else _ns(float("inf") if timeout is None else timeout)
        return self._call("reshard_executor_wait", nanoseconds) == _abi.OK

    def commit(self, timeout: Optional[float] = None) -> int:
        """Collective over the replica: the generation that all its ranks hold in full.

        Args:
            timeout: seconds; None: three times the timeout of a wait.
        """
        generation = c.c_uint64()
        self._call("reshard_executor_commit", _ns(timeout), c.byref(generation))
        return generation.value

    def abort(self, reason: str = "") -> None:
        """From any thread: the execution ends with an error on all ranks. A rank that runs none tells
        the others, too; with NCCL, and MPI without threads, only by its next execution, which fails."""
        self._call("reshard_executor_abort", reason.encode())

    @property
    def state(self) -> ExecutorState:
        """What the destination params hold; not while an execution runs."""
        state = _abi.ExecutorState()
        self._call("reshard_executor_get_state", c.byref(state))
        indices = (c.c_size_t * max(1, state.destination_count))()
        count = c.c_size_t()
        self._call("reshard_executor_get_complete", indices, state.destination_count,
                   c.byref(count))
        names = tuple(self.plan._param(self.rank, index).name for index in indices[:count.value])
        return ExecutorState(
            started_generation=state.started_generation,
            complete_generation=state.complete_generation, complete=names,
            destination_count=state.destination_count, staging_bytes=state.staging_bytes,
            running=bool(state.running), failed=bool(state.failed))

    @property
    def stats(self) -> ExecutionStats:
        """Of the last execution."""
        stats = _abi.Stats()
        self._call("reshard_executor_get_stats", c.byref(stats))
        return ExecutionStats(
            elapsed_seconds=stats.elapsed_ns / 1e9, sent_bytes=stats.sent_bytes,
            received_bytes=stats.received_bytes, read_bytes=stats.read_bytes,
            local_bytes=stats.local_bytes, delivered_bytes=stats.delivered_bytes,
            fill_seconds=stats.fill_ns / 1e9, pack_seconds=stats.pack_ns / 1e9,
            start_seconds=stats.start_ns / 1e9, copy_seconds=stats.copy_ns / 1e9,
            network_wait_seconds=stats.network_wait_ns / 1e9,
            landed_wait_seconds=stats.landed_wait_ns / 1e9,
            slot_wait_seconds=stats.slot_wait_ns / 1e9,
            slowest_wait_seconds=stats.slowest_wait_ns / 1e9,
            slowest_peer=None if stats.slowest_peer == _abi.NO_PEER else stats.slowest_peer)

    @property
    def peer_waits(self) -> Dict[int, float]:
        """Seconds waited for each other rank in the last execution."""
        count = c.c_size_t()
        self._call("reshard_executor_get_peer_waits", None, 0, c.byref(count))
        waits = (_abi.PeerWait * max(1, count.value))()
        self._call("reshard_executor_get_peer_waits", waits, count.value, c.byref(count))
        return {wait.peer: wait.wait_ns / 1e9 for wait in waits[:count.value]}

    def write_trace(self, path: str) -> None:
        """Writes the last execution for Perfetto; needs trace=True."""
        self._call("reshard_executor_write_trace", path.encode())

    def _call(self, name: str, *arguments: object) -> int:
        if self._handle is None:
            raise ValueError("the executor is closed")
        return self._library.call(name, self._handle, *arguments)
