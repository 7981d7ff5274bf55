"""Suspects are found by agreement against gold, and P(gold is wrong) is as good as an oracle's list."""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import pytest

from evalsuite.analysis.gold_checks.suspects import (
    FEWEST_RUNS,
    GOLD,
    Answers,
    Posterior,
    Scores,
    Suspects,
    _content,
    _notes_of_fit,
    _text_key,
    fit,
    group_by_record,
    item_rest,
    log_odds_needed,
    outlook,
    suspects,
    value_of_review,
)
from evalsuite.cli import main
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError
from evalsuite.core.types import Fault
from evalsuite.gold.errata import reviewed_right
from evalsuite.gold.layouts import read_gold
from evalsuite.runs.history import one_run
from tests.analysis.explain.planted_tables import table_in_line
from tests.analysis.gold_checks.gold_worlds import N_WRONG, WORLDS, World
from tests.analysis.gold_checks.small import ANSWERS, TABLE, scored, write_gold, write_submission
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SHUFFLED = "total,number\n30,3\n21,2\n10,1\n"


def runs(folder: Path, *answers: dict[str, str], models: tuple[str, ...] = ()) -> list[Path]:
    """A run folder of each submission, all of one gold."""
    gold, made = folder / "gold", []
    if not gold.exists():
        write_gold(gold)
    for i, changed in enumerate(answers):
        metadata = {"model_name": models[i]} if models else {}
        submission = write_submission(folder / f"sub{i}", {**ANSWERS, **changed})
        scored(submission, gold, folder / f"run{i}", metadata=metadata)
        made.append(folder / f"run{i}")
    return made


def found(folders: list[Path]) -> Suspects:
    """The suspects of these runs."""
    return suspects([one_run(str(folder)) for folder in folders], isolation="none")


def test_agreement_against_gold_comes_first(tmp_path: Path) -> None:
    """The same wrong number in other words and the same wrong table in another order agree; different wrong answers do not."""
    made = runs(
        tmp_path,
        {"total": "47 pieces", "capital": "Porto"},
        {"total": "There are 47.0", "capital": "Faro", "table": SHUFFLED},
        {"total": "about 47", "capital": "Lisbon", "table": TABLE},
        {"total": "48", "capital": "porto!", "share": "12", "table": TABLE},
        {"total": "46"},
    )
    first, more = found(made[:3]), found(made)
    same, none = "submissions give the same answer, and gold calls it wrong", "none of 3 submissions is right"
    assert said(first) == [
        ("total", 1.5, 3, 0, ("run0", "run1", "run2"), "47 pieces", None, (f"3 of 3 {same}", none), 0.1608, 0.1608),
        ("table", 0.5, 3, 1, ("run0", "run1"), "a table of 3 rows, 2 columns", None, (f"2 of 3 {same}",), 0.0082, 0.0082),
    ]
    assert first.notes == (f"item-rest correlations need {FEWEST_RUNS} submissions, there are 3",)
    assert (more.n_instances, more.n_units, more.n_runs, more.n_voices, more.outlook.n_wrong) == (4, 4, 5, 5, 0)
    worse = "the better submissions do worse here: item-rest r ="
    assert said(more) == [
        ("total", 0.875, 5, 1, ("run0", "run1", "run2"), "47 pieces", -0.375, (f"3 of 5 {same}", f"{worse} -0.38"), 0.0494, 0.0395),
        ("share", 0.559, 5, 4, (), "", -0.559, (f"{worse} -0.56",), 0.0164, 0.0164),
        ("capital", 0.25, 5, 2, ("run0", "run3"), "Porto", 0.1667, (f"2 of 5 {same}",), 0.007, 0.0056),
        ("table", 0.5, 5, 2, ("run0", "run1", "run4"), "a table of 3 rows, 2 columns", 0.1667, (f"3 of 5 {same}",), 0.0067, 0.0067),
    ]


