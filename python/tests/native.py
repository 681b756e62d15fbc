"""Imports the package from the source tree, on top of the library and the program built by Bazel."""
import atexit
import os
import sys
import tempfile

MPI_LIBRARY = "runtime/exec/mpi/libreshard_mpi.so"  # where Open MPI is installed
_BUILT = {
    "bin/reshardc": "compiler/cli/reshardc",
    "lib/libreshard.so": "runtime/c_api/libreshard.so",
    "lib/libreshard_mpi.so": MPI_LIBRARY,
}


def use_built():
    """Returns the package `reshard`; call once, before anything else of it."""
    sys.path.insert(0, os.path.abspath("python"))
    import reshard  # noqa: PLC0415: only importable from here on
    folder = tempfile.TemporaryDirectory(prefix="reshard_native_")
    atexit.register(folder.cleanup)
    for name, path in _BUILT.items():
        os.makedirs(os.path.dirname(os.path.join(folder.name, name)), exist_ok=True)
        os.symlink(os.path.abspath(path), os.path.join(folder.name, name))
    reshard.use_installation(folder.name)
    return reshard
