"""What answers that are programs may do here and now: run without a jail where there is none, and for how long in all.

A metric may stand deep in composites, trees and plugins, so that this goes around the judging of one answer instead of through all of
them. A program is run in a jail; without one only where somebody permitted it.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class ProgramBudget:
    """The seconds that are left for all programs of one answer."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds


PROGRAMS_ALLOWED: ContextVar[bool] = ContextVar("PROGRAMS_ALLOWED", default=False)
PROGRAM_BUDGET: ContextVar[ProgramBudget | None] = ContextVar("PROGRAM_BUDGET", default=None)


@contextmanager
def allowing_programs(allowed: bool, *, seconds: float | None = None) -> Iterator[None]:
    """Inside, in this thread, programs are run without a jail where `allowed`, and all of them together for at most `seconds`."""
    before = PROGRAMS_ALLOWED.set(allowed)
    budget = PROGRAM_BUDGET.set(ProgramBudget(seconds)) if seconds is not None else None
    try:
        yield
    finally:
        PROGRAMS_ALLOWED.reset(before)
        if budget is not None:
            PROGRAM_BUDGET.reset(budget)
