"""Sides made of plain scores, for tests of the numbers alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsuite.analysis.leaderboard import RunSide
from evalsuite.core.types import Result


def result(name: str, score: float | None, **more: Any) -> Result:
    """A scored result, or a gold fault where the score is None."""
    given = {
        "status": "scored" if score is not None else "gold_fault",
        "official": score,
        "strict": score,
        "scorer": "string_match",
        "reason": f"because {score}",
        "fault": None if score is not None else "BAD_GOLD_FILE",
    }
    return Result(instance_id=name, score=score, **{**given, **more})


def side(label: str, scores: Sequence[float | None] | Mapping[str, float | None], **more: Any) -> RunSide:
    """A side with the instances q0, q1, ..., or those named."""
    named = scores if isinstance(scores, Mapping) else {f"q{i}": score for i, score in enumerate(scores)}
    return RunSide(label=label, results={name: result(name, score) for name, score in named.items()}, **more)
