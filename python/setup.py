"""Puts libreshard and reshardc into the wheel: built with Bazel, or those of the installation that
the environment variable RESHARD_INSTALLATION names."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

REPOSITORY = Path(__file__).resolve().parent.parent


class BuildWithNative(build_py):
    def run(self):
        super().run()
        with tempfile.TemporaryDirectory(prefix="reshard_wheel_") as prefix:
            installed = os.environ.get("RESHARD_INSTALLATION")
            if not installed:
                installed = prefix
                subprocess.run(["bazel", "run", "//:install", "--", "--prefix", prefix],
                               cwd=REPOSITORY, check=True)
            native = Path(self.build_lib) / "reshard" / "_native"
            shutil.rmtree(native, ignore_errors=True)
            (native / "bin").mkdir(parents=True)
            (native / "lib").mkdir()
            shutil.copy2(Path(installed) / "bin" / "reshardc", native / "bin" / "reshardc")
            for library in sorted((Path(installed) / "lib").glob("libreshard*.so")):
                shutil.copy2(library.resolve(), native / "lib" / library.name)


class AnyPython(bdist_wheel):
    """The machine code knows nothing of Python: one wheel for all its versions."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class NativeDistribution(Distribution):
    """A wheel for one platform: it carries machine code."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithNative, "bdist_wheel": AnyPython}, distclass=NativeDistribution)
