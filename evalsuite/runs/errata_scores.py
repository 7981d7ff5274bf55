"""Corrected score of a run, next to its raw score: waived instances leave the denominator, patched ones are scored a second time.

The raw score stays *the* score. The errata and their effect are in run.json under `corrections`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsuite.core.errors import UsageError
from evalsuite.core.types import Result, Rule, Task
from evalsuite.gold.errata import ERRATA_FILE, Errata, Erratum
from evalsuite.runs.batch_scoring import Execute
from evalsuite.runs.summary import summarise

NUMBERS = ("score", "official", "strict")
_LISTS = ("applied", "stale", "expired")


def correct(tasks: Sequence[Task], results: Sequence[Result], errata: Errata | None, execute: Execute, *, rules: Rule) -> dict[str, Any]:
    """Return the `corrections` object of run.json; empty if gold has no errata.

    `applied`, `stale` and `expired` list the entries about the n scored instances. An applied entry has the raw value of its instance and
    the `corrected` one (None: waived); the numbers are those of `sum_up`.
    """
    if errata is None:
        return {}
    by_id = {task.instance.instance_id: task for task in tasks}
    before = {result.instance_id: result for result in results}
    applied = [entry for entry in errata.of_state("applied") if entry.id in by_id]
    patched = [replace(by_id[entry.id], instance=entry.instance) for entry in applied if entry.instance is not None]
    again = {result.instance_id: result for result in execute(patched)} if patched else {}
    rows = [
        {**entry.to_json(), "raw": _numbers(before[entry.id]), "corrected": _numbers(again[entry.id]) if entry.id in again else None}
        for entry in applied
    ]
    return {
        "file": ERRATA_FILE,
        "hash": errata.hash,
        "day": errata.day.isoformat(),
        **sum_up(results, rows, rules=rules),
        "applied": rows,
        "stale": [{**entry.to_json(), "gold_now": entry.gold_now} for entry in errata.of_state("stale") if entry.id in by_id],
        "expired": [entry.to_json() for entry in errata.of_state("expired") if entry.id in by_id],
    }


def sum_up(results: Sequence[Result], applied: Iterable[Mapping[str, Any]], *, rules: Rule) -> dict[str, Any]:
    """Return the numbers of the corrected score: those of a summary over the results with applied entries replaced.

    Times `n_gold`, `score` is raw points - raw points of waived and patched instances + corrected points of the patched ones.
    """
    by_id = {str(row["instance_id"]): row["corrected"] for row in applied}
    kept = [
        replace(result, **row) if (row := by_id.get(result.instance_id)) is not None else result
        for result in results
        if by_id.get(result.instance_id, result) is not None
    ]
    numbers = summarise(kept, rules=rules)
    said = numbers.to_json()
    return {
        "n_gold": numbers.n_gold,
        "n_judged": said["n_judged"],
        "n_right": numbers.n_right,
        "n_waived": sum(row is None for row in by_id.values()),
        "n_patched": sum(row is not None for row in by_id.values()),
        **{key: said[key] for key in (*NUMBERS, "score_low", "score_high", "interval_95")},
    }


def unapplied(errata: Errata | None, tasks: Sequence[Task]) -> list[str]:
    """Return a warning for each stale or expired entry about a scored instance."""
    if errata is None:
        return []
    ids = {task.instance.instance_id for task in tasks}
    return [_warning(entry) for entry in errata.entries if entry.state != "applied" and entry.id in ids]


def _warning(entry: Erratum) -> str:
    return f"{entry.where}: the erratum of {entry.id!r} is {entry.state} and not applied: {entry.words()}"


def _numbers(result: Result) -> dict[str, Any]:
    return {"status": result.status, **{key: getattr(result, key) for key in NUMBERS}}


def merge_corrections(runs: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> dict[str, Any]:
    """Return `{"corrections": ...}` of a whole run from the `run.json` objects of its shards; empty if they have none.

    Raises `UsageError` if the errata changed between two shards.
    """
    found = [run["corrections"] for run in runs if run.get("corrections")]
    if not found:
        return {}
    if len(found) < len(runs) or len({(each["hash"], each["day"]) for each in found}) > 1:
        raise UsageError(f"{ERRATA_FILE} is not the same in all shards", hint="run them again from one gold, on one day")
    lists = {key: sorted((row for each in found for row in each[key]), key=_line) for key in _LISTS}
    return {"corrections": {**found[0], **sum_up(results, lists["applied"], rules=runs[0]["options"]["rules"]), **lists}}


def _line(row: Mapping[str, Any]) -> int:
    """Return the line of the errata file on which an entry begins."""
    return int(str(row["where"]).rpartition(":")[2])
