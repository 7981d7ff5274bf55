"""Plan of a run: tasks and settings from gold, submission and options, before any answer is opened.

There is one task per gold instance, in gold order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import GoldError, UsageError, did_you_mean, join_names, unicode_form_hint
from evalsuite.core.status import UNJUDGED, further_results
from evalsuite.core.types import Check, Gold, GoldInstance, Result, Rule, Submission, Task
from evalsuite.gold.errata import Errata, read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import check_ids, with_own_files
from evalsuite.gold.suite_yaml import judge_line, with_judge
from evalsuite.readers.gold_files import GoldFiles, gold_links, read_gold_files
from evalsuite.readers.limits import Limits, moved_limits, resolve_limits
from evalsuite.readers.paths import UNREADABLE, FromRoot, Inode, similar_file_hint, similar_folders
from evalsuite.runs.databases import Databases
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.gold_queries import ComputedGold, drifts
from evalsuite.runs.instance_checks import asks_pair, modules_of, opens_files, reads_of, scorer_modules
from evalsuite.runs.run_options import RunOptions, signature
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.sandbox.fork_server import ForkServer
from evalsuite.sandbox.limits import Budget, answer_seconds, check_limits, jobs_that_fit, size_of
from evalsuite.sandbox.rpc_client import IdleWorker
from evalsuite.scorers import SCORERS


def plan(
    gold: Gold,
    submission: Submission,
    *,
    rules: Rule | None,
    limits: Mapping[str, int | float],
    only: Sequence[str] = (),
    pattern: str | None = None,
    group: str | None = None,
    allow_programs: bool = False,
) -> list[Task]:
    """Return n tasks in gold order.

    `rules` None takes each instance's default: official, and strict for tree scorers. Raises `UsageError` for an id or group that gold does
    not have, and if no instance matches all filters.
    """
    gold_folder, submission_folder = gold.folder.absolute(), submission.folder.absolute()
    return [
        Task(
            instance=instance,
            answer=submission.answers.get(instance.instance_id),
            gold_folder=gold_folder,
            submission_folder=submission_folder,
            rules=rules or default_rules(instance),
            limits=limits,
            allow_programs=allow_programs,
        )
        for instance in select(gold, only=only, pattern=pattern, group=group)
    ]


def rules_of(gold: Gold, chosen: Rule | None) -> Rule:
    """Return the rules of a run's score: the requested ones, else those of all its instances if they agree, else official."""
    return chosen or ("strict" if {default_rules(instance) for instance in gold.instances} == {"strict"} else "official")


def signature_of(gold: Gold, *, chosen: Rule | None, limits: Mapping[str, int | float], living: str = "", **allowed: Any) -> str:
    """Return the signature of a run of this gold, whose `hash` is known, under the requested rules (None: each instance's default).

    `allowed` is the rest that the signature takes.
    """
    word = signature_word(chosen, map(default_rules, gold.instances))
    checks = [check for instance in gold.instances for check in instance.checks]
    plugins = SCORERS.code_hash(check.scorer for check in checks)
    # The code of schema classes is already in gold's hash; the word `classes` only says that such a run needs its gold folder to be shown.
    schemas = [check.parameters.get("schema") for check in checks if SCORERS.load(check.scorer).marker.reads == "tree"]
    if not plugins and any(isinstance(schema, Mapping) and "x-eval-class" in schema for schema in schemas):
        plugins = "classes"
    more: dict[str, Any] = {"layout": gold.layout, "living": living, "plugins": plugins, "judge": judge_line(gold)}
    return signature(rules=word, gold_hash=gold.hash, limits=moved_limits(limits), **allowed, **more)


def signature_word(chosen: Rule | None, defaults: Iterable[Rule]) -> Rule | Literal["default"]:
    """Return the signature's word for the rules: the requested ones; `default` if some instances default to strict; else official."""
    return chosen or ("default" if "strict" in defaults else "official")


def default_rules(instance: GoldInstance) -> Rule:
    """Return the default rules of an instance: strict for trees, official for the rest."""
    return "strict" if "tree" in reads_of(instance.checks) else "official"


