"""Verify runs as receipts: a run folder against gold and submission, and a site's receipt against a team's own files.

What a run must contain is recomputed from gold and the submission: its rows, which can be scored again here, its numbers; everything
else is named as not verified. Of the run only its options are used: which instances, under which rules and limits. Its two files are
untrusted: they have the form of a run, or are rejected. Nothing contacts the network. A board accepts only runs that were verified, or that
their owner signed.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import (
    EXIT_GATE,
    EXIT_OK,
    EXIT_UNSCORABLE,
    EvalsuiteError,
    MachineError,
    OutputError,
    UntrustedPluginError,
    UsageError,
)
from evalsuite.core.registry import fits, readable
from evalsuite.core.types import METADATA_ARRAY, Gold, Result, Rule, Status, Submission, Task
from evalsuite.gold.connection_files import Connections, databases_folder
from evalsuite.gold.errata import ERRATA_FILE, Errata, read_errata
from evalsuite.gold.layouts import LAYOUTS, layout_without_gold, read_gold
from evalsuite.readers.gold_files import find_spec, gold_hash, gold_inodes, read_gold_files
from evalsuite.readers.json_text import check_depth, with_distinct_keys
from evalsuite.readers.limits import CLOCK, Limits, clock_of, resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN, refuse_endless
from evalsuite.readers.submission_files import file_contents, hash_of, submission_files, submission_hash, uncertain_instances
from evalsuite.runs.batch_scoring import asks_judge, is_batch
from evalsuite.runs.corrected_scores import correct, warn_unapplied
from evalsuite.runs.databases import Databases, connection_of, has_query
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.gold_queries import is_scored_by, query_files
from evalsuite.runs.history import METADATA_KEYS, RunEntry, read_files, read_run
from evalsuite.runs.instance_checks import skip_unscorable
from evalsuite.runs.plan import by_tag, plan, refuse_changes, rules_of, signature_of, warnings_of
from evalsuite.runs.rescoring import parse_shard, place_of
from evalsuite.runs.run_files import UNITS, is_intact, json_safe, result_line, result_of, whole_units
from evalsuite.runs.run_folder import RESULTS, RUN, claimed_signer, read_public_key, root_of, why_not_sealed, why_not_signed
from evalsuite.runs.run_options import VERSIONS, RunOptions, changed_parts, chosen_rules, other_versions, signature_parts
from evalsuite.runs.scoring import Progress, Run, run, with_notes
from evalsuite.runs.submission_reader import read_submission_in_worker, read_unit_columns
from evalsuite.runs.summary import score_or_mean, summarise
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded

_OBJECT: Final = Mapping[str, Any]
# Every key that a run.json may have, and its type; those in `_OPTIONAL` may be absent.
_KEYS: Final[Mapping[str, Any]] = {
    "schema_version": int, "signature": str, "options": _OBJECT, "options.rules": Rule, "options.only": list[str],
    "options.filter": str | None, "options.group": str | None, "options.limits": Mapping[str, float], "options.layout": str,
    "options.mode": str, "options.shard": str, "options.live_gold": bool, "options.as_of": str, "options.questions": str,
    "options.allow_programs": bool, "options.invalid_as": Literal["zero"], "options.ves": bool, "submission": _OBJECT,
    "submission.folder": str, "submission.n_objects": int, "submission.hash": str, "gold": _OBJECT, "gold.folder": str, "gold.hash": str,
    "gold.layout": str, "summary": _OBJECT, "corrections": _OBJECT, "corrections.day": str, "corrections.hash": str,
    "corrections.applied": list[Mapping[str, Any]], "groups": _OBJECT, "judge": _OBJECT, "sql": _OBJECT,
    "living_gold": Mapping[str, Mapping[str, Any]], "databases": Mapping[str, str], "metadata": _OBJECT, "notes": _OBJECT,
    "warnings": list[str], "receipt": _OBJECT, "receipt.isolation": str, "receipt.jobs": int, "receipt.python": str,
    "receipt.system": str, "seconds": float, "root": str, "digests": _OBJECT,
}  # fmt: skip
# Keys of run.json about the maker and the making of a run, which cannot be verified later.
_OWN_WORDS: Final = ("receipt", "metadata")
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
        UsageError: there is no finished run, or it was replaced meanwhile.
    """
    run, results = read_files(folder)
    intact = is_intact(run, results)
    if intact is None:
        says = "contains no digests: changed at its end, or written by an earlier version"
        without = Finding(name=RESULTS, good=False, says="cannot be checked: no digest of it")
        return [Finding(name=RUN, good=False, says=says), without], None
    words = ("is not what was written", "as it was written")
    findings = [Finding(name=name, good=good, says=words[good]) for name, good in zip((RUN, RESULTS), intact, strict=True)]
    if not all(intact):
        return findings, None
    # Anyone can make matching digests, so from here on only files in the form of a run are read.
    recorded, wrong = _run_of(run)
    rows, wrong_rows = _rows_of(results)
    if wrong or wrong_rows:
        formed = {RUN: wrong, RESULTS: wrong_rows}.items()
        words = ("is not as a run writes it", "as it was written")
        return [Finding(name=name, good=not some, says=words[not some], differs=tuple(some)) for name, some in formed], None
    try:
        units = whole_units(folder, rows, read=None if isolation == "none" else read_unit_columns)
        return findings, Claims(folder=folder, run=recorded, rows=tuple(units))
    except OutputError as error:
        return [*findings, Finding(name=UNITS, good=False, says="is not what was written", differs=(error.message,))], None


