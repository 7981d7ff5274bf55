"""Checks of an instance: which ones an answer reaches, what they need from a worker, and how their outcomes combine to one result.

The best check wins, under each rule by itself. `ReadRequest` is what the reader of the submission gets: which payloads the checks want,
and no gold.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FAULTS, FaultError, Side, describe, hint_of, side_of
from evalsuite.core.registry import Marker
from evalsuite.core.status import FURTHER_SCORERS, OWN_SCALE, UNJUDGED_BY, further_result_row
from evalsuite.core.types import Answer, Check, Fault, GoldInstance, Reads, Result, Rule, Score, Status, Task
from evalsuite.readers.csv_dialect import DEFAULT, Dialect
from evalsuite.readers.limits import PACKED_BYTES
from evalsuite.readers.paths import AnswerFiles, Inode
from evalsuite.sandbox.limits import Budget, size_of
from evalsuite.sandbox.worker_main import OWN_ERROR
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, runs_programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One check's score, with the fault that prevented a rule's verdict; `from_query`: its gold was computed in this run."""

    check: Check
    score: Score
    fault: Fault | None = None
    side: Side = "gold"
    from_query: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether there is a value on the scorer's own scale, which makes no score."""
        return self.fault is None and self.score.official is None and self.score.fault is None and "raw" in self.score.details

    def fault_under(self, rule: Rule) -> Fault | None:
        """Return what prevented a plain verdict of this check under the rule."""
        return self.fault or self.score.fault_under(rule)


def combine(task: Task, outcomes: Sequence[Outcome], *, seconds: float) -> Result:
    """Return the result of an instance whose answer was read: per rule the best value, None if an unscored check could still win.

    Values of the suite's further scorers are in its details and decide nothing.
    """
    further: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.check.is_further:
            further.setdefault(outcome.check.scorer, []).append(outcome)
    result = _combine_outcomes(task, [outcome for outcome in outcomes if not outcome.check.is_further], seconds)
    if not further:
        return result
    by_name = {name: _combine_outcomes(task, parts, 0.0) for name, parts in further.items()}
    rows = {name: further_result_row(row) for name, row in by_name.items()}
    return replace(result, details={**result.details, FURTHER_SCORERS: rows})


def _combine_outcomes(task: Task, outcomes: Sequence[Outcome], seconds: float) -> Result:
    official, strict = _best(outcomes, "official"), _best(outcomes, "strict")
    score = official if task.rules == "official" else strict
    decided = _best_outcome(outcomes, task.rules)
    status: Status = "scored"
    if score is None and len(outcomes) == 1 and outcomes[0].is_measured:
        decided = outcomes[0]
    elif score is None:
        decided = next((o for o in outcomes if o.score.value(task.rules) is None), decided)
        own_fault = decided.score.fault_under(task.rules) if decided.fault is None else None
        status = UNJUDGED_BY[side_of(own_fault) if own_fault is not None else decided.side]
    fault = decided.fault_under(task.rules)
    if score == 0 and fault is not None and side_of(fault) == "submission":
        status = "submission_fault"
    elif fault is None:
        fault = next((o.fault for o in outcomes if o.fault is not None), None)
    return Result(
        instance_id=task.instance.instance_id,
        status=status,
        score=score,
        official=official,
        strict=strict,
        scorer=decided.check.scorer,
        reason=_reason(decided, task.rules, fault if status != "scored" else None),
        fault=fault.code if fault is not None else None,
        details=_details(task, outcomes, decided, fault, status=status, flip=_flip(task, outcomes, official, strict)),
        seconds=seconds,
        strict_fault=_late(outcomes) if strict is None else None,
    )


def _late(outcomes: Sequence[Outcome]) -> Fault | None:
    """Return the fault of a strict verdict that took too long, None if there is none."""
    faults = [outcome.score.strict_fault for outcome in outcomes if outcome.score.strict is None]
    return next((fault for fault in faults if fault is not None and fault.code == "TIMEOUT"), None)


def missing_result(task: Task) -> Result:
    """Return the result of a missing answer: 0 under every rule."""
    return fault_result(task, Fault(code="MISSING_INSTANCE"), status="missing")


def fault_result(task: Task, fault: Fault, *, status: Status = "submission_fault", seconds: float = 0.0) -> Result:
    """Return the result of an instance whose answer could not be read or compared: 0 under every rule.

    It has no score if the machine or the tool is at fault.
    """
    if side_of(fault) in ("setup", "tool"):
        return unjudged_result(task, fault, seconds=seconds)
    reason = FAULTS[fault.code].message if status == "missing" else describe(fault)
    details: dict[str, Any] = {} if status == "missing" else {"hint": FAULTS[fault.code].hint}
    details |= _own_scale(task.instance)
    return Result(
        instance_id=task.instance.instance_id,
        status=status,
        score=0.0,
        official=0.0,
        strict=0.0,
        scorer=task.instance.checks[0].scorer if task.instance.checks else None,
        reason=reason,
        fault=fault.code,
        details=details,
        seconds=seconds,
    )


