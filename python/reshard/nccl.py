"""Backends over NCCL, for CUDA tensors; set up through a torch.distributed process group.

Has run against the library only where no GPU was present: every call then says so.
"""

from __future__ import annotations

import ctypes as c
from typing import Any, List

import torch

from . import _abi
from . import tcp
from .errors import ReshardError
from .executor import Backend
from .plan import Plan
from .store_control import StoreControl


def nccl_backend(plan: Plan, process_group: Any, device: int) -> Backend:
    """Collective over the group: a backend with a communicator of its own.

    Args:
        plan: gives the communicator as many channels per peer as the fastest NIC needs.
        process_group: of torch.distributed; the first rank's id is broadcast over it, and where a
            store is, over which the ranks find out after a timeout who does not answer.
        device: number of the CUDA device of this rank.
    """
    lib = plan._library
    lib.declare("reshard_nccl_get_id", [c.c_char_p, c.POINTER(_abi.NcclId)])
    lib.declare("reshard_backend_nccl_create",
                [c.POINTER(_abi.NcclOptions), c.POINTER(_abi.Handle)])
    rank = torch.distributed.get_rank(process_group)
    unique_id = _abi.NcclId()
    shared: List[Any] = [None]
    if rank == 0:
        try:
            lib.call("reshard_nccl_get_id", None, c.byref(unique_id))
            shared = [bytes(unique_id.bytes)]
        except ReshardError as error:  # the others must not wait for an id
            shared = [(error.result, error.code, error.text)]
    torch.distributed.broadcast_object_list(
        shared, src=torch.distributed.get_global_rank(process_group, 0), group=process_group)
    if isinstance(shared[0], tuple):
        result, code, text = shared[0]
        raise ReshardError(result, code, text if rank == 0 else f"rank 0 of the group: {text}")
    unique_id = _abi.NcclId((c.c_ubyte * 128)(*shared[0]))
    control = StoreControl.over(process_group, tcp.host_address(process_group))
    options = _abi.NcclOptions(control=c.addressof(control.control), device=device, id=c.pointer(unique_id), rank=rank,
                                rank_count=torch.distributed.get_world_size(process_group),
                                plan=plan._handle)
    handle = _abi.Handle()
    lib.call("reshard_backend_nccl_create", c.byref(options), c.byref(handle))
    backend = Backend(handle, lib)
    backend._needs = control  # the library calls it as long as there is an executor
    return backend
