"""Every subject that is no run builds a document too, and every renderer sets it in its form: hostile texts stay texts in all of them."""

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from evalsuite.analysis.explain.smallest_case import Bundle, files_of
from evalsuite.analysis.gold_checks.contamination import Contamination, Hit, Overlap
from evalsuite.analysis.gold_checks.lint import lint
from evalsuite.analysis.gold_checks.mutation import Audit, Audited, Verdict
from evalsuite.analysis.gold_checks.readiness import GoldCheck, Unsatisfied
from evalsuite.analysis.gold_checks.suspects import Suspect, Suspects
from evalsuite.analysis.leaderboard.reliability import agree
from evalsuite.analysis.receipts.verification import Finding, Verified
from evalsuite.compare.characters import clean
from evalsuite.core.scores import Status
from evalsuite.core.status import LEVELS
from evalsuite.reports import FORMATS, write
from evalsuite.reports.analysis_documents import (
    audit_document,
    contamination_document,
    gold_check_document,
    lint_document,
    raters_document,
    suspects_document,
    verified_document,
)
from evalsuite.reports.document import Document, text_of
from evalsuite.reports.explain_documents import bundle_document, explanation_document
from evalsuite.reports.file_formats import annotations
from evalsuite.reports.record import Record, redact_record
from evalsuite.reports.run_document import results_table, run_document
from evalsuite.reports.run_page import closed_row
from evalsuite.runs.corrected_scores import Rater
from evalsuite.runs.history import GoldSelfScore
from tests.conftest import ROOT
from tests.properties import examples
from tests.reports import made

pytestmark = pytest.mark.usefixtures("shared_fork_server")

EVIL = "<b>x</b>|\x1b[2J\u202e =1 @all `y`\n# h"


def _refused() -> Unsatisfied:
    where, reason = "gold/a.jsonl:3", f"no {EVIL}"
    return Unsatisfied(instance_id=f"q {EVIL}", scorer="string_match", rules=("official",), code="", reason=reason, where=where)


@cache
def documents() -> dict[str, Document]:
    """A document of each subject, made of values that say what nobody should obey."""
    ceiling = GoldSelfScore(gold_hash="a", name="s", n=2, n_untried=0, official=1, strict=1)
    check = GoldCheck(ceiling=ceiling, n_checks=2, unsatisfied=(_refused(),), untried=(), below=(f"q {EVIL}",), excused={"other": EVIL})
    taken = Verdict(kind="sign", right=False, accepted={"official": True, "strict": False})
    audited = Audited(instance_id=f"q {EVIL}", scorer="number_match", where="gold/a.jsonl:3", verdicts=(taken,))
    audit = Audit(name=f"s {EVIL}", checks=(audited,), untried=(("t", f"why {EVIL}"),), n_answers=1, n_left=1, seed=0)
    raters = agree(
        Rater(name=f"a {EVIL}", labels={"q1": 1.0, "q2": 0.0, "q3": 1.0}, reasons={"q2": f"no {EVIL}"}),
        Rater(name="b", labels={"q1": 1.0, "q2": 1.0, "q3": 1.0}),
    )
    evidence = {
        "rules": "official", "status": "scored", "reason": f"no {EVIL}", "sql": f"select '{EVIL}'",
        "explanation": {"proved": True, "cause": "sign", "causes": [{"general": "sign", "says": EVIL, "where": EVIL}], "n_attempts": 1},
        "difference": {"kind": "text", "gold": [{"text": EVIL, "found": False}], "excluded": [], "answer": EVIL, "n_gold": 1, "conj": "or",
                       "segments": [{"op": "replace", "gold": EVIL, "predicted": EVIL}], "missing": [EVIL], "extra": [EVIL],
                       "nearest": [{"gold": EVIL, "phrase": EVIL, "similarity": 0.5}], "n_characters": 9},
    }  # fmt: skip
    bundle = Bundle(
        instance_id=f"q {EVIL}", scorer="string_match", reads="text", parameters={"gold": "a"}, tables=(), answer=EVIL, gold=None,
        schema=None, official="wrong", strict="right", flip="case", reason=EVIL, strict_reason="", sizes=(("words", 3, 1),),
        n_calls=3, notes=(),
    )  # fmt: skip
    hit = Hit(file="train.txt", line=3, n_words=20, text=EVIL)
    overlap = Overlap(instance_id=f"q {EVIL}", part="gold", where="gold/a.jsonl:3", n_grams=4, n_found=2, longest=hit)
    suspect = Suspect(
        instance_id=f"q {EVIL}", rank_value=1.0, n_voices=3, n_right=0, agreeing=("a", "b"), shown=EVIL, item_rest=None,
        reasons=(f"two say {EVIL}",),
    )  # fmt: skip
    finding = Finding(name="rows", good=False, says=f"2 differ {EVIL}", differs=(f"q {EVIL}: 1, not 0",))
    return {
        "gold check": gold_check_document(check, f"s {EVIL}"),
        "lint": lint_document(lint(ROOT / "gold")),
        "audit": audit_document(audit),
        "agreement": raters_document(raters),
        "explanation": explanation_document(f"q {EVIL}", evidence),
        "bundle": bundle_document(bundle, files_of(bundle)),
        "contamination": contamination_document(
            Contamination(n_words=13, n_texts=2, n_too_short=1, n_instances=2, n_files=2, not_text=(f"{EVIL}.zip",), overlaps=(overlap,)),
            f"s {EVIL}",
        ),
        "suspects": suspects_document(Suspects(suspects=(suspect,), n_instances=2, n_units=2, n_runs=3, n_voices=3, notes=(EVIL,))),
        "verification": verified_document(Verified(name=f"r {EVIL}", findings=(finding,), n_gold=2, claimed=(("model", EVIL),))),
    }


