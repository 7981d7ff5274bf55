"""`board.yaml` decides who is admitted when; a receipt of the site is held to submission, gold and key by `verify`."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalsuite.analysis.leaderboard.ranking import Admission, BoardRules, Phase, read_board_rules
from evalsuite.cli import main
from evalsuite.core.errors import GoldError
from tests.cli.test_run import lacks, said, text_gold
from tests.conftest import copy_of
from tests.reports.site.conftest import BUILD, DAY, GOLD, hand_in, make_place

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


def test_the_hidden_half_and_quotas(tmp_path: Path) -> None:
    """A half for a seed, whatever else is in gold, until the close; of a team so many new contents a day, what was taken stays."""
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


BOTH = ("--submission", "subs/alice", "--gold", "gold")


@copy_of
def host(folder: Path) -> None:
    """A host with a site of a day, and the receipt of alice, who was right on six of eight."""
    make_place(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", str(DAY["2026-11-21"]))
        assert main([*BUILD]) == 0
    page = json.loads((folder / "site/board.json").read_text(encoding="utf-8"))["site"]["rows"]["alice"]["page"]
    shutil.copy((folder / "site" / page).with_suffix(".json"), folder / "kept.json")


@pytest.fixture
def receipt(host: Path) -> Path:
    """The receipt of alice."""
    return host / "kept.json"


def verified(receipt: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code of `verify`, and what it found."""
    capsys.readouterr()
    code = main(["verify", str(receipt), "--isolation", "none", "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_a_receipt_fits_its_submission_and_gold(receipt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scored again every row is verified; what nobody can confirm is a claim; a key that stands twice makes it no receipt."""
    code, found = verified(receipt, capsys, *BOTH)
    assert (code, found["n_verified"], found["n_gold"]) == (0, 8, 8)
    assert set(found["claimed"]) == {"submission", "seal", "received", "n_other"}
    code, found = verified(receipt, capsys, *BOTH[:2])
    assert (code, [one["name"] for one in found["findings"] if one["good"]]) == (4, ["submission"])
    assert found["not_verified"] == {"rows": "scoring needs gold: --gold DIR"}
    assert set(found["claimed"]) == {"submission", "signature", "root", "seal", "score", "received", "n_other"}
    code, found = verified(receipt, capsys)
    assert (code, found["findings"], found["claimed"]["score"]) == (4, [], "0.75")
    text = receipt.read_text()
    receipt.write_text(json.dumps({**json.loads(text), "rank": 1}))
    code, found = verified(receipt, capsys, *BOTH)
    assert (code, found["claimed"]["rank"]) == (0, "1")
    for more in ('{"score": 1.0, ', '{"n_instances": 8, '):
        receipt.write_text(text.replace("{", more, 1))
        assert "is no receipt" in said("verify", str(receipt), code=2)


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("score", 1.0, "scored again"),
        ("root", "0" * 64, "scored again"),
        ("n_instances", 9, "scored again"),
        ("submission_hash", "0" * 32, "submission"),
        ("signature", "evalsuite:0.1.0|rules:strict|gold:000000000000", "scored under"),
    ],
)
def test_what_was_changed_in_it_is_named(receipt: Path, field: str, value: Any, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 with the finding that does not fit."""
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), field: value}))
    code, found = verified(receipt, capsys, *BOTH)
    assert code == 1
    assert [one["name"] for one in found["findings"] if not one["good"]] == [named]
    assert found["n_verified"] == 0


def test_rows_that_cannot_be_compared(receipt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A receipt about a part, or by other versions with another root, is neither confirmed nor refuted; other versions alone are fine."""
    recorded = json.loads(receipt.read_text())
    old = recorded["signature"].replace("evalsuite:", "evalsuite:0.0.")
    assert old != recorded["signature"]
    part = "the receipt is about 4 of 8 instances, and does not name them"
    for change, code, why in (
        ({"signature": old}, 0, None),
        ({"signature": old, "root": "0" * 64}, 4, "they were scored by other versions: evalsuite 0.0."),
        ({"n_instances": 4}, 4, part),
        ({"n_instances": 4, "root": "0" * 64}, 4, part),
    ):
        receipt.write_text(json.dumps({**recorded, **change}))
        found_code, found = verified(receipt, capsys, *BOTH)
        rows = found["not_verified"].get("rows")
        assert (found_code, found["n_verified"]) == (code, 0 if why else 8)
        assert rows == why or (why and rows.startswith(why))
        assert ("root" in found["claimed"], "score" in found["claimed"]) == (bool(why), bool(why))
        assert ("signature.evalsuite" in found["claimed"]) == ("signature" in change)
        says = {finding["name"]: finding["says"] for finding in found["findings"]}
        assert (says["submission"], says["scored under"]) == ("subs/alice is what was submitted", "the same gold and rules")
        if not why:
            assert says["scored again"] == "gives the same verdict for every instance, and the same score"


def test_another_submission_is_not_what_was_handed_in(receipt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With gold and without."""
    hand_in("alice", 8)
    for words in (BOTH, BOTH[:2]):
        code, found = verified(receipt, capsys, *words)
        assert code == 1
        assert found["findings"][0]["says"].startswith("subs/alice is not what was submitted")


def test_a_signed_receipt_and_other_files(receipt: Path, host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By --key the seal must be signed; a file of another kind, and a sample, are refused."""
    pytest.importorskip("cryptography", reason="cryptography is not installed (pip install 'evalsuite[sign]')")
    assert main(["keys", "new", "host"]) == 0
    code, found = verified(receipt, capsys, *BOTH, "--key", "host.pub")
    assert (code, found["findings"][0]["says"]) == (1, "not signed")
    assert main(["run", "subs/alice", "--sign", "host", "--out", "signed", "-q", "--isolation", "none"]) == 0
    seal = json.loads((host / "signed/run.json").read_text())["digests"]["run"]
    signed = {"seal": seal, "signed": json.loads((host / "signed/signature.json").read_text())}
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), **signed}))
    code, found = verified(receipt, capsys, *BOTH, "--key", "host.pub")
    assert (code, "seal" in found["claimed"]) == (0, False)
    assert found["findings"][0]["says"] == "the key of host.pub signed the seal, and no other field"
    for words, why in ((["gold/suite.yaml"], "is no receipt"), ([str(receipt), "--sample", "2"], "--sample needs a run")):
        (host / "gold/suite.yaml").touch()
        assert why in said("verify", *words, code=2)


def test_the_score_of_a_metric_without_bounds_is_its_mean(
    place: Path, build: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A receipt has the mean on the metric's own scale; it verifies, and another number does not."""
    check = {"func": "readability", "parameters": {}}
    text_gold(place / "gold", **GOLD)
    spec = next((place / "gold").glob("*_eval.jsonl"))
    spec.write_text("".join(json.dumps({"instance_id": name, "evaluation": check}) + "\n" for name in GOLD), encoding="utf-8")
    build("2026-11-21")
    row = json.loads((place / "site/board.json").read_text(encoding="utf-8"))
    page = (place / "site" / row["site"]["rows"]["alice"]["page"]).with_suffix(".json")
    recorded = json.loads(page.read_text(encoding="utf-8"))
    assert recorded["score"] == pytest.approx({one["name"]: one["score"] for one in row["rows"]}["alice"])
    assert verified(page, capsys, *BOTH)[0] == 0
    page.write_text(json.dumps({**recorded, "score": recorded["score"] + 1}))
    assert verified(page, capsys, *BOTH)[0] == 1
