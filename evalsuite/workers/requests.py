"""What a task asks of a worker: which checks its answer reaches, and what the reader of the submission is told of it: no gold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evalsuite.errors import FaultError
from evalsuite.metrics import runs_programs
from evalsuite.readers.answer_files import AnswerFiles
from evalsuite.readers.limits import BIG_BYTES
from evalsuite.readers.paths import Inode
from evalsuite.scorers import SCORERS
from evalsuite.types import Answer, Check, Fault, GoldInstance, Result, Task
from evalsuite.workers.budget import size_of
from evalsuite.workers.combine import faulty, missing, unjudged

# Which forms a scorer may read an answer in. `answer` is the text itself; `file` and `files` are paths, `sql` the path of a query.
READS_BY_ANSWER_TYPE: Mapping[str, frozenset[str]] = {
    "answer": frozenset({"text", "number", "tree", "batch", "query"}),
    "file": frozenset({"table", "database"}),
    "sql": frozenset({"table"}),
    "files": frozenset({"tables"}),
}

# The order to say what an answer is worth; under the official rules alone, where the strict ones took too long.
JUDGE, JUDGE_OFFICIAL = "judge", "official"
# What compares the answers that a scorer reads in some form.
_OF_TABLES = ("evalsuite.tables.database_rules", "evalsuite.tables.margins")
_OF_FORMS = {"table": _OF_TABLES, "tables": _OF_TABLES, "database": (*_OF_TABLES, "duckdb")}
_JSON_FILES, _TEXT_FILES = (".json", ".jsonl"), (".txt", ".md")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What a reader of the submission is told: where the answer is and in which forms it is wanted. No gold.

    `private` is the table that an SQL answer gave, or `COPY`. `databases` are the files that a query runs on, prepared by its `evaluator`.
    """

    folder: str
    instance_id: str
    answer_type: str
    value: str | tuple[str, ...]
    wanted: tuple[str, ...]
    table_names: tuple[str, ...] | None
    limits: Mapping[str, int | float]
    private: str | None = None
    databases: tuple[str, ...] = ()
    evaluator: str = ""


def applicable(instance: GoldInstance, answer: Answer) -> tuple[Check, ...]:
    """The checks of an instance that can judge an answer of this type.

    A `file` answer that ends in .json or .jsonl also reaches tree checks, and a text file text checks where the instance has no
    table check (the reference reads a .txt as a table there). A file of SQL gives a table.
    """
    reads = [SCORERS.load(check.scorer).marker.reads for check in instance.checks]
    wanted = READS_BY_ANSWER_TYPE.get(answer.answer_type, frozenset())
    if answer.answer_type == "file" and isinstance(answer.value, str):
        name = answer.value.lower()
        if name.endswith(".sql") and "table" in reads:
            wanted = frozenset({"table"})
        elif name.endswith(_JSON_FILES):
            wanted |= {"tree"}
        elif name.endswith(_TEXT_FILES) and wanted.isdisjoint(reads):
            wanted |= {"text", "number"}
    if wanted.issuperset(reads):
        # Nearly always: asked several times for each of a hundred thousand answers.
        return instance.checks
    found = tuple(check for check, form in zip(instance.checks, reads, strict=True) if form in wanted)
    # Further scorers alone make no score.
    return () if all(check.beside for check in found) else found


def settle_early(task: Task) -> Result | None:
    """The result of a task that needs no file: nothing handed in, a faulty metadata entry, no check for the answer type."""
    if task.answer is None:
        return missing(task)
    if task.answer.fault is not None:
        return faulty(task, task.answer.fault)
    checks = applicable(task.instance, task.answer)
    if not checks:
        names = ", ".join(sorted({check.scorer for check in task.instance.checks}))
        detail = f"answer type {task.answer.answer_type!r} reaches no check of this instance ({names})"
        return faulty(task, Fault(code="WRONG_ANSWER_TYPE", detail=detail, where=task.answer.where))
    if not task.databases and asks_pair(checks):
        return unjudged(task, Fault(code="NEEDS_CONNECTION", detail="where do the databases lie that the queries ask? --databases DIR"))
    return None


