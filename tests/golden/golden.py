"""Golden cases: one file = why, inputs, commands, and the exact text and exit status of each.

A .case file:

    # Why this case exists, in one line.
    # expect-error: shape-mismatch            (every code that it reports; may repeat;
    # expect-warning: unused-tensor            no other code may appear on standard error)
    --- file train.json
    {...}                                     (the text; or one line "@tests/data/x.json": a copy;
                                               or "@tests/data/x.json s/OLD/NEW/ ...": edited copy)
    --- run reshardc train.json infer.json topo.json -o plan.fb
    --- exit 2
    --- stdout
    --- stderr
    infer.json:1:2: error: ...

`run`, `exit`, `stdout`, `stderr` repeat for more commands in the same folder. The programs are
reshardc and reshard-run; sh and python3 prepare files. Text is compared exactly.
"""
import os
import re
import shutil
import subprocess
import tempfile

TIME_LIMIT_S = 60


class CaseError(Exception):
    """A .case file that does not follow the format."""


class Step:
    """One command with what it must print."""

    def __init__(self, command):
        self.command = command
        self.exit = 0
        self.stdout = ""
        self.stderr = ""


class Case:
    """A parsed .case file. `files` maps names to texts."""

    def __init__(self, path, reason, codes):
        self.path = path
        self.reason = reason
        self.codes = codes  # of ("error" or "warning", code)
        self.files = {}
        self.file_sources = {}
        self.steps = []


def _edited(root, line):
    """The text of a "@path s/OLD/NEW/ ..." line."""
    parts = line[1:].split(" ", 1)
    with open(os.path.join(root, parts[0]), encoding="utf-8") as source:
        text = source.read()
    edits = parts[1] if len(parts) > 1 else ""
    while edits.strip():
        match = re.match(r"\s*s(.)(.*?)\1(.*?)\1(?=\s|$)", edits)
        if match is None:
            raise CaseError("malformed edit: " + edits)
        old, new = match.group(2), match.group(3)
        if old not in text or old == new:
            raise CaseError("edit changes nothing: " + old)
        text = text.replace(old, new)
        edits = edits[match.end():]
    return text


def parse(path, root):
    """Reads a .case file. `root` is the repository's root, for copies of its data."""
    with open(path, encoding="utf-8", newline="") as stream:
        lines = stream.read().split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if not lines or not lines[0].startswith("# "):
        raise CaseError("line 1 does not say why the case exists")
    codes = []
    sections = []
    for number, line in enumerate(lines[1:], 2):
        if line.startswith("--- "):
            sections.append((line[4:], []))
        elif sections:
            sections[-1][1].append(line)
        elif re.match(r"# expect-(error|warning): ", line):
            severity, _, code = line[len("# expect-"):].partition(": ")
            codes.append((severity, code.strip()))
        elif line and not line.startswith("#"):
            raise CaseError("line %d stands before the first section" % number)
    case = Case(path, lines[0][2:], codes)
    for head, body in sections:
        word, _, rest = head.partition(" ")
        text = "".join(part + "\n" for part in body)
        if word == "file":
            case.file_sources[rest] = body
            if len(body) == 1 and body[0].startswith("@"):
                text = _edited(root, body[0])
            case.files[rest] = text
        elif word == "run":
            case.steps.append(Step(rest))
        elif word in ("exit", "stdout", "stderr") and case.steps:
            setattr(case.steps[-1], word, int(rest) if word == "exit" else text)
        else:
            raise CaseError("unknown section: " + head)
    if not case.steps:
        raise CaseError("no command")
    return case


def environment_with(programs, folder):
    """An environment for commands in which `programs` (name -> path) are found by their names."""
    bin_folder = os.path.join(folder, ".bin")
    os.mkdir(bin_folder)
    for name, program in programs.items():
        os.symlink(os.path.abspath(program), os.path.join(bin_folder, name))
    return {"PATH": bin_folder + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def run(case, programs):
    """Runs the steps in a fresh folder; returns a list of (exit, stdout, stderr)."""
    folder = tempfile.mkdtemp(prefix="golden.")
    try:
        environment = environment_with(programs, folder)
        for name, text in case.files.items():
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
        results = []
        for step in case.steps:
            done = subprocess.run(["/bin/sh", "-c", step.command], cwd=folder, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=TIME_LIMIT_S, check=False)
            results.append((done.returncode, done.stdout.decode("utf-8", "replace"),
                            done.stderr.decode("utf-8", "replace")))
        return results
    finally:
        shutil.rmtree(folder)


def reported_codes(results):
    """The set of (severity, code) that standard error names."""
    found = set()
    for _, _, stderr in results:
        for line in stderr.split("\n"):
            match = re.search(r"(?:^|: )(error|warning): .* \[([a-z0-9-]+)\]$", line)
            if match is not None:
                found.add(match.groups())
    return found


def wrong_codes(case, results):
    """How the codes reported differ from those that the case announces, one text each."""
    found = reported_codes(results)
    texts = ["does not report the %s [%s]" % code for code in sorted(set(case.codes) - found)]
    texts += ["reports the %s [%s]" % code for code in sorted(found - set(case.codes))]
    return texts


def render(case, results):
    """The text of the .case file with `results` in place of what it expected."""
    parts = ["# " + case.reason + "\n"]
    parts += ["# expect-%s: %s\n" % code for code in case.codes]
    for name, body in case.file_sources.items():
        parts.append("--- file %s\n" % name)
        parts += [line + "\n" for line in body]
    for step, (code, stdout, stderr) in zip(case.steps, results):
        parts.append("--- run %s\n--- exit %d\n" % (step.command, code))
        for name, text in (("stdout", stdout), ("stderr", stderr)):
            if text and not text.endswith("\n"):
                text += "\n"
            parts.append("--- %s\n%s" % (name, text))
    return "".join(parts)
