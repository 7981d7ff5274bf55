"""Compare extracted records with gold, field by field: pairing of records, rows of one record, and the result of a run or a stream.

Records are paired by id or by position; a line that is not a record does not shift the others.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError, describe
from evalsuite.core.runtime import without_collection
from evalsuite.core.scores import Fault, broken_record_in
from evalsuite.trees.batch_comparators import Dispatcher
from evalsuite.trees.comparators import Registry
from evalsuite.trees.eval_schema import SchemaNode, parse_eval_schema
from evalsuite.trees.field_matching import LONE, ContentOrder, FieldLists, apply_transforms, array_rows, compare, judge, try_transformed
from evalsuite.trees.field_results import (
    FieldResult,
    Notify,
    PostProcess,
    RecordResult,
    RowStatus,
    RunResult,
    Summary,
    Tally,
    Totals,
    tally,
)
from evalsuite.trees.json_schema import child_path
from evalsuite.trees.json_values import (
    ABSENT,
    ANY_OF,
    DEFAULT_LIMITS,
    SCALARS,
    ByObject,
    TreeLimitError,
    TreeLimits,
    alternatives_of,
    are_identical,
    exact_text,
    inspect,
)


class GoldValidationError(Exception):
    """A gold record that the schema does not describe; `path` is the schema path, `record_id` the record's id or index."""

    def __init__(self, message: str, path: str = "", record_id: Any = None) -> None:
        super().__init__(f"Record {record_id}: {message}")
        self.message = message
        self.path = path
        self.record_id = record_id


def check_id(record: Any, id_field: str, index: int) -> str | int:
    """Return the record's id, a text or an integer; 1 and "1" are two ids. Raises `GoldValidationError` for anything else."""
    if not isinstance(record, dict) or id_field not in record:
        raise GoldValidationError(f"id field {id_field!r} is missing", id_field, index)
    label = record[id_field]
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise GoldValidationError(f"id field {id_field!r} must be a string or integer, got {type(label).__name__}", id_field, index)
    return label


def check_unique(ids: Sequence[Any], id_field: str) -> None:
    """Raise `GoldValidationError` for a repeated id, with both indexes."""
    seen: dict[tuple[type, Any], int] = {}
    for index, label in enumerate(ids):
        first = seen.setdefault((type(label), label), index)
        if first != index:
            raise GoldValidationError(f"duplicate id {label!r}: records {first} and {index}", id_field, label)


