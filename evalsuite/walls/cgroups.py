"""The control groups that hold this process: where their files lie, and what they say of memory and of processor time.

Version 2 has one tree, version 1 one for each controller; a container often sees only its own part of either. A limit of a group holds for
all groups below it, so every level is read up to the root that can be seen.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, Literal

Controller = Literal["cpu", "memory"]
# What stands in version 1 for "no limit" is the largest number of whole pages.
_NO_LIMIT: Final = 1 << 60


@cache
def levels(controller: Controller, process: Path = Path("/proc/self")) -> tuple[Path, ...]:
    """The folders of this process's groups that have the controller, its own first; empty where there is none (other systems too).

    Args:
        controller: which one; in version 2 a group may lack it, and then has no files of it.
        process: the folder of the process below /proc.
    """
    try:
        groups = [line.split(":", 2) for line in (process / "cgroup").read_text().splitlines()]
        mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
    except OSError:
        return ()
    found: list[Path] = []
    for _, names, own in groups:
        for mount in mounts:
            root, place, rest = mount[3], mount[4], mount[mount.index("-") + 1 :]
            fits = (rest[0] == "cgroup" and controller in names.split(",") and controller in rest[2].split(",")) or (
                rest[0] == "cgroup2" and not names
            )
            if fits:
                found += _upward(Path(place), root, own)
    return tuple(found)


def _upward(mount: Path, root: str, own: str) -> Iterator[Path]:
    """The folders from a group up to where its tree is mounted; `root` is the group that is seen there."""
    inside = own.removeprefix(root) if root != "/" and (own == root or own.startswith(root + "/")) else own
    group = mount / inside.strip("/")
    while group != mount and mount in group.parents:
        if group.is_dir():
            yield group
        group = group.parent
    yield mount


def throttled_seconds() -> float:
    """How long the groups of this process were kept from every CPU because their share was used up, since they exist."""
    total = 0.0
    for group in levels("cpu"):
        with suppress(OSError, ValueError):
            said = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
            total += int(said.get("throttled_usec", 0)) / 1e6 + int(said.get("throttled_time", 0)) / 1e9
    return total


def memory_limit() -> tuple[int, Path] | None:
    """(bytes, the file that says so) of the smallest memory limit of the groups of this process; None where none has any."""
    found = []
    for group in levels("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):
                n_bytes = int((group / name).read_text())
                if n_bytes < _NO_LIMIT:
                    found.append((n_bytes, group / name))
    return min(found, default=None)