def _run_of(data: bytes) -> tuple[Mapping[str, Any], list[str]]:
    """Return (the object of a run.json, what is wrong with its form)."""
    recorded = _object(data)
    if recorded is None:
        return {}, ["not one JSON object with each key once"]
    wrong = [f"unknown key {key!r}" for key in recorded if key not in _KEYS]
    for path, annotation in _KEYS.items():
        top, _, key = path.partition(".")
        holder = recorded.get(top) if key else recorded
        if isinstance(holder, dict) and (key or top) in holder:
            wrong += [] if fits(holder[key or top], annotation) else [f"{path} must be {readable(annotation)}"]
        elif isinstance(holder, dict) and path not in _OPTIONAL:
            wrong.append(f"{path} is missing")
    return recorded, wrong


def _rows_of(data: bytes) -> tuple[tuple[Result, ...], list[str]]:
    """Return (the rows of a results.jsonl, what is wrong with their form)."""
    *lines, rest = data.split(b"\n")
    wrong = ["the last line is incomplete"] if rest else []
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            # Some readers treat a bare CR as the end of a line.
            if b"\r" in line or _object(line) is None:
                raise ValueError(line)
            rows.append(result_of(line))
        except (ValueError, TypeError):
            wrong.append(f"line {number}: not a result line")
    return tuple(rows), wrong


def own_words(claims: Claims, expected: Mapping[str, Any], *, places: Mapping[str, Path], has_key: bool) -> Iterator[tuple[str, str]]:
    """Return what stays an unverified claim of the run, as (name, value): its maker, cost, and versions that are not installed here.

    `expected` is the run.json object as it must be, `places` are the folders of gold and submission that were checked. With a key
    (`has_key`) the signature is a finding, not a claim.
    """
    recorded = claims.run
    yield from (_claims_of_making(claims) | other_versions(recorded, expected["signature"])).items()
    for side, place in places.items():
        if place.resolve() != Path(recorded[side]["folder"]).resolve():
            yield f"{side}.folder", f"{recorded[side]['folder']}, checked was {place}"
    yield from ((key, plain(recorded[key])) for key in ("judge", "sql", "living_gold", "databases") if key in recorded)
    if "corrections" in recorded:
        yield "corrections.day", f"{recorded['corrections']['day']}, the day of the errata"
    if not has_key and (signer := claimed_signer(claims.folder)):
        yield "signed by", f"{signer}; --key FILE.pub requires the signature of a key"
    if (entry := read_run(claims.folder)) is not None and entry.tags:
        yield "tags", " ".join(f"#{tag}" for tag in entry.tags)


def _on_versions(recorded: Mapping[str, Any], signature: str) -> tuple[str, ...]:
    others = ", ".join(map(" ".join, other_versions(recorded, signature).items()))
    return (f"other versions than the run's may judge otherwise: {others}",) if others else ()


def _claims_of_making(claims: Claims) -> dict[str, str]:
    """Return the claims about the maker and the making of the run."""
    recorded = claims.run
    making = [(f"{part}.{key}", value) for part in _OWN_WORDS for key, value in recorded[part].items()]
    found = {name: value if isinstance(value, str) else plain(value) for name, value in making}
    found |= {f"metadata.{key}": "not recorded" for key in METADATA_KEYS if key not in recorded["metadata"]}
    found["seconds"] = f"{recorded['seconds']:g}, and those of each row"
    if n_timed := sum("time_ratio" in row.details for row in claims.rows):
        found["details.time_ratio"] = f"of {n_timed} {'row' if n_timed == 1 else 'rows'}"
    return found


def plain(value: Any) -> str:
    """Return a value as one text, the same for equal values: keys sorted, 1.0 as 1, true as neither, 12 digits of what was summed."""
    text = json.dumps(value, default=json_safe)
    read = json.loads(text, parse_float=lambda text: int(x) if (x := float(f"{float(text):.12g}")).is_integer() else x)
    return json.dumps(read, sort_keys=True)


def are_numbers(recorded: Mapping[str, Any]) -> bool:
    """Whether an object has the form of the errata's `corrected`: a status and the three numbers."""
    kinds = {"status": Status, **dict.fromkeys(("score", "official", "strict"), float | None)}
    return recorded.keys() == kinds.keys() and all(fits(recorded[key], kind) for key, kind in kinds.items())