def select(gold: Gold, *, only: Sequence[str] = (), pattern: str | None = None, group: str | None = None) -> list[GoldInstance]:
    """Return the requested gold instances in gold order; all of them without a filter."""
    instances: Iterable[GoldInstance] = gold.instances
    if only:
        check_ids(gold, only)
        names = set(only)
        instances = [instance for instance in instances if instance.instance_id in names]
    if group is not None:
        tags = sorted({tag for instance in gold.instances for tag in instance.groups})
        if group not in tags:
            hint = did_you_mean(group, tags) if tags else "groups are set in suite.yaml"
            raise UsageError(f"no group {group!r} in this suite", hint=hint)
        instances = [instance for instance in instances if group in instance.groups]
    candidates = list(instances)
    chosen = candidates if pattern is None else [instance for instance in candidates if fnmatchcase(instance.instance_id, pattern)]
    if chosen or not gold.instances:
        return chosen
    if not candidates:
        raise UsageError(f"none of the requested instances is in the group {group!r}", hint="an instance must match all filters")
    what = "in gold" if len(candidates) == len(gold.instances) else "of those named by --only or --group"
    raise UsageError(
        f"no instance {what} matches {pattern!r}", hint=f"known: {join_names([instance.instance_id for instance in candidates])}"
    )


