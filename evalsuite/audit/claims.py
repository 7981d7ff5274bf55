"""What a run folder says of itself, as anybody may have written it: its two files in the form of a run, or not at all."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_type_hints

from evalsuite.errors import FAULTS, OutputError, UsageError
from evalsuite.readers.json_text import check_depth
from evalsuite.registry import fits, readable
from evalsuite.run.handed_in import walled_columns
from evalsuite.store.history import METADATA_KEYS, RunEntry, read_run, refuse_submission
from evalsuite.store.run_files import RESULT_KEYS, is_intact, json_safe
from evalsuite.store.run_folder import RESULTS, RUN
from evalsuite.store.signature import VERDICT_PACKAGES
from evalsuite.store.signing import claimed_signer
from evalsuite.store.unit_files import UNITS, whole_units
from evalsuite.types import Fault, Result, Rule

_OBJECT: Final = Mapping[str, Any]
# Every key that a run.json may have, and its type; those in `_OPTIONAL` may be absent.
_KEYS: Final[Mapping[str, Any]] = {
    "schema_version": int,
    "signature": str,
    "options": _OBJECT,
    "options.rules": Rule,
    "options.only": list[str],
    "options.filter": str | None,
    "options.group": str | None,
    "options.limits": Mapping[str, float],
    "options.layout": str,
    "options.mode": str,
    "options.shard": str,
    "options.live_gold": bool,
    "options.as_of": str,
    "options.questions": str,
    "options.allow_programs": bool,
    "options.invalid_as": Literal["zero"],
    "options.ves": bool,
    "submission": _OBJECT,
    "submission.folder": str,
    "submission.n_objects": int,
    "submission.hash": str,
    "gold": _OBJECT,
    "gold.folder": str,
    "gold.hash": str,
    "gold.layout": str,
    "summary": _OBJECT,
    "corrections": _OBJECT,
    "corrections.day": str,
    "corrections.hash": str,
    "corrections.applied": list[Mapping[str, Any]],
    "groups": _OBJECT,
    "judge": _OBJECT,
    "sql": _OBJECT,
    "living_gold": Mapping[str, Mapping[str, Any]],
    "databases": Mapping[str, str],
    "metadata": _OBJECT,
    "notes": _OBJECT,
    "warnings": list[str],
    "receipt": _OBJECT,
    "receipt.isolation": str,
    "receipt.jobs": int,
    "receipt.python": str,
    "receipt.system": str,
    "seconds": float,
    "root": str,
    "digests": _OBJECT,
}
# Of run.json: what a run says of its maker and its making, which nothing shows afterwards.
OWN_WORDS: Final = ("receipt", "metadata")
# The parts of a signature that say what was installed.
VERSIONS: Final = frozenset({"evalsuite", *VERDICT_PACKAGES})
# Deeper than any answer is read, and so than anything that a run says of one.
_DEEPEST: Final = 200
_OPTIONAL_OPTIONS: Final = ("layout", "mode", "shard", "live_gold", "as_of", "questions", "allow_programs", "invalid_as", "ves")
_OPTIONAL: Final = frozenset(
    {"corrections", "root", "judge", "sql", "living_gold", "databases", *(f"options.{name}" for name in _OPTIONAL_OPTIONS)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: whether it is as it must be, and what was seen. `differs` names what is not."""

    name: str
    good: bool
    says: str
    differs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The finding as data."""
        return {"name": self.name, "good": self.good, "says": self.says, "differs": list(self.differs)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The `run.json` object of a run folder, and its n rows in the order of the file. Of right form, and not yet believed."""

    folder: Path
    run: Mapping[str, Any]
    rows: tuple[Result, ...]

    @property
    def entry(self) -> RunEntry:
        """The run as the history has it."""
        return RunEntry(folder=self.folder, run=self.run, tags=())


def read_claims(folder: Path, isolation: str = "process") -> tuple[list[Finding], Claims | None]:
    """What is to be said of the two files by themselves, and what they claim; None where that is nothing to go by.

    A `units.parquet` beside them is parsed in a worker, unless the `isolation` is none.
    Raises `UsageError` where there is no finished run.
    """
    refuse_submission(folder)
    try:
        run, results = (folder / RUN).read_bytes(), (folder / RESULTS).read_bytes()
    except OSError:
        raise UsageError(f"no finished run in {folder}", hint=f"a run folder holds {RUN} and {RESULTS}") from None
    intact = is_intact(run, results)
    if intact is None:
        says = "holds no digests: changed at its end, or written by an earlier version"
        return [Finding(name=RUN, good=False, says=says), Finding(name=RESULTS, good=False, says="cannot be told: no digest of it")], None
    words = ("is not what was written", "as it was written")
    found = [Finding(name=name, good=good, says=words[good]) for name, good in zip((RUN, RESULTS), intact, strict=True)]
    if not all(intact):
        return found, None
    # Digests that fit say nothing of who made them: from here on, only what has the form of a run is read on.
    said, wrong = _run_of(run)
    rows, wrong_rows = _rows_of(results)
    if wrong or wrong_rows:
        return [_formed(RUN, wrong), _formed(RESULTS, wrong_rows)], None
    try:
        return found, Claims(
            folder=folder, run=said, rows=tuple(whole_units(folder, rows, read=None if isolation == "none" else walled_columns))
        )
    except OutputError as error:
        return [*found, Finding(name=UNITS, good=False, says="is not what was written", differs=(error.message,))], None


