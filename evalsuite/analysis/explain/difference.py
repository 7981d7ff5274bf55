"""The difference between an answer and gold as JSON-safe data that every report draws in its own way, and as a DuckDB statement.

`kind` is table, tables, number, text, tree or judge. Shown rows are capped, and each cap comes with the whole count. Texts are cut, but
reports have to make them printable. The statement returns the rows in which an answer and gold differ; anyone can run it.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.causes.table_alignment import TOO_LARGE, Alignment, TablePair, table_pairs
from evalsuite.analysis.explain.search_trees import find_differences, format_path
from evalsuite.compare.numbers import exact_of
from evalsuite.compare.strict_columns import place
from evalsuite.compare.values import find_numbers, read_number
from evalsuite.core.registry import Scorer
from evalsuite.core.types import Fault, Result, Rule, Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect
from evalsuite.readers.duckdb_cells import quoted_name

MOST_ROWS: Final = 50
MOST_COLUMNS: Final = 30
MOST_LEAVES: Final = 100
LONGEST_CELL: Final = 200
LONGEST_TEXT: Final = 2000
LONGEST_DIFF: Final = 500
# Words and numbers as units, every other character by itself.
_PIECE: Final = re.compile(r"\d+(?:[.,]\d+)*|\w+|\s+|.")

Data = dict[str, Any]


def difference(
    scorer: Scorer, form: Any, parameters: Mapping[str, Any], *, rules: Rule, result: Result, most_rows: int = MOST_ROWS
) -> Data:
    """Return the difference of one check, at most `most_rows` rows per table; `{"kind": "none", "note": ...}` if nothing can be shown."""
    reads = scorer.marker.reads
    if isinstance(form, Fault):
        return {"kind": "none", "note": result.reason}
    if reads in ("table", "tables", "database"):
        return _tables(form, parameters, reads, rules, most_rows)
    if reads == "tree":
        return tree_difference(parameters.get("gold"), form, result.details)
    if reads == "batch":
        return judge_difference(result)
    numbers = result.details.get("numbers")
    if scorer.name == "number_match" or isinstance(numbers, list):
        return number_difference(str(form), parameters)
    return text_difference(str(form), parameters)


def _tables(form: Any, parameters: Mapping[str, Any], reads: str, rules: Rule, most_rows: int) -> Data:
    pairs = table_pairs(form, parameters, reads, rules)
    if reads == "table":
        # Of several accepted golds, the closest one.
        differences = [table_difference(pair, rules, most_rows=most_rows) for pair in pairs]
        n_golds = len(pairs)
        best = min(differences, key=_distance, default={"kind": "none", "note": "no gold table can be read"})
        return {**best, "n_golds": n_golds}
    tables = [table_difference(pair, rules, most_rows=most_rows) for pair in pairs]
    names = parameters.get("condition_tabs") or parameters["gold"]
    submitted = {name.lower() for name, table in form.items() if isinstance(table, Table)} if reads == "database" else set()
    missing = [name for name in names if name.lower() not in submitted] if reads == "database" else []
    counts = {"gold": len(names), "predicted": len(form)}
    return {"kind": "tables", "tables": tables, "n_tables": counts, "missing": missing}


def _distance(data: Data) -> float:
    counts = data.get("counts")
    if counts is None:
        return math.inf
    rows: float = counts["rows_changed"] + counts["rows_missing"] + counts["rows_extra"]
    return rows + sum(column["predicted"] is None for column in data["columns"])


def table_difference(pair: TablePair, rules: Rule, *, most_rows: int = MOST_ROWS, aligned: Alignment | None = None) -> Data:
    """Compare one table with gold's: column pairs, unmatched columns, counts, and the first differing rows, wrong cells marked.

    `aligned` is another alignment than the pair's own.
    """
    shape = {"gold": pair.gold.n_rows, "predicted": pair.prediction.n_rows}
    data: Data = {"kind": "table", "name": pair.name, "ordered": pair.ordered, "n_rows": shape, "rules": rules}
    a = aligned or pair.align(rules)
    if a is None:
        return {**data, "columns": [], "counts": None, "rows": [], "note": TOO_LARGE}
    wrong = [set(rows) for rows in a.wrong]
    changed: list[tuple[int | None, int | None]] = sorted(set().union(*wrong))
    differing = [*changed, *((row, None) for row in a.missing), *((None, row) for row in a.extra)]
    rows = [_row_to_show(a, g, p, wrong) for g, p in differing[:most_rows]]
    counts = {
        "rows_equal": len(a.pairs) - len(changed),
        "rows_changed": len(changed),
        "rows_missing": len(a.missing),
        "rows_extra": len(a.extra),
        "cells_wrong": a.n_wrong,
    }
    row_counts = {"rows": rows, "n_rows_shown": len(rows), "n_rows_cut": len(differing) - len(rows)}
    # What the rows cannot show.
    agrees = "a gold column has no match" if None in a.partners else "every cell shown agrees by itself: see the reason"
    return {**data, **_column_pairs(a), "counts": counts, **row_counts, "note": "" if differing else agrees}


def _column_pairs(a: Alignment) -> Data:
    columns = [
        {
            "gold": a.needed[j] + 1,
            "gold_header": _cut_text(a.gold.header[a.needed[j]]),
            "predicted": None if k is None else k + 1,
            "predicted_header": None if k is None else _cut_text(a.prediction.header[k]),
            "n_wrong": len(a.wrong[j]),
        }
        for j, k in enumerate(a.partners)
    ]
    partners = {k for k in a.partners if k is not None}
    further = [
        {"predicted": k + 1, "predicted_header": _cut_text(a.prediction.header[k])}
        for k in range(len(a.prediction.columns))
        if k not in partners
    ]
    unneeded = [i + 1 for i in range(len(a.gold.columns)) if i not in a.needed]
    return {
        "columns": columns[:MOST_COLUMNS],
        "n_columns": {"needed": len(columns), "gold": len(a.gold.columns), "predicted": len(a.prediction.columns)},
        "unmatched_predicted": further[:MOST_COLUMNS],
        "n_unmatched_predicted": len(further),
        "gold_not_needed": unneeded[:MOST_COLUMNS],
    }


def _row_to_show(a: Alignment, g: int | None, p: int | None, wrong: Sequence[Collection[tuple[int, int]]]) -> Data:
    """Return a row with the cells of both sides; a side without the row has None in each."""
    cells = []
    for j, k in list(enumerate(a.partners))[:MOST_COLUMNS]:
        gold = None if g is None else _json_safe(a.gold.columns[a.needed[j]][g])
        predicted = None if p is None or k is None else _json_safe(a.prediction.columns[k][p])
        cells.append({"gold": gold, "predicted": predicted, "equal": None not in (g, p, k) and (g, p) not in wrong[j]})
    status = "missing" if p is None else "extra" if g is None else "changed"
    return {"status": status, "gold_row": None if g is None else g + 1, "predicted_row": None if p is None else p + 1, "cells": cells}


def number_difference(answer: str, parameters: Mapping[str, Any]) -> Data:
    """Return the numbers of an answer with their distance to the closest gold, the closest first, and their tolerance."""
    gold = parameters.get("gold", [])
    golds = [read_number(item) for item in (gold if isinstance(gold, list | tuple) else [gold])]
    tolerance = 10.0 ** -int(parameters.get("precision", 4))
    numbers = []
    for mention in find_numbers(answer):
        value = float(exact_of(mention.candidates[0]))
        nearest = min(golds, key=lambda item: abs(float(exact_of(item)) - value), default=None)
        if nearest is not None:
            distance = abs(float(exact_of(nearest) - exact_of(mention.candidates[0])))
            numbers.append(
                {
                    "text": _cut_text(mention.text),
                    "value": _json_safe(value),
                    "nearest_gold": _json_safe(float(exact_of(nearest))),
                    "distance": _json_safe(distance),
                    "within": distance <= tolerance,
                }
            )
    nearest_first = sorted(numbers, key=lambda row: row["distance"] if isinstance(row["distance"], float) else math.inf)[:MOST_ROWS]
    return {
        "kind": "number",
        "gold": [str(exact_of(item)) for item in golds][:MOST_ROWS],
        "conj": parameters.get("conj", "or"),
        "tolerance": tolerance,
        "numbers": nearest_first,
        "n_numbers": len(numbers),
        "answer": _cut_text(answer, LONGEST_TEXT),
        "n_characters": len(answer),
    }


def text_difference(answer: str, parameters: Mapping[str, Any]) -> Data:
    """Return the accepted texts, which of them the answer contains, and the word-by-word difference to the closest one."""
    gold = parameters.get("gold", parameters.get("reference", ""))
    golds = [str(item) for item in (gold if isinstance(gold, list | tuple) else [gold])]
    exclude = parameters.get("exclude") or ()
    excluded = [exclude] if isinstance(exclude, str) else list(map(str, exclude))
    lowered = answer.casefold()
    absent = [text for text in golds if text.casefold() not in lowered]
    segments = _segments(absent[0] if absent else golds[0] if golds else "", answer)
    return {
        "kind": "text",
        "gold": [{"text": _cut_text(text, LONGEST_TEXT), "found": text.casefold() in lowered} for text in golds[:MOST_ROWS]],
        "n_gold": len(golds),
        "conj": parameters.get("conj", "or"),
        "excluded": [_cut_text(text) for text in excluded if text and text.casefold() in lowered][:MOST_ROWS],
        "segments": segments,
        "missing": [words for segment in segments if segment["op"] in ("delete", "replace") and (words := segment["gold"].strip())],
        "extra": [words for segment in segments if segment["op"] in ("insert", "replace") and (words := segment["predicted"].strip())],
        "nearest": [_closest_words(text, answer) for text in absent[:MOST_ROWS]],
        "answer": _cut_text(answer, LONGEST_TEXT),
        "n_characters": len(answer),
    }


def _closest_words(gold: str, answer: str) -> Data:
    """Return the words of the answer that are most similar to a text, and their similarity: 0 to 1."""
    from rapidfuzz import fuzz

    a, b = (text[:LONGEST_TEXT].lower() for text in (gold, answer))
    best = fuzz.partial_ratio_alignment(a, b) if len(a) <= len(b) == len(answer[:LONGEST_TEXT]) else None
    start, end = (best.dest_start, best.dest_end) if best is not None else (0, len(answer))
    # Extend the best fit to whole words.
    words = [match for match in re.finditer(r"\S+", answer) if match.start() < end and match.end() > start]
    phrase = answer[words[0].start() : words[-1].end()] if words else ""
    return {"gold": _cut_text(gold), "phrase": _cut_text(phrase), "similarity": round(fuzz.ratio(gold.lower(), phrase.lower()) / 100, 3)}


def _segments(gold: str, answer: str) -> list[dict[str, str]]:
    """Return how gold becomes the answer word by word: equal, insert, delete and replace, over the first 500 characters of each."""
    a, b = (_PIECE.findall(text[:LONGEST_DIFF]) for text in (gold, answer))
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [{"op": op, "gold": "".join(a[i:j]), "predicted": "".join(b[k:m])} for op, i, j, k, m in codes]


def tree_difference(gold: Any, form: Any, details: Mapping[str, Any]) -> Data:
    """Return rows by JSON path with a status: the scorer's own if it has them, else every place where the two values differ."""
    scored = details.get("wrong") or details.get("rows")
    if isinstance(scored, list) and scored and "n_wrong" in details:
        rows_of_scorer = [
            {"path": row.get("path") or "(root)", **{k: _json_safe(row.get(k)) for k in ("record", "status", "expected", "got", "reason")}}
            for row in scored[:MOST_LEAVES]
        ]
        return {"kind": "tree", "rows": rows_of_scorer, "n_rows": details["n_wrong"], "n_rows_shown": len(rows_of_scorer), "note": ""}
    rows, n = [], 0
    for leaf in find_differences(gold, form):
        n += 1
        if n <= MOST_LEAVES:
            word = {"wrong": "mismatch", "missing": "omission", "extra": "hallucination"}[leaf.status]
            rows.append(
                {"path": format_path(leaf.path), "status": word, "expected": _json_safe(leaf.gold), "got": _json_safe(leaf.predicted)}
            )
    note = "lists are compared in order here; the scorer may pair their elements differently"
    return {"kind": "tree", "rows": rows, "n_rows": n, "n_rows_shown": len(rows), "note": note}


