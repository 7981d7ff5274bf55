"""Checks that need the network are scored here, side by side in the parent: no worker behind walls could reach a judge.

The judge's cache and not this room remembers what was asked: a killed run is started again and asks only for what it lacks.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from evalsuite.judge import Judge, read_settings
from evalsuite.registry import load
from evalsuite.runner.plan import applicable
from evalsuite.runner.worker import judge as judge_task
from evalsuite.runner.worker import read_prediction, read_request
from evalsuite.types import Check, Gold, GoldInstance, Problem, Result, Task

Execute = Callable[[Sequence[Task]], Iterator[Result]]
# What a text answer may also be read as here; a tree's comparison can take long and belongs behind walls.
_HERE = frozenset({"batch", "text", "number"})
_QUESTION_KEYS = ("question", "instruction")


def with_batches(others: Execute, gold: Gold) -> Execute:
    """An executor that scores the tasks of batch scorers with the judge of suite.yaml, and leaves the rest to `others`."""

    def results(tasks: Sequence[Task]) -> Iterator[Result]:
        batched = [task for task in tasks if is_batch(task)]
        names = {task.instance.instance_id for task in batched}
        yield from others([task for task in tasks if task.instance.instance_id not in names])
        if batched:
            yield from score_batches(batched, Judge(read_settings(gold.suite.extra.get("judge", {}), folder=gold.folder)))

    return results


def is_batch(task: Task) -> bool:
    """Whether a check that judges this answer is a batch scorer's."""
    if task.answer is None or task.answer.fault is not None:
        return False
    return any(load(check.scorer).marker.reads == "batch" for check in applicable(task.instance, task.answer))


def score_batches(tasks: Sequence[Task], judge: Judge) -> Iterator[Result]:
    """One result per task as soon as it is known, `concurrency` at once. Whoever stops taking them ends the calls under way."""
    threads = ThreadPoolExecutor(max_workers=judge.settings.concurrency, thread_name_prefix="judge")
    try:
        for known in as_completed([threads.submit(_score, task, judge) for task in tasks]):
            yield known.result()
    finally:
        judge.close()
        threads.shutdown(wait=True, cancel_futures=True)


def _score(task: Task, judge: Judge) -> Result:
    task = replace(task, instance=_prepared(task.instance))
    request = read_request(task, frozenset(), table_names=None)
    wanted = tuple(form for form in request.wanted if form in _HERE)
    return judge_task(task, read_prediction(replace(request, wanted=wanted)), judge)


def _prepared(instance: GoldInstance) -> GoldInstance:
    """The instance with its own question in the checks that take one, and with checks that cannot run here marked as gold's fault."""
    return replace(instance, checks=tuple(_prepared_check(check, instance) for check in instance.checks))


def _prepared_check(check: Check, instance: GoldInstance) -> Check:
    entry = load(check.scorer)
    if entry.marker.reads == "tree":
        message = f"{check.scorer} cannot stand beside a judged check in one instance"
        hint = "give each an instance of its own"
        return replace(check, problems=(*check.problems, Problem(code="BAD_SPEC", message=message, hint=hint, where=check.where)))
    if "question" in entry.parameters and "question" not in check.parameters:
        said = next((instance.extra[key] for key in _QUESTION_KEYS if isinstance(instance.extra.get(key), str)), "")
        return replace(check, parameters={**check.parameters, "question": said})
    return check
