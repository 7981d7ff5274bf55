"""Mutation testing of specs: what each check of a gold folder takes of wrong answers, and refuses of right ones, under both rules.

`wrong_answers` and `right_answers` make them from gold, `made_answers` hands them in, `audited_checks` does that for one check, `holes`
says what a check took or refused and what closes it.
"""

import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evalsuite.audit.audited_checks import NotAuditedError, Others, all_golds, subject
from evalsuite.audit.holes import Audit, Audited, Verdict
from evalsuite.audit.made_answers import OWN, NotMadeError
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import check_ids
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.types import RULES, Check, Gold, GoldInstance, Result, Task
from evalsuite.walls.scratch import ScratchFolder
from evalsuite.workers.executors import default_jobs
from evalsuite.workers.pool import Pool

Progress = Callable[[int, int], None]
MOST_ANSWERS: Final = 24
# Answers are written, scored and removed in batches: a batch costs a start of workers, its files lie on the disk.
BATCH_BYTES: Final = 200_000_000
BATCH_TASKS: Final = 3_000
BATCH_SECONDS: Final = 5.0
# A graded scorer's 1 may miss it by the rounding of its sums.
_FULL: Final = 1 - 1e-9


@dataclass(slots=True)
class _Waiting:
    """A check whose answers are being scored."""

    instance: GoldInstance
    check: Check
    results: dict[str, tuple[str, bool]]
    verdicts: list[Verdict] = field(default_factory=list)


def audit_gold(
    folder: Path,
    *,
    only: Sequence[str] = (),
    kinds: Sequence[str] = (),
    most: int = MOST_ANSWERS,
    seconds: float | None = None,
    seed: int = 0,
    isolation: str = "process",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Make wrong and right answers from each gold, have them scored like a submission, and count what each check says of them.

    `only` names the instances and `kinds` the kinds of answers that are looked at (empty: all), `most` is how many a check gets at most,
    `seconds` when no further check is begun; then the checks are taken in an order that `seed` sets, which also chooses cells and rows.
    Gold itself is always among the answers. Raises `GoldError`, `UsageError` for an unknown id.
    """
    gold = read_gold(folder)
    check_ids(gold, only)
    work = [(one, check) for one in gold.instances for check in one.checks if not only or one.instance_id in only]
    places = {id(check): i for i, (_, check) in enumerate(work)}
    if seconds is not None:
        random.Random(seed).shuffle(work)
    until = None if seconds is None else time.monotonic() + seconds
    maker = _Maker(gold, resolve_limits(gold.suite.limits), all_golds(gold), frozenset(kinds), most, seed)
    done, n_begun = list[_Waiting](), 0
    pool = Pool(jobs=jobs or default_jobs(), isolation=isolation, gold_inodes=gold_inodes(gold.folder))
    with ScratchFolder() as scratch:
        left = iter(work)
        while (batch := maker.next_batch(left, scratch, until)).tasks:
            by_task = {name: waiting for waiting in batch.checks for name in waiting.results}
            for n, result in enumerate(pool.results(batch.tasks), 1):
                waiting = by_task[result.instance_id]
                waiting.verdicts.append(_verdict(result, *waiting.results[result.instance_id]))
                if progress is not None:
                    progress(n_begun + batch.n_taken * n // len(batch.tasks), len(work))
            n_begun += batch.n_taken
            done += batch.checks
            for written in scratch.iterdir():
                shutil.rmtree(written)
    done.sort(key=lambda waiting: places[id(waiting.check)])
    checks = tuple(_audited(waiting) for waiting in done if waiting.verdicts)
    return Audit(
        name=gold.suite.name,
        checks=checks,
        untried=tuple(maker.untried),
        n_answers=sum(len(check.verdicts) for check in checks),
        n_left=len(work) - len(checks) - len(maker.untried),
        seed=seed,
    )


def _verdict(result: Result, kind: str, right: bool) -> Verdict:
    return Verdict(kind, right, {rule: None if (value := getattr(result, rule)) is None else value >= _FULL for rule in RULES})


def _audited(waiting: _Waiting) -> Audited:
    own = next((one for one in waiting.verdicts if one.kind == OWN), None)
    unfit = tuple(rule for rule in RULES if own is None or own.taken[rule] is not True)
    order = {kind: i for i, (kind, _) in enumerate(waiting.results.values())}
    return Audited(
        instance_id=waiting.instance.instance_id,
        scorer=waiting.check.scorer,
        where=waiting.check.where,
        verdicts=tuple(sorted(waiting.verdicts, key=lambda one: order[one.kind])),
        unfit=unfit,
    )


@dataclass(slots=True)
class _Batch:
    """Checks with the tasks that hand their answers in; `n_taken` checks were looked at for them."""

    checks: list[_Waiting] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    n_taken: int = 0


@dataclass(slots=True)
class _Maker:
    """Makes the answers of many checks; `untried` is what could not be audited, and why."""

    gold: Gold
    limits: Mapping[str, int | float]
    others: Others
    kinds: frozenset[str]
    most: int
    seed: int
    untried: list[tuple[str, str]] = field(default_factory=list)

    def next_batch(self, left: Iterator[tuple[GoldInstance, Check]], scratch: Path, until: float | None) -> _Batch:
        """The next of the checks that are left, their answers written below `scratch`; without tasks where the work or the time is over."""
        batch, begun = _Batch(), time.monotonic()
        for instance, check in left:
            if until is not None and time.monotonic() > until:
                break
            batch.n_taken += 1
            self._add_answers(batch, instance, check, scratch)
            large = len(batch.tasks) >= BATCH_TASKS
            if not large and batch.n_taken % 20 == 0:
                large = sum(path.stat().st_size for path in scratch.rglob("*") if path.is_file()) > BATCH_BYTES
            # Where time is short the answers that are made are scored soon.
            if batch.tasks and (large or (until is not None and time.monotonic() - begun > BATCH_SECONDS)):
                break
        return batch

    def _add_answers(self, batch: _Batch, instance: GoldInstance, check: Check, scratch: Path) -> None:
        name = f"{instance.instance_id} {check.scorer}"
        try:
            about = subject(self.gold, instance, check, self.others, self.limits, seed=self.seed)
        except NotAuditedError as why:
            self.untried.append((name, str(why)))
            return
        # Gold itself goes first.
        wanted = [i for i, made in enumerate(about.answers) if i and (not self.kinds or made.kind in self.kinds)]
        chosen = [0, *wanted][: self.most + 1]
        if len(chosen) < 2:
            self.untried.append((name, "no such answer can be made"))
            return
        waiting = _Waiting(instance, check, {})
        for i in chosen:
            try:
                task = about.task(i, self.gold, scratch, self.limits)
            except NotMadeError:
                continue
            batch.tasks.append(task)
            waiting.results[task.instance.instance_id] = (about.answers[i].kind, about.answers[i].right)
        batch.checks.append(waiting)
