"""Runs the unittest classes of one file and ends with the line that tools/test adds up.

Usage: run_python_test.py FILE [NAME...]     (NAME: Class or Class.test_method)
"""

import importlib.util
import os
import sys
import unittest


def load_module(path):
    spec = importlib.util.spec_from_file_location(
        os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    # Before it runs, so that classes of the module can be found by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class CountingResult(unittest.TextTestResult):
    """Also counts the tests that passed, which unittest itself does not."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def test_id(test):
    """The name of the test method, for one of its subtests too."""
    return getattr(test, "test_case", test).id()


def main(path, names):
    sys.path.insert(0, os.getcwd())
    module = load_module(path)
    loader = unittest.defaultTestLoader
    suite = (loader.loadTestsFromNames(names, module)
             if names else loader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=CountingResult).run(suite)
    for test, reason in result.skipped:
        print(f"SKIPPED: {test.id()}: {reason}")
    bad = {test_id(test) for test, _ in result.failures + result.errors}
    bad |= {test_id(test) for test in result.unexpectedSuccesses}
    passed = result.passed + len(result.expectedFailures)
    print(f"{passed} passed, {len(bad)} failed, {len(result.skipped)} skipped")
    if not (passed or bad or result.skipped):
        print(f"{path}: no tests found")
    return 0 if (passed or result.skipped) and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
