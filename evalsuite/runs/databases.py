"""Databases of a run: connections, gold computed through them, and answers that are queries.

Nothing is read, started or created unless gold or an answer needs a database.

SQL answers are refused unless the suite maps the instance to a connection. They run there, and their result table is scored. The table is
written next to the results (`executed/<id>.csv`) and read like any CSV answer, so that anyone who doubts a verdict can submit that file.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, FaultError, error_sentence, join_names
from evalsuite.core.files import exists, is_dir
from evalsuite.core.registry import CONNECTION_PARAMETERS
from evalsuite.core.types import Check, Fault, Gold, GoldInstance, Result, Task
from evalsuite.readers.limits import CLOCK
from evalsuite.readers.paths import AnswerFiles, file_name
from evalsuite.runs import gold_queries
from evalsuite.runs.executors import Execute, pipeline
from evalsuite.runs.gold_queries import ComputedGold, GoldQueryRunner, check_as_of, is_scored_by, is_temporal, lacks_gold, query_files
from evalsuite.runs.instance_checks import applicable_checks, asks_pair, fault_result, is_pair, reads_of, skip_unscorable, unjudged_result
from evalsuite.sandbox.temp_dirs import TempDir

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sandbox.fork_server import ForkServer
    from evalsuite.sql.execution import Query, QueryOutcome, QueryPool, ResultCache
    from evalsuite.sql.session import Connection, Written


FOLDER = "executed"
# Queries per batch before their tables are scored: a killed run loses no more.
_AT_ONCE = 32


def has_query(task: Task) -> bool:
    """Return whether the answer of a task is a query whose table a check can score."""
    answer = task.answer
    if answer is None or not answer.is_query or skip_unscorable(task) is not None:
        return False
    return "table" in reads_of(applicable_checks(task.instance, answer))


class SqlAnswers:
    """Stage of the answers that are queries: it runs them, and has `score` compare their tables.

    `folder` receives the tables; it, `connections` and `queries` are opened only if there is a query to run.
    """

    def __init__(
        self,
        *,
        connections: "Callable[[], Connections]",
        queries: "Callable[[], QueryPool]",
        folder: Callable[[], Path],
        score: Execute,
        gold_inodes: frozenset[tuple[int, int]] = frozenset(),
        ves: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._connections, self._queries, self._score, self._ves = connections, queries, score, ves
        self._folder, self._gold_inodes = folder, gold_inodes
        self._tell, self._estimated = tell, 0
        self._ran: dict[str, QueryOutcome] = {}
        self._places: dict[str, Path] = {}
        self._digests: dict[str, dict[str, str]] = {}

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task as soon as it is known."""
        queried, pairs = list(filter(has_query, tasks)), list(filterfalse(has_query, tasks))
        steps = [self.with_databases(task) for task in pairs]
        if self._tell is not None:
            self._report_readiness(queried, pairs, steps, self._tell)
            if queried:
                self._report_cost(queried, self._tell)
        yield from (step for step in steps if isinstance(step, Result))
        with_files = {step.instance.instance_id: step for step in steps if isinstance(step, Task)}
        right: list[Result] = []
        for result in self._score(list(with_files.values())):
            if self._ves and result.official == 1:
                right.append(result)
            else:
                yield result
        for start in range(0, len(queried), _AT_ONCE):
            yield from map(self._describe, pipeline([self._execute_query, self._score], queried[start : start + _AT_ONCE]))
        # When nothing else is running.
        yield from self._time_query(right, with_files)

    def _report_readiness(
        self, queried: Sequence[Task], pairs: Sequence[Task], steps: Sequence[Task | Result], tell: Callable[[str], None]
    ) -> None:
        """Report how many queries can run here, how many need an account or a client, and which databases lack."""
        from evalsuite.sql import ENGINES

        accounts, clients, databases = list[str](), list[str](), list[str]()
        for task in queried:
            try:
                connection = connection_of(task, self._connections())
                if connection is not None and not ENGINES[connection.engine].has_client:
                    clients.append(connection.engine)
            except EvalsuiteError:
                entry = task.instance.question_entry or {}
                is_file = entry.get("engine", "") in ("", "sqlite", "duckdb")
                (databases if is_file else accounts).append(str(entry.get("db" if is_file else "engine") or "unnamed"))
        unready_tasks = [task for task, ready in zip(pairs, steps, strict=True) if isinstance(ready, Result) and task.answer is not None]
        databases += [
            str(applicable_checks(task.instance, task.answer)[0].parameters.get("database", "")) for task in unready_tasks if task.answer
        ]
        one = len(databases) == 1
        parts = [
            f"{len(names)} need{'s' * (len(names) == 1)} {what} ({', '.join(sorted({*names}))})"
            for what, names in (("an account", accounts), ("a client that is not installed", clients))
            if names
        ]
        names = join_names(sorted({*databases}))
        parts += [f"{len(databases)} {'lacks its' if one else 'lack their'} database ({names}): --databases DIR"] if databases else []
        if n_all := len(queried) + len(pairs):
            n_ready = n_all - len(accounts) - len(clients) - len(databases)
            tell(f"{n_ready} of {n_all} {'query' if n_all == 1 else 'queries'} can run here{'; ' * bool(parts)}{', '.join(parts)}")

    def _report_cost(self, tasks: Sequence[Task], tell: Callable[[str], None]) -> None:
        """Report the bytes that paid queries will bill, from their dry runs, before the first one runs."""
        from evalsuite.sql import ENGINES

        billing = []
        for task in tasks:
            with contextlib.suppress(EvalsuiteError):
                connection = connection_of(task, self._connections())
                if connection is not None and ENGINES[connection.engine].bills and ENGINES[connection.engine].has_client:
                    billing.append(self.prepare(task))
        if queries := [query for query in billing if not isinstance(query, Result)]:
            self._estimated, n_unknown = self._queries().bytes_to_bill(queries)
            most = int(tasks[0].limits["billed_bytes"])
            many = "1 query" if (n := len(queries) - n_unknown) == 1 else f"{n} queries"
            unknown = f", {n_unknown} could not be estimated" if n_unknown else ""
            limit = f"none may bill more than {most:,} (--max-bytes-billed)"
            if n_unknown < len(queries):
                tell(f"{many} will read {self._estimated:,} bytes by their dry runs{unknown}; {limit}")
            else:
                tell(f"what the queries will read is not known: no dry run succeeded; {limit}")

    def _time_query(self, right: Sequence[Result], tasks: Mapping[str, Task]) -> Iterator[Result]:
        """Yield right answers with (gold's time / their time) in `details.time_ratio`, where it could be measured."""
        pairs = []
        for task in (tasks[result.instance_id] for result in right):
            assert task.answer is not None
            parameters = applicable_checks(task.instance, task.answer)[0].parameters
            pairs.append((str(task.answer.value), str(parameters["gold"]), task.databases[0], str(parameters.get("evaluator", "bird-ex"))))
        for result, ratio in zip(right, self._queries().time_ratios(pairs) if pairs else (), strict=True):
            timed = {} if ratio is None else {"time_ratio": round(ratio, 4)}
            yield replace(result, details={**result.details, **timed})

    def place_of(self, task: Task) -> Path | None:
        """Return the file of the table that an answer's query gave; None if it was not run or gave none."""
        return self._places.get(task.instance.instance_id)

    def cost(self) -> dict[str, Any] | None:
        """Return how many statements ran, how many were cached, and what they billed; None if there were none."""
        done = [answered.outcome for answered in self._ran.values() if not isinstance(answered.outcome, Fault)]
        if not self._ran:
            return None
        billed = [executed.cost.billed_bytes for executed in done if executed.cost.billed_bytes is not None and not executed.cost.cached]
        spent = {"statements": len(self._ran), "failed": len(self._ran) - len(done), "known": sum(run.cost.cached for run in done)}
        estimated = {"estimated_bytes": self._estimated} if self._estimated else {}
        return spent | estimated | ({"billed_bytes": sum(billed)} if billed else {})

    def _execute_query(self, tasks: Sequence[Task]) -> Iterator[Task | Result]:
        """Yield each task with the path of its table, or the result of one whose query gave none."""
        waiting: dict[str, Task] = {}
        queries: list[Query] = []
        for task in tasks:
            if (place := self._places.get(task.instance.instance_id)) is not None:
                yield replace(task, executed=place)
                continue
            prepared = self.prepare(task)
            if isinstance(prepared, Result):
                yield prepared
            else:
                waiting[prepared.name] = task
                queries.append(prepared)
        for answered in self._queries().answers(queries) if queries else ():
            task = waiting[answered.query.name]
            self._ran[answered.query.name] = answered
            yield self._fail(task, answered) if isinstance(answered.outcome, Fault) else self._keep_result(task, answered.outcome)

    def with_databases(self, task: Task) -> Task | Result:
        """Return a query-pair task with its database files, or the result of one whose database is missing."""
        from evalsuite.sql.query_pairs import EVALUATORS, files_of

        assert task.answer is not None
        parameters = applicable_checks(task.instance, task.answer)[0].parameters
        folder, name = self._connections().databases, str(parameters.get("database", ""))
        if folder is None:
            return skip_unscorable(task) or task
        try:
            files = files_of(name, EVALUATORS[str(parameters.get("evaluator", "bird-ex"))], folder)
        except FaultError as error:
            return unjudged_result(task, error.fault)
        if not files:
            where = f"{name}/{name}.sqlite and no {name}.sqlite"
            return unjudged_result(task, Fault(code="NEEDS_CONNECTION", detail=f"no {where} in the folder of --databases"))
        return replace(task, databases=tuple(map(str, files)))

    def prepare(self, task: Task) -> "Query | Result":
        """Return the query of an answer as it will run, or the result of one that cannot run."""
        from evalsuite.sql.execution import Query
        from evalsuite.sql.session import QueryLimits

        assert task.answer is not None
        name = task.instance.instance_id
        try:
            connection = connection_of(task, self._connections())
        except EvalsuiteError as error:
            return unjudged_result(task, Fault(code="NEEDS_CONNECTION", detail=error_sentence(error)))
        if connection is None:
            return fault_result(task, Fault(code="SQL_NOT_ALLOWED"))
        files = AnswerFiles(task.submission_folder, name, task.limits, self._gold_inodes)
        path = task.answer.value if isinstance(task.answer.value, str) else ""
        from evalsuite.readers.load_answer import read_query

        try:
            text = read_query(files, path, limit_bytes=QueryLimits.from_names(task.limits).sql_bytes)
        except FaultError as error:
            return fault_result(task, error.fault)
        finally:
            self._digests[name] = files.digests()
        return Query(name=name, text=text, connection=connection, place=self._folder() / f"{file_name(name)}.csv")

    def _keep_result(self, task: Task, written: "Written") -> Task:
        self._places[task.instance.instance_id] = written.place
        return replace(task, executed=written.place)

    def _fail(self, task: Task, answered: "QueryOutcome") -> Result:
        fault = answered.outcome
        assert isinstance(fault, Fault)
        status = {"TIMEOUT": "timeout", "WORKER_DIED": "crashed"}.get(fault.code, "submission_fault")
        return fault_result(task, fault, status=status, seconds=answered.seconds)  # type: ignore[arg-type]

    def _describe(self, result: Result) -> Result:
        """Return the result with the query's features, its execution and its output; its time covers both stages."""
        if (digests := self._digests.get(result.instance_id)) is not None:
            result = replace(result, digests=digests)
        answered = self._ran.get(result.instance_id)
        if answered is None or isinstance(answered.outcome, Fault):
            return result
        written, connection = answered.outcome, answered.query.connection
        cost = {"connection": connection.name, "engine": connection.engine, "rows": written.cost.rows, "columns": len(written.header)}
        return replace(result, details={**result.details, "sql": cost}, seconds=result.seconds + answered.seconds)


