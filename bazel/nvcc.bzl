"""The rule that compiles CUDA code."""

load("@rules_cc//cc:defs.bzl", "cc_library")

# Machine code for the data center GPUs before Blackwell, and what later ones translate by themselves.
_GPUS = [
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=sm_90",
    "-gencode=arch=compute_90,code=compute_90",
]

def nvcc_library(name, nvcc, src, hdrs, deps = [], visibility = None):
    """One .cu file as a library; empty where `nvcc` is "" (NVCC of @local_cuda//:defs.bzl).

    Args:
      name: the library's name.
      nvcc: the path of the compiler.
      src: the .cu file.
      hdrs: every file of this repository that it includes.
      deps: what it is linked with.
      visibility: who may depend on it.
    """
    if not nvcc:
        cc_library(name = name, deps = deps, visibility = visibility)
        return
    native.genrule(
        name = name + "_object",
        srcs = [src] + hdrs,
        outs = [name + ".pic.o"],
        cmd = " ".join([
            nvcc,
            "-c -O3 -std=c++20 -Xcompiler=-fPIC,-Wall,-Wextra,-Werror -Werror=all-warnings",
        ] + _GPUS + ["-I. -o $@ $(location %s)" % src]),
        message = "Compiling for GPUs",
    )
    cc_library(
        name = name,
        srcs = [name + ".pic.o"],
        visibility = visibility,
        deps = deps + ["@local_cuda//:cuda"],
    )
