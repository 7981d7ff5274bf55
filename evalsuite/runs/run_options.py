"""Options of a run, and its signature: everything that makes two runs comparable, as one short line.

Imports very little, so that a command can start its fork server before it imports the rest.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.disk_cache import code_stamp
from evalsuite.core.errors import UsageError, join_names
from evalsuite.core.runtime import package_version
from evalsuite.core.scores import EVALUATORS, RULES, Rule
from evalsuite.core.version import __version__
from evalsuite.readers.limits import CLOCK, clock_words

if TYPE_CHECKING:
    from evalsuite.runs.rescoring import Shard


# Options that `run.json` records only if they are given.
_KEPT = ("layout", "mode", "shard", "live_gold", "as_of", "allow_programs", "invalid_as", "ves")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run. `rules` None means those of the suite, else official; `out` None means a new folder under `runs_folder`.

    `layout` None is detected from gold, `mode` None from the submission (see `gold.layouts`). `executor` is a name of
    `executors.EXECUTORS`, `scheduler` the address of a dask scheduler. `origin` is the URL that a submission was copied from, `archive` the
    archive that it was unpacked from. `errata_day` is the day on which errata must not have expired, None for today (UTC). `databases` is
    the folder of the databases that checks name, `questions` the file of questions (None: detected), `live_gold` runs gold queries even
    where gold exists, `gold_cache` is where computed gold is stored, `as_of` the day (None: today) of gold queries. `allow_programs` runs
    answers that are programs without a program sandbox. `invalid_as` "zero" counts an answer without a judge's verdict as wrong. `resume`
    is an interrupted run, or one with unscored instances. `judge` is a file whose keys override those of judge.yaml. `ves` times right
    answers that are queries against gold's. `tell` receives, before queries run, what they will bill.
    """

    rules: Rule | None = None
    only: tuple[str, ...] = ()
    pattern: str | None = None
    group: str | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    out: Path | None = None
    runs_folder: Path = Path(".evalsuite/runs")
    save: bool = True
    isolation: str = "process"
    jobs: int | None = None
    resume: Path | None = None
    cache: Path | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    layout: str | None = None
    mode: str | None = None
    executor: str = "local"
    scheduler: str | None = None
    shard: "Shard | None" = None
    origin: str = ""
    archive: str = ""
    errata_day: date | None = None
    databases: Path | None = None
    questions: Path | None = None
    live_gold: bool = False
    gold_cache: Path | None = None
    as_of: str | None = None
    allow_programs: bool = False
    invalid_as: Literal["zero"] | None = None
    judge: Path | None = None
    ves: bool = False
    tell: Callable[[str], None] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the options that `run.json` records: which instances were scored and how."""
        chosen = {"rules": self.rules, "only": list(self.only), "filter": self.pattern, "group": self.group, "limits": dict(self.limits)}
        more = {name: getattr(self, name) for name in _KEPT}
        more["questions"] = str(self.questions) if self.questions is not None else None
        return chosen | {name: str(value) if name == "shard" else value for name, value in more.items() if value not in (None, False)}


# Libraries whose version can change a verdict: the reference reads tables with the first two.
VERDICT_PACKAGES = ("pandas", "duckdb", "rapidfuzz")
# The parts of a signature that name installed versions.
VERSIONS = frozenset({"evalsuite", *VERDICT_PACKAGES})
# Data and rules of text metrics and comparators. These change the verdict of rare texts, as Python does by its tables of Unicode and its
# sums. Runs of different ones stay comparable, so they are in the receipt and not in the signature.
RECEIPT_PACKAGES = ("numpy", "scipy", "regex", "confusable_homoglyphs", "sacrebleu", "pyphen", "wordfreq")
# The receipt's digest of our own code: between two releases verdicts move, and the version stays.
CODE = "evalsuite_code"


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
    """Return the signature: `evalsuite:0.1|rules:official|gold:3f9c1e|pandas:3.1.1|...`.

    Args:
        rules: `default` if none were requested and gold has trees: those are strict by default, the rest is official.
        gold_hash: Hash of gold and of the suite file.
        limits: Those that differ from their defaults. They appear hashed, except a frozen clock, which appears as its day.
        layout: Layout of gold. `official` means the reference of that layout, so another layout's name follows: `rules:official-lite`.
        living: Hash of the gold that was computed for the run.
        plugins: Hash of scorers that are not bundled (`Registry.code_hash`).
        programs: Whether answers that are programs could run without a program sandbox, in which any test can pass.
        invalid_as: What an answer without the judge's verdict counts as, if it counts.
        judge: The judge's settings that can change a verdict.
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
    parts += [f"{name}:{package_version(name)}" for name in VERDICT_PACKAGES]
    return "|".join(parts)


def signature_parts(signature: str) -> dict[str, str]:
    """Return name -> value of the parts of a signature."""
    return dict(part.partition(":")[::2] for part in signature.split("|") if part)


def changed_parts(before: str, after: str, *, absent: str = "none") -> dict[str, tuple[str, str]]:
    """Return name -> (value before, value after) of the parts in which two signatures differ."""
    old, new = signature_parts(before), signature_parts(after)
    return {name: (old.get(name, absent), new.get(name, absent)) for name in {**old, **new} if old.get(name) != new.get(name)}


def clock_in(signature: str) -> str:
    """Return the frozen clock of the run's queries, as `2026-05-31`; empty if it was not frozen."""
    return signature_parts(signature).get("clock", "")


