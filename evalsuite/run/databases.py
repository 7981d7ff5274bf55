"""What a run has to do with databases: its connections, the gold computed through them, and the answers that are queries.

Nothing is read, started or made where no gold and no answer needs a database.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.run import living_gold
from evalsuite.run.gold_queries import check_as_of, is_temporal, lacks_gold, query_files
from evalsuite.run.judged import Execute
from evalsuite.run.living_gold import Living, LivingGold
from evalsuite.run.sql_answers import FOLDER, SqlAnswers, has_query
from evalsuite.types import Gold, Task
from evalsuite.walls.scratch import ScratchFolder

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sql.execute import ResultCache
    from evalsuite.workers.queries import Queries


def hangs_on_database(task: Task) -> bool:
    """Whether more than the bytes of both folders can move a verdict, so that it must not be remembered by them."""
    return has_query(task) or any(check.computed is not None for check in task.instance.checks)


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
        self, tasks: Sequence[Task], *, as_of: str | None = None, cache: Path | None = None, resumed: Path | None = None
    ) -> Living:
        """The tasks with their living gold computed, or taken over from `cache` or from the run folder `resumed`. Raises `UsageError`."""
        check_as_of(as_of)
        checks = [(task, check) for task in tasks for check in task.instance.checks]
        if not any(query_files(task, check) or (is_temporal(check) and lacks_gold(task, check)) for task, check in checks):
            return Living(tasks=tasks)
        computing = LivingGold(
            connections=self.connections(),
            queries=self.queries(),
            place=self.made("gold"),
            as_of=as_of,
            cache=cache,
            resumed=resumed / living_gold.FOLDER if resumed is not None else None,
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
            queries=self._answering,
            folder=lambda: (run_folder / FOLDER).absolute() if run_folder is not None else self.made(FOLDER),
            gold_inodes=gold_inodes,
            ves=ves,
            tell=tell,
        )

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

    def _answering(self) -> "Queries":
        from evalsuite.sql.execute import ResultCache

        return self.queries(ResultCache(self._cache / "sql") if self._cache is not None else None)

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
