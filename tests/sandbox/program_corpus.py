"""The corpora of programs and tests in `programs/`: blocks that begin with `=== name`, of parts that begin with `--- part`."""

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "programs"


def corpus(name: str) -> dict[str, dict[str, str]]:
    """Name of a case -> its parts by name; `␀` stands for a NUL."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("␀", "\0")
    found: dict[str, dict[str, str]] = {}
    for block in text.split("\n=== ")[1:]:
        title, *parts = block.split("\n--- ")
        found[title] = {part.split("\n", 1)[0]: part.split("\n", 1)[1].rstrip("\n") for part in parts}
    return found
