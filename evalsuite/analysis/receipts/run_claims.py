"""Recompute what a saved run must contain from gold and the submission: its rows, which of them can be scored again here, its numbers.

Of the run only its options are used: which instances, under which rules and limits. Nothing contacts the network. The two files of a run
folder are untrusted: they have the form of a run, or are rejected.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_type_hints

from evalsuite.core.errors import FAULTS, EvalsuiteError, OutputError, UsageError
from evalsuite.core.registry import fits, readable
from evalsuite.core.types import Fault, Gold, Result, Rule, Submission, Task
from evalsuite.gold.connection_files import Connections
from evalsuite.gold.errata import Errata, read_errata
from evalsuite.readers.gold_files import gold_inodes, read_gold_files
from evalsuite.readers.json_text import check_depth
from evalsuite.readers.limits import Limits, resolve_limits
from evalsuite.readers.submission_files import file_contents, hash_of, uncertain_instances
from evalsuite.runs.batch_scoring import asks_judge, is_batch
from evalsuite.runs.databases import Databases, connection_of, has_query
from evalsuite.runs.errata_scores import correct, unapplied
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.gold_queries import is_scored_by, query_files
from evalsuite.runs.history import METADATA_KEYS, RunEntry, read_run, refuse_submission
from evalsuite.runs.instance_checks import is_pair, skip_unscorable
from evalsuite.runs.plan import by_tag, plan, rules_of, signature_of, warnings_of
from evalsuite.runs.run_files import RESULT_KEYS, UNITS, is_intact, json_safe, whole_units
from evalsuite.runs.run_folder import RESULTS, RUN
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.run_result import Run
from evalsuite.runs.shards import parse_shard
from evalsuite.runs.signature import VERDICT_PACKAGES, rules_name
from evalsuite.runs.signing import claimed_signer, root_of
from evalsuite.runs.submission_checks import with_notes
from evalsuite.runs.submission_reader import read_unit_columns
from evalsuite.runs.summary import summarise
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded

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
# Keys of run.json about the maker and the making of a run, which cannot be verified later.
OWN_WORDS: Final = ("receipt", "metadata")
# The parts of a signature that name installed versions.
VERSIONS: Final = frozenset({"evalsuite", *VERDICT_PACKAGES})
# Deeper than any answer is read, and so deeper than anything that a run records of one.
_DEEPEST: Final = 200
_OPTIONAL_OPTIONS: Final = ("layout", "mode", "shard", "live_gold", "as_of", "questions", "allow_programs", "invalid_as", "ves")
_OPTIONAL: Final = frozenset(
    {"corrections", "root", "judge", "sql", "living_gold", "databases", *(f"options.{name}" for name in _OPTIONAL_OPTIONS)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One checked item: whether it is as it must be, and what was found. `differs` names the differences."""

    name: str
    good: bool
    says: str
    differs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the finding as data."""
        return {"name": self.name, "good": self.good, "says": self.says, "differs": list(self.differs)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The `run.json` object of a run folder, and its n rows in file order: of right form, but not yet verified."""

    folder: Path
    run: Mapping[str, Any]
    rows: tuple[Result, ...]

    @property
    def entry(self) -> RunEntry:
        """The run as an entry of the history."""
        return RunEntry(folder=self.folder, run=self.run, tags=())


