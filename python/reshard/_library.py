"""Finds and opens what the package carries: libreshard and the program reshardc.

Looked for in `_native` beside this file (a wheel puts them there), or in the folder given to
`use_installation` (an installed tree: bin/reshardc, lib/libreshard.so).
"""

from __future__ import annotations

import ctypes as c
import threading
from pathlib import Path
from typing import Dict, Optional

from . import _abi
from .errors import ReshardError

_CARRIED = Path(__file__).resolve().parent / "_native"
_lock = threading.Lock()
_root: Path = _CARRIED
_libraries: Dict[str, "Library"] = {}


def use_installation(root: str) -> None:
    """Uses the tree that `bazel run //:install -- --prefix ROOT` made, not what the wheel carries.

    To be called before anything else of the package; raises RuntimeError afterwards.
    """
    global _root
    with _lock:
        if _libraries:
            raise RuntimeError("use_installation has to come before the first use of the library")
        _root = Path(root)


def native_file(*parts: str) -> Path:
    """A file of the installation; FileNotFoundError says what to do."""
    path = _root.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: install the package with pip, or call reshard.use_installation "
            "with the folder given to `bazel run //:install -- --prefix`")
    return path


class Library:
    """One opened library. Functions raise ReshardError for results below 0."""

    def __init__(self, path: Path) -> None:
        self._dll = c.CDLL(str(path))
        self._dll.reshard_abi_version.restype = c.c_uint32
        self._dll.reshard_last_error.restype = c.c_char_p
        self._dll.reshard_result_name.restype = c.c_char_p
        self._dll.reshard_result_name.argtypes = [c.c_int32]
        version = self._dll.reshard_abi_version()
        if version < _abi.ABI_VERSION:
            raise RuntimeError(f"{path} has ABI version {version}; this package needs "
                               f"{_abi.ABI_VERSION}")
        for name, arguments in _abi.FUNCTIONS.items():
            self.declare(name, arguments)

    def declare(self, name: str, arguments: list) -> None:
        function = getattr(self._dll, name)
        function.restype = c.c_int32
        function.argtypes = arguments

    def call(self, name: str, *arguments: object) -> int:
        """OK or PENDING; raises ReshardError for everything else."""
        result = getattr(self._dll, name)(*arguments)
        if result < 0:
            code = self._dll.reshard_result_name(result).decode()
            text = (self._dll.reshard_last_error() or b"").decode("utf-8", "replace")
            raise ReshardError(result, code, text)
        return result


def library(name: str = "libreshard.so") -> Library:
    """The library, opened at the first call. Handles of one are not known to another."""
    with _lock:
        found: Optional[Library] = _libraries.get(name)
        if found is None:
            found = Library(native_file("lib", name))
            _libraries[name] = found
        return found
