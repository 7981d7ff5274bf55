"""Causes proved by execution: gold's query, or the answer's, with one change returns exactly the other side.

Statements run as in a run, gold's and answers' in separate processes, and the scorer judges their results. An answer that is compared with
the result of an edited gold query is judged by the strict rules without tolerances. The chance of a proof counts how many answers differ
from gold as much as this one: what an unrelated edit would meet by accident.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalsuite.analysis.causes import general_sentence
from evalsuite.analysis.causes.values import read_gold_number
from evalsuite.analysis.explain.search import FITS, Cause
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.files import is_file
from evalsuite.core.types import Check, Fault, Result, Rule, Table, Task
from evalsuite.readers.limits import CLOCK
from evalsuite.readers.load_answer import read_gold_query
from evalsuite.readers.paths import FromRoot
from evalsuite.runs.gold_queries import check_as_of, find_queries, with_as_of
from evalsuite.runs.instance_checks import applicable_checks, is_pair
from evalsuite.runs.plan import renamed
from evalsuite.runs.task_execution import Prediction, gold_tables, judge, usable_parameters
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded
from evalsuite.sql.query_edits import QueryEdit

if TYPE_CHECKING:
    from evalsuite.runs.databases import Databases, SqlAnswers
    from evalsuite.sandbox.fork_server import ForkServer
    from evalsuite.sql.execution import QueryPool
    from evalsuite.sql.session import Connection


ROOM, IS_WHOLE = "room", "is_whole"
_MOST_ROOM: Final = 1e12
_MOST_DIGITS: Final = 6


def collect_likeness(task: Task, prediction: Prediction) -> Result:
    """Return the result of a task, in a worker; its details contain how many answers of its kind differ as much from gold (see `_room`),
    and whether it was compared whole: each column with one of gold's, under the strict rules without other tolerances.
    """
    result = judge(task, prediction)
    assert task.answer is not None
    check = applicable_checks(task.instance, task.answer)[0]
    entry = SCORERS.load(check.scorer)
    form = prediction.payloads.get(entry.marker.reads)
    room, is_whole = 1.0, False
    if isinstance(form, Table | list | tuple):
        try:
            gold = gold_tables(task, check) if entry.marker.reads == "query" else usable_parameters(task, check, entry)["gold"]
            tables = [gold] if isinstance(gold, Table) else [table for table in gold if isinstance(table, Table)]
            answers = [form] if isinstance(form, Table) else list(form)
            room = min((_room(table, answers[0]) for table in tables), default=1.0)
            widths = {len(table.columns) for table in (*tables, *answers)}
            given = check.parameters
            is_exact = not given.get("abs_tol") and given.get("rel_tol") in (None, _NOISE)
            is_whole = result.strict == 1 and len(widths) == 1 and is_exact and not given.get("condition_cols")
        except FaultError:
            room = 1.0
    return replace(result, details={ROOM: room, IS_WHOLE: is_whole})


def _room(gold: Table, answer: Table) -> float:
    """Return how many answers differ from gold as much as this one: 1 to 10^12.

    The larger of: the ways to choose the rows that only one side has, or the values that their other cells could have, a text one of 10.
    """
    texts = [[["" if cell is None else str(cell) for cell in column] for column in table.columns] for table in (gold, answer)]
    rows = [Counter(zip(*columns, strict=True)) for columns in texts]
    lone = [rows[0] - rows[1], rows[1] - rows[0]]
    n, n_lone = max(gold.n_rows, answer.n_rows), max(side.total() for side in lone)
    ways = float(math.comb(n, min(n_lone, n - n_lone, 40))) if n_lone else math.factorial(min(n, 12))
    gold_cells, values = {cell for row in lone[0] for cell in row}, 1.0
    for cell in {cell for row in lone[1] for cell in row} - gold_cells:
        number = read_gold_number(cell)
        digits = len(str(abs(number)).replace(".", "").strip("0")) if number is not None else 0
        values *= 10 if number is None else 9 * 10.0 ** (min(_MOST_DIGITS, max(1, digits)) - 1)
        if values > _MOST_ROOM:
            break
    return min(_MOST_ROOM, max(ways, values, 1.0))


ORDER: Final = "evalsuite.analysis.explain.query_proofs:collect_likeness"
# Statements that are run for one instance, and at the same time.
MOST_RUNS, _AT_ONCE = 160, 8
_MOST_ROWS: Final = 100_000
# Engines that bill per query: dozens of edits would cost money.
_BILLED: Final = ("bigquery", "snowflake")
# A cause that was seen by running is named up to this chance.
_MOST_CHANCE: Final = 0.2
# Float noise of writing and reading.
_NOISE: Final = 1e-9
# Kind of edit -> (cause if gold's query is edited, cause if the answer's is): the answer made the edit, or the edit undoes its error.
_NAMES: Final = {
    "filter removed": ("missing filter", "filter too many"),
    "distinct removed": ("rows duplicated", "distinct too many"),
    "distinct added": ("distinct too many", "rows duplicated"),
    "join": ("wrong join", "wrong join"),
    "bound": ("wrong bound", "wrong bound"),
    "condition": ("wrong condition", "wrong condition"),
    "group": ("wrong grouping level", "wrong grouping level"),
    "aggregate": ("wrong aggregate", "wrong aggregate"),
    "expression": ("wrong expression", "wrong expression"),
    "order": ("wrong order", "wrong order"),
    "limit": ("wrong limit", "wrong limit"),
}
# Sentences about queries, for causes whose general sentence is about rows.
_SAYS: Final = {
    "missing filter": "a filter is missing",
    "rows duplicated": "rows or values are counted several times: a DISTINCT is missing",
    "wrong order": "another order",
}


def gold_query(
    databases: "Databases", task: Task, check: Check, limits: Mapping[str, int | float], *, as_of: str | None = None
) -> "tuple[Connection | None, str]":
    """Return (the connection of a table check, gold's query); None without a connection, an empty text without a single query.

    `as_of` is the day of the query, by default today.

    Raises `EvalsuiteError` or `FaultError` if a file of either cannot be read.
    """
    files = find_queries(task, check)
    connection = databases.connections().of_instance(task.instance, check.parameters)
    is_query = len(files) == 1 and is_file(files[0])
    return connection, with_as_of(read_gold_query(files[0]), check_as_of(as_of, limits[CLOCK]))[0] if is_query else ""


@dataclass(slots=True)
class Proof:
    """What the edited queries showed: the cause, how many statements ran, and notes."""

    causes: list[Cause] = field(default_factory=list)
    n_runs: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class QueryProofs:
    """Proves causes of the tasks of one `explain`, given its databases, executor of SQL answers and inodes of gold.

    `fork_server` forks the workers that parse texts of answers and that compare what edited queries return; None starts some of their own.
    `as_of` is the day of gold queries.
    """

    databases: "Databases"
    answers: "SqlAnswers"
    gold_inodes: frozenset[tuple[int, int]]
    isolation: str
    fork_server: "ForkServer | None" = None
    as_of: str | None = None

    def prove(self, task: Task, rules: Rule) -> Proof | None:
        """Return what edits of the queries of a wrong answer show; None if there is no query, or no database to run it on."""
        assert task.answer is not None
        if is_pair(task):
            tables = self.answers.with_databases(task)
            return _search(self, _Pair(tables), rules) if isinstance(tables, Task) and tables.databases else None
        check = _table_check(task)
        sides = self._sides(task, check) if check is not None and not check.problems else None
        return _search(self, sides, rules) if sides is not None else None

    def both_queries(self, task: Task) -> str:
        """Return gold's query and the answer's, formatted for reading, as far as they exist; empty if no answer is a query.

        An answer's text is formatted in a sandboxed worker.
        """
        if task.answer is None or task.answer.fault is not None:
            return ""
        if is_pair(task):
            pair = _Pair(task)
            gold, answer, dialect = pair.gold, pair.answer, pair.dialect
        else:
            check = _table_check(task)
            connection, gold, answer = self._texts(task, check) if check is not None and task.answer.is_query else (None, "", "")
            dialect = connection.engine if connection is not None else ""
        if not answer:
            return ""
        try:
            with RpcClient(readable=(), hostile=task.submission_folder, limits=task.limits, fork_server=self.fork_server) as calls:
                return str(calls.call("evalsuite.sql.session:both_queries", gold, answer, dialect))
        except (FaultError, EvalsuiteError):
            return f"-- answer\n{answer}"

    def _sides(self, task: Task, check: Check) -> "_QueriedTable | None":
        """Return both queries of a table check as far as they exist, and the connection; None without a query or a connection."""
        connection, gold, answer = self._texts(task, check)
        if connection is None or connection.engine in _BILLED or not (gold or answer):
            return None
        if not answer and not is_embedded(connection):
            # No server is contacted for an answer that is a file.
            return None
        return _QueriedTable(task, check, connection, gold, answer, self.databases, self.answers.place_of(task))

    def _texts(self, task: Task, check: Check) -> "tuple[Connection | None, str, str]":
        """Return (the connection of a table check, gold's query, the answer's); None without a connection, "" without a query."""
        assert task.answer is not None
        try:
            connection, gold = gold_query(self.databases, task, check, task.limits, as_of=self.as_of)
        except (EvalsuiteError, FaultError):
            return None, "", ""
        prepared = self.answers.prepare(task) if task.answer.is_query else None
        return connection, gold, "" if prepared is None or isinstance(prepared, Result) else prepared.text


def _table_check(task: Task) -> Check | None:
    """Return the check that compares a table, which may come from a query."""
    assert task.answer is not None
    return next((c for c in applicable_checks(task.instance, task.answer) if SCORERS.load(c.scorer).marker.reads == "table"), None)


@dataclass(slots=True)
class _Pair:
    """The two queries of a pair, which the worker that judges runs."""

    task: Task
    dialect: str = "sqlite"
    n_runs: int = 0
    stopped: Counter[str] = field(default_factory=Counter)

    @property
    def gold(self) -> str:
        return str(self._check.parameters["gold"])

    @property
    def answer(self) -> str:
        assert self.task.answer is not None
        return str(self.task.answer.value)

    @property
    def _check(self) -> Check:
        assert self.task.answer is not None
        return applicable_checks(self.task.instance, self.task.answer)[0]

    def base(self) -> Task:
        return self.task

    def control(self) -> Task | None:
        return None

    def tasks(self, edits: Mapping[str, QueryEdit], *, of_gold: bool) -> Iterator[Task]:
        """Return a task for each edit, by name, that is right if the edit proves something."""
        self.n_runs += len(edits)
        assert self.task.answer is not None
        for name, edit in edits.items():
            check = replace(self._check, parameters={**self._check.parameters, "gold": edit.sql}) if of_gold else self._check
            answer = self.task.answer if of_gold else replace(self.task.answer, value=edit.sql)
            yield _strictly(replace(self.task, answer=answer), name, check)


@dataclass(slots=True)
class _QueriedTable:
    """A table check with its queries ("" if there is none), their connection, and the answer's table."""

    task: Task
    check: Check
    connection: "Connection"
    gold: str
    answer: str
    databases: "Databases"
    executed: Path | None
    n_runs: int = 0
    stopped: Counter[str] = field(default_factory=Counter)
    _runners: dict[bool, "QueryPool"] = field(default_factory=dict)

    @property
    def dialect(self) -> str:
        return self.connection.engine

    def base(self) -> Task:
        return replace(self.task, executed=self.executed)

    def control(self) -> Task | None:
        """Return the task that is right if gold's query returns gold today; None if it returns nothing."""
        return next(self.tasks({"control": QueryEdit("", "", self.gold)}, of_gold=True, as_answer=True), None)

    def tasks(self, edits: Mapping[str, QueryEdit], *, of_gold: bool, as_answer: bool = False) -> Iterator[Task]:
        """Return a task for each edit that returns a table, by name, that is right if the edit proves something."""
        from evalsuite.sql.execution import Query

        folder = self.databases.make_folder("edited gold" if of_gold else "edited answers")
        queries = [
            Query(name=name, text=edit.sql, connection=self.connection, place=folder / f"{name}.csv") for name, edit in edits.items()
        ]
        runner = self._runners.setdefault(of_gold, self.databases.queries())
        assert self.task.answer is not None
        for answered in runner.answers(queries):
            self.n_runs += 1
            name, outcome = answered.query.name, answered.outcome
            if isinstance(outcome, Fault):
                # An engine that refuses an edit is expected.
                self.stopped[outcome.code] += not outcome.code.startswith("SQL_")
                continue
            if outcome.cost.rows > _MOST_ROWS:
                continue
            place = outcome.place
            if not of_gold or as_answer:
                answer = replace(self.task.answer, answer_type="sql", value="edited.sql")
                yield _strictly(replace(self.task, answer=answer, executed=place), name, self.check)
            else:
                ordered = edits[name].kind == "order"
                exact = {"gold": FromRoot(place.name), "ignore_order": not ordered, "rel_tol": _NOISE, "abs_tol": 0.0}
                check = replace(self.check, scorer="table_match", parameters=exact, computed=folder)
                yield _strictly(self.base(), name, check)


def _strictly(task: Task, name: str, check: Check) -> Task:
    return replace(renamed(task, name, check), rules="strict")


def _search(proofs: QueryProofs, sides: "_Pair | _QueriedTable", rules: Rule) -> Proof:
    """Try edits of gold's query that return the answer, then edits of the answer's that return gold."""
    proof = Proof()
    pool = Pool(jobs=1, isolation=proofs.isolation, gold_inodes=proofs.gold_inodes, order=ORDER, fork_server=proofs.fork_server)
    try:
        room = next((float(result.details.get(ROOM, 1.0)) for result in pool.results([sides.base()])), 1.0)
        for of_gold in (True, False):
            query, other_query = (sides.gold, sides.answer) if of_gold else (sides.answer, sides.gold)
            if not query or proof.causes:
                continue
            if of_gold and (control := sides.control()) is not None and not _right_edits(pool, [control], rules):
                proof.notes.append("gold's query does not give gold here: it was not tried")
                continue
            _try_edits(proofs, sides, pool, proof, query, other_query, of_gold=of_gold, rules=rules, room=room)
    finally:
        pool.close()
        proof.n_runs = sides.n_runs
        proof.notes += [f"{n} of these queries ended by {code}" for code, n in sides.stopped.items() if n]
    return proof


def _try_edits(
    proofs: QueryProofs,
    sides: "_Pair | _QueriedTable",
    pool: Pool,
    proof: Proof,
    query: str,
    other: str,
    *,
    of_gold: bool,
    rules: Rule,
    room: float,
) -> None:
    """Try the edits of one query, several at once, until one returns the other side."""
    owner, target = ("gold's", "the answer") if of_gold else ("the answer's", "gold")
    try:
        with RpcClient(
            readable=(), hostile=sides.task.submission_folder, limits=sides.task.limits, fork_server=proofs.fork_server
        ) as calls:
            edit_data = calls.call(
                "evalsuite.sql.query_edits:edits_as_data", query, sides.dialect, other, "gold's" if not of_gold else "the answer's"
            )
    except (FaultError, EvalsuiteError):
        proof.notes.append(f"{owner} query cannot be parsed")
        return
    edits = {f"e{i}": QueryEdit(*edit) for i, edit in enumerate(edit_data)}
    names, n_tried, rule = list(edits), 0, "strict" if of_gold else rules
    idle = _idle_kinds(sides, pool, query, rule) if of_gold else frozenset[bool]()
    while names and sides.n_runs < MOST_RUNS:
        some, names = {name: edits[name] for name in names[:_AT_ONCE]}, names[_AT_ONCE:]
        tasks = list(sides.tasks(some, of_gold=of_gold))
        n_tried += len(tasks)
        right = {name: whole for name, whole in _right_edits(pool, tasks, rule).items() if (edits[name].kind == "order") not in idle}
        if right:
            first = min(right, key=list(edits).index)
            n_before = max(1, n_tried - len(some) + 1 + list(some).index(first))
            edit = _necessary_parts(sides, pool, edits, edits[first], of_gold=of_gold, rules=rule)
            name = _NAMES[edit.kind][not of_gold]
            gives = f"gives exactly {target}" if right[first] else f"gives what is compared of {target}"
            where = f"{owner} query {edit.words} {gives}"
            proof.causes.append(Cause(name, _SAYS.get(name) or general_sentence(name), where, chance=_chance(n_before, room)))
            return
    proof.notes.append(f"none of {n_tried} edits of {owner} query gives {target}")


def _chance(n_before: int, room: float) -> float:
    """Return how likely an unrelated edit gives as much; a chance of up to 20 % is named, but is no proof."""
    chance = n_before / room
    return min(FITS, chance) if chance <= _MOST_CHANCE else chance


def _idle_kinds(sides: "_Pair | _QueriedTable", pool: Pool, query: str, rules: Rule) -> frozenset[bool]:
    """Return the kinds of edits (of the order, or others) that fit without a change: gold's query already returns the answer."""
    idle = set()
    for kind in ("order", "condition"):
        tasks = list(sides.tasks({"as it stands": QueryEdit(kind, "", query)}, of_gold=True))
        if _right_edits(pool, tasks, rules):
            idle.add(kind == "order")
    return frozenset(idle)


def _necessary_parts(
    sides: "_Pair | _QueriedTable", pool: Pool, edits: Mapping[str, QueryEdit], edit: QueryEdit, *, of_gold: bool, rules: Rule
) -> QueryEdit:
    """Return the edit without its unnecessary parts: a part is dropped while the edit stays right without it."""
    names = {other.sql: name for name, other in edits.items() if other.sql != edit.sql}
    while True:
        fewer = {name: edits[name] for text in edit.fewer if (name := names.pop(text, None)) is not None}
        right = _right_edits(pool, list(sides.tasks(fewer, of_gold=of_gold)), rules) if fewer else []
        if not right:
            return edit
        edit = edits[min(right, key=list(edits).index)]


def _right_edits(pool: Pool, tasks: Sequence[Task], rules: Rule) -> dict[str, bool]:
    """Return the names of the tasks whose answer is right under a rule, and whether it was compared whole."""
    results = (result for result in pool.results(tasks) if (result.strict if rules == "strict" else result.official) == 1)
    return {result.instance_id: bool(result.details.get(IS_WHOLE)) for result in results}
