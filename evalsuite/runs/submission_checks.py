"""Notes on how answers were made, one per fact: `kind: what was seen`. Notes accuse nobody and change no score.

They are computed in the parent from tasks and finished results. Files of either side are compared as bytes and never parsed.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, BinaryIO

from evalsuite.core.errors import FaultError
from evalsuite.core.types import Result, Task

SAME_ANSWER, OTHER_GOLDS = 5, 5
# Only this much of a text is checked; a list of golds shows earlier.
_MOST_WORDS, _MOST_CHARACTERS = 4000, 1 << 18
_MOST_GOLD_WORDS = 6
_WORD = re.compile(r"\w+(?:[.,]\d+)*")
Words = tuple[str, ...]
# By number of words: the hash of a gold's words, and the first of its instances. Storing the words of a hundred thousand golds would take
# three times the space; 64-bit collisions are negligible.
Golds = Callable[[], Mapping[int, Mapping[int, str]]]
# Hex digits of a SHA-256; a placeholder is shorter.
_DIGITS = 64
_HARD_LINK = "hard link to a gold file"


def with_notes(
    tasks: Sequence[Task],
    results: Iterable[Result],
    gold_inodes: frozenset[tuple[int, int]],
    *,
    among: Sequence[Task] | None = None,
    gold_digests: Mapping[str, str] | None = None,
) -> tuple[Result, ...]:
    """Return the results in order, with their notes as `details["notes"]`.

    `among` are all tasks if `tasks` are a shard: an answer is compared with those of the other shards too. `gold_digests` are the digests
    of gold's files, as `GoldFiles` has them: an answer with known digests is not read again.
    """
    same = {text: n for text, n in Counter(map(_text, among or tasks)).items() if n >= SAME_ANSWER}
    # Short answers are not checked.
    golds = cache(lambda: _gold_texts(among or tasks))
    noted = (
        (result, list(_notes(task, result, same, golds, gold_inodes, gold_digests or {})))
        for task, result in zip(tasks, results, strict=True)
    )
    return tuple(result.with_detail("notes", notes) if notes else result for result, notes in noted)


def by_kind(results: Iterable[Result]) -> dict[str, list[str]]:
    """Return instance ids by the kind of their notes, the most common kind first."""
    found: dict[str, list[str]] = {}
    for result in results:
        for note in result.detail("notes") or ():
            found.setdefault(note.partition(":")[0], []).append(result.instance_id)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _notes(
    task: Task,
    result: Result,
    same: Mapping[str, int],
    golds: Golds,
    gold_inodes: frozenset[tuple[int, int]],
    gold_digests: Mapping[str, str],
) -> Iterator[str]:
    if task.answer is None:
        return
    if result.fault == "BAD_PATH":
        yield f"{_HARD_LINK}: it was not read" if _HARD_LINK in result.reason else f"path refused: {result.reason}"
    if task.answer.unread:
        yield f"keys not read: {', '.join(task.answer.unread)}"
    text = _text(task)
    if text and text in same:
        yield f"same answer: in {same[text]} instances"
    others = _golds_in(text, golds, task)
    if others >= OTHER_GOLDS:
        yield f"many golds: the answer contains the gold of {others} other instances"
    columns = result.detail("n_columns")
    needed = _needed(result.details) if columns is not None else None
    if columns is not None and needed is not None and columns > 2 * needed + 10:
        yield f"kitchen sink: {columns} columns submitted, {needed} needed"
    if 1 in (result.official, result.strict) and (name := _identical(task, result, gold_inodes, gold_digests)):
        yield f"byte-identical to gold: {name}"


def _text(task: Task) -> str:
    """Return the stripped text of a text answer; empty for a file."""
    answer = task.answer
    return answer.value.strip() if answer is not None and answer.answer_type == "answer" and isinstance(answer.value, str) else ""


def _needed(details: Mapping[str, Any]) -> int | None:
    needed = details.get("n_needed", details.get("strict", {}).get("n_needed"))
    return needed if isinstance(needed, int) else None


def _gold_texts(tasks: Sequence[Task]) -> dict[int, dict[int, str]]:
    """Return the golds of all text checks, each with the name of its first instance."""
    found: dict[int, dict[int, str]] = {}
    for task in tasks:
        name = task.instance.instance_id
        for words in _gold_words(task):
            owners = found.setdefault(len(words), {})
            key = hash(words)
            owners[key] = min(owners.get(key, name), name)
    return found


def _gold_words(task: Task) -> set[Words]:
    """Return the words of each gold of a task's text checks; a single digit or letter is left out."""
    golds = [check.parameters.get("gold") for check in task.instance.checks]
    flat = [one for gold in golds for one in (gold if isinstance(gold, list) else [gold]) if isinstance(one, str | int | float)]
    found = {tuple(_WORD.findall(str(one).casefold())) for one in flat}
    return {words for words in found if sum(map(len, words)) > 1 and len(words) <= _MOST_GOLD_WORDS}


