"""Database connections by name, from `connections.yaml`, the `connections` of suite.yaml and the reference's credential files.

No file of a submission is read for this, and no value that may be secret is shown: errors name keys, not values.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import GoldError, UsageError, did_you_mean
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.types import GoldInstance
from evalsuite.gold.checkout import CREDENTIALS, credential_file, credential_options, with_login
from evalsuite.gold.suite_yaml import top_level
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.sql import ENGINES
from evalsuite.sql.session import Connection, is_there

CONNECTIONS_FILE = "connections.yaml"
_MAPPING_KEYS = ("instances", "prefix", "metadata")
_PATTERN = re.compile(r"\{(\w+)\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_FROM_FILE = "_from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A configured connection and its instances; secrets are still names of variables and files."""

    name: str
    engine: str
    where: str
    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    instances: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    # The error if the connection cannot be used; it affects only the instances that need it.
    problem: UsageError | None = None

    def fits(self, instance: GoldInstance) -> int:
        """Return how closely the entry names the instance: 0 not at all, more for longer prefixes, most for its id."""
        if instance.instance_id in self.instances:
            return 1 << 30
        fields = {**instance.question_entry, **instance.extra}
        if self.metadata and all(str(fields.get(key)) == value for key, value in self.metadata.items()):
            return 1 << 20
        return max((len(prefix) for prefix in self.prefixes if instance.instance_id.startswith(prefix)), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """All connections of a run; `databases` is the absolute path of the --databases folder."""

    entries: Mapping[str, Entry]
    databases: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str, instance: GoldInstance | None = None) -> Connection:
        """Return the connection of that name, with its secrets and the pattern in its `database` filled in for the instance.

        Raises `UsageError` for an unknown name, an unset variable, and a pattern that cannot be filled in.
        """
        if name not in self.entries:
            raise UsageError(f"no connection {name!r}", hint=did_you_mean(name, self.entries) if self.entries else "none is configured")
        entry = self.entries[name]
        if entry.problem is not None:
            raise entry.problem
        owner = f"connection {name!r}"
        options = {key: self._fill_variables(value, key, entry) for key, value in entry.options.items()}
        for key in [key for key in options if key.endswith(_FROM_FILE)]:
            options[key.removesuffix(_FROM_FILE)] = _content(entry, key, str(options.pop(key)))
        for key in ("credentials", "private_key_file"):
            if isinstance(options.get(key), str) and options[key] != "default":
                options[key] = str(_resolve_from(entry.folder, options[key], owner))
        pattern = str(options.pop("database", ""))
        database = _of_pattern(pattern, instance, owner)
        if database and ENGINES[entry.engine].embedded:
            folders = [folder for folder in (self.databases, entry.folder) if folder is not None]
            places = [_resolve_from(folder, database, owner) for folder in folders]
            database = str(next((place for place in places if is_there(place)), places[-1]))
        # Each database of a pattern is a separate connection.
        filled_name = name if not _PATTERN.search(pattern) else f"{name}: {_of_pattern(pattern, instance, owner)}"
        return Connection(name=filled_name, engine=entry.engine, database=database, options=options)

    def of_instance(self, instance: GoldInstance, parameters: Mapping[str, Any] | None = None) -> Connection | None:
        """Return the connection of an instance, None if there is none.

        A connection to a server has a login. In order: the check's own parameters (`connection`, or `database`, a connection's name or a
        file, with `engine`); the gold line's key `connection`; the entry that names the instance most closely, by id, by metadata or by the
        longest prefix; the engine and database in a file of questions.

        Raises:
            UsageError: the named connection is not configured, or has no login.
            GoldError: `engine` and `database` do not fit together.
        """
        return with_login(connection) if (connection := self._map_instance(instance, parameters)) is not None else None

    def _map_instance(self, instance: GoldInstance, parameters: Mapping[str, Any] | None) -> Connection | None:
        parameters = parameters or {}
        name = parameters.get("connection") or instance.extra.get("connection")
        if name:
            return self.get(str(name), instance)
        if parameters.get("database") or parameters.get("engine"):
            return self._of_parameters(str(parameters.get("engine") or ""), str(parameters.get("database") or ""), instance.where)
        best = max(self.entries.values(), key=lambda entry: entry.fits(instance), default=None)
        if best and best.fits(instance):
            return self.get(best.name, instance)
        return self._of_question(instance) if instance.question_entry.get("engine") else None

    def _of_question(self, instance: GoldInstance) -> Connection:
        """Return the connection named in the file of questions: a file of --databases, or the server configured under its engine's name."""
        engine, name = instance.question_entry["engine"], instance.question_entry.get("db", "")
        if engine == "sqlite":
            if self.databases is None:
                raise UsageError(f"{instance.where}: no folder of databases is given", hint="--databases DIR")
            places = [_resolve_from(self.databases, file, "--databases") for file in (f"{name}.sqlite", f"{name}/{name}.sqlite")]
            place = next((place for place in places if is_there(place)), None)
            if place is None:
                raise UsageError(f"{instance.where}: no {name}.sqlite in the folder of --databases", hint="put the file there")
            return Connection(name=f"{name}.sqlite", engine=engine, database=str(place))
        if engine not in self.entries:
            hint = f"{CREDENTIALS[engine]} next to gold, or a connection {engine!r} in {CONNECTIONS_FILE}"
            raise UsageError(f"{instance.where}: no connection to {engine} is configured", hint=hint)
        connection = self.get(engine, instance)
        # A Snowflake account contains all databases of the benchmark.
        return replace(connection, name=f"{engine}: {name}", database=name) if engine == "snowflake" and name else connection

    def _of_parameters(self, engine: str, database: str, where: str) -> Connection:
        if database in self.entries or (not database and engine in self.entries):
            connection = self.get(database or engine)
            if engine and connection.engine != engine:
                raise GoldError(
                    f"{where}: connection {connection.name!r} is {connection.engine}, not {engine}", hint="name the engine it has"
                )
            return connection
        if engine not in ENGINES:
            raise GoldError(f"{where}: unknown engine {engine!r}", hint=did_you_mean(engine, ENGINES))
        if not ENGINES[engine].embedded:
            raise GoldError(f"{where}: {engine} needs a configured connection", hint=f"add it to {CONNECTIONS_FILE}")
        if self.databases is None:
            raise UsageError(f"{where}: the database {database!r} was not found", hint="--databases DIR, or a connection of that name")
        # Gold names the file; a link in the folder is trusted, because the user made the folder.
        if database.startswith("~") or Path(database).is_absolute() or ".." in Path(database).parts:
            raise GoldError(f"{where}: the database {database!r} leaves the folder of --databases", hint="name a file in it")
        return Connection(name=database, engine=engine, database=str(_resolve_from(self.databases, database, f"connection {database!r}")))

    def _fill_variables(self, value: Any, key: str, entry: Entry) -> Any:
        """Return a value with each `${NAME}` replaced from the environment."""
        if not isinstance(value, str):
            return value

        def variable(match: re.Match[str]) -> str:
            if match[1] not in self.environment:
                raise UsageError(f"{entry.where}: {key} of {entry.name!r} needs the variable {match[1]}", hint=f"export {match[1]}=...")
            return self.environment[match[1]]

        return _VARIABLE.sub(variable, value)


