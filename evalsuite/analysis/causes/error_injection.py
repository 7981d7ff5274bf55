"""Error injection: one gold value -> the wrong value of an error hypothesis, or `NOTHING` if it does not apply."""

from collections.abc import Callable
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from evalsuite.analysis.causes.error_hypotheses import Inject, truth
from evalsuite.analysis.causes.values import DAY, Pair, decimals, instant, is_null, plain, write_instant, write_number

NOTHING: Final = object()


def inject_number(change: Callable[[Decimal], Decimal]) -> Inject:
    def inject(gold: Any, native: bool) -> Any:
        value = Pair(gold, None, native).gold_number
        return write_number(change(value), gold) if value else NOTHING

    return inject


def inject_text(change: Callable[[str], str]) -> Inject:
    def inject(gold: Any, native: bool) -> Any:
        pair = Pair(gold, None, native)
        if pair.gold_text is None or pair.gold_number is not None or instant(gold, native=native) is not None:
            return NOTHING
        changed = change(pair.gold_text)
        return changed if changed != gold else NOTHING

    return inject


def inject_instant(shift: int) -> Inject:
    def inject(gold: Any, native: bool) -> Any:
        at = instant(gold, native=native)
        return NOTHING if at is None else write_instant(at + shift, gold)

    return inject


def inject_zone(gold: Any, native: bool) -> Any:
    return inject_instant(2 * 3600 * 10**9)(gold, native) if len(str(gold)) > 10 else NOTHING


def inject_date_form(gold: Any, native: bool) -> Any:
    at = instant(gold, native=native)
    if at is None or not isinstance(gold, str):
        return NOTHING
    text: str = write_instant(at, "2000-01-01")
    return f"{text[8:10]}/{text[5:7]}/{text[:4]}" if len(gold.strip()) == 10 else NOTHING


def inject_day_and_month(gold: Any, native: bool) -> Any:
    """Exchange day and month of a date if that is another date."""
    at = instant(gold, native=native)
    moment = None if at is None else write_instant(at, datetime.min)
    if at is None or moment is None or moment.day > 12 or moment.day == moment.month:
        return NOTHING
    turned = moment.replace(day=moment.month, month=moment.day)
    return write_instant(at + int((turned - moment).total_seconds()) * 10**9, gold)


def inject_epoch(gold: Any, native: bool) -> Any:
    """Replace a timestamp in a text by its seconds since 1970."""
    at = instant(gold, native=native)
    return NOTHING if not at or native or len(str(gold)) <= 10 or at % 10**9 else str(at // 10**9)


def inject_rounding(gold: Any, native: bool) -> Any:
    value = Pair(gold, None, native).gold_number
    if value is None or decimals(value) < 1:
        return NOTHING
    cut = value.to_integral_value(ROUND_HALF_UP)
    return write_number(cut, gold) if cut else NOTHING


def inject_null_and_zero(gold: Any, native: bool) -> Any:
    return (0 if native else "0") if is_null(gold, native=native) else NOTHING


def inject_number_in_text(gold: Any, native: bool) -> Any:
    value = Pair(gold, None, native).gold_number
    return NOTHING if value is None or native else f"${plain(value)}"


def inject_truth(words: tuple[str, str], *, same: bool) -> Inject:
    def inject(gold: Any, native: bool) -> Any:
        value = truth(gold) if str(gold).strip().lower() in ("true", "false") else None
        if value is None:
            return NOTHING
        if native:
            return words[0 if value else 1] if same else not value
        return words[0] if value is same else words[1]

    return inject


def inject_null_word(gold: Any, native: bool) -> Any:
    """Replace NULL by a dash; not in databases, whose number columns cannot contain one."""
    return "-" if is_null(gold, native=native) and not native else NOTHING


def inject_stored_as_text(gold: Any, native: bool) -> Any:
    """Replace a native number or date by its text."""
    return NOTHING if not native or gold is None or isinstance(gold, str | bool) else str(gold)


def inject_leading_zeros(gold: Any, native: bool) -> Any:
    """Remove leading zeros, as a number column does."""
    text = str(gold).strip()
    lost = not native and text.isascii() and text.isdigit() and text.startswith("0") and text.strip("0")
    return text.lstrip("0") if lost else NOTHING


def inject_time_cut(gold: Any, native: bool) -> Any:
    """Cut a timestamp to its day."""
    at = instant(gold, native=native)
    if at is None or at % DAY == 0:
        return NOTHING
    return write_instant(at - at % DAY, gold)


def inject_off_by_one(gold: Any, native: bool) -> Any:
    """Add one to a whole number."""
    value = Pair(gold, None, native).gold_number
    return NOTHING if value is None or value != value.to_integral_value() else write_number(value + 1, gold)


def inject_value_lost(gold: Any, native: bool) -> Any:
    """Replace a value by NULL."""
    return NOTHING if is_null(gold, native=native) else None


def add_full_stop(text: str) -> str:
    """Add a full stop; not to plain figures, where a point may have a meaning."""
    return f"{text}." if any(c.isalpha() for c in text) else text
