"""`string_match`: the answer holds the gold text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from evalsuite.matching.text import match_text
from evalsuite.registry import scorer
from evalsuite.types import Problem, Score


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What keeps the parameters from being judged: a gold that everything or nothing holds, an exclusion that everything holds."""
    gold = parameters.get("gold", "?")
    golds = [gold] if isinstance(gold, str) else gold
    if not golds:
        yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one accepted text")
    if "" in golds:
        yield Problem(code="BAD_SPEC", message="gold holds an empty text, which every answer holds", hint="remove the empty text")
    yield from exclude_problems(parameters)


def exclude_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `exclude`: an empty text, or a bare text that the reference reads letter by letter."""
    exclude = parameters.get("exclude", ())
    if exclude == "" or "" in list(exclude):
        yield Problem(code="BAD_SPEC", message="exclude holds an empty text, which every answer holds", hint="remove the empty text")
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
    """1 where the answer holds a gold text (each one with `conj: and`) and no excluded one, without regard to case.

    Example:
        `{"func": "string_match", "parameters": {"gold": ["Paris"], "exclude": ["London"]}}`
    """
    return match_text(prediction, gold, conj=conj, exclude=exclude)
