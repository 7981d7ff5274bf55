"""Find what a gold folder needs and this machine lacks: databases, connections, clients, a judge, a program sandbox.

Each need lists its instances and its remedy. No query is run and no server is contacted. A database file is opened once, because a damaged
one, or one with pending changes next to it, is unusable too.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError
from evalsuite.core.registry import CONNECTION_PARAMETERS
from evalsuite.core.runtime import extra_line
from evalsuite.core.types import Check, Gold, GoldInstance
from evalsuite.gold.connection_files import Connections, read_connections
from evalsuite.gold.layouts import read_gold
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import runs_programs
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.query_pairs import EVALUATORS, files_of
from evalsuite.sql.session import Connection, QueryLimits, existing

# The package of an engine's client.
_CLIENTS = {"postgres": "psycopg", "snowflake": "snowflake.connector", "bigquery": "google.cloud.bigquery"}
Absent = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something missing, its remedy in one line, and the instances that cannot be scored without it.

    With `only_queries`, only answers that are queries cannot be scored.
    """

    what: str
    mend: str
    instances: tuple[str, ...]
    only_queries: bool = False


def needs_of(folder: Path, *, databases: Path | None = None, questions: Path | None = None) -> tuple[Gold, list[Need]]:
    """Return (the gold, its needs), the need of most instances first. Raises as `read_gold` and `read_connections` do."""
    gold = read_gold(folder, questions=questions)
    connections = read_connections(gold.folder if gold.folder.is_dir() else gold.folder.parent, databases=databases)
    found: dict[tuple[str, str, bool], list[str]] = {}
    for instance in gold.instances:
        named = [(*absent, False) for absent in _absent(gold, instance)]
        if not any(SCORERS.load(check.scorer).marker.reads == "query" for check in instance.checks):
            gold_asks = any(problem.code == "NEEDS_CONNECTION" for check in instance.checks for problem in check.problems)
            named += [(*absent, not gold_asks) for absent in _absent_connection(instance, connections, gold_asks=gold_asks)]
        else:
            named += [(*absent, False) for check in instance.checks for absent in _absent_files(check, connections)]
        for absent in dict.fromkeys(named):
            found.setdefault(absent, []).append(instance.instance_id)
    needs = [Need(what=what, mend=mend, instances=tuple(ids), only_queries=only) for (what, mend, only), ids in found.items()]
    return gold, sorted(needs, key=lambda need: -len(need.instances))


def _absent(gold: Gold, instance: GoldInstance) -> Iterator[Absent]:
    """Yield (what is missing, its remedy) of one instance, except its databases."""
    for check in instance.checks:
        entry = SCORERS.load(check.scorer)
        if entry.marker.reads == "query":
            continue
        for problem in check.problems:
            if problem.blocks and problem.code != "NEEDS_CONNECTION":
                yield _plain(problem.message, instance), problem.hint or FAULTS[problem.code].hint
        asks = entry.marker.reads == "batch" and SCORERS.plugin_batch(check.scorer) is None
        if "judge" not in gold.suite.extra and (asks or (not check.problems and entry.asks_judge(check.parameters))):
            yield FAULTS["NO_JUDGE"].message, FAULTS["NO_JUDGE"].hint
        if runs_programs([check.scorer, check.parameters, SCORERS.metrics.get(check.scorer, {})]) and not can_sandbox_programs():
            yield "no sandbox for programs on this machine", "run them in a container with user namespaces, or use --allow-programs"


def _absent_connection(instance: GoldInstance, connections: Connections, *, gold_asks: bool) -> Iterator[Absent]:
    """Yield the same for the connection that answers run through, and gold if it is a query (`gold_asks`)."""
    named = next((check.parameters for check in instance.checks if any(check.parameters.get(key) for key in CONNECTION_PARAMETERS)), None)
    try:
        connection = connections.of_instance(instance, named)
        if connection is not None:
            yield from _absent_client(connection)
        elif gold_asks:
            yield (
                "its gold is a query, and no connection is configured for it",
                "name the instance in connections.yaml (docs/connections.md)",
            )
    except EvalsuiteError as error:
        yield _plain(error.message, instance), error.hint


def _absent_client(connection: Connection) -> Iterator[Absent]:
    """Yield the file of an embedded engine, or the client of a server. Raises `EvalsuiteError` for the file."""
    engine = ENGINES[connection.engine]
    if engine.embedded:
        existing(connection)
        is_folder = connection.engine == "duckdb" and Path(connection.database).is_dir()
        if not is_folder and (absent := _unreadable(connection.engine, connection.database)):
            yield absent
        return
    with contextlib.suppress(ModuleNotFoundError):
        if find_spec(_CLIENTS.get(connection.engine, connection.engine)) is not None:
            return
    yield f"{connection.engine} needs its client library", extra_line(engine.extra or connection.engine)


def _absent_files(check: Check, connections: Connections) -> Iterator[Absent]:
    """Yield the files of the database that a pair of queries uses."""
    parameters = check.parameters
    if SCORERS.load(check.scorer).marker.reads != "query":
        return
    name, evaluator = str(parameters.get("database", "")), EVALUATORS[str(parameters.get("evaluator", "bird-ex"))]
    if connections.databases is None:
        yield "no folder of databases is given", "--databases DIR"
        return
    try:
        files = files_of(name, evaluator, connections.databases)
        yield from filter(None, (_unreadable("sqlite", str(file)) for file in files))
        if not files:
            yield f"no {name}/{name}.sqlite and no {name}.sqlite in the folder of --databases", "put the file there"
    except FaultError as error:
        yield error.fault.detail, "correct gold's line"


@lru_cache(maxsize=4096)
def _unreadable(engine: str, database: str) -> Absent | None:
    """Return why the file of an embedded engine cannot be opened, and the remedy; None if it can."""
    name = Path(database).name
    try:
        open_session(Connection(name=name, engine=engine, database=database), QueryLimits()).close()
    except EvalsuiteError as error:
        return error.message.removeprefix(f"connection {name!r}: "), error.hint
    except OSError as error:
        return f"{name}: {error.strerror}", "check its permissions"
    return None


def _plain(message: str, instance: GoldInstance) -> str:
    """Return a message without the place of the instance, so that equal needs of several instances are joined."""
    return message.removeprefix(f"{instance.where}: ").replace(instance.instance_id, "<id>")
