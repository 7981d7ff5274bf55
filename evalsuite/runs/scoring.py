"""Score one submission, from two folders to a `Run`: plan, open, execute, note how answers were made, summarise, save.

Notes are hints for a reader and change no score. They are computed in the parent from tasks and finished results; files are compared as
bytes.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.files import exists
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.runtime import without_collection
from evalsuite.core.status import NO_GOLD
from evalsuite.core.types import RULES, Check, Gold, Result, Rule, Submission, Task
from evalsuite.readers.paths import AnswerFiles, FromRoot, open_trusted, resolve_in_side
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
from evalsuite.runs.batch_scoring import BatchScoring
from evalsuite.runs.databases import SqlAnswers, hangs_on_database, runs_query
from evalsuite.runs.executors import Executor, Stage, Work, check_executor, open_executor, pipeline, stage_of
from evalsuite.runs.history import warn_of_clock
from evalsuite.runs.plan import Planned, by_tag, plan_run, warn_of_changes, warnings_of
from evalsuite.runs.run_files import SCHEMA_VERSION
from evalsuite.runs.run_folder import RunFolder, claim, new_folder, root_of
from evalsuite.runs.run_options import RunOptions, receipt, versions
from evalsuite.runs.summary import Summary, summarise
from evalsuite.sandbox.fork_server import ForkServer, fork_server_for
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.runs.score_cache import ScoreCache

SAME_ANSWER, OTHER_GOLDS = 5, 5
# Only this much of a text is checked; a list of golds shows earlier.
_MOST_WORDS, _MOST_CHARACTERS = 4000, 1 << 18
_MOST_GOLD_WORDS = 6
# Types of a gold that is one text.
_TEXTS = (str, int, float)
_WORD = lazy_pattern(r"\w+(?:[.,]\d+)*")
Words = tuple[str, ...]
# By number of words: the hash of a gold's words, and the first of its instances. Storing the words of a hundred thousand golds would take
# three times the space; 64-bit collisions are negligible.
Golds = Callable[[], Mapping[int, Mapping[int, str]]]
# Hex digits of a SHA-256; a placeholder is shorter.
_DIGITS = 64
_HARD_LINK = "hard link to a gold file"
# Scorers whose gold is a file.
_OF_FILES = frozenset({"table_match", "tables_match", "duckdb_match"})


def with_notes(
    tasks: Sequence[Task],
    results: Iterable[Result],
    gold_inodes: frozenset[tuple[int, int]],
    *,
    among: Sequence[Task] | None = None,
    gold_digests: Mapping[str, str] | None = None,
) -> tuple[Result, ...]:
    """Return the results in order, with their notes as `details["notes"]`.

    `among` are all tasks if `tasks` are a shard: an answer is also compared with those of the other shards. `gold_digests` are the digests
    of gold's files, as `GoldFiles` has them: an answer with known digests is not read again.
    """
    same = {text: n for text, n in Counter(map(_text, among or tasks)).items() if n >= SAME_ANSWER}
    # Short answers are not checked.
    golds = cache(lambda: _gold_texts(among or tasks))
    pairs = (
        (result, list(_notes(task, result, same, golds, gold_inodes, gold_digests or {})))
        for task, result in zip(tasks, results, strict=True)
    )
    return tuple(result.with_detail("notes", notes) if notes else result for result, notes in pairs)


def by_kind(results: Iterable[Result]) -> dict[str, list[str]]:
    """Return instance ids by the kind of their notes, the most common kind first."""
    names: dict[str, list[str]] = {}
    for result in results:
        for note in result.detail("notes") or ():
            names.setdefault(note.partition(":")[0], []).append(result.instance_id)
    return dict(sorted(names.items(), key=lambda item: (-len(item[1]), item[0])))


def _notes(
    task: Task,
    result: Result,
    same: Mapping[str, int],
    golds: Golds,
    gold_inodes: frozenset[tuple[int, int]],
    gold_digests: Mapping[str, str],
) -> Iterator[str]:
    if task.answer is None:
        if kind := _why_no_gold(task):
            yield f"{kind}: no answer could be scored"
        return
    if result.fault == "BAD_PATH":
        yield f"{_HARD_LINK}: it was not read" if _HARD_LINK in result.reason else f"path refused: {result.reason}"
    if task.answer.unread:
        yield f"keys not read: {', '.join(task.answer.unread)}"
    text = _text(task)
    if text and text in same:
        yield f"same answer: in {same[text]} instances"
    others = _golds_in(text, golds, task)
    if others >= OTHER_GOLDS:
        yield f"many golds: the answer contains the gold of {others} other instances"
    columns = result.detail("n_columns")
    needed = None if columns is None else result.details.get("n_needed", result.details.get("strict", {}).get("n_needed"))
    if columns is not None and isinstance(needed, int) and columns > 2 * needed + 10:
        yield f"kitchen sink: {columns} columns submitted, {needed} needed"
    if 1 in (result.official, result.strict) and (name := _identical(task, result, gold_inodes, gold_digests)):
        yield f"byte-identical to gold: {name}"


def _why_no_gold(task: Task) -> str:
    """Return the kind of note if none of an instance's checks could be scored here: its files are not in gold's folder, or its spec is
    unusable; else empty.
    """
    absent, faulty = NO_GOLD

    def why_not(check: Check) -> str:
        codes = [problem.code for problem in check.problems if problem.blocks >= {*RULES} and problem.code != "NEEDS_CONNECTION"]
        if codes:
            return faulty if "BAD_SPEC" in codes else absent
        places = [name if isinstance(name, FromRoot) else f"{task.instance.instance_id}/{name}" for name in check.gold_names]
        if check.scorer not in _OF_FILES or check.computed is not None:
            return ""
        return "" if any(exists(task.gold_folder / place) for place in places) else absent

    kinds = [*map(why_not, task.instance.checks)]
    return kinds[0] if all(kinds) else ""


def _text(task: Task) -> str:
    """Return the stripped text of a text answer; empty for a file."""
    answer = task.answer
    return answer.value.strip() if answer is not None and answer.answer_type == "answer" and isinstance(answer.value, str) else ""


def _gold_texts(tasks: Sequence[Task]) -> dict[int, dict[int, str]]:
    """Return the golds of all text checks, each with the name of its first instance."""
    texts: dict[int, dict[int, str]] = {}
    for task in tasks:
        name = task.instance.instance_id
        for words in _gold_words(task):
            owners = texts.setdefault(len(words), {})
            key = hash(words)
            owners[key] = min(owners.get(key, name), name)
    return texts


def _gold_words(task: Task) -> set[Words]:
    """Return the words of each gold of a task's text checks; a single digit or letter is left out."""
    flat = [value for check in task.instance.checks for value in check.golds if isinstance(value, _TEXTS)]
    word_lists = {tuple(_WORD.findall(str(value).casefold())) for value in flat}
    return {words for words in word_lists if sum(map(len, words)) > 1 and len(words) <= _MOST_GOLD_WORDS}


