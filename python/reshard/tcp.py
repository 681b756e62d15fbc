"""Backends over TCP, for processes that torch.distributed knows (torchrun), without MPI.

The process group, of Gloo or any other kind, only tells the ranks each other's addresses; weights go
over connections of the library's own. (Sends and receives of Gloo cannot be polled, and one that runs
into a timeout closes all of the group's connections: no rank could say any more whom it waited for.)
"""

from __future__ import annotations

import ctypes as c
import os
import socket
import struct
from typing import Any, List, Optional, Tuple

import torch.distributed as dist

from . import _abi
from ._group import gather
from .executor import Backend, _ns
from .plan import Plan

LOOPBACK = "127.0.0.1"


def tcp_backend(plan: Plan, process_group: Any = None, address: Optional[str] = None,
                timeout: Optional[float] = None, shared_memory: bool = True) -> Backend:
    """Collective over the group: a backend for this process.

    Args:
        plan: of the library that is to be used.
        process_group: of torch.distributed, of any kind; None: all processes. It has as many ranks as
            the plan, and is not used any more afterwards.
        address: of this host, numeric, as the others reach it; None: see `host_address`.
        timeout: seconds to wait for the others while connecting; None: 30. The group has its own.
        shared_memory: ranks of one host hand on what they received through memory.
    """
    failures: List[BaseException] = []

    def all_gather(_: object, members: Any, count: int, mine: int, size: int, out: int,
                   __: int) -> int:
        try:
            if list(members[:count]) != list(range(dist.get_world_size(process_group))):
                raise ValueError("a part of the group cannot talk over it")
            parts = gather(c.string_at(mine, size), process_group)
            c.memmove(out, b"".join(parts), size * len(parts))
            return _abi.OK
        except BaseException as error:  # none may pass through C
            failures.append(error)
            return _abi.ERROR_IO

    chosen = host_address(process_group, address)
    control = _abi.Control(all_gather=_abi.AllGather(all_gather),
                           member=dist.get_rank(process_group),
                           member_count=dist.get_world_size(process_group))
    options = _abi.TcpOptions(control=c.pointer(control), address=chosen.encode(),
                              no_shared_memory=int(not shared_memory), timeout_ns=_ns(timeout))
    handle = _abi.Handle()
    try:
        plan._library.call("reshard_backend_tcp_create", c.byref(options), c.byref(handle))
    except Exception as error:
        raise (failures[0] if failures else error) from error
    return Backend(handle, plan._library)


def host_address(process_group: Any = None, address: Optional[str] = None) -> str:
    """Collective over the group: this host's address as the other ranks reach it.

    `address`, where one is given. 127.0.0.1 where all of them share a network. Otherwise the address
    of the interface that GLOO_SOCKET_IFNAME names, as for Gloo; without it the one that this host
    reaches MASTER_ADDR from; on the host of MASTER_ADDR itself, the one that it reaches another host
    from.

    Raises:
        ValueError: on all ranks, when one of them knows no such address.
    """
    guess, problem = None, ""
    try:
        guess = address or _first_guess()
    except ValueError as error:
        problem = str(error)
    everybody = gather((_network(), guess, problem), process_group)
    _refuse([said for _, _, said in everybody])
    if address is not None:
        found: Optional[str] = address
    elif len({network for network, _, _ in everybody}) == 1:
        found = LOOPBACK
    else:
        found = _route(guess, [other for network, other, _ in everybody if network != _network()])
    if found is None:
        problem = ("no address is known that other hosts reach: set MASTER_ADDR or "
                   "GLOO_SOCKET_IFNAME, or pass the address to reshard.tcp.tcp_backend")
    _refuse(gather(problem, process_group))
    assert found is not None
    return found


def _route(guess: Optional[str], others: List[Optional[str]]) -> Optional[str]:
    """The guess, if others can reach it; else where packets to one of the others leave from."""
    if guess is not None and not _is_loopback(guess):
        return guess
    for other in others:
        if other is not None and not _is_loopback(other):
            found = _address_towards(other)
            if found is not None and not _is_loopback(found):
                return found
    return None


def _refuse(problems: List[str]) -> None:
    for rank, problem in enumerate(problems):
        if problem:
            raise ValueError(f"rank {rank} of the process group: {problem}")


def _network() -> Tuple[str, int]:
    """Equal for processes that have one loopback interface: of a host, or of a container of it."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip(), os.stat("/proc/self/ns/net").st_ino


def _first_guess() -> Optional[str]:
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    if interface:
        return _interface_address(interface)
    master = os.environ.get("MASTER_ADDR")
    return _address_towards(master) if master else None


def _interface_address(name: str) -> str:
    """IPv4, as SIOCGIFADDR gives it."""
    import fcntl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("256s", name.encode()[:15])
        try:
            answer = fcntl.ioctl(asking.fileno(), 0x8915, request)
        except OSError as error:
            raise ValueError(f"GLOO_SOCKET_IFNAME is {name!r}, which has no address here: "
                             f"{error.strerror}") from error
    return socket.inet_ntoa(answer[20:24])


def _address_towards(host: str) -> Optional[str]:
    """The address that packets to `host` would leave from; nothing is sent."""
    try:
        found = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)
    except OSError:
        return None
    for family, kind, protocol, _, target in found:
        try:
            with socket.socket(family, kind, protocol) as asking:
                asking.connect(target)
                return str(asking.getsockname()[0])
        except OSError:
            continue
    return None


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"
