"""Backends over NCCL, for CUDA tensors; set up through a torch.distributed process group.

Never ran on a GPU. Without one every call says so; engines and messages are tested on a double of CUDA
and NCCL (docs/backends.md).
"""

from __future__ import annotations

import ctypes as c
from typing import Any

import torch.distributed as dist

from . import _abi
from . import tcp
from ._group import from_first
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

    def new_id() -> bytes:
        made = _abi.NcclId()
        lib.call("reshard_nccl_get_id", None, c.byref(made))
        return bytes(made.bytes)

    unique_id = _abi.NcclId((c.c_ubyte * 128)(*from_first(new_id, process_group)))
    control = StoreControl.over(process_group, tcp.host_address(process_group))
    options = _abi.NcclOptions(control=c.addressof(control.control), device=device,
                               id=c.pointer(unique_id), rank=dist.get_rank(process_group),
                               rank_count=dist.get_world_size(process_group), plan=plan._handle)
    handle = _abi.Handle()
    lib.call("reshard_backend_nccl_create", c.byref(options), c.byref(handle))
    return Backend(handle, lib, needs=control)
