"""Outages x commands: whatever keeps the judge from judging, no figure moves with what nobody judged, and it alone is asked again."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.reports.viewer.served import ask, viewer
from tests.scorers.judge.conftest import Serve, judged, section, write_rows
from tests.scorers.judge.server import Say, Server, prompt_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "here")

N_TEXTS, N_ASKED = 3, 4
Outage = Callable[[dict[str, Any]], Say | str]


def _half(body: dict[str, Any]) -> Say | str:
    """The first two of the questions are judged, the others meet an error."""
    return '{"score": 5}' if re.search("Question [01][?]", prompt_of(body)) else Say(status=500)


OUTAGES: dict[str, tuple[Outage, int]] = {
    "all down": (lambda _: Say(status=500), 0), "half down": (_half, 2), "hangs": (lambda _: Say(hang=True), 0),
    "wrong key": (lambda _: Say(status=401), 0), "broken JSON": (lambda _: Say(raw=b'{"choices": [{"message"'), 0),
    "nonsense": (lambda _: "{ Hm", 0),
}  # fmt: skip


# One in the line, all under `slow`.
EACH = [pytest.param(name, marks=() if name == "half down" else pytest.mark.slow) for name in OUTAGES]


def _set_up(server: Server, n_judged: int) -> None:
    """Gold of texts and questions, and of questions alone; `a` and `b` differ in what the judge does not judge."""
    own = json.dumps({"judge": section(server.base_url, retries=0, timeout_seconds=0.2)})
    texts = [{"instance_id": f"s{n}", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}}} for n in range(N_TEXTS)]
    asked = [{"instance_id": f"j{n}", "question": f"Question {n}?", "evaluation": judged()} for n in range(N_ASKED)]
    for gold, lines in (("gold", texts + asked), ("judge_only", asked)):
        write_rows(Path(gold, "x_eval.jsonl"), lines)
        Path(gold, "suite.yaml").write_text(own)
    for name, word in (("a", "Paris"), ("b", "Rome, or something else")):
        said = ["Paris", "Paris", "Rome", *("Paris" if n < n_judged else word for n in range(N_ASKED))]
        rows = [
            {"instance_id": line["instance_id"], "answer_type": "answer", "answer_or_path": text}
            for line, text in zip(texts + asked, said, strict=True)
        ]
        write_rows(Path(name, "results_metadata.jsonl"), rows)
        write_rows(Path(f"{name}.jsonl"), [{"candidate_output": text} for text in said[N_TEXTS:]])
    write_rows(Path("cases.jsonl"), [{"input": f"Question {n}?", "reference_output": "Paris"} for n in range(N_ASKED)])
    Path("of_judge").mkdir()
    Path("of_judge/suite.yaml").write_text(own)


def _called(capsys: pytest.CaptureFixture[str], words: str, code: int) -> list[str]:
    """The lines that a command prints, which must end with this code."""
    capsys.readouterr()
    assert main(words.split()) == code, words
    return capsys.readouterr().out.splitlines()


def _without_names(text: str) -> str:
    """What a text says, whoever it says it of."""
    return re.sub(r"(?<![\w-])[ab](?![\w-])|\d{8}-\d{6}[\w-]*|[0-9a-f]{12,}|[\d.]+ ?m?s\b|\d+ minutes?|\d\d:\d\d(:\d\d)?", "*", text)


@pytest.mark.parametrize("outage", EACH)
def test_no_figure_moves_with_what_nobody_judged(outage: str, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """run, gates, runs list, compare, leaderboard, suite run say the same of two submissions that differ only there; exit 4, never a 0."""
    rule, n_judged = OUTAGES[outage]
    server = serve(lambda body, _: rule(body))
    _set_up(server, n_judged)
    n, total = N_TEXTS + n_judged, N_TEXTS + N_ASKED
    printed, stored = [], []
    for name in ("a", "b"):
        shown = _called(capsys, f"run {name} --gold gold --isolation none --out {name}_run", 4)
        assert shown[-1].startswith(f"done: judged {n}/{total}: ")
        assert sum("HTTP" in line for line in shown) <= 2 + (n_judged > 0)
        numbers = [line for line in shown if re.match(r" (instance|score|strict|reference|by |7 inst|done)", line)]
        printed.append([_without_names(line) for line in [*numbers, shown[-1]]])
        stored.append(json.loads(Path(f"{name}_run/run.json").read_text())["summary"])
        assert _called(capsys, f"run {name} --gold judge_only --isolation none -q --no-save --fail-under 0", 4 if n_judged else 1)
    assert printed[0] == printed[1]
    assert stored[0] == stored[1]
    assert (stored[0]["n_judged"], stored[0]["counts"]["unscored"]) == (n, N_ASKED - n_judged)
    assert stored[0]["score"] == pytest.approx((2 + n_judged) / n)
    whole = json.loads("\n".join(_called(capsys, "compare a_run b_run --json --fail-on-regression", 0)))
    (other,) = whole["candidates"]
    assert (other["total"]["n"], other["total"]["a"], other["total"]["b"]) == (n, stored[0]["score"], stored[0]["score"])
    board = json.loads("\n".join(_called(capsys, "leaderboard a b --gold gold --isolation none --json", 4)))
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(None, stored[0]["score"], n)] * 2
    listed = [line.partition("  ")[2] for line in _called(capsys, "runs list", 0)]
    assert len({_without_names(line) for line in listed}) == 1
    with viewer(Path.cwd()) as address:
        suites = ask(address, "/api/v1/test_suites").json["test_suites"]
        for page in ("/", "/suites/" + next(one["id"] for one in suites if one["name"] == "gold")):
            figures = re.findall(r"(\d+\.\d) %\s*<span class=\"sub\">judged (\d+/\d+)", ask(address, page).body)
            assert set(figures) == {(f"{stored[0]['score'] * 100:.1f}", f"{n}/{total}")}
    _called(capsys, "suite create s --from cases.jsonl --scorer llm_judge --judge of_judge/suite.yaml", 0)
    suite = [_called(capsys, f"suite run s {name}_of_s --from {name}.jsonl", 4)[0] for name in ("a", "b")]
    assert f"judged {n_judged}/{N_ASKED}" in suite[0] if n_judged else f"nothing judged (0 of {N_ASKED})" in suite[0]
    assert len({_without_names(line.partition(": ")[2].partition(", saved")[0]) for line in suite}) == 1


def test_an_answer_without_a_verdict_is_wrong_where_that_is_said(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`--invalid-as zero` counts it as 0 with its code, in a run of another signature that verifies; what was not asked stays unjudged."""
    server = serve(lambda body, _: "Hm." if "Question 0" in prompt_of(body) else Say(status=500))
    _set_up(server, 0)
    _called(capsys, "run a --gold gold --isolation none -q --out null --invalid-as null", 4)
    _called(capsys, "run a --gold gold --isolation none -q --out zero --invalid-as zero", 4)
    rows = {row["instance_id"]: row for row in map(json.loads, Path("zero/results.jsonl").read_text().splitlines())}
    assert [(rows[name]["status"], rows[name]["score"], rows[name]["fault"]) for name in ("j0", "j1")] == [
        ("scored", 0, "NO_VERDICT"),
        ("unscored", None, "JUDGE_FAILED"),
    ]
    null, zero = (json.loads(Path(name, "run.json").read_text()) for name in ("null", "zero"))
    assert (null["summary"]["n_judged"], zero["summary"]["n_judged"]) == (N_TEXTS, N_TEXTS + 1)
    assert zero["signature"].replace("|invalid:zero", "") == null["signature"] != zero["signature"]
    assert "matches its claims: in part, 4 not verified (exit 4)" in _called(capsys, "verify zero", 4)[-1]
    _called(capsys, "compare null zero", 2)
    # Scored again it stays so.
    _called(capsys, f"rescore {Path.cwd()}/zero --isolation none -q --runs again", 4)
    (again,) = Path("again").glob("*/run.json")
    assert json.loads(again.read_text())["signature"] == zero["signature"]
