"""Cached forms of saved runs: scores in columns for leaderboards, and one DuckDB file with all rows for queries.

They only save time: what is lost, broken, locked by a writer or of another version is rebuilt.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EvalsuiteError, UsageError
from evalsuite.core.files import exists, is_dir
from evalsuite.core.import_ref import duckdb
from evalsuite.core.status import own_scale_ids, own_value
from evalsuite.core.types import Result
from evalsuite.runs.history import (
    RUNS_FOLDER,
    TAGS,
    RunEntry,
    changed_file_of,
    damage_of,
    note_reading,
    read_run,
    reading_failure,
    selected_part,
)
from evalsuite.runs.run_files import Reader, read_results
from evalsuite.runs.run_folder import RESULTS, RUN, holds_run
from evalsuite.runs.run_options import recorded_versions
from evalsuite.stats.units import units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScores:
    """A finished run in columns: n instances in gold order, with the score under the run's rules and under both, status and scorer.

    `submission_hash` is empty for runs that did not record it, or with a verdict that may belong to other bytes. `groups` maps tags to
    instance ids, `clusters` are tags. `units` are the scores of the records of instances with many. `is_whole` says that all of gold was
    scored; `only` is a digest of the ids if a part was requested by ids alone. `n_instances` counts all of gold, 0 if unknown. `databases`
    are the states of the files that queries ran on (`databases.database_stamps`), with one empty name if a run does not record them. `raw`
    are the values on metrics' own scales, empty if there are none; `own_scale` are the instances in no score because of it.
    `corrected` is the score after errata, `further` are the means of the scorers that do not make the score, `further_raw` those on their
    own scales. `n_unapplied` counts stale or expired errata; `errata` identifies the errata and which of them were applied. `versions` are
    those in the run's receipt that can change a verdict.
    """

    folder: str
    signature: str
    submission_hash: str
    submission: str
    suite: str
    rules: str
    is_whole: bool
    metadata: Mapping[str, Any]
    groups: Mapping[str, Sequence[str]]
    clusters: Sequence[str]
    ids: Sequence[str]
    score: Sequence[float | None]
    official: Sequence[float | None]
    strict: Sequence[float | None]
    status: Sequence[str]
    scorer: Sequence[str | None]
    n_instances: int = 0
    units: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    raw: Sequence[float | None] = ()
    own_scale: Sequence[str] = ()
    corrected: float | None = None
    n_unapplied: Mapping[str, int] = field(default_factory=dict)
    errata: str = ""
    only: str = ""
    databases: Mapping[str, str] = field(default_factory=dict)
    further: Mapping[str, float | None] = field(default_factory=dict)
    further_raw: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def run_scores(folder: Path, memo: DiskCache, *, read: Reader | None = None) -> RunScores | None:
    """Return the columns of the run in a folder, from the cache if its two files did not change; None if there is no finished run.

    `read` parses its `units.parquet`, see `whole_units`.
    """
    stamp, key = _stamp_of_run(folder), str(folder.resolve())
    if stamp is None:
        return None
    record = memo.get("run", key)
    if record is not None and record["stamp"] == stamp:
        note_reading(folder, record["damage"])
        return _lean(RunScores(**record["columns"]))
    scores, damage = _read_columns(folder, read), damage_of(folder)
    note_reading(folder, damage)
    if scores is not None and _stamp_of_run(folder) == stamp:
        columns = {name: getattr(scores, name) for name in RunScores.__slots__}
        memo.put("run", key, {"stamp": stamp, "columns": columns, "damage": damage})
    return scores if scores is None else _lean(scores)


def find_scored(root: Path, keys: set[str], memo: DiskCache) -> dict[str, Path]:
    """Return `run_key` -> the newest finished run under `root` with that key, for each of `keys`; damaged runs are none."""
    folders: dict[str, Path] = {}
    if not keys or not is_dir(root):
        return folders
    place = root.resolve()
    names = sorted(os.listdir(root))  # noqa: PTH208 - of ten thousand runs
    run_keys = memo.get_all("run-key", [str(place / name) for name in names])
    for name in names:
        folder = root / name
        if (stamp := _stamp_of_run(folder)) is None:
            continue
        entry_key = run_keys.get(str(place / name))
        if entry_key is None or entry_key["stamp"] != stamp:
            entry = read_run(folder)
            entry_key = {"stamp": stamp, "key": run_key(columns_of(entry, [])) if entry is not None else ""}
            if entry is not None or reading_failure(folder) is None:
                memo.put("run-key", str(place / name), entry_key)
        if entry_key["key"] in keys:
            if "damage" not in entry_key:
                entry_key["damage"] = damage_of(folder)
                memo.put("run-key", str(place / name), entry_key)
            if not entry_key["damage"]:
                folders[entry_key["key"]] = folder
    return folders


def run_key(run: RunScores) -> str:
    """Return a key for runs that must have the same numbers: signature, errata, instances, submission hash.

    Empty if the submission hash is unknown, and for a part of gold that was not requested by ids.
    """
    is_known = run.submission_hash and (run.is_whole or run.only)
    return key_of(run.signature, run.errata, run.submission_hash, only=run.only) if is_known else ""


def key_of(signature: str, errata: str, submission_hash: str, *, only: str = "") -> str:
    """Return the `run_key` of a run with that signature, errata and submission, over the instances of a `digest_of_ids`."""
    return f"{signature}|errata:{errata}{'|only:' * bool(only)}{only}|submission:{submission_hash}"


def digest_of_ids(ids: Iterable[str]) -> str:
    """Return a digest of requested instance ids, independent of their order; empty for none."""
    names = sorted(set(ids))
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:32] if names else ""


def errata_line(content: str, applied: Iterable[str]) -> str:
    """Return errata as one word: the hash of their file and the ids of the applied ones; empty without a file."""
    return ":".join((content, *sorted(applied))) if content else ""


_columns: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}


def _lean(run: RunScores) -> RunScores:
    """Return the run with text columns shared with earlier runs: a leaderboard of a thousand stores their ids once."""

    def share(values: Sequence[Any]) -> tuple[Any, ...]:
        return _columns.setdefault(tuple(values), tuple(values))

    return replace(run, ids=share(run.ids), scorer=share(run.scorer), status=[sys.intern(status) for status in run.status])


def _stamp_of_run(folder: Path) -> list[int] | None:
    if not holds_run(folder):
        return None
    try:
        files = [(folder / name).stat() for name in (RUN, RESULTS)]
    except OSError:
        return None
    # Increase the first number with each new layout of `RunScores`.
    return [7, *(number for file in files for number in (file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino))]


def _read_columns(folder: Path, read: Reader | None) -> RunScores | None:
    entry = read_run(folder)
    if entry is None:
        return None
    try:
        results = list(read_results(folder / RESULTS, read=read))
        if (entry.run.get("summary") or {}).get("n_gold", len(results)) not in (None, len(results)):
            return None
    except (OSError, ValueError, TypeError, EvalsuiteError):
        return None
    return columns_of(entry, results)


def columns_of(entry: RunEntry, results: Sequence[Result]) -> RunScores:
    """Return the columns of a run with these results."""
    run, options, gold = entry.run, entry.run.get("options", {}), entry.run.get("gold", {})
    submission = run.get("submission", {})
    # All samples of one submission have the same files.
    is_sample = str(options.get("mode", "")).startswith("sample ")
    part = selected_part(options)
    asks_databases = bool(run.get("sql")) or any(r.scorer == "sql_match" for r in results)
    columns: dict[str, Any] = {name: [getattr(r, name) for r in results] for name in ("score", "official", "strict", "status", "scorer")}
    return RunScores(
        folder=str(entry.folder),
        signature=str(run.get("signature", "")),
        submission_hash="" if submission.get("unsure") else str(submission.get("hash", "")),
        submission=str(submission.get("folder", "")),
        suite=entry.suite,
        rules=str(options.get("rules", "")),
        is_whole=not part and not is_sample,
        only=digest_of_ids(part["only"]) if list(part) == ["only"] and not is_sample else "",
        metadata=dict(entry.metadata),
        groups={tag: list(ids) for tag, ids in run.get("groups", {}).items()},
        clusters=list(gold.get("clusters", ())),
        ids=[r.instance_id for r in results],
        **columns,
        **_further_columns(run.get("summary") or {}),
        **_errata_columns(run.get("corrections") or {}),
        n_instances=int(gold.get("n_instances") or 0),
        units={r.instance_id: units for r in results if (units := units_of(r)) is not None},
        databases=run.get("databases", {"": ""} if asks_databases else {}),
        raw=_raw_column(results),
        own_scale=sorted(own_scale_ids(results)),
        versions=recorded_versions(run.get("receipt") or {}),
    )


def _further_columns(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means of the scorers that do not make the score, and the names of those on their own scales."""
    rows = {name: (summary.get("by_scorer") or {}).get(name) or {} for name in (summary.get("scorers") or ())[1:]}
    on_own_scale = [name for name, row in rows.items() if row.get("score") is None and row.get("raw") is not None]
    further = {name: row.get("raw" if name in on_own_scale else "score") for name, row in rows.items()}
    return {"further": further, "further_raw": on_own_scale}