def said(found: Suspects) -> list[tuple[Any, ...]]:
    """Everything that is said of each suspect, numbers to four digits."""
    names = ("instance_id", "rank_value", "n_voices", "n_right", "agreeing", "shown", "item_rest", "reasons", "p_wrong", "worth")
    values = [[getattr(one, name) for name in names] for one in found.suspects]
    return [tuple(round(value, 4) if isinstance(value, float) else value for value in row) for row in values]


def test_what_counts_as_the_same_answer() -> None:
    """Order, headers and the spelling of numbers do not count; of a text all but its numbers, where gold is one."""
    sides = [table_in_line(text) for text in ("b,n/A ,2/b,1.0", "x,y/1,b/2,A", "z//x")]
    of_two, of_one = '[["1", "b"], ["2", "a"]]', '[[""], ["x"]]'
    forms = (*sides, {"B": sides[0], "a": sides[2]}, [sides[2], Fault(code="BAD_CSV")], [], {"b": 1, "a": 2}, 7)
    assert list(map(_content, forms)) == [
        *[(of_two, "a table of 2 rows, 2 columns")] * 2,
        (of_one, "a table of 2 rows, 1 column"),
        (json.dumps([["b", of_two], ["a", of_one]]), "2 tables"),
        (json.dumps([[of_one], ["BAD_CSV"]]), "2 tables"),
        ("[]", "0 tables"),
        ('{"a": 2, "b": 1}', "a tree"),
        ("7", "a tree"),
    ]
    texts = {
        "It was 1,200.50 in 2024.": ["1200.5 2024", "it was 1,200.50 in 2024"],
        "no number!": ["no number"] * 2,
        "17% -3 'a.b' (c)": ["-3 0.17", "17% 3 a.b c"],
        "5 and 5.0": ["5", "5 and 5.0"],
    }
    assert {text: [_text_key(text, numbers=numbers) for numbers in (True, False)] for text in texts} == texts


def test_records_are_grouped_where_their_scores_are_known() -> None:
    """Rows are those that every run has; an answer without records is wrong in each of them, and a right record is no wrong answer."""
    scores: Scores = {"a": {"x": 0.5, "y": 1, "z": None, "w": 0}, "b": {"x": 0, "y": 0, "z": 1.0}, "c": {"x": 1}}
    answers: Answers = {"a": {"x": ("d1", ""), "w": ("d2", "")}, "b": {"x": ("d3", ""), "y": ("d4", "")}, "c": {}}
    units: dict[str, dict[str, Any]] = {
        "a": {"x": [1, 0, 0.5], "y": None, "z": [1, 1], "w": [0] * 9999, "v": [1] * 9996},
        "b": {"x": None, "y": None, "z": [1, 0, 1]},
        "c": {"x": [1, 1]},
    }
    notes: list[str] = []
    rows, wrong = group_by_record(scores, answers, units, notes)
    assert rows == {
        "a": {"x#1": 1, "x#2": 0, "y": 1, "z#1": None, "z#2": None, "w": 0},
        "b": {"x#1": 0, "x#2": 0, "y": 0, "z#1": 1, "z#2": 0},
        "c": {"x#1": 1, "x#2": 1},
    }
    assert wrong == {
        "a": {"x#2": ("d1", ""), "w": ("d2", "")},
        "b": {"x#1": ("d3", ""), "x#2": ("d3", ""), "y": ("d4", "")},
        "c": {},
    }
    assert notes == ["the 9999 records of w were checked as one: at most 10000 are checked one by one"]


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """`a/out` and `b/out` are two voices, each with its own answers; runs under different rules are named as such."""
    made = runs(tmp_path, {"total": "47"}, {"total": "47 pieces"}, {"capital": "Porto"})
    places = {f"run{i}": str(tmp_path / name / "out") for i, name in enumerate("abc")}
    before = [(one.instance_id, one.reasons, [places[run] for run in one.agreeing]) for one in found(made).suspects]
    folders = list(map(Path, places.values()))
    for old, new in zip(made, folders, strict=True):
        new.parent.mkdir()
        old.rename(new)
    assert [(one.instance_id, one.reasons, list(one.agreeing)) for one in found(folders).suspects] == before
    assert before[0][2]
    entries = [one_run(str(folder)) for folder in folders]
    strict = replace(entries[0], run={**entries[0].run, "options": {**entries[0].run["options"], "rules": "strict"}})
    assert (
        "the runs were judged by official and strict rules: --rules judges all by the same"
        in suspects([strict, *entries[1:]], isolation="none").notes
    )


