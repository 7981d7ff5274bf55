"""What runs answered, so that equal answers can be told: the digest and the words of each, and what that says of single records."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from evalsuite.texts.number_reading import find_numbers, read_number
from evalsuite.texts.numbers import exact_of
from evalsuite.types import Fault, Result, Table, Task
from evalsuite.workers.stages import Prediction

COLLECT: Final = f"{__name__}:collect_answer"
ANSWER: Final = "answer"
# Records that are looked at one by one: the posteriors of so many take about ten seconds.
MOST_RECORDS: Final = 10_000
_SHOWN: Final = 60

Scores = dict[str, dict[str, float | None]]
Answers = dict[str, dict[str, tuple[str, str]]]


def by_record(
    scores: Scores, answers: Answers, units: Mapping[str, Mapping[str, Sequence[float | None] | None]], notes: list[str]
) -> tuple[Scores, Answers]:
    """(run -> row -> score, run -> row -> wrong answer), a row `instance#record` for each record of an instance that holds many.

    `units` are the scores of the records by run and instance. Runs with one answer to an instance have one to each of its records; what
    others answered to a record is not told apart. Records beyond gold's, which a run invented, are no rows. Where there are more than
    `MOST_RECORDS`, the instances that come last stay whole, and a note says so.
    """
    lengths: dict[str, int] = {}
    for own in units.values():
        for name, found in own.items():
            if found is not None:
                lengths[name] = min(len(found), lengths.get(name, len(found)))
    split, n_rows = dict[str, int](), 0
    for name, n in lengths.items():
        if n_rows + n > MOST_RECORDS:
            notes.append(f"the {n} records of {name} were looked at as one: more than {MOST_RECORDS} are not looked at one by one")
            continue
        split[name], n_rows = n, n_rows + n
    rows: Scores = {run: {} for run in scores}
    given: Answers = {run: {} for run in scores}
    for run, own_scores in scores.items():
        for name, score in own_scores.items():
            n_records = split.get(name)
            of_units = [score] if n_records is None or score is None else units[run].get(name) or [score]
            for at in range(n_records or 1):
                row = name if n_records is None else f"{name}#{at + 1}"
                value = rows[run][row] = of_units[at if len(of_units) > 1 else 0]
                if value is not None and value < 1 and name in answers[run]:
                    given[run][row] = answers[run][name]
    return rows, given


def collect_answer(task: Task, prediction: Prediction) -> Result:
    """A result whose details hold the digest and the words of an answer. Runs in a worker; gold is not opened."""
    form = next((form for form in prediction.forms.values() if not isinstance(form, Fault)), None)
    name = task.instance.instance_id
    bare = Result(instance_id=name, status="scored", score=None, official=None, strict=None, scorer=None, reason="", fault=None)
    if form is None:
        return bare
    content, words = _content(form, numbers=any(_is_numeric(check.parameters.get("gold")) for check in task.instance.checks))
    digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return replace(bare, details={ANSWER: [digest, words]})


def _is_numeric(gold: Any) -> bool:
    """Whether every accepted answer is a number, so that the words around one do not count."""
    try:
        return all(read_number(item) is not None for item in (gold if isinstance(gold, list) else [gold]))
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        return False


def _content(form: Any, *, numbers: bool) -> tuple[str, str]:
    """(what two equal answers share, the answer in a few words): neither order of rows and columns nor headers nor spelling of numbers."""
    if isinstance(form, Table):
        columns = sorted(([_cell_text(value) for value in column] for column in form.columns), key=lambda column: (sorted(column), column))
        rows = sorted(zip(*columns, strict=True))
        return json.dumps(rows), f"a table of {form.n_rows} rows, {len(form.columns)} columns"
    if isinstance(form, str):
        written = [number for number in find_numbers(form) if not number.context] if numbers else []
        bare = ("".join(c for c in word if c.isalnum() or c in ".,-%").strip(".,-") for word in form.casefold().split())
        shared = sorted({format(float(exact_of(number.readings[0])), ".10g") for number in written}) or filter(None, bare)
        return " ".join(shared), form.strip()[:_SHOWN]
    if isinstance(form, Mapping) and all(isinstance(value, Table | Fault) for value in form.values()):
        return json.dumps([[name.lower(), *_content_of(form[name])] for name in sorted(form)]), f"{len(form)} tables"
    if isinstance(form, list) and all(isinstance(value, Table | Fault) for value in form):
        return json.dumps([_content_of(value) for value in form]), f"{len(form)} tables"
    return json.dumps(form, sort_keys=True, default=str), "a tree"


def _content_of(table: Table | Fault) -> list[str]:
    return [_content(table, numbers=False)[0]] if isinstance(table, Table) else [table.code]


def _cell_text(value: Any) -> str:
    """A cell as text that other spellings of it share: numbers by 10 significant digits."""
    text = "" if value is None else str(value).strip()
    try:
        return format(float(text), ".10g")
    except ValueError:
        return text.casefold()
