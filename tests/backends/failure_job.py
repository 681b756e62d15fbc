"""A job in which a rank fails: its plan, its processes and the lines that they print (failure_rank.h)."""

import json
import os
import signal
import subprocess
import threading

COMPILER = "compiler/cli/reshardc"
RANKS = 12
TIMEOUT_MS = 3000
# Longer than anything takes that does not hang, on any machine.
HANG_SECONDS = 240


def layout(side, ranks, replicas, dim):
    """16 tensors of 512 kB on `replicas` copies of a mesh that cuts dim `dim`."""
    cut = len(ranks) // replicas
    return {
        "format": "reshard-layout", "version": 1, "side": side,
        "logical": [{"for": {"l": "0..16"}, "name": "layers.{l}.w", "shape": [128, 1024], "dtype": "f32"}],
        "meshes": {"m": {"axes": ["replica", "part"],
                         "ranks": [ranks[r * cut:(r + 1) * cut] for r in range(replicas)]}},
        "params": [{"for": {"l": "0..16"}, "name": "layers.{l}.w", "mesh": "m", "value":
                    {"op": "shard", "dim": dim, "axes": ["part"], "in": "layers.{l}.w"}}]}


TOPOLOGY = {
    "format": "reshard-topo", "version": 1,
    "node_types": {"n": {"gpus": 4, "nics": {"for": 4, "name": "nic{i}", "bw": 1, "gpu": "{i}"}}},
    "nodes": [{"names": "node[0-2]", "type": "n"}],
    "scaleup": [{"name": "{node}", "per": "node", "bw": 20}],
    "fabrics": [{"name": "net", "kind": "flat"}],
    "ranks": [{"ranks": "0-11", "nodes": "node[0-2]"}]}


def compile_plan(folder, name, *options, sources=(0, 1, 2, 3)):
    """From source replicas of two ranks each to 2 destination replicas on ranks 4-7 and 8-11."""
    files = {"train": layout("source", list(sources), len(sources) // 2, 0),
             "infer": layout("destination", list(range(4, 12)), 2, 1), "topo": TOPOLOGY}
    paths = []
    for key, value in files.items():
        paths.append(os.path.join(folder, key + ".json"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            json.dump(value, file)
    plan = os.path.join(folder, name + ".fb")
    done = subprocess.run([COMPILER, *paths, "-o", plan, "--slice", "128KiB", *options],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return plan


class Job:
    """A running job and the lines of JSON that its ranks print."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.ended = False
        self.changed = threading.Condition()
        self.errors = ""
        self.readers = [threading.Thread(target=self.read_lines),
                        threading.Thread(target=self.read_errors)]
        for reader in self.readers:
            reader.start()

    def read_lines(self):
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            with self.changed:
                self.lines.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def of_kind(self, key):
        return [line for line in self.lines if key in line]

    def wait_for(self, key, count):
        """The first `count` lines with this key; fewer when the job ends or hangs."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or len(self.of_kind(key)) >= count,
                                  HANG_SECONDS)
            return self.of_kind(key)

    def processes(self):
        return {line["ready"]: line["process"] for line in self.of_kind("ready")}

    def end(self):
        """Ends what is left: stopped ranks, and with them what started them."""
        for process in self.processes().values():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
