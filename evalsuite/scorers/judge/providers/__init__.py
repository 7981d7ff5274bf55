"""Interface of model providers: how to send a request over HTTP and read the reply. One file each, named in `client.PROVIDERS`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from evalsuite.scorers.judge.transport import Reply, Request, Response

# (method, address, body, kind=media type, most_bytes=) -> the response, after retries. Raises `FaultError` for an unusable one.
Call = Callable[..., Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """State of a batch: whether it is complete, the addresses of its results, and the reasons for missing results."""

    is_over: bool
    places: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchApi:
    """Batch API of a provider.

    Args:
        start: (call, base address, bodies by key) -> the id of a new batch.
        look: (call, base address, id) -> its state.
        line: one JSON line of the results -> (key, the reply's JSON, the reason if there is none).
    """

    start: Callable[[Call, str, Mapping[str, Mapping[str, Any]]], str]
    look: Callable[[Call, str, str], BatchState]
    line: Callable[[Any], tuple[str, object, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Protocol of one provider.

    Args:
        address: (base address, model) -> the address of a request.
        body: a request -> its JSON body.
        read: the reply's JSON -> the reply, None if it is not from this provider; missing keys may raise LookupError, TypeError or
            AttributeError.
        key_header: the header of the key if the settings name none.
        headers: further headers of each request.
        limit_key: the key of the body that limits the reply, and the alternative that some models require.
        batches: its batch API, if it has one.
    """

    address: Callable[[str, str], str]
    body: Callable[[Request], dict[str, Any]]
    read: Callable[[Any], Reply | None]
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    limit_key: tuple[str, str] | None = None
    batches: BatchApi | None = None

    def reply(self, body: bytes) -> Reply | None:
        """Return the reply in a response's body, None if there is none."""
        try:
            return self.reply_in(json.loads(body))
        except (ValueError, RecursionError):
            return None

    def reply_in(self, said: object) -> Reply | None:
        """Return the reply in the JSON of a response, None if there is none."""
        try:
            return self.read(said)
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return None


def below(base_url: str, ending: str) -> str:
    """Return the address with `ending` appended to its path, unless it is there already; a query is kept."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(ending) else path + ending, fragment=""))


def parameters_of(request: Request, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Return the request's parameters under the provider's names, without null ones."""
    return {renamed.get(key, key): value for key, value in request.parameters.items() if value is not None}


def text_of(parts: Any, kinds: tuple[str, ...] = ()) -> str:
    """Return the joined texts of a list of parts, of all kinds or of the named ones."""
    chosen = [part for part in parts if isinstance(part, dict) and (not kinds or part.get("type") in kinds)]
    return "".join(part["text"] for part in chosen if isinstance(part.get("text"), str))


def counted(usage: Any, *keys: str) -> int:
    """Return the sum of some token counts; other values count 0."""
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def word(value: Any) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
