"""The benchmark table of docs/benchmarks.md: what was measured, beside what must be reached and what is aimed at.

The figures are kept in `docs/benchmarks.json`, so that one benchmark run again renews its own rows and leaves the others.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conftest import ROOT

FIGURES = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- benchmarks -->\n", "<!-- end of benchmarks -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the figure at `path` in what the benchmarks found, at most `most`, aimed at `aim` (None: no aim is set).

    `peak` is the path of a peak memory in MiB that stands beside it, at most `most_mib`.
    """

    work: str
    path: tuple[str, ...]
    unit: str
    most: float
    aim: float | None = None
    peak: tuple[str, ...] = ()
    most_mib: float | None = None


YARDSTICK = "the yardstick (CPU)"
READING = "pandas reading both (CPU)"
FETCHING = "`fetchdf` of both (CPU)"
LOOP = "a bare `sqlite3` loop over both (CPU)"
PASS = "`python -c pass` (CPU)"
READ_JSONL = "reading both (CPU)"
BARE = "bare matrices (CPU)"
ROWS = (
    Row("recorded `exact` folder, no isolation", ("suite", "ratios", "exact, isolation none"), YARDSTICK, 0.8, 0.4),
    Row("the same rewritten (all quoted, CRLF)", ("suite", "ratios", "resaved, isolation none"), YARDSTICK, 0.8, 0.4),
    Row("recorded `exact` folder, isolation on", ("suite", "ratios", "exact, isolation process"), YARDSTICK, 0.8, 0.4),
    Row("the same rewritten, isolation on", ("suite", "ratios", "resaved, isolation process"), YARDSTICK, 0.8, 0.4),
    Row("`mixed_1` to `mixed_7`, mean", ("mixed", "ratios", "mean"), YARDSTICK, 0.8, 0.4),
    *(
        Row(f"1M x 10 CSV, {name}", ("big", name, "ratio"), READING, most, aim, ("big", name, "peak_mib"), mib)
        for name, most, aim, mib in (
            ("ordered, same bytes", 1.2, 0.75, 350),
            ("ordered, quoted and CRLF", 1.2, 0.75, 350),
            ("ordered, other columns first", 1.2, 0.75, 350),
            ("ordered, rounded", 1.2, 0.75, 350),
            ("any order, shuffled", 2.5, 0.9, 600),
            ("any order, shuffled with jitter", 6, 2.5, None),
        )
    ),
    *(
        Row(f"x 10 CSV, {name}", ("wrong", name, "ratio"), READING, most, aim, ("wrong", name, "peak_mib"), mib)
        for name, most, aim, mib in (
            ("60k equal", 1, 0.5, None),
            ("60k, one cell", 1.5, 0.7, None),
            ("60k, rows moved, any order", 2, 0.8, None),
            ("20k, two cells swapped, any order", 10, None, None),
            ("100k, one cell, any order", 4, None, 300),
            ("100k, two cells swapped, any order", 4, None, 300),
            ("1M, 1,000 rows differ, any order", 4, 1.5, 350),
        )
    ),
    Row("1,000 rows x 2,000 columns, one cell", ("wrong", "1,000 x 2,000, one cell", "ratio"), READING, 1.5, 1),
    Row("50 golds of 10k rows for one answer", ("wrong", "50 golds", "ratio"), "50 single runs (CPU)", 0.3),
    Row("1,000 rows, 500 needed of 2,000 columns", ("big", "500 of 2000 columns", "ratio"), READING, 3, 1),
    Row("the same in any order", ("big", "500 of 2000 columns, any order", "ratio"), READING, 3, 1),
    *(
        Row(f"duckdb_match 1M x 10, {name}", ("databases", name, "ratio"), FETCHING, 1, 0.2, ("databases", name, "peak_mib"), 350)
        for name in ("ordered", "any order")
    ),
    Row("duckdb_match 200k x 10, one cell", ("databases", "200k, one cell", "ratio"), FETCHING, 1, 0.5),
    *(
        Row(f"1M x 3 from queries on {engine}, {order}", ("results", engine, order), "a bare fetch of both (CPU)", 2)
        for engine in ("DuckDB", "PostgreSQL")
        for order in ("ordered", "any order")
    ),
    Row("740 pairs of SQLite queries, no answer with gold's own text", ("pairs", "ratio"), LOOP, 1.5, 1.2),
    Row("- every fifth answer with gold's own text", ("pairs", "own_text"), LOOP, 1.5, 1.2),
    Row("- again, nothing changed", ("pairs", "again"), LOOP, 0.3, 0.2),
    Row("`run` of one number, isolated", ("start", "cpu_ratios", "run number"), PASS, 12, 6),
    Row("`run` of one CSV of three rows, isolated", ("start", "cpu_ratios", "run csv"), PASS, 12, 6),
    Row("`check string_match`", ("start", "cpu_ratios", "check string_match"), PASS, 5),
    Row("`check number_match`", ("start", "cpu_ratios", "check number_match"), PASS, 5),
    Row("`--help`", ("start", "cpu_ratios", "--help"), PASS, 8, 6),
    Row("`--version`", ("start", "cpu_ratios", "--version"), PASS, 4, 2),
    *(
        Row(f"1M-line metadata, {name}", ("jsonl", name, "ratio"), "`json.loads` (CPU)", 1, 0.5, ("jsonl", name, "mib_above_import"), 130)
        for name in ("plain", "escapes")
    ),
    Row("100,000 text and number answers, with their reasons", ("matching", "ratios", "reasons"), "a plain loop (CPU)", 0.8, 0.5),
    Row("Treeval, 50 x 100 objects of six leaves", ("trees", "ratios", "50 x 100 objects x 6 leaves"), BARE, 3.5, 3),
    Row("Treeval, 5 x 300 texts", ("trees", "ratios", "5 x 300 strings"), BARE, 1.3),
    Row("80 objects with two lists aligned inside", ("xeval", "80 nested objects", "ratio"), "20 of them (CPU)", 8),
    Row("10,000 records of 20 leaves", ("xeval", "beside upstream", "ratio"), "extract-eval (CPU)", 0.4),
    *(
        Row(
            f"`check {scorer}`, 20,000 records",
            ("xeval", scorer, "ratio"),
            READ_JSONL,
            20,
            None,
            ("xeval", scorer, "peak_mib"),
            110,
        )
        for scorer in ("tree_match", "tree_score")
    ),
    Row("dask, 2 workers, 100,000 answers", ("dask", "ratio"), "the local pool", 2, 1.2),
    Row("a second run, score cache warm", ("cache", "ratios", "second to first"), "the first", 0.5, 0.2),
    Row("a second leaderboard, 100 x 500, nothing changed", ("leaderboard", "second / first"), "the first", 0.03),
    *(
        Row(f"{what} over {size}", ("history", size, what), "a second of CPU", most)
        for size, bounds in (("3,000 runs", (1, 1, 1, 1)), ("10,000 runs", (3, 1, 2, 2)))
        for what, most in zip(("runs list", "second sql", "board with nothing new", "viewer, a page again"), bounds, strict=True)
    ),
)


