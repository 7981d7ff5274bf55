"""The signature: everything that makes two runs comparable, as one short line."""

import glob
import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from evalsuite.core.types import EVALUATORS, Rule
from evalsuite.core.version import __version__
from evalsuite.readers.limits import CLOCK, clock_words

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
    invalid_as: str | None = None,
    judge: str = "",
) -> str:
    """`evalsuite:0.1|rules:official|gold:3f9c1e|pandas:3.1.1|...`; `limits` are those that differ from their defaults, and appear hashed,
    but for a frozen clock, which is its day.

    Rules are `default` where none were chosen and gold holds trees: those are strict by default, the rest is official.
    `official` means the reference of gold's layout, so another layout's name stands behind it: `rules:official-lite`.
    `living` is the hash of the gold that was computed for the run, `plugins` that of scorers that are not bundled (`Registry.code_hash`),
    `programs` whether answers that are programs were allowed to run: one may pass any test, nothing jails it.
    `invalid_as` is what an answer without a verdict of the judge counts as, where it counts; `judge` what of its settings moves a verdict.
    """
    parts = [f"evalsuite:{__version__}", f"rules:{rules_name(rules, layout)}", f"gold:{gold_hash}"]
    if living:
        parts.append(f"living:{living}")
    if plugins:
        parts.append(f"plugins:{plugins}")
    if programs:
        parts.append("programs:allowed")
    if invalid_as:
        parts.append(f"invalid:{invalid_as}")
    if judge:
        parts.append(f"judge:{judge}")
    if clock := limits.get(CLOCK):
        parts.append(f"clock:{clock_words(clock)}")
    if others := {name: value for name, value in sorted(limits.items()) if name != CLOCK}:
        parts.append("limits:" + hashlib.sha256(json.dumps(others).encode()).hexdigest()[:6])
    parts += [f"{name}:{_version(name)}" for name in VERDICT_PACKAGES]
    return "|".join(parts)


def clock_in(signature: str) -> str:
    """Where the clock of the run's queries stood, as `2026-05-31`; empty where it went."""
    return dict(part.partition(":")[::2] for part in signature.split("|")).get("clock", "")


def rules_name(rules: Rule | Literal["default"], layout: str = "original") -> str:
    """The rules as a person reads them: `official-lite` where the official rules are those of another reference than the original.

    Those of an evaluator have its name.
    """
    if layout in EVALUATORS and rules != "strict":
        return layout
    return rules if rules == "strict" or layout == "original" else f"{rules}-{layout}"


def shown_rules(rules: str, signatures: Iterable[str]) -> str:
    """The rules of several runs as a person reads them: official ones by the name in the runs' signatures, as `bird-ex`."""
    named = {part.removeprefix("rules:") for line in signatures for part in line.split("|") if part.startswith("rules:")}
    return " and ".join(sorted(named - {"strict", "default"})) or rules if rules == "official" else rules


def receipt(*, isolation: str, walls: Sequence[str], jobs: int, executor: str = "local") -> dict[str, object]:
    """How a run was made, beyond what moves a verdict: interpreter, system, `isolation` with its walls, jobs, and an
    executor other than the local one."""
    shown = "+".join([isolation, *(wall for wall in walls if wall != "limits")])
    return {
        "isolation": shown,
        "jobs": jobs,
        **({"executor": executor} if executor != "local" else {}),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


@cache
def _version(package: str) -> str:
    """What is installed of a package that is written as it is imported: the name of its `.dist-info`, else what `importlib.metadata` finds.

    Importing that costs as much as the rest of a start, and all it would do here is to look for this name.
    """
    for place in sys.path:
        if len(found := glob.glob(f"{glob.escape(place or '.')}/{package}-*.dist-info")) == 1:  # noqa: PTH207 - of no folder a Path is needed
            return found[0].removesuffix(".dist-info").rpartition("-")[2]
        if found:
            break
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
