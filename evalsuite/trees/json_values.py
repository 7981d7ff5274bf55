"""JSON values: equality, size limits, canonical order, distance of two trees, and the quantities that texts express.

Beyond a limit there is an error with path and sizes, never a silent change of method.

Quantities ("300 nm", "5 mA/cm²", "$1.2 million") become an exact amount in base units and its dimension. A unit is a product of
prefix x symbol x power: `mW/(cm2 nm)`, `kg m s^-2`, `J/mol K`. Everything after a slash divides, as chemists write it. Symbols are those of
the SI, of laboratories and of trade; an unknown word is a unit of its own.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from json import JSONEncoder, dumps
from math import inf, nextafter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.numbers import as_margin, upward
from evalsuite.compare.values import number_at_start, plain_text
from evalsuite.core.errors import FaultError

JSON_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}


class _Absent:
    """The value of an absent key; None is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()
T = TypeVar("T")


class ByObject(Generic[T]):
    """Values computed once for a name and some lists or objects, which are identified by `id` and kept, so that no id is reused."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], tuple[T, tuple[Any, ...]]] = {}

    def get(self, name: Any, objects: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the value for these, computed by `make` on first use."""
        key = (name, *map(id, objects))
        if key not in self._made:
            self._made[key] = make(), objects
        return self._made[key][0]


def json_name(value: Any) -> str:
    """Return the JSON name of a value's type."""
    return JSON_NAMES.get(type(value), type(value).__name__)


def python_name(value: Any) -> str:
    """Return the Python name of a value's type, as upstream writes it in reasons (`NoneType` for null)."""
    return type(value).__name__


def loosely_same(a: Any, b: Any) -> bool:
    """Return whether two values have one type and are equal; inside containers 1, 1.0 and true are one (the reference's equality)."""
    return type(a) is type(b) and bool(a == b)


def same(a: Any, b: Any) -> bool:
    """Return whether two values have one type and are equal, down to every leaf: [1] is neither [1.0] nor [true]."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict:
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if kind is list:
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


# A number as JSON and pydantic's Decimal write it; "007", "1,000" and "+5" are texts.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


def number_in_text(value: Any) -> Decimal | None:
    """Return the number that a text is in the notation of JSON; None for any other text or value."""
    return Decimal(value) if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value) else None


ANY_OF = "x-eval-any-of"


class TreeLimitError(FaultError):
    """A value or a comparison exceeds a limit (LIMIT); `path` is its place."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__("LIMIT", f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """The limits of one comparison.

    `max_pairs` elements x elements of one list pair; `max_cells` the same summed over all pairs of lists inside the elements of one
    list; `max_row_pairs` the same if each pair has to be scored by rows (a batch comparator or alternatives inside); `max_depth` nested
    containers; `max_string` characters of one text; `max_keys` keys of one object; `max_nodes` values of one record.
    """

    max_pairs: int = 10_000_000
    max_cells: int = 400_000_000
    max_row_pairs: int = 250_000
    max_depth: int = 100
    max_string: int = 1_000_000
    max_keys: int = 100_000
    max_nodes: int = 1_000_000


DEFAULT_LIMITS = TreeLimits()
_ENCODER = JSONEncoder(sort_keys=True, default=repr)


def inspect(value: Any, limits: TreeLimits = DEFAULT_LIMITS, *, where: str = "") -> bool:
    """Return whether a JSON value contains gold alternatives. The walk is a loop, so that deep values cannot break it.

    Raises `TreeLimitError` if the value exceeds a limit.
    """
    alternatives = False
    n_nodes = 0
    level: list[Any] = [value]
    depth = 0
    while level:
        depth += 1
        n_nodes += len(level)
        if depth > limits.max_depth + 1:
            raise TreeLimitError(f"nested deeper than {limits.max_depth} levels", where)
        if n_nodes > limits.max_nodes:
            raise TreeLimitError(f"more than {limits.max_nodes:,} values", where)
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is float or kind is int:
                continue
            if kind is str:
                if len(item) > limits.max_string:
                    raise TreeLimitError(f"a text of {len(item):,} characters, the limit is {limits.max_string:,}", where)
            elif kind is dict:
                if len(item) > limits.max_keys:
                    raise TreeLimitError(f"an object of {len(item):,} keys, the limit is {limits.max_keys:,}", where)
                alternatives = alternatives or ANY_OF in item
                below.extend(item.values())
            elif kind is list:
                below.extend(item)
        level = below
    return alternatives


def alternatives_of(value: Any) -> list[Any] | None:
    """Return the accepted values of `{"x-eval-any-of": [...]}`, None if the value is no list of alternatives."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(found := value.get(ANY_OF), list) and found:
        return found
    return None


