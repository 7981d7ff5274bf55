"""The client of a model's endpoint: what is known is not asked again, what fails for a moment is asked again.

Threads may share one client. The key is read from the environment at each call's start and appears in nothing that leaves here.
"""

import contextlib
import json
import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import FaultError
from evalsuite.judge.pace import Pace
from evalsuite.judge.providers import Provider
from evalsuite.judge.settings import Settings
from evalsuite.judge.transport import Cassette, Reply, Request, Response, TransportError, post, reply_of
from evalsuite.lazy import Lazy
from evalsuite.memo import Memo

PROVIDERS: Final[Mapping[str, Lazy]] = {
    "openai": Lazy("evalsuite.judge.openai_chat:PROVIDER", "OpenAI's chat completions, and whatever speaks that protocol"),
    "responses": Lazy("evalsuite.judge.openai_responses:PROVIDER", "OpenAI's responses"),
    "azure": Lazy("evalsuite.judge.azure:PROVIDER", "Azure OpenAI: `model` is the deployment"),
    "anthropic": Lazy("evalsuite.judge.anthropic:PROVIDER", "Anthropic's messages"),
    "gemini": Lazy("evalsuite.judge.gemini:PROVIDER", "Gemini's generateContent"),
}

log = logging.getLogger(__name__)
Wait = Callable[[float], Any]

_AGAIN = frozenset({408, 409, 425, 429})
_TOO_FAST = frozenset({429, 503, 529})
# Every other call would be refused for the same reason.
_REFUSED = {401: "the key is not accepted", 403: "the key has no right to this", 404: "no such address or model"}
_LONGEST_BACKOFF, _LONGEST_RETRY_AFTER = 30.0, 300.0
# After so many calls in a row that failed for good, the judge is held to be down and no more are tried.
_MOST_FAILURES = 5
_SHORTEST_SECRET = 8
_LONGEST_ERROR = 300


