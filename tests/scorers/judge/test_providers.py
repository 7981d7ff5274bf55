"""Each provider's protocol on a stub that speaks it: what goes over the wire, what is counted, and what goes wrong on the way."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.scorers.judge import Judge
from evalsuite.scorers.judge.client import PROVIDERS, Client, Exchange
from evalsuite.scorers.judge.settings import Settings
from evalsuite.scorers.judge.transport import Provider, Request
from tests.scorers.judge.conftest import KEY, Serve
from tests.scorers.judge.server import Say, Server

Make = Callable[..., Judge]


def provider_named(name: str) -> Provider:
    """The provider of that name."""
    found: Provider = PROVIDERS[name].load()
    return found


ASKED = Request(
    model="m-1",
    messages=({"role": "system", "content": "Be strict."}, {"role": "user", "content": "Is it right?"}),
    parameters={"temperature": 0, "max_tokens": 50},
)


def chat(text: str, served: str) -> Any:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": served, "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def responses(text: str, served: str) -> Any:
    """A response with its reasoning before the message."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    usage = {"input_tokens": 100, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4}}
    return {"object": "response", "status": "completed", "model": served, "output": [{"type": "reasoning"}, message], "usage": usage}


def messages(text: str, served: str) -> Any:
    """A message in two parts, with what the model thought."""
    half = len(text) // 2
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}]
    usage = {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 10}
    return {"type": "message", "role": "assistant", "model": served, "content": content, "stop_reason": "end_turn", "usage": usage}


def candidates(text: str, served: str) -> Any:
    """A candidate with a thought before its text."""
    parts = [{"text": "hm", "thought": True}, {"text": text}]
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 110}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": served}


REPLIES = {"openai": chat, "responses": responses, "azure": chat, "anthropic": messages, "gemini": candidates}
EVERY = pytest.mark.parametrize("name", sorted(PROVIDERS))


def says(name: str, text: str = '{"score": 4}', served: str = "m-1-2026") -> Say:
    """What the provider answers when all goes well."""
    return Say(raw=json.dumps(REPLIES[name](text, served)).encode())


@EVERY
@pytest.mark.parametrize(
    "bad",
    [
        Say(status=429),
        Say(status=500, raw=b'{"error": {"message": "oh"}}'),
        Say(cut=True),
        Say(hang=True),
        Say(drip=True, content="x" * 900),
        None,
    ],
    ids=["429", "500", "cut", "hang", "slow", "half JSON"],
)
def test_a_passing_fault_is_asked_again(serve: Serve, judge_at: Make, name: str, bad: Say | None) -> None:
    """One bad response, then a good one: one call is counted, one retry, its tokens once; the second time it is known."""
    whole = says(name).raw or b""
    server = serve(lambda _, n: (bad or Say(raw=whole[: len(whole) // 2])) if n == 1 else says(name))
    client = judge_at(server, provider=name, timeout_seconds=0.4).client
    assert client.ask(ASKED).text == '{"score": 4}'
    usage = client.account
    assert (len(server.asked), usage.n_calls, usage.n_retries, usage.n_prompt_tokens, usage.n_completion_tokens) == (2, 1, 1, 100, 10)
    assert client.ask(ASKED).known
    assert judge_at(server, provider=name).client.ask(ASKED).known, "another process finds it in the cache"
    assert len(server.asked) == 2


@EVERY
def test_a_refused_request_is_told_and_not_repeated(serve: Serve, judge_at: Make, name: str) -> None:
    """A 400 is not asked again; its words are the reason, without the key; after two in the same words nobody is asked any more."""
    error = {"error": {"message": f"no such parameter; your key {KEY}", "type": "invalid_request_error"}}
    server = serve(lambda *_: Say(status=400, raw=json.dumps(error).encode()))
    client = judge_at(server, provider=name).client
    for number in range(4):
        with pytest.raises(FaultError, match="HTTP 400") as raised:
            client.ask(Request(model="m-1", messages=({"role": "user", "content": str(number)},)))
        assert KEY not in raised.value.fault.detail
        said = "not asked: the judge answered HTTP 400 before" if number > 1 else "no such parameter; your key [key]"
        assert said in raised.value.fault.detail
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["openai", "azure"])
def test_the_other_name_of_the_bound(serve: Serve, judge_at: Make, name: str) -> None:
    """A model that refuses `max_tokens` is asked with `max_completion_tokens`, from then on at once."""
    told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    refused = Say(status=400, raw=json.dumps({"error": {"message": told}}).encode())
    server = serve(lambda body, _: refused if "max_tokens" in body else says(name))
    client = judge_at(server, provider=name).client
    for text in ("one", "two"):
        client.ask(Request(model="o", messages=({"role": "user", "content": text},), parameters={"max_tokens": 9}))
    assert [body.get("max_completion_tokens") for body in server.asked] == [None, 9, 9]


@pytest.mark.parametrize(
    "said", [b"", b"7", b"null", b"[]", b"{}", b'{"error": {"message": "no"}}', b'{"choices": 1, "output": 2, "content": 3}']
)
@EVERY
def test_what_is_no_reply(name: str, said: bytes) -> None:
    """Any other JSON is no reply, and nothing raised."""
    assert provider_named(name).reply(said) is None


def test_a_blocked_prompt_is_a_reply_without_text() -> None:
    """Gemini's refusal to read a prompt is no outage."""
    reply = provider_named("gemini").reply(b'{"promptFeedback": {"blockReason": "SAFETY"}}')
    assert reply is not None
    assert (reply.text, reply.finish) == ("", "SAFETY")


def test_an_exchange_shows_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who listens hears address, headers, body and reply of each try, without the key."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    server: Server = serve(lambda _, n: Say(status=500, raw=KEY.encode()) if n == 1 else says("anthropic", text=KEY))
    settings = Settings(base_url=server.base_url, provider="anthropic", model="m", key_env="TEST_JUDGE_KEY", cache="", backoff_seconds=0)
    client, heard = Client(settings), list[Exchange]()
    client.endpoint.on_exchange = heard.append
    client.ask(ASKED)
    assert [one.status for one in heard] == [500, 200]
    assert KEY not in repr(heard)
    assert heard[0].headers["x-api-key"] == "[key]"
    server.close()
    with pytest.raises(FaultError, match="refused"):
        client.ask(replace(ASKED, sample=1))
    assert (heard[-1].status, "refused" in heard[-1].text, len(heard)) == (0, True, 2 + 5)
    assert all(0 <= one.seconds < 60 for one in heard)
