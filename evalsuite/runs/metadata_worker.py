"""Worker side of reading metadata. Separate module so that workers do not import the caller."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from evalsuite.core.types import Answer
from evalsuite.gold.layouts import read_submission
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import FromRoot

# Answers per message.
_AT_ONCE: Final = 256


def stream_submission(folder: str, limits: Limits, layout: str, mode: str | None, ids: Sequence[str] | None) -> Iterator[Any]:
    """Yield the answers in batches, and last the other facts of the submission."""
    read = read_submission(Path(folder), limits, layout=layout, mode=mode, ids=None if ids is None else frozenset(ids))
    rows = [_row(answer) for answer in read.answers.values()]
    for at in range(0, len(rows), _AT_ONCE):
        yield rows[at : at + _AT_ONCE]
    yield {
        "notes": read.notes,
        "n_objects": read.n_objects,
        "digest": read.digest,
        "metadata": read.metadata,
        "n_unknown": read.n_unknown,
        "unknown": read.unknown,
    }


def _row(answer: Answer) -> tuple[Any, ...]:
    fault = answer.fault and (answer.fault.code, answer.fault.detail, answer.fault.where)
    return answer.instance_id, answer.answer_type, answer.value, answer.where, fault, answer.unread, isinstance(answer.value, FromRoot)
