"""Executor: moves the weights of modules after every step of training."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Union

import torch

from ..executor import Backend, ExecutionStats, ExecutorState, RankExecutor
from ..plan import Param, Plan

Params = Union["torch.nn.Module", Mapping[str, "torch.Tensor"]]

# Names of dtypes in layouts. Sub-byte types are stored packed, as uint8.
DTYPE_NAMES: Dict[torch.dtype, str] = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.int32: "i32", torch.float32: "f32",
    torch.int64: "i64", torch.float64: "f64",
}
for _torch_name, _name in (("float8_e4m3fn", "f8e4m3"), ("float8_e5m2", "f8e5m2"),
                           ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64")):
    if hasattr(torch, _torch_name):
        DTYPE_NAMES[getattr(torch, _torch_name)] = _name


def local_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a DTensor that this rank stores; other tensors as they are."""
    local = getattr(tensor, "_local_tensor", None)
    return tensor if local is None else local


def named_tensors(params: Optional[Params]) -> Dict[str, torch.Tensor]:
    """Local tensors by name: params and persistent buffers of a module, or a dict's entries."""
    if params is None:
        return {}
    if isinstance(params, torch.nn.Module):
        # state_dict has just the persistent ones, shared tensors under all their names; keep_vars
        # gives the tensors themselves.
        items: Any = params.state_dict(keep_vars=True).items()
    else:
        items = params.items()
    return {name: local_tensor(tensor).detach() for name, tensor in items
            if isinstance(tensor, torch.Tensor)}


def _identity(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()),
            str(tensor.device))


