"""The score cache: an unchanged instance is never scored twice, and whatever could move a verdict misses."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import checked
from evalsuite.core.runtime import package_version
from evalsuite.core.types import Fault, Result, Task
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.score_cache import ScoreCache
from evalsuite.runs.scoring import Run, run
from tests.command_server import command_server
from tests.processes import side_by_side
from tests.runs.made import write_file, write_sides

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """One table instance and one text instance, handed in right."""
    for path in ("gold/t/g.csv", "sub/t/r.csv"):
        write_file(tmp_path / path, "n\n1\n2\n")
    cases = {"t": ("table_match", {"gold": "g.csv"}, Path("r.csv")), "s": ("string_match", {"gold": "Paris"}, "Paris")}
    write_sides(tmp_path / "sub", tmp_path / "gold", cases)
    return tmp_path


def scored(place: Path, **options: object) -> Run:
    """The submission scored with the cache, without a run folder."""
    return run(place / "sub", place / "gold", RunOptions(save=False, cache=place / "cache", **{"isolation": "none", **options}))  # type: ignore[arg-type]


def after_hashing(patch: pytest.MonkeyPatch, then: Callable[[list[Task | Result]], object]) -> None:
    """Have something done between the cache's look at the files and the workers', with what the cache knows and what it asks for."""
    original = ScoreCache.results

    def known(self: ScoreCache, tasks: Sequence[Task]) -> Iterator[Task | Result]:
        items = list(original(self, tasks))
        then(items)
        return iter(items)

    patch.setattr(ScoreCache, "results", known)


def was_asked(place: Path) -> bool:
    """Whether a further run still has to score the table: looked at where the cache answers."""
    found: list[Task | Result] = []
    with pytest.MonkeyPatch.context() as patch:
        after_hashing(patch, found.extend)
        scored(place)
    return not any(isinstance(item, Result) and item.instance_id == "t" for item in found)


def test_a_second_run_takes_the_same_results_from_the_cache(place: Path) -> None:
    """The second run gives equal results and asks for nothing."""
    first = scored(place)
    assert not was_asked(place)
    again, once = ([(r.instance_id, r.score, r.reason) for r in done.results] for done in (scored(place), first))
    assert again == once


@pytest.mark.parametrize("what", ["answer", "gold", "one of two golds", "spec", "rules", "limits", "library"])
def test_what_moves_a_verdict_misses(place: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another byte of the answer, of a gold file or of the gold entry, other rules or limits, another version of Python or of a library:
    the instance is scored anew, and right.
    """
    spec = place / "gold" / "made_eval.jsonl"
    if what == "one of two golds":
        spec.write_text(spec.read_text().replace('"g.csv"', '["g.csv", "h.csv"]'))
        (place / "gold" / "t" / "h.csv").write_text("n\n5\n6\n")
    scored(place)
    options: dict[str, object] = {}
    if what == "library":
        assert not was_asked(place)
        monkeypatch.setattr(
            "evalsuite.runs.run_options.package_version", lambda name: "0.1" if name == "wordfreq" else package_version(name)
        )
        assert was_asked(place)
        return
    if what == "answer":
        (place / "sub" / "t" / "r.csv").write_text("n\n1\n3\n")
    elif what in ("gold", "one of two golds"):
        (place / "gold" / "t" / "g.csv").write_text("n\n7\n8\n")
    elif what == "spec":
        spec.write_text(spec.read_text().replace('"g.csv"', '"g.csv", "ignore_order": true'))
    else:
        options = {"rules": "strict"} if what == "rules" else {"limits": {"rows": 1}}
    fresh = run(place / "sub", place / "gold", RunOptions(save=False, isolation="none", **options))  # type: ignore[arg-type]
    cached = scored(place, **options)
    assert [(r.score, r.reason) for r in cached.results] == [(r.score, r.reason) for r in fresh.results]
    if what not in ("spec", "rules"):
        assert cached.results[0].score == 0


OWN = {"near": {"bertscore": {"model": "tiny"}}}


@pytest.mark.parametrize(
    ("scorer", "parameters", "is_kept"),
    [
        *(("bertscore", {"gold": "a cat", "model": "tiny"}, False), ("hedging_language", {"model": "tiny"}, False)),
        *(("exact_match", {"gold": "a cat"}, True), ("tree_score", {"gold": {"a": "cat"}}, True)),
        ("tree_score", {"gold": {"a": "cat"}, "metrics": OWN, "leaves_metrics": {"a": "near"}}, False),
    ],
)
def test_a_metric_with_a_model_is_not_kept(tmp_path: Path, scorer: str, parameters: dict[str, Any], is_kept: bool) -> None:
    """Nothing in the key says which files the folder of the model contains."""
    write_sides(tmp_path / "sub", tmp_path / "gold", {"m": (scorer, parameters, '{"a": "cat"}' if "tree" in scorer else "a cat")})
    assert scored(tmp_path).results[0].status == "scored"
    assert (tmp_path / "cache" / "memo.sqlite").exists() is is_kept


