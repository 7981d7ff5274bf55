"""A plain, slow longest common subsequence and ROUGE on top of it."""

from collections.abc import Sequence


def lcs(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def union_places(line: Sequence[str], others: Sequence[Sequence[str]]) -> set[int]:
    """The places of `line` that lie in the walk back through its table with any of the others; a tie goes up."""
    found = set()
    for other in others:
        table = [[0] * (len(other) + 1) for _ in range(len(line) + 1)]
        for i, a in enumerate(line, 1):
            for j, b in enumerate(other, 1):
                table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
        i, j = len(line), len(other)
        while i and j:
            if line[i - 1] == other[j - 1]:
                found.add(i - 1)
                i, j = i - 1, j - 1
            elif table[i][j - 1] > table[i - 1][j]:
                j -= 1
            else:
                i -= 1
    return found


def f_measure(hits: int, n_prediction: int, n_reference: int) -> float:
    """2 hits over both sizes, 0 without hits."""
    return 2 * hits / (n_prediction + n_reference) if hits else 0.0
