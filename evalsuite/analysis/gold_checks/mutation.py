"""Mutation testing of specs: which wrong answers each check accepts, and which right ones it refuses; parameters from example answers.

`generated_answers` makes the answers from gold, `audited_checks` scores them in the worker that reads gold and tries which spec line closes
a hole. Here are the tasks of an audit, its verdicts and counts; and for `init` the strictest parameters that fit good and bad examples.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, Final, get_args

from evalsuite.analysis.gold_checks.audited_checks import (
    KEY,
    ORDER,
    AuditOptions,
    NotAuditedError,
    all_golds,
    audit_pairs,
    check_auditable,
    run_mutants,
)
from evalsuite.analysis.gold_checks.generated_answers import OWN, NoOwnAnswerError, own_answers
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.files import is_dir
from evalsuite.core.status import refuse_small_machine
from evalsuite.core.types import RULES, Check, Gold, GoldInstance, Result, Rule, Score, Task
from evalsuite.gold.connection_files import databases_folder
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import read_gold, refuse_empty
from evalsuite.gold.spec import check_ids
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.readers.gold_files import read_gold_files
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_pair
from evalsuite.readers.load_table import dialect_parameters
from evalsuite.runs.executors import default_jobs
from evalsuite.runs.plan import default_rules, refuse_changes, renamed
from evalsuite.runs.run_options import EACH_ITS_OWN
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.limits import check_limits
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a generated answer was accepted, by rule; None if that rule could not judge it.

    `size` is the relative change of a number, None for other edits; `lines` have for each rule that misjudges the answer the tried spec
    line that closes the hole, "" if none does.
    """

    kind: str
    right: bool
    accepted: Mapping[Rule, bool | None]
    size: float | None = None
    lines: Mapping[Rule, str] = field(default_factory=dict)

    def fails(self, rule: Rule) -> bool:
        """Whether the check misjudges it: accepts a wrong answer, or refuses a right one."""
        is_accepted = self.accepted[rule]
        return is_accepted is not None and is_accepted is not self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One check with its verdicts on the generated answers; under the `unfit` rules, which refuse gold itself, nothing counts.

    `rules` are those under which a run scores its instance: strict for trees, else official.
    """

    instance_id: str
    scorer: str
    where: str
    verdicts: tuple[Verdict, ...]
    unfit: tuple[Rule, ...] = ()
    rules: Rule = "official"

    def verdicts_under(self, rule: Rule, *, right: bool) -> list[Verdict]:
        """Return the wrong, or right, answers that count under a rule."""
        if rule in self.unfit:
            return []
        return [
            verdict for verdict in self.verdicts if verdict.right is right and verdict.kind != OWN and verdict.accepted[rule] is not None
        ]

    def holes(self, rule: Rule) -> list[Verdict]:
        """Return the misjudged answers, accepted wrong ones first."""
        return [verdict for right in (False, True) for verdict in self.verdicts_under(rule, right=right) if verdict.fails(rule)]

    def weakness(self, rule: Rule) -> float:
        """Return the share of wrong answers accepted plus that of right ones refused: 0 to 2, and 0 if nothing counts."""
        return sum(share(self.verdicts_under(rule, right=right), rule) or 0.0 for right in (False, True))

    def advice(self, hole: Verdict, rule: Rule) -> str:
        """Return the tried line that closes a hole of this check; else general advice, marked as untried."""
        line = hole.lines.get(rule, "")
        return line or f"{advice(hole.kind, rule, self.scorer, right=hole.right)} (no line that was tried closes it)"

    def _hole_json(self, hole: Verdict, rule: Rule) -> dict[str, Any]:
        about = {"kind": hole.kind, "right": hole.right, "rule": rule, "size": hole.size}
        return {**about, "line": hole.lines.get(rule, ""), "advice": self.advice(hole, rule)}

    def to_json(self) -> dict[str, Any]:
        """Return as data: the counts, and each hole with its line."""
        rules: dict[str, Any] = {}
        for rule in RULES:
            wrong, right = self.verdicts_under(rule, right=False), self.verdicts_under(rule, right=True)
            rules[rule] = {
                "n_wrong": len(wrong),
                "n_wrong_taken": sum(verdict.fails(rule) for verdict in wrong),
                "n_right": len(right),
                "n_right_refused": sum(verdict.fails(rule) for verdict in right),
                "holes": [self._hole_json(hole, rule) for hole in self.holes(rule)],
            }
        about = {"instance_id": self.instance_id, "scorer": self.scorer, "where": self.where, "rules": self.rules}
        return {**about, "unfit": list(self.unfit), **rules}


def share(verdicts: Sequence[Verdict], rule: Rule) -> float | None:
    """Return the share of answers that a check misjudges, 0 to 1; None of none."""
    return sum(verdict.fails(rule) for verdict in verdicts) / len(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit: the checks, those not audited as (check, reason), and how many a time limit left out."""

    name: str
    checks: tuple[Audited, ...]
    untried: tuple[tuple[str, str], ...]
    n_answers: int
    n_left: int
    seed: int

    def under(self, rules: Rule | None) -> "Audit":
        """Return the audit with every check under these rules; None leaves each check its own."""
        return self if rules is None else replace(self, checks=tuple(replace(check, rules=rules) for check in self.checks))

    @property
    def rules(self) -> str:
        """The rules of the checks: `official`, `strict`, or `official, trees strict`."""
        names = {check.rules for check in self.checks} or {"official"}
        return names.pop() if len(names) == 1 else EACH_ITS_OWN

    def kinds(self) -> dict[tuple[str, bool], dict[Rule, tuple[int, int]]]:
        """Return (kind, right) -> rule -> (misjudged answers, answers that count), in order of first occurrence."""
        fails: dict[tuple[str, bool], dict[Rule, list[bool]]] = {}
        for check, rule, right in product(self.checks, RULES, (False, True)):
            for verdict in check.verdicts_under(rule, right=right):
                fails.setdefault((verdict.kind, right), {rule: [] for rule in RULES})[rule].append(verdict.fails(rule))
        return {key: {rule: (sum(failures), len(failures)) for rule, failures in by_rule.items()} for key, by_rule in fails.items()}

    def sizes(self) -> dict[str, dict[Rule, tuple[int, int]]]:
        """Return size of change -> rule -> (wrong numbers accepted, wrong numbers that count), the smallest first."""
        by_size: dict[str, dict[Rule, tuple[int, int]]] = {}
        for at, (words, _) in enumerate(SIZES):
            low, high = SIZES[at - 1][1] if at else 0.0, SIZES[at][1]
            by_rule: dict[Rule, tuple[int, int]] = {}
            for rule in RULES:
                wrong = [verdict for check in self.checks for verdict in check.verdicts_under(rule, right=False)]
                sized = [verdict for verdict in wrong if verdict.size is not None and low <= verdict.size < high]
                by_rule[rule] = sum(verdict.fails(rule) for verdict in sized), len(sized)
            if any(n for _, n in by_rule.values()):
                by_size[words] = by_rule
        return by_size

    def weakest(self) -> list[Audited]:
        """Return the checks with a hole under their rules, the weakest first, then in gold's order."""
        return sorted((check for check in self.checks if check.holes(check.rules)), key=lambda check: -check.weakness(check.rules))

    def to_json(self) -> dict[str, Any]:
        """Return as data: totals by kind of answer, then each check, the weakest first."""
        weakest = self.weakest()

        def counts(by_rule: Mapping[Rule, tuple[int, int]]) -> dict[str, Any]:
            return {rule: {"n": n, "n_failed": failed} for rule, (failed, n) in by_rule.items()}

        numbers = {"n_checks": len(self.checks), "n_answers": self.n_answers, "n_left": self.n_left}
        return {
            **{"name": self.name, "rules": self.rules, "seed": self.seed, **numbers},
            "kinds": [{"kind": kind, "right": right, **counts(by_rule)} for (kind, right), by_rule in self.kinds().items()],
            "sizes": [{"size": size, **counts(by_rule)} for size, by_rule in self.sizes().items()],
            "checks": [check.to_json() for check in (*weakest, *(check for check in self.checks if check not in weakest))],
            "untried": [{"check": name, "reason": why} for name, why in self.untried],
        }

    def share_caught(self) -> float | None:
        """Return the share of all wrong answers that are refused under the rules of their checks, 0 to 1; None if none counts."""
        refused = [not verdict.fails(check.rules) for check in self.checks for verdict in check.verdicts_under(check.rules, right=False)]
        return sum(refused) / len(refused) if refused else None

    def reasons(self) -> dict[str, int]:
        """Return reason -> number of checks that were not audited, most first."""
        return dict(Counter(why for _, why in self.untried).most_common())


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
    line = next((table[kind, key] for key in (scorer, rule, "") if (kind, key) in table), None)
    return line or (_OTHER_REFUSED if right else _OTHER_TAKEN)


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
        folder: the gold folder to audit.
        only: ids of the instances to audit; empty for all.
        kinds: kinds of answers; empty for all.
        most: how many answers a check gets at most.
        seconds: time after which no further answer is scored; the checks are then taken in an order that `seed` sets.
        seed: also chooses cells and rows.
        databases: folder of databases; a gold query whose database is available, here or as a file of a connection, is edited and run too.

    Gold itself is submitted like any answer; the variants are scored where gold is read.

    Raises:
        GoldError: gold cannot be read, or changed meanwhile.
        UsageError: unknown id, or the folder of databases is missing.
    """
    gold = add_patches(refuse_empty(read_gold(folder)))
    check_ids(gold, only)
    files = read_gold_files(gold.folder, gold.spec_file)
    work = [(instance, check) for instance in gold.instances for check in instance.own_checks if not only or instance.instance_id in only]
    if seconds is not None:
        random.Random(seed).shuffle(work)
    pairs, others = ([pair for pair in work if (SCORERS.load(pair[1].scorer).marker.reads == "query") is asks] for asks in (True, False))
    until = None if seconds is None else time.monotonic() + seconds
    limits, options = resolve_limits(gold.suite.limits), AuditOptions(seed=seed, most=most, kinds=tuple(kinds), until=until)
    check_limits(limits)
    if databases is not None:
        databases_folder(databases)
    how: dict[str, Any] = {"limits": limits, "jobs": jobs or default_jobs(), "isolation": isolation, "until": until}
    places = {instance.instance_id: at for at, instance in enumerate(gold.instances)}
    results = _AuditResults(gold.suite.name, places, len(work), progress, gold.suite.rules)
    tasks: dict[str, tuple[GoldInstance, Check, Task]] = {}
    with TempDir() as scratch:
        queried, golds = run_mutants(gold, work, scratch, folder=databases, **how), all_golds(gold)
        for audited in audit_pairs(gold, pairs, scratch, options=options, folder=databases, **how):
            results.add(*audited)
        for instance, check in others:
            if options.is_over:
                break
            # Answers of other instances; a few are enough.
            random_ = random.Random(f"{seed} {instance.instance_id}")
            texts, numbers = (tuple(random_.sample(values, min(len(values), MOST_OTHERS))) for values in golds)
            own_options = replace(options, texts=texts, numbers=numbers, queried=queried.get(instance.instance_id, ()))
            try:
                task = _audit_task(gold, instance, check, own_options, scratch, limits)
                tasks[task.instance.instance_id] = instance, check, task
            except NotAuditedError as why:
                results.add(instance, check, None, (), str(why))
        with closing(Pool(jobs=how["jobs"], isolation=isolation, gold_inodes=files.inodes, order=ORDER)) as pool:
            results.add_all(tasks, pool.results([task for _, _, task in tasks.values()]), options)
    refuse_changes(files.find_changed())
    return results.audit(seed)


def add_patches(gold: Gold) -> Gold:
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
    """The results of the checks of a suite in the order of `places`; `n_work` is the number of checks to audit.

    `rules` are those of the suite; without them each instance has its default.
    """

    name: str
    places: Mapping[str, int]
    n_work: int
    progress: Progress | None
    rules: Rule | None = None
    audited: dict[tuple[int, int], Audited] = field(default_factory=dict)
    untried: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    def add(
        self, instance: GoldInstance, check: Check, gold_result: Result | None, verdicts: Sequence[Mapping[str, Any]], untried: str
    ) -> None:
        """Add a check with its verdict on gold itself and those on generated answers, or the reason why it has none."""
        at = self.places[instance.instance_id], _place(instance, check)
        if gold_result is not None:
            refuse_small_machine(instance.instance_id, gold_result)
        if untried or gold_result is None:
            self.untried[at] = (f"{instance.instance_id} {check.scorer}", untried)
            return
        of_gold = {rule: None if (value := getattr(gold_result, rule)) is None else value >= _FULL for rule in RULES}
        self.audited[at] = Audited(
            instance_id=instance.instance_id,
            scorer=check.scorer,
            where=check.where,
            verdicts=(Verdict(OWN, True, of_gold), *(Verdict(**verdict) for verdict in verdicts)),
            unfit=tuple(rule for rule in RULES if of_gold[rule] is not True),
            rules=self.rules or default_rules(instance),
        )

    def add_all(self, tasks: Mapping[str, tuple[GoldInstance, Check, Task]], results: Iterable[Result], options: AuditOptions) -> None:
        """Add the results of tasks, as far as the time allows."""
        for result in results:
            # A failure of evalsuite, or of a worker, says nothing of gold.
            data = result.details.get(KEY) or {"untried": result.reason}
            instance, check, _ = tasks[result.instance_id]
            if "untried" in data or data["verdicts"] or options.until is None:
                untried = data.get("untried", "").replace(result.instance_id, instance.instance_id)
                self.add(instance, check, result, data.get("verdicts", ()), untried)
            if self.progress is not None:
                self.progress(len(self.audited) + len(self.untried), self.n_work)
            if options.is_over:
                break

    def audit(self, seed: int) -> Audit:
        """Return all of it."""
        checks = tuple(self.audited[at] for at in sorted(self.audited))
        return Audit(
            name=self.name,
            checks=checks,
            untried=tuple(self.untried[at] for at in sorted(self.untried)),
            n_answers=sum(len(check.verdicts) for check in checks),
            n_left=self.n_work - len(checks) - len(self.untried),
            seed=seed,
        )


def _audit_task(
    gold: Gold, instance: GoldInstance, check: Check, options: AuditOptions, scratch: Path, limits: Mapping[str, int | float]
) -> Task:
    """Return the task that submits gold to a check, its files copied below `scratch`. Raises `NotAuditedError`."""
    check_auditable(check)
    try:
        answer = own_answers(gold, instance, check, scratch, limits)[0]
    except (NoOwnAnswerError, IndexError) as why:
        raise NotAuditedError(str(why) or "has no gold") from None
    # The name seeds the generated answers, so that an instance gets the same ones alone as among all.
    name = f"{instance.instance_id}.{check.scorer}.{_place(instance, check)}"
    task = Task(
        instance=replace(instance, extra={KEY: options}),
        answer=answer,
        gold_folder=gold.folder.absolute(),
        submission_folder=scratch,
        rules="official",
        limits={**limits, "seconds": ROOM * limits["seconds"]},
    )
    return renamed(task, name, check)


def _place(instance: GoldInstance, check: Check) -> int:
    return next(at for at, other in enumerate(instance.checks) if other is check)


# A number column that good answers change by more than this share of its range was not rounded: it does not count.
_MOST_OF_RANGE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The parameters, what the examples leave open in sentences, the good ones that are still refused, and the bad ones still accepted."""

    parameters: Mapping[str, Any]
    n_columns: int
    n_good: int
    n_bad: int
    open: tuple[str, ...] = ()
    refused_good: tuple[str, ...] = ()
    accepted_bad: tuple[str, ...] = ()

    @property
    def n_misjudged(self) -> int:
        """How many examples the parameters misjudge."""
        return len(self.refused_good) + len(self.accepted_bad)


