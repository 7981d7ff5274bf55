"""Client of a model endpoint: caching, rate limits, retries and the provider's batch API.

Known replies are taken from the cache; temporary failures are retried. Threads may share one client. The key is read from the environment
at the start of each call; it is sent in one header and never shown or stored.

With a batch API, the first request for a reply raises a fault that means "wait"; after `settle` the reply is available. Batches under way
are recorded in a file, so that a run that was killed finds its batches again and sends nothing twice.
"""

import json
import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import FaultError, count_words
from evalsuite.core.import_ref import ImportRef
from evalsuite.scorers.judge.settings import Settings
from evalsuite.scorers.judge.transport import (
    LONGEST_BODY,
    BatchApi,
    Provider,
    RecordedReplies,
    Reply,
    Request,
    Response,
    TransportError,
    parse_response,
    reply_of,
    send,
)

_MINUTE = 60.0
_STEP = 0.5  # seconds after which a waiting call checks again whether it was stopped


class Pace:
    """Rate limiter. A refusal (429, 529) halves the number of parallel calls; each reply allows half a call more.

    Args:
        concurrency: the maximum number of parallel calls.
        requests_per_minute: 0 sets no limit.
        tokens_per_minute: tokens of prompts and replies together, counted when a reply arrives; 0 sets no limit.
        wait: waits that many seconds, or until the calls are stopped.
        clock: returns seconds.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        *,
        wait: Callable[[float], Any] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.allowed = float(concurrency)
        self._most, self._under_way = concurrency, 0
        self._free = threading.Condition()
        self._wait, self._clock = wait, clock
        self._gap = _MINUTE / requests_per_minute if requests_per_minute else 0.0
        self._per_token = _MINUTE / tokens_per_minute if tokens_per_minute else 0.0
        self._next = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Reserve a slot for one call, until its reply arrives."""
        with self._free:
            while self._under_way >= max(1, int(self.allowed)):
                self._free.wait(_STEP)
            self._under_way += 1
        try:
            yield
        finally:
            with self._free:
                self._under_way -= 1
                self._free.notify()

    def turn(self) -> None:
        """Wait for this request's turn under the limits per minute; each retry counts as a request."""
        if not (self._gap or self._per_token):
            return
        with self._free:
            now = self._clock()
            at = max(now, self._next)
            self._next = at + self._gap
        if at > now:
            self._wait(at - now)

    def record_reply(self, n_tokens: int) -> None:
        """Record a reply: its tokens delay the next turn, and more parallel calls are allowed."""
        with self._free:
            self._next = max(self._next, self._clock()) + n_tokens * self._per_token if self._per_token else self._next
            self.allowed = min(float(self._most), self.allowed + 0.5)
            self._free.notify()

    def record_refusal(self) -> None:
        """Record that the endpoint refused a call because of the rate."""
        with self._free:
            self.allowed = max(1.0, self.allowed / 2)


Wait = Callable[[float], Any]

