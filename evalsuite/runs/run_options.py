"""What a run is asked: `Options`. It imports nearly nothing, so that a command can start its zygote before it imports what runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.core.types import Rule

if TYPE_CHECKING:
    from evalsuite.runs.shards import Shard


# What `run.json` keeps of the options beside those that every run has, where it is given.
_KEPT = ("layout", "mode", "shard", "live_gold", "as_of", "allow_programs", "invalid_as", "ves")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run. `rules` None means what the suite says, else official; `out` None means a new folder under `runs_folder`.

    `layout` None looks at gold, `mode` None at the submission (see `readers.layouts`). `executor` is a name of `executors.EXECUTORS`,
    `scheduler` the address of a dask scheduler. `origin` is the URL of a submission that is a copy of what lies there.
    `errata_day` is the day on which errata must not have expired, None for today (UTC).
    `databases` is where the databases lie that checks name, `questions` the file of questions (None: as it is found),
    `live_gold` runs gold queries where gold exists too, `gold_cache` is where computed gold is kept, `as_of` the day (None: today) that
    gold queries ask about. `allow_programs` runs answers
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
        """What `run.json` keeps of them: only what says which instances were scored and how."""
        chosen = {"rules": self.rules, "only": list(self.only), "filter": self.pattern, "group": self.group, "limits": dict(self.limits)}
        more = {name: getattr(self, name) for name in _KEPT}
        more["questions"] = str(self.questions) if self.questions is not None else None
        return chosen | {name: str(value) if name == "shard" else value for name, value in more.items() if value not in (None, False)}
