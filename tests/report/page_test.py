"""Pages of `reshardc report`: their HTML, their policy, and their data against other commands."""
import base64
import collections
import hashlib
import html.parser
import json
import math
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/report")
import plans  # noqa: E402

VOID = {"meta", "link"}
TAGS = {
    "html", "head", "meta", "title", "link", "style", "body", "div", "nav", "a", "header", "p", "h1",
    "h2", "h3", "main", "section", "span", "strong", "dl", "dt", "dd", "svg", "rect", "table", "thead",
    "tbody", "tr", "th", "td", "code", "noscript", "footer", "kbd", "script", "ul", "li", "details",
    "summary"}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "type", "width",
    "height", "viewbox", "preserveaspectratio", "aria-hidden", "aria-label", "aria-labelledby", "scope"}


class Page(html.parser.HTMLParser):
    """A page taken apart; `problems` has what no page may have."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        with open(path, encoding="utf-8", newline="") as stream:
            self.source = stream.read()
        self.problems = []
        self.ids = set()
        self.targets = set()
        self.policy = None
        self.texts = collections.defaultdict(list)  # per tag
        self.data = self.script = self.style = None
        self._open = []
        self.feed(self.source)
        self.close()
        if self._open:
            self.problems.append("not closed: %s" % self._open)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in TAGS or not ATTRIBUTES.issuperset(attributes):
            self.problems.append("%s %s" % (tag, attributes))
        if "id" in attributes:
            if attributes["id"] in self.ids:
                self.problems.append("second id " + attributes["id"])
            self.ids.add(attributes["id"])
        if "href" in attributes:
            if attributes["href"].startswith("#"):
                self.targets.add(attributes["href"][1:])
            elif not attributes["href"].startswith("data:image/svg+xml,"):
                self.problems.append("href " + attributes["href"])
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag not in VOID:
            self._open.append((tag, attributes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop()[0] != tag:
            self.problems.append("closes " + tag)

    def handle_data(self, data):
        tag, attributes = self._open[-1] if self._open else ("", {})
        if tag == "style":
            self.style = (self.style or "") + data
        elif tag == "script" and attributes.get("type") == "application/json":
            self.data = (self.data or "") + data
        elif tag == "script":
            self.script = (self.script or "") + data
        else:
            self.texts[tag].append(data)

    def text(self, tag):
        return "".join(self.texts[tag])


def unpack(text):
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def names_of(names):
    """Names of which each says how much it shares with the one before."""
    found, name = [], ""
    for shared, rest in zip(unpack(names["shared"]), names["text"].split("\n")):
        name = name[:shared] + rest
        found.append(name)
    return found


def pairs_of(traffic):
    """(from, to) sites to (bytes, messages)."""
    numbers = iter(unpack(traffic["packed"]))
    pairs = {}
    for sender in numbers:
        receiver = 0
        for _ in range(next(numbers)):
            receiver += next(numbers)
            amount = next(numbers)
            pairs[sender, receiver] = (traffic["bytes"][amount], traffic["messages"][amount])
    return pairs


class PageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.small = plans.compile_plan(cls.folder, "small.fb", plans.SMALL)
        cls.qwen = plans.compile_plan(cls.folder, "qwen.fb", plans.QWEN)
        cls.hostile = plans.compile_plan(cls.folder, "h.fb", plans.hostile_inputs(cls.folder))
        cls.pages = {
            "small": Page(plans.report(cls.folder, "small.html", cls.small)),
            "qwen": Page(plans.report(cls.folder, "qwen.html", cls.qwen)),
            "hostile": Page(plans.report(cls.folder, "h.html", cls.hostile)),
            "pair": Page(plans.report(cls.folder, "pair.html", cls.small, cls.qwen)),
            "hostile pair": Page(plans.report(cls.folder, "hp.html", cls.hostile, cls.small)),
        }

    def model(self, name, plan=0):
        return json.loads(self.pages[name].data)["plans"][plan]

    def test_pages_are_well_formed_and_refer_to_nothing_outside(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual([], page.problems)
                self.assertLessEqual(page.targets, page.ids)
                self.assertTrue(page.source.startswith("<!doctype html>\n"))
                self.assertNotRegex(page.style, r"url\(|@import")

    def test_the_policy_allows_the_own_script_and_style_sheet_alone(self):
        for name, page in self.pages.items():
            def source(text):
                digest = hashlib.sha256(text.encode()).digest()
                return "'sha256-%s'" % base64.b64encode(digest).decode()
            with self.subTest(name):
                self.assertEqual(
                    "default-src 'none'; img-src data:; script-src %s; style-src %s; base-uri 'none'; "
                    "form-action 'none'" % (source(page.script), source(page.style)), page.policy)

    def test_the_script_makes_no_markup_of_text_and_asks_for_nothing(self):
        script = self.pages["small"].script
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                     "Function(", "fetch(", "XMLHttpRequest", "WebSocket", "import(", "localStorage"):
            self.assertNotIn(word, script)
        # Names of our own and of SVG are the only addresses.
        self.assertEqual({"http://www.w3.org/2000/svg"}, set(re.findall(r"\w+://[^'\"` ]*", script)))

    def test_names_are_text(self):
        page = self.pages["hostile"]
        names = names_of(self.model("hostile")["tensors"]["names"])
        self.assertEqual(len(plans.HOSTILE_TENSORS), len(names))
        for name in ("<script>alert(1)</script>", "</script><!--", "é.weight", "line\\nfeed\\x1b[31m",
                     "right\\u202eto left"):
            self.assertIn(name, names)
        self.assertNotIn("\u202e", page.source)
        self.assertIn("<b>t0</b>", self.model("hostile")["domains"]["name"])
        self.assertIn("<b>", self.model("hostile")["summary"]["binding_cut"])
        self.assertIn(self.model("hostile")["summary"]["binding_cut"], page.text("p"))
        self.assertIn("<b>i0</b>", self.pages["hostile pair"].text("td"))

    def test_the_summary_is_that_of_show(self):
        for name, path in (("small", self.small), ("qwen", self.qwen)):
            shown = json.loads(plans.reshardc("show", path, "--json"))
            model = self.model(name)
            for key, value in model["summary"].items():
                self.assertEqual(shown[key], value, key)
            self.assertEqual(shown["root_digest"], model["digest"])
            self.assertIn(shown["root_digest"], self.pages[name].text("p"))
            self.assertEqual("sound", model["verified"]["verdict"])
            self.assertIn("Sound.", self.pages[name].text("strong"))
        text = plans.reshardc("show", self.small).decode()
        figures = re.search(r"^time +(.*) predicted in .*\nbound +(.*) \(.*\), ratio (.*), "
                            r"balance (.*)$", text,
                            re.MULTILINE).groups()
        self.assertEqual(list(figures), self.pages["small"].texts["dd"])
        staging = re.search(r"^staging +(.* on the busiest rank)$", text, re.MULTILINE).group(1)
        self.assertIn(staging, self.pages["small"].text("td"))

    def test_the_traffic_is_that_of_every_rank(self):
        for name, path in (("small", self.small), ("qwen", self.qwen)):
            model = self.model(name)
            pairs = pairs_of(model["traffic"])
            self.assertEqual(model["traffic"]["pairs"], len(pairs))
            sites = model["sites"]
            sends, receives, copied, messages = (collections.Counter() for _ in range(4))
            for (sender, receiver), (amount, count) in pairs.items():
                if sites["domain"][sender] == sites["domain"][receiver]:
                    copied["all"] += amount
                    self.assertEqual(0, count)
                    continue
                sends[sites["rank"][sender]] += amount
                receives[sites["rank"][receiver]] += amount
                messages["all"] += count
            self.assertEqual(model["summary"]["scaleup_bytes"], copied["all"])
            self.assertEqual(model["summary"]["messages"], messages["all"])
            shown = json.loads(plans.reshardc("show", path, "--ranks", "--json"))["ranks"]
            self.assertEqual(len(shown), len(sites["rank"]))
            for site, rank in enumerate(shown):
                self.assertEqual(rank["rank"], sites["rank"][site])
                self.assertEqual(rank["send_bytes"], sends[rank["rank"]])
                self.assertEqual(rank["receive_bytes"], receives[rank["rank"]])
                self.assertEqual(rank["node"], model["nodes"][sites["node"][site]])
                self.assertEqual(rank["domain"], model["domains"]["name"][sites["domain"][site]])
                for column in ("source_bytes", "destination_bytes", "staging_bytes"):
                    self.assertEqual(rank[column], sites[column][site])

    def test_the_nics_are_those_of_show(self):
        shown = json.loads(plans.reshardc("show", self.qwen, "--json"))["nics"]
        nics = self.model("qwen")["nics"]
        self.assertEqual([nic["name"] for nic in shown], nics["name"])
        self.assertEqual([nic["send_bytes"] for nic in shown], nics["send"])
        self.assertEqual([nic["receive_bytes"] for nic in shown], nics["receive"])

    def test_names_stay_patterns(self):
        tensors = self.model("qwen")["tensors"]
        kinds = unpack(tensors["kind"])
        count = sum(math.prod(tensors["kinds"][kind]["loops"][1::2]) for kind in kinds)
        self.assertEqual(self.model("qwen")["summary"]["tensors"], count)
        self.assertLess(len(kinds), 20)
        self.assertIn("model.layers.\t.self_attn.q_proj.weight", names_of(tensors["names"]))
        self.assertNotIn("layers.17.", self.pages["qwen"].source)
        self.assertLess(len(self.pages["qwen"].source), 400_000)

    def test_the_timeline_is_what_the_simulation_says(self):
        timeline = self.model("small")["timeline"]
        simulated = json.loads(plans.reshardc("simulate", self.small, "--json"))
        self.assertEqual(simulated["total_ns"], timeline["total_ns"])
        self.assertEqual([(0, self.model("small")["summary"]["rounds"])],
                         [(window["first_round"], window["end_round"])
                          for window in timeline["windows"]])
        numbers = timeline["windows"][0]["spans"]
        spans = [numbers[i:i + 7] for i in range(0, len(numbers), 7)]
        self.assertEqual(simulated["messages"], sum(span[0] == 0 for span in spans))
        windows = self.model("qwen")["timeline"]["windows"]
        self.assertEqual(3, len(windows))
        for window in windows:
            self.assertEqual(10, window["end_round"] - window["first_round"])
            self.assertTrue(window["spans"])
            self.assertLessEqual({window["first_round"]}, set(window["spans"][1::7]))

    def test_changes_are_those_of_diff(self):
        cells = [text.strip() for text in self.pages["pair"].texts["td"]]
        difference = plans.subprocess.run(
            [plans.PROGRAM, "diff", self.small, self.qwen, "--json"], check=False,
            stdout=plans.subprocess.PIPE)
        diff = json.loads(difference.stdout)
        self.assertEqual(1, difference.returncode)
        self.assertIn("The plans are different.", self.pages["pair"].text("p"))
        for change in diff["tensors"]:
            self.assertIn(change["name"], cells)
            self.assertIn(change["change"], cells)
        for option in diff["options"]:
            self.assertIn(option["name"], cells)
        names = [json.loads(self.pages["pair"].data)["plans"][i]["name"] for i in (0, 1)]
        self.assertEqual(["small.fb", "qwen.fb"], names)

    def test_the_same_plan_gives_the_same_page(self):
        again = plans.report(self.folder, "again.html", self.small)
        with open(again, encoding="utf-8", newline="") as stream:
            self.assertEqual(self.pages["small"].source, stream.read())
        self.assertNotIn(self.folder, self.pages["small"].source)

    def test_a_page_goes_to_standard_output(self):
        page = plans.reshardc("report", self.small, "-o", "-").decode()
        self.assertEqual(self.pages["small"].source, page)

    def test_thousands_of_names_make_a_page_of_a_few_megabytes(self):
        plan = plans.compile_plan(self.folder, "names.fb", plans.explicit_inputs(self.folder, 5000))
        page = Page(plans.report(self.folder, "names.html", plan))
        self.assertEqual([], page.problems)
        tensors = json.loads(page.data)["plans"][0]["tensors"]
        self.assertEqual(plans.explicit_names(5000), names_of(tensors["names"]))
        self.assertEqual(2 * 5000, len(names_of(tensors["param_names"])))
        self.assertLess(len(page.data) / 5000, 100)

    def test_thousands_of_ranks_make_a_page_of_a_few_megabytes(self):
        plan = plans.compile_plan(self.folder, "large.fb", plans.LARGE)
        page = Page(plans.report(self.folder, "large.html", plan))
        self.assertEqual([], page.problems)
        self.assertLess(len(page.source), 4_000_000)
        model = json.loads(page.data)["plans"][0]
        self.assertEqual(8192, len(model["sites"]["rank"]))
        self.assertEqual(8192, len(model["nics"]["name"]))
        pairs = pairs_of(model["traffic"])
        self.assertEqual(model["summary"]["network_bytes"] + model["summary"]["scaleup_bytes"],
                         sum(amount for amount, _ in pairs.values()))
        self.assertEqual(0, model["timeline"]["total_ns"])
        self.assertEqual(3, len(model["timeline"]["windows"]))
        self.assertLess(os.path.getsize(plan) // 10, len(page.source))


if __name__ == "__main__":
    unittest.main()
