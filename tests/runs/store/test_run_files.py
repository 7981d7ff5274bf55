"""Files of a run: what is read is what was written, from a file or a worker; many units in Parquet; the root of RFC 6962 over all."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.compare.characters import MOST_MARKS
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import MachineError, OutputError, UsageError, reading_error
from evalsuite.core.types import Fault, Result
from evalsuite.runs import run_files, scoring
from evalsuite.runs.history import one_run, remove_run
from evalsuite.runs.run_files import (
    SCHEMA_VERSION,
    UNITS,
    Row,
    is_intact,
    json_safe,
    move_units,
    read_results,
    result_of,
    result_of_worker,
    seal,
    seal_of,
    units_digest,
    whole_line,
    whole_units,
    why_no_run,
    write_atomically,
)
from evalsuite.runs.run_folder import root_of, tree_root
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.stats.units import unit_details
from tests.analysis.leaderboard import made
from tests.cli.test_run import as_json, said
from tests.conftest import copy_of
from tests.properties import LETTERS, examples, is_full
from tests.runs.made import write_file, write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")

# With half of a surrogate pair, as a path in JSON may hold it.
texts = st.text(LETTERS | st.just("\ud800"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True)
def _new_forms() -> None:
    """Each test makes the forms itself, so that what it says of them is true of this test."""
    for made_once in ("run_form", "line_form", "details_form", "_entry", "_numbers", "_details_decoder", "_line_decoder"):
        getattr(run_files, made_once).cache_clear()


def result(details: Any = None, **more: Any) -> Result:
    """A result with these details."""
    numbers = {"score": 1.0, "official": 0.5, "strict": None}
    names = {"instance_id": "a", "reason": "ü"}
    return Result(status="scored", scorer="s", fault=None, **{**numbers, **names, "details": details or {}, **more})


def line(details: str) -> str:
    """The line of a result whose details are this text."""
    return whole_line(result()).replace('"details": {}', f'"details": {details}')


@given(st.dictionaries(texts, values, max_size=4), st.dictionaries(texts, texts, max_size=2), texts)
def test_a_line_comes_back(details: dict[str, Any], digests: dict[str, str], reason: str) -> None:
    """All of a result, and its line again byte for byte; one more detail stands in it as if it had always been there."""
    written = whole_line(result(details, digests=digests, reason=reason))
    back = result_of(written)
    assert whole_line(back) == written
    assert back.reason == reason
    expected = json.loads(written)
    for key, found in (("details", back.details), ("digests", dict(back.digests)), ("score", back.score), ("strict", back.strict)):
        assert repr(found) == repr(expected.get(key, {})), key
    more = back.with_detail("notes", ["ä"])
    assert repr(dict(more.details)) == repr({**expected["details"], "notes": ["ä"]})
    assert repr(result_of(whole_line(more)).details) == repr(more.details)
    # A run that was killed when its rows were whole goes on with rows that have their notes.
    again = result_of(whole_line(more)).with_detail("notes", ["b"])
    assert whole_line(again).count('"notes": ') == whole_line(more).count('"notes": ')
    assert repr(again.details) == repr({**more.details, "notes": ["b"]})


CRAFTED = ["[" * 100_000, '{"a":' * 100_000, "[1]", "3", "null", '{"a": 1', '{"a": "\x01"}', '{"a": "\\ud8"}', '{}, "more": 1']


@pytest.mark.parametrize("details", CRAFTED, ids=[text[:12] for text in CRAFTED])
def test_what_no_worker_says(details: str) -> None:
    """A worker that says it has said nothing that can be meant; so with bytes that are no text, and the name of another instance."""
    assert result_of_worker(line("{}").encode(), "a") == result_of(line("{}"))
    assert result_of_worker(line(details).encode(), "a") is None
    assert result_of_worker(line('{"a": "?"}').encode().replace(b"?", b"\xff"), "a") is None
    assert result_of_worker(line("{}").encode(), "b") is None
    for text in (line("[NaN]"), "[NaN]", "NaN"):
        with pytest.raises(ValueError, match="not a result line"):
            result_of(text)


def a_run() -> dict[str, Any]:
    """The value of a `run.json`, with each key that its form knows."""
    flip = {"instance_id": "a"}
    summary = {"score": 1, "official": 0.5, "strict": None, "n_gold": 1, "n_judged": 0, "n_submitted": 1 << 53, "scorers": ["s"]}
    rows = {"s": {"score": 0, "raw": 1e300}}
    corrections = {"n_gold": 1, "n_waived": 0, "n_patched": 0, "hash": "h", "score": 1.0, "n_judged": 1, "interval_95": [0.1, 0.2]}
    return {
        "signature": "s",
        "options": {"rules": "strict", "only": [], "limits": {"rows": 5.0}, "filter": None, "shard": "1/2"},
        "submission": {"folder": "f", "hash": "h", "unsure": []},
        "gold": {"folder": "g", "name": "n", "hash": "h", "n_instances": 3, "clusters": [], "hidden": False},
        "summary": {
            **summary,
            "raw": {"scorer": "s", "mean": -1e300, "n_measured": 2},
            "flips": [flip],
            "counts": {"scored": 2},
            **{"by_scorer": rows, "by_group": rows},
        },
        "corrections": {**corrections, "applied": [flip], "stale": [], "expired": []},
        **{"metadata": {}, "warnings": [], "groups": {"a": ["x"]}, "notes": {}, "receipt": {"isolation": "i"}, "databases": None},
        **{"judge": None, "living_gold": {"a": {}}, "sql": None},
    }


# (where, a value that no run writes there)
NOT_IN_A_RUN: list[tuple[str, Any]] = [
    *((f"summary.{name}", value) for name in ("score", "official", "strict") for value in (2, 1.01, -0.01, "1")),
    *((f"summary.{name}", value) for name in ("n_gold", "n_judged", "n_submitted") for value in (-1, (1 << 53) + 1, 1.5)),
    *(("summary.raw", {"scorer": "s", "mean": value, "n_measured": 2}) for value in (2e300, -2e300, "x")),
    *(("summary.by_scorer", {"s": {"score": value}}) for value in (2, -1)),
    *(("summary.by_group", {"s": {"raw": value}}) for value in (2e300, "1")),
    *(("summary.counts", value) for value in ({"scored": {}}, {"scored": None}, [1])),
    *(("summary.flips", [entry]) for entry in ({}, {"instance_id": 1}, "a")),
    *(
        ("corrections", {"hash": "h", "score": 1}),
        ("corrections.applied", [{}]),
        ("corrections.interval_95", ["x"]),
        ("corrections.n_gold", "1"),
    ),
    *(
        (f"options.{name}", 1)
        for name in ("only", "limits", "filter", "group", "layout", "mode", "shard", "as_of", "questions", "invalid_as")
    ),
    *(
        ("options.rules", "loose"),
        ("options", {}),
        ("gold.hidden", 1),
        ("gold.clusters", [1]),
        ("gold.n_instances", -1),
        ("gold.hash", None),
    ),
    *(("submission.folder", None), ("submission.hash", 1), ("submission.unsure", "x"), ("signature", None), ("warnings", [1])),
    *((name, 1) for name in ("metadata", "groups", "notes", "receipt", "databases", "judge", "living_gold", "sql")),
    *(("receipt", {"isolation": 1}), ("groups", {"a": [1]}), ("databases", {"a": 1}), ("living_gold", {"a": 1})),
]


@pytest.mark.parametrize(("where", "value"), NOT_IN_A_RUN, ids=[f"{where}-{str(value)[:20]}" for where, value in NOT_IN_A_RUN])
def test_what_is_no_run(where: str, value: Any) -> None:
    """The whole is a run's, the same with one other value is not, and the message names the place."""
    assert why_no_run(a_run()) == ""
    made = a_run()
    *path, name = where.split(".")
    place = made
    for key in path:
        place = place[key]
    place[name] = value
    told = why_no_run(made)
    assert f"$.{where.split('.')[0]}" in told
    # Half of a surrogate pair elsewhere changes nothing.
    assert why_no_run({**made, "more": "\ud800"}) == told
    assert why_no_run({**a_run(), "more": "\ud800"}) == why_no_run({**a_run(), "\ud800": 1}) == ""


