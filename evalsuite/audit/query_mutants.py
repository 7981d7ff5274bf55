"""Wrong answers from gold's own query: with one thing in it changed, or one source row dropped, run where its database is at hand.

Of a check of tables the answers are what the edited queries give, of a pair of queries they are these queries. Statements run as those of
a run do. Only files are asked, no servers: an audit bills nobody. What a query gives that is gold all the same is no wrong answer, and is
left out by whoever scores it.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.audit.audited_checks import Asked
from evalsuite.audit.closing_lines import STRICT
from evalsuite.errors import UNSCORED, EvalsuiteError, FaultError
from evalsuite.readers.answer_forms import read_gold_query
from evalsuite.readers.csv_table import read_csv_table
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import CLOCK, DEFAULT_LIMITS
from evalsuite.run.databases import Databases
from evalsuite.run.gold_queries import check_as_of, known_queries, with_as_of
from evalsuite.run.sql_answers import SqlAnswers
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded
from evalsuite.sql.pairs import order_terms
from evalsuite.sql.query_edits import QueryEdit, edits, one_row_short
from evalsuite.types import Answer, Check, Fault, Gold, GoldInstance, Result, Table, Task
from evalsuite.workers.pool import Pool

if TYPE_CHECKING:
    from evalsuite.sql.session import Connection

# Edits of one query that are run, and how many of one kind.
MOST_EDITS, MOST_OF_A_KIND = 16, 3
_MOST_CELLS: Final = 20_000
# (kind, the table as its CSV file holds it), gold's own query first, under the kind "".
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
                edited.update(
                    {(task.instance.instance_id, i): (edit, connection) for i, edit in enumerate(_edits(file, connection, limits))}
                )
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


def _edits(file: Path, connection: "Connection", limits: Mapping[str, int | float]) -> Iterator[QueryEdit]:
    """Gold's query as it is and edited; none where it cannot be read."""
    try:
        sql = with_as_of(read_gold_query(file), check_as_of(None, limits[CLOCK]))[0]
        yield from (QueryEdit("", "", sql), *_some_edits(sql, connection.engine))
    except FaultError:
        return


def _some_edits(sql: str, dialect: str) -> Iterator[QueryEdit]:
    """A query one source row short, and edited: some of each kind, the likeliest mistakes of each first. Raises as `edits` does."""
    found = [*one_row_short(sql, dialect), *edits(sql, dialect)]
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
    from evalsuite.workers.queries import Query

    names = {f"e{n}": key for n, key in enumerate(edited)}
    asked = [
        Query(name=name, text=edit.sql, connection=connection, place=place / f"{name}.csv")
        for name, (edit, connection) in ((name, edited[key]) for name, key in names.items())
    ]
    found: dict[str, dict[int, tuple[str, Table]]] = defaultdict(dict)
    for answered in databases.queries().answers(asked):
        id_, at = names[answered.query.name]
        if not isinstance(answered.outcome, Fault):
            written = answered.outcome
            if written.cost.rows * len(written.header) <= _MOST_CELLS:
                found[id_][at] = edited[id_, at][0].kind, _read(written.place)
        if until is not None and time.monotonic() > until:
            break
    return {id_: tuple(of[at] for at in sorted(of)) for id_, of in found.items() if 0 in of}


def _read(place: Path) -> Table:
    with place.open("rb") as handle:
        return read_csv_table(handle, name=place.name, limits=DEFAULT_LIMITS)


@dataclass(frozen=True, slots=True)
class PairAudit:
    """What a pair says of gold's own query and of others, as `audited_checks` has verdicts; or `untried`, why it was not asked."""

    own: Result | None = None
    verdicts: Sequence[Mapping[str, Any]] = ()
    untried: str = ""


def audit_pairs(
    gold: Gold, pairs: Sequence[tuple[GoldInstance, Check]], scratch: Path, *, asked: Asked, folder: Path | None, **how: Any
) -> Iterator[tuple[GoldInstance, Check, PairAudit]]:
    """Each check of a pair of queries with what it says of gold's query, and of it edited. `how` are `run_mutants`' words.

    Wrong is an edited query that strict rules refuse: one that gives gold's rows on every file is no wrong answer. Right are gold's query
    with other spaces, and as a subquery.
    """
    if not pairs:
        return
    databases = Databases(gold, scratch, limits=how["limits"], jobs=how["jobs"], isolation=how["isolation"], folder=folder)
    inodes = gold_inodes(gold.folder)
    pool = Pool(jobs=how["jobs"], isolation=how["isolation"], gold_inodes=inodes)
    execute = databases.sql_answers(pool.results, None, inodes)
    try:
        for instance, check in pairs:
            if asked.until is not None and time.monotonic() > asked.until:
                break
            task = Task(
                instance=replace(instance, checks=(check,)),
                answer=None,
                gold_folder=gold.folder.absolute(),
                submission_folder=scratch,
                limits=how["limits"],
            )
            if (found := _of_pair(execute, task, str(check.parameters.get("gold", "")), asked)) is not None:
                yield instance, check, found
    finally:
        pool.close()
        databases.close()


def _of_pair(execute: SqlAnswers, task: Task, sql: str, asked: Asked) -> PairAudit | None:
    """The audit of one pair, as far as the time reaches; None where it does not reach to gold's own query."""
    try:
        wrong = [(f"gold's query: {edit.kind}", False, edit.sql) for edit in _some_edits(sql, "sqlite")]
    except FaultError:
        return PairAudit(untried="gold's query cannot be taken apart")
    right = [("gold's query: other spaces", True, f"\n{sql.strip().rstrip(';')}  ;\n")]
    if order_terms(sql) is None:
        right.append(("gold's query: as a subquery", True, f"SELECT * FROM ({sql.strip().rstrip(';')}) AS given"))
    made = [one for one in (*right, *wrong) if not asked.kinds or one[0] in asked.kinds][: asked.most]
    queries = {"own": sql} | {f"m{i}": query for i, (_, _, query) in enumerate(made)}
    tasks = [
        replace(
            task,
            instance=replace(task.instance, instance_id=name),
            answer=Answer(instance_id=name, answer_type="answer", value=query, where=task.instance.where),
        )
        for name, query in queries.items()
    ]
    results = dict[str, Result]()
    for result in execute.results(tasks):
        results[result.instance_id] = result
        if asked.until is not None and time.monotonic() > asked.until:
            break
    own = results.pop("own", None)
    if own is None or own.fault in UNSCORED:
        return PairAudit(untried=own.reason) if own is not None else None
    told = []
    for name, result in results.items():
        kind, is_right, _ = made[int(name[1:])]
        taken = {rule: None if value is None else value == 1 for rule, value in (("official", result.official), ("strict", result.strict))}
        if is_right or (taken["strict"] is False and result.status == "scored"):
            lines = {"official": STRICT} if taken["official"] is not is_right and taken["strict"] is is_right else {}
            told.append((int(name[1:]), {"kind": kind, "right": is_right, "size": None, "taken": taken, "lines": lines}))
    return PairAudit(own, [verdict for _, verdict in sorted(told, key=lambda one: one[0])])
