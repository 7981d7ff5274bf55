"""One invoice as a Pydantic model, as dataclasses and as TypedDicts; the tests import it, and copy it into gold folders."""

from dataclasses import make_dataclass
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


# The same as dataclasses, where fields without a default come first, and as TypedDicts.
TaxFields = make_dataclass("TaxFields", Tax.__annotations__.items())
LineFields = make_dataclass("LineFields", {**Line.__annotations__, "taxes": list[TaxFields]}.items())  # type: ignore[valid-type]
OPTIONAL = ("paid_at", "remark")
NEEDED = [(name, hint) for name, hint in Invoice.__annotations__.items() if name not in (*OPTIONAL, "lines")]
InvoiceFields = make_dataclass(
    "InvoiceFields", [*NEEDED, ("lines", list[LineFields]), *((name, Invoice.__annotations__[name], None) for name in OPTIONAL)]
)
TaxDict = TypedDict("TaxDict", Tax.__annotations__)  # type: ignore[misc]
LineDict = TypedDict("LineDict", {**Line.__annotations__, "taxes": list[TaxDict]})  # type: ignore[misc]
InvoiceDict = TypedDict("InvoiceDict", {**Invoice.__annotations__, "lines": list[LineDict]}, total=False)  # type: ignore[misc]