def _golds_in(text: str, golds: Golds, task: Task) -> int:
    """Return the number of other instances whose gold is in the text, word for word."""
    if len(text) < 2 * OTHER_GOLDS - 1:
        return 0
    words = _WORD.findall(text[:_MOST_CHARACTERS].casefold())[:_MOST_WORDS]
    if len(words) < OTHER_GOLDS:
        return 0
    # A gold that several instances share is no list of golds: it counts once.
    met: dict[Words, str] = {}
    for n, owners in golds().items():
        for begin in range(len(words) - n + 1):
            some = tuple(words[begin : begin + n])
            if (owner := owners.get(hash(some))) is not None:
                met[some] = owner
    if len(met) < OTHER_GOLDS:
        return 0
    gold_words = _gold_words(task)
    return len({owner for some, owner in met.items() if some not in gold_words})


def _identical(task: Task, result: Result, gold_inodes: frozenset[tuple[int, int]], gold_digests: Mapping[str, str]) -> str:
    """Return the name of the gold file that an answer's file equals byte for byte; empty if there is none."""
    answer = task.answer
    if answer is None or not any(answer.paths):
        return ""
    name = answer.paths[0]
    if len(digest := result.digests.get(name, "")) == _DIGITS:
        equal = (gold for gold in _gold_names(task) if gold_digests.get(_relative_name(task, gold)) == digest)
        if (first := next(equal, "")) or all(_relative_name(task, gold) in gold_digests for gold in _gold_names(task)):
            return first
    limit = task.limits["file_bytes"]
    files = AnswerFiles(task.submission_folder, task.instance.instance_id, task.limits, gold_inodes)
    try:
        with files.open(name) as submitted:
            for gold in _gold_names(task):
                with open_trusted(task.gold_folder / resolve_in_side(task.instance.instance_id, gold), limit_bytes=limit) as file:
                    if _same_bytes(file, submitted):
                        return gold
    except (FaultError, OSError):
        return ""
    return ""


