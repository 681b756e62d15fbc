"""Layouts and topologies from what a job has already: `reshardc import`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Dict

from .plan import JsonInput, _input_file, _option_words, _run


def import_layout(format: str, *inputs: JsonInput, **options: Any) -> Dict[str, Any]:
    """A layout (or topology) made by an importer that has one result.

    Args:
        format: as `reshardc import --help` lists them: "dtensor", "recorded-copies", ...
        inputs: files, or their contents as dicts: what the exporters of reshard.torch return.
        options: of the importer, dashes as underscores: side="destination", rank_base=64.

    Returns:
        What `reshard.compile` takes.

    Raises:
        CompileError: what the importer does not know, it refuses by name.
    """
    with tempfile.TemporaryDirectory(prefix="reshard_") as folder:
        paths = [_input_file(value, f"input{number}.json", folder)
                 for number, value in enumerate(inputs)]
        made = Path(folder) / "layout.json"
        _run(["import", format, *paths, "-o", str(made), "--quiet", *_option_words(options)],
             folder=folder)
        return json.loads(made.read_text(encoding="utf-8"))