def examples_of(folder: Path | None, id_: str) -> list[Path]:
    """Return the example answers of an instance: `DIR/ID.csv`, `DIR/ID_*.csv`, and every CSV in `DIR/ID/`."""
    if folder is None:
        return []
    if not is_dir(folder):
        raise UsageError(f"{folder}: no such folder", hint="name example answers ID.csv, ID_*.csv or ID/*.csv in it")
    return sorted({*folder.glob(f"{id_}.csv"), *folder.glob(f"{id_}_*.csv"), *(folder / id_).glob("*.csv")})


def infer_suite(tables: Mapping[str, Path], good: Path | None, bad: Path | None) -> tuple[Rule, dict[str, Inferred]]:
    """Return (the rules that separate the examples best, the parameters of each instance that has examples).

    The official rules win unless the strict ones separate more: only the strict rules have tolerances and keep the values of a row
    together. Raises `UsageError` for a missing folder, or if no example belongs to an instance.
    """
    examples = {id_: (examples_of(good, id_), examples_of(bad, id_)) for id_ in tables}
    chosen = {id_: files_of_id for id_, files_of_id in examples.items() if any(files_of_id)}
    if (good or bad) and not chosen:
        first = next(iter(tables))
        raise UsageError("no example belongs to an instance", hint=f"as {first}.csv, or a folder {first}/")
    official, strict = (
        {id_: infer_parameters(tables[id_], *files_of_id, rules=rule) for id_, files_of_id in chosen.items()} for rule in get_args(Rule)
    )
    missed = [sum(inferred.n_misjudged for inferred in files_of_id.values()) for files_of_id in (official, strict)]
    # If good answers give a column less precisely, the official rules can only leave it out: the check that reads more is the stricter one.
    sees_more = any(strict[id_].n_columns > inferred.n_columns for id_, inferred in official.items())
    return ("strict", strict) if missed[1] < missed[0] or (missed[1] == missed[0] and sees_more) else ("official", official)


