"""Checks before scoring: whether a submission is ready, gold scored as its own answer, and what this machine lacks. Scores no submission.

A submission is ready if every line is usable, and every file present, readable and of the right kind: without gold the kind follows from
its ending, with gold it is what the checks read. Gold's own score is the ceiling of a suite. Needs are databases, connections, clients, a
judge, packages of metrics and a program sandbox; no query is run and no server is contacted. A database file is opened once, because a
damaged one is unusable, and a text metric is tried once.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from evalsuite.analysis.gold_checks.generated_answers import NoOwnAnswerError, lost_files, own_answers
from evalsuite.analysis.gold_checks.lint import REFUSING, lint
from evalsuite.analysis.gold_checks.lint_values import IGNORE_KEY
from evalsuite.compare.columns import UnreadTable
from evalsuite.compare.messages import lines_below, other_form
from evalsuite.compare.official_cells import RESULT_SUITES
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import file_state
from evalsuite.core.errors import (
    FAULTS,
    UNSCORED,
    EvalsuiteError,
    FaultError,
    count_words,
    describe,
    did_you_mean,
    error_sentence,
    machine_error,
    unicode_form_hint,
)
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.registry import CONNECTION_PARAMETERS
from evalsuite.core.runtime import extra_line
from evalsuite.core.status import refuse_small_machine
from evalsuite.core.types import (
    EVALUATORS,
    METADATA,
    RULES,
    Answer,
    Check,
    Fault,
    Gold,
    GoldInstance,
    Result,
    Rule,
    Submission,
    Table,
    Task,
)
from evalsuite.gold.connection_files import Connections, read_connections
from evalsuite.gold.errata import read_errata
from evalsuite.gold.layouts import layout_without_gold, read_gold, refuse_empty
from evalsuite.gold.spec import names_queries
from evalsuite.readers.archives import is_archive
from evalsuite.readers.csv_dialect import Dialect
from evalsuite.readers.duckdb_tables import unnamed_copy
from evalsuite.readers.gold_files import gold_inodes, read_gold_files
from evalsuite.readers.limits import CLOCK, Limits, resolve_limits
from evalsuite.readers.load_answer import read_answer, read_query
from evalsuite.readers.paths import READABLE_HINT, UNREADABLE, AnswerFiles, FromRoot, similar_file_hint, similar_folders
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.databases import Databases, connection_of, runs_query
from evalsuite.runs.executors import Execute, default_jobs, pipeline, stage_of
from evalsuite.runs.gold_queries import by_the_clock, is_temporal, query_files
from evalsuite.runs.history import GoldSelfScore, signature_of
from evalsuite.runs.instance_checks import applicable_checks
from evalsuite.runs.leaderboard_entries import unpack
from evalsuite.runs.plan import default_rules, refuse_changes
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.fork_server import fork_server_for
from evalsuite.sandbox.limits import check_limits
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, runs_programs
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.query_pairs import EVALUATORS as QUERY_EVALUATORS
from evalsuite.sql.query_pairs import files_of, statement_of
from evalsuite.sql.session import Connection, QueryLimits, database_path, only_statement

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
        counts = {"n_answers": dict(self.n_answers), "n_ready": self.n_ready, "n_gold": self.n_gold}
        return {"ready": self.ready, **counts, "problems": [asdict(problem) for problem in self.problems], "notes": list(self.notes)}


def validate(folder: Path, gold_folder: Path | None = None, *, layout: str | None = None, mode: str | None = None) -> Validation:
    """Return the problems of a submission in the order of its lines, then what is missing.

    Args:
        folder: the submission, or an archive of it.
        gold_folder: a gold folder or its spec file; adds ids that gold lacks, missing ids, and answers that no check accepts.
        layout: layout of gold, a key of `gold.layouts.LAYOUTS`; None detects it, without gold by the files of the submission.
        mode: which files of a folder without metadata are the answers, `sql` or `exec_result`; None detects it.

    Raises:
        SubmissionError: the folder is not a submission.
        GoldError: gold's spec cannot be read as a whole.
    """
    if is_file(folder) and is_archive(folder.name):
        with unpack(folder, RunOptions()) as unpacked:
            return validate(unpacked, gold_folder, layout=layout, mode=mode)
    gold = read_gold(gold_folder, layout=layout) if gold_folder is not None else None
    limits = resolve_limits(gold.suite.limits) if gold is not None else resolve_limits()
    guessed = layout_without_gold(folder) if gold is None and layout is None else ""
    layout = gold.layout if gold is not None else layout or guessed
    hidden = [gold.folder] if gold is not None else []
    with fork_server_for(folder, modules=WORKER_MODULES) as fork_server:
        submission = read_submission_in_worker(folder, gold, limits, layout=layout, mode=mode, fork_server=fork_server)
        with RpcClient(
            readable=[submission.folder], hostile=submission.folder, limits=limits, hidden=hidden, fork_server=fork_server
        ) as calls:
            looker = _AnswerValidator(submission, gold, limits, calls)
            by_answer = {id_: list(looker.answer(answer)) for id_, answer in submission.answers.items()}
    lost, notes = _lost_lines_and_notes(submission)
    problems = [*lost, *looker.find_unknown(), *(problem for problems in by_answer.values() for problem in problems)]
    kinds = [answer.answer_type for answer in submission.answers.values()]
    strange = _unnamed_folders(submission) if layout == "original" else []

    n_queries = looker.n_queries
    unsure = _notes_without_gold(n_queries, guessed)

    def line(finding: Finding) -> int:
        number = finding.where.rpartition(":")[2]
        return int(number) if number.isdigit() else 0

    return Validation(
        problems=(*sorted(problems, key=line), *looker.find_missing()),
        notes=(*notes, *looker.notes, *unsure, *(f"{name}/: no line of {METADATA} names this folder" for name in strange)),
        n_answers={kind: kinds.count(kind) for kind in ("answer", "file", "files", *(["sql"] if "sql" in kinds else []))},
        n_ready=sum(not problems for problems in by_answer.values()),
        n_gold=len(gold.instances) if gold is not None else None,
    )


def _notes_without_gold(n_queries: int, layout: str) -> list[str]:
    """Return notes on what only gold decides: whether SQL is accepted, and the layout, here guessed from the files (empty: it is known)."""
    notes = [f"{count_words(n_queries, 'answer')} in SQL: only gold says whether SQL is accepted (--gold FOLDER)"] if n_queries else []
    how = "read as a folder of <id>.csv or <id>.sql (Spider 2.0 Lite and Snow); --gold FOLDER decides"
    return [*notes, *([f"no {METADATA}: {how}"] if layout == "lite" else [])]


def _unnamed_folders(submission: Submission) -> list[str]:
    """Return the folders that no line names: perhaps their lines were forgotten."""
    ids = {*submission.answers, *(name for _, name in submission.unknown)}
    names = sorted(place.name for place in submission.folder.iterdir() if is_dir(place))
    return [name for name in names if not name.startswith(".") and name not in ids]


class _AnswerValidator:
    """Checks one answer after the other, with the little of gold that it needs."""

    def __init__(self, submission: Submission, gold: Gold | None, limits: Mapping[str, int | float], calls: RpcClient) -> None:
        self.submission, self.calls = submission, calls
        self.limits, self.gold = limits, gold
        self.instances = None if gold is None else {instance.instance_id: instance for instance in gold.instances}
        self.inodes = gold_inodes(gold.folder) if gold is not None else frozenset()
        self.notes: list[str] = []
        self.connections: Connections | None = None
        self.folders: dict[str, str] | None = None
        self.n_queries = 0

    def answer(self, answer: Answer) -> Iterator[Finding]:
        """Yield the problems of one answer."""
        if answer.fault is not None:
            yield _finding(answer, answer.fault)
            return
        instance = None if self.instances is None else self.instances.get(answer.instance_id)
        checks = applicable_checks(instance, answer) if instance is not None else ()
        if instance is not None and not checks:
            names = ", ".join(dict.fromkeys(check.scorer for check in instance.checks))
            untaken = f"answer type {answer.answer_type!r} reaches no check of this instance ({names})"
            yield _finding(answer, Fault(code="WRONG_ANSWER_TYPE", detail=untaken))
        findings = self._query_findings(answer, instance) if self.gold is None or checks else None
        yield from self._find_unreadable(answer, checks) if findings is None else findings

    def _query_findings(self, answer: Answer, instance: GoldInstance | None) -> list[Finding] | None:
        """Return what prevents a query from running, as far as its text shows; None if it is no query, or gold has no connection for it.

        Without gold a query is only read: who accepts it is not known.
        """
        if not answer.is_query or not isinstance(answer.value, str):
            return None
        files, most = AnswerFiles(self.submission.folder, answer.instance_id, self.limits, self.inodes), QueryLimits().sql_bytes
        try:
            connection = self._connection(answer, instance)
            if connection is None and self.gold is not None:
                return None
            text = read_query(files, answer.value, limit_bytes=most)
            if connection is None:
                self.n_queries += 1
                return []
            only_statement(text, ENGINES[connection.engine].dialect, most_bytes=most)
        except FaultError as error:
            return [_finding(answer, error.fault, file=answer.value)]
        except EvalsuiteError as error:
            # A submission cannot fix what the grader has not set up here.
            self.notes.append(f"{answer.where}: {answer.instance_id}: {error_sentence(error)}")
        return []

    def _connection(self, answer: Answer, instance: GoldInstance | None) -> Connection | None:
        """Return the connection through which gold runs the query of an answer, None if there is none. Raises `EvalsuiteError`."""
        if self.gold is None or instance is None:
            return None
        if self.connections is None:
            self.connections = read_connections(self.gold.folder, submission=self.submission.folder)
        task = Task(instance=instance, answer=answer, gold_folder=self.gold.folder, submission_folder=self.submission.folder)
        return connection_of(task, self.connections)

    def _find_unreadable(self, answer: Answer, checks: tuple[Check, ...]) -> Iterator[Finding]:
        """Yield the problems of an answer's text or files, each read in the wanted forms; one readable form is enough."""
        for value in answer.value if isinstance(answer.value, tuple) else (answer.value,):
            forms: dict[str, Check | None] = {SCORERS.load(check.scorer).marker.reads: check for check in checks}
            # Without gold the type and the ending of the file decide.
            by_ending = FORMS_BY_ENDING.get(value.lower().rpartition(".")[2], ("table",)) if answer.answer_type == "file" else ("table",)
            forms = forms or dict.fromkeys(("text",) if answer.answer_type == "answer" else by_ending)
            faults = [self._fault(answer, value, form, check) for form, check in forms.items()]
            if faults[0] is not None and all(faults):
                hint = self._similar_name(answer.instance_id, value) if faults[0].code == "MISSING_FILE" else ""
                hint = READABLE_HINT if faults[0].detail == UNREADABLE else hint
                yield _finding(answer, faults[0], file="" if answer.answer_type == "answer" else value, hint=hint)

    def _similar_name(self, instance_id: str, value: str) -> str:
        """Return a hint that names the folder or the file meant by a path without a file."""
        if self.folders is None:
            self.folders = similar_folders(self.submission.folder, self.submission.answers, self.submission.answers)
        if instance_id in self.folders:
            return f"rename the folder {self.folders[instance_id]!r} to the id: it differs in case, spaces or Unicode form"
        return similar_file_hint(self.submission.folder, instance_id, value)

    def _fault(self, answer: Answer, value: str, form: str, check: Check | None) -> Fault | None:
        """Return what prevents a text or file from being read in a form, None if it can be read."""
        tables = check.parameters.get("condition_tabs") if check is not None else None
        names = tables if form == "database" and (isinstance(tables, list) and all(isinstance(name, str) for name in tables)) else None
        # Workers have another working directory.
        place = (self.submission.folder.absolute(), answer.instance_id, dict(self.limits), self.inodes)
        # Only the current reference (dbt) reads views, so a view is a risk unless gold names that reference.
        takes_views = check is not None and check.parameters.get("reference") == "dbt"
        form_read = "table" if form == "tables" else form
        dialect = Dialect.from_parameters(check.parameters if check is not None else {})
        reading = (AnswerFiles(*place), form_read, answer.answer_type, value, names, dict(self.limits), dialect, takes_views)
        try:
            if form == "query" and check is not None:
                statement_of(
                    value, QUERY_EVALUATORS[str(check.parameters.get("evaluator", "bird-ex"))], QueryLimits.from_names(self.limits)
                )
                return None
            if answer.answer_type == "answer":
                fault, note = self.calls.call(_LOOK, *reading) if form == "tree" else fault_and_note(*reading)
            else:
                with AnswerFiles(*place).open_unread(value) as source:
                    n_bytes = os.fstat(source.fileno()).st_size
                    with unnamed_copy(source, n_bytes) if form == "database" else nullcontext() as copy:
                        fault, note = self.calls.call(_LOOK, *reading, copy=copy, n_bytes=n_bytes)
        except FaultError as error:
            if error.fault.side == "setup":
                raise machine_error(f"{answer.where}: {answer.instance_id}", error.fault) from None
            return error.fault
        if note:
            self.notes.append(f"{answer.where}: {answer.instance_id}: {value}: {note}")
        return Fault(code=fault[0], detail=fault[1]) if fault else None

    def find_unknown(self) -> Iterator[Finding]:
        """Yield each id that gold lacks, the first few with their lines; their answers are not checked."""
        kind, unknown = FAULTS["UNKNOWN_ID"], self.submission.unknown
        for where, id_ in unknown:
            near = did_you_mean(id_, self.instances or ())
            hint = unicode_form_hint(id_, self.instances or (), "gold's id") or (near if near.startswith("did") else kind.hint)
            yield Finding(where=where, instance_id=id_, code="UNKNOWN_ID", message=kind.message, hint=hint)
        if more := self.submission.n_unknown - len(unknown):
            yield Finding(where=METADATA, instance_id="", code="UNKNOWN_ID", message=f"{more} more lines name such ids", hint=kind.hint)

    def find_missing(self) -> Iterator[Finding]:
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
    dialect: Dialect,
    takes_views: bool,
    private: Path | None = None,
) -> tuple[tuple[str, str] | None, str]:
    """Return ((code, detail) of what prevents an answer from being read in a form, a note on its header). Runs in a worker."""
    try:
        place = None if private is None else str(private)
        how: dict[str, Any] = {"files": files, "table_names": names, "limits": limits, "private": place, "dialect": dialect}
        read = read_answer(form, answer_type=answer_type, value=value, **how)
        for table in read.values() if form == "database" else [read]:
            if isinstance(table, UnreadTable):
                # Read to the end: the last rows may be broken.
                table.read()
    except FaultError as error:
        if error.is_of_machine:
            raise
        return (error.fault.code, error.fault.detail), ""
    note = other_form(read.header, dialect.delimiter, lines_below(read)) if isinstance(read, Table | UnreadTable) else ""
    fault = next((table for table in read.values() if isinstance(table, Fault)), None) if form == "database" else None
    views = [name for name, table in read.items() if isinstance(table, Table) and table.is_view] if form == "database" else []
    if fault is None and views and not takes_views:
        fault = Fault(code="NOT_A_TABLE", detail=f"{views[0]!r} is a view; submit a table")
    return (None if fault is None else (fault.code, fault.detail)), note