def _own_scale(instance: GoldInstance) -> dict[str, list[str]]:
    """Return the entry in `details` for the scorers whose only check of an instance gives values on a scale of its own; else nothing."""
    by_column: dict[str, list[Check]] = {}
    for check in instance.checks:
        by_column.setdefault(check.scorer if check.is_further else "", []).append(check)
    names = [checks[0].scorer for checks in by_column.values() if len(checks) == 1 and _has_own_scale(checks[0])]
    return {OWN_SCALE: names} if names else {}


def _has_own_scale(check: Check) -> bool:
    return marker_of(check).range is None and not (check.scorer in METRICS and check.parameters.get("scale"))


def out_of_budget(task: Task, budget: Budget) -> Result:
    """Return the result of a task that the run's budget does not reach."""
    fault, limit = budget.spent_fault()
    result = fault_result(task, fault, status="timeout")
    return replace(result, details={**result.details, "budget": limit})


def unjudged_result(task: Task, fault: Fault, *, seconds: float = 0.0) -> Result:
    """Return the result of an instance that cannot be scored because something on the grader's side is missing."""
    score, side = Score(official=None, reason=describe(fault)), side_of(fault)
    return combine(task, [Outcome(check=check, score=score, fault=fault, side=side) for check in task.instance.checks], seconds=seconds)


def fault_of_end(task: Task, status: int, *, by_scorer: bool, stage: str) -> Fault:
    """Return the fault of an answer whose worker ended with this status: of a bug of evalsuite, of a plugin, or of the answer.

    A bundled scorer is ended by an answer that makes it crash. A plugin may end its process whatever the answer is, as it may raise.

    Args:
        by_scorer: whether the worker that ended runs scorers, and had what they compare.
        stage: what was done with the answer, in words.
    """
    if status == OWN_ERROR:
        return Fault(code="SCORER_ERROR", detail=f"an error in evalsuite's own code ended the worker while the answer was being {stage}")
    foreign = [check.scorer for check in task.instance.checks if by_scorer and SCORERS.load(check.scorer).is_foreign]
    if foreign:
        return Fault(code="SCORER_ERROR", detail=f"{foreign[0]} ended its process ({_words_of_status(status)})")
    return Fault(code="WORKER_DIED", detail=f"the worker died while the answer was being {stage}")


def _words_of_status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _best(outcomes: Sequence[Outcome], rule: Rule) -> float | None:
    values = [outcome.score.value(rule) for outcome in outcomes]
    scores = [value for value in values if value is not None]
    best = max(scores, default=None)
    if best is not None and (best == 1 or len(scores) == len(values)):
        return best
    return None


def _best_outcome(outcomes: Sequence[Outcome], rule: Rule) -> Outcome:
    """Return the first outcome with the best value under the rule."""
    return max(outcomes, key=lambda outcome: -1.0 if (value := outcome.score.value(rule)) is None else value)


def _reason(outcome: Outcome, rule: Rule, fault: Fault | None) -> str:
    why = outcome.score.reason_for(rule)
    return describe(fault) if fault is not None and fault.code not in why else why


def _flip(task: Task, outcomes: Sequence[Outcome], official: float | None, strict: float | None) -> str:
    """Return why the rules differ: the cause of a deciding check, else that another check decides under the other rules."""
    if official is None or strict is None or official == strict:
        return ""
    deciding = [_best_outcome(outcomes, rule) for rule in ("official", "strict")]
    for outcome in sorted(deciding, key=lambda outcome: outcome is not _best_outcome(outcomes, task.rules)):
        if outcome.score.flip and outcome.score.official != outcome.score.strict:
            return outcome.score.flip
    return f"another check: official by {deciding[0].check.scorer}, strict by {deciding[1].check.scorer}"


