"""Question, reference and answer texts of instances, for display next to a result."""

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from evalsuite.core.registry import UnknownScorerError
from evalsuite.core.types import Check, Gold, GoldInstance, Submission
from evalsuite.scorers import SCORERS

# Gold keys that may contain the question, the likeliest first.
_QUESTION_KEYS: Final = ("input", "question", "instruction", "prompt")
# Longer texts are cut in reports.
LONGEST: Final = 20_000
# Values of `reads` of scorers whose gold names files.
_FILES: Final = frozenset({"table", "tables", "database"})


class Exchange(NamedTuple):
    """Question, reference and answer of an instance; an empty text if there is none, or if it is a file."""

    question: str = ""
    reference: str = ""
    answer: str = ""

    def told(self, reason: str) -> str:
        """Return a reason with the gold text itself in place of "the gold text", if it may be shown."""
        from evalsuite.compare.answer_messages import LACKED, shorten

        return reason.replace(f"lacks {LACKED}", f"lacks {shorten(self.reference)}") if self.reference else reason


NOTHING: Final = Exchange()


class Exchanges:
    """The texts of each instance by id, `NOTHING` for one without; gold and submission are loaded at the first access."""

    def __init__(self, open_sides: Callable[[], tuple[Gold | None, Submission | None]]) -> None:
        self._open_sides = open_sides

    @cached_property
    def _sides(self) -> tuple[Mapping[str, GoldInstance], Submission | None]:
        gold, submission = self._open_sides()
        return {instance.instance_id: instance for instance in gold.instances} if gold is not None else {}, submission

    def of(self, instance_id: str) -> Exchange:
        """Return the texts of an instance, each cut at 20,000 characters; nothing for an answer that is a file."""
        instances, submission = self._sides
        instance = instances.get(instance_id)
        given = submission.answers.get(instance_id) if submission is not None else None
        if given is not None and (given.fault is not None or given.answer_type != "answer"):
            return NOTHING
        reference = reference_text(instance.checks[0], between=" | ") if instance is not None and instance.checks else None
        question = question_of(instance) if instance is not None else ""
        if not question or (reference is None and given is None):
            # Gold without a question is not meant for reading, so its values are left out of reports.
            return NOTHING
        texts = (
            question,
            reference or "",
            str(given.value) if given is not None else "",
        )
        return Exchange(*(text[:LONGEST] for text in texts))


def exchanges_of(gold: Gold, submission: Submission) -> Exchanges:
    """Return the texts for a run that has just ended."""
    return Exchanges(lambda: (gold, submission))


def question_of(instance: GoldInstance) -> str:
    """Return the question among the further keys of a gold entry, else that of the file of questions; empty if there is none."""
    said = (text for key in _QUESTION_KEYS if isinstance(text := instance.extra.get(key), str) and text)
    return next(said, instance.asked.get("question", ""))


def reference_text(check: Check, *, between: str = "") -> str | None:
    """Return gold as text; None if there is none, or if the parameter only names a file. Several are JSON, or joined with `between`."""
    gold = check.parameters.get("gold")
    try:
        if SCORERS.load(check.scorer).marker.reads in _FILES:
            return None
    except UnknownScorerError:
        pass
    if between and isinstance(gold, list):
        return between.join(map(str, gold))
    return gold if isinstance(gold, str) else None if gold is None else json.dumps(gold, ensure_ascii=False, default=str)