def check_alternatives(record: Any, label: Any) -> None:
    """Raise `GoldValidationError` with the path if `x-eval-any-of` is no list of accepted values, or has other keys next to it."""
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            if ANY_OF in value and alternatives_of(value) is None:
                message = f"{path or 'the record'}: {ANY_OF!r} must be the only key, with a list of at least one accepted value"
                raise GoldValidationError(message, path, label)
            waiting.extend((child_path(path, str(key), False) if key != ANY_OF else path, item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{path}[{place}]", item) for place, item in enumerate(value))


Rows = Iterable[FieldResult]
Aligned = tuple[int | None, ...]
Attempt = tuple[list[FieldResult], list[str]]  # the rows of a pair, and the required fields that it lacks


class Walk:
    """The rows of one record.

    `alternatives`: whether gold contains any. `dispatch` lets the batch comparators judge the pending rows. `missing` collects the paths
    of absent required fields, `faults` the failures of plugin comparators and transforms. `rate` is the F1 at which alignments and
    alternatives are weighed, `has_chosen` whether there was one to weigh.
    """

    def __init__(self, scoring: "Scoring", *, alternatives: bool) -> None:
        self.compat, self.limits, self.id_field = scoring.compat, scoring.limits, scoring.id_field
        self.any_batch = scoring.node.any_batch
        self.dispatch = Dispatcher(scoring.registry)
        self.alternatives = alternatives and not self.compat
        self.faults: list[Fault] = []
        self.missing: list[str] = []
        self.rate, self.has_chosen = 1.0, False
        self.order = ContentOrder()
        self.key_codes: dict[Any, int] = {}
        self.judged: ByObject[list[Attempt]] = ByObject()
        self._lists: ByObject[FieldLists] = ByObject()

    def gain_of(self, counts: Tally) -> float:
        """Return the gain of some rows for the record at its rate: twice their scores, less the rate times their weight."""
        return 2 * counts.scored - self.rate * counts.weight

    def lists_of(self, node: SchemaNode, gold: list[Any], extracted: list[Any]) -> FieldLists:
        """Return two lists crossed; made once per record, for all rates."""
        return self._lists.get(node.path, (gold, extracted), lambda: FieldLists(self, node, [gold], [extracted]))

    def pair(self, node: SchemaNode, gold: Any, extracted: Any, path: str, aligned: Aligned) -> Rows:
        """Return the rows of two values that both exist (None is a value)."""
        if self.alternatives and (choices := alternatives_of(gold)) is not None:
            return self.best_of(node, choices, extracted, path, aligned)
        if node.skip and not (self.compat and node.structural):
            return [self.row(node, gold, extracted, "skipped", path, aligned)]
        if not node.structural:
            return [self.unit(node, gold, extracted, path, aligned)]
        are_alike = isinstance(gold, node.expects) and isinstance(extracted, node.expects)
        if not are_alike:
            return self.unlike(node, gold, extracted, path, aligned)
        if node.expects is list:
            return array_rows(self, node, gold, extracted, path, aligned)
        return self.object(node, gold, extracted, path, aligned)

    def attempt(self, node: SchemaNode, gold: Any, extracted: Any, path: str, aligned: Aligned) -> Attempt:
        """Return the rows of a pair that may not be chosen, and the required fields that it lacks."""
        before, self.missing = self.missing, []
        rows = list(self.pair(node, gold, extracted, path, aligned))
        missing, self.missing = self.missing, before
        return rows, missing

    def row(
        self,
        node: SchemaNode,
        gold: Any,
        extracted: Any,
        status: RowStatus,
        path: str,
        aligned: Aligned,
        uses: str = "",
        reason: str | None = None,
        *,
        whole: bool = False,
    ) -> FieldResult:
        """Return a row that needs no comparator; of a `whole` container the reference keeps no compared values."""
        g, e = (gold, extracted) if whole and not self.compat else (None, None)
        score = float(status == "match")
        return FieldResult(path, score, uses, gold, extracted, status, reason, g, e, node.path, aligned, node.weight, node.name)

    def unit(self, node: SchemaNode, gold: Any, extracted: Any, path: str, aligned: Aligned) -> FieldResult:
        """Return the one row of a field with a comparator; `error` if a comparator or transform of a plugin failed."""
        status: RowStatus = "pending"
        score, reason = 0.0, None
        if node.trusted is not None and type(gold) is type(extracted) and type(gold) in SCALARS and gold == extracted:
            score, status = 1.0, "match"  # as every trusted comparator says
        elif node.trusted is not None:
            verdict = node.trusted(gold, extracted, node.params)
            score, status, reason = verdict.score, "match" if verdict.score == 1.0 else "mismatch", verdict.reason
        row = FieldResult(
            path, score, node.uses, gold, extracted, status, reason, gold, extracted, node.path, aligned, node.weight, node.name
        )
        if node.trusted is None:
            try:
                self.compare(node, row)
            except TreeLimitError:
                raise
            except FaultError as error:
                row.status, row.reason = "error", error.fault.detail
                self.faults.append(error.fault)
        return row

    def compare(self, node: SchemaNode, row: FieldResult) -> None:
        """Transform and compare the two values of a row, and write the verdict into the row."""
        problem = ""
        g, e = row.gold_value, row.extracted_value
        if node.steps and self.compat:
            g, e = apply_transforms(node, g), apply_transforms(node, e)
        elif node.steps:
            g, problem = try_transformed(node, g)
            e, also = try_transformed(node, e)
            problem = problem or also
        row.gold_compared, row.extracted_compared = g, e
        if problem and node.accepts_itself and are_identical(row.gold_value, row.extracted_value):
            row.status, row.score = "match", 1.0
        elif problem:
            row.status, row.reason = "mismatch", problem
        elif node.batch:
            row.params = node.params
        else:
            result = compare(node, g, e) if self.compat else judge(node, g, e)
            row.score, row.reason = result.score, result.reason
            row.status = "match" if result.score == 1.0 else "mismatch"
            if result.skip and not self.compat:
                row.status, row.score = "skipped", 0.0

    def unlike(self, node: SchemaNode, gold: Any, extracted: Any, path: str, aligned: Aligned) -> Rows:
        """Return the rows of two values of a container if at least one is not of its type."""
        if gold is None and extracted is None:
            return []
        if extracted is None or gold is None:
            value, status = (gold, LONE[0]) if extracted is None else (extracted, LONE[1])
            if isinstance(value, node.expects) or not self.compat:
                return self.one_sided(node, value, status, path, aligned)
            return [self.row(node, gold, extracted, status, path, aligned)]
        if (gold == extracted) if self.compat else are_identical(gold, extracted):
            return [self.row(node, gold, extracted, "match", path, aligned, whole=True)]
        reason = f"type mismatch: gold {type(gold).__name__}, extracted {type(extracted).__name__}"
        # Gold {} expects nothing that could be recalled, so any other value is invented.
        status = "hallucination" if gold == {} and node.expects is dict and not self.compat else "mismatch"
        return [self.row(node, gold, extracted, status, path, aligned, "", reason, whole=True)]

    def object(self, node: SchemaNode, gold: dict[str, Any], extracted: dict[str, Any], path: str, aligned: Aligned) -> Rows:
        """Yield the rows of two objects: the schema's fields in its order, then unknown keys."""
        if not gold and not extracted:
            yield self.row(node, gold, extracted, "match", path, aligned, whole=True)
            return
        for child in node.fields:
            key = child.key
            in_gold, in_extracted = key in gold, key in extracted
            if child.skip:
                if self.compat or (in_gold and in_extracted):
                    yield self.row(child, gold.get(key), extracted.get(key), "skipped", path + child.suffix, aligned)
            elif in_gold and in_extracted:
                if child.structural or self.alternatives:
                    yield from self.pair(child, gold[key], extracted[key], path + child.suffix, aligned)
                else:
                    yield self.unit(child, gold[key], extracted[key], path + child.suffix, aligned)
            elif in_gold:
                if child.required:
                    self.missing.append(path + child.suffix)
                yield from self.one_sided(child, gold[key], "omission", path + child.suffix, aligned)
            elif in_extracted:
                yield from self.one_sided(child, extracted[key], "hallucination", path + child.suffix, aligned)
        dot = "." if path else ""
        for key in () if extracted.keys() <= node.by_key.keys() else sorted(extracted.keys() - node.by_key.keys()):
            status, reason = self.unknown_status(node, key, gold)
            if status is not None:
                row = FieldResult(f"{path}{dot}{key}", 0.0, "", gold.get(key), extracted[key], status, reason)
                row.schema_path, row.aligned = f"{node.path}.*" if node.path else "*", aligned
                yield row

    def unknown_status(self, node: SchemaNode, key: str, gold: dict[str, Any]) -> tuple[RowStatus | None, str | None]:
        """Return (status, reason) of an extracted key that the schema does not know, (None, None) for no row.

        It is invented, unless gold has it, it is ignored, or it is the id.
        """
        if self.compat:
            return "hallucination", None
        ignore = node.ignore
        if ignore is True or (ignore and key in ignore) or (node.path == "" and key == self.id_field):
            return None, None
        return ("skipped", "not in the schema") if key in gold else ("hallucination", None)

    def one_sided(self, node: SchemaNode, value: Any, status: RowStatus, path: str, aligned: Aligned) -> Rows:
        """Return the rows of a value that only one side has: one per leaf, containers by their content."""
        is_missing = status == "omission"
        gold, extracted = (value, None) if is_missing else (None, value)
        if node.skip:
            return []
        if self.alternatives and is_missing and (choices := alternatives_of(value)) is not None:
            return min((list(self.one_sided(node, choice, status, path, aligned)) for choice in choices), key=len)
        if node.optional and is_missing:
            return [self.row(node, gold, extracted, "skipped", path, aligned, node.uses, "optional, left out")]
        if not (node.has_content(True) if self.compat else node.structural):
            return [self.row(node, gold, extracted, status, path, aligned, node.uses)]
        inside = self.rows_inside(node, value, status, path, aligned)
        if inside is None:
            return [self.row(node, gold, extracted, status, path, aligned, "" if node.is_array else node.uses)]
        return inside

    def rows_inside(self, node: SchemaNode, value: Any, status: RowStatus, path: str, aligned: Aligned) -> Rows | None:
        """Return the rows of the content of a container that only one side has; None for a value with one row of its own."""
        if node.is_array:
            if not isinstance(value, list) or not value:
                return None
            places = [(at, None) if status == "omission" else (-1 - at, at) for at in range(len(value))]
            return chain.from_iterable(
                self.one_sided(node.item, item, status, f"{path}[{index}]", (*aligned, at))
                for item, (index, at) in zip(value, places, strict=True)
            )
        if not isinstance(value, dict):
            return [] if value is None or self.compat else None
        return chain.from_iterable(
            self.one_sided(child, value[child.key], status, path + child.suffix, aligned) for child in node.fields if child.key in value
        )

    def best_of(self, node: SchemaNode, choices: list[Any], extracted: Any, path: str, aligned: Aligned) -> Rows:
        """Return the rows of the accepted value with the highest gain at the record's rate; of equals the first. Judged once per record."""
        self.has_chosen = True

        def options_of() -> list[Attempt]:
            options = []
            for choice in choices:
                options.append(self.attempt(node, choice, extracted, path, aligned))
                if self.any_batch:
                    self.dispatch(options[-1][0])
            return options

        options = self.judged.get((path, aligned), (choices,), options_of) if self.any_batch else options_of()
        rows, missing = max(options, key=lambda option: self.gain_of(tally(option[0])))
        self.missing = self.missing + missing
        return map(copy.copy, rows) if self.any_batch else rows


Joined = list[tuple[Any, Any, Any]]  # (the record's id, gold's record or ABSENT, the answer's or ABSENT or a `Lost`)


class Lost(NamedTuple):
    """A place of an answer without a readable record: the line, and the reason ("" for a blank line)."""

    line: int
    cause: str

    @property
    def reason(self) -> str:
        return f"line {self.line}: {self.cause}" if self.cause else f"line {self.line} is blank"


def read_broken(answer: Any, *, repair: bool) -> tuple[Any, int]:
    """Return (the answer with a `Lost` for each unreadable record, the number of repaired records).

    With `repair` a record in fences or prose, or with an extra comma, counts as its content. Raises `FaultError` if the whole answer is
    unreadable.
    """
    whole = broken_record_in(answer)
    if whole is not None:
        if repair and "repaired" in whole:
            return whole["repaired"], 1
        raise FaultError("BAD_JSON", str(whole.get("cause", "")))
    if not isinstance(answer, list):
        return answer, 0
    records, n_repaired = [], 0
    for record in answer:
        broken = broken_record_in(record)
        if broken is not None and repair and "repaired" in broken:
            record, n_repaired = broken["repaired"], n_repaired + 1
        elif broken is not None:
            record = Lost(broken["line"] if isinstance(broken.get("line"), int) else 0, str(broken.get("cause", "")))
        records.append(record)
    return records, n_repaired


def in_step(extracted: Sequence[Any], n: int) -> list[Any]:
    """Return the answer's records by position, as many as gold has (n) if broken and blank lines explain the difference.

    A blank line counts as a record only if one is missing. Of two adjacent broken lines one is dropped if there is one too many: a line
    was cut in two; a broken line counts twice if there is one too few: two lines became one.
    """
    records = list(extracted)
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
    """Return (id, gold, answer) in gold's order, then the answer's records that gold lacks; None if none of the answer's has an id.

    Of several records with one id the first by content counts, whatever their order; the others are invented. A record without an id is
    paired with gold's at its place if that has no partner and both sides have as many; a `Lost` one and null are never invented.

    Raises `GoldValidationError` if a gold record has no usable id, or two have the same.
    """
    ids = [check_id(record, id_field, index) for index, record in enumerate(gold)]
    check_unique(ids, id_field)
    if not any(isinstance(record, dict) and id_field in record for record in extracted):
        return None
    keys = [(type(label), label) for label in ids]
    partners: dict[Any, Any] = dict.fromkeys(keys, ABSENT)
    invented: Joined = []
    nameless, lost = [], []
    for index, record in enumerate(extracted):
        label = record.get(id_field) if isinstance(record, dict) else None
        key = (type(label), label)
        if not isinstance(label, str | int):
            nameless.append((index, record))
        elif key not in partners:
            invented.append((label, ABSENT, record))
        elif partners[key] is ABSENT:
            partners[key] = record
        else:
            partners[key], other = sorted((partners[key], record), key=exact_text)
            invented.append((label, ABSENT, other))
    for index, record in nameless:
        if record is None or isinstance(record, Lost):
            lost.append(record)
        elif len(gold) == len(extracted) and partners[keys[index]] is ABSENT:
            partners[keys[index]] = record
        else:
            invented.append((None, ABSENT, record))
    unread = iter(lost)
    pairs = [
        (label, g, next(unread, ABSENT) if (partner := partners[key]) is ABSENT else partner)
        for label, g, key in zip(ids, gold, keys, strict=True)
    ]
    return [*pairs, *invented]


def pair_by_position(gold: Sequence[Any], extracted: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return both sides at one length: `ABSENT` for a record that a side does not have."""
    records = in_step(extracted, len(gold))
    n = max(len(gold), len(records))
    return [*gold, *[ABSENT] * (n - len(gold))], [*records, *[ABSENT] * (n - len(records))]


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
    """Return rows, precision, recall and F1 of n extracted records against n gold records.

    Records are paired by position; with `id_field`, if extracted records have ids, by id: a gold record without a partner is worth 0,
    and so is an extracted one that gold does not know (its id is the record's id).

    Args:
        gold: the expected records; `{"x-eval-any-of": [...]}` anywhere accepts several values.
        extracted: the records found.
        schema: a JSON Schema in any form (dict, path, JSON text, Pydantic model, dataclass, TypedDict); leaves without a comparator get
            that of their type.
        id_field: the key that identifies a record; it is no field of its own.
        post_process: changes a record's rows before they are counted (see `chain`).
        compat: return the reference's numbers, quirks included.
        comparators: names of this run only; batch ones have `is_batch = True`.
        transforms: the same for transforms.
        limits: the largest allowed values.
        notify: called with a `Notice` for each remark on the schema.

    Returns:
        The result. If a comparator, transform or post-processor of a plugin fails, its record is undecided (precision, recall and F1
            are None), and `faults` contains the failure.

    Raises:
        ValueError: not as many extracted records as gold ones, and no ids to join by.
        SchemaError: the schema cannot be used.
        GoldValidationError: a gold record has no usable id, or two have the same (in compat mode KeyError if one has none).
        TreeLimitError: a value or an alignment is larger than `limits`.
    """
    names = {"comparators": comparators, "transforms": transforms}
    scoring = Scoring(schema, id_field, post_process, compat=compat, **names, limits=limits, notify=notify)
    totals = Totals(compat=compat)
    with without_collection():
        records = [scoring.record(*entry, totals) for entry in scoring.join(gold, extracted)]
    return RunResult(**totals.numbers(), records=records)


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
    """Return the summary of (gold, extracted) pairs; no row is kept, and `each` is called with every record as it is scored.

    Arguments and errors as in `evaluate`. Pairs are compared as given, and duplicate ids are not detected.
    """
    scoring = Scoring(schema, id_field, post_process, compat=compat, comparators=comparators, transforms=transforms, limits=limits)
    totals = Totals(compat=compat)
    for index, (gold, extracted) in enumerate(pairs):
        record = scoring.record(scoring.label(gold, index), gold, extracted, totals)
        if each is not None:
            each(record)
    return Summary(**totals.numbers())


class Scoring:
    """One schema, ready to score records one by one; `notify` gets remarks on the schema."""

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
        self.node = parse_eval_schema(schema, compat=compat, registry=registry, notify=notify)
        self.id_field = id_field
        self.post_process = post_process
        self.compat = compat
        self.limits = limits

    def label(self, gold: Any, index: int) -> Any:
        """Return the record's id, or its index."""
        if self.id_field is None:
            return index
        return gold[self.id_field] if self.compat else check_id(gold, self.id_field, index)

    def join(self, gold: Sequence[Any], extracted: Sequence[Any]) -> Joined:
        """Return the records of both sides in pairs, by id or else by position. Raises as `evaluate` does."""
        if not self.compat and self.id_field is not None:
            pairs = join_by_id(gold, extracted, self.id_field)
            if pairs is not None:
                return pairs
        if len(gold) != len(extracted):
            raise ValueError(f"gold and extracted must have the same length, got {len(gold)} and {len(extracted)}")
        labels = [None if record is ABSENT else self.label(record, i) for i, record in enumerate(gold)]
        return list(zip(labels, gold, extracted, strict=True))

    def record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """Return one record, scored and counted in `totals`; `ABSENT` on a side means that there is no such record."""
        if gold is ABSENT or extracted is ABSENT or isinstance(extracted, Lost):
            return self.lone_record(label, gold, extracted, totals)
        alternatives = inspect(gold, self.limits, where=f"gold of record {label!r}", of_gold=True)
        inspect(extracted, self.limits, where=f"record {label!r}")
        if alternatives and not self.compat:
            check_alternatives(gold, label)
        walk = Walk(self, alternatives=alternatives)
        rows = self.best_rows(walk, gold, extracted)
        if self.post_process is not None:
            try:
                rows = _checked_rows(plugin_calls.call_plugin("post_process", self.post_process, rows))
            except FaultError as error:
                # Rows that it changed in part are no verdict.
                rows = []
                walk.faults.append(error.fault)
        reason = f"required and missing: {', '.join(walk.missing)}" if walk.missing else ""
        if walk.faults:
            reason = describe(walk.faults[0])
        precision, recall, f1 = totals.add(rows, failed=bool(walk.missing), undecided=bool(walk.faults))
        totals.faults |= dict.fromkeys([*walk.faults, *walk.dispatch.faults])
        return RecordResult(label, rows, gold, extracted, precision, recall, f1, reason)

    def best_rows(self, walk: Walk, gold: Any, extracted: Any) -> list[FieldResult]:
        """Return the rows of a record by the alignments and alternatives that make its F1 highest.

        They are chosen at a rate, first 1, then the F1 reached, until that no longer rises (see `field_matching`).
        """
        rows_by_place: dict[tuple[str, Any], FieldResult] = {}
        for _ in range(MAX_ROUNDS):
            walk.missing = []
            rows = list(walk.pair(self.node, gold, extracted, "", ()))
            if self.node.any_batch:
                for row in rows:
                    if row.status == "pending" and (old_row := rows_by_place.get((row.path, row.aligned))) is not None:
                        row.status, row.score, row.reason, row.params = old_row.status, old_row.score, old_row.reason, None
                walk.dispatch(rows)
                rows_by_place = {(row.path, row.aligned): row for row in rows}
            if self.compat or not walk.has_chosen or walk.faults or abs((reached := tally(rows).f1) - walk.rate) <= SAME_RATE:
                break
            walk.rate = reached
        return rows

    def lone_record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """Return a record that only one side has; it is worth 0."""
        missing = gold is not ABSENT
        value = gold if missing else extracted
        if value is ABSENT or isinstance(value, Lost):
            value = None
        alternatives = inspect(value, self.limits, where=f"record {label!r}", of_gold=missing)
        rows = list(Walk(self, alternatives=alternatives).one_sided(self.node, value, "omission" if missing else "hallucination", "", ()))
        reason = "gold's record was not submitted" if missing else "a submitted record is not in gold"
        reason = extracted.reason if isinstance(extracted, Lost) else reason
        precision, recall, f1 = totals.add(rows, failed=True)
        return RecordResult(label, rows, gold if missing else None, None if missing else extracted, precision, recall, f1, reason)


def _checked_rows(rows: Any) -> list[FieldResult]:
    """Return the rows. Raises TypeError if a post-processor returned no list, `FaultError` for an invalid row or score."""
    if not isinstance(rows, list):
        raise TypeError(f"post_process must return the list of rows, got {type(rows).__name__}")
    for row in rows:
        if not isinstance(row, FieldResult):
            raise FaultError("SCORER_ERROR", f"post_process gave {type(row).__name__}, expected a FieldResult")
        plugin_calls.unit("post_process", row.score)
    return rows
