"""The structs, numbers and functions of _abi.py against the C headers, as the system's compiler reads
them."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, "python/tests")
import native  # noqa: E402

reshard = native.use_built()
from reshard import _abi  # noqa: E402
from reshard._library import library  # noqa: E402

HEADERS = ("reshard.h", "reshard_mpi.h", "reshard_nccl.h")
NUMBERS = {
    "RESHARD_ABI_VERSION": _abi.ABI_VERSION,
    "RESHARD_OK": _abi.OK,
    "RESHARD_PENDING": _abi.PENDING,
    "RESHARD_SOURCE": _abi.SOURCE,
    "RESHARD_DESTINATION": _abi.DESTINATION,
    "RESHARD_HOST_DEVICE": _abi.HOST_DEVICE,
    "RESHARD_FOREVER": _abi.FOREVER,
    "UINT32_MAX": _abi.NO_PEER,
    "RESHARD_ERROR_IO": _abi.ERROR_IO,
    "RESHARD_ERROR_TIMEOUT": _abi.ERROR_TIMEOUT,
}


def header_text(name):
    with open(os.path.join("runtime/include/reshard", name), encoding="utf-8") as stream:
        return re.sub(r"/\*.*?\*/", "", stream.read(), flags=re.S)


def c_answers(expressions):
    """The values of constant expressions, by text."""
    with tempfile.TemporaryDirectory() as folder:
        # Nothing of MPI but the name of a type is used.
        with open(os.path.join(folder, "mpi.h"), "w", encoding="utf-8") as stream:
            stream.write("typedef void* MPI_Comm;\n")
        source = os.path.join(folder, "ask.c")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write("#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n")
            stream.writelines('#include "reshard/%s"\n' % header for header in HEADERS)
            stream.write("int main(void) {\n")
            stream.writelines('  printf("%%lld\\n", (long long)(%s));\n' % text
                              for text in expressions)
            stream.write("  return 0;\n}\n")
        program = os.path.join(folder, "ask")
        subprocess.run(["cc", "-std=c11", "-I", folder, "-I", "runtime/include", source, "-o",
                        program], check=True)
        lines = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.split()
    return dict(zip(expressions, map(int, lines)))


def c_fields(struct):
    """The fields' names as the header lists them."""
    text = "".join(map(header_text, HEADERS))
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (struct, struct), text, re.S)[1]
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


class AbiTest(unittest.TestCase):
    maxDiff = None

    def test_structs_have_the_fields_sizes_and_offsets_of_c(self):
        found = {}
        for name, struct in _abi.STRUCTS.items():
            with self.subTest(struct=name):
                self.assertEqual(c_fields(name), [field[0] for field in struct._fields_])
            found["sizeof(%s)" % name] = ctypes.sizeof(struct)
            for field in struct._fields_:
                found["offsetof(%s, %s)" % (name, field[0])] = getattr(struct, field[0]).offset
                found["sizeof(((%s*)0)->%s)" % (name, field[0])] = getattr(struct, field[0]).size
        self.assertGreater(len(found), 200)
        self.assertEqual(c_answers(list(found)), found)

    def test_signs_are_those_of_c(self):
        found = {}
        for name, struct in _abi.STRUCTS.items():
            for field, kind, *_ in struct._fields_:
                if kind in (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64,
                            ctypes.c_size_t):
                    expression = "_Generic(((%s*)0)->%s, int32_t: 1, int64_t: 1, default: 0)" % (
                        name, field)
                    found[expression] = int(kind(-1).value < 0)
        answers = c_answers(list(found))
        # Enumerations are unsigned for gcc; their values are not negative where a struct has them.
        sides = [key for key in found if "->side" in key or "->path" in key]
        self.assertEqual(len(sides), 3)
        for key in sides:
            del found[key], answers[key]
        self.assertEqual(answers, found)

    def test_every_struct_of_the_headers_is_known(self):
        text = "".join(map(header_text, HEADERS))
        declared = set(re.findall(r"typedef struct (\w+) \{", text))
        self.assertEqual(declared, set(_abi.STRUCTS))

    def test_numbers_are_those_of_c(self):
        self.assertEqual(c_answers(list(NUMBERS)), NUMBERS)

    def test_functions_have_as_many_arguments_as_in_c(self):
        arguments = {
            name: 0 if text.strip() == "void" else text.count(",") + 1
            for name, text in re.findall(r"RESHARD_API reshard_result (\w+)\(([^)]*)\);",
                                         header_text("reshard.h"))}
        # Logging would call into Python from threads of the library.
        del arguments["reshard_set_log"]
        self.assertEqual(arguments, {name: len(types) for name, types in _abi.FUNCTIONS.items()})

    def test_results_are_named_by_the_library(self):
        path = "runtime/include/reshard/reshard_results.def"
        with open(path, encoding="utf-8") as stream:
            listed = re.findall(r'^RESHARD_RESULT\(\w+, (-?\d+), "([a-z-]+)"\)', stream.read(), re.M)
        self.assertGreater(len(listed), 12)
        name_of = library()._dll.reshard_result_name
        for value, name in listed:
            self.assertEqual(name, name_of(int(value)).decode())

    def test_the_library_is_of_this_version(self):
        self.assertEqual(_abi.ABI_VERSION, library()._dll.reshard_abi_version())

    def test_the_program_is_of_the_version_of_the_package(self):
        with open("python/pyproject.toml", encoding="utf-8") as stream:
            version, = re.findall(r'^version = "(.*)"', stream.read(), re.M)
        said = subprocess.run(["compiler/cli/reshardc", "--version"], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        self.assertEqual("reshardc %s, plan format 1\n" % version, said)

    def test_another_tree_comes_too_late_once_the_library_is_open(self):
        library()
        with self.assertRaisesRegex(RuntimeError, "before the first use"):
            reshard.use_installation("/nowhere")


if __name__ == "__main__":
    unittest.main()