def test_a_further_scorer_of_the_suite_that_becomes_a_check_misses(tmp_path: Path) -> None:
    """Before, it filled a column; now the better of both is the score."""
    parameters = {"gold": "the cat sat on the mat"}
    write_sides(tmp_path / "sub", tmp_path / "gold", {"m": ("f1", parameters, "the cat sat on a mat")})
    suite = tmp_path / "gold" / "suite.yaml"
    suite.write_text("scorers: [bleu, f1]\nscore: bleu\n")
    before = scored(tmp_path).results[0]
    suite.unlink()
    checks = [{"func": name, "parameters": parameters} for name in ("bleu", "f1")]
    (tmp_path / "gold" / "made_eval.jsonl").write_text(json.dumps({"instance_id": "m", "evaluation": checks}))
    assert (before.scorer, scored(tmp_path).results[0].scorer) == ("bleu", "f1")


def test_a_fault_of_gold_is_said_at_its_line(tmp_path: Path) -> None:
    """Also where only the line of its entry has changed since it was kept."""
    write_sides(tmp_path / "sub", tmp_path / "gold", {"f": ("number_match", {"gold": []}, "1")})
    spec = tmp_path / "gold" / "made_eval.jsonl"
    for line in (1, 2):
        (found,) = scored(tmp_path).results
        assert (found.status, f"made_eval.jsonl:{line}" in found.reason) == ("gold_fault", True)
        spec.write_text(f"\n{spec.read_text()}")


def test_a_hard_link_to_gold_gets_nothing_from_an_honest_equal_file(place: Path) -> None:
    """A link to the gold file is refused although the cache knows the score of an honest file with the same bytes."""
    assert scored(place).results[0].score == 1
    (place / "sub" / "t" / "r.csv").unlink()
    os.link(place / "gold" / "t" / "g.csv", place / "sub" / "t" / "r.csv")
    assert scored(place).results[0].fault == "BAD_PATH"


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        ({}, True),
        ({"strict": None, "strict_fault": Fault(code="TIMEOUT")}, False),
        ({"details": {"reads_clock": True}}, False),
        ({"status": "timeout", "fault": "TIMEOUT", "score": 0, "official": 0, "strict": 0}, False),
    ],
)
def test_what_another_day_may_change_is_not_kept(place: Path, change: dict[str, Any], is_kept: bool) -> None:
    """A verdict that came too late, of either rules, and one whose view reads the clock."""
    original = ScoreCache.keep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScoreCache, "keep", lambda self, result: original(self, replace(result, **change)))
        scored(place)
    assert was_asked(place) is not is_kept


@pytest.mark.parametrize(("true", "false"), [('score\\": 1', 'score\\": 0'), ("match", "mauch"), ("reason", "rearon")])
def test_a_damaged_verdict_is_scored_anew(place: Path, true: str, false: str) -> None:
    """Bits that a failing disk turns in a stored line change no verdict and no reason; nor does a whole file of junk."""
    whole = [(r.score, r.reason) for r in scored(place).results]
    with sqlite3.connect(place / "cache" / "memo.sqlite") as connection:
        damaged = "UPDATE memo SET value = replace(value, ?, ?) WHERE instr(value, ?)"
        assert connection.execute(damaged, [true, false, true]).rowcount > 0
    connection.close()
    assert [(r.score, r.reason) for r in scored(place).results] == whole
    (place / "cache" / "memo.sqlite").write_bytes(b"junk" * 100)
    assert [(r.score, r.reason) for r in scored(place).results] == whole


def test_one_value_that_is_no_result_is_scored_anew(place: Path) -> None:
    """The line of another instance is not taken over, and the rest of the cache is."""
    scored(place)
    with sqlite3.connect(place / "cache" / "memo.sqlite") as connection:
        for key, value in connection.execute("SELECT key, value FROM memo WHERE kind = 'score'").fetchall():
            if '\\"instance_id\\": \\"t\\"' in value:
                other = checked("score", key, value[8:].replace('\\"t\\"', '\\"s\\"', 1))
                connection.execute("UPDATE memo SET value = ? WHERE key = ?", [other, key])
    connection.close()
    assert was_asked(place)
    assert [r.score for r in scored(place).results] == [1, 1]