def judge_difference(result: Result | None) -> Data:
    """Return the verdict and the rationale of a judge, from the details of its result."""
    details = result.details if result is not None else {}
    reply = details.get("judge")
    reply_data = (
        {str(key): _json_safe(value) for key, value in reply.items()} if isinstance(reply, Mapping) else {"reply": _json_safe(reply)}
    )
    return {"kind": "judge", "verdict": result.score if result else None, "reason": result.reason if result else "", "judge": reply_data}


def _json_safe(value: Any) -> Any:
    """Return a JSON-compatible value, long ones cut."""
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or abs(value) < 1 << 63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return _cut_text(value if isinstance(value, str) else str(value))


def _cut_text(text: str, longest: int = LONGEST_CELL) -> str:
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


_DECIMALS: Final[dict[Rule, int]] = {"official": 2, "strict": 6}
# Encodings that DuckDB reads without an extension.
_ENCODINGS: Final = {"utf-8", "utf-16", "latin-1"}


def table_sql(pair: TablePair, *, gold: Path, prediction: Path, rules: Rule, dialects: tuple[Dialect, Dialect] = (DEFAULT, DEFAULT)) -> str:
    """Return one statement (after two ATTACH for databases) for the rows that only one side has, by `EXCEPT ALL`; empty if none fits.

    Columns are the needed ones that have a partner. Numbers are rounded (to 2 decimals, 6 for the strict rules) to show what matters; the
    scorer's own tolerance decides. If order counts and some rows only stand in another place, all are numbered. CSV files are read as
    `dialects` (gold's, the answer's) says.
    """
    a = pair.align(rules)
    unread = {".bz2", ".xz"} & {prediction.suffix, gold.suffix} or {one.encoding.lower() for one in dialects} - _ENCODINGS
    if a is None or (unread and not pair.gold.types):
        return ""
    columns = [(j, k) for j, k in enumerate(a.partners) if k is not None][:50]
    if not columns or not (a.ordered or _n_different(a)):
        return ""
    numbered = _is_numbered(a)
    names = ", ".join(f"c{n}" for n in range(1, len(columns) + 1))
    native = a.native
    sides = []
    for side, path, table, places, dialect in (
        ("gold", gold, pair.gold, [a.needed[j] for j, _ in columns], dialects[0]),
        ("prediction", prediction, pair.prediction, [k for _, k in columns], dialects[1]),
    ):
        source = _source(side, path, pair.name, len(table.columns), dialect, native=native)
        cells = ", ".join(
            f"{_compared_value(a, j, n, native, dialect.decimal)} AS c{i}"
            for i, ((j, _), n) in enumerate(zip(columns, places, strict=True), start=1)
        )
        number = "row_number() OVER () AS row, " if numbered else ""
        sides.append(f"{side} AS (SELECT {number}{cells} FROM {source})")
    columns_of_result = f"row, {names}" if numbered else names
    attach = (
        f"ATTACH {_sql_text(str(gold))} AS gold_file (READ_ONLY); ATTACH {_sql_text(str(prediction))} AS prediction_file (READ_ONLY);\n"
    )
    return (
        (attach if native else "")
        + f"WITH {sides[0]},\n     {sides[1]}\n"
        + f"SELECT 'only in gold' AS side, {columns_of_result} FROM (FROM gold EXCEPT ALL FROM prediction)\nUNION ALL\n"
        + f"SELECT 'only in prediction', {columns_of_result} FROM (FROM prediction EXCEPT ALL FROM gold)\nORDER BY ALL;"
    )


