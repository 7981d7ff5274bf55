"""Compare extracted records with gold, field by field: rows, records and run, or a stream of pairs with its summary.

Batch comparators get all their rows of a record at once: an LLM judge, or fields that only count together. Records are paired by id or by
position; a line that is not a record does not shift the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError, describe
from evalsuite.core.gc_tuning import without_collection
from evalsuite.core.types import BROKEN_RECORD, Fault
from evalsuite.trees.comparators import Registry
from evalsuite.trees.eval_schema import prepare
from evalsuite.trees.field_plan import Plan, checked, compile_plan
from evalsuite.trees.field_results import ComparatorResult, FieldResult, Notify, RecordResult, RunResult, Summary
from evalsuite.trees.field_rows import Walk
from evalsuite.trees.field_totals import PostProcess, Totals, tally
from evalsuite.trees.gold_validation import check_alternatives, check_id, check_unique
from evalsuite.trees.json_values import ABSENT, DEFAULT_LIMITS, TreeLimitError, TreeLimits, exact_text, inspect, same


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

    def is_independent(self, name: str) -> bool:
        """Whether a comparator judges every item alone (`independent = True`), so that items of several pairs may share a call."""
        return getattr(self.registry.comparator(name), "independent", False) is True

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
            found = plugin_calls.call_plugin(what, self.registry.comparator(name), items)
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


Rule = Literal["all_equal", "casefold", "fraction"]
Group = list[tuple[int, BatchItem]]


def all_equal(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """1 where every field is equal."""
    return float(all(same(value, extracted.get(name)) for name, value in gold.items()))


def casefold(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """1 where every field is equal as lower-case text."""
    return float(all(str(value).lower() == str(extracted.get(name)).lower() for name, value in gold.items()))


def fraction(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """The share of equal fields."""
    return sum(same(value, extracted.get(name)) for name, value in gold.items()) / len(gold)


RULES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], float]] = {
    "all_equal": all_equal, "casefold": casefold, "fraction": fraction,
}  # fmt: skip


class CompoundComparator:
    """A batch comparator over sibling fields: `compare(gold, extracted)` gets both as objects of the declared fields.

    `primary` carries the score, the other fields are skipped. A part that both sides lack is left out; where one side lacks one the group
    is a mismatch. Inside a compat run the reference's rule holds: any missing part makes every present one a mismatch.
    """

    is_batch = True

    def __init__(
        self, fields: Sequence[str], primary: str, name: str = "compound", compare: Callable[..., Any] | Rule = "all_equal"
    ) -> None:
        if primary not in fields:
            raise ValueError(f"primary {primary!r} is not among the fields {list(fields)}")
        if isinstance(compare, str) and compare not in RULES:
            raise ValueError(f"unknown rule {compare!r}: one of {', '.join(RULES)}")
        self.fields = tuple(fields)
        self.primary = primary
        self.name = name
        self.compare = RULES[compare] if isinstance(compare, str) else compare

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """One answer an item, groups being the objects they stand in."""
        answers: list[ComparatorResult | None] = [None] * len(items)
        groups: dict[str, Group] = {}
        for place, item in enumerate(items):
            groups.setdefault(_parent(item), []).append((place, item))
        for group in groups.values():
            for place, answer in self.judge(group):
                answers[place] = answer
        return answers

    def judge(self, group: Group) -> list[tuple[int, ComparatorResult]]:
        present = {_field(item): item for _, item in group}
        lacking = [name for name in self.fields if name not in present]
        upstream = group[0][1].one_sided is None
        if not upstream:
            return self.judge_soundly(group, present)
        if lacking:
            reason = f"incomplete compound (missing {lacking!r})"
            return [(place, ComparatorResult(0.0, self.name, reason)) for place, _ in group]
        return self.carried(group, self.primary, self.result(present))

    def judge_soundly(self, group: Group, present: dict[str, BatchItem]) -> list[tuple[int, ComparatorResult]]:
        declared = {name: item for name, item in present.items() if name in self.fields}
        found = []
        for place, item in group:
            if _field(item) not in declared:
                equal = same(item.gold_compared, item.extracted_compared)
                found.append((place, ComparatorResult(float(equal), self.name, f"not a part of this compound: {_field(item)}")))
        parts = [(place, item) for place, item in group if _field(item) in declared]
        if not parts:
            return found
        carrier = self.primary if self.primary in declared else next(name for name in self.fields if name in declared)
        missing = [name for name in self.fields if name in (group[0][1].one_sided or ())]
        result = ComparatorResult(0.0, self.name, f"incomplete compound (missing {missing!r})") if missing else self.result(declared)
        return found + self.carried(parts, carrier, result)

    def result(self, present: Mapping[str, BatchItem]) -> ComparatorResult:
        parts = [name for name in self.fields if name in present]
        answer = self.compare({n: present[n].gold_compared for n in parts}, {n: present[n].extracted_compared for n in parts})
        score = answer.score if isinstance(answer, ComparatorResult) else float(answer)
        return ComparatorResult(score, self.name, "compound: match" if score >= 1 else "compound: mismatch")

    def carried(self, group: Group, carrier: str, result: ComparatorResult) -> list[tuple[int, ComparatorResult]]:
        path = next(item.path for _, item in group if _field(item) == carrier)
        others = ComparatorResult(0.0, self.name, f"compound with {path}", skip=True)
        return [(place, result if _field(item) == carrier else others) for place, item in group]


def _field(item: BatchItem) -> str:
    return item.path.rsplit(".", 1)[-1] if item.one_sided is None else item.name


def _parent(item: BatchItem) -> str:
    if item.one_sided is not None:
        return item.parent
    return item.path.rsplit(".", 1)[0] if "." in item.path else ""


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


# Every round but the last finds a better alignment; two or three are usual.
MAX_ROUNDS = 50
SAME_RATE = 1e-13

Named = Mapping[str, Callable[..., Any]]


def evaluate(
    gold: Sequence[Any],
    extracted: Sequence[Any],
    schema: Any,
    id_field: str | None = None,
    post_process: PostProcess | None = None,
    *,
    compat: bool = False,
    comparators: Named | None = None,
    transforms: Named | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
    notify: Notify = lambda _: None,
) -> RunResult:
    """Rows, precision, recall and F1 of n extracted records against n gold records.

    Records are paired by position; with `id_field`, where extracted records carry ids, by id: a gold record without a partner is worth 0,
    and so is an extracted one that gold does not know (its id is the record's id). `schema` is an eval schema, a plain JSON Schema or a
    Pydantic model; leaves without a comparator get their type's. `comparators` and `transforms` are known to this run only.

    Args:
        gold: the expected records; `{"x-eval-any-of": [...]}` anywhere accepts several values.
        extracted: the records found.
        schema: how to compare.
        id_field: the key that names a record; it is no field of its own.
        post_process: changes a record's rows before they are counted (see `post`).
        compat: give the reference's numbers, quirks included.
        comparators: names of this run only; batch ones have `is_batch = True`.
        transforms: the same for transforms.
        limits: how large values may be.
        notify: hears what is odd about the schema.

    A comparator, transform or post-processor of somebody's that fails leaves its record undecided (precision, recall and F1 are None);
    `faults` of the result tells what failed.

    Raises:
        ValueError: not as many extracted records as gold ones, and no ids to join by.
        SchemaError: the schema cannot be used.
        GoldValidationError: a gold record has no usable id, or two have the same (in compat mode KeyError where one has none).
        TreeLimitError: a value or an alignment is larger than `limits`.
    """
    joined = None if compat or id_field is None else join_by_id(gold, extracted, id_field)
    if joined is None and len(gold) != len(extracted):
        raise ValueError(f"gold and extracted must have the same length, got {len(gold)} and {len(extracted)}")
    names = {"comparators": comparators, "transforms": transforms}
    scoring = Scoring(schema, id_field, post_process, compat=compat, **names, limits=limits, notify=notify)
    if joined is None:
        labels = [None if g is ABSENT else scoring.label(g, i) for i, g in enumerate(gold)]
        if id_field is not None and not compat:
            check_unique([label for label in labels if label is not None], id_field)
        joined = list(zip(labels, gold, extracted, strict=True))
    totals = Totals(compat=compat)
    with without_collection():
        records = [scoring.record(label, expected, found, totals) for label, expected, found in joined]
    return totals.result(records)


def evaluate_stream(
    pairs: Iterable[tuple[Any, Any]],
    schema: Any,
    id_field: str | None = None,
    post_process: PostProcess | None = None,
    *,
    compat: bool = False,
    comparators: Named | None = None,
    transforms: Named | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
    each: Callable[[RecordResult], None] | None = None,
) -> Summary:
    """The summary of (gold, extracted) pairs; no row is kept, `each` sees every record as it is scored.

    Arguments and errors as in `evaluate`; pairs come as they are to be compared, duplicate ids are not looked for.
    """
    scoring = Scoring(schema, id_field, post_process, compat=compat, comparators=comparators, transforms=transforms, limits=limits)
    totals = Totals(compat=compat)
    for index, (gold, extracted) in enumerate(pairs):
        record = scoring.record(scoring.label(gold, index), gold, extracted, totals)
        if each is not None:
            each(record)
    return totals.summary()


class Scoring:
    """One schema, ready to score records one by one; `notify` hears what is odd about the schema."""

    def __init__(
        self,
        schema: Any,
        id_field: str | None = None,
        post_process: PostProcess | None = None,
        *,
        compat: bool = False,
        comparators: Named | None = None,
        transforms: Named | None = None,
        limits: TreeLimits = DEFAULT_LIMITS,
        notify: Notify = lambda _: None,
    ) -> None:
        self.registry = registry = Registry(compat=compat, comparators=comparators or {}, transforms=transforms or {})
        self.plan: Plan = compile_plan(prepare(schema, compat=compat, registry=registry, notify=notify), registry)
        self.id_field = id_field
        self.post_process = post_process
        self.compat = compat
        self.limits = limits

    def label(self, gold: Any, index: int) -> Any:
        """The record's id, or its index."""
        if self.id_field is None:
            return index
        return gold[self.id_field] if self.compat else check_id(gold, self.id_field, index)

    def record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """One record, scored and counted in `totals`; `ABSENT` on a side means that there is no such record."""
        if gold is ABSENT or extracted is ABSENT or isinstance(extracted, Lost):
            return self.lone_record(label, gold, extracted, totals)
        alternatives = inspect(gold, self.limits, where=f"gold of record {label!r}")
        inspect(extracted, self.limits, where=f"record {label!r}")
        if alternatives and not self.compat:
            check_alternatives(gold, label)
        walk = self.walk(alternatives)
        rows = self.best_rows(walk, gold, extracted)
        if self.post_process is not None:
            try:
                rows = _checked_rows(plugin_calls.call_plugin("post_process", self.post_process, rows))
            except FaultError as error:
                # What it left half changed is nobody's verdict.
                rows = []
                walk.faults.append(error.fault)
        reason = f"required and missing: {', '.join(walk.missing)}" if walk.missing else ""
        if walk.faults:
            reason = describe(walk.faults[0])
        precision, recall, f1 = totals.add(rows, failed=bool(walk.missing), undecided=bool(walk.faults))
        totals.faults |= dict.fromkeys([*walk.faults, *walk.dispatch.faults])
        return RecordResult(label, rows, gold, extracted, precision, recall, f1, reason)

    def best_rows(self, walk: Walk, gold: Any, extracted: Any) -> list[FieldResult]:
        """The rows of a record by the alignments and alternatives that make its F1 highest.

        They are chosen at a rate, first 1, then the F1 reached, until that no longer rises (see `field_arrays`).
        """
        judged: dict[tuple[str, Any], FieldResult] = {}
        for _ in range(MAX_ROUNDS):
            rows: list[FieldResult] = []
            walk.missing = []
            walk.pair(self.plan, gold, extracted, "", (), rows)
            if self.plan.any_batch:
                for row in rows:
                    if row.status == "pending" and (known := judged.get((row.path, row.aligned))) is not None:
                        row.status, row.score, row.reason, row.params = known.status, known.score, known.reason, None
                walk.dispatch(rows)
                judged = {(row.path, row.aligned): row for row in rows}
            if self.compat or not walk.has_chosen or walk.faults or abs((reached := tally(rows).f1) - walk.rate) <= SAME_RATE:
                break
            walk.rate = reached
        return rows

    def lone_record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """A record that only one side has is worth 0."""
        missing = gold is not ABSENT
        value = gold if missing else extracted
        if value is ABSENT or isinstance(value, Lost):
            value = None
        alternatives = inspect(value, self.limits, where=f"record {label!r}")
        rows = self.walk(alternatives).sides(self.plan, value, "omission" if missing else "hallucination", "", ())
        reason = "no record was submitted" if missing else "gold has no such record"
        reason = extracted.reason if isinstance(extracted, Lost) else reason
        shown = (gold, None) if missing else (None, extracted)
        precision, recall, f1 = totals.add(rows, failed=True)
        return RecordResult(label, rows, shown[0], shown[1], precision, recall, f1, reason)

    def walk(self, alternatives: bool) -> Walk:
        """A fresh walk over one record."""
        dispatch = Dispatcher(self.registry)
        return Walk(compat=self.compat, limits=self.limits, dispatch=dispatch, id_field=self.id_field, alternatives=alternatives)


def _checked_rows(rows: Any) -> list[FieldResult]:
    """The rows. Raises for what cannot be counted: TypeError where a post-processor gave no list, `FaultError` for no row or no score."""
    if not isinstance(rows, list):
        raise TypeError(f"post_process must return the list of rows, got {type(rows).__name__}")
    for row in rows:
        if not isinstance(row, FieldResult):
            raise FaultError("SCORER_ERROR", f"post_process gave {type(row).__name__}, expected a FieldResult")
        plugin_calls.unit("post_process", row.score)
    return rows


def rows_of(result: RunResult) -> Iterator[dict[str, Any]]:
    """Every row of a run as plain data: expected against got, with both paths."""
    for record in result.records:
        for row in record.field_results:
            yield {
                "record": record.record_id,
                "path": row.path,
                "found_path": row.found_path,
                "schema_path": row.schema_path,
                "status": row.status,
                "score": row.score,
                "comparator": row.comparator,
                "expected": row.gold_value,
                "got": row.extracted_value,
                "reason": row.reason,
            }