def _golds_in(text: str, golds: Golds, task: Task) -> int:
    """Return the number of other instances whose gold is in the text, word for word."""
    if len(text) < 2 * OTHER_GOLDS - 1:
        return 0
    words = _WORD.findall(text[:_MOST_CHARACTERS].casefold())[:_MOST_WORDS]
    if len(words) < OTHER_GOLDS:
        return 0
    # A gold that several instances share is no list of golds: it counts once.
    met: dict[Words, str] = {}
    for n, known in golds().items():
        for begin in range(len(words) - n + 1):
            some = tuple(words[begin : begin + n])
            if (owner := known.get(hash(some))) is not None:
                met[some] = owner
    if len(met) < OTHER_GOLDS:
        return 0
    own = _gold_words(task)
    return len({owner for some, owner in met.items() if some not in own})


def _identical(task: Task, result: Result, gold_inodes: frozenset[tuple[int, int]], gold_digests: Mapping[str, str]) -> str:
    """Return the name of the gold file that an answer's file equals byte for byte; empty if there is none."""
    from evalsuite.readers.answer_files import AnswerFiles
    from evalsuite.readers.paths import inside, open_trusted

    answer = task.answer
    if answer is None or answer.answer_type == "answer" or not answer.value:
        return ""
    name = answer.value if isinstance(answer.value, str) else answer.value[0]
    if len(known := result.digests.get(name, "")) == _DIGITS:
        equal = (gold for gold in _gold_names(task) if gold_digests.get(_below(task, gold)) == known)
        if (found := next(equal, "")) or all(_below(task, gold) in gold_digests for gold in _gold_names(task)):
            return found
    limit = task.limits["file_bytes"]
    files = AnswerFiles(task.submission_folder, task.instance.instance_id, task.limits, gold_inodes)
    try:
        with files.open(name) as handed_in:
            for gold in _gold_names(task):
                with open_trusted(task.gold_folder / inside(task.instance.instance_id, gold), limit_bytes=limit) as file:
                    if _size(file) == _size(handed_in) and _same_bytes(file, handed_in):
                        return gold
    except (FaultError, OSError):
        return ""
    return ""


def _below(task: Task, gold: str) -> str:
    """Return the name of a gold file below the gold folder; empty if it leads elsewhere."""
    from evalsuite.readers.paths import inside

    try:
        return inside(task.instance.instance_id, gold)
    except FaultError:
        return ""


def _gold_names(task: Task) -> Iterator[str]:
    """Yield the gold files that a task's checks name."""
    from evalsuite.scorers import SCORERS

    for check in task.instance.checks:
        if SCORERS.load(check.scorer).marker.gold_files is not None:
            gold = check.parameters.get("gold")
            yield from (name for name in (gold if isinstance(gold, list) else [gold]) if isinstance(name, str))


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _same_bytes(one: BinaryIO, other: BinaryIO) -> bool:
    """Return whether two files of one size are equal; stops at the first block that differs."""
    one.seek(0)
    other.seek(0)
    while block := one.read(1 << 20):
        if block != other.read(len(block)):
            return False
    return True