def test_one_submission_or_model_is_one_voice(tmp_path: Path) -> None:
    """The same files twice, or one model twice, agree with nobody but themselves; answers to different golds are not compared."""
    same = runs(tmp_path / "a", {}, {})
    with pytest.raises(UsageError, match="at least two submissions"):
        found(same)
    model = runs(tmp_path / "b", {}, {"share": "12.50"}, {"total": "46"}, models=("m", "m", "n"))
    assert found(model).n_voices == 2
    assert "total" not in {one.instance_id for one in found(model).suspects if one.agreeing}
    made = runs(tmp_path, {})
    write_gold(tmp_path / "gold", table=TABLE + "4,40\n")
    made += [tmp_path / "other"]
    scored(write_submission(tmp_path / "sub9"), tmp_path / "gold", tmp_path / "other")
    with pytest.raises(UsageError, match="scored different golds"):
        found(made)


def test_submissions_that_never_differ_are_named(tmp_path: Path) -> None:
    """Nobody knows whether they are independent, but of two that differ once; the answers of a changed one are not those of its run."""
    wrong = {"total": "47 pieces", "capital": "Porto"}
    alike = "run0 and run1 give the same answer to all 4 instances of both: their agreement says little of gold"
    assert alike in found(runs(tmp_path / "a", wrong, {**wrong, "total": "47"}, {})).notes
    assert alike not in found(runs(tmp_path / "b", wrong, {**wrong, "capital": "Faro"}, {})).notes
    made = runs(tmp_path, {"total": "47 pieces"}, {"total": "about 47"})
    write_submission(tmp_path / "sub1", {**ANSWERS, "total": "1"})
    listed = found(made)
    assert any("run1 were not compared: its submission has changed" in note for note in listed.notes)
    assert [one.agreeing for one in listed.suspects if one.instance_id == "total"] == [()]


def test_what_was_not_compared_says_nothing_of_gold(tmp_path: Path) -> None:
    """An instance that nobody handed in is no suspect."""
    made = runs(tmp_path, {}, {"share": "13"})
    for i in range(2):
        answers = {name: text for name, text in {**ANSWERS, "share": f"1{i + 2}.5"}.items() if name != "capital"}
        scored(write_submission(tmp_path / f"less{i}", answers), tmp_path / "gold", tmp_path / f"run{i}")
    assert "capital" not in {one.instance_id for one in found(made).suspects}


def test_item_rest_is_the_correlation_with_the_other_items() -> None:
    """By hand: the item that the better of five runs fail has r = -1 with the rest; graded scores have Pearson's by its formula."""
    scores = {f"run{i}": {"a": float(i > 1), "b": float(i > 1), "bad": float(i <= 1), "all": 1.0} for i in range(FEWEST_RUNS + 1)}
    said = item_rest(scores, ["a", "b", "bad", "all"])
    assert said["bad"] == pytest.approx(-1)
    assert "all" not in said
    # a with (b + bad + all) / 3 does not vary: b and bad add up to 1.
    assert "a" not in said
    assert [len(item_rest(dict(list(scores.items())[:n]), ["bad"])) for n in (FEWEST_RUNS - 1, FEWEST_RUNS)] == [0, 1]
    import math

    values = [[0.1, 0.9, 0.4], [0.5, 0.2, 0.8], [1.0, 0.7, 0.1], [0.3, 0.3, 0.9], [0.8, 0.0, 0.2]]
    scores: dict[str, dict[str, float | None]] = {f"r{i}": dict(zip("xyz", row, strict=True)) for i, row in enumerate(values)}
    own, rest = [row[0] for row in values], [(row[1] + row[2]) / 2 for row in values]
    mean_own, mean_rest = sum(own) / 5, sum(rest) / 5
    top = sum((a - mean_own) * (b - mean_rest) for a, b in zip(own, rest, strict=True))
    bottom = math.sqrt(sum((a - mean_own) ** 2 for a in own) * sum((b - mean_rest) ** 2 for b in rest))
    assert item_rest(scores, ["x"])["x"] == pytest.approx(top / bottom)


