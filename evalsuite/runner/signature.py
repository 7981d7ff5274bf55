"""The signature: everything that makes two runs comparable, as one short line."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from evalsuite import __version__
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.types import Rule

# Libraries whose version can move a verdict: the reference reads tables with the first two.
VERDICT_PACKAGES = ("pandas", "duckdb", "rapidfuzz")


def signature(*, rules: Rule, gold_hash: str, limits: Mapping[str, int | float]) -> str:
    """`evalsuite:0.1|rules:official|gold:3f9c1e|pandas:3.1.1|...`; limits appear (hashed) only where they differ from the defaults."""
    parts = [f"evalsuite:{__version__}", f"rules:{rules}", f"gold:{gold_hash}"]
    moved = {name: value for name, value in sorted(limits.items()) if DEFAULT_LIMITS.get(name) != value}
    if moved:
        parts.append("limits:" + hashlib.sha256(json.dumps(moved).encode()).hexdigest()[:6])
    parts += [f"{name}:{_version(name)}" for name in VERDICT_PACKAGES]
    return "|".join(parts)


def receipt(*, isolation: str, walls: Sequence[str], jobs: int) -> dict[str, object]:
    """How a run was made, beyond what moves a verdict: interpreter, system, `isolation` with its walls, and jobs."""
    shown = "+".join([isolation, *(["landlock"] if "landlock" in walls else [])])
    return {
        "isolation": shown,
        "jobs": jobs,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
