"""The official text rule, written out plainly: the model `matching.text` is held to."""

from collections.abc import Sequence


def score_text(answer: str, gold: str | Sequence[str], conj: str = "or", exclude: Sequence[str] = ()) -> int:
    """1 or 0 as the reference gives it."""
    answer = answer.lower()
    for text in exclude:
        if text.lower() in answer:
            return 0
    hits = [text.lower() in answer for text in ([gold] if isinstance(gold, str) else gold)]
    return int(any(hits)) if conj == "or" else int(all(hits))
