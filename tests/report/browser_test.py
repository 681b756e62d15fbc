"""Pages of `reshardc report` in headless Chromium: they load without errors, and answer."""
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, "tests/report")
import browser  # noqa: E402
import plans  # noqa: E402

UP_PROJ = "model.layers.2.mlp.experts.3.up_proj.weight"


@unittest.skipIf(browser.MISSING, "no " + " and no ".join(browser.MISSING))
class BrowserTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.plans = {}
        for name, inputs in (("small", plans.SMALL), ("qwen", plans.QWEN), ("large", plans.LARGE),
                             ("hostile", plans.hostile_inputs(cls.folder))):
            cls.plans[name] = plans.compile_plan(cls.folder, name + ".fb", inputs)
            plans.report(cls.folder, name + ".html", cls.plans[name])
        cls.plans["one head"] = plans.compile_plan(cls.folder, "one.fb", plans.SMALL + ["--heads", "1"])
        plans.report(cls.folder, "pair.html", cls.plans["small"], cls.plans["qwen"])
        plans.report(cls.folder, "heads.html", cls.plans["one head"], cls.plans["small"])
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, name, fragment=""):
        self.browser.open(os.path.join(self.folder, name + ".html"), fragment)

    def texts(self, selector):
        return self.browser.run(
            "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)",
            selector)

    def rows(self, selector):
        """Texts of the cells of a table's rows."""
        return self.browser.run(
            "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map("
            "(row) => [...row.children].map((cell) => cell.textContent))", selector)

    def type(self, selector, text):
        self.browser.run(
            "const box = document.querySelector(arguments[0]); box.focus(); box.value = arguments[1];"
            "box.dispatchEvent(new Event('input'))", selector, text)

    def test_pages_load_without_a_word_in_the_console(self):
        for name in ("small", "qwen", "hostile", "pair", "heads", "large"):
            with self.subTest(name):
                self.open(name)
                self.assertEqual([], self.browser.log())
                for view in ("heat-map", "nic-bars", "timeline-view", "tensor-view", "flow-table"):
                    self.assertGreater(self.browser.run(
                        "return document.getElementById(arguments[0]).querySelectorAll('*').length",
                        view), 10, view)

    def test_search_finds_tensors_by_parts_of_their_names(self):
        self.open("small")
        names = "#tensor-view .results .name"
        self.assertIn("model.layers.{0..7}.self_attn.q_a_proj.weight", self.texts(names))
        self.type("#tensor-search", "up_proj layers.2. experts")
        found = self.texts(names)
        self.assertEqual({"model.layers.2.mlp.experts.%d.up_proj.weight" % i for i in range(16)} |
                         {"model.layers.2.mlp.shared_experts.up_proj.weight"}, set(found))
        self.type("#tensor-search", "layers.2.*experts.3.up")
        self.assertEqual([UP_PROJ], self.texts(names))
        self.type("#tensor-search", "no such tensor")
        self.assertEqual([], self.texts(names))
        self.assertIn("No tensor", self.texts("#tensor-view .more")[0])

    def test_keys_search_and_open(self):
        self.open("small")
        self.browser.press("/")
        self.browser.press(*"experts.3.up_proj")
        self.browser.press("ArrowDown", "ArrowDown", "Enter")
        names = self.texts("#tensor-view .results .name")
        self.assertEqual([names[1]], self.texts("#tensor h3 code"))
        self.assertEqual([], self.browser.log())

    def shown_places(self, plan, tensor, side):
        """(ranks, elements, bytes, param and index) as `show --tensor` has them."""
        places = json.loads(plans.reshardc("show", plan, "--tensor", tensor, "--json"))["places"]
        found = []
        for place in places:
            if place["side"] != side:
                continue
            runs = []
            for run in place["elements"]:
                end = run["begin"] + (run["count"] - 1) * run["step"] + 1
                runs.append("%d:%d" % (run["begin"], end) +
                            (":%d" % run["step"] if run["step"] > 1 else ""))
            found.append((place["ranks"], "[%s]" % ", ".join(runs), place["bytes"], place["param"]))
        return found

    def test_places_are_those_of_show(self):
        checked = 0
        for name in ("small", "qwen"):
            self.open(name)
            self.type("#tensor-search", "")
            templates = self.browser.run(
                "return document.querySelectorAll('#tensor-view .results button').length")
            for i in range(templates):
                self.browser.run("document.querySelectorAll('#tensor-view .results button')"
                                 "[arguments[0]].click()", i)
                self.browser.run("document.querySelectorAll('#tensor .more button:last-child')"
                                 ".forEach((button) => button.click())")
                tensor = self.texts("#tensor h3 code")[0]
                held = self.browser.run(
                    "return [...document.querySelector('#tensor table').tBodies[0].rows].map("
                    "(row) => [...row.cells].map((cell) => cell.textContent))")
                expected = self.shown_places(self.plans[name], tensor, "source")
                self.assertEqual(
                    sorted((elements, param) for _, elements, _, param in expected),
                    sorted((row[1], row[3].split(" at ")[0]) for row in held), tensor)
                checked += len(held)
        self.assertGreater(checked, 45)

    def test_each_rank_gets_what_it_needs_from_a_rank_that_holds_it(self):
        self.open("small", "#tensor=" + UP_PROJ)
        self.assertEqual([UP_PROJ], self.texts("#tensor h3 code"))
        self.type("#tensor input", "17")
        # Rows 4 to 7 of the tensor are at [32 + 4, 0] of the source's fused param.
        self.assertEqual(
            [["[4:8, 0:64]", "512 B", "17,25",
              "model.layers.2.mlp.experts.w13_weight at [3, 4, 0]", "4",
              "decoder.layers.0.mlp.experts.linear_fc1.weight3 at [36, 0]"]],
            self.rows("#tensor > .detail > div:last-child"))
        self.assertIn("reshardc explain small.fb --rank 17 --param model.layers.2.mlp.experts."
                      "w13_weight --why", self.texts("#tensor .more code"))
        self.type("#tensor input", "3")
        self.assertIn("needs nothing", self.texts("#tensor > .detail > div:last-child")[0])

    def test_origins_cover_every_destination_of_every_template(self):
        """Rows of `where it comes from` add up to what each destination place needs."""
        self.open("small")
        for i in range(len(self.texts("#tensor-view .results button"))):
            self.browser.run("document.querySelectorAll('#tensor-view .results button')"
                             "[arguments[0]].click()", i)
            tensor = self.texts("#tensor h3 code")[0]
            for ranks, _, _, _ in self.shown_places(self.plans["small"], tensor, "destination"):
                self.type("#tensor input", str(ranks[0]))
                self.browser.run("document.querySelectorAll('#tensor .more button:last-child')"
                                 ".forEach((button) => button.click())")
                needed = sum(place[2] for place in self.shown_places(
                    self.plans["small"], tensor, "destination") if ranks[0] in place[0])
                parts = {(row[0], row[3]): row[1] for row in self.rows("#tensor > .detail > div:last-child")}
                self.assertEqual(self.bytes_text(needed), self.sum_text(parts.values()), tensor)

    @staticmethod
    def bytes_text(amount):
        return "%d B" % amount if amount < 1000 else "%.1f kB" % (amount / 1000)

    def sum_text(self, texts):
        total = sum(float(text.split()[0]) * (1000 if text.endswith("kB") else 1) for text in texts)
        return self.bytes_text(total)

    def test_the_map_goes_in_and_comes_back(self):
        self.open("large")
        cells = "return document.querySelectorAll('#heat-map .cell').length"
        readout = "#heat-map .readout"
        top = self.browser.run(cells)
        self.assertGreater(top, 50)
        self.assertLessEqual(top, 64 * 64)
        self.browser.run("document.querySelector('#heat-map .map > svg').focus()")
        self.browser.press("ArrowDown")
        self.assertRegex(self.texts(readout)[0], r"^nvl-train000 to nvl-train\d+ to nvl-infer000 to ")
        ways = []
        for _ in range(2):
            self.browser.press("Enter")
            self.browser.press("ArrowDown")
            ways.append(self.texts(readout)[0])
            self.assertLessEqual(self.browser.run(cells), 64 * 64)
        self.assertRegex(ways[-1], r"^rank 0, GPU 0 of train000 to rank 4096, GPU 0 of infer000: ")
        self.browser.press("Escape", "Escape", "Escape")
        self.assertEqual(top, self.browser.run(cells))
        self.assertEqual([], self.browser.log())

    def test_the_map_says_what_passes_between_two_ranks(self):
        self.open("small")
        self.browser.run("document.querySelector('#heat-map .map > svg').focus()")
        self.browser.press("ArrowDown")
        dot = plans.reshardc("show", self.plans["small"], "--dot", "ranks").decode()
        amount = re.search(r'\b0 -> 16 \[label="(.*)"\]', dot).group(1)
        self.assertRegex(self.texts("#heat-map .readout")[0],
                         r"^rank 0, GPU 0 of train0 to rank 16, GPU 0 of infer0: " + amount)

    def network_pairs(self, plan):
        dot = plans.reshardc("show", self.plans[plan], "--dot", "ranks").decode()
        return {(int(sender), int(receiver)): amount for sender, receiver, amount in
                re.findall(r'\b(\d+) -> (\d+) \[label="(.*)"\]', dot)}

    def test_the_map_shows_what_has_changed(self):
        """One tree more: the second replica gets from the sources what it got from the first one."""
        before, after = self.network_pairs("one head"), self.network_pairs("small")
        more = {pair for pair in after if pair not in before}
        less = {pair for pair in before if pair not in after}
        self.assertEqual([], [pair for pair in before if after.get(pair, before[pair]) != before[pair]])
        self.assertTrue(more)
        self.assertTrue(less)
        self.open("heads")
        self.browser.run("[...document.querySelectorAll('#heat-map button')].find((button) => "
                         "button.textContent === 'change from one.fb').click()")
        self.assertEqual(len(more), len(self.texts("#heat-map .map .more-bytes")))
        self.assertEqual(len(less), len(self.texts("#heat-map .map .less-bytes")))
        self.browser.run("document.querySelector('#heat-map .map > svg').focus()")
        self.browser.press("ArrowDown", *["ArrowRight"] * 8)
        self.assertIn("rank 0, GPU 0 of train0 to rank 24, GPU 0 of infer1: " + after[0, 24] +
                      " over the network", self.texts("#heat-map .readout")[0])
        self.assertIn("; in one.fb nothing", self.texts("#heat-map .readout")[0])
        self.assertEqual([], self.browser.log())

    def test_domains_open_for_their_nics(self):
        self.open("qwen")
        self.assertEqual(12, len(self.texts("#nic-bars button.label")))
        self.browser.click("#nic-bars button.label")
        self.assertEqual(["infer0/mlx5_%d" % i for i in range(8)],
                         sorted(self.texts("#nic-bars .nic")))
        self.browser.click("#nic-bars button.label")
        self.assertEqual([], self.texts("#nic-bars .nic"))

    def test_the_timeline_draws_every_span_of_a_domain(self):
        self.open("small")
        picture = "#timeline-view .plot rect.span"
        drawn = 0
        for button in self.browser.run(
                "return [...document.querySelectorAll('#timeline-view .choice:first-child button')]"
                ".map((button) => button.textContent)"):
            self.browser.run(
                "[...document.querySelectorAll('#timeline-view button')].find("
                "(button) => button.textContent === arguments[0]).click()", button)
            drawn += len(self.texts(picture))
        simulated = json.loads(plans.reshardc("simulate", self.plans["small"], "--json"))
        spans = json.loads(self.browser.run(
            "return document.getElementById('report-data').textContent"))["plans"][0]["timeline"][
                "windows"][0]["spans"]
        copies = sum(kind == 1 for kind in spans[::7])
        # Each at its sender and at its receiver.
        self.assertEqual(2 * (simulated["messages"] + copies), drawn)

    def test_two_plans_can_be_changed_over(self):
        self.open("pair")
        self.assertIn("Search 36,945 tensors by name", self.browser.run(
            "return document.getElementById('tensor-search').placeholder"))
        self.browser.click("#tools .choice button:nth-of-type(1)")
        self.assertIn("Search 449 tensors by name", self.browser.run(
            "return document.getElementById('tensor-search').placeholder"))
        self.assertEqual([], self.browser.log())

    def test_names_stay_text_in_the_browser(self):
        self.open("hostile")
        self.type("#tensor-search", "script")
        names = self.texts("#tensor-view .results .name")
        self.assertIn("<script>alert(1)</script>", names)
        self.browser.run("document.querySelectorAll('#tensor-view .results button').forEach("
                         "(button) => button.click())")
        self.assertEqual(0, self.browser.run("return document.images.length"))
        self.assertEqual(2, self.browser.run("return document.scripts.length"))
        self.assertEqual([], self.browser.log())

    def test_the_policy_holds(self):
        self.open("small")
        blocked = self.browser.run(
            "const script = document.createElement('script'); script.textContent = 'window.hit = 1';"
            "document.body.append(script); return window.hit === undefined")
        self.assertTrue(blocked)
        self.assertEqual("refused", self.browser.run(
            "return fetch('http://127.0.0.1:9/').then(() => 'asked', () => 'refused')"))
        self.assertTrue(any("Content Security Policy" in line for line in self.browser.log()))

    def test_themes_and_pictures(self):
        outputs = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", self.folder)
        self.open("small")
        papers = set()
        for theme in ("light", "dark"):
            self.browser.click("#theme")
            self.assertEqual(["Theme: " + theme], self.texts("#theme"))
            papers.add(self.browser.run("return getComputedStyle(document.body).backgroundColor"))
            path = os.path.join(outputs, theme + ".png")
            self.browser.screenshot(path)
            self.assertGreater(os.path.getsize(path), 50_000)
        self.assertEqual(2, len(papers))

    def test_a_narrow_screen_needs_no_scrolling_sideways(self):
        self.browser.chrome("Emulation.setDeviceMetricsOverride", width=360, height=740,
                            deviceScaleFactor=1, mobile=True)
        self.addCleanup(self.browser.chrome, "Emulation.clearDeviceMetricsOverride")
        for name in ("small", "qwen", "pair"):
            self.open(name)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)

    def test_a_narrow_screen_shows_the_whole_timeline_and_where_more_scrolls(self):
        self.browser.chrome("Emulation.setDeviceMetricsOverride", width=420, height=740,
                            deviceScaleFactor=1, mobile=True)
        self.addCleanup(self.browser.chrome, "Emulation.clearDeviceMetricsOverride")
        self.open("small")
        edges = self.browser.run(
            "return [...document.querySelectorAll('#timeline-view .span')]"
            ".map((node) => node.getBoundingClientRect()).map((box) => [box.left, box.right])")
        self.assertGreater(len(edges), 10)
        for left, right in edges:
            self.assertTrue(0 <= left <= right <= 420, (left, right))
        # The map fits; the table of flows does not, and fades until it is scrolled to its end.
        cut = "return document.querySelector(arguments[0]).classList.contains('cut')"
        self.assertFalse(self.browser.run(cut, "#heat-map .map"))
        self.assertTrue(self.browser.run(cut, "#flow-table .scroll"))
        self.browser.run("const table = document.querySelector('#flow-table .scroll');"
                         "table.scrollLeft = 10000; table.dispatchEvent(new Event('scroll'))")
        self.assertFalse(self.browser.run(cut, "#flow-table .scroll"))

    def test_units_change_at_a_thousand_as_in_text(self):
        self.open("large")
        text = self.browser.run("return document.body.innerText")
        self.assertRegex(text, r"up to [\d.]+ [kMGT]B")
        self.assertNotRegex(text, r"\d{4,}\.\d+ [kMGT]?B")

    def test_the_switch_names_the_first_plan_first(self):
        self.open("pair")
        self.assertEqual(["first", "second"], self.texts("#tools .choice button"))
        self.assertEqual("second", self.texts("#tools .choice button[aria-pressed=true]")[0])

    def test_a_large_page_stays_small_in_the_browser(self):
        self.open("large")
        self.assertLess(self.browser.run("return document.querySelectorAll('*').length"), 12_000)


if __name__ == "__main__":
    unittest.main()
