"""Logs of promptfoo, Inspect and lm-eval become suites and runs: n, ids, texts and totals as they wrote them; broken ones are named."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.errors import EXIT_OK, EXIT_USAGE

QUESTIONS = (("Capital of France?", "Paris"), ("Capital of Italy?", "Rome"), ("Capital of Norway?", "Oslo"))


def promptfoo() -> dict[str, Any]:
    """Two providers, three tests; the second is wrong once and failed once."""
    rows = []
    for at, (question, answer) in enumerate(QUESTIONS):
        for label, output in (("small", answer), ("large", "Milan" if at == 1 else answer)):
            failed = label == "large" and at == 2
            rows.append(
                {
                    "promptIdx": 0,
                    "testIdx": at,
                    "provider": {"id": f"openai:{label}", "label": label},
                    "prompt": {"raw": f"Answer: {question}", "label": "p"},
                    "vars": {"question": question, "expected": answer},
                    "testCase": {"vars": {"expected": answer}, "assert": [{"type": "equals", "value": "{{ expected }}"}]},
                    "response": None if failed else {"output": output},
                    "error": "timed out" if failed else None,
                    "failureReason": 2 if failed else int(output != answer),
                    "success": output == answer and not failed,
                    "score": float(output == answer and not failed),
                }
            )
    return {"evalId": "eval-1", "results": {"version": 3, "results": rows}, "config": {"description": "capitals"}}


def inspect_sample(at: int, output: str) -> dict[str, Any]:
    """One sample of an Inspect log."""
    question, answer = QUESTIONS[at]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": question}]}]
    return {
        "id": f"q{at}",
        "epoch": 1,
        "input": chat if at == 0 else question,
        "target": [answer],
        "output": {"choices": [{"message": {"role": "assistant", "content": output}}]},
        "scores": {"match": {"value": "C" if output == answer else "I", "answer": output}},
    }


ABOUT = {"version": 2, "status": "success", "eval": {"task": "geo", "model": "mock/model"}}


def lm_eval() -> list[dict[str, Any]]:
    """Three documents under two filters."""
    rows = []
    for at, (question, answer) in enumerate(QUESTIONS):
        for name, found in (("strict", answer if at else "[invalid]"), ("flexible", answer)):
            rows.append(
                {
                    "doc_id": at,
                    "doc": {"question": question},
                    "target": answer,
                    "arguments": {"gen_args_0": {"arg_0": f"Q: {question}\nA:", "arg_1": {"until": ["\n"]}}},
                    "resps": [[f"It is {answer}"]],
                    "filtered_resps": [found],
                    "filter": name,
                    "metrics": ["exact_match"],
                    "exact_match": float(found == answer),
                }
            )
    return rows


def imported(capsys: pytest.CaptureFixture[str], name: str) -> dict[str, Any]:
    """What `import --json` prints."""
    assert main(["import", name, "--json"]) == EXIT_OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_promptfoo_gives_a_run_for_each_provider(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels, rendered prompts, the variable that the assertion names, and no 0 for a provider that failed; a second one adds nothing."""
    (place / "r.json").write_text(json.dumps(promptfoo()))
    found = imported(capsys, "r.json")
    assert (found["format"], found["suite"]) == ("promptfoo", "capitals")
    assert [(run["name"], run["n"], run["theirs"]) for run in found["runs"]] == [("small", 3, 1.0), ("large", 3, 0.5)]
    first = {"source_id": "1", "input": "Answer: Capital of Italy?", "reference": "Rome", "output": "Milan", "theirs": 0.0}
    assert found["runs"][1]["cases"][1] == first
    assert found["runs"][1]["cases"][2]["theirs"] is None
    assert main(["compare", "small", "large"]) == EXIT_OK
    out = capsys.readouterr().out
    assert "large against small: 1 instance lost" in out
    assert "Milan" in out
    assert main(["import", "r.json"]) == EXIT_OK
    assert "all of it was there already" in capsys.readouterr().out


