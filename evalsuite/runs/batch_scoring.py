"""Checks that need the network, or all answers at once: scored in the parent, because a sandboxed worker cannot reach a judge.

The judge's cache stores the replies: a killed run starts again and asks only for what is missing.
"""

from collections.abc import Iterator, Sequence
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, count_words
from evalsuite.core.registry import PluginBatch, Scorer
from evalsuite.core.status import FURTHER_SCORERS, further_result_row, further_results
from evalsuite.core.types import Check, Fault, Gold, GoldInstance, Problem, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.instance_checks import applicable_checks, files_of, read_request, reads_of
from evalsuite.runs.run_folder import JUDGE_BATCHES, JUDGE_CALLS
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.runs.task_execution import Helper, Prediction
    from evalsuite.scorers.judge import Judge

    Read = tuple[Task, Prediction, dict[str, str]]


# Payloads that these checks may also read. A tree is scored here only if its schema asks the judge.
_HERE = frozenset({"batch", "text", "number", "tree"})
_QUESTION_KEYS = ("question", "instruction")


class BatchScoring:
    """Stage that scores the tasks of batch scorers with the judge of suite.yaml.

    An answer without a verdict is unscored, or wrong if `invalid_as` is "zero". The run's `folder` records the cost of the judge, so that a
    resumed run reports the cost of all its attempts.
    """

    def __init__(
        self,
        gold: Gold,
        gold_inodes: frozenset[Inode] = frozenset(),
        *,
        invalid_as: Literal["zero"] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._gold, self._gold_inodes, self._invalid_as = gold, gold_inodes, invalid_as
        self._ledger = folder / JUDGE_CALLS if folder is not None else None
        self._under_way = folder / JUDGE_BATCHES if folder is not None else None
        self._judge: Judge | None = None

    def unspent(self) -> "BatchScoring":
        """Return the same stage with nothing spent."""
        return BatchScoring(self._gold, self._gold_inodes, invalid_as=self._invalid_as)

    def takes(self, task: Task) -> bool:
        """Return whether this stage scores a task."""
        return is_batch(task) or ("judge" in self._gold.suite.extra and asks_judge(task))

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task as soon as it is known."""
        from evalsuite.scorers.judge import Judge, read_settings

        settings = read_settings(self._gold.suite.extra.get("judge", {}), folder=self._gold.folder)
        self._judge = Judge(settings, ledger=self._ledger)
        if settings.batch:
            self._judge.client.take_batches(self._under_way)
        for result in score_batches(tasks, self._judge, self._gold_inodes):
            yield _as_wrong(result) if self._invalid_as == "zero" else result

    def cost(self) -> dict[str, Any] | None:
        """Return requests and cost of the judge in all attempts of this run, and the probe's findings; None if it was not asked."""
        if self._judge is None or not self._judge.settings.all_models:
            return None
        from evalsuite.scorers.judge.probe import kept_probe

        probes = kept_probe(self._judge.settings)
        return self._judge.account.to_json() | ({"probe": probes} if probes else {})

    def warnings(self) -> list[str]:
        """Return which replies of the judge the limit of its cost does not count, and which its cache could not write."""
        if self._judge is None:
            return []
        texts, settings = [], self._judge.settings
        if settings.max_cost > 0 and (n := self._judge.account.n_uncounted):
            texts.append(f"judge.max_cost does not count {count_words(n, 'call')} whose reply has no token counts: the cost may exceed it")
        if n := self._judge.client.n_unsaved:
            texts.append(f"judge.cache {settings.cache} cannot be written: another run makes {count_words(n, 'call')} of this one again")
        return texts


def _as_wrong(result: Result) -> Result:
    """Return the result with 0 if it has no verdict, reason kept; the same for scorers that do not make the score."""
    if beside := further_results(result):
        rows = {name: further_result_row(_as_wrong(row)) for name, row in beside.items()}
        result = result.with_detail(FURTHER_SCORERS, rows)
    if result.fault != "NO_VERDICT":
        return result
    numbers: dict[str, Any] = {which: getattr(result, which) or 0.0 for which in ("score", "official", "strict")}
    return replace(result, status="scored", **numbers)


def is_batch(task: Task) -> bool:
    """Return whether a check of this answer has a batch scorer."""
    return "batch" in reads_of(task.instance.checks) and "batch" in reads_of(_checks(task))


def asks_judge(task: Task) -> bool:
    """Return whether a check of this answer asks a judge besides comparing: a part of a composite, or `semantic` fields of a schema."""
    from evalsuite.runs.task_execution import usable_parameters

    for check in _checks(task):
        entry = SCORERS.load(check.scorer)
        if entry.marker.asks is None:
            continue
        try:
            if entry.asks_judge(usable_parameters(task, check, entry)):
                return True
        except FaultError:
            if entry.is_foreign:
                # Its own request failed. If the judge is asked again, the fault of the new request counts.
                return True
    return False


def _checks(task: Task) -> Sequence[Check]:
    return () if task.answer is None or task.answer.fault is not None else applicable_checks(task.instance, task.answer)


def score_batches(tasks: Sequence[Task], judge: "Judge", gold_inodes: frozenset[Inode] = frozenset()) -> Iterator[Result]:
    """Yield one result per task as soon as it is known, `concurrency` at once. Closing the iterator ends the calls under way.

    For a batch judge all tasks ask first, then wait together, and ask again until no task has to wait.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    threads = ThreadPoolExecutor(max_workers=judge.settings.concurrency, thread_name_prefix="judge")
    read = [_read(replace(task, instance=_prepare(task.instance)), gold_inodes) for task in tasks]
    batches = _whole_batches(read)

    def helper(entry: Scorer) -> "Judge | PluginBatch":
        return batches.get(entry.name, judge)

    try:
        while (queue := judge.client.queue) is not None and read:
            waiting = []
            for answer in read:
                n_before = queue.n_waiting
                result = _score(*answer, helper)
                if queue.n_waiting > n_before:
                    waiting.append(answer)
                else:
                    yield result
            queue.settle()
            read = waiting
        for future in as_completed([threads.submit(copy_context().run, partial(_score, *answer, helper)) for answer in read]):
            yield future.result()
    finally:
        judge.close()
        threads.shutdown(wait=True, cancel_futures=True)


def _read(task: Task, gold_inodes: frozenset[Inode]) -> "Read":
    from evalsuite.runs.task_execution import read_prediction

    request = read_request(task)
    files = files_of(request, gold_inodes)
    forms = tuple(form for form in request.wanted if form in _HERE)
    return task, read_prediction(replace(request, wanted=forms), files), files.digests()


def _score(task: Task, prediction: "Prediction", digests: dict[str, str], helper: "Helper") -> Result:
    from evalsuite.runs.task_execution import judge

    return replace(judge(task, prediction, helper), digests=digests)


def _whole_batches(read: "Sequence[Read]") -> dict[str, PluginBatch]:
    """Return scorer name -> the values that a plugin's `run_batch` gives all its answers, in gold order; it runs at the first request."""
    batches: dict[str, PluginBatch] = {}
    for task, prediction, _ in read:
        text = prediction.payloads.get("batch")
        for check in _checks(task):
            batch = SCORERS.plugin_batch(check.scorer)
            if batch is None or text is None or isinstance(text, Fault) or check.problems:
                continue
            batches.setdefault(check.scorer, batch).add(text, check.parameters)
    return batches


def _prepare(instance: GoldInstance) -> GoldInstance:
    """Return the instance with its question in the checks that take one; checks that cannot run here become gold faults."""
    has_judge = "batch" in reads_of(instance.checks)
    return replace(instance, checks=tuple(_prepare_check(check, instance, has_judge=has_judge) for check in instance.checks))


def _prepare_check(check: Check, instance: GoldInstance, *, has_judge: bool) -> Check:
    entry = SCORERS.load(check.scorer)
    if entry.marker.reads == "tree" and has_judge:
        message = f"{check.scorer} cannot be combined with a judged check in one instance"
        hint = "give each an instance of its own"
        return replace(check, problems=(*check.problems, Problem(code="BAD_SPEC", message=message, hint=hint, where=check.where)))
    if "question" in entry.parameters and "question" not in check.parameters:
        question = next((instance.extra[key] for key in _QUESTION_KEYS if isinstance(instance.extra.get(key), str)), "")
        return replace(check, parameters={**check.parameters, "question": question})
    return check
