"""Logs of promptfoo, Inspect and lm-eval become suites and runs as they wrote them, and back; broken ones are named."""

import json
import random
import shlex
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE
from evalsuite.runs.history import find_runs
from evalsuite.suites.tool_logs import read_log

pytestmark = pytest.mark.usefixtures("shared_fork_server")

QUESTIONS = (("Capital of France?", "Paris"), ("Capital of Italy?", "Rome"), ("Capital of Norway?", "Oslo"))


def promptfoo() -> dict[str, Any]:
    """Two providers, three tests; the second is wrong once and failed once."""
    rows = []
    for at, (question, answer) in enumerate(QUESTIONS):
        for label, output in (("small", answer), ("large", "Milan" if at == 1 else answer)):
            failed = label == "large" and at == 2
            row = {
                **{"promptIdx": 0, "testIdx": at, "provider": {"id": f"openai:{label}", "label": label}},
                **{"prompt": {"raw": f"Answer: {question}", "label": "p"}, "vars": {"question": question, "expected": answer}},
                "testCase": {"vars": {"expected": answer}, "assert": [{"type": "equals", "value": "{{ expected }}"}]},
                **{"response": None if failed else {"output": output}, "error": "timed out" if failed else None},
                **{"failureReason": 2 if failed else int(output != answer), "success": output == answer and not failed},
            }
            rows.append({**row, "score": float(output == answer and not failed)})
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
            arguments = {"gen_args_0": {"arg_0": f"Q: {question}\nA:", "arg_1": {"until": ["\n"]}}}
            row = {"doc_id": at, "doc": {"question": question}, "target": answer, "arguments": arguments, "resps": [[f"It is {answer}"]]}
            rows.append(
                {**row, "filtered_resps": [found], "filter": name, "metrics": ["exact_match"], "exact_match": float(found == answer)}
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


def test_epochs_of_a_sample_are_a_cluster(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three samples answered four times are three units, for the log's verdicts and for ours; why Inspect's number differs is said."""
    log = json.loads(inspect_log(1))
    log["samples"] = [{**sample, "epoch": epoch} for sample in log["samples"] for epoch in (1, 2, 3, 4)]
    log |= {"status": "error", "results": {"scores": [{"name": "match", "reducer": "max"}]}}
    log["eval"] = {**log["eval"], "dataset": {"sample_ids": ["q0", "q1", "q2", "q3"]}, "config": {"epochs": 4}}
    (place / "log.json").write_text(json.dumps(log))
    assert main(["import", "log.json", "--scorer", "string_match"]) == EXIT_OK
    assert capsys.readouterr().err == (
        "note: log.json: the evaluation did not finish: error, 12 of 16 samples are in the log; "
        "Inspect reduced the epochs of a sample by max, here each epoch counts\n"
    )
    for entry in find_runs():
        clustered = entry.run["summary"]["clusters"]
        assert clustered["n_clusters"] == 3
        assert clustered["interval_95"][0] < 0.2
        assert entry.run["groups"]["q1"] == ["q1", "q1.epoch2", "q1.epoch3", "q1.epoch4"]


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


def test_outputs_are_scored_by_the_scorer_that_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log that is there already is scored then, once; a suite of another scorer is refused before a run says that it was scored by it."""
    (place / "samples_geo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lm_eval()))
    names = []
    for _ in range(2):
        assert main(["import", "samples_geo.jsonl", *(["--scorer", "string_match"] if names else [])]) == EXIT_OK
        names.append({entry.metadata["run_name"] for entry in find_runs()})
    assert names[1] - names[0] == {"geo-strict by string_match", "geo-flexible by string_match"}
    assert main(["import", "samples_geo.jsonl", "--scorer", "string_match"]) == EXIT_OK
    assert main(["import", "samples_geo.jsonl", "--scorer", "exact_match"]) == 2
    assert "the suite 'geo' exists and is scored by string_match, not exact_match" in capsys.readouterr().err
    assert {entry.metadata["run_name"] for entry in find_runs()} == names[1]
    assert main(["import", "samples_geo.jsonl", "--scorer", "exact_match", "--name", "exact"]) == EXIT_OK
    assert {result.scorer for entry in find_runs(suite="exact") for result in entry.results()} == {"exact_match"}


def test_one_score_of_several_is_the_verdict(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log's first, in every sample, whatever their order; a sample without it is not judged; a note names it."""
    log = json.loads(inspect_log(1))
    for sample, names in zip(log["samples"], (("match", "f1"), ("f1", "match"), ("f1",)), strict=True):
        sample["scores"] = {name: {"value": "C" if name == "match" else 0.25} for name in names}
    rows = [{**row, "metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0} for row in lm_eval()[::2]]
    rows[1]["metrics"], rows[2]["acc"] = ["acc_norm", "acc"], None
    (place / "two.json").write_text(json.dumps(log))
    (place / "samples_two.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name, first, other in (("two.json", "match", "f1"), ("samples_two.jsonl", "acc", "acc_norm")):
        assert main(["import", name, "--json"]) == EXIT_OK
        out, err = capsys.readouterr()
        assert [case["theirs"] for case in json.loads(out)["runs"][0]["cases"]] == [1.0, 1.0, None]
        assert err == f"note: {name}: the score {first} is read as the verdict, not {other}\n"


@pytest.mark.parametrize(
    ("is_higher", "task", "theirs"), [(False, "geo", [None, None, None]), (True, "geo", [1, 1, 1]), (False, "x", [1, 1, 1])]
)
def test_a_score_of_which_less_is_better_is_no_verdict(
    place: Path, capsys: pytest.CaptureFixture[str], is_higher: bool, task: str, theirs: list[Any]
) -> None:
    """The samples of lm-eval do not say it, the file of results that is written with them does; another run's does not count."""
    rows = [{**row, "metrics": ["wer"], "wer": 1.0} for row in lm_eval()[::2]]
    (place / "samples_geo_2026-01-02T03-04-05.6.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (place / "results_2026-01-02T03-04-05.6.json").write_text(json.dumps({"higher_is_better": {task: {"wer": is_higher}}}))
    (place / "results_2026-01-03T03-04-05.6.json").write_text(json.dumps({"higher_is_better": {"geo": {"wer": False}}}))
    (place / "cut_2026-01-02T03-04-05.6.json").write_text("{")
    assert main(["import", "samples_geo_2026-01-02T03-04-05.6.jsonl", "--json"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert [case["theirs"] for case in json.loads(out)["runs"][0]["cases"]] == theirs
    assert ("of the score wer less is better, as results_2026-01-02T03-04-05.6.json says" in err) == (theirs[0] is None)


@pytest.mark.parametrize(("targets", "outputs", "acc", "options", "references", "note"), [
    # The right option is the second one.
    ("1", "2", "1", "1234", "2", ""),
    # The right option is the one with this text; then the wrong one is.
    ("1", "1", "1", "1234", "1", ""), ("1", "2", "0", "1234", "1", ""),
    ("1", "3", "0", "1234", "2", "note: samples_math.jsonl: 1 target may be the index of an option or its text, "),
    ("12", "44", "00", "1234", "23", "note: samples_math.jsonl: 2 targets may be the index of an option or its text, "),
    # One is no index, so none is; one is no text, so none is.
    ("14", "33", "00", "1234", "14", ""), ("10", "44", "00", "1234", "21", ""), ("0", "3", "0", "0123", "0", ""),
])  # fmt: skip
def test_a_target_that_is_a_number(
    place: Path, capsys: pytest.CaptureFixture[str], targets: str, outputs: str, acc: str, options: str, references: str, note: str
) -> None:
    """It is the index of an option, or its text where the log's other targets and verdicts say so; a note says if they do not."""
    rows = []
    for at, (target, output, right) in enumerate(zip(targets, outputs, acc, strict=True)):
        calls = {f"gen_args_{n}": {"arg_0": "How many?", "arg_1": f" {option}"} for n, option in enumerate(options)}
        chances = [[-1.0 if option == output else -5.0, False] for option in options]
        row = {"doc_id": at, "doc": {}, "target": target, "arguments": calls, "resps": [chances], "filtered_resps": chances}
        rows.append({**row, "filter": "none", "metrics": ["acc"], "acc": float(right)})
    (place / "samples_math.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["import", "samples_math.jsonl", "--json"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert "".join(case["reference"] for case in json.loads(out)["runs"][0]["cases"]) == references
    assert err.startswith(note) if note else not err


@pytest.mark.parametrize(("asserted", "reference"), [
    ([("llm-rubric", "Is it a right answer to {{question}}? Expected: {{expected}}")], "Paris"),
    ([("llm-rubric", "Answers {{question}} politely")], None), ([("llm-rubric", "{{expected}}")], None),
    ([("javascript", "output === '{{expected}}'"), ("not-contains", "{{question}}")], "Paris"),
    ([("contains", "the"), ("similar", "{{ expected }}")], "Paris"),
    ([("icontains", "Paris, {{note}}")], "Paris, France"), ([("contains", "Par"), ("contains", "is")], None),
    ([("not-contains", "{{expected}}")], None), ([("equals", 42)], "42"), ([("equals", "{{ expected | upper }}")], None),
    ([("equals", "{{absent}}"), ("contains", "Paris")], "Paris"), ([("equals", "file://right.txt")], None),
])  # fmt: skip
def test_a_reference_is_what_answers_are_compared_with(place: Path, asserted: Any, reference: str | None) -> None:
    """Not the question of a rubric, what an answer must not contain, one of several parts, or what the log lacks; then there is none."""
    log = promptfoo()
    row = log["results"]["results"][0]
    row["vars"]["note"] = "France"
    row["testCase"]["assert"] = [{"type": kind, "value": value} for kind, value in asserted]
    (place / "log.json").write_text(json.dumps(log))
    assert read_log(place / "log.json").runs[0].cases[0].reference == reference


@pytest.mark.parametrize("prompts", [["2 + 2 ="], ["2 + 2 =", ""]], ids=["acc", "acc_mutual_info"])
def test_a_choice_between_continuations_is_the_likeliest(place: Path, capsys: pytest.CaptureFixture[str], prompts: list[str]) -> None:
    """Multiple choice: the output is a continuation, and so is a target that is its number; without the question it is no answer."""
    calls = [{"arg_0": prompt, "arg_1": f" {i}"} for prompt in prompts for i in range(3)]
    arguments = {f"gen_args_{i}": call for i, call in enumerate(calls)}
    row = {"doc_id": 7, "doc": {}, "target": "2", "arguments": arguments, "resps": [], "filter": "none", "metrics": ["acc"], "acc": 1.0}
    row["filtered_resps"] = [["-3.1", "False"], ["-2.0", "False"], ["-0.2", "True"], ["-0.1", "True"], ["-9", "False"], ["-9", "False"]]
    row["filtered_resps"] = row["filtered_resps"][: len(calls)]
    (place / "samples_sum.jsonl").write_text(json.dumps(row) + "\n")
    case = imported(capsys, "samples_sum.jsonl")["runs"][0]["cases"][0]
    assert case == {"source_id": "7", "input": "2 + 2 =", "reference": "2", "output": "2", "theirs": 1.0}


@pytest.mark.parametrize(("call", "response", "output"), [
    ({"arg_1": " Paris"}, ["-3.1", "False"], ""), ({"arg_1": " Paris"}, ["-0.1", "True"], "Paris"), ({}, "-17.2", ""),
    ({"arg_1": {"until": []}}, "-17.2", "-17.2"),
], ids=["unlikely", "greedy", "whole text", "generated"])  # fmt: skip
def test_a_chance_is_no_answer(place: Path, capsys: pytest.CaptureFixture[str], call: dict[str, Any], response: Any, output: str) -> None:
    """Where only the chance of a text was asked for, the model wrote nothing to score, unless that was its first choice."""
    row = {"doc_id": 0, "doc": {}, "target": " Paris", "arguments": {"gen_args_0": {"arg_0": "Capital?", **call}}, "filter": "none"}
    (place / "samples_x.jsonl").write_text(json.dumps({**row, "filtered_resps": [response], "metrics": ["acc"], "acc": 0.0}) + "\n")
    assert main(["import", "samples_x.jsonl", "--scorer", "string_match", "--json"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"][0]["cases"][0]["output"] == output
    assert ("the log has no answer to 1 sample; string_match does not score it" in err) == (not output)


@pytest.mark.parametrize(("name", "content", "says"), [
    ("cut.json", json.dumps(promptfoo())[:-40], "cut.json:1: not valid JSON"),
    ("foreign.json", '{"a": 1}', "foreign.json: not a log of a known tool"),
    ("digits.json", f'{{"a": {"9" * 5000}}}', "digits.json: a number has too many digits"),
    ("cut.eval", "PK\x03\x04", "cut.eval: not a complete Inspect log"),
    ("samples_x.jsonl", json.dumps(lm_eval()[0]) + '\n{"doc_id": 1, "d', "samples_x.jsonl:2: the last line is cut"),
    ("other.jsonl", '{"question": "x"}\n', "other.jsonl: no sample of lm-eval in it"),
    ("gone.json", None, "gone.json: no such file"),
])  # fmt: skip
def test_a_foreign_or_cut_file_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | None, says: str
) -> None:
    """Exit 2, the file named, and nothing written."""
    if content is not None:
        (place / name).write_text(content)
    assert main(["import", name]) == EXIT_USAGE
    assert says in capsys.readouterr().err
    assert not (place / ".evalsuite").exists()


@pytest.mark.parametrize(("method", "says"), [
    # Zstandard, which Python reads from 3.14 on, and one that it never reads.
    (93, "not a complete Inspect log" if sys.version_info >= (3, 14) else "inspect log convert"), (95, "inspect log convert"),
    (14, "not a complete Inspect log"),
])  # fmt: skip
def test_a_compression_that_cannot_be_read_names_the_way_round(
    place: Path, capsys: pytest.CaptureFixture[str], method: int, says: str
) -> None:
    """What zipfile cannot unpack exits 2 with the command that converts it; damaged data of another compression are no log."""
    with zipfile.ZipFile(place / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(ABOUT))
    data = bytearray((place / "log.eval").read_bytes())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.index(signature) + offset
        data[at : at + 2] = method.to_bytes(2, "little")
    (place / "log.eval").write_bytes(bytes(data))
    assert main(["import", "log.eval"]) == EXIT_USAGE
    assert says in capsys.readouterr().err


def lm_eval_log(wrong: int) -> str:
    """Samples of three documents under one filter, of a model that is wrong on one."""
    rows = [row for row in lm_eval() if row["filter"] == "flexible"]
    rows[wrong] = {**rows[wrong], "filtered_resps": ["Milan"], "exact_match": 0.0}
    return "".join(json.dumps(row) + "\n" for row in rows)


def inspect_log(wrong: int) -> str:
    """A log of Inspect of three samples, one of them wrong."""
    samples = [inspect_sample(at, "Milan" if at == wrong else QUESTIONS[at][1]) for at in range(3)]
    return json.dumps({**ABOUT, "samples": samples})


def promptfoo_log(wrong: int) -> str:
    """Results of one provider of promptfoo on three tests, one of them wrong, in an order of their own."""
    value = promptfoo()
    rows = [row for row in value["results"]["results"] if row["provider"]["label"] == "small"]
    rows[wrong] = {**rows[wrong], "response": {"output": "Milan"}, "success": False, "score": 0.0}
    value["results"]["results"] = rows[wrong:] + rows[:wrong]
    return json.dumps(value)


def test_the_next_step_of_a_second_log_compares_it_with_the_first(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names both runs as `compare` takes them."""
    for folder, wrong in (("a", 1), ("b", 2)):
        (place / folder).mkdir()
        (place / folder / "samples_geo.jsonl").write_text(lm_eval_log(wrong))
        assert main(["import", f"{folder}/samples_geo.jsonl"]) == EXIT_OK
    step = next(line for line in capsys.readouterr().out.splitlines()[::-1] if line.startswith("next: "))
    assert step.startswith("next: evalsuite compare geo-flexible 'geo-flexible (samples_geo)'")
    assert main(shlex.split(step)[2:]) == EXIT_OK
    for more in ([], ["--compare"]):
        capsys.readouterr()
        assert main(["import", "b/samples_geo.jsonl", *more]) == EXIT_OK
        assert ("done: imported suite 'geo'" in capsys.readouterr().out) != bool(more)


@pytest.mark.parametrize("seed", [1, 4, 5, 8, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3, 6, 7, 9, 10, 11))])
def test_a_test_under_several_providers_is_one_instance(place: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """Whatever the number of providers and prompts and the order of results, no run misses an instance that its provider answered."""
    draw = random.Random(seed)
    n_tests, n_prompts, providers = draw.randint(1, 8), draw.randint(1, 3), [f"model {n}" for n in range(draw.randint(2, 4))]
    is_named, rows = draw.random() < 0.5, []
    for at, provider in enumerate(providers):
        for prompt in range(n_prompts):
            for test in range(n_tests):
                row = {
                    # As promptfoo counts them: every prompt of every provider has a number of its own.
                    **{"promptIdx": at * n_prompts + prompt, "testIdx": test, "provider": {"id": provider, "label": provider}},
                    "prompt": {"raw": f"{prompt}: question {test}", "label": f"{prompt}: {{{{q}}}}"},
                    **{"vars": {"q": f"question {test}", "reference": "x"}, "response": {"output": draw.choice("xy")}},
                    **{"success": True, "score": draw.choice([0.0, 1.0])},
                }
                rows.append({**row, "promptId": f"sha {prompt}"} if is_named else row)
    if draw.random() < 0.5:
        draw.shuffle(rows)
    if draw.random() < 0.3:
        # Older logs count no tests.
        rows = [{key: value for key, value in row.items() if key != "testIdx"} for row in rows]
    (place / "r.json").write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    found = imported(capsys, "r.json")
    assert sorted(run["name"] for run in found["runs"]) == providers
    for run in (place / ".evalsuite/runs").iterdir():
        results = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
        assert len(results) == n_tests * n_prompts
        assert [row["status"] for row in results] == ["scored"] * len(results)
    assert main(["compare", *providers[:2]]) == EXIT_OK


def _repeated(name: str) -> str:
    """A log of that tool in which each sample stands twice, under one id."""
    if name.endswith(".jsonl"):
        return lm_eval_log(0) + lm_eval_log(0)
    key, log = ("samples", json.loads(inspect_log(0))) if name == "inspect.json" else ("results", json.loads(promptfoo_log(0)))
    holder = log if key == "samples" else log["results"]
    holder[key] *= 2
    return json.dumps(log)


@pytest.mark.parametrize("name", ["promptfoo.json", "inspect.json", "samples_x.jsonl"])
def test_a_sample_that_was_repeated_loses_no_result(place: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The same sample of the same run once more is an instance of its own, and the report counts as many as the import said."""
    (place / name).write_text(_repeated(name))
    counts = [run["n"] for run in imported(capsys, name)["runs"]]
    for run in (place / ".evalsuite/runs").iterdir():
        ids = [json.loads(line)["instance_id"] for line in (run / "results.jsonl").read_text().splitlines()]
        assert len(ids) == counts.pop()
        half = len(ids) // 2
        assert ids[half:] == [f"{i}.repeat2" for i in ids[:half]]


# From Python 3.12 on a comprehension within a call is no call of its own.
_DEPTH = 450 if sys.version_info < (3, 12) else 900
_HUGE, _DEEP = 10**400, json.loads("[" * _DEPTH + "]" * _DEPTH)


@pytest.mark.parametrize(("make", "path", "value", "theirs"), [
    (promptfoo, ("results", "results", 0, "score"), _HUGE, 1.0),
    (promptfoo, ("results", "results", 0, "score"), float("nan"), 1.0),
    (promptfoo, ("results", "results", 0, "score"), 7, 1.0),
    (promptfoo, ("results", "results", 0, "score"), 1.0000000000000002, 1.0),
    (promptfoo, ("results", "results", 0), {"score": 1, "gradingResult": {"pass": True, "score": 1, "reason": "No assertions"}}, None),
    (promptfoo, ("results", "results", 0), {"score": None, "success": None}, None),
    (promptfoo, ("results", "results", 0), {"score": None, "success": "false"}, None),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "scores", "match", "value"), _HUGE, None),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "scores", "match", "value"), float("nan"), None),
    (lambda: json.loads(inspect_log(1)), ("samples", 1, "scores", "match", "value"), 7, None),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "scores", "match", "value"), "Yes", 1.0),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "scores", "match", "value"), "false", 0.0),
    *(
        (lambda: json.loads(inspect_log(1)), ("samples", 0, "scores", "match", "value"), value, None)
        for value in ({"a": 1, "b": 0}, [1, 0], "good")
    ),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "target"), 4, 1.0),
    (lambda: json.loads(inspect_log(1)), ("samples", 0, "input"), _DEEP, "left out"),
    (lambda: json.loads(inspect_log(1)), ("samples", 0), {"score": 1, "input": "attachment://a", "attachments": {"a": 5}}, 1.0),
])  # fmt: skip
def test_an_odd_value_is_no_verdict(
    place: Path, capsys: pytest.CaptureFixture[str], make: Any, path: tuple[str | int, ...], value: Any, theirs: float | str | None
) -> None:
    """A number on another scale, none or a text is no 0, no 1 and no crash: the other verdict, none, or a sample left out by name."""
    log = make()
    holder = log
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = {**holder[path[-1]], **value} if isinstance(value, dict) and "score" in value else value
    (place / "odd.json").write_text(json.dumps(log))
    assert main(["import", "odd.json", "--json"]) == EXIT_OK
    out, err = capsys.readouterr()
    if theirs == "left out":
        assert "sample 1 cannot be read and is left out" in err
    else:
        has_scale = value in (_HUGE, 7)
        assert (json.loads(out)["runs"][0]["cases"][0]["theirs"], "its scores are not all from 0 to 1" in err) == (theirs, has_scale)
        is_odd = (isinstance(value, dict | list) and "score" not in value) or value == "good"
        assert ("1 sample has a score match that is neither a number nor a letter of Inspect, so not judged\n" in err) == is_odd
        assert err.count("\n") == has_scale + is_odd


@pytest.mark.parametrize("chances", [[_HUGE, -1.0], [float("nan"), -1.0], ["x", "y"]])
def test_a_line_without_a_likeliest_continuation_is_left_out(place: Path, capsys: pytest.CaptureFixture[str], chances: list[Any]) -> None:
    """It is named, also as the last one, which is not cut."""
    row = {**lm_eval()[0], "arguments": [["q", " a"], ["q", " b"]], "filtered_resps": [[chance, False] for chance in chances]}
    (place / "samples_c.jsonl").write_text(json.dumps(lm_eval()[0]) + "\n" + json.dumps(row))
    assert main(["import", "samples_c.jsonl"]) == EXIT_OK
    assert "line 2 cannot be read and is left out" in capsys.readouterr().err


def test_a_damaged_sample_of_an_archive_is_left_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that cannot be unpacked cost their sample, by name; those of the header, or a password, the log."""
    with zipfile.ZipFile(place / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(ABOUT))
        for at in range(2):
            archive.writestr(f"samples/{at}.json", json.dumps(inspect_sample(at, "Paris")))
        starts = [info.header_offset + 30 + len(info.filename) for info in archive.infolist()]
    whole = (place / "log.eval").read_bytes()

    def damaged(at: int, mask: int) -> tuple[int, str]:
        data = bytearray(whole)
        data[at] |= mask
        (place / "log.eval").write_bytes(bytes(data))
        return main(["import", "log.eval"]), capsys.readouterr().err

    code, err = damaged(starts[2], 0x06)
    assert (code, "samples/1.json cannot be read and is left out" in err) == (EXIT_OK, True)
    for at, mask in ((starts[0], 0x06), (whole.index(b"PK\x01\x02") + 8, 0x01)):
        code, err = damaged(at, mask)
        assert (code, "log.eval: not a complete Inspect log" in err) == (EXIT_USAGE, True)


ASKED = ["Capital of France?", "Capital of Italy?", "Hôtel, “quoted”?"]
REFERENCES = ["Paris", "Rome", "oui\nnon"]
ANSWERS = ["Paris", "Milan", "\udcff oui\nnon"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved run of three cases, the second wrong, in the working folder."""
    monkeypatch.chdir(tmp_path)
    suite = evalsuite.TestSuite("capitals", "string_match", input_text_list=ASKED, reference_output_list=REFERENCES)
    suite.run("mine", candidate_output_list=ANSWERS, model_name="some/model")
    return "mine"


@pytest.mark.parametrize(("file", "form"), [("log.json", "inspect"), ("samples_capitals.jsonl", "lm-eval")])
def test_what_is_written_is_read_again(run: str, file: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions, references, answers and verdicts of each case are those that were written."""
    assert main(["export", run, file]) == EXIT_OK
    assert f"done: wrote 3 samples to {file} in the format of {form}" in capsys.readouterr().out
    assert main(["import", file, "--name", "back", "--json"]) == EXIT_OK
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == form
    cases = found["runs"][0]["cases"]
    assert [case["input"] for case in cases] == ASKED
    assert [case["reference"] for case in cases] == REFERENCES
    assert [case["output"] for case in cases][:2] == ANSWERS[:2]
    assert [case["theirs"] for case in cases] == [1, 0, 1]


@pytest.mark.parametrize("file", ["log.json", "log.jsonl", "suite.json"])
def test_a_written_file_is_as_it_looks(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters that turn a line round or are not seen are escaped, and are read back."""
    monkeypatch.chdir(tmp_path)
    answer = "x \u202egnp.exe\u200b"
    suite = evalsuite.TestSuite("odd", "string_match", input_text_list=["what?"], reference_output_list=["x"])
    suite.run("mine", candidate_output_list=[answer])
    assert main(["suite", "export", "odd", file] if file == "suite.json" else ["export", "mine", file]) == EXIT_OK
    written = Path(file).read_text(encoding="utf-8")
    assert ("\u202e" in written, "\u200b" in written, "x \\u202egnp.exe\\u200b" in written) == (False, False, True)


def test_inspects_own_reader_takes_the_log(run: str, tmp_path: Path) -> None:
    """Where Inspect is installed its reader finds the three samples, the verdicts and the model."""
    inspect_log = pytest.importorskip("inspect_ai.log", reason="needs inspect-ai, which no extra brings")
    assert main(["export", run, "log.json"]) == EXIT_OK
    log: Any = inspect_log.read_eval_log(str(tmp_path / "log.json"))
    assert (log.status, log.eval.task, log.eval.model) == ("success", "capitals", "some/model")
    assert [sample.scores["string_match"].value for sample in log.samples] == [1, 0, 1]
    assert log.samples[1].output.completion == "Milan"


def test_what_has_no_place_in_a_log_is_said(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of files alone is refused, and so are an ending without a form and gold that may not be seen."""
    assert main(["export", run, "log.txt"]) == EXIT_USAGE
    assert "--as inspect, or --as lm-eval" in capsys.readouterr().err
    assert main(["export", run, "log.txt", "--as", "lm-eval"]) == EXIT_OK
    assert "wrote 3 samples to log.txt in the format of lm-eval" in capsys.readouterr().out
    assert main(["export", run, "log.json", "--reveal", "class"]) == EXIT_USAGE
    assert "questions and references of a log are gold's, which is hidden here" in capsys.readouterr().err
    assert not (tmp_path / "log.json").exists()
