"""Numbers read from the details of results: units, fields of extracted records, and BIRD's measures of query pairs (soft F1, VES, R-VES).

A unit is an instance, or each record of an instance with many records. Fields are pooled over all instances of a run: counts are summed,
and ratios are computed from the sums.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from evalsuite.core.registry import SHARE, are_rows
from evalsuite.core.scores import Rule

if TYPE_CHECKING:
    from evalsuite.core.types import Result

SCORER = "sql_match"
# BIRD's reward for a right answer by gold's time over its own: (at least, reward), the first that applies. BIRD's own step to 1 is
# at 1 itself, where noise alone would decide about a query that equals gold's.
_REWARDS = ((2.0, 1.25), (0.95, 1.0), (0.5, 0.75), (0.25, 0.5), (0.0, 0.25))


def reward_of(ratio: float) -> float:
    """Return BIRD's reward in [0.25, 1.25] for a right answer that takes gold's time divided by `ratio` (mini_dev `evaluation_ves`)."""
    return next(reward for least, reward in _REWARDS if ratio >= least)


def pair_numbers(results: "Sequence[Result]") -> dict[str, Any]:
    """Return {n, soft_f1} over the n judged pairs, with {n_timed, ves, r_ves} if right ones were timed; empty without pairs.

    `soft_f1` is in [0, 1]. `ves` and `r_ves` are in percent, as in BIRD: 100 times the mean of the roots of ratio and reward. Wrong,
    failed and missing answers are 0 in all; a right answer that could not be timed is in neither of the last two.
    """
    judged_results = [result for result in results if result.scorer == SCORER and result.official is not None]
    if not judged_results:
        return {}
    soft = [_number(result.details.get("soft_f1")) or 0.0 for result in judged_results]
    numbers: dict[str, Any] = {"n": len(judged_results), "soft_f1": math.fsum(soft) / len(soft)}
    ratios = [_number(result.details.get("time_ratio")) if result.official == 1 else 0.0 for result in judged_results]
    defined = [ratio for ratio in ratios if ratio is not None]
    if not any(defined):
        return numbers
    rewards = [reward_of(ratio) if ratio else 0.0 for ratio in defined]
    measured = {name: 100 * sum(map(math.sqrt, values)) / len(defined) for name, values in (("ves", defined), ("r_ves", rewards))}
    return {**numbers, "n_timed": sum(ratio > 0 for ratio in defined), **measured}


def _number(value: Any) -> float | None:
    """Return a detail of a scorer, None unless it is a finite number of at least 0: a run may be untrusted."""
    try:
        return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None
    except OverflowError:
        return None


COUNTS = ("matches", "mismatches", "omissions", "hallucinations")
SHARES = ("precision", "recall", "f1")
# Keys and types of the rows of a tree scorer.
FIELD_ROW = {"path": str, **dict.fromkeys(SHARES, SHARE), **dict.fromkeys(COUNTS, int)}
CONFUSION_ROW = {"n": int, "path": str, "status": str, "expected": object, "got": object}


def pooled_fields(results: "Sequence[Result]") -> dict[str, dict[str, Any]]:
    """Return schema path -> matches, mismatches, omissions, hallucinations, precision, recall and F1 over n results, the worst F1 first.

    A mismatch may have partial credit: the credit of a result's fields is computed back from its precision, or recall if nothing was
    found. Missing and unreadable answers have no fields to count; `compare` counts them as 0.
    """
    sums: dict[str, list[float]] = {}
    for result in results:
        for row in listed_fields(result):
            both, omitted, invented = row["matches"] + row["mismatches"], row["omissions"], row["hallucinations"]
            row_sums = sums.setdefault(row["path"], [0.0] * 5)
            reached = row["precision"] * (both + invented)
            for at, value in enumerate((row["matches"], row["mismatches"], omitted, invented, reached if both else 0.0)):
                row_sums[at] += value
    pooled = {path: _shares(*row_sums) for path, row_sums in sums.items()}
    return dict(sorted(pooled.items(), key=lambda item: (item[1]["f1"], item[0])))


def pooled_confusions(results: "Sequence[Result]") -> list[dict[str, Any]]:
    """Return the ten commonest confusions of n results, the commonest first: {path, status, expected, got, n}."""
    counts: dict[str, dict[str, Any]] = {}
    for result in results:
        confusions = result.detail("confusions")
        for row in confusions if are_rows(confusions, CONFUSION_ROW) else ():
            key = repr((row["path"], row["status"], row["expected"], row["got"]))
            pooled = counts.setdefault(key, {**row, "n": 0})
            pooled["n"] += row["n"]
    return sorted(counts.values(), key=lambda row: -int(row["n"]))[:10]


def listed_fields(result: "Result") -> list[Mapping[str, Any]]:
    """Return the rows of the fields of a tree scorer: path, four counts and three shares each; empty for other results."""
    rows = result.detail("fields")
    fields = [row for row in (rows if isinstance(rows, list) else ()) if are_rows([row], FIELD_ROW)]
    return [row for row in fields if all(row[name] is not None for name in SHARES)]


def _shares(matches: float, mismatches: float, omissions: float, hallucinations: float, reached: float) -> dict[str, Any]:
    both = matches + mismatches
    shares = {
        "precision": reached / (both + hallucinations) if both + hallucinations else 1.0,
        "recall": reached / (both + omissions) if both + omissions else 1.0,
        "f1": 2 * reached / (2 * both + omissions + hallucinations) if both + omissions + hallucinations else 1.0,
    }
    counts = dict(zip(COUNTS, (matches, mismatches, omissions, hallucinations), strict=True))
    return {**{name: int(count) for name, count in counts.items()}, **{name: min(1.0, share) for name, share in shares.items()}}


UnitScore = float | None
"""The score of one unit in [0, 1], None if it was not scored."""


def unit_details(
    scores: Sequence[UnitScore], *, official: Sequence[UnitScore] | None = None, fields: Mapping[str, Sequence[UnitScore]] | None = None
) -> dict[str, Any]:
    """Return `{"units": {"n", "scores", "official", "fields"}}` for the details of a result with n > 1 units in gold's order, else nothing.

    `scores` are those of the strict rules, `official` the others if they differ; `fields` has the F1 of each schema path unit by unit,
    None if the unit has no such field. Whole numbers are stored as such: they take one character.
    """
    if len(scores) < 2:
        return {}
    units: dict[str, Any] = {"n": len(scores), "scores": list(map(short_score, scores))}
    if official is not None and list(official) != list(scores):
        units["official"] = list(map(short_score, official))
    if fields:
        units["fields"] = {path: list(map(short_score, column)) for path, column in fields.items()}
    return {"units": units}


def short_score(score: UnitScore) -> UnitScore:
    """Return a score as it is stored: a whole number without a point."""
    return int(score) if score is not None and score in (0, 1) else score


def units_of(result: "Result", rules: Rule | None = None) -> list[UnitScore] | None:
    """Return the scores of a result's units under the rules (None: those of its score), None for a result that is one unit itself.

    A list of a plugin's scorer in `details["units"]` counts too, under both rules.
    """
    units = result.detail("units")
    scores = units if isinstance(units, list) else units.get("scores") if isinstance(units, Mapping) else None
    if isinstance(units, Mapping) and "official" in units:
        rule = rules or ("strict" if result.score == result.strict else "official")
        scores = units["official"] if rule == "official" else scores
    return scores if _are_unit_scores(scores) and len(scores) > 1 else None


def fields_of_units(result: "Result") -> dict[str, list[UnitScore]]:
    """Return schema path -> the F1 of each of the n units; empty without a tree scorer."""
    units = result.detail("units")
    fields = units.get("fields") if isinstance(units, Mapping) else None
    return {path: column for path, column in fields.items() if _are_unit_scores(column)} if isinstance(fields, Mapping) else {}


def _are_unit_scores(values: Any) -> TypeGuard[list[UnitScore]]:
    return isinstance(values, list) and all(value is None or (isinstance(value, int | float) and 0 <= value <= 1) for value in values)


def at_one_length(sides: Sequence[Sequence[UnitScore]]) -> list[list[UnitScore]]:
    """Return the units of m sides of one instance, n each: a side that is one unit has its score in each.

    Surplus records that another side invented are units on which a side that invented fewer is right.
    """
    n = max(map(len, sides))
    return [[*side] * n if len(side) == 1 else [*side, *[1.0] * (n - len(side))] for side in sides]


def by_unit(samples: Sequence[Sequence[UnitScore]]) -> list[list[float]]:
    """Return the judged scores of each unit of one instance, from the units of its samples."""
    return [[score for score in unit if score is not None] for unit in zip(*at_one_length(samples), strict=True)]


def mean_units(samples: Sequence[Sequence[UnitScore]]) -> list[UnitScore]:
    """Return, unit by unit, the mean over the judged samples of one instance, None without any."""
    return [math.fsum(scores) / len(scores) if scores else None for scores in by_unit(samples)]


def mean_unit_details(samples: "Sequence[Result]") -> dict[str, Any]:
    """Return the `unit_details` of m samples of one instance as one: means unit by unit, of fields too; empty if none has units of its own.

    A missing answer is wrong in each unit; a field that some samples do not have in a unit counts by the others.
    """
    if all(units_of(sample) is None for sample in samples):
        return {}
    strict, official = (
        mean_units([units_of(sample, rules) or [getattr(sample, rules)] for sample in samples]) for rules in ("strict", "official")
    )
    fields = [fields_of_units(sample) for sample in samples]
    n = max([len(column) for field_columns in fields for column in field_columns.values()], default=0)
    pooled = {}
    for path in dict.fromkeys(path for field_columns in fields for path in field_columns):
        none = [0.0 if sample.score == 0 and not field_columns else None for sample, field_columns in zip(samples, fields, strict=True)]
        columns = [
            [*(field_columns.get(path, ())), *[lacks] * (n - len(field_columns.get(path, ())))]
            for field_columns, lacks in zip(fields, none, strict=True)
        ]
        pooled[path] = mean_units(columns)
    return unit_details(strict, official=official, fields=pooled)


def n_units(results: "Sequence[Result]") -> int:
    """Return the number of units in the results: the number of results if each is one unit."""
    return sum(len(units_of(result) or (0,)) for result in results)
