"""`python -m tests.meta.scorer_table`: write docs/scorers.md, the table of all scorers, from the code."""

from pathlib import Path

from evalsuite.metrics import METRICS
from evalsuite.reports.scorer_help import READS
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "scorers.md"
EXTRAS = {"bertscore": "`bertscore`", "specificity": "`wordfreq`"}
HEAD = """# All scorers

Written from the code by `python -m tests.meta.scorer_table`; a test holds it to the code. `evalsuite scorers NAME` explains one.

| scorer | reads | range | better | extra | what is judged | source |
|---|---|---|---|---|---|---|
"""


SOURCES = {
    "tree_match": "Struct Extract Eval", "tree_score": "Treeval", "llm_judge": "Desiru", "qa_correctness": "Arthur Bench",
    "summary_quality": "Arthur Bench", "hallucination": "Arthur Bench",
} | dict.fromkeys(
    ("word_count_match", "readability", "specificity", "hedging_language", "bertscore", "python_unit_testing", "pass_at_k", "composite"),
    "Arthur Bench, Desiru",
)  # fmt: skip


def source_of(name: str) -> str:
    """Where a scorer's meaning comes from."""
    return SOURCES.get(name, "the metric's literature" if name in METRICS else "Spider 2.0")


def page() -> str:
    """The page as it should stand."""
    rows = []
    for name in SCORERS.bundled:
        entry = SCORERS.load(name)
        reads = READS[entry.marker.reads][0]
        row = (f"`{name}`", reads, "0 to 1", entry.marker.direction, EXTRAS.get(name, ""), entry.summary, source_of(name))
        rows.append("| " + " | ".join(row) + " |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
