"""Mutation testing of specs: what each check of a gold folder takes of wrong answers, and refuses of right ones, under both rules.

`wrong_answers`, `small_changes` and `right_answers` make them from gold, `audited_checks` has them scored in the worker that reads gold and
tries which line of the spec closes a hole (`closing_lines`); `holes` counts what was taken or refused.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.audit.audited_checks import KEY, ORDER, Asked, NotAuditedError, all_golds, check_auditable
from evalsuite.audit.holes import Audit, Audited, Verdict
from evalsuite.audit.made_answers import OWN
from evalsuite.audit.own_answers import NoOwnAnswerError, own_answers
from evalsuite.audit.query_mutants import Queried, audit_pairs, run_mutants
from evalsuite.errors import FaultError
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import check_ids
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import FromRoot, inside
from evalsuite.scorers import SCORERS
from evalsuite.types import RULES, Answer, Check, Gold, GoldInstance, Result, Task
from evalsuite.walls.scratch import ScratchFolder
from evalsuite.workers.executors import default_jobs
from evalsuite.workers.pool import Pool

Progress = Callable[[int, int], None]
MOST_ANSWERS: Final = 24
# Of all golds of a suite so many are candidates for another instance's answer.
MOST_OTHERS: Final = 60
# A worker scores some dozens of answers for each check, and tries lines that close its holes.
ROOM: Final = 10
_FULL: Final = 1 - 1e-9


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
    databases: Path | None = None,
) -> Audit:
    """Make wrong and right answers from each gold, have them scored, and count what each check says of them.

    `only` names the instances and `kinds` the kinds of answers that are looked at (empty: all), `most` is how many a check gets at most,
    `seconds` when no further answer is scored; then the checks are taken in an order that `seed` sets, which also chooses cells and rows.
    Gold itself is handed in like a submission; what is made of it is scored where gold is read. A gold query whose database is at hand, as
    a file below `databases` or of a connection, is edited and run too. Raises `GoldError`, `UsageError` for an unknown id.
    """
    gold = with_patches(read_gold(folder))
    check_ids(gold, only)
    work = [(one, check) for one in gold.instances for check in one.own_checks if not only or one.instance_id in only]
    if seconds is not None:
        random.Random(seed).shuffle(work)
    pairs = [(one, check) for one, check in work if SCORERS.load(check.scorer).marker.reads == "query"]
    others = [(one, check) for one, check in work if SCORERS.load(check.scorer).marker.reads != "query"]
    until = None if seconds is None else time.monotonic() + seconds
    asked = _Asking(gold, resolve_limits(gold.suite.limits), Asked(seed=seed, most=most, kinds=tuple(kinds), until=until))
    found = _Found(gold)
    with ScratchFolder() as scratch:
        how: dict[str, Any] = {"limits": asked.limits, "jobs": jobs or default_jobs(), "isolation": isolation, "until": until}
        asked.queried = run_mutants(gold, work, scratch, folder=databases, **how)
        for instance, check, pair in audit_pairs(gold, pairs, scratch, asked=asked.asked, folder=databases, **how):
            found.add(instance, check, pair.own, pair.verdicts, pair.untried)
        for instance, check in others:
            if until is not None and time.monotonic() > until:
                break
            try:
                asked.add(instance, check, scratch)
            except NotAuditedError as why:
                found.add(instance, check, None, (), str(why))
        pool = Pool(jobs=how["jobs"], isolation=isolation, gold_inodes=gold_inodes(gold.folder), order=ORDER)
        try:
            for n, result in enumerate(pool.results(list(asked.tasks.values())), 1):
                instance, check = asked.about[result.instance_id]
                told = result.details.get(KEY) or {"verdicts": []}
                if "untried" in told or told["verdicts"] or until is None:
                    found.add(instance, check, result, told.get("verdicts", ()), told.get("untried", ""))
                if progress is not None:
                    progress(n + len(found.untried), len(work))
                if until is not None and time.monotonic() > until:
                    break
        finally:
            pool.close()
    return found.audit(len(work), seed)


def with_patches(gold: Gold) -> Gold:
    """Gold with the checks that its errata put in the place of others beside them: what corrects a score is audited as gold is."""
    errata = read_errata(gold)
    if errata is None:
        return gold
    patched = {entry.id: (entry.instance.checks, entry.where) for entry in errata.of_state("applied") if entry.instance is not None}
    instances = []
    for instance in gold.instances:
        checks, where = patched.get(instance.instance_id, ((), ""))
        more = [replace(check, where=where) for check in checks if not check.problems]
        instances.append(replace(instance, checks=(*instance.checks, *more)))
    return replace(gold, instances=tuple(instances))


@dataclass(slots=True)
class _Found:
    """What was found of the checks of gold, in gold's order."""

    gold: Gold
    audited: dict[tuple[int, int], Audited] = field(default_factory=dict)
    untried: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {one.instance_id: at for at, one in enumerate(self.gold.instances)}

    def add(self, instance: GoldInstance, check: Check, own: Result | None, verdicts: Sequence[Mapping[str, Any]], untried: str) -> None:
        """A check with its verdict on gold itself and those on made answers, or the reason why it has none."""
        at = self._places[instance.instance_id], _place(instance, check)
        if untried or own is None:
            self.untried[at] = (f"{instance.instance_id} {check.scorer}", untried)
            return
        of_gold = {rule: None if (value := getattr(own, rule)) is None else value >= _FULL for rule in RULES}
        made = [Verdict(one["kind"], one["right"], one["taken"], one["size"], one["lines"]) for one in verdicts]
        self.audited[at] = Audited(
            instance_id=instance.instance_id,
            scorer=check.scorer,
            where=check.where,
            verdicts=(Verdict(OWN, True, of_gold), *made),
            unfit=tuple(rule for rule in RULES if of_gold[rule] is not True),
        )

    def audit(self, n_work: int, seed: int) -> Audit:
        """All of it; `n_work` checks were to be looked at."""
        checks = tuple(self.audited[at] for at in sorted(self.audited))
        return Audit(
            name=self.gold.suite.name,
            checks=checks,
            untried=tuple(self.untried[at] for at in sorted(self.untried)),
            n_answers=sum(len(check.verdicts) for check in checks),
            n_left=n_work - len(checks) - len(self.untried),
            seed=seed,
        )


