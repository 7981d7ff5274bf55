"""Files around gold in a checkout of Spider 2.0: files of questions, which name the database of a query, and credentials.

`spider2-lite.jsonl` and `spider2-snow.jsonl` are next to the gold folder, or next to its parent folder `evaluation_suite`, as in a
checkout. Their contents go to `GoldInstance.question_entry`, with the engine by the id's prefix: local* is SQLite, bq* and ga* are
BigQuery, sf* is Snowflake; in Snow every instance is Snowflake.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, UsageError, describe
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import Gold
from evalsuite.readers.json_text import read_objects
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import open_trusted

if TYPE_CHECKING:
    from evalsuite.sql.session import Connection


FILES = {"lite": "spider2-lite.jsonl", "snow": "spider2-snow.jsonl"}
# The folder of a checkout with the gold folder; the file of questions and the credentials of the engines are around it.
SUITE_FOLDER = "evaluation_suite"
# Credentials of engines: name of the connection -> file.
CREDENTIALS = {"bigquery": "bigquery_credential.json", "snowflake": "snowflake_credential.json"}
_PREFIXES = {"local": "sqlite", "bq": "bigquery", "ga": "bigquery", "sf": "snowflake"}
# Placeholder texts in a key of a credential file, as in the templates of Spider 2.0; the account in them is a real one.
_PLACEHOLDER = lazy_pattern(
    r"""|<.*>|x{3,}|x{3,}@x{3,}\.iam\.gserviceaccount\.com
    |your[_ -](user(name)?|password|account|token|email|client[_ -]email|private[_ -]key([_ -]id)?|project([_ -]id)?)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
# Options of a connection that are not part of a login.
_NO_LOGIN = frozenset({"database", "schema", "version", "functions", "location"})
# Our word -> the words of the files, Lite's first.
_KEYS = {"db": ("db", "db_id"), "question": ("question", "instruction")}


def with_questions(gold: Gold, file: Path | None, limits: Limits) -> Gold:
    """Return the gold with the entries of a file of questions: `file`, else that of its layout if it is found.

    Raises `UsageError` if `file` cannot be read, or if a line of either file is not an object with an id.
    """
    place = file or next((place for place in _places(gold) if is_file(place)), None)
    if place is None:
        return gold
    entries = dict(_read_questions(place, gold.layout, limits))
    return replace(
        gold,
        instances=tuple(
            replace(instance, question_entry=entries.get(instance.instance_id, instance.question_entry)) for instance in gold.instances
        ),
    )


def nearby_folders(gold: Path) -> list[Path]:
    """Return the folders around a gold folder that may contain its further files, itself first; links are followed."""
    folder = gold.resolve()
    return [folder, folder.parent, *([folder.parent.parent] if folder.parent.name == SUITE_FOLDER else [])]


def _places(gold: Gold) -> Iterator[Path]:
    if gold.layout in FILES:
        yield from (folder / FILES[gold.layout] for folder in nearby_folders(gold.folder))


def _read_questions(place: Path, layout: str, limits: Limits) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        handle = open_trusted(place, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        raise UsageError(f"{place}: {describe(error.fault)}", hint="the file with a question a line, such as spider2-lite.jsonl") from None
    with handle:
        for entry in read_objects(handle, limits=limits):
            value = entry.value or {}
            id_ = value.get("instance_id")
            if not isinstance(id_, str):
                why = describe(entry.fault) if entry.fault is not None else "instance_id is missing"
                raise UsageError(f"{place.name}:{entry.line}: {why}", hint=entry.hint or 'one {"instance_id": ..., "db": ...} a line')
            engine = "snowflake" if layout == "snow" else next((name for prefix, name in _PREFIXES.items() if id_.startswith(prefix)), "")
            texts = {field: next((value[key] for key in keys if isinstance(value.get(key), str)), "") for field, keys in _KEYS.items()}
            yield id_, {key: text for key, text in {**texts, "engine": engine}.items() if text}


def credential_file(name: str, folders: Sequence[Path], gold: Path | None) -> Path | None:
    """Return the reference's credential file for an engine: from the last folder that has it, else next to a checkout's gold folder."""
    nearby = nearby_folders(gold) if gold is not None else []
    nearby = [folder for folder in nearby if folder.name == SUITE_FOLDER or is_dir(folder / SUITE_FOLDER)]
    return next((place for folder in (*reversed(folders), *nearby) if is_file(place := folder / CREDENTIALS[name])), None)


def with_login(connection: "Connection") -> "Connection":
    """Return a connection without empty and placeholder options, which count as absent; a connection to a file is unchanged.

    Raises `UsageError`, with keys and no values, if the rest is not a complete login. No server is contacted for that.
    """
    from evalsuite.sql import ENGINES

    engine, options = connection.engine, connection.options
    if ENGINES[engine].embedded:
        return connection
    where = f"connection {connection.name.partition(':')[0]!r}"
    usable = {key: value for key, value in options.items() if key in _NO_LOGIN or not _is_placeholder(value)}
    if engine == "snowflake":
        proof = {"password", "private_key_file", "token", "authenticator"}
        missing = [*({"account", "user"} - usable.keys()), *([] if proof & usable.keys() else ["password"])]
    elif engine == "bigquery":
        missing = _missing_service_keys(usable, where)
    else:
        # Without one of these, the server would be contacted under another name.
        missing = [key for key in options if key not in usable and str(options[key]).strip()]
    if missing:
        problem = f"absent, empty or a placeholder: {', '.join(sorted(missing))}"
        raise UsageError(f"{where} has no login; {problem}", hint=f"write your own credentials for {engine}")
    return replace(connection, options=usable)


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and (not value.strip() or _PLACEHOLDER.fullmatch(value.strip()) is not None)


def _missing_service_keys(options: Mapping[str, Any], where: str) -> list[str]:
    """Return the missing keys of a BigQuery service account file; none if the machine's own login, or an emulator, is used."""
    credentials = options.get("credentials")
    if credentials is None:
        return [] if options.get("endpoint") else ["credentials"]
    if credentials == "default":
        return []
    try:
        data = json.loads(Path(str(credentials)).read_text(encoding="utf-8-sig"))
        required = ["private_key", "client_email", *([] if "project" in options else ["project_id"])]
        return [key for key in required if _is_placeholder(str(data.get(key) or ""))]
    except (OSError, ValueError, AttributeError):
        raise UsageError(f"{where}: its credentials cannot be read", hint="a service account's JSON file") from None


def credential_options(name: str, file: Path, configured: Mapping[str, str]) -> tuple[dict[str, Any], UsageError | None]:
    """Return (the `configured` options of a connection in one of the reference's files, the error if it cannot be read)."""
    if name == "bigquery":
        return {"credentials": file.name}, None
    try:
        values = json.loads(file.read_text(encoding="utf-8-sig"))
        # The template file contains empty texts.
        return {key.lower(): item for key, item in values.items() if key.lower() in configured and item and isinstance(item, str)}, None
    except (OSError, ValueError, AttributeError):
        return {}, UsageError(f"{file.name} cannot be read", hint='a JSON object: {"user": ..., "password": ..., "account": ...}')
