"""The numbers of a run: what is divided by what, and what nobody could judge."""

from typing import Any

import pytest

from evalsuite.core.errors import GoldError
from evalsuite.core.types import Result, Status
from evalsuite.runs.summary import summarise


def result(name: str, score: float | None, *, strict: float | None = None, status: Status = "scored", **more: Any) -> Result:
    """The outcome of one instance under official rules."""
    given = {"scorer": "string_match", "reason": "r", "fault": None, **more}
    return Result(instance_id=name, status=status, score=score, official=score, strict=score if strict is None else strict, **given)


RIGHT, WRONG, HALF = result("a", 1.0, strict=0.0), result("b", 0.0), result("c", 0.5)
MISSING = result("d", 0.0, status="missing")
UNJUDGED = result("e", None, status="gold_fault", fault="BAD_SPEC")


def test_all_of_gold_is_the_denominator() -> None:
    """What is missing counts 0, what nobody could judge makes the score an interval; what was handed in has a ratio of its own."""
    summary = summarise([RIGHT, WRONG, HALF, MISSING, UNJUDGED], rules="official")
    assert (summary.n_gold, summary.n_submitted, summary.score) == (5, 4, 0.3)
    assert (summary.chosen.low, summary.chosen.high, summary.chosen.points) == (0.3, 0.5, 1.5)
    assert (summary.n_right, summary.n_wrong, summary.counts["scored"], summary.counts["missing"]) == (1, 1, 3, 1)
    assert (summary.reference_ratio, summary.n_reference) == (0.25, 4)


def test_nothing_to_score_is_no_number() -> None:
    """An empty suite has no score, no interval and no ratio, and none of them is 0."""
    found = summarise([], rules="official").to_json()
    names = ("score", "score_low", "score_high", "official", "strict", "se", "interval_95", "histogram", "reference_ratio")
    assert [found[name] for name in names] == [None] * len(names)


def test_a_histogram_is_for_graded_scores() -> None:
    """Rights and wrongs alone have none; of graded scores each falls into one of ten bins, 1 into the last."""
    assert summarise([RIGHT, WRONG], rules="official").histogram is None
    assert summarise([RIGHT, WRONG, HALF], rules="official").histogram == (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)


def test_parts_have_their_own_rows() -> None:
    """By scorer and by group the same numbers over fewer instances; a flip is named with its cause."""
    flipped = result("f", 1.0, strict=0.0, details={"flip": "case: Oslo"})
    summary = summarise([flipped, WRONG], rules="official", groups={"f": ("hard",), "b": ("hard", "easy")})
    assert {tag: (row["n"], row["score"]) for tag, row in summary.by_group.items()} == {"hard": (2, 0.5), "easy": (1, 0.0)}
    assert (summary.by_scorer["string_match"]["n_right_official"], summary.by_scorer["string_match"]["n_right_strict"]) == (1, 0)
    assert [(flip["instance_id"], flip["kind"]) for flip in summary.flips] == [("f", "case")]


def test_each_instance_is_in_one_cluster() -> None:
    """Clusters widen the interval; an instance in none of them is gold's fault."""
    groups = {"a": ("x",), "b": ("y",), "c": ("x",)}
    clusters = summarise([RIGHT, WRONG, HALF], rules="official", groups=groups, clusters=("x", "y")).clusters
    assert clusters is not None
    assert clusters["n_clusters"] == 2
    with pytest.raises(GoldError, match="'d' is in none of the clusters"):
        summarise([RIGHT, MISSING], rules="official", groups=groups, clusters=("x", "y"))
