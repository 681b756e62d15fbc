"""Checks layout.schema.json against every layout of the repository, and against bad ones."""

import copy
import glob
import json
import unittest

import jsonschema

SCHEMA = "schemas/layout.schema.json"
EXAMPLES = ["tests/data/layouts/*.json"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def example_paths():
    return sorted(path for pattern in EXAMPLES for path in glob.glob(pattern))


def properties_of(schema):
    """Every property that the schema names, at any depth."""
    found = set()
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            found.update(schema["properties"])
        for value in schema.values():
            found |= properties_of(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= properties_of(value)
    return found


def keys_of(document):
    if isinstance(document, dict):
        return set(document).union(*(keys_of(value) for value in document.values()))
    if isinstance(document, list):
        return set().union(*(keys_of(value) for value in document))
    return set()


class LayoutSchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = load(SCHEMA)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_is_a_schema_of_its_draft(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_accepts_every_layout(self):
        paths = example_paths()
        self.assertGreaterEqual(len(paths), 13)
        for path in paths:
            with self.subTest(path):
                errors = [f"{list(error.absolute_path)}: {error.message}"
                          for error in self.validator.iter_errors(load(path))]
                self.assertEqual(errors, [])

    def test_has_no_key_that_no_layout_uses(self):
        # The compiler reads those layouts in its own tests: so it knows every key here.
        used = set().union(*(keys_of(load(path)) for path in example_paths()))
        self.assertEqual(properties_of(self.schema) - used, set())

    def test_every_key_is_documented(self):
        with open("docs/layout.md", encoding="utf-8") as file:
            text = file.read()
        missing = {key for key in properties_of(self.schema) if f"`{key}`" not in text}
        self.assertEqual(missing, set())

    def test_refuses_what_is_wrong(self):
        good = load("tests/data/layouts/all_keys.json")

        def changed(path, value):
            """`good` with the place at `path` set to `value`, or removed when it is None."""
            document = copy.deepcopy(good)
            place = document
            for key in path[:-1]:
                place = place[key]
            if value is None:
                del place[path[-1]]
            else:
                place[path[-1]] = value
            return document

        self.assertTrue(self.validator.is_valid(good))
        wrong = [
            (["format"], "reshard-topo"),
            (["version"], 2),
            (["side"], None),
            (["side"], "train"),
            (["rank_base"], 1.5),
            (["paramz"], []),
            (["symbols", "1x"], 1),
            (["symbols", "stage"], 1),
            (["tables", "place"], ["x"]),
            (["logical", 0, "shape"], None),
            (["logical", 0, "dtype"], "bfloat16"),
            (["logical", 0, "for", "l"], "L"),
            (["meshes", "m", "ranks"], [0, 1]),
            (["meshes", "m", "shape"], None),
            (["pipeline", "stages"], [[0, 1, 2]]),
            (["params", 0, "name"], None),
            (["params", 0, "tensor"], "embed"),
            (["params", 0, "value"], None),
            (["params", 0, "value", "over"], {"e": "0..2", "f": "0..2", "g": "0..2"}),
            (["params", 0, "value", "op"], "stak"),
            (["params", 0, "value", "axes"], ["tp"]),
            (["params", 2, "value", "uneven"], "chunks"),
            (["params", 2, "value", "in", "to"], 12),
            (["params", 2, "value", "in", "multiple"], None),
            (["params", 4, "placements"], ["S(0", "R"]),
            (["params", 4, "placements"], None),
            (["params", 6, "external", "why"], None),
            (["params", 6, "placements"], ["R", "R"]),
            (["explicit", 0, "ranks"], "8"),
            (["explicit", 0, "rank"], None),
            (["explicit", 1, "ranks"], "14-"),
            (["explicit", 0, "pieces", 0, "dst"], [[0]]),
            (["expect", 0, "coords"], None),
            (["expect", 1, "coords"], [0]),
        ]
        for path, value in wrong:
            with self.subTest(path=path, value=value):
                self.assertFalse(self.validator.is_valid(changed(path, value)))


if __name__ == "__main__":
    unittest.main()
