"""Scores and differences that people would give, by their labels of a part: in reports of runs, and in comparisons."""

import json
import random
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.core.types import Result
from evalsuite.runs.corrected_scores import human_difference, human_score, keep_labels, labels_of, read_label_texts, write_labels
from evalsuite.runs.run_folder import labels_path
from tests.analysis.leaderboard import made
from tests.cli.test_run import as_json, said, text_gold, text_submission
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")
N_WORLDS = [60, pytest.param(200, marks=pytest.mark.slow)]


def _result(name: str, score: float | None, status: str = "scored") -> Result:
    return made.result(name, score, status=status)


def _world(rng: random.Random, share: float, n: int = 500, error: float = 0.15) -> tuple[list[Result], list[float]]:
    """n answers of which that share is right, and what a judge says who is wrong in `error` of them."""
    truth = [float(rng.random() < share) for _ in range(n)]
    return [_result(f"q{at}", 1 - t if rng.random() < error else t) for at, t in enumerate(truth)], truth


@pytest.mark.parametrize("n_worlds", N_WORLDS)
def test_the_score_by_people_covers_what_they_would_say_of_all(n_worlds: int) -> None:
    """A judge who is wrong in 15 % and 100 labels: the interval has the truth in 95 % of the worlds, the judge's own mean is far off."""
    rng, covered, apart = random.Random(7), 0, 0.0
    for _ in range(n_worlds):
        judged, truth = _world(rng, 0.85)
        estimate = human_score(judged, {f"q{at}": truth[at] for at in rng.sample(range(500), 100)})
        assert estimate is not None
        assert (estimate.n, estimate.n_others) == (100, 400)
        covered += estimate.low <= 0.85 <= estimate.high
        apart += abs(estimate.plain - 0.85) / n_worlds
    assert covered >= 0.93 * n_worlds
    assert apart > 0.08


@pytest.mark.parametrize("n_worlds", N_WORLDS)
def test_the_difference_by_people_covers_the_true_one(n_worlds: int) -> None:
    """Two runs, a judge who takes a fifth of the wrong answers of one for right: paired labels find the true difference."""
    rng, covered = random.Random(8), 0
    for _ in range(n_worlds):
        a, truth_a = _world(rng, 0.6, error=0.1)
        truth_b = [max(t, float(rng.random() < 0.3)) for t in truth_a]
        b = [_result(f"q{at}", t or float(rng.random() < 0.2)) for at, t in enumerate(truth_b)]
        places = rng.sample(range(500), 100)
        labels = tuple({f"q{at}": truth[at] for at in places} for truth in (truth_a, truth_b))
        estimate = human_difference(list(zip(a, b, strict=True)), lambda result: result.score, (labels[0], labels[1]))
        assert estimate is not None
        covered += estimate.low <= 0.4 * 0.3 <= estimate.high
    assert covered >= 0.93 * n_worlds


def test_what_was_not_handed_in_is_0_to_people_too() -> None:
    """Missing answers need no label, and what nobody judged is in neither mean."""
    results = [_result("a", 1), _result("b", 0), _result("c", 1), _result("d", 0.0, "missing"), _result("e", None, "unscored")]
    estimate = human_score(results, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0})
    assert estimate is not None
    assert (estimate.plain, estimate.estimate, estimate.n) == (0.5, 0.75, 3)
    assert human_score(results, {"a": 1.0}) is None


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_how_many_are_missing_is_uncertain_too(share: float) -> None:
    """Answers that are right wherever there is one: the true mean is the share of answers, and so are both differences to wrong ones."""
    rng, held, n_worlds = random.Random(9), [0, 0, 0], 100
    for _ in range(n_worlds):
        status = {f"q{at}": "scored" if rng.random() < share else "missing" for at in range(40)}
        right, wrong = ([_result(name, score * (given == "scored"), given) for name, given in status.items()] for score in (1.0, 0.0))
        ones, zeros = dict.fromkeys(status, 1.0), dict.fromkeys(status, 0.0)
        up, down = list(zip(wrong, right, strict=True)), list(zip(right, wrong, strict=True))
        estimates = (
            human_score(right, ones),
            human_difference(up, lambda result: result.score, (zeros, ones)),
            human_difference(down, lambda result: result.score, (ones, zeros)),
        )
        for at, (estimate, truth) in enumerate(zip(estimates, (share, share, -share), strict=True)):
            assert estimate is not None
            held[at] += estimate.low <= truth <= estimate.high
    assert min(held) >= 0.93 * n_worlds


def test_clusters_widen_what_people_say() -> None:
    """Answers of a cluster that are alike count as about one: of scores and of differences. Clusters that name only some are none."""
    results = [_result(f"q{at}", float(at % 4 < 2)) for at in range(80)]
    pairs = [(result, _result(result.instance_id, 1.0)) for result in results]
    labels, clusters = {f"q{at}": float(at % 4 < 2) for at in range(40)}, {f"q{at}": f"c{at % 4}" for at in range(80)}
    ones = dict.fromkeys(labels, 1.0)
    for clustered, plain, some in (
        [human_score(results, labels, named) for named in (clusters, None, {"q0": "c0"})],
        [human_difference(pairs, lambda result: result.score, (labels, ones), named) for named in (clusters, None, {"q0": "c0"})],
    ):
        assert clustered is not None
        assert plain is not None
        assert (clustered.estimate, some) == (plain.estimate, plain)
        assert clustered.high - clustered.low > 2 * (plain.high - plain.low)


