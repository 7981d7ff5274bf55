"""The strict verdict on its own, and how it joins the official one to a `Score` with the cause of a flip."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsuite.types import Fault, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """What the strict rules say: a value in [0, 1] or None, why, and the kind of the deciding fact in a few words."""

    value: float | None
    reason: str
    kind: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    fault: Fault | None = None


def join(official: Score, strict: Strict, *, up: str = "") -> Score:
    """Both verdicts as one `Score`. `up` names the cause where strict accepts what official refused; else strict's own kind does."""
    details = dict(official.details)
    if strict.details:
        details["strict"] = dict(strict.details)
    flip = ""
    if official.official is not None and strict.value is not None and official.official != strict.value:
        kind, reason = (up or "form", official.reason) if strict.value > official.official else (strict.kind or "strict", strict.reason)
        flip = f"{kind}: " + reason.replace(f"{kind}: ", "", 1)
    return Score(
        official=official.official,
        strict=strict.value,
        reason=official.reason,
        strict_reason=strict.reason,
        flip=flip,
        fault=official.fault,
        strict_fault=strict.fault,
        details=details,
    )
