"""What a provider of models is: how it is asked over HTTP, and how its reply is read; one file each, named in `client.PROVIDERS`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from evalsuite.scorers.judge.transport import Reply, Request, Response

# (method, address, body, kind=its media type, most_bytes=) -> the response, after retries. Raises `FaultError` where it is none to use.
Call = Callable[..., Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """Where a batch stands: whether it is over, the addresses of its results, and why it has none for some requests."""

    is_over: bool
    places: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchApi:
    """How a provider takes many requests at once.

    Args:
        start: (call, base address, bodies by key) -> the id of a new batch.
        look: (call, base address, id) -> where it stands.
        line: one JSON line of the results -> (key, the reply's JSON, why there is none).
    """

    start: Callable[[Call, str, Mapping[str, Mapping[str, Any]]], str]
    look: Callable[[Call, str, str], BatchState]
    line: Callable[[Any], tuple[str, object, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How one provider is asked.

    Args:
        address: (base address, model) -> the address that a request goes to.
        body: a request -> its JSON body.
        read: the reply's JSON -> the reply, None where it is none of this provider's; what is not there may raise LookupError, TypeError
            or AttributeError.
        key_header: the header of the key where the settings name none.
        headers: what else every request carries.
        limit_key: the key of the body that bounds the reply, and the one that a model may want in its place.
        batches: its batch API, where it has one.
    """

    address: Callable[[str, str], str]
    body: Callable[[Request], dict[str, Any]]
    read: Callable[[Any], Reply | None]
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    limit_key: tuple[str, str] | None = None
    batches: BatchApi | None = None

    def reply(self, body: bytes) -> Reply | None:
        """The reply in a response's body, None where there is none."""
        try:
            return self.reply_in(json.loads(body))
        except (ValueError, RecursionError):
            return None

    def reply_in(self, said: object) -> Reply | None:
        """The reply in the JSON of a response, None where there is none."""
        try:
            return self.read(said)
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return None


def below(base_url: str, ending: str) -> str:
    """The address with `ending` behind its path, unless it ends so already; a query stays where it is."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(ending) else path + ending, fragment=""))


def parameters_of(request: Request, renamed: Mapping[str, str]) -> dict[str, Any]:
    """The request's parameters under the provider's names; a null one is left out."""
    return {renamed.get(key, key): value for key, value in request.parameters.items() if value is not None}


def text_of(parts: Any, kinds: tuple[str, ...] = ()) -> str:
    """The texts of a list of parts joined, of some kinds only where any are named."""
    chosen = [part for part in parts if isinstance(part, dict) and (not kinds or part.get("type") in kinds)]
    return "".join(part["text"] for part in chosen if isinstance(part.get("text"), str))


def counted(usage: Any, *keys: str) -> int:
    """The sum of some token counts; what is no count adds nothing."""
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def word(value: Any) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
