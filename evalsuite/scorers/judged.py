"""What the judged scorers share: a judge's decision as a `Score`."""

from collections.abc import Mapping
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.judge.judge import Decision, Judge
from evalsuite.types import Fault, Score

_LONGEST_REASON = 200


def needed(judge: Judge | None) -> Judge:
    """The judge, able to be asked. Raises `FaultError` NO_JUDGE, saying which key is missing."""
    if judge is None:
        raise FaultError("NO_JUDGE", "judge.base_url and judge.model are not set")
    judge.settings.require()
    return judge


def score_of(decision: Decision, *, prompt: str, says: str = "", details: Mapping[str, Any] | None = None) -> Score:
    """The score of a decision, the same under both rules; one without a value is unscored and never 0."""
    account = {**(details or {}), "judge": decision.details(prompt)}
    if decision.value is None:
        fault = Fault(code="NO_VERDICT", detail=decision.why)
        return Score(official=None, reason=f"NO_VERDICT: {decision.why}", fault=fault, strict_fault=fault, details=account)
    reason = ": ".join(part for part in (says or decision.verdict.label, decision.verdict.reason[:_LONGEST_REASON]) if part)
    if decision.agreement is not None and decision.agreement < 1:
        reason += f" (agreement {decision.agreement:.2f} of {len(decision.asked)} verdicts)"
    return Score(official=decision.value, strict=decision.value, reason=reason or "the judge's verdict", details=account)
