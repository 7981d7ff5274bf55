"""How many answers differ from gold as much as one does: what an edit of a query would meet by accident. Runs where gold is read."""

import math
from collections import Counter
from dataclasses import replace
from typing import Final

from evalsuite.causes.value_pairs import read_gold_number
from evalsuite.errors import FaultError
from evalsuite.scorers import SCORERS
from evalsuite.types import Result, Table, Task
from evalsuite.workers.requests import applicable
from evalsuite.workers.stages import Prediction, gold_tables, judge, usable_parameters

ROOM: Final = "room"
_MOST_ROOM: Final = 1e12
_MOST_DIGITS: Final = 6


def collect_likeness(task: Task, prediction: Prediction) -> Result:
    """The result of a task; its details hold how many answers of its kind there are beside gold (see `_room`). Runs in a worker."""
    result = judge(task, prediction)
    assert task.answer is not None
    check = applicable(task.instance, task.answer)[0]
    entry = SCORERS.load(check.scorer)
    form = prediction.forms.get(entry.marker.reads)
    room = 1.0
    if isinstance(form, Table | list | tuple):
        try:
            gold = gold_tables(task, check) if entry.marker.reads == "query" else usable_parameters(task, check, entry)["gold"]
            tables = [gold] if isinstance(gold, Table) else [one for one in gold if isinstance(one, Table)]
            answers = [form] if isinstance(form, Table) else list(form)
            room = min((_room(one, answers[0]) for one in tables), default=1.0)
        except FaultError:
            room = 1.0
    return replace(result, details={ROOM: room})


def _room(gold: Table, answer: Table) -> float:
    """How many answers differ from gold as much as this one: what an unrelated edit would have to meet by accident; 1 to 10^12.

    Whichever is more: the ways to choose the rows that only one side has, or what their other cells could be, a text one of 10.
    """
    texts = [[["" if cell is None else str(cell) for cell in column] for column in table.columns] for table in (gold, answer)]
    rows = [Counter(zip(*columns, strict=True)) for columns in texts]
    lone = [rows[0] - rows[1], rows[1] - rows[0]]
    n, n_lone = max(gold.n_rows, answer.n_rows), max(side.total() for side in lone)
    ways = float(math.comb(n, min(n_lone, n - n_lone, 40))) if n_lone else math.factorial(min(n, 12))
    known, values = {cell for row in lone[0] for cell in row}, 1.0
    for cell in {cell for row in lone[1] for cell in row} - known:
        number = read_gold_number(cell)
        digits = len(str(abs(number)).replace(".", "").strip("0")) if number is not None else 0
        values *= 10 if number is None else 9 * 10.0 ** (min(_MOST_DIGITS, max(1, digits)) - 1)
        if values > _MOST_ROOM:
            break
    return min(_MOST_ROOM, max(ways, values, 1.0))
