"""Everything known about one instance, or about one score, for `evalsuite check`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsuite.errors import FAULTS, describe
from evalsuite.reports.clean import clean
from evalsuite.reports.tree import TABLED, is_tree, render_tree
from evalsuite.types import GoldInstance, Result, Rule, Score, Submission

_SHOWN_APART = ("hint", "flip", "fault", "warnings", "reasons", "checks")
LONGEST_VALUE = 400


def render_instance(result: Result, *, instance: GoldInstance | None = None, submission: Submission | None = None) -> str:
    """Plain lines `label  value`, the verdicts first; every value made printable."""
    rows = [*_verdicts(result), *_why(result), *_details(result.details)]
    if submission is not None and result.instance_id in submission.answers:
        answer = submission.answers[result.instance_id]
        rows += [("answer", f"{answer.answer_type}: {_short(answer.value)}"), ("handed in", answer.where)]
    if instance is not None:
        rows += _gold(instance)
    return _lines(rows) + render_tree(result.details)


def render_score(name: str, score: Score, *, warnings: Sequence[str] = ()) -> str:
    """The same lines for a score that belongs to no instance."""
    rows = [("scorer", name), ("official", _value(score.official)), ("strict", _value(score.strict))]
    if score.strict_reason and score.strict_reason != score.reason:
        rows += [("official says", score.reason), ("strict says", score.strict_reason)]
    else:
        rows.append(("why", score.reason))
    if score.flip:
        rows.append(("flip", score.flip))
    for fault in dict.fromkeys(fault for fault in (score.fault, score.strict_fault) if fault is not None):
        rows += [("fault", describe(fault)), ("hint", FAULTS[fault.code].hint)]
    rows += [("warning", warning) for warning in warnings]
    return _lines([*rows, *_details(score.details)]) + render_tree(score.details)


def score_object(name: str, score: Score, *, rules: Rule, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """A score as a JSON object; `score` is the value under `rules`, null where they cannot judge, and `fault` a code or null."""
    fault, strict_fault = score.fault, score.strict_fault
    return {
        "scorer": name,
        "score": score.value(rules),
        "official": score.official,
        "strict": score.strict,
        "reason": score.reason,
        "strict_reason": score.strict_reason or score.reason,
        "flip": score.flip or None,
        "fault": fault.code if fault else None,
        "strict_fault": strict_fault.code if strict_fault else None,
        "warnings": list(warnings),
        "details": dict(score.details),
    }


def _lines(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(label) for label, _ in rows)
    return "".join(f" {label:<{width}}  {clean(text)}\n" for label, text in rows)


def _verdicts(result: Result) -> Iterable[tuple[str, str]]:
    yield "instance", result.instance_id
    yield "status", result.status + (f" ({result.fault})" if result.fault else "")
    yield "official", _value(result.official)
    yield "strict", _value(result.strict)


def _why(result: Result) -> Iterable[tuple[str, str]]:
    yield "scorer", result.scorer or "none"
    yield "why", result.reason
    reasons = result.details.get("reasons")
    if reasons:
        yield "official says", reasons["official"]
        yield "strict says", reasons["strict"]
    for label in ("flip", "fault", "hint"):
        if result.details.get(label) and result.details[label] != result.reason:
            yield label, str(result.details[label])
    for warning in result.details.get("warnings", ()):
        yield "warning", warning
    for check in result.details.get("checks", ()):
        yield f"check {check['scorer']}", f"official {_value(check['official'])}, strict {_value(check['strict'])}: {check['reason']}"
    yield "took", f"{result.seconds * 1000:.1f} ms"


def _details(details: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    apart = {*_SHOWN_APART, *(TABLED if is_tree(details) else ())}
    for key, value in details.items():
        if key not in apart:
            yield "strict details" if key == "strict" else key, _short(value)


def _gold(instance: GoldInstance) -> Iterable[tuple[str, str]]:
    yield "gold", instance.where
    for check in instance.checks:
        parameters = ", ".join(f"{key}={_short(value)}" for key, value in check.parameters.items())
        yield "check", f"{check.scorer}({parameters})"
        for problem in check.problems:
            yield "problem", f"{problem.message}" + (f" ({problem.hint})" if problem.hint else "")
    if instance.groups:
        yield "groups", ", ".join(instance.groups)
    for key, value in instance.extra.items():
        yield clean(key), _short(value)


def _value(value: float | None) -> str:
    return "not judged" if value is None else f"{value:g}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}... ({len(text)} characters)"