def test_a_cache_in_the_submission_is_not_read(place: Path) -> None:
    """Who works inside a submission has its author's cache there: nothing of it is believed."""
    inside = place / "sub" / ".evalsuite" / "cache"
    scored(place)
    inside.parent.mkdir()
    (place / "cache").rename(inside)
    with sqlite3.connect(inside / "memo.sqlite") as memo:
        memo.create_function("checked", 3, checked)
        memo.execute("UPDATE memo SET value = checked(kind, key, replace(substr(value, 9), 'scored', 'missing'))")
    options = RunOptions(save=False, cache=inside, isolation="none")
    assert [result.status for result in run(place / "sub", place / "gold", options).results] == ["scored", "scored"]


def test_many_processes_share_one_cache(place: Path) -> None:
    """Four runs at once into one cache: no lock error, and all give the same."""
    command = [command_server().script, "run", "sub", "--gold", "gold", "--no-save", "--quiet", "--isolation", "none"]
    runs = side_by_side([command] * 4, cwd=place)
    assert [done.returncode for done in runs] == [0] * 4, runs
    assert {done.stdout for done in runs} == {"done: 100.0 % (no gate set)\n"}


RIGHT, WRONG = b"n\n1\n2\n", b"n\n1\n3\n"
BIG_RIGHT = b"n,text\n" + b"".join(b"%d,a\n" % row for row in range(40_000))
BIG_WRONG = BIG_RIGHT.replace(b"39999,a", b"39999,b")
Exchange = Callable[[Path, bytes], None]


def by_name(path: Path, data: bytes) -> None:
    """Another file under the same name."""
    beside = path.with_suffix(".beside")
    beside.write_bytes(data)
    beside.replace(path)


def by_bytes(path: Path, data: bytes) -> None:
    """The same file with other bytes."""
    path.write_bytes(data)


def database(folder: Path, value: int) -> bytes:
    """A database with this value in its one table."""
    import duckdb

    with duckdb.connect(str(folder / f"{value}.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {value} AS a")
    return (folder / f"{value}.duckdb").read_bytes()


@pytest.mark.parametrize(
    ("right", "wrong", "is_honest", "exchange", "isolation"),
    [
        *((RIGHT, WRONG, True, by_name, "process"), (RIGHT, WRONG, False, by_bytes, "process")),
        *((BIG_RIGHT, BIG_WRONG, True, by_bytes, "process"), (BIG_RIGHT, BIG_WRONG, True, by_name, "none")),
        (b"", b"", True, by_bytes, "process"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((RIGHT, WRONG, True, by_bytes, "none"), (RIGHT, WRONG, False, by_name, "none"), (b"", b"", True, by_bytes, "none"))
        ),
    ],
    ids=["right-name", "wrong-bytes", "big-bytes", "big-name", "database", "right-bytes", "wrong-name", "database-none"],
)
def test_an_exchanged_answer_poisons_nobody(
    place: Path, right: bytes, wrong: bytes, is_honest: bool, exchange: Exchange, isolation: str
) -> None:
    """What was hashed and what was judged are two files: the next answer with the bytes that were hashed is judged by itself.

    A database is judged from a private copy: the bytes that count are those that were copied.
    """
    name = "g.csv"
    if not right:
        right, wrong, name = database(place, 1), database(place, 2), "g.duckdb"
        parameters = {"gold": name, "condition_tabs": ["t"]}
        write_sides(place / "sub", place / "gold", {"t": ("duckdb_match", parameters, Path("r.duckdb"))})
    (place / "gold" / "t" / name).write_bytes(right)
    answer = (place / "sub" / "t" / "r").with_suffix(Path(name).suffix)
    first, second = (right, wrong) if is_honest else (wrong, right)
    answer.write_bytes(first)
    with pytest.MonkeyPatch.context() as patch:
        after_hashing(patch, lambda _: exchange(answer, second))
        assert scored(place, isolation=isolation).results[0].score == (not is_honest)
    exchange(answer, first)
    assert was_asked(place)
    assert scored(place, isolation=isolation).results[0].score == is_honest
    assert not was_asked(place)


def test_gold_that_is_edited_meanwhile_poisons_nobody(place: Path) -> None:
    """A verdict against other gold than was hashed is not kept for that gold."""
    gold = place / "gold" / "t" / "g.csv"
    with pytest.MonkeyPatch.context() as patch:
        after_hashing(patch, lambda _: gold.write_text("n\n7\n8\n"))
        assert scored(place).results[0].score == 0
    gold.write_bytes(RIGHT)
    assert was_asked(place)
    assert scored(place).results[0].score == 1
