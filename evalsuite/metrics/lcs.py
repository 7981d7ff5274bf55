"""The longest common subsequence of two token lists: its length, and where it lies."""

from collections import defaultdict
from collections.abc import Sequence


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by rapidfuzz over small numbers that stand for the tokens."""
    from rapidfuzz.distance import LCSseq

    number: dict[str, int] = {}
    numbers = [[number.setdefault(token, len(number)) for token in tokens] for tokens in (first, second)]
    return LCSseq.similarity(*numbers)


def lcs_places(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """The places in `first` of one longest common subsequence with `second`, ascending; of several the one rouge-score takes.

    Columns of the dynamic programme are big integers (Hyyro 2004): bit i of column j is 0 where row i adds one to the length. The walk
    back prefers a match, then left where this row adds, else up: the ties of rouge-score's own walk, which decide Lsum.
    """
    matches: defaultdict[str, int] = defaultdict(int)
    for i, token in enumerate(first):
        matches[token] |= 1 << i
    everything = (1 << len(first)) - 1
    column, columns = everything, []
    for token in second:
        hit = column & matches.get(token, 0)
        column = ((column + hit) | (column - hit)) & everything
        columns.append(column)
    places = []
    i, j = len(first) - 1, len(second) - 1
    while i >= 0 and j >= 0:
        if first[i] == second[j]:
            places.append(i)
            i, j = i - 1, j - 1
        elif columns[j] >> i & 1:
            i -= 1
        else:
            j -= 1
    return places[::-1]