def test_inspect_logs_are_read_from_both_forms(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An archive and its JSON say the same; a broken sample of the archive costs itself."""
    samples = [inspect_sample(at, output) for at, output in enumerate(("Paris", "Milan", "Oslo"))]
    (place / "log.json").write_text(json.dumps({**ABOUT, "samples": samples}))
    found = imported(capsys, "log.json")
    run = found["runs"][0]
    assert (found["format"], found["suite"], run["n"]) == ("inspect", "geo", 3)
    assert run["theirs"] == pytest.approx(2 / 3)
    assert "mock/model" in run["name"]
    assert [case["source_id"] for case in run["cases"]] == ["q0", "q1", "q2"]
    assert run["cases"][0]["input"] == "Be brief.\n\nCapital of France?"
    assert run["cases"][1] == {"source_id": "q1", "input": QUESTIONS[1][0], "reference": "Rome", "output": "Milan", "theirs": 0.0}
    with zipfile.ZipFile(place / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(ABOUT))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("samples/q9_epoch_1.json", "{")
    assert main(["import", "log.eval", "--name", "other", "--json"]) == EXIT_OK
    said = capsys.readouterr()
    assert json.loads(said.out)["runs"][0]["cases"] == run["cases"]
    assert "samples/q9_epoch_1.json cannot be read" in said.err


def test_lm_eval_gives_a_run_for_each_filter(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The samples alone are enough; a line in between that is broken costs itself; ours beside theirs can be held together."""
    name = "samples_geo_2026-11-22T10-00-00.000000.jsonl"
    lines = [json.dumps(row) for row in lm_eval()]
    (place / name).write_text("\n".join([*lines[:2], "{broken", *lines[2:]]) + "\n")
    assert main(["import", name, "--scorer", "string_match", "--json"]) == EXIT_OK
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["format"], found["suite"]) == ("lm-eval", "geo")
    assert [(run["name"], run["n"]) for run in found["runs"]] == [("geo-strict", 3), ("geo-flexible", 3)]
    assert [run["theirs"] for run in found["runs"]] == [pytest.approx(2 / 3), 1.0]
    assert found["runs"][0]["cases"][0]["input"] == "Q: Capital of France?\nA:"
    assert "line 3 cannot be read" in said.err
    assert main(["agree", "geo-strict", "geo-strict by string_match"]) == EXIT_OK
    assert main(["compare", "geo-strict", "geo-flexible"]) == EXIT_OK


def test_a_choice_between_continuations_is_the_likeliest(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Multiple choice: the output is a continuation, and so is a target that is its number."""
    arguments = {f"gen_args_{i}": {"arg_0": "2 + 2 =", "arg_1": f" {i}"} for i in range(3)}
    row = {"doc_id": 7, "doc": {}, "target": "2", "arguments": arguments, "resps": [], "filter": "none", "metrics": ["acc"], "acc": 1.0}
    row["filtered_resps"] = [["-3.1", "False"], ["-2.0", "False"], ["-0.1", "True"]]
    (place / "samples_sum.jsonl").write_text(json.dumps(row) + "\n")
    case = imported(capsys, "samples_sum.jsonl")["runs"][0]["cases"][0]
    assert case == {"source_id": "7", "input": "2 + 2 =", "reference": "2", "output": "2", "theirs": 1.0}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cut.json", json.dumps(promptfoo())[:-40], "cut.json:1: not valid JSON"),
        ("foreign.json", '{"a": 1}', "foreign.json: no log of a tool that is known"),
        ("cut.eval", "PK\x03\x04", "cut.eval: not a whole Inspect log"),
        ("samples_x.jsonl", json.dumps(lm_eval()[0]) + '\n{"doc_id": 1, "d', "samples_x.jsonl:2: the last line is cut"),
        ("other.jsonl", '{"question": "x"}\n', "other.jsonl: no sample of lm-eval in it"),
        ("gone.json", None, "gone.json: no such file"),
    ],
)
def test_a_foreign_or_cut_file_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | None, says: str
) -> None:
    """Exit 2, the file named, and nothing written."""
    if content is not None:
        (place / name).write_text(content)
    assert main(["import", name]) == EXIT_USAGE
    assert says in capsys.readouterr().err
    assert not (place / ".evalsuite").exists()


def test_a_compression_that_cannot_be_read_names_the_way_round(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What zipfile cannot unpack exits 2 with the command that converts it."""
    with zipfile.ZipFile(place / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(ABOUT))
    data = bytearray((place / "log.eval").read_bytes())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.index(signature) + offset
        data[at : at + 2] = (93).to_bytes(2, "little")
    (place / "log.eval").write_bytes(bytes(data))
    assert main(["import", "log.eval"]) == EXIT_USAGE
    assert "inspect log convert" in capsys.readouterr().err
