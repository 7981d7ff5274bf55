"""Batch comparators get all rows of a record that name them at once: an LLM judge, or fields that only count together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsuite import foreign
from evalsuite.errors import FaultError
from evalsuite.trees.judging import checked
from evalsuite.trees.limits import TreeLimitError
from evalsuite.trees.registries import Registry
from evalsuite.trees.results import ComparatorResult, FieldResult
from evalsuite.types import Fault

if TYPE_CHECKING:
    from evalsuite.trees.fields import Walk


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One field to judge. `name` is the field's own name, `parent` the path of the object it stands in.

    `one_sided` are the names of fields beside it under the same comparator that only one side has; None in compat mode.
    """

    path: str
    gold_raw: Any
    extracted_raw: Any
    gold_compared: Any
    extracted_compared: Any
    params: Mapping[str, Any]
    name: str = ""
    parent: str = ""
    one_sided: tuple[str, ...] | None = None


class Dispatcher:
    """Lets the batch comparators of a run judge pending rows, in place; `faults` collects what they failed with."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.faults: list[Fault] = []

    def __call__(self, rows: Sequence[FieldResult]) -> None:
        """Judge the pending rows: one call a comparator, groups in order of their first row."""
        groups: dict[str, list[FieldResult]] = {}
        for row in rows:
            if row.status == "pending":
                groups.setdefault(row.comparator, []).append(row)
        for name, group in groups.items():
            items = self.items(group, rows)
            for row, verdict in zip(group, self.answers(name, items), strict=True):
                self.settle(row, verdict)

    def items(self, group: list[FieldResult], rows: Sequence[FieldResult]) -> list[BatchItem]:
        beside: dict[tuple[str, str], list[str]] = {}
        if not self.registry.compat:
            for row in rows:
                if row.status in ("omission", "hallucination") and row.comparator == group[0].comparator:
                    beside.setdefault((row.comparator, parent_of(row)), []).append(row.name)
        found = []
        for row in group:
            parent = parent_of(row)
            one_sided = None if self.registry.compat else tuple(beside.get((row.comparator, parent), ()))
            values = row.gold_value, row.extracted_value, row.gold_compared, row.extracted_compared
            found.append(BatchItem(row.path, *values, row.params or {}, row.name, parent, one_sided))
        return found

    def answers(self, name: str, items: list[BatchItem]) -> list[Any]:
        """One answer an item; the fault for each where the comparator failed as a whole, None where it gave too few."""
        what = f"comparator {name}"
        try:
            found = foreign.call(what, self.registry.comparator(name), items)
        except TreeLimitError:
            raise
        except FaultError as error:
            return [error.fault] * len(items)
        if not isinstance(found, list):
            return [Fault(code="SCORER_ERROR", detail=f"{what} gave {type(found).__name__}, expected a list")] * len(items)
        return [*found[: len(items)], *[None] * (len(items) - len(found))]

    def settle(self, row: FieldResult, verdict: Any) -> None:
        """Write an answer into its row: None is no verdict, and of a fault the record's readers are told."""
        row.params = None
        what = f"comparator {row.comparator}"
        if isinstance(verdict, ComparatorResult):
            try:
                verdict = checked(what, verdict, row.comparator)
            except FaultError as error:
                verdict = error.fault
        elif verdict is not None and not isinstance(verdict, Fault):
            verdict = Fault(code="SCORER_ERROR", detail=f"{what} gave {type(verdict).__name__}, expected a ComparatorResult")
        if verdict is None or isinstance(verdict, Fault):
            row.status = "batch_error"
            if verdict is not None:
                self.faults.append(verdict)
                row.reason = None if self.registry.compat else verdict.detail
            return
        row.reason = verdict.reason
        if verdict.skip:
            row.status, row.score = "skipped", 0.0
        else:
            row.score = verdict.score
            row.status = "match" if verdict.score >= 1.0 else "mismatch"


def parent_of(row: FieldResult) -> str:
    """The path of the object that a row's field stands in."""
    return row.path.removesuffix(row.name).removesuffix(".") if row.name != "[]" else row.path


def is_independent(walk: "Walk", name: str) -> bool:
    """Whether a batch comparator judges every item alone (`independent = True`), so that items of several pairs may share a call."""
    return getattr(walk.dispatch.registry.comparator(name), "independent", False) is True
