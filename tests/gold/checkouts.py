"""A checkout of a suite of Spider 2.0 made of our own tables: gold, questions, gold queries, credentials, submissions."""

import contextlib
import json
import random
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gold.layouts import LAYOUT_FILES

# The credentials as the benchmark hands them out: nobody has filled them in. The account is a real one.
TEMPLATES = {
    "snowflake_credential.json": {"user": "your_username", "password": "your_password", "account": "RSRSBDK-YDB67606"},
    "bigquery_credential.json": {
        "type": "service_account",
        "project_id": "your_project_id",
        "private_key_id": "your_private_key_id",
        "private_key": "your_private_key",
        "client_email": "xxxxx@xxx.iam.gserviceaccount.com",
        "client_id": "xxxxxx",
        "token_uri": "https://oauth2.googleapis.com/token",
    },
}
# What a path in an answer may look like; those that leave the folder are refused, by design.
FORMS = ("r.csv", "./r.csv", "a/./r.csv", "a//r.csv", "{folder}/{id}//r.csv", "{folder}/{id}/a/./r.csv", "../{id}/r.csv")
_TEXTS = ("Oslo", "Rome", "Bergen", "x", "y", "", "NA", "2024-01-31", "München", "a,b", 'say "so"', " padded ", "007", "True")
Rows = list[list[str]]


@dataclass
class Checkout:
    """Where its sides lie, and by id what was made: `gold`, the accepted tables."""

    root: Path
    layout: str
    gold: dict[str, list[Rows]] = field(default_factory=dict)

    @property
    def suite(self) -> Path:
        """The folder of the evaluator."""
        return self.root / f"spider2-{self.layout}" / "evaluation_suite"

    @property
    def gold_folder(self) -> Path:
        """The gold folder."""
        return self.suite / "gold"


def make_checkout(root: Path, layout: str, n: int, *, seed: int = 0) -> Checkout:
    """A checkout with `n` instances of every kind that the format has: lettered tables, columns, orders, temporal ones with a query."""
    rng, made = random.Random(seed), Checkout(root, layout)
    for folder in ("exec_result", "sql"):
        (made.gold_folder / folder).mkdir(parents=True)
    for name, content in TEMPLATES.items():
        (made.suite / name).write_text(json.dumps(content, indent=2))
    entries, asked = [], []
    for i in range(n):
        id_ = f"{('local', 'bq', 'ga', 'sf_bq')[i % 4] if layout == 'lite' else 'sf_bq'}{i:03}"
        made.gold[id_] = [table_of(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        entries.append(_entry(rng, id_, made.gold[id_]))
        names = [f"{id_}.csv"] if len(made.gold[id_]) == 1 and rng.random() < 0.8 else [f"{id_}_{x}.csv" for x in "abc"]
        for name, rows in zip(names, made.gold[id_], strict=False):
            (made.gold_folder / "exec_result" / name).write_text(as_text(rows))
        if i % 5 == 0:
            entries[-1]["temporal"] = True
        if i % 3 == 0:
            (made.gold_folder / "sql" / f"{id_}.sql").write_text("SELECT 1 AS another_gold")
        asked.append({"instance_id": id_, ("db" if layout == "lite" else "db_id"): "sales", "question": f"what of {i}?"})
    _lines(made.gold_folder / LAYOUT_FILES[layout], entries)
    _lines(made.suite.parent / f"spider2-{layout}.jsonl", asked)
    return made


def submit(made: Checkout, folder: Path, *, seed: int = 1, leave_out: int = 0) -> Path:
    """A submission of tables: gold's own, and gold's own with a change that some comparison could forgive. Some ids are left out."""
    rng = random.Random(seed)
    folder.mkdir()
    for id_, tables in list(made.gold.items())[leave_out:]:
        rows = [list(row) for row in rng.choice(tables)]
        (folder / f"{id_}.csv").write_text(as_text(rng.choice(_CHANGES)(rng, rows)))
    return folder


def make_folders(root: Path, n: int, *, seed: int = 0) -> tuple[Path, Path]:
    """Gold and a submission of the original layout: paths in every form, bare numbers for columns, temporal checks."""
    rng, submission, gold = random.Random(seed), root / "submission", root / "gold"
    entries, answers = [], []
    for i in range(n):
        id_, table, form = f"q{i:03}", table_of(rng), FORMS[i % len(FORMS)]
        (gold / id_).mkdir(parents=True)
        (submission / id_ / "a").mkdir(parents=True)
        (gold / id_ / "gold.sql").write_text("SELECT 1 AS another_gold")
        (gold / id_ / "g.csv").write_text(as_text(table))
        for place in ("r.csv", "a/r.csv"):
            (submission / id_ / place).write_text(as_text(table if rng.random() < 0.8 else table_of(rng)))
        columns = rng.choice(([], [], [0], 0, 1, -1, 0))
        check = {"func": "table_match", "parameters": {"gold": "g.csv", "condition_cols": columns, "ignore_order": rng.random() < 0.5}}
        entries.append({"instance_id": id_, "evaluation": {**check, "temporal": i % 4 == 0}})
        path = form.format(folder=submission, id=id_)
        answers.append({"instance_id": id_, "answer_type": "file", "answer_or_path": path})
    _lines(gold / "spider2_eval.jsonl", entries)
    _lines(submission / "results_metadata.jsonl", answers)
    return gold, submission


def make_queries(root: Path, pairs: Iterable[Mapping[str, Any]]) -> tuple[Path, Path]:
    """Gold and a submission of Lite whose answers are queries on the databases below `root/databases`; gold is what its queries gave."""
    suite, submission = root / "spider2-lite" / "evaluation_suite", root / "submission"
    gold, databases = suite / "gold", suite.parent / "resource" / "databases"
    for folder in (gold / "exec_result", databases, submission):
        folder.mkdir(parents=True)
    entries, questions = [], []
    for pair in pairs:
        id_, name = f"local{pair['id']:03}", pair["db_id"]
        shutil.copy(root / "databases" / name / f"{name}.sqlite", databases)
        with contextlib.closing(sqlite3.connect(databases / f"{name}.sqlite")) as connection:
            found = connection.execute(pair["gold"])
            rows = [[column[0] for column in found.description], *found.fetchall()]
        text = as_text([["" if cell is None else str(cell) for cell in row] for row in rows])
        (gold / "exec_result" / f"{id_}.csv").write_text(text)
        fenced = pair["id"] % 3 == 0
        (submission / f"{id_}.sql").write_text(f"Here:\n```sql\n{pair['predicted']}\n```\n" if fenced else pair["predicted"])
        entries.append({"instance_id": id_, "condition_cols": [], "ignore_order": pair["id"] % 2 == 0})
        questions.append({"instance_id": id_, "db": name, "question": "?"})
    _lines(gold / LAYOUT_FILES["lite"], entries)
    _lines(suite.parent / "spider2-lite.jsonl", questions)
    return gold, submission


def _entry(rng: random.Random, id_: str, tables: list[Rows]) -> dict[str, Any]:
    widths = [len(rows[0]) for rows in tables]
    some = [sorted(rng.sample(range(width), rng.randint(1, width))) for width in widths]
    chosen: list[Any] = [[], [], [0], some[0], [[]], some, some, [some[0]], 0, 1, -1, None, [0, 9]]
    return {"instance_id": id_, "condition_cols": rng.choice(chosen), "ignore_order": rng.random() < 0.6, "toks": rng.randint(1, 99)}


def table_of(rng: random.Random) -> Rows:
    """A small table of mixed columns, its header first."""
    kinds = [rng.choice(("text", "whole", "decimal", "mixed", "empty")) for _ in range(rng.randint(1, 4))]
    header = [f"{kind}_{k}" for k, kind in enumerate(kinds)]
    return [header, *([_cell(rng, kind) for kind in kinds] for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9))))]