def infer_parameters(gold: Path, good: Sequence[Path], bad: Sequence[Path], *, rules: Rule) -> Inferred:
    """Infer row order, compared columns, and under strict rules the tolerance of numbers, with the scorer itself as judge.

    Strictest first: all columns in order, all in any order, then fewer columns. Raises `UsageError`.
    """
    examples = _Examples(gold, good, bad, rules)
    plans = list(_plans(examples))
    fitting = (plan for plan in plans if examples.separates(plan))
    chosen = next(fitting, None) or min(plans, key=lambda plan: sum(map(len, examples.find_misjudged(plan))))
    refused, accepted = examples.find_misjudged(chosen)
    return Inferred(
        parameters=chosen,
        n_columns=len(chosen.get("condition_cols") or examples.names),
        n_good=len(good),
        n_bad=len(bad),
        open=() if refused or accepted else tuple(_describe_open_choices(examples, chosen)),
        refused_good=tuple(map(str, refused)),
        accepted_bad=tuple(map(str, accepted)),
    )


class _Examples:
    """The example answers of one gold table, judged under one rule; verdicts are cached."""

    def __init__(self, gold: Path, good: Sequence[Path], bad: Sequence[Path], rules: Rule) -> None:
        self.names, rows = read_named_rows(gold, delimiters=dialect_parameters(gold).get("delimiter", ","))
        self.columns = list(zip(*(cells + [""] * (len(self.names) - len(cells)) for _, cells in rows), strict=True)) if rows else []
        self.good, self.bad, self.rules = good, bad, rules
        self._read = {answer: _read(answer, gold) for answer in {*good, *bad}}
        self._judged: dict[tuple[Path, str], Score | None] = {}

    def judge(self, answer: Path, plan: Mapping[str, Any]) -> Score | None:
        """Return the verdict, None for a file that cannot be read."""
        key = answer, repr(plan)
        if key not in self._judged:
            read = self._read[answer]
            self._judged[key] = None if read is None else SCORERS.load("table_match").score(read[0], **{**plan, **read[1]})
        return self._judged[key]

    def accepts(self, answer: Path, plan: Mapping[str, Any]) -> bool:
        """Whether the verdict is 1."""
        score = self.judge(answer, plan)
        return score is not None and getattr(score, self.rules) == 1

    def find_misjudged(self, plan: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
        """Return (good ones refused, bad ones accepted)."""
        return [answer for answer in self.good if not self.accepts(answer, plan)], [
            answer for answer in self.bad if self.accepts(answer, plan)
        ]

    def separates(self, plan: Mapping[str, Any]) -> bool:
        """Whether every example gets its verdict."""
        return all(self.accepts(answer, plan) for answer in self.good) and not any(self.accepts(answer, plan) for answer in self.bad)

    def distance(self, plan: Mapping[str, Any]) -> float:
        """Return the smallest tolerance under which strict accepts every good answer; infinite if there is none."""
        return max((_distance(self.judge(answer, plan)) for answer in self.good), default=0.0)

    def is_slight(self, column: int, distance: float) -> bool:
        """Whether such a distance in a column means the same numbers with less precision."""
        numbers = [number for cell in self.columns[column] if (number := _number(cell)) is not None] if self.columns else []
        return distance == 0 or (len(numbers) > 1 and distance <= _MOST_OF_RANGE * (max(numbers) - min(numbers)))


def _read(answer: Path, gold: Path) -> tuple[Any, dict[str, Any]] | None:
    """Return (the answer, gold as a parameter) in the scorer's form; None for a file that cannot be read."""
    try:
        return read_pair("table", str(answer), {"gold": str(gold), **dialect_parameters(gold)})
    except FaultError:
        return None


def _distance(score: Score | None) -> float:
    margin = None if score is None else 0.0 if score.strict == 1 else score.details.get("margin")
    return math.inf if margin is None else float(margin)


def _plans(examples: _Examples) -> Iterator[dict[str, Any]]:
    """Yield parameters to try, the strictest first."""
    everything = range(len(examples.names))
    if examples.rules == "official":
        shared = [at for at in everything if all(examples.accepts(answer, _column(at)) for answer in examples.good)]
        yield from _orders(everything, shared)
        return
    distances = {at: examples.distance(_column(at)) for at in everything}
    exact = [at for at in everything if distances[at] == 0]
    slight = [at for at in everything if examples.is_slight(at, distances[at])]
    yield from _orders(everything, exact if len(exact) == len(everything) else [])
    for columns in (slight, [at for at in everything if distances[at] < math.inf], exact):
        for plan in _orders(everything, columns):
            yield from _tolerances(examples, plan, {at: distances[at] for at in columns if distances[at]})


def _column(at: int) -> dict[str, Any]:
    return {"condition_cols": [at], "ignore_order": True}


def _orders(everything: Sequence[int], columns: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all columns, then the given ones, in order and in any order."""
    for chosen in dict.fromkeys([tuple(everything), tuple(columns)]):
        for ignore_order in (False, True):
            yield {"ignore_order": ignore_order, **({"condition_cols": list(chosen)} if 0 < len(chosen) < len(everything) else {})}


def _tolerances(examples: _Examples, plan: dict[str, Any], distances: Mapping[int, float]) -> Iterator[dict[str, Any]]:
    """Return the plan with a tolerance for the columns that good answers change: a round one, else the exact distance."""
    if not distances:
        yield plan
        return
    whole = examples.distance({**plan, "abs_tol": _tolerance_by_column(examples, distances, lambda value: value)})
    for least in (distances, {at: max(value, whole) for at, value in distances.items()} if whole < math.inf else distances):
        for rounding in (_round_up, lambda value: value):
            yield {**plan, "abs_tol": _tolerance_by_column(examples, least, rounding)}


def _tolerance_by_column(examples: _Examples, distances: Mapping[int, float], rounding: Any) -> dict[str, float]:
    """Return tolerance by header, or by position if the headers are not unique names."""
    names = examples.names
    return {names[at] if names[at] and names.count(names[at]) == 1 else str(at): rounding(value) for at, value in distances.items()}


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50, ... that is not smaller."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 5, 10, 20) if step * power >= value * (1 - 1e-9))


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _describe_open_choices(examples: _Examples, chosen: Mapping[str, Any]) -> Iterator[str]:
    """Yield which other parameters would judge these examples the same, and what the rules accept that no example tests."""
    free_order = chosen["ignore_order"]
    if examples.separates({**chosen, "ignore_order": not free_order}):
        yield f"order: no example shows whether it counts; ignore_order is {str(free_order).lower()}"
    columns = list(chosen.get("condition_cols") or range(len(examples.names)))
    free = [
        examples.names[at]
        for at in columns
        if len(columns) > 1 and examples.separates({**chosen, "condition_cols": [column for column in columns if column != at]})
    ]
    if free:
        yield f"columns: no bad example is wrong in {', '.join(map(repr, free))} alone; all of them count"
    tolerances: Mapping[str, float] = chosen.get("abs_tol") or {}
    for name, value in tolerances.items():
        if examples.separates({**chosen, "abs_tol": {**tolerances, name: 2 * value}}):
            yield f"tolerance: no bad example is close enough in {name!r} to show where numbers stop being right; abs_tol is {value:g}"
    if examples.rules == "official" and free_order and len(columns) > 1 and len(examples.columns[0] if examples.columns else ()) > 1:
        yield "rows: the official rules accept values that changed rows; --rules strict refuses them"
