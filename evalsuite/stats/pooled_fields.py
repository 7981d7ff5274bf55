"""Fields of extracted records over all instances of a run: counts are summed, shares are made of the sums."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsuite.types import Result

COUNTS = ("matches", "mismatches", "omissions", "hallucinations")


def pooled_fields(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Schema path -> matches, mismatches, omissions, hallucinations, precision, recall and F1 over n results, the worst F1 first.

    A mismatch may be worth a part: what a result's fields reached is read back from its precision, or recall where nothing was found.
    What was not handed in, or could not be read, has no fields to count; `compare` counts it as 0.
    """
    sums: dict[str, list[float]] = {}
    for result in results:
        for row in listed_fields(result):
            both, omitted, invented = row["matches"] + row["mismatches"], row["omissions"], row["hallucinations"]
            found = sums.setdefault(row["path"], [0.0] * 5)
            reached = row["precision"] * (both + invented)
            for at, value in enumerate((row["matches"], row["mismatches"], omitted, invented, reached if both else 0.0)):
                found[at] += value
    pooled = {path: _shares(*found) for path, found in sums.items()}
    return dict(sorted(pooled.items(), key=lambda item: (item[1]["f1"], item[0])))


def pooled_confusions(results: Sequence[Result], most: int = 10) -> list[dict[str, Any]]:
    """What was taken for what over n results, the commonest first: {path, status, expected, got, n}, of those that each result lists."""
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        confusions = result.detail("confusions")
        for row in confusions if isinstance(confusions, list) else ():
            key = repr((row["path"], row["status"], row["expected"], row["got"]))
            known = found.setdefault(key, {**row, "n": 0})
            known["n"] += row["n"]
    return sorted(found.values(), key=lambda row: -int(row["n"]))[:most]


def listed_fields(result: Result) -> list[Mapping[str, Any]]:
    """The rows of the fields that a tree scorer listed: path, four counts and three shares each; empty for other results."""
    rows = result.detail("fields")
    keys = ("precision", "recall", "f1", *COUNTS)
    return [
        row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping) and isinstance(row.get("path"), str) and all(isinstance(row.get(key), int | float) for key in keys)
    ]


def _shares(matches: float, mismatches: float, omissions: float, hallucinations: float, reached: float) -> dict[str, Any]:
    both = matches + mismatches
    shares = {
        "precision": reached / (both + hallucinations) if both + hallucinations else 1.0,
        "recall": reached / (both + omissions) if both + omissions else 1.0,
        "f1": 2 * reached / (2 * both + omissions + hallucinations) if both + omissions + hallucinations else 1.0,
    }
    counts = dict(zip(COUNTS, (matches, mismatches, omissions, hallucinations), strict=True))
    return {**{name: int(count) for name, count in counts.items()}, **{name: min(1.0, share) for name, share in shares.items()}}
