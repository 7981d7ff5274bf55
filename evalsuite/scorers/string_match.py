"""`string_match`: the answer contains the gold text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from evalsuite.compare.text_rules import excluded_text, match_text, match_text_strictly
from evalsuite.compare.verdict import Cause, join
from evalsuite.core.scorer_contract import scorer
from evalsuite.core.types import Problem, Score


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: a gold that matches everything or nothing, or an exclusion that matches everything."""
    gold = parameters.get("gold", "?")
    golds = [gold] if isinstance(gold, str) else gold
    if not golds:
        yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one accepted text")
    if "" in golds:
        yield Problem(code="BAD_SPEC", message="gold contains an empty text, which matches every answer", hint="remove the empty text")
    yield from exclude_problems(parameters)


def exclude_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of `exclude`: an empty text, or a single text that the reference reads letter by letter."""
    exclude = parameters.get("exclude", ())
    if exclude == "" or "" in list(exclude):
        yield Problem(code="BAD_SPEC", message="exclude contains an empty text, which matches every answer", hint="remove the empty text")
    elif isinstance(exclude, str):
        message = "exclude is a text and no list: the reference excludes each of its letters"
        yield Problem(code="BAD_SPEC", message=message, hint=f"write [{exclude!r}]", blocks=frozenset())


@scorer(reads="text", validate=problems)
def string_match(
    prediction: str,
    *,
    gold: str | list[str],
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
) -> Score:
    """1 if the answer contains a gold text (each one with `conj: and`) and no excluded one, ignoring case; else 0.

    Official: a substring anywhere. Strict: whole words, with Unicode forms, case and spaces folded on both sides.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the answer.
        gold: the accepted text or texts.
        conj: `or`, one gold is enough; `and`, all are needed.
        exclude: texts that must not be in the answer.

    Example:
        `{"func": "string_match", "parameters": {"gold": ["Paris"], "exclude": ["London"]}}`
    """
    official = match_text(prediction, gold, conj=conj, exclude=exclude)
    strict = match_text_strictly(prediction, gold, conj=conj, exclude=exclude)
    return join(official, strict, up=_why_refused(prediction, exclude))


def _why_refused(prediction: str, exclude: str | Sequence[str]) -> Cause:
    """Return the cause if only strict accepts: an exclusion inside a word, or a spelling form."""
    return "exclude inside a word" if excluded_text(prediction, exclude) is not None else "spelling form"