def _formed(name: str, wrong: list[str]) -> Finding:
    says = "is not as a run writes it" if wrong else "as it was written"
    return Finding(name=name, good=not wrong, says=says, differs=tuple(wrong))


def _run_of(data: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """(the object of a run.json, what is wrong with its form)."""
    said = _object(data)
    if said is None:
        return {}, ["not one JSON object with each key once"]
    wrong = [f"unknown key {key!r}" for key in said if key not in _KEYS]
    for path, annotation in _KEYS.items():
        top, _, key = path.partition(".")
        holder = said.get(top) if key else said
        if not isinstance(holder, dict):
            continue
        if (key or top) in holder:
            if not fits(holder[key or top], annotation):
                wrong.append(f"{path} is no {readable(annotation)}")
        elif path not in _OPTIONAL:
            wrong.append(f"{path} is missing")
    return said, wrong


def _rows_of(data: bytes) -> tuple[tuple[Result, ...], list[str]]:
    """(the rows of a results.jsonl, what is wrong with their form)."""
    *lines, rest = data.split(b"\n")
    wrong = ["the last line has no end"] if rest else []
    rows = []
    for number, line in enumerate(lines, 1):
        # To some readers a bare CR ends a line too.
        said = _object(line) if b"\r" not in line else None
        late = (said or {}).pop("strict_fault", None)
        if said is None or said.keys() != _row_types().keys() or not _is_late(late):
            wrong.append(f"line {number}: not the line of a result")
            continue
        unfit = [key for key, annotation in _row_types().items() if not fits(said[key], annotation)]
        if unfit:
            wrong.append(f"line {number}: {', '.join(f'{key} is no {readable(_row_types()[key])}' for key in unfit)}")
            continue
        rows.append(Result(**said, strict_fault=None if late is None else Fault(**late)))
    return tuple(rows), wrong


def _is_late(said: Any) -> bool:
    """Whether a `strict_fault` is one that a run writes, or absent."""
    return said is None or (fits(said, dict[str, str]) and said.keys() == {"code", "detail"} and said["code"] in FAULTS)


def own_words(claims: Claims, expected: Mapping[str, Any], *, places: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """What stays a run's own word, as (name, value): who made it and how, what that cost, and versions that are not installed here.

    `expected` is the run.json object as it must be, `places` are the folders of gold and submission that were looked at.
    """
    said = claims.run
    for part in OWN_WORDS:
        yield from ((f"{part}.{key}", value if isinstance(value, str) else plain(value)) for key, value in said[part].items())
    yield from ((f"metadata.{key}", "nothing is said") for key in METADATA_KEYS if key not in said["metadata"])
    yield "seconds", f"{said['seconds']:g}, and those of each row"
    if n_timed := sum("time_ratio" in row.details for row in claims.rows):
        yield "details.time_ratio", f"of {n_timed} {'row' if n_timed == 1 else 'rows'}"
    then, now = (dict(part.partition(":")[::2] for part in each["signature"].split("|")) for each in (said, expected))
    moved = [name for name in now if name in VERSIONS and then.get(name) != now[name]]
    yield from ((f"signature.{name}", f"{then.get(name, 'none')} then, {now[name]} now") for name in moved)
    for side, place in places.items():
        if place.resolve() != Path(said[side]["folder"]).resolve():
            yield f"{side}.folder", f"{said[side]['folder']}, looked at was {place}"
    yield from ((key, plain(said[key])) for key in ("judge", "sql", "living_gold", "databases") if key in said)
    if "corrections" in said:
        yield "corrections.day", f"{said['corrections']['day']}, on which the errata held"
    if signer := claimed_signer(claims.folder):
        yield "signed by", f"{signer}; --key FILE.pub holds the run to a key"
    entry = read_run(claims.folder)
    if entry is not None and entry.tags:
        yield "tags", " ".join(f"#{tag}" for tag in entry.tags)


def plain(value: Any) -> str:
    """A value as one text, the same for equal values: keys sorted, 1.0 as 1, and true as neither."""
    return json.dumps(json.loads(json.dumps(value, default=json_safe), parse_float=_number), sort_keys=True)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def are_numbers(said: Mapping[str, Any]) -> bool:
    """Whether an object has what the errata's `corrected` has, of the right types: a status and the three numbers."""
    keys = ("status", "score", "official", "strict")
    return said.keys() == set(keys) and all(fits(said[key], _row_types()[key]) for key in keys)


def _object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that some bytes hold, None where they hold anything else, or a key twice: of that two readers read two things."""
    try:
        said = json.loads(data.decode("utf-8"), object_pairs_hook=_once)
        check_depth(said, _DEEPEST)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("a key stands twice")
    return said


@cache
def _row_types() -> Mapping[str, Any]:
    hints = get_type_hints(Result)
    return {key: hints[key] for key in RESULT_KEYS}
