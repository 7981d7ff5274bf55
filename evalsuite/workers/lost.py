"""What becomes of an answer whose lane ended before it gave a result: out of time, dead by its own doing, or killed by the system."""

import math
from collections.abc import Mapping
from dataclasses import replace

from evalsuite.types import Fault, Result
from evalsuite.walls.clock import Verdict
from evalsuite.workers.budget import answer_seconds, delayed, killed
from evalsuite.workers.combine import faulty, unjudged
from evalsuite.workers.lane import Lane


def seconds_of(lane: Lane, sizes: Mapping[str, int]) -> float:
    """What a lane's first task may take."""
    if not lane.tasks:
        return math.inf
    task = lane.tasks[0]
    beside_gold = bool(task.databases) and lane.stage() == "compared"
    return answer_seconds(task.limits, sizes.get(task.instance.instance_id, 0), beside_gold=beside_gold)


def is_over(lane: Lane, sizes: Mapping[str, int]) -> Verdict:
    """Whether the time of a lane's first task is over, and how."""
    seconds = seconds_of(lane, sizes)
    return lane.clock.over(seconds) if lane.clock.is_due(seconds) else ""


def lost(lane: Lane, over: Verdict, *, by_system: bool = False) -> Result:
    """The result of the first task of a lane that is out of time or dead, which leaves it: `timeout`, `crashed`, or `unscored` where it
    had no part in that.
    """
    stage, seconds = lane.stage(), lane.clock.had
    digests = lane.private.get(lane.tasks[0].instance.instance_id, (None, {}))[1]
    task = lane.let_go()
    if over == "delayed":
        result = unjudged(task, delayed(f"the answer was being {stage}", task.limits["seconds"]), seconds=seconds)
    elif over == "late":
        detail = f"the answer was being {stage} when its {task.limits['seconds']:g} s were over (limit seconds)"
        result = faulty(task, Fault(code="TIMEOUT", detail=detail), status="timeout", seconds=seconds)
    elif by_system:
        result = unjudged(task, killed(f"the worker by which the answer was being {stage}, twice, then alone"), seconds=seconds)
    else:
        detail = f"the worker died while the answer was being {stage}"
        result = faulty(task, Fault(code="WORKER_DIED", detail=detail), status="crashed", seconds=seconds)
    return replace(result, digests=digests)
