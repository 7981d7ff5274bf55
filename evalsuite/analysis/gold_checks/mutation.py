"""Mutation testing of specs: which wrong answers each check of a gold folder accepts, and which right ones it refuses, under both rules.

`generated_answers` makes the answers from gold, `audited_checks` scores them in the worker that reads gold and tries which spec line closes
a
hole. Here are the tasks of an audit, and its verdicts and counts.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.gold_checks.audited_checks import (
    KEY,
    ORDER,
    AuditOptions,
    NotAuditedError,
    Queried,
    all_golds,
    audit_pairs,
    check_auditable,
    run_mutants,
)
from evalsuite.analysis.gold_checks.generated_answers import OWN, NoOwnAnswerError, own_answers
from evalsuite.core.errors import FaultError
from evalsuite.core.types import RULES, Answer, Check, Gold, GoldInstance, Result, Rule, Task
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.spec import check_ids
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import FromRoot, inside
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a generated answer was accepted, by rule; None if that rule could not judge it.

    `size` is the relative change of a number, None for other edits; `lines` have for each rule that misjudges the answer the tried spec
    line that
    closes the hole, "" if none does.
    """

    kind: str
    right: bool
    taken: Mapping[Rule, bool | None]
    size: float | None = None
    lines: Mapping[Rule, str] = field(default_factory=dict)

    def fails(self, rule: Rule) -> bool:
        """Whether the check misjudges it: accepts a wrong answer, or refuses a right one."""
        taken = self.taken[rule]
        return taken is not None and taken is not self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One check with its verdicts on the generated answers; `unfit` are the rules that refuse gold itself, under which nothing else
    counts.
    """

    instance_id: str
    scorer: str
    where: str
    verdicts: tuple[Verdict, ...]
    unfit: tuple[Rule, ...] = ()

    def counted(self, rule: Rule, *, right: bool) -> list[Verdict]:
        """Return the wrong, or right, answers that count under a rule."""
        if rule in self.unfit:
            return []
        return [one for one in self.verdicts if one.right is right and one.kind != OWN and one.taken[rule] is not None]

    def holes(self, rule: Rule) -> list[Verdict]:
        """Return the misjudged answers, accepted wrong ones first."""
        return [one for right in (False, True) for one in self.counted(rule, right=right) if one.fails(rule)]

    def weakness(self, rule: Rule) -> float:
        """Return the share of wrong answers accepted plus that of right ones refused: 0 to 2, and 0 if nothing counts."""
        return sum(share(self.counted(rule, right=right), rule) or 0.0 for right in (False, True))

    def advice(self, hole: Verdict, rule: Rule) -> str:
        """Return the tried line that closes a hole of this check; else general advice, marked as untried."""
        line = hole.lines.get(rule, "")
        return line or f"{advice(hole.kind, rule, self.scorer, right=hole.right)} (no line that was tried closes it)"

    def to_json(self) -> dict[str, Any]:
        """Return as data: the counts, and each hole with its line."""
        rules: dict[str, Any] = {}
        for rule in RULES:
            wrong, right = self.counted(rule, right=False), self.counted(rule, right=True)
            rules[rule] = {
                "n_wrong": len(wrong),
                "n_wrong_taken": sum(one.fails(rule) for one in wrong),
                "n_right": len(right),
                "n_right_refused": sum(one.fails(rule) for one in right),
                "holes": [
                    {
                        "kind": hole.kind,
                        "right": hole.right,
                        "rule": rule,
                        "size": hole.size,
                        "line": hole.lines.get(rule, ""),
                        "advice": self.advice(hole, rule),
                    }
                    for hole in self.holes(rule)
                ],
            }
        return {"instance_id": self.instance_id, "scorer": self.scorer, "where": self.where, "unfit": list(self.unfit), **rules}


def share(verdicts: Sequence[Verdict], rule: Rule) -> float | None:
    """Return the share of answers that a check misjudges, 0 to 1; None of none."""
    return sum(one.fails(rule) for one in verdicts) / len(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit: the checks, those not audited as (check, reason), and how many a time limit left out."""

    name: str
    checks: tuple[Audited, ...]
    untried: tuple[tuple[str, str], ...]
    n_answers: int
    n_left: int
    seed: int

    def kinds(self) -> dict[tuple[str, bool], dict[Rule, tuple[int, int]]]:
        """Return (kind, right) -> rule -> (misjudged answers, answers that count), in order of first occurrence."""
        found: dict[tuple[str, bool], dict[Rule, Counter[str]]] = {}
        for check in self.checks:
            for rule in RULES:
                for right in (False, True):
                    for one in check.counted(rule, right=right):
                        counts = found.setdefault((one.kind, right), {rule: Counter() for rule in RULES})[rule]
                        counts["n"] += 1
                        counts["fails"] += one.fails(rule)
        return {key: {rule: (counts["fails"], counts["n"]) for rule, counts in by_rule.items()} for key, by_rule in found.items()}

    def sizes(self) -> dict[str, dict[Rule, tuple[int, int]]]:
        """Return size of change -> rule -> (wrong numbers accepted, wrong numbers that count), the smallest first; only sizes that
        occur.
        """
        found: dict[str, dict[Rule, tuple[int, int]]] = {}
        for at, (words, _) in enumerate(SIZES):
            low, high = SIZES[at - 1][1] if at else 0.0, SIZES[at][1]
            by_rule: dict[Rule, tuple[int, int]] = {}
            for rule in RULES:
                wrong = [one for check in self.checks for one in check.counted(rule, right=False)]
                sized = [one for one in wrong if one.size is not None and low <= one.size < high]
                by_rule[rule] = sum(one.fails(rule) for one in sized), len(sized)
            if any(n for _, n in by_rule.values()):
                found[words] = by_rule
        return found

    def weakest(self, rule: Rule) -> list[Audited]:
        """Return the checks with a hole under a rule, the weakest first, then in gold's order."""
        return sorted((check for check in self.checks if check.holes(rule)), key=lambda check: -check.weakness(rule))

    def to_json(self, rules: Rule) -> dict[str, Any]:
        """Return as data: totals by kind of answer, then each check, the weakest under `rules` first."""
        weakest = self.weakest(rules)
        return {
            "name": self.name,
            "rules": rules,
            "seed": self.seed,
            "n_checks": len(self.checks),
            "n_answers": self.n_answers,
            "n_left": self.n_left,
            "kinds": [
                {"kind": kind, "right": right, **{rule: {"n": n, "n_failed": failed} for rule, (failed, n) in by_rule.items()}}
                for (kind, right), by_rule in self.kinds().items()
            ],
            "sizes": [
                {"size": size, **{rule: {"n": n, "n_failed": failed} for rule, (failed, n) in by_rule.items()}}
                for size, by_rule in self.sizes().items()
            ],
            "checks": [check.to_json() for check in (*weakest, *(check for check in self.checks if check not in weakest))],
            "untried": [{"check": name, "reason": why} for name, why in self.untried],
        }

    def caught(self, rule: Rule) -> float | None:
        """Return the share of all wrong answers that are refused under a rule, 0 to 1; None if none counts."""
        taken = share([one for check in self.checks for one in check.counted(rule, right=False)], rule)
        return None if taken is None else 1 - taken

    def reasons(self) -> dict[str, int]:
        """Return reason -> number of checks that were not audited, most first."""
        counted: dict[str, int] = defaultdict(int)
        for _, why in self.untried:
            counted[why] += 1
        return dict(sorted(counted.items(), key=lambda item: -item[1]))


