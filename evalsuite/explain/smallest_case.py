"""One instance of a submission as the smallest case with the same verdict: what an issue needs, and nothing else of either side.

The search runs where scoring does, in the worker that reads gold, with what another one read of the submission; what comes back is data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import FaultError, UsageError
from evalsuite.explain.shrink import MOST_SECONDS, Shrinker, count, shrink_text, shrink_tree, word
from evalsuite.explain.shrink_tables import case_of, shrink
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.registry import Scorer
from evalsuite.run.handed_in import read_handed_in
from evalsuite.run.judged import is_batch
from evalsuite.run.plan import plan
from evalsuite.scorers import SCORERS
from evalsuite.types import Check, Fault, Result, Rule, Score, Table, Task
from evalsuite.workers.pool import Pool
from evalsuite.workers.requests import applicable, asks_pair, settle_early
from evalsuite.workers.stages import Prediction, judge, usable_parameters

ORDER: Final = "evalsuite.explain.smallest_case:collect_smallest_case"
_KEY: Final = "case"
# A scorer's own parameters that hold what a reader made of gold's files: they are written as files again.
_READ: Final = ("gold", "schema")
Data = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The smallest case of an instance. `tables` are [side, place, table] of JSON values, or `answer` and `gold` hold a text or a tree.

    `sizes` says (what, before, after), `official` and `strict` the verdicts in words; `notes` where the search ended early.
    """

    instance_id: str
    scorer: str
    reads: str
    parameters: Mapping[str, Any]
    tables: tuple[tuple[str, Any, Data], ...]
    answer: Any
    gold: Any
    schema: Any
    official: str
    strict: str
    flip: str
    reason: str
    strict_reason: str
    sizes: tuple[tuple[str, int, int], ...]
    n_calls: int
    notes: tuple[str, ...]


def bundle(
    gold_dir: Path,
    result_dir: Path,
    instance_id: str,
    *,
    rules: Rule | None = None,
    limits: Mapping[str, int | float] | None = None,
    layout: str | None = None,
    mode: str | None = None,
    isolation: str = "process",
) -> Bundle:
    """The smallest case found. Raises `UsageError` where there is no verdict to keep: nothing handed in, a fault, a judge's opinion."""
    gold = read_gold(gold_dir, layout=layout)
    resolved = resolve_limits(gold.suite.limits, limits or {})
    # The search asks the scorer many times; its own budget ends it long before this.
    roomy = {**resolved, "seconds": 3 * resolved["seconds"] + 2 * MOST_SECONDS}
    submission = read_handed_in(result_dir, gold, resolved, mode=mode, isolation=isolation)
    task = plan(gold, submission, rules=rules or gold.suite.rules, limits=roomy, only=(instance_id,))[0]
    if task.answer is not None and (task.answer.is_query or asks_pair(task.instance.checks)):
        raise _no_case(instance_id, "its answer is a query; `evalsuite explain` edits queries")
    if (early := settle_early(task)) is not None:
        raise _no_case(instance_id, early.reason)
    if is_batch(task):
        raise _no_case(instance_id, "a judge decides")
    pool = Pool(jobs=1, isolation=isolation, gold_inodes=gold_inodes(gold.folder), order=ORDER)
    try:
        result = next(iter(pool.results([task])))
    finally:
        pool.close()
    found = result.details.get(_KEY)
    if not isinstance(found, dict):
        raise _no_case(instance_id, result.reason)
    sequences = {key: tuple(map(tuple, found[key])) for key in ("tables", "sizes")}
    return Bundle(instance_id=instance_id, **{**found, **sequences, "notes": tuple(found["notes"])})


def _no_case(instance_id: str, why: str) -> UsageError:
    return UsageError(f"{instance_id} has no verdict that could be kept: {why}", hint="a bundle needs an answer that a scorer compared")


def collect_smallest_case(task: Task, prediction: Prediction) -> Result:
    """The result of a task whose details hold its smallest case. Runs in the worker that reads gold."""
    result = judge(task, prediction)
    checks = [check for check in applicable(task.instance, task.answer) if not any(p.blocks for p in check.problems)] if task.answer else []
    for check in sorted(checks, key=lambda check: check.scorer != result.scorer):
        entry = SCORERS.load(check.scorer)
        form = prediction.forms.get(entry.marker.reads)
        if form is None or isinstance(form, Fault):
            continue
        try:
            parameters = usable_parameters(task, check, entry)
            target = entry.score(form, **parameters)
        except FaultError:
            continue
        found = _smallest(entry, check, form, parameters, target)
        if found is not None:
            return replace(result, details={_KEY: found})
    return replace(result, details={})


def _smallest(entry: Scorer, check: Check, form: Any, parameters: Mapping[str, Any], target: Score) -> Data | None:
    """The case of one check as data; None where it has none that can be cut."""
    shrinker, reads = Shrinker(entry, target), entry.marker.reads
    found: Data = {"tables": [], "answer": None, "gold": None, "schema": None}
    said = {key: value for key, value in check.parameters.items() if key in entry.parameters and key not in _READ}
    if reads in ("text", "number"):
        found["answer"], cut = shrink_text(str(form), parameters, shrinker)
        said = cut
        sizes = [("words", len(str(form).split()), len(found["answer"].split()))]
    elif reads == "tree":
        found["answer"], found["gold"] = shrink_tree(form, parameters["gold"], parameters, shrinker)
        found["schema"] = parameters.get("schema")
        sizes = [("leaves of the answer", count(form), count(found["answer"]))]
    else:
        whole = case_of(reads, form, parameters)
        if whole is None or not shrinker.keeps(whole.form(), whole.scored()):
            return None
        case = shrink(whole, shrinker)
        found["tables"] = [[*key, _table_data(table)] for key, table in case.tables.items()]
        said = {key: value for key, value in case.parameters.items() if key in said or key == "condition_cols"}
        said |= {"gold": case.parameters["gold"]} if reads == "table" else {}
        sizes = [("rows", whole.n_rows, case.n_rows), ("columns", whole.n_columns, case.n_columns)]
        target = entry.score(case.form(), **case.scored())
    if not found["tables"]:
        last = {**said, "gold": found["gold"], "schema": found["schema"]} if reads == "tree" else said
        target = entry.score(found["answer"], **{key: value for key, value in last.items() if key != "schema" or value is not None})
    notes = [f"the search ended after {shrinker.calls} calls: a smaller case may exist"] if shrinker.spent else []
    words = {"official": word(target.official), "strict": word(target.strict), "flip": target.flip.partition(":")[0]}
    reasons = {"reason": target.reason, "strict_reason": target.why("strict")}
    about = {"scorer": entry.name, "reads": reads, "parameters": dict(said), "sizes": sizes, "n_calls": shrinker.calls, "notes": notes}
    return {**found, **words, **reasons, **about}


def _table_data(table: Table) -> Data:
    """A table as JSON values: text as it is, what a database held as text that it reads back."""
    columns = [[_cell_text_of(value, native=table.types is not None) for value in column] for column in table.columns]
    return {"header": list(table.header), "columns": columns, "types": list(table.types) if table.types is not None else None}


def _cell_text_of(value: Any, *, native: bool) -> str | None:
    if value is None or not native:
        return None if value is None else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return "".join(f"\\x{byte:02X}" for byte in bytes(value))
    return str(value)