def _details(
    task: Task, outcomes: Sequence[Outcome], decided: Outcome, fault: Fault | None, *, status: Status, flip: str
) -> dict[str, Any]:
    details: dict[str, Any] = {**decided.score.details, **_own_scale(task.instance)}
    if status == "scored":
        details["gold_from"] = "query" if decided.from_query else "file"
    if flip:
        details["flip"] = flip
    if decided.score.strict_reason and decided.score.strict_reason != decided.score.reason:
        details["reasons"] = {"official": decided.score.reason, "strict": decided.score.strict_reason}
    warnings = [problem.message for outcome in outcomes for problem in outcome.check.problems if not problem.blocks]
    warnings += [text for outcome in outcomes for text in outcome.score.details.get("warnings", ())]
    if warnings:
        details["warnings"] = list(dict.fromkeys(warnings))
    if fault is not None:
        details["fault"] = describe(fault)
        details["hint"] = hint_of(fault)
    if len(outcomes) > 1:
        details["checks"] = [
            {"scorer": o.check.scorer, "official": o.score.official, "strict": o.score.strict, "reason": o.score.reason_for(task.rules)}
            for o in outcomes
        ]
    return details


# Payloads in which a scorer may read an answer. `answer` is the text itself; `file` and `files` are paths, `sql` the path of a query.
READS_BY_ANSWER_TYPE: Mapping[str, frozenset[str]] = {
    "answer": frozenset({"text", "number", "tree", "batch", "query"}),
    "file": frozenset({"table", "database"}),
    "sql": frozenset({"table"}),
    "files": frozenset({"tables"}),
}


# Orders of the second stage: score the answer, or only under the official rules if the strict ones took too long.
JUDGE, JUDGE_OFFICIAL = "judge", "official"


# Modules that read and compare the answers of a payload type.
_OF_TABLES = ("evalsuite.readers.csv_table", "evalsuite.compare.official_tables", "evalsuite.compare.margins")
_OF_FORMS = {
    "table": _OF_TABLES,
    "tables": _OF_TABLES,
    "database": (*_OF_TABLES, "evalsuite.readers.duckdb_tables", "evalsuite.compare.official_databases", "duckdb"),
}


_OF_SCORERS = {"evalsuite.scorers.text_match": ("evalsuite.compare.answer_rules",)}


_JSON_FILES, _TEXT_FILES = (".json", ".jsonl"), (".txt", ".md")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What a reader of the submission gets: the place of the answer and the wanted payloads. No gold.

    `private` is the table of an SQL answer, or `COPY`; `digests` are those of what was copied. `databases` are the files that a query runs
    on, prepared by its `evaluator`. Of several table checks the first one that names a `dialect` says how the answer is written.
    """

    folder: str
    instance_id: str
    answer_type: str
    value: str | tuple[str, ...]
    wanted: tuple[str, ...]
    table_names: tuple[str, ...] | None
    limits: Mapping[str, int | float]
    private: str | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    databases: tuple[str, ...] = ()
    evaluator: str = ""
    dialect: Dialect = DEFAULT


def reads_of(checks: Iterable[Check]) -> list[Reads]:
    """Return the payload that each check takes."""
    return [marker_of(check).reads for check in checks]


def marker_of(check: Check) -> Marker:
    """Return what the scorer of a check declares."""
    return (SCORERS.additions.known.get(check.scorer) or SCORERS.load(check.scorer)).marker


def applicable_checks(instance: GoldInstance, answer: Answer) -> tuple[Check, ...]:
    """Return the checks of an instance that can score an answer of this type.

    A `file` answer that ends in .json or .jsonl also reaches tree checks, and a text file text checks if the instance has no table check
    (the reference reads a .txt as a table there). A file of SQL gives a table.
    """
    reads = reads_of(instance.checks)
    forms = READS_BY_ANSWER_TYPE.get(answer.answer_type, frozenset())
    if answer.answer_type == "file" and isinstance(answer.value, str):
        name = answer.value.lower()
        if name.endswith(".sql") and "table" in reads:
            forms = frozenset({"table"})
        elif name.endswith(_JSON_FILES):
            forms |= {"tree"}
        elif name.endswith(_TEXT_FILES) and forms.isdisjoint(reads):
            forms |= {"text", "number"}
    if forms.issuperset(reads):
        # The common case, called several times for each of a hundred thousand answers.
        return instance.checks
    checks = tuple(check for check, form in zip(instance.checks, reads, strict=True) if form in forms)
    # Further scorers alone make no score.
    return () if all(check.is_further for check in checks) else checks


def skip_unscorable(task: Task) -> Result | None:
    """Return the result of a task without a usable file: missing answer, faulty metadata entry, no check for the answer type; else None."""
    if task.answer is None:
        return missing_result(task)
    if task.answer.fault is not None:
        return fault_result(task, task.answer.fault)
    checks = applicable_checks(task.instance, task.answer)
    if not checks:
        names = ", ".join(sorted({check.scorer for check in task.instance.checks}))
        detail = f"answer type {task.answer.answer_type!r} reaches no check of this instance ({names})"
        return fault_result(task, Fault(code="WRONG_ANSWER_TYPE", detail=detail, where=task.answer.where))
    if not task.databases and asks_pair(checks):
        return unjudged_result(
            task, Fault(code="NEEDS_CONNECTION", detail="name the folder of the databases that the queries use: --databases DIR")
        )
    return None


def is_pair(task: Task) -> bool:
    """Return whether a check runs the answer, a query, together with gold's own."""
    if task.answer is None or task.answer.fault is not None or not asks_pair(task.instance.checks):
        return False
    return asks_pair(applicable_checks(task.instance, task.answer))


