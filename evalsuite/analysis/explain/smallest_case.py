"""Reduce one instance of a submission to the smallest case with the same verdict, for a bug report, and write it as two folders.

Delta debugging: tables lose accepted golds, then rows of both sides together, then columns. A row of the answer is removed together with
its gold row, so that a wrong cell does not become a missing row. The search runs in the worker that reads gold, with the submission read by
another worker; the result is plain data.
"""

import csv
import io
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Final, TypeVar

from evalsuite.analysis.causes.table_alignment import Alignment, TablePair, table_pairs
from evalsuite.analysis.causes.table_repairs import pick
from evalsuite.analysis.explain.instance_evidence import readable_checks
from evalsuite.compare.table_parameters import is_bare
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError, UsageError, raise_no_room
from evalsuite.core.import_ref import duckdb
from evalsuite.core.registry import Scorer
from evalsuite.core.types import Check, Result, Rule, Score, Table, Task
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.duckdb_cells import quoted_name
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.batch_scoring import is_batch
from evalsuite.runs.instance_checks import asks_pair, skip_unscorable
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.runs.task_execution import Prediction, judge
from evalsuite.runs.worker_pool import Pool

MOST_CALLS: Final = 4000
MOST_SECONDS: Final = 20.0
_T = TypeVar("_T")
_VALUES: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.,]*")
_PLURAL: Final = re.compile(r"s\b")
Verdict = tuple[str, str, str, str | None, str | None]


