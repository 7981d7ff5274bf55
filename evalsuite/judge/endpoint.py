"""The endpoint of a judge, spoken to with its key: which goes out in one header, and into nothing that is shown or kept."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.judge.providers import Provider
from evalsuite.judge.settings import Settings
from evalsuite.judge.transport import Reply, Response, TransportError, send

Wait = Callable[[float], Any]

AGAIN = frozenset({408, 409, 425, 429})
TOO_FAST = frozenset({429, 503, 529})
# Every other call would be refused for the same reason.
REFUSED = {401: "the key is not accepted", 403: "the key has no right to this", 404: "no such address or model"}
LONGEST_BACKOFF, LONGEST_RETRY_AFTER = 30.0, 300.0
_SHORTEST_SECRET = 8
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request as it went over the wire, its key aside, and what came back: status 0 says that nothing whole did."""

    address: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    seconds: float = 0.0
    status: int = 0
    said: str = ""


class Endpoint:
    """One address with its key, its provider's way of speaking, and how long to wait between tries."""

    def __init__(self, settings: Settings, provider: Provider, wait: Wait | None) -> None:
        self.settings, self.provider = settings, provider
        self.heard: Callable[[Exchange], None] = lambda _: None
        self._stopped = threading.Event()
        self.wait: Wait = wait or self._stopped.wait
        self._held: set[socket.socket] = set()

    @property
    def is_stopped(self) -> bool:
        """Whether no further call may go out."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Let no further call out, and end those under way."""
        self._stopped.set()
        for held in list(self._held):
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def ask(self, model: str, body: Mapping[str, Any]) -> Response:
        """The response to one body, which is heard with what came back. Raises `TransportError`."""
        headers, keyed = self._headers("application/json")
        address = self.provider.address(self.settings.base_url, model)
        shown = Exchange(address=address, headers={**headers, **dict.fromkeys(keyed, "[key]")}, body=body)
        started = time.monotonic()
        try:
            data, timeout = json.dumps(body).encode(), self.settings.timeout_seconds
            response = send(address, data, headers | keyed, timeout_seconds=timeout, held=self._held)
        except TransportError as error:
            self.heard(replace(shown, seconds=time.monotonic() - started, status=0, said=error.kind))
            raise
        said = self.hidden(response.body.decode("utf-8", "replace"))
        self.heard(replace(shown, seconds=time.monotonic() - started, status=response.status, said=said))
        return response

    def call(self, method: str, address: str, data: bytes = b"", *, kind: str = "application/json", most_bytes: int = 8 << 20) -> Response:
        """The response of another of the provider's addresses, with retries. Raises `FaultError` for any status but 200."""
        why = ""
        for attempt in range(1 + self.settings.retries):
            if attempt and self.pause(min(LONGEST_BACKOFF, self.settings.backoff_seconds * 2**attempt)):
                break
            headers, keyed = self._headers(kind)
            try:
                timeout = self.settings.timeout_seconds
                response = send(
                    address, data, headers | keyed, timeout_seconds=timeout, held=self._held, method=method, most_bytes=most_bytes
                )
            except TransportError as error:
                why = error.kind
                continue
            if response.status in (200, 201):
                return response
            why = f"the judge answered HTTP {response.status}"
            why += f": {told}" if (told := REFUSED.get(response.status) or self.error_in_words(response.body)) else ""
            if response.status not in AGAIN and response.status < 500:
                break
        raise FaultError("JUDGE_FAILED", why or "the run was ended before the judge replied")

    def _headers(self, kind: str) -> tuple[dict[str, str], dict[str, str]]:
        """(headers without the key, the header that holds it)."""
        key = self.settings.key()
        headers = {"Content-Type": kind, "Accept": "application/json", "User-Agent": "evalsuite", **self.provider.headers}
        name = self.settings.key_header or self.provider.key_header
        return headers, {name: f"Bearer {key}" if name.lower() == "authorization" else key} if key else {}

    def read(self, said: object) -> Reply | None:
        """The reply in the JSON of a response, without the key; None where it is none."""
        reply = self.provider.reply_in(said)
        return None if reply is None else replace(reply, text=self.hidden(reply.text))

    def pause(self, seconds: float) -> bool:
        """Wait; true where the calls were ended meanwhile."""
        return bool(self.wait(seconds)) or self._stopped.is_set()

    def error_in_words(self, body: bytes) -> str:
        """What an error's body says, on one line, without the key."""
        text = body[:_LONGEST_ERROR].decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            said = json.loads(body[: 16 * _LONGEST_ERROR])
            error = said.get("error", said)
            text = str(error.get("message", text) if isinstance(error, dict) else error)
        return " ".join(self.hidden(text).split())[:_LONGEST_ERROR]

    def hidden(self, text: str) -> str:
        """A text without the key: an endpoint may echo what it was sent. A key of a few characters is none to hide."""
        key = self.settings.key()
        return text.replace(key, "[key]") if len(key) >= _SHORTEST_SECRET else text


def retry_after(headers: Mapping[str, str]) -> float:
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
