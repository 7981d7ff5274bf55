"""Tune the garbage collector and return freed memory to the operating system.

Rows, tasks and results are many objects without reference cycles. By default Python searches them for cycles after every 700 new objects,
which takes a twentieth of the time of reading tables and a third of the time of scoring small records.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

# Number of new objects after which Python searches for cycles.
_THRESHOLD = 100_000
# An option of glibc's mallopt, and the size in bytes from which malloc maps a block separately.
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1 << 19


def collect_rarely() -> None:
    """Collect garbage rarely, for a process in which most objects either live to its end or contain no cycles."""
    gc.set_threshold(_THRESHOLD)


def return_freed_memory() -> None:
    """Return large freed blocks of memory to the operating system at once.

    By default malloc raises its threshold after the first large block and keeps such blocks for reuse. The temporary tables of names of a
    run of 100,000 instances then leave 12 MiB unused.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


@contextmanager
def without_collection() -> Iterator[None]:
    """Turn the garbage collector off inside the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