def read_claims(folder: Path, isolation: str = "process") -> tuple[list[Finding], Claims | None]:
    """Return the findings on the two files by themselves, and their claims; None if these are unusable.

    A `units.parquet` next to them is parsed in a worker, unless the `isolation` is none.

    Raises:
        UsageError: there is no finished run.
    """
    refuse_submission(folder)
    try:
        run, results = (folder / RUN).read_bytes(), (folder / RESULTS).read_bytes()
    except OSError:
        raise UsageError(f"no finished run in {folder}", hint=f"a run folder contains {RUN} and {RESULTS}") from None
    intact = is_intact(run, results)
    if intact is None:
        says = "contains no digests: changed at its end, or written by an earlier version"
        return [
            Finding(name=RUN, good=False, says=says),
            Finding(name=RESULTS, good=False, says="cannot be checked: no digest of it"),
        ], None
    words = ("is not what was written", "as it was written")
    found = [Finding(name=name, good=good, says=words[good]) for name, good in zip((RUN, RESULTS), intact, strict=True)]
    if not all(intact):
        return found, None
    # Matching digests do not show who made them: from here on, only files in the form of a run are read.
    said, wrong = _run_of(run)
    rows, wrong_rows = _rows_of(results)
    if wrong or wrong_rows:
        return [_formed(RUN, wrong), _formed(RESULTS, wrong_rows)], None
    try:
        return found, Claims(
            folder=folder, run=said, rows=tuple(whole_units(folder, rows, read=None if isolation == "none" else read_unit_columns))
        )
    except OutputError as error:
        return [*found, Finding(name=UNITS, good=False, says="is not what was written", differs=(error.message,))], None


def _formed(name: str, wrong: list[str]) -> Finding:
    says = "is not as a run writes it" if wrong else "as it was written"
    return Finding(name=name, good=not wrong, says=says, differs=tuple(wrong))


