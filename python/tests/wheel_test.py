"""The wheel: built from this tree and the built program and library, installed into a folder, used from
there. Nothing is downloaded."""
import glob
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

NATIVE = {"bin": "compiler/cli/reshardc", "lib": "runtime/c_api/libreshard.so"}

USE = """
import sys
import reshard
assert reshard.__file__.startswith(sys.argv[1]), reshard.__file__
plan = reshard.compile(*sys.argv[2:])
assert plan.stats.ranks == 6 and plan.verify()["verdict"] == "sound"
assert len(reshard.loopback_backends(plan)) == 6
print(plan.digest)
"""


def missing():
    """What this Python lacks to make a wheel."""
    lacks = [name for name in ("pip", "setuptools") if importlib.util.find_spec(name) is None]
    if not lacks and importlib.util.find_spec("wheel") is None:
        version = importlib.metadata.version("setuptools").split(".")
        if tuple(map(int, version[:2])) < (70, 1):  # which needs no package "wheel"
            lacks.append("wheel")
    return lacks


@unittest.skipIf(missing(), "this Python has no " + ", ".join(missing()))
class WheelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="reshard_wheel_test_")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def run_python(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([sys.executable, *words], cwd=self.folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**kept, "HOME": self.folder, **environment})
        said = done.stdout.decode("utf-8", "replace")
        self.assertEqual(0, done.returncode, said)
        return said

    def pip(self, *words, **environment):
        return self.run_python("-m", "pip", "--disable-pip-version-check", *words, **environment)

    def test_a_wheel_is_built_installed_and_used(self):
        source = os.path.join(self.folder, "python")
        shutil.copytree("python", source, ignore=shutil.ignore_patterns("tests", "__pycache__"))
        installed = os.path.join(self.folder, "installed")
        for kind, path in NATIVE.items():
            os.makedirs(os.path.join(installed, kind))
            shutil.copy2(path, os.path.join(installed, kind))
        inputs = [os.path.abspath("examples/toy/%s.json" % name)
                  for name in ("train", "infer", "topo")]

        self.pip("wheel", source, "-w", self.folder, "--no-deps", "--no-build-isolation",
                 "--no-index", RESHARD_INSTALLATION=installed)
        wheel, = glob.glob(os.path.join(self.folder, "*.whl"))
        self.assertRegex(os.path.basename(wheel), r"^reshard-[0-9.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            names = {name for name in archive.namelist() if name.startswith("reshard/")}
        expected = {os.path.relpath(path, source) for path in
                    glob.glob(os.path.join(source, "reshard", "**", "*.py"), recursive=True)}
        self.assertEqual(expected | {"reshard/py.typed", "reshard/_native/bin/reshardc",
                                     "reshard/_native/lib/libreshard.so"}, names)

        target = os.path.join(self.folder, "site")
        self.pip("install", wheel, "--target", target, "--no-deps", "--no-index")
        shutil.rmtree(source)
        self.assertRegex(self.run_python("-c", USE, target, *inputs, PYTHONPATH=target),
                         "^[0-9a-f]{64}\n$")


if __name__ == "__main__":
    unittest.main()
