"""Text metrics: BLEU beside sacrebleu called directly, ROUGE-L beside a plain python LCS; each pair timed in one process in turn."""

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.translation import Bleu
from tests.models.subsequence import f_measure, lcs

N_SEGMENTS, N_PAIRS, N_WORDS = 10_000, 1_000, 300
WORDS = [f"word{i}" for i in range(400)]


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes on the wall clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def text(chance: random.Random, n_words: int) -> str:
    """A text of words drawn with a few common ones."""
    return " ".join(WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(n_words))


def bleu(chance: random.Random, n: int) -> dict[str, float]:
    """Seconds for the corpus BLEU of 10,000 segments and for as many sentence BLEUs, ours and sacrebleu's."""
    from sacrebleu.metrics.bleu import BLEU

    predictions = [text(chance, 20) for _ in range(N_SEGMENTS)]
    references = [text(chance, 20) for _ in range(N_SEGMENTS)]
    ours, own_sentence, theirs = Bleu(), BLEU(effective_order=True), BLEU()
    ways: dict[str, Callable[[], Any]] = {
        "corpus, ours": lambda: ours.evaluate_corpus(predictions, references),
        "corpus, sacrebleu": lambda: theirs.corpus_score(predictions, [references]),
        "sentences, ours": lambda: ours.evaluate_batch(predictions, references),
        "sentences, sacrebleu": lambda: [own_sentence.sentence_score(p, [r]) for p, r in zip(predictions, references, strict=True)],
    }
    return in_turn(ways, n)


def rouge(chance: random.Random, n: int) -> dict[str, float]:
    """Seconds for ROUGE-L of 1,000 pairs of 300 words, ours and a plain table; the table is run once, it takes long enough."""
    pairs = [(text(chance, N_WORDS), text(chance, N_WORDS)) for _ in range(N_PAIRS)]
    ours = get_metric("rougeL")

    def plain() -> list[float]:
        lists = [(a.split(), b.split()) for a, b in pairs]
        return [f_measure(lcs(a, b), len(a), len(b)) for a, b in lists]

    found = in_turn({"rougeL, ours": lambda: [ours.evaluate(a, b) for a, b in pairs]}, n)
    return found | {"rougeL, plain": seconds(plain)}


def in_turn(ways: dict[str, Callable[[], Any]], n: int) -> dict[str, float]:
    """The median seconds of each way; the ways alternate, so that a busy machine slows all of them alike."""
    for work in ways.values():
        work()
    runs = [{name: seconds(work) for name, work in ways.items()} for _ in range(n)]
    return {name: statistics.median(run[name] for run in runs) for name in ways}


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios (BLEU: ours to sacrebleu, bound 1.3; ROUGE-L: plain to ours, bound 5) and all medians in seconds."""
    chance = random.Random(20261121)
    found = bleu(chance, n) | rouge(chance, n)
    return {
        "ratios": {
            "BLEU corpus, ours to sacrebleu": round(found["corpus, ours"] / found["corpus, sacrebleu"], 3),
            "BLEU sentences, ours to sacrebleu": round(found["sentences, ours"] / found["sentences, sacrebleu"], 3),
            "ROUGE-L, plain to ours": round(found["rougeL, plain"] / found["rougeL, ours"], 1),
        },
        "seconds": {name: round(value, 4) for name, value in found.items()},
    }