def choices(value: Any) -> Iterator[Any]:
    """Yield every plain value that gold accepts here: the value itself, or each of its alternatives, nested ones unfolded."""
    waiting = [value]
    while waiting:
        found = alternatives_of(item := waiting.pop(0))
        if found is None:
            yield item
        else:
            waiting = [*found, *waiting]


def canonical_order(items: Sequence[Any]) -> list[int]:
    """Return the positions of the items, sorted by their canonical JSON; equal items keep their order."""
    keys = canonical(items)
    return sorted(range(len(items)), key=keys.__getitem__)


def exact_text(value: Any) -> str:
    """Return a text that two values share if they are the same except for the order of keys: JSON with sorted keys."""
    return _ENCODER.encode(value)


def unordered_text(value: Any) -> str:
    """Return the text of `canonical` for one value: the order of list items does not count either."""
    return canonical([value])[0].decode("utf-8", "surrogatepass")


def canonical(items: Sequence[Any]) -> list[bytes]:
    """Return for each item a text that two of them share if they differ only in the order of keys and of list items, at any depth."""
    from msgspec import MsgspecError
    from msgspec.json import Encoder

    encode = Encoder(order="sorted").encode
    try:
        texts = [encode(item) for item in items]
    except (MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        return [_by_loop(item) for item in items]
    for i, text in enumerate(texts):
        if b"[" in text or (b"null" in text and "nan" in repr(items[i])):  # msgspec writes NaN as null
            texts[i] = _by_loop(items[i])
    return texts


def _by_loop(value: Any) -> bytes:
    """Return the canonical text, built from the bottom without recursion."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    texts: dict[int, bytes] = {}
    todo: list[tuple[Any, bool]] = [(value, False)]
    while todo:
        item, ready = todo.pop()
        inner = list(item.values()) if isinstance(item, dict) else item
        if not ready:
            todo.append((item, True))
            todo.extend((child, False) for child in inner if isinstance(child, dict | list))
            continue
        parts = [texts[id(child)] if isinstance(child, dict | list) else _scalar(child) for child in inner]
        if isinstance(item, dict):
            named = sorted(_scalar(key) + b":" + part for key, part in zip(item, parts, strict=True))
            texts[id(item)] = b"{" + b",".join(named) + b"}"
        else:
            texts[id(item)] = b"[" + b",".join(sorted(parts)) + b"]"
    return texts[id(value)]


def _scalar(value: Any) -> bytes:
    return dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "surrogatepass")


_INFINITE: Final = Decimal(inf)
# Most pairs of elements of unordered lists to compare.
_MOST_PAIRS: Final = 20_000


def tree_margin(
    prediction: Any,
    gold: Any,
    id_field: str | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    right: Iterable[tuple[Any, Any]] = (),
) -> float | None:
    """Return the smallest tolerance of numbers under which every leaf matches; None if none is needed or none is enough.

    Records are paired by id, or by position without one. Lists in them have the order that the JSON Schema gives; without a `schema`
    they are unordered. `right` are the leaves that the rule itself accepts as equal, as (gold, predicted).
    """
    sides = _by_id(prediction, id_field), _by_id(gold, id_field)
    try:
        needed = _Distance(frozenset()).records(*sides, schema=schema)
        if needed == _INFINITE and (accepted := frozenset((repr(g), repr(p)) for g, p in right if not same(g, p))):
            needed = _Distance(accepted).records(*sides, schema=schema)
        return as_margin(upward(needed))
    except (ArithmeticError, AttributeError, RecursionError, ValueError):
        # NaN, lists too long to be paired, a schema in a form of its own.
        return None


def _by_id(value: Any, id_field: str | None) -> Any:
    if id_field is None or not (isinstance(value, list) and all(isinstance(item, dict) and id_field in item for item in value)):
        return value
    return sorted(value, key=lambda item: str(item[id_field]))


def _apart(gold: Any, prediction: Any) -> Decimal:
    """Return the difference of two numbers, both as written and as `numeric` compares them, whichever is larger."""
    written = abs(Decimal(repr(gold)) - Decimal(repr(prediction)))
    if (isinstance(gold, float) and isinstance(prediction, float)) or max(abs(gold), abs(prediction)) <= 2**53:
        return max(written, Decimal(repr(abs(float(gold) - float(prediction)))))
    exact = abs(Fraction(gold) - Fraction(prediction))
    near = float(exact)
    return max(written, Decimal(repr(near if Fraction(near) >= exact else nextafter(near, inf))))


class _Distance:
    """The tolerance that makes values equal; infinite if none does: for texts that differ, unless they are `accepted` (as `repr`)."""

    def __init__(self, accepted: frozenset[tuple[str, str]]) -> None:
        self._accepted = accepted
        self._n_pairs = 0

    def records(self, prediction: Any, gold: Any, *, schema: Mapping[str, Any] | None) -> Decimal:
        """Return the tolerance for one record, or for n against n."""
        are_many = isinstance(gold, list) and isinstance(prediction, list) and (schema is None or schema.get("type") != "array")
        if not are_many:
            return self.of(prediction, gold, schema)
        if len(gold) != len(prediction):
            return _INFINITE
        return self._largest((p, g, schema) for p, g in zip(prediction, gold, strict=True))

    def _largest(self, pairs: Iterable[tuple[Any, Any, Any]]) -> Decimal:
        needed = Decimal(0)
        for pair in pairs:
            needed = max(needed, self.of(*pair))
            if needed == _INFINITE:
                break
        return needed

    def of(self, prediction: Any, gold: Any, schema: Mapping[str, Any] | None) -> Decimal:
        """Return the tolerance for two values; the closest of gold's alternatives counts."""
        return min(self._plain(prediction, choice, schema) for choice in (choices(gold) if schema is not None else [gold]))

    def _plain(self, prediction: Any, gold: Any, schema: Mapping[str, Any] | None) -> Decimal:
        if isinstance(gold, dict) and isinstance(prediction, dict) and gold.keys() == prediction.keys():
            fields = None if schema is None else schema.get("properties", {})
            return self._largest((prediction[name], gold[name], None if fields is None else fields.get(name, {})) for name in gold)
        if isinstance(gold, list) and isinstance(prediction, list):
            return self._lists(prediction, gold, schema)
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (gold, prediction)):
            return Decimal(0) if gold == prediction else _apart(gold, prediction)
        return Decimal(0) if same(gold, prediction) or (repr(gold), repr(prediction)) in self._accepted else _INFINITE

    def _lists(self, prediction: list[Any], gold: list[Any], schema: Mapping[str, Any] | None) -> Decimal:
        if len(gold) != len(prediction):
            return _INFINITE
        items = None if schema is None else schema.get("items", {})
        align = {"match_by": "hungarian"} if schema is None else schema.get("x-eval-align", {})
        if align.get("ordered") or not align.get("match_by"):
            return self._largest((p, g, items) for p, g in zip(prediction, gold, strict=True))
        self._n_pairs += len(gold) ** 2
        if self._n_pairs > _MOST_PAIRS:
            raise ValueError("more pairs than a margin is worth")
        needed = [[self.of(p, g, items) for p in prediction] for g in gold]
        tried = sorted({distance for row in needed for distance in row if distance < _INFINITE})

        def is_enough(tolerance: Decimal) -> bool:
            near = [[k for k, distance in enumerate(row) if distance <= tolerance] for row in needed]
            return None not in bipartite_matching(near)

        at = bisect_left(tried, True, key=is_enough)
        return tried[at] if at < len(tried) else _INFINITE if gold else Decimal(0)


