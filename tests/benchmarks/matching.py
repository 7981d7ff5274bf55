"""The official text and number rules on 100,000 answers, in units of the plain loops of tests/models."""

import random
from pathlib import Path
from typing import Any

from evalsuite.compare.answer_rules import match_number, match_text
from tests.benchmarks.measure import cpu_seconds
from tests.models.official_number import score_number
from tests.models.official_text import score_text

N_EACH = 50_000
CITIES = ["Paris", "Tokyo", "Lima", "Oslo", "Berlin"]


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios of CPU to the plain loops: what a run calls, verdicts with their reasons (bound 0.8); all medians in seconds."""
    chance = random.Random(20261121)
    texts = [(f"The answer is {chance.choice(CITIES)} in {chance.randint(1900, 2100)}", chance.choice(CITIES)) for _ in range(N_EACH)]
    numbers = [(f"It is about {chance.randint(0, 9999):,}.{chance.randint(0, 99)}% of all", chance.random() * 100) for _ in range(N_EACH)]
    found = cpu_seconds(
        {
            "texts, plain loop": lambda: [score_text(answer, gold) for answer, gold in texts],
            "texts, reasons": lambda: [match_text(answer, gold) for answer, gold in texts],
            "numbers, plain loop": lambda: [score_number(answer, gold) for answer, gold in numbers],
            "numbers, reasons": lambda: [match_number(answer, gold) for answer, gold in numbers],
        },
        n,
    )
    both = {way: found[f"texts, {way}"] + found[f"numbers, {way}"] for way in ("plain loop", "reasons")}
    return {
        "ratios": {way: round(cost / both["plain loop"], 2) for way, cost in both.items()},
        "medians": found,
    }