def _is_numbered(a: Alignment) -> bool:
    """Whether order counts and only its number shows that a row differs: it stands in another place than in gold."""
    _, missing, extra = a.equal_rows()
    n_wrong = len(set().union(*a.wrong)) + len(a.missing)
    return a.ordered and ((not missing and not extra) or (a.gold.n_rows == a.prediction.n_rows and len(missing) < n_wrong))


def _n_different(a: Alignment) -> int:
    """Return how many cells and rows differ; 0 if only labels or other columns do."""
    return a.n_wrong + len(a.missing) + len(a.extra)


def _source(side: str, path: Path, name: str, n_columns: int, dialect: Dialect, *, native: bool) -> str:
    """Return a table as the statement names it, its columns x0, x1 ...: one of an attached database, or a CSV file."""
    columns = [f"x{i}" for i in range(n_columns)]
    if native:
        return f"{side}_file.main.{quoted_name(name)} AS t({', '.join(columns)})"
    options = {"delim": dialect.delimiter.replace("\t", r"\t"), "quote": '"'}
    options |= {"encoding": dialect.encoding} if dialect.encoding != DEFAULT.encoding else {}
    written = ", ".join(f"{key} = {_sql_text(value)}" for key, value in options.items())
    names = ", ".join(map(_sql_text, columns))
    return f"read_csv({_sql_text(str(path))}, {written}, header = true, all_varchar = true, names = [{names}])"


