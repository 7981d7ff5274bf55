"""Evidence for answers that are not right, as reports show it: differences and explanations, computed when the report is written.

Evidence is collected in the same sandbox as scores. One worker reads what was submitted and another compares it and sends back plain data;
text answers stay in this process.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalsuite.analysis.causes.table_alignment import table_pairs
from evalsuite.analysis.explain.search import Budget, Cause, Judge, join_names
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, FaultError, count_words, describe
from evalsuite.core.files import exists
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.registry import Scorer
from evalsuite.core.status import failing_rule, redact_evidence, shows
from evalsuite.core.types import Check, Fault, Gold, Result, Rule, Table, Task
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.suite_yaml import names_class
from evalsuite.readers.csv_dialect import Dialect
from evalsuite.readers.gold_files import gold_hash, gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import FromRoot
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.batch_scoring import is_batch
from evalsuite.runs.databases import Databases, runs_query
from evalsuite.runs.executors import pipeline, stage_of
from evalsuite.runs.instance_checks import applicable_checks
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import requested_rules
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.runs.task_execution import Prediction, gold_tables, judge, usable_parameters
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.fork_server import fork_server_for
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.analysis.explain.query_proofs import Proof, QueryProofs
    from evalsuite.reports.record import Record


WHAT: Final = ("difference", "explain")
_ORDERS: Final = {
    ("difference",): "evalsuite.analysis.explain.instance_evidence:collect_difference",
    ("explain",): "evalsuite.analysis.explain.instance_evidence:collect_explanation",
    WHAT: "evalsuite.analysis.explain.instance_evidence:collect_evidence",
    ("margin",): "evalsuite.analysis.explain.instance_evidence:collect_margin",
}
_KEY: Final = "evidence"
ROOM: Final = 10

Data = dict[str, Any]


def explain_results(
    gold_dir: Path,
    result_dir: Path,
    ids: Sequence[str],
    limits: Mapping[str, int | float] | None = None,
    what: Sequence[str] = WHAT,
    *,
    rules: Rule | None = None,
    results: Mapping[str, Result] | None = None,
    isolation: str = "process",
    jobs: int = 1,
    databases: Path | None = None,
    edits: bool = False,
    spec: Gold | None = None,
    mode: str | None = None,
    as_of: str | None = None,
) -> Iterator[tuple[str, Data]]:
    """Yield (instance id, evidence) of each instance, in order of completion; the evidence is JSON-safe and uncut (see `core.status`).

    Keys of the evidence: `rules` (the rules that the rest is about: the run's, or the other ones if only these fail; None if both pass),
    `status`, `reason`, and as requested `difference` (`difference.difference`), `sql` (may be empty) and `explanation` (`explain`).

    `results` are those of the run, which contain a judge's rationale. With `edits` the available queries are run with one change each, see
    `query_proofs`. `spec` is the gold of that folder if it was read before; `mode` as in `read_submission`;
    `as_of` is the day of gold queries.

    Raises what reading the folders raises, `UsageError` for an unknown id.
    """
    results, limits = results or {}, limits or {}
    with ExitStack() as workers:
        # One fork server for all workers, of edited queries too; it imports while gold is read.
        has_server = isolation != "none" or edits
        fork_server = workers.enter_context(fork_server_for(result_dir, modules=WORKER_MODULES)) if has_server else None
        gold = spec if spec is not None else read_gold(gold_dir)
        resolved = resolve_limits(gold.suite.limits, limits)
        # The search calls the scorer many times; its own call budget ends it long before this time limit.
        roomy = {**resolved, "seconds": ROOM * resolved["seconds"]}
        submission = read_submission_in_worker(result_dir, gold, resolved, mode=mode, isolation=isolation, fork_server=fork_server)
        tasks = plan(gold, submission, rules=rules or gold.suite.rules, limits=roomy, only=tuple(ids)) if ids else []
        batch_tasks = [task for task in tasks if is_batch(task)]
        yield from ((task.instance.instance_id, _judge_evidence(results.get(task.instance.instance_id))) for task in batch_tasks)
        order = _ORDERS[tuple(what)]
        inodes = gold_inodes(gold.folder)
        pool = Pool(jobs=jobs, isolation=isolation, gold_inodes=inodes, order=order, fork_server=fork_server)
        workers.callback(pool.close)
        # An answer that is a query runs as it does in a run.
        queries = Databases(gold, result_dir, limits=roomy, jobs=jobs, isolation=isolation, folder=databases, fork_server=fork_server)
        workers.callback(queries.close)
        tasks = [task for task in tasks if task not in batch_tasks]
        if edits:
            # Gold from a query costs a query: a report, which explains many instances, uses what the run kept.
            live = any(result.detail("gold_from") == "query" for result in results.values())
            tasks = list(queries.gold_queries(tasks, as_of=as_of, live=live).tasks)
        answers, proofs = queries.sql_answers(None, inodes, pool.results), None
        if edits:
            from evalsuite.analysis.explain.query_proofs import QueryProofs

            proofs = QueryProofs(queries, answers, inodes, isolation, fork_server, as_of)
        for result in pipeline([stage_of(runs_query, answers.results), pool.results], tasks):
            yield result.instance_id, _evidence_of(result, tasks, proofs)


def _evidence_of(result: Result, tasks: Sequence[Task], proofs: "QueryProofs | None") -> Data:
    """Return the evidence of a result; with `proofs`, also both queries and what edits of them show, unless the answer passes."""
    evidence = result.details.get(_KEY)
    # A result from elsewhere (missing, timed out) has only its status and reason.
    plain = {"rules": None, "status": result.status, "reason": result.reason}
    explained = evidence if isinstance(evidence, dict) else plain
    if proofs is None or (isinstance(evidence, dict) and evidence["rules"] is None):
        return explained
    (task,) = (task for task in tasks if task.instance.instance_id == result.instance_id)
    explained |= {"sql": queries} if (queries := proofs.both_queries(task)) else {}
    return _add_proof(explained, proofs.prove(task, evidence["rules"])) if isinstance(evidence, dict) else explained


def _add_proof(evidence: Data, proof: "Proof | None") -> Data:
    """Return the evidence with the result of the edited queries in front of the causes found in the tables."""
    if proof is None:
        return evidence
    searched: Data = evidence.get("explanation") or explanation([], Budget(), evidence["rules"])
    explained = explanation(proof.causes, Budget(n_used=searched["n_attempts"]), evidence["rules"])
    if explained["proved"] or not searched["causes"]:
        proved = [cause for cause in searched["causes"] if cause["proved"]]
        explained |= {"causes": [*explained["causes"], *proved], "notes": searched["notes"]}
    else:
        explained = searched | {"causes": [*searched["causes"], *explained["causes"]]}
    return evidence | {"explanation": explained | {"notes": [*explained["notes"], *proof.notes], "n_executions": proof.n_runs}}


def collect_margin(task: Task, prediction: Prediction) -> Result:
    """Return the result with its margin, whatever it costs, and both verdicts as evidence."""
    result = judge(task, prediction, all_margins=True)
    data = {"status": result.status, "official": result.official, "strict": result.strict, "margin": result.detail("margin")}
    return replace(result, details={_KEY: data})


def _collect(task: Task, prediction: Prediction, what: Sequence[str]) -> Result:
    """Return the result of a task whose details contain the requested kinds of evidence. Runs in the worker that reads gold."""
    result = judge(task, prediction)
    rules = failing_rule(result, task.rules)
    reasons = result.details.get("reasons")
    reason = str(reasons[rules]) if rules is not None and isinstance(reasons, Mapping) and rules in reasons else result.reason
    evidence: Data = {"rules": rules, "status": result.status, "reason": reason}
    if rules is not None and result.status not in ("gold_fault", "scorer_fault"):
        evidence |= _evidence_of_task(task, prediction, result, rules, what)
    return replace(result, details={_KEY: evidence})


collect_evidence = partial(_collect, what=WHAT)
collect_difference = partial(_collect, what=("difference",))
collect_explanation = partial(_collect, what=("explain",))


def readable_checks(task: Task, prediction: Prediction, result: Result) -> Iterator[tuple[Check, Scorer, Any, dict[str, Any]]]:
    """Yield (check, scorer, the answer in the scorer's form, parameters with gold read), the check that decided first.

    Checks with a faulty spec, whose gold cannot be read, or that read another kind of answer are left out.
    """
    assert task.answer is not None
    checks = [check for check in applicable_checks(task.instance, task.answer) if not any(problem.blocks for problem in check.problems)]
    for check in sorted(checks, key=lambda check: check.scorer != result.scorer):
        entry = SCORERS.load(check.scorer)
        form = prediction.payloads.get(entry.marker.reads)
        try:
            parameters = usable_parameters(task, check, entry)
        except FaultError:
            continue
        if form is not None and not isinstance(form, Fault):
            yield check, entry, form, parameters


def _evidence_of_task(task: Task, prediction: Prediction, result: Result, rules: Rule, what: Sequence[str]) -> Data:
    """Return the evidence of the check that decided, and the explanation of whichever check proves one."""
    from evalsuite.analysis.explain.difference import difference

    evidence: Data = {}
    unproved: Data | None = None
    for check, entry, form, parameters in readable_checks(task, prediction, result):
        if entry.marker.reads == "query":
            return evidence | _pair_evidence(task, check, form, rules, result)
        if "difference" in what and "difference" not in evidence:
            evidence["difference"] = difference(entry, form, parameters, rules=rules, result=result)
            evidence["sql"] = "\n\n".join(_statements(task, check, entry, form, parameters, rules))
        if "explain" in what and not (unproved or {}).get("proved"):
            if entry.marker.asks is not None and entry.marker.asks(parameters):
                explained = explanation([], Budget(), rules, note="a judge decides here, and was not called again")
            else:
                explained = explain(entry, form, parameters, rules=rules)
            unproved = explained if unproved is None or explained["proved"] else unproved
    return evidence | ({"explanation": unproved} if unproved is not None else {})


def _pair_evidence(task: Task, check: Check, form: Sequence[Table], rules: Rule, result: Result) -> Data:
    """Return both queries, and the difference of their results on the first database on which these differ."""
    from evalsuite.analysis.explain.difference import difference
    from evalsuite.sql.query_pairs import order_columns
    from evalsuite.sql.session import both_queries

    golds, query = gold_tables(task, check), str(check.parameters["gold"])
    answer_result, gold_result = next(((a, b) for a, b in zip(form, golds, strict=True) if a.columns != b.columns), (form[0], golds[0]))
    parameters = {"gold": gold_result, "ignore_order": order_columns(query, gold_result.header) is None}
    differing = difference(SCORERS.load("table_match"), answer_result, parameters, rules=rules, result=result)
    assert task.answer is not None
    return {"difference": differing, "sql": both_queries(query, str(task.answer.value), "sqlite")}


def _statements(task: Task, check: Check, entry: Scorer, form: Any, parameters: Mapping[str, Any], rules: Rule) -> Iterator[str]:
    """Return the DuckDB statements that show the differing rows of each wrong table."""
    from evalsuite.analysis.explain.difference import table_sql

    reads = entry.marker.reads
    # The table of a query does not exist any more once the command is over.
    if reads not in ("table", "tables", "database") or task.answer is None or task.executed is not None:
        return
    golds = check.golds
    dialect = Dialect.from_parameters(parameters)
    for i, pair in enumerate(table_pairs(form, parameters, reads, rules)):
        if reads == "table" and len(golds) > 1:
            # One statement is enough: names alone do not show which gold was the closest.
            i = next((k for k, name in enumerate(golds) if name == pair.gold.name), i)
        gold_file = _place(task.gold_folder, task, golds[i if reads != "database" else 0])
        prediction_file = _place(task.submission_folder, task, task.answer.paths[i if reads == "tables" else 0])
        yield table_sql(pair, gold=gold_file, prediction=prediction_file, rules=rules, dialects=(dialect, dialect))


def _place(folder: Path, task: Task, name: str) -> Path:
    return folder / (name if isinstance(name, FromRoot) else f"{task.instance.instance_id}/{name}")


def _judge_evidence(result: Result | None) -> Data:
    from evalsuite.analysis.explain.difference import judge_difference

    status, reason = (
        (result.status, result.reason) if result is not None else ("unscored", "a judge decides; the run's results contain its rationale")
    )
    return {"rules": None, "status": status, "reason": reason, "difference": judge_difference(result), "sql": ""}


_SEARCHES: Final[dict[str, ImportRef]] = {
    "table": ImportRef("evalsuite.analysis.explain.search_tables:explain_table"),
    "tables": ImportRef("evalsuite.analysis.explain.search_tables:explain_tables"),
    "database": ImportRef("evalsuite.analysis.explain.search_tables:explain_database"),
    "text": ImportRef("evalsuite.analysis.explain.search_texts:explain_text"),
    "number": ImportRef("evalsuite.analysis.explain.search_texts:explain_text"),
    "tree": ImportRef("evalsuite.analysis.explain.search_trees:explain_tree"),
}


def explain(scorer: Scorer, form: Any, parameters: Mapping[str, Any], *, rules: Rule, budget: Budget | None = None) -> dict[str, Any]:
    """Explain one check: `proved`, `cause` (its name, empty if unproved), `causes`, `n_attempts`, `notes`.

    `form` is what a reader made of the answer, `parameters` contain gold read. At most 400 tries, of 20,000,000 cells together; `notes` say
    if that, or the size of a table, ended the search. If the rules refuse gold itself the search uses the other rules (`rules` says under
    which the cause was proved, `notes` why).
    """
    budget = budget or Budget()
    if isinstance(form, Fault):
        return explanation([], budget, rules, note=describe(form))
    judge = Judge(scorer, parameters, rules, budget)
    if scorer.marker.reads not in _SEARCHES:
        return explanation([], budget, rules, note=f"answers that {scorer.name} reads are not searched")
    search: Callable[[Judge, Any], list[Cause] | None] = _SEARCHES[scorer.marker.reads].load()
    causes = search(judge, form)
    if causes or takes_gold(judge):
        return explanation(causes or [], budget, rules)
    # If a rule refuses gold itself, no repair can pass; the other rule may still find a cause.
    other: Rule = "strict" if rules == "official" else "official"
    note = f"{rules} rules refuse gold itself"
    judge = replace(judge, rules=other, budget=Budget(attempts=budget.attempts, cells=budget.cells))
    if judge.passes(form) or not takes_gold(judge):
        return explanation([], budget, rules, note=note)
    causes = search(judge, form)
    budget.n_used += judge.budget.n_used
    return explanation(causes, budget, other, note=note) if causes else explanation([], budget, rules, note=note)


def takes_gold(judge: Judge) -> bool:
    """Whether the scorer accepts gold as the answer under the judge's rule: any of several if one is enough; costs no try."""
    reads, gold = judge.scorer.marker.reads, judge.parameters.get("gold", judge.parameters.get("reference"))
    golds = gold if isinstance(gold, list | tuple) else [gold]
    if reads in ("text", "number"):
        texts = [str(text) for text in golds]
        answers: list[Any] = [", ".join(texts)] if judge.parameters.get("conj") == "and" else texts
    else:
        answers = list(golds) if reads == "table" else [gold]
    judge_of_call = replace(judge, budget=Budget())
    return any(judge_of_call.passes(answer) for answer in answers if not isinstance(answer, Fault))


def explanation(causes: Sequence[Cause], budget: Budget, rules: Rule, *, note: str = "") -> dict[str, Any]:
    """Return the data of an explanation from the causes that the scorer confirmed: `proved` if each of them is a proof.

    `standing` is `proved` or `fits`, empty if nothing is named: causes are not named if one of them would fit unrelated values or rows too
    often (see `Cause.is_named`).
    """
    weighed, notes = [cause.weigh() for cause in causes], [*([note] if note else []), *budget.notes]
    if not all(cause.is_named for cause in weighed):
        notes.append(max((cause for cause in weighed if not cause.is_named), key=lambda cause: cause.chance).why_not_named)
        weighed = []
    whole = all(cause.scores is None for cause in weighed) or any(cause.scores and cause.scores[1] == 1 for cause in weighed)
    proved = bool(weighed) and whole and all(cause.standing == "proved" for cause in weighed)
    return {
        "proved": proved,
        "standing": "proved" if proved else "fits" if weighed else "",
        "rules": rules,
        "cause": join_names(weighed),
        "causes": [cause.to_json() for cause in weighed],
        "n_attempts": budget.n_used,
        "notes": notes,
    }


# Reading answers again takes about as long as scoring them, and a report should take seconds.
MOST_DIFFERENCES = 300
# A search for a cause calls the scorer up to 400 times; no further search starts after these seconds.
MOST_EXPLAINED = 40
MOST_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """Evidence by instance id, cut to the record's level, and one sentence on what is missing (empty: nothing)."""

    found: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: str = ""


# Function that collects the evidence for some instances of a record.
FindEvidence = Callable[["Record", Sequence[str]], RunEvidence]


# Scorers that leave a margin out where it costs too much.
_WITH_MARGIN: Final = ("table_match", "tables_match", "duckdb_match")


def add_margins(record: "Record") -> tuple[Sequence[Result], str]:
    """Return the results of a run with the margins that the run left out, and one sentence on those that are still missing.

    The answers are compared again, which needs the gold and submission folders that the run names, unchanged.
    """
    missing = [
        result.instance_id
        for result in record.results
        if result.status == "scored" and result.scorer in _WITH_MARGIN and result.strict is not None and "margin" not in result.details
    ]
    if not missing:
        return record.results, ""
    gold, submission = Path(str(record.run["gold"]["folder"])), Path(str(record.run["submission"]["folder"]))
    try:
        same_gold = _unchanged_gold(record, gold) if exists(gold) and exists(submission) else None
        options = record.run["options"]
        how: dict[str, Any] = {
            "rules": requested_rules(record.run),
            "jobs": min(4, os.cpu_count() or 1),
            "spec": same_gold,
            "mode": options.get("mode"),
        }
        evidence = (
            explain_results(gold, submission, missing, options.get("limits") or {}, ("margin",), **how) if same_gold is not None else ()
        )
        margins = dict(evidence)
    except EvalsuiteError:
        margins = {}
    results = []
    for result in record.results:
        margin = margins.get(result.instance_id, {})
        if "margin" in margin and (margin["official"], margin["strict"]) == (result.official, result.strict):
            result = replace(result, details={**result.details, "margin": margin["margin"]})
        results.append(result)
    n_missing = sum("margin" not in result.details for result in results if result.instance_id in set(missing))
    note = f"{n_missing} margin{'s are' if n_missing > 1 else ' is'} unknown: the folders of the run are not here, or have changed"
    return results, note if n_missing else ""


def _unchanged_gold(record: "Record", gold: Path) -> Gold | None:
    """Return the gold of a run, None if it has changed since."""
    questions = record.run["options"].get("questions")
    current = read_gold(gold, layout=record.layout, questions=Path(questions) if questions else None, plugins=False)
    return current if gold_hash(current.folder, current.spec_file) == record.run["gold"]["hash"] else None


def evidence_of_run(record: "Record", ids: Sequence[str]) -> RunEvidence:
    """Return the evidence for the first of the named instances: at most 300 differences, and 40 explanations within 20 s.

    Needs the gold and submission folders that the run names, unchanged; if they are gone or gold has changed, there is only a note.
    """
    if not ids or not shows(record.level, "class"):
        return RunEvidence()
    gold, submission = Path(str(record.run["gold"]["folder"])), Path(str(record.run["submission"]["folder"]))
    if not (exists(gold) and exists(submission)):
        return RunEvidence(note="differences are not shown: the folders of the run are not here")
    try:
        return _collect_evidence(record, ids, gold, submission)
    except EvalsuiteError as error:
        return RunEvidence(note=f"differences are not shown: {error.message}")


def _collect_evidence(record: "Record", ids: Sequence[str], gold: Path, submission: Path) -> RunEvidence:
    same_gold = _unchanged_gold(record, gold)
    if same_gold is None:
        return RunEvidence(note="differences are not shown: gold has changed since the run")
    unexecuted = same_gold.suite.extra.get("unexecuted", ())
    submission_side = {
        instance.instance_id
        for instance in same_gold.instances
        if any(check.scorer in unexecuted or names_class(check.parameters) for check in instance.checks)
    }.intersection(ids)
    ids = [name for name in ids if name not in submission_side]
    results = {result.instance_id: result for result in record.results}
    limits, jobs, mode = record.run["options"].get("limits") or {}, min(4, os.cpu_count() or 1), record.run["options"].get("mode")
    by_id: dict[str, Mapping[str, Any]] = {}
    changed: set[str] = set()

    def collect(names: Sequence[str], what: Sequence[str], seconds: float = math.inf) -> None:
        end = time.monotonic() + seconds
        how: dict[str, Any] = {"rules": requested_rules(record.run), "results": results, "jobs": jobs, "spec": same_gold, "mode": mode}
        for name, evidence in explain_results(gold, submission, names, limits, what, **how) if names else ():
            if evidence["status"] != results[name].status:
                changed.add(name)
            else:
                by_id[name] = redact_evidence(evidence, record.level, result=results[name])
            if time.monotonic() > end:
                return

    collect(ids[:MOST_EXPLAINED], ("difference", "explain"), MOST_SECONDS)
    if shows(record.level, "shape"):
        collect([name for name in ids[:MOST_DIFFERENCES] if name not in by_id and name not in changed], ("difference",))
    notes = []
    if submission_side:
        notes.append(
            f"{len(submission_side)} are scored by plugins of gold: only `evalsuite explain ID --run RUN --gold {gold}` executes them"
        )
    if len(ids) > MOST_DIFFERENCES:
        notes.append(f"differences are shown for the first {MOST_DIFFERENCES} of {len(ids)} instances that are not right")
    if changed:
        notes.append(f"{count_words(len(changed), 'answer')} changed since the run: their difference is not shown")
    return RunEvidence(found=by_id, note="; ".join(notes))
