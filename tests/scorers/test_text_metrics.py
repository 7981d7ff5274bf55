"""The text metrics as scorers: the table, the mapping to [0, 1], faults and bad gold."""

import json
from dataclasses import fields
from typing import Any

import pytest

from evalsuite.core.plugin_calls import allowing_programs
from evalsuite.core.registry import Scorer, check_parameters
from evalsuite.core.types import Score
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, get_metric

PARTS = [{"exact_match": {}, "weight": 1}, {"f1": {}, "weight": 3}]
SCORES: list[tuple[str, str, dict[str, Any], float]] = [
    ("exact_match", "paris", {"gold": ["Rome", "Paris"], "ignore_case": True}, 1),
    ("f1", "a big cat", {"gold": "cat"}, 2 / 3),
    ("bleu", "the cat", {"gold": "the cat"}, 1),
    ("chrf", "the cat", {"gold": "the cat"}, 1),
    ("ter", "a b c d", {"gold": "a b c e", "scale": [0, 100]}, 0.75),
    ("rouge", "a b", {"gold": "a c", "kind": "rouge1"}, 0.5),
    ("rouge", "b a", {"gold": "a b"}, 0.5),
    ("levenshtein", "kitten", {"gold": "sitting"}, 4 / 7),
    ("levenshtein_distance", "kitten", {"gold": "sitting", "scale": [0, 6]}, 0.5),
    ("jaro_winkler", "same", {"gold": "same"}, 1),
    ("word_count_match", "one two", {"gold": "a b c d"}, 0.5),
    ("readability", "Go. Stop now. The cat sat down.", {"scale": [0, 100]}, 1),
    ("hedging_language", "As an AI language model, I cannot", {}, 0),
    ("pass_at_k", "x = 2", {"gold": "assert x == 1", "k": 2}, 0),
    ("composite", "a big cat", {"gold": "cat", "parts": PARTS}, 0.5),
    ("composite", "a big cat", {"gold": "cat", "parts": ["exact_match", {"exact_match": {}}, {"f1": {}, "weight": 6}]}, 0.5),
    ("composite", "a b", {"gold": "a c", "parts": [{"rouge": {"kind": "rouge1"}}]}, 0.5),
]


def scorer(name: str) -> Scorer:
    """The scorer behind a line of the table."""
    return SCORERS.load(name)


def scored(name: str, prediction: str, **parameters: Any) -> Score:
    """The score of a prediction, its parameters found good first."""
    entry = scorer(name)
    assert check_parameters(entry, parameters) == []
    with allowing_programs(True):
        return entry.function(prediction, **parameters)


@pytest.mark.parametrize("name", [name for name in METRICS if name in SCORERS.bundled])
def test_its_parameters_are_its_options(name: str) -> None:
    """Gold may give each option of the metric that a gold file can hold, `gold`, and `scale` where the metric has no bounds."""
    made = get_metric(name, **{"parts": ["f1"]} if name == "composite" else {})
    own = set(scorer(name).parameters)
    assert own - {"gold", "scale"} <= {option.name for option in fields(made)}
    assert "gold" in own
    assert ("scale" in own) == (made.low is None or made.high is None or name == "llm_judge")
    assert own & {"field", "embedder", "allow_programs", "settings", "base_url", "key_env", "judge"} == set()


@pytest.mark.parametrize(("name", "prediction", "parameters", "expected"), SCORES)
def test_scores(name: str, prediction: str, parameters: dict[str, Any], expected: float) -> None:
    """The value on [0, 1] where more is better, the same under both rules, with a reason."""
    score = scored(name, prediction, **parameters)
    assert score.official == score.strict == pytest.approx(expected)
    assert score.reason
    json.dumps(dict(score.details))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("exact_match", {"gold": []}),
        ("f1", {"gold": "a", "variant": "issue_set", "tokens": "char"}),
        ("jaro_winkler", {"gold": "a", "prefix_weight": 0.3}),
        *(("ter", {"gold": "a", "scale": scale}) for scale in ([100, 0], [5, 5], [5], [0, 5, 9])),
        ("python_unit_testing", {"gold": "a", "memory_mib": 63}),
        ("pass_at_k", {"gold": "a", "memory_mib": 1}),
        ("pass_at_k", {"gold": "a", "k": 0}),
        ("composite", {"gold": "a", "parts": [{"ter": {}}]}),
        ("composite", {"gold": "a", "parts": []}),
        ("composite", {"gold": "a", "parts": ["exact"]}),
    ],
)
def test_bad_gold_is_found_before_the_run(name: str, parameters: dict[str, Any]) -> None:
    """What the metric would refuse is a problem of gold."""
    assert [problem.code for problem in check_parameters(scorer(name), parameters)] == ["BAD_SPEC"]
    assert list(check_parameters(scorer("python_unit_testing"), {"gold": "a", "memory_mib": 64})) == []
