#!/bin/sh
# Starts a Python test program with the Python that has PyTorch, if there is one: tools/test names the
# one that tools/setup_python made. See reshard_py_test in defs.bzl.
exec "${RESHARD_TORCH_PYTHON:-python3}" -B bazel/run_python_test.py "$@"
