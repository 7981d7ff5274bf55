"""The verdicts of both rules, and their join to one `Score` with the cause of a flip.

Strict accepts what official refuses only for a cause of the closed list in this file; anything else is a bug.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, get_args

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.scores import Fault, Score

TableCause = Literal[
    "row pairing",
    "typed by column",
    "dtype of other columns",
    "null words",
    "null in an integer column",
    "cells the reference dies of",
    "same instant",
    "true and false",
    "spaces",
    "spelling form",
    "written form",
    "per-gold options",
    "native types",
    "quoted name",
    "percent form",
    "tie order",
    "view",
    "own tolerance",
    "no cause found",
]
NumberCause = Literal["rounding", "sign", "percent form", "number form", "context numbers", "exclude inside a word", "own tolerance"]
TextCause = Literal["spelling form", "number form", "exclude inside a word"]
QueryCause = Literal["column order", "more columns", "row order", "rounding"]
Cause = TableCause | NumberCause | TextCause | QueryCause

CAUSES: Final[Mapping[str, frozenset[str]]] = {
    "table": frozenset(get_args(TableCause)),
    "number": frozenset(get_args(NumberCause)),
    "text": frozenset(get_args(TextCause)),
    "query": frozenset(get_args(QueryCause)),
}
"""Why strict may be 1 if official is 0, by what is compared. `own tolerance` only if a check sets `abs_tol` or `rel_tol`."""


class Official(NamedTuple):
    """The official verdict on a text or a number, with the names of `Score`: a tuple, because creating one takes a third of the time."""

    official: float
    reason: str
    details: Mapping[str, Any] = MappingProxyType({})
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """The strict verdict: a value in [0, 1] or None, the reason, and the `kind` of fact that refuses in a few words.

    A 1 has a `cause` instead: what the reference may have rejected. `refusal` is the official reason that the cause is about, if it is not
    that of the official score.
    """

    value: float | None
    reason: str
    kind: str = ""
    cause: Cause = "spelling form"
    refusal: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault | None = None


def join(official: Score | Official, strict: Strict, *, up: Cause | None = None, **details: Any) -> Score:
    """Both verdicts as one `Score`. If strict accepts what official refused, the cause is `up`, if given, else strict's own.

    `details` are added after those of the verdicts.
    """
    merged = dict(official.details)
    if strict.details:
        merged["strict"] = dict(strict.details)
    merged |= details
    flip = ""
    if official.official is not None and strict.value is not None and official.official != strict.value:
        is_up = strict.value > official.official
        kind, reason = (up or strict.cause, strict.refusal or official.reason) if is_up else (strict.kind or "strict", strict.reason)
        flip = f"{kind}: " + reason.replace(f"{kind}: ", "", 1)
    return Score(
        official=official.official,
        strict=strict.value,
        reason=official.reason,
        strict_reason=strict.reason,
        flip=flip,
        fault=official.fault,
        strict_fault=strict.fault,
        details=merged,
    )
