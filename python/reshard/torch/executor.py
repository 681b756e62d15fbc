"""Executor: moves the weights of modules after every step of training."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import torch

from .._group import gather
from ..errors import ReshardError
from ..executor import Backend, ExecutionStats, ExecutorState, RankExecutor
from ..plan import Param, Plan

Params = Union["torch.nn.Module", Mapping[str, "torch.Tensor"]]

_NO_GROUP = ("process_group is needed to set {} up: call torch.distributed.init_process_group first")

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


def _listed(problems: List[str]) -> str:
    return "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")


def _identity(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()),
            str(tensor.device))


def _tensor_of(param: Param, tensors: Mapping[str, torch.Tensor]
               ) -> Tuple[str, Optional[torch.Tensor]]:
    """A param's tensor under any of its names."""
    for name in (param.name, *param.shares):
        if name in tensors:
            return name, tensors[name]
    return param.name, None


def _apart(param: Param, name: str, tensor: torch.Tensor, tensors: Mapping[str, torch.Tensor]
           ) -> List[str]:
    """What is wrong with the param's names other than `name`, that of `tensor`: the plan writes one
    buffer, and a name of other memory would keep what it holds."""
    def memory(of: torch.Tensor) -> Tuple[Any, ...]:
        return of.data_ptr(), of.numel() * of.element_size(), of.device
    return [f"{param.side} '{name}' and '{other}' are one param of the plan and two tensors here"
            for other in (param.name, *param.shares)
            if other in tensors and memory(tensors[other]) != memory(tensor)]


def device_of(devices: Mapping[str, torch.device]) -> torch.device:
    """The one device that the params of a rank are on; the CPU where there are none.

    Raises:
        ValueError: names two params on two devices, or one where no backend reaches it.
    """
    first: Optional[Tuple[str, torch.device]] = None
    for name, device in devices.items():
        if device.type not in ("cpu", "cuda"):
            raise ValueError(f"'{name}' is on {device}; params are on the CPU or a CUDA device")
        if first is None:
            first = (name, device)
        elif device != first[1]:
            raise ValueError(f"the params of a rank are on one device: '{first[0]}' is on {first[1]}, "
                             f"'{name}' on {device}")
    return torch.device("cpu") if first is None else first[1]


def choose_backend(backend: str, device: torch.device, has_group: bool) -> str:
    """"tcp", "nccl" or "mpi", for params on `device`.

    Raises:
        ValueError: the backend does not move what is there, or needs a process group.
    """
    if backend == "auto":
        backend = "nccl" if device.type == "cuda" else "tcp" if has_group else "mpi"
    if (backend == "nccl") != (device.type == "cuda"):
        raise ValueError(f"the params are on {device}; backend {backend!r} moves those "
                         + ("on CUDA devices" if backend == "nccl" else "on the CPU"))
    if backend != "mpi" and not has_group:
        raise ValueError(_NO_GROUP.format(backend.upper()))
    return backend


def _default_group(plan: Plan, backend: Union[str, Backend]) -> Any:
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    fits = torch.distributed.get_world_size() == len(plan.ranks)
    return torch.distributed.group.WORLD if fits or backend in ("tcp", "nccl") else None


def _has_group(group: Any, backend: Union[str, Backend]) -> bool:
    """Whether the ranks of the plan are the processes of `group`."""
    return group is not None and not isinstance(backend, Backend) and backend != "mpi"


def _agree(group: Any, kind: str, problem: str) -> None:
    """Collective: what is wrong on one rank is an error on all, in place of a wait for it."""
    everybody = gather((kind, problem), group)
    problems = [f"rank {rank} of the process group: {said}"
                for rank, (_, said) in enumerate(everybody) if said]
    if problems:
        raise ValueError(_listed(problems))
    kinds = {said: rank for rank, (said, _) in reversed(list(enumerate(everybody)))}
    if len(kinds) > 1:
        raise ValueError("the params of all ranks are on CUDA devices or all on the CPU; ranks of "
                         "the process group chose " + ", ".join(
                             f"{said} (rank {rank})" for said, rank in sorted(kinds.items())))


