"""Gold from queries: computed when a run starts and stored in the run with its hash and time.

Gold and answers never share a connection: each statement has its own, and gold's statements run in other processes than answers'.

Existing gold has priority. A query (`<id>/gold.sql`, in the layouts lite and snow `sql/<id>.sql`) is used if a check names only `.sql`
files (the meaning of `temporal` without a gold), if the gold tables that a check names do not exist, or under `--live-gold`.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import file_digest
from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError, describe, error_sentence, side_of, write_error
from evalsuite.core.files import is_file
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.registry import check_parameters
from evalsuite.core.types import Check, Fault, Problem, Task
from evalsuite.gold.spec import GOLD_QUERY, TABLES, TEXTS, names_queries
from evalsuite.readers.paths import FromRoot, file_name, resolve_in_side
from evalsuite.runs.instance_checks import applicable_checks, asks_pair
from evalsuite.runs.run_files import write_atomically
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sql.execution import Query, QueryOutcome, QueryPool


# `{{as_of}}` is the bare day, `:as_of` the day as an SQL string; `x::as_of` is a cast.
_BARE, _QUOTED = lazy_pattern(r"\{\{\s*as_of\s*\}\}"), lazy_pattern(r"(?<![:\w]):as_of\b")


def query_files(task: Task, check: Check, *, live: bool = False) -> list[Path]:
    """Return the query files of a check's gold, in the order of its golds; empty if its gold is not a query.

    With `live` (--live-gold) a query replaces existing gold. A list of tables that must all match needs a query for each.
    """
    reads = SCORERS.load(check.scorer).marker.reads
    if reads not in TABLES | TEXTS or (reads in TEXTS and not is_temporal(check)):
        return []
    if lacks_gold(task, check):
        return find_queries(task, check)
    files = find_queries(task, check) if live else []
    return [] if reads == "tables" and len(files) != len(check.gold_names) else files


def is_scored_by(task: Task, check: Check) -> bool:
    """Return whether this check can score the submitted answer; only then its gold is needed."""
    return (
        task.answer is not None and task.answer.fault is None and any(check is own for own in applicable_checks(task.instance, task.answer))
    )


def find_queries(task: Task, check: Check) -> list[Path]:
    """Return the query files of a check's gold, whether it is computed now or exists in files too."""
    if names_queries(check):
        return list(_files(task, check))
    folder, name = task.gold_folder, task.instance.instance_id
    return [place for place in (folder / name / GOLD_QUERY, folder / "sql" / f"{name}.sql") if is_file(place)][:1]


def by_the_clock(tasks: Iterable[Task], connections: "Callable[[], Connections]") -> Iterator[str]:
    """Yield the ids of the instances whose gold query reads the clock, as far as its text and engine show."""
    for task in tasks:
        if any(_asks_time(task, check, connections) for check in task.instance.checks):
            yield task.instance.instance_id


def _asks_time(task: Task, check: Check, connections: "Callable[[], Connections]") -> bool:
    from evalsuite.readers.load_answer import read_gold_query
    from evalsuite.sql.frozen_clock import reads_time

    if asks_pair([check]):
        return reads_time(str(check.parameters.get("gold", "")), "sqlite")
    try:
        texts = [read_gold_query(file) for file in query_files(task, check)]
        connection = connections().of_instance(task.instance, check.parameters) if texts else None
        return connection is not None and any(reads_time(text, connection.engine) for text in texts)
    except (EvalsuiteError, FaultError):
        # The reason why the query cannot run is reported when it runs.
        return False


def is_temporal(check: Check) -> bool:
    """Return whether gold says that the right answer changes with time."""
    return check.extra.get("temporal") is True


def lacks_gold(task: Task, check: Check) -> bool:
    """Return whether a check has no gold until its query runs."""
    return names_queries(check) or (
        SCORERS.load(check.scorer).marker.reads in TABLES and not any(is_file(file) for file in _files(task, check))
    )


