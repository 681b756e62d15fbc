"""Bazel's built-in rule under the name of rules_shell."""

sh_test = native.sh_test
