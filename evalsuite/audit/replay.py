"""What a saved run must hold, worked out from gold and the submission: its rows, what of them can be scored again here, its numbers.

The run is asked for nothing but its options: which instances, under which rules and limits. Nothing is asked of the network.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from evalsuite.audit.claims import Claims, are_numbers
from evalsuite.errors import EvalsuiteError, UsageError
from evalsuite.gold.connection_files import Connections
from evalsuite.gold.errata import Errata, read_errata
from evalsuite.readers.gold_files import gold_inodes, read_gold_files
from evalsuite.readers.limits import Limits, resolve_limits
from evalsuite.readers.submission_files import file_contents, hash_of, unsure_of
from evalsuite.run.corrected import correct, unapplied
from evalsuite.run.databases import Databases
from evalsuite.run.forensics import with_notes
from evalsuite.run.gold_queries import is_judged_by, query_files
from evalsuite.run.judged import asks_judge, is_batch
from evalsuite.run.plan import by_tag, plan, rules_of, signature_of, warnings_of
from evalsuite.run.scoring import Options, Run
from evalsuite.run.shards import parse_shard
from evalsuite.run.sql_answers import connection_of, has_query
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded
from evalsuite.store.merkle import root_of
from evalsuite.store.signature import rules_name
from evalsuite.summary import summarise
from evalsuite.types import Gold, Result, Rule, Submission, Task
from evalsuite.workers.executors import default_jobs
from evalsuite.workers.requests import is_pair, settle_early

JUDGE, QUERY, LIVING = "a judge has to be asked", "its answer is a query", "its gold comes from a query"
NO_JAIL = "a program is run with --allow-programs only"
ELSEWHERE, AT_ONCE, UNPICKED = "not in this run", "scored with all answers at once", "not in the sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The plan of a run: n tasks in gold order, `among` which they are a shard.

    By instance id: `settled` are the results of those that need no scoring, `outside` says why some cannot be scored again here.
    """

    gold: Gold
    submission: Submission
    errata: Errata | None
    limits: Limits
    options: Options
    rules: Rule
    tasks: tuple[Task, ...]
    among: tuple[Task, ...]
    settled: Mapping[str, Result]
    outside: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """The instance ids of the rows that must be there, in their order."""
        return [task.instance.instance_id for task in self.tasks]

    def elsewhere(self) -> dict[str, str]:
        """The instances of gold that the run does not cover, each with the option that left it out."""
        named = {"only": self.options.only, "filter": self.options.pattern, "group": self.options.group, "shard": self.options.shard}
        chosen = ", ".join(f"--{name}" for name, value in named.items() if value)
        known = set(self.ids)
        return {one.instance_id: f"{ELSEWHERE} ({chosen})" for one in self.gold.instances if one.instance_id not in known}


def replay_of(
    claims: Claims, gold: Gold, submission: Submission, databases_folder: Path | None = None, questions: Path | None = None
) -> Replay:
    """The plan of the run that `claims` says it is, over a gold that was read with these `questions`.

    Raises `EvalsuiteError` where no such run can be of this gold and submission.
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
            # Where the databases are known to lie, a pair of queries is run again.
            early = [None if databases_folder is not None and is_pair(variant) else settle_early(variant) for variant in variants]
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


def _options(run: Mapping[str, Any]) -> Options:
    """The options that a run.json names; raises `UsageError` for a shard or a day that is none."""
    said, day = run["options"], run.get("corrections", {}).get("day")
    try:
        errata_day = date.fromisoformat(day) if day else None
    except ValueError:
        raise UsageError(f"corrections.day is no day: {day!r}") from None
    return Options(
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
    """The rules that were chosen, as the signature has them: run.json's `options` hold those of the score, chosen or not."""
    word = dict(part.partition(":")[::2] for part in run["signature"].split("|")).get("rules")
    known: dict[str, Rule | None] = {rules_name("default", gold.layout): None, rules_name("official", gold.layout): "official"}
    known[rules_name("strict", gold.layout)] = "strict"
    if word not in known:
        raise UsageError(f"the signature names no rules of this gold: {word!r}")
    return known[word]


