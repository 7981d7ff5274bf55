"""Database tables compared by digest: equal digests mean that it is gold's table, otherwise the rows are read.

Rows are hashed under a salt that is drawn after the submission exists, and summed, once with and once without their number; two different
tables agree once in 1e17, whoever made them. Some rows, which the salt selects, are compared directly as well.
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
    """The number of rows, and the sums over all rows of their hashes with their number (`ordered`) and without (`bag`); `sample` is the
    text of the rows with the lowest hashes.
    """

    salt: int
    n_rows: int
    ordered: int
    bag: int
    sample: tuple[str, ...] = ()


class DigestSource(Protocol):
    """The source of a table whose rows have not been read yet."""

    def digest(self, salt: int) -> Digest | None:
        """The digest under a salt, None for a table whose equality with another needs more than equal cells."""
        ...

    def rows(self) -> Table | Fault:
        """The table, or why it cannot be read. For gold, raises the gold fault if the whole file is at fault."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DigestedTable:
    """A table behind a `DigestSource`. A submission's table comes with its digest and salt; gold's digest is computed under that salt."""

    header: tuple[str, ...]
    types: tuple[str, ...]
    name: str
    source: DigestSource | None = None
    known: Digest | None = None
    digests: dict[int, Digest | None] = field(default_factory=dict, repr=False)

    def digest(self, salt: int) -> Digest | None:
        """The digest under a salt, computed once."""
        if salt not in self.digests:
            self.digests[salt] = self.known or (self.source.digest(salt) if self.source is not None else None)
        return self.digests[salt]

    def rows(self) -> Table | Fault:
        """The table with its rows, or why they cannot be read; read again on each call."""
        if self.source is None:
            raise ValueError("a table that comes from nowhere")
        return self.source.rows()


# A table, with or without its rows in memory.
AnyTable = Table | DigestedTable


def exact_table(table: AnyTable) -> Table:
    """The table with its rows. Raises `FaultError` for a table of a database that is itself at fault."""
    found = table.rows() if isinstance(table, DigestedTable) else table
    if isinstance(found, Fault):
        raise FaultError(found.code, found.detail)
    return found


def equal_digest(prediction: object, gold: object, *, ignore_order: bool) -> Digest | None:
    """Gold's digest if two tables have the same columns of the same types and contain the same rows, None if that is not certain."""
    if not (isinstance(prediction, DigestedTable) and isinstance(gold, DigestedTable)) or prediction.known is None:
        return None
    if prediction.header != gold.header or prediction.types != gold.types:
        return None
    mine, theirs = gold.digest(prediction.known.salt), prediction.known
    if mine is None or (mine.n_rows, mine.bag, mine.sample) != (theirs.n_rows, theirs.bag, theirs.sample):
        return None
    return mine if ignore_order or mine.ordered == theirs.ordered else None


def with_rows(tables: Mapping[str, AnyTable | Fault], names: Iterable[str]) -> dict[str, AnyTable | Fault]:
    """The tables of a database, those of these names (case ignored) with their rows, or the fault that prevents reading them."""
    wanted = set(names)
    return {name: table.rows() if isinstance(table, DigestedTable) and name.lower() in wanted else table for name, table in tables.items()}


def as_values(form: Any) -> Any:
    """A payload with its tables as Python values. Raises gold faults."""
    if isinstance(form, list):
        return [as_values(table) for table in form]
    if isinstance(form, DigestedTable):
        return as_values(form.rows())
    if isinstance(form, Table):
        is_plain = packed_of(form) is None and array_columns(form) is None
        return form if is_plain else replace(form, columns=tuple(map(list, form.columns)))
    return {name: as_values(table) for name, table in form.items()} if isinstance(form, Mapping) else form


def digested_tables(forms: Mapping[str, Any]) -> Sequence[DigestedTable]:
    """All digested tables of a prediction, in their order."""
    named = [form for form in forms.values() if isinstance(form, Mapping)]
    return [table for form in named for table in form.values() if isinstance(table, DigestedTable)]


def bound(forms: Mapping[str, Any], source: Callable[[int], DigestSource]) -> dict[str, Any]:
    """The payloads with each of their `digested_tables` bound to the source for its index."""
    places = count()

    def with_source(form: Any) -> Any:
        return replace(form, source=source(next(places))) if isinstance(form, DigestedTable) else form

    return {
        name: {title: with_source(table) for title, table in form.items()} if isinstance(form, Mapping) else form
        for name, form in forms.items()
    }