def connection_of(task: Task, connections: "Connections") -> "Connection | None":
    """Return the connection of an instance, by a check's parameters, else by id, metadata or prefix. Raises `EvalsuiteError`."""
    assert task.answer is not None
    checks = applicable_checks(task.instance, task.answer)
    parameter_sets = (check.parameters for check in checks if any(check.parameters.get(key) for key in CONNECTION_PARAMETERS))
    return connections.of_instance(task.instance, next(parameter_sets, None))


def runs_query(task: Task) -> bool:
    """Return whether `SqlAnswers` scores a task: a query gives its table, or a check runs the answer next to gold's query."""
    return has_query(task) or is_pair(task)


def hangs_on_database(task: Task) -> bool:
    """Return whether more than the bytes of both folders can change the verdict."""
    return has_query(task) or asks_pair(task.instance.checks) or any(check.computed is not None for check in task.instance.checks)


def database_stamps(instances: Iterable[GoldInstance], connections: "Connections") -> dict[str, str]:
    """Return database name -> stamp of each database that a query on these instances runs on. Only files are checked, never a server.

    A stamp is a digest of name, size, modification time and inode of each file; another stamp means that a verdict may be one on other
    data. Missing databases are left out.
    """
    stamps: dict[str, str] = {}
    for instance in instances:
        for check in instance.checks:
            with suppress(EvalsuiteError, FaultError, OSError):
                name, files = _database_of(instance, check, connections, stamps)
                if files:
                    stamps[name] = _stamp_of(files)
    return stamps