def _finding(answer: Answer, fault: Fault, *, file: str = "", hint: str = "") -> Finding:
    kind = FAULTS[fault.code]
    message = fault.detail or kind.message
    place = file if isinstance(file, FromRoot) else f"{answer.instance_id}/{file}"
    text = f"{place}: {message}" if file else message
    return Finding(where=answer.where, instance_id=answer.instance_id, code=fault.code, message=text, hint=hint or kind.hint)


def _lost_lines_and_notes(submission: Submission) -> tuple[list[Finding], list[str]]:
    """Return (lines that cannot be assigned to an instance, notes on the rest)."""
    reported = {answer.where for answer in submission.answers.values() if answer.fault is not None}
    lost, notes = [], []
    for note in submission.notes:
        match = _NOTE.fullmatch(note)
        if match is None or match[2] not in FAULTS:
            notes.append(note)
        elif match[1] not in reported:
            where, code, message = match.groups()
            lost.append(Finding(where=where, instance_id="", code=code, message=message, hint=FAULTS[code].hint))
    return lost, notes


def finding_line(finding: Finding) -> str:
    """Return a finding as one line: `results_metadata.jsonl:3: ops_006: BAD_CSV: what is wrong (what to do)`."""
    owner = f"{finding.instance_id}: " if finding.instance_id else ""
    what = describe(Fault(code=finding.code, detail=finding.message))
    return f"{finding.where}: {owner}{what}" + (f" ({finding.hint})" if finding.hint not in what else "")


