"""The signature: everything that makes two runs comparable, as one short line."""

import hashlib
import inspect
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from evalsuite import __version__
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.types import Rule

# Libraries whose version can move a verdict: the reference reads tables with the first two.
VERDICT_PACKAGES = ("pandas", "duckdb", "rapidfuzz")


def signature(
    *,
    rules: Rule | Literal["default"],
    gold_hash: str,
    limits: Mapping[str, int | float],
    layout: str = "original",
    living: str = "",
    plugins: str = "",
    programs: bool = False,
) -> str:
    """`evalsuite:0.1|rules:official|gold:3f9c1e|pandas:3.1.1|...`; limits appear (hashed) only where they differ from the defaults.

    Rules are `default` where none were chosen and gold holds trees: those are strict by default, the rest is official.
    `official` means the reference of gold's layout, so another layout's name stands behind it: `rules:official-lite`.
    `living` is the hash of the gold that was computed for the run, `plugins` that of the scorers that are not bundled (`plugins_hash`),
    `programs` whether answers that are programs were allowed to run: one may pass any test, nothing jails it.
    """
    parts = [f"evalsuite:{__version__}", f"rules:{rules_name(rules, layout)}", f"gold:{gold_hash}"]
    if living:
        parts.append(f"living:{living}")
    if plugins:
        parts.append(f"plugins:{plugins}")
    if programs:
        parts.append("programs:allowed")
    moved = {name: value for name, value in sorted(limits.items()) if DEFAULT_LIMITS.get(name) != value}
    if moved:
        parts.append("limits:" + hashlib.sha256(json.dumps(moved).encode()).hexdigest()[:6])
    parts += [f"{name}:{_version(name)}" for name in VERDICT_PACKAGES]
    return "|".join(parts)


def plugins_hash(scorers: Iterable[str]) -> str:
    """12 hex digits over the code behind the scorers that plugins bring; empty where all are bundled or made of metrics.

    A plugin file counts by its bytes, an installed package by its version, an object of this process by its source and what it was made
    with. What these import in turn is not seen.
    """
    from evalsuite.scorers import SCORERS

    codes = [f"{name}\0{code}" for name in sorted(set(scorers) - SCORERS.bundled.keys()) if (code := _code_of(name))]
    return hashlib.sha256("\0".join(codes).encode()).hexdigest()[:12] if codes else ""


def _code_of(name: str) -> str:
    from evalsuite.scorers import SCORERS

    if name in SCORERS.metrics:
        return ""  # its options stand in suite.yaml, which is part of gold
    if name in SCORERS.objects:
        made = SCORERS.objects[name]
        try:
            source = inspect.getsource(made if inspect.isroutine(made) else type(made))
        except (OSError, TypeError):
            source = ""
        return f"{source}\0{sorted((key, value) for key, value in vars(made).items() if isinstance(value, str | int | float))}"
    if name in SCORERS.loaded:
        path, attribute = SCORERS.loaded[name]
        return f"{attribute}\0{hashlib.sha256(path.read_bytes()).hexdigest()}"
    found = SCORERS.entry_point(name)
    return f"{found.value}\0{found.dist.version if found.dist is not None else ''}" if found is not None else ""


def rules_name(rules: Rule | Literal["default"], layout: str = "original") -> str:
    """The rules as a person reads them: `official-lite` where the official rules are those of another reference than the original."""
    return rules if rules == "strict" or layout == "original" else f"{rules}-{layout}"


def receipt(*, isolation: str, walls: Sequence[str], jobs: int, executor: str = "local") -> dict[str, object]:
    """How a run was made, beyond what moves a verdict: interpreter, system, `isolation` with its walls, jobs, and an
    executor other than the local one."""
    shown = "+".join([isolation, *(wall for wall in ("landlock", "seccomp") if wall in walls)])
    return {
        "isolation": shown,
        "jobs": jobs,
        **({"executor": executor} if executor != "local" else {}),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
