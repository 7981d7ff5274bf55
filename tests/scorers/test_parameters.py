"""Parameters of scorers by the name under which gold gives them: each changes the verdict, to what its own library or rule says."""

from typing import Any

import pytest
import sacrebleu

from evalsuite.core.types import Fault, Table
from evalsuite.scorers import SCORERS
from evalsuite.trees.treeval import treeval_score

LONG, NEAR = "the small cat sat down on the old mat", "the small cats sit on an old mat !"
OF_SACREBLEU: list[tuple[str, str, str, dict[str, Any]]] = [
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "floor"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "add-k"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "none"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "floor", "smooth_value": 0.4}),
    ("bleu", NEAR, LONG, {"max_ngram_order": 2}),
    ("bleu", NEAR.upper(), LONG, {"lowercase": True}),
    ("bleu", "a-b c-d", "a-b c d", {"tokenize": "intl"}),
    ("chrf", NEAR, LONG, {"char_order": 3}),
    ("chrf", NEAR, LONG, {"word_order": 2}),
    ("chrf", NEAR, LONG, {"beta": 1}),
    ("chrf", NEAR, LONG, {"whitespace": True}),
    ("chrf", "ab", "abcdefgh", {"eps_smoothing": True}),
    ("chrf", NEAR.upper(), LONG, {"lowercase": True}),
    ("ter", "the cat, sat.", "the cat sat .", {"normalized": True}),
    ("ter", "the cat, sat", "the cat sat", {"no_punct": True}),
    ("ter", "猫が座る", "猫は座る", {"normalized": True, "asian_support": True}),
    ("ter", "The cat sat", "the cat sat", {"case_sensitive": True}),
]
THEIRS = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}


@pytest.mark.parametrize(("name", "text", "gold", "options"), OF_SACREBLEU)
def test_options_of_sacrebleu(name: str, text: str, gold: str, options: dict[str, Any]) -> None:
    """The raw value is sacrebleu's own with the option, and another one without it."""
    scored = SCORERS.load(name).score
    more = {"effective_order": True} if name == "bleu" else {}
    expected = THEIRS[name](**options, **more).sentence_score(text, [gold]).score
    assert scored(text, gold=gold, **options).details["raw"] == pytest.approx(expected, abs=1e-9)
    assert scored(text, gold=gold).details["raw"] != pytest.approx(expected, abs=1e-3)


def test_a_scale_for_ter() -> None:
    """The low end is 1."""
    found = SCORERS.load("ter").score("one two three four", gold="one two three five", scale=[0, 100])
    assert found.official == found.strict == 0.75


TREE = {"a": "Oslo", "b": {"c": "Bergen", "d": 7}}
ANSWER = {"a": "Osla", "b": {"c": "Bergen", "d": 8}}
SCHEMA = {"a": "string", "b": {"c": "string", "d": "integer"}}
LEAVES = {"a": "levenshtein", "b": {"c": "exact_match", "d": "exact_match"}}


@pytest.mark.parametrize(
    "options",
    [
        {"leaves_metrics": LEAVES},
        {"leaves_metrics": LEAVES, "exclusive": True},
        {"hierarchical": True},
        {"types_metrics": {"string": "levenshtein"}},
    ],
)
def test_options_of_tree_score(options: dict[str, Any]) -> None:
    """Both rules' scores are those of the function with the option, and others without it."""
    scored = SCORERS.load("tree_score").score
    plain: dict[str, Any] = {"gold": TREE, "schema": SCHEMA, "types_metrics": {"string": "exact_match", "integer": "exact_match"}}
    found, without = scored(ANSWER, **{**plain, **options}), scored(ANSWER, **plain)
    how = {name: value for name, value in {**plain, **options}.items() if name not in {"gold", "schema"}}
    expected = [treeval_score([ANSWER], [TREE], SCHEMA, compat=compat, **how).score for compat in (True, False)]
    assert [found.official, found.strict] == pytest.approx(expected)
    assert found.strict != pytest.approx(without.strict)


def test_fields_of_tree_match_that_count_together() -> None:
    """With a compound one wrong part makes the whole wrong, on the primary field; without it the other field is right."""
    field = {"type": "string", "x-eval-compare": "name"}
    schema = {"type": "object", "properties": {"first": field, "last": field}}
    plain = {"type": "object", "properties": {"first": {"type": "string"}, "last": {"type": "string"}}}
    gold, answer = {"first": "Ada", "last": "King"}, {"first": "Ida", "last": "King"}
    compound = {"fields": ["first", "last"], "primary": "last", "name": "name", "rule": "all_equal"}
    scored = SCORERS.load("tree_match").score
    together, apart = scored(answer, gold=gold, schema=schema, compounds=[compound]), scored(answer, gold=gold, schema=plain)
    assert (together.strict, apart.strict) == (0.0, 0.5)
    assert scored(gold, gold=gold, schema=schema, compounds=[compound]).strict == 1.0


def test_compat_of_tree_match() -> None:
    """The strict numbers are the reference's too: it compares more than 50 texts in order, and the sound rules find each."""
    texts = [f"t{at}" for at in range(51)]
    part = {"type": "array", "items": {"type": "string"}, "x-eval-align": {"match_by": "hungarian"}}
    options = {"gold": {"t": texts}, "schema": {"type": "object", "properties": {"t": part}}}
    scored = SCORERS.load("tree_match").score
    sound, compat = scored({"t": texts[::-1]}, **options), scored({"t": texts[::-1]}, **options, compat=True)
    assert (sound.official, sound.strict) == pytest.approx((1 / 51, 1.0))
    assert (compat.official, compat.strict) == pytest.approx((1 / 51, 1 / 51))


@pytest.mark.parametrize(
    ("n_golds", "options", "why"),
    [
        (2, {"condition_cols": [[0]]}, "condition_cols has 1 entry for 2 tables"),
        (1, {"ignore_orders": [True, False]}, "ignore_orders has 2 entries for 1 table"),
        (0, {}, "gold names no file"),
        (2, {"condition_cols": [], "ignore_orders": []}, ""),
    ],
)
def test_lists_of_tables_match_have_an_entry_a_table(n_golds: int, options: dict[str, Any], why: str) -> None:
    """Where one has not, the official rules cannot judge, and say which; an empty list is none."""
    table = Table(header=("a",), columns=(("1", "2"),), n_rows=2)
    found = SCORERS.load("tables_match").score([table] * max(1, n_golds), gold=[table] * n_golds, **options)
    assert (found.official, found.fault) == ((None, Fault(code="BAD_SPEC", detail=why)) if why else (1.0, None))
