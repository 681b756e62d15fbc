"""Runs the ```python blocks of docs/python.md and compares what they print with what the page shows."""
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, "python/tests")
import native  # noqa: E402

native.use_built()

PAGE = "docs/python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", re.S)


class PythonDocTest(unittest.TestCase):
    maxDiff = None

    def test_blocks_print_what_is_shown(self):
        with open(PAGE, encoding="utf-8") as stream:
            blocks = BLOCK.findall(stream.read())
        self.assertEqual(2, len(blocks))
        home = os.getcwd()
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            for name in ("train.json", "infer.json", "topo.json"):
                shutil.copy(os.path.join("examples/toy", name), folder)
            os.chdir(folder)
            try:
                for code, expected in blocks:
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile(code, PAGE, "exec"), names)  # the page is ours
                    self.assertEqual(expected, printed.getvalue())
            finally:
                os.chdir(home)


if __name__ == "__main__":
    unittest.main()
