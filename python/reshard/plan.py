"""Plans: compile, load, look at, compare.

Sizes are bytes, times seconds unless a name ends in `_ns`.
"""

from __future__ import annotations

import ctypes as c
import html
import json
import os
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi
from ._library import Library, library, native_file
from .errors import CompileError, CompileWarning, parse_diagnostics

PathLike = Union[str, "os.PathLike[str]"]
# A file, or what the file would hold: it is written to a temporary one.
JsonInput = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@dataclass(frozen=True)
class PlanStats:
    """The figures of a plan.

    Attributes:
        digest: root digest, 64 hexadecimal digits; what all ranks agree on.
        ranks: ranks of both sides.
        rounds: barrier-free rounds of one execution.
        messages: network messages of one execution, over all ranks.
        source_bytes, destination_bytes: stored by all ranks of a side.
        network_bytes: sent between domains in one execution, every hop counted.
        scaleup_bytes: copied between ranks of a domain.
        local_bytes: copied inside ranks.
        max_staging_bytes: memory for messages of the rank that needs most.
        predicted_seconds: time of the schedule as modelled.
        bound_seconds: no schedule can be faster.
    """

    digest: str
    ranks: int
    rounds: int
    messages: int
    source_bytes: int
    destination_bytes: int
    network_bytes: int
    scaleup_bytes: int
    local_bytes: int
    max_staging_bytes: int
    predicted_seconds: float
    bound_seconds: float


@dataclass(frozen=True)
class Param:
    """A param that a rank stores.

    Attributes:
        index: in the list of the rank's params.
        name: as in the layout.
        side: "source" or "destination".
        dtype: as in the layout: "bf16", "f8e4m3", ...
        shape: extents of the buffer, in elements.
        strides: in elements.
        bytes: of the buffer.
        element_bytes: the buffer's address is a multiple of it.
        shares: further names of the same buffer.
        external: exists, but is not moved and need not be bound.
    """

    index: int
    name: str
    side: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    bytes: int
    element_bytes: int
    shares: Tuple[str, ...]
    external: bool


