"""One scoring of one submission, from two folders to a `Run`."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.readers.gold import gold_hash, gold_inodes, read_gold
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.submission import read_submission
from evalsuite.runner.plan import plan
from evalsuite.runner.signature import signature
from evalsuite.runner.worker import score_task
from evalsuite.store.run_folder import SCHEMA_VERSION, RunFolder, claim, new_folder
from evalsuite.summary import Summary, summarise
from evalsuite.types import Gold, Result, Rule, Submission, Task

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run. `rules` None means what the suite says, else official; `out` None means a new folder under `runs_folder`."""

    rules: Rule | None = None
    only: tuple[str, ...] = ()
    pattern: str | None = None
    group: str | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    out: Path | None = None
    runs_folder: Path = Path(".evalsuite/runs")
    save: bool = True
    isolation: str = "process"

    def to_json(self) -> dict[str, Any]:
        """What `run.json` keeps of them: only what says which instances were scored and how."""
        return {"rules": self.rules, "only": list(self.only), "filter": self.pattern, "group": self.group, "limits": dict(self.limits)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored submission: n results in gold order, their summary, and where it was saved (None with `save=False`)."""

    gold: Gold
    submission: Submission
    rules: Rule
    signature: str
    options: Options
    results: tuple[Result, ...]
    summary: Summary
    warnings: tuple[str, ...]
    folder: Path | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The `run.json` object."""
        return {
            "schema_version": SCHEMA_VERSION,
            "signature": self.signature,
            "options": {**self.options.to_json(), "rules": self.rules},
            "submission": {"folder": str(self.submission.folder), "n_objects": self.submission.n_objects},
            "gold": {
                "folder": str(self.gold.folder),
                "name": self.gold.suite.name,
                "hash": self.gold.hash,
                "n_instances": len(self.gold.instances),
            },
            "summary": self.summary.to_json(),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3),
        }


def run(result_dir: Path, gold_dir: Path, options: Options | None = None, *, progress: Progress | None = None) -> Run:
    """Score `result_dir` against `gold_dir` and save the run.

    Raises `GoldError`, `SubmissionError` (a folder that cannot be read as a whole), `UsageError` and `OutputError`; before any of the
    first three no run folder is made.
    """
    options = options or Options()
    started = time.perf_counter()
    gold = read_gold(gold_dir)
    limits = resolve_limits(gold.suite.limits, options.limits)
    submission = read_submission(result_dir, limits)
    rules: Rule = options.rules or gold.suite.rules or "official"
    tasks = plan(gold, submission, rules=rules, limits=limits, only=options.only, pattern=options.pattern, group=options.group)
    gold = _with_hash(gold)
    folder = _open_folder(options, submission)
    try:
        results = _execute(tasks, gold_inodes(gold.folder), folder, progress)
    finally:
        if folder is not None:
            folder.close()
    finished = _assemble(gold, submission, rules, options, limits, tasks, results, folder, time.perf_counter() - started)
    if folder is not None:
        folder.finish(finished.results, finished.to_json())
    return finished


def _execute(
    tasks: Sequence[Task], inodes: frozenset[tuple[int, int]], folder: RunFolder | None, progress: Progress | None
) -> list[Result]:
    results = []
    for task in tasks:
        result = score_task(task, inodes)
        if folder is not None:
            folder.append(result)
        results.append(result)
        if progress is not None:
            progress(len(results), len(tasks))
    return results


def _assemble(
    gold: Gold,
    submission: Submission,
    rules: Rule,
    options: Options,
    limits: Mapping[str, int | float],
    tasks: Sequence[Task],
    results: Sequence[Result],
    folder: RunFolder | None,
    seconds: float,
) -> Run:
    groups = {task.instance.instance_id: task.instance.groups for task in tasks}
    handed_in = [task.instance.instance_id for task in tasks if task.answer is not None]
    return Run(
        gold=gold,
        submission=submission,
        rules=rules,
        signature=signature(rules=rules, gold_hash=gold.hash, limits=limits),
        options=options,
        results=tuple(results),
        summary=summarise(results, rules=rules, groups=groups, submitted=handed_in),
        warnings=tuple(_warnings(gold, submission, tasks)),
        folder=folder.path if folder is not None else None,
        seconds=seconds,
    )


def _warnings(gold: Gold, submission: Submission, tasks: Sequence[Task]) -> list[str]:
    """What a person should know that is no instance's fault: notes of both readers, ids that gold lacks, lenient gold entries."""
    known = {instance.instance_id for instance in gold.instances}
    unknown = [
        f"{answer.where}: {answer.instance_id!r} is not in gold (UNKNOWN_ID)"
        for answer in submission.answers.values()
        if answer.instance_id not in known
    ]
    problems = [
        f"{problem.where}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for task in tasks
        for check in task.instance.checks
        for problem in check.problems
    ]
    return [*gold.notes, *submission.notes, *unknown, *problems]


def _with_hash(gold: Gold) -> Gold:
    from dataclasses import replace

    return replace(gold, hash=gold_hash(gold.folder, gold.spec_file))


def _open_folder(options: Options, submission: Submission) -> RunFolder | None:
    if not options.save:
        return None
    if options.out is not None:
        return RunFolder(claim(options.out)).open()
    return RunFolder(new_folder(options.runs_folder, submission.folder.resolve().name)).open()
