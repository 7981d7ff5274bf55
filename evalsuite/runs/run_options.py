"""Options of a run. Imports very little, so that a command can start its fork server before it imports the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.core.types import Rule

if TYPE_CHECKING:
    from evalsuite.runs.shards import Shard


# Options that `run.json` records only if they are given.
_KEPT = ("layout", "mode", "shard", "live_gold", "as_of", "allow_programs", "invalid_as", "ves")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run. `rules` None means those of the suite, else official; `out` None means a new folder under `runs_folder`.

    `layout` None is detected from gold, `mode` None from the submission (see `readers.layouts`). `executor` is a name of
    `executors.EXECUTORS`, `scheduler` the address of a dask scheduler. `origin` is the URL that a submission was copied from. `errata_day`
    is the day on which errata must not have expired, None for today (UTC). `databases` is the folder of the databases that checks name,
    `questions` the file of questions (None: detected), `live_gold` runs gold queries even where gold exists, `gold_cache` is where computed
    gold is stored, `as_of` the day (None: today) of gold queries. `allow_programs` runs answers that are programs without a program
    sandbox. `invalid_as` "zero" counts an answer without a judge's verdict as wrong. `resume` is an interrupted run, or one with unscored
    instances. `judge` is a file whose keys override those of judge.yaml. `ves` times right answers that are queries against gold's. `tell`
    receives, before queries run, what they will bill.
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
