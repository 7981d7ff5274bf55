"""`evalsuite check tree_match`: files of extracted records against gold, at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.reports.score_text import score_document
from evalsuite.reports.terminal import as_text
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


def test_the_quick_start_in_python(files: dict[str, str]) -> None:
    """`evalsuite.score` says the same of files, values and JSON text."""
    for prediction, gold in ((files["extracted"], files["gold"]), (EXTRACTED, GOLD), (json.dumps(EXTRACTED), json.dumps(GOLD))):
        score = evalsuite.score("tree_match", prediction, gold=gold)
        assert (score.official, score.strict) == (0.5, 0.5)


def test_records_are_joined_by_id(files: dict[str, str], capsys: Capture) -> None:
    """With --id-field the order of the file does not matter, and the id itself is no field."""
    code, out, _ = check(capsys, files["extracted_ids"], files["gold_ids"], "--id-field", "id", "--json")
    found = json.loads(out)
    assert (code, found["score"]) == (0, 0.5)
    assert [row["path"] for row in found["details"]["fields"]] == ["temperature", "lab_id", "method"]


def test_the_tables(files: dict[str, str], capsys: Capture) -> None:
    """Fields and records stand worst first with a bar of F1, then what was taken for what."""
    code, out, _ = check(capsys, files["extracted"], files["gold"])
    assert code == 0
    fields, records, confusions = out.split("\n\n")[1:]
    assert [line.split()[0] for line in fields.splitlines()[2:]] == ["temperature", "lab_id", "method"]
    assert [line.split()[1:5] for line in fields.splitlines()[2:]][1] == ["50.0", "50.0", "50.0", "█████░░░░░"]
    assert [line.split()[0] for line in records.splitlines()[2:]] == ["1", "0"]
    assert sorted(line.split() for line in confusions.splitlines()[2:]) == [
        ["lab_id", "1", "B2", "B3", "mismatch"],
        ["temperature", "1", "300", "301", "mismatch"],
        ["temperature", "1", "450", "460", "mismatch"],
    ]


def test_the_commonest_confusion_comes_first(capsys: Capture) -> None:
    """Elements of a list are pooled, and what is missing or invented stands as nothing."""
    gold, found = {"t": ["a", "b", "b"], "u": 1}, {"t": ["x", "c", "c"], "v": 2}
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "uv"}}
    schema["properties"]["t"] = {"type": "array", "items": {"type": "string"}}  # type: ignore[dict-item]
    _, out, _ = check(capsys, json.dumps(found), json.dumps(gold), "--schema", json.dumps(schema))
    lines = out.split("most common confusions")[1].splitlines()[2:]
    assert lines[0].split() == ["t[]", "2", "b", "c", "mismatch"]
    assert [line.split() for line in lines if "(nothing)" in line] == [
        ["u", "1", "1", "(nothing)", "omission"],
        ["v", "1", "(nothing)", "2", "hallucination"],
    ]


def test_strict_is_the_score_unless_official_is_asked_for(files: dict[str, str], capsys: Capture) -> None:
    """Records in another order score by id under strict, by position under official."""
    words = (files["extracted_ids"], files["gold_ids"], "--id-field", "id", "--json")
    assert json.loads(check(capsys, *words)[1])["score"] == 0.5
    assert json.loads(check(capsys, *words, "--rules", "official")[1])["score"] == 0
    assert check(capsys, *words[:-1], "--fail-under", "0.6")[0] == 1


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


@pytest.mark.parametrize("rules", ["official", "strict"])
def test_the_verdict_that_is_the_score_stands_first(rules: str) -> None:
    """`check` of a prediction names the verdict under its rules before the other one."""
    found = evalsuite.score("number_match", "-5", gold=5)
    lines = [line.split()[0] for line in as_text(score_document("number_match", found, rules=rules)).splitlines()]  # type: ignore[arg-type]
    assert lines[1:3] == sorted(["official", "strict"], reverse=rules == "strict")


def test_means_by_type_are_words_and_an_absent_margin_is_no_line() -> None:
    """The metrics of each type are shown without JSON's signs; a verdict that no tolerance changes has no margin."""
    found = evalsuite.score("tree_score", {"a": 1, "b": [1, 2], "c": "x"}, gold={"a": 1, "b": [1, 3], "c": "x", "d": None})
    shown = {label: rest for label, _, rest in (line.strip().partition("  ") for line in as_text(score_document("x", found)).splitlines())}
    assert shown["by type"].strip() == "integer exact_match 0.75 · string levenshtein 1"
    assert found.details["margin"] is None
    assert "margin" not in shown