def _outside(variants: Sequence[Task], databases: Databases, *, live: bool) -> str:
    """Why a task, as gold has it and as the errata patch it, cannot be scored again offline; empty where it can.

    Said by gold and by what was handed in, and by `live`, whether the run took gold from queries where there is a table too.
    """
    for task in variants:
        batch = [check.scorer for check in task.instance.checks if SCORERS.load(check.scorer).marker.reads == "batch"]
        if asks_judge(task) or (is_batch(task) and not all(map(SCORERS.whole_batch, batch))):
            return JUDGE
        if has_query(task) and _leads_away(task, databases):
            return QUERY
        living = any(query_files(task, check, live=live) for check in task.instance.checks if is_judged_by(task, check))
        if living and _leads_away(task, databases, gold=True):
            return LIVING
    return ""


def _leads_away(task: Task, databases: Databases, *, gold: bool = False) -> bool:
    """Whether gold maps a task to a connection, be it one that cannot be opened here; a file of --databases is no way off."""
    try:
        connections: Connections = databases.connections()
        if not gold:
            connection = connection_of(task, connections)
            return connection is not None and (connections.databases is None or not is_embedded(connection))
        return any(connections.of_instance(task.instance, check.parameters) is not None for check in task.instance.checks)
    except EvalsuiteError:
        return True


def expected_rows(replay: Replay, fresh: Mapping[str, Result], claims: Claims) -> tuple[Result, ...]:
    """The n rows as they must be, in gold order: what was scored again, the run's own word for the rest, and the notes of both."""
    claimed = {row.instance_id: row for row in claims.rows}
    rows = [_with_time(fresh.get(name, claimed[name]), claimed[name]) for name in replay.ids]
    rows = [replace(row, details={key: value for key, value in row.details.items() if key != "notes"}) for row in rows]
    inodes = gold_inodes(replay.gold.folder) | (replay.errata.inodes if replay.errata is not None else frozenset())
    noted = with_notes(replay.tasks, rows, inodes, among=replay.among)
    return tuple(replace(row, seconds=claimed[row.instance_id].seconds) for row in noted)


def _with_time(row: Result, claimed: Result) -> Result:
    """The row of a right answer with the ratio of times that the run claims: the next one differs."""
    ratio = claimed.details.get("time_ratio")
    timed = row.official == 1 and row.scorer == "sql_match" and isinstance(ratio, int | float) and 0 < ratio < math.inf
    return replace(row, details={**row.details, "time_ratio": ratio}) if timed else row


def expected_run(replay: Replay, rows: Sequence[Result], claims: Claims, again: Run | None) -> dict[str, Any]:
    """The run.json object that a run of these rows writes. What nobody can work out afterwards stands in it as the run claims it."""
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
        unsure=unsure_of(replay.tasks, rows, contents),
        seconds=said["seconds"],
        root=_root(replay, rows, said, contents, living=bool(living)),
    ).to_json()


def _root(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], contents: Mapping[str, str], *, living: bool) -> str:
    """The root; of parts that were joined there is none, and that over gold which a query gave is the run's own word."""
    if "shards" in said["receipt"]:
        return ""
    if living:
        return str(said.get("root", ""))
    return root_of(replay.tasks, rows, read_gold_files(replay.gold.folder, replay.gold.spec_file).digests, contents)


def _warnings(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], again: Run | None, *, living: bool) -> tuple[str, ...]:
    """The warnings; those about gold that a query gave are the run's own word."""
    if living:
        return tuple(said["warnings"])
    before, after = warnings_of(replay.gold, replay.submission, replay.tasks, rows), unapplied(replay.errata, replay.tasks)
    more = [text for text in (again.warnings if again is not None else ()) if text not in {*before, *after}]
    return (*before, *more, *after)


def _corrections(replay: Replay, rows: Sequence[Result], said: Mapping[str, Any], again: Run | None) -> dict[str, Any]:
    """The corrected score, its patched instances as they were scored again, those that could not be as the run claims them."""
    claimed = {str(row.get("instance_id")): row.get("corrected") for row in said.get("corrections", {}).get("applied", ())}
    fresh = {row["instance_id"]: row["corrected"] for row in again.corrections.get("applied", ())} if again is not None else {}
    before = {row.instance_id: row for row in rows}

    def patched(tasks: Sequence[Task]) -> Iterator[Result]:
        for task in tasks:
            name = task.instance.instance_id
            numbers = fresh.get(name) if name in fresh else claimed.get(name)
            if (early := settle_early(task)) is not None:
                yield early
            elif isinstance(numbers, dict) and are_numbers(numbers):
                yield replace(before[name], **numbers)

    return correct(replay.tasks, rows, replay.errata, patched, rules=replay.rules)
