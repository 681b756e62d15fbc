"""The C headers in ctypes: structs and the types of functions. The headers document them.

tests/abi_test.py compares all of it with what a C compiler says.
"""

from __future__ import annotations

import ctypes as c

ABI_VERSION = 1

OK = 0
PENDING = 1
SOURCE = 0
DESTINATION = 1
HOST_DEVICE = -1
FOREVER = (1 << 63) - 1
NO_PEER = (1 << 32) - 1
ERROR_IO = -4
ERROR_TIMEOUT = -8

Handle = c.c_void_p


class Sized(c.Structure):
    """A struct that begins with struct_size, which is set when it is made."""

    def __init__(self, **fields: object) -> None:
        super().__init__(**fields)
        self.struct_size = c.sizeof(self)


class PlanOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("expected_digest", c.c_char_p),
        ("max_file_bytes", c.c_uint64),
        ("verify_all", c.c_int32),
        ("reserved", c.c_int32),
    ]


class PlanInfo(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("digest", c.c_char * 72),
        ("rank_count", c.c_uint32),
        ("round_count", c.c_uint32),
        ("message_count", c.c_int64),
        ("source_bytes", c.c_int64),
        ("destination_bytes", c.c_int64),
        ("network_bytes", c.c_int64),
        ("scaleup_bytes", c.c_int64),
        ("local_bytes", c.c_int64),
        ("max_staging_bytes", c.c_int64),
        ("predicted_ns", c.c_int64),
        ("bound_ns", c.c_int64),
    ]


class RankInfo(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("param_count", c.c_size_t),
        ("staging_bytes", c.c_int64),
        ("node", c.c_char_p),
        ("domain", c.c_char_p),
        ("gpu", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class ParamInfo(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("dtype", c.c_char_p),
        ("side", c.c_int32),
        ("external", c.c_int32),
        ("bytes", c.c_int64),
        ("element_bytes", c.c_int32),
        ("dim_count", c.c_int32),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("share_count", c.c_size_t),
        ("shares", c.POINTER(c.c_char_p)),
    ]


class LoopbackOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("pace", c.c_double),
    ]


AllGather = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(c.c_uint32), c.c_size_t, c.c_void_p,
                        c.c_size_t, c.c_void_p, c.c_int64)


class Control(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("all_gather", AllGather),
        ("user", c.c_void_p),
        ("member", c.c_uint32),
        ("member_count", c.c_uint32),
    ]


class TcpOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("control", c.POINTER(Control)),
        ("address", c.c_char_p),
        ("port", c.c_int32),
        ("no_shared_memory", c.c_int32),
        ("timeout_ns", c.c_int64),
    ]


class MpiOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("timeout_ns", c.c_int64),
        ("no_shared_memory", c.c_int32),
        ("reserved", c.c_int32),
    ]


class NcclId(c.Structure):
    _fields_ = [("bytes", c.c_ubyte * 128)]


class NcclOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("library", c.c_char_p),
        ("device", c.c_int32),
        ("path", c.c_int32),
        ("communicator", c.c_void_p),
        ("id", c.POINTER(NcclId)),
        ("rank", c.c_int32),
        ("rank_count", c.c_int32),
        ("plan", c.c_void_p),
        ("control", c.c_void_p),
        ("timeout_ns", c.c_int64),
    ]


class ExecutorOptions(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("wait_timeout_ns", c.c_int64),
        ("trace", c.c_int32),
        ("verify_executions", c.c_uint32),
        ("replica", c.POINTER(c.c_uint32)),
        ("replica_count", c.c_size_t),
    ]


class Buffer(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("side", c.c_int32),
        ("device", c.c_int32),
        ("data", c.c_void_p),
        ("bytes", c.c_int64),
        ("dtype", c.c_char_p),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("dim_count", c.c_int32),
        ("reserved", c.c_int32),
    ]


class ExecutorState(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("started_generation", c.c_uint64),
        ("complete_generation", c.c_uint64),
        ("destination_count", c.c_size_t),
        ("complete_count", c.c_size_t),
        ("staging_bytes", c.c_int64),
        ("running", c.c_int32),
        ("failed", c.c_int32),
    ]


