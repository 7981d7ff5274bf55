"""Properties of field evaluation that hold for any gold and any answer."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalsuite.scorers.tree_scorers import tree_match
from evalsuite.trees import evaluate, infer_schema
from evalsuite.trees.field_results import Notice
from tests.properties import LETTERS, examples

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["a", "b", "A b", ""])
ANYTHING = st.recursive(
    LEAVES | st.floats() | st.text(LETTERS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd.") | st.text(LETTERS, max_size=2), inner, max_size=3),
    max_leaves=8,
)
ELEMENTS = st.dictionaries(st.sampled_from("xyz"), LEAVES | st.lists(LEAVES, max_size=2), max_size=3)
RECORDS = st.fixed_dictionaries(
    {}, optional={"a": LEAVES, "b": st.dictionaries(st.sampled_from("xy"), LEAVES, max_size=2), "t": st.lists(ELEMENTS, max_size=4)}
)


def quiet(_: Notice) -> None:
    """Remarks do not matter here."""


def schema_of(*records: Any, how: str | None = None) -> dict[str, Any]:
    """A schema inferred from records, its list `t` aligned as said."""
    schema = infer_schema(list(records), notify=quiet)
    if how and "t" in schema.get("properties", {}):
        schema["properties"]["t"]["x-eval-align"] = {"match_by": how}
    return schema


@given(ANYTHING, ANYTHING)
@examples(200)
def test_any_json_has_a_bounded_score_and_a_reason(gold: Any, prediction: Any) -> None:
    """Whatever stands on either side, a score is in [0, 1] or None with a fault, and there is a reason."""
    score = tree_match(prediction, gold=[gold, gold], schema=schema_of(gold))
    for value in (score.official, score.strict):
        assert value is None or 0.0 <= value <= 1.0
    assert score.reason_for("strict")
    assert score.reason_for("official")


@given(st.lists(RECORDS, min_size=1, max_size=3), st.sampled_from([None, "hungarian"]))
@examples(80)
def test_an_exact_copy_is_right(gold: Any, how: str | None) -> None:
    """Gold against itself is 1.0, also for the scorer, which infers the schema from all values."""
    schema = infer_schema(gold, widen=True, notify=quiet)
    if how and "items" in schema.get("properties", {}).get("t", {}):
        schema["properties"]["t"]["x-eval-align"] = {"match_by": how}
    assert evaluate(gold, copy.deepcopy(gold), schema).mean_f1 == 1.0
    assert tree_match(copy.deepcopy(gold), gold=gold).strict == 1.0


@given(RECORDS, RECORDS, LEAVES)
@examples(100)
def test_an_invented_field_never_raises_precision(gold: Any, extracted: Any, value: Any) -> None:
    """One key more that gold lacks does not make an answer more precise."""
    schema = schema_of(gold, extracted)
    plain = evaluate([gold], [extracted], schema).mean_precision
    more = evaluate([gold], [{**extracted, "invented": value}], schema).mean_precision
    assert plain is not None
    assert more is not None
    assert more <= plain


@given(RECORDS, RECORDS, st.sampled_from("abt"))
@examples(150)
def test_a_dropped_field_never_raises_recall(gold: Any, extracted: Any, key: str) -> None:
    """One key less does not find more of gold."""
    schema = schema_of(gold, extracted)
    plain = evaluate([gold], [extracted], schema).mean_recall
    less = evaluate([gold], [{k: v for k, v in extracted.items() if k != key}], schema).mean_recall
    assert plain is not None
    assert less is not None
    assert less <= plain + 1e-12


@given(st.lists(st.tuples(RECORDS, RECORDS), min_size=1, max_size=4), st.randoms(use_true_random=False))
@examples(60)
def test_the_order_of_the_batch_does_not_matter(pairs: Any, random: Any) -> None:
    """Records in another order give the same numbers."""
    schema = schema_of(*(gold for gold, _ in pairs), how="hungarian")
    shuffled = list(pairs)
    random.shuffle(shuffled)
    found = [evaluate([g for g, _ in order], [e for _, e in order], schema) for order in (pairs, shuffled)]
    assert found[0].mean_f1 == found[1].mean_f1
    assert sorted(r.f1 or 0 for r in found[0].records) == sorted(r.f1 or 0 for r in found[1].records)