def _relative_name(task: Task, gold: str) -> str:
    """Return the name of a gold file below the gold folder; empty if it leads elsewhere."""
    try:
        return resolve_in_side(task.instance.instance_id, gold)
    except FaultError:
        return ""


def _gold_names(task: Task) -> Iterator[str]:
    """Yield the gold files that a task's checks name."""
    for check in task.instance.checks:
        if SCORERS.load(check.scorer).marker.gold_files is not None:
            yield from check.gold_names


def _same_bytes(first: BinaryIO, second: BinaryIO) -> bool:
    """Return whether two files are equal; stops at the first block that differs."""
    first.seek(0)
    second.seek(0)
    while block := first.read(1 << 20):
        if block != second.read(len(block)):
            return False
    return not second.read(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored submission: n results in gold order, their summary, its folder (None: not saved), and its `uncertain_instances`.

    `changed_gold` are the files of gold that changed while it was scored.
    """

    gold: Gold
    submission: Submission
    rules: Rule
    signature: str
    options: RunOptions
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
    changed_gold: tuple[str, ...] = ()
    root: str = ""
    databases: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the `run.json` object."""
        return {
            "schema_version": SCHEMA_VERSION,
            "signature": self.signature,
            "options": {**self.options.to_json(), "rules": self.rules},
            "submission": {
                "folder": self.options.origin or str(self.submission.folder),
                **({"archive": self.options.archive} if self.options.archive else {}),
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
            **({"databases": dict(self.databases)} if self.databases is not None else {}),
            "metadata": dict(self.options.metadata),
            "notes": by_kind(self.results),
            "warnings": list(self.warnings),
            "receipt": dict(self.receipt),
            "seconds": round(self.seconds, 3),
            **({"root": self.root} if self.root else {}),
        }


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
    exitfirst: bool = False,
) -> Run:
    """Score `result_dir` against `gold_dir` and save the run.

    Callers that score several submissions can share one `fork_server` for all workers (None: one is started, with `result_dir` as hostile),
    and one for their `judges` that has loaded gold. `exitfirst` ends the run at the first new result that is not right.

    Raises:
        GoldError: Gold is invalid.
        SubmissionError: The submission cannot be read as a whole.
        UsageError: An option is wrong. Before any of these three, no run folder is created.
        OutputError: The run cannot be saved.
        FirstFailure: A result is not right, with `exitfirst`.
        InterruptedRun: A KeyboardInterrupt, raised after all workers are dead.
    """
    started, options = time.perf_counter(), options or RunOptions()
    _check(options)
    if options.cache is not None and options.cache.resolve().is_relative_to(result_dir.resolve()):
        # The working folder is in the submission: what a cache there says is the submitter's.
        options = replace(options, cache=None)
    try:
        # The fork server imports while gold is read.
        with (
            without_collection(),
            nullcontext(fork_server)
            if fork_server is not None and fork_server.alive
            else fork_server_for(result_dir, modules=WORKER_MODULES) as fork_server,
            plan_run(result_dir, gold_dir, options, fork_server) as planned,
            _open_resources(planned, fork_server, judges) as opened,
        ):
            finished = _summarise(planned, opened, _execute(planned, opened, progress, exitfirst=exitfirst), started)
            if opened.folder is not None:
                opened.folder.finish(finished.results, finished.to_json())
            return finished
    except KeyboardInterrupt as stop:
        if isinstance(stop, InterruptedRun) or options.resume is not None:
            raise
        raise InterruptedRun(_saved_words(None, 0)) from stop


class InterruptedRun(KeyboardInterrupt):
    """A run that was asked to stop, raised after it stopped: its text says what is saved and how to continue."""


class FirstFailure(Exception):  # noqa: N818 - it is no error: it ends a run that was asked to end here
    """The first result that is not right; the run in `folder` (None: not saved) stays unfinished and can be resumed."""

    def __init__(self, result: Result, n_scored: int, folder: Path | None) -> None:
        super().__init__(result.instance_id)
        self.result, self.n_scored, self.folder = result, n_scored, folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Open resources of one run: executor, SQL, judge batches, cache, run folder.

    `earlier_results` are those that an interrupted run left in `folder`, by instance id.
    """

    pool: Executor
    sql: SqlAnswers
    batches: BatchScoring
    cache: "ScoreCache | None"
    folder: RunFolder | None
    earlier_results: Mapping[str, Result]

    def stages(self, *, is_first: bool = True) -> list[Stage]:
        """Return the way of a task to its result: each stage scores some tasks and leaves the others to the next one.

        Without `is_first`, for answers to changed gold, there is no cache, and the cost of the judge is not that of the run.
        """
        batches = self.batches if is_first else self.batches.unspent()
        return [
            # The results of the same bytes in earlier runs.
            *([self.cache.results] if self.cache is not None and is_first else []),
            # Worker processes of this machine or of a cluster.
            stage_of(lambda task: not (batches.takes(task) or runs_query(task)), self.pool.results),
            # A judge, and scorers that need all answers at once.
            stage_of(batches.takes, batches.results),
            # Queries; workers compare their tables.
            self.sql.results,
        ]


@contextmanager
def _open_resources(planned: Planned, fork_server: ForkServer | None, judges: ForkServer | None) -> Iterator[Opened]:
    """Open the resources of a run. After the block every worker is dead and every file closed."""
    options, gold, inodes = planned.options, planned.gold, planned.gold_inodes
    assert options.jobs is not None
    folder, earlier_results = _open_folder(planned)
    work = Work(
        jobs=options.jobs,
        isolation=options.isolation,
        gold=gold,
        gold_inodes=inodes,
        scheduler=options.scheduler,
        fork_server=fork_server,
        judges=judges,
        budget=planned.budget,
        links=planned.links,
        cached_gold=planned.gold_files.to_cache(),
        idle_readers=planned.idle_readers,
    )
    pool = open_executor(options.executor, work)
    cache = None
    if options.cache is not None:
        from evalsuite.runs.score_cache import ScoreCache

        # Timing queries requires running them.
        state_of = (lambda task: None if hangs_on_database(task) else "") if options.ves else planned.databases.state_of
        base = f"{planned.signature.replace(gold.hash, '')} {versions()}"
        cache = ScoreCache(options.cache, base=base, gold=planned.gold_files, gold_inodes=inodes, state_of=state_of)
    place = folder.path if folder is not None else None
    sql = planned.databases.sql_answers(place, inodes, pool.results, ves=options.ves, tell=options.tell)
    batches = BatchScoring(gold, inodes, invalid_as=options.invalid_as, folder=place)
    try:
        if folder is not None and not gold.suite.extra.get("hidden"):
            planned.living.freeze(folder.path)
        yield Opened(pool=pool, sql=sql, batches=batches, cache=cache, folder=folder, earlier_results=earlier_results)
    except KeyboardInterrupt as stop:
        raise InterruptedRun(_saved_words(folder, len(planned.tasks))) from stop
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
        "versions": versions(),
        # Labels for readers of the folder during the run.
        "suite": planned.gold.suite.name,
        "n_instances": len(planned.tasks),
        **({"databases": dict(planned.stamps)} if planned.stamps is not None else {}),
    }
    if options.resume is not None:

        def is_other(earlier_results: Mapping[str, Result], whole: str) -> bool:
            if whole:
                return submission_hash(submission) != whole
            return has_changed(submission, read_of(planned.tasks, earlier_results))

        return RunFolder(options.resume).reopen(plan_line, is_other)
    if options.out is not None:
        return RunFolder(claim(options.out)).open(plan_line), {}
    place = options.origin.rstrip("/") or str(submission.folder.resolve())
    return RunFolder(new_folder(options.runs_folder, options.label or place.rpartition("/")[2])).open(plan_line), {}


def _execute(planned: Planned, opened: Opened, progress: Progress | None, *, exitfirst: bool) -> Iterator[Result]:
    """Yield the results in gold order; those of an earlier attempt or the cache are reused, every new one is journalled at once.

    All of them are known when this returns; each is released when it is taken.
    """
    tasks, folder = planned.tasks, opened.folder
    results = {name: opened.earlier_results[name] for task in tasks if (name := task.instance.instance_id) in opened.earlier_results}
    for result in pipeline(opened.stages(), [task for task in tasks if task.instance.instance_id not in results]):
        if folder is not None:
            folder.append(result)
        if opened.cache is not None:
            opened.cache.keep(result)
        results[result.instance_id] = result
        if progress is not None:
            progress(len(results), len(tasks))
        if exitfirst and not result.is_right:
            raise FirstFailure(result, len(results), folder.path if folder is not None else None)
    if opened.cache is not None:
        # Before notes are added to the results: until then the objects are the same.
        opened.cache.close()
    # The table of names is freed when this returns.
    ordered = [results[task.instance.instance_id] for task in reversed(tasks)]
    return (ordered.pop() for _ in tasks)


def _summarise(planned: Planned, opened: Opened, scored: Iterator[Result], started: float) -> Run:
    """Return the run: results with notes, every number, and the bytes that they are about."""
    options, gold, tasks, folder, files = planned.options, planned.gold, planned.tasks, opened.folder, planned.gold_files
    results = with_notes(tasks, scored, planned.gold_inodes, among=planned.living.tasks, gold_digests=files.digests)
    corrections, unapplied = dict[str, Any](), list[str]()
    if planned.errata is not None:
        from evalsuite.runs.corrected_scores import correct, warn_unapplied

        corrections = correct(tasks, results, planned.errata, partial(pipeline, opened.stages(is_first=False)), rules=planned.rules)
        unapplied = warn_unapplied(planned.errata, tasks)
    contents = file_contents(planned.submission, known=read_of(tasks, {row.instance_id: row for row in results})) if options.save else {}
    changed = files.find_changed()
    base_receipt = receipt(isolation=options.isolation, features=opened.pool.features, jobs=opened.pool.jobs, executor=options.executor)
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
        judge=opened.batches.cost(),
        sql=opened.sql.cost(),
        living_gold=planned.living.to_json(),
        databases=planned.stamps,
        warnings=(
            *warnings_of(gold, planned.submission, tasks, results),
            *planned.living.notes,
            *planned.drift,
            *unapplied,
            *opened.batches.warnings(),
            *warn_of_changes(changed),
            *(warn_of_clock(folder.path) if folder is not None else ()),
        ),
        folder=folder.path if folder is not None else None,
        receipt={**base_receipt, **({"resume": folder.notes} if folder is not None and folder.notes else {})},
        corrections=corrections,
        submission_hash=hash_of(contents) if options.save else None,
        unsure=uncertain_instances(tasks, results, contents, changed_gold=changed),
        changed_gold=tuple(changed),
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
    if options.out is not None and not options.save:
        raise UsageError("--out and --no-save exclude each other", hint="--out saves the run in its folder")


def _saved_words(folder: RunFolder | None, n_instances: int) -> str:
    if folder is None:
        return "interrupted: nothing is saved"
    if not folder.is_unfinished:
        return f"interrupted: the finished run is saved in {folder.path}"
    return f"interrupted: {folder.n_saved()} of {n_instances} instances are saved in {folder.path}; continue with --resume {folder.path}"
