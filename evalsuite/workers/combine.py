"""The outcomes of an instance's checks -> its one result: the best check wins, under each rule by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsuite.errors import FAULTS, Side, describe, hint_of, side_of
from evalsuite.outcome import BESIDE, UNJUDGED_BY, row_beside
from evalsuite.types import Check, Fault, Result, Rule, Score, Status, Task
from evalsuite.workers.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One check's score, with the fault that kept a rule from judging it; `from_query`: a query gave its gold in this run."""

    check: Check
    score: Score
    fault: Fault | None = None
    side: Side = "gold"
    from_query: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether there is a value on the scorer's own scale, of which no score is made."""
        return self.fault is None and self.score.official is None and self.score.fault is None and "raw" in self.score.details

    def fault_under(self, rule: Rule) -> Fault | None:
        """What kept this check from a plain verdict under the rule."""
        return self.fault or self.score.fault_under(rule)


def combine(task: Task, outcomes: Sequence[Outcome], *, seconds: float) -> Result:
    """The result of an instance whose answer was read: per rule the best value, None where an unjudged check could still win.

    What the suite's further scorers say stands in its details, and decides nothing.
    """
    further: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.check.beside:
            further.setdefault(outcome.check.scorer, []).append(outcome)
    result = _combined(task, [outcome for outcome in outcomes if not outcome.check.beside], seconds)
    if not further:
        return result
    by_name = {name: _combined(task, own, 0.0) for name, own in further.items()}
    rows = {name: row_beside(one) for name, one in by_name.items()}
    return replace(result, details={**result.details, BESIDE: rows})


def _combined(task: Task, outcomes: Sequence[Outcome], seconds: float) -> Result:
    official, strict = _best(outcomes, "official"), _best(outcomes, "strict")
    score = official if task.rules == "official" else strict
    decided = _deciding(outcomes, task.rules)
    status: Status = "scored"
    if score is None and len(outcomes) == 1 and outcomes[0].is_measured:
        decided = outcomes[0]
    elif score is None:
        decided = next((o for o in outcomes if o.score.value(task.rules) is None), decided)
        own = decided.score.fault_under(task.rules) if decided.fault is None else None
        status = UNJUDGED_BY[side_of(own) if own is not None else decided.side]
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
    """The fault of a strict verdict that took too long, None where none did."""
    faults = [outcome.score.strict_fault for outcome in outcomes if outcome.score.strict is None]
    return next((fault for fault in faults if fault is not None and fault.code == "TIMEOUT"), None)


def missing(task: Task) -> Result:
    """The result of an instance that was not handed in: 0 under every rule."""
    return faulty(task, Fault(code="MISSING_INSTANCE"), status="missing")


def faulty(task: Task, fault: Fault, *, status: Status = "submission_fault", seconds: float = 0.0) -> Result:
    """The result of an instance whose answer could not be read or compared: 0 under every rule."""
    reason = FAULTS[fault.code].message if status == "missing" else describe(fault)
    details: dict[str, Any] = {} if status == "missing" else {"hint": FAULTS[fault.code].hint}
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


def out_of_budget(task: Task, budget: Budget) -> Result:
    """The result of a task that the budget of the run does not reach."""
    fault, limit = budget.spent_fault()
    result = faulty(task, fault, status="timeout")
    return replace(result, details={**result.details, "budget": limit})


def unjudged(task: Task, fault: Fault, *, seconds: float = 0.0) -> Result:
    """The result of an instance that nobody can judge: what is missing is the grader's part, not the submission's."""
    score, side = Score(official=None, reason=describe(fault)), side_of(fault)
    return combine(task, [Outcome(check=check, score=score, fault=fault, side=side) for check in task.instance.checks], seconds=seconds)


def _best(outcomes: Sequence[Outcome], rule: Rule) -> float | None:
    values = [outcome.score.value(rule) for outcome in outcomes]
    judged = [value for value in values if value is not None]
    best = max(judged, default=None)
    if best is not None and (best == 1 or len(judged) == len(values)):
        return best
    return None


def _deciding(outcomes: Sequence[Outcome], rule: Rule) -> Outcome:
    """The first outcome with the best value under the rule."""
    return max(outcomes, key=lambda outcome: -1.0 if (value := outcome.score.value(rule)) is None else value)


def _reason(outcome: Outcome, rule: Rule, fault: Fault | None) -> str:
    why = outcome.score.why(rule)
    return describe(fault) if fault is not None and fault.code not in why else why


def _flip(task: Task, outcomes: Sequence[Outcome], official: float | None, strict: float | None) -> str:
    """Why the rules differ: the cause that one of the deciding checks names, else that another check decides under the other rules."""
    if official is None or strict is None or official == strict:
        return ""
    deciding = [_deciding(outcomes, rule) for rule in ("official", "strict")]
    for outcome in sorted(deciding, key=lambda outcome: outcome is not _deciding(outcomes, task.rules)):
        if outcome.score.flip and outcome.score.official != outcome.score.strict:
            return outcome.score.flip
    return f"another check: official by {deciding[0].check.scorer}, strict by {deciding[1].check.scorer}"


def _details(
    task: Task, outcomes: Sequence[Outcome], decided: Outcome, fault: Fault | None, *, status: Status, flip: str
) -> dict[str, Any]:
    details: dict[str, Any] = dict(decided.score.details)
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
            {"scorer": o.check.scorer, "official": o.score.official, "strict": o.score.strict, "reason": o.score.why(task.rules)}
            for o in outcomes
        ]
    return details
