"""docs/verify.md lists the verifier's rules as they are."""

import re
import unittest


class VerifyDocTest(unittest.TestCase):
    def test_rules(self):
        with open("runtime/plan/verify_rules.def", encoding="utf-8") as file:
            rules = re.findall(r'^RESHARD_RULE\(\w+, "([^"]+)", "([^"]+)"\)', file.read(), re.M)
        with open("docs/verify.md", encoding="utf-8") as file:
            text = file.read()
        rows = re.findall(r"^\| ([a-z-]+) \| (.+) \|$", text, re.M)
        self.assertGreater(len(rules), 20)
        self.assertEqual(rows[2:], rules)  # below the heading and its line

    def test_argument_names_every_rule_of_the_whole_plan(self):
        with open("docs/verify.md", encoding="utf-8") as file:
            argument = file.read().split("## The argument")[1].split("## Rules")[0]
        with open("runtime/plan/verify_rules.def", encoding="utf-8") as file:
            codes = set(re.findall(r'^RESHARD_RULE\(\w+, "([^"]+)"', file.read(), re.M))
        named = {code.strip() for group in re.findall(r"\[([^\]]+)\]", argument)
                 for code in re.sub(r"\s+", " ", group).split(",")}
        self.assertEqual(codes - named, {"bounds", "order", "param-names"})
        self.assertEqual(named - codes, set())


if __name__ == "__main__":
    unittest.main()