Dimension = Mapping[str, int]
# symbol -> (factor, base units with powers). `*` marks those that take a prefix.
_TABLE = """
*m 1 m|*g 1/1000 kg|*s 1 s|*A 1 A|*K 1 K|*mol 1 mol|*cd 1 cd|*bit 1 bit|*B 8 bit|*Hz 1 s-1|*N 1 kg m s-2|*Pa 1 kg m-1 s-2
*J 1 kg m2 s-2|*W 1 kg m2 s-3|*V 1 kg m2 s-3 A-1|*C 1 A s|*F 1 kg-1 m-2 s4 A2|*T 1 kg s-2 A-1|*Wb 1 kg m2 s-2 A-1|*H 1 kg m2 s-2 A-2
*Ω 1 kg m2 s-3 A-2|*S 1 kg-1 m-2 s3 A2|*lm 1 cd|*lx 1 cd m-2|*Bq 1 s-1|*Gy 1 m2 s-2|*Sv 1 m2 s-2|*kat 1 mol s-1
*eV 1.602176634e-19 kg m2 s-2|*cal 4.184 kg m2 s-2|*Wh 3600 kg m2 s-2|*Ah 3600 A s|*L 1/1000 m3|*l 1/1000 m3|*bar 100000 kg m-1 s-2
*M 1000 mol m-3|*Da 1.66053906660e-27 kg|*t 1000 kg|*pc 30856775814913673 m|*Ci 37000000000 s-1
*Torr 101325/760 kg m-1 s-2|*torr 101325/760 kg m-1 s-2
*psi 6894.757293168 kg m-1 s-2|*rad 1 rad|*ohm 1 kg m2 s-3 A-2|min 60 s|h 3600 s|hr 3600 s|d 86400 s|wk 604800 s|yr 31557600 s
in 0.0254 m|ft 0.3048 m|yd 0.9144 m|mi 1609.344 m|nmi 1852 m|Å 1/10000000000 m|lb 0.45359237 kg|lbs 0.45359237 kg
oz 0.028349523125 kg|st 6.35029318 kg|atm 101325 kg m-1 s-2|mmHg 133.322387415 kg m-1 s-2|lbf 4.4482216152605 kg m s-2
cc 1/1000000 m3|gal 0.003785411784 m3|ha 10000 m2|acre 4046.8564224 m2|rpm 1/60 s-1|mph 0.44704 m s-1|kph 5/18 m s-1
kn 1852/3600 m s-1|hp 745.6998715822702 kg m2 s-3|BTU 1055.05585262 kg m2 s-2|erg 1/10000000 kg m2 s-2|dyn 1/100000 kg m s-2
P 1/10 kg m-1 s-1|cP 1/1000 kg m-1 s-1|G 1/10000 kg s-2 A-1|Nm 1 kg m2 s-2|% 1/100|‰ 1/1000|ppm 1/1000000|ppb 1/1000000000
wt% 1/100 wt|at% 1/100 at|vol% 1/100 vol|mol% 1/100 molar|sccm 1 sccm|slm 1000 sccm|slpm 1000 sccm|dB 1 dB|dBm 1 dBm
° 0.017453292519943295 rad|deg 0.017453292519943295 rad|$ 1 USD|€ 1 EUR|£ 1 GBP|¥ 1 JPY|₹ 1 INR|₩ 1 KRW|US$ 1 USD|A$ 1 AUD|C$ 1 CAD
¢ 1/100 USD|ct 1/100 EUR
"""
_WORDS = """
meter metre m|gram gramme g|second sec s|ampere amp A|kelvin K|hertz Hz|newton N|pascal Pa|joule J|watt W|volt V|farad F|tesla T
henry H|ohm Ω|liter litre L|minute mins min|hour hrs h|day d|week wk|year yrs yr|inch inches in|foot feet ft|yard yd|mile mi
pound lb|ounce oz|tonne ton t|percent pct %|permille ‰|micron µm|angstrom ångström Å|degree degrees deg|molar M|mole mol
byte B|bits bit|dalton Da|calorie cal|dollar dollars USD|euro euros EUR|cent cents ¢|electronvolt eV|curie Ci|revolution rpm
knot knots kn|acres acre|hectare ha|gauss G|poise P
"""
_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "MXN", "KRW", "ZAR")
_MONEY = frozenset((*_CURRENCIES, "$", "€", "£", "¥", "₹", "₩", "US$", "A$", "C$"))
_POWERS = (24, 21, 18, 15, 12, 9, 6, 3, 2, -1, -2, -3, -6, -6, -9, -12, -15, -18, -21, -24)
_PREFIXES = dict(zip("YZEPTGMkhdcmμunpfazy", _POWERS, strict=True))
_LONG = {
    "tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "centi": -2, "milli": -3, "micro": -6, "nano": -9, "pico": -12, "femto": -15,
}  # fmt: skip

