"""Lint of `gold.errata.yaml`: entries that do not apply any more, and patches that accept more than the check they correct."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalsuite.audit.lint.book import Book, Found, Kind
from evalsuite.errors import GoldError
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.layouts import read_gold
from evalsuite.scorers import SCORERS
from evalsuite.types import Check

# Parameters of which a larger number, a smaller one, and true accept more.
_LARGER: Final = frozenset({"rel_tol", "abs_tol", "tolerance", "threshold_distance"})
_SMALLER: Final = frozenset({"precision", "threshold", "min_score"})
_TRUE: Final = frozenset({"ignore_order", "ignore_case", "percentage", "repair", "partial"})
# Lists of which fewer items accept more, and those of which more do.
_FEWER: Final = frozenset({"condition_cols", "exclude", "order_by"})


def find_errata(book: Book) -> Iterator[Found]:
    """Entries that are not applied, and applied patches that widen their check; a file that cannot be meant."""
    if not (book.spec.parent / ERRATA_FILE).is_file() or book.broken:
        return
    try:
        gold = read_gold(book.folder)
        errata = read_errata(gold)
    except GoldError as error:
        where, _, message = error.message.partition(": ")
        yield Found(code="bad-errata", where=where, instance_id="", message=message, hint=error.hint)
        return
    assert errata is not None, "the file is there"
    for entry in errata.entries:
        if entry.state != "applied":
            hint = "look at gold again, then renew the entry or remove it"
            yield Found(code=f"{entry.state}-erratum", where=entry.where, instance_id=entry.id, message=entry.words(), hint=hint)
    known = {instance.instance_id: instance.checks for instance in gold.instances}
    for entry in errata.of_state("applied"):
        after = entry.instance.checks if entry.instance is not None else ()
        if len(after) == len(known[entry.id]) == 1 and (ways := list(ways_wider(known[entry.id][0], after[0]))):
            message = f"the patch accepts more than the check: {'; '.join(ways)}"
            hint = f"`evalsuite gold audit {book.folder} --only {entry.id}` shows what it takes"
            yield Found(code="wide-erratum", where=entry.where, instance_id=entry.id, message=message, hint=hint)


def ways_wider(before: Check, after: Check) -> Iterator[str]:
    """In what a check accepts more than the one before it, as far as parameters alone show it: `precision 4 -> -5`."""
    if before.scorer != after.scorer:
        return
    defaults = {name: parameter.default for name, parameter in SCORERS.load(before.scorer).parameters.items()}
    old, new = ({**defaults, **check.parameters} for check in (before, after))
    for name in sorted({**before.parameters, **after.parameters}):
        if old.get(name) != new.get(name) and _is_wider(name, old.get(name), new.get(name)):
            yield f"{name} {_shown(old, name)} -> {_shown(new, name)}"


def _is_wider(name: str, old: Any, new: Any) -> bool:
    if name == "gold":
        # What was right stays so, and more is.
        items = [value if isinstance(value, list) else [value] for value in (old, new)]
        return len(items[1]) > len(items[0]) and all(item in items[1] for item in items[0])
    if name == "conj":
        return (old, new) == ("and", "or")
    if name in _TRUE:
        return any(_as_list(new)) and not all(_as_list(old))
    if name in _FEWER:
        return len(_as_list(new)) < len(_as_list(old)) if name != "condition_cols" else _reads_less(old, new)
    numbers = [value for value in (old, new) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == 2:
        return (name in _LARGER and numbers[1] > numbers[0]) or (name in _SMALLER and numbers[1] < numbers[0])
    return name in _LARGER and len(numbers) == 1 and isinstance(new, int | float)


def _reads_less(old: Any, new: Any) -> bool:
    """Whether fewer columns are compared: none named means all of them."""
    return bool(_as_list(new)) and (not _as_list(old) or len(_as_list(new)) < len(_as_list(old)))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _shown(parameters: Mapping[str, Any], name: str) -> str:
    value = parameters.get(name)
    text = str(value)
    return "unset" if value is None or "empty" in text else text if len(text) <= 40 else f"{text[:39]}…"


PER_BOOK = {
    "bad-errata": Kind("error", find_errata, "gold.errata.yaml cannot be meant"),
    "wide-erratum": Kind("warning", find_errata, "a patch of gold.errata.yaml that accepts more than the check it corrects"),
    "stale-erratum": Kind("warning", find_errata, "an entry of gold.errata.yaml whose gold has changed since: it is not applied"),
    "expired-erratum": Kind("warning", find_errata, "an entry of gold.errata.yaml whose day has passed: it is not applied"),
}