def test_a_run_of_a_newer_version(tmp_path: Path) -> None:
    """It is not called damaged: the file is named with both versions."""
    assert why_no_run({**a_run(), "schema_version": SCHEMA_VERSION}) == ""
    assert why_no_run({**a_run(), "schema_version": 99}) == f"schema_version 99 is of a newer evalsuite, this one reads {SCHEMA_VERSION}"
    for odd in ("1", 1.5, True, None, [1], 0):
        assert why_no_run({**a_run(), "schema_version": odd}).endswith("at `$.schema_version`")
    (tmp_path / "run.json").write_text(json.dumps({**a_run(), "schema_version": 99}))
    (tmp_path / "results.jsonl").touch()
    with pytest.raises(UsageError, match=r"run\.json: schema_version 99 is of a newer evalsuite, this one reads 1") as raised:
        one_run(str(tmp_path))
    assert raised.value.hint == "`pip install -U evalsuite` updates this one"


OWN = {"status": "scored", "score": 1, "official": 1, "strict": None, "reason": "r", "fault": None, "details": {}}
WRONG_DETAILS: list[dict[str, Any]] = [
    {"flip": 1}, {"reasons": {"a": 1}}, {"notes": "x"}, {"warnings": [1]}, {"raw": "1"}, {"raw": 2e300}, {"own_scale": 0.5},
    {"beside": {"s": {}}},
    {"beside": {"s": {**OWN, "score": 2}}}, {"beside": {"s": {**OWN, "more": 1}}}, {"beside": {"s": {**OWN, "status": "right"}}},
    {"beside": {"s": {**OWN, "details": {"raw": "x"}}}}, {"beside": {"s": {**OWN, "score": None}}},
]  # fmt: skip
RIGHT_DETAILS: dict[str, Any] = {"flip": "x", "raw": 1e300, "more": [1], "beside": {"s": OWN}}
WRONG_LINES: list[tuple[str, str]] = [
    ('"score": 1', '"score": 2'), ('"official": 0.5', '"official": -0.5'), ('"status": "scored"', '"status": "right"'),
    ('"fault": null', '"fault": "NO_SUCH"'), ('"seconds": 0.0', '"seconds": -1'), ('"seconds": 0.0', '"seconds": 2e300'),
    ('"seconds": 0.0', f'"seconds": {(1 << 53) + 1}'),
    ('"seconds": 0.0', '"seconds": 0.0, "more": 1'), ('"reason": "ü", ', ""), ('"scorer": "s"', '"scorer": 1'),
    # Also what a missing key would be read as has to be written.
    (f'"details": {json.dumps(RIGHT_DETAILS)}, ', ""), (', "seconds": 0.0', ""),
]  # fmt: skip