_MANY = {"thousand": 3, "k": 3, "million": 6, "mio": 6, "mn": 6, "m": 6, "billion": 9, "bn": 9, "b": 9, "trillion": 12, "tn": 12}
_AFFINE = {"°C": (Fraction(1), Fraction("273.15")), "°F": (Fraction(5, 9), Fraction("459.67") * 5 / 9), "°R": (Fraction(5, 9), Fraction(0))}
_SAME = (
    (re.compile(r"(?i)\b(?:deg(?:rees?)?\.? ?|° ?)(?:celsius|c)\b|\bcelsius\b|℃"), "°C"),
    (re.compile(r"(?i)\b(?:deg(?:rees?)?\.? ?|° ?)(?:fahrenheit|f)\b|\bfahrenheit\b"), "°F"),
    (re.compile(r"(?i)\b(wt|at|vol|mol)(?:\.|-| )? ?(?:%|percent)"), lambda found: found[1].lower() + "%"),
    (re.compile(r"(?i)\b(?:weight|mass) ?(?:%|percent)|% ?\(?w/w\)?"), "wt%"),
    (re.compile(r"(?i)% ?\(?v/v\)?"), "vol%"),
    (re.compile(r"(?i)\bper\b"), "/"),
    (re.compile(r"(?i)\bsq(?:uare|\.)? ?([a-zµμ]+)\b"), r"\1^2"),
    (re.compile(r"(?i)\bcu(?:bic|\.)? ?([a-zµμ]+)\b"), r"\1^3"),
)
_FACTOR = re.compile(r"(?P<symbol>[^\d\s*·⋅./()^+-]+|1(?=/))(?:(?:\^|\*\*)?\(?(?P<power>[+-]?\d{1,2})\)?)?")
_MONEY_FIRST = re.compile(r"(?P<sign>-?)\s?(?P<unit>(?:US|A|C)?\$|[€£¥₹₩]|[A-Z]{3}(?=[\s\d]))\s?(?=[\d.-])")
_MANY_BEHIND = re.compile(r"(?i)\s?(thousand|million|mio|mn|billion|bn|trillion|tn|[kmb])\b\.?")


class Quantity(NamedTuple):
    """An amount in base units, the base units with their powers, the unit as written and its factor."""

    amount: Fraction
    dimension: Dimension
    unit: str
    scale: Fraction


def parse_quantity(value: Any, *, unit: str = "", extra: Mapping[str, Any] | None = None, locale: str = "") -> Quantity | None:
    """Return the quantity of a number, a text or an object with `value` and `unit`, None if it is none."""
    if isinstance(value, dict):
        own_unit, value = value.get("unit"), value.get("value")
        if isinstance(value, dict | list) or not isinstance(own_unit, str | None):
            return None
        unit = own_unit or unit
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value or value in (float("inf"), float("-inf")):
        return None
    text = plain_text(value if isinstance(value, str) else repr(value))
    if len(text) > 200:
        return None
    if money := _MONEY_FIRST.match(text):
        text = money["sign"] + text[money.end() :] + " " + money["unit"]
    found = number_at_start(text, "" if not isinstance(value, str) else locale)
    if found is None:
        return None
    number, rest = found
    many = _MANY_BEHIND.match(rest)
    if many and (len(many[1]) > 1 or rest[many.end() :].strip() in _MONEY):
        number, rest = number * 10 ** _MANY[many[1].lower()], rest[many.end() :]
    written = rest.strip() or unit
    factor = factor_of(written, extra or {})
    if factor is None:
        return None
    scale, dimension, offset = factor
    return Quantity(number * scale + offset, dimension, written, scale)


def factor_of(unit: str, extra: Mapping[str, Any]) -> tuple[Fraction, Dimension, Fraction] | None:
    """Return (factor to base units, base units with powers, what is added) of a unit, None if the text is none."""
    if unit in extra:
        scale, base = extra[unit]
        known = _factor_of(base)
        return None if known is None else (Fraction(scale) * known[0], known[1], Fraction(0))
    return _factor_of(unit)


@lru_cache(4096)
def _factor_of(unit: str) -> tuple[Fraction, Dimension, Fraction] | None:
    text = plain_text(unit)
    for pattern, instead in _SAME:
        text = pattern.sub(instead, text)
    if text in _AFFINE:
        return _AFFINE[text][0], {"K": 1}, _AFFINE[text][1]
    scale, dimension, place, sign, depth = Fraction(1), dict[str, int](), 0, 1, 0
    while place < len(text):
        if text[place] in " *·⋅()/.":
            # Behind a slash everything divides up to the next slash's own factor or the closing bracket.
            sign = -1 if text[place] == "/" else 1 if text[place] == ")" else sign
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 1
            continue
        found = _FACTOR.match(text, place)
        if found is None or not found["symbol"] or depth < 0:
            return None
        factor, base = symbol_of(found["symbol"])
        power = sign * int(found["power"] or 1)
        scale *= factor**power
        for name, exponent in base.items():
            dimension[name] = dimension.get(name, 0) + exponent * power
        place = found.end()
    return scale, {name: power for name, power in dimension.items() if power}, Fraction(0)


def symbol_of(symbol: str) -> tuple[Fraction, Dimension]:
    """Return (factor, base units) of one symbol or word with its prefix; an unknown word is a unit of its own."""
    if symbol in SYMBOLS:
        return SYMBOLS[symbol]
    if symbol[0] in _PREFIXES and symbol[1:] in _PREFIXED:
        factor, base = SYMBOLS[symbol[1:]]
        return factor * Fraction(10) ** _PREFIXES[symbol[0]], base
    if symbol[:2] == "da" and symbol[2:] in _PREFIXED:
        return SYMBOLS[symbol[2:]][0] * 10, SYMBOLS[symbol[2:]][1]
    word = symbol.casefold()
    for long, power in (("", 0), *_LONG.items()):
        rest = word.removeprefix(long)
        if word.startswith(long) and (known := WORDS.get(rest) or WORDS.get(rest.removesuffix("s"))):
            factor, base = symbol_of(known)
            return factor * Fraction(10) ** power, base
    if symbol[0] in "°" and symbol[1:] in ("C", "F", "K"):
        return (Fraction(5, 9) if symbol[1:] == "F" else Fraction(1)), {"K": 1}
    return Fraction(1), {symbol: 1}


def _read_tables() -> tuple[dict[str, tuple[Fraction, Dimension]], frozenset[str], dict[str, str]]:
    symbols: dict[str, tuple[Fraction, Dimension]] = {"1": (Fraction(1), {})}
    prefixed = set()
    for line in _TABLE.replace("\n", "|").strip("|").split("|"):
        name, factor, *base = line.split()
        if name.startswith("*"):
            prefixed.add(name := name[1:])
        powers = [re.fullmatch(r"(\D+?)(-?\d*)", part) for part in base]
        symbols[plain_text(name)] = Fraction(factor), {found[1]: int(found[2] or 1) for found in powers if found}
    symbols |= {code: (Fraction(1), {code: 1}) for code in _CURRENCIES}
    prefixed |= {*_CURRENCIES, "$", "€", "£"}
    rows = [line.split() for line in _WORDS.replace("\n", "|").strip("|").split("|")]
    return symbols, frozenset(map(plain_text, prefixed)), {word: plain_text(row[-1]) for row in rows for word in row[:-1]}


SYMBOLS, _PREFIXED, WORDS = _read_tables()
