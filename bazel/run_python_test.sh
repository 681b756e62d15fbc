#!/bin/sh
# Starts a Python test program; see reshard_py_test in defs.bzl.
exec python3 -B bazel/run_python_test.py "$@"
