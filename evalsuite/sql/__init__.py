"""SQL engines behind one protocol: open read-only, run one SELECT with limits, return a typed table and its cost.

`ENGINES` lists them, one file each; `evalsuite.sql.execution` runs a statement on any. A new engine is one file with `open_session` and one
entry here.
"""

import contextlib
from importlib.util import find_spec

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import ImportRef
from evalsuite.sql.session import BIGQUERY, DUCKDB, POSTGRES, SNOWFLAKE, SQLITE, STANDARD, Connection, Dialect, QueryLimits, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An entry of `ENGINES`: the engine's module, its client's module and the extra that installs it, and the options of a connection.

    `embedded` engines run inside this process on a file: they can use all its memory, or crash the process, so queries of a submission
    belong in a worker. `options` maps each option to its explanation; `secret` names those that are never shown. `bills` means that a
    statement costs money, and that a dry run estimates it. `dialect` is what `only_statement` needs to know of its SQL. `writes_text`
    engines write results as CSV lines themselves if `stream` is called with `as_text=True`.
    """

    module: ImportRef
    summary: str
    options: dict[str, str]
    extra: str | None = None
    client: str = ""
    embedded: bool = False
    secret: tuple[str, ...] = ()
    bills: bool = False
    writes_text: bool = False
    dialect: Dialect = STANDARD

    @property
    def has_client(self) -> bool:
        """Whether the client is installed; true for an engine that needs none."""
        with contextlib.suppress(ModuleNotFoundError):
            return not self.client or find_spec(self.client) is not None
        return False


_VERSION = {"version": "a name for the state of the data, changed when they change: the key of cached results"}

ENGINES: dict[str, Engine] = {
    "duckdb": Engine(
        module=ImportRef("evalsuite.sql.duckdb"),
        summary="a DuckDB file, or a folder of .csv and .parquet files, one table each",
        options={"database": "the file or folder"},
        embedded=True,
        writes_text=True,
        dialect=DUCKDB,
    ),
    "sqlite": Engine(
        module=ImportRef("evalsuite.sql.sqlite"),
        summary="an SQLite file",
        options={"database": "the file"},
        embedded=True,
        dialect=SQLITE,
    ),
    "postgres": Engine(
        module=ImportRef("evalsuite.sql.postgres"),
        summary="a PostgreSQL server, through psycopg",
        options={
            "database": "name of the database",
            "host": "the server's name, or the folder of its socket",
            "port": "a number, 5432 if absent",
            "user": "a role that may SELECT and nothing else",
            "password": "its password",
            "sslmode": "as in libpq: require, verify-full, ...",
            "schema": "the search path, public if absent",
            "allow_superuser": "true: accept a role that may read files of the server",
            "functions": "additional volatile functions that answers may call, separated by commas",
            **_VERSION,
        },
        extra="postgres",
        client="psycopg",
        secret=("password",),
        writes_text=True,
        dialect=POSTGRES,
    ),
    "snowflake": Engine(
        module=ImportRef("evalsuite.sql.snowflake"),
        summary="a Snowflake account, through its connector",
        options={
            "account": "the account's identifier",
            "user": "a user whose role may SELECT and nothing else",
            "password": "its password",
            "private_key_file": "path of a private key, instead of a password",
            "private_key_file_pwd": "the private key's passphrase",
            "token": "an access token, with authenticator: oauth or programmatic_access_token",
            "authenticator": "as in the connector",
            "role": "the role",
            "warehouse": "the warehouse",
            "database": "the database",
            "schema": "the schema",
            **_VERSION,
        },
        extra="snowflake",
        client="snowflake.connector",
        secret=("password", "private_key_file_pwd", "token"),
        dialect=SNOWFLAKE,
    ),
    "bigquery": Engine(
        module=ImportRef("evalsuite.sql.bigquery"),
        summary="BigQuery, through Google's client",
        options={
            "credentials": "path of a service account's JSON file; `default` uses this machine's own login",
            "project": "the project that is billed; the one in the credentials if absent",
            "location": "location of the data",
            "database": "default dataset, as project.dataset or dataset",
            "endpoint": "another address of the service, for an emulator",
            **_VERSION,
        },
        extra="bigquery",
        client="google.cloud.bigquery",
        bills=True,
        dialect=BIGQUERY,
    ),
}


def is_embedded(connection: Connection) -> bool:
    """Whether the connection's statements run inside the calling process, on a file."""
    return ENGINES[connection.engine].embedded


def open_session(connection: Connection, limits: QueryLimits) -> Session:
    """An open session of the connection's engine.

    Raises:
        MissingExtraError: The engine's client is not installed.
        UsageError: The connection's description is wrong, or no server answers.
    """
    session: Session = ENGINES[connection.engine].module.load().open_session(connection, limits)
    return session
