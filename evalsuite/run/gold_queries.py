"""Which checks get their gold from a query, and the statements.

Gold that exists is the gold. A query (`<id>/gold.sql`, in the layouts lite and snow `sql/<id>.sql`) is used where a check names nothing but
`.sql` files, which is what `temporal` without a gold means; where the gold tables that a check names do not exist; or under `--live-gold`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import EvalsuiteError, FaultError, UsageError
from evalsuite.gold.spec import GOLD_QUERY, TABLES, TEXTS, names_queries
from evalsuite.readers.paths import inside
from evalsuite.scorers import SCORERS
from evalsuite.types import Check, Task
from evalsuite.workers.requests import applicable, asks_pair

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections

# `{{as_of}}` stands for the bare day, `:as_of` for it as an SQL text; `x::as_of` is a cast.
_BARE, _QUOTED = re.compile(r"\{\{\s*as_of\s*\}\}"), re.compile(r"(?<![:\w]):as_of\b")


def query_files(task: Task, check: Check, *, live: bool = False) -> list[Path]:
    """The files of the queries that a check's gold comes from, in the order of its golds; empty where its gold is not a query.

    With `live` (--live-gold) a query replaces gold that exists. A list of tables that must all match needs a query for each.
    """
    reads = SCORERS.load(check.scorer).marker.reads
    if reads not in TABLES | TEXTS or (reads in TEXTS and not is_temporal(check)):
        return []
    if names_queries(check) or lacks_gold(task, check):
        return known_queries(task, check)
    files = known_queries(task, check) if live else []
    return [] if reads == "tables" and len(files) != len(_names(check)) else files


def is_judged_by(task: Task, check: Check) -> bool:
    """Whether an answer was submitted that this check can judge: only then is the check's gold needed."""
    return task.answer is not None and task.answer.fault is None and any(check is one for one in applicable(task.instance, task.answer))


def known_queries(task: Task, check: Check) -> list[Path]:
    """The files of the queries that give a check's gold, whether it is living or stands in files beside them."""
    if names_queries(check):
        return list(_files(task, check))
    folder, name = task.gold_folder, task.instance.instance_id
    return [place for place in (folder / name / GOLD_QUERY, folder / "sql" / f"{name}.sql") if place.is_file()][:1]


def by_the_clock(tasks: Iterable[Task], connections: "Callable[[], Connections]") -> Iterator[str]:
    """The ids of the instances whose gold query asks the time, as far as its text and its connection's engine tell."""
    for task in tasks:
        if any(_asks_time(task, check, connections) for check in task.instance.checks):
            yield task.instance.instance_id


def _asks_time(task: Task, check: Check, connections: "Callable[[], Connections]") -> bool:
    from evalsuite.readers.answer_forms import read_gold_query
    from evalsuite.sql.clock import asks_time

    if asks_pair([check]):
        return asks_time(str(check.parameters.get("gold", "")), "sqlite")
    try:
        texts = [read_gold_query(file) for file in query_files(task, check)]
        connection = connections().of_instance(task.instance, check.parameters) if texts else None
        return connection is not None and any(asks_time(text, connection.engine) for text in texts)
    except (EvalsuiteError, FaultError):
        # What keeps the query from being run is said where it is run.
        return False


def is_temporal(check: Check) -> bool:
    """Whether gold says that what is right changes with time."""
    return check.extra.get("temporal") is True


def lacks_gold(task: Task, check: Check) -> bool:
    """Whether a check has nothing to judge by until its query is run."""
    return names_queries(check) or (
        SCORERS.load(check.scorer).marker.reads in TABLES and not any(file.is_file() for file in _files(task, check))
    )


def _names(check: Check) -> list[str]:
    gold = check.parameters.get("gold")
    return [name for name in (gold if isinstance(gold, list) else [gold]) if isinstance(name, str)]


def _files(task: Task, check: Check) -> Iterator[Path]:
    for name in _names(check):
        try:
            yield task.gold_folder / inside(task.instance.instance_id, name)
        except FaultError:
            # Whoever reads it as gold says what is wrong with the name.
            continue


def check_as_of(text: str | None, clock: float = 0) -> str:
    """The day that stands for `as_of`: the one given as YYYY-MM-DD, else that of a frozen `clock`, else today in UTC.

    Raises `UsageError`.
    """
    if text is None:
        return (datetime.fromtimestamp(clock, UTC) if clock else datetime.now(UTC)).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"--as-of cannot be {text!r}", hint="write a day as 2026-05-31") from None


def with_as_of(sql: str, day: str) -> tuple[str, bool]:
    """(the statement with its placeholders filled, whether it has any)."""
    filled = _QUOTED.sub(f"'{day}'", _BARE.sub(day, sql))
    return filled, filled != sql
