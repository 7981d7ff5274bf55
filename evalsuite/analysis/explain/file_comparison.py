"""Compare two files without a gold folder: equal or not, the differences by column and by row, and the cause.

Cells are equal under the strict rules, within float noise; rows may be in any order unless `ordered` is set.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.causes.table_alignment import Alignment, TablePair, drop_strange_pairs
from evalsuite.analysis.explain.difference import MOST_LEAVES, table_difference, table_sql, tree_difference
from evalsuite.analysis.explain.instance_evidence import explanation
from evalsuite.analysis.explain.search import Budget, Cause, Judge, show
from evalsuite.analysis.explain.search_tables import search_pair
from evalsuite.analysis.explain.search_trees import explain_tree, find_differences, format_path
from evalsuite.compare.strict_columns import Terms, place
from evalsuite.compare.values import number_gold
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError, count_words, did_you_mean
from evalsuite.core.files import is_dir
from evalsuite.core.scores import Table
from evalsuite.readers.json_text import read_tree
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.load_table import as_texts, dialect_of, ending_of, load_table
from evalsuite.readers.paths import open_trusted
from evalsuite.scorers import SCORERS
from evalsuite.trees import evaluate, infer_schema
from evalsuite.trees.field_results import COLUMNS

# Float noise of writing and reading.
REL_TOL: Final = 1e-9

Data = dict[str, Any]


def compare_files(
    gold: str, prediction: str, table: str | None = None, key: Sequence[str] = (), ordered: bool = False, private: Path | None = None
) -> Data:
    """Compare two files and return JSON-safe data. Runs in a worker.

    Keys: `equal`, `proved` and `standing` of all causes together, `causes` (see `search.Cause.to_json`), `rows` (counts), `paired_by` (the
    columns that name a row), `columns` (per
    column: how many cells differ, in how many only one side is NULL, the largest difference of numbers), `columns_only_in_gold`,
    `columns_only_in_prediction`, `difference` (see `difference`), `sql`, `notes`. `private` is a copy of the prediction's database.

    Raises:
        FaultError: a file cannot be read.
        UsageError: no such key, no such table, or a table compared with a tree.
    """
    files, sides = (Path(gold), Path(prediction)), []
    for file, copy in zip(files, (None, private), strict=True):
        sides.append(load_table(file, DEFAULT_LIMITS, table=table, private=copy))
        if isinstance(sides[-1], Table) and not sides[-1].header:
            raise UsageError(f"{file.name}: a table without a column", hint='each record needs a key, as in {"id": 1}')
    if all(map(_is_record_set, sides)):
        return _records(*_named_records(*sides))
    if all(isinstance(side, Table) for side in sides):
        return _tables(files, sides, key, ordered=ordered)
    if any(isinstance(side, Table) for side in sides):
        if [] in sides:
            raise UsageError(f"{files[sides.index([])].name}: contains no row", hint="one JSON object per line, or a list of them")
        raise UsageError("one file is a table, the other is not", hint="a list of flat records is a table, any other JSON is a tree")
    return _trees(*sides)


def _tables(files: Sequence[Path], sides: Sequence[Table], key: Sequence[str], *, ordered: bool) -> Data:
    if sides[0].types is None or sides[1].types is None:
        sides = [as_texts(side) for side in sides]
    gold, prediction = sides
    terms = Terms(abs_tol=0.0, rel_tol=REL_TOL)
    pair = TablePair(prediction, gold, (), ordered, terms=terms, key=_key_columns(gold, prediction, key))
    scorer, budget = SCORERS.load("table_match"), Budget()
    parameters = {"gold": gold, "ignore_order": not ordered, "rel_tol": REL_TOL, "abs_tol": 0.0}
    judge = Judge(scorer, parameters, "strict", budget)
    score = scorer.score(prediction, **parameters)
    aligned = pair.align("strict")
    lone = _lone_columns(gold, prediction)
    causes = _heads(aligned, lone) if score.strict == 1 and aligned is not None else []
    if score.strict != 1:
        search = search_pair(pair, judge, judge.passes)
        causes = search[0] if search is not None else []
    equal = score.strict == 1 and not any(lone)
    outcome = explanation(causes, budget, "strict", note=_repeated_keys(pair, aligned))
    aligned, paired_by = _alignment_to_show(pair, aligned, is_explained=bool(causes))
    cells_differ = score.strict != 1
    readable = cells_differ and all(file.suffix.lower() == ".csv" for file in files)
    return _outcome(
        outcome,
        equal=equal,
        reason=score.reason_for("strict") if cells_differ else "" if equal else _why_only_columns_differ(lone),
        rows=_row_counts(pair, aligned),
        columns=[] if aligned is None else _columns(aligned),
        columns_only_in_gold=lone[0],
        columns_only_in_prediction=lone[1],
        paired_by=paired_by,
        difference=table_difference(pair, "strict", aligned=aligned) if cells_differ else {},
        sql=table_sql(pair, gold=files[0], prediction=files[1], rules="strict", dialects=(dialect_of(files[0]), dialect_of(files[1])))
        if readable
        else "",
    )


def _why_only_columns_differ(lone: tuple[Sequence[str], Sequence[str]]) -> str:
    """Return what differs if all cells of gold agree: names of its columns, or only further columns."""
    if lone[0]:
        return "the cells agree, the column names differ"
    return f"the cells of gold's columns agree, {count_words(len(lone[1]), 'further column')}"


def _outcome(causes_found: Data, **values: Any) -> Data:
    """Return the keys of a comparison: what the causes say, and `values` in place of the empty defaults."""
    causes = {name: causes_found[name] for name in ("proved", "standing", "causes", "n_attempts", "notes")}
    lone: Data = {"columns_only_in_gold": [], "columns_only_in_prediction": []}
    return {
        "equal": False,
        **causes,
        "reason": "",
        "rows": {},
        "paired_by": [],
        "columns": [],
        **lone,
        "difference": {},
        "sql": "",
        **values,
    }


def compare_folders(gold: str, prediction: str) -> Data:
    """Compare two folders of JSON files, one record a file, paired by name; the result is that of `compare_files`. Runs in a worker.

    One of them may be a file of records instead; then records are paired by an id that all have, or in order.
    """
    sides = []
    for folder in map(Path, (gold, prediction)):
        files = (
            [file for file in sorted(folder.iterdir()) if file.suffix.lower() == ".json" and not file.name.startswith(".")]
            if is_dir(folder)
            else []
        )
        sides.append({file.stem: _tree_of(file) for file in files} if is_dir(folder) else _tree_of(folder))
    if all(isinstance(side, dict) for side in sides) and is_dir(Path(gold)) == is_dir(Path(prediction)):
        return _records(*sides)
    return _records(*_named_records(*(list(side.values()) if isinstance(side, dict) else side for side in sides)))


def _tree_of(file: Path) -> Any:
    with open_trusted(file, limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
        return read_tree(handle, name=ending_of(file), limits=DEFAULT_LIMITS)


_ID_NAME: Final = re.compile(r"(.*[_ -])?(id|uuid|key|code)", re.IGNORECASE)
# Keys that name a record, where every record of both files has one of its own.
_ID_KEYS: Final = ("instance_id", "id", "_id", "uuid", "key", "name")


def _named_records(*sides: Sequence[Mapping[str, Any]]) -> Iterator[dict[Any, Any]]:
    """Yield the records of each side by their id, by line number if there is none."""

    def is_key(name: str) -> bool:
        ids = [[record.get(name) for record in side] for side in sides]
        return all(all(isinstance(value, str | int) for value in keys) and len(set(keys)) == len(keys) for keys in ids)

    key = next((name for name in _ID_KEYS if is_key(name)), None)
    for side in sides:
        yield {record[key]: record for record in side} if key is not None else dict(enumerate(side, start=1))


# What two values are that a comparator accepts for each other, by the status of their leaf.
_FORMS: Final = {"wrong": "other form", "missing": "key missing", "extra": "key extra"}


def _is_record_set(side: Any) -> bool:
    return isinstance(side, list) and bool(side) and all(isinstance(record, Mapping) for record in side)


def _records(gold: Mapping[Any, Any], prediction: Mapping[Any, Any]) -> Data:
    """Compare records by name, field by field, as `tree_score` does with the schema inferred from gold."""
    if not gold:
        raise UsageError("the gold folder contains no .json file", hint="name the folder with one JSON file a record")
    schema = infer_schema(list(gold.values()), widen=True, notify=lambda _: None)
    scored = evaluate(list(gold.values()), [prediction.get(name, {}) for name in gold], schema, notify=lambda _: None)
    rows = [
        {"record": str(name), "path": row.path, "status": row.status, "expected": row.gold_value, "got": row.extracted_value}
        for name, record in zip(gold, scored.records, strict=True)
        for row in record.field_results
        if row.status in COLUMNS and row.status != "match"
    ]
    others = list(_find_other_forms(gold, prediction, {row["record"] for row in rows}))
    rows += others
    missing, extra = [name for name in gold if name not in prediction], [name for name in prediction if name not in gold]
    different = {row["record"] for row in rows}
    counts = {"gold": len(gold), "prediction": len(prediction), "equal": len(gold) - len(different | set(map(str, missing)))}
    counts |= {"only_in_gold": len(missing), "only_in_prediction": len(extra)}
    equal = not rows and not missing and not extra
    forms = f", {len(others)} of them only in form" if others else ""
    first_rows = rows[:MOST_LEAVES]
    return _outcome(
        explanation([], Budget(), "strict"),
        equal=equal,
        reason="" if equal else f"{count_words(len(different), 'record')} and {count_words(len(rows), 'value')} differ{forms}",
        rows=counts,
        difference={"kind": "tree", "rows": first_rows, "n_rows": len(rows), "n_rows_shown": len(first_rows), "note": ""},
        fields=[{"field": path, **asdict(score)} for path, score in scored.per_schema_path.items()],
        scores=asdict(scored.micro),
    )


def _find_other_forms(gold: Mapping[Any, Any], prediction: Mapping[Any, Any], names: Collection[str]) -> Iterator[Data]:
    """Yield the values of other records that differ as JSON: a field's comparator accepts other forms, "equal" means the same JSON."""
    for name in gold:
        if name in prediction and str(name) not in names:
            for leaf in find_differences(gold[name], prediction[name]):
                values = {"expected": leaf.gold, "got": leaf.predicted} if leaf.status == "wrong" else {}
                yield {"record": str(name), "path": format_path(leaf.path), "status": _FORMS[leaf.status], **values}