@dataclass(slots=True)
class _Asking:
    """The tasks of an audit by name, each of which hands gold in to one check, and what each is about."""

    gold: Gold
    limits: Mapping[str, int | float]
    asked: Asked
    tasks: dict[str, Task] = field(default_factory=dict)
    about: dict[str, tuple[GoldInstance, Check]] = field(default_factory=dict)
    queried: Mapping[str, Queried] = field(default_factory=dict)
    _golds: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def add(self, instance: GoldInstance, check: Check, scratch: Path) -> None:
        """Hand gold in to a check, its files copied below `scratch`. Raises `NotAuditedError`."""
        check_auditable(check)
        try:
            answer = own_answers(self.gold, instance, check, scratch, self.limits)[0]
        except (NoOwnAnswerError, IndexError) as why:
            raise NotAuditedError(str(why) or "has no gold") from None
        # The name chooses what is made, so that an instance alone gets the answers that it gets among all.
        name = f"{instance.instance_id}.{check.scorer}.{_place(instance, check)}"
        # Answers of other instances; a few are as good as all.
        random_ = random.Random(f"{self.asked.seed} {instance.instance_id}")
        self._golds = self._golds or all_golds(self.gold)
        texts, numbers = (tuple(random_.sample(golds, min(len(golds), MOST_OTHERS))) for golds in self._golds)
        asked = replace(self.asked, texts=texts, numbers=numbers, queried=self.queried.get(instance.instance_id, ()))
        rooted = replace(check, parameters=_rooted(check.parameters, self.gold.folder, instance.instance_id))
        self.about[name] = instance, check
        self.tasks[name] = Task(
            instance=replace(instance, instance_id=name, checks=(rooted,), extra={KEY: asked}),
            answer=_answer_from_root(answer, instance.instance_id, name),
            gold_folder=self.gold.folder.absolute(),
            submission_folder=scratch,
            rules="official",
            limits={**self.limits, "seconds": ROOM * self.limits["seconds"]},
        )


def _place(instance: GoldInstance, check: Check) -> int:
    return next(at for at, other in enumerate(instance.checks) if other is check)


def _answer_from_root(answer: Answer, instance_id: str, name: str) -> Answer:
    """The answer under another name, its files where they are."""
    value: Any = answer.value
    if answer.answer_type == "file":
        value = FromRoot(f"{instance_id}/{value}")
    elif answer.answer_type == "files":
        value = tuple(FromRoot(f"{instance_id}/{one}") for one in value)
    return replace(answer, instance_id=name, value=value)


def _rooted(parameters: Mapping[str, Any], folder: Path, instance_id: str) -> dict[str, Any]:
    """The parameters with the names of gold files from gold's own folder on."""

    def from_root(value: Any) -> Any:
        if isinstance(value, list):
            return [from_root(item) for item in value]
        if not isinstance(value, str) or isinstance(value, FromRoot):
            return value
        try:
            place = inside(instance_id, value)
        except FaultError:
            return value
        return FromRoot(place) if (folder / place).is_file() else value

    return {key: from_root(value) if key in ("gold", "schema") else value for key, value in parameters.items()}