def read_connections(
    gold: Path | None = None,
    *,
    working: Path | None = None,
    submission: Path | None = None,
    databases: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Connections:
    """Return all connections, from suite.yaml, connections.yaml next to it, and connections.yaml in the working folder; later ones win.

    The reference's `bigquery_credential.json` and `snowflake_credential.json`, in the working folder, next to suite.yaml or where a
    checkout has them, give connections named `bigquery` and `snowflake` if none is configured. Folders inside the submission are not read.

        sales: {engine: duckdb, database: sales.duckdb, prefix: local_}
        warehouse:
          engine: postgres
          host: db.example.org
          user: reader
          password: ${SALES_PASSWORD}        # or password_from: FILE
          instances: [q7, q9]

    Raises:
        UsageError or GoldError: a file is not a mapping of names to connections; the message names file and line, or connection and key.
    """
    # Paths are absolute, because workers may run in another folder.
    working_folder, environment = Path.cwd(), os.environ if environment is None else environment
    gold = working_folder / gold if gold is not None else None
    untrusted = submission.resolve() if submission is not None else None
    folders = [folder for folder in (gold, working or working_folder) if folder is not None]
    folders = [folder for folder in folders if untrusted is None or not folder.resolve().is_relative_to(untrusted)]
    entries = {entry.name: entry for entry in _entries_of(gold, folders)}
    for name in CREDENTIALS:
        place = credential_file(name, folders, gold)
        if place is not None and name not in entries:
            options, problem = credential_options(name, place, ENGINES[name].options)
            entries[name] = Entry(name=name, engine=name, where=place.name, folder=place.parent, options=options, problem=problem)
    return Connections(entries=entries, databases=databases_folder(databases) if databases is not None else None, environment=environment)


def _entries_of(gold: Path | None, folders: Sequence[Path]) -> Iterator[Entry]:
    """Yield the connections of suite.yaml in the gold folder, then those of connections.yaml in each folder."""
    for key, value, where in _top_level_of(gold / SUITE_FILE) if gold is not None else ():
        if key == "connections" and gold is not None:
            yield from _described_connections(value, where, gold)
    for folder in folders:
        for name, value, where in _top_level_of(folder / CONNECTIONS_FILE):
            if name == "connections" and isinstance(value, dict) and "engine" not in value:
                yield from _described_connections(value, where, folder)
            else:
                yield _described_connection(name, value, where, folder)


def databases_folder(folder_option: Path) -> Path:
    """Return the absolute --databases folder, links followed. Raises `UsageError` if there is none."""
    folder = _resolve_from(Path.cwd(), folder_option, "--databases")
    if not is_there(folder):
        raise UsageError(f"--databases {folder_option}: no such folder", hint="name the folder with the database files")
    if not is_dir(folder):
        raise UsageError(f"--databases {folder_option}: not a folder", hint=f"name its folder: {folder_option.parent}")
    return folder


def _of_pattern(pattern: str, instance: GoldInstance | None, owner: str) -> str:
    """Return a text with each `{key}` replaced from the instance's gold entry or its file of questions."""
    fields = {**instance.question_entry, **instance.extra} if instance is not None else {}

    def filled(match: re.Match[str]) -> str:
        if isinstance(value := fields.get(match[1]), str | int):
            return str(value)
        what = f"{instance.instance_id} has no {match[1]!r}" if instance is not None else "it is for many databases"
        raise UsageError(
            f"{owner}: the pattern in `database` cannot be filled in: {what}", hint="set it in gold's line or in the file of questions"
        )

    return _PATTERN.sub(filled, pattern)


def _resolve_from(folder: Path, written: str | Path, owner: str) -> Path:
    """Return a path written in a file of `folder`, links followed; `~` is the home. Raises `UsageError` for an invalid path."""
    try:
        return (folder / Path(written).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"{owner}: the path cannot be followed", hint="an unknown home, or links in a circle?") from None


def _top_level_of(file: Path) -> Iterable[tuple[str, Any, str]]:
    """Yield (key, value, "file:line") of a YAML mapping; nothing if there is no file."""
    return top_level(file, f"{file.resolve().parent.name}/{file.name}") if is_file(file) else ()


def _described_connections(value: Any, where: str, folder: Path) -> Iterable[Entry]:
    if not isinstance(value, dict):
        raise GoldError(f"{where}: connections must be a mapping of names to connections", hint="name: {engine: duckdb, database: FILE}")
    for name, described in value.items():
        yield _described_connection(str(name), described, where, folder)


def _described_connection(name: str, value: Any, where: str, folder: Path) -> Entry:
    """Return one connection, each key checked. Errors name keys and never values, which could be secret."""
    if not isinstance(value, dict) or not isinstance(value.get("engine"), str):
        raise GoldError(f"{where}: connection {name!r} must be a mapping with an engine", hint="engines: " + ", ".join(ENGINES))
    options = {str(key): item for key, item in value.items() if key not in ("engine", *_MAPPING_KEYS)}
    engine = value["engine"]
    if engine not in ENGINES:
        raise GoldError(f"{where}: unknown engine {engine!r} of connection {name!r}", hint=did_you_mean(engine, ENGINES))
    secret = ENGINES[engine].secret
    allowed = [*ENGINES[engine].options, *(key + _FROM_FILE for key in secret)]
    for key, item in options.items():
        if key not in allowed:
            hint = did_you_mean(key, [*allowed, *_MAPPING_KEYS])
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


def _content(entry: Entry, key: str, file: str) -> str:
    """Return the first line of a file with a secret."""
    try:
        return _resolve_from(entry.folder, file, entry.where).read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{entry.where}: the file that {key} of {entry.name!r} names cannot be read", hint="one line of text") from None
