"""Execute one task in two stages: read the answer, compare it with gold.

The stages never share a process under isolation: `read_prediction` opens the submission's files and has no gold; `judge` opens gold and
sees only what the first stage made.
"""

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from evalsuite.compare.columns import UnreadTable, as_values
from evalsuite.compare.messages import cheap_margins
from evalsuite.compare.table_parameters import fold_name
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FAULTS, FaultError, describe, machine_fault, reason_of, side_of
from evalsuite.core.plugin_calls import OFFICIAL_CALLBACK, OfficialError, allowing_programs, failure, late_strict, official_only
from evalsuite.core.registry import Scorer
from evalsuite.core.types import Check, Fault, Problem, Result, Score, Table, Task
from evalsuite.readers.paths import AnswerFiles, Inode
from evalsuite.runs.instance_checks import (
    JUDGE,
    JUDGE_OFFICIAL,
    Outcome,
    ReadRequest,
    applicable_checks,
    combine,
    fault_result,
    files_of,
    opens_files,
    read_request,
    skip_unscorable,
    table_names,
)
from evalsuite.scorers import SCORERS

Helper = Callable[[Scorer], Any]
# Gold requests of judges for several submissions: payload, parameters that name files, instance.
GoldOrder = tuple[str, Mapping[str, Any], str]
_TAKE_BIG_ONES = ("evalsuite.scorers.table_match", "evalsuite.scorers.duckdb_match")
# The last gold query's result: several instances in a row often use the same query.
_GOLD_TABLES: dict[tuple[str, tuple[str, ...], str], Sequence[Table]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a reader made of an answer: per payload (`text`, `table`, `tables`, `database`) a value, or the fault that prevented it."""

    payloads: Mapping[str, Any]
    seconds: float = 0.0


def takes_big_tables(entry: Scorer) -> bool:
    """Return whether a scorer takes big tables as they are stored."""
    return entry.function.__module__ in _TAKE_BIG_ONES


def score_task(task: Task, gold_inodes: frozenset[Inode] = frozenset(), order: str = JUDGE) -> Result:
    """Return the result of one task, with both stages in this process; `order` is the second stage's order."""
    early = skip_unscorable(task)
    if early is not None:
        return early
    request = read_request(task, table_names=table_names(task))
    files = files_of(request, gold_inodes)
    read = read_prediction(request, files)
    forms = {name: _read(form) for name, form in read.payloads.items()}
    result = second_stage(order)(task, Prediction(payloads=forms, seconds=read.seconds))
    return replace(result, digests=files.digests()) if opens_files(task) else result


def second_stage(order: str) -> Callable[[Task, Prediction], Result]:
    """Return the function of the second stage: `judge`, or the `module:function` that the parent names, with its output in the details.

    By name, because the packages that analyse an answer further come later in the import order.
    """
    if order in (JUDGE, JUDGE_OFFICIAL):
        return judge if order == JUDGE else _judge_official
    module, _, name = order.partition(":")
    stage: Callable[[Task, Prediction], Result] = getattr(import_module(module), name)

    def look_closer(task: Task, prediction: Prediction) -> Result:
        # It scores many variants of the answer: none of their official verdicts is the answer's.
        before = OFFICIAL_CALLBACK.set(None)
        try:
            return stage(task, replace(prediction, payloads={name: as_values(form) for name, form in prediction.payloads.items()}))
        finally:
            OFFICIAL_CALLBACK.reset(before)

    return look_closer


def _read(form: Any) -> Any:
    """Read the tables of a payload; a table that cannot be read becomes its fault."""
    if isinstance(form, list):
        return list(map(_read, form))
    return read_or_fault(form.read) if isinstance(form, UnreadTable) else form


def read_or_fault(read: Callable[[], Any]) -> Any:
    """Return the result of reading an answer. What prevents it, a bug of the reader included, comes back as a fault."""
    try:
        return read()
    except FaultError as error:
        return error.fault
    except (MemoryError, RecursionError):
        return Fault(code="LIMIT", detail="the file does not fit into memory_mib or nests too deep")
    except Exception as error:
        # An OSError without a number is a library's own.
        if isinstance(error, OSError) and error.errno is not None:
            return machine_fault(f"this machine cannot read the file: {reason_of(error)}")
        return failure("the reader", error).fault


def read_prediction(request: ReadRequest, files: AnswerFiles) -> Prediction:
    """Stage one: return the answer in each wanted payload; a fault of the submission comes back as data."""
    from evalsuite.readers.load_answer import read_answer

    started = time.perf_counter()
    payloads: dict[str, Any] = {}
    for form in request.wanted:
        payloads[form] = read_or_fault(
            partial(
                read_answer,
                form,
                answer_type=request.answer_type,
                value=request.value,
                files=files,
                table_names=request.table_names,
                limits=request.limits,
                private=request.private,
                databases=request.databases,
                evaluator=request.evaluator,
                dialect=request.dialect,
            )
        )
    return Prediction(payloads=payloads, seconds=time.perf_counter() - started)


def read_equal(task: Task, files: Mapping[str, tuple[int | None, str]]) -> dict[str, Any] | None:
    """Return the payloads of an answer, read from gold, if its files (path: size and digest) have the same bytes as gold files.

    They are what `read_prediction` returns; None if the files have other bytes, or if reading them as an answer might give something else.
    """
    from evalsuite.readers.load_answer import read_gold_copy

    assert task.answer is not None
    checks = applicable_checks(task.instance, task.answer)
    paths = task.answer.paths
    if not paths or len(checks) > 1 or checks[0].problems or set(files) != set(paths):
        return None
    form, folder = SCORERS.load(checks[0].scorer).marker.reads, checks[0].computed or task.gold_folder
    of_gold: dict[str, Any] = {
        "parameters": checks[0].parameters, "folder": folder, "instance_id": task.instance.instance_id, "limits": task.limits
    }  # fmt: skip
    copies = {}
    for path, known in files.items():
        found = (read_gold_copy(form, path, *known, name, **of_gold) for name in checks[0].gold_names)
        if (copy := next((copy for copy in found if copy is not None), None)) is None:
            return None
        copies[path] = copy
    return {form: [copies[path] for path in paths] if form == "tables" else copies[paths[0]]}


def judge(task: Task, prediction: Prediction, helper: Helper | None = None, *, all_margins: bool = False) -> Result:
    """Stage two: compare the prediction with gold in every applicable check, and combine them to one result.

    `helper` provides what a scorer takes besides the prediction: the judge, or the values of a whole batch. Without `all_margins`,
    margins that cost more than a tenth of a verdict are left out.
    """
    started = time.perf_counter()
    assert task.answer is not None
    faults = [form for form in prediction.payloads.values() if isinstance(form, Fault)]
    if len(faults) == len(prediction.payloads):
        # A query that its engine stopped in time is as late as one whose worker had to be killed.
        late: dict[str, Any] = {"status": "timeout"} if "query" in prediction.payloads and faults[0].code == "TIMEOUT" else {}
        return fault_result(task, faults[0], seconds=prediction.seconds, **late)
    with nullcontext() if all_margins else cheap_margins():
        outcomes = [_run_check(task, check, prediction.payloads, helper) for check in applicable_checks(task.instance, task.answer)]
    seconds = prediction.seconds + time.perf_counter() - started
    result = combine(task, outcomes, seconds=seconds)
    table = prediction.payloads.get("table")
    return replace(result, details={**result.details, "n_columns": len(table.header)}) if isinstance(table, Table) else result


def _judge_official(task: Task, prediction: Prediction) -> Result:
    with official_only():
        return judge(task, prediction)


def _run_check(task: Task, check: Check, payloads: Mapping[str, Any], helper: Helper | None = None) -> Outcome:
    """Return one check's score; a fault of gold or of the scorer is part of the outcome."""
    blocked: frozenset[str] = frozenset().union(*(problem.blocks for problem in check.problems))
    problem = next((problem for problem in check.problems if problem.blocks), None)
    if problem is not None and blocked >= {"official", "strict"}:
        score = Score(official=None, reason=problem.message)
        return Outcome(check=check, score=score, fault=_as_fault(problem), side=FAULTS[problem.code].side)
    entry = SCORERS.load(check.scorer)
    outcome = partial(Outcome, check=check, from_query=check.computed is not None or entry.marker.reads == "query")
    form = payloads[entry.marker.reads]
    if (unread := _find_own_fault(form)) is not None:
        return outcome(score=Score(official=None, reason=describe(unread)), fault=unread, side=side_of(unread))
    if isinstance(form, Fault):
        return outcome(score=Score(official=0.0, strict=0.0, reason=describe(form)), side="submission")
    try:
        if entry.marker.reads == "query":
            form = form, gold_tables(task, check, equal_result=form)
        takes_big = takes_big_tables(entry)
        parameters = usable_parameters(task, check, entry, as_it_comes=takes_big)
        if entry.marker.reads == "database":
            _check_asked(form, parameters)
        if not takes_big and entry.marker.reads != "query":
            form = as_values(form)
        with allowing_programs(task.allow_programs, seconds=task.limits.get("seconds")):
            score = _call_scorer(entry, form, parameters, helper)
    except OfficialError as late:
        return outcome(score=_drop_blocked(late_strict(late.score), blocked))
    except FaultError as error:
        # An answer can reach a limit or break JSON: without a verdict it would leave the mean, so it counts as wrong.
        value = 0.0 if error.fault.code in ("LIMIT", "BAD_JSON") and error.side == "submission" else None
        score = Score(official=value, strict=value, reason=describe(error.fault), strict_fault=error.fault)
        return outcome(score=score, fault=error.fault, side=error.side)
    except (MemoryError, RecursionError):
        fault = Fault(code="LIMIT", detail="the comparison does not fit into memory_mib or nests too deep")
        return outcome(score=Score(official=0.0, strict=0.0, reason=describe(fault), fault=fault, strict_fault=fault))
    except Exception as error:  # a bundled scorer that raises is a fault of the tool: recorded as such, never as a 0
        fault = failure(check.scorer, error).fault
        return outcome(score=Score(official=None, reason=describe(fault)), fault=fault, side="tool")
    fault_of_gold = _as_fault(problem) if problem is not None else None
    return outcome(score=_drop_blocked(score, blocked), fault=fault_of_gold)


def _find_own_fault(form: Any) -> Fault | None:
    """Return the fault of the machine or the reader in a payload or a part of it; a scorer would blame the answer for it."""
    parts = form.values() if isinstance(form, Mapping) else form if isinstance(form, list | tuple) else [form]
    return next((part for part in parts if isinstance(part, Fault) and side_of(part) in ("setup", "tool")), None)


def _check_asked(tables: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Raise the machine's fault if the reader was not asked for a table of gold, which would then be missing in every answer.

    So it is if the disk did not give gold's database when the names of its tables were needed (`table_names`), and does now.
    """
    if not set(map(fold_name, parameters.get("condition_tabs") or parameters["gold"])) <= set(map(fold_name, tables)):
        raise FaultError(
            "LIMIT", "this machine did not read gold's database at first, so the tables of the answer are unknown", side="setup"
        )


def gold_tables(task: Task, check: Check, *, equal_result: Sequence[Table] | None = None) -> Sequence[Table]:
    """Return what gold's query gives on each database, in its own session; raises `FaultError` of gold.

    An answer equal to gold's statement gives the same: its `equal_result` is returned and the statement does not run again. Only here:
    what came from a reader is never kept for another answer.
    """
    from evalsuite.sql.query_pairs import EVALUATORS, can_share_run, tables_of

    query, evaluator = str(check.parameters["gold"]), EVALUATORS[str(check.parameters.get("evaluator", "bird-ex"))]
    key = query, task.databases, evaluator.name
    if key not in _GOLD_TABLES:
        try:
            if equal_result is not None and can_share_run(str(task.answer and task.answer.value), query, task.databases, task.limits):
                return equal_result
            tables = tables_of(query, task.databases, evaluator, task.limits)
        except FaultError as error:
            side = error.side if error.side == "setup" else "gold"
            raise FaultError(error.fault.code, f"gold's query: {error.fault.detail}", side=side) from None
        _GOLD_TABLES.clear()
        _GOLD_TABLES[key] = tables
    return _GOLD_TABLES[key]


def _call_scorer(entry: Scorer, form: Any, parameters: dict[str, Any], helper: Helper | None) -> Score:
    if entry.marker.reads == "batch":
        return entry.score(form, helper(entry) if helper is not None else None, **parameters)
    if helper is not None and entry.asks_judge(parameters):
        parameters = {**parameters, "judge": helper(entry)}
    return entry.score(form, **parameters)


def _drop_blocked(score: Score, blocked: frozenset[str]) -> Score:
    if not blocked:
        return score
    return replace(
        score,
        official=None if "official" in blocked else score.official,
        strict=None if "strict" in blocked else score.strict,
        flip="",
    )


def _as_fault(problem: Problem) -> Fault:
    return Fault(code=problem.code, detail=problem.message, where=problem.where)


def usable_parameters(task: Task, check: Check, entry: Scorer, *, as_it_comes: bool = False) -> dict[str, Any]:
    """Return a check's parameters for the scorer: unknown keys left out, gold files read."""
    usable = {key: value for key, value in check.parameters.items() if key in entry.parameters}
    if entry.marker.gold_files is not None or entry.marker.reads == "tree":
        from evalsuite.readers.load_answer import read_gold_files

        usable |= read_gold_files(
            entry.marker.reads,
            usable,
            folder=check.computed or task.gold_folder,
            instance_id=task.instance.instance_id,
            limits=task.limits,
            as_it_comes=as_it_comes,
        )
    return usable


def read_ahead(folder: Path, limits: Mapping[str, int | float], orders: Sequence[GoldOrder]) -> None:
    """Put into the cache what judges will request, until half of it is full; faults are left to the judges.

    Reading happens in a separate process: duckdb would leave threads behind, which a fork does not copy.
    """
    from evalsuite.readers.load_answer import FILE_CACHE, Golds, read_gold_files

    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(source)
            for form, parameters, instance_id in orders:
                try:
                    read = read_gold_files(form, parameters, folder=folder, instance_id=instance_id, limits=limits, as_it_comes=True)
                    if isinstance(read["gold"], Golds):
                        list(read["gold"])
                except FaultError:
                    continue
                if FILE_CACHE.is_full:
                    break
            with os.fdopen(target, "wb") as pipe:
                pipe.write(FILE_CACHE.to_bytes())
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source, "rb") as pipe:
        cached_files = pipe.read()
    # Half of it is nothing: judges then read gold themselves.
    if os.waitpid(pid, 0)[1] == 0 and cached_files:
        FILE_CACHE.take(cached_files)
    gc.freeze()