def _errata_columns(corrections: Mapping[str, Any]) -> dict[str, Any]:
    applied = (row["instance_id"] for row in corrections.get("applied", ()))
    return {
        "corrected": corrections.get("score"),
        "n_unapplied": {state: n for state in ("stale", "expired") if (n := len(corrections.get(state, ())))},
        "errata": errata_line(corrections.get("hash", ""), applied),
    }


def _raw_column(results: Sequence[Result]) -> Sequence[float | None]:
    values = [own_value(result) for result in results]
    return values if any(value is not None for value in values) else ()


# Which fields of each result of a run with hidden gold are visible; None for all.
Cut = Callable[[bool], Callable[[Result], Result] | None]
# Receives the names of runs that are left out, and of others the file that is not what was written, by name.
Tell = Callable[[Sequence[str], Mapping[str, str]], None]

INDEX = ".index.duckdb"
# A folder of runs contains only runs if it is one of ours.
_OURS = ".evalsuite"
# The first column of each table is the run's name.
_TABLES: Mapping[str, Mapping[str, str]] = {
    "runs": {
        **dict.fromkeys(("run", "suite", "rules"), "VARCHAR"),
        **dict.fromkeys(("score", "official", "strict"), "DOUBLE"),
        "raw": "DOUBLE",
        **dict.fromkeys(("n_judged", "n_gold", "n_submitted"), "BIGINT"),
        **dict.fromkeys(("signature", "submission", "model_name", "model_version"), "VARCHAR"),
        "tags": "VARCHAR[]",
        **dict.fromkeys(("run_name", "foundation_model", "prompt_template", "description"), "VARCHAR"),
    },
    "results": {
        **dict.fromkeys(("run", "instance_id", "status"), "VARCHAR"),
        **dict.fromkeys(("score", "official", "strict"), "DOUBLE"),
        **dict.fromkeys(("scorer", "reason", "fault", "details"), "VARCHAR"),
        **dict.fromkeys(("seconds", "raw"), "DOUBLE"),
    },
    "fields": {**dict.fromkeys(("run", "instance_id", "path"), "VARCHAR"), **dict.fromkeys(("precision", "recall", "f1"), "DOUBLE")},
}
# Table of the known state of each run's files, `hidden` null if they are no run, `changed` empty if they match their seal; a table of other
# columns gets another name.
_STATE, _STATE_COLUMNS = "state_3", {"run": "VARCHAR", "stamp": "VARCHAR", "hidden": "BOOLEAN", "changed": "VARCHAR"}
_IN_A_LINE = {name: "JSON" if name == "details" else kind for name, kind in _TABLES["results"].items() if name not in ("run", "raw")}
# Files that DuckDB reads in one statement.
_AT_ONCE = 500