def _trees(gold: Any, prediction: Any) -> Data:
    equal = next(find_differences(gold, prediction), None) is None
    judge = Judge(SCORERS.load("tree_match"), {"gold": gold}, "strict", Budget())
    causes = [] if equal else explain_tree(judge, prediction) or []
    difference = {} if equal else tree_difference(gold, prediction, {})
    reason = "" if equal else f"{count_words(difference['n_rows'], 'value')} differ"
    return _outcome(explanation(causes, judge.budget, "strict"), equal=equal, reason=reason, difference=difference)


def _fold_name(name: str) -> str:
    return name.strip().casefold()


def _key_columns(gold: Table, prediction: Table, key: Sequence[str]) -> tuple[int, ...]:
    """Return the gold columns of a key. Raises `UsageError` for one that a side lacks."""
    for side, table in (("gold", gold), ("the prediction", prediction)):
        names = {_fold_name(name): name for name in table.header}
        for name in key:
            if _fold_name(name) not in names:
                raise UsageError(f"{side} has no column {name!r} for --key", hint=did_you_mean(name, list(table.header)))
    return tuple(i for i, name in enumerate(gold.header) if _fold_name(name) in set(map(_fold_name, key)))


def _alignment_to_show(pair: TablePair, aligned: Alignment | None, *, is_explained: bool) -> tuple[Alignment | None, list[str]]:
    """Return the alignment that is shown, and the columns of its key: by a natural key, else without pairs that agree in no column.

    Causes are looked for in rows that are paired by their cells; where one `is_explained`, its pairs stay.
    """
    key = pair.key
    if aligned is not None and not key and not pair.ordered:
        if key := _natural_key(pair.gold, pair.prediction):
            aligned = replace(pair, key=key).align("strict")
        elif not is_explained:
            aligned = drop_strange_pairs(aligned)
    return aligned, [pair.gold.header[i] for i in key]


