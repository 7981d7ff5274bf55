"""`python -m tests.meta.scorer_table`: write docs/scorers.md, the table of all scorers, and the one in docs/metrics.md from the code."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from evalsuite.core.metric import IN_PYTHON, Metric
from evalsuite.reports.score_text import READS
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, get_metric
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "scorers.md"
EXTRAS = {"bertscore": "`bertscore`", "specificity": "`wordfreq`"}
HEAD = """# All scorers

Written from the code by `python -m tests.meta.scorer_table`; a test holds it to the code. `evalsuite gold scorers NAME` explains one.

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
    """The expected page."""
    rows = []
    for name in SCORERS.bundled:
        entry = SCORERS.load(name)
        reads = READS[entry.marker.reads][0]
        row = (f"`{name}`", reads, "0 to 1", entry.marker.direction, EXTRAS.get(name, ""), entry.summary, source_of(name))
        rows.append("| " + " | ".join(row) + " |\n")
    return HEAD + "".join(rows)


METRIC_PAGE = ROOT / "docs" / "metrics.md"
BEGIN, END = "<!-- metrics -->\n", "<!-- end of metrics -->"
ANSWER, REFERENCE = "the cat sat on a mat", "the cat is on the mat"
# What needs an extra, a jail, a judge or other metrics is shown below the table.
SHOWN_BELOW = ("specificity", "python_unit_testing", "pass_at_k", "llm_judge", "composite")


def metric_page() -> str:
    """The expected docs/metrics.md: a new table, the rest of the page unchanged."""
    text = METRIC_PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    rows = ["| metric | what it measures | range | better | options (default) | example |", "|---|---|---|---|---|---|"]
    return text[:begin] + "\n".join([*rows, *(_metric_row(name) for name in METRICS if name != "composite")]) + "\n" + text[end:]


def _metric_row(name: str) -> str:
    metric = get_metric(name)
    low, high = ("" if end is None else f"{end:g}" for end in (metric.low, metric.high))
    span = "no bounds" if not low and not high else f"{low} to {high}" if high else f"from {low}"
    value = None if name in SHOWN_BELOW else get_metric(name, **({"model": "tiny"} if name == "bertscore" else {}))(ANSWER, REFERENCE)
    options = ", ".join(f"`{o.name}` ({_plain(o.default)})" for o in fields(metric) if not _is_hidden(metric, o))
    what = METRICS[name].summary or f"`rouge` of the kind {name}"
    return f"| `{name}` | {what} | {span} | {metric.direction} | {options} | {'below' if value is None else f'{value:.4g}'} |"


def _is_hidden(metric: Metric, option: Any) -> bool:
    return option.name == "field" or option.metadata.get("gold", "") is IN_PYTHON["gold"]


def _plain(value: Any) -> str:
    return "null" if value is None else "none" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
    METRIC_PAGE.write_text(metric_page(), encoding="utf-8")
