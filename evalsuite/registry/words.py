"""Which known word a wrong one was meant for."""

import difflib
import re
from collections.abc import Iterable, Sequence

# A hint names at most this many words that are equally near, and of all that are known as many as fit into these characters.
_MOST_NEAR, _MOST_CHARACTERS = 3, 400
# From this length on, the beginning of a word is a sign of what was meant.
_LEAST_CHARACTERS = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known words, or what is known where none is near."""
    names = list(dict.fromkeys(known))
    near = _nearest(word.casefold(), names)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """`a, b, c`; of many the first, and how many more there are."""
    n, length = 0, 0
    while n < len(names) and (n == 0 or length + len(names[n]) + 2 <= _MOST_CHARACTERS):
        length += len(names[n]) + 2
        n += 1
    return ", ".join(names[:n]) + (f" and {len(names) - n:,} more" if len(names) > n else "")


def _nearest(word: str, names: Sequence[str]) -> list[str]:
    """The names a word in lower case may stand for: itself in other case, those that hold it, begin with it, or at last look like it."""
    folded = {name.casefold(): name for name in reversed(names)}
    if word in folded:
        return [folded[word]]
    bare = word.strip("-")
    holding = [name for name in names if bare in re.split(r"[\W_]+", name.casefold())] if bare else []
    beginning = [name for name in names if name.casefold().startswith(word)] if len(bare) >= _LEAST_CHARACTERS else []
    if holding:
        return holding if len(holding) <= _MOST_NEAR else []
    if 0 < len(beginning) <= _MOST_NEAR:
        return beginning
    return [folded[near] for near in difflib.get_close_matches(word, folded, n=1)]
