"""One invoice as a Pydantic model, as dataclasses and as TypedDicts; the tests import it, and copy it into gold folders."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Literal, TypedDict

from pydantic import BaseModel


class Unit(Enum):
    """A unit of a line."""

    PIECE = "piece"
    HOUR = "hour"


class Tax(BaseModel):
    """A tax of a line, without a key."""

    rate: float
    name: str


class Line(BaseModel):
    """A line of an invoice, with a key."""

    sku: str
    quantity: int
    unit: Unit
    price: Decimal
    taxes: list[Tax]


class Invoice(BaseModel):
    """An invoice."""

    number: str
    issued: date
    paid_at: datetime | None = None
    kind: Literal["invoice", "credit note"]
    total: Decimal
    weight: float
    is_open: bool
    remark: str | None = None
    lines: list[Line]


@dataclass
class TaxFields:
    """A tax of a line, without a key."""

    rate: float
    name: str


@dataclass
class LineFields:
    """A line of an invoice, with a key."""

    sku: str
    quantity: int
    unit: Unit
    price: Decimal
    taxes: list[TaxFields]


@dataclass
class InvoiceFields:
    """An invoice."""

    number: str
    issued: date
    kind: Literal["invoice", "credit note"]
    total: Decimal
    weight: float
    is_open: bool
    lines: list[LineFields]
    paid_at: datetime | None = None
    remark: str | None = None


class TaxDict(TypedDict):
    """A tax of a line, without a key."""

    rate: float
    name: str


class LineDict(TypedDict):
    """A line of an invoice, with a key."""

    sku: str
    quantity: int
    unit: Unit
    price: Decimal
    taxes: list[TaxDict]


class InvoiceDict(TypedDict, total=False):
    """An invoice."""

    number: str
    issued: date
    paid_at: datetime | None
    kind: Literal["invoice", "credit note"]
    total: Decimal
    weight: float
    is_open: bool
    remark: str | None
    lines: list[LineDict]