def is_pair(task: Task) -> bool:
    """Whether a check runs the answer, a query, beside gold's own."""
    if task.answer is None or task.answer.fault is not None:
        return False
    return asks_pair(applicable(task.instance, task.answer))


def asks_pair(checks: Iterable[Check]) -> bool:
    """Whether one of the checks takes a query and gold's own."""
    return any(SCORERS.load(check.scorer).marker.reads == "query" for check in checks)


def read_request(task: Task, *, table_names: tuple[str, ...] | None = None) -> ReadRequest:
    """What the first stage needs to know of a task; `table_names` are the tables to read where a database is wanted."""
    assert task.answer is not None
    checks = applicable(task.instance, task.answer)
    wanted = tuple(dict.fromkeys(SCORERS.load(check.scorer).marker.reads for check in checks))
    return ReadRequest(
        folder=str(task.submission_folder),
        instance_id=task.instance.instance_id,
        answer_type=task.answer.answer_type,
        value=task.answer.value,
        wanted=wanted,
        table_names=table_names,
        limits=task.limits,
        private=str(task.executed) if task.executed is not None else None,
        databases=task.databases,
        evaluator=next((str(check.parameters.get("evaluator", "bird-ex")) for check in checks if task.databases), ""),
    )


# One folder of all the answers of a run.
_path = lru_cache(maxsize=1)(Path)


def files_of(request: ReadRequest, gold_inodes: frozenset[Inode]) -> AnswerFiles:
    """The files that an answer may open."""
    return AnswerFiles(_path(request.folder), request.instance_id, request.limits, gold_inodes)


def table_names(task: Task) -> tuple[str, ...]:
    """The tables that the database checks of a task look at; opens gold where a check means all of gold's tables.

    Empty where gold cannot be read: then nothing of the submission is read either, and the second stage finds gold's fault.
    """
    from evalsuite.readers.answer_forms import gold_table_names

    names: dict[str, None] = {}
    for check in task.instance.checks:
        is_judged = not any(problem.blocks >= {"official", "strict"} for problem in check.problems)
        if not is_judged or SCORERS.load(check.scorer).marker.reads != "database":
            continue
        listed = check.parameters.get("condition_tabs")
        if listed is None:
            try:
                listed = gold_table_names(task.gold_folder, task.instance.instance_id, check.parameters["gold"], task.limits)
            except FaultError:
                return ()
        names.update(dict.fromkeys(listed))
    return tuple(names)


def opens_files(task: Task) -> bool:
    """Whether a task's answer is a file, or a query of one; else it is the text itself."""
    return task.answer is not None and (task.answer.answer_type != "answer" or bool(task.databases))


def wants_database(task: Task) -> bool:
    """Whether the reader opens a database for this task, and has to be told its tables."""
    assert task.answer is not None
    return any(SCORERS.load(check.scorer).marker.reads == "database" for check in applicable(task.instance, task.answer))


def modules_of(tasks: Sequence[Task]) -> list[str]:
    """What every worker of every lane would import for itself to score these tasks, all of which somebody has to look at."""
    modules = scorer_modules({check.scorer for task in tasks for check in task.instance.checks})
    if any(opens_files(task) and wants_database(task) for task in tasks):
        modules |= {"duckdb", "numpy"}
    elif any(opens_files(task) and size_of(task) >= BIG_BYTES for task in tasks):
        modules.add("numpy")
    return sorted(modules)


def scorer_modules(names: Iterable[str]) -> set[str]:
    """What these scorers import at the latest when they are first called, those that no plugin brings."""
    scorers = [SCORERS.load(name) for name in names if name in SCORERS.bundled]
    return {scorer.function.__module__ for scorer in scorers}.union(*(_OF_FORMS.get(scorer.marker.reads, ()) for scorer in scorers))


def asks_programs(check: Check) -> bool:
    """Whether a check asks for programs, also through a scorer that the suite makes of metrics.

    A tree that does is parsed in a worker all the same, where it has no jail: NO_JAIL.
    """
    if SCORERS.load(check.scorer).marker.reads == "tree":
        return False
    return runs_programs([check.scorer, check.parameters, SCORERS.metrics.get(check.scorer, {})])
