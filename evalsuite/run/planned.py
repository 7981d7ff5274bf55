"""What a run is to score and how, made of two folders and the run's options before any answer is opened."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.gold.errata import Errata, read_errata
from evalsuite.gold.judge_file import with_judge
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import GoldFiles, read_gold_files
from evalsuite.readers.limits import Limits, resolve_limits
from evalsuite.readers.paths import Inode
from evalsuite.run.asked import Options
from evalsuite.run.databases import Databases
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.judged import is_batch
from evalsuite.run.living_gold import Living, drifts
from evalsuite.run.plan import plan, rules_of, signature_of
from evalsuite.types import Gold, Rule, Submission, Task
from evalsuite.walls.machine import check_limits, jobs_that_fit
from evalsuite.workers.budget import Budget, answer_seconds, size_of
from evalsuite.workers.executors import default_jobs
from evalsuite.workers.requests import asks_pair, modules_of, opens_files, scorer_modules, settle_early
from evalsuite.workers.start import Zygote

# About the length of a line of results.jsonl.
_LINE_BYTES = 1024


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


@contextmanager
def planned_run(result_dir: Path, gold_dir: Path, options: Options, zygote: Zygote | None) -> Iterator[Planned]:
    """The plan; what computed its gold is closed after the block."""
    gold = with_judge(read_gold(gold_dir, layout=options.layout, questions=options.questions), options.judge)
    # Where nothing is known before, a zygote imports while this process goes on.
    ahead = zygote if options.executor == "local" and options.cache is None and options.resume is None else None
    is_whole = ahead is not None and not (options.only or options.pattern or options.group)
    early = scorer_modules({check.scorer for instance in gold.instances for check in instance.checks}) if is_whole else ()
    errata = read_errata(gold, day=options.errata_day)
    limits = resolve_limits(gold.suite.limits, options.limits)
    check_limits(limits)
    budget = Budget(limits)
    submission = read_handed_in(result_dir, gold, limits, mode=options.mode, isolation=options.isolation, zygote=zygote, modules=early)
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
    jobs = _jobs(options, wanted, limits)
    if ahead is not None:
        ahead.load(modules_of([task for task in wanted if settle_early(task) is None and not is_batch(task)]))
    files = read_gold_files(gold.folder, gold.spec_file)
    gold = replace(gold, hash=files.hash)
    allowed: dict[str, Any] = {"programs": options.allow_programs, "invalid_as": options.invalid_as}
    isolation = options.isolation
    databases = Databases(gold, result_dir, limits=limits, jobs=jobs, isolation=isolation, folder=options.databases, cache=options.cache)
    with closing(databases):
        places: dict[str, Any] = {"cache": options.gold_cache, "resumed": options.resume}
        living = databases.living_gold(wanted, as_of=options.as_of, live=options.live_gold, **places)
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


def _jobs(options: Options, tasks: Sequence[Task], limits: Limits) -> int:
    """How many answers are scored side by side: what was asked for, or less where this machine has no room for so many, which is said.

    Raises `UsageError` where it has too little for one, or gives a process less than these answers may take.
    """
    jobs, sizes = options.jobs or default_jobs(), [size_of(task) for task in tasks]
    beside_gold = any(asks_pair(task.instance.checks) for task in tasks)
    check_limits(
        limits,
        seconds=answer_seconds(limits, max(sizes, default=0), beside_gold=beside_gold),
        n_bytes=max([_LINE_BYTES * len(tasks), *(size for task, size in zip(tasks, sizes, strict=True) if opens_files(task))]),
    )
    if options.executor != "local":
        return jobs
    fits, why = jobs_that_fit(jobs, sizes, limits)
    if fits < jobs and options.tell is not None:
        options.tell(f"--jobs {fits} instead of {jobs}: {why}")
    return fits
