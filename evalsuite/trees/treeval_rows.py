"""What a Treeval score rests on: a row for each expected or predicted leaf, made when somebody reads them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

RowStatus = Literal["match", "partial", "mismatch", "omission", "hallucination", "both_null"]


class Row(NamedTuple):
    """What was expected and what was got at one place.

    `path` carries the positions of the expected items (of the predicted one for a surplus item); `expected_index` and `got_index` are those
    of the innermost list. `score` is the mean of the leaf's metrics in 0..1, None where nothing was scored; `flag` names a wrong container
    or type.
    """

    record: int
    path: str
    status: RowStatus
    expected: Any
    got: Any
    score: float | None
    expected_index: int | None
    got_index: int | None
    flag: str


class Rows(Sequence[Row]):
    """The rows of a walk in their order, made when somebody reads them: most who want a score read none."""

    def __init__(self) -> None:
        self._made: list[Row] = []
        self._later: list[Callable[[], Iterable[Row]]] = []

    def append(self, row: Row) -> None:
        """Add one row."""
        self._later.append(lambda: [row])

    def later(self, make: Callable[[], Iterable[Row]]) -> None:
        """Add rows that are made when they are read."""
        self._later.append(make)

    def all(self) -> list[Row]:
        """Every row."""
        waiting, self._later = self._later, []
        for make in waiting:
            self._made.extend(make())
        return self._made

    def __iter__(self) -> Iterator[Row]:
        """One row after the other; those that are not made yet are not kept, which is what a long batch needs."""
        made, later = list(self._made), list(self._later)
        yield from made
        for make in later:
            yield from make()

    def __len__(self) -> int:
        return len(self.all())

    def __getitem__(self, place: Any) -> Any:
        return self.all()[place]

    def __eq__(self, other: object) -> bool:
        return self.all() == (other.all() if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.all())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.all(),)
