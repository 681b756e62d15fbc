"""Checks the JSON Schemas against every input of the repository, and against wrong ones."""

import copy
import glob
import json
import unittest

import jsonschema


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


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


def changed(document, path, value):
    """A copy with the place at `path` set to `value`, or removed when it is None."""
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


class SchemaChecks:
    """What holds for each schema; a subclass names the files."""

    schema_path = ""
    inputs = []        # patterns of files that are valid
    least_inputs = 0   # so that a pattern that matches nothing is seen
    all_keys = ""      # a valid file with every key
    documentation = ""
    wrong = []         # (path in all_keys, value): changes that make it invalid

    @classmethod
    def setUpClass(cls):
        cls.schema = load(cls.schema_path)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)
        cls.paths = sorted(path for pattern in cls.inputs for path in glob.glob(pattern))

    def test_is_a_schema_of_its_draft(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_accepts_every_input(self):
        self.assertGreaterEqual(len(self.paths), self.least_inputs)
        for path in self.paths:
            with self.subTest(path):
                errors = [f"{list(error.absolute_path)}: {error.message}"
                          for error in self.validator.iter_errors(load(path))]
                self.assertEqual(errors, [])

    def test_has_no_key_that_no_input_uses(self):
        # The compiler reads those inputs in its own tests: so it knows every key here.
        used = set().union(*(keys_of(load(path)) for path in self.paths))
        self.assertEqual(properties_of(self.schema) - used, set())

    def test_every_key_is_documented(self):
        with open(self.documentation, encoding="utf-8") as file:
            text = file.read()
        missing = {key for key in properties_of(self.schema) if f"`{key}`" not in text}
        self.assertEqual(missing, set())

    def test_refuses_what_is_wrong(self):
        good = load(self.all_keys)
        self.assertTrue(self.validator.is_valid(good))
        for path, value in self.wrong:
            with self.subTest(path=path, value=value):
                self.assertFalse(self.validator.is_valid(changed(good, path, value)))


_BOX = ["node_types", "b"]


class TopoSchemaTest(SchemaChecks, unittest.TestCase):
    schema_path = "schemas/topo.schema.json"
    inputs = ["tests/data/topologies/*.json", "examples/*/topo.json"]
    least_inputs = 12
    all_keys = "tests/data/topologies/all_keys.json"
    documentation = "docs/topology.md"
    wrong = [
        (["format"], "reshard-layout"),
        (["version"], 2),
        (["ranks"], None),
        (["node"], []),
        (_BOX + ["gpus"], 0),
        (_BOX + ["gpus"], None),
        (_BOX + ["gpu", "memory"], 80),
        (_BOX + ["nics", 0, "bw"], 0),
        (_BOX + ["nics", 0, "bw"], "12.5"),
        (_BOX + ["nics", 0, "bw"], None),
        (_BOX + ["nics", 0, "gpu"], "{i}"),
        (_BOX + ["nics", 0, "path"], "NVL"),
        (_BOX + ["nics", 0, "gpus"], [0]),
        (_BOX + ["nics", 2, "path", "x"], "PIX"),
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


class LayoutSchemaTest(SchemaChecks, unittest.TestCase):
    schema_path = "schemas/layout.schema.json"
    inputs = ["tests/data/layouts/*.json", "examples/*/train.json", "examples/*/infer*.json"]
    least_inputs = 19
    all_keys = "tests/data/layouts/all_keys.json"
    documentation = "docs/layout.md"
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


class ParallelSchemaTest(SchemaChecks, unittest.TestCase):
    schema_path = "schemas/parallel.schema.json"
    inputs = ["tests/data/imports/parallel_*.json", "examples/*/parallel.json"]
    least_inputs = 4
    all_keys = "tests/data/imports/parallel_all_keys.json"
    documentation = "docs/import.md"
    wrong = [
        (["format"], "reshard-layout"),
        (["version"], 2),
        (["model"], None),
        (["model", "shapes"], "guess"),
        (["model", "mtp"], "kept"),
        (["train", "engine"], "deepspeed"),
        (["train", "order"], "tp-dp"),
        (["train", "world"], 0),
        (["train", "vocab"], None),
        (["train", "etp"], None),
        (["train", "experts"], "fused"),
        (["train", "qkv"], "plain"),
        (["train", "pipeline", "stages"], [[0]]),
        (["train", "dp_replicate"], 2),
        (["infer", "tensors"], "replicated"),
        (["infer", "dp_mode"], "both"),
        (["infer", "quant"], "fp8"),
        (["infer", "eplb"], True),
        (["infer", "version"], "1"),
        (["infer", "tp"], None),
    ]


if __name__ == "__main__":
    unittest.main()
