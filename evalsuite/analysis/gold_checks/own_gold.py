"""Score gold as its own prediction through every check, with the pipeline for submissions: the ceiling, and what lowers it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalsuite.analysis.gold_checks.generated_answers import NoOwnAnswerError, lost_files, own_answers
from evalsuite.analysis.gold_checks.lenient_gold import IGNORE_KEY
from evalsuite.analysis.gold_checks.lint import REFUSING, lint
from evalsuite.core.errors import FAULTS, UNSCORED
from evalsuite.core.types import RULES, Answer, Check, Gold, GoldInstance, Result, Rule, Task
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import names_queries
from evalsuite.readers.gold_files import gold_hash, gold_inodes
from evalsuite.readers.limits import CLOCK, Limits, resolve_limits
from evalsuite.runs.batch_scoring import Execute
from evalsuite.runs.databases import Databases
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.gold_queries import by_the_clock, is_temporal, query_files
from evalsuite.runs.gold_self_score import GoldSelfScore, signature_of
from evalsuite.runs.plan import default_rules
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS

Progress = Callable[[int, int], None]
# The score of a graded scorer may miss 1 by rounding of its sums.
_FULL = 1 - 1e-9
_PLACE = re.compile(r"^\S+:\d+: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsatisfied:
    """A check that its own gold does not pass under `rules`, or that could not be tried (no rules).

    `reached` says under which of them another answer to the same instance passes.
    """

    instance_id: str
    scorer: str
    rules: tuple[Rule, ...]
    code: str
    reason: str
    where: str
    reached: tuple[Rule, ...] = ()

    @property
    def lowers(self) -> bool:
        """Whether it lowers the ceiling."""
        return set(self.reached) < set(self.rules)

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "instance_id": self.instance_id,
            "scorer": self.scorer,
            "rules": list(self.rules),
            "code": self.code,
            "reason": self.reason,
            "where": self.where,
            "reached": list(self.reached),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCheck:
    """The score of gold against itself, the checks that refuse it, and those that were not tried.

    `below` are the ids without full marks under their own rules, or with a missing gold file; `excused` maps the acknowledged ones to the
    place:
    a line of the errata, or a code of `lint_ignore`. `by_the_day` are those whose gold query reads the current time.
    """

    ceiling: GoldSelfScore
    n_checks: int
    unsatisfied: tuple[Unsatisfied, ...]
    untried: tuple[Unsatisfied, ...]
    below: tuple[str, ...] = ()
    excused: Mapping[str, str] = field(default_factory=dict)
    by_the_day: tuple[str, ...] = ()

    @property
    def failing(self) -> list[str]:
        """The ids below full marks that are not excused."""
        return [id_ for id_ in self.below if id_ not in self.excused]

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        c = self.ceiling
        return {
            "gold_hash": c.gold_hash,
            "n_instances": c.n + c.n_untried,
            "n_checks": self.n_checks,
            "n_tried": c.n,
            "official": c.official,
            "strict": c.strict,
            "unsatisfied": [one.to_json() for one in self.unsatisfied],
            "untried": [one.to_json() for one in self.untried],
            "below": list(self.below),
            "excused": dict(self.excused),
            "by_the_day": list(self.by_the_day),
        }


@dataclass(slots=True)
class _Trial:
    """One check, its missing gold files, and the answers still to submit; the best result, by rule."""

    instance: GoldInstance
    check: Check
    answers: list[Answer]
    lost: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def passed(self, rule: Rule) -> bool:
        """Whether any answer so far is right."""
        return any((value := getattr(result, rule)) is not None and value >= _FULL for result in self.results)

    @property
    def open(self) -> bool:
        """Whether another answer could still change something."""
        return bool(self.answers) and not (self.passed("official") and self.passed("strict"))


def check_gold(
    folder: Path,
    *,
    isolation: str = "process",
    jobs: int | None = None,
    databases: Path | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> GoldCheck:
    """Submit every gold as the answer to its own question, and report what is refused.

    Every check gets its gold; of several accepted alternatives one is enough. The ceiling counts the submission that gold itself is: for
    each
    instance its file if a check reads one, else its text. Gold that is a query is computed as in a run (`databases` is --databases). Not
    tried
    are a judge's check, one whose gold is not an answer, and a temporal one without a connection.

    Raises:
        GoldError: gold cannot be read.
        UsageError: the folder of databases is missing.
    """
    gold = read_gold(folder)
    limits = resolve_limits(gold.suite.limits, limits or {})
    hash_ = gold_hash(gold.folder, gold.spec_file)
    jobs = jobs or default_jobs()
    trials: list[_Trial] = []
    untried: list[Unsatisfied] = []
    with TempDir() as scratch, closing(Databases(gold, scratch, limits=limits, jobs=jobs, isolation=isolation, folder=databases)) as asked:
        tasks = [_task(instance, None, gold, scratch, limits) for instance in gold.instances]
        by_the_day = [] if limits[CLOCK] else list(by_the_clock(tasks, asked.connections))
        for task in asked.living_gold(tasks, submitted=False).tasks:
            for check in task.instance.checks:
                try:
                    trials.append(_trial(gold, task, check))
                except NoOwnAnswerError as why:
                    untried.append(_untried(task.instance, check, str(why)))
        inodes = gold_inodes(gold.folder)
        with closing(Pool(jobs=jobs, isolation=isolation, gold_inodes=inodes)) as pool:
            _submit(trials, asked.sql_answers(pool.results, None, inodes).results, gold, scratch, limits, progress)
    unasked = [trial for trial in trials if trial.results and all(result.fault in UNSCORED for result in trial.results)]
    untried += [_untried(trial.instance, trial.check, FAULTS[trial.results[0].fault or "NO_JUDGE"].message) for trial in unasked]
    trials = [trial for trial in trials if all(trial is not other for other in unasked)]
    by_instance: dict[str, list[_Trial]] = {}
    for trial in trials:
        by_instance.setdefault(trial.instance.instance_id, []).append(trial)
    below = [
        id_
        for id_, own in by_instance.items()
        if not _reaches(own, gold.suite.rules or default_rules(own[0].instance)) or any(trial.lost for trial in own)
    ]
    return GoldCheck(
        ceiling=_ceiling_of(gold, hash_, by_instance),
        n_checks=len(trials) + len(untried),
        unsatisfied=tuple(one for own in by_instance.values() for one in _findings(own)),
        untried=tuple(untried),
        below=tuple(below),
        excused=_excuses(gold, below),
        by_the_day=tuple(by_the_day),
    )


def _trial(gold: Gold, task: Task, check: Check) -> _Trial:
    """Return the answers to try on a check, in the submission folder of `task`. Raises `NoOwnAnswerError`."""
    instance = task.instance
    awaited = next((problem.message for problem in check.problems if problem.code == "NEEDS_CONNECTION"), "")
    if awaited and (is_temporal(check) or names_queries(check)) and any(file.is_file() for file in query_files(task, check)):
        raise NoOwnAnswerError(awaited)
    try:
        answers = own_answers(gold, instance, check, task.submission_folder, task.limits)
    except NoOwnAnswerError:
        if not any(problem.blocks for problem in check.problems):
            raise
        answers = []
    return _Trial(instance=instance, check=check, answers=answers, lost=lost_files(gold, instance, check))


def _excuses(gold: Gold, below: Iterable[str]) -> dict[str, str]:
    """Return those of the instances that an applied erratum names, or whose `lint_ignore` names a lint finding, with the place."""
    errata = read_errata(gold)
    known = {entry.id: entry.where for entry in errata.of_state("applied")} if errata is not None else {}
    ids = set(below)
    if any(instance.instance_id in ids - set(known) and instance.extra.get(IGNORE_KEY) for instance in gold.instances):
        for found in lint(gold.spec_file).ignored:
            if found.severity == "error" or found.code in REFUSING:
                known.setdefault(found.instance_id, f"{IGNORE_KEY} {found.code}")
    return {id_: known[id_] for id_ in below if id_ in known}


def _submit(trials: Sequence[_Trial], execute: Execute, gold: Gold, scratch: Path, limits: Any, progress: Progress | None) -> None:
    """Score round after round, one answer per instance and round: a run has one answer per instance."""
    done, total = 0, sum(len(trial.answers) for trial in trials)
    while True:
        round_: dict[str, _Trial] = {}
        for trial in trials:
            if trial.open:
                round_.setdefault(trial.instance.instance_id, trial)
        if not round_:
            return
        tasks = [_task(replace(t.instance, checks=(t.check,)), t.answers.pop(0), gold, scratch, limits) for t in round_.values()]
        for result in execute(tasks):
            round_[result.instance_id].results.append(result)
            done += 1
            if progress is not None:
                progress(done, total)


def _task(instance: GoldInstance, answer: Answer | None, gold: Gold, scratch: Path, limits: Any) -> Task:
    return Task(
        instance=instance, answer=answer, gold_folder=gold.folder.absolute(), submission_folder=scratch, rules="official", limits=limits
    )


def _untried(instance: GoldInstance, check: Check, why: str) -> Unsatisfied:
    return Unsatisfied(instance_id=instance.instance_id, scorer=check.scorer, rules=(), code="", reason=why, where=check.where)


def _findings(trials: Sequence[_Trial]) -> Iterator[Unsatisfied]:
    """Yield one finding for each of an instance's checks that refuses its own gold."""
    reached = [rule for rule in RULES if _reaches(trials, rule)]
    for trial in trials:
        rules = tuple(rule for rule in RULES if not trial.passed(rule))
        if rules:
            code, reason = _refusal(trial, rules[0])
        elif trial.lost:
            rules, code, reason = RULES, "MISSING_FILE", f"{', '.join(trial.lost)} of several is missing"
        else:
            continue
        yield Unsatisfied(
            instance_id=trial.instance.instance_id,
            scorer=trial.check.scorer,
            rules=rules,
            code=code,
            reason=reason,
            where=trial.check.where,
            reached=tuple(rule for rule in rules if rule in reached),
        )