NAMES = ("gold check", "lint", "audit", "agreement", "explanation", "bundle", "contamination", "suspects", "verification")


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_every_subject_has_every_form(name: str, ending: str, tmp_path: Path) -> None:
    """The same function of a document as for a run; what a text says is never obeyed."""
    path = tmp_path / f"report{ending}"
    write(documents()[name], path)
    if ending == ".parquet":
        with duckdb.connect() as connection:
            assert connection.execute("SELECT count(*) FROM read_parquet(?)", [str(path)]).fetchone() is not None
        return
    text = path.read_text(encoding="utf-8")
    assert text.strip()
    assert "\x1b" not in text
    assert "\u202e" not in text
    if ending in (".html", ".svg", ".xml"):
        assert "<b>x</b>" not in text
    if name != "lint" and ending != ".csv":
        assert "x" in text
    if ending == ".csv":
        assert len(text.splitlines()) >= 2 or name in ("bundle", "lint")


@pytest.mark.parametrize("name", NAMES)
def test_annotations_of_every_subject_are_commands(name: str) -> None:
    """Whatever a text holds, a line is one command, and where there is a case to show it stands at its place."""
    lines = list(annotations(documents()[name]))
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) and "\n" not in line for line in lines)
    if name in ("gold check", "audit"):
        assert any("file=gold/a.jsonl,line=3" in line for line in lines)


@pytest.mark.parametrize("build", [made.example_record, made.graded, made.hostile])
@pytest.mark.parametrize("level", LEVELS)
def test_a_result_reads_the_same_on_a_terminal_and_on_a_page(build: Callable[[], Record], level: str) -> None:
    """The same signs and the same reason, whatever of gold may be seen; a page has a tag where a terminal writes `flip:`."""
    table = results_table(redact_record(build(), level))
    columns = {column.name: column for column in table.columns_of("text")}
    for row in table.rows:
        shown = closed_row(row.result, reason=row.reason)
        assert shown["signs"] == tuple(text_of(columns[name].cell(row)) for name in ("official", "strict"))
        said = f"{'flip: ' if shown['flip'] else ''}{shown['why']}"
        assert said.removesuffix("…") == clean(text_of(columns["why"].cell(row)))[: len(said.removesuffix("…"))]


