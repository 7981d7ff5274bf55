"""One scoring of one submission, from two folders to a `Run`: plan, open, execute, summarise, save."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.errors import UsageError
from evalsuite.garbage import not_looking
from evalsuite.gold.errata import Errata, read_errata
from evalsuite.gold.judge_file import with_judge
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import GoldFiles, read_gold_files
from evalsuite.readers.limits import Limits, resolve_limits
from evalsuite.readers.paths import Inode
from evalsuite.readers.submission_files import file_contents, has_changed, hash_of, named_hash, read_of, submission_hash, unsure_of
from evalsuite.run.corrected import correct, unapplied
from evalsuite.run.databases import Databases, hangs_on_database
from evalsuite.run.finished import Options, Run
from evalsuite.run.forensics import with_notes
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.judged import Batches, is_batch
from evalsuite.run.living_gold import Living, drifts
from evalsuite.run.plan import by_tag, plan, rules_of, signature_of, warnings_of
from evalsuite.run.score_cache import ScoreCache
from evalsuite.run.sql_answers import SqlAnswers
from evalsuite.store.merkle import root_of
from evalsuite.store.new_folders import claim, new_folder
from evalsuite.store.run_folder import RunFolder
from evalsuite.store.signature import receipt
from evalsuite.summary import summarise
from evalsuite.types import Gold, Result, Rule, Submission, Task
from evalsuite.workers.budget import Budget
from evalsuite.workers.executors import Executor, Work, check_executor, default_jobs, open_executor
from evalsuite.workers.requests import settle_early
from evalsuite.workers.start import Zygote, forking

__all__ = ["InterruptedRun", "Options", "Progress", "Run", "run"]

Progress = Callable[[int, int], None]


def run(
    result_dir: Path,
    gold_dir: Path,
    options: Options | None = None,
    *,
    progress: Progress | None = None,
    zygote: Zygote | None = None,
    judges: Zygote | None = None,
) -> Run:
    """Score `result_dir` against `gold_dir` and save the run. For one run after the other there may be one `zygote` for all their workers
    (None: one of its own, for which `result_dir` is hostile), and one for their `judges` that has read gold ahead.

    Raises `GoldError`, `SubmissionError` (a folder that cannot be read as a whole), `UsageError` and `OutputError`; before any of the
    first three no run folder is made. A KeyboardInterrupt comes out as `InterruptedRun`, when all workers are dead.
    """
    started, options = time.perf_counter(), options or Options()
    _check(options)
    try:
        # The zygote imports while gold is read.
        with (
            not_looking(),
            nullcontext(zygote) if zygote is not None and zygote.alive else forking(result_dir) as zygote,
            _planned(result_dir, gold_dir, options, zygote) as planned,
            _opened(planned, zygote, judges) as opened,
        ):
            finished = _summarise(planned, opened, _execute(planned, opened, progress), started)
            if opened.folder is not None:
                opened.folder.finish(finished.results, finished.to_json())
            return finished
    except KeyboardInterrupt as stop:
        if isinstance(stop, InterruptedRun) or options.resume is not None:
            raise
        raise InterruptedRun(_saved(None, 0)) from stop


class InterruptedRun(KeyboardInterrupt):
    """A run that was asked to stop, when it has: its text says what is saved and how to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is to be scored and how. Both sides are read as far as they name things; no answer is opened yet."""

    options: Options
    gold: Gold
    gold_files: GoldFiles
    errata: Errata | None
    gold_inodes: frozenset[Inode]
    limits: Limits
    budget: Budget
    submission: Submission
    databases: Databases
    living: Living
    stamps: Mapping[str, str] | None
    tasks: Sequence[Task]
    rules: Rule
    signature: str
    drift: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Who scores a plan, from the one that asks a judge to the pool of workers, and where its results go.

    `known` are the results that an interrupted run left in `folder`, by instance id.
    """

    pool: Executor
    sql: SqlAnswers
    batches: Batches
    cache: ScoreCache | None
    folder: RunFolder | None
    known: Mapping[str, Result]


