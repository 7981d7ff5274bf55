"""The judge apart from gold: judge.yaml beside the suite, --judge over it, and what of both makes runs incomparable."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from tests.scorers.judge.conftest import Serve
from tests.scorers.judge.server import Say, completion

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold with one judged instance, and an answer to it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").mkdir()
    (tmp_path / "answers").mkdir()
    entry = {"instance_id": "q1", "question": "Who?", "evaluation": {"func": "llm_judge", "parameters": {"gold": "Goethe"}}}
    (tmp_path / "gold" / "x_eval.jsonl").write_text(json.dumps(entry))
    answer = {"instance_id": "q1", "answer_type": "answer", "answer_or_path": "It was Goethe"}
    (tmp_path / "answers" / "results_metadata.jsonl").write_text(json.dumps(answer))
    return tmp_path


def judge_yaml(file: Path, **keys: Any) -> Path:
    """A judge.yaml of these keys."""
    file.write_text(json.dumps({"cache": False, **keys}))
    return file


def test_judge_yaml_goes_before_suite_yaml_and_the_option_before_both(place: Path, serve: Serve) -> None:
    """Each key is taken from the nearest file that has it."""
    server = serve(lambda *_: '{"score": 5}')
    suite = {"judge": {"base_url": "http://127.0.0.1:9", "model": "old", "cache": False, "parameters": {"seed": 1}}}
    (place / "gold" / "suite.yaml").write_text(json.dumps(suite))
    judge_yaml(place / "gold" / "judge.yaml", base_url=server.base_url, model="beside")
    run = evalsuite.evaluate("answers", "gold", save=False)
    assert (run.summary.score, server.asked[-1]["model"], server.asked[-1]["seed"]) == (1, "beside", 1)
    judge_yaml(place / "mine.yaml", model="mine")
    assert main(["run", "answers", "--gold", "gold", "--no-save", "--quiet", "--judge", "mine.yaml"]) == 0
    assert server.asked[-1]["model"] == "mine"
    words = ["check", "llm_judge", "--prediction", "Goethe", "--gold", "Goethe", "--judge", "gold/judge.yaml"]
    assert main(words) == 0
    assert server.asked[-1]["model"] == "beside"


def test_only_what_moves_a_verdict_makes_runs_incomparable(place: Path, serve: Serve) -> None:
    """Model, parameters, prompts and repeats stand in the signature by name; address, retries, concurrency, time limit and cache do not."""
    server = serve(lambda *_: '{"score": 5}')

    def signature(*, inside: bool = False, **keys: Any) -> str:
        said = {"base_url": server.base_url, "model": "m", "cache": False, **keys}
        (place / "gold" / "suite.yaml").write_text(json.dumps({"name": "s", "judge": said} if inside else {"name": "s"}))
        (place / "gold" / "judge.yaml").unlink(missing_ok=True)
        if not inside:
            judge_yaml(place / "gold" / "judge.yaml", **said)
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
    (place / "gold" / "own").mkdir()
    (place / "gold" / "own" / "llm_judge.txt").write_text("Rate {{prediction}}")
    assert "prompts=7d7dac9f|" in signature(prompts="own")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("modle: m", "judge.yaml:1: unknown key 'modle' in judge"),
        ("base_url: http://x\nretries: -1", "judge.yaml:2: judge.retries must be at least 0"),
        ("judge: {concurency: 2}", "did you mean 'concurrency'"),
        ("[]", "not a mapping"),
        ("", "no `judge` section"),
        ("model: m\nmodel: n", "is repeated"),
    ],
)
def test_a_judge_yaml_that_cannot_be_meant(place: Path, capsys: pytest.CaptureFixture[str], text: str, says: str) -> None:
    """An unknown key is met with file, line and the near one; nothing is scored."""
    (place / "gold" / "judge.yaml").write_text(text)
    assert main(["run", "answers", "--gold", "gold", "--no-save"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("n_tokens", [100, 0])
def test_max_cost_ends_the_asking(place: Path, serve: Serve, n_tokens: int) -> None:
    """What a run may cost is not passed by more than what is under way; the rest is unscored and says why. Replies without counts warn."""
    server = serve(lambda *_: Say(raw=completion('{"score": 5}', prompt_tokens=n_tokens, completion_tokens=n_tokens)))
    entry = json.loads((place / "gold" / "x_eval.jsonl").read_text())
    names = [f"q{n}" for n in range(6)]
    (place / "gold" / "x_eval.jsonl").write_text("\n".join(json.dumps({**entry, "instance_id": name, "question": name}) for name in names))
    answer = {"answer_type": "answer", "answer_or_path": "It was Goethe"}
    (place / "answers" / "results_metadata.jsonl").write_text("\n".join(json.dumps({"instance_id": name, **answer}) for name in names))
    prices = {"price_per_1k_prompt": 1, "price_per_1k_completion": 1, "max_cost": 0.001}
    judge_yaml(place / "gold" / "judge.yaml", base_url=server.base_url, model="m", concurrency=1, **prices)
    run = evalsuite.evaluate("answers", "gold", save=False)
    warnings = [text for text in run.warnings if "max_cost" in text]
    if not n_tokens:
        assert warnings == ["judge.max_cost does not count 6 calls whose reply has no token counts: the cost may exceed it"]
        assert [result.status for result in run.results] == ["scored"] * 6
        return
    assert not warnings
    assert [result.status for result in run.results] == ["scored", *["unscored"] * 5]
    assert "max_cost" in run.results[1].reason
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("line", "says", "hint"),
    [
        ("provider: opnai", "judge.provider must be", "did you mean 'openai'"),
        ("modle: m", "unknown key 'modle'", "did you mean 'model'"),
        ("api_key: sk-abcdefgh12345678", "unknown key 'api_key'", "a key is written nowhere"),
        ("key_env: sk-abcdefgh12345678", "judge.key_env is not the name", "a key is written nowhere"),
        ("base_url: https://x/v1?api_key=sk-abcdefgh12345678", "judge.base_url contains a key", "a key is written nowhere"),
        ("base_url: https://me:sk-abcdefgh12345678@x/v1", "judge.base_url contains a user name", "a key is written nowhere"),
    ],
)
def test_what_cannot_be_meant_has_file_and_line_and_no_key_is_shown_or_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, says: str, hint: str
) -> None:
    """A key that somebody wrote into a file stays in that file: it is refused before a suite is made of it, and not quoted."""
    monkeypatch.chdir(tmp_path)
    Path("j.yaml").write_text(f"retries: 1\n{line}\n")
    Path("q.csv").write_text("input,reference_output\na,b\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "llm_judge", "--judge", "j.yaml"]) == 2
    said = capsys.readouterr().err
    assert f"j.yaml:2: {says}" in said
    assert hint in said
    assert "sk-abcdefgh" not in said
    assert [file.name for file in tmp_path.rglob("*") if file.is_file() and b"sk-abcdefgh" in file.read_bytes()] in ([], ["j.yaml"])


def test_a_key_of_a_section_has_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In `suite.yaml` the line named is that of the wrong key below `judge:`, not the section's."""
    monkeypatch.chdir(tmp_path)
    Path("gold").mkdir()
    Path("gold/x_eval.jsonl").write_text('{"instance_id": "q", "evaluation": {"func": "llm_judge", "parameters": {"gold": "x"}}}\n')
    for line, says in (("modle: m", "unknown key 'modle' in judge"), ("retries: -1", "judge.retries must be at least 0")):
        Path("gold/suite.yaml").write_text(f"name: x\njudge:\n  base_url: http://x/v1\n  {line}\n")
        assert main(["gold", "check", "gold"]) == 2
        assert f"gold/suite.yaml:4: {says}" in capsys.readouterr().err
