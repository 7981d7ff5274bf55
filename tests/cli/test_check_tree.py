"""`evalsuite check tree_match`: files of extracted records against gold, at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.cli.test_run import said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Capture = pytest.CaptureFixture[str]
GOLD = [{"method": "sputtering", "temperature": 300, "lab_id": "A1"}, {"method": "evaporation", "temperature": 450, "lab_id": "B2"}]
EXTRACTED = [{"method": "sputtering", "temperature": 301, "lab_id": "A1"}, {"method": "evaporation", "temperature": 460, "lab_id": "B3"}]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The quick start of Struct Extract Eval as files; `*_ids` carry ids, the extracted ones in the other order."""
    tables: dict[str, list[Any]] = {
        "gold": GOLD,
        "extracted": EXTRACTED,
        "gold_ids": [{"id": n, **record} for n, record in enumerate(GOLD)],
        "extracted_ids": [{"id": n, **record} for n, record in enumerate(EXTRACTED)][::-1],
    }
    for name, records in tables.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return {name: str(tmp_path / f"{name}.jsonl") for name in tables} | {"schema": str(tmp_path / "s.json")}


def check(capsys: Capture, prediction: str, gold: str, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite check tree_match`."""
    code = main(["check", "tree_match", "--prediction", prediction, "--gold", gold, *words])
    return code, *capsys.readouterr()


def test_the_quick_start(files: dict[str, str], capsys: Capture) -> None:
    """Schema inferred and annotated by commands, then P = R = F1 = 0.50 under both rules, the records 2/3 and 1/3."""
    Path(files["schema"]).write_text(said("schema infer", files["gold"]))
    Path(files["schema"]).write_text(said("schema annotate", files["schema"]))
    code, out, err = check(capsys, files["extracted"], files["gold"], "--schema", files["schema"], "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["score"], found["official"], found["strict"]) == (0.5, 0.5, 0.5)
    details = found["details"]
    assert (details["precision"], details["recall"], details["f1"]) == (0.5, 0.5, 0.5)
    assert [row["f1"] for row in details["records"]] == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("prediction", "gold", "words", "message"),
    [
        ("nowhere.jsonl", "{}", [], "MISSING_FILE: nowhere.jsonl"),
        ("{", '{"a": 1}', [], "BAD_JSON"),
        ('{"a": 1}', "nowhere.json", [], "MISSING_FILE: nowhere.json"),
        ('{"a": 1}', '{"a": 1}', ["--schema", "nowhere.json"], "MISSING_FILE: nowhere.json"),
        ('{"a": 1}', '{"a": 1}', ["--schema", '{"type": 3}'], "BAD_SPEC"),
    ],
)
def test_faults_exit_2(prediction: str, gold: str, words: list[str], message: str, capsys: Capture) -> None:
    """What cannot be read is named, on one line."""
    code, out, err = check(capsys, prediction, gold, *words)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[0]


@pytest.mark.parametrize("name", ["tree_match", "tree_score"])
def test_two_hundred_records_are_tables(name: str, tmp_path: Path) -> None:
    """Of 200 records the fields, the worst records and the differences of the first wrong one are shown, in lines that fit a screen."""
    gold = [{"id": f"r{n}", "a": n, "b": [{"c": "text " * 9, "d": n}] * 3} for n in range(200)]
    answers = [{**record, "a": -1} if n in (7, 150) else record for n, record in enumerate(gold)]
    for file, records in (("g.jsonl", gold), ("a.jsonl", answers)):
        (tmp_path / file).write_text("\n".join(map(json.dumps, records)))
    words = ["--prediction", str(tmp_path / "a.jsonl"), "--gold", str(tmp_path / "g.jsonl"), "--id-field", "id"]
    out = said("check", name, *words)
    assert max(map(len, out.splitlines())) < 200
    assert "fields, worst first" in out
    worst = out[out.index("records, worst first") :].splitlines()[2:4]
    assert ["7" in worst[0].split()[0], "150" in worst[1].split()[0]] == [True, True]
    assert "... 190 more records" in out
    difference = out.splitlines()[-1].split()
    assert difference == ["a", "mismatch", "7", "-1"]