def test_the_command_ranks_and_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each suspect comes with its reasons; hostile answers are printed as their escapes; `--json` holds the same list."""
    made = runs(tmp_path, {"capital": "Porto\x1b[2J"}, {"capital": "porto\x1b[2J", "total": "46"})
    assert main(["gold", "suspects", *map(str, made)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "2 of 2 submissions give the same answer, and gold calls it wrong" in out
    assert "of 4 instances to look at, from 2 submissions in 2 runs" in out
    assert main(["gold", "suspects", *map(str, made), "--json", "--isolation", "none"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["instance_id"] for one in said["suspects"]] == ["capital", "table", "total"]
    assert main(["gold", "suspects", str(made[0])]) == 2


@pytest.mark.parametrize(
    ("seeds", "trapped", "brier"),
    [((5,), 0.3, 0.02), *(pytest.param(range(6), *one, marks=pytest.mark.slow) for one in ((0.3, 0.02), (0.0, 0.015)))],
)
def test_wrong_golds_are_found_and_the_probability_is_calibrated(seeds: Sequence[int], trapped: float, brier: float) -> None:
    """In worlds with 10 wrong golds of 100: precision at 10, Brier score, and P(wrong) is what it says, popular errors or none."""
    precision, squares, all_of = [], [], []
    for seed in seeds:
        votes, wrong, _ = World(trapped=trapped).draw(seed)
        found = fit(votes).posteriors
        listed = sorted(found, key=lambda name: -found[name].p_wrong)[:10]
        precision.append(len(wrong & set(listed)) / 10)
        squares += [(one.p_wrong - (name in wrong)) ** 2 for name, one in found.items()]
        all_of += [(one.p_wrong, name in wrong) for name, one in found.items()]
    assert sum(precision) / len(seeds) >= 0.9, precision
    assert sum(squares) / len(squares) < brier
    for low, high in ((0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)):
        part = [(p, is_wrong) for p, is_wrong in all_of if low <= p < high]
        said, true = sum(p for p, _ in part) / len(part), sum(is_wrong for _, is_wrong in part) / len(part)
        assert abs(said - true) < (0.1 if len(part) > 40 else 0.25), (low, high, said, true)


def test_ranks_that_would_change_are_named() -> None:
    """A gold that seven of eight agree against is likely wrong, and mending it moves the one who agreed with it."""
    votes = {f"q{i}": {f"run{j}": GOLD if i % 8 != j else f"x{i}" for j in range(8)} for i in range(16)}
    votes |= {f"bad{n}": {f"run{j}": GOLD if j == 0 else "same" for j in range(8)} for n in range(2)}
    found = fit(votes).posteriors
    assert min(found[f"bad{n}"].p_wrong for n in range(2)) > 0.9
    assert found["bad0"].likeliest == "same"
    seen = outlook(votes, found)
    assert (seen.n_wrong, seen.submissions[0].run, seen.submissions[0].rank) == (2, "run0", 1)
    assert seen.submissions[0].expected_rank == 8
    assert seen.submissions[0].expected_score == pytest.approx(sum(one.right["run0"] for one in found.values()) / len(votes))
    assert "the 2 likeliest golds are" in seen.says
    assert "run0 and run1" in seen.says


def test_one_key_writes_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`gold review` asks instance by instance; w writes an entry that applies, r keeps that gold is right, s nothing, q ends."""
    made = runs(tmp_path, {"total": "47 pieces"}, {"total": "47.0", "capital": "Porto"}, {"total": "47", "capital": "porto"})
    monkeypatch.setattr("sys.stdin", io.StringIO("x\nw\nr\nq\n"))
    words = ["gold", "review", *map(str, made), "--author", "M. Rossi", "--evidence", "https://example.org/1", "--isolation", "none"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "1/" in out
    assert "1 entry written" in out
    assert main(["gold", "errata", str(tmp_path / "gold"), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["state"], entry["author"]) == ("applied", "M. Rossi")
    (right,) = reviewed_right(read_gold(tmp_path / "gold"))
    assert f"2/3  {right}" in out
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(words) == 0
    later = capsys.readouterr().out
    assert (f"  {entry['instance_id']}  " in later, f"  {right}  " in later, "of 1 instances" in later) == (False, False, True)
    assert main([*words[:-3], "nowhere", "--isolation", "none"]) == 2
    _spoiled_neither_by_another_review_nor_by_a_list(tmp_path / "gold" / "gold.errata.yaml", words, monkeypatch, capsys)


def _spoiled_neither_by_another_review_nor_by_a_list(
    file: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = file.read_text()
    file.unlink()

    class Late(io.StringIO):
        def readline(self, *_: object) -> str:
            file.write_text(written)
            return super().readline()

    for stdin, code, text, says in (
        (Late("w\nq\n"), 0, written, "another review has written it to"),
        (io.StringIO("w\nq\n"), 2, "[]\n", "its entries do not stand one after another"),
    ):
        monkeypatch.setattr("sys.stdin", stdin)
        file.write_text("[]\n")
        assert main(words) == code
        shown = capsys.readouterr()
        assert says in shown.out + shown.err
        assert file.read_text() == text


def test_each_record_of_a_file_is_looked_at_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file of 30 records and a plain question: the record whose gold is wrong stands first by its place, in words and as data."""
    monkeypatch.chdir(tmp_path)
    records = [{"id": f"r{i}", "total": i} for i in range(30)]
    specs = [
        {"instance_id": "inv", "evaluation": {"func": "tree_match", "parameters": {"gold": "r.jsonl", "id_field": "id"}}},
        {"instance_id": "q", "evaluation": {"func": "string_match", "parameters": {"gold": ["y"]}}},
    ]
    Path("gold/inv").mkdir(parents=True)
    Path("gold/inv/r.jsonl").write_text("\n".join(map(json.dumps, records)))
    Path("gold/x_eval.jsonl").write_text("\n".join(map(json.dumps, specs)))
    for run in range(FEWEST_RUNS):
        # Gold's 8th record is wrong for all, another one for each alone; the first run invents a record.
        own = [record | ({"total": -1} if i == 7 else {"total": -2 - run} if i == 10 + run else {}) for i, record in enumerate(records)]
        Path(f"s{run}/inv").mkdir(parents=True)
        Path(f"s{run}/inv/r.jsonl").write_text("\n".join(map(json.dumps, own + [{"id": "new", "total": 0}] * (run == 0))))
        rows = [
            {"instance_id": "inv", "answer_type": "file", "answer_or_path": "r.jsonl"},
            {"instance_id": "q", "answer_type": "answer", "answer_or_path": "y"},
        ]
        Path(f"s{run}/results_metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
        assert main(["run", f"s{run}", "--gold", "gold", "--out", f"runs/{run}", "--quiet", "--isolation", "none"]) == 0
    asked = ["gold", "suspects", *(f"runs/{run}" for run in range(FEWEST_RUNS)), "--isolation", "none"]
    capsys.readouterr()
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_instances"], found["n_units"]) == (2, 31)
    first, *others = found["suspects"]
    assert (first["instance_id"], first["n_right"], first["n_voices"]) == ("inv#8", 0, FEWEST_RUNS)
    assert all(one["p_wrong"] < first["p_wrong"] for one in others)
    assert main(asked) == 0
    assert "31 records in 2 instances to look at" in capsys.readouterr().out
    whole = suspects([one_run(f"runs/{run}") for run in range(FEWEST_RUNS)], isolation="none", records=False)
    assert [one.instance_id for one in whole.suspects] == ["inv"]


@dataclass
class Measured:
    """Of some draws of a world: precision at 10 and Brier score of the oracle and of the model, and (P(wrong), whether it is)."""

    precision: tuple[float, float]
    brier: tuple[float, float]
    said: list[tuple[float, bool]] = field(default_factory=list)


def measured(name: str, seeds: Iterable[int]) -> Measured:
    """The means over these draws of a world."""
    precision, squares, said = ([0.0], [0.0]), ([0.0], [0.0]), []
    for seed in seeds:
        votes, wrong, abilities = WORLDS[name].draw(seed)
        model = {item: one.p_wrong for item, one in fit(votes).posteriors.items()}
        for at, found in enumerate((WORLDS[name].oracle(votes, abilities), model)):
            listed = sorted(found, key=lambda item: -found[item])[:N_WRONG]
            precision[at].append(len(wrong & set(listed)) / N_WRONG)
            squares[at].extend((p - (item in wrong)) ** 2 for item, p in found.items())
        said += [(p, item in wrong) for item, p in model.items()]
    means = [tuple(sum(of) / (len(of) - 1) for of in both) for both in (precision, squares)]
    return Measured((means[0][0], means[0][1]), (means[1][0], means[1][1]), said)


def off_by(said: list[tuple[float, bool]], edges: tuple[float, ...] = (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)) -> float:
    """How far at most the mean of P(wrong) in a part of the scale is from the share that is wrong; parts of 50 instances and more."""
    parts = ([one for one in said if low <= one[0] < high] for low, high in pairwise(edges))
    return max(abs(sum(p for p, _ in part) - sum(wrong for _, wrong in part)) / len(part) for part in parts if len(part) >= 50)


@pytest.mark.slow
def test_no_world_is_read_worse_than_an_oracle_would() -> None:
    """In nine kinds of worlds, 40 draws each: 9 of the first 10 are wrong golds, or as many as the oracle's first 10 hold.

    The oracle knows the abilities, the spread of difficulties, how wrong answers agree, who copies whom and how often gold is wrong, and
    ranks by the exact probability: its precision is what the votes can give. Where that is below 0.9 (three wrong answers 0.88, wide
    difficulties 0.81, weak submissions 0.78) no model reaches 0.9; there, what is lost by not knowing the parameters is at most 0.04.
    """
    said = []
    for name in WORLDS:
        found = measured(name, range(40))
        assert found.precision[1] >= min(0.9, found.precision[0] - 0.04), (name, found.precision)
        assert found.brier[1] <= found.brier[0] + 0.015, (name, found.brier)
        said += found.said
    assert off_by(said) < 0.1


@pytest.mark.parametrize(
    ("name", "n_draws"), [("weak", 1), *(pytest.param(name, 3, marks=pytest.mark.slow) for name in ("plain", "two copy", "weak"))]
)
def test_the_list_is_as_good_as_the_votes_allow(name: str, n_draws: int) -> None:
    """A short version: a few draws of three worlds, one where the oracle itself finds fewer than 9 of 10."""
    found = measured(name, range(n_draws))
    assert found.precision[1] >= min(0.9, found.precision[0] - 0.07), found.precision
    assert found.brier[1] <= found.brier[0] + 0.02, found.brier


def test_copies_count_as_less_than_two() -> None:
    """Who copies is found with about the share that is copied, and nobody else; three that copy a fourth are one voice, not the truth."""
    votes, _, _ = WORLDS["two copy"].draw(0)
    copies = fit(votes).copies
    assert {frozenset(pair) for pair in copies} == {frozenset(("run2", "run0")), frozenset(("run5", "run4"))}
    assert all(0.6 < share < 0.95 for share in copies.values())
    assert not fit(WORLDS["three wrong answers"].draw(0)[0]).copies
    assert [round(exp(log_odds_needed(n))) for n in (2, 6, 7, 8)] == [20, 20, 21, 28]
    world = World(copies=((1, 0), (2, 0), (3, 0)), copied=0.9)
    votes, wrong, _ = world.draw(1)
    found = fit(votes)
    assert {name for pair in found.copies for name in pair} == {f"run{j}" for j in range(4)}
    assert wrong == set(sorted(votes, key=lambda item: -found.posteriors[item].p_wrong)[:N_WRONG])


def test_a_check_changes_one_verdict_at_least() -> None:
    """Where no answer is gold's or the likeliest one, a check counts as if one verdict changed."""
    wrong = Posterior(0.5, "b", {})
    assert [value_of_review(votes, wrong) for votes in ({"x": "a"}, {"x": "a", "y": "b"}, {"x": "b", "y": GOLD})] == [0.5, 0.25, 0.5]


def test_two_halves_that_agree_leave_gold_open() -> None:
    """Where many wrong golds explain the votes of two halves a little better than copies do, no right gold is called wrong for certain."""
    copies = ((1, 0), (2, 0), (3, 0), (5, 4), (6, 4), (7, 4))
    votes, wrong, _ = World(copies=copies, copied=0.9).draw(5)
    found = fit(votes)
    few, many = found.n_wrong or (0, 0)
    assert 0 < few <= N_WRONG < many
    assert f"{few} wrong golds and more copied answers, or {many} and fewer" in list(_notes_of_fit(found))[-1]
    assert max(found.posteriors[item].p_wrong for item in votes if item not in wrong) < 0.7
    assert max(found.posteriors[item].p_wrong for item in wrong) > 0.9


def fitted(row: dict[str, Any]) -> dict[str, Any]:
    """What is said of the first instances of a drawn world: words apart from numbers."""
    world = World(**{**row["world"], "copies": tuple(map(tuple, row["world"].get("copies", ())))})
    drawn = list(world.draw(row["seed"])[0].items())[: row["n"]]
    # Not every submission answers every instance.
    votes = {name: {run: vote for run, vote in own.items() if (int(name[1:]) + int(run[3:])) % 9} for name, own in drawn}
    found = fit(votes)
    seen = outlook(votes, found.posteriors)
    numbers = [number for one in found.posteriors.values() for number in (one.p_wrong, *one.right.values())] + [*found.copies.values()]
    numbers += [value_of_review(votes[name], one) for name, one in found.posteriors.items()]
    numbers += [number for one in seen.submissions for number in (one.score, one.expected_score)]
    ranks = [f"{one.run} {one.rank} {one.expected_rank}" for one in seen.submissions]
    likeliest = " ".join(one.likeliest or "-" for one in found.posteriors.values())
    words = [likeliest, *map(str, found.copies), str(found.n_wrong), *_notes_of_fit(found), *ranks, f"{seen.n_wrong} {seen.says}"]
    return {"numbers": numbers, "words": words}


@pytest.mark.parametrize("at", range(4))
def test_the_fit_is_the_recorded_one(at: int) -> None:
    """Each probability, share of copies, value of a check and expected rank, to five digits."""
    row = json.loads((ROOT / "tests/data/values/posteriors.jsonl").read_text(encoding="utf-8").splitlines()[at])
    found = fitted(row)
    assert found["words"] == row["words"]
    assert found["numbers"] == pytest.approx(row["numbers"], rel=1e-5, abs=1e-9)