def _natural_key(gold: Table, prediction: Table) -> tuple[int, ...]:
    """Return the gold column that names a row: filled and different in each row of both sides, half of them equal, an id or texts."""
    header_counts = Counter(map(_fold_name, prediction.header))
    candidates = [
        (_ID_NAME.fullmatch(_fold_name(name)) is None, i) for i, name in enumerate(gold.header) if header_counts[_fold_name(name)] == 1
    ]
    others = {_fold_name(name): column for name, column in zip(prediction.header, prediction.columns, strict=True)}
    for is_other, i in sorted(candidates):
        sides = [list(map(str, column)) for column in (gold.columns[i], others[_fold_name(gold.header[i])])]
        are_keys = all(len({*cells}) == len(cells) and not {"", "None"} & {*cells} for cells in sides)
        n_shared = len({*sides[0]} & {*sides[1]})
        is_text = not is_other or not any(number_gold(text) is not None for text in sides[0])
        if are_keys and is_text and 2 * n_shared >= min(map(len, sides)) > 0:
            return (i,)
    return ()


def _repeated_keys(pair: TablePair, a: Alignment | None) -> str:
    """Return a note on keys that occur more than once on a side, empty if there are none."""
    if not pair.key or a is None:
        return ""
    notes = []
    for side, table in (("gold", pair.gold), ("the prediction", pair.prediction)):
        key_names = {_fold_name(pair.gold.header[i]) for i in pair.key}
        columns = [column for name, column in zip(table.header, table.columns, strict=True) if _fold_name(name) in key_names]
        counts = Counter(map(str, zip(*columns, strict=True)))
        if n := sum(count > 1 for count in counts.values()):
            notes.append(f"{count_words(n, 'key')} of {side} {'occurs' if n == 1 else 'occur'} more than once")
    return "; ".join(notes)