class Executor:
    """The part of one rank in a plan, bound to its weights.

    The tensors' storage has to stay where it is: `step` compares every tensor's address, dtype, shape
    and strides with what was bound, and raises RuntimeError when one was allocated anew.
    """

    def __init__(self, plan: Plan, rank: Optional[int] = None, *, source: Optional[Params] = None,
                 destination: Optional[Params] = None, process_group: Any = None,
                 backend: Union[str, Backend] = "auto", timeout: Optional[float] = None,
                 prepare_timeout: Optional[float] = None, verify_executions: int = 0,
                 trace: bool = False, replica: Optional[Any] = None) -> None:
        """Binds and prepares: collective over all ranks of the plan.

        Args:
            plan: the same on all ranks; they agree on its digest before any byte moves.
            rank: of the plan; None: the rank of `process_group`, or of MPI.
            source: weights that this rank gives, by param name of the plan's source layout.
            destination: weights that this rank receives. Tensors that are no params of the plan are
                ignored; a param of the plan without a tensor is an error.
            process_group: of torch.distributed (any backend): where the rank comes from, and how
                NCCL's communicator is set up. Its ranks are the plan's.
            backend: "mpi" (processes of mpirun; CPU tensors), "nccl" (CUDA tensors), "auto" (nccl
                for CUDA tensors, else mpi), or one of `reshard.loopback_backends(plan)` when all
                ranks are threads of this process.
            timeout: seconds that one wait for another rank may last; None: 30.
            prepare_timeout: seconds; None: 300.
            verify_executions: the first so many steps compare a hash of every tensor.
            trace: keep what happened when, for `write_trace`.
            replica: ranks that have to hold one generation before any serves it; None: all.

        Raises:
            ReshardError: all params that are missing or do not fit, in one message.
        """
        self._generation = 0
        self._mpi: Any = None
        sides = {"source": named_tensors(source), "destination": named_tensors(destination)}
        if backend == "auto":
            tensors = [tensor for side in sides.values() for tensor in side.values()]
            backend = "nccl" if any(tensor.is_cuda for tensor in tensors) else "mpi"
        rank, plan, made = self._connect(plan, rank, process_group, backend, sides)
        self.plan, self.rank = plan, rank
        self._executor = RankExecutor(plan, rank, made, timeout=timeout, trace=trace,
                                      verify_executions=verify_executions, replica=replica)
        self._bound: Dict[Tuple[str, str], Tuple[torch.Tensor, Tuple[Any, ...]]] = {}
        self._sides = (source, destination)
        for param in plan.params(rank):
            self._bind(param, sides[param.side])
        self._executor.prepare(prepare_timeout)

    def _connect(self, plan: Plan, rank: Optional[int], group: Any, backend: Union[str, Backend],
                 sides: Mapping[str, Mapping[str, torch.Tensor]]) -> Tuple[int, Plan, Backend]:
        if isinstance(backend, Backend):
            if rank is None:
                raise ValueError("rank is needed with a loopback backend")
            return rank, plan, backend
        if rank is None and group is not None:
            rank = torch.distributed.get_rank(group)
        if backend == "mpi":
            from .. import mpi
            self._mpi = mpi.world()
            return (self._mpi.rank if rank is None else rank), mpi.plan_for_mpi(plan), \
                mpi.mpi_backend()
        if backend == "nccl":
            from .. import nccl
            if group is None:
                raise ValueError("process_group is needed to set NCCL up")
            devices = {tensor.device.index for side in sides.values()
                       for tensor in side.values() if tensor.is_cuda}
            if len(devices) != 1:
                raise ValueError(f"the tensors of a rank are on one CUDA device, found {devices}")
            return rank, plan, nccl.nccl_backend(plan, group, devices.pop())
        raise ValueError(f"backend is 'auto', 'mpi', 'nccl' or a Backend, found {backend!r}")

    def _bind(self, param: Param, tensors: Mapping[str, torch.Tensor]) -> None:
        name = next((name for name in (param.name, *param.shares) if name in tensors), None)
        if name is None:
            return  # prepare lists what is missing, of all ranks
        tensor = tensors[name]
        dtype = DTYPE_NAMES.get(tensor.dtype, str(tensor.dtype))
        self._executor.bind(
            name, param.side, tensor.data_ptr(), tensor.numel() * tensor.element_size(),
            dtype=dtype, shape=tuple(tensor.shape), strides=tuple(tensor.stride()),
            device=tensor.device.index if tensor.is_cuda else -1)
        self._bound[(param.side, name)] = (tensor, _identity(tensor))

    def _check_storage(self) -> None:
        now = [named_tensors(side) for side in self._sides]
        moved = []
        for (side, name), (_, identity) in self._bound.items():
            tensor = now[0 if side == "source" else 1].get(name)
            if tensor is None:
                moved.append(f"{side} '{name}' is gone")
            elif _identity(tensor) != identity:
                moved.append(f"{side} '{name}' was bound as {identity}, found {_identity(tensor)}")
        if moved:
            raise RuntimeError("weights were allocated anew since they were bound: "
                               + "; ".join(moved[:5])
                               + (f"; and {len(moved) - 5} more" if len(moved) > 5 else "")
                               + "; make a new Executor")

    def step(self, generation: Optional[int] = None) -> int:
        """Moves the weights; collective over all ranks of the plan.

        Args:
            generation: counts the weights, higher each time and the same on all ranks; None: one
                more than before.

        Returns:
            The generation that all ranks of the replica now hold in full.

        Raises:
            RuntimeError: a tensor's storage is not the one that was bound. Nothing was moved on this
                rank; the other ranks get an error as well.
            ReshardError: names the peer, the round and the param. Destination tensors may hold a
                mixture: `state` says which are complete. The executor is of no further use.
        """
        generation = self._generation + 1 if generation is None else generation
        try:
            self._check_storage()
        except RuntimeError as error:
            self._executor.abort(str(error)[:500])
            raise
        try:
            stream = 0
            if any(tensor.is_cuda for tensor, _ in self._bound.values()):
                stream = torch.cuda.current_stream().cuda_stream
            self._executor.start(generation, stream)
            self._executor.wait()
            committed = self._executor.commit()
        except Exception:
            if self._mpi is not None:
                self._mpi.note_failure()
            raise
        self._generation = generation
        return committed

    @property
    def stats(self) -> ExecutionStats:
        """What the last step did on this rank."""
        return self._executor.stats

    @property
    def state(self) -> ExecutorState:
        """What the destination tensors hold."""
        return self._executor.state

    def write_trace(self, path: str) -> None:
        """Writes the last step for Perfetto; needs trace=True."""
        self._executor.write_trace(path)

    def close(self) -> None:
        """Frees everything but the tensors."""
        self._executor.close()
        self._bound.clear()


