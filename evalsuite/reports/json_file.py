"""The JSON report: the `run.json` object with all results in it, so that one file says everything. Its schema is `run.schema.json`."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evalsuite.store.run_folder import RESULT_KEYS, SCHEMA_VERSION

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.types import Result


def render(record: "Record") -> Iterator[str]:
    """Pieces of one JSON object in plain ASCII: the keys of `run.json`, then `name`, `tags` and `results`, n objects in gold order.

    It comes piece by piece, so that the text of 100,000 results never stands in memory at once.
    """
    about = {"schema_version": SCHEMA_VERSION, **record.run, "name": record.name, "tags": list(record.tags)}
    yield json.dumps(about, indent=1, default=_plain)[:-2] + ',\n "results": ['
    before = "\n  "
    for result in record.results:
        yield before + json.dumps(result_object(result), default=_plain)
        before = ",\n  "
    yield "\n ]\n}\n"


def result_object(result: "Result") -> dict[str, Any]:
    """The result as an object in the documented order of keys, as a line of `results.jsonl` says it: whole numbers as such."""
    row = {key: getattr(result, key) for key in RESULT_KEYS}
    for key in ("score", "official", "strict"):
        row[key] = int(row[key]) if row[key] is not None and row[key] == int(row[key]) else row[key]
    return {**row, "seconds": round(result.seconds, 6)}


@cache
def schema(subject: str = "run") -> dict[str, Any]:
    """The JSON Schema (2020-12) of the JSON of a `run`, a `comparison` or a `leaderboard`."""
    found: dict[str, Any] = json.loads((files(__package__) / "schema" / f"{subject}.schema.json").read_text(encoding="utf-8"))
    return found


def _plain(value: object) -> object:
    """What JSON cannot say, as text; sets come out as lists."""
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
