"""Make a gold folder from tables: one table check per CSV, its question if known, and a template for submissions."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.compare.messages import cut
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import UsageError, did_you_mean, join_names, write_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.scores import METADATA, Rule
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.readers.load_table import dialect_parameters

ID_COLUMNS = ("id", "instance_id")
QUESTION_COLUMNS = ("question", "input", "instruction", "prompt")
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGold:
    """The new gold folder, the template, and the n instances in order; `unasked` have no question."""

    folder: Path
    template: Path
    ids: tuple[str, ...]
    unasked: tuple[str, ...]


def gold_tables(source: Path) -> dict[str, Path]:
    """Return instance id -> CSV for the CSV files in a folder. Raises `UsageError` if there are none."""
    if not is_dir(source):
        raise UsageError(
            f"{source}: {'not a folder' if exists(source) else 'no such folder'}", hint="--gold-from names a folder of CSV files"
        )
    tables: dict[str, Path] = {}
    for path in sorted(source.iterdir()):
        if path.suffix.lower() == ".csv" and is_file(path):
            id_ = _UNSAFE.sub("_", path.stem).strip("._") or "table"
            if id_ in tables:
                raise UsageError(f"{path.name} and {tables[id_].name} would both be the instance {id_!r}", hint="rename one of them")
            tables[id_] = path
    if not tables:
        raise UsageError(f"{source}: no CSV file in it", hint="each .csv becomes an instance that is named for it")
    return tables


def read_questions(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return instance id -> question. Raises `UsageError` with the line of an unknown or repeated id."""
    header, rows = read_named_rows(path, delimiters=",;\t")
    places = [next((header.index(name) for name in names if name in header), None) for names in (ID_COLUMNS, QUESTION_COLUMNS)]
    id_at, question_at = places
    if id_at is None or question_at is None:
        column = "id" if id_at is None else "question"
        raise UsageError(f"{path}:1: no column {column!r}", hint=f"found: {join_names(list(map(cut, header)))}; needed: id and question")
    questions: dict[str, str] = {}
    for line, cells in rows:
        id_, question = (cells[at].strip() if at < len(cells) else "" for at in (id_at, question_at))
        if id_ not in ids:
            raise UsageError(f"{path}:{line}: no gold file for the id {id_!r}", hint=did_you_mean(id_, ids))
        if id_ in questions:
            raise UsageError(f"{path}:{line}: the id {id_!r} is repeated", hint="one line a question")
        questions[id_] = question
    return questions


def make_gold(
    tables: Mapping[str, Path],
    target: Path,
    template: Path,
    *,
    questions: Mapping[str, str],
    parameters: Mapping[str, Mapping[str, Any]],
    rules: Rule = "official",
    name: str = "",
) -> NewGold:
    """Write the new gold folder and the template next to it; `parameters` go into each table check, `rules` and `name` into the suite.

    A file with another delimiter than the comma, or in UTF-16, makes the check read answers in the same way. Both are written to
    temporary folders and renamed at the end. Raises `UsageError` if the folder exists, `OutputError`.
    """
    if exists(target):
        raise UsageError(f"{target} exists already", hint="--out names another folder")
    part, part_template = (path.with_name(f".{path.name}.{os.getpid()}.part") for path in (target, template))
    try:
        part.mkdir(parents=True)
        entries = []
        for id_, path in tables.items():
            (part / id_).mkdir()
            shutil.copyfile(path, part / id_ / f"{id_}.csv")
            options = {"ignore_order": True, **dialect_parameters(path), **parameters.get(id_, {})}
            check = {"func": "table_match", "parameters": {"gold": f"{id_}.csv", **options}}
            entries.append({"instance_id": id_, **({"question": questions[id_]} if questions.get(id_) else {}), "evaluation": check})
        _write_lines(part / f"{target.name}_eval.jsonl", entries)
        rules_line = "rules: strict\n" if rules == "strict" else ""
        (part / "suite.yaml").write_text(f"name: {json.dumps(name or target.name)}\n{rules_line}", encoding="utf-8")
        if not exists(template):
            for id_ in tables:
                (part_template / id_).mkdir(parents=True)
            rows = [{"instance_id": id_, "answer_type": "file", "answer_or_path": f"{id_}.csv"} for id_ in tables]
            _write_lines(part_template / METADATA, rows)
            part_template.rename(template)
        part.rename(target)
    except OSError as error:
        raise write_error(target, error) from error
    finally:
        for path in (part, part_template):
            shutil.rmtree(path, ignore_errors=True)
    return NewGold(folder=target, template=template, ids=tuple(tables), unasked=tuple(id_ for id_ in tables if not questions.get(id_)))


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
