"""Many units stand in Parquet beside the lines, and everybody who reads a run gets them back, or is told that they are gone."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.core.errors import OutputError
from evalsuite.runs import run_files
from evalsuite.runs.history import one_run, remove_run
from evalsuite.runs.run_files import UNITS, Row, move_units, seal, units_digest, whole_units
from evalsuite.stats.units import unit_details
from tests.analysis.leaderboard.made import result
from tests.conftest import copy_of
from tests.properties import examples, is_full
from tests.runs.made import write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

scores = st.none() | st.sampled_from([0.0, 1.0, 0.1, 2 / 3]) | st.floats(0, 1)


def test_official_scores_of_nothing_judged_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that strict rules judged and official ones did not are no units without official scores."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = result("q", 0.5, details=unit_details([None, 1.0, 0.0], official=[None, None, None]))
    (whole,) = whole_units(tmp_path, list(move_units(tmp_path, [row])))
    assert whole.details == row.details
    assert json.dumps(whole.details["units"]["scores"]) == "[null, 1, 0]"


@pytest.mark.parametrize("units", [["a", "b", "c"], [True, False, True], [1.0, "b", 0.0]])
def test_lists_of_other_values_stay(units: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin may write into its details what it wants: only numbers are units."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = result("q", 0.5, details={"units": units})
    assert list(move_units(tmp_path, [row])) == [row]
    assert not (tmp_path / UNITS).exists()


@given(st.data())
@examples(24 if is_full() else 4)
def test_what_was_set_apart_comes_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Scores, official ones, fields and bare lists, absent values among them: the details are as they were."""
    folder = tmp_path_factory.mktemp("run")
    n = data.draw(st.integers(3, 9))

    def column() -> list[float | None]:
        return data.draw(st.lists(scores, min_size=n, max_size=n))

    details = [
        unit_details(column(), official=column(), fields={"a.b": column(), "c'[]": column()}),
        {"units": column(), "raw": 3},
        unit_details(column()),
        {},
    ]
    given_ = [result(f"q'{i}", 0.5, details=one) for i, one in enumerate(details)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_files, "MOST_IN_LINE", 2)
        apart = list(move_units(folder, given_))
    assert [one.details.get("units", {}).keys() for one in apart[:3]] == [{"n", "file", "sha256"}] * 3
    assert [one.details for one in whole_units(folder, apart)] == details
    assert {path.name for path in folder.iterdir()} == {UNITS}


def make(folder: Path) -> None:
    """Runs of 30 records with at most ten units in a line: `b` has every fifth vendor wrong; `whole` is b with all in its line."""
    records = [{"id": f"r{i}", "vendor": f"V{i % 7}", "total": i} for i in range(30)]
    for where in ("gold/inv", "a/inv", "b/inv"):
        Path(where).mkdir(parents=True)
        wrong = [record | {"vendor": "?"} if where[0] == "b" and i % 5 == 0 else record for i, record in enumerate(records)]
        Path(where, "r.jsonl").write_text("\n".join(map(json.dumps, wrong)))
    for side in "ab":
        write_sides(Path(side), Path("gold"), {"inv": ("tree_match", {"gold": "r.jsonl"}, Path("r.jsonl"))})
    for name, most in (("whole", 100), ("a", 10), ("b", 10)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_files, "MOST_IN_LINE", most)
            side = "b" if name == "whole" else name
            assert main(["run", side, "--gold", "gold", "--out", f"runs/{name}", "-q", "--isolation", "none"]) == 0


place = copy_of(make)


@pytest.fixture
def runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a copy of these runs."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 10)
    return place / "runs"


