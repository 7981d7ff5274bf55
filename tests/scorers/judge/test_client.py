"""The client over real HTTP, each provider's protocol, and what is kept of replies: what goes wrong on the way makes no score."""

import json
import socket
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import BadStatusLine
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.disk_cache import FILE
from evalsuite.core.errors import FaultError
from evalsuite.reports.record import judge_words
from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge import Judge, Question, Settings
from evalsuite.scorers.judge.client import PROVIDERS, Account, BatchQueue, Client, Exchange, Pace, _portions, retry_after
from evalsuite.scorers.judge.replies import score_reading
from evalsuite.scorers.judge.transport import RecordedReplies, Reply, Request, Response, TransportError, _kind, _proxy, send
from tests.scorers.judge.conftest import KEY, Serve
from tests.scorers.judge.server import Say, Server, completion, prompt_of

Make = Callable[..., Judge]
llm_judge = SCORERS.load("llm_judge").function
GOOD = '{"score": 4}'


def request(text: str = "hello") -> Request:
    """A small request."""
    return Request(model="m", messages=({"role": "user", "content": text},), parameters={"temperature": 0})


@pytest.mark.parametrize("raw", [
    b"<html>proxy</html>", b'{"choices": []}', b'{"choices": [{"message": {"content": 7}}]}', b"[" * 100_000,
    b'{"error": {"message": "quota"}, "choices": [{"message": {"content": "4"}}]}',
    b'{"choices": [{"message": {"content": "4"}, "error": {"code": 502}}]}',
    b'{"choices": [{"message": {"content": "1", "content": "5"}}]}',
], ids=["not JSON", "no choices", "content is no text", "deep JSON", "an error too", "a choice's error", "two contents"])  # fmt: skip
def test_a_bad_body_is_asked_again(serve: Serve, judge_at: Make, raw: bytes) -> None:
    """After one bad response the next good one is the reply, and the retry is counted (`test_providers.py` has other passing faults)."""
    server = serve(lambda _, n: Say(raw=raw) if n == 1 else GOOD)
    client = judge_at(server, timeout_seconds=0.5).client
    assert client.ask(request()).text == GOOD
    assert (len(server.asked), client.account.n_retries, client.account.n_calls) == (2, 1, 1)


@pytest.mark.parametrize("bad", [Say(status=500), Say(cut=True), Say(hang=True), Say(raw=b"{}")], ids=["500", "cut", "hang", "wrong JSON"])
def test_a_lasting_fault_is_a_fault_with_a_reason(serve: Serve, judge_at: Make, bad: Say) -> None:
    """When every try fails the fault says why and how often it was tried; the prompt and the key are not in it."""
    server = serve(lambda *_: bad)
    client = judge_at(server, timeout_seconds=0.2, retries=2).client
    with pytest.raises(FaultError) as raised:
        client.ask(request("a secret prompt"))
    assert raised.value.fault.code == "JUDGE_FAILED"
    assert raised.value.side == "setup"
    assert "3 attempts" in raised.value.fault.detail
    assert "secret" not in raised.value.fault.detail
    assert (len(server.asked), client.account.n_retries) == (3, 2)


@pytest.mark.parametrize(("headers", "raw", "form"), [
    ({"Content-Encoding": "br"}, b"\x0b", ": it is compressed (br), which was not asked for"),
    ({}, b"\x1f\x8b\x08", ": it is compressed (gzip), which was not asked for"),
    ({"Content-Type": "text/event-stream"}, b"id: 1", ": it is a stream of events, which was not asked for"),
    ({}, b'\n data: {"choices": []}', ": it is a stream of events, which was not asked for"),
    ({}, b"<html>log in</html>", ": it is a web page, which was not asked for"),
    ({"Content-Encoding": "identity"}, b"{}", ""),
])  # fmt: skip
def test_a_reply_in_another_form_is_named(serve: Serve, judge_at: Make, headers: dict[str, str], raw: bytes, form: str) -> None:
    """What came instead of the JSON that was asked for is the cause, not the protocol."""
    server = serve(lambda *_: Say(raw=raw, headers=headers))
    with pytest.raises(FaultError) as raised:
        judge_at(server, retries=0).client.ask(request())
    assert raised.value.fault.detail == f"the reply is not in the protocol of openai{form} (1 attempt)"