@dataclass(slots=True)
class Usage:
    """What a client did: calls that went out, replies that were known, retries, tokens."""

    n_calls: int = 0
    n_known: int = 0
    n_retries: int = 0
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request as it went over the wire, its key aside, and what came back: status 0 says that nothing whole did."""

    address: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    seconds: float = 0.0
    status: int = 0
    said: str = ""


class Client:
    """Asks one endpoint; `ask` may be called from any number of threads, `concurrency` calls are under way at once."""

    def __init__(self, settings: Settings, *, wait: Wait | None = None) -> None:
        self.settings = settings
        self.usage = Usage()
        self.heard: Callable[[Exchange], None] = lambda _: None
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._provider: Provider = PROVIDERS[settings.provider].load()
        limits = settings.requests_per_minute, settings.tokens_per_minute
        self._pace = Pace(settings.concurrency, *limits, wait=self._wait)
        self._renamed: set[str] = set()
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        self._held: set[socket.socket] = set()
        self._failures = 0
        self._refusal: str | None = None
        self._errors: set[str] = set()
        self._memo = Memo(Path(settings.cache), at_once=True) if settings.cache else None
        self._cassette = Cassette(Path(settings.cassette), settings.cassette_mode) if settings.cassette else None

    def ask(self, request: Request, *, says: Callable[[Reply], bool] = lambda _: True) -> Reply:
        """The reply to a request, out of the cassette, the cache or the endpoint. With a cache the same request goes out once.

        A reply that `says` nothing is not kept: whoever comes next asks again.

        Raises:
            FaultError: NO_JUDGE where the settings name none, JUDGE_FAILED where it gave no reply after all retries.
        """
        self.settings.require()
        with self._alone(request):
            reply = self._kept_reply(request, says)
            if reply is None:
                with self._pace.call():
                    reply = self._post(request)
                if self._cassette is not None:
                    self._cassette.put(request, reply)
                if self._memo is not None and says(reply):
                    self._memo.put("reply", request.key(self.settings.base_url), reply.to_json())
            self._count_reply(reply)
            return reply

    def close(self) -> None:
        """Let no further call out, and end those under way."""
        self._stopped.set()
        for held in list(self._held):
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _alone(self, request: Request) -> threading.Lock:
        with self._lock:
            return self._asking.setdefault(request.key(), threading.Lock())

    def _kept_reply(self, request: Request, says: Callable[[Reply], bool]) -> Reply | None:
        if self._cassette is not None:
            return self._cassette.get(request)
        if self._memo is None:
            return None
        reply = reply_of(self._memo.get("reply", request.key(self.settings.base_url)))
        return reply if reply is not None and says(reply) else None

    def _count_reply(self, reply: Reply) -> None:
        with self._lock:
            if reply.known:
                self.usage.n_known += 1
            else:
                self.usage.n_calls += 1
                self.usage.n_prompt_tokens += reply.n_prompt_tokens
                self.usage.n_completion_tokens += reply.n_completion_tokens

    def _post(self, request: Request) -> Reply:
        """A fresh reply, with retries. Raises `FaultError`."""
        why = ""
        n_attempts = 1 + self.settings.retries
        for attempt in range(n_attempts):
            if self._refusal is not None:
                raise FaultError("JUDGE_FAILED", self._refusal)
            if self._stopped.is_set():
                raise FaultError("JUDGE_FAILED", "the run was ended before the judge replied")
            delay = min(_LONGEST_BACKOFF, self.settings.backoff_seconds * 2**attempt) * random.uniform(0.5, 1)
            try:
                response = self._send(request)
            except TransportError as error:
                why = error.kind
            else:
                reply, why = self._reply(response)
                if reply is not None:
                    self._failures = 0
                    return reply
                asked_for = _retry_after(response.headers)
                if asked_for > _LONGEST_RETRY_AFTER:
                    raise FaultError("JUDGE_FAILED", f"{why}: it asks for a pause of {asked_for:.0f} s")
                delay = max(delay, asked_for)
            log.debug("judge call failed (%s), attempt %d of %d", why, attempt + 1, n_attempts)
            if attempt + 1 < n_attempts:
                with self._lock:
                    self.usage.n_retries += 1
                self._wait(delay)
        raise self._failed(f"{why} ({n_attempts} tries)")

    def _send(self, request: Request) -> Response:
        """One response. A model that wants the bound of its reply under the other name gets it so, from then on."""
        body = self._body(request)
        response = self._sent(request, body)
        usual, other = self._provider.limit_key or ("", "")
        if response.status == 400 and usual in body and other.encode() in response.body:
            self._renamed.add(request.model)
            response = self._sent(request, self._body(request))
        return response

    def _body(self, request: Request) -> dict[str, Any]:
        body = self._provider.body(request)
        if request.model in self._renamed and self._provider.limit_key:
            usual, other = self._provider.limit_key
            body = {other if key == usual else key: value for key, value in body.items()}
        return body

    def _sent(self, request: Request, body: dict[str, Any]) -> Response:
        self._pace.turn()
        key = self.settings.key()
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "evalsuite", **self._provider.headers}
        address = self._provider.address(self.settings.base_url, request.model)
        name = self.settings.key_header or self._provider.key_header
        keyed = {name: f"Bearer {key}" if name.lower() == "authorization" else key} if key else {}
        shown = Exchange(address=address, headers={**headers, **dict.fromkeys(keyed, "[key]")}, body=body)
        started = time.monotonic()
        try:
            data = json.dumps(body).encode()
            response = post(address, data, headers | keyed, timeout_seconds=self.settings.timeout_seconds, held=self._held)
        except TransportError as error:
            self.heard(replace(shown, seconds=time.monotonic() - started, status=0, said=error.kind))
            raise
        said = self._hidden(response.body.decode("utf-8", "replace"))
        self.heard(replace(shown, seconds=time.monotonic() - started, status=response.status, said=said))
        return response

    def _reply(self, response: Response) -> tuple[Reply | None, str]:
        """(the reply, "") or (None, why to ask again). Raises `FaultError` where asking again cannot help."""
        status = response.status
        if status == 200:
            reply = self._provider.reply(response.body)
            if reply is None:
                return None, f"the reply is none of {self.settings.provider}'s"
            self._pace.replied(reply.n_prompt_tokens + reply.n_completion_tokens)
            return replace(reply, text=self._hidden(reply.text)), ""
        why = f"the judge answered HTTP {status}"
        told = self._error_in_words(response.body)
        if status in _AGAIN or status >= 500:
            if status in _TOO_FAST:
                self._pace.refused()
            return None, f"{why}: {told}" if told else why
        with self._lock:
            if status in _REFUSED:
                self._refusal = why = f"{why}: {_REFUSED[status]}"
            elif told in self._errors:
                # The same error for another request: it is the way of asking that is refused, not what was asked.
                self._refusal = f"not asked: {why} before"
            self._errors.add(told)
        raise FaultError("JUDGE_FAILED", f"{why}: {told}" if told else why)

    def _error_in_words(self, body: bytes) -> str:
        """What an error's body says, on one line, without the key."""
        text = body[:_LONGEST_ERROR].decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            said = json.loads(body[: 16 * _LONGEST_ERROR])
            error = said.get("error", said)
            text = str(error.get("message", text) if isinstance(error, dict) else error)
        return " ".join(self._hidden(text).split())[:_LONGEST_ERROR]

    def _hidden(self, text: str) -> str:
        """A text without the key: an endpoint may echo what it was sent. A key of a few characters is none to hide."""
        key = self.settings.key()
        return text.replace(key, "[key]") if len(key) >= _SHORTEST_SECRET else text

    def _failed(self, why: str) -> FaultError:
        with self._lock:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._refusal = f"not asked, because {_MOST_FAILURES} calls in a row had failed: {why}"
        return FaultError("JUDGE_FAILED", why)


def _retry_after(headers: Mapping[str, str]) -> float:
    """The seconds that `Retry-After` asks for, as a number or a date; 0 without one."""
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
