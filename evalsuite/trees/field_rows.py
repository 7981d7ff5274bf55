"""Rows of one record: expected and found values, field by field along the schema."""

import copy
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault
from evalsuite.trees.field_matching import ContentOrder, Lists, array_rows
from evalsuite.trees.field_plan import Plan, compare, judge, transformed, try_transformed
from evalsuite.trees.field_results import ComparatorResult, FieldResult, RowStatus
from evalsuite.trees.field_totals import Tally, tally
from evalsuite.trees.json_values import ByObject, TreeLimitError, TreeLimits, alternatives_of, python_name, same

if TYPE_CHECKING:
    from evalsuite.trees.record_scoring import Dispatcher


Rows = list[FieldResult]
Aligned = tuple[int | None, ...]


class Walk:
    """Writes the rows of one record.

    `alternatives` says whether gold holds any, `dispatch` lets the batch comparators judge the pending ones among some rows, `missing`
    collects the paths of required fields that were left out, `faults` what somebody's comparators and transforms failed with. `rate` is
    the F1 at which alignments and alternatives are weighed, `has_chosen` whether there was one to weigh.
    """

    def __init__(
        self,
        *,
        compat: bool,
        limits: TreeLimits,
        dispatch: "Dispatcher",
        id_field: str | None = None,
        alternatives: bool = False,
    ) -> None:
        self.compat = compat
        self.limits = limits
        self.dispatch = dispatch
        self.faults: list[Fault] = []
        self.id_field = id_field
        self.alternatives = alternatives and not compat
        self.missing: list[str] = []
        self.rate, self.has_chosen = 1.0, False
        self.order = ContentOrder()
        self.key_codes: dict[Any, int] = {}
        self.judged: ByObject[list[tuple[Rows, list[str]]]] = ByObject()
        self._lists: ByObject[Lists] = ByObject()

    def gain_of(self, counts: Tally) -> float:
        """What some rows add to the record at its rate: their scores twice, less the rate times their weight."""
        return 2 * counts.scored - self.rate * counts.weight

    def lists_of(self, plan: Plan, gold: list[Any], extracted: list[Any]) -> Lists:
        """Two lists crossed; once for a record, whatever its rate."""
        return self._lists.get(plan.path, (gold, extracted), lambda: Lists(self, plan, [gold], [extracted]))

    def pair(self, plan: Plan, gold: Any, extracted: Any, path: str, aligned: Aligned, out: Rows) -> None:
        """Rows for two values that are both there (None is a value)."""
        if self.alternatives and (choices := alternatives_of(gold)) is not None:
            self.best_of(plan, choices, extracted, path, aligned, out)
        elif plan.skip and not (self.compat and plan.structural):
            out.append(self.skipped_row(plan, gold, extracted, path, aligned))
        elif not plan.structural:
            self.unit(plan, gold, extracted, path, aligned, out)
        elif not (isinstance(gold, plan.expects) and isinstance(extracted, plan.expects)):
            self.unlike(plan, gold, extracted, path, aligned, out)
        elif plan.is_array and isinstance(gold, list) and isinstance(extracted, list):
            array_rows(self, plan, gold, extracted, path, aligned, out)
        elif isinstance(gold, dict) and isinstance(extracted, dict):
            self.object(plan, gold, extracted, path, aligned, out)
        else:
            self.unlike(plan, gold, extracted, path, aligned, out)

    def skipped_row(self, plan: Plan, gold: Any, extracted: Any, path: str, aligned: Aligned) -> FieldResult:
        """The row of a field that does not count."""
        return FieldResult(path, 0.0, "", gold, extracted, "skipped", None, None, None, plan.path, aligned)

    def unit(self, plan: Plan, gold: Any, extracted: Any, path: str, aligned: Aligned, out: Rows) -> None:
        """The one row of a field that a comparator judges; `error` where somebody's comparator or transform failed."""
        status: RowStatus = "pending"
        score, reason = 0.0, None
        if plan.trusted is not None:
            verdict = plan.trusted(gold, extracted, plan.params)
            score, status, reason = verdict.score, "match" if verdict.score == 1.0 else "mismatch", verdict.reason
        row = FieldResult(
            path, score, plan.name, gold, extracted, status, reason, gold, extracted, plan.path, aligned, plan.weight, plan.field
        )
        out.append(row)
        if plan.trusted is not None:
            return
        try:
            self.compare(plan, row)
        except TreeLimitError:
            raise
        except FaultError as error:
            row.status, row.reason = "error", error.fault.detail
            self.faults.append(error.fault)

    def compare(self, plan: Plan, row: FieldResult) -> None:
        """Transform and compare the two values of a row, and write what came of it into the row."""
        problem = ""
        g, e = row.gold_value, row.extracted_value
        if plan.transforms and self.compat:
            g, e = transformed(plan, g), transformed(plan, e)
        elif plan.transforms:
            g, problem = try_transformed(plan, g)
            e, also = try_transformed(plan, e)
            problem = problem or also
        row.gold_compared, row.extracted_compared = g, e
        if problem and plan.accepts_itself and same(row.gold_value, row.extracted_value):
            row.status, row.score = "match", 1.0
        elif problem:
            row.status, row.reason = "mismatch", problem
        elif plan.batch:
            row.params = plan.params
        else:
            self.settle(row, compare(plan, g, e) if self.compat else judge(plan, g, e))

    def settle(self, row: FieldResult, result: ComparatorResult) -> None:
        """Write a comparator's answer into its row."""
        row.score, row.reason = result.score, result.reason
        if result.skip and not self.compat:
            row.status, row.score = "skipped", 0.0
        else:
            row.status = "match" if result.score == 1.0 else "mismatch"

    def unlike(self, plan: Plan, gold: Any, extracted: Any, path: str, aligned: Aligned, out: Rows) -> None:
        """Two values of a container of which at least one is no such container."""
        if gold is None and extracted is None:
            return
        if extracted is None or gold is None:
            self.one_side(plan, gold, extracted, path, aligned, out)
        elif (gold == extracted) if self.compat else same(gold, extracted):
            out.append(self.container_row(plan, gold, extracted, "match", None, path, aligned))
        else:
            reason = f"type mismatch: gold {python_name(gold)}, extracted {python_name(extracted)}"
            # Gold {} expects nothing that could be recalled, so whatever else stands there is invented.
            status: RowStatus = "hallucination" if gold == {} and plan.expects is dict and not self.compat else "mismatch"
            out.append(self.container_row(plan, gold, extracted, status, reason, path, aligned))

    def container_row(
        self, plan: Plan, gold: Any, extracted: Any, status: RowStatus, reason: str | None, path: str, aligned: Aligned
    ) -> FieldResult:
        """The one row of a container that is compared as a whole; the reference keeps no compared values there."""
        row = FieldResult(path, float(status == "match"), "", gold, extracted, status, reason)
        row.schema_path, row.aligned, row.weight = plan.path, aligned, plan.weight
        if not self.compat:
            row.gold_compared, row.extracted_compared = gold, extracted
        return row

    def one_side(self, plan: Plan, gold: Any, extracted: Any, path: str, aligned: Aligned, out: Rows) -> None:
        """A container against null."""
        value, status = (gold, "omission") if extracted is None else (extracted, "hallucination")
        if isinstance(value, plan.expects) or not self.compat:
            self.one_sided(plan, value, status, path, aligned, out)  # type: ignore[arg-type]
        else:
            out.append(self.lone_row(plan, "", value, status, path, aligned))  # type: ignore[arg-type]

    def object(self, plan: Plan, gold: dict[str, Any], extracted: dict[str, Any], path: str, aligned: Aligned, out: Rows) -> None:
        """Two objects: the schema's fields in its order, then what the schema does not know."""
        if not gold and not extracted:
            out.append(self.container_row(plan, gold, extracted, "match", None, path, aligned))
            return
        for child in plan.children:
            key = child.key
            in_gold, in_extracted = key in gold, key in extracted
            if child.skip:
                if self.compat or (in_gold and in_extracted):
                    out.append(self.skipped_row(child, gold.get(key), extracted.get(key), path + child.suffix, aligned))
            elif in_gold and in_extracted:
                compare = self.pair if child.structural or self.alternatives else self.unit
                compare(child, gold[key], extracted[key], path + child.suffix, aligned, out)
            elif in_gold:
                if child.required:
                    self.missing.append(path + child.suffix)
                self.one_sided(child, gold[key], "omission", path + child.suffix, aligned, out)
            elif in_extracted:
                self.one_sided(child, extracted[key], "hallucination", path + child.suffix, aligned, out)
        if not extracted.keys() <= plan.by_key.keys():
            self.unknown(plan, gold, extracted, path, aligned, out)

    def unknown(self, plan: Plan, gold: dict[str, Any], extracted: dict[str, Any], path: str, aligned: Aligned, out: Rows) -> None:
        """Keys that the schema does not know: invented, unless gold has them too, they are ignored, or name the record."""
        dot = "." if path else ""
        for key in sorted(extracted.keys() - plan.by_key.keys()):
            status, reason = self.unknown_status(plan, key, gold)
            if status is not None:
                schema_path = f"{plan.path}.*" if plan.path else "*"
                row = FieldResult(f"{path}{dot}{key}", 0.0, "", gold.get(key), extracted[key], status, reason)
                row.schema_path, row.aligned = schema_path, aligned
                out.append(row)

    def unknown_status(self, plan: Plan, key: str, gold: dict[str, Any]) -> tuple[RowStatus | None, str | None]:
        """(status, reason) of an extracted key that the schema does not know, (None, None) for no row."""
        if self.compat:
            return "hallucination", None
        ignore = plan.node.ignore
        if ignore is True or (ignore and key in ignore) or (plan.path == "" and key == self.id_field):
            return None, None
        return ("skipped", "not in the schema") if key in gold else ("hallucination", None)

    def one_sided(self, plan: Plan, value: Any, status: RowStatus, path: str, aligned: Aligned, out: Rows) -> None:
        """Rows for a value that only one side has: one a leaf, containers by their content."""
        if plan.skip:
            return
        if self.alternatives and status == "omission" and (choices := alternatives_of(value)) is not None:
            sides = [self.sides(plan, choice, status, path, aligned) for choice in choices]
            out.extend(sides[min(range(len(sides)), key=lambda place: len(sides[place]))])
        elif plan.optional and status == "omission":
            row = self.lone_row(plan, plan.name, value, status, path, aligned)
            row.status, row.reason = "skipped", "optional, left out"
            out.append(row)
        elif not (plan.structural or (self.compat and plan.node.has_children)):
            out.append(self.lone_row(plan, plan.name, value, status, path, aligned))
        elif plan.is_array:
            self.one_sided_list(plan, value, status, path, aligned, out)
        elif isinstance(value, dict):
            for child in plan.children:
                if child.key in value:
                    self.one_sided(child, value[child.key], status, path + child.suffix, aligned, out)
        elif value is not None and not self.compat:
            out.append(self.lone_row(plan, plan.name, value, status, path, aligned))

    def one_sided_list(self, plan: Plan, value: Any, status: RowStatus, path: str, aligned: Aligned, out: Rows) -> None:
        if not isinstance(value, list) or not value:
            out.append(self.lone_row(plan, "", value, status, path, aligned))
            return
        items, invented = plan.children[0], status == "hallucination"
        for place, item in enumerate(value):
            index = -1 - place if invented else place
            self.one_sided(items, item, status, f"{path}[{index}]", (*aligned, place if invented else None), out)

    def sides(self, plan: Plan, value: Any, status: RowStatus, path: str, aligned: Aligned) -> Rows:
        """The rows of `one_sided`, as a list of their own."""
        rows: Rows = []
        self.one_sided(plan, value, status, path, aligned, rows)
        return rows

    def lone_row(self, plan: Plan, name: str, value: Any, status: RowStatus, path: str, aligned: Aligned) -> FieldResult:
        """One row of a value that only one side has."""
        gold, extracted = (value, None) if status == "omission" else (None, value)
        return FieldResult(path, 0.0, name, gold, extracted, status, None, None, None, plan.path, aligned, plan.weight, plan.field)

    def best_of(self, plan: Plan, choices: list[Any], extracted: Any, path: str, aligned: Aligned, out: Rows) -> None:
        """The rows of the accepted value that is worth most at the record's rate; of equals the first. Judged once for a record."""
        self.has_chosen = True

        def options_of() -> list[tuple[Rows, list[str]]]:
            options, before = [], self.missing
            for choice in choices:
                rows: Rows = []
                self.missing = []
                self.pair(plan, choice, extracted, path, aligned, rows)
                if plan.any_batch:
                    self.dispatch(rows)
                options.append((rows, self.missing))
            self.missing = before
            return options

        options = self.judged.get((path, aligned), (choices,), options_of) if plan.any_batch else options_of()
        worth = [self.gain_of(tally(rows)) for rows, _ in options]
        rows, missing = options[worth.index(max(worth))]
        self.missing = self.missing + missing
        out.extend(map(copy.copy, rows) if plan.any_batch else rows)
