"""What a recorded mutation did to the cells that count, worked out from gold, spec and the submission's files by plain means."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evalsuite.compare.numbers import exact_of
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.values import read_number
from evalsuite.core.errors import FaultError
from evalsuite.core.types import GoldInstance, Submission, Table
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.csv_table import read_csv_table
from evalsuite.readers.duckdb_tables import read_duckdb, read_trusted_duckdb
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.paths import open_trusted
from tests.conformance.recorded import gold_folder, submission_folder
from tests.models import strict_table

LEADING_ZEROS = re.compile(r"[+-]?0[0-9]+(\.[0-9]*)?")
MANY_ROWS = 200


@dataclass(frozen=True)
class Pair:
    """A predicted table beside the gold table it was made from, and gold's other accepted tables."""

    prediction: Table
    gold: Table
    needed: tuple[int, ...]
    ignores_order: bool
    others: tuple[tuple[Table, tuple[int, ...], bool], ...] = ()

    def column(self, side: Table, position: int) -> list[str | None]:
        """A column of either side at gold's position, empty where the prediction has none."""
        return list(side.columns[position]) if position < len(side.columns) else []


@cache
def gold_instances() -> dict[str, GoldInstance]:
    """The recorded gold by instance."""
    return {instance.instance_id: instance for instance in read_gold(gold_folder()).instances}


@cache
def submission(name: str) -> Submission:
    """A recorded submission."""
    return read_submission(submission_folder(name))


def pairs(name: str, instance_id: str) -> list[Pair]:
    """The tables that an answer's files are judged by: one for `table_match`, one for each table of `tables_match`."""
    found = []
    for check in gold_instances()[instance_id].checks:
        p = check.parameters
        if check.scorer == "table_match":
            names = [p["gold"]] if isinstance(p["gold"], str) else p["gold"]
            golds = [(gold_table(instance_id, n), i, per_gold(p.get("ignore_order", False), i)) for i, n in enumerate(names)]
            readable = [(g, needed(p.get("condition_cols"), i, g), order) for g, i, order in golds if g is not None]
            prediction = predicted_table(name, instance_id, 0)
            if prediction is not None and readable:
                gold, columns, order = max(readable, key=lambda item: likeness(prediction, item[0]))
                others = tuple(item for item in readable if item[0] is not gold)
                found.append(Pair(prediction, gold, columns, order, others))
        elif check.scorer == "tables_match":
            for i, n in enumerate(p["gold"]):
                gold, prediction = gold_table(instance_id, n), predicted_table(name, instance_id, i)
                if gold is not None and prediction is not None:
                    columns = needed(p.get("condition_cols"), i, gold)
                    found.append(Pair(prediction, gold, columns, per_gold(p.get("ignore_orders", False), i)))
    return found


def golds_readable(instance_id: str) -> bool:
    """Whether every gold table of an instance can be read as it stands."""
    checks = [check for check in gold_instances()[instance_id].checks if check.scorer in ("table_match", "tables_match")]
    names = [
        n
        for check in checks
        for n in ([check.parameters["gold"]] if isinstance(check.parameters["gold"], str) else check.parameters["gold"])
    ]
    return all(gold_table(instance_id, n) is not None for n in names)


