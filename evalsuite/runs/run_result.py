"""Result of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.core.types import Gold, Result, Rule, Submission
from evalsuite.runs.run_folder import SCHEMA_VERSION
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.submission_checks import by_kind
from evalsuite.runs.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A scored submission: n results in gold order, their summary, its folder (None: not saved), and its `uncertain_instances`."""

    gold: Gold
    submission: Submission
    rules: Rule
    signature: str
    options: RunOptions
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
        """Return the `run.json` object."""
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
