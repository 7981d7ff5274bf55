"""Scores of a finished run in columns, cached, so that a leaderboard does not parse all results again."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import OutputError
from evalsuite.core.status import own_value
from evalsuite.core.types import Result
from evalsuite.runs.history import RunEntry, part_asked_for, read_run
from evalsuite.runs.run_files import Reader, read_results
from evalsuite.runs.run_folder import RESULTS, RUN, holds_run
from evalsuite.stats.units import units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScores:
    """A finished run in columns: n instances in gold order, with the score under the run's rules and under both, status and scorer.

    `submission_hash` is empty for runs that did not record it, or with a verdict that may belong to other bytes. `groups` maps tags to
    instance ids, `clusters` are tags. `units` are the scores of the records of instances with many. `is_whole` says that all of gold was
    scored; `only` is a digest of the ids if a part was requested by ids alone. `n_instances` counts all of gold, 0 if unknown. `databases`
    are the states of the files that queries ran on (`databases.database_stamps`), with one empty name if a run does not record them. `raw`
    are the values on metrics' own scales, empty if there are none. `corrected` is the score after errata, `further` are the means of the
    scorers that do not make the score, `further_raw` those on their own scales. `n_unapplied` counts stale or expired errata; `errata`
    identifies the errata and which of them were applied.
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
    corrected: float | None = None
    n_unapplied: Mapping[str, int] = field(default_factory=dict)
    errata: str = ""
    only: str = ""
    databases: Mapping[str, str] = field(default_factory=dict)
    further: Mapping[str, float | None] = field(default_factory=dict)
    further_raw: Sequence[str] = ()


def run_scores(folder: Path, memo: DiskCache, *, read: Reader | None = None) -> RunScores | None:
    """Return the columns of the run in a folder, from the cache if its two files did not change; None if there is no finished run.

    `read` parses its `units.parquet`, see `whole_units`.
    """
    stamp, key = _stamp_of_run(folder), str(folder.resolve())
    if stamp is None:
        return None
    known = memo.get("run", key)
    if known is not None and known["stamp"] == stamp:
        return _lean(RunScores(**known["columns"]))
    found = _read_columns(folder, read)
    if found is not None and _stamp_of_run(folder) == stamp:
        memo.put("run", key, {"stamp": stamp, "columns": {name: getattr(found, name) for name in RunScores.__slots__}})
    return found if found is None else _lean(found)


def find_scored(root: Path, wanted: set[str], memo: DiskCache) -> dict[str, Path]:
    """Return `run_key` -> the newest finished run under `root` with that key, for the `wanted` keys."""
    found: dict[str, Path] = {}
    if not wanted or not root.is_dir():
        return found
    place = root.resolve()
    names = sorted(os.listdir(root))  # noqa: PTH208 - of ten thousand runs
    known = memo.get_all("run-key", [str(place / name) for name in names])
    for name in names:
        folder = root / name
        if (stamp := _stamp_of_run(folder)) is None:
            continue
        said = known.get(str(place / name))
        if said is None or said["stamp"] != stamp:
            entry = read_run(folder)
            said = {"stamp": stamp, "key": run_key(_columns_of(entry, [])) if entry is not None else ""}
            memo.put("run-key", str(place / name), said)
        if said["key"] in wanted:
            found[said["key"]] = folder
    return found


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

    def shared(values: Sequence[Any]) -> tuple[Any, ...]:
        return _columns.setdefault(tuple(values), tuple(values))

    return replace(run, ids=shared(run.ids), scorer=shared(run.scorer), status=[sys.intern(status) for status in run.status])


def _stamp_of_run(folder: Path) -> list[int] | None:
    if not holds_run(folder):
        return None
    try:
        files = [(folder / name).stat() for name in (RUN, RESULTS)]
    except OSError:
        return None
    # Increase the first number with each new layout of `RunScores`.
    return [5, *(number for file in files for number in (file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino))]


def _read_columns(folder: Path, read: Reader | None) -> RunScores | None:
    entry = read_run(folder)
    if entry is None:
        return None
    try:
        results = list(read_results(folder / RESULTS, read=read))
        if (entry.run.get("summary") or {}).get("n_gold", len(results)) not in (None, len(results)):
            return None
    except (OSError, ValueError, TypeError, OutputError):
        return None
    return _columns_of(entry, results)


def _columns_of(entry: RunEntry, results: Sequence[Result]) -> RunScores:
    """Return the columns of a run with these results."""
    raw = [own_value(result) for result in results]
    is_sample = str(entry.run.get("options", {}).get("mode", "")).startswith("sample ")
    run, options, gold = entry.run, entry.run.get("options", {}), entry.run.get("gold", {})
    submission, corrections = run.get("submission", {}), run.get("corrections") or {}
    summary = run.get("summary") or {}
    beside = {name: (summary.get("by_scorer") or {}).get(name) or {} for name in (summary.get("scorers") or ())[1:]}
    is_raw = [name for name, row in beside.items() if row.get("score") is None and row.get("raw") is not None]
    return RunScores(
        folder=str(entry.folder),
        signature=str(run.get("signature", "")),
        submission_hash="" if submission.get("unsure") else str(submission.get("hash", "")),
        submission=str(submission.get("folder", "")),
        suite=entry.suite,
        rules=str(options.get("rules", "")),
        # All samples of one submission have the same files.
        is_whole=not (part := part_asked_for(options)) and not is_sample,
        only=digest_of_ids(part["only"]) if list(part) == ["only"] and not is_sample else "",
        metadata=dict(entry.metadata),
        groups={tag: list(ids) for tag, ids in run.get("groups", {}).items()},
        clusters=list(gold.get("clusters", ())),
        ids=[r.instance_id for r in results],
        score=[r.score for r in results],
        official=[r.official for r in results],
        strict=[r.strict for r in results],
        status=[r.status for r in results],
        scorer=[r.scorer for r in results],
        further={name: row.get("raw" if name in is_raw else "score") for name, row in beside.items()},
        further_raw=is_raw,
        n_instances=int(gold.get("n_instances") or 0),
        units={r.instance_id: units for r in results if (units := units_of(r)) is not None},
        corrected=corrections.get("score"),
        n_unapplied={state: n for state in ("stale", "expired") if (n := len(corrections.get(state, ())))},
        errata=errata_line(corrections.get("hash", ""), (row["instance_id"] for row in corrections.get("applied", ()))),
        databases=run.get("databases", {"": ""} if run.get("sql") or any(r.scorer == "sql_match" for r in results) else {}),
        raw=raw if any(value is not None for value in raw) else (),
    )
