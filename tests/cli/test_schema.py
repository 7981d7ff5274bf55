"""`evalsuite schema`: infer, resolve, annotate and check at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Capture = pytest.CaptureFixture[str]
RECORDS = [{"id": "a", "n": 1, "phase": "solid"}, {"id": "b", "n": 2.5, "phase": None}]


def written(folder: Path, name: str, value: Any) -> str:
    """The path of a file holding a JSON value, or of a JSONL holding the values of a list."""
    path = folder / name
    texts = [json.dumps(record) for record in value] if name.endswith(".jsonl") else [json.dumps(value)]
    path.write_text("\n".join(texts) + "\n")
    return str(path)


def shown(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `evalsuite schema`."""
    code = main(["schema", *words])
    return code, *capsys.readouterr()


def test_infer(tmp_path: Path, capsys: Capture) -> None:
    """The first value decides; --widen lets all of them; --id-field leaves the id out."""
    gold = written(tmp_path, "gold.jsonl", RECORDS)
    code, out, _ = shown(capsys, "infer", gold)
    assert code == 0
    assert json.loads(out)["properties"] == {"id": {"type": "string"}, "n": {"type": "integer"}, "phase": {"type": "string"}}
    code, out, _ = shown(capsys, "infer", gold, "--widen", "--id-field", "id")
    assert json.loads(out)["properties"] == {"n": {"type": "number"}, "phase": {"type": ["string", "null"]}}


def test_check_of_fitting_gold(tmp_path: Path, capsys: Capture) -> None:
    """No finding: exit 0 and one line, which does not claim what only --strict-types checks."""
    schema = {"type": "object", "properties": {"n": {"type": "number"}, "phase": {"type": ["string", "null"]}}}
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", RECORDS), "--id-field", "id")
    line = "2 records, 0 findings: gold fits the schema"
    assert shown(capsys, "check", *words, "--strict-types") == (0, f"{line}\n", "")
    assert shown(capsys, "check", *words) == (0, f"{line}; declared types were not checked (--strict-types)\n", "")


def test_check_lists_every_finding(tmp_path: Path, capsys: Capture) -> None:
    """All findings of all records come with record and path, exit 1; an id twice is one of them."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "array", "items": {"type": "string"}}}}
    gold = [{"id": 7, "n": "1", "x": 0, "y": 0, "t": []}, {"id": 7, "n": 2}]
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", gold), "--id-field", "id")
    code, out, err = shown(capsys, "check", *words, "--strict-types", "--json")
    assert (code, err) == (1, "")
    found = [(finding["record"], finding["path"], finding["kind"]) for finding in json.loads(out)["findings"]]
    assert sorted(found) == [(7, "id", "id"), (7, "n", "type"), (7, "t", "missing"), (7, "x", "unknown_field"), (7, "y", "unknown_field")]
    code, out, _ = shown(capsys, "check", *words, "--allow-missing")
    *lines, last = out.splitlines()
    assert (code, [line.split(": ")[:2] for line in lines]) == (1, [["record 7", "x"], ["record 7", "y"], ["record 7", "id"]])
    assert last == "2 records, 3 findings (exit 1)"


@pytest.mark.parametrize(
    ("words", "content", "message"),
    [
        ("infer {}", "[]", "there is no record"),
        ("infer {}", "{", "BAD_JSON"),
        ("infer nowhere.json", "", "MISSING_FILE: nowhere.json"),
        ("resolve {}", '{"$ref": "#/$defs/no"}', "#/$defs/no"),
        ("annotate {}", "[1]", "a schema is a JSON object"),
        (
            "check {} --gold {}",
            '{"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "exakt"}}}',
            "a: Unknown comparator",
        ),
    ],
)
def test_faults_exit_2(words: str, content: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """What cannot be read or used is one `error:` line with the file, and nothing stands on stdout."""
    path = tmp_path / "x.json"
    path.write_text(content)
    code, out, err = shown(capsys, *(word.format(path) for word in words.split()))
    assert (code, out) == (2, "")
    error = next(line for line in err.splitlines() if not line.startswith("note: "))
    assert error.startswith("error: ")
    assert message in error


def test_check_names_misspelt_keys_and_options(tmp_path: Path, capsys: Capture) -> None:
    """A key or an option that nobody reads is a finding with the nearest known one, in every form."""
    leaf = {"type": "number", "x-eval-compare": {"numeric": {"tolerence": {"abs": 1}}}, "x-eval-wieght": 2}
    schema = {"type": "object", "properties": {"n": leaf}}
    words = (written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", [{"n": 1}]))
    code, out, _ = shown(capsys, "check", *words)
    assert (code, out.splitlines()) == (
        1,
        [
            "schema: n: unknown key 'x-eval-wieght'; did you mean 'x-eval-weight'?",
            "schema: n: numeric takes no option 'tolerence'; did you mean 'tolerance'?",
            "1 record, 2 findings (exit 1)",
        ],
    )
    code, out, _ = shown(capsys, "check", *words, "--json")
    assert (code, "x-eval-wieght" in out, "tolerence" in out) == (1, True, True)


def test_check_proves_that_gold_accepts_itself(tmp_path: Path, capsys: Capture) -> None:
    """A value that stands in no list of its comparator is a finding; an alternative counts as well as a plain value."""
    schema = {"type": "object", "properties": {"m": {"type": "string", "x-eval-compare": {"oneof": {"values": ["CVD", "PVD"]}}}}}
    gold = [{"m": "CVD"}, {"m": "ALD"}, {"m": {"x-eval-any-of": ["PVD", "MBE"]}}]
    code, out, _ = shown(capsys, "check", written(tmp_path, "s.json", schema), "--gold", written(tmp_path, "gold.jsonl", gold), "--json")
    found = json.loads(out)["findings"]
    assert (code, [(f["record"], f["path"], f["kind"]) for f in found]) == (1, [(1, "m", "refused"), (2, "m", "refused")])
    assert "'ALD'" in found[0]["message"]
    fitting = {"type": "object", "properties": {"q": {"type": "string", "x-eval-compare": "quantity"}}}
    words = (written(tmp_path, "q.json", fitting), "--gold", written(tmp_path, "q.jsonl", [{"q": "10 sccm"}, {"q": "about 5"}]))
    assert shown(capsys, "check", *words)[0] == 0
