"""Wrong tables from gold's own query: with one thing in it changed, or one source row dropped, run where its database is at hand.

Statements run as those of a run do. Only files are asked, no servers: an audit bills nobody. What a query gives that is gold all the same
is no wrong answer, and is left out by whoever scores it.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalsuite.errors import EvalsuiteError, FaultError
from evalsuite.readers.answer_forms import read_gold_query
from evalsuite.run.databases import Databases
from evalsuite.run.gold_queries import check_as_of, known_queries, with_as_of
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded
from evalsuite.sql.query_edits import QueryEdit, edits, one_row_short
from evalsuite.types import Check, Fault, Gold, GoldInstance, Table, Task

if TYPE_CHECKING:
    from evalsuite.sql.session import Connection

# Edits of one query that are run, and how many of one kind.
MOST_EDITS, MOST_OF_A_KIND = 16, 3
_MOST_CELLS: Final = 20_000
# (kind, the table as a CSV file would hold it), gold's own query first, under the kind "".
Queried = tuple[tuple[str, Table], ...]


def run_mutants(
    gold: Gold,
    work: Sequence[tuple[GoldInstance, Check]],
    scratch: Path,
    *,
    folder: Path | None,
    limits: Mapping[str, int | float],
    jobs: int,
    isolation: str,
    until: float | None = None,
) -> dict[str, Queried]:
    """By instance what its gold query gives, as it is and edited; nothing for an instance without a query or a file to run it on.

    `until` is a moment of `time.monotonic` after which no further statement is run.
    """
    tasks = [(Task(instance=one, answer=None, gold_folder=gold.folder, submission_folder=scratch), check) for one, check in work]
    asked = [(task, check, files[0]) for task, check in tasks if (files := _queries(task, check))]
    if not asked:
        return {}
    databases = Databases(gold, scratch, limits=limits, jobs=jobs, isolation=isolation, folder=folder)
    try:
        edited = {}
        for task, check, file in asked:
            if (connection := _connection(databases, task, check)) is not None:
                edited.update({(task.instance.instance_id, i): (edit, connection) for i, edit in enumerate(_edits(file, connection))})
        return _given(databases, edited, scratch / "edited", until)
    finally:
        databases.close()


def _queries(task: Task, check: Check) -> list[Path]:
    """The file of the one query that gives a check's table; empty where there is none."""
    files = known_queries(task, check) if SCORERS.load(check.scorer).marker.reads == "table" else []
    return files if len(files) == 1 and files[0].is_file() else []


def _connection(databases: Databases, task: Task, check: Check) -> "Connection | None":
    try:
        connection = databases.connections().of_instance(task.instance, check.parameters)
    except EvalsuiteError:
        return None
    return connection if connection is not None and is_embedded(connection) else None


def _edits(file: Path, connection: "Connection") -> Iterator[QueryEdit]:
    """Gold's query as it is, one source row short, and edited: some of each kind, the likeliest mistakes of each first."""
    try:
        sql = with_as_of(read_gold_query(file), check_as_of(None))[0]
        found = [*one_row_short(sql, connection.engine), *edits(sql, connection.engine)]
    except FaultError:
        return
    yield QueryEdit("", "", sql)
    by_kind = defaultdict[str, list[QueryEdit]](list)
    for edit in found:
        by_kind[edit.kind].append(edit)
    turns = [kind[i] for i in range(MOST_OF_A_KIND) for kind in by_kind.values() if i < len(kind)]
    yield from turns[:MOST_EDITS]


def _given(
    databases: Databases,
    edited: Mapping[tuple[str, int], tuple[QueryEdit, "Connection"]],
    place: Path,
    until: float | None,
) -> dict[str, Queried]:
    from evalsuite.sql.cell_forms import csv_form
    from evalsuite.workers.queries import Query

    names = {f"e{n}": key for n, key in enumerate(edited)}
    asked = [
        Query(name=name, text=edit.sql, connection=connection, spill=place / name)
        for name, (edit, connection) in ((name, edited[key]) for name, key in names.items())
    ]
    found: dict[str, dict[int, tuple[str, Table]]] = defaultdict(dict)
    for answered in databases.queries().answers(asked):
        id_, at = names[answered.query.name]
        if not isinstance(answered.outcome, Fault):
            table = answered.outcome.table
            if table.n_rows * len(table.header) <= _MOST_CELLS:
                shown = csv_form(table)
                found[id_][at] = edited[id_, at][0].kind, replace(shown, columns=tuple(map(list, shown.columns)))
        if until is not None and time.monotonic() > until:
            break
    return {id_: tuple(of[at] for at in sorted(of)) for id_, of in found.items() if 0 in of}