def _refusal(trial: _Trial, rule: Rule) -> tuple[str, str]:
    """Return (fault code or nothing, reason) of a check that refuses its gold, without the code and place that are shown separately."""
    if trial.results:
        result = trial.results[0]
        reason = str(result.details.get("reasons", {}).get("strict") or result.reason) if rule == "strict" else result.reason
        if result.fault is not None and reason.startswith(f"{result.fault}: "):
            reason = _PLACE.sub("", reason.removeprefix(f"{result.fault}: "))
        return result.fault or "", reason
    problem = next((problem for problem in trial.check.problems if problem.blocks), None)
    return (problem.code, problem.message) if problem is not None else ("BAD_SPEC", "gold names nothing that could be submitted")


def _reaches(trials: Sequence[_Trial], rule: Rule) -> bool:
    """Return whether gold's own answer to an instance is right: its files if it has some, else its texts; the best check counts."""
    files = [trial for trial in trials if SCORERS.load(trial.check.scorer).marker.reads not in ("text", "number")]
    return any(trial.passed(rule) for trial in files or trials)


def _ceiling_of(gold: Gold, hash_: str, by_instance: Mapping[str, Sequence[_Trial]]) -> GoldSelfScore:
    full = {rule: [id_ for id_, own in by_instance.items() if _reaches(own, rule)] for rule in RULES}
    return GoldSelfScore(
        gold_hash=hash_,
        name=gold.suite.name,
        n=len(by_instance),
        n_untried=len(gold.instances) - len(by_instance),
        official=len(full["official"]),
        strict=len(full["strict"]),
        unsatisfied=tuple(id_ for id_ in by_instance if id_ not in full["official"]),
        made_by=signature_of(hash_),
    )
