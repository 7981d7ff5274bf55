"""Shards: independent parts of a run, for CI matrices and job arrays, and their merge into one run.

Shard i of n takes every n-th instance in gold order, starting with the i-th: neighbours, which often have similar cost, are spread, and the
gold order of the whole follows from the parts alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeVar

from evalsuite.core.errors import UsageError
from evalsuite.core.types import Result
from evalsuite.runs.errata_scores import merge_corrections
from evalsuite.runs.history import RunEntry, read_run, refuse_submission
from evalsuite.runs.run_files import read_results
from evalsuite.runs.run_folder import RESULTS, RunFolder, claim
from evalsuite.runs.submission_checks import by_kind
from evalsuite.runs.summary import summarise

_T = TypeVar("_T")
_MOST: Final = 100_000
_HINT: Final = "--shard 2/8 is the second of eight parts"


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `i` of `n`, counted from 1; its text is `i/n`."""

    i: int
    n: int

    def __str__(self) -> str:
        return f"{self.i}/{self.n}"

    def of(self, items: Sequence[_T]) -> list[_T]:
        """Return the items of this part, in order."""
        return list(items[self.i - 1 :: self.n])


def parse_shard(text: str | None) -> Shard | None:
    """Parse `i/n`; None for None. Raises `UsageError` for any other text."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= _MOST:
        raise UsageError(f"--shard cannot be {text!r}", hint=_HINT)
    return Shard(int(match[1]), int(match[2]))


def merge(folders: Sequence[Path], out: Path) -> RunEntry:
    """Merge the finished runs in `folders`, the shards of one run, into `out`; the order of the folders does not matter.

    Its `results.jsonl` equals that of a run of the whole, except for seconds. Raises `UsageError` if the folders are no shards, or not all
    of one run: other gold, signature, submission or selection, a shard missing or repeated.
    """
    entries = [_entry(folder) for folder in folders]
    parts = _in_order(entries)
    first = parts[0]
    _check_alike(parts)
    rows = [list(read_results(entry.folder / RESULTS)) for entry in parts]
    results = _woven(parts, rows)
    run = _merged(parts, results)
    plan = {"signature": first.run["signature"], "submission": first.run["submission"].get("hash", ""), "options": run["options"]}
    folder = RunFolder(claim(out)).open(plan)
    try:
        folder.finish(results, run)
    finally:
        folder.close()
    merged = read_run(out)
    assert merged is not None
    return merged


def _entry(folder: Path) -> RunEntry:
    refuse_submission(folder)
    entry = read_run(folder)
    if entry is None:
        raise UsageError(f"no finished run in {folder}", hint="merge takes the folders that `run --shard i/n --out FOLDER` wrote")
    return entry


def _shard(entry: RunEntry) -> Shard:
    text = entry.run.get("options", {}).get("shard")
    if not isinstance(text, str):
        raise UsageError(f"{entry.folder} is the run of no shard", hint="merge takes runs that `run --shard i/n` made")
    shard = parse_shard(text)
    assert shard is not None
    return shard


def _in_order(entries: Sequence[RunEntry]) -> list[RunEntry]:
    """Return the entries by shard; raises `UsageError` unless every shard of one count is there once."""
    if not entries:
        raise UsageError("no runs to merge", hint="evalsuite merge RUN... --out FOLDER")
    n = _shard(entries[0]).n
    found: dict[int, RunEntry] = {}
    for entry in entries:
        shard = _shard(entry)
        if shard.n != n:
            raise UsageError(f"{entry.folder} is shard {shard}, {entries[0].folder} one of {n}", hint="all shards have one count")
        if shard.i in found:
            raise UsageError(f"{found[shard.i].folder} and {entry.folder} are both shard {shard}", hint="give each shard once")
        found[shard.i] = entry
    missing = [str(Shard(i, n)) for i in range(1, n + 1) if i not in found]
    if missing:
        shown = ", ".join(missing[:10]) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        raise UsageError(f"missing shards: {shown}", hint="run them with the same gold, submission and options, then merge")
    return [found[i] for i in range(1, n + 1)]


def _check_alike(parts: Sequence[RunEntry]) -> None:
    """Raise `UsageError` for shards of different runs, with the difference."""
    first = _identity(parts[0].run)
    for part in parts[1:]:
        other = _identity(part.run)
        for name, value in first.items():
            if other.get(name) != value:
                raise UsageError(
                    f"{part.folder} has another {name} than {parts[0].folder}: {other.get(name)} and {value}",
                    hint="shards are parts of one run: the same gold, submission, options and versions",
                )


def _identity(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all shards of a run have in common."""
    signature = dict(part.partition(":")[::2] for part in str(run.get("signature", "")).split("|"))
    options = {name: value for name, value in run.get("options", {}).items() if name != "shard"}
    return {
        **{f"signature ({name})": value for name, value in signature.items()},
        "signature": run.get("signature"),
        "submission": run.get("submission", {}).get("hash"),
        **{f"--{name}": value for name, value in options.items()},
        "options": options,
    }