def _compared_value(a: Alignment, j: int, column: int, native: bool, decimal: str) -> str:
    """Return one column as the statement compares it: numbers rounded, if that shows all that differ, else text."""
    if _is_shown_by_rounding(a, j):
        number = f"x{column}" if decimal == DEFAULT.decimal else f"replace(x{column}, {_sql_text(decimal)}, '.')"
        return f"round(TRY_CAST({number} AS DOUBLE), {_DECIMALS[a.rules]})"
    return f"CAST(x{column} AS VARCHAR)" if native else f"nullif(x{column}, '')"


# What a cast to DOUBLE reads; it turns `$1,204.50` into NULL.
_PLAIN_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|")


def _is_shown_by_rounding(a: Alignment, j: int) -> bool:
    """Whether a column contains only plain numbers, and no two that differ are one when rounded."""
    k = a.partners[j]
    sides = [(a.gold.columns[a.needed[j]], a.columns.gold[j].cells)]
    sides += [] if k is None else [(a.prediction.columns[k], a.columns.predicted[k].cells)]
    for texts, cells in sides:
        for text, cell in zip(texts, cells, strict=True):
            if cell is not None and (place(cell) is None or not _PLAIN_NUMBER.fullmatch(str(text))):
                return False
    rounded = [[None if (value := place(cell)) is None else round(value, _DECIMALS[a.rules]) for cell in cells] for _, cells in sides]
    return all(rounded[0][g] != rounded[1][p] for g, p in a.wrong[j])


def _sql_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
