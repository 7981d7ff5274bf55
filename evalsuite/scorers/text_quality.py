"""The text metrics that judge an answer by itself, by a model, or by running it; and composites. Usable as `func` in gold."""

import json
from typing import Any, Literal

from evalsuite.judge.judge import Judge
from evalsuite.metrics import get_metric
from evalsuite.metrics.llm_judge import asking, asks
from evalsuite.registry import scorer
from evalsuite.scorers.metric_score import score_by, score_with, valid
from evalsuite.types import Score


@scorer(reads="text", validate=valid("word_count_match"))
def word_count_match(prediction: str, *, gold: str | list[str]) -> Score:
    """1 - |difference in words| / words of the reference, not below 0; the best over several references.

    A hyphenated word is one; nothing against nothing is 1. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.

    Example:
        `{"func": "word_count_match", "parameters": {"gold": "a summary of about this length"}}`
    """
    return score_by("word_count_match", prediction, gold)


@scorer(reads="text", validate=valid("readability"))
def readability(
    prediction: str,
    *,
    gold: str | list[str] | None = None,
    variant: Literal["unrounded", "upstream"] = "unrounded",
    scale: list[float] | None = None,
) -> Score:
    """The Flesch reading ease on `scale`, 1 at its high end; null without a scale, because it has no ends, and for a text without words.

    With `scale: [0, 100]` an ease of 60 is 0.6. English. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: not looked at.
        variant: `upstream` rounds as Arthur Bench did.
        scale: the eases that count as 0 and as 1.

    Example:
        `{"func": "readability", "parameters": {"scale": [0, 100]}}`
    """
    return score_by("readability", prediction, gold, scale=scale, variant=variant)


@scorer(reads="text", validate=valid("specificity"))
def specificity(prediction: str, *, gold: str | list[str] | None = None, match: Literal["substring", "word"] = "substring") -> Score:
    """0.33 (vague + rare + proper) over its highest value, 0.99; null for a text without words.

    English; needs the extra `wordfreq`. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: not looked at.
        match: `substring` counts "some" in "something" as vague, as Arthur Bench does; `word` counts whole words.

    Example:
        `{"func": "specificity", "parameters": {"match": "word"}}`
    """
    return score_by("specificity", prediction, gold, match=match)


@scorer(reads="text", validate=valid("hedging_language"))
def hedging_language(
    prediction: str, *, gold: str | list[str] | None = None, threshold: float = 0.5, model: str | None = None, layer: int = -1
) -> Score:
    """1 - likeness to the disclaimer "As an AI language model, ...": 1 is no hedging. The likeness stands in `details.raw`.

    Without a model a list of phrases decides, 0 or 1. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: not looked at.
        threshold: the likeness from which on the category is `hedging`.
        model: the folder of a local model (extra `bertscore`); then the likeness is BERTScore F1.
        layer: the hidden layer whose vectors are taken.

    Example:
        `{"func": "hedging_language", "parameters": {}}`
    """
    return score_by("hedging_language", prediction, gold, threshold=threshold, model=model, layer=layer)


@scorer(reads="text", validate=valid("bertscore"))
def bertscore(prediction: str, *, gold: str | list[str], model: str, layer: int = -1, precision_weight: float | None = 0.1) -> Score:
    """`w * precision + (1 - w) * recall` of greedily matched token vectors, the best over several references.

    Nothing is downloaded; needs the extra `bertscore`. Official and strict: the same.

    Args:
        prediction: the answer.
        gold: the reference or references.
        model: the folder of a local model.
        layer: the hidden layer whose vectors are taken.
        precision_weight: w; null scores F1.

    Example:
        `{"func": "bertscore", "parameters": {"gold": "the cat is on the mat", "model": "models/deberta-v3-base"}}`
    """
    return score_by("bertscore", prediction, gold, model=model, layer=layer, precision_weight=precision_weight)


@scorer(reads="text", validate=valid("python_unit_testing"))
def python_unit_testing(prediction: str, *, gold: str | list[str], timeout_seconds: float = 3.0, memory_mib: int = 512) -> Score:
    """1 where the answer is a Python program that passes every test, else 0.

    Each test runs behind the program in a fresh limited interpreter with the standard library only; `sys.exit(0)` before the test's end
    fails. Nothing jails the program: it is `unscored` (NO_JAIL) unless the run has `--allow-programs`. Official and strict: the same.

    Args:
        prediction: the program.
        gold: the code of one test, or of several.
        timeout_seconds: the longest one test may run.
        memory_mib: the most memory one test may take.

    Example:
        `{"func": "python_unit_testing", "parameters": {"gold": "assert add(1, 2) == 3"}}`
    """
    return score_by("python_unit_testing", prediction, gold, timeout_seconds=timeout_seconds, memory_mib=memory_mib)


@scorer(reads="text", validate=valid("pass_at_k"))
def pass_at_k(prediction: str, *, gold: str | list[str], k: int = 1, timeout_seconds: float = 3.0, memory_mib: int = 512) -> Score:
    """The chance that one of k programs passes: `1 - C(n-c, k) / C(n, k)` for n programs of which c pass every test.

    The answer is a JSON list of programs; any other text is one program. Fewer than k programs count as if the missing ones failed.
    `unscored` (NO_JAIL) unless the run has `--allow-programs`, as `python_unit_testing`. Official and strict: the same.

    Args:
        prediction: the programs.
        gold: the code of one test, or of several.
        k: how many one may draw.
        timeout_seconds: the longest one test may run.
        memory_mib: the most memory one test may take.

    Example:
        `{"func": "pass_at_k", "parameters": {"gold": "assert add(1, 2) == 3", "k": 5}}`
    """
    programs = _programs(prediction)
    # A submission cannot raise its chance, nor make the estimate undefined, by handing in fewer programs than k.
    programs += ["raise SystemExit"] * (k - len(programs))
    return score_by("pass_at_k", programs, gold, k=k, timeout_seconds=timeout_seconds, memory_mib=memory_mib)


@scorer(reads="text", validate=valid("composite"), asks=lambda parameters: asks(parameters.get("parts")))
def composite(
    prediction: str,
    *,
    judge: Judge | None = None,
    gold: str | list[str] | None = None,
    parts: list[str | dict[str, Any]],
    aggregation: Literal[
        "weighted_mean", "min", "max", "geometric_mean", "weighted_geometric_mean", "harmonic_mean", "median"
    ] = "weighted_mean",
    on_missing: Literal["null", "renormalise", "zero"] = "null",
) -> Score:
    """Several metrics of the same answer combined to one score; every part's value stands in `details.parts`.

    min, max, geometric_mean and median ignore the weights. Official and strict: the same.

    Args:
        prediction: the answer.
        judge: what `llm_judge` parts ask; a run makes it out of suite.yaml.
        gold: the reference or references of the parts that need one.
        parts: metric names, or objects of one metric with its options and `weight`, `scale` and `name`.
        aggregation: how the parts become one.
        on_missing: for a part without a value: no score (`null`), leave it out, or count 0.

    Example:
        `{"func": "composite", "parameters": {"gold": "Paris", "parts": [{"exact_match": {}, "weight": 0.3}, {"f1": {}, "weight": 0.7}]}}`
    """
    if judge is None:
        return score_by("composite", prediction, gold, parts=parts, aggregation=aggregation, on_missing=on_missing)
    made = get_metric("composite", parts=parts, aggregation=aggregation, on_missing=on_missing)
    return score_with(asking(made, judge), prediction, gold)


def _programs(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return [text]
    listed = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return list(value) if listed else [text]
