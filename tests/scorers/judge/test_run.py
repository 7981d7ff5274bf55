"""Whole runs with a judge: verdicts become results, silence an interval, settings come from several files; no figure moves in outages."""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.core.disk_cache import FILE
from evalsuite.reports import encode
from evalsuite.reports.record import record_of_run, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.runs.rescoring import Shard, merge
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from tests.conftest import ROOT
from tests.processes import started
from tests.reports.viewer.served import ask, viewer
from tests.scorers.judge.conftest import KEY, Serve, judged, section, write_folders, write_rows
from tests.scorers.judge.server import Say, Server, completion, prompt_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "here")


def scored(submission: Path, gold: Path, **options: Any) -> Run:
    """A run in the test's folder."""
    return run(submission, gold, RunOptions(isolation="none", **options))


def by_grade(body: dict[str, Any], _: int) -> str:
    """A judge that gives the digit in the answer, and nothing where it holds none."""
    answer = prompt_of(body).split("<answer ", 1)[1].split("\n")[1]
    return f'{{"score": {answer[-1]}}}' if answer[-1].isdigit() else "Hm."


def test_verdicts_become_results(serve: Serve) -> None:
    """Scores stand in gold order; silence widens the interval; of two checks the better counts; a missing answer asks nothing."""
    server = serve(by_grade)
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    where = write_folders(section(server.base_url), [judged(), judged(), match, judged(), judged()], ["a5", "a3", "in Oslo", "silent"])
    finished = scored(*where)
    assert [(r.instance_id, r.status, r.score) for r in finished.results] == [
        ("q0", "scored", 1.0),
        ("q1", "scored", 0.6),
        ("q2", "scored", 1.0),
        ("q3", "unscored", None),
        ("q4", "missing", 0.0),
    ]
    assert finished.results[3].fault == "NO_VERDICT"
    assert finished.summary.counts["unscored"] == 1
    assert (finished.summary.chosen.low, finished.summary.chosen.high) == (pytest.approx(2.6 / 5), pytest.approx(3.6 / 5))
    assert all("Question" in prompt_of(body) for body in server.asked)
    assert len(server.asked) == 4
    server = serve(by_grade)
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    where = write_folders(section(server.base_url), [[match, judged()]] * 3, ["a3", "Oslo silent", "silent"])
    assert [(r.status, r.score) for r in scored(*where).results] == [("scored", 0.6), ("scored", 1.0), ("unscored", None)]


def test_pages_show_what_the_judge_was_asked_and_replied(serve: Serve, tmp_path: Path) -> None:
    """Prompt, raw reply and reading of each verdict stand in the page, of a composite too; of a hidden suite nothing does."""
    server = serve(lambda _, number: '{"score": 4, "why": "<b>near</b>"}' if number % 2 else "I cannot <say>.")
    mixed = {"func": "composite", "parameters": {"gold": "Oslo", "parts": [{"llm_judge": {}}, {"f1": {}}], "on_missing": "zero"}}
    where = write_folders(section(server.base_url, repeats=2), [judged(gold="Paris or so"), mixed], ["a city", "a town"])
    record = record_of_run(scored(*where))
    page = b"".join(encode(run_document(record), ".html")).decode()
    assert page.count("Prompts and replies of the judge") >= 1
    assert all(text in page for text in ("Question 0?", "Paris or so", "&lt;b&gt;near&lt;/b&gt;", "Read as m: 0.8 (4)"))
    assert "<b>near" not in page
    account = record.results[0].details["judge"]
    assert [len(account[key]) for key in ("verdicts", "transcript")] == [2, 2]
    assert "asked" in account["transcript"][0]
    assert "asked" not in account["transcript"][1]
    hidden = b"".join(encode(run_document(redact_record(record, "class")), ".html")).decode()
    assert not any(text in hidden for text in ("Question 0?", "Paris or so", "near"))


