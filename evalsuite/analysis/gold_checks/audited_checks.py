"""Audit one check: generate wrong answers, score them in the worker that reads gold, and find the spec line that closes each hole.

Wrong answers also come from gold's own query: edited, or with one source row dropped, run if its database is available. For a table check
the answers are the results of the edited queries, for a pair of queries the queries themselves. Statements run as in a run, on files only:
an audit never contacts a server that bills. An edited query that still returns gold is not a wrong answer; the scoring side drops it. Of
the candidate lines for a hole only one that was tried and closes it is reported.
"""

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

from evalsuite.analysis.causes.table_alignment import TablePair, table_pairs
from evalsuite.analysis.causes.table_repairs import pick
from evalsuite.analysis.causes.values import number, read_gold_number
from evalsuite.analysis.explain.query_proofs import gold_query
from evalsuite.analysis.gold_checks.generated_answers import (
    OWN,
    Edit,
    GeneratedAnswer,
    apply_edit,
    clear,
    first_choice,
    number_mutants,
    number_variants,
    right_answer,
    scorer_form,
    scramble,
    size_of,
    table_mutants,
    table_variants,
    text_mutants,
    text_variants,
    tree_mutants,
    tree_variants,
)
from evalsuite.compare.columns import with_columns
from evalsuite.compare.messages import verdicts_only
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import UNSCORED, EvalsuiteError, FaultError
from evalsuite.core.registry import Scorer
from evalsuite.core.types import RULES, Answer, Check, Fault, Gold, GoldInstance, Result, Rule, Table, Task
from evalsuite.readers.csv_table import read_csv_table
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.runs.databases import Databases, runs_query
from evalsuite.runs.executors import Execute, pipeline, stage_of
from evalsuite.runs.gold_queries import find_queries
from evalsuite.runs.task_execution import Prediction, judge, usable_parameters
from evalsuite.runs.worker_pool import Pool
from evalsuite.scorers import SCORERS
from evalsuite.sql import is_embedded
from evalsuite.sql.query_edits import QueryEdit, edits, one_row_short
from evalsuite.sql.query_pairs import order_terms
from evalsuite.sql.session import Connection

Accepted = Mapping[Rule, bool | None]
STRICT: Final = "--rules strict"
NOISE: Final = "jitter inside tolerance"
MOST_ORDERS: Final = 12
_TOLERANCES: Final = {"rel_tol", "abs_tol", "precision"}
# Parameters that may close each kind of hole; for kinds of numbers that are not listed: the tolerances.
_OF_WRONG: Final = {
    "rows scrambled": ("order",), "wrong order": ("order",), "row dropped": ("columns",), "row doubled": ("columns",),
    "value lost": ("columns",), "labels exchanged": ("labels",), "NULL to 0": (), "times 100": ("percentage", "tolerance", "schema"),
    "all candidates listed": ("conj", "percentage"), "another answer": ("conj",), "part missing": ("conj",), "negated text": ("exclude",),
    "inside a word": (), "leaf dropped": ("schema",), "element doubled": ("schema",), "one leaf": ("schema",), "one letter": ("schema",),
    "inverted": ("schema",),
}  # fmt: skip
_OF_RIGHT: Final = {
    "rows reordered": ("order",), "ties the other way": ("ties", "order"), "headers renamed": ("labels",),
    NOISE: ("tolerance",),
}  # fmt: skip
# Schema keys that accept more than gold's own value.
_LENIENT: Final = ("x-eval-threshold", "x-eval-skip", "x-eval-optional", "x-eval-transform", "x-eval-ignore")
_SLACK: Final = ("tolerance", "rel", "abs", "days", "seconds")
# Parameters that the official rules do not read.
_STRICT_ONLY: Final = {"rel_tol", "abs_tol", "labels", "order_by"}


@dataclass(frozen=True, slots=True)
class Hole:
    """An answer, in the scorer's form, that a check misjudges: whether it should be accepted (`right`), and which rules accept it."""

    kind: str
    answer: Any
    right: bool
    accepted: Accepted


