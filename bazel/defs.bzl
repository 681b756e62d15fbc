"""The rules of this project: Bazel's, with our warnings and our test frameworks."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

# Third-party and generated headers come in as system headers and are exempt.
_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Wold-style-cast",
    "-Werror",
]

def reshard_cc_library(name, copts = [], **kwargs):
    """cc_library with this project's warnings."""
    # Only as an archive: nothing links the shared form, which would be built too.
    cc_library(name = name, copts = _COPTS + copts, linkstatic = True, **kwargs)

def reshard_cc_binary(name, copts = [], **kwargs):
    """cc_binary with this project's warnings."""
    cc_binary(name = name, copts = _COPTS + copts, **kwargs)

def reshard_cc_test(name, srcs = None, copts = [], deps = [], local_defines = [], **kwargs):
    """A doctest program: main() is linked in, and srcs is NAME.cc unless given.

    The program is one test for Bazel; tools/test counts its test cases.
    """
    cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        copts = _COPTS + copts,
        # One call per assertion in place of inlined code: quicker to compile.
        local_defines = ["DOCTEST_CONFIG_SUPER_FAST_ASSERTS"] + local_defines,
        deps = deps + ["//bazel:doctest_main", "@doctest"],
        **kwargs
    )

def reshard_fuzz_test(name, corpus, srcs = None, copts = [], data = [], deps = [], **kwargs):
    """A program around LLVMFuzzerTestOneInput.

    As a test it replays the corpus and a bounded number of seeded mutations of it.
    With --config=fuzz it is a libFuzzer program, run by hand:
      bazel run --config=fuzz //tests/fuzz:json_fuzz -- -max_total_time=600

    Args:
      name: the test's name.
      corpus: the folder of the inputs that are kept, below the calling package.
      srcs: NAME.cc unless given.
      copts: more options for the compiler.
      data: more files that the program reads.
      deps: what it tests.
      **kwargs: passed on to cc_test.
    """
    cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        args = [native.package_name() + "/" + corpus],
        copts = _COPTS + copts,
        data = data + native.glob([corpus + "/**"]),
        linkopts = select({
            "//bazel:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            "//bazel:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:replay_main"],
        }),
        **kwargs
    )

def reshard_py_test(name, src = None, data = [], torch = False, **kwargs):
    """A program of Python unittest classes, run from the repository's root.

    Bazel's py_test starts a program called "python", which Debian does not have.
    Files of the repository are opened and imported by their path from its root
    and have to be in `data`. tools/test counts the test methods.

    Args:
      name: the test's name.
      src: the program; NAME.py unless given.
      data: what it reads or runs.
      torch: whether it imports PyTorch, and says by name what it skips without it.
      **kwargs: passed on to sh_test.
    """
    src = src or name + ".py"
    sh_test(
        name = name,
        srcs = ["//bazel:run_torch_test.sh" if torch else "//bazel:run_python_test.sh"],
        args = ["$(location %s)" % src],
        data = data + [src, "//bazel:run_python_test.py"],
        **kwargs
    )

def reshard_flatbuffers_cc_library(name, src, flatc_args = [], visibility = None):
    """The C++ header that flatc makes of the schema `src`, as a library.

    The header of "x.fbs" in package "p" is included as "p/x_generated.h". It is
    generated into a folder of its own that is a system include path, so that our
    warnings do not apply to it.

    Args:
      name: the library's name.
      src: the schema, a file of the calling package.
      flatc_args: more options for flatc, such as "--gen-mutable".
      visibility: who may depend on it.
    """
    stem = src[:-len(".fbs")]
    folder = "%s_gen" % name
    header = "%s/%s/%s_generated.h" % (folder, native.package_name(), stem)
    native.genrule(
        name = name + "_header",
        srcs = [src],
        outs = [header],
        cmd = " ".join([
            "$(execpath @flatbuffers//:flatc)",
            "--cpp --cpp-std c++17 --scoped-enums --reflect-names",
        ] + flatc_args + [
            "-o $$(dirname $@)",
            "$<",
        ]),
        tools = ["@flatbuffers//:flatc"],
    )
    cc_library(
        name = name,
        hdrs = [header],
        includes = [folder],
        visibility = visibility,
        deps = ["@flatbuffers"],
    )