def _database_of(instance: GoldInstance, check: Check, connections: "Connections", ready_names: Container[str]) -> tuple[str, list[Path]]:
    """Return (name, files) of the database that an answer's check runs on; no files if there is none, it is on a server, or it is known."""
    from evalsuite.sql import is_embedded
    from evalsuite.sql.query_pairs import EVALUATORS, files_of
    from evalsuite.sql.session import read_of

    parameters = check.parameters
    if asks_pair([check]):
        evaluator = str(parameters.get("evaluator", "bird-ex"))
        name = f"{parameters['database']} ({evaluator})"
        if name in ready_names or connections.databases is None:
            return name, []
        return name, files_of(str(parameters["database"]), EVALUATORS[evaluator], connections.databases)
    connection = connections.of_instance(instance, parameters if any(parameters.get(key) for key in CONNECTION_PARAMETERS) else None)
    if connection is None or connection.name in ready_names or not is_embedded(connection):
        return "", []
    place = Path(connection.database)
    return connection.name, [*map(Path, read_of(connection)), *(place.iterdir() if is_dir(place) else ())]


def _stamp_of(files: Sequence[Path]) -> str:
    """Return 16 hex digits over the files that exist."""
    states = [(file.name, file.stat()) for file in sorted(files) if exists(file)]
    stamps = [[os.fsencode(name).hex(), state.st_size, state.st_mtime_ns, state.st_ino] for name, state in states]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16] if stamps else ""