@pytest.mark.parametrize(("judge", "says"), [
    (None, "judge.model is not set"),
    ({"model": "m"}, "judge.base_url is not set"),
    ({"model": "m", "base_url": "http://127.0.0.1:9/v1", "key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE"),
])  # fmt: skip
def test_no_judge_is_unscored_with_a_hint(judge: dict[str, Any] | None, says: str) -> None:
    """Without a judge nothing crashes: the instance is unscored, the reason names the key, and the others are scored."""
    match = {"func": "string_match", "parameters": {"gold": "Oslo"}}
    finished = scored(*write_folders(judge, [judged(), match], ["a5", "Oslo"]))
    first, second = finished.results
    assert (first.status, first.score, first.fault) == ("unscored", None, "NO_JUDGE")
    assert says in first.reason
    assert "suite.yaml" in first.details["hint"]
    assert second.score == 1


def test_a_judge_that_is_down_leaves_all_unscored(serve: Serve) -> None:
    """HTTP 500 for ever: every judged instance is unscored with the reason, none is 0."""
    server = serve(lambda *_: Say(status=500))
    finished = scored(*write_folders(section(server.base_url, retries=1), [judged()] * 12, [f"a{n}" for n in range(12)]))
    assert {(r.status, r.score, r.fault) for r in finished.results} == {("unscored", None, "JUDGE_FAILED")}
    assert (finished.summary.chosen.low, finished.summary.chosen.high) == (0, 1)


def test_a_cache_that_cannot_be_written_is_named(serve: Serve) -> None:
    """The run has its scores; a warning counts the calls that the next one makes again, and there is none with a good cache."""
    Path("blocked").touch()
    says = ["judge.cache blocked cannot be written: another run makes 2 calls of this one again"]
    for cache, expected in (("blocked", says), ("good", [])):
        finished = scored(*write_folders(section(serve(by_grade).base_url, cache=cache), [judged()] * 2, ["a1", "a2"]))
        assert [result.score for result in finished.results] == [0.2, 0.4]
        assert [text for text in finished.warnings if "judge.cache" in text] == expected


def test_merged_shards_have_what_the_judge_cost_in_all(serve: Serve, tmp_path: Path) -> None:
    """Calls, tokens and costs are added up; the served models are those of all shards."""

    def served(body: dict[str, Any], _: int) -> Say:
        model = "m-1" if "a1" in prompt_of(body) else "m-2"
        return Say(raw=json.dumps({**json.loads(completion(by_grade(body, 0))), "model": model}).encode())

    server = serve(served)
    prices = {"price_per_1k_prompt": 0.1, "price_per_1k_completion": 0.3, "cache": ""}
    where = write_folders(section(server.base_url, **prices), [judged()] * 3, ["a2", "a1", "a3"])
    for shard in (None, Shard(1, 2), Shard(2, 2)):
        scored(*where, out=tmp_path / f"run-{shard.i if shard else 0}", shard=shard)
    merge([tmp_path / "run-1", tmp_path / "run-2"], tmp_path / "merged")
    whole, merged = (json.loads((tmp_path / name / "run.json").read_text())["judge"] for name in ("run-0", "merged"))
    assert sorted(merged.pop("served")) == sorted(whole.pop("served")) == ["m-1", "m-2"]
    assert merged == whole
    assert (whole["calls"], whole["cost"] > 0) == (3, True)


def test_a_second_run_asks_only_what_had_no_verdict_and_the_key_is_nowhere(serve: Serve, tmp_path: Path, capfd: Any) -> None:
    """The same run again has the same scores and asks the silent one alone; no file holds the key, and nothing printed does."""
    server = serve(by_grade)
    where = write_folders(section(server.base_url), [judged()] * 4, ["a1", "a2", "a3", "silent"])
    first, second = (scored(*where) for _ in range(2))
    assert [r.score for r in first.results] == [r.score for r in second.results] == [0.2, 0.4, 0.6, None]
    assert len(server.asked) == 5 + 2
    assert all("silent" in prompt_of(body) for body in server.asked[5:])
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {FILE, "results.jsonl", "run.json"} <= {file.name for file in files}
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert KEY not in "".join(capfd.readouterr())


def test_a_killed_run_goes_on_from_the_cache(serve: Serve, tmp_path: Path) -> None:
    """After a SIGKILL in the middle, the next run asks each question that had no reply, and no other one again."""
    three_answered = threading.Event()

    def rule(body: dict[str, Any], n: int) -> Say | str:
        if n <= 3:
            return by_grade(body, n)
        three_answered.set()
        return Say(hang=True)

    server = serve(rule)
    submission, gold = write_folders(section(server.base_url, concurrency=1), [judged()] * 6, [f"a{n % 5 + 1}" for n in range(6)])
    code = (
        "from pathlib import Path\nfrom evalsuite.runs.run_options import RunOptions as Options; from evalsuite.runs.scoring import run\n"
        f"run(Path({str(submission)!r}), Path({str(gold)!r}), Options(isolation='none'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with started([sys.executable, "-c", code], cwd=tmp_path, env=environment) as process:
        assert three_answered.wait(60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    answered = [prompt_of(body) for body in server.asked[:3]]
    server.rule = by_grade
    asked_before = len(server.asked)
    finished = scored(submission, gold)
    assert [r.score for r in finished.results] == [0.2, 0.4, 0.6, 0.8, 1.0, 0.2]
    again = [prompt_of(body) for body in server.asked[asked_before:]]
    assert len(again) == 3
    assert set(again).isdisjoint(answered)


def test_a_resumed_run_says_what_all_its_tries_cost(serve: Serve, tmp_path: Path) -> None:
    """The first try meets an outage half way; the second asks the rest, and calls, tokens and cost are those of both."""
    down = [True]

    def say(body: dict[str, Any], _: int) -> Say | str:
        return Say(status=500) if down[0] and "Question 2?" in prompt_of(body) else '{"score": 5}'

    server = serve(say)
    priced = section(server.base_url, price_per_1k_prompt=1, cache="", retries=0)
    where = write_folders(priced, [judged() for _ in range(3)], ["a", "b", "c"])
    first = scored(*where, out=tmp_path / "kept")
    assert first.judge is not None
    assert (first.judge["calls"], first.judge["cost"]) == (2, 0.2)
    with (tmp_path / "kept" / "judge_calls.jsonl").open("ab") as file:
        file.write(b"\n[100")  # killed while it noted one
    down[0] = False
    second = scored(*where, resume=tmp_path / "kept")
    assert second.judge is not None
    assert (second.judge["calls"], second.judge["prompt_tokens"], second.judge["cost"]) == (3, 300, 0.3)
    assert scored(*where, out=tmp_path / "kept").judge == second.judge, "another run in the same folder begins at nothing"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_judge_test_shows_the_wire_and_no_key(serve: Serve, capsys: pytest.CaptureFixture[str], provider: str) -> None:
    """Address, body, reply, time, reading and price stand there; where nobody answers it is exit 4 and says why."""
    reply = {"content": [{"type": "text", "text": '{"score": 5}'}], "usage": {"input_tokens": 100, "output_tokens": 10}, "model": "m-2026"}
    server = serve(lambda *_: '{"score": 5}' if provider == "openai" else Say(raw=json.dumps(reply).encode()))
    write_folders(section(server.base_url, provider=provider, price_per_1k_prompt=1, models=["m", "n"]), [judged()], ["a"])
    assert main(["judge", "test"]) == 0
    shown = capsys.readouterr().out
    for part in (
        f"POST {server.base_url}", "Who wrote Faust?", "HTTP 200 after", "reads   1: the judge says 5 of 5", "cost 0.1", "m, n can judge",
    ):  # fmt: skip
        assert part in shown
    assert KEY not in shown
    server.close()
    assert main(["judge", "test", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert [one["model"] for one in found] == ["m", "n"]
    assert "refused" in found[0]["fault"]


PARTS = [{"exact_match": {}, "weight": 0.5}, {"llm_judge": {}, "weight": 0.5}]


@pytest.mark.parametrize(("says", "on_missing", "fault"), [
    ("I would rather not say", "null", "UNDEFINED"),
    *((Say(status=400), on_missing, "JUDGE_FAILED") for on_missing in ("null", "renormalise", "zero")),
])  # fmt: skip
def test_composite_without_a_verdict_is_unscored(serve: Serve, says: Say | str, on_missing: str, fault: str) -> None:
    """Silence is an interval, an outage nobody's 0: nothing stands in for the part, whatever is done with parts without a value."""
    check = {"func": "composite", "parameters": {"gold": "Paris", "parts": PARTS, "on_missing": on_missing}}
    [result] = scored(*write_folders(section(serve(lambda *_: says).base_url), [check], ["Paris"]), save=False).results
    assert (result.status, result.score, result.fault) == ("unscored", None, fault)


@pytest.mark.parametrize(("func", "parameters"), [
    ("jaro_winkler", {"prefix_weight": "much"}), ("pass_at_k", {"k": "2"}), ("composite", {"parts": ["f1"], "aggregation": 5}),
    ("composite", {"parts": {"f1": 1}}), ("composite", {}), ("llm_judge", {"scale": "1-5"}),
])  # fmt: skip
def test_wrong_parameters_beside_a_judge_are_golds_fault(func: str, parameters: dict[str, Any]) -> None:
    """Whether a check asks the judge is looked at before it is scored; what cannot be made is a gold fault and no crash."""
    [result] = scored(*write_folders(section("http://127.0.0.1:9"), [judged(func, **parameters)], ["x"]), save=False).results
    assert (result.status, result.fault) == ("gold_fault", "BAD_SPEC")


def test_semantic_fields_of_a_tree_ask_the_suites_judge(serve: Serve) -> None:
    """Equal values are not asked; without a judge the answer is unscored, and says which key is missing."""
    server = serve(lambda *_: '{"results": [1]}')
    fields = {"name": {"type": "string", "x-eval-compare": "semantic"}, "year": {"type": "integer"}}
    city = {"name": "New York City", "year": 1900}
    check = judged("tree_match", gold=city, schema={"type": "object", "properties": fields})
    answers = [{**city, "name": "NYC"}, city]
    assert [result.score for result in scored(*write_folders(section(server.base_url), [check] * 2, answers), save=False).results] == [1, 1]
    assert {"NYC" in prompt_of(body) for body in server.asked} == {True}
    [result] = scored(*write_folders({}, [check], answers[:1]), save=False).results
    assert (result.status, result.score, result.fault) == ("unscored", None, "NO_JUDGE")


def test_check_and_score_ask_the_judge(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`check --judge suite.yaml` and `score(..., judge=...)` ask the same judge for one prediction."""
    how = section(serve(lambda *_: '{"score": 5}').base_url)
    Path("suite.yaml").write_text(json.dumps({"judge": how}))
    assert main(["check", "llm_judge", "--prediction", "Paris", "--gold", "Paris", "--judge", "suite.yaml"]) == 0
    assert "the judge says 5 of 5" in capsys.readouterr().out
    assert evalsuite.score("llm_judge", "Rome", gold="Paris", judge=how).official == 1
    assert evalsuite.score("composite", "Rome", gold="Paris", parts=PARTS, judge=how).official == pytest.approx(0.5)


def test_judge_yaml_goes_before_suite_yaml_and_the_option_before_both(serve: Serve) -> None:
    """Each key is taken from the nearest file that has it."""
    server = serve(lambda *_: '{"score": 5}')
    write_folders({"base_url": "http://127.0.0.1:9", "model": "old", "cache": False, "parameters": {"seed": 1}}, [judged()], ["Paris"])
    Path("gold/judge.yaml").write_text(json.dumps({"cache": False, "base_url": server.base_url, "model": "beside"}))
    run = evalsuite.evaluate("answers", "gold", save=False)
    assert (run.summary.score, server.asked[-1]["model"], server.asked[-1]["seed"]) == (1, "beside", 1)
    Path("mine.yaml").write_text("cache: false\nmodel: mine\n")
    for words, model in (
        ("run answers --gold gold --no-save --quiet --judge mine.yaml", "mine"),
        ("check llm_judge --prediction Goethe --gold Goethe --judge gold/judge.yaml", "beside"),
    ):
        assert main(words.split()) == 0
        assert server.asked[-1]["model"] == model


def test_only_what_moves_a_verdict_makes_runs_incomparable(serve: Serve) -> None:
    """Model, parameters, prompts and repeats stand in the signature by name; address, retries, concurrency, time limit and cache do not."""
    base = {"base_url": serve(lambda *_: '{"score": 5}').base_url, "model": "m", "cache": False}
    write_folders(None, [judged()], ["Paris"])

    def signature(*, inside: bool = False, **keys: Any) -> str:
        Path("gold/suite.yaml").write_text(json.dumps({"name": "s", **({"judge": {**base, **keys}} if inside else {})}))
        Path("gold/judge.yaml").write_text(json.dumps({"model": "m"} if inside else {**base, **keys}))
        return evalsuite.evaluate("answers", "gold", save=False).signature

    plain = signature()
    assert "|judge:m|" in plain
    same = {"retries": 1, "concurrency": 2, "timeout_seconds": 9, "backoff_seconds": 0.1, "price_per_1k_prompt": 3, "cache": "known"}
    assert signature(**same) == plain
    assert signature(inside=True) == signature(inside=True, **same)
    for keys, named in (({"model": "n"}, "judge:n"), ({"parameters": {"seed": 7}}, "seed=7"), ({"repeats": 3}, "repeats=3")):
        other = signature(**keys)
        assert named in other
        assert other != plain
    Path("gold/own").mkdir()
    Path("gold/own/llm_judge.txt").write_text("Rate {{prediction}}")
    assert "prompts=7d7dac9f|" in signature(prompts="own")


@pytest.mark.parametrize("n_tokens", [100, 0])
def test_max_cost_ends_the_asking(serve: Serve, n_tokens: int) -> None:
    """What a run may cost is not passed by more than what is under way; the rest is unscored and says why. Replies without counts warn."""
    server = serve(lambda *_: Say(raw=completion('{"score": 5}', prompt_tokens=n_tokens, completion_tokens=n_tokens)))
    prices = {"price_per_1k_prompt": 1, "price_per_1k_completion": 1, "max_cost": 0.001, "concurrency": 1, "cache": False}
    run = scored(*write_folders(section(server.base_url, **prices), [judged()] * 6, ["a"] * 6), save=False)
    warnings = [text for text in run.warnings if "max_cost" in text]
    if not n_tokens:
        assert warnings == ["judge.max_cost does not count 6 calls whose reply has no token counts: the cost may exceed it"]
        assert [result.status for result in run.results] == ["scored"] * 6
        return
    assert not warnings
    assert [result.status for result in run.results] == ["scored", *["unscored"] * 5]
    assert "max_cost" in run.results[1].reason
    assert len(server.asked) == 1


ADDRESS = "base_url: https://x/v1?api_key=sk-abcdefgh12345678"


@pytest.mark.parametrize(("words", "file", "text", "says", "hint"), [
    ("judge test", "x", "", "no judge is configured", ""),
    ("judge test", "gold/judge.yaml", "model: m\nprovidr: azure", "judge.yaml:2: unknown key 'providr'", "did you mean 'provider'?"),
    ("judge test --gold .", "suite.yaml", "judge: {modle: m}", "suite.yaml:1: unknown key", ""),
    ("check llm_judge --prediction x --gold x", "x", "", "NO_JUDGE", ""),
    ("check llm_judge --prediction x --gold x --judge suite.yaml", "suite.yaml", "name: x", "no `judge` section", ""),
    ("run answers --gold gold", "gold/judge.yaml", "modle: m", "judge.yaml:1: unknown key 'modle' in judge", ""),
    ("run answers --gold gold", "gold/judge.yaml", "model: m\nretries: -1", "judge.yaml:2: judge.retries must be at least", ""),
    ("run answers --gold gold", "gold/judge.yaml", "judge: {concurency: 2}", "did you mean 'concurrency'", ""),
    ("run answers --gold gold", "gold/judge.yaml", "[]", "not a mapping", ""),
    ("run answers --gold gold", "gold/judge.yaml", "", "no `judge` section", ""),
    ("run answers --gold gold", "gold/judge.yaml", "model: m\nmodel: n", "is repeated", ""),
    ("gold check gold", "gold/suite.yaml", "judge:\n  model: m\n  modle: m", "gold/suite.yaml:3: unknown key 'modle' in judge", ""),
    ("gold check gold", "gold/suite.yaml", "judge:\n  retries: -1", "gold/suite.yaml:2: judge.retries must be at least 0", ""),
    ("CREATE", "j.yaml", "retries: 1\nprovider: opnai", "j.yaml:2: judge.provider must be", "did you mean 'openai'"),
    ("CREATE", "j.yaml", "modle: m", "j.yaml:1: unknown key 'modle'", "did you mean 'model'"),
    ("CREATE", "j.yaml", "api_key: sk-abcdefgh12345678", "unknown key 'api_key'", "a key is written nowhere"),
    ("CREATE", "j.yaml", "key_env: sk-abcdefgh12345678", "judge.key_env is not the name", "a key is written nowhere"),
    ("CREATE", "j.yaml", ADDRESS, "judge.base_url contains a key", "a key is written nowhere"),
    ("CREATE", "j.yaml", ADDRESS.replace("x/v1?api_key=", "me:") + "@x", "base_url contains a user name", "a key is written nowhere"),
])  # fmt: skip
def test_what_cannot_be_meant_has_file_and_line_and_no_key_is_shown_or_kept(
    here: Path, capsys: pytest.CaptureFixture[str], words: str, file: str, text: str, says: str, hint: str
) -> None:
    """Nothing is scored, and the near key is named; a key that somebody wrote into a file stays in that file, and is not quoted."""
    write_folders(None, [judged()], ["Paris"])
    Path("q.csv").write_text("input,reference_output\na,b\n")
    Path(file).write_text(text)
    assert main(words.replace("CREATE", "suite create s --from q.csv --scorer llm_judge --judge j.yaml").split()) == 2
    said = capsys.readouterr().err
    assert says in said
    assert hint in said
    assert "sk-abcdefgh" not in said
    assert [path.name for path in here.rglob("*") if path.is_file() and b"sk-abcdefgh" in path.read_bytes()] in ([], [file])


N_TEXTS, N_ASKED = 3, 4
Outage = Callable[[dict[str, Any]], Say | str]


OUTAGES: dict[str, tuple[Outage, int]] = {
    "half down": (lambda body: '{"score": 5}' if re.search("Question [01][?]", prompt_of(body)) else Say(status=500), 2),
    "all down": (lambda _: Say(status=500), 0),
    "hangs": (lambda _: Say(hang=True), 0),
    "wrong key": (lambda _: Say(status=401), 0),
    "broken JSON": (lambda _: Say(raw=b'{"choices": [{"message"'), 0),
    "nonsense": (lambda _: "{ Hm", 0),
}


# One in the line, all under `slow`.
EACH = [pytest.param(name, marks=() if name == "half down" else pytest.mark.slow) for name in OUTAGES]


def _set_up(server: Server, n_judged: int) -> None:
    """Gold of texts and questions, and of questions alone; `a` and `b` differ in what the judge does not judge."""
    own = json.dumps({"judge": section(server.base_url, retries=0, timeout_seconds=0.2)})
    texts = [{"instance_id": f"s{n}", "evaluation": {"func": "string_match", "parameters": {"gold": "Paris"}}} for n in range(N_TEXTS)]
    asked = [{"instance_id": f"j{n}", "question": f"Question {n}?", "evaluation": judged()} for n in range(N_ASKED)]
    for gold, lines in (("gold", texts + asked), ("judge_only", asked)):
        write_rows(Path(gold, "x_eval.jsonl"), lines)
        Path(gold, "suite.yaml").write_text(own)
    for name, word in (("a", "Paris"), ("b", "Rome, or something else")):
        said = ["Paris", "Paris", "Rome", *("Paris" if n < n_judged else word for n in range(N_ASKED))]
        rows = [
            {"instance_id": line["instance_id"], "answer_type": "answer", "answer_or_path": text}
            for line, text in zip(texts + asked, said, strict=True)
        ]
        write_rows(Path(name, "results_metadata.jsonl"), rows)
        write_rows(Path(f"{name}.jsonl"), [{"candidate_output": text} for text in said[N_TEXTS:]])
    write_rows(Path("cases.jsonl"), [{"input": f"Question {n}?", "reference_output": "Paris"} for n in range(N_ASKED)])
    Path("of_judge").mkdir()
    Path("of_judge/suite.yaml").write_text(own)


def _called(capsys: pytest.CaptureFixture[str], words: str, code: int) -> list[str]:
    """The lines that a command prints, which must end with this code."""
    capsys.readouterr()
    assert main(words.split()) == code, words
    return capsys.readouterr().out.splitlines()


def _without_names(text: str) -> str:
    """What a text says, whoever it says it of."""
    return re.sub(r"(?<![\w-])[ab](?![\w-])|\d{8}-\d{6}[\w-]*|[0-9a-f]{12,}|[\d.]+ ?m?s\b|\d+ minutes?|\d\d:\d\d(:\d\d)?", "*", text)


@pytest.mark.parametrize("outage", EACH)
def test_no_figure_moves_with_what_nobody_judged(outage: str, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """run, gates, runs list, compare, leaderboard, suite run say the same of two submissions that differ only there; exit 4, never a 0."""
    rule, n_judged = OUTAGES[outage]
    server = serve(lambda body, _: rule(body))
    _set_up(server, n_judged)
    n, total = N_TEXTS + n_judged, N_TEXTS + N_ASKED
    printed, stored = [], []
    for name in ("a", "b"):
        shown = _called(capsys, f"run {name} --gold gold --isolation none --out {name}_run", 4)
        assert shown[-1].startswith(f"done: judged {n}/{total}: ")
        assert sum("HTTP" in line for line in shown) <= 2 + (n_judged > 0)
        numbers = [line for line in shown if re.match(r" (instance|score|strict|reference|by |7 inst|done)", line)]
        printed.append([_without_names(line) for line in [*numbers, shown[-1]]])
        stored.append(json.loads(Path(f"{name}_run/run.json").read_text())["summary"])
        assert _called(capsys, f"run {name} --gold judge_only --isolation none -q --no-save --fail-under 0", 4 if n_judged else 1)
    assert printed[0] == printed[1]
    assert stored[0] == stored[1]
    assert (stored[0]["n_judged"], stored[0]["counts"]["unscored"]) == (n, N_ASKED - n_judged)
    assert stored[0]["score"] == pytest.approx((2 + n_judged) / n)
    whole = json.loads("\n".join(_called(capsys, "compare a_run b_run --json --fail-on-regression", 0)))
    (other,) = whole["candidates"]
    assert (other["total"]["n"], other["total"]["a"], other["total"]["b"]) == (n, stored[0]["score"], stored[0]["score"])
    board = json.loads("\n".join(_called(capsys, "leaderboard a b --gold gold --isolation none --json", 4)))
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(None, stored[0]["score"], n)] * 2
    listed = [line.partition("  ")[2] for line in _called(capsys, "runs list", 0)]
    assert len({_without_names(line) for line in listed}) == 1
    with viewer(Path.cwd()) as address:
        suites = ask(address, "/api/v1/test_suites").json["test_suites"]
        for page in ("/", "/suites/" + next(one["id"] for one in suites if one["name"] == "gold")):
            figures = re.findall(r"(\d+\.\d) %\s*<span class=\"sub\">judged (\d+/\d+)", ask(address, page).body)
            assert set(figures) == {(f"{stored[0]['score'] * 100:.1f}", f"{n}/{total}")}
    _called(capsys, "suite create s --from cases.jsonl --scorer llm_judge --judge of_judge/suite.yaml", 0)
    suite = [_called(capsys, f"suite run s {name}_of_s --from {name}.jsonl", 4)[0] for name in ("a", "b")]
    assert f"judged {n_judged}/{N_ASKED}" in suite[0] if n_judged else f"nothing judged (0 of {N_ASKED})" in suite[0]
    assert len({_without_names(line.partition(": ")[2].partition(", saved")[0]) for line in suite}) == 1


def test_an_answer_without_a_verdict_is_wrong_where_that_is_said(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`--invalid-as zero` counts it as 0 with its code, in a run of another signature that verifies; what was not asked stays unjudged."""
    server = serve(lambda body, _: "Hm." if "Question 0" in prompt_of(body) else Say(status=500))
    _set_up(server, 0)
    _called(capsys, "run a --gold gold --isolation none -q --out null --invalid-as null", 4)
    _called(capsys, "run a --gold gold --isolation none -q --out zero --invalid-as zero", 4)
    rows = {row["instance_id"]: row for row in map(json.loads, Path("zero/results.jsonl").read_text().splitlines())}
    assert [(rows[name]["status"], rows[name]["score"], rows[name]["fault"]) for name in ("j0", "j1")] == [
        ("scored", 0, "NO_VERDICT"),
        ("unscored", None, "JUDGE_FAILED"),
    ]
    null, zero = (json.loads(Path(name, "run.json").read_text()) for name in ("null", "zero"))
    assert (null["summary"]["n_judged"], zero["summary"]["n_judged"]) == (N_TEXTS, N_TEXTS + 1)
    assert zero["signature"].replace("|invalid:zero", "") == null["signature"] != zero["signature"]
    assert "matches its claims: in part, 4 not verified (exit 4)" in _called(capsys, "verify zero", 4)[-1]
    _called(capsys, "compare null zero", 2)
    # Scored again it stays so.
    _called(capsys, f"rescore {Path.cwd()}/zero --isolation none -q --runs again", 4)
    (again,) = Path("again").glob("*/run.json")
    assert json.loads(again.read_text())["signature"] == zero["signature"]
