"""What a run has to do with databases: its connections, the gold computed through them, and the answers that are queries.

Nothing is read, started or made where no gold and no answer needs a database.
"""

import hashlib
import json
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import EvalsuiteError, FaultError
from evalsuite.readers.limits import CLOCK
from evalsuite.registry import CONNECTION_PARAMETERS
from evalsuite.run import living_gold
from evalsuite.run.gold_queries import check_as_of, is_judged_by, is_temporal, lacks_gold, query_files
from evalsuite.run.judged import Execute
from evalsuite.run.living_gold import Living, LivingGold
from evalsuite.run.sql_answers import FOLDER, SqlAnswers, has_query
from evalsuite.types import Check, Gold, GoldInstance, Task
from evalsuite.walls.scratch import ScratchFolder
from evalsuite.workers.requests import applicable, asks_pair, is_pair

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sql.execute import ResultCache
    from evalsuite.workers.queries import Queries


def hangs_on_database(task: Task) -> bool:
    """Whether more than the bytes of both folders can move a verdict."""
    return has_query(task) or asks_pair(task.instance.checks) or any(check.computed is not None for check in task.instance.checks)


def database_stamps(instances: Iterable[GoldInstance], connections: "Connections") -> dict[str, str]:
    """What tells the state of each database that a query about these instances runs on, by its name; of files alone, no server is asked.

    A digest of the name, size, time of change and inode of each file: what says that a verdict may be one on other data. A database that
    is not here is left out.
    """
    found: dict[str, str] = {}
    for instance in instances:
        for check in instance.checks:
            with suppress(EvalsuiteError, FaultError, OSError):
                name, files = _database_of(instance, check, connections, found)
                if files:
                    found[name] = _stamp_of(files)
    return found


def _database_of(instance: GoldInstance, check: Check, connections: "Connections", known: Container[str]) -> tuple[str, list[Path]]:
    """(its name, its files) of the database that answers to a check run on; no files where it is none, on a server, or known."""
    from evalsuite.sql import is_embedded
    from evalsuite.sql.pairs import EVALUATORS, files_of
    from evalsuite.sql.session import read_of

    asked = check.parameters
    if asks_pair([check]):
        evaluator = str(asked.get("evaluator", "bird-ex"))
        name = f"{asked['database']} ({evaluator})"
        if name in known or connections.databases is None:
            return name, []
        return name, files_of(str(asked["database"]), EVALUATORS[evaluator], connections.databases)
    connection = connections.of_instance(instance, asked if any(asked.get(key) for key in CONNECTION_PARAMETERS) else None)
    if connection is None or connection.name in known or not is_embedded(connection):
        return "", []
    place = Path(connection.database)
    return connection.name, [*map(Path, read_of(connection)), *(place.iterdir() if place.is_dir() else ())]


def _stamp_of(files: Sequence[Path]) -> str:
    """16 hex digits over the files that are there."""
    found = [(file.name, file.stat()) for file in sorted(files) if file.exists()]
    stamps = [[os.fsencode(name).hex(), one.st_size, one.st_mtime_ns, one.st_ino] for name, one in found]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16] if stamps else ""


