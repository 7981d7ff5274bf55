"""The client of a model's endpoint: what is known is not asked again, what fails for a moment is asked again.

Threads may share one client. The key is read from the environment at each call's start and appears in nothing that leaves here.
"""

import logging
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import FaultError
from evalsuite.judge.batches import Desk
from evalsuite.judge.endpoint import AGAIN, LONGEST_BACKOFF, LONGEST_RETRY_AFTER, REFUSED, TOO_FAST, Endpoint, Wait, retry_after
from evalsuite.judge.pace import Pace
from evalsuite.judge.settings import Settings
from evalsuite.judge.transport import Cassette, Reply, Request, Response, TransportError, reply_of
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
# After so many calls in a row that failed for good, the judge is held to be down and no more are tried.
_MOST_FAILURES = 5


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
        self.desk: Desk | None = None
        self.endpoint = Endpoint(settings, PROVIDERS[settings.provider].load(), wait)
        limits = settings.requests_per_minute, settings.tokens_per_minute
        self._pace = Pace(settings.concurrency, *limits, wait=self.endpoint.wait)
        self._renamed: set[str] = set()
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
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
                if self.desk is not None:
                    reply = self.desk.reply(request)
                else:
                    with self._pace.call():
                        reply = self._post(request)
                if self._cassette is not None:
                    self._cassette.put(request, reply)
                if self._memo is not None and says(reply):
                    self._memo.put("reply", request.key(self.settings.base_url), reply.to_json())
            self._count_reply(reply)
            return reply

    def take_batches(self, file: Path | None) -> Desk:
        """From here on everything waits at this desk for the provider's batches; `file` notes those under way."""
        assert self.endpoint.provider.batches is not None
        self.desk = Desk(self.endpoint, self.endpoint.provider.batches, file)
        return self.desk

    def close(self) -> None:
        """Let no further call out, and end those under way."""
        self.endpoint.stop()

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
                asked_for = retry_after(response.headers)
                if asked_for > LONGEST_RETRY_AFTER:
                    raise FaultError("JUDGE_FAILED", f"{why}: it asks for a pause of {asked_for:.0f} s")
                delay = max(delay, asked_for)
            log.debug("judge call failed (%s), attempt %d of %d", why, attempt + 1, n_attempts)
            if attempt + 1 < n_attempts:
                with self._lock:
                    self.usage.n_retries += 1
                self.endpoint.wait(delay)
        raise self._failed(f"{why} ({n_attempts} tries)")

    def _send(self, request: Request) -> Response:
        """One response. A model that wants the bound of its reply under the other name gets it so, from then on."""
        body = self._body(request)
        response = self._sent(request, body)
        usual, other = self.endpoint.provider.limit_key or ("", "")
        if response.status == 400 and usual in body and other.encode() in response.body:
            self._renamed.add(request.model)
            response = self._sent(request, self._body(request))
        return response

    def _body(self, request: Request) -> dict[str, Any]:
        body = self.endpoint.provider.body(request)
        if request.model in self._renamed and self.endpoint.provider.limit_key:
            usual, other = self.endpoint.provider.limit_key
            body = {other if key == usual else key: value for key, value in body.items()}
        return body

    def _sent(self, request: Request, body: dict[str, Any]) -> Response:
        self._pace.turn()
        return self.endpoint.ask(request.model, body)

    def _reply(self, response: Response) -> tuple[Reply | None, str]:
        """(the reply, "") or (None, why to ask again). Raises `FaultError` where asking again cannot help."""
        status = response.status
        if status == 200:
            reply = self.endpoint.provider.reply(response.body)
            if reply is None:
                return None, f"the reply is none of {self.settings.provider}'s"
            self._pace.replied(reply.n_prompt_tokens + reply.n_completion_tokens)
            return replace(reply, text=self.endpoint.hidden(reply.text)), ""
        why = f"the judge answered HTTP {status}"
        told = self.endpoint.error_in_words(response.body)
        if status in AGAIN or status >= 500:
            if status in TOO_FAST:
                self._pace.refused()
            return None, f"{why}: {told}" if told else why
        with self._lock:
            if status in REFUSED:
                self._refusal = why = f"{why}: {REFUSED[status]}"
            elif told in self._errors:
                # The same error for another request: it is the way of asking that is refused, not what was asked.
                self._refusal = f"not asked: {why} before"
            self._errors.add(told)
        raise FaultError("JUDGE_FAILED", f"{why}: {told}" if told else why)

    def _failed(self, why: str) -> FaultError:
        with self._lock:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._refusal = f"not asked, because {_MOST_FAILURES} calls in a row had failed: {why}"
        return FaultError("JUDGE_FAILED", why)
