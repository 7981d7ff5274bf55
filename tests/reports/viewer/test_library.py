"""The viewer reads our folders, folders of runs, single runs and Bench folders, and lists what is unreadable."""

import json
import re
from pathlib import Path

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.reports.viewer import views
from evalsuite.reports.viewer.library import Library, open_library
from evalsuite.runs.history import find_runs
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.reports.viewer.served import bench_folder, gold, submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def names(library: Library) -> dict[str, int]:
    """Suite name -> its number of runs."""
    return {suite.name: len(suite.runs) for suite in library.suites()}


def test_every_way_to_name_our_own_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project, its `.evalsuite`, and no folder at all show the same."""
    monkeypatch.chdir(project)
    for folder in (None, project, project / ".evalsuite"):
        assert names(open_library(folder, {})) == {"capitals": 3, "untried": 0, "demo": 3}


def test_a_folder_of_runs_and_a_single_run(project: Path) -> None:
    """Runs without the suites beside them are grouped by the suite they were made for."""
    runs = project / ".evalsuite" / "runs"
    assert names(open_library(runs, {})) == {"capitals": 3, "demo": 3}
    assert names(open_library(find_runs(runs)[0].folder, {})) == {"demo": 1}


def test_an_empty_place_and_one_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing yet is no error; a folder that was named and is not there is one."""
    monkeypatch.chdir(tmp_path)
    assert names(open_library(None, {})) == {}
    with pytest.raises(UsageError, match="no such folder"):
        open_library(tmp_path / "gone", {})
    with pytest.raises(UsageError, match="BENCH_FILE_DIR"):
        open_library(None, {"BENCH_FILE_DIR": str(tmp_path / "gone")})


def test_a_verdict_that_bench_did_not_have_is_never_averaged(tmp_path: Path) -> None:
    """-1 is no number, the raw values of an unbounded metric are, and negative ones stand in a bar too."""
    library = open_library(bench_folder(tmp_path), {})
    by_name = {run.name: run for suite in library.suites() for run in suite.runs}
    assert by_name["one"].average() == 0.75
    two = views.summary_item(by_name["two"])
    plain = views.summary_item(by_name["plain"])
    assert (two["n_unjudged"], two["mean_judged"]) == (1, pytest.approx(1 / 3))
    assert plain["avg_score"] == pytest.approx((44.4 + 91.2 - 3.0 + 64.4) / 4)
    assert sum(bar["count"] for bar in plain["histogram"]) == 4
    assert (plain["histogram"][0]["low"], plain["histogram"][-1]["high"]) == (-3.0, 91.2)


def test_the_bench_folder_of_the_environment_stands_beside_our_own(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BENCH_FILE_DIR is honoured, and `bench_runs` is found where it is usual."""
    monkeypatch.chdir(project)
    bench_folder(tmp_path / "elsewhere")
    assert set(names(open_library(None, {"BENCH_FILE_DIR": str(tmp_path / "elsewhere")}))) == {
        "capitals", "untried", "demo", "prose", "typos",
    }  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "bench_runs")
    assert set(names(open_library(None, {}))) == {"capitals", "prose", "typos"}


def test_a_new_run_is_seen_at_once_and_a_broken_one_passed_over(tmp_path: Path) -> None:
    """The library is asked anew each time; a `run.json` that is none does no harm."""
    runs = tmp_path / ".evalsuite" / "runs"
    library = open_library(tmp_path, {}) if runs.exists() else None
    gold(tmp_path / "gold")
    handed_in = submission(tmp_path / "s", text="Paris", number="42", people="700")
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1))
    library = open_library(tmp_path, {})
    assert names(library) == {"demo": 1}
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=runs, isolation="none", jobs=1))
    for number, text in enumerate(("{", "[]", "{}", '{"gold": 1, "summary": 2}', '{"gold": {}, "summary": {}, "options": {}}')):
        (runs / f"broken-{number}").mkdir()
        (runs / f"broken-{number}" / "run.json").write_text(text)
    assert names(library) == {"demo": 2}


def test_hidden_gold_stays_hidden(tmp_path: Path) -> None:
    """No reference, parameter or reason with gold in it leaves by any answer."""
    gold(tmp_path / "gold", hidden=True)
    handed_in = submission(tmp_path / "s", text="Lyon", number="41", people="701")
    run(handed_in, tmp_path / "gold", RunOptions(runs_folder=tmp_path / ".evalsuite" / "runs", isolation="none", jobs=1))
    (suite,) = open_library(tmp_path, {}).suites()
    (shown,) = suite.runs
    record = shown.record()
    cases = views.case_by_id(suite)
    said = [views.result_object(result, cases[result.instance_id], (), hidden=suite.hidden) for result in record.results]
    said += [views.case_object(case, hidden=suite.hidden) for case in cases.values()]
    said.append(views.record_object(shown, record))
    text = json.dumps(said)
    assert suite.hidden
    # Digests and times contain any three digits.
    assert not re.search(r"""Paris|'42'|"42"|gold 42|(?<![0-9a-f.])700(?![0-9a-f.])""", text)
