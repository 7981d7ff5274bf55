"""Where databases are: `connections.yaml`, the `connections` of suite.yaml and the reference's credential files -> `Connection`s by name.

Nothing of a submission is ever read for it, and no value that may be secret is shown: errors name keys, not values.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.errors import GoldError, UsageError, did_you_mean
from evalsuite.gold.suite_yaml import top_level
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.sql import ENGINES
from evalsuite.sql.session import Connection, is_there
from evalsuite.types import GoldInstance

CONNECTIONS_FILE = "connections.yaml"
# The reference's files: name of the connection -> (file, how its keys are called here).
_CREDENTIALS = {"bigquery": "bigquery_credential.json", "snowflake": "snowflake_credential.json"}
_MAPPING_KEYS = ("instances", "prefix", "metadata")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_FROM_FILE = "_from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A connection as it is configured, and the instances it is for; its secrets are still names of variables and files."""

    name: str
    engine: str
    where: str
    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    instances: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def fits(self, instance: GoldInstance) -> int:
        """How closely the entry names the instance: 0 not at all, more for longer prefixes, most for its id."""
        if instance.instance_id in self.instances:
            return 1 << 30
        if self.metadata and all(str(instance.extra.get(key)) == value for key, value in self.metadata.items()):
            return 1 << 20
        return max((len(prefix) for prefix in self.prefixes if instance.instance_id.startswith(prefix)), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """All connections known to a run; `databases` is the folder of --databases, from the root of the file system on."""

    entries: Mapping[str, Entry]
    databases: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> Connection:
        """The connection of that name with its secrets filled in. Raises `UsageError` for an unknown one or an unset variable."""
        if name not in self.entries:
            raise UsageError(f"no connection {name!r}", hint=did_you_mean(name, self.entries) if self.entries else "none is configured")
        entry = self.entries[name]
        said = f"connection {name!r}"
        options = {key: self._filled(value, key, entry) for key, value in entry.options.items()}
        for key in [key for key in options if key.endswith(_FROM_FILE)]:
            options[key.removesuffix(_FROM_FILE)] = _content(entry, key, str(options.pop(key)))
        for key in ("credentials", "private_key_file"):
            if isinstance(options.get(key), str) and options[key] != "default":
                options[key] = str(_seen_from(entry.folder, options[key], said))
        database = str(options.pop("database", ""))
        if database and ENGINES[entry.engine].embedded:
            folders = [folder for folder in (self.databases, entry.folder) if folder is not None]
            places = [_seen_from(folder, database, said) for folder in folders]
            database = str(next((place for place in places if is_there(place)), places[-1]))
        return Connection(name=name, engine=entry.engine, database=database, options=options)

    def of_instance(self, instance: GoldInstance, parameters: Mapping[str, Any] | None = None) -> Connection | None:
        """The connection the suite maps an instance to, None where it maps none.

        First the check's own parameters: `connection`, or `database` (a connection's name, else a file) with `engine`; then the gold
        line's key `connection`; then the entry that names the instance most closely: by id, by metadata, by the longest prefix.

        Raises:
            UsageError: the connection that is named is not configured; GoldError: `engine` and `database` do not fit together.
        """
        parameters = parameters or {}
        named = parameters.get("connection") or instance.extra.get("connection")
        if named:
            return self.get(str(named))
        if parameters.get("database") or parameters.get("engine"):
            return self._of_parameters(str(parameters.get("engine") or ""), str(parameters.get("database") or ""), instance.where)
        best = max(self.entries.values(), key=lambda entry: entry.fits(instance), default=None)
        return self.get(best.name) if best and best.fits(instance) else None

    def _of_parameters(self, engine: str, database: str, where: str) -> Connection:
        if database in self.entries or (not database and engine in self.entries):
            known = self.get(database or engine)
            if engine and known.engine != engine:
                raise GoldError(f"{where}: connection {known.name!r} is {known.engine}, not {engine}", hint="name the engine it has")
            return known
        if engine not in ENGINES:
            raise GoldError(f"{where}: unknown engine {engine!r}", hint=did_you_mean(engine, ENGINES))
        if not ENGINES[engine].embedded:
            raise GoldError(f"{where}: {engine} needs a configured connection", hint=f"add it to {CONNECTIONS_FILE}")
        if self.databases is None:
            raise UsageError(f"{where}: where does the database {database!r} lie?", hint="--databases DIR, or a connection of that name")
        # Gold names the file; where a link in the folder leads is up to whoever put it there.
        if database.startswith("~") or Path(database).is_absolute() or ".." in Path(database).parts:
            raise GoldError(f"{where}: the database {database!r} leaves the folder of --databases", hint="name a file in it")
        return Connection(name=database, engine=engine, database=str(_seen_from(self.databases, database, f"connection {database!r}")))

    def _filled(self, value: Any, key: str, entry: Entry) -> Any:
        """A value with each `${NAME}` in it replaced from the environment."""
        if not isinstance(value, str):
            return value

        def variable(found: re.Match[str]) -> str:
            if found[1] not in self.environment:
                raise UsageError(f"{entry.where}: {key} of {entry.name!r} needs the variable {found[1]}", hint=f"export {found[1]}=...")
            return self.environment[found[1]]

        return _VARIABLE.sub(variable, value)


def read_connections(
    gold: Path | None = None,
    *,
    working: Path | None = None,
    submission: Path | None = None,
    databases: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Connections:
    """All connections: of suite.yaml, then connections.yaml beside it, then in the working folder; of one name the last counts.

    The reference's `bigquery_credential.json` and `snowflake_credential.json`, in the working folder or else beside suite.yaml, give
    connections named `bigquery` and `snowflake` where none is configured. A folder inside the submission is never looked into.

        sales: {engine: duckdb, database: sales.duckdb, prefix: local_}
        warehouse:
          engine: postgres
          host: db.example.org
          user: reader
          password: ${SALES_PASSWORD}        # or password_from: FILE
          instances: [q7, q9]

    Raises:
        UsageError or GoldError: a file is no mapping of names to connections; the message names file and line, or connection and key.
    """
    # Who opens a database may stand elsewhere, as workers do: every place is told from the root on.
    here = Path.cwd()
    gold = here / gold if gold is not None else None
    hostile = submission.resolve() if submission is not None else None
    folders = [folder for folder in (gold, working or here) if folder is not None]
    folders = [folder for folder in folders if hostile is None or not folder.resolve().is_relative_to(hostile)]
    entries: dict[str, Entry] = {}
    if gold is not None:
        for key, value, where in _top_level_of(gold / SUITE_FILE):
            if key == "connections":
                entries.update((entry.name, entry) for entry in _described_connections(value, where, gold))
    for folder in folders:
        for name, value, where in _top_level_of(folder / CONNECTIONS_FILE):
            if name == "connections" and isinstance(value, dict) and "engine" not in value:
                entries.update((entry.name, entry) for entry in _described_connections(value, where, folder))
            else:
                entries[name] = _described_connection(name, value, where, folder)
    for name, file in _CREDENTIALS.items():
        place = next((folder / file for folder in reversed(folders) if (folder / file).is_file()), None)
        if place is not None and name not in entries:
            entries[name] = _of_reference(name, place)
    return Connections(
        entries=entries,
        databases=databases_folder(databases) if databases is not None else None,
        environment=os.environ if environment is None else environment,
    )


def databases_folder(given: Path) -> Path:
    """The folder of --databases from the root on, links followed; raises `UsageError` where there is none."""
    folder = _seen_from(Path.cwd(), given, "--databases")
    if not is_there(folder):
        raise UsageError(f"--databases {given}: no such folder", hint="name the folder that the database files lie in")
    if not folder.is_dir():
        raise UsageError(f"--databases {given}: not a folder", hint=f"name the folder it lies in: {given.parent}")
    return folder


def _seen_from(folder: Path, written: str | Path, whose: str) -> Path:
    """Where a path leads that somebody in `folder` wrote, links followed; `~` is the home. Raises `UsageError` for what is no path."""
    try:
        return (folder / Path(written).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"{whose}: the path cannot be followed", hint="an unknown home, or links in a circle?") from None


def _top_level_of(file: Path) -> Iterable[tuple[str, Any, str]]:
    """(key, value, "file:line") of a YAML mapping; nothing where there is no file."""
    return top_level(file, f"{file.resolve().parent.name}/{file.name}") if file.is_file() else ()


def _described_connections(value: Any, where: str, folder: Path) -> Iterable[Entry]:
    if not isinstance(value, dict):
        raise GoldError(f"{where}: connections must be a mapping of names to connections", hint="name: {engine: duckdb, database: FILE}")
    for name, described in value.items():
        yield _described_connection(str(name), described, where, folder)


def _described_connection(name: str, value: Any, where: str, folder: Path) -> Entry:
    """One connection, each key checked; errors tell keys and never values, any of which could be a secret."""
    if not isinstance(value, dict) or not isinstance(value.get("engine"), str):
        raise GoldError(f"{where}: connection {name!r} must be a mapping with an engine", hint="engines: " + ", ".join(ENGINES))
    options = {str(key): item for key, item in value.items() if key not in ("engine", *_MAPPING_KEYS)}
    engine = value["engine"]
    if engine not in ENGINES:
        raise GoldError(f"{where}: unknown engine {engine!r} of connection {name!r}", hint=did_you_mean(engine, ENGINES))
    secret = ENGINES[engine].secret
    known = [*ENGINES[engine].options, *(key + _FROM_FILE for key in secret)]
    for key, item in options.items():
        if key not in known:
            hint = did_you_mean(key, [*known, *_MAPPING_KEYS])
            raise GoldError(f"{where}: unknown key {key!r} of connection {name!r}", hint=hint)
        if not isinstance(item, str | int | float):
            raise GoldError(f"{where}: {key} of connection {name!r} must be text, a number, true or false", hint="put quotes round it")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict):
        raise GoldError(f"{where}: metadata of connection {name!r} must be a mapping", hint="metadata: {db_id: sales}")
    return Entry(
        name=name,
        engine=engine,
        where=where,
        folder=folder,
        options=options,
        instances=_text_or_texts(value.get("instances", []), f"{where}: instances of connection {name!r}"),
        prefixes=_text_or_texts(value.get("prefix", []), f"{where}: prefix of connection {name!r}"),
        metadata={str(key): str(item) for key, item in metadata.items()},
    )


def _text_or_texts(value: Any, what: str) -> tuple[str, ...]:
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise GoldError(f"{what} must be text or a list of text", hint="put quotes round ids that look like numbers")
    return tuple(value)


def _of_reference(name: str, file: Path) -> Entry:
    """The connection behind one of the reference's credential files."""
    if name == "bigquery":
        return Entry(name=name, engine=name, where=file.name, folder=file.parent, options={"credentials": file.name})
    try:
        values = json.loads(file.read_text(encoding="utf-8-sig"))
        known = ENGINES[name].options
        options = {key.lower(): item for key, item in values.items() if key.lower() in known and isinstance(item, str)}
    except (OSError, ValueError, AttributeError):
        raise UsageError(f"{file.name} cannot be read", hint='a JSON object: {"user": ..., "password": ..., "account": ...}') from None
    return Entry(name=name, engine=name, where=file.name, folder=file.parent, options=options)


def _content(entry: Entry, key: str, file: str) -> str:
    """The first line of a file that holds a secret."""
    try:
        return _seen_from(entry.folder, file, entry.where).read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{entry.where}: the file that {key} of {entry.name!r} names cannot be read", hint="one line of text") from None
