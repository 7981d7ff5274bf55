"""Small gold and submission folders in the layouts of Spider 2.0 Lite and Snow, made for each test."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CITIES = "city,n\nOslo,1\nRome,2\n"
LAYOUT_FILES = {"lite": "spider2lite_eval.jsonl", "snow": "spider2snow_eval.jsonl"}
ENTRY: dict[str, Any] = {"condition_cols": [], "ignore_order": True}


def gold_folder(
    folder: Path, entries: Mapping[str, Mapping[str, Any]], tables: Mapping[str, str], *, layout: str = "lite", spec: str | None = None
) -> Path:
    """A gold folder: entries by id (keys beside the usual ones), gold tables by file name."""
    (folder / "exec_result").mkdir(parents=True)
    lines = [json.dumps({"instance_id": id_, **ENTRY, **entry}) for id_, entry in entries.items()]
    (folder / (spec or LAYOUT_FILES[layout])).write_text("\n".join(lines) + "\n")
    for name, text in tables.items():
        (folder / "exec_result" / name).write_text(text)
    return folder


def submission_folder(folder: Path, files: Mapping[str, str]) -> Path:
    """A submission folder of answer files by name."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder
