"""The two leaf metrics that Treeval needs by default: equality of values, and likeness of texts; each in the reference's way too."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any, cast
from unicodedata import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """1 where two values are equal, else 0: numbers in value, never a number a boolean or text, texts in Unicode's composed form.

    With `compat`, as the reference has it: a pair with a float within rel 1e-5 of the reference, True like 1.
    """

    name: str = "exact_match"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n times 0 or 1."""
        import numpy as np

        kinds = set(map(type, references)) | set(map(type, predictions))
        if not self.compat:
            same = map(eq, *_exact_sides(references, predictions))
        else:
            same = map(eq, references, predictions) if float not in kinds else map(nearly_equal, references, predictions)
        return np.fromiter(same, dtype=np.float64, count=len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m times 0 or 1."""
        import numpy as np

        sides = (references, predictions) if self.compat else _exact_sides(references, predictions)
        codes = {value: i for i, value in enumerate(dict.fromkeys([*sides[0], *sides[1]]))}
        rows, columns = (np.array(list(map(codes.__getitem__, side)), dtype=np.intp) for side in sides)
        found: Floats = (rows[:, None] == columns[None, :]).astype(np.float64)
        if self.compat and float in set(map(type, references)) | set(map(type, predictions)):
            left, right = ([i for i, v in enumerate(side) if isinstance(v, int | float)] for side in (references, predictions))
            found[np.ix_(left, right)] = _numbers_matrix([references[i] for i in left], [predictions[i] for i in right])
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The share of equal pairs."""
        return {self.name: mean}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levenshtein:
    """1 - indel distance / (len(a) + len(b)) of two texts, 1 for two empty ones or two nulls; other values as Python prints them.

    Two numbers, where a leaf may be a number or a text, are equal (1) or not (0). A text against
    a number or a boolean, or one of these against the other, is 0; with `compat` they are texts too, as in the reference.
    """

    name: str = "levenshtein"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n ratios."""
        import numpy as np
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cpdist

        if not references:
            return np.zeros(0)
        left, right = _texts(references), _texts(predictions)
        # rapidfuzz leaves cells of None unset, so that it never gets any
        found: Floats = cpdist(_filled(left), _filled(right), scorer=Indel.normalized_similarity, dtype=np.float64)
        if None in left or None in right:
            nulls = [[text is None for text in side] for side in (left, right)]
            found = np.where(np.any(nulls, axis=0), np.all(nulls, axis=0).astype(np.float64), found)
        if self.compat or set(map(type, references)) == set(map(type, predictions)) == {str}:
            return found
        pairs = zip(references, predictions, found.tolist(), strict=True)
        return np.fromiter((_of_one_kind(*pair) for pair in pairs), np.float64, len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m ratios; equal texts are compared once where there are many."""
        import numpy as np
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        sides = []
        for side in (_texts(references), _texts(predictions)):
            place = {text: i for i, text in enumerate(dict.fromkeys(side))}
            # To compare a few texts again costs less than to put the others back into their places.
            fewer = 4 * len(place) < 3 * len(side) or None in place
            sides.append((list(place), list(map(place.__getitem__, side))) if fewer else (side, None))
        (left, rows), (right, columns) = sides
        if not left or not right:
            return np.zeros((len(references), len(predictions)))
        found: Floats = cdist(_filled(left), _filled(right), scorer=Indel.normalized_similarity, dtype=np.float64)
        if None in left:
            found[left.index(None), :] = 0.0
        if None in right:
            found[:, right.index(None)] = 0.0
        if None in left and None in right:
            found[left.index(None), right.index(None)] = 1.0
        found = found if rows is None else found.take(rows, axis=0)
        found = found if columns is None else found.take(columns, axis=1)
        if not self.compat and not set(map(type, references)) == set(map(type, predictions)) == {str}:
            rows_of = zip(references, found.tolist(), strict=True)
            listed = [[_of_one_kind(r, p, value) for p, value in zip(predictions, row, strict=True)] for r, row in rows_of]
            found = np.array(listed, dtype=np.float64).reshape(len(references), len(predictions))
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The mean edit distance (a substitution costs 1) under the metric's name, the mean ratio beside it."""
        from rapidfuzz.distance import Levenshtein as Edits

        pairs = zip(_texts(references), _texts(predictions), strict=True)
        distances = [Edits.distance(a or "", b or "") for a, b in pairs]
        distance = sum(distances) / len(distances) if distances else None
        return {self.name: distance, f"{self.name}_ratio": mean}


_KINDS = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}


def _of_one_kind(reference: Any, prediction: Any, likeness: float) -> float:
    """The likeness of the texts of two values of one kind, 0 for two kinds; numbers are equal or not."""
    kind = _KINDS.get(type(reference), "other")
    if kind != _KINDS.get(type(prediction), "other"):
        return 0.0
    return float(reference == prediction) if kind == "number" else likeness


def _exact_sides(references: Sequence[Any], predictions: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Both sides so that `==` says what is equal; as they are where it says so anyway."""
    kinds = (set(map(type, references)) | set(map(type, predictions))) - {type(None)}
    if kinds in ({int}, {bool}, set()) or (kinds == {str} and all(map(str.isascii, filter(None, (*references, *predictions))))):
        return references, predictions
    return list(map(_exactly, references)), list(map(_exactly, predictions))


def _exactly(value: Any) -> Any:
    """What equals another value's only where both are the same: a boolean is no number, a text stands in NFC, NaN is nothing."""
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", value)
    return (value,) if isinstance(value, bool) else object() if value != value else value


def nearly_equal(reference: Any, prediction: Any) -> bool:
    """Whether two scalars are equal, as the reference has it."""
    numbers = isinstance(reference, int | float) and isinstance(prediction, int | float)
    if numbers and (isinstance(reference, float) or isinstance(prediction, float)):
        try:
            return bool(reference == prediction or abs(prediction - reference) <= 1e-8 + 1e-5 * abs(reference) < float("inf"))
        except OverflowError:  # an integer beyond every float
            return False
    return bool(reference == prediction) and (numbers or type(reference) is type(prediction))


def _texts(values: Sequence[Any]) -> list[str | None]:
    if set(map(type, values)) == {str}:
        return list(values)
    return [value if value is None or isinstance(value, str) else str(value) for value in values]


def _filled(texts: list[str | None]) -> list[str]:
    return [text or "" for text in texts] if None in texts else cast("list[str]", texts)


def _numbers_matrix(references: Sequence[float], predictions: Sequence[float]) -> "Floats":
    """The n x m equality of numbers, floats among them; one by one where an integer is too large for a float."""
    import numpy as np

    if any(type(v) is int and abs(v) >= 2**53 for side in (references, predictions) for v in side):
        listed = [[float(nearly_equal(r, p)) for p in predictions] for r in references]
        return np.array(listed, dtype=np.float64).reshape(len(references), len(predictions))
    rows, columns = np.array(references, dtype=np.float64)[:, None], np.array(predictions, dtype=np.float64)[None, :]
    float_rows, float_columns = (np.array([type(v) is float for v in side], dtype=bool) for side in (references, predictions))
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(columns - rows) <= 1e-8 + 1e-5 * np.abs(rows)) & np.isfinite(rows)
    found: Floats = ((rows == columns) | (near & (float_rows[:, None] | float_columns[None, :]))).astype(np.float64)
    return found
