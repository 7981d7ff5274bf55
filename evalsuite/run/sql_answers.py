"""SQL answers: refused unless the suite maps the instance to a connection, run there, and judged by the table they give.

The table is written beside the results (`executed/<id>.csv`) and read from there as any CSV answer is, so that whoever doubts a verdict
can hand that file in.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import EvalsuiteError, FaultError, in_one_sentence, side_of
from evalsuite.readers.answer_files import AnswerFiles
from evalsuite.readers.paths import file_name
from evalsuite.registry import CONNECTION_PARAMETERS
from evalsuite.run.judged import Execute
from evalsuite.scorers import SCORERS
from evalsuite.types import Fault, Result, Task
from evalsuite.workers.combine import faulty, unjudged
from evalsuite.workers.requests import applicable, is_pair, settle_early

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sql.session import Connection, Written
    from evalsuite.workers.queries import Answered, Queries, Query

FOLDER = "executed"
# So many are run before their tables are judged: a killed run loses no more.
_AT_ONCE = 32


def has_query(task: Task) -> bool:
    """Whether the answer of a task is a query that a check can judge the table of."""
    answer = task.answer
    if answer is None or not answer.is_query or settle_early(task) is not None:
        return False
    return any(SCORERS.load(check.scorer).marker.reads == "table" for check in applicable(task.instance, answer))


class SqlAnswers:
    """An executor that runs the queries among the answers, and leaves all judging to `others`.

    `folder` is where the tables go; it, `connections` and `queries` are asked for only where there is a query to run.
    """

    def __init__(
        self,
        others: Execute,
        *,
        connections: "Callable[[], Connections]",
        queries: "Callable[[], Queries]",
        folder: Callable[[], Path],
        gold_inodes: frozenset[tuple[int, int]] = frozenset(),
        ves: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._others, self._connections, self._queries, self._ves = others, connections, queries, ves
        self._folder, self._gold_inodes = folder, gold_inodes
        self._tell, self._estimated = tell, 0
        self._ran: dict[str, Answered] = {}
        self._places: dict[str, Path] = {}
        self._digests: dict[str, dict[str, str]] = {}

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """One result per task as soon as it is known."""
        asked = [task for task in tasks if has_query(task)]
        pairs = [task for task in tasks if is_pair(task)]
        names = {task.instance.instance_id for task in (*asked, *pairs)}
        plain = [task for task in tasks if task.instance.instance_id not in names]
        to_time: dict[str, Task] = {}
        for task in map(self.with_databases, pairs):
            if isinstance(task, Task):
                plain.append(task)
                to_time.update({task.instance.instance_id: task} if self._ves else {})
            else:
                yield task
        right: list[Result] = []
        if asked and self._tell is not None:
            self._tell_cost(asked, self._tell)
        for start in range(0, len(asked) or 1, _AT_ONCE):
            ready: list[Task] = []
            for done in self._executed(asked[start : start + _AT_ONCE]):
                if isinstance(done, Task):
                    ready.append(done)
                else:
                    yield self._described(done)
            # What opens no connection goes first where nothing has to be run for it.
            for result in self._others([*plain, *ready]):
                if result.official == 1 and result.instance_id in to_time:
                    right.append(result)
                else:
                    yield self._described(result)
            plain = []
        # When nothing else runs any more.
        yield from self._timed(right, to_time)

    def _tell_cost(self, asked: Sequence[Task], tell: Callable[[str], None]) -> None:
        """Say what the queries that cost money will bill by their dry runs, before the first of them runs."""
        from evalsuite.sql import ENGINES

        billing = []
        for task in asked:
            with contextlib.suppress(EvalsuiteError):
                connection = connection_of(task, self._connections())
                if connection is not None and ENGINES[connection.engine].bills:
                    billing.append(self.prepared(task))
        if queries := [query for query in billing if not isinstance(query, Result)]:
            self._estimated = self._queries().bytes_to_bill(queries)
            most = int(asked[0].limits["billed_bytes"])
            many = "1 query" if len(queries) == 1 else f"{len(queries)} queries"
            tell(f"{many} will read {self._estimated:,} bytes by their dry runs; none may bill more than {most:,} (--max-bytes-billed)")

    def _timed(self, right: Sequence[Result], tasks: Mapping[str, Task]) -> Iterator[Result]:
        """The results of right answers with gold's time over theirs in `details.time_ratio`, where it could be measured."""
        pairs = []
        for task in (tasks[result.instance_id] for result in right):
            assert task.answer is not None
            asked = applicable(task.instance, task.answer)[0].parameters
            pairs.append((str(task.answer.value), str(asked["gold"]), task.databases[0], str(asked.get("evaluator", "bird-ex"))))
        for result, ratio in zip(right, self._queries().time_ratios(pairs) if pairs else (), strict=True):
            timed = {} if ratio is None else {"time_ratio": round(ratio, 4)}
            yield replace(result, details={**result.details, **timed})

    def place_of(self, task: Task) -> Path | None:
        """Where the table lies that the query of an answer gave; None where it was not run, or gave none."""
        return self._places.get(task.instance.instance_id)

    def spent(self) -> dict[str, Any] | None:
        """How many statements were run in this run, how many of them were known, and what they billed; None where there was none."""
        done = [answered.outcome for answered in self._ran.values() if not isinstance(answered.outcome, Fault)]
        if not self._ran:
            return None
        billed = [executed.cost.billed_bytes for executed in done if executed.cost.billed_bytes is not None and not executed.cost.cached]
        found = {"statements": len(self._ran), "failed": len(self._ran) - len(done), "known": sum(one.cost.cached for one in done)}
        estimated = {"estimated_bytes": self._estimated} if self._estimated else {}
        return found | estimated | ({"billed_bytes": sum(billed)} if billed else {})

    def _executed(self, tasks: Sequence[Task]) -> Iterator[Task | Result]:
        """Each task with the place of its table, or the result of one whose query gave none."""
        waiting: dict[str, Task] = {}
        queries: list[Query] = []
        for task in tasks:
            if (place := self._places.get(task.instance.instance_id)) is not None:
                yield replace(task, executed=place)
                continue
            prepared = self.prepared(task)
            if isinstance(prepared, Result):
                yield prepared
            else:
                waiting[prepared.name] = task
                queries.append(prepared)
        for answered in self._queries().answers(queries) if queries else ():
            task = waiting[answered.query.name]
            self._ran[answered.query.name] = answered
            yield self._failed(task, answered) if isinstance(answered.outcome, Fault) else self._kept(task, answered.outcome)

    def with_databases(self, task: Task) -> Task | Result:
        """The task of a pair of queries with the files that it runs on, or the result of one whose database is not here."""
        from evalsuite.sql.pairs import EVALUATORS, files_of

        assert task.answer is not None
        asked = applicable(task.instance, task.answer)[0].parameters
        folder, name = self._connections().databases, str(asked.get("database", ""))
        if folder is None:
            return settle_early(task) or task
        try:
            found = files_of(name, EVALUATORS[str(asked.get("evaluator", "bird-ex"))], folder)
        except FaultError as error:
            return unjudged(task, error.fault)
        if not found:
            where = f"{name}/{name}.sqlite and no {name}.sqlite"
            return unjudged(task, Fault(code="NEEDS_CONNECTION", detail=f"no {where} in the folder of --databases"))
        return replace(task, databases=tuple(map(str, found)))

    def prepared(self, task: Task) -> "Query | Result":
        """The query of an answer as it is to be run, or the result of one that cannot be."""
        from evalsuite.sql.session import QueryLimits
        from evalsuite.workers.queries import Query

        assert task.answer is not None
        name = task.instance.instance_id
        try:
            connection = connection_of(task, self._connections())
        except EvalsuiteError as error:
            return unjudged(task, Fault(code="NEEDS_CONNECTION", detail=in_one_sentence(error)))
        if connection is None:
            return faulty(task, Fault(code="SQL_NOT_ALLOWED"))
        files = AnswerFiles(task.submission_folder, name, task.limits, self._gold_inodes)
        path = task.answer.value if isinstance(task.answer.value, str) else ""
        from evalsuite.readers.answer_forms import read_query

        try:
            text = read_query(files, path, limit_bytes=QueryLimits.of(task.limits).sql_bytes)
        except FaultError as error:
            return faulty(task, error.fault)
        finally:
            self._digests[name] = files.digests()
        return Query(name=name, text=text, connection=connection, place=self._folder() / f"{file_name(name)}.csv")

    def _kept(self, task: Task, written: "Written") -> Task:
        self._places[task.instance.instance_id] = written.place
        return replace(task, executed=written.place)

    def _failed(self, task: Task, answered: "Answered") -> Result:
        fault = answered.outcome
        assert isinstance(fault, Fault)
        if side_of(fault) == "setup":
            return unjudged(task, fault, seconds=answered.seconds)
        status = {"TIMEOUT": "timeout", "WORKER_DIED": "crashed"}.get(fault.code, "submission_fault")
        return faulty(task, fault, status=status, seconds=answered.seconds)  # type: ignore[arg-type]

    def _described(self, result: Result) -> Result:
        """The result with what was read of its query, what that was run on and gave; its time is that of both stages."""
        if (digests := self._digests.get(result.instance_id)) is not None:
            result = replace(result, digests=digests)
        answered = self._ran.get(result.instance_id)
        if answered is None or isinstance(answered.outcome, Fault):
            return result
        written, connection = answered.outcome, answered.query.connection
        said = {"connection": connection.name, "engine": connection.engine, "rows": written.cost.rows, "columns": len(written.header)}
        return replace(result, details={**result.details, "sql": said}, seconds=result.seconds + answered.seconds)


def connection_of(task: Task, connections: "Connections") -> "Connection | None":
    """The connection an instance is mapped to: by a check's parameters, else by id, metadata or prefix. Raises `EvalsuiteError`."""
    assert task.answer is not None
    checks = applicable(task.instance, task.answer)
    named = (check.parameters for check in checks if any(check.parameters.get(key) for key in CONNECTION_PARAMETERS))
    return connections.of_instance(task.instance, next(named, None))
