"""Serialization of tasks and results for another machine of the same installation, at a third of the cost of pickling the dataclasses.

Both ends are trusted; the caller checks that both run the same version.
"""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from evalsuite.core.types import Answer, Check, GoldInstance, Result, Task

Form = tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]


def _record_form(kind: type[Any], *, without: Sequence[str] = ()) -> Form:
    names = tuple(field.name for field in fields(kind) if field.name not in without)
    return names, attrgetter(*names)


# Fields that all tasks of a run share are sent once.
_COMMON = ("gold_folder", "submission_folder", "limits")
_TASK = _record_form(Task, without=("instance", "answer", *_COMMON))
_INSTANCE = _record_form(GoldInstance, without=("checks",))
_CHECK, _ANSWER, _RESULT = _record_form(Check), _record_form(Answer), _record_form(Result)


def pack_tasks(tasks: Sequence[Task]) -> bytes:
    """Serialize the tasks of one run."""
    common = {name: getattr(tasks[0], name) for name in _COMMON}
    checks, answers, rest, instances = _CHECK[1], _ANSWER[1], _TASK[1], _INSTANCE[1]
    rows = [
        (
            rest(task) if len(_TASK[0]) > 1 else (rest(task),),
            instances(task.instance),
            [checks(check) for check in task.instance.checks],
            None if task.answer is None else answers(task.answer),
        )
        for task in tasks
    ]
    return pickle.dumps((common, rows))


def unpack_tasks(data: bytes) -> list[Task]:
    """Deserialize what `pack_tasks` returned."""
    common, rows = pickle.loads(data)
    return [
        Task(
            instance=GoldInstance(**_named(_INSTANCE, instance), checks=tuple([Check(**_named(_CHECK, check)) for check in checks])),
            answer=None if answer is None else Answer(**_named(_ANSWER, answer)),
            **_named(_TASK, rest),
            **common,
        )
        for rest, instance, checks, answer in rows
    ]


def pack_results(results: Sequence[Result]) -> bytes:
    """Serialize results."""
    return pickle.dumps(list(map(_RESULT[1], results)))


def unpack_results(data: bytes) -> list[Result]:
    """Deserialize what `pack_results` returned."""
    return [Result(**_named(_RESULT, row)) for row in pickle.loads(data)]


def _named(form: Form, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(form[0], values, strict=True))
