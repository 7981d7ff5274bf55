"""The strict table rule, written out plainly: the model `matching.table_strict` is held to.

Every way to give each needed gold column a predicted column of its own, every order of the rows; no clusters, no flow.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

# A blank, one that does not break, a thin one, a narrow one that does not break.
SPACES = " \u00a0\u2009\u202f"
NULLS = {"", "na", "n/a", "#na", "#n/a", "<na>", "\\n", "null", "none", "nan"}
SIGNS = r"(?:[$€£¥]|US\$|USD|EUR|GBP)"
SCALES = {"k": 3, "m": 6, "b": 9, "bn": 9}
DAYS = "%Y-%m-%d|%Y/%m/%d|%Y%m%d|%d.%m.%Y|%B %d, %Y|%b %d, %Y|%B %d %Y|%b %d %Y|%d %B %Y|%d %b %Y|%d-%b-%Y|%m/%d/%Y|%d/%m/%Y"
MONTHS = "%Y-%m|%Y/%m|%m-%Y|%m/%Y|%B %Y|%b %Y|%B, %Y|%b, %Y|%B-%Y|%b-%Y"
CLOCKS = "| %H:%M| %H:%M:%S| %H:%M:%S.%f| %I:%M %p|T%H:%M|T%H:%M:%S"


def score_tables(
    gold: Sequence[Sequence[str | None]],
    predicted: Sequence[Sequence[str | None]],
    ordered: bool,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    *,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    order_by: Sequence[int] = (),
) -> int:
    """1 or 0 for needed gold columns against predicted ones, both as lists of text cells; tolerances as a check may set them.

    `names` are the headers of both sides, where labels count; rows equal in the gold columns `order_by` may change places.
    """
    n_gold, n_predicted = (len(side[0]) if side else 0 for side in (gold, predicted))
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return 0
    gold_rows = list(zip(*gold, strict=True))
    keys = [[meaning(gold[i][row]) for i in order_by] if order_by else row for row in range(n_gold)]
    for chosen in permutations(range(len(predicted)), len(gold)):
        if names is not None and any(is_crossed(names, i, k) for i, k in enumerate(chosen)):
            continue
        predicted_rows = list(zip(*(predicted[k] for k in chosen), strict=True))
        fits = [[all(cells_equal(a, b, abs_tol, rel_tol) for a, b in zip(g, p, strict=True)) for p in predicted_rows] for g in gold_rows]
        for order in permutations(range(n_gold)):
            allowed = not ordered or all(keys[row] == keys[order[row]] for row in range(n_gold))
            if allowed and all(fits[row][order[row]] for row in range(n_gold)):
                return 1
    return 0


def is_crossed(names: tuple[Sequence[str], Sequence[str]], i: int, k: int) -> bool:
    """Whether predicted column k bears another gold column's name, and gold column i's stands on another predicted one, each once."""
    mine, theirs = ([re.sub(r"[\s_-]", "", name.casefold()) for name in side] for side in names)
    own, other = mine[i], theirs[k]
    if own == other or {own, other} & {"", "f0", "f1", "c1", "c2"}:
        return False
    return all(side.count(name) == 1 for side in (mine, theirs) for name in (own, other))


@lru_cache(maxsize=100_000)
def cells_equal(gold: str | None, predicted: str | None, abs_tol: float | None = None, rel_tol: float | None = None) -> bool:
    """Whether one text cell is the other, gold deciding how; the same text always is."""
    if gold == predicted:
        return True
    a, b = meaning(gold), meaning(predicted)
    if a is None or b is None:
        return a is b
    if not (is_number(a) and is_number(b)):
        return type(a) is type(b) and a == b
    if abs_tol is not None or rel_tol is not None:
        distance = abs(a - b)
        own = distance <= exact(abs_tol or 0.0) or distance <= exact(rel_tol or 0.0) * abs(a)
        return own or (a == 0 and distance <= Fraction(1, 10**9))
    return numbers_equal(a, b, decimals(gold), decimals(predicted))


def numbers_equal(g: Fraction, p: Fraction, gold_decimals: int | None, predicted_decimals: int | None) -> bool:
    """Rules 1 to 5 for a gold number and a predicted one; None stands for the decimals of what is written as an integer."""
    distance = abs(g - p)
    if distance == 0:
        return True
    if g == 0:
        return distance <= Fraction(1, 10**9)
    if p == 0:
        return False
    if g.denominator == p.denominator == 1:
        written_as_double = gold_decimals is not None or predicted_decimals is not None
        return abs(g) >= 2**53 and written_as_double and abs(g) < 10**308 and float(g) == float(p)
    if gold_decimals is None:
        return distance <= min(abs(g) / 10**9, Fraction(5, 1000))
    if is_noise(g, p):
        return True
    coarse = p if (predicted_decimals or 0) < gold_decimals else g
    k = max(2, min(predicted_decimals or 0, gold_decimals))
    return distance <= Fraction(1, 2 * 10**k) and abs(coarse) >= Fraction(10, 10**k)


def is_noise(gold: Fraction, predicted: Fraction) -> bool:
    """Whether no more than what sums of doubles lose is between the numbers."""
    return abs(gold - predicted) <= min(abs(gold) / 10**9, max(Fraction(5, 1000), abs(gold) / 10**12))


def decimals(text: str | None) -> int | None:
    """The digits behind the point, which an exponent shifts; None for a number without point and exponent."""
    text = without_groups(text)
    if text in ("true", "false") or not any(sign in text for sign in ".e"):
        return None
    mantissa, _, power = text.partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(power or 0))


@lru_cache(maxsize=100_000)
def without_groups(text: str | None) -> str:
    """A number as it is plainly written, any other text as it is; in small letters."""
    text = (text or "").strip()
    sign, amount = "", text
    if text.startswith("(") and text.endswith(")"):
        sign, amount = "-", text[1:-1]
    elif text.startswith("+"):
        sign, amount = "+", text[1:]
    elif text.startswith(("-", "\N{FIGURE DASH}", "\N{EN DASH}", "\N{MINUS SIGN}")):
        sign, amount = "-", text[1:]
    elif behind := re.match(rf"({SIGNS}\s?)([+\-\u2012\u2013\u2212])(?=[0-9])", text):
        sign, amount = "+" if behind[2] == "+" else "-", behind[1] + text[behind.end() :]
    bare = re.sub(rf"^{SIGNS}\s?|\s?{SIGNS}$", "", amount)
    scaled = re.fullmatch(r"(.*[0-9])([kKmMB]|bn)", bare)
    if scaled and bare != amount:
        bare = scaled[1]
    for parting, point in ((",", "[.]"), ("'", "[.,]"), ("\N{RIGHT SINGLE QUOTATION MARK}", "[.,]"), (SPACES, "[.,]")):
        if re.fullmatch(rf"[1-9][0-9]?[0-9]?([{parting}][0-9][0-9][0-9])+({point}[0-9]+)?", bare):
            bare = re.sub(rf"[{parting}]", "", bare).replace(",", ".")
    if re.fullmatch(r"[1-9][0-9]?(,[0-9][0-9])+,[0-9][0-9][0-9](\.[0-9]+)?", bare):
        bare = bare.replace(",", "")
    if re.fullmatch(r"[1-9][0-9]?[0-9]?(\.[0-9][0-9][0-9])+,[0-9]+|[1-9][0-9]?[0-9]?(\.[0-9][0-9][0-9]){2,}", bare):
        bare = bare.replace(".", "").replace(",", ".")
    if re.fullmatch(r"(0|[1-9][0-9]*),([0-9]|[0-9][0-9]|[0-9]{4,})|0,[0-9]+", bare):
        bare = bare.replace(",", ".")
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", bare):
        return text.lower()
    if scaled and bare != amount:
        bare = f"{bare}e{SCALES[scaled[2].lower()]}"
    return sign + bare


def moments(text: str) -> set[datetime]:
    """What a text that is not ISO may mean as a time: a month is its first day; a day and a month in numbers may be either."""
    found = set()
    text = re.sub(r"\s?(Z UTC|Z|UTC)$", "", text)
    for form in [day + clock for day in DAYS.split("|") for clock in CLOCKS.split("|")] + MONTHS.split("|"):
        try:
            found.add(datetime.strptime(text, form).replace(tzinfo=timezone(timedelta(0))))
        except ValueError:
            continue
    return found


@lru_cache(maxsize=100_000)
def meaning(text: str | None) -> Any:
    """None, a Fraction, an infinity, an instant or a text."""
    text = unicodedata.normalize("NFC", (text or "").strip())
    if text.lower() in NULLS:
        return None
    if text.lower() in ("true", "false"):
        return Fraction(text.lower() == "true")
    plain = without_groups(text)
    if re.fullmatch(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", plain):
        return Fraction(re.sub(r"\.(?=e|$)", "", plain))
    if re.fullmatch(r"[+-]?inf(inity)?", text.lower()):
        return float(text)
    if re.match(r"\d{4}-\d\d-\d\d", text):
        try:
            moment = datetime.fromisoformat(re.sub(r" ?(UTC|Z)$", "+00:00", " ".join(text.split())))
        except ValueError:
            moment = None
        if moment is not None:
            return moment if moment.tzinfo else moment.replace(tzinfo=timezone(timedelta(0)))
    found = moments(text) if re.search("[0-9]{4}", text) else set()
    return found.pop() if len(found) == 1 else text


def is_number(value: Any) -> bool:
    """Whether a meaning is a finite number."""
    return isinstance(value, Fraction)


def has_decimals(text: str | None) -> bool:
    """Whether a cell is a number that was written with a point or an exponent."""
    return is_number(meaning(text)) and decimals(text) is not None


def exact(share: float) -> Fraction:
    """A tolerance as it is written."""
    return Fraction(repr(share))