def test_waits_double_up_to_half_a_minute(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """A question with a jitter of half; a call that is none, such as a batch's state, without. Each failed try of a question is logged."""
    caplog.set_level("DEBUG")
    server = serve(lambda *_: Say(status=503, raw=b"busy"))
    waits: list[float] = []
    client = Client(Settings(base_url=server.base_url, model="m", cache="", backoff_seconds=1, retries=7), wait=waits.append)
    with pytest.raises(FaultError, match="HTTP 503"):
        client.endpoint.call("POST", f"{server.base_url}/chat/completions", json.dumps({"messages": []}).encode())
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    with pytest.raises(FaultError, match="HTTP 503"):
        client.ask(request())
    assert len(waits) == 2 * 7
    assert [longest / 2 <= wait <= longest for wait, longest in zip(waits[7:], waits[:7], strict=True)] == [True] * 7
    assert [line for line in caplog.messages if "call failed" in line] == [
        f"judge call failed (the judge answered HTTP 503: busy), attempt {attempt} of 8" for attempt in range(1, 9)
    ]


def test_which_status_of_another_address_is_asked_again(serve: Serve) -> None:
    """200 and 201 are a response; what may pass is asked again, the rest says why at once; after the end no call goes out."""
    settings = {"model": "m", "cache": "", "backoff_seconds": 0, "retries": 1}
    for status in (200, 201, 202, 400, 401, 408, 409, 410, 425, 429, 499, 500, 529):
        server = serve(lambda *_, status=status: Say(status=status, raw=b'{"error": "so it is"}'))  # type: ignore[misc]
        endpoint = Client(Settings(base_url=server.base_url, **settings)).endpoint  # type: ignore[arg-type]
        if status in (200, 201):
            assert endpoint.call("POST", server.base_url, b"{}").status == status
        else:
            with pytest.raises(FaultError) as raised:
                endpoint.call("POST", server.base_url, b"{}")
            why = "the key is not accepted" if status == 401 else "so it is"
            assert raised.value.fault.detail == f"the judge answered HTTP {status}: {why}"
        assert len(server.asked) == (2 if status in (408, 409, 425, 429) or status >= 500 else 1), status
    endpoint.stop()
    with pytest.raises(FaultError, match="the run was ended before the judge replied"):
        endpoint.call("POST", server.base_url, b"{}")
    assert len(server.asked) == 2
    ended = Client(Settings(base_url=server.base_url, **settings), wait=lambda _: ended.close())  # type: ignore[arg-type]
    with pytest.raises(FaultError, match="HTTP 529"):
        ended.endpoint.call("POST", server.base_url, b"{}")
    assert len(server.asked) == 3


@pytest.mark.parametrize(("value", "seconds"), [
    ("3", 3), (" 1.5 ", 1.5), ("0", 0), (None, 0), ("", 0), ("soon", 0), ("1.2.3", 0), ("-1", 0), ("\u00b3", 0),
    ("Mon, 01 Jan 2001 00:00:00 GMT", 0), ("Mon, 01 Jan 2001 00:00:00 -0000", 0),
])  # fmt: skip
def test_pauses_that_are_requested(value: str | None, seconds: float) -> None:
    """A number of seconds; nothing else and no past date makes a call wait."""
    assert retry_after({} if value is None else {"retry-after": value}) == seconds


@pytest.mark.parametrize(("said", "message"), [
    (None, "refused"),
    (Say(status=429, headers={"Retry-After": "301"}), "301 s|HTTP 429"),
    (Say(raw=b" " * ((8 << 20) + 1)), "the reply is longer than 8 MiB"),
], ids=["nobody listens", "a pause of more than five minutes", "more than is kept in memory"])  # fmt: skip
def test_what_ends_a_question_and_another_call(serve: Serve, judge_at: Make, said: Say | None, message: str) -> None:
    """The reason says so."""
    server = serve(lambda *_: said or GOOD)
    if said is None:
        server.close()
    client = judge_at(server, retries=0).client
    with pytest.raises(FaultError, match=message.partition("|")[0]):
        client.ask(request())
    with pytest.raises(FaultError, match=message.rpartition("|")[2]):
        client.endpoint.call("POST", f"{server.base_url}/batches/b", b"{}")


def test_no_more_than_concurrency_are_under_way(serve: Serve, judge_at: Make) -> None:
    """70 threads with a concurrency of 7 have 7 calls in flight, each its own reply; twenty with one request cost one call."""
    together = threading.Barrier(7)

    def say(body: dict[str, Any], _: int) -> str:
        together.wait(30)
        return prompt_of(body)

    server = serve(say)
    client = judge_at(server, concurrency=7).client
    with ThreadPoolExecutor(70) as threads:
        texts = list(threads.map(lambda n: client.ask(request(str(n))).text, range(70)))
    assert texts == [str(n) for n in range(70)]
    assert (server.most_at_once, client.account.n_calls, client.account.n_prompt_tokens) == (7, 70, 7_000)
    server = serve(lambda *_: GOOD)
    client = judge_at(server, concurrency=20).client
    with ThreadPoolExecutor(20) as threads:
        assert {reply.text for reply in threads.map(lambda _: client.ask(request()), range(20))} == {GOOD}
    assert len(server.asked) == 1


def test_closing_ends_a_call_under_way(serve: Serve, judge_at: Make) -> None:
    """A call that hangs comes back when the client is closed, long before its time limit."""
    arrived = threading.Event()

    def rule(*_: object) -> Say:
        arrived.set()
        return Say(hang=True)

    client = judge_at(serve(rule), timeout_seconds=600).client
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(client.ask, request())
        assert arrived.wait(10)
        client.close()
        with pytest.raises(FaultError):
            call.result(timeout=20)


def test_the_address_and_the_key_are_sent_as_configured(serve: Serve, judge_at: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is that of the base, at least a slash, a query stays, the key is a bearer token; a proxy is told the whole address."""
    server = serve(lambda *_: GOOD)
    client = judge_at(server).client
    client.ask(request())
    azure = Client(
        Settings(base_url=server.base_url + "/?api-version=2", model="m", cache="", key_header="api-key", key_env="TEST_JUDGE_KEY")
    )
    azure.ask(request())
    assert server.paths == ["/v1/chat/completions", "/v1/chat/completions?api-version=2"]
    assert server.keys == [f"Bearer {KEY}", None]
    server = serve(lambda *_: GOOD)
    address = server.base_url.removesuffix("/v1")
    monkeypatch.setenv("http_proxy", address)
    monkeypatch.delenv("no_proxy", raising=False)
    for url in (address, f"{address}?a=1", f"{address}/v1/x?a=1", "http://judge.example:99/v1?a=1"):
        assert send(url, b"{}", {}, timeout_seconds=10.0).status == 200
    assert server.paths == ["/", "/?a=1", "/v1/x?a=1", "http://judge.example:99/v1?a=1"]


def test_an_echoed_key_goes_no_further(serve: Serve, judge_at: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that says the key back gets it into no reply and no file; a shorter text than eight characters is no key."""
    server = serve(lambda *_: f'{{"reason": "you sent {KEY}", "score": 3}}')
    judge = judge_at(server, cassette=str(tmp_path / "tape.jsonl"), cassette_mode="record")
    score = llm_judge("x", judge, gold="y")
    assert score.official == 0.6
    assert KEY not in repr(score)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 2
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    hide_key = judge_at(serve(lambda *_: GOOD)).client.endpoint.hide_key
    for key, shown in (("k2345678", "[key]"), ("k234567", "k234567")):
        monkeypatch.setenv("TEST_JUDGE_KEY", key)
        assert hide_key(f"your {key}") == f"your {shown}"


def test_the_pace_of_calls() -> None:
    """So many requests a minute, at even distances; tokens delay the next one; a refusal halves what runs at once, a reply frees a half."""
    now, waits = [100.0], list[float]()

    def pace(*limits: float) -> Pace:
        waits.clear()
        return Pace(8, *limits, wait=waits.append, clock=lambda: now[0])

    free = pace()
    for _ in range(3):
        free.turn()
        free.record_reply(1_000_000)
    assert waits == []
    by_requests = pace(30)
    for _ in range(3):
        by_requests.turn()
        by_requests.record_reply(1000)
    now[0] += 7
    by_requests.turn()
    assert waits == [2.0, 4.0]
    by_tokens = pace(0, 600)
    by_tokens.turn()
    by_tokens.record_reply(50)
    by_tokens.record_reply(10)
    by_tokens.turn()
    now[0] += 10
    by_tokens.turn()
    assert waits == [6.0]
    both = pace(60, 60)
    both.turn()
    both.record_reply(3)
    both.turn()
    assert waits == [4.0]
    for _ in range(4):
        free.record_refusal()
    assert free.allowed == 1.0
    for expected in (1.5, 2.0):
        free.record_reply(0)
        assert free.allowed == expected
    for _ in range(20):
        free.record_reply(0)
    assert free.allowed == 8.0


@pytest.mark.parametrize(("proxy", "scheme", "host", "address"), [
    ("http://proxy:3128", "http", "judge.example", "proxy:3128"), ("proxy:3128", "https", "judge.example", "proxy:3128"),
    ("", "http", "judge.example", None), ("http://", "http", "judge.example", None), ("http://proxy:3128", "http", "127.0.0.1", None),
    ("http://proxy:3128", "http", "localhost", None), ("http://proxy:3128", "http", "here.local", None),
])  # fmt: skip
def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch, proxy: str, scheme: str, host: str, address: str | None) -> None:
    """For other machines, unless `no_proxy` names them."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{scheme}_proxy", proxy)
    monkeypatch.setenv("no_proxy", ".local")
    found = _proxy(scheme, host)
    assert (found and found.netloc) == address


@pytest.mark.parametrize(("port", "expected"), [("", b"443"), (":8443", b"8443")])
def test_the_tunnel_through_a_proxy(monkeypatch: pytest.MonkeyPatch, port: str, expected: bytes) -> None:
    """A proxy is asked for the judge's host and port, by default that of https."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        asked: list[bytes] = []

        def refuse() -> None:
            with listener.accept()[0] as connection:
                asked.append(connection.recv(4096).split(b"\r\n")[0])
                connection.sendall(b"HTTP/1.1 403 no\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(TransportError):
            send(f"https://judge.example{port}/v1", b"", {}, timeout_seconds=10.0)
        thread.join()
    assert asked[0].split()[:2] == [b"CONNECT", b"judge.example:" + expected]


def test_the_sizes_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of one model, of so many requests and bytes at most; a request that is larger alone is sent alone."""
    monkeypatch.setattr("evalsuite.scorers.judge.client.MOST_REQUESTS", 2)
    monkeypatch.setattr("evalsuite.scorers.judge.client.MOST_BYTES", 20)
    asked = [
        replace(request(text), model=model) for text, model in zip(("a" * 8, "b" * 8, "c" * 8, "d" * 18, "e", "f"), "mmnmmm", strict=True)
    ]
    parts = list(_portions(asked, lambda one: one.messages[0]["content"]))
    assert [[body[0] for body in part.values()] for part in parts] == [["a", "b"], ["d"], ["e", "f"], ["c"]]
    assert [*parts[0]] == [asked[0].key(), asked[1].key()]


def test_the_key_of_a_request() -> None:
    """It stays from version to version, or replies that were paid for would be lost; each part of a request is in it."""
    one = Request(model="m", messages=({"role": "user", "content": "q"},), parameters={"temperature": 0.1, "x": None}, sample=1, prompt="p")
    assert one.key() == "3edfcab4e336817cede786e49c60d3251d05d0caa630d5780d1823b4edb9b433"
    assert one.key("http://x/") == one.key("http://x") == "a96de56e2f510f4c51c11b29d0589805be7129b7509205c5b36e7f4e71624577"
    others = (
        {"model": "n"}, {"messages": ()}, {"parameters": {"temperature": 0.2}}, {"sample": 0}, {"prompt": "q"},
    )  # fmt: skip
    assert len({one.key(), *(replace(one, **other).key() for other in others)}) == 6
    assert Request(model="m", messages=one.messages, parameters=one.parameters, prompt="p") == replace(one, sample=0)


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_calls_keep_to_the_limits_of_a_minute(serve: Serve, limit: str) -> None:
    """One request in a hundred minutes puts off the next by them, also a retry; so does a reply of 100 + 10 tokens at 1.1 a minute."""
    settings = {limit: 0.01 if limit == "requests_per_minute" else 1.1, "backoff_seconds": 0}
    server = serve(lambda _, n: Say(status=500) if n == 2 else GOOD)
    waits: list[float] = []
    client = Client(Settings(base_url=server.base_url, model="m", cache="", **settings), wait=waits.append)  # type: ignore[arg-type]
    for text in ("one", "two"):
        client.ask(request(text))
    limited = [seconds for seconds in waits if seconds]
    assert limited == [pytest.approx(n * 6000, abs=600) for n in ((1, 2) if limit == "requests_per_minute" else (1, 1))]


class Refusing:
    """A batch API of which every look is refused."""

    def __init__(self, why: Exception) -> None:
        self.why = why

    def look(self, *_: Any) -> Any:
        """The state of a batch."""
        raise self.why


@pytest.mark.parametrize(("why", "is_over", "says"), [
    *((kind("x"), True, "the provider's answer to a batch is none") for kind in (ValueError, KeyError, TypeError, AttributeError)),
    *((status, status in (400, 401, 403, 404, 410), "") for status in (*range(399, 432), *range(499, 505), 529)),
])  # fmt: skip
def test_a_batch_that_cannot_be_looked_at(why: int | Exception, is_over: bool, says: str) -> None:
    """One that is gone, or of which the answer is none, is over, and each of its requests says so; the others are looked at again."""
    words = f"the judge answered HTTP {why}"
    api = Refusing(FaultError("JUDGE_FAILED", words) if isinstance(why, int) else why)
    queue = BatchQueue(Client(Settings(model="m", base_url="http://x", cache="")).endpoint, api, None)  # type: ignore[arg-type]
    assert queue._collect_replies({"id": "b", "keys": ["k", "l"]}) is is_over
    assert queue._make_failure == dict.fromkeys("kl", says or words)


@pytest.mark.parametrize("status", [*range(399, 432), *range(499, 505), 529])
def test_each_status(status: int) -> None:
    """200 is a reply; some are asked again, some end all calls, the others this one."""
    client = Client(Settings(model="m", base_url="http://x", cache=""))
    client._pace.allowed = 8.0
    is_passing = status in (408, 409, 425, 429) or status >= 500
    response = Response(status=status, headers={}, body=b'{"error": {"message": "no"}}')
    words = {401: "the key is not accepted: no", 403: "the key has no right to this: no", 404: "no such address or model: no"}
    if is_passing:
        assert client._reply(response) == (None, f"the judge answered HTTP {status}: no")
    else:
        with pytest.raises(FaultError) as raised:
            client._reply(response)
        assert raised.value.fault.detail == f"the judge answered HTTP {status}: {words.get(status, 'no')}"
    assert (client._refusal is not None) is (status in words)
    assert client._pace.allowed == (4.0 if status in (429, 503, 529) else 8.0)


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


def of_anthropic(text: str, served: str) -> Any:
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


REPLIES = {"openai": chat, "responses": responses, "azure": chat, "anthropic": of_anthropic, "gemini": candidates}
EVERY = pytest.mark.parametrize("name", sorted(PROVIDERS))


def said_by(name: str, text: str = '{"score": 4}', served: str = "m-1-2026") -> Say:
    """What the provider answers when all goes well."""
    return Say(raw=json.dumps(REPLIES[name](text, served)).encode())


@EVERY
@pytest.mark.parametrize("bad", [
    Say(status=429), Say(status=500, raw=b'{"error": {"message": "oh"}}'), Say(cut=True), Say(hang=True),
    Say(drip=True, content="x" * 900), None,
], ids=["429", "500", "cut", "hang", "slow", "half JSON"])  # fmt: skip
def test_a_passing_fault_is_asked_again(serve: Serve, judge_at: Make, name: str, bad: Say | None) -> None:
    """One bad response, then a good one: one call is counted, one retry, its tokens once; the second time it is known."""
    whole = said_by(name).raw or b""
    server = serve(lambda _, n: (bad or Say(raw=whole[: len(whole) // 2])) if n == 1 else said_by(name))
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
    server = serve(lambda body, _: refused if "max_tokens" in body else said_by(name))
    client = judge_at(server, provider=name).client
    for text in ("one", "two"):
        client.ask(Request(model="o", messages=({"role": "user", "content": text},), parameters={"max_tokens": 9}))
    assert [body.get("max_completion_tokens") for body in server.asked] == [None, 9, 9]


@pytest.mark.parametrize(
    "said", [b"", b"7", b"null", b"[]", b"{}", b'{"error": {"message": "no"}}', b'{"choices": 1, "output": 2, "content": 3}']
)
@EVERY
def test_what_is_no_reply(name: str, said: bytes) -> None:
    """Any other JSON is no reply, and nothing raised; Gemini's refusal to read a prompt is one without text."""
    assert PROVIDERS[name].load().reply(said) is None
    blocked = PROVIDERS["gemini"].load().reply(b'{"promptFeedback": {"blockReason": "SAFETY"}}')
    assert (blocked.text, blocked.finish) == ("", "SAFETY")


def test_an_exchange_shows_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who listens hears address, headers, body and reply of each try, without the key."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    server: Server = serve(lambda _, n: Say(status=500, raw=KEY.encode()) if n == 1 else said_by("anthropic", text=KEY))
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


BASE = Request(model="m", messages=({"role": "user", "content": "hi"},), parameters={"temperature": 0.1}, prompt="p@1")


@pytest.mark.parametrize("broken", [None, [], {"text": 1}, {"text": "x", "n_prompt_tokens": "many"}])
def test_a_broken_entry_is_asked_again(broken: object, serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """What is no reply is as good as none."""
    server = serve(lambda *_: '{"score": 3}')
    llm_judge("x", judge_at(server), gold="y")
    with sqlite3.connect(tmp_path / "cache" / FILE) as connection:
        assert connection.execute("UPDATE memo SET value = ?", [json.dumps(broken)]).rowcount == 1
    connection.close()
    assert llm_judge("x", judge_at(server), gold="y").official == 0.6
    assert len(server.asked) == 2


def test_a_cassette_replays_with_the_server_down(serve: Serve, judge_at: Make, tmp_path: Path) -> None:
    """What was recorded gives the same scores without a server, at any address; recorded again, only what is new is asked for."""
    server = serve(lambda body, _: '{"score": 5}' if "good" in str(body) else '{"score": 2}')
    tape = tmp_path / "tape.jsonl"
    for texts in (("good",), ("good", "bad")):
        recorded = judge_at(server, cassette=str(tape), cassette_mode="record", cache="")
        before = [llm_judge(text, recorded, gold="y").official for text in texts]
    assert len(server.asked) == len({json.loads(line)["key"] for line in tape.read_text().splitlines()}) == 2
    server.close()
    replay = Judge(replace(recorded.settings, cassette_mode="replay", base_url="", key_env=""))
    assert [llm_judge(text, replay, gold="y").official for text in ("good", "bad")] == before == [1.0, 0.4]
    assert "127.0.0.1" not in tape.read_text()
    with pytest.raises(FaultError, match="no reply"):
        llm_judge("not recorded", replay, gold="y")


def test_what_an_earlier_try_paid_for(tmp_path: Path) -> None:
    """The replies of a killed run in its ledger count, but for a line that it broke off; a known one is paid for no more."""
    ledger, settings = tmp_path / "ledger", Settings(models=("m", "n"), price_per_1k_completion=10 / 3)
    ledger.write_bytes(b"\n[100, 10]\n[50, 5]\n[7,")
    account, reply = Account(settings, ledger), Reply(text="", n_prompt_tokens=1, n_completion_tokens=2, served="m-2")
    for each in (reply, replace(reply, known=True, served="")):
        account.add(each)
    counts = {"models": ["m", "n"], "calls": 3, "prompt_tokens": 151, "completion_tokens": 17, "cost": 0.056666667}
    assert account.to_json() == {**counts, "served": ["m-2"], "known_replies": 1}
    assert Account(settings, ledger).to_json() == {**counts, "known_replies": 0}
    assert Account(Settings()).to_json()["cost"] is None
    # What an endpoint does not count is said to be missing in the cost.
    account.add(Reply(text=""))
    assert account.to_json() == {**counts, "calls": 4, "served": ["m-2"], "known_replies": 1, "uncounted_replies": 1}
    assert judge_words(account.to_json()).endswith("4 calls, 1 replies known, 151 + 17 tokens, cost 0.05667, 1 without token counts")


@pytest.mark.parametrize(("content", "words"), [
    (None, "the cassette tape.jsonl cannot be read: No such file or directory"),
    ("{", "line 1 of the cassette tape.jsonl is no recorded reply"),
    ('{"key": "k", "reply": {}}\n[]\n', "line 2 of the cassette tape.jsonl is no recorded reply"),
    ('{"key": "k", "reply": {}}\n\n{"key": 1}', "line 2 of the cassette tape.jsonl is no recorded reply"),
])  # fmt: skip
def test_a_cassette_that_cannot_be_read_is_a_fault(content: str | None, words: str, tmp_path: Path) -> None:
    """A missing or broken file is named, with the line, by its name and not its path."""
    tape = tmp_path / "tape.jsonl"
    if content is not None:
        tape.write_text(content)
    with pytest.raises(FaultError) as raised:
        RecordedReplies(tape).get(BASE)
    assert words in raised.value.fault.detail
    assert str(tmp_path) not in raised.value.fault.detail


def test_a_retry_after_is_honoured(serve: Serve) -> None:
    """In seconds or as a date it is waited for where it is longer."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    says = [Say(status=429, headers={"Retry-After": "300"}), Say(status=503, headers={"Retry-After": date}), GOOD]
    server, waits = serve(lambda _, n: says[n - 1]), list[float]()
    client = Client(Settings(base_url=server.base_url, model="m", cache="", backoff_seconds=1), wait=waits.append)
    assert client.ask(request()).text == GOOD
    assert waits[0] == 300
    assert 90 < waits[1] <= 100


def test_what_an_error_says(serve: Serve, judge_at: Make) -> None:
    """The message in its JSON, or its text, on one line and of at most 300 characters."""
    long = "word " * 100
    say = judge_at(serve(lambda *_: GOOD)).client.endpoint.error_in_words
    for body, words in (
        ({"error": {"message": "no\n such  model"}}, "no such model"), ({"error": "no"}, "no"), ({"message": "no"}, "no"),
        ({"error": {"message": long}}, long[:300]), ({"error": {"code": 5}}, '{"error": {"code": 5}}'), (["no"], '["no"]'),
    ):  # fmt: skip
        assert say(json.dumps(body).encode()) == words
    assert say((long * 20).encode()) == long[:300].strip()


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_a_refusal_stops_all_calls(serve: Serve, judge_at: Make, status: int) -> None:
    """A key or model that is not accepted is not tried again, not even by the next request; nor does the key follow to another host."""
    other = serve(lambda *_: GOOD)
    server = serve(lambda *_: Say(status=status, headers={"Location": other.base_url + "/chat/completions"}))
    client = judge_at(server).client
    for text in ("one", "two"):
        with pytest.raises(FaultError, match=f"HTTP {status}"):
            client.ask(request(text))
    assert (len(server.asked), other.asked) == (2 if status == 307 else 1, [])


def test_a_judge_that_is_down_is_given_up(serve: Serve, judge_at: Make) -> None:
    """After five calls in a row that failed for good no more go out."""
    server = serve(lambda _, n: GOOD if n == 5 else Say(status=500))
    client = judge_at(server, retries=0).client
    for n in range(14):
        if n == 4:
            client.ask(request(str(n)))
            continue
        with pytest.raises(FaultError, match="HTTP 500" if n < 10 else "not asked, because 5 calls in a row had failed: the judge "):
            client.ask(request(str(n)))
    assert len(server.asked) == 10


def test_every_way_to_ask_names_what_is_missing(serve: Serve, judge_at: Make) -> None:
    """A question, a decision and a request; after the end none is sent."""
    judge, question = Judge(Settings()), Question(messages=({"role": "user", "content": "q"},), read=score_reading())
    for ask in (lambda: judge.ask(question), lambda: judge.decide(question), lambda: judge.client.ask(request())):
        with pytest.raises(FaultError, match=r"judge\.model is not set"):
            ask()
    server = serve(lambda *_: GOOD)
    closed = judge_at(server)
    closed.close()
    with pytest.raises(FaultError, match="the run was ended before the judge replied"):
        closed.ask(question)
    assert server.asked == []


def test_an_empty_reply_is_a_reply(serve: Serve, judge_at: Make) -> None:
    """A refusal without text, a text in parts, and several choices are replies and no reason to ask again; different choices all count."""
    parts = b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}'
    choices = [json.loads(completion(text, finish=end))["choices"][0] for text, end in (("4", "stop"), ("2", "length"), ("4", "error"))]
    says = [Say(raw=b'{"choices": [{"message": {"content": null}}]}'), Say(raw=parts), Say(raw=json.dumps({"choices": choices}).encode())]
    server = serve(lambda _, n: says[n - 1])
    client = judge_at(server).client
    assert [(reply.text, reply.finish) for n in range(3) if (reply := client.ask(request(str(n))))] == [
        ("", ""),
        ("ab", ""),
        ("4\n2", "length"),
    ]


def test_replies_on_a_tape(tmp_path: Path) -> None:
    """Known to the next one by request, whatever the server; what is not there, and a tape that cannot be written, is a fault."""
    asked = [Request(model="m", messages=({"role": "user", "content": text},)) for text in "ab"]
    tape = RecordedReplies(tmp_path / "new" / "folder" / "tape.jsonl", "record")
    assert tape.get(asked[0]) is None
    for at, request in enumerate(asked):
        tape.put(request, Reply(text=str(at), n_prompt_tokens=7))
    assert [tape.get(request) for request in asked] == [Reply(text=str(at), n_prompt_tokens=7) for at in range(2)]
    again = RecordedReplies(tmp_path / "new" / "folder" / "tape.jsonl")
    assert [again.get(request) for request in asked] == [Reply(text=str(at), n_prompt_tokens=7, known=True) for at in range(2)]
    with pytest.raises(FaultError, match=r"tape\.jsonl contains no reply"):
        again.get(replace(asked[0], sample=1))
    with pytest.raises(FaultError, match=r"the cassette x cannot be written: ") as raised:
        RecordedReplies(tmp_path / "new" / "folder" / "tape.jsonl" / "x", "record").put(asked[0], Reply(text=""))
    assert raised.value.fault.code == "JUDGE_FAILED"


def test_a_reply_may_be_as_long_as_the_bound(serve: Serve) -> None:
    """One byte more is no reply, and it is said how long one may be; the sockets are those of calls under way."""
    server = serve(lambda *_: Say(raw=b"x" * (1 << 20)))
    open_sockets, before = set[socket.socket](), {*threading.enumerate()}
    sent: dict[str, Any] = {"headers": {}, "timeout_seconds": 5.0, "open_sockets": open_sockets}
    assert len(send(f"{server.base_url}/chat/completions", b"{}", most_bytes=1 << 20, **sent).body) == 1 << 20
    with pytest.raises(TransportError, match="the reply is longer than 0 MiB"):
        send(f"{server.base_url}/chat/completions", b"{}", most_bytes=(1 << 20) - 1, **sent)
    assert not open_sockets
    assert [one for one in {*threading.enumerate()} - before if isinstance(one, threading.Timer) and not one.finished.is_set()] == []


@pytest.mark.parametrize(("error", "why"), [
    (BadStatusLine("x"), "the connection was cut, or its reply is no HTTP"), (ConnectionRefusedError(), "the connection was refused"),
    (ConnectionResetError(), "the connection was cut"), (socket.gaierror(), "the host name is not known"),
    (SSLCertVerificationError(), "its certificate is not trusted"), (OSError(), "the network failed"),
])  # fmt: skip
def test_why_there_is_no_response(error: Exception, why: str) -> None:
    """In a few words, also as the text of the error."""
    assert _kind(error) == str(TransportError(why)) == why


def test_a_call_waits_for_a_free_place_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time where one is allowed; the next one begins when a call ends or when a reply allows more, not at the next look."""
    monkeypatch.setattr("evalsuite.scorers.judge.client._STEP", 60.0)

    def wait_in(pace: Pace, begun: threading.Event) -> None:
        with pace.call():
            begun.set()

    for free in ("by its end", "by a reply"):
        pace, begun = Pace(1 if free == "by its end" else 2), threading.Event()
        pace.record_refusal()
        thread = threading.Thread(target=wait_in, args=(pace, begun))
        with pace.call():
            thread.start()
            assert not begun.wait(0.05)
            if free == "by a reply":
                pace.record_reply(0)
                pace.record_reply(0)
                assert begun.wait(20)
        thread.join(20)
        assert begun.is_set()
        assert not thread.is_alive()