@cache
def gold_table(instance_id: str, name: str) -> Table | None:
    """A gold table, None where it is absent or ragged."""
    try:
        with open_trusted(gold_folder() / instance_id / name, limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
            table = read_csv_table(handle, name=name, limits=DEFAULT_LIMITS)
    except FaultError:
        return None
    return None if table.ragged_line is not None else table


def predicted_table(name: str, instance_id: str, index: int) -> Table | None:
    """The answer's table at that place, None where it cannot be read."""
    value = submission(name).answers[instance_id].value
    paths = [value] if isinstance(value, str) else list(value)
    if index >= len(paths):
        return None
    try:
        with open_trusted(submission_folder(name) / instance_id / paths[index], limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
            return read_csv_table(handle, name=paths[index], limits=DEFAULT_LIMITS)
    except FaultError:
        return None


def database_tables(name: str, instance_id: str, table: str) -> tuple[Table, Table]:
    """Gold's table of that name and the answer's."""
    check = next(c for c in gold_instances()[instance_id].checks if c.scorer == "duckdb_match")
    gold = read_trusted_duckdb(gold_folder() / instance_id / check.parameters["gold"], names=[table], limits=DEFAULT_LIMITS)[table]
    value = submission(name).answers[instance_id].value
    with open_trusted(submission_folder(name) / instance_id / str(value), limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
        prediction = read_duckdb(handle, names=[table], limits=DEFAULT_LIMITS)[table]
    assert isinstance(gold, Table)
    assert isinstance(prediction, Table)
    return gold, prediction


def needed(condition_cols: Any, index: int, gold: Table) -> tuple[int, ...]:
    """The positions from 0 of the columns of gold `index` that count."""
    own = condition_cols or []
    if own and isinstance(own[0], list):
        own = own[index] if index < len(own) else []
    return tuple(i for i in own if i < len(gold.columns)) or tuple(range(len(gold.columns)))


def per_gold(ignore_order: Any, index: int) -> bool:
    """Whether gold `index` ignores the order of rows."""
    return bool(ignore_order[index]) if isinstance(ignore_order, list) else bool(ignore_order)


def sorts_apart(instance_id: str) -> bool:
    """Whether the reference ignores the order of rows in `table_match`: any list but an empty one says so to it."""
    return any(bool(c.parameters.get("ignore_order")) for c in gold_instances()[instance_id].checks if c.scorer == "table_match")


def n_tables(name: str, instance_id: str) -> tuple[int, int]:
    """How many tables an answer hands in, and how many gold has."""
    value = submission(name).answers[instance_id].value
    check = next(c for c in gold_instances()[instance_id].checks if c.scorer == "tables_match")
    return len(value), len(check.parameters["gold"])


def likeness(prediction: Table, gold: Table) -> tuple[bool, int]:
    """How much of gold stands at the same positions: the gold at hand is the likest."""
    same = sum((Counter(a) & Counter(b)).total() for a, b in zip(prediction.columns, gold.columns, strict=False))
    return len(prediction.columns) == len(gold.columns), same


def takes_another(pair: Pair) -> bool:
    """Whether another accepted gold table takes the result under the official rules, which accept more."""
    return any(match_table(pair.prediction, g, needed=cols, ignore_order=order).official == 1 for g, cols, order in pair.others)


def rows_change(pair: Pair) -> bool:
    """Whether the needed rows are other rows than gold's: other tuples, or, where order counts, in another order."""
    if pair.prediction.n_rows != pair.gold.n_rows or len(pair.prediction.columns) <= max(pair.needed):
        return True
    gold, predicted = (list(zip(*(side.columns[i] for i in pair.needed), strict=True)) for side in (pair.gold, pair.prediction))
    if not pair.ignores_order:
        return not all(map(rows_equal, gold, predicted))
    left, right = list((Counter(gold) - Counter(predicted)).elements()), list((Counter(predicted) - Counter(gold)).elements())
    return len(left) > MANY_ROWS or not pairable(left, right)


def rows_equal(gold: Sequence[str | None], predicted: Sequence[str | None]) -> bool:
    """Whether two rows are equal cell by cell under the model's rule."""
    return all(map(strict_table.cells_equal, gold, predicted))


def pairable(gold: Sequence[Sequence[str | None]], predicted: Sequence[Sequence[str | None]]) -> bool:
    """Whether the rows can be paired one to one (augmenting paths)."""
    owner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for k, other in enumerate(predicted):
            if k not in seen and rows_equal(gold[row], other):
                seen.add(k)
                if k not in owner or place(owner[k], seen):
                    owner[k] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(gold)))


def changed_columns(pair: Pair) -> Iterator[int]:
    """The needed gold columns whose cells stand otherwise in the prediction at the same position."""
    for i in pair.needed:
        a, b = pair.column(pair.gold, i), pair.column(pair.prediction, i)
        if (Counter(a) != Counter(b)) if pair.ignores_order else a != b:
            yield i


def has_stand_in(pair: Pair) -> bool:
    """Whether an unneeded predicted column equals a needed gold column that was changed."""
    unneeded = [list(column) for i, column in enumerate(pair.prediction.columns) if i not in pair.needed]
    return any(
        rows_equal_as_columns(pair.column(pair.gold, i), other, pair.ignores_order) for i in changed_columns(pair) for other in unneeded
    )


def rows_equal_as_columns(gold: Sequence[str | None], predicted: Sequence[str | None], ignores_order: bool) -> bool:
    """Whether two columns are equal, as they are written or sorted."""
    if len(gold) != len(predicted):
        return False
    if ignores_order:
        gold, predicted = sorted(gold, key=str), sorted(predicted, key=str)
    return all(map(strict_table.cells_equal, gold, predicted))


def had_needed_null(pair: Pair) -> bool:
    """Whether a needed gold cell is empty."""
    return any(strict_table.meaning(cell) is None for i in pair.needed for cell in pair.gold.columns[i])


def has_leading_zeros(pair: Pair) -> bool:
    """Whether a needed gold cell is digits that begin with a zero, which are text."""
    return any(LEADING_ZEROS.fullmatch((cell or "").strip()) for i in pair.needed for cell in pair.gold.columns[i])


def one_is_enough(instance_id: str) -> bool:
    """Whether each text or number check of an instance is met by a single gold."""
    checks = [check for check in gold_instances()[instance_id].checks if check.scorer in ("number_match", "string_match")]
    return all(not isinstance(g := c.parameters["gold"], list) or len(g) == 1 or c.parameters.get("conj", "or") == "or" for c in checks)


def sign_matters(instance_id: str) -> bool:
    """Whether no gold number is 0 and none is another's opposite, and no text check takes the answer."""
    checks = gold_instances()[instance_id].checks
    golds = [c.parameters["gold"] for c in checks if c.scorer == "number_match"]
    values = {exact_of(read_number(item)) for g in golds for item in (g if isinstance(g, list) else [g])}
    return bool(values) and not values & {-value for value in values} and not any(c.scorer == "string_match" for c in checks)