def _files(task: Task, check: Check) -> Iterator[Path]:
    for name in check.gold_names:
        try:
            yield task.gold_folder / resolve_in_side(task.instance.instance_id, name)
        except FaultError:
            # Reading it as gold reports the bad name.
            continue


def check_as_of(text: str | None, clock: float = 0) -> str:
    """Return the day for `as_of`: the given YYYY-MM-DD, else that of a frozen `clock`, else today in UTC.

    Raises `UsageError`.
    """
    if text is None:
        return (datetime.fromtimestamp(clock, UTC) if clock else datetime.now(UTC)).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"--as-of cannot be {text!r}", hint="write a day as 2026-05-31") from None


def with_as_of(sql: str, day: str) -> tuple[str, bool]:
    """Return (the statement with its placeholders filled, whether it has any)."""
    filled = _QUOTED.sub(f"'{day}'", _BARE.sub(day, sql))
    return filled, filled != sql


FOLDER = "gold"
# Problems of a check that computed gold resolves.
_OF_MISSING_GOLD = frozenset({"NEEDS_CONNECTION", "BAD_GOLD_FILE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """One computed gold: its file, the hashes of it and of its statement (12 hex digits), its time (UTC), its `as_of` day."""

    file: Path
    hash: str
    sql_hash: str
    computed_at: str
    as_of: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return its entry in `run.json` and in the file next to the gold."""
        row = {"hash": self.hash, "computed_at": self.computed_at, "sql_hash": self.sql_hash}
        return row | ({"as_of": self.as_of} if self.as_of else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedGold:
    """The tasks with computed gold, the golds by instance id (`id/name` if there are several), and notes."""

    tasks: Sequence[Task]
    frozen: Mapping[str, Frozen] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """6 hex digits over all computed golds, empty if there are none: part of the signature."""
        return _digest(json.dumps(sorted((name, frozen.hash) for name, frozen in self.frozen.items())).encode())[:6] if self.frozen else ""

    def to_json(self) -> dict[str, Any]:
        """Return the `living_gold` of `run.json`."""
        return {name: frozen.to_json() for name, frozen in self.frozen.items()}

    def freeze(self, run_folder: Path) -> None:
        """Copy every computed gold into the run's folder. Raises `OutputError`."""
        try:
            for frozen in self.frozen.values():
                _keep(frozen, run_folder / FOLDER)
        except OSError as error:
            raise write_error(run_folder / FOLDER, error) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """One gold query of a run; `as_of` is its day."""

    query: "Query"
    sql_hash: str
    as_of: str | None


class GoldQueryRunner:
    """Compute the query gold of tasks into `place`, a temporary folder of this run.

    Gold in `cache` or of a `resumed` run is reused if it was computed on the same `clock` (when one is frozen); new gold is added to
    `cache`. `live` and `submitted` are those of `Databases.gold_queries`.
    """

    def __init__(
        self,
        *,
        connections: "Connections",
        queries: "QueryPool",
        place: Path,
        as_of: str | None = None,
        clock: int = 0,
        cache: Path | None = None,
        resumed: Path | None = None,
        live: bool = False,
        submitted: bool = True,
    ) -> None:
        self._connections, self._queries, self._place = connections, queries, place
        self._live, self._submitted = live, submitted
        self._day, self._dated, self._cache = check_as_of(as_of, clock), as_of is not None, cache
        self._clock = [clock] if clock else []
        self._known = [folder for folder in (resumed, cache) if folder is not None]
        self._requests: dict[str, _Request] = {}
        self._frozen: dict[str, Frozen] = {}
        self._faults: dict[str, Problem] = {}
        self._notes: list[str] = []

    def compute(self, tasks: Sequence[Task]) -> ComputedGold:
        """Return the tasks with every query gold computed once; a failed query becomes a problem of its check."""
        query_names = [[self._find_queries(task, check) for check in task.instance.checks] for task in tasks]
        new = [request.query for name, request in self._requests.items() if not self._take_over(name, request)]
        for answered in self._queries.answers(new) if new else ():
            self._note(answered)
        if self._dated and not any(request.as_of for request in self._requests.values()):
            self._notes.append("--as-of changes nothing: no gold query has a placeholder {{as_of}} or :as_of")
        new_tasks = []
        for task, golds in zip(tasks, query_names, strict=True):
            checks = tuple(self._with_computed_gold(check, gold) for check, gold in zip(task.instance.checks, golds, strict=True))
            new_tasks.append(replace(task, instance=replace(task.instance, checks=checks)))
        frozen = {name: self._frozen[name] for name in self._requests if name in self._frozen}
        return ComputedGold(tasks=new_tasks, frozen=frozen, notes=tuple(self._notes))

    def _find_queries(self, task: Task, check: Check) -> list[str] | Problem | None:
        """Return the names of a check's queries, the problem that prevents them, or None if no query is needed."""
        if self._submitted and not is_scored_by(task, check):
            return None
        files, has_no_gold = query_files(task, check, live=self._live), lacks_gold(task, check)
        if not files:
            return (
                _needs(check, "the gold is temporal, and there is neither a gold file nor a gold query")
                if (has_no_gold and is_temporal(check))
                else None
            )
        if has_no_gold and (absent := next((path.name for path in files if not is_file(path)), "")):
            return Problem(code="BAD_GOLD_FILE", message=f"the gold query {absent} is missing", where=check.where)
        id_ = task.instance.instance_id
        try:
            connection = self._connections.of_instance(task.instance, check.parameters)
        except EvalsuiteError as error:
            return _needs(check, error_sentence(error).removeprefix(f"{check.where}: "))
        if connection is None:
            return _needs(check, f"{files[0].name} has no connection to run through")
        from evalsuite.readers.load_answer import read_gold_query
        from evalsuite.sql.execution import Query

        names = []
        for path in files:
            name = id_ if len(files) == 1 else f"{id_}/{path.stem}"
            try:
                text, dated = with_as_of(read_gold_query(path), self._day)
            except FaultError as error:
                return Problem(code="BAD_GOLD_FILE", message=f"{path.name}: {describe(error.fault)}", where=check.where)
            sql_hash = _digest(json.dumps([connection.engine, connection.name, text, *self._clock]).encode())
            place = self._place / f"{file_name(name)}-{sql_hash}.csv"
            query = Query(name=name, text=text, connection=connection, place=place)
            self._requests[name] = _Request(query=query, sql_hash=sql_hash, as_of=self._day if dated else None)
            names.append(name)
        return names

    def _take_over(self, name: str, request: _Request) -> bool:
        for folder in self._known:
            file = folder / request.query.place.name
            try:
                row, data = json.loads(file.with_suffix(".json").read_text(encoding="utf-8")), file.read_bytes()
                computed_at, then = str(row["computed_at"]), row["hash"]
            except (OSError, ValueError, TypeError, KeyError):
                continue
            if then == _digest(data):
                frozen = Frozen(file=file, hash=then, sql_hash=request.sql_hash, computed_at=computed_at, as_of=request.as_of)
                self._frozen[name] = _keep(frozen, self._place)
                return True
        return False

    def _note(self, answered: "QueryOutcome") -> None:
        """Write the output of a query, or record why it has none."""
        name, outcome = answered.query.name, answered.outcome
        if isinstance(outcome, Fault):
            absent = side_of(outcome) == "setup"
            text = outcome.detail if absent else f"the gold query failed: {describe(outcome)}"
            self._faults[name] = Problem(code=outcome.code if absent else "BAD_GOLD_FILE", message=text)
            return
        request = self._requests[name]
        hash_ = file_digest(outcome.place)[:12]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._frozen[name] = Frozen(file=outcome.place, hash=hash_, sql_hash=request.sql_hash, computed_at=now, as_of=request.as_of)
        if self._cache is not None:
            _keep(self._frozen[name], self._cache)

    def _with_computed_gold(self, check: Check, names: list[str] | Problem | None) -> Check:
        """Return the check with its computed gold in place of the specified one."""
        if names is None:
            return check
        others = tuple(problem for problem in check.problems if problem.code not in _OF_MISSING_GOLD)
        if isinstance(names, Problem):
            return replace(check, problems=(*others, names))
        if failed := [self._faults[name] for name in names if name in self._faults]:
            return replace(check, problems=(*others, replace(failed[0], where=check.where)))
        files = [self._frozen[name].file for name in names]
        if SCORERS.load(check.scorer).marker.reads in TEXTS:
            return _with_texts(replace(check, problems=others), files, self._place)
        return replace(check, parameters=_in_place(check, [FromRoot(file.name) for file in files]), computed=self._place, problems=others)


def drifts(living: ComputedGold, runs: Path, gold_hash: str) -> list[str]:
    """Return a note on each computed gold that differs from the same query's gold in the last run of this gold below `runs`."""
    if not living.frozen:
        return []
    from evalsuite.runs.history import find_runs

    notes, left = [], dict(living.frozen)
    for entry in sorted(find_runs(runs), key=lambda entry: entry.name, reverse=True):
        before = entry.run.get("living_gold")
        if entry.run.get("gold", {}).get("hash") != gold_hash or not isinstance(before, dict):
            continue
        for name in [name for name in left if isinstance(before.get(name), dict) and before[name].get("sql_hash") == left[name].sql_hash]:
            now, then = left.pop(name), before[name]
            if then.get("hash") != now.hash:
                notes.append(f"the gold of {name} has changed since {entry.name}: {then.get('hash')} -> {now.hash}")
        if not left:
            break
    return notes


def _with_texts(check: Check, files: Sequence[Path], place: Path) -> Check:
    """Return a text or number check with the single cells of its queries below `place` as its gold."""
    cells = [cell for file in files if (cell := _only_cell(file)) is not None]
    if len(cells) < len(files):
        if not names_queries(check):
            # The query belongs to another check of this instance, and this one has its own gold.
            return check
        problem = Problem(code="BAD_GOLD_FILE", message=f"the gold query of {check.scorer} must give one cell", where=check.where)
        return replace(check, problems=(*check.problems, problem))
    parameters = _in_place(check, cells)
    # Only now the gold can be validated: a NULL is no number.
    problems = check_parameters(SCORERS.load(check.scorer), parameters, where=check.where)
    priors = [problem for problem in check.problems if problem in problems or not problem.blocks]
    new = [replace(each, code="BAD_GOLD_FILE", message=f"of the gold query: {each.message}") for each in problems if each not in priors]
    return replace(check, parameters=parameters, computed=place, problems=(*priors, *new))


def _only_cell(file: Path) -> str | None:
    """Return the one cell below a table's header, None if there are none or more."""
    from evalsuite.readers.csv_table import csv_rows

    with file.open(encoding="utf-8", newline="") as handle:
        rows = [row for _, row in islice(csv_rows(handle), 3)]
    return rows[1][0] if len(rows) == 2 and len(rows[1]) == 1 else None


def _in_place(check: Check, golds: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a check with computed gold, a list if it has several."""
    return {**check.parameters, "gold": list(golds) if isinstance(check.parameters.get("gold"), list) else golds[0]}


def _needs(check: Check, why_: str) -> Problem:
    return Problem(code="NEEDS_CONNECTION", message=why_, hint="configure a connection for this instance", where=check.where)


def _keep(frozen: Frozen, folder: Path) -> Frozen:
    """Copy a computed gold and its description to another folder."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / frozen.file.name
    if place != frozen.file:
        import shutil

        shutil.copyfile(frozen.file, place)
    write_atomically(place.with_suffix(".json"), json.dumps(frozen.to_json()) + "\n")
    return replace(frozen, file=place)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
