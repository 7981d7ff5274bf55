"""What a run is asked and what comes of it: `Options` and `Run`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from evalsuite.run.forensics import by_kind
from evalsuite.run.shards import Shard
from evalsuite.store.run_folder import SCHEMA_VERSION
from evalsuite.summary import Summary
from evalsuite.types import Gold, Result, Rule, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run. `rules` None means what the suite says, else official; `out` None means a new folder under `runs_folder`.

    `layout` None looks at gold, `mode` None at the submission (see `readers.layouts`). `executor` is a name of `executors.EXECUTORS`,
    `scheduler` the address of a dask scheduler. `origin` is the URL of a submission that is a copy of what lies there.
    `errata_day` is the day on which errata must not have expired, None for today (UTC).
    `databases` is where the databases lie that checks name, `questions` the file of questions (None: as it is found),
    `gold_cache` where computed gold is kept, `as_of` the day (None: today) that gold queries ask about. `allow_programs` runs answers
    that are programs, which nothing jails. `invalid_as` "zero" counts an answer to which a judge gave no verdict as wrong. `resume` is a
    run that was interrupted, or one with instances that nobody could judge. `judge` is a file whose keys go before those of judge.yaml.
    `ves` times right answers that are queries beside gold's. `tell` hears before queries run what they will bill.
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
    shard: Shard | None = None
    origin: str = ""
    errata_day: date | None = None
    databases: Path | None = None
    questions: Path | None = None
    gold_cache: Path | None = None
    as_of: str | None = None
    allow_programs: bool = False
    invalid_as: Literal["zero"] | None = None
    judge: Path | None = None
    ves: bool = False
    tell: Callable[[str], None] | None = None

    def to_json(self) -> dict[str, Any]:
        """What `run.json` keeps of them: only what says which instances were scored and how."""
        chosen = {"rules": self.rules, "only": list(self.only), "filter": self.pattern, "group": self.group, "limits": dict(self.limits)}
        more = {name: getattr(self, name) for name in ("layout", "mode", "shard", "as_of", "allow_programs", "invalid_as", "ves")}
        return chosen | {name: str(value) if name == "shard" else value for name, value in more.items() if value not in (None, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored submission: n results in gold order, their summary, where it was saved (None: nowhere), and what `unsure_of` says."""

    gold: Gold
    submission: Submission
    rules: Rule
    signature: str
    options: Options
    results: tuple[Result, ...]
    summary: Summary
    groups: Mapping[str, Sequence[str]]
    judge: Mapping[str, Any] | None
    sql: Mapping[str, Any] | None
    living_gold: Mapping[str, Any]
    warnings: tuple[str, ...]
    folder: Path | None
    receipt: Mapping[str, Any]
    seconds: float
    corrections: Mapping[str, Any] = field(default_factory=dict)
    submission_hash: str | None = None
    unsure: tuple[str, ...] = ()
    root: str = ""
    databases: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """The `run.json` object."""
        return {
            "schema_version": SCHEMA_VERSION,
            "signature": self.signature,
            "options": {**self.options.to_json(), "rules": self.rules},
            "submission": {
                "folder": self.options.origin or str(self.submission.folder),
                "n_objects": self.submission.n_objects,
                **({"hash": self.submission_hash} if self.submission_hash else {}),
                **({"unsure": list(self.unsure)} if self.unsure else {}),
            },
            "gold": {
                "folder": str(self.gold.folder),
                "name": self.gold.suite.name,
                "hash": self.gold.hash,
                "layout": self.gold.layout,
                "n_instances": len(self.gold.instances),
                "clusters": list(self.gold.suite.extra.get("clusters", ())),
                "hidden": bool(self.gold.suite.extra.get("hidden", False)),
            },
            "summary": self.summary.to_json(),
            **({"corrections": dict(self.corrections)} if self.corrections else {}),
            "groups": {tag: list(ids) for tag, ids in self.groups.items()},
            **({"judge": dict(self.judge)} if self.judge else {}),
            **({"sql": dict(self.sql)} if self.sql else {}),
            **({"living_gold": dict(self.living_gold)} if self.living_gold else {}),
            **({"databases": dict(self.databases)} if self.databases is not None else {}),
            "metadata": dict(self.options.metadata),
            "notes": by_kind(self.results),
            "warnings": list(self.warnings),
            "receipt": dict(self.receipt),
            "seconds": round(self.seconds, 3),
            **({"root": self.root} if self.root else {}),
        }
