"""One POST with a deadline for the whole call, on the standard library.

httpx is not used: its time limit applies to each read, so that a server that sends one byte per minute keeps a call open for ever, and
redirects and connection pools are not needed. `http.client` on a socket with a deadline is shorter than an adapter.
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


# Part of every cache key: increased if the same request would be sent differently.
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat request. `sample` distinguishes repeats of the same request."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    prompt: str = ""

    def body(self) -> dict[str, Any]:
        """Return the JSON body, without null parameters."""
        extra = {key: value for key, value in self.parameters.items() if value is not None}
        return {"model": self.model, "messages": [dict(message) for message in self.messages], **extra}

    def key(self, base_url: str = "") -> str:
        """Return a digest of everything that can affect the reply; without `base_url` it is valid for any server of the model."""
        parts = [_VERSION, base_url.rstrip("/"), self.body(), self.sample, self.prompt]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Text of a reply with its token counts and the model named in it. `known`: it comes from a cache."""

    text: str
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    finish: str = ""
    served: str = ""
    known: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {key: value for key, value in asdict(self).items() if key != "known"}


def reply_of(entry: object) -> Reply | None:
    """Return a stored reply; None if the entry is not valid (incomplete, of another version)."""
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return None
    counts = {key: entry.get(key, 0) for key in ("n_prompt_tokens", "n_completion_tokens")}
    if not all(isinstance(count, int) for count in counts.values()):
        return None
    return Reply(text=entry["text"], finish=str(entry.get("finish", "")), served=str(entry.get("served", "")), known=True, **counts)


class RecordedReplies:
    """Recorded replies by request, independent of the address. `replay` never calls the endpoint; `record` adds missing replies."""

    def __init__(self, path: Path, mode: Literal["replay", "record"] = "replay") -> None:
        self.mode = mode
        self._path = path
        self._replies: dict[str, Reply] | None = None

    def get(self, request: Request) -> Reply | None:
        """Return the recorded reply.

        Raises:
            FaultError: nothing is recorded for the request and `replay` forbids calls, or the file cannot be read.
        """
        if self._replies is None:
            self._replies = self._kept_replies()
        reply = self._replies.get(request.key())
        if reply is None and self.mode == "replay":
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} contains no reply to this request")
        return reply

    def put(self, request: Request, reply: Reply) -> None:
        """Append a reply as one line. Raises `FaultError` if the file cannot be written."""
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
    """An HTTP response: status, headers by lower-case name, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """No complete response. `kind` is the reason in a few words, without content of the request."""

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
    """Send one request and return the response. Redirects are not followed, so that a key never reaches another host.

    `held` contains the socket during the call, so that another thread can end it.

    Raises:
        TransportError: there was no complete response.
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
    """Return (an open connection, the request's target), through the proxy of the environment if there is one."""
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
    """The part of a socket that `http.client` uses, with one deadline for all calls."""

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
        """Do nothing: `http.client` closes the socket before the reply is read; `post` closes it later."""

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
