"""One scoring of one submission, from two folders to a `Run`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from evalsuite.errors import UsageError
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import gold_digests, gold_inodes, hash_of_gold
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.submission_files import file_contents, hash_of, unsure_of
from evalsuite.run.corrected import correct, unapplied
from evalsuite.run.databases import Databases, hangs_on_database
from evalsuite.run.forensics import by_kind, with_notes
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.judged import Batches, Execute, is_batch
from evalsuite.run.living_gold import drifts
from evalsuite.run.plan import by_tag, plan, rules_of, signature_of, warnings_of
from evalsuite.run.score_cache import ScoreCache
from evalsuite.run.shards import Shard
from evalsuite.store.run_folder import SCHEMA_VERSION, RunFolder, claim, new_folder
from evalsuite.store.signature import receipt
from evalsuite.summary import Summary, summarise
from evalsuite.types import Gold, Result, Rule, Submission, Task
from evalsuite.workers.budget import Budget
from evalsuite.workers.executors import Executor, Work, check_executor, default_jobs, open_executor
from evalsuite.workers.requests import settle_early
from evalsuite.workers.start import Zygote, forking

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run. `rules` None means what the suite says, else official; `out` None means a new folder under `runs_folder`.

    `layout` None looks at gold, `mode` None at the submission (see `readers.layouts`). `executor` is a name of `executors.EXECUTORS`,
    `scheduler` the address of a dask scheduler. `origin` is the URL of a submission that is a copy of what lies there.
    `errata_day` is the day on which errata must not have expired, None for today (UTC).
    `databases` is where the databases lie that checks name, `gold_cache` where computed gold is kept, `as_of` the day (None: today)
    that gold queries ask about. `allow_programs` runs answers that are programs, which nothing jails. `invalid_as` "zero" counts an answer
    to which a judge gave no verdict as wrong. `resume` is a run that was interrupted, or one with instances that nobody could judge.
    """

    rules: Rule | None = None
    only: tuple[str, ...] = ()
    pattern: str | None = None
    group: str | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    out: Path | None = None
    runs_folder: Path = Path(".evalsuite/runs")
    save: bool = True
    isolation: str = "process"
    jobs: int | None = None
    resume: Path | None = None
    cache: Path | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    layout: str | None = None
    mode: str | None = None
    executor: str = "local"
    scheduler: str | None = None
    shard: Shard | None = None
    origin: str = ""
    errata_day: date | None = None
    databases: Path | None = None
    gold_cache: Path | None = None
    as_of: str | None = None
    allow_programs: bool = False
    invalid_as: Literal["zero"] | None = None

    def to_json(self) -> dict[str, Any]:
        """What `run.json` keeps of them: only what says which instances were scored and how."""
        chosen = {"rules": self.rules, "only": list(self.only), "filter": self.pattern, "group": self.group, "limits": dict(self.limits)}
        more = {name: getattr(self, name) for name in ("layout", "mode", "shard", "as_of", "allow_programs", "invalid_as")}
        return chosen | {name: str(value) if name == "shard" else value for name, value in more.items() if value not in (None, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored submission: n results in gold order, their summary, where it was saved (None: nowhere), and what `unsure_of` says."""

    gold: Gold
    submission: Submission
    rules: Rule
    signature: str
    options: Options
    results: tuple[Result, ...]
    summary: Summary
    groups: Mapping[str, Sequence[str]]
    judge: Mapping[str, Any] | None
    sql: Mapping[str, Any] | None
    living_gold: Mapping[str, Any]
    warnings: tuple[str, ...]
    folder: Path | None
    receipt: Mapping[str, Any]
    seconds: float
    corrections: Mapping[str, Any] = field(default_factory=dict)
    submission_hash: str | None = None
    unsure: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The `run.json` object."""
        return {
            "schema_version": SCHEMA_VERSION,
            "signature": self.signature,
            "options": {**self.options.to_json(), "rules": self.rules},
            "submission": {
                "folder": self.options.origin or str(self.submission.folder),
                "n_objects": self.submission.n_objects,
                **({"hash": self.submission_hash} if self.submission_hash else {}),
                **({"unsure": list(self.unsure)} if self.unsure else {}),
            },
            "gold": {
                "folder": str(self.gold.folder),
                "name": self.gold.suite.name,
                "hash": self.gold.hash,
                "layout": self.gold.layout,
                "n_instances": len(self.gold.instances),
                "clusters": list(self.gold.suite.extra.get("clusters", ())),
                "hidden": bool(self.gold.suite.extra.get("hidden", False)),
            },
            "summary": self.summary.to_json(),
            **({"corrections": dict(self.corrections)} if self.corrections else {}),
            "groups": {tag: list(ids) for tag, ids in self.groups.items()},
            **({"judge": dict(self.judge)} if self.judge else {}),
            **({"sql": dict(self.sql)} if self.sql else {}),
            **({"living_gold": dict(self.living_gold)} if self.living_gold else {}),
            "metadata": dict(self.options.metadata),
            "notes": by_kind(self.results),
            "warnings": list(self.warnings),
            "receipt": dict(self.receipt),
            "seconds": round(self.seconds, 3),
        }


def run(
    result_dir: Path, gold_dir: Path, options: Options | None = None, *, progress: Progress | None = None, judges: Zygote | None = None
) -> Run:
    """Score `result_dir` against `gold_dir` and save the run. `judges` is a zygote that has read gold ahead, for one run after the other.

    Raises `GoldError`, `SubmissionError` (a folder that cannot be read as a whole), `UsageError` and `OutputError`; before any of the
    first three no run folder is made. A KeyboardInterrupt comes out as `InterruptedRun`, when all workers are dead.
    """
    options = options or Options()
    _check(options)
    try:
        # It imports while gold is read.
        with forking(result_dir) as zygote:
            return _run(result_dir, gold_dir, options, zygote, judges, progress)
    except KeyboardInterrupt as stop:
        if isinstance(stop, InterruptedRun) or options.resume is not None:
            raise
        raise InterruptedRun(_saved(None, 0)) from stop


def _run(
    result_dir: Path, gold_dir: Path, options: Options, zygote: Zygote | None, judges: Zygote | None, progress: Progress | None
) -> Run:
    started = time.perf_counter()
    gold = read_gold(gold_dir, layout=options.layout)
    errata = read_errata(gold, day=options.errata_day)
    limits = resolve_limits(gold.suite.limits, options.limits)
    budget = Budget(limits)
    submission = read_handed_in(result_dir, gold, limits, mode=options.mode, isolation=options.isolation, zygote=zygote)
    chosen = options.rules or gold.suite.rules
    rules = rules_of(gold, chosen)
    choice: dict[str, Any] = {"only": options.only, "pattern": options.pattern, "group": options.group}
    planned = plan(gold, submission, rules=chosen, limits=limits, allow_programs=options.allow_programs, **choice)
    jobs, isolation = options.jobs or default_jobs(), options.isolation
    databases = Databases(gold, result_dir, limits=limits, jobs=jobs, isolation=isolation, folder=options.databases, cache=options.cache)
    living = databases.living_gold(planned, as_of=options.as_of, cache=options.gold_cache, resumed=options.resume)
    tasks = list(living.tasks) if options.shard is None else options.shard.of(living.tasks)
    digests = gold_digests(gold.folder, gold.spec_file)
    gold = replace(gold, hash=hash_of_gold(digests))
    allowed: dict[str, Any] = {"programs": options.allow_programs, "invalid_as": options.invalid_as}
    line = signature_of(gold, chosen=chosen, limits=limits, living=living.hash, **allowed)
    drift = drifts(living, options.runs_folder, gold.hash)
    contents = file_contents(submission) if options.save else {}
    submitted = hash_of(contents) if options.save else None
    folder, known = _open_folder(options, submission, line, submitted, {"suite": gold.suite.name, "n_instances": len(tasks)})
    inodes = gold_inodes(gold.folder) | (errata.inodes if errata is not None else frozenset())
    forks: dict[str, Zygote | None] = {"zygote": zygote, "judges": judges}
    work = Work(jobs=jobs, isolation=isolation, gold=gold, gold_inodes=inodes, scheduler=options.scheduler, budget=budget, **forks)
    pool = open_executor(options.executor, work)
    cache = ScoreCache(options.cache, base=line.replace(gold.hash, ""), gold_inodes=inodes) if options.cache is not None else None
    sql = databases.sql_answers(pool.results, folder.path if folder is not None else None, inodes)
    batches = Batches(sql.results, gold, inodes, invalid_as=options.invalid_as)
    with _in_order(pool, cache, folder, len(tasks)), closing(databases):
        if folder is not None and not gold.suite.extra.get("hidden"):
            living.freeze(folder.path)
        scored = _execute(tasks, batches.results, folder, known, cache, progress)
        results = with_notes(tasks, scored, inodes, among=living.tasks, gold_digests=digests)
        groups = {task.instance.instance_id: task.instance.groups for task in tasks}
        resumed = {"resume": folder.notes} if folder is not None and folder.notes else {}
        finished = Run(
            gold=gold,
            submission=submission,
            rules=rules,
            signature=line,
            options=options,
            results=results,
            summary=summarise(
                results,
                rules=rules,
                groups=groups,
                submitted=[task.instance.instance_id for task in tasks if task.answer is not None],
                clusters=gold.suite.extra.get("clusters", ()),
                n_instances=len(gold.instances),
            ),
            groups=by_tag(tasks),
            judge=batches.spent(),
            sql=sql.spent(),
            living_gold=living.to_json(),
            warnings=(*warnings_of(gold, submission, tasks, results), *living.notes, *drift, *unapplied(errata, tasks)),
            folder=folder.path if folder is not None else None,
            receipt={**receipt(isolation=options.isolation, walls=pool.walls, jobs=pool.jobs, executor=options.executor), **resumed},
            corrections=correct(tasks, results, errata, batches.anew().results, rules=rules),
            submission_hash=submitted,
            unsure=unsure_of(tasks, results, contents),
            seconds=time.perf_counter() - started,
        )
        if folder is not None:
            folder.finish(finished.results, finished.to_json())
    return finished


class InterruptedRun(KeyboardInterrupt):
    """A run that was asked to stop, when it has: its text says what is saved and how to go on."""


@contextmanager
def _in_order(pool: Executor, cache: ScoreCache | None, folder: RunFolder | None, n_instances: int) -> Iterator[None]:
    """Whatever happens inside, every worker is dead and every file closed after it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise InterruptedRun(_saved(folder, n_instances)) from stop
    finally:
        pool.close()
        if cache is not None:
            cache.close()
        if folder is not None:
            folder.close()


def _saved(folder: RunFolder | None, n_instances: int) -> str:
    if folder is None:
        return "interrupted: nothing is saved"
    if not folder.unfinished:
        return f"interrupted: the finished run is saved in {folder.path}"
    return f"interrupted: {folder.n_saved()} of {n_instances} instances are saved in {folder.path}; go on with --resume {folder.path}"


def _check(options: Options) -> None:
    """Raise `UsageError` where options exclude each other, or no executor can be meant."""
    check_executor(options.executor, options.scheduler)
    if options.resume is not None and options.out is not None:
        raise UsageError("--resume and --out exclude each other", hint="--resume names the folder to write to")
    if options.resume is not None and not options.save:
        raise UsageError("--resume and --no-save exclude each other", hint="a resumed run goes on in its folder")


def _execute(
    tasks: Sequence[Task],
    execute: Execute,
    folder: RunFolder | None,
    known: Mapping[str, Result],
    cache: ScoreCache | None,
    progress: Progress | None,
) -> tuple[Result, ...]:
    """The results in gold order; those of an earlier try or of the cache are taken over, every new one is journalled as it is known."""
    results = {name: known[name] for task in tasks if (name := task.instance.instance_id) in known}
    rest = [task for task in tasks if task.instance.instance_id not in results]
    worth = [task for task in rest if settle_early(task) is None and not is_batch(task) and not hangs_on_database(task)]
    cached, keys = cache.known(worth) if cache is not None else ({}, {})

    def note(result: Result) -> None:
        if folder is not None:
            folder.append(result)
        results[result.instance_id] = result
        if progress is not None:
            progress(len(results), len(tasks))

    for result in cached.values():
        note(result)
    for result in execute([task for task in rest if task.instance.instance_id not in cached]):
        note(result)
        if cache is not None:
            cache.keep(keys.get(result.instance_id), result)
    return tuple(results[task.instance.instance_id] for task in tasks)


def _open_folder(
    options: Options, submission: Submission, signature_line: str, submitted: str | None, scope: Mapping[str, Any]
) -> tuple[RunFolder | None, Mapping[str, Result]]:
    """The run folder to write to, and the results an interrupted run left in it. `scope` is told to who looks at it meanwhile."""
    if not options.save:
        return None, {}
    plan_line = {"signature": signature_line, "submission": submitted, "options": options.to_json(), **scope}
    if options.resume is not None:
        return RunFolder(options.resume).reopen(plan_line)
    if options.out is not None:
        return RunFolder(claim(options.out)).open(plan_line), {}
    place = options.origin.rstrip("/") or str(submission.folder.resolve())
    return RunFolder(new_folder(options.runs_folder, options.label or place.rpartition("/")[2])).open(plan_line), {}
