"""`reshardc simulate --trace` against what `--json` says of the same simulation."""
import collections
import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = "compiler/cli/reshardc"
INPUTS = ["tests/data/layouts/qwen3_235b_train.json", "tests/data/layouts/qwen3_235b_infer.json",
          "tests/data/topologies/h100_64_64.json"]


class TraceTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan.fb")
            trace = os.path.join(folder, "trace.json")
            subprocess.run([PROGRAM, "compile"] + INPUTS + ["-o", plan], check=True,
                           stdout=subprocess.DEVNULL)
            command = [PROGRAM, "simulate", plan, "--json", "--rounds", "0..20", "--trace", trace]
            cls.report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            with open(trace, encoding="utf-8") as stream:
                cls.events = json.load(stream)["traceEvents"]
        cls.process_names = {event["pid"]: event["args"]["name"] for event in cls.events
                             if event["ph"] == "M" and event["name"] == "process_name"}
        cls.track_names = {event["tid"]: event["args"]["name"] for event in cls.events
                           if event["ph"] == "M" and event["name"] == "thread_name"}
        cls.spans = [event for event in cls.events if event["ph"] == "X"]

    def bytes_of_tracks(self, process):
        total = collections.Counter()
        for span in self.spans:
            if self.process_names[span["pid"]] == process:
                total[self.track_names[span["tid"]]] += span["args"]["bytes"]
        return total

    def test_nic_tracks_carry_what_the_report_says(self):
        tracks = self.bytes_of_tracks("NICs")
        self.assertGreater(len(tracks), 64)
        for nic in self.report["nics"]:
            for way in ("out", "in"):
                self.assertEqual(nic[way + "_bytes"], tracks[nic["name"] + " " + way])

    def test_scaleup_tracks_carry_what_the_report_says(self):
        tracks = self.bytes_of_tracks("scale-up ports")
        self.assertGreater(len(tracks), 0)
        for port in self.report["scaleup"]:
            for way in ("out", "in"):
                self.assertEqual(port[way + "_bytes"], tracks["rank %d %s" % (port["rank"], way)])

    def test_one_track_shows_one_thing_at_a_time(self):
        end_of_track = collections.defaultdict(float)
        for span in sorted(self.spans, key=lambda span: (span["tid"], span["ts"])):
            self.assertGreaterEqual(span["ts"], end_of_track[span["tid"]] - 1e-5)
            end_of_track[span["tid"]] = span["ts"] + span["dur"]
        end_us = max(end_of_track.values())
        self.assertLessEqual(end_us, self.report["total_ns"] / 1000 + 1e-3)

    def test_every_message_has_a_span_at_both_ends(self):
        messages = [span for span in self.spans if span["cat"] == "message"]
        self.assertEqual(2 * self.report["messages"], len(messages))


if __name__ == "__main__":
    unittest.main()
