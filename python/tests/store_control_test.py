"""StoreControl: a channel over a store of torch.distributed, as the C library uses it."""
import os
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, "python/tests")
import native  # noqa: E402
import ranks as rank_threads  # noqa: E402

reshard = native.use_built()
try:
    import torch.distributed as dist
except ImportError:
    dist = None
if dist is not None:
    from ctypes import byref, pointer
    from reshard import _abi
    from reshard.store_control import StoreControl

MEMBERS = 4


@unittest.skipIf(dist is None, "PyTorch is not installed (tools/setup_python)")
class StoreControlTest(unittest.TestCase):
    def setUp(self):
        self.library = reshard.compile(
            *(rank_threads.whole_layout(side, rank, {"w": ((4,), "f32")})
              for rank, side in enumerate(("source", "destination"))),
            rank_threads.one_node(2))._library
        self.host = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def connect(self, member, timeout_seconds):
        """Makes a TCP backend, which takes a call over the channel, and frees it."""
        store = dist.TCPStore("127.0.0.1", self.host.port, is_master=False, wait_for_workers=False)
        channel = StoreControl(store, member, MEMBERS)
        options = _abi.TcpOptions(control=pointer(channel.control), address=b"127.0.0.1",
                                  timeout_ns=int(timeout_seconds * 1e9))
        handle = _abi.Handle()
        self.library.call("reshard_backend_tcp_create", byref(options), byref(handle))
        self.library.call("reshard_backend_destroy", handle)
        return channel.failure

    def test_all_members(self):
        self.assertEqual(dict.fromkeys(range(MEMBERS)),
                         rank_threads.on_all(range(MEMBERS), lambda m: self.connect(m, 120)))

    def test_who_does_not_come_is_named(self):
        found = rank_threads.on_all((0, 1, 3), lambda member: self.connect(member, 3))
        for error in found.values():
            self.assertIsInstance(error, reshard.ReshardError)
            self.assertEqual(_abi.ERROR_TIMEOUT, error.result)
            self.assertEqual("no answer from member 2", error.text)

    def test_calls_follow_each_other_and_leave_nothing_behind(self):
        def calls(member):
            store = dist.TCPStore("127.0.0.1", self.host.port, is_master=False,
                                  wait_for_workers=False)
            channel = StoreControl(store, member, MEMBERS)
            found = []
            for step in range(3):
                for group in ([0, 1, 2, 3], [1, 3]):
                    if member in group:
                        found.append(self.gather(channel, group, b"%d from %d" % (step, member)))
            return found
        said = rank_threads.on_all(range(MEMBERS), calls)
        for member in range(MEMBERS):
            expected = []
            for step in range(3):
                expected.append(b"".join(b"%d from %d" % (step, m) for m in range(4)))
                if member in (1, 3):
                    expected.append(b"%d from 1%d from 3" % (step, step))
            self.assertEqual(expected, said[member])
        # One call of each group; and one key of the store itself.
        self.assertLessEqual(self.host.num_keys(), 4 + 2 + 1)

    def gather(self, channel, group, mine):
        from ctypes import c_uint32, create_string_buffer
        members = (c_uint32 * len(group))(*group)
        out = create_string_buffer(len(mine) * len(group))
        result = channel.control.all_gather(None, members, len(group), mine, len(mine), out,
                                            int(60e9))
        self.assertEqual((0, None), (result, channel.failure))
        return out.raw

    def test_a_store_that_is_gone_is_an_error_and_not_a_wait(self):
        store = dist.TCPStore("127.0.0.1", self.host.port, is_master=False, wait_for_workers=False)
        channel = StoreControl(store, 0, MEMBERS)
        del self.host
        from ctypes import c_uint32, create_string_buffer
        out = create_string_buffer(16)
        result = channel.control.all_gather(None, (c_uint32 * 2)(0, 1), 2, b"eight by", 8, out,
                                            int(3600e9))
        self.assertEqual(_abi.ERROR_IO, result)
        self.assertIsNotNone(channel.failure)

    def test_over_a_process_group(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        jobs = [subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), str(rank)],
                                 env=environment, stdout=subprocess.PIPE, text=True)
                for rank in range(2)]
        self.assertEqual(["0 of 2 and 1 of 2\n"] * 2, [job.communicate()[0] for job in jobs])


def one_process(rank):
    """Of a job of two: what both say, over the channel."""
    from ctypes import c_uint32, create_string_buffer
    dist.init_process_group("gloo", rank=rank, world_size=2)
    channel = StoreControl.over(dist.group.WORLD, "127.0.0.1")
    out = create_string_buffer(12)
    mine = b"%d of 2" % rank
    assert channel.control.all_gather(None, (c_uint32 * 2)(0, 1), 2, mine, 6, out, int(60e9)) == 0
    print(out.raw[:6].decode(), "and", out.raw[6:].decode())
    # The store's process ends last.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        one_process(int(sys.argv[1]))
    else:
        unittest.main()
