"""The score cache: an unchanged instance is never scored twice, and whatever could move a verdict misses."""

import json
import os
import sys
from pathlib import Path

import pytest

from evalsuite.runner.run import Options, Run, run
from tests.processes import side_by_side

GOLD = {"func": "table_match", "parameters": {"gold": "g.csv"}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """One table instance and one text instance, handed in right."""
    (tmp_path / "gold" / "t").mkdir(parents=True)
    (tmp_path / "gold" / "t" / "g.csv").write_text("n\n1\n2\n")
    rows = [
        {"instance_id": "t", "evaluation": GOLD},
        {"instance_id": "s", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}}},
    ]
    (tmp_path / "gold" / "toy_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "sub" / "t").mkdir(parents=True)
    (tmp_path / "sub" / "t" / "r.csv").write_text("n\n1\n2\n")
    lines = [
        {"instance_id": "t", "answer_type": "file", "answer_or_path": "r.csv"},
        {"instance_id": "s", "answer_type": "answer", "answer_or_path": "Paris"},
    ]
    (tmp_path / "sub" / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def scored(place: Path, **options: object) -> Run:
    """The submission scored with the cache, without a run folder."""
    return run(place / "sub", place / "gold", Options(save=False, cache=place / "cache", **options))  # type: ignore[arg-type]


def was_asked(place: Path) -> bool:
    """Whether a further run still has to score the table: looked at where the cache answers."""
    from evalsuite.store.cache import ScoreCache

    found: list[bool] = []
    original = ScoreCache.known

    def known(self: ScoreCache, tasks: object) -> object:
        answer = original(self, tasks)  # type: ignore[arg-type]
        found.append("t" not in answer[0])
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScoreCache, "known", known)
        scored(place)
    return found[0]


def test_a_second_run_takes_the_same_results_from_the_cache(place: Path) -> None:
    """The second run gives equal results and asks for nothing."""
    first = scored(place)
    assert not was_asked(place)
    assert [(r.instance_id, r.score, r.reason) for r in scored(place).results] == [
        (r.instance_id, r.score, r.reason) for r in first.results
    ]


@pytest.mark.parametrize("what", ["answer", "gold", "spec", "rules", "limits"])
def test_what_moves_a_verdict_misses(place: Path, what: str) -> None:
    """Another byte of the answer, of a gold file or of the gold entry, other rules or limits: the instance is scored anew, and right."""
    scored(place)
    options: dict[str, object] = {}
    if what == "answer":
        (place / "sub" / "t" / "r.csv").write_text("n\n1\n3\n")
    elif what == "gold":
        (place / "gold" / "t" / "g.csv").write_text("n\n7\n8\n")
    elif what == "spec":
        spec = place / "gold" / "toy_eval.jsonl"
        spec.write_text(spec.read_text().replace('"g.csv"', '"g.csv", "ignore_order": true'))
    else:
        options = {"rules": "strict"} if what == "rules" else {"limits": {"rows": 1}}
    fresh = run(place / "sub", place / "gold", Options(save=False, **options))  # type: ignore[arg-type]
    cached = scored(place, **options)
    assert [(r.score, r.reason) for r in cached.results] == [(r.score, r.reason) for r in fresh.results]
    if what in ("answer", "gold", "limits"):
        assert cached.results[0].score == 0


def test_a_hard_link_to_gold_gets_nothing_from_an_honest_equal_file(place: Path) -> None:
    """A link to the gold file is refused although the cache knows the score of an honest file with the same bytes."""
    assert scored(place).results[0].score == 1
    (place / "sub" / "t" / "r.csv").unlink()
    os.link(place / "gold" / "t" / "g.csv", place / "sub" / "t" / "r.csv")
    assert scored(place).results[0].fault == "BAD_PATH"


def test_a_broken_cache_costs_time_only(place: Path) -> None:
    """A cache file of junk changes no result and is no error."""
    (place / "cache").mkdir()
    (place / "cache" / "memo.sqlite").write_bytes(b"junk" * 100)
    assert [r.score for r in scored(place).results] == [1, 1]


def test_many_processes_share_one_cache(place: Path) -> None:
    """Eight runs at once into one cache: no lock error, and all give the same."""
    command = [sys.executable, "-m", "evalsuite", "run", "sub", "--gold", "gold", "--no-save", "--quiet", "--isolation", "none"]
    runs = side_by_side([command] * 8, cwd=place)
    assert [done.returncode for done in runs] == [0] * 8, runs
    assert {done.stdout for done in runs} == {"done: 100.0 % (no gate set)\n"}
