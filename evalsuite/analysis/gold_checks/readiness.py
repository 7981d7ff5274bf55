"""Check whether a submission is ready: every line usable, every file present, readable and of the right kind. Scores nothing.

Without gold a file's kind follows from its ending; with gold it is what the instance's checks read. Gold's own files are never needed.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.compare.messages import other_delimiter
from evalsuite.compare.official_cells import RESULT_SUITES
from evalsuite.compare.string_columns import UnreadTable
from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, describe, did_you_mean, error_sentence
from evalsuite.core.types import EVALUATORS, METADATA, Answer, Check, Fault, Gold, GoldInstance, Submission, Table, Task
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.answer_files import AnswerFiles
from evalsuite.readers.duckdb_connections import unnamed_copy
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import read_answer, read_query
from evalsuite.readers.paths import FromRoot
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.instance_checks import applicable
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.sandbox.fork_server import forking
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.gold.connection_files import Connections


FORMS_BY_ENDING = {
    **dict.fromkeys(("duckdb", "ddb", "db"), ("database",)),
    **dict.fromkeys(("json", "jsonl"), ("tree",)),
    "txt": ("table", "text"),
    "md": ("text",),
}
_LOOK = f"{__name__}:fault_and_note"
_NOTE = re.compile(r"(.+?:\d+): ([A-Z_]+): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem: its place (file:line), the instance (empty if unknown), what is wrong and how to fix it."""

    where: str
    instance_id: str
    code: str
    message: str
    hint: str

    def to_json(self) -> dict[str, str]:
        """The same as a JSON object."""
        return {"where": self.where, "instance_id": self.instance_id, "code": self.code, "message": self.message, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The findings in one submission. `n_answers` counts by answer type; notes do not prevent a submission."""

    problems: tuple[Finding, ...]
    notes: tuple[str, ...]
    n_answers: Mapping[str, int]
    n_ready: int
    n_gold: int | None

    @property
    def ready(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {
            "ready": self.ready,
            "n_answers": dict(self.n_answers),
            "n_ready": self.n_ready,
            "n_gold": self.n_gold,
            "problems": [problem.to_json() for problem in self.problems],
            "notes": list(self.notes),
        }


def validate(folder: Path, gold_folder: Path | None = None, *, layout: str | None = None, mode: str | None = None) -> Validation:
    """Return the problems of a submission in the order of its lines, then what is missing.

    Args:
        folder: the submission.
        gold_folder: a gold folder or its spec file; adds ids that gold lacks, missing ids, and answers that no check accepts.
        layout: layout of gold, a key of `gold.layouts.LAYOUTS`; None detects it, without gold it is `original`.
        mode: which files of a folder without metadata are the answers, `sql` or `exec_result`; None detects it.

    Raises:
        SubmissionError: the folder is not a submission.
        GoldError: gold's spec cannot be read as a whole.
    """
    gold = read_gold(gold_folder, layout=layout) if gold_folder is not None else None
    limits = resolve_limits(gold.suite.limits) if gold is not None else resolve_limits()
    layout = gold.layout if gold is not None else layout or "original"
    hidden = [gold.folder] if gold is not None else []
    with forking(folder, modules=WORKER_MODULES) as fork_server:
        submission = read_submission_in_worker(folder, gold, limits, layout=layout, mode=mode, fork_server=fork_server)
        with RpcClient(
            readable=[submission.folder], hostile=submission.folder, limits=limits, hidden=hidden, fork_server=fork_server
        ) as calls:
            looker = _AnswerValidator(submission, gold, limits, calls)
            found = {id_: list(looker.answer(answer)) for id_, answer in submission.answers.items()}
    lost, notes = _lost_lines_and_notes(submission)
    problems = [*lost, *looker.unknown(), *(problem for problems in found.values() for problem in problems)]
    kinds = [answer.answer_type for answer in submission.answers.values()]
    # A folder that no line names: perhaps its line was forgotten.
    places = [place for place in sorted(submission.folder.iterdir()) if place.is_dir()] if layout == "original" else []
    named = {*submission.answers, *(name for _, name in submission.unknown)}
    strange = [place.name for place in places if not place.name.startswith(".") and place.name not in named]
    return Validation(
        problems=(*sorted(problems, key=_line_number), *looker.absent()),
        notes=(*notes, *looker.notes, *(f"{name}/: no line of {METADATA} names this folder" for name in strange)),
        n_answers={kind: kinds.count(kind) for kind in ("answer", "file", "files", *(["sql"] if "sql" in kinds else []))},
        n_ready=sum(not problems for problems in found.values()),
        n_gold=len(gold.instances) if gold is not None else None,
    )


class _AnswerValidator:
    """Checks one answer after the other, with the little of gold that it needs."""

    def __init__(self, submission: Submission, gold: Gold | None, limits: Mapping[str, int | float], calls: RpcClient) -> None:
        self.submission, self.calls = submission, calls
        self.limits, self.gold = limits, gold
        self.instances = None if gold is None else {instance.instance_id: instance for instance in gold.instances}
        self.inodes = gold_inodes(gold.folder) if gold is not None else frozenset()
        self.notes: list[str] = []
        self.connections: Connections | None = None

    def answer(self, answer: Answer) -> Iterator[Finding]:
        """Yield the problems of one answer."""
        if answer.fault is not None:
            yield _finding(answer, answer.fault)
            return
        instance = None if self.instances is None else self.instances.get(answer.instance_id)
        checks = applicable(instance, answer) if instance is not None else ()
        if instance is not None and not checks:
            names = ", ".join(dict.fromkeys(check.scorer for check in instance.checks))
            untaken = f"answer type {answer.answer_type!r} reaches no check of this instance ({names})"
            yield _finding(answer, Fault(code="WRONG_ANSWER_TYPE", detail=untaken))
        found = self._query_findings(answer, instance) if instance is not None and checks else None
        yield from self._unreadable(answer, checks) if found is None else found

    def _query_findings(self, answer: Answer, instance: GoldInstance) -> list[Finding] | None:
        """Return what prevents a query from running, as far as its text shows; None if it is not a query of an instance with a
        connection.
        """
        if self.gold is None or not answer.is_query or not isinstance(answer.value, str):
            return None
        from evalsuite.gold.connection_files import read_connections
        from evalsuite.runs.databases import connection_of
        from evalsuite.sql import ENGINES
        from evalsuite.sql.session import QueryLimits
        from evalsuite.sql.statement import only_statement

        if self.connections is None:
            self.connections = read_connections(self.gold.folder, submission=self.submission.folder)
        task = Task(instance=instance, answer=answer, gold_folder=self.gold.folder, submission_folder=self.submission.folder)
        files, most = AnswerFiles(self.submission.folder, answer.instance_id, self.limits, self.inodes), QueryLimits().sql_bytes
        try:
            if (connection := connection_of(task, self.connections)) is None:
                return None
            text = read_query(files, answer.value, limit_bytes=most)
            only_statement(text, ENGINES[connection.engine].dialect, most_bytes=most)
        except FaultError as error:
            return [_finding(answer, error.fault, file=answer.value)]
        except EvalsuiteError as error:
            # A submission cannot fix what the grader has not set up here.
            self.notes.append(f"{answer.where}: {answer.instance_id}: {error_sentence(error)}")
        return []

    def _unreadable(self, answer: Answer, checks: tuple[Check, ...]) -> Iterator[Finding]:
        """Yield the problems of an answer's text or files, each read in the wanted forms; one readable form is enough."""
        for value in answer.value if isinstance(answer.value, tuple) else (answer.value,):
            forms: dict[str, Check | None] = {SCORERS.load(check.scorer).marker.reads: check for check in checks}
            forms = forms or dict.fromkeys(_likely_forms(answer.answer_type, value))
            faults = [self._fault(answer, value, form, check) for form, check in forms.items()]
            if faults[0] is not None and all(faults):
                yield _finding(answer, faults[0], file="" if answer.answer_type == "answer" else value)

    def _fault(self, answer: Answer, value: str, form: str, check: Check | None) -> Fault | None:
        """Return what prevents a text or file from being read in a form, None if it can be read."""
        wanted = check.parameters.get("condition_tabs") if check is not None else None
        names = wanted if form == "database" and _are_names(wanted) else None
        # Workers have another working directory.
        place = (self.submission.folder.absolute(), answer.instance_id, dict(self.limits), self.inodes)
        # Only the current reference (dbt) reads views, so a view is a risk unless gold names that reference.
        takes_views = check is not None and check.parameters.get("reference") == "dbt"
        form_read = "table" if form == "tables" else form
        reading = (AnswerFiles(*place), form_read, answer.answer_type, value, names, dict(self.limits), takes_views)
        try:
            if form == "query" and check is not None:
                from evalsuite.sql.query_pairs import EVALUATORS, statement_of
                from evalsuite.sql.session import QueryLimits

                statement_of(value, EVALUATORS[str(check.parameters.get("evaluator", "bird-ex"))], QueryLimits.of(self.limits))
                return None
            if answer.answer_type == "answer":
                fault, note = self.calls.call(_LOOK, *reading) if form == "tree" else fault_and_note(*reading)
            else:
                with AnswerFiles(*place).open(value) as source:
                    n_bytes = os.fstat(source.fileno()).st_size
                    with unnamed_copy(source, n_bytes) if form == "database" else nullcontext() as copy:
                        fault, note = self.calls.call(_LOOK, *reading, copy=copy, n_bytes=n_bytes)
        except FaultError as error:
            return error.fault
        if note:
            self.notes.append(f"{answer.where}: {answer.instance_id}: {value}: {note}")
        return Fault(code=fault[0], detail=fault[1]) if fault else None

    def unknown(self) -> Iterator[Finding]:
        """Yield each id that gold lacks, the first few with their lines; their answers are not checked."""
        kind, told = FAULTS["UNKNOWN_ID"], self.submission.unknown
        for where, id_ in told:
            near = did_you_mean(id_, self.instances or ())
            hint = near if near.startswith("did") else kind.hint
            yield Finding(where=where, instance_id=id_, code="UNKNOWN_ID", message=kind.message, hint=hint)
        if more := self.submission.n_unknown - len(told):
            yield Finding(where=METADATA, instance_id="", code="UNKNOWN_ID", message=f"{more} more lines name such ids", hint=kind.hint)

    def absent(self) -> Iterator[Finding]:
        """Yield each gold instance that is missing, at gold's own line; a submission without lines is a problem of its own."""
        layout = self.gold.layout if self.gold is not None else ""
        if not self.submission.answers and not self.submission.n_unknown:
            hint = FAULTS["BAD_METADATA"].hint
            yield Finding(where=METADATA, instance_id="", code="BAD_METADATA", message="no line with an instance_id", hint=hint)
        for id_, instance in (self.instances or {}).items():
            if id_ not in self.submission.answers:
                kind = FAULTS["MISSING_INSTANCE"]
                hint = f"add {id_}.csv or {id_}.sql" if layout in RESULT_SUITES else "add a query" if layout in EVALUATORS else kind.hint
                yield Finding(where=instance.where, instance_id=id_, code="MISSING_INSTANCE", message=kind.message, hint=hint)


def fault_and_note(
    files: AnswerFiles,
    form: str,
    answer_type: str,
    value: str,
    names: Sequence[str] | None,
    limits: Mapping[str, int | float],
    takes_views: bool,
    private: Path | None = None,
) -> tuple[tuple[str, str] | None, str]:
    """Return ((code, detail) of what prevents an answer from being read in a form, a note on its header). Runs in a worker."""
    try:
        read = read_answer(
            form,
            answer_type=answer_type,
            value=value,
            files=files,
            table_names=names,
            limits=limits,
            private=None if private is None else str(private),
        )
        if isinstance(read, UnreadTable):
            # Read to the end: the last rows may be broken.
            read.read()
    except FaultError as error:
        return (error.fault.code, error.fault.detail), ""
    note = other_delimiter(read.header) if isinstance(read, Table | UnreadTable) else ""
    fault = next((table for table in read.values() if isinstance(table, Fault)), None) if form == "database" else None
    views = [name for name, table in read.items() if isinstance(table, Table) and table.is_view] if form == "database" else []
    if fault is None and views and not takes_views:
        fault = Fault(code="NOT_A_TABLE", detail=f"{views[0]!r} is a view; submit a table")
    return (None if fault is None else (fault.code, fault.detail)), note


def _finding(answer: Answer, fault: Fault, *, file: str = "", hint: str = "") -> Finding:
    kind = FAULTS[fault.code]
    message = fault.detail or kind.message
    place = file if isinstance(file, FromRoot) else f"{answer.instance_id}/{file}"
    named = f"{place}: {message}" if file else message
    return Finding(where=answer.where, instance_id=answer.instance_id, code=fault.code, message=named, hint=hint or kind.hint)


def _likely_forms(answer_type: str, value: str) -> tuple[str, ...]:
    """Return the likely forms of an answer by its type and the file's ending."""
    if answer_type == "answer":
        return ("text",)
    ending = value.lower().rpartition(".")[2]
    return FORMS_BY_ENDING.get(ending, ("table",)) if answer_type == "file" else ("table",)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _lost_lines_and_notes(submission: Submission) -> tuple[list[Finding], list[str]]:
    """Return (lines that cannot be assigned to an instance, notes on the rest)."""
    told = {answer.where for answer in submission.answers.values() if answer.fault is not None}
    lost, notes = [], []
    for note in submission.notes:
        match = _NOTE.fullmatch(note)
        if match is None or match[2] not in FAULTS:
            notes.append(note)
        elif match[1] not in told:
            where, code, message = match.groups()
            lost.append(Finding(where=where, instance_id="", code=code, message=message, hint=FAULTS[code].hint))
    return lost, notes


def _line_number(finding: Finding) -> int:
    number = finding.where.rpartition(":")[2]
    return int(number) if number.isdigit() else 0


def finding_line(finding: Finding) -> str:
    """Return a finding as one line: `results_metadata.jsonl:3: ops_006: BAD_CSV: what is wrong (what to do)`."""
    owner = f"{finding.instance_id}: " if finding.instance_id else ""
    what = describe(Fault(code=finding.code, detail=finding.message))
    return f"{finding.where}: {owner}{what}" + (f" ({finding.hint})" if finding.hint not in what else "")