class Databases:
    """The databases of one run; `close` ends everything that was started.

    `submission` is the submission folder, `folder` is --databases, `cache` keeps statement results. `fork_server` forks the workers that
    run statements as long as it runs; without one, a server is started for the first statement on a file. Raises `UsageError` if the
    folder of databases does not exist.
    """

    def __init__(
        self,
        gold: Gold,
        submission: Path,
        *,
        limits: Mapping[str, int | float],
        jobs: int,
        isolation: str,
        folder: Path | None = None,
        cache: Path | None = None,
        fork_server: "ForkServer | None" = None,
    ) -> None:
        self._gold, self._submission, self._fork_server = gold, submission, fork_server
        if folder is not None:
            from evalsuite.gold.connection_files import databases_folder

            folder = databases_folder(folder)
        self._folder, self._limits, self._jobs, self._isolation = folder, limits, jobs, isolation
        self._cache = cache
        self._connections: Connections | None = None
        self._opened: list[QueryPool] = []
        self._servers = contextlib.ExitStack()
        self._place: TempDir | None = None

    def gold_queries(
        self,
        tasks: Sequence[Task],
        *,
        as_of: str | None = None,
        cache: Path | None = None,
        resumed: Path | None = None,
        live: bool = False,
        submitted: bool = True,
    ) -> ComputedGold:
        """Return the tasks with query gold computed, or taken from `cache` or from the run folder `resumed`.

        `live` computes it even where gold exists. Nothing is computed for an instance without an answer, unless `submitted` is False.
        Raises `UsageError`.
        """
        check_as_of(as_of)
        checks = [(task, check) for task in tasks for check in task.instance.checks if not submitted or is_scored_by(task, check)]
        if not any(query_files(task, check, live=live) or (is_temporal(check) and lacks_gold(task, check)) for task, check in checks):
            return ComputedGold(tasks=tasks, notes=("--live-gold changes nothing: no submitted instance has a gold query",) if live else ())
        computing = GoldQueryRunner(
            connections=self.connections(),
            # A suite that hides its gold leaves nothing behind.
            queries=self._cached_queries("gold-sql") if self._gold.suite.extra.get("hidden") is not True else self.queries(),
            place=self.make_folder("gold"),
            as_of=as_of,
            clock=int(self._limits.get(CLOCK, 0)),
            cache=cache,
            resumed=resumed / gold_queries.FOLDER if resumed is not None else None,
            live=live,
            submitted=submitted,
        )
        return computing.compute(tasks)

    def sql_answers(
        self,
        run_folder: Path | None,
        gold_inodes: frozenset[tuple[int, int]],
        score: Execute,
        *,
        ves: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> SqlAnswers:
        """Return the stage that runs SQL answers; it writes tables to the run's folder if there is one, and `score` compares them.

        With `ves`, right answers of pairs are timed against gold's query. `tell` receives the bytes that queries will bill before they run.
        """
        return SqlAnswers(
            connections=self.connections,
            queries=lambda: self._cached_queries("sql"),
            folder=lambda: (run_folder / FOLDER).absolute() if run_folder is not None else self.make_folder(FOLDER),
            score=score,
            gold_inodes=gold_inodes,
            ves=ves,
            tell=tell,
        )

    def stamps(self, tasks: Sequence[Task]) -> dict[str, str] | None:
        """Return the current `database_stamps` of the databases that answers query; None if no answer is a query."""
        queried = [task.instance for task in tasks if task.answer is not None and (task.answer.is_query or asks_pair(task.instance.checks))]
        if not queried:
            return None
        try:
            return database_stamps(queried, self.connections())
        except EvalsuiteError:
            # If connections cannot be read, no query runs, and each result has the reason.
            return {}

    def state_of(self, task: Task) -> str | None:
        """Return a digest of what a task's verdict depends on apart from the bytes of both folders; empty if nothing.

        None if it may differ tomorrow: gold computed through connections, and queries that read the clock.
        """
        if not hangs_on_database(task):
            return ""
        if not is_pair(task) or has_query(task) or any(check.computed is not None for check in task.instance.checks):
            return None
        from evalsuite.sql.query_pairs import EVALUATORS, files_of, state_of

        assert task.answer is not None
        parameters = applicable_checks(task.instance, task.answer)[0].parameters
        with suppress(EvalsuiteError, FaultError, OSError):
            folder, evaluator = self.connections().databases, EVALUATORS[str(parameters.get("evaluator", "bird-ex"))]
            files = files_of(str(parameters["database"]), evaluator, folder) if folder is not None else []
            return state_of([str(task.answer.value), str(parameters["gold"])], files, task.limits)
        return None

    def connections(self) -> "Connections":
        """All connections of the run, read on first use."""
        from evalsuite.gold.connection_files import read_connections

        if self._connections is None:
            folder = self._gold.folder
            self._connections = read_connections(folder, submission=self._submission, databases=self._folder)
        return self._connections

    def close(self) -> None:
        """End every running statement and remove what was created for the run only."""
        for queries in self._opened:
            queries.close()
        self._servers.close()
        if self._place is not None:
            self._place.close()
            self._place = None

    def _cached_queries(self, name: str) -> "QueryPool":
        """Return the statement runner with a result cache of this name, keyed on statement and database state."""
        from evalsuite.sql.execution import ResultCache

        return self.queries(ResultCache(self._cache / name) if self._cache is not None else None)

    def queries(self, cache: "ResultCache | None" = None) -> "QueryPool":
        """Return the statement runner: separate processes, under the limits of the run."""
        from evalsuite.sql.execution import QueryPool
        from evalsuite.sql.session import QueryLimits

        queries = QueryPool(
            limits=QueryLimits.from_names(self._limits),
            jobs=self._jobs,
            isolation=self._isolation,
            submission=self._submission,
            gold=self._gold.folder,
            cache=cache,
            fork_server=self._running_server,
        )
        self._opened.append(queries)
        return queries

    def _running_server(self) -> "ForkServer | None":
        """Return the fork server of all statements; None if the system cannot fork.

        A run has another one for scoring, whose workers would have less memory left beside the library of a database.
        """
        from evalsuite.sandbox.fork_server import fork_server_for

        if self._fork_server is None or not self._fork_server.alive:
            self._fork_server = self._servers.enter_context(fork_server_for(self._submission.resolve()))
        return self._fork_server

    def make_folder(self, name: str) -> Path:
        """Return a folder of that name, which is removed with the run's other temporary folders."""
        if self._place is None:
            self._place = TempDir()
        folder = self._place.path / name
        folder.mkdir(exist_ok=True)
        return folder