class Stats(Sized):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("elapsed_ns", c.c_int64),
        ("sent_bytes", c.c_int64),
        ("received_bytes", c.c_int64),
        ("read_bytes", c.c_int64),
        ("local_bytes", c.c_int64),
        ("delivered_bytes", c.c_int64),
        ("fill_ns", c.c_int64),
        ("pack_ns", c.c_int64),
        ("start_ns", c.c_int64),
        ("copy_ns", c.c_int64),
        ("network_wait_ns", c.c_int64),
        ("landed_wait_ns", c.c_int64),
        ("slot_wait_ns", c.c_int64),
        ("slowest_wait_ns", c.c_int64),
        ("slowest_peer", c.c_uint32),
        ("peer_count", c.c_uint32),
    ]


class PeerWait(c.Structure):
    _fields_ = [
        ("peer", c.c_uint32),
        ("reserved", c.c_uint32),
        ("wait_ns", c.c_int64),
    ]


STRUCTS = {
    "reshard_plan_options": PlanOptions,
    "reshard_plan_info": PlanInfo,
    "reshard_rank_info": RankInfo,
    "reshard_param_info": ParamInfo,
    "reshard_loopback_options": LoopbackOptions,
    "reshard_control": Control,
    "reshard_tcp_options": TcpOptions,
    "reshard_mpi_options": MpiOptions,
    "reshard_nccl_id": NcclId,
    "reshard_nccl_options": NcclOptions,
    "reshard_executor_options": ExecutorOptions,
    "reshard_buffer": Buffer,
    "reshard_executor_state": ExecutorState,
    "reshard_stats": Stats,
    "reshard_peer_wait": PeerWait,
}

_SIZE = c.POINTER(c.c_size_t)
_HANDLE = c.POINTER(Handle)

# Every function that returns a reshard_result, with the types of its arguments.
FUNCTIONS = {
    "reshard_plan_load": [c.c_char_p, c.POINTER(PlanOptions), _HANDLE],
    "reshard_plan_load_memory": [c.c_void_p, c.c_size_t, c.POINTER(PlanOptions), _HANDLE],
    "reshard_plan_free": [Handle],
    "reshard_plan_get_info": [Handle, c.POINTER(PlanInfo)],
    "reshard_plan_get_ranks": [Handle, c.POINTER(c.c_uint32), c.c_size_t, _SIZE],
    "reshard_plan_get_rank_info": [Handle, c.c_uint32, c.POINTER(RankInfo)],
    "reshard_plan_get_param": [Handle, c.c_uint32, c.c_size_t, c.POINTER(ParamInfo)],
    "reshard_backend_loopback_create": [c.c_uint32, c.POINTER(LoopbackOptions), _HANDLE],
    "reshard_backend_tcp_create": [c.POINTER(TcpOptions), _HANDLE],
    "reshard_backend_destroy": [Handle],
    "reshard_executor_create": [Handle, c.c_uint32, Handle, c.POINTER(ExecutorOptions), _HANDLE],
    "reshard_executor_destroy": [Handle],
    "reshard_executor_bind": [Handle, c.POINTER(Buffer)],
    "reshard_executor_unbind": [Handle],
    "reshard_executor_prepare": [Handle, c.c_int64],
    "reshard_executor_start": [Handle, c.c_void_p, c.c_uint64],
    "reshard_executor_wait": [Handle, c.c_int64],
    "reshard_executor_commit": [Handle, c.c_int64, c.POINTER(c.c_uint64)],
    "reshard_executor_abort": [Handle, c.c_char_p],
    "reshard_executor_get_state": [Handle, c.POINTER(ExecutorState)],
    "reshard_executor_get_complete": [Handle, _SIZE, c.c_size_t, _SIZE],
    "reshard_executor_get_stats": [Handle, c.POINTER(Stats)],
    "reshard_executor_get_peer_waits": [Handle, c.POINTER(PeerWait), c.c_size_t, _SIZE],
    "reshard_executor_write_trace": [Handle, c.c_char_p],
}
