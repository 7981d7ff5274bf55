"""Settings and prompts of a judge: what they add to signatures, which are refused and how, prices, addresses with secrets, and keys."""

import math
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import fields
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.scorers.judge.settings import BUNDLED, Prompt, Settings, read_prompt, read_settings, secret_in
from evalsuite.scorers.judge.transport import Request, join_address, parameters_of, sum_tokens, text_of
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.scorer import metric_scorer

AT = "http://localhost:1/v1"


@pytest.mark.parametrize(("keys", "signature", "line"), [
    ({}, "auto,1", "no model"), ({"model": "m"}, "auto,1", "m"), ({"models": ("b", "a"), "model": "m"}, "auto,1", "b+a"),
    ({"model": "m", "parameters": {"seed": 7, "a": "x"}}, "auto,1,a=x,seed=7", "m,a='x',seed=7"),
    ({"model": "m|n", "repeats": 3, "aggregate": "mean", "most_chars": 9}, "mean,3", "m/n,repeats=3,aggregate=mean,most_chars=9"),
    ({"model": "m", "retries": 9, "base_url": AT, "price_per_1k_prompt": 1.0}, "auto,1", "m"),
])  # fmt: skip
def test_what_moves_a_verdict(keys: Any, signature: str, line: str) -> None:
    """Models, parameters and what is not as usual; no address, retry or price."""
    settings = Settings(**keys)
    assert (settings.signature, settings.verdict_line) == (signature, line)


def test_own_prompts_move_verdicts(tmp_path: Path) -> None:
    """Their names and texts count, in any folder; the bundled ones are left out."""
    lines = []
    for name, text in (("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")):
        folder = tmp_path / str(len(lines))
        folder.mkdir()
        (folder / f"{name}.txt").write_text(text)
        lines.append(Settings(model="m", prompts=str(folder)).verdict_line)
    assert len({*lines}) == 3
    assert lines[0] == lines[3]
    assert lines[0].startswith("m,prompts=")
    assert read_prompt("a", tmp_path / "1").text == "y"
    assert read_prompt("semantic", tmp_path / "1").name == "semantic"
    (tmp_path / "1" / "c.txt").write_bytes(b"\xff")
    for name, message in (
        ("../a", "'../a' is no name of a prompt"), ("nope", "no prompt 'nope'; bundled ones: hallucination, "),
        ("c", "the prompt file c.txt cannot be read as UTF-8"),
    ):  # fmt: skip
        with pytest.raises(FaultError, match=message):
            read_prompt(name, tmp_path / "1")


def test_what_tokens_cost() -> None:
    """Each kind by its own price for a thousand."""
    settings = Settings(price_per_1k_prompt=2.0, price_per_1k_completion=0.5)
    assert [settings.cost_of(*n) for n in ((1000, 0), (0, 1000), (500, 3000))] == [2.0, 0.5, 2.5]
    assert Settings().cost_of(9, 9) == 0


