"""The client of an OpenAI-compatible chat endpoint: what is known is not asked again, what fails for a moment is asked again.

Threads may share one client. The key is read from the environment at each call's start and appears in nothing that leaves here.
"""

import contextlib
import json
import logging
import random
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from evalsuite.errors import FaultError
from evalsuite.judge.settings import Settings
from evalsuite.judge.transport import Cassette, Reply, Request, Response, TransportError, post, reply_of
from evalsuite.memo import Memo

log = logging.getLogger(__name__)
Wait = Callable[[float], Any]

_AGAIN = frozenset({408, 409, 425, 429})
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


class Client:
    """Asks one endpoint; `ask` may be called from any number of threads, `concurrency` calls are under way at once."""

    def __init__(self, settings: Settings, *, wait: Wait | None = None) -> None:
        self.settings = settings
        self.usage = Usage()
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._slots = threading.BoundedSemaphore(settings.concurrency)
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
                with self._slots:
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
        key = self.settings.key()
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "evalsuite"}
        if key:
            headers[self.settings.key_header] = f"Bearer {key}" if self.settings.key_header.lower() == "authorization" else key
        body = json.dumps(request.body()).encode()
        return post(_endpoint(self.settings.base_url), body, headers, timeout_seconds=self.settings.timeout_seconds, held=self._held)

    def _reply(self, response: Response) -> tuple[Reply | None, str]:
        """(the reply, "") or (None, why to ask again). Raises `FaultError` where asking again cannot help."""
        status = response.status
        if status == 200:
            reply = _parse(response.body)
            return (self._without_key(reply), "") if reply else (None, "the reply is no chat completion")
        if status in _AGAIN or status >= 500:
            return None, f"the judge answered HTTP {status}"
        why = f"the judge answered HTTP {status}"
        told = self._error_in_words(response.body)
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
        key = self.settings.key()
        text = text.replace(key, "[key]") if len(key) >= _SHORTEST_SECRET else text
        return " ".join(text.split())[:_LONGEST_ERROR]

    def _without_key(self, reply: Reply) -> Reply:
        """The reply without the key: an endpoint may echo what it was sent. A key of a few characters is none to hide."""
        key = self.settings.key()
        return replace(reply, text=reply.text.replace(key, "[key]")) if len(key) >= _SHORTEST_SECRET else reply

    def _failed(self, why: str) -> FaultError:
        with self._lock:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._refusal = f"not asked, because {_MOST_FAILURES} calls in a row had failed: {why}"
        return FaultError("JUDGE_FAILED", why)


def _endpoint(base_url: str) -> str:
    """The address of the chat completions under a base address; a query stays where it is."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith("/chat/completions") else f"{path}/chat/completions", fragment=""))


def _parse(body: bytes) -> Reply | None:
    """The first choice's text with its counts, None where the body is no chat completion. A refusal is a reply without text."""
    try:
        entry = json.loads(body)
        choice = entry["choices"][0]
        content = choice["message"].get("content")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    if content is not None and not isinstance(content, str):
        return None
    usage = entry.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    finish = choice.get("finish_reason")
    return Reply(
        text=content or "",
        n_prompt_tokens=_count_of(usage, "prompt_tokens"),
        n_completion_tokens=_count_of(usage, "completion_tokens"),
        finish=finish if isinstance(finish, str) else "",
    )


def _count_of(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


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
