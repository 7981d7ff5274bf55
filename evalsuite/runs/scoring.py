"""Score one submission, from two folders to a `Run`: plan, open, execute, summarise, save."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from evalsuite.core.errors import UsageError
from evalsuite.core.runtime import without_collection
from evalsuite.core.types import Result
from evalsuite.readers.submission_files import (
    file_contents,
    has_changed,
    hash_of,
    named_hash,
    read_of,
    submission_hash,
    uncertain_instances,
)
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.batch_scoring import BatchExecutor, is_batch
from evalsuite.runs.databases import SqlAnswers, hangs_on_database
from evalsuite.runs.errata_scores import correct, unapplied
from evalsuite.runs.executors import Executor, Work, check_executor, open_executor
from evalsuite.runs.instance_checks import is_pair, skip_unscorable
from evalsuite.runs.plan import Planned, by_tag, planned_run, warnings_of
from evalsuite.runs.run_folder import RunFolder, claim, new_folder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.run_result import Run
from evalsuite.runs.score_cache import ScoreCache
from evalsuite.runs.signature import receipt
from evalsuite.runs.signing import root_of
from evalsuite.runs.submission_checks import with_notes
from evalsuite.runs.summary import summarise
from evalsuite.sandbox.fork_server import ForkServer, forking

__all__ = ["InterruptedRun", "Progress", "Run", "RunOptions", "run"]

Progress = Callable[[int, int], None]


def run(
    result_dir: Path,
    gold_dir: Path,
    options: RunOptions | None = None,
    *,
    progress: Progress | None = None,
    fork_server: ForkServer | None = None,
    judges: ForkServer | None = None,
) -> Run:
    """Score `result_dir` against `gold_dir` and save the run.

    Callers that score several submissions can share one `fork_server` for all workers (None: one is started, with `result_dir` as hostile),
    and one for their `judges` that has loaded gold.

    Raises:
        GoldError: Gold is invalid.
        SubmissionError: The submission cannot be read as a whole.
        UsageError: An option is wrong. Before any of these three, no run folder is created.
        OutputError: The run cannot be saved.
        InterruptedRun: A KeyboardInterrupt, raised after all workers are dead.
    """
    started, options = time.perf_counter(), options or RunOptions()
    _check(options)
    try:
        # The fork server imports while gold is read.
        with (
            without_collection(),
            nullcontext(fork_server)
            if fork_server is not None and fork_server.alive
            else forking(result_dir, modules=WORKER_MODULES) as fork_server,
            planned_run(result_dir, gold_dir, options, fork_server) as planned,
            _opened(planned, fork_server, judges) as opened,
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
    """A run that was asked to stop, raised after it stopped: its text says what is saved and how to continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Open resources of one run: executor, SQL, judge batches, cache, run folder.

    `known` are the results that an interrupted run left in `folder`, by instance id.
    """

    pool: Executor
    sql: SqlAnswers
    batches: BatchExecutor
    cache: ScoreCache | None
    folder: RunFolder | None
    known: Mapping[str, Result]


@contextmanager
def _opened(planned: Planned, fork_server: ForkServer | None, judges: ForkServer | None) -> Iterator[Opened]:
    """Open the resources of a run. After the block every worker is dead and every file closed."""
    options, gold, inodes = planned.options, planned.gold, planned.gold_inodes
    assert options.jobs is not None
    folder, known = _open_folder(planned)
    work = Work(
        jobs=options.jobs,
        isolation=options.isolation,
        gold=gold,
        gold_inodes=inodes,
        scheduler=options.scheduler,
        fork_server=fork_server,
        judges=judges,
        budget=planned.budget,
    )
    pool = open_executor(options.executor, work)
    cache = None
    if options.cache is not None:
        # Timing queries requires running them.
        state_of = (lambda task: None if hangs_on_database(task) else "") if options.ves else planned.databases.state_of
        base = planned.signature.replace(gold.hash, "")
        cache = ScoreCache(options.cache, base=base, gold=planned.gold_files, gold_inodes=inodes, state_of=state_of)
    place = folder.path if folder is not None else None
    sql = planned.databases.sql_answers(pool.results, place, inodes, ves=options.ves, tell=options.tell)
    batches = BatchExecutor(sql.results, gold, inodes, invalid_as=options.invalid_as, folder=place)
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
    """Return the run folder to write, and the results that an earlier attempt left in it. Raises `OutputError`."""
    options, submission = planned.options, planned.submission
    if not options.save:
        return None, {}
    plan_line = {
        "signature": planned.signature,
        "submission": named_hash(submission),
        "options": options.to_json(),
        # Labels for readers of the folder during the run.
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
    """Yield the results in gold order; those of an earlier attempt or the cache are reused, every new one is journalled at once.

    All of them are known when this returns; each is released when it is taken.
    """
    tasks, folder, cache = planned.tasks, opened.folder, opened.cache
    results = {name: opened.known[name] for task in tasks if (name := task.instance.instance_id) in opened.known}
    rest = [task for task in tasks if task.instance.instance_id not in results]
    cached = dict[str, Result]()
    if cache is not None:
        cached = cache.known([t for t in rest if is_pair(t) or (skip_unscorable(t) is None and not is_batch(t))])

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
            cache.keep(result)
    if cache is not None:
        # Before notes are added to the results: until then the objects are the same.
        cache.close()
    # The table of names is freed when this returns.
    ordered = [results[task.instance.instance_id] for task in reversed(tasks)]
    return (ordered.pop() for _ in tasks)


def _summarise(planned: Planned, opened: Opened, scored: Iterator[Result], started: float) -> Run:
    """Return the run: results with notes, every number, and the bytes that they are about."""
    options, gold, tasks, folder = planned.options, planned.gold, planned.tasks, opened.folder
    files = planned.gold_files
    results = with_notes(tasks, scored, planned.gold_inodes, among=planned.living.tasks, gold_digests=files.digests)
    corrections = correct(tasks, results, planned.errata, opened.batches.anew().results, rules=planned.rules)
    read = read_of(tasks, {result.instance_id: result for result in results})
    contents = file_contents(planned.submission, known=read) if options.save else {}
    made = receipt(isolation=options.isolation, features=opened.pool.features, jobs=opened.pool.jobs, executor=options.executor)
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
        unsure=uncertain_instances(tasks, results, contents, changed_gold=files.changed()),
        root=root_of(tasks, results, files.digests, contents),
        seconds=time.perf_counter() - started,
    )


def _check(options: RunOptions) -> None:
    """Raise `UsageError` for options that exclude each other, or an unknown executor."""
    check_executor(options.executor, options.scheduler)
    if options.resume is not None and options.out is not None:
        raise UsageError("--resume and --out exclude each other", hint="--resume names the folder to write to")
    if options.resume is not None and not options.save:
        raise UsageError("--resume and --no-save exclude each other", hint="a resumed run continues in its folder")


def _saved(folder: RunFolder | None, n_instances: int) -> str:
    if folder is None:
        return "interrupted: nothing is saved"
    if not folder.unfinished:
        return f"interrupted: the finished run is saved in {folder.path}"
    return f"interrupted: {folder.n_saved()} of {n_instances} instances are saved in {folder.path}; continue with --resume {folder.path}"