def test_lines_that_no_run_wrote(tmp_path: Path) -> None:
    """A line with a value that runs do not write there, or with details that reports rely on in another form, is named."""
    good = whole_line(result(RIGHT_DETAILS))
    lines = [whole_line(result({}, score=None)), *(good.replace(old, new) for old, new in WRONG_LINES)] + [
        whole_line(result(details)) for details in WRONG_DETAILS
    ]
    path = tmp_path / "results.jsonl"
    path.write_text(f"{good}\n{whole_line(result(RIGHT_DETAILS, score=None))}\n")
    assert [found.details for found in read_results(path)] == [RIGHT_DETAILS] * 2
    for seconds in (0, 1 << 53, 1e300):
        path.write_text(good.replace('"seconds": 0.0', f'"seconds": {seconds}') + "\n")
        assert [found.seconds for found in read_results(path)] == [seconds]
    for text in lines:
        assert text != good
        path.write_text(f"{good}\n{text}\n")
        with pytest.raises(OutputError, match=r"results\.jsonl:2: no result that a run wrote"):
            list(read_results(path))


def test_a_file_with_a_bom_and_one_that_cannot_be_read(tmp_path: Path) -> None:
    """An editor's BOM is no damage, as in `run.json`; what keeps a file from being read has its own cure."""
    path = tmp_path / "results.jsonl"
    path.write_text(whole_line(result()) + "\n", encoding="utf-8-sig")
    assert [found.instance_id for found in read_results(path)] == ["a"]
    path.unlink()
    path.mkdir()
    with pytest.raises(MachineError, match="expected a file, found a folder") as refused:
        list(read_results(path))
    assert refused.value.hint == "a folder is where a file is needed: copy it again"
    assert reading_error(path, PermissionError(errno.EACCES, "Permission denied")).hint == "make it readable for this user"


