"""A small OpenAI-compatible endpoint on loopback, whose replies a test decides."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    """What the server does with one request. `content` None with status 200 leaves the body to `raw`."""

    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: bool = False
    drip: bool = False
    cut: bool = False


Rule = Callable[[dict[str, Any], int], Say | str]


class Server:
    """The endpoint: `asked` are the bodies it got in order with their `paths`; `keys` are their Authorization headers,
    `most_at_once` says how many calls waited at once for what the rule says."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.most_at_once = 0
        self.end = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def base_url(self) -> str:
        """Where it listens, as `judge.base_url` names it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        """Stop listening and let hanging requests go."""
        self.end.set()
        self._http.shutdown()
        self._http.server_close()

    @contextmanager
    def counted(self, body: dict[str, Any], path: str, headers: dict[str, str]) -> Iterator[int]:
        """The number of this request, while it waits for what is said."""
        with self._lock:
            self.asked.append(body)
            self.keys.append(headers.get("authorization"))
            self.paths.append(path)
            number = len(self.asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield number
        finally:
            with self._lock:
                self._at_once -= 1


class _Http(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that goes away is part of the tests."""


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.counted(body, self.path, {name.lower(): value for name, value in self.headers.items()}) as number:
                said = server.rule(body, number)
            self.say(Say(said) if isinstance(said, str) else said)

        def say(self, said: Say) -> None:
            if said.hang:
                server.end.wait(30)
                return
            if said.cut:
                self.send_response(200)
                self.send_header("Content-Length", "5000")
                self.end_headers()
                self.wfile.write(b'{"choices"')
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            data = said.raw if said.raw is not None else completion(said.content or "")
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(data)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if said.drip:
                for byte in data:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if server.end.wait(0.02):
                        return
            else:
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


def completion(content: str, *, prompt_tokens: int = 100, completion_tokens: int = 10, finish: str = "stop") -> bytes:
    """The body of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def prompt_of(body: dict[str, Any]) -> str:
    """The user's part of a request."""
    return str(body["messages"][-1]["content"])