AGAIN = frozenset({408, 409, 425, 429})
TOO_FAST = frozenset({429, 503, 529})
# All other calls would be refused for the same reason.
REFUSED = {401: "the key is not accepted", 403: "the key has no right to this", 404: "no such address or model"}
LONGEST_BACKOFF, LONGEST_RETRY_AFTER = 30.0, 300.0
_SHORTEST_SECRET = 8
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One HTTP request without its key, and the response; status 0 means no complete response."""

    address: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    seconds: float
    status: int
    text: str


class Endpoint:
    """One address with its key, its provider's protocol, and the time limits."""

    def __init__(self, settings: Settings, provider: Provider, wait: Wait | None) -> None:
        self.settings, self.provider = settings, provider
        self.on_exchange: Callable[[Exchange], None] = lambda _: None
        self._stopped = threading.Event()
        self.wait: Wait = wait or self._stopped.wait
        self._open_sockets: set[socket.socket] = set()

    @property
    def is_stopped(self) -> bool:
        """Return whether further calls are forbidden."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Forbid further calls and stop those under way."""
        self._stopped.set()
        for open_socket in list(self._open_sockets):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def ask(self, model: str, body: Mapping[str, Any]) -> Response:
        """Send one body and return the response. Raises `TransportError`."""
        headers, keyed = self._headers("application/json")
        address = self.provider.address(self.settings.base_url, model)
        shown: dict[str, Any] = {"address": address, "headers": {**headers, **dict.fromkeys(keyed, "[key]")}, "body": body}
        started, status, text = time.monotonic(), 0, ""
        try:
            response = self._send(address, json.dumps(body).encode(), headers | keyed)
            status, text = response.status, self.hide_key(response.body.decode("utf-8", "replace"))
        except TransportError as error:
            text = error.kind
            raise
        finally:
            self.on_exchange(Exchange(**shown, seconds=time.monotonic() - started, status=status, text=text))
        return response

    def _send(self, address: str, data: bytes, headers: Mapping[str, str], **options: Any) -> Response:
        return send(address, data, headers, timeout_seconds=self.settings.timeout_seconds, open_sockets=self._open_sockets, **options)

    def call(
        self, method: str, address: str, data: bytes = b"", *, kind: str = "application/json", most_bytes: int = LONGEST_BODY
    ) -> Response:
        """Call another address of the provider, with retries. Raises `FaultError` for any status but 200 and 201, and once stopped."""
        why = ""
        for attempt in range(1 + self.settings.retries):
            if attempt:
                self.wait(min(LONGEST_BACKOFF, self.settings.backoff_seconds * 2 ** (attempt - 1)))
            if self.is_stopped:
                break
            headers, keyed = self._headers(kind)
            try:
                response = self._send(address, data, headers | keyed, method=method, most_bytes=most_bytes)
            except TransportError as error:
                why = error.kind
                continue
            if response.status in (200, 201):
                return response
            why = f"the judge answered HTTP {response.status}"
            why += f": {problem}" if (problem := REFUSED.get(response.status) or self.error_in_words(response.body)) else ""
            if response.status not in AGAIN and response.status < 500:
                break
        raise FaultError("JUDGE_FAILED", why or "the run was ended before the judge replied")

    def _headers(self, kind: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return (headers without the key, the header with the key)."""
        key = self.settings.key()
        headers = {"Content-Type": kind, "Accept": "application/json", "User-Agent": "evalsuite", **self.provider.headers}
        name = self.settings.key_header or self.provider.key_header
        return headers, {name: f"Bearer {key}" if name.lower() == "authorization" else key} if key else {}

    def read(self, data: object) -> Reply | None:
        """Return the reply in the JSON of a response, without the key; None if there is none."""
        reply = self.provider.reply_in(data)
        return None if reply is None else replace(reply, text=self.hide_key(reply.text))

    def error_in_words(self, body: bytes) -> str:
        """Return the message in an error body, on one line, without the key."""
        text = body[:_LONGEST_ERROR].decode("utf-8", "replace")
        with suppress(ValueError, RecursionError, AttributeError):
            data = json.loads(body[: 16 * _LONGEST_ERROR])
            error = data.get("error", data)
            text = str(error.get("message", text) if isinstance(error, dict) else error)
        return " ".join(self.hide_key(text).split())[:_LONGEST_ERROR]

    def hide_key(self, text: str) -> str:
        """Return a text without the key, because an endpoint may echo it. A key of a few characters is not secret."""
        key = self.settings.key()
        return text.replace(key, "[key]") if len(key) >= _SHORTEST_SECRET else text


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of `Retry-After`, a number or a date; 0 without one."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


log = logging.getLogger(__name__)
# Below each provider's limits for one batch (OpenAI: 50,000 and 200 MB; Anthropic: 100,000 and 256 MB).
MOST_REQUESTS, MOST_BYTES = 20_000, 100 << 20
_LONGEST_RESULTS, _LONGEST_PAUSE = 1 << 30, 60.0
# Results of a batch for which the provider gives no reasons.
_GONE: Final = frozenset({400, 401, 403, 404, 410})


class BatchQueue:
    """Queue of requests for a batch API. `n_waiting` counts requests whose reply is not available yet.

    Args:
        endpoint: provides key, address and retries.
        api: the provider's batch API.
        file: batches under way, a JSON list of {id, keys}; None records nothing.
    """

    def __init__(self, endpoint: Endpoint, api: BatchApi, file: Path | None) -> None:
        self._endpoint, self._api, self._file = endpoint, api, file
        self._wanted: dict[str, Request] = {}
        self._replies: dict[str, Reply] = {}
        self._make_failure: dict[str, str] = {}
        self.n_waiting = 0

    def reply(self, request: Request) -> Reply:
        """Return the reply from a batch; from the second time on it is `known`. Raises `FaultError`: wait, or the reason for no reply."""
        key = request.key()
        if (reply := self._replies.get(key)) is not None:
            self._replies[key] = replace(reply, known=True)
            return reply
        if key in self._make_failure:
            raise FaultError("JUDGE_FAILED", self._make_failure[key])
        self._wanted[key] = request
        self.n_waiting += 1
        raise FaultError("JUDGE_FAILED", "waits for a batch")

    def settle(self) -> None:
        """Get replies for all waiting requests: from batches under way, the rest from new ones. Takes as long as the provider does."""
        under_way: list[dict[str, Any]] = []
        # Batches of a run that was killed; none if the file is damaged.
        with suppress(OSError, ValueError, TypeError, KeyError):
            if self._file is not None:
                under_way = [{"id": str(batch["id"]), "keys": list(batch["keys"])} for batch in json.loads(self._file.read_bytes())]
        sent_keys = {key for batch in under_way for key in batch["keys"]}
        for bodies in _portions([request for key, request in self._wanted.items() if key not in sent_keys], self._endpoint.provider.body):
            try:
                under_way.append(
                    {"id": self._api.start(self._endpoint.call, self._endpoint.settings.base_url, bodies), "keys": list(bodies)}
                )
            except FaultError as error:
                self._make_failure |= dict.fromkeys(bodies, error.fault.detail)
            except (ValueError, LookupError, TypeError):
                self._make_failure |= dict.fromkeys(bodies, "the provider's answer to a batch is none")
            self._note(under_way)
        for batch in list(under_way):
            if self._collect_replies(batch):
                under_way.remove(batch)
                self._note(under_way)
        for key in self._wanted.keys() - self._replies.keys() - self._make_failure.keys():
            self._make_failure[key] = "the batch gave no reply to it"
        self._wanted.clear()

    def _collect_replies(self, batch: Mapping[str, Any]) -> bool:
        """Collect the replies of a batch. Returns whether it is complete."""
        pause, why = self._endpoint.settings.backoff_seconds, ""
        try:
            while not (state := self._api.look(self._endpoint.call, self._endpoint.settings.base_url, batch["id"])).is_over:
                n = len(batch["keys"])
                log.info("batch %s: %s", batch["id"], "1 request waits" if n == 1 else f"{n} requests wait")
                self._endpoint.wait(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
            why = self._endpoint.hide_key(state.why)
            for place in state.places:
                for line in self._endpoint.call("GET", place, most_bytes=_LONGEST_RESULTS).body.splitlines():
                    with suppress(ValueError, LookupError, TypeError, AttributeError):
                        key, body, problem = self._api.line(parse_response(line))
                        reply = None if problem else self._endpoint.read(body)
                        if reply is not None:
                            self._replies[key] = reply
                        else:
                            self._make_failure[key] = (
                                self._endpoint.hide_key(problem)
                                or f"the reply is not in the protocol of {self._endpoint.settings.provider}"
                            )
        except FaultError as error:
            self._make_failure |= {key: error.fault.detail for key in batch["keys"] if key not in self._replies}
            return any(f"HTTP {status}" in error.fault.detail for status in _GONE)
        except (ValueError, LookupError, TypeError, AttributeError):
            why = "the provider's answer to a batch is none"
        self._make_failure |= {key: why for key in batch["keys"] if why and key not in self._replies and key not in self._make_failure}
        return True

    def _note(self, under_way: Sequence[Mapping[str, Any]]) -> None:
        if self._file is None:
            return
        # A full disk must not end a run that has paid for its batches; only after a kill they are sent again.
        with suppress(OSError):
            if not under_way:
                self._file.unlink(missing_ok=True)
                return
            part = self._file.with_name(f".{self._file.name}.part")
            part.write_text(json.dumps(under_way), encoding="utf-8")
            part.replace(self._file)


def _portions(requests: Sequence[Request], body_of: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield the requests as {key: body}, grouped by model and limited to the size of a batch."""
    for model in dict.fromkeys(request.model for request in requests):
        size, part = 0, dict[str, dict[str, Any]]()
        for request in requests:
            if request.model == model:
                body = body_of(request)
                n_bytes = len(json.dumps(body))
                if part and (len(part) == MOST_REQUESTS or size + n_bytes > MOST_BYTES):
                    yield part
                    size, part = 0, {}
                part[request.key()] = body
                size += n_bytes
        yield part


PROVIDERS: Final[Mapping[str, ImportRef]] = {
    "openai": ImportRef("evalsuite.scorers.judge.transport:OPENAI_CHAT", "OpenAI's chat completions, and whatever speaks that protocol"),
    "responses": ImportRef("evalsuite.scorers.judge.transport:OPENAI_RESPONSES", "OpenAI's responses"),
    "azure": ImportRef("evalsuite.scorers.judge.transport:AZURE", "Azure OpenAI: `model` is the deployment"),
    "anthropic": ImportRef("evalsuite.scorers.judge.transport:ANTHROPIC", "Anthropic's messages"),
    "gemini": ImportRef("evalsuite.scorers.judge.transport:GEMINI", "Gemini's generateContent"),
}

# After this many calls in a row that failed permanently, the judge counts as down and no more calls are made.
_MOST_FAILURES = 5
# The part of a response that shows its form, and the first bytes of gzip.
_HEAD, _GZIP = 60, b"\x1f\x8b"


class Account:
    """Usage of a judge: paid replies, cached replies, tokens, and cost in the currency of the settings.

    With a `ledger` file, each paid reply is recorded there at once, and the replies recorded by an earlier try of the same run are
    included.
    """

    def __init__(self, settings: Settings, ledger: Path | None = None) -> None:
        self._settings, self._ledger = settings, ledger
        self._lock = threading.Lock()
        self.n_calls = self.n_known = self.n_retries = self.n_prompt_tokens = self.n_completion_tokens = self.n_uncounted = 0
        self._served: dict[str, None] = {}
        with suppress(FileNotFoundError):
            for line in ledger.read_bytes().splitlines() if ledger is not None else []:
                with suppress(ValueError, TypeError):  # the last line of a killed run may be incomplete
                    self._add_paid(*json.loads(line))

    def add(self, reply: Reply) -> None:
        """Count one reply; a cached one costs nothing."""
        with self._lock:
            if reply.served:
                self._served[reply.served] = None
            if reply.known:
                self.n_known += 1
                return
            self._add_paid(reply.n_prompt_tokens, reply.n_completion_tokens)
            if self._ledger is not None:
                with suppress(OSError), self._ledger.open("ab") as file:
                    file.write(b"\n[%d, %d]" % (reply.n_prompt_tokens, reply.n_completion_tokens))

    def _add_paid(self, n_prompt_tokens: int, n_completion_tokens: int) -> None:
        self.n_calls += 1
        self.n_uncounted += not (n_prompt_tokens or n_completion_tokens)
        self.n_prompt_tokens += n_prompt_tokens
        self.n_completion_tokens += n_completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Return the `judge` object of `run.json`; `cost` is None without prices, and lacks `uncounted_replies` (without token counts)."""
        priced = self._settings.price_per_1k_prompt or self._settings.price_per_1k_completion
        return {
            "models": list(self._settings.all_models),
            **({"served": list(self._served)} if self._served else {}),
            "calls": self.n_calls,
            "known_replies": self.n_known,
            "prompt_tokens": self.n_prompt_tokens,
            "completion_tokens": self.n_completion_tokens,
            **({"uncounted_replies": self.n_uncounted} if self.n_uncounted else {}),
            "cost": round(self.cost, 9) if priced else None,
        }

    @property
    def cost(self) -> float:
        """The cost so far; 0 without prices."""
        return self._settings.cost_of(self.n_prompt_tokens, self.n_completion_tokens)


class Client:
    """Client of one endpoint. `ask` is thread-safe; at most `concurrency` calls run in parallel. `account` counts its replies."""

    def __init__(self, settings: Settings, *, wait: Wait | None = None, ledger: Path | None = None) -> None:
        self.settings = settings
        self.account = Account(settings, ledger)
        self.queue: BatchQueue | None = None
        self.endpoint = Endpoint(settings, PROVIDERS[settings.provider].load(), wait)
        limits = settings.requests_per_minute, settings.tokens_per_minute
        self._pace = Pace(settings.concurrency, *limits, wait=self.endpoint.wait)
        self._renamed: set[str] = set()
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._failures = 0
        self._refusal: str | None = None
        self._errors: set[str] = set()
        self._memo = DiskCache(Path(settings.cache), at_once=True) if settings.cache else None
        self._cassette = RecordedReplies(Path(settings.cassette), settings.cassette_mode) if settings.cassette else None

    def ask(self, request: Request, *, is_usable: Callable[[Reply], bool] = lambda _: True) -> Reply:
        """Return the reply to a request, from the recorded replies, the cache or the endpoint. With a cache the same request is sent once.

        Replies for which `is_usable` returns False are not cached.

        Raises:
            FaultError: NO_JUDGE if the settings name none, JUDGE_FAILED if there was no reply after all retries.
        """
        self.settings.require()
        with self._lock:
            alone = self._asking.setdefault(request.key(), threading.Lock())
        with alone:
            reply = None
            if self._cassette is not None:
                reply = self._cassette.get(request)
            elif self._memo is not None:
                stored = reply_of(self._memo.get("reply", request.key(self.settings.base_url)))
                reply = stored if stored is not None and is_usable(stored) else None
            if reply is None:
                if self.queue is not None:
                    reply = self.queue.reply(request)
                else:
                    with self._pace.call():
                        reply = self._post(request)
                if self._cassette is not None:
                    self._cassette.put(request, reply)
                if self._memo is not None and is_usable(reply):
                    self._memo.put("reply", request.key(self.settings.base_url), reply.to_json())
            self.account.add(reply)
            return reply

    def take_batches(self, file: Path | None) -> BatchQueue:
        """Send all further requests through the provider's batch API; `file` records the batches under way."""
        assert self.endpoint.provider.batches is not None
        self.queue = BatchQueue(self.endpoint, self.endpoint.provider.batches, file)
        return self.queue

    @property
    def n_unsaved(self) -> int:
        """Number of replies that the cache could not write."""
        return self._memo.n_unsaved if self._memo is not None else 0

    def close(self) -> None:
        """Forbid further calls and stop those under way."""
        self.endpoint.stop()

    def _post(self, request: Request) -> Reply:
        """Return a new reply, with retries. Raises `FaultError`."""
        why = ""
        n_attempts = 1 + self.settings.retries
        for attempt in range(n_attempts):
            if self._refusal is not None:
                raise FaultError("JUDGE_FAILED", self._refusal)
            if self.endpoint.is_stopped:
                raise FaultError("JUDGE_FAILED", "the run was ended before the judge replied")
            delay = min(LONGEST_BACKOFF, self.settings.backoff_seconds * 2**attempt) * random.uniform(0.5, 1)
            try:
                response = self._send(request)
            except TransportError as error:
                why = error.kind
            else:
                reply, why = self._reply(response)
                if reply is not None:
                    self._failures = 0
                    return reply
                pause = retry_after(response.headers)
                if pause > LONGEST_RETRY_AFTER:
                    raise FaultError("JUDGE_FAILED", f"{why}: it requests a pause of {pause:.0f} s")
                delay = max(delay, pause)
            log.debug("judge call failed (%s), attempt %d of %d", why, attempt + 1, n_attempts)
            if attempt + 1 < n_attempts:
                with self._lock:
                    self.account.n_retries += 1
                self.endpoint.wait(delay)
        raise self._make_failure(f"{why} ({count_words(n_attempts, 'attempt')})")

    def _send(self, request: Request) -> Response:
        """Return one response. A model that requires the other name for the reply limit gets that from then on."""
        usual, other = self.endpoint.provider.limit_key or ("", "")
        while True:
            body = self.endpoint.provider.body(request)
            if request.model in self._renamed:
                body = {other if key == usual else key: value for key, value in body.items()}
            self._pace.turn()
            response = self.endpoint.ask(request.model, body)
            if response.status != 400 or usual not in body or other.encode() not in response.body:
                return response
            self._renamed.add(request.model)

    def _reply(self, response: Response) -> tuple[Reply | None, str]:
        """Return (the reply, "") or (None, the reason to retry). Raises `FaultError` if a retry cannot help."""
        status = response.status
        if status == 200:
            reply = self.endpoint.provider.reply(response.body)
            if reply is None:
                problem = self.endpoint.error_in_words(response.body) if b'"error"' in response.body else ""
                return None, f"the judge answered with an error: {problem}" if problem else self._why_unread(response)
            self._pace.record_reply(reply.n_prompt_tokens + reply.n_completion_tokens)
            return replace(reply, text=self.endpoint.hide_key(reply.text)), ""
        why = f"the judge answered HTTP {status}"
        problem = self.endpoint.error_in_words(response.body)
        if status in AGAIN or status >= 500:
            if status in TOO_FAST:
                self._pace.record_refusal()
            return None, f"{why}: {problem}" if problem else why
        with self._lock:
            if status in REFUSED:
                self._refusal = why = f"{why}: {REFUSED[status]}"
            elif problem in self._errors:
                # The same error for a different request: the kind of request is refused, not this one.
                self._refusal = f"not asked: {why} before"
            self._errors.add(problem)
        raise FaultError("JUDGE_FAILED", f"{why}: {problem}" if problem else why)

    def _why_unread(self, response: Response) -> str:
        """Return why a complete response holds no reply: its form, if it is a known one that no request asks for."""
        start, encoding = response.body[:_HEAD].lstrip(), response.headers.get("content-encoding", "")
        form = ""
        if encoding.lower() not in ("", "identity") or start.startswith(_GZIP):
            form = f"compressed ({clean(encoding[:_HEAD]) or 'gzip'})"
        elif "event-stream" in response.headers.get("content-type", "").lower() or start.startswith((b"data:", b"event:")):
            form = "a stream of events"
        elif start.startswith(b"<"):
            form = "a web page"
        what = f"the reply is not in the protocol of {self.settings.provider}"
        return f"{what}: it is {form}, which was not asked for" if form else what

    def _make_failure(self, why: str) -> FaultError:
        with self._lock:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._refusal = f"not asked, because {_MOST_FAILURES} calls in a row had failed: {why}"
        return FaultError("JUDGE_FAILED", why)
