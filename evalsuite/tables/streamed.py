"""A table that is not held in memory: its text comes in blocks, as often as it is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from evalsuite.errors import FaultError
from evalsuite.tables.digested import DatabaseTable
from evalsuite.types import Fault, Table

if TYPE_CHECKING:
    from evalsuite.tables.blocks import Block


class OddError(Exception):
    """The file is not as plain as the quick way needs it; `whole` decides what it is."""


class AnswerFaultError(Exception):
    """The whole table of a submission cannot be read after all; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class Source(Protocol):
    """Where a streamed table comes from."""

    def blocks(self) -> "Iterator[Block]":
        """The rows in file order, each call from the beginning. Raises `OddError` where the quick way ends."""
        ...

    def whole(self) -> Table:
        """The table as the exact reader makes it. Raises what the side it belongs to is blamed with."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedTable:
    """A table of text behind a `Source`; `exact` is what the exact reader makes of it, held from the first time it is asked for.

    `compared` holds what a reading of it beside a gold table told, so that both rules rest on one reading.
    """

    header: tuple[str, ...]
    name: str
    source: Source
    compared: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def exact(self) -> Table:
        """The whole table in memory."""
        return self.source.whole()


# A table of text, held or not; and any table at all.
TextTable = Table | StreamedTable
AnyTable = TextTable | DatabaseTable


def exact_table(table: AnyTable) -> Table:
    """The table as one that is held in memory. Raises `FaultError` for one of a database that is at fault itself."""
    found = table if isinstance(table, Table) else table.exact
    if isinstance(found, Fault):
        raise FaultError(found.code, found.detail)
    return found