def test_why_there_is_no_strict_verdict_is_in_the_line() -> None:
    """With its code and its sentence; other lines have no such key. Values that JSON has not: sets are lists, anything else is its text."""
    assert (json_safe((1, 2)), json_safe({3}), json_safe(frozenset({4})), json_safe(Path("x"))) == ([1, 2], [3], [4], "x")
    late = result(strict_fault=Fault(code="TIMEOUT", detail="after 5 s"))
    assert '"strict_fault": {"code": "TIMEOUT", "detail": "after 5 s"}, "details"' in whole_line(late)
    assert result_of(whole_line(late)).strict_fault == late.strict_fault
    assert "strict_fault" not in whole_line(result())


def test_marks_without_end_are_escaped() -> None:
    """On one letter as many stay as they are as a reader may need; the next letter begins anew, a foreign one too; all come back."""
    for letter in "e\u00e9":
        text = (letter + "\u0301" * (MOST_MARKS + 3)) * 2
        written = whole_line(result(reason=text))
        assert (written.count("\u0301"), written.count("\\u0301")) == (2 * MOST_MARKS, 6)
        assert result_of(written).reason == text


def test_a_seal_covers_both_files() -> None:
    """Any byte of either is noticed; without a seal nothing is known."""
    text = "{}\n"
    run = seal({"a": 1, "digests": "old"}, text)
    assert json.loads(run)["digests"].keys() == {"results", "run"}
    assert json.loads(seal({}, digest="0" * 64, units="1" * 64))["digests"]["units"] == "1" * 64
    assert seal({"a": 1}, digest=hashlib.sha256(text.encode()).hexdigest()) == run
    assert '"ü"' in seal({"a": "ü"})
    assert '"ü": "ü"' in whole_line(result({"ü": "ü"}))
    assert run_files._units_digest({"n": 1, "scores": [1]}) == run_files._units_digest({"scores": [1.0], "n": 1})
    data = run.encode()
    assert (is_intact(data, b"{}\n"), is_intact(data, b"{} "), is_intact(data.replace(b"1,", b"2,"), b"{}\n")) == (
        (True, True),
        (True, False),
        (False, True),
    )
    assert (is_intact(b"{}", b""), seal_of(b"{}"), seal_of(data)) == (None, None, json.loads(run)["digests"]["run"])


scores = st.none() | st.sampled_from([0.0, 1.0, 0.1, 2 / 3]) | st.floats(0, 1)


def test_official_scores_of_nothing_judged_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that strict rules judged and official ones did not are no units without official scores."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = made.result("q", 0.5, details=unit_details([None, 1.0, 0.0], official=[None, None, None]))
    (whole,) = whole_units(tmp_path, list(move_units(tmp_path, [row])))
    assert whole.details == row.details
    assert json.dumps(whole.details["units"]["scores"]) == "[null, 1, 0]"