def _object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object in some bytes, None for anything else, or with a repeated key, which readers interpret differently."""
    try:
        recorded = json.loads(data.decode("utf-8"), object_pairs_hook=with_distinct_keys)
        # Deeper than any answer is read, and so deeper than anything that a run records of one.
        check_depth(recorded, 200)
    except (ValueError, RecursionError):
        return None
    return recorded if isinstance(recorded, dict) else None


JUDGE, QUERY, LIVING = "it needs a judge", "its answer is a query", "its gold comes from a query"
NO_JAIL = "a program is run only with --allow-programs"
ELSEWHERE, AT_ONCE, UNPICKED = "not in this run", "scored with all answers at once", "not in the sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The plan of a run: n tasks in gold order, `among` the tasks of which they are a shard.

    `outside` says by instance id why some cannot be scored again here.
    """

    gold: Gold
    submission: Submission
    errata: Errata | None
    limits: Limits
    options: RunOptions
    rules: Rule
    tasks: tuple[Task, ...]
    among: tuple[Task, ...]
    outside: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """The instance ids of the required rows, in their order."""
        return [task.instance.instance_id for task in self.tasks]

    def elsewhere(self) -> dict[str, str]:
        """Return the instances of gold that the run does not cover, each with the option that left it out."""
        choices = {"only": self.options.only, "filter": self.options.pattern, "group": self.options.group, "shard": self.options.shard}
        chosen = ", ".join(f"--{name}" for name, value in choices.items() if value)
        covered = set(self.ids)
        return {instance.instance_id: f"{ELSEWHERE} ({chosen})" for instance in self.gold.instances if instance.instance_id not in covered}


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
    options = replace(options, rules=chosen_rules(claims.run["signature"], gold.layout), databases=databases_folder, questions=questions)
    chosen = options.rules or gold.suite.rules
    choice: dict[str, Any] = {"only": options.only, "pattern": options.pattern, "group": options.group}
    all_tasks = plan(gold, submission, rules=chosen, limits=limits, allow_programs=options.allow_programs, **choice)
    tasks = all_tasks if options.shard is None else options.shard.select(all_tasks)
    patched = {entry.id: entry.instance for entry in errata.entries if entry.instance is not None} if errata is not None else {}
    databases = Databases(gold, submission.folder, limits=limits, jobs=default_jobs(), isolation="process", folder=databases_folder)
    outside = {}
    with closing(databases):
        for task in tasks:
            name = task.instance.instance_id
            variants = [task, *([replace(task, instance=patched[name])] if name in patched else [])]
            if why := _reason_not_replayable(variants, databases, live=options.live_gold):
                outside[name] = why
    return Replay(
        gold=gold,
        submission=submission,
        errata=errata,
        limits=limits,
        options=options,
        rules=rules_of(gold, chosen),
        tasks=tuple(tasks),
        among=tuple(all_tasks),
        outside=outside,
    )


def _options(run: Mapping[str, Any]) -> RunOptions:
    """Return the options that a run.json names; raises `UsageError` for an invalid shard or day."""
    recorded, day = run["options"], run.get("corrections", {}).get("day")
    try:
        errata_day = date.fromisoformat(day) if day else None
    except ValueError:
        raise UsageError(f"corrections.day is not a day: {day!r}") from None
    same = {name: recorded[name] for name in ("rules", "group", "limits", *_OPTIONAL_OPTIONS) if name in recorded}
    same |= {"only": tuple(recorded["only"]), "pattern": recorded["filter"], "shard": parse_shard(recorded.get("shard")), "questions": None}
    return RunOptions(**same, errata_day=errata_day, metadata=run["metadata"], save=False)


def _reason_not_replayable(variants: Sequence[Task], databases: Databases, *, live: bool) -> str:
    """Return why a task, with gold's checks and those of the errata, cannot be scored again offline; empty if it can.

    This depends on gold and the submission, and with `live` on whether the run took gold from queries although there is a table too.
    """
    for task in variants:
        batch = [check.scorer for check in task.instance.checks if SCORERS.load(check.scorer).marker.reads == "batch"]
        if asks_judge(task) or (is_batch(task) and not all(map(SCORERS.plugin_batch, batch))):
            return JUDGE
        if has_query(task) and _leads_away(task, databases):
            return QUERY
        from_query = any(query_files(task, check, live=live) for check in task.instance.checks if is_scored_by(task, check))
        if from_query and _leads_away(task, databases, gold=True):
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
    """Return the n rows as they must be, in gold order: scored again, or as claimed by the run, with the notes of both.

    The ratio of times of a right answer is the run's claim, because a measured one would differ.
    """
    claimed, rows = {row.instance_id: row for row in claims.rows}, []
    for name in replay.ids:
        row, ratio = fresh.get(name, claimed[name]), claimed[name].details.get("time_ratio")
        timed = row.official == 1 and row.scorer == "sql_match" and isinstance(ratio, int | float) and 0 < ratio < math.inf
        details = {key: value for key, value in row.details.items() if key != "notes"} | ({"time_ratio": ratio} if timed else {})
        rows.append(replace(row, details=details))
    inodes = gold_inodes(replay.gold.folder) | (replay.errata.inodes if replay.errata is not None else frozenset())
    rows_with_notes = with_notes(replay.tasks, rows, inodes, among=replay.among)
    return tuple(replace(row, seconds=claimed[row.instance_id].seconds) for row in rows_with_notes)


