"""Backends over MPI, for processes that mpirun started.

Open MPI is reached with ctypes, so that no package beyond this one is needed; a process that uses
mpi4py may initialize MPI itself, before or after.
"""

from __future__ import annotations

import atexit
import ctypes as c
import ctypes.util
import weakref
from typing import Optional

from . import _abi
from ._library import library
from .executor import Backend, _ns
from .plan import Plan

LIBRARY = "libreshard_mpi.so"

_THREAD_MULTIPLE = 3
_world: Optional["World"] = None


class World:
    """MPI_COMM_WORLD of Open MPI.

    Attributes:
        rank: of this process in the communicator.
        size: processes of the communicator.
        communicator: an MPI_Comm, as an address.
    """

    def __init__(self) -> None:
        # Open MPI's components look for its symbols among the global ones.
        self._mpi = c.CDLL(ctypes.util.find_library("mpi") or "libmpi.so.40", mode=c.RTLD_GLOBAL)
        self.communicator = c.addressof(c.c_char.in_dll(self._mpi, "ompi_mpi_comm_world"))
        self._backends: "weakref.WeakSet[Backend]" = weakref.WeakSet()
        initialized = c.c_int()
        self._check(self._mpi.MPI_Initialized(c.byref(initialized)))
        if not initialized.value:
            provided = c.c_int()
            self._check(self._mpi.MPI_Init_thread(None, None, _THREAD_MULTIPLE, c.byref(provided)))
            atexit.register(self._finalize)
        rank, size = c.c_int(), c.c_int()
        comm = c.c_void_p(self.communicator)
        self._check(self._mpi.MPI_Comm_rank(comm, c.byref(rank)))
        self._check(self._mpi.MPI_Comm_size(comm, c.byref(size)))
        self.rank, self.size = rank.value, size.value
        self._failed = False

    def broadcast_text(self, text: str) -> str:
        """Rank 0's text on all ranks; collective. At most 4095 bytes."""
        buffer = c.create_string_buffer(text.encode(), 4096)
        byte = c.c_void_p(c.addressof(c.c_char.in_dll(self._mpi, "ompi_mpi_byte")))
        self._check(self._mpi.MPI_Bcast(buffer, len(buffer), byte, 0,
                                        c.c_void_p(self.communicator)))
        return buffer.value.decode()

    @staticmethod
    def _check(result: int) -> None:
        if result != 0:
            raise RuntimeError(f"MPI returned {result}")

    def note_failure(self) -> None:
        """MPI_Finalize waits for the dead: a process that has seen a failure ends without it."""
        self._failed = True

    def _finalize(self) -> None:
        if self._failed:
            return
        for backend in list(self._backends):
            backend.close()
        self._mpi.MPI_Finalize()


def world() -> World:
    """The communicator of all processes; initializes MPI at the first call."""
    global _world
    if _world is None:
        _world = World()
    return _world


def mpi_backend(timeout: Optional[float] = None) -> Backend:
    """Collective over all processes of mpirun: a backend for this one.

    Args:
        timeout: seconds to wait for the others; None: 30.
    """
    lib = library(LIBRARY)
    lib.declare("reshard_backend_mpi_create",
                [c.c_void_p, c.POINTER(_abi.MpiOptions), c.POINTER(_abi.Handle)])
    options = _abi.MpiOptions(timeout_ns=_ns(timeout))
    handle = _abi.Handle()
    communicator = world()
    lib.call("reshard_backend_mpi_create", communicator.communicator, c.byref(options),
             c.byref(handle))
    backend = Backend(handle, lib)
    communicator._backends.add(backend)
    return backend


def plan_for_mpi(plan: Plan) -> Plan:
    """The plan, opened in the library that knows MPI."""
    return plan.for_library(LIBRARY)
