"""`verify` compares a receipt of the site with submission, gold and key, and names what cannot be checked."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.cli.test_run import said, text_gold
from tests.conftest import copy_of
from tests.reports.site.conftest import BUILD, DAY, GOLD, hand_in, make_place

pytestmark = pytest.mark.usefixtures("shared_fork_server")

BOTH = ("--submission", "subs/alice", "--gold", "gold")


def make_receipt(folder: Path) -> None:
    """A host with a site of a day, and the receipt of alice, who was right on six of eight."""
    make_place(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", str(DAY["2026-11-21"]))
        assert main([*BUILD]) == 0
    page = json.loads((folder / "site/board.json").read_text(encoding="utf-8"))["site"]["rows"]["alice"]["page"]
    shutil.copy((folder / "site" / page).with_suffix(".json"), folder / "kept.json")


host = copy_of(make_receipt)


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
    """Scored again every row is verified; without gold the bytes are known and the rows are not; without both nothing is."""
    code, found = verified(receipt, capsys, *BOTH)
    assert (code, found["n_verified"], found["n_gold"]) == (0, 8, 8)
    assert set(found["claimed"]) == {"submission", "seal", "received", "n_other"}
    code, found = verified(receipt, capsys, *BOTH[:2])
    assert (code, [one["name"] for one in found["findings"] if one["good"]]) == (4, ["submission"])
    assert found["not_verified"] == {"rows": "scoring needs gold: --gold DIR"}
    assert set(found["claimed"]) == {"submission", "signature", "root", "seal", "score", "received", "n_other"}
    code, found = verified(receipt, capsys)
    assert (code, found["findings"], found["claimed"]["score"]) == (4, [], "0.75")


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
    """A receipt about a part of gold, or by other versions with another root, is neither confirmed nor refuted; other versions alone are
    no difference.
    """
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


def test_what_nobody_can_confirm_is_named_and_a_key_stands_once(receipt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A further field is a claim; a second score, which another reader would take for the first, is no receipt."""
    text = receipt.read_text()
    receipt.write_text(json.dumps({**json.loads(text), "rank": 1}))
    code, found = verified(receipt, capsys, *BOTH)
    assert (code, found["claimed"]["rank"]) == (0, "1")
    for more in ('{"score": 1.0, ', '{"n_instances": 8, '):
        receipt.write_text(text.replace("{", more, 1))
        assert "is no receipt" in said("verify", str(receipt), code=2)


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
