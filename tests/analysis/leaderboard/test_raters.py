"""The agreement of two raters, read from runs and from files of labels."""

from pathlib import Path

import pytest

from evalsuite.analysis.leaderboard.reliability import agree, rater_of_run
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import UsageError
from evalsuite.runs.corrected_scores import Rater, read_labels
from evalsuite.runs.history import one_run
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.stats.intervals import wilson_interval

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def rater(name: str, *labels: float | str) -> Rater:
    """A rater with labels for the instances 0, 1, 2 ..."""
    return Rater(name=name, labels={str(i): label for i, label in enumerate(labels)}, reasons={"0": f"{name} says so"})


def labels_file(folder: Path, text: str) -> Path:
    """A CSV file with that text."""
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_coefficients_of_a_known_table() -> None:
    """The textbook table 20, 5, 10, 15 has raw agreement 0.7 and kappa 0.4 (Wikipedia, Cohen's kappa)."""
    a = rater("a", *[1.0] * 25, *[0.0] * 25)
    b = rater("b", *[1.0] * 20, *[0.0] * 5, *[1.0] * 10, *[0.0] * 15)
    found = agree(a, b)
    assert found.observed == 0.7
    assert [c.method for c in found.coefficients] == ["Cohen's kappa", "Krippendorff's alpha (nominal)"]
    assert found.coefficients[0].value == pytest.approx(0.4)
    assert found.confusion is not None
    assert found.confusion.counts == ((15, 10), (5, 20))
    assert len(found.disagreements) == 15
    assert 0.56 < found.interval[0] < 0.7 < found.interval[1] < 0.82


def test_clusters_of_a_run_are_independent_and_not_its_instances() -> None:
    """The interval of the agreement and that of the corrected mean are wider over clusters that agree or err as a whole."""
    judge, people = (rater(name, *[1.0] * 60, *[0.0] * 20) for name in ("judge", "people"))
    people = replace(
        people, labels={name: 1 - label if int(name) < 20 else label for name, label in people.labels.items() if int(name) % 2}
    )
    clustered = replace(judge, clusters={name: f"c{int(name) // 10}" for name in judge.labels})
    apart, together = agree(judge, people), agree(people, clustered)
    assert apart.interval == wilson_interval(30, 40)
    assert together.interval[0] < apart.interval[0] < apart.interval[1] < together.interval[1]
    assert apart.corrected is not None
    assert together.corrected is not None
    assert together.corrected.estimate == apart.corrected.estimate
    assert together.corrected.high - together.corrected.low > 1.5 * (apart.corrected.high - apart.corrected.low)
    part = replace(judge, clusters=dict.fromkeys(list(judge.labels)[:-1], "c"))
    assert agree(part, people).interval == apart.interval


def test_text_and_numbers_are_not_compared() -> None:
    """Labels on two scales are an error that names a label."""
    with pytest.raises(UsageError, match="good"):
        agree(rater("a", "good", "bad"), rater("b", 1.0, 0.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instance_id,label\nq1,1\nq1,0\n", "labels.csv:3: 'q1' stands twice"),
        ("instance_id,label\n,1\n", "labels.csv:2: no instance_id"),
        ("question,label\nq1,1\n", "no column 'instance_id'"),
        ("instance_id,mark\nq1,1\n", "no column 'label'"),
        ("", "no column"),
    ],
)
def test_bad_label_files(tmp_path: Path, text: str, message: str) -> None:
    """A file that cannot be meant says so with its line."""
    with pytest.raises(UsageError) as caught:
        read_labels(labels_file(tmp_path, text))
    assert message in caught.value.message


@pytest.mark.parametrize(("n", "n_differ"), [(10, 2), pytest.param(40, 13, marks=pytest.mark.slow)])
def test_two_runs_of_the_example(n: int, n_differ: int, tmp_path: Path, example: tuple[Path, Path]) -> None:
    """Official against strict on the project's example: the flips are the disagreements, and nothing unjudged counts."""
    for rules in ("official", "strict"):
        run(*example, RunOptions(rules=rules, out=tmp_path / rules, jobs=1))  # type: ignore[arg-type]
    official, strict = (rater_of_run(one_run(rules, tmp_path)) for rules in ("official", "strict"))
    found = agree(official, strict)
    assert found.n + sum(found.left_out.values()) == n
    assert found.n - found.n_equal == len(found.disagreements) == n_differ
    assert all(one.reasons[0] != one.reasons[1] for one in found.disagreements)