def keep(found: Mapping[str, Any]) -> None:
    """Renew the kept figures of the benchmarks that ran, and write the page's table from all of them."""
    known: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    known.update(found)
    FIGURES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + table(known) + text[end:], encoding="utf-8")


def table(known: Mapping[str, Any]) -> str:
    """The Markdown table of the rows that were measured; what is above its bound stands in bold."""
    lines = ["| work | measured | at most | aim |", "|---|---|---|---|"]
    for row in ROWS:
        value, mib = _at(known, row.path), _at(known, row.peak) if row.peak else None
        if value is None:
            continue
        shown = _bold(f"{value:.3g}", value > row.most) + f" x {row.unit}"
        bound = f"{row.most:g}"
        if mib is not None:
            shown += f", {_bold(f'{mib:.0f} MiB', row.most_mib is not None and mib > row.most_mib)}"
            bound += f", {row.most_mib:g} MB" if row.most_mib is not None else ""
        lines.append(f"| {row.work} | {shown} | {bound} | {'' if row.aim is None else f'{row.aim:g}'} |")
    return "\n".join(lines) + "\n"


def _at(known: Mapping[str, Any], path: tuple[str, ...]) -> float | None:
    found: Any = known
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if found is None else float(found)


def _bold(text: str, missed: bool) -> str:
    return f"**{text}**" if missed else text
