"""The form of a saved run's files, as far as what reads them relies on it: a file of another form is damaged, and is not read.

Keys on which no reader relies are not looked at. What a run must have stands without a default.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from evalsuite.errors import FAULTS
from evalsuite.types import RULES, Status

Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)] | None
Number = Annotated[float, Meta(ge=-1e300, le=1e300)] | None
# What DuckDB and JSON readers hold without loss.
Count = Annotated[int, Meta(ge=0, le=1 << 53)] | None
_LONGEST_WHY: Final = 200


class Row(Struct):
    """A row of `by_scorer` or `by_group`."""

    score: Share = None
    raw: Number = None


class RawMean(Struct):
    """`raw` of the summary."""

    scorer: str
    mean: Number
    n_measured: int


class Entry(Struct):
    """An instance in a list: a flip, an erratum."""

    instance_id: str


class Summary(Struct):
    """`summary`, of which every report computes its own but lists of runs."""

    score: Share = None
    official: Share = None
    strict: Share = None
    n_gold: Count = None
    n_judged: Count = None
    n_submitted: Count = None
    raw: RawMean | None = None
    scorers: list[str] = []
    flips: list[Entry] = []
    by_scorer: dict[str, Row] = {}
    by_group: dict[str, Row] = {}
    by_field: dict[str, dict[str, Any]] = {}


class Corrections(Struct):
    """`corrections`, the score after errata."""

    n_gold: int
    n_waived: int
    n_patched: int
    hash: str
    score: Share
    official: Share = None
    strict: Share = None
    n_judged: Count = None
    n_right: Count = None
    interval_95: list[float] | None = None
    applied: list[Entry] = []
    stale: list[Entry] = []
    expired: list[Entry] = []


class RunOptions(Struct):
    """`options`."""

    rules: Literal[RULES]  # type: ignore[valid-type]
    only: list[str] = []
    limits: dict[str, float] = {}
    filter: str | None = None
    group: str | None = None
    layout: str | None = None
    mode: str | None = None
    shard: str | None = None
    as_of: str | None = None
    questions: str | None = None
    invalid_as: str | None = None


class SubmissionSide(Struct):
    """`submission`."""

    folder: str
    hash: str = ""
    unsure: list[str] = []


class GoldSide(Struct):
    """`gold`."""

    folder: str
    name: str
    hash: str
    layout: str = "original"
    n_instances: Count = None
    clusters: list[str] = []
    hidden: bool = False


class Receipt(Struct):
    """`receipt`."""

    isolation: str = ""


class RunFile(Struct):
    """A `run.json`."""

    signature: str
    options: RunOptions
    submission: SubmissionSide
    gold: GoldSide
    summary: Summary
    receipt: Receipt | None = None
    warnings: list[str] = []
    corrections: Corrections | None = None
    groups: dict[str, list[str]] = {}
    metadata: dict[str, Any] = {}
    notes: dict[str, list[str]] = {}
    databases: dict[str, str] | None = None
    living_gold: dict[str, dict[str, Any]] = {}
    judge: dict[str, Any] | None = None
    sql: dict[str, Any] | None = None


class Line(Struct, forbid_unknown_fields=True):
    """A line of `results.jsonl`."""

    instance_id: str
    status: Status
    score: Share
    official: Share
    strict: Share
    scorer: str | None
    reason: str
    fault: Literal[(None, *FAULTS)]  # type: ignore[valid-type]
    details: Raw
    seconds: Annotated[int, Meta(ge=0, le=1 << 53)] | Annotated[float, Meta(ge=0, le=1e300)]
    digests: dict[str, str] | None = None


class Details(Struct):
    """The `details` of a line, as far as all reports show them."""

    flip: str = ""
    reasons: dict[str, str] = {}
    notes: list[str] = []
    warnings: list[str] = []
    raw: Number = None


def why_no_run(run: Any) -> str:
    """What in the value of a `run.json` is not as a run writes it, with its place; empty where all is."""
    try:
        msgspec.convert(run, RunFile)
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error)[:_LONGEST_WHY]
    return ""
