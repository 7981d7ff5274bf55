"""Which record of an answer stands against which of gold: by id or by position; a line that is no record shifts nothing."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalsuite.errors import FaultError
from evalsuite.trees.gold_validation import check_id, check_unique
from evalsuite.trees.json_values import ABSENT, exact_text
from evalsuite.types import BROKEN_RECORD

Joined = list[tuple[Any, Any, Any]]  # (the record's id, gold's record or ABSENT, the answer's or ABSENT or a `Lost`)


class Lost(NamedTuple):
    """A place of an answer where no record could be read: the line, and why ("" where the line is blank)."""

    line: int
    cause: str

    @property
    def reason(self) -> str:
        """One sentence."""
        return f"line {self.line}: {self.cause}" if self.cause else f"line {self.line} is blank"


def read_broken(answer: Any, *, repair: bool) -> tuple[Any, int]:
    """(the answer with a `Lost` for each record that could not be read, how many were repaired).

    With `repair` a record that only stood in fences or prose, or had a comma too many, counts as what it says.

    Raises:
        FaultError: the answer as a whole could not be read.
    """
    whole = _broken(answer)
    if whole is not None:
        if repair and "repaired" in whole:
            return whole["repaired"], 1
        raise FaultError("BAD_JSON", str(whole.get("cause", "")))
    if not isinstance(answer, list):
        return answer, 0
    records, n_repaired = [], 0
    for record in answer:
        broken = _broken(record)
        if broken is not None and repair and "repaired" in broken:
            record, n_repaired = broken["repaired"], n_repaired + 1
        elif broken is not None:
            record = Lost(broken["line"] if isinstance(broken.get("line"), int) else 0, str(broken.get("cause", "")))
        records.append(record)
    return records, n_repaired


def _broken(value: Any) -> dict[str, Any] | None:
    broken = value.get(BROKEN_RECORD) if isinstance(value, dict) and len(value) == 1 else None
    return broken if isinstance(broken, dict) else None


def in_step(found: Sequence[Any], n: int) -> list[Any]:
    """The answer's records by position, as many as gold has (n) where broken and blank lines account for the difference.

    A blank line stands for a record only where one is missing. Of two broken lines side by side one goes where there is one too many: a
    line was cut in two; a broken line counts twice where there is one too few: two lines became one.
    """
    records = list(found)
    blank = [i for i, record in enumerate(records) if isinstance(record, Lost) and not record.cause]
    for i in reversed(blank[: max(0, len(records) - n)]):
        del records[i]
    i = len(records) - 1
    while len(records) > n and i > 0:
        if isinstance(records[i], Lost) and isinstance(records[i - 1], Lost):
            del records[i]
        i -= 1
    i = 0
    while len(records) < n and i < len(records):
        if isinstance(records[i], Lost):
            records.insert(i, records[i])
            i += 1
        i += 1
    return records


def join_by_id(gold: Sequence[Any], extracted: Sequence[Any], id_field: str) -> Joined | None:
    """(id, gold, answer) in gold's order, then the answer's records that gold lacks; None where none of the answer's carries an id.

    Of several records with one id the first by content counts, whatever their order; the others are invented. A record without an id
    stands for gold's at its place where that has no partner and both sides have as many; a `Lost` one and null are never invented.

    Raises:
        GoldValidationError: a gold record has no usable id, or two have the same.
    """
    ids = [check_id(record, id_field, index) for index, record in enumerate(gold)]
    check_unique(ids, id_field)
    if not any(isinstance(record, dict) and id_field in record for record in extracted):
        return None
    keys = [(type(label), label) for label in ids]
    places = set(keys)
    found: dict[Any, Any] = {}
    invented = []
    nameless = []
    for index, record in enumerate(extracted):
        label = record.get(id_field) if isinstance(record, dict) else None
        key = (type(label), label) if isinstance(label, str | int) else None
        if key is None:
            nameless.append((index, record))
        elif key not in places:
            invented.append((label, ABSENT, record))
        elif key not in found:
            found[key] = record
        else:
            first, other = sorted((found[key], record), key=exact_text)
            found[key] = first
            invented.append((label, ABSENT, other))
    lost = [record for _, record in nameless if record is None or isinstance(record, Lost)]
    for index, record in nameless:
        if record is None or isinstance(record, Lost):
            continue
        if len(gold) == len(extracted) and keys[index] not in found:
            found[keys[index]] = record
        else:
            invented.append((None, ABSENT, record))
    reasons = iter(lost)
    partners = [found[key] if key in found else next(reasons, ABSENT) for key in keys]
    joined = list(zip(ids, gold, partners, strict=True))
    return [*joined, *invented]


def pair_by_position(gold: Sequence[Any], extracted: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Both sides at one length: `ABSENT` for a record that a side does not have."""
    found = in_step(extracted, len(gold))
    n = max(len(gold), len(found))
    return [*gold, *[ABSENT] * (n - len(gold))], [*found, *[ABSENT] * (n - len(found))]