def _run_of(data: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """Return (the object of a run.json, what is wrong with its form)."""
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
                wrong.append(f"{path} must be {readable(annotation)}")
        elif path not in _OPTIONAL:
            wrong.append(f"{path} is missing")
    return said, wrong


def _rows_of(data: bytes) -> tuple[tuple[Result, ...], list[str]]:
    """Return (the rows of a results.jsonl, what is wrong with their form)."""
    *lines, rest = data.split(b"\n")
    wrong = ["the last line is incomplete"] if rest else []
    rows = []
    for number, line in enumerate(lines, 1):
        # Some readers treat a bare CR as the end of a line.
        said = _object(line) if b"\r" not in line else None
        late = (said or {}).pop("strict_fault", None)
        if said is None or said.keys() != _row_types().keys() or not _is_late(late):
            wrong.append(f"line {number}: not a result line")
            continue
        unfit = [key for key, annotation in _row_types().items() if not fits(said[key], annotation)]
        if unfit:
            wrong.append(f"line {number}: {', '.join(f'{key} must be {readable(_row_types()[key])}' for key in unfit)}")
            continue
        rows.append(Result(**said, strict_fault=None if late is None else Fault(**late)))
    return tuple(rows), wrong


def _is_late(said: Any) -> bool:
    """Whether a `strict_fault` is one that a run writes, or absent."""
    return said is None or (fits(said, dict[str, str]) and said.keys() == {"code", "detail"} and said["code"] in FAULTS)


def own_words(claims: Claims, expected: Mapping[str, Any], *, places: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Return what stays an unverified claim of the run, as (name, value): its maker, cost, and versions that are not installed here.

    `expected` is the run.json object as it must be, `places` are the folders of gold and submission that were checked.
    """
    said = claims.run
    for part in OWN_WORDS:
        yield from ((f"{part}.{key}", value if isinstance(value, str) else plain(value)) for key, value in said[part].items())
    yield from ((f"metadata.{key}", "not recorded") for key in METADATA_KEYS if key not in said["metadata"])
    yield "seconds", f"{said['seconds']:g}, and those of each row"
    if n_timed := sum("time_ratio" in row.details for row in claims.rows):
        yield "details.time_ratio", f"of {n_timed} {'row' if n_timed == 1 else 'rows'}"
    then, now = (dict(part.partition(":")[::2] for part in each["signature"].split("|")) for each in (said, expected))
    moved = [name for name in now if name in VERSIONS and then.get(name) != now[name]]
    yield from ((f"signature.{name}", f"{then.get(name, 'none')} then, {now[name]} now") for name in moved)
    for side, place in places.items():
        if place.resolve() != Path(said[side]["folder"]).resolve():
            yield f"{side}.folder", f"{said[side]['folder']}, checked was {place}"
    yield from ((key, plain(said[key])) for key in ("judge", "sql", "living_gold", "databases") if key in said)
    if "corrections" in said:
        yield "corrections.day", f"{said['corrections']['day']}, the day of the errata"
    if signer := claimed_signer(claims.folder):
        yield "signed by", f"{signer}; --key FILE.pub requires the signature of a key"
    entry = read_run(claims.folder)
    if entry is not None and entry.tags:
        yield "tags", " ".join(f"#{tag}" for tag in entry.tags)


def plain(value: Any) -> str:
    """Return a value as one text, the same for equal values: keys sorted, 1.0 as 1, and true as neither."""
    return json.dumps(json.loads(json.dumps(value, default=json_safe), parse_float=_number), sort_keys=True)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def are_numbers(said: Mapping[str, Any]) -> bool:
    """Whether an object has the form of the errata's `corrected`: a status and the three numbers."""
    keys = ("status", "score", "official", "strict")
    return said.keys() == set(keys) and all(fits(said[key], _row_types()[key]) for key in keys)


def _object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object in some bytes, None for anything else, or with a repeated key, which readers interpret differently."""
    try:
        said = json.loads(data.decode("utf-8"), object_pairs_hook=_once)
        check_depth(said, _DEEPEST)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("a key occurs twice")
    return said


@cache
def _row_types() -> Mapping[str, Any]:
    hints = get_type_hints(Result)
    return {key: hints[key] for key in RESULT_KEYS}


JUDGE, QUERY, LIVING = "it needs a judge", "its answer is a query", "its gold comes from a query"
NO_JAIL = "a program is run only with --allow-programs"
ELSEWHERE, AT_ONCE, UNPICKED = "not in this run", "scored with all answers at once", "not in the sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The plan of a run: n tasks in gold order, `among` the tasks of which they are a shard.

    By instance id: `settled` are the results that need no scoring, `outside` says why others cannot be scored again here.
    """

    gold: Gold
    submission: Submission
    errata: Errata | None
    limits: Limits
    options: RunOptions
    rules: Rule
    tasks: tuple[Task, ...]
    among: tuple[Task, ...]
    settled: Mapping[str, Result]
    outside: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """The instance ids of the required rows, in their order."""
        return [task.instance.instance_id for task in self.tasks]

    def elsewhere(self) -> dict[str, str]:
        """Return the instances of gold that the run does not cover, each with the option that left it out."""
        named = {"only": self.options.only, "filter": self.options.pattern, "group": self.options.group, "shard": self.options.shard}
        chosen = ", ".join(f"--{name}" for name, value in named.items() if value)
        known = set(self.ids)
        return {one.instance_id: f"{ELSEWHERE} ({chosen})" for one in self.gold.instances if one.instance_id not in known}


def replay_of(
    claims: Claims, gold: Gold, submission: Submission, databases_folder: Path | None = None, questions: Path | None = None
) -> Replay:
    """Return the plan of the run that `claims` describes, over a gold that was read with these `questions`.

    Raises:
        EvalsuiteError: no such run of this gold and submission is possible.
    """
    options = _options(claims.run)
    errata = read_errata(gold, day=options.errata_day)
    limits = resolve_limits(gold.suite.limits, options.limits)
    options = replace(options, rules=chosen_in(claims.run, gold), databases=databases_folder, questions=questions)
    chosen = options.rules or gold.suite.rules
    choice: dict[str, Any] = {"only": options.only, "pattern": options.pattern, "group": options.group}
    among = plan(gold, submission, rules=chosen, limits=limits, allow_programs=options.allow_programs, **choice)
    tasks = among if options.shard is None else options.shard.of(among)
    patched = {entry.id: entry.instance for entry in errata.entries if entry.instance is not None} if errata is not None else {}
    databases = Databases(gold, submission.folder, limits=limits, jobs=default_jobs(), isolation="process", folder=databases_folder)
    settled, outside = {}, {}
    with closing(databases):
        for task in tasks:
            name = task.instance.instance_id
            variants = [task, *([replace(task, instance=patched[name])] if name in patched else [])]
            # If the databases are available, a pair of queries is run again.
            early = [None if databases_folder is not None and is_pair(variant) else skip_unscorable(variant) for variant in variants]
            if early[0] is not None and None not in early:
                settled[name] = early[0]
            elif why := _outside(variants, databases, live=options.live_gold):
                outside[name] = why
    return Replay(
        gold=gold,
        submission=submission,
        errata=errata,
        limits=limits,
        options=options,
        rules=rules_of(gold, chosen),
        tasks=tuple(tasks),
        among=tuple(among),
        settled=settled,
        outside=outside,
    )


def _options(run: Mapping[str, Any]) -> RunOptions:
    """Return the options that a run.json names; raises `UsageError` for an invalid shard or day."""
    said, day = run["options"], run.get("corrections", {}).get("day")
    try:
        errata_day = date.fromisoformat(day) if day else None
    except ValueError:
        raise UsageError(f"corrections.day is not a day: {day!r}") from None
    return RunOptions(
        rules=said["rules"],
        only=tuple(said["only"]),
        pattern=said["filter"],
        group=said["group"],
        limits=said["limits"],
        layout=said.get("layout"),
        mode=said.get("mode"),
        shard=parse_shard(said.get("shard")),
        live_gold=said.get("live_gold", False),
        as_of=said.get("as_of"),
        allow_programs=said.get("allow_programs", False),
        invalid_as=said.get("invalid_as"),
        ves=said.get("ves", False),
        errata_day=errata_day,
        metadata=run["metadata"],
        save=False,
    )


def chosen_in(run: Mapping[str, Any], gold: Gold) -> Rule | None:
    """Return the chosen rules from the signature: run.json's `options` contain those of the score, chosen or not."""
    word = dict(part.partition(":")[::2] for part in run["signature"].split("|")).get("rules")
    known: dict[str, Rule | None] = {rules_name("default", gold.layout): None, rules_name("official", gold.layout): "official"}
    known[rules_name("strict", gold.layout)] = "strict"
    if word not in known:
        raise UsageError(f"the signature names no rules of this gold: {word!r}")
    return known[word]


def _outside(variants: Sequence[Task], databases: Databases, *, live: bool) -> str:
    """Return why a task, with gold's checks and those of the errata, cannot be scored again offline; empty if it can.

    This depends on gold and the submission, and with `live` on whether the run took gold from queries although there is a table too.
    """
    for task in variants:
        batch = [check.scorer for check in task.instance.checks if SCORERS.load(check.scorer).marker.reads == "batch"]
        if asks_judge(task) or (is_batch(task) and not all(map(SCORERS.plugin_batch, batch))):
            return JUDGE
        if has_query(task) and _leads_away(task, databases):
            return QUERY
        living = any(query_files(task, check, live=live) for check in task.instance.checks if is_scored_by(task, check))
        if living and _leads_away(task, databases, gold=True):
            return LIVING
    return ""


def _leads_away(task: Task, databases: Databases, *, gold: bool = False) -> bool:
    """Whether gold maps a task to a connection, even one that cannot be opened here; a file of --databases does not count."""
    try:
        connections: Connections = databases.connections()
        if not gold:
            connection = connection_of(task, connections)
            return connection is not None and (connections.databases is None or not is_embedded(connection))
        return any(connections.of_instance(task.instance, check.parameters) is not None for check in task.instance.checks)
    except EvalsuiteError:
        return True


def expected_rows(replay: Replay, fresh: Mapping[str, Result], claims: Claims) -> tuple[Result, ...]:
    """Return the n rows as they must be, in gold order: scored again, or as claimed by the run, with the notes of both."""
    claimed = {row.instance_id: row for row in claims.rows}
    rows = [_with_time(fresh.get(name, claimed[name]), claimed[name]) for name in replay.ids]
    rows = [replace(row, details={key: value for key, value in row.details.items() if key != "notes"}) for row in rows]
    inodes = gold_inodes(replay.gold.folder) | (replay.errata.inodes if replay.errata is not None else frozenset())
    noted = with_notes(replay.tasks, rows, inodes, among=replay.among)
    return tuple(replace(row, seconds=claimed[row.instance_id].seconds) for row in noted)


def _with_time(row: Result, claimed: Result) -> Result:
    """Return the row of a right answer with the ratio of times that the run claims, because a measured one would differ."""
    ratio = claimed.details.get("time_ratio")
    timed = row.official == 1 and row.scorer == "sql_match" and isinstance(ratio, int | float) and 0 < ratio < math.inf
    return replace(row, details={**row.details, "time_ratio": ratio}) if timed else row


def expected_run(replay: Replay, rows: Sequence[Result], claims: Claims, again: Run | None) -> dict[str, Any]:
    """Return the run.json object that a run of these rows writes. What cannot be recomputed is taken from the run's claims."""
    said, groups = claims.run, {task.instance.instance_id: task.instance.groups for task in replay.tasks}
    why, contents = set(replay.outside.values()), file_contents(replay.submission)
    living = said.get("living_gold", {}) if LIVING in why else {}
    handed_in = [task.instance.instance_id for task in replay.tasks if task.answer is not None]
    clusters = replay.gold.suite.extra.get("clusters", ())
    parts = dict(part.partition(":")[::2] for part in said["signature"].split("|")) if living else {}
    signed = signature_of(replay.gold, chosen=replay.options.rules or replay.gold.suite.rules, limits=replay.limits,
                          living=str(parts.get("living", "")), programs=replay.options.allow_programs,
                          invalid_as=replay.options.invalid_as)  # fmt: skip
    return Run(
        gold=replay.gold,
        submission=replay.submission,
        rules=replay.rules,
        signature=signed,
        options=replay.options,
        results=tuple(rows),
        summary=summarise(
            rows, rules=replay.rules, groups=groups, submitted=handed_in, clusters=clusters, n_instances=len(replay.gold.instances)
        ),
        groups=by_tag(replay.tasks),
        judge=said.get("judge") if JUDGE in why else None,
        sql=said.get("sql") if QUERY in why or replay.options.databases is not None else None,
        living_gold=living,
        databases=said.get("databases"),
        warnings=_warnings(replay, rows, said, again, living=bool(living)),
        folder=None,
        receipt=said["receipt"],
        corrections=_corrections(replay, rows, said, again),
        submission_hash=hash_of(contents),
        unsure=uncertain_instances(replay.tasks, rows, contents),
        seconds=said["seconds"],
        root=_root(replay, rows, said, contents, living=bool(living)),
    ).to_json()


def _root(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], contents: Mapping[str, str], *, living: bool) -> str:
    """Return the root; joined parts have none, and over gold from a query it is the run's own claim."""
    if "shards" in said["receipt"]:
        return ""
    if living:
        return str(said.get("root", ""))
    return root_of(replay.tasks, rows, read_gold_files(replay.gold.folder, replay.gold.spec_file).digests, contents)


def _warnings(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], again: Run | None, *, living: bool) -> tuple[str, ...]:
    """Return the warnings; those about gold from queries are the run's own claim."""
    if living:
        return tuple(said["warnings"])
    before, after = warnings_of(replay.gold, replay.submission, replay.tasks, rows), unapplied(replay.errata, replay.tasks)
    more = [text for text in (again.warnings if again is not None else ()) if text not in {*before, *after}]
    return (*before, *more, *after)


def _corrections(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], again: Run | None) -> dict[str, Any]:
    """Return the corrected score with its patched instances scored again; those that cannot be are as the run claims."""
    claimed = {str(row.get("instance_id")): row.get("corrected") for row in said.get("corrections", {}).get("applied", ())}
    fresh = {row["instance_id"]: row["corrected"] for row in again.corrections.get("applied", ())} if again is not None else {}
    before = {row.instance_id: row for row in rows}

    def patched(tasks: Sequence[Task]) -> Iterator[Result]:
        for task in tasks:
            name = task.instance.instance_id
            numbers = fresh.get(name) if name in fresh else claimed.get(name)
            if (early := skip_unscorable(task)) is not None:
                yield early
            elif isinstance(numbers, dict) and are_numbers(numbers):
                yield replace(before[name], **numbers)

    return correct(replay.tasks, rows, replay.errata, patched, rules=replay.rules)