class Databases:
    """The databases of one run; `close` ends whatever was started.

    `submission` is the folder of what was handed in, `folder` is --databases, `cache` where results of statements are kept.
    Raises `UsageError` where there is no such folder of databases.
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
    ) -> None:
        self._gold, self._submission = gold, submission
        if folder is not None:
            from evalsuite.gold.connection_files import databases_folder

            folder = databases_folder(folder)
        self._folder, self._limits, self._jobs, self._isolation = folder, limits, jobs, isolation
        self._cache = cache
        self._connections: Connections | None = None
        self._opened: list[Queries] = []
        self._place: ScratchFolder | None = None

    def living_gold(
        self,
        tasks: Sequence[Task],
        *,
        as_of: str | None = None,
        cache: Path | None = None,
        resumed: Path | None = None,
        live: bool = False,
        submitted: bool = True,
    ) -> Living:
        """The tasks with the gold that queries give computed, or taken from `cache` or from the run folder `resumed`.

        `live` computes it where gold exists too. Nothing is computed for an instance without an answer, unless `submitted` is False.
        Raises `UsageError`.
        """
        check_as_of(as_of)
        checks = [(task, check) for task in tasks for check in task.instance.checks if not submitted or is_judged_by(task, check)]
        if not any(query_files(task, check, live=live) or (is_temporal(check) and lacks_gold(task, check)) for task, check in checks):
            return Living(tasks=tasks, notes=("--live-gold changes nothing: no submitted instance has a gold query",) if live else ())
        computing = LivingGold(
            connections=self.connections(),
            # Of a suite that hides its gold nothing stays behind.
            queries=self._keeping("gold-sql") if self._gold.suite.extra.get("hidden") is not True else self.queries(),
            place=self.made("gold"),
            as_of=as_of,
            clock=int(self._limits.get(CLOCK, 0)),
            cache=cache,
            resumed=resumed / living_gold.FOLDER if resumed is not None else None,
            live=live,
            submitted=submitted,
        )
        return computing.compute(tasks)

    def sql_answers(
        self,
        others: Execute,
        run_folder: Path | None,
        gold_inodes: frozenset[tuple[int, int]],
        *,
        ves: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> SqlAnswers:
        """The executor that runs SQL answers and leaves judging to `others`; tables go to the run's folder where there is one.

        With `ves` right answers of pairs are timed beside gold's query. `tell` hears before they run what queries will bill.
        """
        return SqlAnswers(
            others,
            connections=self.connections,
            queries=lambda: self._keeping("sql"),
            folder=lambda: (run_folder / FOLDER).absolute() if run_folder is not None else self.made(FOLDER),
            gold_inodes=gold_inodes,
            ves=ves,
            tell=tell,
        )

    def stamps(self, tasks: Sequence[Task]) -> dict[str, str] | None:
        """The `database_stamps` of what the queries among the answers run on, as they are now; None where no answer is a query."""
        asked = [task.instance for task in tasks if task.answer is not None and (task.answer.is_query or asks_pair(task.instance.checks))]
        if not asked:
            return None
        try:
            return database_stamps(asked, self.connections())
        except EvalsuiteError:
            # Connections that cannot be read: no query runs, and each says why.
            return {}

    def state_of(self, task: Task) -> str | None:
        """What the verdict on a task hangs on beside the bytes of both folders, as a digest; empty where that is nothing.

        None where it may be another one tomorrow: of what is computed through connections, and of queries that ask the time.
        """
        if not hangs_on_database(task):
            return ""
        if not is_pair(task) or has_query(task) or any(check.computed is not None for check in task.instance.checks):
            return None
        from evalsuite.sql.pairs import EVALUATORS, files_of, state_of

        assert task.answer is not None
        asked = applicable(task.instance, task.answer)[0].parameters
        with suppress(EvalsuiteError, FaultError, OSError):
            folder, evaluator = self.connections().databases, EVALUATORS[str(asked.get("evaluator", "bird-ex"))]
            files = files_of(str(asked["database"]), evaluator, folder) if folder is not None else []
            return state_of([str(task.answer.value), str(asked["gold"])], files, task.limits)
        return None

    def connections(self) -> "Connections":
        """All connections known to the run; read when first asked for."""
        from evalsuite.gold.connection_files import read_connections

        if self._connections is None:
            folder = self._gold.folder
            self._connections = read_connections(folder, submission=self._submission, databases=self._folder)
        return self._connections

    def close(self) -> None:
        """End every statement under way and remove what was made for the run alone."""
        for queries in self._opened:
            queries.close()
        if self._place is not None:
            self._place.close()
            self._place = None

    def _keeping(self, name: str) -> "Queries":
        """What runs statements whose results are kept under this name, by statement and state of their database."""
        from evalsuite.sql.execute import ResultCache

        return self.queries(ResultCache(self._cache / name) if self._cache is not None else None)

    def queries(self, cache: "ResultCache | None" = None) -> "Queries":
        """What runs statements, in processes of its own, under the limits of the run."""
        from evalsuite.sql.session import QueryLimits
        from evalsuite.workers.queries import Queries

        queries = Queries(
            limits=QueryLimits.of(self._limits),
            jobs=self._jobs,
            isolation=self._isolation,
            submission=self._submission,
            gold=self._gold.folder,
            cache=cache,
        )
        self._opened.append(queries)
        return queries

    def made(self, name: str) -> Path:
        """A folder of that name which is removed with the run's other ones."""
        if self._place is None:
            self._place = ScratchFolder()
        folder = self._place.path / name
        folder.mkdir(exist_ok=True)
        return folder