# Size classes of a number's change: (upper limit as a share of the number, name).
SIZES: Final = (
    ("below 1e-6", 1e-6),
    ("1e-6 to 1e-4", 1e-4),
    ("1e-4 to 1 %", 1e-2),
    ("1 % to 100 %", 1.0),
    ("100 % and more", float("inf")),
)
_STRICT: Final = "--rules strict"
# (kind, a scorer or a rule) -> advice; "" stands for any.
_TAKEN: Final[dict[tuple[str, str], str]] = {
    ("rows scrambled", "official"): f"{_STRICT}; or ignore_order off if the order is known: each column is sorted separately",
    ("one cell", "official"): f"{_STRICT}: the tolerance is 0.01 for any size",
    ("one cell", ""): "rel_tol, abs_tol: smaller",
    ("sign", "official"): f"{_STRICT}: signs are ignored in texts, and 0.01 is allowed in tables",
    ("times 100", "official"): f"{_STRICT}: values under 0.01 are within the tolerance; percentage off if no share is wanted",
    ("times 100", ""): "percentage off",
    ("off by one", ""): "precision, abs_tol: smaller",
    ("NULL to 0", "official"): f"{_STRICT}: rows of only NULL are not read",
    ("wrong order", "official"): f"{_STRICT}; ignore_order as true or false: any list counts as true",
    ("wrong order", ""): "ignore_order off; a column that shows the order",
    ("row dropped", ""): "condition_cols: name a column that distinguishes the rows",
    ("another answer", ""): "gold: more of the answer, because other answers contain it",
    ("all candidates listed", "number_match"): "one gold as text or with decimals, so that one number is read; exclude; --rules strict",
    ("all candidates listed", ""): "exclude: the other candidates; or exact_match",
    ("negated text", ""): "exclude: not; or exact_match",
    ("inside a word", "official"): f"{_STRICT}; or exact_match",
    ("part missing", ""): "conj: and",
    ("one leaf", ""): "x-eval-match of the field: exact",
    ("leaf dropped", ""): "required fields in the schema; strict scoring of missing fields",
    ("element doubled", ""): "the list's comparator: ordered, or with extra elements counted",
}
_REFUSED: Final[dict[tuple[str, str], str]] = {
    ("jitter inside tolerance", "official"): f"precision lower; {_STRICT}: cells are sorted as text before they are compared",
    ("jitter inside tolerance", ""): "precision lower; rel_tol, abs_tol: larger",
    ("zeros at the end", "official"): f"{_STRICT}: a column with one text is compared as text",
    ("sentence around", "official"): f"{_STRICT}; gold as a list of accepted forms",
    ("thousands separators", "official"): _STRICT,
    ("rows reordered", ""): "ignore_order on",
    ("rows reordered", "official"): f"{_STRICT}: rows are sorted as text, and values within the tolerance change that order",
}
_OTHER_TAKEN: Final = "a stricter check: condition_cols, exact_match"
_OTHER_REFUSED: Final = "more accepted gold"


