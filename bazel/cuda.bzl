"""The CUDA toolkit and NCCL's header, where they are installed.

Both are optional. A build without them has no kernels and says at run time that
the NCCL backend is not built in. NCCL itself is never linked: it is opened when a
program asks for it, so that one binary serves machines with and without it.

Settings, on the command line or in ~/.bazelrc:
  --repo_env=RESHARD_CUDA=0            as if there were none (1: fail without; default: look)
  --repo_env=CUDA_HOME=DIR             the toolkit, unless it is /usr/local/cuda
  --repo_env=NCCL_HOME=DIR             NCCL, unless its header is in the toolkit or in /usr/include
"""

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["@//runtime/exec/nccl:__pkg__"])

cc_library(
    name = "cuda",
    srcs = ["lib/libcudart_static.a"],
    hdrs = glob(["include/**"]),
    defines = ["RESHARD_HAS_CUDA"],
    includes = ["include"],
    linkopts = ["-ldl", "-lpthread", "-lrt"],
)
"""

_ABSENT = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["@//runtime/exec/nccl:__pkg__"])

cc_library(name = "cuda")
"""

def _first(ctx, paths):
    for path in paths:
        if ctx.path(path).exists:
            return ctx.path(path)
    return None

def _cuda_toolkit_impl(ctx):
    wanted = ctx.os.environ.get("RESHARD_CUDA", "auto")
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nccl_home = ctx.os.environ.get("NCCL_HOME", home)
    found = {
        "nvcc": _first(ctx, [home + "/bin/nvcc"]),
        "cuda_runtime_api.h": _first(ctx, [home + "/include/cuda_runtime_api.h"]),
        "libcudart_static.a": _first(ctx, [
            home + "/lib64/libcudart_static.a",
            home + "/lib/libcudart_static.a",
        ]),
        "nccl.h": _first(ctx, [nccl_home + "/include/nccl.h", "/usr/include/nccl.h"]),
    }
    missing = [name for name, path in found.items() if not path]
    if wanted == "1" and missing:
        fail("\n\n  RESHARD_CUDA=1, but these are missing: %s. CUDA_HOME is %s.\n" %
             (", ".join(missing), home))
    if wanted not in ("auto", "0", "1"):
        fail("\n\n  RESHARD_CUDA is '%s', expected auto, 0 or 1.\n" % wanted)
    have = wanted != "0" and not missing
    ctx.file("defs.bzl", "NVCC = %s\n" % repr(str(found["nvcc"]) if have else ""), executable = False)
    ctx.file("BUILD.bazel", _BUILD if have else _ABSENT, executable = False)
    if not have:
        return
    for path in found["cuda_runtime_api.h"].dirname.readdir():
        if path.basename.endswith((".h", ".hpp")) or path.basename in ("crt", "nv"):
            ctx.symlink(path, "include/" + path.basename)
    if not ctx.path("include/nccl.h").exists:
        ctx.symlink(found["nccl.h"], "include/nccl.h")
    ctx.symlink(found["libcudart_static.a"], "lib/libcudart_static.a")

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME", "NCCL_HOME", "RESHARD_CUDA"],
    local = True,
)