def expected_run(replay: Replay, rows: Sequence[Result], claims: Claims, rerun: Run | None) -> dict[str, Any]:
    """Return the run.json object that a run of these rows writes. What cannot be recomputed is taken from the run's claims."""
    recorded, groups = claims.run, {task.instance.instance_id: task.instance.groups for task in replay.tasks}
    why, contents = set(replay.outside.values()), file_contents(replay.submission)
    from_query = recorded.get("living_gold", {}) if LIVING in why else {}
    submitted = [task.instance.instance_id for task in replay.tasks if task.answer is not None]
    clusters = replay.gold.suite.extra.get("clusters", ())
    chosen, how = replay.options.rules or replay.gold.suite.rules, replay.options
    gold_query = signature_parts(recorded["signature"]).get("living", "") if from_query else ""
    more: dict[str, Any] = {"living": gold_query, "programs": how.allow_programs, "invalid_as": how.invalid_as}
    # Joined parts have no root, and over gold from a query it is the run's own claim.
    root = "" if "shards" in recorded["receipt"] else str(recorded.get("root", ""))
    if "shards" not in recorded["receipt"] and not from_query:
        root = root_of(replay.tasks, rows, read_gold_files(replay.gold.folder, replay.gold.spec_file).digests, contents)
    return Run(
        gold=replay.gold,
        submission=replay.submission,
        rules=replay.rules,
        signature=signature_of(replay.gold, chosen=chosen, limits=replay.limits, **more),
        options=replay.options,
        results=tuple(rows),
        summary=summarise(
            rows, rules=replay.rules, groups=groups, submitted=submitted, clusters=clusters, n_instances=len(replay.gold.instances)
        ),
        groups=by_tag(replay.tasks),
        judge=recorded.get("judge") if JUDGE in why else None,
        sql=recorded.get("sql") if QUERY in why or replay.options.databases is not None else None,
        living_gold=from_query,
        databases=recorded.get("databases"),
        warnings=_warnings(replay, rows, recorded, rerun, living=bool(from_query)),
        folder=None,
        receipt=recorded["receipt"],
        corrections=_corrections(replay, rows, recorded, rerun),
        submission_hash=hash_of(contents),
        unsure=uncertain_instances(replay.tasks, rows, contents),
        seconds=recorded["seconds"],
        root=root,
    ).to_json()


def _warnings(replay: Replay, rows: Sequence[Result], recorded: Mapping[str, Any], rerun: Run | None, *, living: bool) -> tuple[str, ...]:
    """Return the warnings; those about gold from queries are the run's own claim."""
    if living:
        return tuple(recorded["warnings"])
    before, after = warnings_of(replay.gold, replay.submission, replay.tasks, rows), warn_unapplied(replay.errata, replay.tasks)
    more = [text for text in (rerun.warnings if rerun is not None else ()) if text not in {*before, *after}]
    return (*before, *more, *after)