@contextmanager
def _planned(result_dir: Path, gold_dir: Path, options: Options, zygote: Zygote | None) -> Iterator[Planned]:
    """The plan; what computed its gold is closed after the block."""
    gold = with_judge(read_gold(gold_dir, layout=options.layout, questions=options.questions), options.judge)
    errata = read_errata(gold, day=options.errata_day)
    limits = resolve_limits(gold.suite.limits, options.limits)
    budget = Budget(limits)
    submission = read_handed_in(result_dir, gold, limits, mode=options.mode, isolation=options.isolation, zygote=zygote)
    chosen = options.rules or gold.suite.rules
    wanted = plan(
        gold,
        submission,
        rules=chosen,
        limits=limits,
        only=options.only,
        pattern=options.pattern,
        group=options.group,
        allow_programs=options.allow_programs,
    )
    files = read_gold_files(gold.folder, gold.spec_file)
    gold = replace(gold, hash=files.hash)
    allowed: dict[str, Any] = {"programs": options.allow_programs, "invalid_as": options.invalid_as}
    jobs, isolation = options.jobs or default_jobs(), options.isolation
    databases = Databases(gold, result_dir, limits=limits, jobs=jobs, isolation=isolation, folder=options.databases, cache=options.cache)
    with closing(databases):
        living = databases.living_gold(wanted, as_of=options.as_of, cache=options.gold_cache, resumed=options.resume)
        yield Planned(
            options=replace(options, jobs=jobs),
            gold=gold,
            gold_files=files,
            errata=errata,
            gold_inodes=files.inodes | (errata.inodes if errata is not None else frozenset()),
            limits=limits,
            budget=budget,
            submission=submission,
            databases=databases,
            living=living,
            stamps=databases.stamps(living.tasks),
            tasks=list(living.tasks) if options.shard is None else options.shard.of(living.tasks),
            rules=rules_of(gold, chosen),
            signature=signature_of(gold, chosen=chosen, limits=limits, living=living.hash, **allowed),
            drift=drifts(living, options.runs_folder, gold.hash),
        )


@contextmanager
def _opened(planned: Planned, zygote: Zygote | None, judges: Zygote | None) -> Iterator[Opened]:
    """The run folder and who scores. Whatever happens inside, every worker is dead and every file closed after it."""
    options, gold, inodes = planned.options, planned.gold, planned.gold_inodes
    assert options.jobs is not None
    folder, known = _open_folder(planned)
    work = Work(
        jobs=options.jobs,
        isolation=options.isolation,
        gold=gold,
        gold_inodes=inodes,
        scheduler=options.scheduler,
        zygote=zygote,
        judges=judges,
        budget=planned.budget,
    )
    pool = open_executor(options.executor, work)
    cache = None
    if options.cache is not None:
        cache = ScoreCache(options.cache, base=planned.signature.replace(gold.hash, ""), gold=planned.gold_files, gold_inodes=inodes)
    place = folder.path if folder is not None else None
    sql = planned.databases.sql_answers(pool.results, place, inodes, ves=options.ves, tell=options.tell)
    batches = Batches(sql.results, gold, inodes, invalid_as=options.invalid_as, folder=place)
    try:
        if folder is not None and not gold.suite.extra.get("hidden"):
            planned.living.freeze(folder.path)
        yield Opened(pool=pool, sql=sql, batches=batches, cache=cache, folder=folder, known=known)
    except KeyboardInterrupt as stop:
        raise InterruptedRun(_saved(folder, len(planned.tasks))) from stop
    finally:
        pool.close()
        if cache is not None:
            cache.close()
        if folder is not None:
            folder.close()


def _open_folder(planned: Planned) -> tuple[RunFolder | None, Mapping[str, Result]]:
    """The run folder to write to, and the results that an earlier run left in it. Raises `OutputError`."""
    options, submission = planned.options, planned.submission
    if not options.save:
        return None, {}
    plan_line = {
        "signature": planned.signature,
        "submission": named_hash(submission),
        "options": options.to_json(),
        # For who looks at it meanwhile.
        "suite": planned.gold.suite.name,
        "n_instances": len(planned.tasks),
        **({"databases": dict(planned.stamps)} if planned.stamps is not None else {}),
    }
    if options.resume is not None:

        def is_other(known: Mapping[str, Result], whole: str) -> bool:
            if whole:
                return submission_hash(submission) != whole
            return has_changed(submission, read_of(planned.tasks, known))

        return RunFolder(options.resume).reopen(plan_line, is_other)
    if options.out is not None:
        return RunFolder(claim(options.out)).open(plan_line), {}
    place = options.origin.rstrip("/") or str(submission.folder.resolve())
    return RunFolder(new_folder(options.runs_folder, options.label or place.rpartition("/")[2])).open(plan_line), {}


