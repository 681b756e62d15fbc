"""Starting programs under Open MPI in tests: how, and when it cannot be done."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile

PROGRAM = "mpirun.openmpi"


def missing(*programs):
    """Why no MPI job can be started here; None when it can. `programs` were built with MPI if at all."""
    if shutil.which(PROGRAM) is None:
        return "%s is not installed (Debian package openmpi-bin)" % PROGRAM
    for program in programs:
        if not os.path.exists(program):
            return "built without MPI (Debian package libopenmpi-dev)"
    return None


def command(processes, program, *arguments, options=()):
    """The command line of a job on this host."""
    # Ranks share a few cores: one that waits lets the others run. Only shared memory and TCP
    # between them, and the layer above that Open MPI always has.
    return [PROGRAM, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np",
            str(processes), "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1",
            *options, program, *arguments]


@functools.cache
def folder():
    """For the files of this process's jobs, and removed with it. Open MPI names its files and its shared
    memory after the process number of mpirun, which two tests in sandboxes have in common: without
    folders of their own their jobs write into each other's memory."""
    made = tempfile.TemporaryDirectory(prefix="mpi", dir="/tmp")
    atexit.register(made.cleanup)
    return made.name


def environment():
    """Open MPI wants a home folder and short paths for its sockets."""
    return {"PATH": os.environ["PATH"], "HOME": "/tmp", "TMPDIR": folder(),
            "OMPI_MCA_btl_vader_backing_directory": folder()}


def run(processes, program, *arguments, options=(), timeout=600):
    return subprocess.run(command(processes, program, *arguments, options=options),
                          env=environment(), capture_output=True, text=True, timeout=timeout,
                          check=False)
