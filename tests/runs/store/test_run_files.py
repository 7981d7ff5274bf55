"""Lines of results: what is read is what was written, and what no run wrote is refused, be it from a file or from a worker."""

import errno
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.characters import MOST_MARKS
from evalsuite.core.errors import MachineError, OutputError, UsageError, reading_error
from evalsuite.core.types import Fault, Result
from evalsuite.runs import run_files
from evalsuite.runs.history import one_run
from evalsuite.runs.run_files import (
    SCHEMA_VERSION,
    is_intact,
    read_results,
    result_of,
    result_of_worker,
    seal,
    seal_of,
    whole_line,
    why_no_run,
)
from tests.properties import LETTERS

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
    return Result(instance_id="a", status="scored", scorer="s", fault=None, **{**numbers, "reason": "ü", "details": details or {}, **more})


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
    """With its code and its sentence; other lines have no such key."""
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
