"""A database table of which both sides know only digests: equal ones say that it is gold's table, anything else asks for the rows.

Rows are hashed under a salt that is drawn when the submission lies there, and summed, once with and once without their number; two
different tables agree once in 1e17, whoever made them. Some rows, which the salt chooses, are looked at all the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

from evalsuite.compare.string_columns import array_columns, packed_of
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault, Table


@dataclass(frozen=True, slots=True)
class Digest:
    """The number of rows, and the sums over all rows of their hashes with their number (`ordered`) and without (`bag`);
    `sample` is how the rows with the lowest hashes are written."""

    salt: int
    n_rows: int
    ordered: int
    bag: int
    sample: tuple[str, ...] = ()


class DigestSource(Protocol):
    """Where a table lies whose rows nobody has looked at yet."""

    def digest(self, salt: int) -> Digest | None:
        """The digest under a salt, None for a table whose equality with another needs more than equal cells."""
        ...

    def rows(self) -> Table | Fault:
        """The table, or why it cannot be read. Of gold raises what it is blamed with where the whole file is at fault."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DigestedTable:
    """A table behind a `DigestSource`. A submission's comes with its digest and salt; gold's is worked out under that salt."""

    header: tuple[str, ...]
    types: tuple[str, ...]
    name: str
    source: DigestSource | None = None
    known: Digest | None = None
    digests: dict[int, Digest | None] = field(default_factory=dict, repr=False)

    def digest(self, salt: int) -> Digest | None:
        """The digest under a salt, worked out once."""
        if salt not in self.digests:
            self.digests[salt] = self.known or (self.source.digest(salt) if self.source is not None else None)
        return self.digests[salt]

    def rows(self) -> Table | Fault:
        """The table with its rows, or why they cannot be read; asked for anew each time."""
        if self.source is None:
            raise ValueError("a table that comes from nowhere")
        return self.source.rows()


# A table, of a database held or not.
AnyTable = Table | DigestedTable


def exact_table(table: AnyTable) -> Table:
    """The table with its rows. Raises `FaultError` for one of a database that is at fault itself."""
    found = table.rows() if isinstance(table, DigestedTable) else table
    if isinstance(found, Fault):
        raise FaultError(found.code, found.detail)
    return found


def agreed(prediction: object, gold: object, *, ignore_order: bool) -> Digest | None:
    """Gold's digest where two tables have the same columns of the same types and hold the same rows, None where that is not known."""
    if not (isinstance(prediction, DigestedTable) and isinstance(gold, DigestedTable)) or prediction.known is None:
        return None
    if prediction.header != gold.header or prediction.types != gold.types:
        return None
    mine, theirs = gold.digest(prediction.known.salt), prediction.known
    if mine is None or (mine.n_rows, mine.bag, mine.sample) != (theirs.n_rows, theirs.bag, theirs.sample):
        return None
    return mine if ignore_order or mine.ordered == theirs.ordered else None


def with_rows(tables: Mapping[str, AnyTable | Fault], names: Iterable[str]) -> dict[str, AnyTable | Fault]:
    """The tables of a database, those of these names (without case) with their rows, or the fault that keeps them from being read."""
    wanted = set(names)
    return {name: table.rows() if isinstance(table, DigestedTable) and name.lower() in wanted else table for name, table in tables.items()}


def as_values(form: Any) -> Any:
    """A form with its tables as Python values. Raises what gold is blamed with."""
    if isinstance(form, list):
        return [as_values(table) for table in form]
    if isinstance(form, DigestedTable):
        return as_values(form.rows())
    if isinstance(form, Table):
        is_plain = packed_of(form) is None and array_columns(form) is None
        return form if is_plain else replace(form, columns=tuple(map(list, form.columns)))
    return {name: as_values(table) for name, table in form.items()} if isinstance(form, Mapping) else form


def digested_tables(forms: Mapping[str, Any]) -> Sequence[DigestedTable]:
    """All such tables of a prediction, in their order."""
    named = [form for form in forms.values() if isinstance(form, Mapping)]
    return [table for form in named for table in form.values() if isinstance(table, DigestedTable)]


def bound(forms: Mapping[str, Any], source: Callable[[int], DigestSource]) -> dict[str, Any]:
    """The forms with each of their `digested_tables` behind the source for its place among them."""
    places = count()

    def with_source(form: Any) -> Any:
        return replace(form, source=source(next(places))) if isinstance(form, DigestedTable) else form

    return {
        name: {title: with_source(table) for title, table in form.items()} if isinstance(form, Mapping) else form
        for name, form in forms.items()
    }
