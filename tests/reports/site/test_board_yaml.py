"""`board.yaml` decides times, submissions per team and hidden instances; its mistakes are named by file and line."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalsuite.analysis.leaderboard.ranking import Admission, BoardRules, Phase, read_board_rules
from evalsuite.core.errors import GoldError
from tests.cli.test_run import lacks
from tests.reports.site.conftest import GOLD, hand_in

pytestmark = pytest.mark.usefixtures("shared_fork_server")

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
WRONG = {
    "title: [a]": (1, "title must be text"),
    "opens: tomorrow": (1, "opens must be a day or a moment, found 'tomorrow'"),
    "title: x\ncloses: 2026-13-45": (2, "closes must be a day or a moment, found '2026-13-45'"),
    "opens: 2026-11-30\ncloses: 2026-11-01": (2, "closes at 2026-11-02 00:00 UTC, before it opens at 2026-11-30 00:00 UTC"),
    "opens: 2026-11-02T00:00+00:00\ncloses: 2026-11-01": (2, "closes at 2026-11-02 00:00 UTC, before it opens at 2026-11-02 00:00 UTC"),
    "closes: [1]": (1, "closes must be a day or a moment"),
    "phases: 3": (1, "phases must be a list"),
    "phases:\n- {opens: 2026-11-01, closes: 2026-11-09}\n- {opens: 2026-11-05}": (3, "a phase begins before the one above it has closed"),
    "phases:\n- {opens: 2026-11-01}\n- {opens: 2026-11-05}": (3, "a phase begins before the one above it has closed"),
    "phases:\n- {closes: 2026-11-01}\n- {closes: 2026-11-05}": (3, "a phase begins before the one above it has closed"),
    "phases: []": (1, "phases must be a list"),
    "hidden: half\nphases:\n- {opens: 2026-11-01}": (1, "hidden: half needs a close"),
    "per_day: 1.5": (1, "per_day must be a whole number from 1, found 1.5"),
    "seed: true": (1, "seed must be a whole number, found True"),
    "url: 3": (1, "url must be an address, https://..., found 3"),
    "phases:\n- name: a\n  opens: never": (3, "opens must be a day or a moment, found 'never'"),
    "phases:\n- {opens: 2026-11-01, till: 3}": (2, "unknown key 'till'"),
    "opens: 2026-11-01\nphases:\n- {closes: 2026-11-09}": (1, "opens next to phases"),
    "per_day: 0": (1, "per_day must be a whole number from 1"),
    "per_day: true": (1, "per_day must be a whole number from 1"),
    "hidden: third\ncloses: 2026-11-09": (1, "hidden must be half or none"),
    "title: x\nhidden: half": (2, "hidden: half needs a close"),
    "reveal: everything": (1, "reveal must be one of none, status"),
    "feedback: everything": (1, "feedback must be one of none, status"),
    "seed: x": (1, "seed must be a whole number"),
    "url: javascript:alert(1)": (1, "url must be an address"),
    "titel: x": (1, "unknown key 'titel'"),
    "title: x\ntitle: y": (2, "the key 'title' is repeated"),
    "- a": (1, "not a mapping"),
    "title: x: y": (1, "not valid YAML"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_by_file_and_line(text: str, tmp_path: Path) -> None:
    """Each mistake says where it stands and what was expected."""
    line, words = WRONG[text]
    (tmp_path / "board.yaml").write_text(text + "\n")
    with pytest.raises(GoldError) as caught:
        read_board_rules(tmp_path / "board.yaml")
    assert caught.value.message.startswith(f"board.yaml:{line}: {words}")


def test_a_whole_file(tmp_path: Path) -> None:
    """Phases in order, with the words for what is closed now."""
    file = tmp_path / "b.yaml"
    file.write_text(
        "title: Autumn\nphases:\n- {name: practice, opens: 2026-11-01, closes: 2026-11-15}\n"
        "- {name: final, opens: 2026-11-20, closes: 2026-11-30T18:00+01:00}\nper_day: 3\nhidden: half\nreveal: status\n"
    )
    rules = read_board_rules(file)
    assert (rules.title, rules.per_day, rules.hides_half, rules.reveal) == ("Autumn", 3, True, "status")

    def at(day: int, hour: int = 12) -> str:
        return rules.reason_closed(datetime(2026, 11, day, hour, tzinfo=UTC))

    assert (at(15), at(20), at(30, 16)) == ("", "", "")
    assert at(17) == "final opens at 2026-11-20 00:00 UTC"
    assert at(30, 17) == "final closed at 2026-11-30 17:00 UTC"
    file.write_text(
        "phases:\n- {closes: 2026-11-04}\n- {opens: 2026-11-05, closes: 2026-11-06T12:00}\nper_day: 1\nhidden: none\nurl: http://x\n"
    )
    rules = read_board_rules(file)
    assert ([at(4), at(6, 11)], at(6), rules.per_day, rules.url) == ([""] * 2, "the board closed at 2026-11-06 12:00 UTC", 1, "http://x")
    assert not rules.hides_half
    file.write_text("opens: 2026-11-05\nseed: -1\n")
    rules = read_board_rules(file)
    assert (at(4), at(5), rules.seed) == ("the board opens at 2026-11-05 00:00 UTC", "", -1)
    file.write_text("closes: 2026-11-05\nhidden: half\n")
    rules = read_board_rules(file)
    assert (at(5, 23), at(6, 0), rules.hides_half) == ("", "the board closed at 2026-11-06 00:00 UTC", True)
    file.write_text("")
    assert read_board_rules(file) == BoardRules()


def test_the_hidden_half() -> None:
    """It is a half, the same for a seed and whatever else is in gold, another for another seed, and nothing is hidden after the close."""
    ids = [f"q{i}" for i in range(101)]
    rules = BoardRules(hides_half=True, phases=(Phase(closes=NOON),))
    before = datetime(2026, 11, 1, tzinfo=UTC)
    half = rules.ids_to_score(ids, before)
    assert len(half) == 51
    assert half == rules.ids_to_score(ids, before)
    assert rules.ids_to_score(ids, NOON) == ()
    assert set(BoardRules(hides_half=True, seed=1, phases=rules.phases).ids_to_score(ids, before)) != set(half)
    assert len(set(half) & set(rules.ids_to_score([*ids, "new"], before))) >= 50
    assert BoardRules().ids_to_score(ids, before) == ()


def test_quotas_go_by_team_day_and_content(tmp_path: Path) -> None:
    """Of a team so many new contents a day are taken, in the order of names; what was taken once stays under any name and for any day."""
    rules, file = BoardRules(per_day=2), tmp_path / "received.json"
    first = Admission(rules, file, NOON)
    assert first({"a": "1", "a--2": "2", "a--3": "3", "b": "4"}) == ["a--3"]
    assert "2 of 'a' were accepted today, the limit is 2 a day" in first.notes[0]
    assert "2026-11-23" in first.notes[0]
    later = Admission(rules, file, NOON.replace(hour=23))
    assert later({"a--3": "3", "other name": "1"}) == ["a--3"]
    tomorrow = Admission(rules, file, NOON.replace(day=23))
    assert tomorrow({"a--3": "3"}) == []
    assert (tomorrow.time_received("1"), tomorrow.time_received("3")) == ("2026-11-22T12:00:00Z", "2026-11-23T12:00:00Z")
    teams = Admission(rules, tmp_path / "other.json", NOON, teams={"x": "T", "y": "T", "z": "T"})
    assert teams({"x": "1", "y": "2", "z": "3"}) == ["z"]


@pytest.mark.parametrize("said", ["", "[]", "{", '{"1": 3, "2": ["a"]}'])
def test_a_damaged_ledger_ends_nothing(said: str, tmp_path: Path) -> None:
    """What cannot be read counts as not taken yet."""
    (tmp_path / "received.json").write_text(said)
    assert Admission(BoardRules(), tmp_path / "received.json", NOON)({"a": "1"}) == []
    assert list(json.loads((tmp_path / "received.json").read_text())) == ["1"]


def test_a_board_from_its_opening_to_its_close(place: Path, build: Callable[..., str]) -> None:
    """Closed: the board is empty. Open: half of the instances is scored, and no more of a team than allowed. Closed again: all of them."""
    (place / "gold" / "board.yaml").write_text("title: Autumn <b>\nopens: 2026-11-21\ncloses: 2026-11-21\nper_day: 1\nhidden: half\n")
    said = build("2026-11-20")
    assert not lacks(said, "opens at 2026-11-21 00:00 UTC", "done: 0 submissions ranked")
    board = json.loads((place / "site/board.json").read_text(encoding="utf-8"))
    assert (board["n_instances"], board["rows"], board["rules"]) == (len(GOLD), [], "official")
    hand_in("bob--again", 8)
    said = build("2026-11-21")
    assert "bob--again is not accepted: " in said
    board = json.loads((place / "site/board.json").read_text(encoding="utf-8"))
    assert (board["n_instances"], board["part_of"], len(board["rows"])) == (4, 8, 3)
    for results in (place / ".evalsuite/runs").glob("*/results.jsonl"):
        assert len(results.read_text().splitlines()) == 4
    assert "0 new, 3 reused" in build("2026-11-21")
    page = (place / "site/index.html").read_text(encoding="utf-8")
    assert not lacks(page, "Autumn &lt;b&gt;", "a half of the instances is scored at 2026-11-22 00:00 UTC")
    hand_in("late", 8)
    said = build("2026-11-22")
    assert "late is not accepted: the board closed at 2026-11-22 00:00 UTC" in said
    board = json.loads((place / "site/board.json").read_text(encoding="utf-8"))
    assert (board["n_instances"], board["part_of"]) == (len(GOLD), None)
    assert {row["name"]: row["score"] for row in board["rows"]}["alice"] == 0.75
    assert "0 new, 3 reused" in build("2026-11-22")
