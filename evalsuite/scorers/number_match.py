"""`number_match`: the answer holds the gold number."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from evalsuite.matching.number import gold_numbers, match_number
from evalsuite.registry import scorer
from evalsuite.scorers.string_match import exclude_problems
from evalsuite.types import Problem, Score


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What keeps the parameters from being judged: no gold, or a gold that is no finite number."""
    gold = parameters.get("gold", 0)
    if gold == []:
        yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one accepted number")
    try:
        gold_numbers(gold)
    except (ValueError, OverflowError):
        hint = "numbers may stand as 17.5, '17.5', '1,234' or '17.5%'"
        yield Problem(code="BAD_SPEC", message="gold is not a finite number", hint=hint)
    numbers = gold if isinstance(gold, list) else []
    if parameters.get("conj") == "and" and len({str(item) for item in numbers}) < len(numbers):
        yield Problem(code="BAD_SPEC", message="gold names a number twice; one in the answer is enough for both", blocks=frozenset())
    yield from exclude_problems(parameters)


@scorer(reads="text", validate=problems)
def number_match(
    prediction: str,
    *,
    gold: str | float | list[str | float],
    percentage: bool = False,
    precision: int = 4,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
) -> Score:
    """1 where a number in the answer lies within 10**-precision of a gold (of each one with `conj: and`), else 0.

    With one gold that is text or has decimals the answer must hold exactly one number. `percentage` accepts 100 times the gold too.

    Example:
        `{"func": "number_match", "parameters": {"gold": "17.5", "precision": 2}}`
    """
    return match_number(prediction, gold, percentage=percentage, precision=precision, conj=conj, exclude=exclude)