def _execute(planned: Planned, opened: Opened, progress: Progress | None) -> Iterator[Result]:
    """The results in gold order; those of an earlier try or of the cache are taken over, every new one is journalled as it is known.

    All of them are known when this returns; each is let go of as it is taken.
    """
    tasks, folder, cache = planned.tasks, opened.folder, opened.cache
    results = {name: opened.known[name] for task in tasks if (name := task.instance.instance_id) in opened.known}
    rest = [task for task in tasks if task.instance.instance_id not in results]
    cached, keys = dict[str, Result](), dict[str, str]()
    if cache is not None:
        cached, keys = cache.known([t for t in rest if settle_early(t) is None and not is_batch(t) and not hangs_on_database(t)])

    def note(result: Result) -> None:
        if folder is not None:
            folder.append(result)
        results[result.instance_id] = result
        if progress is not None:
            progress(len(results), len(tasks))

    for result in cached.values():
        note(result)
    for result in opened.batches.results([task for task in rest if task.instance.instance_id not in cached]):
        note(result)
        if cache is not None:
            cache.keep(keys.get(result.instance_id), result)
    return (results.pop(task.instance.instance_id) for task in tasks)


def _summarise(planned: Planned, opened: Opened, scored: Iterator[Result], started: float) -> Run:
    """All that is said of a run: its results with notes on how answers were made, every number, and which bytes they are about."""
    options, gold, tasks, folder = planned.options, planned.gold, planned.tasks, opened.folder
    files = planned.gold_files
    results = with_notes(tasks, scored, planned.gold_inodes, among=planned.living.tasks, gold_digests=files.digests)
    corrections = correct(tasks, results, planned.errata, opened.batches.anew().results, rules=planned.rules)
    read = read_of(tasks, {result.instance_id: result for result in results})
    contents = file_contents(planned.submission, known=read) if options.save else {}
    made = receipt(isolation=options.isolation, walls=opened.pool.walls, jobs=opened.pool.jobs, executor=options.executor)
    return Run(
        gold=gold,
        submission=planned.submission,
        rules=planned.rules,
        signature=planned.signature,
        options=options,
        results=results,
        summary=summarise(
            results,
            rules=planned.rules,
            groups={task.instance.instance_id: task.instance.groups for task in tasks if task.instance.groups},
            submitted=[task.instance.instance_id for task in tasks if task.answer is not None],
            clusters=gold.suite.extra.get("clusters", ()),
            n_instances=len(gold.instances),
        ),
        groups=by_tag(tasks),
        judge=opened.batches.spent(),
        sql=opened.sql.spent(),
        living_gold=planned.living.to_json(),
        databases=planned.stamps,
        warnings=(
            *warnings_of(gold, planned.submission, tasks, results),
            *planned.living.notes,
            *planned.drift,
            *unapplied(planned.errata, tasks),
        ),
        folder=folder.path if folder is not None else None,
        receipt={**made, **({"resume": folder.notes} if folder is not None and folder.notes else {})},
        corrections=corrections,
        submission_hash=hash_of(contents) if options.save else None,
        unsure=unsure_of(tasks, results, contents, changed_gold=files.changed()),
        root=root_of(tasks, results, files.digests, contents),
        seconds=time.perf_counter() - started,
    )


def _check(options: Options) -> None:
    """Raise `UsageError` where options exclude each other, or no executor can be meant."""
    check_executor(options.executor, options.scheduler)
    if options.resume is not None and options.out is not None:
        raise UsageError("--resume and --out exclude each other", hint="--resume names the folder to write to")
    if options.resume is not None and not options.save:
        raise UsageError("--resume and --no-save exclude each other", hint="a resumed run goes on in its folder")


def _saved(folder: RunFolder | None, n_instances: int) -> str:
    if folder is None:
        return "interrupted: nothing is saved"
    if not folder.unfinished:
        return f"interrupted: the finished run is saved in {folder.path}"
    return f"interrupted: {folder.n_saved()} of {n_instances} instances are saved in {folder.path}; go on with --resume {folder.path}"
