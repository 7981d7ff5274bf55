"""A document as one JSON object with every number. The schemas of runs, comparisons and leaderboards stand in `schema/`."""

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from evalsuite.reports.document import Document


def as_json(document: Document) -> Iterator[str]:
    """Pieces of one JSON object in plain ASCII.

    Rows come piece by piece, so that the text of 100,000 results never stands in memory at once.
    """
    table = document.tables.get("json")
    if table is None:
        yield json.dumps(document.whole, indent=2) + "\n"
        return
    yield json.dumps(document.whole, indent=1, default=_plain)[:-2] + f',\n "{document.rows_key}": ['
    names = [column.name for column in table.of("json")]
    before = "\n  "
    for values in table.values("json"):
        yield before + json.dumps(dict(zip(names, values, strict=True)), default=_plain)
        before = ",\n  "
    yield "\n ]\n}\n"


@cache
def schema(subject: str = "run") -> dict[str, Any]:
    """The JSON Schema (2020-12) of the JSON of a `run`, a `comparison` or a `leaderboard`."""
    found: dict[str, Any] = json.loads((files(__package__) / "schema" / f"{subject}.schema.json").read_text(encoding="utf-8"))
    return found


def _plain(value: object) -> object:
    """What JSON cannot say, as text; sets come out as lists."""
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)