def _lone_columns(gold: Table, prediction: Table) -> tuple[list[str], list[str]]:
    """Return the names of columns that only one side has, as often as it has them more than the other."""
    counts = [Counter(map(_fold_name, table.header)) for table in (gold, prediction)]
    lone = []
    for table, more in ((gold, counts[0] - counts[1]), (prediction, counts[1] - counts[0])):
        names = []
        for name in table.header:
            if more[_fold_name(name)] > 0:
                more[_fold_name(name)] -= 1
                names.append(name)
        lone.append(names)
    return lone[0], lone[1]


def _heads(a: Alignment, lone: tuple[Sequence[str], Sequence[str]]) -> list[Cause]:
    """Return the causes for tables whose cells agree but whose columns have other names, or are more."""
    if not any(lone):
        return []
    partners = [(a.gold.header[a.needed[j]], a.prediction.header[k]) for j, k in enumerate(a.partners) if k is not None]
    renamed = [(gold, predicted_name) for gold, predicted_name in partners if _fold_name(gold) != _fold_name(predicted_name)]
    n_more = len(a.prediction.columns) - len(a.gold.columns)
    causes = []
    if renamed:
        where = ", ".join(f"gold's {show(gold)} is {show(predicted_name)}" for gold, predicted_name in renamed[:5])
        causes.append(Cause("columns renamed", f"{count_words(len(renamed), 'column')} of gold under another name", where))
    if n_more > 0:
        more = [name for name in lone[1] if name not in {predicted_name for _, predicted_name in renamed}]
        where = ", ".join(map(show, more[:5]))
        causes.append(Cause("column too many", f"{count_words(n_more, 'column')} that gold does not have", where))
    return causes


def _row_counts(pair: TablePair, a: Alignment | None) -> dict[str, int]:
    counts = {"gold": pair.gold.n_rows, "prediction": pair.prediction.n_rows}
    if a is None:
        return counts
    n_different = len({rows for wrong in a.wrong for rows in wrong})
    counts |= {"equal": len(a.pairs) - n_different, "different": n_different}
    return {**counts, "only_in_gold": len(a.missing), "only_in_prediction": len(a.extra)}


def _columns(a: Alignment) -> list[Data]:
    """Return each gold column with its differences from the paired column."""
    columns = []
    for j, k in enumerate(a.partners):
        largest, n_null = None, 0
        for g, p in a.wrong[j] if k is not None else ():
            sides = a.columns.gold[j].cells[g], a.columns.predicted[k or 0].cells[p]
            n_null += (sides[0] is None) != (sides[1] is None)
            numbers = [place(cell) for cell in sides]
            if numbers[0] is not None and numbers[1] is not None:
                largest = max(largest or 0.0, abs(numbers[0] - numbers[1]))
        columns.append(
            {
                "gold": a.gold.header[a.needed[j]],
                "prediction": None if k is None else a.prediction.header[k],
                "n_compared": len(a.pairs) if k is not None else 0,
                "n_different": len(a.wrong[j]),
                "n_null_differences": n_null,
                "max_difference": largest,
            }
        )
    return columns