def _run(arguments: Sequence[str], *, folder: str, answers: Sequence[int] = (0,)
         ) -> Tuple[str, str]:
    """Standard output and error of reshardc; CompileError when it ends with a status not in `answers`.

    Files of the temporary `folder` are called by their names alone in what is said.
    """
    done = subprocess.run([str(native_file("bin", "reshardc")), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = done.stderr.decode("utf-8", "replace").replace(folder + os.sep, "")
    if done.returncode not in answers:
        raise CompileError(done.returncode, text)
    return done.stdout.decode("utf-8"), text


def _input_file(value: JsonInput, name: str, folder: str) -> str:
    if isinstance(value, Mapping):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
        return path
    return os.fspath(value)


def _option_words(options: Mapping[str, Any]) -> List[str]:
    words = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            words.append(word)
        elif value is not False and value is not None:
            if isinstance(value, (list, tuple)):
                value = ",".join(str(part) for part in value)
            words += [word, str(value)]
    return words


def compile(train: JsonInput, infer: JsonInput, topo: JsonInput, *,
            output: Optional[PathLike] = None, **options: Any) -> "Plan":
    """Compiles a plan.

    Args:
        train: layout of the source ranks: a file, or its content as a dict.
        infer: layout of the destination ranks.
        topo: what connects the ranks.
        output: where the plan file is kept; without it, only in memory.
        options: of `reshardc compile`, dashes as underscores: max_staging="128MiB",
            heads=2, strict_memory=True. True is an option without a value.

    Raises:
        CompileError: with every diagnostic (file, line, column, code).

    Warnings of the compiler are issued as CompileWarning.
    """
    with tempfile.TemporaryDirectory(prefix="reshard_") as folder:
        inputs = [_input_file(value, name, folder) for value, name in
                  ((train, "train.json"), (infer, "infer.json"), (topo, "topo.json"))]
        path = os.fspath(output) if output is not None else os.path.join(folder, "plan.fb")
        _, said = _run(["compile", *inputs, "-o", path, "--quiet", *_option_words(options)],
                       folder=folder)
        if parse_diagnostics(said):
            warnings.warn(CompileWarning(said), stacklevel=2)
        return Plan.load(path)


class Plan:
    """A plan in memory. Immutable; may be used by several threads."""

    def __init__(self, data: bytes, handle: c.c_void_p, lib: Library) -> None:
        self._data = data
        self._library = lib
        self._handle = handle
        self._stats: Optional[PlanStats] = None

    @classmethod
    def load(cls, path: PathLike, expected_digest: Optional[str] = None, *,
             verify_all: bool = False, library_name: str = "libreshard.so") -> "Plan":
        """Reads and checks a plan file; the file is not needed afterwards.

        Args:
            path: the file.
            expected_digest: of the plan that was reviewed; another one is an error.
            verify_all: proves all rules now, not only those that every start can afford.
            library_name: "libreshard_mpi.so" for executors over MPI.

        Raises:
            ReshardError: "corrupt-data" for what is no sound plan or has another digest.
        """
        return cls.from_bytes(Path(path).read_bytes(), expected_digest, verify_all=verify_all,
                              library_name=library_name)

    @classmethod
    def from_bytes(cls, data: bytes, expected_digest: Optional[str] = None, *,
                   verify_all: bool = False, library_name: str = "libreshard.so") -> "Plan":
        """As `load`, from the bytes of a plan file."""
        lib = library(library_name)
        options = _abi.PlanOptions(
            expected_digest=expected_digest.encode() if expected_digest else None,
            verify_all=int(verify_all))
        handle = _abi.Handle()
        lib.call("reshard_plan_load_memory", data, len(data), c.byref(options), c.byref(handle))
        return cls(data, handle, lib)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.call("reshard_plan_free", handle)

    def for_library(self, library_name: str) -> "Plan":
        """The same plan, opened in another library file of the package."""
        return Plan.from_bytes(self._data, library_name=library_name)

    def save(self, path: PathLike) -> None:
        """Writes the plan file: under a temporary name first, so that no half file is ever seen."""
        target = Path(path)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._data)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    def to_bytes(self) -> bytes:
        """The bytes of the plan file."""
        return self._data

    @property
    def stats(self) -> PlanStats:
        """The plan's figures."""
        if self._stats is None:
            info = _abi.PlanInfo()
            self._library.call("reshard_plan_get_info", self._handle, c.byref(info))
            self._stats = PlanStats(
                digest=info.digest.decode(), ranks=info.rank_count, rounds=info.round_count,
                messages=info.message_count, source_bytes=info.source_bytes,
                destination_bytes=info.destination_bytes, network_bytes=info.network_bytes,
                scaleup_bytes=info.scaleup_bytes, local_bytes=info.local_bytes,
                max_staging_bytes=info.max_staging_bytes,
                predicted_seconds=info.predicted_ns / 1e9, bound_seconds=info.bound_ns / 1e9)
        return self._stats

    @property
    def digest(self) -> str:
        """Root digest, 64 hexadecimal digits."""
        return self.stats.digest

    @property
    def ranks(self) -> List[int]:
        """All ranks of the plan, rising."""
        ranks = (c.c_uint32 * self.stats.ranks)()
        count = c.c_size_t()
        self._library.call("reshard_plan_get_ranks", self._handle, ranks, len(ranks), c.byref(count))
        return list(ranks)

    def params(self, rank: int) -> List[Param]:
        """What the rank stores, both sides. ReshardError "not-found" for unknown ranks."""
        info = _abi.RankInfo()
        self._library.call("reshard_plan_get_rank_info", self._handle, rank, c.byref(info))
        return [self._param(rank, index) for index in range(info.param_count)]

    def _param(self, rank: int, index: int) -> Param:
        info = _abi.ParamInfo()
        self._library.call("reshard_plan_get_param", self._handle, rank, index, c.byref(info))
        return Param(
            index=index, name=info.name.decode(), dtype=info.dtype.decode(),
            side="source" if info.side == _abi.SOURCE else "destination",
            shape=tuple(info.shape[:info.dim_count]), strides=tuple(info.strides[:info.dim_count]),
            bytes=info.bytes, element_bytes=info.element_bytes,
            shares=tuple(share.decode() for share in info.shares[:info.share_count]),
            external=bool(info.external))

    def _command(self, arguments: Sequence[str], others: Sequence["Plan"] = (),
                 answers: Sequence[int] = (0,), folder: Optional[str] = None) -> Dict[str, Any]:
        """What a command says of the plans; `folder`, a temporary one, holds further inputs."""
        if folder is None:
            with tempfile.TemporaryDirectory(prefix="reshard_") as made:
                return self._command(arguments, others, answers, made)
        paths = []
        for number, plan in enumerate((self, *others)):
            paths.append(os.path.join(folder, f"plan{number}.fb"))
            Path(paths[-1]).write_bytes(plan.to_bytes())
        command, *rest = arguments
        answer, _ = _run([command, "--json", *paths, *rest], folder=folder, answers=answers)
        return json.loads(answer)

    def show(self) -> Dict[str, Any]:
        """What `reshardc show --json` says: loads of domains and NICs, classes, routes."""
        return self._command(["show"])

    def verify(self, train: Optional[JsonInput] = None, infer: Optional[JsonInput] = None,
               topo: Optional[JsonInput] = None) -> Dict[str, Any]:
        """Proves all rules; with the three inputs, also that this is their plan.

        Args:
            train, infer, topo: as for `compile`: files, or their contents as dicts.

        Returns:
            What `reshardc verify --json` says. "verdict" is "sound" when all holds; otherwise
            "violations" lists the rules that are broken.
        """
        inputs = [train, infer, topo]
        if all(value is None for value in inputs):
            return self._command(["verify"], answers=(0, 1))
        if any(value is None for value in inputs):
            raise ValueError("verify takes all three inputs or none")
        with tempfile.TemporaryDirectory(prefix="reshard_") as folder:
            paths = [os.path.abspath(_input_file(value, name, folder)) for value, name in
                     zip(inputs, ("train.json", "infer.json", "topo.json"))]
            return self._command(["verify", "--inputs", *paths], answers=(0, 1), folder=folder)

    def diff(self, other: "Plan", fail_if: Optional[str] = None) -> Dict[str, Any]:
        """In what `other` differs: what `reshardc diff --json` says. "equal" is the answer.

        Args:
            other: the newer plan.
            fail_if: gates such as "time>+5%,coverage"; their results are in "gates".
        """
        gates = ["--fail-if", fail_if] if fail_if else []
        return self._command(["diff", *gates], others=[other], answers=(0, 1))

    def explain(self, rank: int, param: str, at: Optional[Sequence[int]] = None, *,
                side: str = "destination", why: bool = False) -> Dict[str, Any]:
        """Where a param of a rank, or one element of it, comes from (or goes), and when.

        Args:
            rank: the rank that stores the param.
            param: its name.
            at: index of an element in the param, one number for each dim.
            side: "destination": where it comes from; "source": where it goes.
            why: also the loads of the alternatives.
        """
        if side not in ("source", "destination"):
            raise ValueError(f"side is 'source' or 'destination', found {side!r}")
        words = ["explain", "--rank", str(rank), "--param", param]
        if side == "source":
            words.append("--source")
        if at is not None:
            words += ["--at", ",".join(str(index) for index in at)]
        if why:
            words.append("--why")
        return self._command(words)

    def __repr__(self) -> str:
        stats = self.stats
        return (f"Plan({stats.digest[:12]}, {stats.ranks} ranks, {stats.network_bytes:,} B over the "
                f"network, {stats.predicted_seconds * 1e3:.3f} ms predicted)")

    def _repr_html_(self) -> str:
        stats = self.stats
        shown = self.show()
        ratio = stats.predicted_seconds / stats.bound_seconds if stats.bound_seconds else None
        rows = [
            ("tensors", f"{shown['tensors']:,} in {shown['classes']:,} classes"),
            ("source", f"{shown['source']['ranks']:,} ranks, {stats.source_bytes:,} B"),
            ("destination", f"{shown['destination']['ranks']:,} ranks, "
                            f"{stats.destination_bytes:,} B"),
            ("network", f"{stats.network_bytes:,} B in {stats.messages:,} messages, "
                        f"{stats.rounds:,} round{'' if stats.rounds == 1 else 's'}"),
            ("time", f"{stats.predicted_seconds * 1e3:,.3f} ms predicted"),
            ("bound", f"none: {shown['no_bound']}" if "no_bound" in shown else
             f"{stats.bound_seconds * 1e3:,.3f} ms ({shown['binding_cut']})" +
             (f", ratio {ratio:.3f}" if ratio is not None else "")),
            ("staging", f"{stats.max_staging_bytes:,} B on the busiest rank"),
            ("digest", stats.digest),
        ]
        body = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                       f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
                       for name, value in rows)
        return f"<table class='reshard-plan'><caption>Transfer plan</caption>{body}</table>"