def _cell(rng: random.Random, kind: str) -> str:
    if kind == "text":
        return rng.choice(_TEXTS)
    if kind == "whole":
        return str(rng.randint(-3, 12) * rng.choice((1, 1, 1000)))
    if kind == "decimal":
        return f"{rng.uniform(-5, 500):.{rng.randint(0, 6)}f}" if rng.random() < 0.9 else ""
    return rng.choice((*_TEXTS, "1", "2.5", "")) if kind == "mixed" else ""


def as_text(rows: Rows) -> str:
    """A table as CSV."""
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set(',"\n') else cell for cell in row] for row in rows]
    return "".join(",".join(row) + "\n" for row in quoted)


def _lines(file: Path, objects: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(one) + "\n" for one in objects))


def _shuffled(rng: random.Random, rows: Rows) -> Rows:
    return [rows[0], *rng.sample(rows[1:], len(rows) - 1)]


def _columns_moved(rng: random.Random, rows: Rows) -> Rows:
    order = rng.sample(range(len(rows[0])), len(rows[0]))
    return [[row[k] for k in order] for row in rows]


def _one_column(rng: random.Random, rows: Rows) -> Rows:
    at = rng.randrange(len(rows[0]))
    return [[row[at]] for row in rows]


def _more_columns(rng: random.Random, rows: Rows) -> Rows:
    return [["i", *rows[0]], *([str(i), *row] for i, row in enumerate(rows[1:]))]


def _a_cell(rng: random.Random, rows: Rows) -> Rows:
    if len(rows) > 1:
        row, k = rng.randrange(1, len(rows)), rng.randrange(len(rows[0]))
        cell = rows[row][k]
        rows[row][k] = rng.choice(("0", "", cell + "0", cell.upper(), "0.004", _cell(rng, "mixed")))
    return rows


def _near(rng: random.Random, rows: Rows) -> Rows:
    def moved(cell: str) -> str:
        try:
            return f"{float(cell) + rng.choice((0, 0.004, -0.009, 0.02)):.4f}"
        except ValueError:
            return cell

    return [rows[0], *([moved(cell) for cell in row] for row in rows[1:])]


def _fewer_rows(rng: random.Random, rows: Rows) -> Rows:
    return rows[: rng.randint(1, len(rows))]


_CHANGES = (lambda _, rows: rows, lambda _, rows: rows, _shuffled, _columns_moved, _one_column, _more_columns, _a_cell, _near, _fewer_rows)