Progress = Callable[[int, int], None]
# The score of a graded scorer may miss 1 by rounding of its sums.
_FULL = 1 - 1e-9
_PLACE = re.compile(r"^\S+:\d+: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsatisfied:
    """A check that its own gold does not pass under `rules`, or that could not be tried (no rules).

    `reached` says under which of them another answer to the same instance passes.
    """

    instance_id: str
    scorer: str
    rules: tuple[Rule, ...]
    code: str
    reason: str
    where: str
    reached: tuple[Rule, ...] = ()

    @property
    def lowers(self) -> bool:
        """Whether it lowers the ceiling."""
        return set(self.reached) < set(self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCheck:
    """The score of gold against itself, the checks that refuse it, and those that were not tried.

    `below` are the ids without full marks under their own rules, or with a missing gold file; `excused` maps the acknowledged ones to the
    place: a line of the errata, or a code of `lint_ignore`. `by_the_day` are those whose gold query reads the current time.
    """

    ceiling: GoldSelfScore
    n_checks: int
    unsatisfied: tuple[Unsatisfied, ...]
    untried: tuple[Unsatisfied, ...]
    below: tuple[str, ...] = ()
    excused: Mapping[str, str] = field(default_factory=dict)
    by_the_day: tuple[str, ...] = ()

    @property
    def failing_ids(self) -> list[str]:
        """The ids below full marks that are not excused."""
        return [id_ for id_ in self.below if id_ not in self.excused]

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        c = self.ceiling
        counts = {"gold_hash": c.gold_hash, "n_instances": c.n + c.n_untried, "n_checks": self.n_checks, "n_tried": c.n}
        counts |= {"official": c.official, "strict": c.strict}
        refused = {name: [asdict(check) for check in getattr(self, name)] for name in ("unsatisfied", "untried")}
        rest = {"below": list(self.below), "excused": dict(self.excused), "by_the_day": list(self.by_the_day)}
        return {**counts, **refused, **rest}


@dataclass(slots=True)
class _Trial:
    """One check, its missing gold files, and the answers still to submit; the best result, by rule."""

    instance: GoldInstance
    check: Check
    answers: list[Answer]
    lost: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def passes(self, rule: Rule) -> bool:
        """Whether any answer so far is right."""
        return any((value := getattr(result, rule)) is not None and value >= _FULL for result in self.results)

    @property
    def open(self) -> bool:
        """Whether another answer could still change something."""
        return bool(self.answers) and not (self.passes("official") and self.passes("strict"))


def check_gold(
    folder: Path,
    *,
    isolation: str = "process",
    jobs: int | None = None,
    databases: Path | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> GoldCheck:
    """Submit every gold as the answer to its own question, and report what is refused.

    Every check gets its gold; of several accepted alternatives one is enough. The ceiling counts the submission that gold itself is: for
    each instance its file if a check reads one, else its text. Gold that is a query is computed as in a run (`databases` is --databases).
    Not tried are a judge's check, one whose gold is not an answer, and a temporal one without a connection.

    Raises:
        GoldError: gold cannot be read, or changed meanwhile.
        UsageError: the folder of databases is missing.
    """
    gold = refuse_empty(read_gold(folder))
    limits = resolve_limits(gold.suite.limits, limits or {})
    check_limits(limits)
    files = read_gold_files(gold.folder, gold.spec_file)
    jobs = jobs or default_jobs()
    with TempDir() as scratch, closing(Databases(gold, scratch, limits=limits, jobs=jobs, isolation=isolation, folder=databases)) as sql:
        tasks = [_task(instance, None, gold, scratch, limits) for instance in gold.instances]
        by_the_day = [] if limits[CLOCK] else list(by_the_clock(tasks, sql.connections))
        trials, untried = _trials(gold, sql.gold_queries(tasks, submitted=False).tasks)
        inodes = gold_inodes(gold.folder)
        with closing(Pool(jobs=jobs, isolation=isolation, gold_inodes=inodes)) as pool:
            execute = partial(pipeline, [stage_of(runs_query, sql.sql_answers(None, inodes, pool.results).results), pool.results])
            _submit(trials, execute, gold, scratch, limits, progress)
    refuse_changes(files.find_changed())
    unasked = [trial for trial in trials if trial.results and all(result.fault in UNSCORED for result in trial.results)]
    untried += [_make_untried(trial.instance, trial.check, FAULTS[trial.results[0].fault or "NO_JUDGE"].message) for trial in unasked]
    trials = [trial for trial in trials if all(trial is not other for other in unasked)]
    by_instance: dict[str, list[_Trial]] = {}
    for trial in trials:
        by_instance.setdefault(trial.instance.instance_id, []).append(trial)
    below = [id_ for id_, results_of_instance in by_instance.items() if not _has_full_marks(results_of_instance, gold.suite.rules)]
    return GoldCheck(
        ceiling=_ceiling_of(gold, files.hash, by_instance),
        n_checks=len(trials) + len(untried),
        unsatisfied=tuple(finding for results_of_instance in by_instance.values() for finding in _findings(results_of_instance)),
        untried=tuple(untried),
        below=tuple(below),
        excused=_excuses(gold, below),
        by_the_day=tuple(by_the_day),
    )


def _has_full_marks(trials: Sequence[_Trial], rules: Rule | None) -> bool:
    """Whether gold gets full marks for an instance under its own rules, and no gold file is missing."""
    return _reaches(trials, rules or default_rules(trials[0].instance)) and not any(trial.lost for trial in trials)


def _trials(gold: Gold, tasks: Iterable[Task]) -> tuple[list[_Trial], list[Unsatisfied]]:
    """Return the checks to try, and those whose gold cannot be submitted."""
    trials, untried = [], []
    for task in tasks:
        for check in task.instance.checks:
            try:
                trials.append(_trial(gold, task, check))
            except NoOwnAnswerError as why:
                untried.append(_make_untried(task.instance, check, str(why)))
    return trials, untried


def _trial(gold: Gold, task: Task, check: Check) -> _Trial:
    """Return the answers to try on a check, in the submission folder of `task`. Raises `NoOwnAnswerError`."""
    instance = task.instance
    awaited = next((problem.message for problem in check.problems if problem.code == "NEEDS_CONNECTION"), "")
    if awaited and (is_temporal(check) or names_queries(check)) and any(is_file(file) for file in query_files(task, check)):
        raise NoOwnAnswerError(awaited)
    try:
        answers = own_answers(gold, instance, check, task.submission_folder, task.limits)
    except NoOwnAnswerError:
        if not any(problem.blocks for problem in check.problems):
            raise
        answers = []
    return _Trial(instance=instance, check=check, answers=answers, lost=lost_files(gold, instance, check))


def _excuses(gold: Gold, below: Iterable[str]) -> dict[str, str]:
    """Return those of the instances that an applied erratum names, or whose `lint_ignore` names a lint finding, with the place."""
    errata = read_errata(gold)
    excuses = {entry.id: entry.where for entry in errata.of_state("applied")} if errata is not None else {}
    ids = set(below)
    if any(instance.instance_id in ids - set(excuses) and instance.extra.get(IGNORE_KEY) for instance in gold.instances):
        for finding in lint(gold.spec_file).ignored:
            if finding.severity == "error" or finding.code in REFUSING:
                excuses.setdefault(finding.instance_id, f"{IGNORE_KEY} {finding.code}")
    return {id_: excuses[id_] for id_ in below if id_ in excuses}


def _submit(trials: Sequence[_Trial], execute: Execute, gold: Gold, scratch: Path, limits: Any, progress: Progress | None) -> None:
    """Score round after round, one answer per instance and round: a run has one answer per instance."""
    done, total = 0, sum(len(trial.answers) for trial in trials)
    while True:
        round_: dict[str, _Trial] = {}
        for trial in trials:
            if trial.open:
                round_.setdefault(trial.instance.instance_id, trial)
        if not round_:
            return
        tasks = [_task(replace(t.instance, checks=(t.check,)), t.answers.pop(0), gold, scratch, limits) for t in round_.values()]
        for result in execute(tasks):
            refuse_small_machine(result.instance_id, result)
            round_[result.instance_id].results.append(result)
            done += 1
            if progress is not None:
                progress(done, total)


def _task(instance: GoldInstance, answer: Answer | None, gold: Gold, scratch: Path, limits: Any) -> Task:
    return Task(
        instance=instance, answer=answer, gold_folder=gold.folder.absolute(), submission_folder=scratch, rules="official", limits=limits
    )


def _make_untried(instance: GoldInstance, check: Check, why: str) -> Unsatisfied:
    return Unsatisfied(instance_id=instance.instance_id, scorer=check.scorer, rules=(), code="", reason=why, where=check.where)


def _findings(trials: Sequence[_Trial]) -> Iterator[Unsatisfied]:
    """Yield one finding for each of an instance's checks that refuses its own gold."""
    reached = [rule for rule in RULES if _reaches(trials, rule)]
    for trial in trials:
        rules = tuple(rule for rule in RULES if not trial.passes(rule))
        if rules:
            code, reason = _refusal(trial, rules[0])
        elif trial.lost:
            rules, code, reason = RULES, "MISSING_FILE", f"{', '.join(trial.lost)} of several is missing"
        else:
            continue
        yield Unsatisfied(
            instance_id=trial.instance.instance_id,
            scorer=trial.check.scorer,
            rules=rules,
            code=code,
            reason=reason,
            where=trial.check.where,
            reached=tuple(rule for rule in rules if rule in reached),
        )


def _refusal(trial: _Trial, rule: Rule) -> tuple[str, str]:
    """Return (fault code or nothing, reason) of a check that refuses its gold, without the code and place that are shown separately."""
    if trial.results:
        result = trial.results[0]
        reason = str(result.details.get("reasons", {}).get("strict") or result.reason) if rule == "strict" else result.reason
        if result.fault is not None and reason.startswith(f"{result.fault}: "):
            reason = _PLACE.sub("", reason.removeprefix(f"{result.fault}: "))
        return result.fault or "", reason
    problem = next((problem for problem in trial.check.problems if problem.blocks), None)
    return (problem.code, problem.message) if problem is not None else ("BAD_SPEC", "gold names nothing that could be submitted")


def _reaches(trials: Sequence[_Trial], rule: Rule) -> bool:
    """Return whether gold's own answer to an instance is right: its files if it has some, else its texts; the best check counts."""
    files = [trial for trial in trials if SCORERS.load(trial.check.scorer).marker.reads not in ("text", "number")]
    return any(trial.passes(rule) for trial in files or trials)


def _ceiling_of(gold: Gold, hash_: str, by_instance: Mapping[str, Sequence[_Trial]]) -> GoldSelfScore:
    full = {rule: [id_ for id_, results_of_instance in by_instance.items() if _reaches(results_of_instance, rule)] for rule in RULES}
    return GoldSelfScore(
        gold_hash=hash_,
        name=gold.suite.name,
        n=len(by_instance),
        n_untried=len(gold.instances) - len(by_instance),
        official=len(full["official"]),
        strict=len(full["strict"]),
        unsatisfied=tuple(id_ for id_ in by_instance if id_ not in full["official"]),
        made_by=signature_of(hash_),
    )


Absent = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something missing, its remedy in one line, and the instances that cannot be scored without it.

    With `only_queries`, only answers that are queries cannot be scored.
    """

    what: str
    mend: str
    instances: tuple[str, ...]
    only_queries: bool = False


def needs_of(folder: Path, *, databases: Path | None = None, questions: Path | None = None) -> tuple[Gold, list[Need]]:
    """Return (the gold, its needs), the need of most instances first. Raises as `read_gold` and `read_connections` do."""
    gold = read_gold(folder, questions=questions)
    connections = read_connections(gold.folder if is_dir(gold.folder) else gold.folder.parent, databases=databases)
    by_need: dict[tuple[str, str, bool], list[str]] = {}
    for instance in gold.instances:
        problems = [(*absent, False) for absent in _find_absent(gold, instance)]
        if not any(SCORERS.load(check.scorer).marker.reads == "query" for check in instance.checks):
            gold_asks = any(problem.code == "NEEDS_CONNECTION" for check in instance.checks for problem in check.problems)
            problems += [(*absent, not gold_asks) for absent in _absent_connection(instance, connections, gold_asks=gold_asks)]
        else:
            problems += [(*absent, False) for check in instance.checks for absent in _absent_files(check, connections)]
        for absent in dict.fromkeys(problems):
            by_need.setdefault(absent, []).append(instance.instance_id)
    needs = [Need(what=what, mend=mend, instances=tuple(ids), only_queries=only) for (what, mend, only), ids in by_need.items()]
    return gold, sorted(needs, key=lambda need: -len(need.instances))


def _find_absent(gold: Gold, instance: GoldInstance) -> Iterator[Absent]:
    """Yield (what is missing, its remedy) of one instance, except its databases."""
    for check in instance.checks:
        entry = SCORERS.load(check.scorer)
        if entry.marker.reads == "query":
            continue
        for problem in check.problems:
            if problem.blocks and problem.code != "NEEDS_CONNECTION":
                yield _drop_place(problem.message, instance), problem.hint or FAULTS[problem.code].hint
        asks = entry.marker.reads == "batch" and SCORERS.plugin_batch(check.scorer) is None
        if "judge" not in gold.suite.extra and (asks or (not check.problems and entry.asks_judge(check.parameters))):
            yield FAULTS["NO_JUDGE"].message, FAULTS["NO_JUDGE"].hint
        if runs_programs([check.scorer, check.parameters, SCORERS.additions.metrics.get(check.scorer, {})]) and not can_sandbox_programs():
            yield "no sandbox for programs on this machine", "run them in a container with user namespaces, or use --allow-programs"
        elif (check.scorer in METRICS or check.scorer in SCORERS.additions.metrics) and not entry.asks_judge(check.parameters):
            yield from _absent_package(check.scorer, json.dumps({**check.parameters, "gold": "a"}, sort_keys=True, default=str))


@lru_cache(maxsize=256)
def _absent_package(metric: str, parameters: str) -> tuple[Absent, ...]:
    """Return the package that a text metric with these parameters needs and that is not installed: the metric is tried on a word."""
    try:
        SCORERS.load(metric).score("a", **json.loads(parameters))
    except FaultError as error:
        if error.fault.code == "NEEDS_EXTRA":
            what, _, mend = error.fault.detail.partition(": ")
            return ((what, mend),)
    except EvalsuiteError:
        # The spec, or a model that is not there: named with the check's problems, or by the run.
        pass
    return ()


def _absent_connection(instance: GoldInstance, connections: Connections, *, gold_asks: bool) -> Iterator[Absent]:
    """Yield the same for the connection that answers run through, and gold if it is a query (`gold_asks`)."""
    parameters = next(
        (check.parameters for check in instance.checks if any(check.parameters.get(key) for key in CONNECTION_PARAMETERS)), None
    )
    try:
        connection = connections.of_instance(instance, parameters)
        if connection is not None:
            yield from _absent_client(connection)
        elif gold_asks:
            yield (
                "its gold is a query, and no connection is configured for it",
                "name the instance in connections.yaml (docs/connections.md)",
            )
    except EvalsuiteError as error:
        yield _drop_place(error.message, instance), error.hint


def _absent_client(connection: Connection) -> Iterator[Absent]:
    """Yield the file of an embedded engine, or the client of a server. Raises `EvalsuiteError` for the file."""
    engine = ENGINES[connection.engine]
    if engine.embedded:
        database_path(connection)
        is_folder = connection.engine == "duckdb" and is_dir(Path(connection.database))
        if not is_folder and (absent := _unreadable(connection.engine, connection.database)):
            yield absent
        return
    if not engine.has_client:
        yield f"{connection.engine} needs its client library", extra_line(engine.extra or connection.engine)


def _absent_files(check: Check, connections: Connections) -> Iterator[Absent]:
    """Yield the files of the database that a pair of queries uses."""
    parameters = check.parameters
    if SCORERS.load(check.scorer).marker.reads != "query":
        return
    name, evaluator = str(parameters.get("database", "")), QUERY_EVALUATORS[str(parameters.get("evaluator", "bird-ex"))]
    if connections.databases is None:
        yield "no folder of databases is given", "--databases DIR"
        return
    try:
        files = files_of(name, evaluator, connections.databases)
        yield from filter(None, (_unreadable("sqlite", str(file)) for file in files))
        if not files:
            yield f"no {name}/{name}.sqlite and no {name}.sqlite in the folder of --databases", "put the file there"
    except FaultError as error:
        yield error.fault.detail, "correct gold's line"


def _unreadable(engine: str, database: str) -> Absent | None:
    """Return why the file of an embedded engine cannot be opened, and the remedy; None if it can."""
    state: tuple[int, ...] = ()
    with contextlib.suppress(OSError):
        state = file_state(database)
    return _opening_error(engine, database, *state)


@lru_cache(maxsize=4096)
def _opening_error(engine: str, database: str, *_state: int) -> Absent | None:
    name = Path(database).name
    try:
        open_session(Connection(name=name, engine=engine, database=database), QueryLimits()).close()
    except EvalsuiteError as error:
        return error.message.removeprefix(f"connection {name!r}: "), error.hint
    except OSError as error:
        return f"{name}: {error.strerror}", "check its permissions"
    return None


def _drop_place(message: str, instance: GoldInstance) -> str:
    """Return a message without the place of the instance, so that equal needs of several instances are joined."""
    return message.removeprefix(f"{instance.where}: ").replace(instance.instance_id, "<id>")