class Executor:
    """The part of one rank in a plan, bound to its weights.

    The tensors' storage has to stay where it is: `step` compares every tensor's address, dtype, shape
    and strides with what was bound, and raises RuntimeError when one was allocated anew. All names of
    a param (tied weights) that there are have to be one tensor, as they are in the plan.
    """

    def __init__(self, plan: Plan, rank: Optional[int] = None, *, source: Optional[Params] = None,
                 destination: Optional[Params] = None, process_group: Any = None,
                 backend: Union[str, Backend] = "auto", timeout: Optional[float] = None,
                 prepare_timeout: Optional[float] = None, verify_executions: int = 0,
                 trace: bool = False, replica: Optional[Any] = None) -> None:
        """Binds and prepares: collective over all ranks of the plan.

        Args:
            plan: the same on all ranks; they agree on its digest before any byte moves.
            rank: of the plan; None: the plan's i-th rank for the i-th process of the group, or of
                MPI.
            source: weights that this rank gives, by param name of the plan's source layout.
            destination: weights that this rank receives. Tensors that are no params of the plan are
                ignored; a param of the plan without a tensor is an error.
            process_group: of torch.distributed (Gloo or any other), with as many ranks as the plan:
                over it the ranks tell each other how they are reached. None: all processes, if
                torch.distributed is initialized with as many as the plan has ranks.
            backend: "tcp" (CPU tensors; connections of the library's own between the processes of the
                group), "nccl" (CUDA tensors), "mpi" (CPU tensors; processes of mpirun), "auto"
                (nccl for CUDA tensors, else tcp if there is a group, else mpi), or a Backend: one of
                `reshard.loopback_backends(plan)` when all ranks are threads of this process, or of
                `reshard.tcp.tcp_backend` for other options.
            timeout: seconds that one wait for another rank may last; None: 30. A step that fails
                takes at most twice as long after its last wait began, three times on ranks that had
                all that is their own.
            prepare_timeout: seconds; None: 300.
            verify_executions: the first so many steps compare a hash of every tensor; the same on
                all ranks.
            trace: keep what happened when, for `write_trace`.
            replica: ranks that have to hold one generation before any serves it; None: all.

        Raises:
            ReshardError: all params that are missing or do not fit, in one message.
            RuntimeError: two names of one param are two tensors on this rank; the other ranks get a
                ReshardError that names the param.
            ValueError: an argument or tensor that cannot be used at all. On all processes of the
                group what is wrong on one of them; with "mpi" or a Backend the others get a
                ReshardError that names the rank and the param, if it was a tensor; what is wrong
                with arguments is said on that rank alone, while the others wait in prepare.
        """
        self._generation = 0
        self._timeout = timeout
        self._mpi: Any = None
        sides = {"source": named_tensors(source), "destination": named_tensors(destination)}
        if process_group is None:
            process_group = _default_group(plan, backend)
        rank = self._rank_of(plan, rank, process_group, backend)
        params = [(param, *_tensor_of(param, sides[param.side])) for param in plan.params(rank)]
        devices = {name: tensor.device for _, name, tensor in params if tensor is not None}
        plan, made = self._connect(plan, process_group, backend, devices)
        self.plan, self.rank = plan, rank
        self._bound: Dict[Tuple[str, str], Tuple[torch.Tensor, Tuple[Any, ...]]] = {}
        self._params: List[Tuple[Param, str]] = []  # that were bound, and under which name
        self._sides = (source, destination)
        apart: List[str] = []
        problem = ""
        try:
            self._executor = RankExecutor(plan, rank, made, timeout=timeout, trace=trace,
                                          verify_executions=verify_executions, replica=replica)
            apart = self._bind_all(params, sides)
        except Exception as error:
            if not _has_group(process_group, backend):
                self._fail_on_all(prepare_timeout, error)
                raise
            problem = str(error) or type(error).__name__
        if _has_group(process_group, backend):
            _agree(process_group, "", problem)
        if apart:  # what was not bound is an error on all ranks
            untied = RuntimeError(_listed(apart) + "; tie them, or leave the name out of 'shares'")
            try:
                self._executor.prepare(prepare_timeout)
            except ReshardError as error:
                raise untied from error
            raise untied
        self._executor.prepare(prepare_timeout)

    def _fail_on_all(self, timeout: Optional[float], error: Exception) -> None:
        """The other ranks, in prepare, get an error in place of waiting for this one."""
        if not hasattr(self, "_executor"):
            return
        with contextlib.suppress(ReshardError):
            self._executor.prepare(timeout)  # which lacks what was not bound
            self._executor.abort(str(error)[:500])

    def _rank_of(self, plan: Plan, rank: Optional[int], group: Any,
                 backend: Union[str, Backend]) -> int:
        if isinstance(backend, Backend):
            if rank is not None:
                return rank
            if group is None:
                raise ValueError("rank is needed with a loopback backend")
        elif backend not in ("auto", "tcp", "nccl", "mpi"):
            raise ValueError("backend is 'auto', 'tcp', 'nccl', 'mpi' or a Backend, "
                             f"found {backend!r}")
        elif backend in ("tcp", "nccl") and group is None:
            raise ValueError(_NO_GROUP.format(backend.upper()))
        if group is not None and backend != "mpi":
            member, members = torch.distributed.get_rank(group), \
                torch.distributed.get_world_size(group)
        elif rank is None:
            from .. import mpi
            self._mpi = mpi.world()
            member, members = self._mpi.rank, self._mpi.size
        else:
            return rank
        if members != len(plan.ranks):
            raise ValueError(f"the plan has {len(plan.ranks)} ranks, the job {members} processes: "
                             "pass a process_group of the plan's ranks")
        return plan.ranks[member] if rank is None else rank

    def _connect(self, plan: Plan, group: Any, backend: Union[str, Backend],
                 devices: Mapping[str, torch.device]) -> Tuple[Plan, Backend]:
        if isinstance(backend, Backend):
            device_of(devices)
            return plan, backend
        kind, problem = backend, ""
        device = torch.device("cpu")
        try:
            device = device_of(devices)
            kind = choose_backend(backend, device, group is not None)
        except ValueError as error:
            problem = str(error)
        if _has_group(group, backend):
            _agree(group, kind, problem)
        elif problem:
            raise ValueError(problem)
        if kind == "nccl":
            from .. import nccl
            return plan, nccl.nccl_backend(plan, group, device.index)
        if kind == "tcp":
            from .. import tcp
            return plan, tcp.tcp_backend(plan, group)
        from .. import mpi
        self._mpi = mpi.world()
        return mpi.plan_for_mpi(plan), mpi.mpi_backend()

    def _bind_all(self, params: List[Tuple[Param, str, Optional[torch.Tensor]]],
                  sides: Mapping[str, Mapping[str, torch.Tensor]]) -> List[str]:
        """What keeps params from being bound, of those whose names are several tensors.

        Raises:
            Exception: the first param that cannot be bound for another reason; all others are bound.
        """
        apart: List[str] = []
        failure: Optional[Exception] = None
        for param, name, tensor in params:
            if tensor is None:  # prepare lists what is missing, of all ranks
                continue
            try:
                if tensor.layout != torch.strided:
                    raise ValueError(
                        f"'{name}' has the layout {tensor.layout}; params are dense tensors")
                wrong = [] if param.external else _apart(param, name, tensor, sides[param.side])
                if not wrong:
                    self._bind(param, name, tensor)
                apart += wrong
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return apart

    def _bind(self, param: Param, name: str, tensor: torch.Tensor) -> None:
        dtype = DTYPE_NAMES.get(tensor.dtype, str(tensor.dtype))
        self._executor.bind(
            name, param.side, tensor.data_ptr(), tensor.numel() * tensor.element_size(),
            dtype=dtype, shape=tuple(tensor.shape), strides=tuple(tensor.stride()),
            device=tensor.device.index if tensor.is_cuda else -1)
        self._bound[(param.side, name)] = (tensor, _identity(tensor))
        self._params.append((param, name))

    def _check_storage(self) -> None:
        now = dict(zip(("source", "destination"), map(named_tensors, self._sides)))
        moved = []
        for param, name in self._params:
            tensor, (_, identity) = now[param.side].get(name), self._bound[(param.side, name)]
            if tensor is None:
                moved.append(f"{param.side} '{name}' is gone")
            elif _identity(tensor) != identity:
                moved.append(f"{param.side} '{name}' was bound as {identity}, found "
                             f"{_identity(tensor)}")
            elif not param.external:
                moved += _apart(param, name, tensor, now[param.side])
        if moved:
            raise RuntimeError("weights were allocated anew since they were bound: "
                               + _listed(moved) + "; make a new Executor")

    def step(self, generation: Optional[int] = None) -> int:
        """Moves the weights; collective over all ranks of the plan.

        Args:
            generation: counts the weights, higher each time and the same on all ranks; None: one
                more than before.

        Returns:
            The generation that all ranks of the replica now hold in full.

        Raises:
            RuntimeError: a tensor's storage is not the one that was bound, or another name of the
                param has one of its own. Nothing was moved on this rank; the other ranks get an
                error as well.
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
            committed = self._execute(generation, stream)
        except Exception:
            if self._mpi is not None:
                self._mpi.note_failure()
            raise
        self._generation = generation
        return committed

    def _execute(self, generation: int, stream: int) -> int:
        self._executor.start(generation, stream)
        try:
            self._executor.wait()
        except ReshardError:
            # Every rank of the replica takes part: those whose part is complete learn that it is not
            # to be served.
            with contextlib.suppress(ReshardError):
                self._executor.commit(30 if self._timeout is None else self._timeout)
            raise
        return self._executor.commit()

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
        self._params.clear()