@pytest.mark.parametrize("units", [["a", "b", "c"], [True, False, True], [1.0, "b", 0.0]])
def test_lists_of_other_values_stay(units: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin may write into its details what it wants: only numbers are units."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = made.result("q", 0.5, details={"units": units})
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
    given_ = [made.result(f"q'{i}", 0.5, details=one) for i, one in enumerate(details)]
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


def test_every_reader_of_a_run_has_them(runs: Path) -> None:
    """compare, leaderboard, rescore and verify say of such a run what they say of one with whole lines."""
    assert (runs / "b" / UNITS).is_file()
    found = []
    for name in ("b", "whole"):
        candidate = as_json("compare", "runs/a", f"runs/{name}")["candidates"][0]
        found.append((candidate["total"] | {"name": ""}, candidate["fields"]))
        board = as_json("leaderboard", "runs/a", f"runs/{name}", "--gold", "gold")
        found[-1] += (board["n_units"], [row["interval"] for row in board["rows"]])
    assert found[0] == found[1]
    assert found[0][0]["n"] == 30
    assert main(["verify", "runs/b", "--isolation", "none"]) == 0
    assert "0 of 1 verdicts changed" in said("rescore", "runs/b", "--isolation", "none")
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
    told = json.loads((runs / "b" / "run.json").read_text())
    (runs / "b" / "run.json").write_text(seal(told, (runs / "b" / "results.jsonl").read_text(), units=units_digest(runs / "b")))
    capsys.readouterr()
    assert "units.parquet" in said("verify", "runs/b", code=1)


def test_the_digest_of_units_is_that_of_their_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SHA-256 of the object with sorted keys and numbers as floats, computed here; other units are refused, as is no file."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    row = made.result("q", 0.5, details=unit_details([1.0, None, 0.25], official=[0.0, None, 0.25], fields={"a": [1.0, 0.5, None]}))
    (apart,) = move_units(tmp_path, [row])
    plain = {"fields": {"a": [1.0, 0.5, None]}, "n": 3, "official": [0.0, None, 0.25], "scores": [1.0, None, 0.25]}
    assert apart.details["units"]["sha256"] == hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    other = made.result("q", 0.5, details=unit_details([1.0, None, 0.5], official=[0.0, None, 0.25], fields={"a": [1.0, 0.5, None]}))
    (tmp_path / "other").mkdir()
    (wrong,) = move_units(tmp_path / "other", [other])
    for folder, line in ((tmp_path, wrong), (tmp_path / "other", apart), (tmp_path / "nowhere", apart)):
        with pytest.raises(OutputError, match="the units of 'q' are not what the run wrote"):
            list(whole_units(folder, [line]))


def test_rows_without_what_was_read_have_the_same_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are right, absent, or refused by their path: what was read is what lies there, so the root is the same."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    named = {"q1": "../x.csv", "q2": "absent.csv", "q3": "g.csv", "q4": "g.csv/../../q3/g.csv"}
    cases = {name: ("table_match", {"gold": "g.csv"}, Path(file)) for name, file in named.items()}
    write_sides(submission, gold, cases, {f"{name}/g.csv": "a\n1\n" for name in named})
    given: list[Any] = []

    def root_as_it_is_asked(*arguments: Any) -> str:
        given[:] = arguments
        return root_of(*arguments)

    monkeypatch.setattr(scoring, "root_of", root_as_it_is_asked)
    whole = run(submission, gold, RunOptions(runs_folder=tmp_path / "runs"))
    tasks, results, digests, contents = given
    assert [result.fault for result in results] == ["BAD_PATH", "MISSING_FILE", None, "BAD_PATH"]
    assert any(result.digests for result in results)
    assert root_of(tasks, [replace(result, digests={}) for result in results], digests, contents) == whole.root


# The leaves and roots of the tests of Certificate Transparency, whose tree RFC 6962 describes.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("n", range(9))
def test_the_tree_is_that_of_rfc_6962(n: int) -> None:
    """No leaf to eight of them."""
    assert tree_root(map(bytes.fromhex, LEAVES[:n])).hex() == ROOTS[n]


def test_the_root_of_a_small_run_is_fixed(tmp_path: Path) -> None:
    """A text, a table with one check, a wrong path and a missing answer: another root would end the proof of every saved run."""
    gold, submission = tmp_path / "gold", tmp_path / "submission"
    for folder, cells in ((gold, "a,b\n1,x\n"), (submission, "a,b\n2,x\n")):
        write_file(folder / "t" / "r.csv", cells)
    write_file(gold / "p" / "q.csv", "a\n1\n")
    table = {"gold": "r.csv", "condition_cols": [1]}
    cases: dict[str, Any] = {
        "s": ("string_match", {"gold": "Zürich"}, "It is Zürich"),
        "t": ("table_match", table, Path("r.csv")),
        "p": ("table_match", {"gold": "q.csv"}, Path("../t/r.csv")),
        "m": ("table_match", table, None),
    }
    write_sides(submission, gold, cases)
    done = run(submission, gold, RunOptions(save=False))
    verdicts = [(one.instance_id, one.status, one.score) for one in done.results]
    assert verdicts == [("s", "scored", 1), ("t", "scored", 1), ("p", "submission_fault", 0), ("m", "missing", 0)]
    assert done.root == "d483b7fdbf6b129ed0f039ce6df801d15cdb09a2cc52ac5cd1765b659eeab368"


@pytest.mark.parametrize("sync", [None, True, False])
def test_a_file_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool | None) -> None:
    """Its bytes, then its name, are brought to the disk unless the caller does so; a failure names the old file and leaves nothing else."""
    steps: list[str] = []
    target = tmp_path / "x"

    def look(_: int) -> None:
        begun = [place.read_text() for place in tmp_path.glob(".x.*.part")]
        steps.append(target.read_text() if target.exists() else f"not there, but {begun}")

    monkeypatch.setattr(run_files.os, "fsync", look)
    options = {} if sync is None else {"sync": sync}
    n_open = len([*Path("/dev/fd").iterdir()])
    assert write_atomically(target, "new\ud800", **options) == hashlib.sha256(b"new\\ud800").hexdigest()
    written = r"new\ud800"
    assert (steps, target.read_text()) == ([] if sync is False else [f"not there, but {[written]}", written], written)
    assert len([*Path("/dev/fd").iterdir()]) == n_open
    assert write_atomically(target, iter(["a", "b"]), **options) == hashlib.sha256(b"ab").hexdigest()

    def pieces() -> Iterator[str]:
        yield "c"
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match=r"full: .*x'"):
        write_atomically(target, pieces(), **options)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "ab")]
    read_only = mock.Mock(side_effect=OSError(errno.EROFS, "read-only", "another name"))
    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OSError, match=r"read-only: .*x'"):
        write_atomically(target, "c", **options)


@pytest.mark.skipif(os.name != "posix", reason="an open file has no path on this system")
def test_units_are_those_of_the_file_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has its name when they are read."""
    monkeypatch.setattr(run_files, "MOST_IN_LINE", 2)
    for folder, scores in (("a", [1.0, 0.0, 0.5]), ("b", [0.0, 0.0, 0.0])):
        (tmp_path / folder).mkdir()
        list(move_units(tmp_path / folder, [result(unit_details(scores), instance_id="q")]))
    file = tmp_path / "a" / UNITS
    with file.open("rb") as handle:
        (tmp_path / "b" / UNITS).replace(file)
        assert [scores for _, scores, _ in run_files._columns_in(handle, file, "q")] == [[1.0, 0.0, 0.5]]
