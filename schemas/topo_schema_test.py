"""Checks topo.schema.json against every topology of the repository, and against bad ones."""

import copy
import glob
import json
import unittest

import jsonschema

SCHEMA = "schemas/topo.schema.json"
EXAMPLES = ["tests/data/topologies/*.json"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def example_paths():
    return sorted(path for pattern in EXAMPLES for path in glob.glob(pattern))


def properties_of(schema):
    """All (object schema, property) pairs, by walking the whole schema."""
    found = set()
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            found.update(properties)
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


class TopoSchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = load(SCHEMA)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_is_a_schema_of_its_draft(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_accepts_every_topology(self):
        paths = example_paths()
        self.assertGreaterEqual(len(paths), 9)
        for path in paths:
            with self.subTest(path):
                errors = [f"{list(e.absolute_path)}: {e.message}"
                          for e in self.validator.iter_errors(load(path))]
                self.assertEqual(errors, [])

    def test_has_no_key_that_no_topology_uses(self):
        # The compiler reads those topologies in its own tests: so it knows every key here.
        used = set().union(*(keys_of(load(path)) for path in example_paths()))
        self.assertEqual(properties_of(self.schema) - used, set())

    def test_every_key_is_documented(self):
        with open("docs/topology.md", encoding="utf-8") as file:
            text = file.read()
        missing = {key for key in properties_of(self.schema) if f"`{key}`" not in text}
        self.assertEqual(missing, set())

    def test_refuses_what_is_wrong(self):
        good = load("tests/data/topologies/all_keys.json")

        def changed(path, value):
            document = copy.deepcopy(good)
            place = document
            for step in path[:-1]:
                place = place[step]
            if value is None:
                del place[path[-1]]
            else:
                place[path[-1]] = value
            return document

        box = ["node_types", "b"]
        bad = [
            (["format"], "reshard-layout"),
            (["version"], 2),
            (["ranks"], None),
            (["node"], []),
            (box + ["gpus"], 0),
            (box + ["gpus"], None),
            (box + ["gpu", "memory"], 80),
            (box + ["nics", 0, "bw"], 0),
            (box + ["nics", 0, "bw"], "12.5"),
            (box + ["nics", 0, "bw"], None),
            (box + ["nics", 0, "gpu"], "{i}"),
            (box + ["nics", 0, "path"], "NVL"),
            (box + ["nics", 0, "gpus"], [0]),
            (box + ["nics", 2, "path", "x"], "PIX"),
            (["node_types", "t", "nics", "for"], None),
            (["nodes", 0, "type"], None),
            (["scaleup", 0, "bw"], None),
            (["scaleup", 1, "nodes"], None),
            (["scaleup", 0, "per"], "gpu"),
            (["fabrics", 0, "kind"], "torus"),
            (["fabrics", 0, "oversubscription"], 0.5),
            (["fabrics", 0, "groups", 1, "leaf_per_rail"], 1.5),
            (["ranks", 0, "ranks"], "0..31"),
            (["ranks", 0, "order"], "gpu-major"),
            (["ranks", 3, "gpu"], None),
            (["overrides", 0, "bw"], -1),
            (["overrides", 1, "excluded"], "yes"),
        ]
        for path, value in bad:
            with self.subTest(path=path, value=value):
                self.assertFalse(self.validator.is_valid(changed(path, value)))
        self.assertTrue(self.validator.is_valid(good))


if __name__ == "__main__":
    unittest.main()
