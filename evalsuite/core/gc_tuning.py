"""When Python looks for cycles among objects that nobody holds any more, and when what it let go of is the system's again.

It looks for cycles seldom, and not at all while what is made has none.

Rows, tasks and results are many objects without a cycle. By default Python walks them each time there are 700 more, for a twentieth of the
time that reading tables takes and a third of that for small records.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

# So many objects more than before, and somebody looks.
_SELDOM = 100_000
# An option of mallopt, in glibc alone, and the bytes from which on a piece stands apart.
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1 << 19


def look_seldom() -> None:
    """From now on: for a process that mostly makes what stays to its end, or goes again by itself."""
    gc.set_threshold(_SELDOM)


def give_back_large_pieces() -> None:
    """From now on a large piece of memory goes back to the system when it is let go of.

    By itself malloc keeps such pieces once it has seen one go, for the next; the tables of names that a run of a hundred thousand makes and
    drops on its way leave it 12 MiB of holes.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


@contextmanager
def not_looking() -> Iterator[None]:
    """Inside, nobody looks."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
