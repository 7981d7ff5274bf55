"""When Python looks for cycles among objects that nobody holds any more: seldom, and not at all while what is made has none.

Rows, tasks and results are many objects without a cycle. By default Python walks them each time there are 700 more, for a twentieth of the
time that reading tables takes and a third of that for small records.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# So many objects more than before, and somebody looks.
_SELDOM = 100_000


def look_seldom() -> None:
    """From now on: for a process that mostly makes what stays to its end, or goes again by itself."""
    gc.set_threshold(_SELDOM)


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