def query(
    sql: str, root: Path = RUNS_FOLDER, *, cut: Cut | None = None, tell: Tell | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SELECT over the tables `runs`, `results` and `fields`; return (column names, rows). Raises `UsageError` for anything else.

    `cut` says which fields of results are visible; `tell` receives the damaged runs, left out or not. `results` has a row per run and
    instance, `fields` one per run, instance and schema path of the tree scorers. The index is opened read-only, so no query can change it.
    """
    try:
        try:
            return _answer(sql, root, cut, tell)
        except duckdb.Error as error:
            if type(error) not in (duckdb.Error, duckdb.IOException):
                raise
            # A query may open no file, so a block of the index is damaged.
            index_of(root).unlink(missing_ok=True)
            return _answer(sql, root, cut, tell)
    except duckdb.Error as error:
        _, lacks_column, columns = str(error).partition("Candidate bindings: ")
        near = columns.partition(",")[0].partition("\n")[0].strip(' "').rpartition(".")[2]
        hint = f"did you mean {near!r}?" if lacks_column else "tables: runs, results, fields"
        raise UsageError(f"the query failed: {str(error).splitlines()[0]}", hint=hint) from error


def _answer(sql: str, root: Path, cut: Cut | None, tell: Tell | None) -> tuple[list[str], list[tuple[Any, ...]]]:
    connection = duckdb.connect(config={"threads": "2"})
    try:
        told = _fill(connection, root, cut)
        if tell is not None:
            tell(*told)
        for setting in ("enable_external_access = false", "lock_configuration = true"):
            connection.execute(f"SET {setting}")
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("only one SELECT statement is allowed", hint="tables: runs, results, fields")
        answer = connection.execute(statements[0])
        return [column[0] for column in answer.description or ()], answer.fetchall()
    finally:
        connection.close()


def holds_runs(root: Path) -> bool:
    """Return whether a folder contains a finished run."""
    return any(_stamps(root))


def index_of(root: Path) -> Path:
    """Return the path of the index of a folder of runs."""
    return (root.parent if root.absolute().parent.name == _OURS else root) / INDEX


def _fill(connection: "duckdb.DuckDBPyConnection", root: Path, cut: Cut | None) -> tuple[list[str], dict[str, str]]:
    """Create the three tables in the connection: views of the index, or copies of its visible part. Return what `tell` receives."""
    stamps = dict(_stamps(root))
    name = _attach_index(connection, root, stamps)
    if name is None:
        _make_tables(connection, "memory")
        _take_over(connection, "memory", root, stamps)
        name = "memory"
    states = connection.execute(f"SELECT run, hidden, changed FROM {name}.{_STATE} WHERE hidden IS NOT NULL ORDER BY run").fetchall()
    read = {run: hidden for run, hidden, _ in states}
    told = [run for run in stamps if run not in read], {run: changed for run, _, changed in states if changed}
    shown_as = {hidden: cut(hidden) for hidden in {*read.values()}} if cut is not None else {}
    less = {run: public for run, hidden in read.items() if (public := shown_as.get(hidden)) is not None}
    if name != "memory":
        kind = "TABLE" if less else "VIEW"
        for table in _TABLES:
            connection.execute(f"CREATE {kind} {table} AS FROM {name}.{table}")
    if not less:
        return told
    if name != "memory":
        # Hidden data must not be reachable under another name.
        connection.execute(f"DETACH {name}")
    for table in ("results", "fields"):
        connection.execute(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?))", [list(less)])
    for run, public in less.items():
        entry = read_run(root / run)
        _insert_rows(connection, "results", run, map(public, entry.results()) if entry is not None else ())
    _add_fields(connection, "memory", list(less))
    return told


def _attach_index(connection: "duckdb.DuckDBPyConnection", root: Path, stamps: Mapping[str, str]) -> str | None:
    """Attach the up-to-date index read-only and return its name; None if that is not possible."""
    place = index_of(root)
    if not stamps or not os.access(place.parent, os.W_OK if not exists(place) else os.R_OK):
        return None
    quoted = str(place).replace("'", "''")
    unread: Collection[str] = ()
    for _ in range(2):
        with contextlib.suppress(duckdb.Error):
            if exists(place):
                connection.execute(f"ATTACH '{quoted}' AS index (READ_ONLY)")
                if dict(connection.execute(f"SELECT run, stamp FROM index.{_STATE}").fetchall()) == {
                    run: stamp for run, stamp in stamps.items() if run not in unread
                }:
                    return "index"
        connection.execute("DETACH DATABASE IF EXISTS index")
        try:
            unread = _update(quoted, root, stamps)
        except (duckdb.Error, OSError) as error:
            # Another process writes it: continue without it.
            if isinstance(error, duckdb.IOException) and "Could not set lock" in str(error):
                return None
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
    return None


def _update(quoted: str, root: Path, stamps: Mapping[str, str]) -> Collection[str]:
    """Bring the index up to date. Return the runs that this machine does not read: they are tried again by each call."""
    connection = duckdb.connect(config={"threads": "2"})
    try:
        connection.execute(f"ATTACH '{quoted}' AS index")
        _make_tables(connection, "index")
        old_stamps = dict(connection.execute(f"SELECT run, stamp FROM index.{_STATE}").fetchall())
        fresh = {run: stamp for run, stamp in stamps.items() if old_stamps.get(run) != stamp}
        outdated = [run for run, stamp in old_stamps.items() if stamps.get(run) != stamp]
        # Not in one transaction, which an unreadable run would abort. After a kill the next call finds rows of runs without a known state.
        for table in (_STATE, *_TABLES):
            connection.execute(f"DELETE FROM index.{table} WHERE run IN (SELECT unnest(?))", [[*outdated, *fresh]])
        return _take_over(connection, "index", root, fresh)
    finally:
        connection.close()


def _make_tables(connection: "duckdb.DuckDBPyConnection", database: str) -> None:
    for table, columns in {**_TABLES, _STATE: _STATE_COLUMNS}.items():
        described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        connection.execute(f"CREATE TABLE IF NOT EXISTS {database}.{table} ({described})")


def _stamps(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (run, state of its files) of each folder with a finished run."""
    if not is_dir(root):
        return
    for folder in sorted(os.scandir(root), key=lambda entry: entry.name):
        parts = []
        for name in (RUN, RESULTS, TAGS):
            try:
                status = os.stat(f"{folder.path}/{name}")  # noqa: PTH116 - of ten thousand runs
                parts.append(f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}")
            except OSError:
                parts.append("")
        if parts[0] and parts[1]:
            yield folder.name, " ".join(parts)


def _take_over(connection: "duckdb.DuckDBPyConnection", database: str, root: Path, stamps: Mapping[str, str]) -> Collection[str]:
    """Add runs to the tables; return those that this machine does not read, which have no state in the index.

    DuckDB reads the lines itself, so millions of results never become Python objects.
    """
    runs = list(stamps)
    unread: set[str] = set()
    for at in range(0, len(runs), _AT_ONCE):
        names = runs[at : at + _AT_ONCE]
        entries = [entry for run in names if (entry := read_run(root / run)) is not None]
        read = _insert_results(connection, database, entries) if entries else frozenset()
        there = _without_cut(connection, database, [entry for entry in entries if entry.name in read])
        rows = [_run_row(entry) for entry in entries if entry.name in there]
        if rows:
            connection.executemany(f"INSERT INTO {database}.runs VALUES ({', '.join('?' * len(_TABLES['runs']))})", rows)
        _add_fields(connection, database, sorted(there))
        hidden = {entry.name: bool(entry.run.get("gold", {}).get("hidden")) for entry in entries if entry.name in there}
        unread.update(run for run in names if run not in hidden and reading_failure(root / run) is not None)
        changed = {run: changed_file_of(root / run) for run in hidden}
        if states := [[run, stamps[run], hidden.get(run), changed.get(run)] for run in names if run not in unread]:
            connection.executemany(f"INSERT INTO {database}.{_STATE} VALUES (?, ?, ?, ?)", states)
    return unread


def _insert_rows(connection: "duckdb.DuckDBPyConnection", table: str, run: str, results: Iterable[Result]) -> None:
    """Insert all results at once: one statement per row costs a hundred times as much."""
    rows = [
        [
            run,
            r.instance_id,
            r.status,
            r.score,
            r.official,
            r.strict,
            r.scorer,
            r.reason,
            r.fault,
            json.dumps(r.details),
            r.seconds,
            raw if isinstance(raw := r.details.get("raw"), int | float) else None,
        ]
        for r in results
    ]
    lists = [[_storable(cell) for cell in column] for column in zip(*rows, strict=True)]
    if lists:
        kinds = _TABLES["results"].values()
        connection.execute(f"INSERT INTO {table} SELECT {', '.join(f'unnest(?::{kind}[])' for kind in kinds)}", lists)


def _insert_results(connection: "duckdb.DuckDBPyConnection", database: str, entries: Sequence[RunEntry]) -> Collection[str]:
    """Insert results; return the names of the runs that were added. A run that is damaged, deleted or restarted meanwhile is left out."""
    names = ", ".join(_IN_A_LINE)
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in _IN_A_LINE.items())
    code = (
        f"INSERT INTO {database}.results SELECT parse_path(filename)[-2], {names}, TRY_CAST(details->>'raw' AS DOUBLE) FROM "
        f"read_json(?, format='newline_delimited', filename=true, columns={{{columns}}})"
    )
    try:
        connection.execute(code, [[str(entry.folder.absolute() / RESULTS) for entry in entries]])
        return {entry.name for entry in entries}
    except duckdb.Error:
        if len(entries) > 1:
            halves = entries[: len(entries) // 2], entries[len(entries) // 2 :]
            return {name for half in halves for name in _insert_results(connection, database, half)}
        try:
            # Python's own reader is more lenient (NaN), and tells whether the run is at fault.
            _insert_rows(connection, f"{database}.results", entries[0].name, entries[0].results())
        except (EvalsuiteError, OSError, duckdb.Error):
            return set()
        return {entries[0].name}


def _without_cut(connection: "duckdb.DuckDBPyConnection", database: str, entries: Sequence[RunEntry]) -> Collection[str]:
    """Return the names of runs with as many results as they say; remove the results of the others."""
    query = f"SELECT run, count(*) FROM {database}.results WHERE run IN (SELECT unnest(?)) GROUP BY run"
    lengths = dict(connection.execute(query, [[entry.name for entry in entries]]).fetchall())
    n_gold = {entry.name: entry.run.get("summary", {}).get("n_gold") for entry in entries}
    cut = [name for name, n in n_gold.items() if n is not None and n != lengths.get(name, 0)]
    connection.execute(f"DELETE FROM {database}.results WHERE run IN (SELECT unnest(?))", [cut])
    return n_gold.keys() - set(cut)


def _add_fields(connection: "duckdb.DuckDBPyConnection", database: str, runs: Sequence[str]) -> None:
    numbers = [f"TRY_CAST(field.value->>'{name}' AS DOUBLE)" for name in ("precision", "recall", "f1")]
    connection.execute(
        f"INSERT INTO {database}.fields SELECT run, instance_id, field.value->>'path', {', '.join(numbers)} "
        f"FROM {database}.results, "
        "json_each(CASE WHEN json_valid(details) THEN details END, '$.fields') AS field "
        "WHERE details LIKE '%\"fields\"%' AND run IN (SELECT unnest(?))",
        [list(runs)],
    )


def _run_row(entry: RunEntry) -> list[Any]:
    summary = entry.run.get("summary", {})
    raw = summary.get("raw") or {}
    numbers = [*(summary.get(key) for key in ("score", "official", "strict")), raw.get("mean")]
    numbers += [raw.get("n_measured", summary.get("n_judged")), summary.get("n_gold"), summary.get("n_submitted")]
    about = [entry.metadata.get(key) for key in ("model_name", "model_version")]
    more = [entry.metadata.get(key) for key in ("run_name", "foundation_model", "prompt_template", "description")]
    places = [entry.run.get("signature"), entry.run.get("submission", {}).get("folder")]
    row = [entry.name, entry.suite, entry.run.get("options", {}).get("rules"), *numbers, *places, *about, list(entry.tags), *more]
    return [_storable(value) for value in row]


def _storable(value: Any) -> Any:
    """Convert a value for DuckDB: half of a surrogate pair as its escape, and what a text column cannot store as text."""
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return json.dumps(value)
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