def advice(kind: str, rule: Rule, scorer: str, *, right: bool) -> str:
    """Return the parameter that closes a hole of a scorer, in a few words."""
    table = _REFUSED if right else _TAKEN
    found = next((table[kind, key] for key in (scorer, rule, "") if (kind, key) in table), None)
    return found or (_OTHER_REFUSED if right else _OTHER_TAKEN)


Progress = Callable[[int, int], None]
MOST_ANSWERS: Final = 24
# The number of a suite's golds that are candidates for another instance's answer.
MOST_OTHERS: Final = 60
# A worker scores dozens of answers for each check, and tries lines that close its holes.
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
    """Generate wrong and right answers from each gold, score them, and count the verdicts of each check.

    Args:
        gold: the gold to audit.
        only: ids of the instances to audit; empty for all.
        kinds: kinds of answers; empty for all.
        most: how many answers a check gets at most.
        seconds: time after which no further answer is scored; the checks are then taken in an order that `seed` sets.
        seed: also chooses cells and rows.
        databases: folder of databases; a gold query whose database is available, here or as a file of a connection, is edited and run too.

    Gold itself is submitted like any answer; the variants are scored where gold is read.

    Raises:
        GoldError: gold cannot be read.
        UsageError: unknown id.
    """
    gold = with_patches(read_gold(folder))
    check_ids(gold, only)
    work = [(one, check) for one in gold.instances for check in one.own_checks if not only or one.instance_id in only]
    if seconds is not None:
        random.Random(seed).shuffle(work)
    pairs = [(one, check) for one, check in work if SCORERS.load(check.scorer).marker.reads == "query"]
    others = [(one, check) for one, check in work if SCORERS.load(check.scorer).marker.reads != "query"]
    until = None if seconds is None else time.monotonic() + seconds
    asked = _AuditTasks(gold, resolve_limits(gold.suite.limits), AuditOptions(seed=seed, most=most, kinds=tuple(kinds), until=until))
    found = _AuditResults(gold)
    with TempDir() as scratch:
        how: dict[str, Any] = {"limits": asked.limits, "jobs": jobs or default_jobs(), "isolation": isolation, "until": until}
        asked.queried = run_mutants(gold, work, scratch, folder=databases, **how)
        for instance, check, pair in audit_pairs(gold, pairs, scratch, options=asked.asked, folder=databases, **how):
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
    """Return gold with the checks that its errata substitute added: corrections are audited like gold."""
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
class _AuditResults:
    """The results of the checks, in gold's order."""

    gold: Gold
    audited: dict[tuple[int, int], Audited] = field(default_factory=dict)
    untried: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {one.instance_id: at for at, one in enumerate(self.gold.instances)}

    def add(self, instance: GoldInstance, check: Check, own: Result | None, verdicts: Sequence[Mapping[str, Any]], untried: str) -> None:
        """Add a check with its verdict on gold itself and those on generated answers, or the reason why it has none."""
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
        """Return all of it; `n_work` is the number of checks to audit."""
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
class _AuditTasks:
    """The tasks of an audit by name, each of which submits gold to one check, with the check of each."""

    gold: Gold
    limits: Mapping[str, int | float]
    asked: AuditOptions
    tasks: dict[str, Task] = field(default_factory=dict)
    about: dict[str, tuple[GoldInstance, Check]] = field(default_factory=dict)
    queried: Mapping[str, Queried] = field(default_factory=dict)
    _golds: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def add(self, instance: GoldInstance, check: Check, scratch: Path) -> None:
        """Submit gold to a check, its files copied below `scratch`. Raises `NotAuditedError`."""
        check_auditable(check)
        try:
            answer = own_answers(self.gold, instance, check, scratch, self.limits)[0]
        except (NoOwnAnswerError, IndexError) as why:
            raise NotAuditedError(str(why) or "has no gold") from None
        # The name seeds the generated answers, so that an instance gets the same ones alone as among all.
        name = f"{instance.instance_id}.{check.scorer}.{_place(instance, check)}"
        # Answers of other instances; a few are enough.
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
    """Return the answer under another name, its files unchanged."""
    value: Any = answer.value
    if answer.answer_type == "file":
        value = FromRoot(f"{instance_id}/{value}")
    elif answer.answer_type == "files":
        value = tuple(FromRoot(f"{instance_id}/{one}") for one in value)
    return replace(answer, instance_id=name, value=value)


def _rooted(parameters: Mapping[str, Any], folder: Path, instance_id: str) -> dict[str, Any]:
    """Return the parameters with the names of gold files relative to gold's own folder."""

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
