"""Errors of the package.

`ReshardError` is raised for what libreshard refuses, `CompileError` for what the compiler says about
inputs, with each diagnostic's place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional, Sequence


class ReshardError(Exception):
    """A call of libreshard failed.

    Attributes:
        result: the result's number, as in reshard_results.def.
        code: the result's name, such as "timeout" or "corrupt-data".
        text: the message without the code.
    """

    def __init__(self, result: int, code: str, message: str) -> None:
        super().__init__(f"{message} [{code}]" if message else code)
        self.result = result
        self.code = code
        self.text = message


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler.

    Attributes:
        severity: "error", "warning" or "note".
        message: what was found and what was expected.
        code: a stable word such as "shape-mismatch"; "" for notes and for mistakes in options.
        file: None where the message is about no file.
        line: counted from 1; None where the message is about the whole file.
        column: counted from 1, in bytes.
    """

    severity: str
    message: str
    code: str = ""
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None


_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>.*?)(?::(?P<line>\d+):(?P<column>\d+))?: )?"
    r"(?P<severity>error|warning|note): (?P<message>.*?)(?: \[(?P<code>[a-z0-9-]+)\])?$")
_USAGE_HINT = "\nRun with --help for more information."


def parse_diagnostics(text: str) -> List[Diagnostic]:
    """Reads the lines that reshardc writes to standard error; source lines and carets are left out."""
    found = []
    for line in text.splitlines():
        match = _DIAGNOSTIC.match(line)
        if not match or line.startswith(" "):
            continue
        found.append(Diagnostic(
            severity=match["severity"],
            message=match["message"],
            code=match["code"] or "",
            file=match["file"],
            line=int(match["line"]) if match["line"] else None,
            column=int(match["column"]) if match["column"] else None))
    return found


class CompileError(Exception):
    """reshardc did not do what it was asked for.

    Attributes:
        exit_status: 1 understood, and the answer is no; 2 the input cannot be judged; 3 a bug.
        diagnostics: all messages, notes after the errors that they belong to; at least one error.
        text: everything that reshardc wrote to standard error, with source lines and carets.
    """

    def __init__(self, exit_status: int, text: str) -> None:
        message = text.rstrip() or f"reshardc ended with status {exit_status}"
        super().__init__(message)
        self.exit_status = exit_status
        self.text = text
        found = parse_diagnostics(text)
        if all(diagnostic.severity != "error" for diagnostic in found):
            # Of options that it does not understand, reshardc says so in plain lines.
            found.append(Diagnostic("error", message.removesuffix(_USAGE_HINT)))
        self.diagnostics: Sequence[Diagnostic] = tuple(found)


class CompileWarning(UserWarning):
    """reshardc did what it was asked for and has something to say about the inputs.

    Attributes:
        diagnostics: all messages, notes after the warnings that they belong to.
        text: everything that reshardc wrote to standard error, with source lines and carets.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text.rstrip())
        self.text = text
        self.diagnostics: Sequence[Diagnostic] = tuple(parse_diagnostics(text))