def rules_name(rules: Rule | Literal["default"], layout: str = "original") -> str:
    """Return the display name of the rules: `official-lite` if the official rules are those of another reference than the original.

    Rules of an evaluator have its name.
    """
    if layout in EVALUATORS and rules != "strict":
        return layout
    return rules if rules == "strict" or layout == "original" else f"{rules}-{layout}"


def chosen_rules(signature: str, layout: str) -> Rule | None:
    """Return the rules that a signature says were chosen, None for the scorers' defaults. Raises `UsageError` if it says neither.

    A run.json's `options` contain the rules of the score, chosen or not.
    """
    word = signature_parts(signature).get("rules")
    rules_of_name = {rules_name(rules or "default", layout): rules for rules in (None, *RULES)}
    if word not in rules_of_name:
        raise UsageError(f"the signature names no rules of this gold: {word!r}")
    return rules_of_name[word]


# The word of a signature for each scorer's own rules, alone or before a layout; and how reports name them.
_OWN = "default"
EACH_ITS_OWN = "official, trees strict"


def requested_rules(run: Mapping[str, Any]) -> Rule | None:
    """Return the rules that a run.json's score has by request or by its suite; None if each scorer has its own, as with trees."""
    signed = signature_parts(str(run.get("signature", ""))).get("rules")
    rules: Rule | None = (run.get("options") or {}).get("rules")
    return None if signed is not None and signed.startswith(_OWN) else rules


def rules_label(rules: str, signatures: Iterable[str]) -> str:
    """Return the display name of the rules of several runs: official ones by the name in the runs' signatures, as `bird-ex`.

    Runs with trees whose rules nobody chose are `official, trees strict`.
    """
    if rules != "official":
        return rules
    rule_names = {signature_parts(line).get("rules", rules) for line in signatures} - {"strict"}
    return " and ".join(sorted(EACH_ITS_OWN if name.startswith(_OWN) else name for name in rule_names)) or rules


def versions() -> dict[str, str]:
    """Return name -> installed version of what can change a verdict and is not in the signature."""
    return {"python": sys.version.split()[0], CODE: code_stamp(), **{name: package_version(name) for name in RECEIPT_PACKAGES}}


def changed_versions(before: object, after: object = None) -> dict[str, tuple[str, str]]:
    """Return name -> (version then, version later) of what two receipts record differently; what one does not record is left out.

    Without `after` the installed versions count. Of Python's version the first two parts count: its tables and sums change with them.
    """
    recorded = before if isinstance(before, Mapping) else {}
    later = versions() if after is None else after if isinstance(after, Mapping) else {}
    known = recorded_versions(later)
    pairs = ((name, then, known[name]) for name, then in recorded_versions(recorded).items() if name in known)
    return {name: (then, now) for name, then, now in pairs if feature_version(name, then) != feature_version(name, now)}


def recorded_versions(receipt: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions in a receipt that can change a verdict."""
    return {name: str(receipt[name]) for name in ("python", CODE, *RECEIPT_PACKAGES) if name in receipt}


def versions_warning(names: Collection[str], *, who: str) -> str:
    """Return the warning that `who` was scored with other versions of what is named, and which verdicts that can change."""
    shown = ["evalsuite's code" if name == CODE else name for name in names]
    what = "verdicts" if CODE in names else "verdicts on rare texts"
    return f"{who} were scored with other versions of {join_names(shown)}: {what} can differ"


def merge_receipts(receipts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the receipt of several shards: the first one's, with each text that differs as the texts of all."""
    merged = dict(receipts[0])
    for name, value in merged.items():
        texts = list(dict.fromkeys(str(each.get(name, "unknown")) for each in receipts))
        merged[name] = " and ".join(texts) if isinstance(value, str) else value
    return {**merged, "shards": len(receipts)}


def feature_version(name: str, version: str) -> str:
    """Return the part of a library's version, or of the versions of several shards, that can change a verdict."""
    if name != "python":
        return version
    return " and ".join(dict.fromkeys(".".join(each.split(".")[:2]) for each in version.split(" and ")))


def other_versions(run: Mapping[str, Any], signature: str) -> dict[str, str]:
    """Return `receipt.python` -> `3.13.0 then, 3.11.7 now` for each version that a run.json names and that is not installed here."""
    signed = changed_parts(run["signature"], signature).items()
    changes = {f"signature.{name}": change for name, change in signed if name in VERSIONS}
    changes |= {f"receipt.{name}": change for name, change in changed_versions({CODE: "not recorded", **run["receipt"]}).items()}
    return {name: f"{then} then, {now} now" for name, (then, now) in changes.items()}


def receipt(*, isolation: str, features: Sequence[str], jobs: int, executor: str = "local") -> dict[str, object]:
    """Return how a run was made, apart from its signature.

    Interpreter, libraries, system, `isolation` with its sandbox features, jobs, and an executor other than the local one.
    """
    mechanisms = "+".join([isolation, *(feature for feature in features if feature != "limits")])
    return {
        "isolation": mechanisms,
        "jobs": jobs,
        **({"executor": executor} if executor != "local" else {}),
        **versions(),
        "system": _system(),
    }


def _system() -> str:
    """Return the names of the system and of its processor type, as `platform` gives them: importing it costs a tenth of Python's start."""
    if hasattr(os, "uname"):
        return f"{os.uname().sysname} {os.uname().machine}"
    import platform

    return f"{platform.system()} {platform.machine()}"