def closing_line(
    hole: Hole,
    rule: Rule,
    parameters: Mapping[str, Any],
    allowed: Mapping[str, Any],
    stay: Sequence[tuple[str, Any]],
    score: Callable[..., Accepted],
) -> str:
    """Return the first line that corrects the verdict on the hole and still accepts the answers of `stay`, gold among them; "" for none.

    `stay` are (kind, form); noise inside the usual tolerance may be refused if the tolerance itself is corrected. `parameters` are the
    check's with gold read, `allowed` the names that its scorer has, `score` scores a form under parameters.
    """
    names = _OF_RIGHT.get(hole.kind, ()) if hole.right else _OF_WRONG.get(hole.kind, ("tolerance", "schema"))
    for changed in (changed for name in names for changed in _CANDIDATES[name](parameters, hole)):
        if not all(name in allowed and not (rule == "official" and name in _STRICT_ONLY) for name in changed):
            continue
        if all(parameters.get(name) == value for name, value in changed.items()):
            continue
        patched = {**parameters, **changed}
        if score(hole.answer, patched)[rule] is hole.right and all(
            score(form, patched)[rule] for kind, form in stay if not (kind == NOISE and changed.keys() & _TOLERANCES)
        ):
            return ", ".join(f"{name}: {json.dumps(value)}" for name, value in changed.items())
    return STRICT if rule == "official" and hole.accepted["strict"] is hole.right else ""


Candidates = Iterator[dict[str, Any]]


def _order(parameters: Mapping[str, Any], hole: Hole) -> Candidates:
    gold = parameters.get("gold")
    yield {"ignore_order": hole.right}
    yield {"ignore_orders": [hole.right] * (len(gold) if isinstance(gold, list | tuple | dict) else 1)}


def _tolerance(_: Mapping[str, Any], hole: Hole) -> Candidates:
    if not hole.right:
        yield {"rel_tol": None, "abs_tol": None}
    for tolerance in (1e-4, 1e-3) if hole.right else (1e-6, 0.0):
        yield {"rel_tol": tolerance, "abs_tol": 0.01 if hole.right else 0.0}
    for places in (3, 2) if hole.right else (4, 6, 8):
        yield {"precision": places}


def _exclude(parameters: Mapping[str, Any], _: Hole) -> Candidates:
    exclude = parameters.get("exclude") or ()
    yield {"exclude": [*([exclude] if isinstance(exclude, str) else exclude), "not"]}


def _schema(parameters: Mapping[str, Any], _: Hole) -> Candidates:
    """Yield the schema without its lenient keys; then also with each leaf compared as it is written."""
    schema = parameters.get("schema")
    if isinstance(schema, dict):
        for exact in (False, True):
            yield {"schema": _make_severe(schema, exact=exact)}


def _make_severe(schema: Any, *, exact: bool) -> Any:
    if not isinstance(schema, dict):
        return [_make_severe(item, exact=exact) for item in schema] if isinstance(schema, list) else schema
    severe = {key: _make_severe(value, exact=exact) for key, value in schema.items() if key not in _LENIENT}
    compare = severe.get("x-eval-compare")
    if compare is not None and exact:
        severe["x-eval-compare"] = "exact"
    elif isinstance(compare, dict):
        severe["x-eval-compare"] = {
            name: {key: value for key, value in options.items() if key not in _SLACK} if isinstance(options, dict) else options
            for name, options in compare.items()
        }
    return severe


_CANDIDATES: Final[dict[str, Callable[[Mapping[str, Any], Hole], Candidates]]] = {
    "order": _order,
    "ties": lambda _, hole: ({"order_by": [k]} for k in range(min(MOST_ORDERS, len(getattr(hole.answer, "header", ()))))),
    "tolerance": _tolerance,
    "exclude": _exclude,
    "columns": lambda *_: iter([{"condition_cols": []}]),
    "labels": lambda _, hole: iter([{"labels": "ignore" if hole.right else "judge"}]),
    "conj": lambda *_: iter([{"conj": "and"}]),
    "schema": _schema,
    "percentage": lambda *_: iter([{"percentage": False}]),
}