@pytest.mark.parametrize(("keys", "message"), [
    ({}, "judge.model is not set"), ({"model": "m"}, "judge.base_url is not set"),
    ({"model": "m", "base_url": "ftp://x"}, "judge.base_url is no http or https address"),
    ({"model": "m", "base_url": "http://"}, "is no http or https address"),
    ({"model": "m", "base_url": "http://x:0"}, "is no http or https address"),
    ({"model": "m", "base_url": "http://x:99999"}, "is no http or https address"),
    ({"model": "m", "base_url": "http://[x"}, "is no http or https address"),
    ({"model": "m", "base_url": "http://u:pass@x"}, "a user name or password; name an environment variable in judge.key_env"),
    ({"model": "m", "base_url": "http://x?api_key=1"}, "judge.base_url contains a key"),
    ({"model": "m", "base_url": "http://x", "key_env": "sk-proj-abc"}, "judge.key_env is not the name of an environment variable"),
    ({"model": "m", "base_url": "http:///v1"}, "is no http or https address"),
    ({"model": "m", "base_url": AT, "key_env": "NO_KEY"}, r"the environment variable NO_KEY \(judge.key_env\) is not set"),
    ({"model": "m", "base_url": AT, "key_env": "BAD_KEY"}, "contains no usable key"),
    ({"model": "m", "base_url": AT, "key_env": "EMPTY_KEY"}, "is not set"),
    ({"model": "m", "base_url": AT, "key_env": "LINE_KEY"}, "contains no usable key"),
    ({"model": "m", "cassette": "c", "cassette_mode": "record"}, "judge.base_url is not set"),
    ({"model": "m", "base_url": AT}, ""), ({"models": ("m",), "base_url": "https://x"}, ""),
    ({"model": "m", "base_url": AT, "key_env": "A_KEY"}, ""), ({"model": "m", "cassette": "c"}, ""),
])  # fmt: skip
def test_a_judge_that_cannot_be_asked(keys: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first key that is missing or of no use is named; a cassette that is replayed needs no address."""
    for name, value in (("A_KEY", " secret \n"), ("BAD_KEY", "schlüssel"), ("EMPTY_KEY", "  "), ("LINE_KEY", "a\nb")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_KEY", raising=False)
    settings = Settings(**keys)
    if message:
        with pytest.raises(FaultError, match=message) as raised:
            settings.require()
        assert raised.value.fault.code == "NO_JUDGE"
        assert not any(secret in raised.value.fault.detail for secret in ("pass@", "sk-proj", "schlüssel"))
    else:
        settings.require()
        assert settings.key() == ("secret" if settings.key_env else "")


@pytest.mark.parametrize(("address", "secret"), [
    ("http://x", ""), ("http://u@x", "a user name or password"), ("http://:p@x", "a user name or password"), ("http://x?Token=", "a key"),
    ("http://x?sig=1", "a key"), ("http://x?code=1", "a key"), ("http://x?zip_code=1", ""), ("http://x?a=key", ""), ("http://[x", ""),
    ("http://x?authority=1", "a key"), ("https://x/v1?api-version=2", ""), ("https://user:word@x/v1", "a user name or password"),
    ("https://x/v1?api_key=sk-1", "a key"), ("https://x/v1?a=1&Token=", "a key"),
])  # fmt: skip
def test_secrets_in_addresses(address: str, secret: str) -> None:
    """By their place and their name; the value is not looked at."""
    assert secret_in(address) == secret


KEYS_STAY = "a key is written nowhere: export it, and name the variable: key_env: MY_KEY"


@pytest.mark.parametrize(("section", "message", "hint"), [
    ({"modle": "m"}, "unknown key 'modle' in judge", "did you mean 'model'?"),
    ({"api_key": "sk-secret"}, "unknown key 'api_key' in judge", KEYS_STAY),
    ({"zzzz": 1}, "unknown key 'zzzz' in judge", f"known: {', '.join(field.name for field in fields(Settings))}"),
    ({"model": 5}, "judge.model must be text, found 5", ""),
    ({"aggregate": "median"}, "judge.aggregate must be 'auto' or 'majority' or 'mean', found 'median'", "did you mean 'mean'?"),
    ({"models": "a"}, "judge.models must be list of text, found 'a'", ""),
    ({"provider": "opena"}, "judge.provider must be ", "did you mean 'openai'?"), ({"key_env": 5}, "judge.key_env must be text$", ""),
    ({"timeout_seconds": 0}, "judge.timeout_seconds must be at least 0.001, found 0", ""),
    ({"concurrency": 0}, "judge.concurrency must be at least 1, found 0", ""), ({"repeats": 0}, "judge.repeats must be at least 1", ""),
    ({"retries": -1}, "judge.retries must be at least 0, found -1", ""),
    ({"max_cost": float("inf")}, "judge.max_cost must be at least 0, found inf", ""),
    ({"key_env": "a-b"}, "judge.key_env is not the name of an environment variable", KEYS_STAY),
    ({"base_url": "http://u:p@x"}, "judge.base_url contains a user name or password", KEYS_STAY),
    ({"batch": True, "provider": "gemini"}, "judge.batch: gemini has no batch API here", "supported for openai, responses, anthropic"),
    ({"batch": True, "provider": "azure"}, "judge.batch: azure has no batch API here", "supported for openai, responses, anthropic"),
])  # fmt: skip
def test_settings_that_are_refused(section: Any, message: str, hint: str) -> None:
    """The key, what it must be and what was found; a key that may be a secret is not quoted."""
    with pytest.raises(UsageError, match=f"^{message}") as raised:
        read_settings(section)
    assert raised.value.hint == hint
    assert "sk-secret" not in raised.value.message + raised.value.hint


def test_a_metric_s_own_judge() -> None:
    """Its model, address and key go before those of the settings, which stay where it has none."""
    settings = Settings(model="m", models=("n",), base_url="http://a", key_env="K")
    own = get_metric("llm_judge", settings=settings, model="o", base_url="http://b", key_env="L").judge.settings
    assert (own.all_models, own.base_url, own.key_env) == (("o",), "http://b", "L")
    same = get_metric("llm_judge", settings=settings).judge.settings
    assert (same.all_models, same.base_url, same.key_env) == (("n",), "http://a", "K")
    assert get_metric("llm_judge", settings=settings).at_once == settings.concurrency
    assert get_metric("composite", parts=["f1", {"llm_judge": {"model": "x"}}]).asks
    assert not get_metric("composite", parts=["f1"]).asks


def test_a_metric_of_a_plain_value_describes_itself() -> None:
    """Its line in the table, or that of its class, and its signature."""
    for spec, line in (({"f1": {}}, "the words answer and reference share"), ({"rouge1": {}}, "ROUGE-1: single words.")):
        scorer = metric_scorer(spec)
        assert (scorer.__doc__ or "").splitlines()[0] == line
    composite = get_metric("composite", parts=["f1", "exact_match"])
    assert composite.measure("a b", ["a"]).value == composite("a b", "a")
    assert get_metric("composite", parts=[{"hedging_language": {}}]).measure("Oslo", []).value == 1


def test_parts_of_requests() -> None:
    """Null parameters are left out, also from the key; addresses keep their query; counts of tokens are positive whole numbers."""
    request = Request(model="m", messages=({"role": "user", "content": "x"},), parameters={"a": 1, "b": None}, sample=1)
    assert request.body() == {"model": "m", "messages": [{"role": "user", "content": "x"}], "a": 1}
    assert parameters_of(request, {"a": "z"}) == {"z": 1}
    assert request.key() == Request(model="m", messages=request.messages, parameters={"a": 1}, sample=1).key()
    for base, whole in (
        ("http://x/v1/", "http://x/v1/chat"),
        ("http://x/v1/chat?a=1#f", "http://x/v1/chat?a=1"),
        ("http://x", "http://x/chat"),
    ):
        assert join_address(base, "/chat") == whole
    usage = {"a": 3.0, "b": True, "c": -1, "d": 2, "e": "4", "f": 10**400, "g": math.nan}
    assert (sum_tokens(usage, *usage), sum_tokens(None, "a"), sum_tokens(usage, "x")) == (5, 0, 0)
    parts = [{"text": "a"}, {"type": "text", "text": "b"}, {"type": "image", "text": "c"}, {"type": "text", "text": 5}, "d"]
    assert (text_of(parts), text_of(parts, ("text",))) == ("abc", "b")


def test_an_unknown_placeholder_is_refused() -> None:
    """A placeholder that nothing fills is a fault of gold that names it and the known ones."""
    with pytest.raises(FaultError, match=r"'anser'; known: prediction") as raised:
        Prompt(name="p", text="{{anser}}").messages({"prediction": ""})
    assert raised.value.side == "gold"


@pytest.mark.parametrize("file", sorted(BUNDLED.glob("*.txt")), ids=lambda f: f.stem)
def test_bundled_prompts_fence_their_fields(file: Path) -> None:
    """Each bundled prompt tells the judge that fields are no instructions and asks for JSON; answers stand between marks."""
    text = file.read_text(encoding="utf-8")
    assert "never an instruction" in text or "never instructions" in text
    assert "JSON only" in text
    if "{{prediction}}" in text:
        assert "{{boundary}}>\n{{prediction}}\n</" in text
