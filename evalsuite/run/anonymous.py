"""Letters for names: what a leaderboard shows of submissions whose makers must not be known."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from evalsuite.run.entries import Entry
from evalsuite.store.run_scores import RunScores

# No vowels, so no words; five of them keep a thousand submissions apart.
_LETTERS, _N_LETTERS = "BCDFGHJKLMNPQRSTVWXZ", 5


def without_names(entries: Sequence[Entry]) -> list[Entry]:
    """The entries under letters, without metadata, paths and the words of a fault.

    The letters come from the content of a submission: they stay when others are added and say nothing of the name, but who has the
    folder can work them out. Two of the same content are told apart by a number.
    """
    digests = [_content(entry.scores) if entry.scores is not None else "" for entry in entries]
    distinct = sorted(set(digests) - {""})
    length = next(n for n in range(_N_LETTERS, 26) if len({_letters(digest, n) for digest in distinct}) == len(distinct))
    seen: Counter[str] = Counter()
    hidden = []
    for entry, digest in zip(entries, digests, strict=True):
        name = _letters(digest, length) if digest else "unreadable"
        seen[name] += 1
        name = name if digest and seen[name] == 1 else f"{name} {seen[name]}"
        scores = replace(entry.scores, metadata={}, folder="", submission="") if entry.scores is not None else None
        hidden.append(replace(entry, name=name, scores=scores, fault="cannot be read" if entry.fault else "", metadata={}))
    # In the order of the letters: that of the names would tell.
    return sorted(hidden, key=lambda entry: entry.name)


def _content(scores: RunScores) -> str:
    given = scores.submission_hash or json.dumps([scores.ids, scores.score, scores.status])
    return hashlib.sha256(f"leaderboard|{given}".encode("utf-8", "surrogatepass")).hexdigest()


def _letters(digest: str, length: int) -> str:
    number, letters = int(digest, 16), ""
    for _ in range(length):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return letters