def make(folder: Path) -> None:
    """Two saved runs of twelve texts, `a` and `b`, and labels of eight answers of each."""
    lines = [f"q{n},x{n}\n" for n in range(12)]
    (folder / "q.csv").write_text("input,reference_output\n" + "".join(lines))
    for name, n_right in (("a", 6), ("b", 10)):
        (folder / f"{name}.csv").write_text("candidate_output\n" + "".join(f"{'x' if n < n_right else 'y'}{n}\n" for n in range(12)))
        labels = "".join(f"case_{n + 1:02},{'right' if n < n_right - 1 else 'wrong'}\n" for n in range(0, 12, 2))
        (folder / f"{name}_people.csv").write_text(f"instance_id,label\n{labels}")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "exact_match"]) == 0
    assert main(["suite", "run", "s", "--from", "a.csv", "--from", "b.csv"]) == 0


runs = copy_of(make)


def test_reports_and_comparisons_show_what_people_say(runs: Path) -> None:
    """By `--labels`, or by the file beside the run, in every form; a file that says nothing of the run is refused."""
    (folder,) = (runs / ".evalsuite/runs").glob("*-a")
    assert "by people" not in said("report", "a")
    written = [word for name in ("r.html", "r.md", "r.json") for word in ("-o", name)]
    assert main(["report", "a", "--labels", "a_people.csv", *written]) == 0
    assert "by people" in (shown := said("report", "a", "--labels", "a_people.csv"))
    assert "by 6 labels and 6 without; uncorrected 50.0 %" in shown
    assert all("by 6 labels and 6 without" in Path(name).read_text() for name in ("r.html", "r.md"))
    assert json.loads(Path("r.json").read_text())["people"]["n"] == 6
    folder.with_name(f"{folder.name}.labels.csv").write_text(Path("a_people.csv").read_text())
    assert "by 6 labels" in said("report", "a")
    people = as_json("compare", "a", "b", "--labels", "a_people.csv", "--labels", "b_people.csv")["candidates"][0]["people"]
    assert people["n"] == 6
    assert people["plain"] == pytest.approx(4 / 12)
    assert people["low"] < people["estimate"] < people["high"]
    for wrong in ("--labels a_people.csv", "--labels q.csv --labels q.csv"):
        assert main(["compare", "a", "b", *wrong.split()]) == 2
    Path("other.csv").write_text("instance_id,label\nnobody,1\n")
    assert main(["report", "a", "--labels", "other.csv"]) == 2
    Path("of_five.csv").write_text("instance_id,label\ncase_01,1\ncase_02,4\n")
    agree = ["runs", "agree", "a", "of_five.csv"]
    for command in (["report", "a", "--labels", "of_five.csv"], agree, [*agree, "--threshold", "3"]):
        assert "of_five.csv:3: the label 4 is not from 0 to 1, as scores are" in said(*command, code=2)


def test_run_keeps_its_labels_for_later_reports(runs: Path) -> None:
    """`run --labels` shows the score by people and puts the labels where report, compare and viewer look for them."""
    submission, gold = runs / ".evalsuite/suites/s/submissions/a", runs / ".evalsuite/suites/s/gold"
    assert "by 6 labels" in said("run", str(submission), "--gold", str(gold), "--out", "here", "--labels", "a_people.csv")
    assert "by 6 labels" in said("report", "here")
    assert main(["run", str(submission), "--gold", str(gold), "--labels", "nowhere.csv"]) == 2


def test_labels_that_stand_there_stay(tmp_path: Path) -> None:
    """What the viewer wrote of other instances is kept, notes without a label too, and a blank cell takes nothing back."""
    beside, given = labels_path(tmp_path / "run"), tmp_path / "people.csv"
    write_labels(beside, {"a": ("1", ""), "b": ("", "look again"), "c": ("0.5", "half"), "d": ("", "")})
    given.write_text("id,verdict\na,wrong\nc,\ne,right\n", encoding="utf-8")
    keep_labels(given, tmp_path / "run")
    assert read_label_texts(beside) == {"a": ("0", ""), "b": ("", "look again"), "c": ("0.5", "half"), "e": ("1", "")}


def test_labels_that_cannot_be_read_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken file of labels beside a run costs the score by people alone, and the report says which file and line it is."""
    monkeypatch.chdir(tmp_path)
    gold, submission = text_gold(tmp_path / "gold", a="Paris", b="Rome"), text_submission(tmp_path / "sub", a="Paris", b="Bern")
    folder = tmp_path / "run"
    assert main(["run", str(submission), "--gold", str(gold), "--out", str(folder), "--quiet"]) == 0
    labels_path(folder).write_text("instance_id,label\na,1\na,0\n")
    (tmp_path / "right.csv").write_text("instance_id,label\na,1\nb,0\n")
    shown = " ".join(said("report", str(folder)).split())
    assert shown.count("the labels beside the run are not used") == 1
    assert "run.labels.csv:3: 'a' stands twice (one row for each instance, a file for each person)" in shown
    (told,) = as_json("compare", str(folder), str(submission))["warnings"]
    assert told.startswith("run: the labels beside the run are not used: ")
    assert told.endswith("run.labels.csv:3: 'a' stands twice (one row for each instance, a file for each person)")
    for words in (["--reveal", "none"], ["--reveal", "class"]):
        shown = said("compare", str(folder), str(submission), *words)
        assert "run: the labels beside the run are not used\n" in shown
        assert "twice" not in shown
    given = [word for _ in range(2) for word in ("--labels", str(tmp_path / "right.csv"))]
    assert "not used" not in said("compare", str(folder), str(submission), *given)


def test_a_label_that_is_no_number_is_named_by_its_line(tmp_path: Path) -> None:
    """Of many the one that is at fault, not the first."""
    (tmp_path / "x.csv").write_text("instance_id,label,reason\na,1,\nb,right,\nc,,\nd,perhaps,unsure\n")
    with pytest.raises(UsageError, match=r"x\.csv:5: the label 'perhaps' is no number"):
        labels_of(tmp_path / "x.csv")