def _woven(parts: Sequence[RunEntry], rows: Sequence[Sequence[Result]]) -> list[Result]:
    """Return the results in gold order; raises `UsageError` for an instance in two shards, or a shard without some of its results."""
    n_results = sum(map(len, rows))
    # First the counts of each run: a missing result makes the sum wrong, and the expected share of every other shard.
    said = [entry.run["summary"].get("n_gold") for entry in parts]
    shares = [len(range(i, n_results, len(parts))) for i in range(len(parts))]
    for entry, own, n in [*zip(parts, rows, said, strict=True), *zip(parts, rows, shares, strict=True)]:
        if n is not None and len(own) != n:
            message = f"{entry.folder} contains {len(own)} results, shard {_shard(entry)} has {n}"
            raise UsageError(message, hint="the file is damaged or half copied: copy it again, or run the shard again")
    results = [result for turn in zip_longest(*rows) for result in turn if result is not None]
    seen: set[str] = set()
    for result in results:
        if result.instance_id in seen:
            raise UsageError(f"the shards overlap: {result.instance_id!r} is in two of them", hint="run them again from one gold")
        seen.add(result.instance_id)
    return results


def _merged(parts: Sequence[RunEntry], results: Sequence[Result]) -> dict[str, Any]:
    """Return the `run.json` object of the whole: every number computed again from the results."""
    first = parts[0].run
    groups = _groups(parts, results)
    tags: dict[str, list[str]] = {}
    for tag, names in groups.items():
        for name in names:
            tags.setdefault(name, []).append(tag)
    part = {"clusters": first["gold"].get("clusters", ()), "n_instances": first["gold"].get("n_instances")}
    summary = summarise(results, rules=first["options"]["rules"], groups=tags, **part)
    unsure = [name for part in parts for name in part.run.get("submission", {}).get("unsure", ())]
    judges = [part.run["judge"] for part in parts if part.run.get("judge")]
    # Only each shard knows which file bytes were read: the whole has no root.
    return {
        **{key: value for key, value in first.items() if key != "root"},
        "options": {name: value for name, value in first["options"].items() if name != "shard"},
        **({"submission": {**first["submission"], "unsure": unsure}} if unsure else {}),
        "summary": summary.to_json(),
        **merge_corrections([part.run for part in parts], results),
        "groups": groups,
        **({"judge": _added(judges)} if judges else {}),
        "notes": by_kind(results),
        "warnings": list(dict.fromkeys(text for part in parts for text in part.run.get("warnings", ()))),
        "receipt": {**first.get("receipt", {}), "shards": len(parts)},
        "seconds": round(sum(part.run.get("seconds", 0) for part in parts), 3),
    }


def _groups(parts: Sequence[RunEntry], results: Sequence[Result]) -> dict[str, list[str]]:
    """Return tag -> the ids of its instances, both in gold order."""
    tags: dict[str, list[str]] = {}
    for part in parts:
        for tag, names in part.run.get("groups", {}).items():
            for name in names:
                tags.setdefault(name, []).append(tag)
    found: dict[str, list[str]] = {}
    for result in results:
        for tag in tags.get(result.instance_id, ()):
            found.setdefault(tag, []).append(result.instance_id)
    return found


def _added(accounts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the judge's requests and costs of all shards; the models are those of the first."""
    totals = {
        key: sum(account.get(key) or 0 for account in accounts) for key, value in accounts[0].items() if isinstance(value, int | float)
    }
    return {**accounts[0], **totals}