def by_tag(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Return tag -> the ids of its instances, both in gold order."""
    ids: dict[str, list[str]] = {}
    for task in tasks:
        for tag in task.instance.groups:
            ids.setdefault(tag, []).append(task.instance.instance_id)
    return ids


def warn_of_changes(changed: Sequence[str]) -> Iterator[str]:
    """Yield a warning if files of gold have changed since the run began; `changed` are their names."""
    if changed:
        yield f"gold changed while it was scored: {join_names(changed)}; verdicts may be of the new files, so score again"


def renamed(task: Task, name: str, check: Check) -> Task:
    """Return the task of an instance under another name, with one check; the files that it reads stay the same."""
    assert task.answer is not None
    id_, value = task.instance.instance_id, task.answer.value
    if task.answer.answer_type in ("file", "files"):
        files = tuple(file if isinstance(file, FromRoot) else FromRoot(f"{id_}/{file}") for file in task.answer.paths)
        value = files if isinstance(value, tuple) else files[0]
    if SCORERS.load(check.scorer).marker.gold_files is not None:
        check = with_own_files(check, id_, task.gold_folder, keys=("gold", "schema"))
    instance = replace(task.instance, instance_id=name, checks=(check,))
    return replace(task, instance=instance, answer=replace(task.answer, instance_id=name, value=value))


def refuse_changes(changed: Sequence[str]) -> None:
    """Raise `GoldError` if files of gold changed while a command read them: what it found may be of either content."""
    if changed:
        raise GoldError(f"gold changed while it was read: {join_names(changed)}", hint="call the command again when nothing writes there")


def warnings_of(gold: Gold, submission: Submission, tasks: Sequence[Task], results: Sequence[Result]) -> list[str]:
    """Return warnings that concern no single instance: notes of both readers, ids that gold lacks, lenient gold entries.

    Also what scorers reported about gold files, which are not read earlier.
    """
    unknown = _warn_of_unknown_ids(submission, [task.instance.instance_id for task in tasks])
    problems = [
        f"{problem.where}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for task in tasks
        for check in task.instance.checks
        for problem in check.problems
        # Without a submission nothing has to be computed.
        if problem.code != "NEEDS_CONNECTION" or task.answer is not None
    ]
    messages = {problem.message for task in tasks for check in task.instance.checks for problem in check.problems}
    warnings = [f"{result.instance_id}: {text}" for result in results for text in result.detail("warnings") or () if text not in messages]
    files = _warn_of_missing_files(submission, results)
    return [*gold.notes, *submission.notes, *unknown, *files, *problems, *warnings, *_columns_left_open(results)]


def _warn_of_unknown_ids(submission: Submission, ids: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each id that gold lacks, with gold's id if only case, spaces or the Unicode form differ."""
    by_folded_id = {id_.casefold(): id_ for id_ in ids} if submission.unknown else {}
    for where, name in submission.unknown:
        near = by_folded_id.get(name.strip().casefold())
        hint = f"did you mean {near!r}?" if near is not None else unicode_form_hint(name, ids, "gold's id")
        yield f"{where}: {name!r} is not in gold (UNKNOWN_ID)" + (f"; {hint}" if hint else "")
    if more := submission.n_unknown - len(submission.unknown):
        yield f"{more} more {'answer is' if more == 1 else 'answers are'} to ids that gold does not have (UNKNOWN_ID)"


# Files with almost the right name that one warning names.
_MOST_HINTS = 3


def _warn_of_missing_files(submission: Submission, results: Sequence[Result]) -> Iterator[str]:
    """Yield a warning for files that this user may not read, and for folders and files that have almost the name they should have."""
    if locked := [result.instance_id for result in results if result.fault == "MISSING_FILE" and result.reason.endswith(UNREADABLE)]:
        yield f"this user may not read files of {join_names(locked)} (MISSING_FILE): make them readable and score again"
    lacking = [result.instance_id for result in results if result.fault == "MISSING_FILE"]
    if near := similar_folders(submission.folder, lacking, submission.answers) if lacking else {}:
        names = join_names([f"{name!r} for {id_!r}" for id_, name in near.items()])
        yield f"the name of a folder differs from the id in case, spaces or Unicode form (MISSING_FILE): {names}; rename it to the id"
    named = ((id_, submission.answers[id_].value) for id_ in lacking if id_ not in near and id_ in submission.answers)
    values = ((id_, value) for id_, value in named for value in (value if isinstance(value, tuple) else (value,)))
    hints = (f"{id_}: {hint}" for id_, value in values if (hint := similar_file_hint(submission.folder, id_, value)))
    if shown := list(islice(hints, _MOST_HINTS)):
        yield f"no file has the name that the answer gives, but almost (MISSING_FILE): {'; '.join(shown)}"


def _columns_left_open(results: Sequence[Result]) -> Iterator[str]:
    """Yield, per further scorer, how many instances it did not score and why; the score itself lacks nothing."""
    open_ones: dict[str, list[str]] = {}
    for result in results:
        for name, row in further_results(result).items():
            if row.status in UNJUDGED:
                open_ones.setdefault(name, []).append(row.reason)
    for name, reasons in open_ones.items():
        yield f"{name}: {len(reasons)} of {len(results)} not scored: {reasons[0]}"


# About the length of a line of results.jsonl.
_LINE_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Gold and the submission as read; `tasks` are those of the selected instances, before queries compute gold."""

    gold: Gold
    errata: Errata | None
    limits: Limits
    budget: Budget
    submission: Submission
    tasks: Sequence[Task]
    links: Sequence[Path]
    idle_readers: list[IdleWorker]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(_Sides):
    """What is scored and how. Both sides are read except for answers, which are still unopened; queries have computed gold."""

    options: RunOptions
    gold_files: GoldFiles
    gold_inodes: frozenset[Inode]
    databases: Databases
    living: ComputedGold
    stamps: Mapping[str, str] | None
    rules: Rule
    signature: str
    drift: Sequence[str]


def _read_sides(result_dir: Path, gold_dir: Path, options: RunOptions, fork_server: ForkServer | None) -> _Sides:
    gold = with_judge(read_gold(gold_dir, layout=options.layout, questions=options.questions), options.judge)
    # Without cached metadata, a fork server imports while this process continues.
    ahead = fork_server if options.executor == "local" and options.cache is None and options.resume is None else None
    is_whole = ahead is not None and not (options.only or options.pattern or options.group)
    early = scorer_modules({check.scorer for instance in gold.instances for check in instance.checks}) if is_whole else ()
    errata = read_errata(gold, day=options.errata_day)
    limits = resolve_limits(gold.suite.limits, options.limits)
    check_limits(limits)
    budget = Budget(limits)
    links = gold_links(gold.folder) if options.isolation != "none" else []
    idle_readers: list[IdleWorker] = []
    submission = read_submission_in_worker(
        result_dir,
        gold,
        limits,
        mode=options.mode,
        isolation=options.isolation,
        fork_server=fork_server,
        modules=early,
        hidden=links,
        idle_readers=idle_readers if fork_server is not None and options.executor == "local" else None,
    )
    try:
        selection: dict[str, Any] = {"only": options.only, "pattern": options.pattern, "group": options.group}
        rules = options.rules or gold.suite.rules
        tasks = plan(gold, submission, rules=rules, limits=limits, allow_programs=options.allow_programs, **selection)
    except BaseException:
        _close_all(idle_readers)
        raise
    if ahead is not None:
        ahead.load(modules_of([task for task in tasks if task.answer is not None]))
    return _Sides(
        gold=gold,
        errata=errata,
        limits=limits,
        budget=budget,
        submission=submission,
        tasks=tasks,
        links=links,
        idle_readers=idle_readers,
    )


@contextmanager
def plan_run(result_dir: Path, gold_dir: Path, options: RunOptions, fork_server: ForkServer | None) -> Iterator[Planned]:
    """Yield the plan; what computed its gold is closed after the block, and the worker that read the metadata if no pair took it over."""
    sides = _read_sides(result_dir, gold_dir, options, fork_server)
    gold, limits, isolation = sides.gold, sides.limits, options.isolation
    with ExitStack() as opened:
        opened.callback(_close_all, sides.idle_readers)
        jobs = _jobs(options, sides.tasks, limits)
        if not any(map(opens_files, sides.tasks)):
            _close_all(sides.idle_readers)
        files = read_gold_files(gold.folder, gold.spec_file)
        gold = replace(gold, hash=files.hash)
        allowed: dict[str, Any] = {"programs": options.allow_programs, "invalid_as": options.invalid_as}
        databases = Databases(
            gold, result_dir, limits=limits, jobs=jobs, isolation=isolation, folder=options.databases, cache=options.cache
        )
        opened.callback(databases.close)
        places: dict[str, Any] = {"cache": options.gold_cache, "resumed": options.resume}
        living = databases.gold_queries(sides.tasks, as_of=options.as_of, live=options.live_gold, **places)
        chosen = options.rules or gold.suite.rules
        yield Planned(
            options=replace(options, jobs=jobs),
            gold=gold,
            gold_files=files,
            errata=sides.errata,
            gold_inodes=files.inodes | (sides.errata.inodes if sides.errata is not None else frozenset()),
            limits=limits,
            budget=sides.budget,
            submission=sides.submission,
            databases=databases,
            living=living,
            stamps=databases.stamps(living.tasks),
            tasks=list(living.tasks) if options.shard is None else options.shard.select(living.tasks),
            rules=rules_of(gold, chosen),
            signature=signature_of(gold, chosen=chosen, limits=limits, living=living.hash, **allowed),
            drift=drifts(living, options.runs_folder, gold.hash),
            links=sides.links,
            idle_readers=sides.idle_readers,
        )


def _close_all(workers: list[IdleWorker]) -> None:
    while workers:
        workers.pop().close()


def _jobs(options: RunOptions, tasks: Sequence[Task], limits: Limits) -> int:
    """Return the number of answers scored in parallel: the requested one, or fewer if the machine has too little memory, with a warning.

    Raises `UsageError` if the machine has too little for one, or allows a process less than these answers may take.
    """
    jobs, sizes = options.jobs or default_jobs(), [size_of(task) for task in tasks]
    with_gold_query = any(asks_pair(task.instance.checks) for task in tasks)
    check_limits(
        limits,
        seconds=answer_seconds(limits, max(sizes, default=0), with_gold_query=with_gold_query),
        n_bytes=max([_LINE_BYTES * len(tasks), *(size for task, size in zip(tasks, sizes, strict=True) if opens_files(task))]),
    )
    if options.executor != "local":
        return jobs
    fits, why = jobs_that_fit(jobs, sizes, limits)
    if fits < jobs and options.tell is not None:
        options.tell(f"--jobs {fits} instead of {jobs}: {why}")
    return fits
