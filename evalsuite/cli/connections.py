"""`evalsuite connections`: the databases that SQL answers and living gold run against."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.errors import EXIT_OK, EXIT_USAGE
from evalsuite.types import Table

Gold = Annotated[Path | None, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder whose connections count too")]
Databases = Annotated[Path | None, typer.Option(help="the folder of database files", metavar="DIR")]


def list_(gold: Gold = None, databases: Databases = None) -> int:
    """List the configured connections: name, engine, where it is configured, which instances it is for; no value is shown."""
    from evalsuite.gold.connection_files import read_connections
    from evalsuite.reports.clean import clean

    connections = read_connections(_folder(gold), databases=databases)
    for entry in connections.entries.values():
        n = len(entry.instances)
        parts = [f"{n} instance{'s' * (n != 1)}"] * bool(n)
        parts += [f"prefix {', '.join(entry.prefixes)}"] * bool(entry.prefixes)
        parts += [f"metadata {', '.join(entry.metadata)}"] * bool(entry.metadata)
        use = "; ".join(parts) or "used where gold names it"
        print(clean(f"{entry.name:<16} {entry.engine:<10} {entry.where:<28} {use}"))
    if not connections.entries:
        print("no connections; docs/connections.md shows how to configure them")
    return EXIT_OK


def try_out(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="the connections to test; all if none is named")] = None,
    gold: Gold = None,
    databases: Databases = None,
    seconds: Annotated[float, typer.Option(help="wall clock of each test", min=0.1)] = 30.0,
    sql: Annotated[str, typer.Option(help="the SELECT that is run", metavar="SELECT")] = "SELECT 1 AS one",
) -> int:
    """Open each connection read-only and run a SELECT on it; exit code 2 if one of them fails."""
    from evalsuite.gold.connection_files import read_connections
    from evalsuite.reports.clean import clean

    connections = read_connections(_folder(gold), databases=databases)
    chosen = names or list(connections.entries)
    failed = 0
    for name in chosen:
        works, said = _tested(connections, name, seconds, sql)
        failed += not works
        print(clean(f" {'✓' if works else '✗'} {name:<16} {said}"))
    if not chosen:
        print("no connections; docs/connections.md shows how to configure them")
        return EXIT_OK
    print(f"{'failed' if failed else 'done'}: {len(chosen) - failed} of {len(chosen)} work")
    return EXIT_USAGE if failed else EXIT_OK


def _tested(connections: object, name: str, seconds: float, sql: str) -> tuple[bool, str]:
    """(whether it works, what to say of it)."""
    import contextlib

    from evalsuite.errors import EvalsuiteError, FaultError, in_one_sentence
    from evalsuite.gold.connection_files import Connections
    from evalsuite.sql import ENGINES, open_session
    from evalsuite.sql.base import QueryLimits
    from evalsuite.sql.execute import ask
    from evalsuite.sql.statement import only_statement

    assert isinstance(connections, Connections)
    try:
        connection = connections.get(name)
        limits = QueryLimits(seconds=seconds)
        with contextlib.closing(open_session(connection, limits)) as session:
            executed = ask(session, only_statement(sql, ENGINES[connection.engine].dialect), connection, limits)
            about = session.describe()
            kept = "results are kept" if session.fingerprint() else "results are not kept: no `version`"
    except (EvalsuiteError, FaultError) as error:
        return False, in_one_sentence(error)
    billed = "" if executed.cost.billed_bytes is None else f", {executed.cost.billed_bytes} bytes billed"
    return True, f"{about} · {_shape(executed.table)} in {executed.cost.seconds:.2f} s{billed} · {kept}"


def _shape(table: Table) -> str:
    rows, columns = table.n_rows, len(table.header)
    return f"{rows} row{'s' * (rows != 1)} x {columns} column{'s' * (columns != 1)}"


def _folder(gold: Path | None) -> Path | None:
    """The folder that is named, else `gold` where there is one."""
    from evalsuite.errors import UsageError

    if gold is None:
        return Path("gold") if Path("gold").is_dir() else None
    if not gold.is_dir():
        raise UsageError(f"no folder {gold}", hint="--gold names a gold folder")
    return gold


COMMANDS = {"list": list_, "test": try_out}