def test_every_reader_of_a_run_has_them(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """compare, leaderboard, rescore and verify say of such a run what they say of one with whole lines."""
    assert (runs / "b" / UNITS).is_file()
    found = []
    for name in ("b", "whole"):
        capsys.readouterr()
        assert main(["compare", "runs/a", f"runs/{name}", "--json"]) == 0
        candidate = json.loads(capsys.readouterr().out)["candidates"][0]
        found.append((candidate["total"] | {"name": ""}, candidate["fields"]))
        assert main(["leaderboard", "runs/a", f"runs/{name}", "--gold", "gold", "--json"]) == 0
        board = json.loads(capsys.readouterr().out)
        found[-1] += (board["n_units"], [row["interval"] for row in board["rows"]])
    assert found[0] == found[1]
    assert found[0][0]["n"] == 30
    assert main(["verify", "runs/b", "--isolation", "none"]) == 0
    assert main(["rescore", "runs/b", "--isolation", "none"]) == 0
    assert "0 of 1 verdicts changed" in capsys.readouterr().out
    remove_run(one_run("b", runs))
    assert not (runs / "b").exists()


def no_parsing(*_: object) -> Iterator[Row]:
    """What stands in for the parsing of units in this process."""
    raise AssertionError("parsed in this process")


def test_bytes_that_the_seal_does_not_know_are_not_parsed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run.json` holds the digest of the file: one byte more, and no parser sees it. Runs of earlier versions have none."""
    file = runs / "b" / UNITS
    assert json.loads((runs / "b" / "run.json").read_text())["digests"]["units"] == hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(run_files, "_columns_in", no_parsing)
    with pytest.raises(AssertionError, match="in this process"):
        one_run("b", runs).results()
    with file.open("ab") as more:
        more.write(b"x")
    with pytest.raises(OutputError, match="not what the run wrote"):
        one_run("b", runs).results()
    said = json.loads((runs / "b" / "run.json").read_text())
    (runs / "b" / "run.json").write_text(json.dumps({key: said[key] for key in said if key != "digests"}))
    with pytest.raises(AssertionError, match="in this process"):
        one_run("b", runs).results()


def test_units_of_others_are_parsed_in_a_worker(runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """verify and `leaderboard --receipts` read them behind walls; a file that is no Parquet but well sealed is told by its name."""
    monkeypatch.setattr(run_files, "_columns_in", no_parsing)
    assert main(["verify", "runs/b"]) == 0, capsys.readouterr()
    assert main(["leaderboard", "runs/b", "--receipts", "--gold", "gold", "--no-cache"]) == 0, capsys.readouterr()
    (runs / "b" / UNITS).write_bytes(b"PAR1" + b"\xff" * 99)
    said = json.loads((runs / "b" / "run.json").read_text())
    (runs / "b" / "run.json").write_text(seal(said, (runs / "b" / "results.jsonl").read_text(), units=units_digest(runs / "b")))
    capsys.readouterr()
    assert main(["verify", "runs/b"]) == 1
    assert "units.parquet" in capsys.readouterr().out


def test_the_digest_of_units_is_that_of_their_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SHA-256 of the object with sorted keys and numbers as floats, computed here; other units are refused, as is no file."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = result("q", 0.5, details=unit_details([1.0, None, 0.25], official=[0.0, None, 0.25], fields={"a": [1.0, 0.5, None]}))
    (apart,) = move_units(tmp_path, [row])
    plain = {"fields": {"a": [1.0, 0.5, None]}, "n": 3, "official": [0.0, None, 0.25], "scores": [1.0, None, 0.25]}
    assert apart.details["units"]["sha256"] == hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    other = result("q", 0.5, details=unit_details([1.0, None, 0.5], official=[0.0, None, 0.25], fields={"a": [1.0, 0.5, None]}))
    (tmp_path / "other").mkdir()
    (wrong,) = move_units(tmp_path / "other", [other])
    for folder, line in ((tmp_path, wrong), (tmp_path / "other", apart), (tmp_path / "nowhere", apart)):
        with pytest.raises(OutputError, match="the units of 'q' are not what the run wrote"):
            list(whole_units(folder, [line]))