ORDER: Final = "evalsuite.analysis.gold_checks.audited_checks:collect_verdicts"
KEY: Final = "audit"
# Larger gold tables are audited by their first rows: the holes of a spec are the same for any such table.
MOST_CELLS, FEWEST_ROWS = 10_000, 100
# Scorers of whole texts and judges: no generated answer is certainly wrong.
TEXTS: Final = ("string_match", "number_match")
# The score of a graded scorer may miss 1 by rounding of its sums.
_FULL: Final = 1 - 1e-9
# Float noise of writing and reading.
_NOISE: Final = 1e-9
Taken = dict[Rule, bool | None]


class NotAuditedError(Exception):
    """No wrong answers can be generated for a check; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of the audit of a check, see `mutation.audit_gold`; `until` is a moment of `time.monotonic`, `queried` the results of edited
    gold queries.
    """

    seed: int
    most: int
    kinds: tuple[str, ...] = ()
    until: float | None = None
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    queried: tuple[tuple[str, Table], ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether no further answer may be scored."""
        return self.until is not None and time.monotonic() > self.until

    def wants(self, answer: GeneratedAnswer) -> bool:
        """Whether answers of this kind are audited."""
        return not self.kinds or answer.kind in self.kinds


def all_golds(gold: Gold) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts and the numbers, as text, that the checks of a suite accept, each once, in file order."""
    texts, numbers = dict[str, None](), dict[str, None]()
    for instance in gold.instances:
        for check in instance.own_checks:
            if check.scorer == "string_match":
                texts |= dict.fromkeys(text for text in check.gold_names if text.strip())
            elif check.scorer == "number_match":
                numbers |= dict.fromkeys(str(value) for item in check.golds if (value := read_gold_number(item)) is not None)
    return tuple(texts), tuple(numbers)


def check_auditable(check: Check) -> None:
    """Raise `NotAuditedError` if the spec alone shows that a check cannot be audited."""
    entry = SCORERS.load(check.scorer)
    reads = entry.marker.reads
    if any(len(problem.blocks) > 1 for problem in check.problems):
        raise NotAuditedError("the spec itself is faulty")
    if reads in ("text", "number"):
        if check.scorer not in TEXTS:
            raise NotAuditedError("gives a share, or compares meanings: no answer is certainly wrong")
    elif reads not in ("table", "tables", "database", "tree") or (entry.marker.asks is not None and entry.marker.asks(check.parameters)):
        raise NotAuditedError("needs a judge")


def collect_verdicts(task: Task, prediction: Prediction) -> Result:
    """Return the result of gold itself; its details contain, by `KEY`, the verdict on each generated answer, or why there is none. Runs in
    a worker.
    """
    result = judge(task, prediction)
    options: AuditOptions = task.instance.extra[KEY]
    (check,) = task.instance.checks
    try:
        data: dict[str, Any] = {"verdicts": _verdicts(task, check, options)}
    except NotAuditedError as why:
        data = {"untried": str(why)}
    return replace(result, details={KEY: data})


def _verdicts(task: Task, check: Check, options: AuditOptions) -> list[dict[str, Any]]:
    entry = SCORERS.load(check.scorer)
    try:
        parameters = usable_parameters(task, check, entry)
    except FaultError as error:
        raise NotAuditedError(f"gold cannot be read: {error.fault.detail or error.fault.code}") from None
    if entry.marker.reads in ("table", "tables", "database"):
        parameters["gold"] = _first_rows(parameters["gold"])
    random_ = random.Random(f"{options.seed} {task.instance.instance_id} {check.scorer}")
    answers = _answers_of(check, entry, parameters, options, random_)
    chosen = list(filter(options.wants, answers[1:]))[: options.most]
    if entry.marker.reads == "table" and options.queried:
        chosen += filter(options.wants, _query_answers(entry, parameters, options))
    if not chosen:
        raise NotAuditedError("no such answer can be generated")
    blocked: frozenset[Rule] = frozenset().union(*(problem.blocks for problem in check.problems))

    def score(form: Any, changed: Mapping[str, Any]) -> Taken:
        return _accept_by_rule(entry, form, changed, blocked)

    scored, verdicts = [], []
    with verdicts_only():
        for answer in chosen:
            if options.is_over:
                break
            form = scorer_form(answer, _gold_of(answer, parameters, entry.marker.reads))
            scored.append((answer, form, score(form, parameters)))
        gold_form = scorer_form(answers[0], _gold_of(answers[0], parameters, entry.marker.reads))
        for answer, form, accepted in scored:
            lines: dict[str, str] = {}
            for rule in RULES:
                if accepted[rule] is None or accepted[rule] is answer.right or options.is_over:
                    continue
                stay = [(OWN, gold_form), *((item.kind, other) for item, other, verdict in scored if item.right and verdict[rule])]
                lines[rule] = closing_line(Hole(answer.kind, form, answer.right, accepted), rule, parameters, entry.parameters, stay, score)
            verdicts.append({"kind": answer.kind, "right": answer.right, "size": answer.size, "accepted": accepted, "lines": lines})
    return verdicts


def _query_answers(entry: Scorer, parameters: Mapping[str, Any], options: AuditOptions) -> list[GeneratedAnswer]:
    """Return the results of edited gold queries that are not gold; none if the query does not return gold here."""
    exact = {**parameters, "rel_tol": _NOISE, "abs_tol": 0.0}
    gold = parameters["gold"] if isinstance(parameters["gold"], Table) else next(iter(parameters["gold"]), None)
    answers = []
    for kind, table in options.queried:
        is_gold = _accept_by_rule(entry, table, exact, frozenset())["strict"]
        if not kind and not is_gold:
            return []
        if kind and is_gold is False and isinstance(gold, Table):
            answers.append(GeneratedAnswer(f"gold's query: {kind}", table, size=_size(gold, table)))
    return answers


def _size(gold: Table, table: Table) -> float | None:
    """Return the largest relative change of a number; None if anything but numbers changed."""
    if (gold.n_rows, len(gold.columns)) != (table.n_rows, len(table.columns)):
        return None
    largest = 0.0
    for gold_column, other_column in zip(gold.columns, table.columns, strict=True):
        for before, after in (
            (number(a, native=False), number(b, native=False)) for a, b in zip(gold_column, other_column, strict=True) if a != b
        ):
            share = size_of(before, after) if before is not None and after is not None else None
            if share is None:
                return None
            largest = max(largest, share)
    return largest


def _first_rows(gold: Any) -> Any:
    """Return the gold tables of a check, each cut to `MOST_CELLS` cells, with faults in place of unreadable ones."""
    if isinstance(gold, Mapping):
        return {name: _first_rows(table) for name, table in gold.items()}
    if isinstance(gold, list | tuple):
        return list(map(_first_rows, gold))
    if isinstance(gold, Fault):
        return gold
    if gold.n_rows * len(gold.columns) <= MOST_CELLS:
        return _cache_columns(gold)
    return _cache_columns(pick(gold, range(max(FEWEST_ROWS, MOST_CELLS // len(gold.columns)))))


def _cache_columns(gold: Table) -> Table:
    """Return the table with cached text columns: all answers made from it share most of them."""
    return gold if gold.types is not None else with_columns(gold)


def _accept_by_rule(entry: Scorer, form: Any, parameters: Mapping[str, Any], blocked: frozenset[Rule]) -> Taken:
    """Return by rule whether the scorer accepts an answer; None if it cannot judge it."""
    try:
        score = entry.score(form, **parameters)
    except FaultError:
        return dict.fromkeys(RULES)
    values = {rule: None if rule in blocked else score.value(rule) for rule in RULES}
    return {rule: None if value is None else value >= _FULL for rule, value in values.items()}


def _gold_of(answer: GeneratedAnswer, parameters: Mapping[str, Any], reads: str) -> Any:
    """Return the gold that an answer is derived from: one of several accepted tables."""
    gold = parameters.get("gold")
    if reads == "table" and isinstance(gold, list | tuple):
        return [table for table in gold if isinstance(table, Table)][int(answer.table)]
    return gold


def _answers_of(
    check: Check, entry: Scorer, parameters: Mapping[str, Any], options: AuditOptions, random_: random.Random
) -> tuple[GeneratedAnswer, ...]:
    """Yield the answers of a check: gold itself, then wrong and right ones in turn, so that a short audit has both."""
    reads = entry.marker.reads
    if reads in ("text", "number"):
        gold_answer, wrong, right = _text_answers(check, options, random_)
    elif reads == "tree":
        tree = first_choice(parameters["gold"])
        gold_answer, wrong, right = right_answer(OWN, tree), list(tree_mutants(tree, random_)), list(tree_variants(tree))
    else:
        gold_answer, wrong, right = _table_answers(reads, parameters, random_)
    turns = [answer for i in range(max(len(wrong), len(right))) for answer in (*wrong[i : i + 1], *right[i : i + 1])]
    return (gold_answer, *turns)


def _text_answers(
    check: Check, options: AuditOptions, random_: random.Random
) -> tuple[GeneratedAnswer, list[GeneratedAnswer], list[GeneratedAnswer]]:
    needs_all = check.parameters.get("conj") == "and"
    if check.scorer == "string_match":
        golds = list(filter(None, check.gold_names))
        if not golds:
            raise NotAuditedError("has no gold")
        gold_text = " and ".join(golds) if needs_all else golds[0]
        wrong = list(text_mutants(golds, every=needs_all, others=options.texts, random_=random_))
        return right_answer(OWN, gold_text), wrong, list(text_variants(golds, every=needs_all))
    numbers = [value for item in check.golds if (value := read_gold_number(item)) is not None]
    if not numbers or len(numbers) < len(check.golds):
        raise NotAuditedError("gold is not a number")
    others = list(map(Decimal, options.numbers))
    percentage = bool(check.parameters.get("percentage"))
    wrong = list(number_mutants(numbers, every=needs_all, percentage=percentage, others=others, random_=random_))
    gold_text = " and ".join(f"{n:f}" for n in (numbers if needs_all else numbers[:1]))
    return right_answer(OWN, gold_text), wrong, list(number_variants(numbers, every=needs_all))


def _table_answers(
    reads: str, parameters: Mapping[str, Any], random_: random.Random
) -> tuple[GeneratedAnswer, list[GeneratedAnswer], list[GeneratedAnswer]]:
    tables, pairs = _gold_pairs(reads, parameters)
    # Each table is scrambled; one edit of every other kind is enough for the check.
    i = random_.randrange(len(pairs))
    table: int | str = pairs[i].name if reads == "database" else i
    edits = [(pair.name if reads == "database" else k, scramble(pair, random_)) for k, pair in enumerate(pairs)]
    edits += [(table, edit) for edit in table_mutants(pairs[i], random_)]
    wrong = [GeneratedAnswer(edit.kind, edit, table=of, size=edit.size) for of, edit in edits if edit is not None]
    if reads == "table" and len(tables) > 1:
        wrong = [answer for answer in wrong if not _equals_other_gold(apply_edit(tables[int(answer.table)], answer.value), tables)]
    return (
        right_answer(OWN, Edit(kind=OWN), table=table),
        wrong,
        [right_answer(edit.kind, edit, table=table) for edit in table_variants(pairs[i], random_)],
    )


def _gold_pairs(reads: str, parameters: Mapping[str, Any]) -> tuple[list[Table], list[TablePair]]:
    """Return (gold's tables, each paired with itself). Raises `NotAuditedError` if one cannot be read."""
    form = parameters["gold"]
    if reads == "table":
        form = [table for table in (form if isinstance(form, list | tuple) else [form]) if isinstance(table, Table)]
        pairs = [pair for table in form for pair in table_pairs(table, parameters, reads, "strict") if pair.gold is table]
    tables = list(form.values() if isinstance(form, Mapping) else form)
    if any(isinstance(table, Fault) for table in tables):
        raise NotAuditedError("gold cannot be read")
    if reads != "table":
        pairs = table_pairs(form, parameters, reads, "strict")
    if not tables or not pairs:
        raise NotAuditedError("gold cannot be read")
    tolerances = {name: parameters[name] for name in ("rel_tol", "abs_tol") if name in parameters}
    return tables, [replace(pair, terms=replace(pair.terms, **tolerances)) for pair in pairs]


def _equals_other_gold(table: Table, golds: Sequence[Table]) -> bool:
    """Whether a table made from one accepted gold equals another accepted one, where NULL may be 0."""

    def cells(table: Table) -> list[list[Any]]:
        return [[clear(value, native=False) for value in column] for column in table.columns]

    table_cells = cells(table)
    return any(cells(gold) == table_cells for gold in golds)


# Edits of one query that are run, in total and per kind.
MOST_EDITS, MOST_OF_A_KIND = 16, 3
_MOST_CELLS: Final = 20_000
# (kind, the table as its CSV file), gold's own query first, under the kind "".
Queried = tuple[tuple[str, Table], ...]


def run_mutants(
    gold: Gold,
    work: Sequence[tuple[GoldInstance, Check]],
    scratch: Path,
    *,
    folder: Path | None,
    limits: Mapping[str, int | float],
    jobs: int,
    isolation: str,
    until: float | None = None,
) -> dict[str, Queried]:
    """Return by instance the results of its gold query, original and edited; nothing for an instance without a query or a file to run it
    on.

    `until` is a moment of `time.monotonic` after which no further statement is run.
    """
    tables = [(instance, check) for instance, check in work if SCORERS.load(check.scorer).marker.reads == "table"]
    tasks = [
        (Task(instance=instance, answer=None, gold_folder=gold.folder, submission_folder=scratch), check) for instance, check in tables
    ]
    queried = [(task, check) for task, check in tasks if find_queries(task, check)]
    if not queried:
        return {}
    edited: dict[tuple[str, int], tuple[QueryEdit, Connection]] = {}
    with closing(Databases(gold, scratch, limits=limits, jobs=jobs, isolation=isolation, folder=folder)) as databases:
        for task, check in queried:
            with suppress(EvalsuiteError, FaultError):
                connection, sql = gold_query(databases, task, check, limits)
                if connection is not None and sql and is_embedded(connection):
                    for i, edit in enumerate([QueryEdit("", "", sql), *_some_edits(sql, connection.engine)]):
                        edited[task.instance.instance_id, i] = edit, connection
        return _run_edits(databases, edited, scratch / "edited", until)


def _some_edits(sql: str, dialect: str) -> Iterator[QueryEdit]:
    """Return a query with one source row missing, and edits: some of each kind, the likeliest mistakes first. Raises as `edits` does."""
    all_edits = [*one_row_short(sql, dialect), *edits(sql, dialect)]
    by_kind = defaultdict[str, list[QueryEdit]](list)
    for edit in all_edits:
        by_kind[edit.kind].append(edit)
    turns = [kind[i] for i in range(MOST_OF_A_KIND) for kind in by_kind.values() if i < len(kind)]
    yield from turns[:MOST_EDITS]


def _run_edits(
    databases: Databases, edited: Mapping[tuple[str, int], tuple[QueryEdit, "Connection"]], place: Path, until: float | None
) -> dict[str, Queried]:
    from evalsuite.sql.execution import Query

    names = {f"e{n}": key for n, key in enumerate(edited)}
    queries = [
        Query(name=name, text=edit.sql, connection=connection, place=place / f"{name}.csv")
        for name, (edit, connection) in ((name, edited[key]) for name, key in names.items())
    ]
    tables: dict[str, dict[int, tuple[str, Table]]] = defaultdict(dict)
    for answered in databases.queries().answers(queries):
        id_, at = names[answered.query.name]
        if not isinstance(answered.outcome, Fault):
            written = answered.outcome
            if written.cost.rows * len(written.header) <= _MOST_CELLS:
                with written.place.open("rb") as handle:
                    table = read_csv_table(handle, name=written.place.name, limits=DEFAULT_LIMITS)
                tables[id_][at] = edited[id_, at][0].kind, table
        if until is not None and time.monotonic() > until:
            break
    return {id_: tuple(of[at] for at in sorted(of)) for id_, of in tables.items() if 0 in of}


def audit_pairs(
    gold: Gold, pairs: Sequence[tuple[GoldInstance, Check]], scratch: Path, *, options: AuditOptions, folder: Path | None, **how: Any
) -> Iterator[tuple[GoldInstance, Check, Result | None, Sequence[Mapping[str, Any]], str]]:
    """Yield each pair of queries with the result of gold's query, the verdicts on others, or else the reason why there are none.

    `how` are the arguments of `run_mutants`.

    Wrong is an edited query that the strict rules refuse: one that returns gold's rows on every file is not wrong. Right are gold's query
    with other whitespace, and as a subquery.
    """
    if not pairs:
        return
    limits, start = how["limits"], {"jobs": how["jobs"], "isolation": how["isolation"]}
    inodes = gold_inodes(gold.folder)
    with (
        closing(Databases(gold, scratch, limits=limits, folder=folder, **start)) as databases,
        closing(Pool(gold_inodes=inodes, **start)) as pool,
    ):
        execute = partial(pipeline, [stage_of(runs_query, databases.sql_answers(None, inodes, pool.results).results), pool.results])
        for instance, check in pairs:
            if options.is_over:
                break
            task = Task(
                instance=replace(instance, checks=(check,)),
                answer=None,
                gold_folder=gold.folder.absolute(),
                submission_folder=scratch,
                limits=limits,
            )
            if (audited := _audit_pair(execute, task, str(check.parameters.get("gold", "")), options)) is not None:
                yield instance, check, *audited


def _audit_pair(
    execute: Execute, task: Task, sql: str, options: AuditOptions
) -> tuple[Result | None, Sequence[Mapping[str, Any]], str] | None:
    """Return the audit of one pair as far as the time allows; None if it does not reach gold's own query."""
    try:
        wrong = [GeneratedAnswer(f"gold's query: {edit.kind}", edit.sql) for edit in _some_edits(sql, "sqlite")]
    except FaultError:
        return None, (), "gold's query cannot be parsed"
    bare = sql.strip().rstrip(";")
    variants = [right_answer("gold's query: other spaces", f"\n{bare}  ;\n")]
    if order_terms(sql) is None:
        variants.append(right_answer("gold's query: as a subquery", f"SELECT * FROM ({bare}) AS given"))
    answers = list(filter(options.wants, [*variants, *wrong]))[: options.most]
    queries = {"own": sql} | {f"m{i}": generated.value for i, generated in enumerate(answers)}
    results = dict[str, Result]()
    tasks = [
        replace(
            task,
            instance=replace(task.instance, instance_id=name),
            answer=Answer(instance_id=name, answer_type="answer", value=query, where=task.instance.where),
        )
        for name, query in queries.items()
    ]
    for result in execute(tasks):
        results[result.instance_id] = result
        if options.is_over:
            break
    gold_result = results.pop("own", None)
    if gold_result is None or gold_result.fault in UNSCORED:
        return (None, (), gold_result.reason) if gold_result is not None else None
    judged_answers = [(generated, results[f"m{i}"]) for i, generated in enumerate(answers) if f"m{i}" in results]
    return (
        gold_result,
        [verdict for generated, result in judged_answers if (verdict := _verdict_of_query(generated, result)) is not None],
        "",
    )


def _verdict_of_query(answer: GeneratedAnswer, result: Result) -> dict[str, Any] | None:
    """Return the verdict on a query; None if it should be wrong, and the strict rules do not refuse it."""
    values: dict[Rule, float | None] = {"official": result.official, "strict": result.strict}
    accepted = {rule: None if value is None else value == 1 for rule, value in values.items()}
    if not answer.right and (accepted["strict"] is not False or result.status != "scored"):
        return None
    lines = {"official": STRICT} if accepted["official"] is not answer.right and accepted["strict"] is answer.right else {}
    return {"kind": answer.kind, "right": answer.right, "size": None, "accepted": accepted, "lines": lines}
