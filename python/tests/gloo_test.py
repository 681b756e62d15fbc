"""Executors of jobs that torch.distributed knows: real processes and Gloo, every byte, failures; on one
host and on two, which are network namespaces."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path[:0] = ["python/tests", os.getcwd()]
import native  # noqa: E402
from tests.bench import network_lab  # noqa: E402

reshard = native.use_built()
try:
    import torch
except ImportError:
    torch = None
if torch is not None:
    from reshard.torch.executor import choose_backend, device_of


def layouts():
    """Two trainers have halves of rows, two servers halves of columns; "norm" is on all."""
    logical = [{"name": "w", "shape": [16, 6], "dtype": "f64"},
               {"name": "norm", "shape": [5], "dtype": "f32"}]

    def side(name, first, placement):
        return {
            "format": "reshard-layout", "version": 1, "side": name, "rank_base": first,
            "logical": logical, "meshes": {"m": {"axes": ["tp"], "ranks": [first, first + 1]}},
            "params": [{"name": "w", "tensor": "w", "mesh": "m", "placements": [placement]},
                       {"name": "norm", "tensor": "norm", "mesh": "m", "placements": ["R"]}]}
    return side("source", 0, "S(0)"), side("destination", 2, "S(1)")


def two_nodes():
    """Trainers on one node, servers on another: two domains."""
    return {
        "format": "reshard-topo", "version": 1,
        "node_types": {"t": {"gpus": 2, "nics": {"for": 2, "name": "n{i}", "bw": 50, "gpu": "{i}"}}},
        "nodes": [{"names": "h[0-1]", "type": "t"}],
        "scaleup": [{"name": "nvl-{node}", "per": "node", "bw": 370}],
        "fabrics": [{"name": "ib", "kind": "flat", "lat": 5}],
        "ranks": [{"ranks": "0-3", "nodes": "h[0-1]", "order": "node-major"}],
    }


def compile_plans(folder):
    reshard.compile(*layouts(), two_nodes()).save(os.path.join(folder, "plan.fb"))
    reshard.compile(*layouts(), two_nodes(), exclude_ranks="3").save(
        os.path.join(folder, "survivors.fb"))


def run_job(folder, task, prefixes, ends, meanwhile=lambda: None):
    """One process for each of `prefixes`, the words that its command begins with. What those that
    `ends` wrote (None: nothing), and what they said on standard error."""
    running = [subprocess.Popen([*prefix, sys.executable, "-B", "python/tests/gloo_worker.py", folder,
                                 str(process), str(len(prefixes)), task],
                                stderr=subprocess.PIPE, text=True)
               for process, prefix in enumerate(prefixes)]
    try:
        meanwhile()
        said = {process: running[process].communicate(timeout=240)[1] for process in ends}
    finally:
        for process in running:
            process.kill()
            process.communicate()
    answers = {}
    for process in ends:
        path = os.path.join(folder, "%d.json" % process)
        answers[process] = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                answers[process] = json.load(stream)
    return answers, said


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class GlooTest(unittest.TestCase):
    def job(self, task, processes=4, ends=None):
        """Runs the processes; what each of them that `ends` says, by process."""
        with tempfile.TemporaryDirectory() as folder:
            compile_plans(folder)
            answers, said = run_job(folder, task, [[]] * processes,
                                    range(processes) if ends is None else ends)
            self.assertEqual({}, {process: said[process] for process, answer in answers.items()
                                  if answer is None})
            return answers

    def test_every_byte_after_every_step(self):
        answers = self.job("steps")
        for rank in range(4):
            self.assertEqual(rank, answers[rank]["rank"])
            self.assertEqual([[1, True], [2, True], [3, True]], answers[rank]["steps"])
        for rank in (2, 3):
            self.assertEqual(16 * 3 * 8 + 5 * 4, answers[rank]["delivered"])
        self.assertGreater(answers[0]["sent"], 0)

    def test_a_group_of_some_processes_in_another_order(self):
        answers = self.job("group", processes=5)
        del answers[0]
        self.assertEqual(set(range(4)), {answer["rank"] for answer in answers.values()})
        for answer in answers.values():
            self.assertEqual([[1, True]], answer["steps"])

    def check_failure(self, answers):
        """Rank 3 has failed in the second step, in whose only round it receives and sends nothing."""
        for rank, answer in answers.items():
            self.assertIn("rank 3", answer["error"])
            self.assertIn(answer["code"], ("unavailable", "timeout", "aborted"))
            self.assertEqual(2, answer["started"])
            # Rank 2 may have all that is its own: then it is the commit that fails.
            complete = rank == 2 and not answer["failed"]
            self.assertEqual([2, False] if complete else [1, True],
                             [answer["complete"], answer["failed"]], answers)
        self.assertTrue(any("round 0 of execution 1: rank 3 did not take its message" in
                            answer["error"] for answer in answers.values()), answers)

    def test_a_rank_is_killed_and_the_others_go_on(self):
        answers = self.job("kill", ends=(0, 1, 2))
        self.check_failure(answers)
        for answer in answers.values():
            # Not after the 60 s that a wait may last: a process that ends closes its connections.
            self.assertLess(answer["seconds"], 60)
            self.assertEqual([1, True], answer["after"])

    def test_a_rank_is_stopped(self):
        answers = self.job("stop", ends=(0, 1, 2))
        self.check_failure(answers)
        for answer in answers.values():
            self.assertGreater(answer["seconds"], 3)

    def test_what_one_rank_does_wrong_is_an_error_on_all(self):
        answers = self.job("refused")
        for rank in range(4):
            self.assertIn("rank 2 of the process group: 'norm' is on meta", answers[rank]["meta"])
            self.assertIn("rank 1 of the process group: the params are on cpu; backend 'nccl'",
                          answers[rank]["backends"])
            self.assertRegex(answers[rank]["missing"], "rank 3 .*norm|'norm'")
            self.assertIn("rank 3 of the process group: 'norm': there is no dtype 'torch.complex64'",
                          answers[rank]["dtype"])
            self.assertIn("rank 0 of the process group: 'norm' has the layout torch.sparse_coo",
                          answers[rank]["sparse"])
            self.assertIn("rank 1 of the process group: the replica has to be ranks of the plan",
                          answers[rank]["replica"])
            self.assertIn("verify_executions has to be the same on all ranks: 0 on ranks 0-1,3, 1 on "
                          "rank 2", answers[rank]["verify"])
        for rank in (0, 1):
            self.assertIn("the plan has 4 ranks, the job 2 processes", answers[rank]["size"])
            # No GPU here, or no CUDA in the library: it says which, and nobody waits for an id.
            self.assertIn("[unavailable]", answers[rank]["nccl"])
            self.assertIn("203.0.113.7", answers[rank]["address"])

    def test_devices(self):
        cpu, first, second = map(torch.device, ("cpu", "cuda:0", "cuda:1"))
        self.assertEqual(cpu, device_of({}))
        self.assertEqual(second, device_of({"a": second, "b": second}))
        for other in (cpu, first):
            with self.assertRaisesRegex(ValueError, "'a' is on cuda:1, 'b' on " + str(other)):
                device_of({"a": second, "b": other})
        with self.assertRaisesRegex(ValueError, "'a' is on meta"):
            device_of({"a": torch.device("meta")})
        self.assertEqual("nccl", choose_backend("auto", first, True))
        self.assertEqual("tcp", choose_backend("auto", cpu, True))
        self.assertEqual("mpi", choose_backend("auto", cpu, False))
        for backend, device in (("nccl", cpu), ("tcp", first), ("mpi", first)):
            with self.assertRaisesRegex(ValueError, "the params are on %s; backend '%s'" % (
                    device, backend)):
                choose_backend(backend, device, True)
        with self.assertRaisesRegex(ValueError, "process_group is needed to set NCCL up"):
            choose_backend("auto", first, False)


HOSTS = ("10.9.0.1", "10.9.0.2")


def run_on_two_hosts(task):
    """In the sandbox of network_lab: ranks 0 and 1 on one host, 2 and 3 on the other."""
    folder = tempfile.mkdtemp(dir="/run")
    compile_plans(folder)
    for host, address in enumerate(HOSTS):
        network_lab.run(["ip", "netns", "add", "h%d" % host])
        if host == 1:
            network_lab.run(["ip", "link", "add", "e0", "netns", "h0", "type", "veth", "peer", "name",
                             "e0", "netns", "h1"])
    for host, address in enumerate(HOSTS):
        for words in (["addr", "add", address + "/24", "dev", "e0"], ["link", "set", "e0", "up"],
                      ["link", "set", "lo", "up"]):
            network_lab.run(["ip", "-n", "h%d" % host, *words])

    def cut():
        until = time.monotonic() + 240
        while task == "cut" and time.monotonic() < until:
            if all(os.path.exists(os.path.join(folder, "waits%d" % rank)) for rank in range(4)):
                network_lab.run(["ip", "-n", "h0", "link", "set", "e0", "down"])
                with open(os.path.join(folder, "is_cut"), "w", encoding="ascii"):
                    return
            time.sleep(0.01)

    prefixes = [["ip", "netns", "exec", "h%d" % (rank // 2), "env", "GLOO_SOCKET_IFNAME=e0",
                 "MASTER_ADDR=" + HOSTS[0]] for rank in range(4)]
    answers, said = run_job(folder, task, prefixes, range(4), cut)
    print(json.dumps({"answers": answers, "said": said}))


@unittest.skipIf(torch is None, "PyTorch is not installed (tools/setup_python)")
class TwoHostsTest(unittest.TestCase):
    def job(self, task):
        why = network_lab.missing()
        if why:
            self.skipTest(why)
        done = subprocess.run(
            network_lab.unshare() + [sys.executable, "-B", os.path.abspath(__file__), task],
            capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        job = json.loads(done.stdout.splitlines()[-1])
        self.assertNotIn(None, job["answers"].values(), job["said"])
        return [job["answers"][str(rank)] for rank in range(4)]

    def test_ranks_know_their_addresses_and_reach_each_other(self):
        for rank, answer in enumerate(self.job("network")):
            self.assertEqual([HOSTS[rank // 2]] * 2, answer["addresses"])
            self.assertEqual([[1, True], [2, True], [3, True]], answer["steps"])

    def test_a_cut_between_the_hosts(self):
        answers = self.job("cut")
        for rank, answer in enumerate(answers):
            self.assertIn(answer["code"], ("timeout", "aborted"), answers)
            self.assertEqual([2, 1, True],
                             [answer["started"], answer["complete"], answer["failed"]], answers)
            # Whoever speaks waits for a rank of the other host.
            speaker = re.match(r"rank (\d+) failed: ", answer["error"])
            speaker = int(speaker.group(1)) if speaker else rank
            named = re.findall(r"rank (\d+)(?: did not [^;,]*, and|, which) does not answer",
                               answer["error"])
            self.assertTrue(named, answers)
            self.assertNotEqual(speaker // 2, int(named[-1]) // 2, answers)
            self.assertIn("gave up after 4 s", answer["error"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("network", "cut"):
        run_on_two_hosts(sys.argv[1])
    else:
        unittest.main()
