"""No two types of one namespace have one name: a program that links both takes the constructors,
the destructor and the templates of either for both, and nobody says so."""

import collections
import os
import re
import unittest

FOLDERS = ("compiler", "runtime", "tests")
NAMESPACE = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{$")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum class|enum) "
                  r"(?:\[\[\w+\]\] |alignas\(\w+\) )?(\w+)(?: final)?(?: : .*)?(?: \{.*)?$")


def types_of(lines):
    """(namespace, name, line number) of the types that the lines define in named namespaces."""
    open_namespaces = []
    for number, line in enumerate(lines, 1):
        opened = NAMESPACE.match(line)
        if opened:
            open_namespaces.append(opened.group(1))
        elif line.startswith("}  // namespace"):
            open_namespaces.pop()
        elif None not in open_namespaces:
            found = TYPE.match(line)
            if found:
                yield "::".join(open_namespaces), found.group(1), number


class OneDefinitionTest(unittest.TestCase):
    def test_types_are_found(self):
        code = """namespace a {
struct Later;
class Box {
  struct Inner {
};
namespace {
struct Hidden {
}  // namespace
namespace b::c {
template <class T> class Table final : public Base {
enum class Way : uint8_t { kUp, kDown };
struct Outer::Part {
struct Empty {};
class LongName
}  // namespace b::c
}  // namespace a
"""
        self.assertEqual(list(types_of(code.splitlines())),
                         [("a", "Box", 3), ("a::b::c", "Table", 10), ("a::b::c", "Way", 11),
                          ("a::b::c", "Empty", 13), ("a::b::c", "LongName", 14)])

    def test_no_type_is_defined_twice(self):
        found = collections.defaultdict(list)
        for top in FOLDERS:
            for folder, _, names in os.walk(top):
                for name in sorted(names):
                    if not name.endswith((".h", ".cc")):
                        continue
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        for namespace, type_name, line in types_of(file.read().splitlines()):
                            found[namespace, type_name].append(f"{path}:{line}")
        self.assertGreater(len(found), 400)
        self.assertEqual({name: places for name, places in found.items() if len(places) > 1}, {})


if __name__ == "__main__":
    unittest.main()