@dataclass(slots=True)
class Shrinker:
    """Calls the scorer of one check on smaller cases; it stops after a number of calls, or some seconds.

    `same_kind` also requires the same reasons, without their values: a wrong cell must not become a missing row.
    """

    scorer: Scorer
    target: Score
    same_kind: bool = True
    calls: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def is_spent(self) -> bool:
        """Whether the search has to end."""
        return self.calls >= MOST_CALLS or time.monotonic() - self._started > MOST_SECONDS

    def keeps(self, form: Any, parameters: Mapping[str, Any]) -> bool:
        """Whether the scorer gives this case the verdict of the whole."""
        if self.is_spent:
            return False
        self.calls += 1
        try:
            score = self.scorer.score(form, **parameters)
        except (FaultError, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            # A part that the scorer cannot read is not a case of the verdict.
            return False
        if verdict_of(score) != verdict_of(self.target):
            return False
        return not self.same_kind or kind_of(score) == kind_of(self.target)


def verdict_of(score: Score) -> Verdict:
    """Return what must stay: right, partly right, wrong or not judged under each rule, the kind of flip, and the faults."""
    faults = (fault.code if fault is not None else None for fault in (score.fault, score.strict_fault))
    return (word(score.official), word(score.strict), score.flip.partition(":")[0], *faults)  # type: ignore[return-value]


def word(value: float | None) -> str:
    """Return a score in words."""
    return "not judged" if value is None else "wrong" if value == 0 else "right" if value == 1 else "partly right"


def kind_of(score: Score) -> tuple[str, str]:
    """Return the reasons under both rules up to their first colon or semicolon, without values and plurals."""
    first = (_VALUES.sub("#", re.split("[:;]", reason, maxsplit=1)[0]) for reason in (score.reason, score.reason_for("strict")))
    return tuple(_PLURAL.sub("", reason) for reason in first)  # type: ignore[return-value]


def smallest(items: Sequence[_T], keeps: Callable[[Sequence[_T]], bool], *, spent: Callable[[], bool] = lambda: False) -> list[_T]:
    """Return a part of the n items that keeps the verdict and of which no single item can be removed; never empty unless `items` is.

    The search ends with what it has when `spent` returns True. It takes O(log n) calls for one needed item, O(n^2) at worst. Source: Zeller
    and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), algorithm ddmin.
    """
    core, n_parts = list(items), 2
    while len(core) > 1 and not spent():
        bounds = [len(core) * i // n_parts for i in range(n_parts + 1)]
        parts = [core[a:b] for a, b in pairwise(bounds) if b > a]
        if (part := next((part for part in parts if len(part) < len(core) and keeps(part)), None)) is not None:
            core, n_parts = part, 2
            continue
        others = ([item for other in parts if other is not part for item in other] for part in parts if n_parts > 2)
        if (rest := next((rest for rest in others if rest and keeps(rest)), None)) is not None:
            core, n_parts = rest, max(n_parts - 1, 2)
        elif n_parts >= len(core):
            break
        else:
            n_parts = min(2 * n_parts, len(core))
    return core


_WORDS: Final = re.compile(r"\S+\s*|\s+")
_LISTS: Final = ("gold", "exclude")
TreePath = tuple[Any, ...]


def shrink_text(text: str, parameters: Mapping[str, Any], shrinker: Shrinker) -> tuple[str, dict[str, Any]]:
    """Return (answer, parameters) with the fewest words of an answer and the fewest entries of gold's lists that keep the verdict."""
    words = smallest(_WORDS.findall(text), lambda kept: shrinker.keeps("".join(kept), parameters))
    text = "".join(words)
    stripped = text.strip()
    text = stripped if stripped and shrinker.keeps(stripped, parameters) else text
    reduced = dict(parameters)
    for name in _LISTS:
        if isinstance(reduced.get(name), list) and len(reduced[name]) > 1:
            reduced[name] = smallest(reduced[name], lambda kept, name=name: shrinker.keeps(text, {**reduced, name: list(kept)}))  # type: ignore[misc]
    return text, reduced


def shrink_tree(answer: Any, gold: Any, parameters: Mapping[str, Any], shrinker: Shrinker) -> tuple[Any, Any]:
    """Return (answer, gold) with the fewest fields and items that keep the verdict, removed from both sides alike, level by level.

    Source: Misherghi and Su, "HDD: Hierarchical Delta Debugging" (2006).
    """
    # The reasons of trees count leaves, so they change.
    shrinker.same_kind = False
    dropped: set[TreePath] = set()
    level = 0

    def keeps(remaining: Sequence[TreePath], *, dropped: frozenset[TreePath], paths: Sequence[TreePath]) -> bool:
        removed = dropped | (set(paths) - set(remaining))
        return shrinker.keeps(_prune(answer, (), removed), {**parameters, "gold": _prune(gold, (), removed)})

    while True:
        level += 1
        both = dict.fromkeys([*_paths(answer, (), level), *_paths(gold, (), level)])
        paths = [path for path in both if not any(path[:n] in dropped for n in range(1, level + 1))]
        if not paths:
            return _prune(answer, (), dropped), _prune(gold, (), dropped)
        dropped |= set(paths) - set(smallest(paths, partial(keeps, dropped=frozenset(dropped), paths=paths)))


def _paths(value: Any, path: TreePath, level: int) -> Iterator[TreePath]:
    """Return the paths of all fields and items at a depth."""
    if level == 0:
        yield path
        return
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _paths(item, (*path, key), level - 1)


def _prune(value: Any, path: TreePath, dropped: Set[TreePath]) -> Any:
    if isinstance(value, Mapping):
        return {key: _prune(item, (*path, key), dropped) for key, item in value.items() if (*path, key) not in dropped}
    if isinstance(value, list):
        return [_prune(item, (*path, i), dropped) for i, item in enumerate(value) if (*path, i) not in dropped]
    return value


def count(value: Any) -> int:
    """Return how many leaves a tree has."""
    if isinstance(value, Mapping | list):
        return sum(map(count, value.values() if isinstance(value, Mapping) else value))
    return 1


# Above this many rows, scrambled rows are sorted back; above that many, another reason is accepted.
FEW_ROWS, MANY_ROWS = 3, 20
SCRAMBLED: Final = "rows scrambled"
Key = tuple[str, Any]
# A gold column and the answer's column for it; None if one side has none.
Columns = tuple[int | None, int | None]
Keeps = Callable[["Case"], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """The tables of both sides by (side, place) and the check's parameters; `reads` is the scorer's form."""

    reads: str
    tables: Mapping[Key, Table]
    parameters: Mapping[str, Any]

    def form(self) -> Any:
        """The answer in the scorer's form."""
        predicted = {key[1]: table for key, table in self.tables.items() if key[0] == "prediction"}
        return predicted if self.reads == "database" else list(predicted.values()) if self.reads == "tables" else predicted[0]

    def scorer_parameters(self) -> dict[str, Any]:
        """The parameters in the scorer's form, gold read."""
        gold_tables = {key[1]: table for key, table in self.tables.items() if key[0] == "gold"}
        single = self.reads == "table" and self.parameters["gold"] is None
        gold: Any = gold_tables if self.reads == "database" else gold_tables[0] if single else list(gold_tables.values())
        return {**self.parameters, "gold": gold}

    @property
    def n_rows(self) -> int:
        """The rows of the longest table."""
        return max((table.n_rows for table in self.tables.values()), default=0)

    @property
    def n_columns(self) -> int:
        """The columns of the widest table."""
        return max((len(table.columns) for table in self.tables.values()), default=0)

    def put_table(self, key: Key, table: Table) -> "Case":
        """Return the case with another table in one place."""
        return replace(self, tables={**self.tables, key: table})


def case_of(reads: str, form: Any, parameters: Mapping[str, Any]) -> Case | None:
    """Return the case of a check; None if one of its tables could not be read."""
    gold = parameters["gold"]
    single = reads == "table" and isinstance(gold, Table)
    sides = {"prediction": form if reads != "table" else [form], "gold": [gold] if single else gold}
    tables: dict[Key, Table] = {}
    for side, tables_of_side in sides.items():
        for place, table in tables_of_side.items() if isinstance(tables_of_side, Mapping) else enumerate(tables_of_side):
            if not isinstance(table, Table):
                return None
            # A reader's remark on a line does not apply to the remaining rows.
            tables[side, place] = replace(table, ragged_line=None)
    return Case(reads, tables, {**parameters, "gold": None if single else "several"})


def shrink(case: Case, shrinker: Shrinker) -> Case:
    """Return the smallest case found that keeps the verdict."""

    def keeps(smaller: Case) -> bool:
        return shrinker.keeps(smaller.form(), smaller.scorer_parameters())

    case = _keep_sufficient_gold(case, keeps)
    if shrinker.target.flip.startswith(SCRAMBLED) and case.n_rows > FEW_ROWS:
        case = _sort_rows_back(case, keeps)
    case = _fewer_rows(case, keeps, shrinker)
    if case.n_rows > MANY_ROWS:
        shrinker.same_kind = False
        case = _fewer_rows(_sort_rows_back(case, keeps), keeps, shrinker)
    case = _fewer_columns(case, keeps)
    return _fewer_rows(case, keeps, shrinker)


def _keep_sufficient_gold(case: Case, keeps: Keeps) -> Case:
    """Return the case with one of several accepted golds, if one suffices."""
    golds = [key for key in case.tables if key[0] == "gold"]
    if case.reads != "table" or len(golds) < 2:
        return case
    parameters = {name: case.parameters.get(name) for name in ("condition_cols", "ignore_order")}
    # A list with one entry per table, not a list of column numbers.
    per_table = {
        name: value
        for name, value in parameters.items()
        if isinstance(value, list) and len(value) == len(golds) and not all(type(item) is int for item in value)
    }
    for key in golds:
        tables = {place: table for place, table in case.tables.items() if place[0] != "gold"} | {("gold", 0): case.tables[key]}
        values_of_table = {name: [value[key[1]]] for name, value in per_table.items()}
        smaller = replace(case, tables=tables, parameters={**case.parameters, **values_of_table})
        if keeps(smaller):
            return smaller
    return case


def _pairs(case: Case) -> Iterator[tuple[Key, Key, int, TablePair]]:
    """Yield (the prediction's key, gold's key, the place among the golds, the pair) of each two compared tables."""
    keys = {id(table): key for key, table in case.tables.items()}
    rules: Rule = "strict"
    for i, pair in enumerate(table_pairs(case.form(), case.scorer_parameters(), case.reads, rules)):
        yield keys[id(pair.prediction)], keys[id(pair.gold)], i, pair


def _fewer_rows(case: Case, keeps: Keeps, shrinker: Shrinker) -> Case:
    units = _join_rows(case)
    return _take_rows(case, smallest(units, lambda kept: keeps(_take_rows(case, kept)), spent=lambda: shrinker.is_spent))


def _join_rows(case: Case) -> list[list[tuple[Key, int]]]:
    """Return each row of an answer with its gold rows; rows without a partner by themselves."""
    partners: dict[tuple[Key, int], list[tuple[Key, int]]] = {}
    joined_rows: set[tuple[Key, int]] = set()
    for predicted, gold, _, pair in _pairs(case):
        alignment = pair.align("strict")
        in_place = [(row, row) for row in range(min(pair.gold.n_rows, pair.prediction.n_rows))]
        for g, p in (alignment.pairs if alignment is not None else ()) or in_place:
            partners.setdefault((predicted, p), []).append((gold, g))
            joined_rows.add((gold, g))
    units = []
    for key, table in case.tables.items():
        for row in range(table.n_rows):
            if key[0] == "prediction":
                units.append([(key, row), *partners.get((key, row), ())])
            elif (key, row) not in joined_rows:
                units.append([(key, row)])
    # Adjacent rows of both sides are removed together.
    return sorted(units, key=lambda unit: unit[0][1])


def _take_rows(case: Case, units: Sequence[Sequence[tuple[Key, int]]]) -> Case:
    rows: dict[Key, list[int]] = {key: [] for key in case.tables}
    for unit in units:
        for key, row in unit:
            rows[key].append(row)
    return replace(case, tables={key: pick(table, sorted(rows[key])) for key, table in case.tables.items()})


def _sort_rows_back(case: Case, keeps: Keeps) -> Case:
    """Return the case with as many scrambled rows sorted back as keep the verdict: cells of a column change places, none is added or lost.

    Rows in one long cycle (a column shifted by one) cannot be removed one by one; with all but two sorted back, the others can.
    """
    for predicted, _, _, pair in list(_pairs(case)):
        alignment = pair.align("strict")
        if alignment is None or not alignment.n_wrong:
            continue
        n_left = 2
        while n_left < len(alignment.pairs):
            mended = case.put_table(predicted, _repair_rows(alignment, len(alignment.pairs) - n_left))
            if keeps(mended):
                case = mended
                break
            n_left *= 2
    return case


def _repair_rows(alignment: Alignment, n: int) -> Table:
    """Return the prediction with its first n paired rows as in gold, by exchanging cells with later rows."""
    table = alignment.prediction
    columns = list(table.columns)
    for j, k in enumerate(alignment.partners):
        if k is None:
            continue
        cells, gold = list(columns[k]), alignment.gold.columns[alignment.needed[j]]
        waiting: dict[Any, list[int]] = {}
        for _, p in reversed(alignment.pairs):
            waiting.setdefault(_hashable(cells[p]), []).append(p)
        done: set[int] = set()
        for g, p in alignment.pairs[:n]:
            done.add(p)
            if cells[p] == gold[g]:
                continue
            places = waiting.get(_hashable(gold[g]), [])
            while places and (places[-1] in done or cells[places[-1]] != gold[g]):
                places.pop()
            if places:
                other = places.pop()
                cells[p], cells[other] = cells[other], cells[p]
                waiting.setdefault(_hashable(cells[other]), []).append(other)
        columns[k] = cells
    return replace(table, columns=tuple(columns))


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def _fewer_columns(case: Case, keeps: Keeps) -> Case:
    """Return the case without unneeded columns, pair of tables by pair; `condition_cols` is renumbered."""
    columns = case.parameters.get("condition_cols")
    flat = [columns] if is_bare(columns) else columns or ()
    shared = bool(flat) and sum(key[0] == "gold" for key in case.tables) > 1 and all(isinstance(item, int) for item in flat)
    # Parameters may refer to gold columns in a way that cannot be renumbered.
    by_name = any(isinstance(case.parameters.get(name), Mapping) for name in ("abs_tol", "rel_tol"))
    for predicted, gold, i, pair in list(_pairs(case)):
        sides = case.tables[predicted], case.tables[gold]
        alignment = replace(pair, prediction=sides[0], gold=sides[1]).align("strict")
        fixed = shared or by_name or alignment is None
        partners = (
            {} if alignment is None or fixed else {g: k for g, k in zip(alignment.needed, alignment.partners, strict=True) if k is not None}
        )
        units: list[Columns] = [(g, partners.get(g)) for g in range(len(sides[1].columns))] if not fixed else []
        units += [(None, k) for k in range(len(sides[0].columns)) if k not in set(partners.values())]
        smaller = partial(_take_columns_of_pair, case, (predicted, gold), i, fixed=fixed)

        def keeps_part(remaining: Sequence[Columns], smaller: Callable[[Sequence[Columns]], Case | None] = smaller) -> bool:
            return (part := smaller(remaining)) is not None and keeps(part)

        case = smaller(smallest(units, keeps_part)) or case
    return case


def _take_columns_of_pair(case: Case, keys: tuple[Key, Key], i: int, remaining: Sequence[Columns], *, fixed: bool) -> Case | None:
    """Return the case with some columns of two tables; None if no column, or no compared column, would be left."""
    golds = sorted(g for g, _ in remaining if g is not None)
    predicted_columns = sorted(k for _, k in remaining if k is not None)
    if not predicted_columns or (not golds and not fixed):
        return None
    case = case.put_table(keys[0], _take_columns(case.tables[keys[0]], predicted_columns))
    if fixed:
        return case
    n_before = len(case.tables[keys[1]].columns)
    spec = _renumber_columns(case.parameters.get("condition_cols"), i, {g: at for at, g in enumerate(golds)}, n_before)
    if spec is None:
        return None
    parameters = case.parameters if spec == case.parameters.get("condition_cols") else {**case.parameters, "condition_cols": spec}
    return replace(case.put_table(keys[1], _take_columns(case.tables[keys[1]], golds)), parameters=parameters)


def _renumber_columns(spec: Any, i: int, places: Mapping[int, int], n_before: int) -> Any:
    """Return `condition_cols` renumbered for the remaining columns; None if no compared column is left."""
    if is_bare(spec):
        return places.get(spec % n_before)
    if not spec:
        return spec if spec is not None else []
    nested = any(isinstance(item, list | tuple) or item is None for item in spec)
    own_columns = spec[i] if nested and i < len(spec) else spec if not nested else []
    if not own_columns:
        return spec
    positions = [places[at % n_before] for at in own_columns if isinstance(at, int) and at % n_before in places]
    if not positions:
        return None
    return [positions if place == i else item for place, item in enumerate(spec)] if nested else positions


def _take_columns(table: Table, columns: Sequence[int]) -> Table:
    types = None if table.types is None else tuple(table.types[k] for k in columns)
    return replace(table, header=tuple(table.header[k] for k in columns), columns=tuple(table.columns[k] for k in columns), types=types)


ORDER: Final = "evalsuite.analysis.explain.smallest_case:collect_smallest_case"
_KEY: Final = "case"
# Parameters of a scorer that contain gold files as read: they are written as files again.
_READ: Final = ("gold", "schema")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The smallest case of an instance. `tables` are [side, place, table] of JSON values, or `answer` and `gold` contain a text or a tree.

    `sizes` are (what, before, after), `official` and `strict` the verdicts in words; `notes` say if the search ended early.
    """

    instance_id: str
    scorer: str
    reads: str
    parameters: Mapping[str, Any]
    tables: tuple[tuple[str, Any, Data], ...]
    answer: Any
    gold: Any
    schema: Any
    official: str
    strict: str
    flip: str
    reason: str
    strict_reason: str
    sizes: tuple[tuple[str, int, int], ...]
    n_calls: int
    notes: tuple[str, ...]


def bundle(
    gold_dir: Path,
    result_dir: Path,
    instance_id: str,
    *,
    rules: Rule | None = None,
    limits: Mapping[str, int | float] | None = None,
    layout: str | None = None,
    mode: str | None = None,
    isolation: str = "process",
) -> Bundle:
    """Return the smallest case found. Raises `UsageError` if there is no verdict to keep: nothing submitted, a fault, a judge's opinion."""
    gold = read_gold(gold_dir, layout=layout)
    resolved = resolve_limits(gold.suite.limits, limits or {})
    # The search calls the scorer many times; its own budget ends it long before this.
    roomy = {**resolved, "seconds": 3 * resolved["seconds"] + 2 * MOST_SECONDS}
    submission = read_submission_in_worker(result_dir, gold, resolved, mode=mode, isolation=isolation)
    task = plan(gold, submission, rules=rules or gold.suite.rules, limits=roomy, only=(instance_id,))[0]
    if task.answer is not None and (task.answer.is_query or asks_pair(task.instance.checks)):
        raise _no_case_error(instance_id, "its answer is a query; `evalsuite explain` edits queries")
    if (early := skip_unscorable(task)) is not None:
        raise _no_case_error(instance_id, early.reason)
    if is_batch(task):
        raise _no_case_error(instance_id, "a judge decides")
    with closing(Pool(jobs=1, isolation=isolation, gold_inodes=gold_inodes(gold.folder), order=ORDER)) as pool:
        result = next(iter(pool.results([task])))
    data = result.details.get(_KEY)
    if not isinstance(data, dict):
        raise _no_case_error(instance_id, result.reason)
    sequences = {key: tuple(map(tuple, data[key])) for key in ("tables", "sizes")}
    return Bundle(instance_id=instance_id, **{**data, **sequences, "notes": tuple(data["notes"])})


def _no_case_error(instance_id: str, why: str) -> UsageError:
    return UsageError(f"{instance_id} cannot be reduced to a smaller case: {why}", hint="a bundle needs an answer that a scorer compared")


def collect_smallest_case(task: Task, prediction: Prediction) -> Result:
    """Return the result of a task whose details contain its smallest case. Runs in the worker that reads gold."""
    result = judge(task, prediction)
    for check, entry, form, parameters in readable_checks(task, prediction, result) if task.answer is not None else ():
        with suppress(FaultError):
            case = _smallest(entry, check, form, parameters, entry.score(form, **parameters))
            if case is not None:
                return replace(result, details={_KEY: case})
    return replace(result, details={})


def _smallest(entry: Scorer, check: Check, form: Any, parameters: Mapping[str, Any], target: Score) -> Data | None:
    """Return the smallest case of one check as data; None if it cannot be reduced."""
    shrinker, reads = Shrinker(entry, target), entry.marker.reads
    data: Data = {"tables": [], "answer": None, "gold": None, "schema": None}
    kept = {key: value for key, value in check.parameters.items() if key in entry.parameters and key not in _READ}
    if reads in ("text", "number"):
        data["answer"], cut = shrink_text(str(form), parameters, shrinker)
        kept = cut
        sizes = [("words", len(str(form).split()), len(data["answer"].split()))]
    elif reads == "tree":
        data["answer"], data["gold"] = shrink_tree(form, parameters["gold"], parameters, shrinker)
        data["schema"] = parameters.get("schema")
        sizes = [("leaves of the answer", count(form), count(data["answer"]))]
    else:
        whole = case_of(reads, form, parameters)
        if whole is None or not shrinker.keeps(whole.form(), whole.scorer_parameters()):
            return None
        case = shrink(whole, shrinker)
        data["tables"] = [[*key, _table_data(table)] for key, table in case.tables.items()]
        kept = {key: value for key, value in case.parameters.items() if key in kept or key == "condition_cols"}
        kept |= {"gold": case.parameters["gold"]} if reads == "table" else {}
        sizes = [("rows", whole.n_rows, case.n_rows), ("columns", whole.n_columns, case.n_columns)]
        target = entry.score(case.form(), **case.scorer_parameters())
    if not data["tables"]:
        last = {**kept, "gold": data["gold"], "schema": data["schema"]} if reads == "tree" else kept
        target = entry.score(data["answer"], **{key: value for key, value in last.items() if key != "schema" or value is not None})
    notes = [f"the search ended after {shrinker.calls} calls: a smaller case may exist"] if shrinker.is_spent else []
    words = {"official": word(target.official), "strict": word(target.strict), "flip": target.flip.partition(":")[0]}
    reasons = {"reason": target.reason, "strict_reason": target.reason_for("strict")}
    about = {"scorer": entry.name, "reads": reads, "parameters": dict(kept), "sizes": sizes, "n_calls": shrinker.calls, "notes": notes}
    return {**data, **words, **reasons, **about}


def _table_data(table: Table) -> Data:
    """Return a table as JSON values: text as it is, database values as text that the database reads back."""
    columns = [[_cell_text_of(value, native=table.types is not None) for value in column] for column in table.columns]
    return {"header": list(table.header), "columns": columns, "types": list(table.types) if table.types is not None else None}


def _cell_text_of(value: Any, *, native: bool) -> str | None:
    if value is None or not native:
        return None if value is None else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return "".join(f"\\x{byte:02X}" for byte in bytes(value))
    return str(value)


SPEC, METADATA = "gold/case_eval.jsonl", "submission/results_metadata.jsonl"
CASE, SCHEMA = "case", "schema.json"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the two folders: its path and its text; for a database the SQL that creates it."""

    path: str
    text: str
    is_sql: bool = False


def files_of(bundle: Bundle) -> list[File]:
    """Return the files of a bundle: gold's spec and files, the submission's metadata and files. Names are the bundle's own."""
    data = list(_data_files(bundle))
    gold_names, submitted = ([PurePath(file.path).name for file in data if file.path.startswith(side)] for side in ("gold/", "submission/"))
    spec = {"instance_id": CASE, "evaluation": {"func": bundle.scorer, "parameters": _spec_parameters(bundle, gold_names)}}
    kind, value = (
        ("answer", bundle.answer) if not submitted else ("files", submitted) if bundle.reads == "tables" else ("file", submitted[0])
    )
    answer = {"instance_id": CASE, "answer_type": kind, "answer_or_path": value}
    return [File(SPEC, _json_line(spec)), File(METADATA, _json_line(answer)), *data]


def _spec_parameters(bundle: Bundle, files: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of gold's spec, with the names of gold's files in place of what was read from them."""
    parameters = {key: value for key, value in bundle.parameters.items() if key != "gold" or not files}
    if parameters.get("condition_cols") == []:
        parameters.pop("condition_cols")
    if not files:
        return parameters
    is_list = bundle.reads == "tables" or (bundle.reads == "table" and bundle.parameters["gold"] is not None)
    schema = {"schema": SCHEMA} if SCHEMA in files else {}
    return {"gold": list(files) if is_list else files[0], **parameters, **schema}


def _data_files(bundle: Bundle) -> Iterator[File]:
    """Yield the files of both sides, gold's first; none if the answer is a text."""
    places = {"gold": f"gold/{CASE}/gold", "prediction": f"submission/{CASE}/answer"}
    if bundle.reads == "tree":
        for side, value in (("gold", bundle.gold), ("prediction", bundle.answer)):
            ending, records = ("jsonl", value) if isinstance(value, list) else ("json", [value])
            yield File(f"{places[side]}.{ending}", "".join(map(_json_line, records)))
        if bundle.schema is not None:
            yield File(f"gold/{CASE}/{SCHEMA}", _json_line(bundle.schema))
    elif bundle.reads == "database":
        for side, place in places.items():
            sql = "".join(_create_table_sql(str(name), table) for side_of_table, name, table in bundle.tables if side_of_table == side)
            yield File(f"{place}.duckdb", sql, is_sql=True)
    else:
        n_tables = Counter(side for side, _, _ in bundle.tables)
        for side, place, table in bundle.tables:
            number = f"_{int(place) + 1}" if n_tables[side] > 1 else ""
            yield File(f"{places[side]}{number}.csv", _csv_text(table))


def _json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _csv_text(table: dict[str, Any]) -> str:
    """Return the table as CSV; a row that was too short stays so."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["header"])
    for row in zip(*table["columns"], strict=True):
        cells = list(row)
        while cells and cells[-1] is None:
            cells.pop()
        writer.writerow(cells)
    return text.getvalue()


def _create_table_sql(name: str, table: dict[str, Any]) -> str:
    """Return the SQL that creates a table: its columns with their types, then one INSERT per row, each value cast from its text."""
    columns = ", ".join(f"{quoted_name(header)} {kind}" for header, kind in zip(table["header"], table["types"], strict=True))
    lines = [f"CREATE TABLE {quoted_name(name)} ({columns});"]
    for row in zip(*table["columns"], strict=True):
        texts = (None if cell is None else cell.replace("'", "''") for cell in row)
        cells = ("NULL" if text is None else f"CAST('{text}' AS {kind})" for text, kind in zip(texts, table["types"], strict=True))
        lines.append(f"INSERT INTO {quoted_name(name)} VALUES ({', '.join(cells)});")
    return "\n".join(lines) + "\n"


def write(bundle: Bundle, folder: Path) -> None:
    """Write the two folders below `folder`. Raises OSError, also for a full disk below a database."""
    for file in files_of(bundle):
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_sql:
            place.write_text(file.text, encoding="utf-8", errors="surrogateescape", newline="")
            continue
        place.unlink(missing_ok=True)
        try:
            with duckdb.connect(str(place), config={"enable_external_access": "false", "threads": "1"}) as connection:
                connection.execute(file.text)
        except duckdb.Error as error:
            raise_no_room(place, error)
            hint = "its types cannot read their own text back"
            raise UsageError(f"{bundle.instance_id}: the shrunk database cannot be written", hint=hint) from None


def score_bundle(folder: Path, *, rules: Rule | None, isolation: str = "process") -> tuple[str, str, str]:
    """Return (official, strict, kind of flip) of a written bundle, scored like any submission."""
    result = run(folder / "submission", folder / "gold", RunOptions(rules=rules, save=False, jobs=1, isolation=isolation)).results[0]
    return word(result.official), word(result.strict), str(result.details.get("flip", "")).partition(":")[0]


def verdict(bundle: Bundle) -> tuple[str, str, str]:
    """Return (official, strict, kind of flip) of the instance that was reduced."""
    return bundle.official, bundle.strict, bundle.flip if bundle.official != bundle.strict else ""
