"""The installed tree, used as a stranger would: headers, library, pkg-config file, examples."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

# Symbols that a program may see, by the header that declares them.
HEADERS = {
    "libreshard.so": ["reshard.h", "reshard_nccl.h"],
}


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                          **options)


def pc_flags(path):
    """Cflags and Libs of a pkg-config file, as pkg-config prints them."""
    variables, fields = {}, {}
    for line in read(path).splitlines():
        match = re.match(r"(\w+)=(.*)", line)
        if match:
            variables[match[1]] = match[2]
            continue
        match = re.match(r"([\w.]+): (.*)", line)
        if match:
            fields[match[1]] = match[2]
    def expand(text):
        while "${" in text:
            text = re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], text)
        return text.split()
    return expand(fields["Cflags"]), expand(fields["Libs"])


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="install.")
        cls.prefix = os.path.join(cls.work, "tree")
        done = run(["./install", "--prefix", cls.prefix])
        assert done.returncode == 0, done.stderr
        cls.cflags, cls.libs = pc_flags(os.path.join(cls.prefix, "lib/pkgconfig/reshard.pc"))
        cls.plan = os.path.join(cls.work, "toy.fb")
        done = run([cls.prefix + "/bin/reshardc"] +
                   ["examples/toy/%s.json" % name for name in ("train", "infer", "topo")] +
                   ["-o", cls.plan])
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)

    def build(self, compiler, source, *flags):
        program = os.path.join(self.work, os.path.basename(source) + ".bin")
        done = run([compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags, source,
                    *self.cflags, *self.libs, "-pthread", "-Wl,-rpath," + self.prefix + "/lib",
                    "-o", program])
        self.assertEqual("", done.stderr)
        self.assertEqual(0, done.returncode)
        return program

    def test_the_example_in_c_prints_what_its_readme_says(self):
        self.check_example("cc", "examples/embed_c", "refit.c", "-std=c11",
                           "-D_POSIX_C_SOURCE=200809L")

    def test_the_example_in_cpp_prints_what_its_readme_says(self):
        self.check_example("c++", "examples/embed_cpp", "refit.cpp", "-std=c++17")

    def check_example(self, compiler, folder, source, *flags):
        program = self.build(compiler, os.path.join(folder, source), *flags)
        done = run([program, self.plan])
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        expected = re.findall(r"```text\n(.*?)```", read(os.path.join(folder, "README.md")), re.S)
        self.assertEqual(expected[-1], done.stdout)
        # A plan that is none: an error, no crash.
        done = run([program, os.path.join(folder, source)])
        self.assertIn("not a plan file", done.stderr)
        self.assertIn(done.returncode, (1, 2))

    def test_the_binary_interface_is_as_it_was(self):
        done = run([self.build("cc", "tests/c_api/abi_test.c", "-std=c11")])
        self.assertEqual((0, "the binary interface is as it was\n"),
                         (done.returncode, done.stdout))

    def test_the_headers_suit_strict_compilers(self):
        for compiler, flags, header in (("cc", "-std=c11", "reshard.h"),
                                        ("c++", "-std=c++11", "reshard.h"),
                                        ("cc", "-std=c11", "reshard_nccl.h"),
                                        ("c++", "-std=c++11", "reshard_nccl.h"),
                                        ("c++", "-std=c++17", "reshard.hpp"),
                                        ("c++", "-std=c++20", "reshard.hpp")):
            with self.subTest(compiler=compiler, flags=flags):
                language = "c" if compiler == "cc" else "c++"
                done = run([compiler, flags, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
                            "-Werror", "-fsyntax-only", *self.cflags, "-x", language, "-"],
                           input="#include <reshard/%s>\n#include <reshard/%s>\n" %
                           (header, header))
                self.assertEqual("", done.stderr)

    def test_only_what_the_headers_declare_is_visible(self):
        for library, headers in HEADERS.items():
            declared = set()
            for header in headers:
                text = read(os.path.join(self.prefix, "include/reshard", header))
                declared.update(re.findall(r"RESHARD_API [^;]*?(reshard_\w+)\(", text))
            self.assertGreater(len(declared), 20)
            done = run(["nm", "-D", "--defined-only", os.path.join(self.prefix, "lib", library)])
            self.assertEqual(0, done.returncode, done.stderr)
            visible = {line.split()[-1] for line in done.stdout.splitlines()}
            self.assertEqual(declared, visible, library)

    def test_the_library_needs_nothing_surprising(self):
        done = run(["readelf", "-d", os.path.join(self.prefix, "lib/libreshard.so")])
        needed = set(re.findall(r"NEEDED.*\[(\S+?)\.so", done.stdout))
        self.assertLessEqual(needed, {"libcrypto", "libstdc++", "libm", "libgcc_s", "libc",
                                      "libpthread", "libxxhash", "ld-linux-x86-64"})
        self.assertIn("[libreshard.so.1]", done.stdout)

    def test_usage_errors(self):
        for arguments in ([], ["--prefix"], ["--other", "x"]):
            done = run(["./install"] + arguments)
            self.assertEqual(2, done.returncode)
            self.assertIn("usage: ", done.stderr)

    def test_destdir_is_for_packagers(self):
        done = run(["./install", "--prefix", "/opt/reshard", "--destdir", self.work + "/dest"])
        self.assertEqual(0, done.returncode, done.stderr)
        text = read(self.work + "/dest/opt/reshard/lib/pkgconfig/reshard.pc")
        self.assertTrue(text.startswith("prefix=/opt/reshard\n"))


if __name__ == "__main__":
    unittest.main()
