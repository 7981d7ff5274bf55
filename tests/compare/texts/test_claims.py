"""Each step in which the reading of claims decides, on the shortest clause in which it matters."""

import json
from typing import Any

from evalsuite.compare import claims
from tests.compare.texts.test_values import CORPUS


def read(text: str, golds: list[str], kind: str) -> list[Any]:
    """What a text claims of these golds, whether it claims something else, and where a contrast begins."""
    reading = claims._Reading(text, text.lower(), tuple(golds), kind)
    return [[text[start:end] for start, end in reading._claims], reading._is_rivalled, reading._contrast]


def overrules(text: str, golds: list[str], start: int, end: int) -> bool:
    """Whether a text overrules the name at a place."""
    return claims._Reading(text, text.lower(), tuple(golds), "name").overrules(start, end, has_none=False)


STEPS: dict[str, Any] = {
    "claims": read,
    "crossed": claims._is_crossed,
    "denial": lambda text: [claims._is_denial(text.split(), is_number=is_number) for is_number in (False, True)],
    "denies before": lambda text, before, place: claims._denies_before(text.split(), before, place),
    "denies behind": claims._denies_behind,
    "ends clause": lambda text: [claims._ends_clause(text.split(), k) for k in range(len(text.split()))],
    "ends sentence": lambda text: [claims._ends_sentence([(word, 0, 0) for word in text.split()], k) for k in range(len(text.split()))],
    "is like": lambda gold, text: [word for word in text.split() if claims._is_like(claims._kind_of(gold), word)],
    "list": lambda text: claims._denied_list(text.split()),
    "overrules": overrules,
    "subject": lambda text, k: [claims._subject_of(text.split(), k), [claims._begins_clause(text.split(), at) for at in range(k + 1)]],
    "superlatives": lambda text: list(filter(claims._is_superlative, text.split())),
    "words apart": lambda text: [
        claims._n_words_apart(text.split(), k, is_number=is_number) for is_number in (False, True) for k in range(len(text.split()))
    ],
    "words before": claims._words_before,
    "wrong word": lambda text: claims._wrong_word(text.split()),
}


def test_steps() -> None:
    """Every step says of each of its clauses what stands in the table."""
    rows = [json.loads(line) for line in (CORPUS / "claim_steps.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {step for step, _, _ in rows} == STEPS.keys()
    assert [[step, given, STEPS[step](*given)] for step, given, _ in rows] == rows