# What may become of an instance: its status, and its score, or a value on a scale of its own (9.0).
OUTCOMES: list[tuple[Status, float | None]] = [
    *(("scored", score) for score in (1.0, 0.0, 0.5, 0.7, 0.9999, 0.00001, 1 / 3, 9.0)),
    *((status, 0.0) for status in ("missing", "submission_fault", "timeout", "crashed")),
    *((status, None) for status in ("gold_fault", "scorer_fault", "unscored")),
]
UNGRADED = ("scorer_fault", "unscored")


def whole_text(ending: str, document: Document) -> str:
    """The document in the form of a file, without the tags and scripts of a page."""
    rendered = FORMATS[ending].load()(document)
    pieces = [rendered] if isinstance(rendered, str) else rendered
    text = "".join(piece if isinstance(piece, str) else piece.decode() for piece in pieces)
    return re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL) if ending == ".html" else text


def said_count(text: str, words: str) -> int:
    """The number before these words, 0 where nothing says them."""
    found = re.search(rf"(\d+)\s+{words}", text)
    return int(found[1]) if found else 0


@examples(150)
@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=12))
def test_every_form_has_the_numbers_of_the_results(outcomes: Sequence[tuple[Status, float | None]]) -> None:
    """Counts, score and bounds, counted plainly here, stand in the text, the page, the comment, the JSON and the JUnit file of a run."""
    results = [
        made.result(f"q{at}", score, status=status, scorer="exact")
        if score != 9
        else made.result(f"q{at}", None, scorer="own", details={"raw": 9.0})
        for at, (status, score) in enumerate(outcomes)
    ]
    scores = [(status, score) for status, score in outcomes if score != 9]
    judged = [score for _, score in scores if score is not None]
    graded = sum(status not in UNGRADED for status, _ in scores)
    value = math.fsum(judged) / graded if judged else None
    document = run_document(made.record(*results))
    text, page, comment = (whole_text(ending, document) for ending in (".txt", ".html", ".md"))

    kinds = {
        "right": sum(pair == ("scored", 1) for pair in scores),
        "partly right": sum(status == "scored" and score not in (0, 1) for status, score in scores),
        "measured": len(outcomes) - len(scores),
        "missing": sum(status == "missing" for status, _ in scores),
    }
    for words, n in kinds.items():
        assert (said_count(text, words), said_count(page, words)) == (n, n), words
    assert said_count(comment, "partly right, worst first") == kinds["partly right"]
    line = re.search(r"^ \d+ instances? +(.*(?:\n {5,}.*)*)", text, re.MULTILINE)
    assert line is not None
    assert sum(int(part.split()[0]) for part in line[1].split("·")) == len(outcomes)

    whole = json.loads(whole_text(".json", document))["summary"]
    assert whole["score"] == (None if value is None else pytest.approx(value, abs=1e-12))
    last = text.splitlines()[-1]
    if value is not None:
        shown = re.search(r"done: (?:judged (\d+)/(\d+)(?:, (\d+) gold faults? counted 0)?: )?([\d.]+) %", last)
        assert shown is not None, last
        assert float(shown[4]) == pytest.approx(100 * value, abs=0.0500001)
        assert (float(shown[4]) == 0, float(shown[4]) == 100) == (value == 0, value == 1)
        if graded < len(scores):
            assert (int(shown[1]), int(shown[2])) == (len(judged), len(scores))
            assert int(shown[3] or 0) == graded - len(judged)
        assert f"{shown[4]} %" in page
        assert f"{shown[4]} %" in comment
        low, high = whole["interval_95"]
        assert low <= value <= high
    suite = etree.fromstring(whole_text(".xml", document).encode()).find(".//testsuite")
    failures = sum(status == "missing" or (status == "scored" and score < 1) for status, score in scores if score is not None)
    assert (suite.get("tests"), suite.get("failures")) == (str(len(outcomes)), str(failures))
