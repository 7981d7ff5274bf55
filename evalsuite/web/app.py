"""The application: routes, the walls around them (which hosts may ask, what a page may load), and the server."""

import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import EvalsuiteError, MissingExtraError, UsageError
from evalsuite.web import endpoints, pages
from evalsuite.web.across import Across
from evalsuite.web.endpoints import State, answered
from evalsuite.web.labels import NotAllowedError
from evalsuite.web.library import open_library
from evalsuite.web.live import Journals
from evalsuite.web.openapi import document
from evalsuite.web.query import BadQueryError, NotThereError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # A form of a page without referrer would come from nowhere: its label could not be told from another site's.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def make_app(folder: Path | None = None, *, host: str = LOOPBACK[0]) -> "Starlette":
    """The application over a folder (see `open_library`), answering to loopback names, addresses and `host`."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ModuleNotFoundError as error:
        raise _missing() from error
    library = open_library(folder, os.environ)
    state = State(library=library, journals=Journals(library), across=Across())
    faults: Any = {EvalsuiteError: _refusal_of_error, 404: _http_fault, 405: _http_fault, 500: _http_fault}
    described = Route("/openapi.json", lambda _: answered(document()))
    app = Starlette(routes=[*endpoints.routes(state), described, *pages.routes(state)], exception_handlers=faults)
    app.add_middleware(Walls, hosts=frozenset({*LOOPBACK, host.lower(), socket.gethostname().lower()} - {"0.0.0.0", "::"}))
    return app


def serve(folder: Path | None, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; `announce` is given the address once it is bound. Port 0 takes a free one.

    Raises `MissingExtraError`, and `UsageError` where the folder or address cannot be used.
    """
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise _missing() from error
    app = make_app(folder, host=host)
    listener = _bound(host, port)
    shown = f"[{host}]" if ":" in host else host
    announce(f"http://{shown}:{listener.getsockname()[1]}/")
    # A stream of events stays open for as long as its page does: the end must not wait for it.
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="off")
    with listener:
        uvicorn.Server(config).run(sockets=[listener])


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        why = error.strerror or "it cannot be used"
        raise UsageError(f"cannot listen on {host}:{port}: {why}", hint="leave --port out to take a free one") from error
    return listener


def _missing() -> MissingExtraError:
    return MissingExtraError("the viewer needs packages that are not installed", extra="view")


class Walls:
    """Refuses a Host header that names another machine (DNS rebinding), and sets the headers that keep a page to itself."""

    def __init__(self, app: "ASGIApp", hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer 421 to a foreign host, else pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *((k.encode(), v.encode()) for k, v in HEADERS.items())]
            await send(message)

        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        if len(given) != 1 or not self._is_ours(given[0]):
            refused = answered(
                _error(421, "this viewer does not answer to that host name", "open the address that `evalsuite view` printed"), 421
            )
            await refused(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _is_ours(self, header: str) -> bool:
        """Whether it is a name of ours or a plain address: a page of another site can only come by a name."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdecimal() and not header.endswith("]") else header
        name = name.strip("[]").lower()
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _refusal_of_error(request: "Request", error: Exception) -> "Response":
    """An error of ours: 422 for a bad request, 404 for what is not there, 403 for what may not be, 500 for what could not be done."""
    assert isinstance(error, EvalsuiteError)
    by_kind = ((NotThereError, 404), (NotAllowedError, 403), (BadQueryError, 422), (UsageError, 422))
    status = next((number for kind, number in by_kind if isinstance(error, kind)), 500)
    return _refusal(request, status, error.message, error.hint)


def _http_fault(request: "Request", error: Exception) -> "Response":
    status = int(getattr(error, "status_code", 500))
    words = {404: "there is no such page", 405: "this page is only read: GET and HEAD"}.get(status, "the viewer failed on this page")
    return _refusal(request, status, words, "" if status == 404 else "the terminal that runs the viewer says more" if status >= 500 else "")


def _refusal(request: "Request", status: int, message: str, hint: str) -> "Response":
    if request.url.path.startswith(("/api/", "/openapi.json", "/events")):
        return answered(_error(status, message, hint), status)
    return pages.error_page(status, message, hint)


def _error(status: int, message: str, hint: str) -> dict[str, Any]:
    from evalsuite.reports.clean import clean

    return {"error": {"status": status, "message": clean(message), "hint": clean(hint)}}