def _corrections(replay: Replay, rows: Sequence[Result], recorded: Mapping[str, Any], rerun: Run | None) -> dict[str, Any]:
    """Return the corrected score with its patched instances scored again; those that cannot be are as the run claims."""
    claimed = {str(row.get("instance_id")): row.get("corrected") for row in recorded.get("corrections", {}).get("applied", ())}
    fresh = {row["instance_id"]: row["corrected"] for row in rerun.corrections.get("applied", ())} if rerun is not None else {}
    before = {row.instance_id: row for row in rows}

    def patch_results(tasks: Sequence[Task]) -> Iterator[Result]:
        for task in tasks:
            name = task.instance.instance_id
            numbers = fresh.get(name) if name in fresh else claimed.get(name)
            if (early := skip_unscorable(task)) is not None:
                yield early
            elif isinstance(numbers, dict) and are_numbers(numbers):
                yield replace(before[name], **numbers)

    return correct(replay.tasks, rows, replay.errata, patch_results, rules=replay.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All findings about a run: `n_verified` of the `n_gold` rows that gold needs were scored again and are equal.

    `left_out` says by instance id why a row was not scored again, `claimed` are the run's unverified claims, as (name, value). `seed`
    reproduces the sample, None if nothing was drawn.
    """

    name: str
    findings: tuple[Finding, ...]
    n_verified: int = 0
    n_gold: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    claimed: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def exit_code(self) -> int:
        """1 if anything is not as it must be, 4 if rows had to be left out, 0 if every row of gold was verified."""
        if not all(finding.good for finding in self.findings):
            return EXIT_GATE
        return EXIT_UNSCORABLE if self.left_out else EXIT_OK

    @property
    def good(self) -> bool:
        """Whether every row that gold needs was scored again, and all is as it must be."""
        return self.exit_code == EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as data."""
        counts = {name: getattr(self, name) for name in ("good", "exit_code", "n_verified", "n_gold")}
        claims = {"not_verified": dict(self.left_out), "claimed": dict(self.claimed)}
        findings = [asdict(finding) for finding in self.findings]
        return {"run": self.name, **counts, **claims, "findings": findings, "notes": list(self.notes), "seed": self.seed}


def verify(
    folder: Path,
    *,
    submission: Path | None = None,
    gold: Path | None = None,
    sample: int | None = None,
    seed: int | None = None,
    isolation: str = "process",
    jobs: int | None = None,
    allow_programs: bool = False,
    key: Path | None = None,
    databases: Path | None = None,
    questions: Path | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Verify the finished run in `folder`: its two files, gold, the submission, its rows scored again, and its numbers.

    Args:
        folder: the run folder.
        submission: where the submission is now.
        gold: where gold is now.
        sample: how many instances are scored again (None: all), chosen by `seed` (None: a new one).
        databases: --databases; answers that are queries of files in it are run again.
        questions: the file of questions if it is not in gold's folder. The one that the run names is not read, because it decides what may
            run where.
        key: the public key with which the run must be signed.

    If gold, the submission or the list of rows is not as it must be, nothing is scored again.

    Raises:
        UsageError: no finished run there, a folder of either side or of databases is gone, the run had a file of questions and none is
            given, or gold brings plugins and the user did not name it.
    """
    findings, claims = _signed_claims(folder, key, isolation)
    name = folder.resolve().name
    if claims is None:
        return Verified(name=name, findings=tuple(findings), notes=("nothing else was checked: the run's own files cannot be trusted",))
    places = _places(claims, gold, submission, questions, databases)
    of_gold, read = _check_gold(claims, places["gold"], questions)
    of_submission, answers = _check_submission(claims, places["submission"], read, isolation)
    stopped = Verified(name=name, findings=(*findings, of_gold, of_submission), notes=("nothing was scored again",))
    if read is None or answers is None or not (of_gold.good and of_submission.good):
        return stopped
    try:
        replay = replay_of(claims, read, answers, databases, questions)
    except EvalsuiteError as error:
        return replace(stopped, findings=(*stopped.findings, Finding(name="plan", good=False, says=error.message)))
    stopped = replace(stopped, findings=(*stopped.findings, _check_rows(claims, replay)), n_gold=len(replay.gold.instances))
    if not stopped.findings[-1].good:
        return stopped
    permitted = allow_programs and replay.options.allow_programs
    ids, left_out, seed = _draw_sample(replay, sample, seed)
    how = replace(replay.options, allow_programs=permitted, isolation=isolation, jobs=jobs)
    fresh, second_run = _score_again(ids, places, how, progress)
    left_out |= _find_unscorable(fresh, claims, programs=replay.options.allow_programs and not permitted)
    fresh = {name: row for name, row in fresh.items() if name not in left_out}
    rows = expected_rows(replay, fresh, claims)
    expected = expected_run(replay, rows, claims, second_run)
    scored_again, wrong = _check_scores(claims.rows, rows, len(fresh))
    return replace(
        stopped,
        findings=(*stopped.findings, scored_again, *_check_record(expected, claims.run)),
        notes=_on_versions(claims.run, expected["signature"]) if wrong else (),
        n_verified=len(fresh.keys() - wrong),
        left_out={**replay.elsewhere(), **left_out},
        claimed=tuple(own_words(claims, expected, places=places, has_key=key is not None)),
        seed=seed,
    )


def _signed_claims(folder: Path, key: Path | None, isolation: str) -> tuple[list[Finding], Claims | None]:
    signer = read_public_key(key) if key is not None else None
    findings, claims = read_claims(folder, isolation)
    if signer is not None:
        why = why_not_signed(folder, signer)
        findings.append(Finding(name="signature", good=not why, says=why or f"made with the key of {key}"))
    return findings, claims


def _places(claims: Claims, gold: Path | None, submission: Path | None, questions: Path | None, databases: Path | None) -> dict[str, Path]:
    """Return the folders of gold and submission. Raises `UsageError` if one, or `databases`, is gone, or a file of questions is needed."""
    run_ = claims.run
    if databases is not None:
        databases_folder(databases)
    pattern = f"{METADATA_ARRAY}*" if run_["gold"]["layout"] == "original" else "*"
    gold = place_of(claims.entry, run_["gold"]["folder"], gold, SPEC_PATTERN, "gold")
    submission = place_of(claims.entry, run_["submission"]["folder"], submission, pattern, "submission")
    if (recorded := run_["options"].get("questions")) and questions is None:
        raise UsageError(f"the run was made with the questions of {recorded}", hint="--questions FILE: one that you trust")
    return {"gold": gold, "submission": submission}


def _score_again(
    ids: Sequence[str], places: Mapping[str, Path], options: RunOptions, progress: Progress | None
) -> tuple[dict[str, Result], Run | None]:
    """Return (the results of these instances now, the run that scored them, None if none needs scoring)."""
    if not ids:
        return {}, None
    options = replace(options, only=tuple(ids), pattern=None, group=None, shard=None, metadata={}, ves=False)
    second_run = run(places["submission"], places["gold"], options, progress=progress)
    refuse_changes(second_run.changed_gold)
    return {row.instance_id: row for row in second_run.results}, second_run


def _check_gold(claims: Claims, folder: Path, questions: Path | None) -> tuple[Finding, Gold | None]:
    """Check whether gold is what was scored, and the errata (possibly none) what the corrected score used; return gold if readable."""
    then, spec = claims.run["gold"]["hash"], find_spec(folder)
    now, gold = gold_hash(spec.parent, spec), None
    errata_then = claims.run.get("corrections", {}).get("hash", "absent")
    try:
        gold = replace(read_gold(folder, layout=claims.run["options"].get("layout"), questions=questions), hash=now)
        errata = read_errata(gold)
        errata_now = errata.hash if errata is not None else "absent"
    except (UntrustedPluginError, MachineError):
        raise
    except EvalsuiteError:
        errata_now = "unreadable"
    says = f"{folder} is as it was scored ({then})"
    if now != then:
        says = f"{folder} is not what was scored ({then} then, {now} now)"
    elif errata_now != errata_then:
        says = f"{ERRATA_FILE} is not what the run used ({errata_then} then, {errata_now} now)"
    return Finding(name="gold", good=(now, errata_now) == (then, errata_then), says=says), gold


def _check_submission(claims: Claims, folder: Path, gold: Gold | None, isolation: str) -> tuple[Finding, Submission | None]:
    """Check whether the submission is what was scored; return it if readable."""
    recorded, then = claims.run["options"], claims.run["submission"]["hash"]
    if gold is None:
        return Finding(name="submission", good=False, says="was not checked: gold cannot be read"), None
    try:
        limits = resolve_limits(gold.suite.limits, recorded["limits"])
        read = read_submission_in_worker(folder, gold, limits, mode=recorded.get("mode"), isolation=isolation)
        now = submission_hash(read)
    except MachineError:
        raise
    except EvalsuiteError as error:
        return Finding(name="submission", good=False, says=f"cannot be read: {error.message}"), None
    same, other = f"is as it was submitted ({then})", f"is not what was scored ({then or 'not recorded'} then, {now} now)"
    submission = claims.run["submission"]
    # The name of an unpacked folder contains the digest of the archive.
    place = submission["archive"] if submission.get("archive") and folder.name == Path(submission["folder"]).name else folder
    return Finding(name="submission", good=now == then, says=f"{place} {same if now == then else other}"), read


def _check_rows(claims: Claims, replay: Replay) -> Finding:
    """Check whether the rows are those that gold needs: none missing, extra or repeated, in gold's order."""
    expected_ids, claimed = replay.ids, [row.instance_id for row in claims.rows]
    counts, needed = Counter(claimed), set(expected_ids)
    differs = [f"{name}: missing" for name in expected_ids if name not in counts]
    differs += [f"{name}: not needed by gold" for name in counts if name not in needed]
    differs += [f"{name}: more than once" for name, n in counts.items() if n > 1]
    if not differs and expected_ids != claimed:
        differs = [f"{name}: out of order" for name, other in zip(claimed, expected_ids, strict=True) if name != other]
    n, n_gold = len(expected_ids), len(replay.gold.instances)
    part = f"the {n}" if n == n_gold else f"{n} of {n_gold} instances"
    says = "are not those that gold needs" if differs else f"are {part} that gold needs"
    return Finding(name="rows", good=not differs, says=says, differs=tuple(differs))


def _draw_sample(replay: Replay, sample: int | None, seed: int | None) -> tuple[list[str], dict[str, str], int | None]:
    """Return (the instances to score again, why the others are not, the seed of the sample)."""
    left_out = dict(replay.outside)
    names = [name for name in replay.ids if name not in left_out]
    if sample is None or sample >= len(names):
        return names, left_out, None
    checks = {task.instance.instance_id: task.instance.checks for task in replay.tasks}
    together = {
        name for name, checks_of_instance in checks.items() if any(SCORERS.plugin_batch(check.scorer) for check in checks_of_instance)
    }
    left_out |= {name: AT_ONCE for name in names if name in together}
    names = [name for name in names if name not in together]
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    picked = set(random.Random(seed).sample(names, min(sample, len(names))))
    left_out |= {name: UNPICKED for name in names if name not in picked}
    return [name for name in names if name in picked], left_out, seed


def _find_unscorable(fresh: Mapping[str, Result], claims: Claims, *, programs: bool) -> dict[str, str]:
    """Return the instances that cannot be scored here because the grader's side lacks something that the run had."""
    # Faults of the grader's side: such a row can be neither confirmed nor refuted.
    absent = {"NEEDS_CONNECTION", "NEEDS_EXTRA", *(("NO_JAIL",) if programs else ())}
    claimed = {row.instance_id: row.status for row in claims.rows}
    unscorable = {name: row for name, row in fresh.items() if row.fault in absent and claimed[name] != row.status}
    return {name: NO_JAIL if row.fault == "NO_JAIL" else f"{row.fault}: {row.reason}" for name, row in unscorable.items()}


def _check_scores(claimed: Sequence[Result], expected: Sequence[Result], n_fresh: int) -> tuple[Finding, set[str]]:
    """Check whether the rows are what they must be (n of them were scored again); return also the instances with other rows."""
    wrong = {}
    for recorded, expected_row in zip(claimed, expected, strict=True):
        a, b = json.loads(result_line(recorded)), json.loads(result_line(expected_row))
        if keys := [key for key in {**a, **b} if plain(a.get(key)) != plain(b.get(key))]:
            wrong[recorded.instance_id] = keys
    says = f"{n_fresh} of {len(expected)}: {'not as it was' if wrong else 'the same verdicts, reasons and details'}"
    differs = tuple(f"{name}: {', '.join(keys)}" for name, keys in wrong.items())
    return Finding(name="scored again", good=not wrong, says=says, differs=differs), set(wrong)


def _check_record(expected: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[Finding]:
    """Check whether the numbers follow from the rows, and whether the rest is what a run of this gold and submission writes."""
    wrong = sorted(_find_differing_keys(_comparable(expected), _comparable(recorded)))
    numbers = [key for key in wrong if key.partition(".")[0] in ("summary", "corrections", "groups")]
    others = [key for key in wrong if key not in numbers]
    says = f"{'do not ' if numbers else ''}follow from the rows", f"is {'not ' if others else ''}what such a run writes"
    yield Finding(name="numbers", good=not numbers, says=says[0], differs=tuple(numbers))
    yield Finding(name="the rest", good=not others, says=says[1], differs=tuple(others))


def _comparable(run_: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run.json object without what it says of its making, and without the order of shards."""
    public = {key: value for key, value in json.loads(plain(run_)).items() if key not in (*_OWN_WORDS, "seconds", "digests")}
    for side in ("gold", "submission"):
        public[side].pop("folder")
    public["submission"].pop("archive", None)
    public["options"].pop("questions", None)
    parts = [part.partition(":") for part in public["signature"].split("|")]
    public["signature"] = [name if name in VERSIONS else "".join((name, *rest)) for name, *rest in parts]
    if "shards" in run_["receipt"]:
        public["warnings"] = sorted(set(public["warnings"]))
        public["submission"]["unsure"] = sorted(public["submission"].get("unsure", ()))
    return public


def _find_differing_keys(expected: Mapping[str, Any], recorded: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Return the keys in which two objects differ, with those of nested objects: `summary.score`."""
    for key in {**expected, **recorded}:
        a, b = expected.get(key), recorded.get(key)
        if key in expected and key in recorded and plain(a) == plain(b):
            continue
        if isinstance(a, dict) and isinstance(b, dict) and not above:
            yield from _find_differing_keys(a, b, f"{key}.")
        else:
            yield f"{above}{key}"


def verify_receipt(
    file: Path, *, submission: Path | None, gold: Path | None, key: Path | None, options: RunOptions, progress: Progress | None = None
) -> Verified:
    """Verify a receipt: its signature, the submission that it is about, and whether gold gives the same root and score today.

    Nothing in the receipt is trusted: what neither a folder nor a key can confirm is reported as claimed. Raises `UsageError` for a file of
    another form, and what reading and scoring both folders raises.
    """
    refuse_endless(file)
    receipt = _read(file)
    findings, checked = [], set[str]()
    if key is not None:
        why = why_not_sealed(receipt.get("signed"), str(receipt["seal"]), read_public_key(key))
        findings.append(Finding(name="signature", good=not why, says=why or f"the key of {key} signed the seal, and no other field"))
        checked.add("seal")
    verified = Verified(name=file.name, findings=tuple(findings), n_gold=int(receipt["n_instances"]))
    if submission is None or gold is None:
        return _verified_without_gold(receipt, verified, submission, checked, options)
    # The options of the receipt's run, as far as its signature contains them.
    parts = signature_parts(receipt["signature"])
    limits = {CLOCK: clock_of(parts["clock"])} if parts.get("clock") else {}
    invalid_as: Literal["zero"] | None = "zero" if parts.get("invalid") == "zero" else None
    options = replace(options, rules=chosen_rules(receipt["signature"], read_gold(gold).layout), limits=limits, invalid_as=invalid_as)
    with TempDir() as scratch:
        second_run = run(submission, gold, replace(options, out=scratch / "run"), progress=progress)
    refuse_changes(second_run.changed_gold)
    changed = changed_parts(receipt["signature"], second_run.signature)
    changes = {name: f"{then} then, {now} now" for name, (then, now) in changed.items()}
    others = tuple(f"{name} {text}" for name, text in changes.items() if name not in VERSIONS)
    says = "something else" if others else "the same gold and rules"
    findings.append(_is_submission(receipt, second_run.submission_hash or "", submission))
    findings.append(Finding(name="scored under", good=not others, says=says, differs=others))
    n, left_out = second_run.summary.n_gold, {}
    if 0 <= receipt["n_instances"] < n:
        left_out["rows"] = f"the receipt is about {receipt['n_instances']} of {n} instances, and does not name them"
    elif findings[-1].good and findings[-2].good:
        if changes and second_run.root != receipt["root"]:
            left_out["rows"] = f"they were scored by other versions: {', '.join(map(' '.join, changes.items()))}"
        else:
            findings.append(_is_same(receipt, second_run))
            verified = replace(verified, n_verified=n if findings[-1].good else 0)
            checked |= {"root", "score"}
    claimed = tuple(_claims(receipt, checked | {"submission_hash", "signature"}, changes))
    return replace(verified, findings=tuple(findings), left_out=left_out, claimed=claimed)


def _verified_without_gold(
    receipt: Mapping[str, Any], verified: Verified, submission: Path | None, checked: set[str], options: RunOptions
) -> Verified:
    """Return what is verified if gold, or the submission too, is missing.

    The hash is over answers to instances of gold, within its limits: if it differs, only a receipt of all files shows that they do.
    Rules that name no layout are strict; then the files show it.
    """
    if submission is None:
        return replace(verified, left_out={"rows": "name the submission: --result-dir DIR"}, claimed=tuple(_claims(receipt, checked, {})))
    parts, left_out = signature_parts(receipt["signature"]), {"rows": "scoring needs gold: --gold DIR"}
    rules, findings = parts.get("rules", ""), verified.findings
    layout = next((name for name in LAYOUTS if rules == name or rules.endswith(f"-{name}")), None) or layout_without_gold(submission)
    now = read_submission_in_worker(submission, None, resolve_limits(), layout=layout, isolation=options.isolation)
    found = _is_submission(receipt, submission_hash(now), submission)
    if found.good or (receipt.get("n_other") == 0 and "limits" not in parts) or len(submission_files(now)) == 1:
        findings, checked = (*findings, found), {*checked, "submission_hash"}
    else:
        left_out["files"] = "they differ, or some answer instances that gold does not have: --gold DIR"
    return replace(verified, findings=findings, left_out=left_out, claimed=tuple(_claims(receipt, checked, {})))


def _is_same(recorded: Mapping[str, Any], rerun: Run) -> Finding:
    now = {"n_instances": rerun.summary.n_gold, "root": rerun.root, "score": score_or_mean(rerun.summary.to_json())}
    differs = tuple(
        f"{name}: {recorded.get(name)} then, {value} now" for name, value in now.items() if plain(recorded.get(name)) != plain(value)
    )
    says = "gives the same verdict for every instance, and the same score" if not differs else "gives something else"
    return Finding(name="scored again", good=not differs, says=says, differs=differs)


def _read(file: Path) -> Mapping[str, Any]:
    recorded = None
    with suppress(OSError):
        recorded = _object(file.read_bytes())
    kinds = {**dict.fromkeys(("submission", "submission_hash", "signature", "root", "seal"), str), "n_instances": int}
    if recorded is not None and all(type(recorded.get(name)) is kind for name, kind in kinds.items()):
        return recorded
    hint = "a receipt is the .json next to a page of `leaderboard --site`; for a run name its folder"
    raise UsageError(f"{file} is no receipt", hint=hint)


def _is_submission(recorded: Mapping[str, Any], now: str, place: Path) -> Finding:
    good = now == recorded["submission_hash"]
    return Finding(name="submission", good=good, says=f"{place} is {'what was submitted' if good else f'not what was submitted ({now})'}")


def _claims(recorded: Mapping[str, Any], checked: set[str], changes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in recorded.items():
        if name not in {*checked, "n_instances", "signed"} and value is not None:
            yield name, value if isinstance(value, str) else plain(value)
    yield from ((f"signature.{name}", text) for name, text in changes.items() if name in VERSIONS)
