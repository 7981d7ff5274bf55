"""One POST with a deadline over everything, on the standard library.

No client library: httpx has a time limit per read, so that a server which sends a byte a minute holds a call for ever, and redirects and
pools that one POST a verdict does not need. `http.client` on a socket that knows its deadline is shorter than the adapter would be.
"""

import io
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from http.client import HTTPConnection

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


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float, held: "set[socket.socket] | None" = None
) -> Response:
    """The response to one POST; redirects are not followed, so a key never travels to another host.

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
        connection.request("POST", target, body=body, headers={**headers, "Connection": "close"})
        answer = connection.getresponse()
        data = answer.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise TransportError("the reply is longer than 8 MiB")
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