def asks_pair(checks: Iterable[Check]) -> bool:
    """Return whether one of the checks takes a query and gold's own."""
    return "query" in reads_of(checks)


def read_request(task: Task, *, table_names: tuple[str, ...] | None = None) -> ReadRequest:
    """Return what the first stage needs of a task; `table_names` are the tables to read if a database is wanted."""
    assert task.answer is not None
    checks = applicable_checks(task.instance, task.answer)
    forms = tuple(dict.fromkeys(reads_of(checks)))
    return ReadRequest(
        folder=str(task.submission_folder),
        instance_id=task.instance.instance_id,
        answer_type=task.answer.answer_type,
        value=task.answer.value,
        wanted=forms,
        table_names=table_names,
        limits=task.limits,
        private=str(task.executed) if task.executed is not None else None,
        databases=task.databases,
        evaluator=next((str(check.parameters.get("evaluator", "bird-ex")) for check in checks if task.databases), ""),
        dialect=next((dialect for check in checks if (dialect := Dialect.from_parameters(check.parameters)) != DEFAULT), DEFAULT),
    )


# All answers of a run share one folder.
_path = lru_cache(maxsize=1)(Path)


def files_of(request: ReadRequest, gold_inodes: frozenset[Inode]) -> AnswerFiles:
    """Return the files that an answer may open."""
    return AnswerFiles(_path(request.folder), request.instance_id, request.limits, gold_inodes)


def table_names(task: Task) -> tuple[str, ...]:
    """Return the tables that the database checks of a task compare; opens gold if a check means all of gold's tables.

    Empty if gold cannot be read: then nothing of the submission is read either, and the second stage reports gold's fault.
    """
    from evalsuite.readers.load_answer import gold_table_names

    names: dict[str, None] = {}
    for check in task.instance.checks:
        is_judged = not any(problem.blocks >= {"official", "strict"} for problem in check.problems)
        if not is_judged or SCORERS.load(check.scorer).marker.reads != "database":
            continue
        tables = check.parameters.get("condition_tabs")
        if tables is None:
            try:
                tables = gold_table_names(task.gold_folder, task.instance.instance_id, check.parameters["gold"], task.limits)
            except FaultError:
                return ()
        names.update(dict.fromkeys(tables))
    return tuple(names)


def opens_files(task: Task) -> bool:
    """Return whether a task's answer is a file, or a query of one; else it is text."""
    return task.answer is not None and (task.answer.answer_type != "answer" or bool(task.databases))


def wants_database(task: Task) -> bool:
    """Return whether the reader opens a database for this task and needs the names of its tables."""
    assert task.answer is not None
    return "database" in reads_of(applicable_checks(task.instance, task.answer))


def modules_of(tasks: Sequence[Task]) -> list[str]:
    """Return the modules that every worker would import to score these tasks, each with an answer."""
    modules = scorer_modules({check.scorer for task in tasks for check in task.instance.checks})
    if any(opens_files(task) and wants_database(task) for task in tasks):
        modules |= {"duckdb", "numpy"}
    elif any(opens_files(task) and size_of(task) >= PACKED_BYTES for task in tasks):
        modules.add("numpy")
    return sorted(modules)


def scorer_modules(names: Iterable[str]) -> set[str]:
    """Return the modules of these bundled scorers, and those that they import on their first call."""
    scorers = [SCORERS.load(name) for name in names if name in SCORERS.bundled]
    modules = {scorer.function.__module__ for scorer in scorers}
    return modules.union(*(_OF_FORMS.get(scorer.marker.reads, ()) for scorer in scorers), *(_OF_SCORERS.get(name, ()) for name in modules))


def asks_programs(check: Check) -> bool:
    """Return whether a check needs programs, also through a scorer that the suite combines from metrics.

    A tree with programs is still parsed in a worker, where it has no program sandbox: NO_JAIL.
    """
    if SCORERS.load(check.scorer).marker.reads == "tree" or (check.scorer in SCORERS.bundled and check.scorer not in METRICS):
        return False
    return runs_programs([check.scorer, check.parameters, SCORERS.additions.metrics.get(check.scorer, {})])
