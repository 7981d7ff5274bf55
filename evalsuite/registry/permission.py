"""Whether an answer that is a program may be run here and now.

A metric may stand deep in composites, trees and plugins, so that the permission goes around the judging of one answer instead of through
all of them; what nobody permitted is not run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PROGRAMS_ALLOWED: ContextVar[bool] = ContextVar("PROGRAMS_ALLOWED", default=False)


@contextmanager
def allowing_programs(allowed: bool) -> Iterator[None]:
    """Inside, in this thread, answers that are programs are run where `allowed`, and nowhere else."""
    before = PROGRAMS_ALLOWED.set(allowed)
    try:
        yield
    finally:
        PROGRAMS_ALLOWED.reset(before)
