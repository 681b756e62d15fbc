"""Plans: compiled, loaded, proven, compared, asked, shown."""
import copy
import json
import os
import sys
import tempfile
import threading
import unittest
from html.parser import HTMLParser

sys.path.insert(0, "python/tests")
import native  # noqa: E402

reshard = native.use_built()

TOY = ["examples/toy/%s.json" % name for name in ("train", "infer", "topo")]


def read_toy():
    documents = []
    for path in TOY:
        with open(path, encoding="utf-8") as stream:
            documents.append(json.load(stream))
    return documents


class PlanTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.plan = reshard.compile(*TOY)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_figures(self):
        stats = self.plan.stats
        self.assertEqual(
            (6, 1, 8, 256, 256, 256, 0),
            (stats.ranks, stats.rounds, stats.messages, stats.source_bytes,
             stats.destination_bytes, stats.network_bytes, stats.scaleup_bytes))
        self.assertGreaterEqual(stats.predicted_seconds, stats.bound_seconds)
        # 256 bytes into four NICs, out of two of 50 GB/s.
        self.assertAlmostEqual(256 / 2 / 50e9, stats.bound_seconds, delta=1e-9)
        self.assertEqual(self.plan.show()["destination"]["bytes"], stats.destination_bytes)
        self.assertEqual([0, 1, 2, 3, 4, 5], self.plan.ranks)
        self.assertRegex(self.plan.digest, "^[0-9a-f]{64}$")
        self.assertIn(self.plan.digest[:12], repr(self.plan))

    def test_params(self):
        self.assertEqual(
            [reshard.Param(index=0, name="w", side="source", dtype="f32", shape=(4, 8),
                           strides=(8, 1), bytes=128, element_bytes=4, shares=(),
                           external=False)],
            self.plan.params(1))
        self.assertEqual([("destination", (8, 2), 64)],
                         [(p.side, p.shape, p.bytes) for p in self.plan.params(5)])
        with self.assertRaises(reshard.ReshardError) as caught:
            self.plan.params(6)
        self.assertEqual("not-found", caught.exception.code)

    def test_inputs_as_dicts_give_the_plan_of_their_files(self):
        # Key order, which digests do not depend on either.
        train, infer, topo = read_toy()
        train = dict(reversed(train.items()))
        self.assertEqual(self.plan.to_bytes(), reshard.compile(train, infer, topo).to_bytes())

    def test_options(self):
        path = os.path.join(self.folder, "kept.fb")
        plan = reshard.compile(*TOY, output=path, max_staging="8MiB", strict_memory=False,
                               exclude_ranks=None)
        self.assertEqual(plan.digest, reshard.Plan.load(path).digest)
        without = reshard.compile(*read_toy()[:2], TOY[2], max_staging="1MiB")
        self.assertLessEqual(without.stats.max_staging_bytes, 1 << 20)
        with self.assertRaises(reshard.CompileError) as caught:
            reshard.compile(*TOY, no_such_option=3)
        self.assertEqual(2, caught.exception.exit_status)
        self.assertIn("--no-such-option", str(caught.exception))
        said, = caught.exception.diagnostics
        self.assertEqual(("error", "", None), (said.severity, said.code, said.file))
        self.assertRegex(said.message, "^The following arguments .* --no-such-option$")

    def test_warnings_of_the_compiler(self):
        train, infer, topo = read_toy()
        for layout in (train, infer):
            layout["logical"][0]["shape"] = [1024, 1024]
        for node_type in topo["node_types"].values():
            node_type["gpu"] = {"mem_gb": 0.001}
        with self.assertWarns(reshard.CompileWarning) as caught:
            plan = reshard.compile(train, infer, topo)
        self.assertEqual(4 << 20, plan.stats.source_bytes)
        self.assertEqual({"warning"}, {d.severity for d in caught.warning.diagnostics
                                       if d.severity != "note"})
        self.assertEqual(__file__, caught.filename)  # where compile was called
        with self.assertRaises(reshard.CompileError):
            reshard.compile(train, infer, topo, strict_memory=True)

    def test_diagnostics_have_a_place_and_a_code(self):
        train, infer, topo = read_toy()
        infer["logical"][0]["shape"] = [8, 16]
        with self.assertRaises(reshard.CompileError) as caught:
            reshard.compile(TOY[0], infer, TOY[2])
        error = caught.exception
        self.assertIn(error.exit_status, (1, 2))
        self.assertEqual({("error", "shape-mismatch", "infer.json")},
                         {(d.severity, d.code, os.path.basename(d.file))
                          for d in error.diagnostics if d.severity == "error"})
        first = error.diagnostics[0]
        with open(os.path.join(self.folder, "infer.json"), "w", encoding="utf-8") as stream:
            json.dump(infer, stream, indent=1)
        with open(stream.name, encoding="utf-8") as stream:
            line = stream.read().splitlines()[first.line - 1]
        self.assertGreaterEqual(first.column, 1)
        self.assertLessEqual(first.column, len(line))
        note = next(d for d in error.diagnostics if d.severity == "note")
        self.assertEqual((TOY[0], ""), (note.file, note.code))
        self.assertIn("8, 16", first.message)
        self.assertIn("^", error.text)  # the source line and a caret, for people

    def test_a_page_says_why_a_plan_has_no_bound(self):
        train, _, topo = read_toy()
        train["colocated"] = True
        plan = reshard.compile(train, dict(train, side="destination"), topo)
        self.assertEqual(0, plan.stats.bound_seconds)
        self.assertIn("none: no byte has to pass a port", plan._repr_html_())

    def test_all_errors_of_all_files_come_at_once(self):
        documents = [copy.deepcopy(document) for document in read_toy()]
        del documents[0]["format"]
        documents[1]["surprise"] = 1
        del documents[2]["version"]
        with self.assertRaises(reshard.CompileError) as caught:
            reshard.compile(*documents)
        self.assertEqual({"train.json", "infer.json", "topo.json"},
                         {d.file for d in caught.exception.diagnostics})

    def test_a_file_that_does_not_exist(self):
        with self.assertRaises(reshard.CompileError) as caught:
            reshard.compile("/no/such/train.json", *TOY[1:])
        self.assertEqual([("cannot-read", "/no/such/train.json", None)],
                         [(d.code, d.file, d.line) for d in caught.exception.diagnostics])

    def test_saved_and_loaded(self):
        path = os.path.join(self.folder, "toy.fb")
        self.plan.save(path)
        loaded = reshard.Plan.load(path, self.plan.digest, verify_all=True)
        self.assertEqual(self.plan.stats, loaded.stats)
        self.assertEqual(self.plan.to_bytes(), loaded.to_bytes())
        self.assertEqual(["toy.fb"], os.listdir(self.folder))
        with self.assertRaises(OSError):
            self.plan.save(os.path.join(self.folder, "nowhere", "toy.fb"))

    def test_another_plan_than_the_one_reviewed(self):
        with self.assertRaises(reshard.ReshardError) as caught:
            reshard.Plan.from_bytes(self.plan.to_bytes(), "0" * 64)
        self.assertEqual(("corrupt-data", -5), (caught.exception.code, caught.exception.result))
        self.assertIn(self.plan.digest, str(caught.exception))

    def test_damaged_files(self):
        data = self.plan.to_bytes()
        for position in range(0, len(data), max(1, len(data) // 97)):
            damaged = bytearray(data)
            damaged[position] ^= 0x10
            with self.subTest(position=position), self.assertRaises(reshard.ReshardError) as caught:
                reshard.Plan.from_bytes(bytes(damaged), verify_all=True)
            self.assertEqual("corrupt-data", caught.exception.code)
        for short in (b"", b"RSHD", data[:-1]):
            with self.assertRaises(reshard.ReshardError):
                reshard.Plan.from_bytes(short)

    def test_verify(self):
        self.assertEqual(("sound", []), (self.plan.verify()["verdict"],
                                         self.plan.verify()["violations"]))
        self.assertEqual("all 2 source ranks and all 4 destination ranks",
                         self.plan.verify(*TOY)["inputs_compared"])
        infer = read_toy()[1]
        infer["params"][0]["placements"] = ["S(0)"]
        path = os.path.join(self.folder, "rows.json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(infer, stream)
        answer = self.plan.verify(TOY[0], path, TOY[2])
        self.assertNotEqual("sound", answer["verdict"])
        self.assertTrue(answer["violations"])
        with self.assertRaises(ValueError):
            self.plan.verify(TOY[0])
        # Contents in place of files.
        train, _, topo = read_toy()
        self.assertEqual(self.plan.verify(*TOY), self.plan.verify(*read_toy()))
        self.assertEqual(answer["violations"],
                         self.plan.verify(train, infer, topo)["violations"])
        with self.assertRaises(reshard.CompileError) as caught:
            self.plan.verify(train, {"format": "reshard-layout"}, topo)
        self.assertEqual({"infer.json"}, {d.file for d in caught.exception.diagnostics})

    def test_diff(self):
        self.assertTrue(self.plan.diff(self.plan)["equal"])
        train, infer, topo = read_toy()
        infer["params"][0]["placements"] = ["S(0)"]
        other = reshard.compile(train, infer, topo)
        answer = self.plan.diff(other, fail_if="time>+5%,coverage")
        self.assertFalse(answer["equal"])
        self.assertEqual((self.plan.digest, other.digest),
                         (answer["first_digest"], answer["second_digest"]))
        self.assertEqual(2, len(answer["gates"]))
        with self.assertRaises(reshard.CompileError):
            self.plan.diff(other, fail_if="nonsense")

    def test_explain(self):
        # Row 5 is rank 1's; column 1 of rank 3 is column 3 of w.
        flow, = self.plan.explain(3, "w", (5, 1))["flows"]
        self.assertEqual(("w", [1], [3]), (flow["tensor"], flow["sources"], flow["destinations"]))
        self.assertEqual([(5, 5), (3, 3)], [(e["first"], e["last"]) for e in flow["elements"]])
        self.assertEqual({0, 1}, {source for flow in self.plan.explain(3, "w")["flows"]
                                  for source in flow["sources"]})
        flow, = self.plan.explain(1, "w", (1, 3), side="source")["flows"]
        self.assertEqual(([1], [3]), (flow["sources"], flow["destinations"]))
        with self.assertRaises(ValueError):
            self.plan.explain(1, "w", side="train")
        with self.assertRaises(reshard.CompileError) as caught:
            self.plan.explain(3, "v")
        self.assertEqual("unknown-param", caught.exception.diagnostics[0].code)

    def test_html_shows_figures_and_runs_nothing(self):
        train, infer, topo = read_toy()
        for layout in (train, infer):
            layout["logical"][0]["name"] = layout["params"][0]["tensor"] = "<script>w"
        topo["scaleup"][0]["name"] = "<script>alert(1)</script>&{node}"
        plan = reshard.compile(train, infer, topo)
        self.assertEqual("<script>w", plan.explain(3, "w", (0, 0))["flows"][0]["tensor"])
        page = plan._repr_html_()

        class Reader(HTMLParser):
            tags, text = set(), ""

            def handle_starttag(self, tag, attrs):
                self.tags.add(tag)
                if any(name.startswith("on") for name, _ in attrs):
                    raise AssertionError(attrs)

            def handle_data(self, data):
                self.text += data

        reader = Reader()
        reader.feed(page)
        self.assertEqual({"table", "caption", "tr", "th", "td"}, reader.tags)
        self.assertIn("<script>alert(1)</script>&", reader.text)  # as text
        self.assertIn(plan.digest, reader.text)
        self.assertIn("256 B in 8 messages, 1 round", reader.text)

    def test_one_plan_for_several_threads(self):
        found = []

        def ask():
            found.append((tuple(self.plan.ranks), self.plan.params(4)[0].shape))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([((0, 1, 2, 3, 4, 5), (8, 2))] * 8, found)


if __name__ == "__main__":
    unittest.main()
