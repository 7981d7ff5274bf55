"""One POST with a deadline over everything, on the standard library.

No client library: httpx has a time limit per read, so that a server which sends a byte a minute holds a call for ever, and redirects and
pools that one POST a verdict does not need. `http.client` on a socket that knows its deadline is shorter than the adapter would be.
"""

import hashlib
import io
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import SplitResult, urlsplit

from evalsuite.core.errors import FaultError

if TYPE_CHECKING:
    from http.client import HTTPConnection


# Part of every key: raised where the same request would be sent otherwise.
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat request. `sample` tells repeats of the same request apart."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    prompt: str = ""

    def body(self) -> dict[str, Any]:
        """The JSON body; a parameter that is null is left out."""
        extra = {key: value for key, value in self.parameters.items() if value is not None}
        return {"model": self.model, "messages": [dict(message) for message in self.messages], **extra}

    def key(self, base_url: str = "") -> str:
        """A digest of everything that can move the reply; without `base_url` it holds wherever the model is served."""
        parts = [_VERSION, base_url.rstrip("/"), self.body(), self.sample, self.prompt]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The text of a reply with its token counts, and which model says that it gave it. `known`: nobody was asked for it now."""

    text: str
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    finish: str = ""
    served: str = ""
    known: bool = False

    def to_json(self) -> dict[str, Any]:
        """What is kept of it."""
        return {key: value for key, value in asdict(self).items() if key != "known"}


def reply_of(entry: object) -> Reply | None:
    """A kept reply, None where the entry is none (half-written, of another version)."""
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return None
    counts = {key: entry.get(key, 0) for key in ("n_prompt_tokens", "n_completion_tokens")}
    if not all(isinstance(count, int) for count in counts.values()):
        return None
    return Reply(text=entry["text"], finish=str(entry.get("finish", "")), served=str(entry.get("served", "")), known=True, **counts)


class RecordedReplies:
    """Replies by request, without the address they came from. `replay` never asks; `record` adds what it lacks."""

    def __init__(self, path: Path, mode: Literal["replay", "record"] = "replay") -> None:
        self.mode = mode
        self._path = path
        self._replies: dict[str, Reply] | None = None

    def get(self, request: Request) -> Reply | None:
        """The recorded reply.

        Raises:
            FaultError: nothing is recorded for it and `replay` allows no asking, or the file cannot be read.
        """
        if self._replies is None:
            self._replies = self._kept_replies()
        reply = self._replies.get(request.key())
        if reply is None and self.mode == "replay":
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} holds no reply to this request")
        return reply

    def put(self, request: Request, reply: Reply) -> None:
        """Add a reply, as one whole line. Raises `FaultError` where the file cannot be written."""
        line = json.dumps({"key": request.key(), "model": request.model, "reply": reply.to_json()}) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError:
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} cannot be written") from None
        if self._replies is not None:
            self._replies[request.key()] = reply

    def _kept_replies(self) -> dict[str, Reply]:
        if self.mode == "record" and not self._path.exists():
            return {}
        replies: dict[str, Reply] = {}
        try:
            for line in self._path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                reply = reply_of(entry["reply"])
                if reply is not None:
                    replies[entry["key"]] = reply
        except (OSError, ValueError, KeyError, TypeError):
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} cannot be read") from None
        return replies


_LONGEST = 8 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back: status, headers by lower-case name, the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """No whole response: `kind` says why in a few words that hold nothing of the request."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
    held: "set[socket.socket] | None" = None,
    method: str = "POST",
    most_bytes: int = _LONGEST,
) -> Response:
    """The response to one request; redirects are not followed, so a key never travels to another host.

    `held` has the socket while the call is under way, for whoever wants to end it.

    Raises:
        TransportError: there was no whole response.
    """
    import http.client

    deadline = time.monotonic() + timeout_seconds
    held = set() if held is None else held
    raw: Any = None
    try:
        connection, target = _connect(urlsplit(url), timeout_seconds)
        raw = connection.sock
        held.add(raw)
        connection.sock = _DeadlineSocket(raw, deadline)
        connection.request(method, target, body=body, headers={**headers, "Connection": "close"})
        answer = connection.getresponse()
        data = answer.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise TransportError(f"the reply is longer than {most_bytes >> 20} MiB")
        return Response(status=answer.status, headers={k.lower(): v for k, v in answer.getheaders()}, body=data)
    except TimeoutError:
        raise TransportError(f"no reply within {timeout_seconds:g} s") from None
    except http.client.HTTPException:
        raise TransportError("the connection was cut, or its reply is no HTTP") from None
    except OSError as error:
        raise TransportError(_kind(error)) from None
    finally:
        if raw is not None:
            held.discard(raw)
            raw.close()


def _connect(parts: SplitResult, timeout_seconds: float) -> tuple["HTTPConnection", str]:
    """(an open connection, the request's target), through the proxy of the environment where there is one."""
    import ssl
    from http.client import HTTPConnection, HTTPSConnection

    host, target = str(parts.hostname), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = _proxy(parts.scheme, host)
    if parts.scheme == "https":
        place = (str(proxy.hostname), proxy.port) if proxy else (host, parts.port)
        connection: HTTPConnection = HTTPSConnection(*place, timeout=timeout_seconds, context=ssl.create_default_context())
        if proxy:
            connection.set_tunnel(host, parts.port or 443)
    else:
        place = (str(proxy.hostname), proxy.port) if proxy else (host, parts.port)
        connection = HTTPConnection(*place, timeout=timeout_seconds)
        target = f"http://{parts.netloc}{target}" if proxy else target
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection, target


def _proxy(scheme: str, host: str) -> SplitResult | None:
    from urllib.request import getproxies, proxy_bypass

    address = getproxies().get(scheme, "")
    if not address or host in _LOOPBACK or proxy_bypass(host):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    return parts if parts.hostname else None


def _kind(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, ConnectionError):
        return "the connection was cut"
    if isinstance(error, socket.gaierror):
        return "the host name is not known"
    return "its certificate is not trusted" if type(error).__name__ == "SSLCertVerificationError" else "the network failed"


class _DeadlineSocket:
    """The part of a socket that `http.client` uses, each call of it bounded by one deadline."""

    def __init__(self, sock: Any, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: Any) -> None:
        self._arm()
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Raw(self))

    def recv_into(self, buffer: Any) -> int:
        self._arm()
        return int(self._sock.recv_into(buffer))

    def close(self) -> None:
        """Nothing: `http.client` lets go of the socket before the reply is read; `post` closes it."""

    def _arm(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


class _Raw(io.RawIOBase):
    def __init__(self, sock: _DeadlineSocket) -> None:
        self._source = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.recv_into(buffer)
