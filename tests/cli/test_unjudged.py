"""An instance without a judge is unjudged in every number, whatever was submitted for it."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.test_run import as_json, quick, said, text_submission, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

N_TEXTS, N_ASKED = 5, 4


def make_place(folder: Path) -> None:
    """Gold of five texts and four questions for a judge that nobody set up; `a` and `b` differ only in what no judge has seen."""
    texts = [{"instance_id": f"s{i}", "evaluation": {"func": "string_match", "parameters": {"gold": ["Paris"]}}} for i in range(N_TEXTS)]
    judged = [{"instance_id": f"j{i}", "evaluation": {"func": "llm_judge", "parameters": {"gold": "Paris"}}} for i in range(N_ASKED)]
    write_lines(folder / "gold/mixed_eval.jsonl", *texts, *judged)
    write_lines(folder / "judge_only/judge_eval.jsonl", *judged)
    for name, text in (("a", "Paris"), ("b", "Rome")):
        judged_answers = {f"j{i}": text for i in range(N_ASKED)}
        text_submission(folder / name, **{f"s{i}": "Paris" if i < 4 else "Rome" for i in range(N_TEXTS)}, **judged_answers)
        text_submission(folder / f"{name}_judge", **judged_answers)


place = copy_of(make_place)


def lines(words: str, code: int = 0) -> list[str]:
    """The lines that a command prints, which ends with this code."""
    done = quick(*shlex.split(words), cwd=Path())
    assert done.returncode == code, (words, done)
    return done.stdout.splitlines()


def test_the_headline_is_the_mean_of_what_was_judged(place: Path) -> None:
    """80 % of five of nine, between 4/9 and 8/9 over all; exit 4 unless that is allowed, and a gate that is not met comes first."""
    shown = lines("run a --gold gold", 4)
    assert shown[-1] == "done: judged 5/9: 80.0 % (44.4-88.9 % over all 9), 4 unscored (exit 4)"
    assert any("judged 5/9: 80.0 % (44.4-88.9 % over all 9: 4 unscored)" in line for line in shown)
    assert lines("run a --gold gold -q --allow-unscored") == ["done: judged 5/9: 80.0 % (44.4-88.9 % over all 9) (no gate set)"]
    assert lines("run a --gold gold -q --allow-unscored --fail-on-unscorable", 4)[-1].endswith("4 unscored (exit 4)")
    assert lines("run a --gold gold -q --fail-under 0.9", 1)[-1].endswith("below the gate of 90.0 % (exit 1)")
    assert lines("run a --gold gold -q --fail-under 0.8", 4)[-1].endswith("4 unscored (exit 4)")


def test_no_figure_moves_with_what_nobody_judged(place: Path) -> None:
    """The summaries of two submissions that differ there only are the same, and so are their lines in the list of runs."""
    for name in ("a", "b"):
        lines(f"run {name} --gold gold -q", 4)
    first, second = (json.loads((folder / "run.json").read_text())["summary"] for folder in sorted((place / ".evalsuite/runs").iterdir()))
    assert first == second
    assert (first["score"], first["official"], first["strict"], first["n_judged"]) == (0.8, 0.8, 0.8, 5)
    listed = lines("runs list")
    assert len({line.partition("  ")[2] for line in listed}) == 1
    assert "official 80.0 %  strict 80.0 %  judged 5/9" in listed[0]


def test_nothing_judged_has_no_score(place: Path) -> None:
    """No score, no interval and no rank; no gate passes, not even 0, no comparison either, nor one that it may decide."""
    shown = lines("run a_judge --gold judge_only", 4)
    assert shown[-1].startswith("done: nothing judged (0 of 4)")
    assert "0.0 % [" not in "\n".join(shown)
    (folder,) = (place / ".evalsuite/runs").iterdir()
    summary = json.loads((folder / "run.json").read_text())["summary"]
    assert [summary[key] for key in ("score", "official", "strict", "interval_95", "se", "reference_ratio")] == [None] * 6
    assert lines("run a_judge --gold judge_only -q --fail-under 0 --no-save", 1)[-1].startswith("done: nothing judged (0 of 4)")
    assert "undecided" in lines(f"compare '{folder}' '{folder}' --fail-on-regression -q", 1)[-1]
    shown = lines("compare a b --gold gold --alpha 0.2 --fail-on-regression -q", 4)
    assert shown == ["done: no regression shown at alpha 0.2, but the gate depends on answers without a score: a, b (exit 4)"]
    board = as_json("leaderboard a_judge b_judge --gold judge_only --isolation none", code=4)
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(None, None, 0)] * 2


def test_a_submission_with_unjudged_rows_has_no_rank_unless_that_is_allowed(place: Path) -> None:
    """Its judged mean is shown; allowed, all are ranked over the instances on which each of them was judged."""
    board = as_json("leaderboard a b --gold gold --isolation none", code=4)
    assert [(row["rank"], row["score"], row["score_low"], row["score_high"]) for row in board["rows"]] == [(None, 0.8, 4 / 9, 8 / 9)] * 2
    shown = lines("leaderboard a b --gold gold", 4)
    assert shown[-1] == "done: 0 submissions ranked (0 new, 2 reused), 2 not ranked: not all was judged (exit 4)"
    board = as_json("leaderboard a b --gold gold --allow-unscored --isolation none")
    assert [(row["rank"], row["score"]) for row in board["rows"]] == [(1, 0.8)] * 2
    assert board["notes"] == ["ranked over the 5 of 9 instances on which each of them was judged"]


def test_rescore_and_merge_end_as_the_run_did(place: Path) -> None:
    """Both exit 4 with what was left unjudged in their last line, unless that is allowed; a gate of merge that is not met comes first."""
    lines("run a --gold gold -q", 4)
    (folder,) = (place / ".evalsuite/runs").iterdir()
    shown = lines(f"rescore {folder.name} -q", 4)
    assert shown[-1] == "done: judged 5/9: 80.0 % (44.4-88.9 % over all 9), 0 of 9 verdicts changed, 4 unscored (exit 4)"
    assert lines(f"rescore {folder.name} -q --allow-unscored")
    for i in (1, 2):
        lines(f"run a --gold gold -q --shard {i}/2 --out part{i} --allow-unscored")
    assert lines("merge part1 part2 --out whole -q", 4)[-1].endswith("from 2 shards, 4 unscored (exit 4)")
    assert lines("merge part1 part2 --out whole -q --fail-under 0.9", 1)[-1].endswith("below the gate of 90.0 % (exit 1)")
    assert lines("merge part1 part2 --out whole -q --fail-under 0.5 --allow-unscored")[-1].endswith("(gate 50.0 % met)")


def test_an_answer_without_a_value_passes_no_gate(place: Path) -> None:
    """What a metric has no value for is in no mean, and cannot lift a score over a gate: exit 4 where it decides, in a run and a merge."""
    checks = {f"s{i}": ("string_match", {"gold": ["Paris"]}) for i in range(4)} | {"w": ("specificity", {})}
    write_lines(
        place / "words/x_eval.jsonl", *({"instance_id": id_, "evaluation": {"func": f, "parameters": p}} for id_, (f, p) in checks.items())
    )
    text_submission(place / "empty", **dict.fromkeys(checks, "Paris") | {"w": "!!!"})
    assert lines("run empty --gold words -q")[-1] == "done: judged 4/5: 100.0 % (80.0-100.0 % over all 5) (no gate set)"
    for i in (1, 2):
        lines(f"run empty --gold words -q --shard {i}/2 --out half{i}")
    for command in ("run empty --gold words -q --out {}", "merge half1 half2 -q --out {}"):
        folder = command.partition(" ")[0]
        assert lines(f"{command.format(f'{folder}1')} --fail-under 0.9", 4)[-1].endswith(", 1 unscored (exit 4)")
        assert lines(f"{command.format(f'{folder}2')} --fail-under 0.8")[-1].endswith("(gate 80.0 % met)")
        assert lines(f"{command.format(f'{folder}3')} --fail-under 0.9 --allow-unscored")[-1].endswith("(gate 90.0 % met)")
    text_submission(place / "full", **dict.fromkeys(checks, "Paris") | {"w": "A dog ate 5 red apples in Paris."})
    compared = "compare full empty --gold words -q --fail-under 0.9"
    last = "done: empty: the same on every compared instance, empty 100.0 %"
    assert lines(compared, 4) == [f"{last}, but the gate depends on answers without a score: empty (exit 4)"]
    assert lines(f"{compared} --allow-unscored") == [f"{last} (gate 90.0 % met)"]
    rows = [{"instance_id": id_, "answer_type": "answer", "answer_or_path": "!!!" if id_ == "w" else "Paris"} for id_ in checks]
    write_lines(place / "twice/results_metadata.jsonl", *rows, *rows)
    sampled = "run twice --gold words -q --samples 2 --no-save --fail-under"
    assert lines(f"{sampled} 0.9", 4)[-1].endswith(", the mean of 2 samples, 2 unscored (exit 4)")
    assert lines(f"{sampled} 0.8")[-1].endswith("(gate 80.0 % met)")


def test_invalid_as_is_told_before_anything_is_scored(place: Path) -> None:
    """Another word than null or zero is a usage error."""
    assert "hint: known: null, zero" in said("run a --gold gold --invalid-as one", code=2)


def test_faulty_gold_alone_is_no_success(place: Path) -> None:
    """Exit 2 if gold is faulty in every instance, also if unscored instances are allowed; 0 if one instance is judged."""
    faulty = {"instance_id": "s0", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris", "cnj": "or"}}}
    right = {"instance_id": "s1", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}}}
    write_lines(place / "faulty/x_eval.jsonl", faulty)
    for options in ("", " --allow-unscored"):
        assert lines(f"run a --gold faulty -q{options}", 2) == ["done: nothing judged (0 of 1): gold is faulty in every instance (exit 2)"]
    write_lines(place / "faulty/x_eval.jsonl", faulty, right)
    lines("run a --gold faulty -q")
