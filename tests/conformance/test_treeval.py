"""Treeval's compat numbers equal the recorded ones; the sound ones too, but where the specification supersedes the record."""

import json
from functools import cache
from typing import Any

import pytest

from evalsuite.trees.treeval import TreevalResult, treeval_score
from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein
from tests.conformance.recorded import of_each_kind
from tests.conftest import conformance_folder, corpus, is_default_corpus
from tests.properties import is_full

REFERENCE_METRICS = [ExactMatch(compat=True), ExactMatch(name="boolean_accuracy", compat=True), Levenshtein(compat=True)]
pytestmark = pytest.mark.conformance


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    """The recorded cases of one kind; skips the calling test where the corpus has none of that kind."""
    path = corpus("treeval") / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"this corpus has no {name}.jsonl")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def today(name: str, n: int = 1) -> list[dict[str, Any]]:
    """The part of the recorded cases that is replayed: `n` of each set of tags, or of each error of the reference and its place."""
    return of_each_kind(recorded(name), lambda case: str(case["raises"][::2] if "raises" in case else case["tags"]), n)


def score(case: dict[str, Any], **options: Any) -> TreevalResult:
    """One case, scored."""
    return treeval_score(case["predictions"], case["references"], case["schema"], types_metrics=case["types_metrics"], **options)


def close(ours: Any, theirs: Any) -> bool:
    """The same shape, numbers within 1e-9."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(close(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return abs(ours - theirs) <= 1e-9
    return ours is None and theirs is None


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """The record; where the reference counted the wrong surplus items, what it would be without that bug."""
    found: dict[str, Any] = case.get("expected_sound", case["expected"])
    return found


def wrong_container(schema: Any, value: Any, reference: Any) -> bool:
    """Whether a predicted value stands in a container that the schema does not have there, against a value."""
    if value is None or reference is None:
        return False
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return True
        return any(wrong_container(node, value.get(key), reference.get(key)) for key, node in schema.items())
    if isinstance(schema, list) and len(schema) == 1:
        return not isinstance(value, list)
    return isinstance(value, dict | list)


def test_compat_equals_the_record() -> None:
    """Results tree, six rates, score, means per metric, by level and per leaf type, with ties; the default corpus holds 1,200 and 254."""
    corpus("treeval")
    assert recorded("cases") if (conformance_folder() / "treeval" / "cases.jsonl").is_file() else recorded("raises")
    if is_default_corpus():
        assert (len(recorded("cases")), len(recorded("raises"))) == (1200, 254)
    differing = []
    for case in today("cases"):
        want, found = expected(case), score(case, compat=True)
        same = close({**found.tree, **found.summary}, want["results"]) and close(found.per_metric, want["per_metric"])
        if "__raises__" not in want["per_leaf_type"]:
            same = same and close(found.per_leaf_type, want["per_leaf_type"])
        same = same and close(score(case, compat=True, hierarchical=True).per_metric, want["per_metric_hierarchical"])
        if not same or (found.reference_raises and "expected_sound" not in case):
            differing.append((case["id"], case["tags"], found.reference_raises))
    assert differing == []


def test_sound_equals_the_record() -> None:
    """The sound numbers are the recorded ones as well, but for ties (their own rule), wrong containers and what equals what.

    That last rule is replaced (numbers equal in value only, no boolean or text is one), so the reference's own metrics stand in here.
    """
    corpus("treeval")
    differing, superseded = [], 0
    for case in today("cases"):
        pairs = zip(case["predictions"], case["references"], strict=True)
        if "tie_sensitive" in case["tags"] or any(not isinstance(p, dict) or wrong_container(case["schema"], p, r) for p, r in pairs):
            superseded += 1
            continue
        found = score(case, metrics=REFERENCE_METRICS)
        if not close({**found.tree, **found.summary}, expected(case)["results"]):
            differing.append((case["id"], case["tags"]))
    assert differing == []
    if is_default_corpus() and is_full():
        assert superseded == 15


def test_where_the_reference_raises() -> None:
    """Nothing raises or hangs: a bounded score in both modes, flags that say why, and the same in any order of the batch and of lists.

    The batch is recognised as one that the reference cannot score, which is said of no other (see the test of compat).
    """
    corpus("treeval")
    missed = []
    for case in today("raises"):
        sound, compat = score(case), score(case, compat=True)
        missed += [] if compat.reference_raises else [(case["id"], case["raises"])]
        assert 0 <= sound.score <= 1, case["id"]
        assert 0 <= compat.score <= 1, case["id"]
        turned = {**case, "predictions": _turned(case["predictions"], top=True), "references": _turned(case["references"], top=True)}
        other = score(turned)
        assert other.counts == sound.counts, case["id"]
        assert close(other.summary, sound.summary), case["id"]
        assert score({**case, "predictions": case["references"]}).score == 1, case["id"]
    assert len(missed) <= max(1, len(today("raises")) // 50)


def _turned(value: Any, *, top: bool = False) -> Any:
    """The value with all its lists the other way round."""
    if isinstance(value, dict):
        return {key: _turned(inner) for key, inner in value.items()}
    return [_turned(item) for item in reversed(value)] if isinstance(value, list) else value
