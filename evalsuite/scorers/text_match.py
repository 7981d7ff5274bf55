"""`string_match` and `number_match`: the answer contains the gold text, or the gold number."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal

from evalsuite.compare.answer_messages import EXCLUDED
from evalsuite.core.import_ref import LazyModule
from evalsuite.core.registry import scorer
from evalsuite.core.scores import Distance, Problem, Score, Within

if TYPE_CHECKING:
    from evalsuite.compare import answer_rules as rules
    from evalsuite.compare import verdict
else:
    # A process that only checks the parameters needs neither.
    rules, verdict = LazyModule("evalsuite.compare.answer_rules"), LazyModule("evalsuite.compare.verdict")


def string_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
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


@scorer(reads="text", validate=string_problems)
def string_match(prediction: str, *, gold: str | list[str], conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()) -> Score:
    """1 if the answer contains a gold text (each one with `conj: and`) and no excluded one, ignoring case; else 0.

    Official: a substring anywhere. Strict: whole words, with Unicode forms, case and spaces folded on both sides; a gold that the answer
    denies (`not Paris`) or names as one of several (`Paris or London`) does not count.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the answer.
        gold: the accepted text or texts.
        conj: `or`, one gold is enough; `and`, all are needed.
        exclude: texts that must not be in the answer.

    Example:
        `{"func": "string_match", "parameters": {"gold": ["Paris"], "exclude": ["London"]}}`
    """
    official = rules.match_text(prediction, gold, conj=conj, exclude=exclude)
    strict = rules.match_text_strictly(prediction, gold, conj=conj, exclude=exclude)
    if rules.excluded_text(prediction, exclude) is not None:
        return verdict.join(official, strict, up="exclude inside a word")
    if conj == "and" and (official.official, strict.value) == (0, 1):
        # Of several needed golds those decide that the reference does not find.
        lost = [item for item in ([gold] if isinstance(gold, str) else gold) if rules.match_text(prediction, item).official == 0]
        is_number = all(rules.match_text_strictly(prediction, item).cause == "number form" for item in lost)
        return verdict.join(official, strict, up="number form" if is_number else "spelling form")
    return verdict.join(official, strict)


def number_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: no gold, or a gold that is not a finite number."""
    gold = parameters.get("gold", 0)
    if gold == []:
        yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one accepted number")
    try:
        if not isinstance(gold, int | float) or not isfinite(gold):
            rules.gold_numbers(gold)
    except (ValueError, OverflowError):
        hint = "numbers may be written as 17.5, '17.5', '1,234' or '17.5%'"
        yield Problem(code="BAD_SPEC", message="gold is not a finite number", hint=hint)
    numbers = gold if isinstance(gold, list) else []
    if parameters.get("conj") == "and" and len({str(item) for item in numbers}) < len(numbers):
        yield Problem(code="BAD_SPEC", message="gold names a number twice; one in the answer is enough for both", blocks=frozenset())
    yield from exclude_problems(parameters)


@scorer(reads="text", validate=number_problems)
def number_match(
    prediction: str,
    *,
    gold: str | float | list[str | float],
    percentage: bool = False,
    precision: Annotated[int, Within(-308, 308)] = 4,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
    abs_tol: Distance | None = None,
    rel_tol: Distance | None = None,
) -> Score:
    """1 if a number in the answer is within 10**-precision of a gold (of each one with `conj: and`), else 0.

    Official: if the only gold is text or has decimals, the answer must contain exactly one number; signs are ignored; `percentage`
    also accepts 100 times the gold. Strict: signed numbers, a whole gold exactly, others up to float noise and rounding to the
    decimals shown; dates, years next to other numbers and repeats do not disqualify, more different numbers than golds do; a number that
    the answer denies (`not 42`) or states as a bound (`at least 42`) is not its answer.

    Range: 0 or 1. Source: Spider 2.0.

    Args:
        prediction: the answer.
        gold: the accepted number or numbers; text may contain `1,234` or `17.5%`.
        percentage: whether a ratio may be given as percent or as fraction.
        precision: decimal places that must agree; a value other than 4 widens the strict tolerance too.
        conj: `or`, one gold is enough; `and`, all are needed.
        exclude: texts that must not be in the answer.
        abs_tol: strict only, allowed difference from gold, whole golds too.
        rel_tol: strict only, the same as a fraction of gold.

    Example:
        `{"func": "number_match", "parameters": {"gold": "17.5", "precision": 2}}`
    """
    official = rules.match_number(prediction, gold, percentage=percentage, precision=precision, conj=conj, exclude=exclude)
    strictly = partial(rules.match_number_strictly, prediction, gold, percentage=percentage, conj=conj, exclude=exclude)
    strict = strictly(precision=precision, abs_tol=abs_tol, rel_tol=rel_tol)
    margin = None
    # Excluded texts and too many numbers disqualify under any tolerance.
    if strict.value == 1 or strict.kind not in ("exclude", "hedged"):
        margin = rules.number_margin(
            *(prediction, gold),
            conj=conj,
            percentage=percentage,
            is_right=strict.value == 1,
            accepts=lambda tolerance: strictly(abs_tol=tolerance).value == 1,
        )
    alone = partial(rules.match_number, gold=gold, percentage=percentage, precision=precision, conj=conj)
    up = _why_no_number(official, strict, alone, both_forms=percentage and conj == "and")
    return verdict.join(official, strict, up=up, margin=margin)


def _why_no_number(
    official: "verdict.Official", strict: "verdict.Strict", alone: "Callable[[str], verdict.Official]", *, both_forms: bool
) -> "verdict.Cause":
    """Return the cause if only strict accepts; `alone` is the verdict on an answer of one number, `both_forms` means that the reference
    requires each gold as fraction and as percent.
    """
    if official.reason.startswith(EXCLUDED):
        return "exclude inside a word"
    if strict.value == 1 and "takes exactly one" in official.reason:
        # The reference may know the number as it is written, and refuse only the others.
        return "context numbers" if any(alone(str(number)).official == 1 for number in official.details["numbers"]) else strict.cause
    if strict.cause != "context numbers":
        return strict.cause
    # The number is written plainly, so the cause is characters that the two rules read differently.
    return "percent form" if both_forms else "number form"
