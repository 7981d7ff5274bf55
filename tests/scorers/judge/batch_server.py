"""Stand-ins for the batch APIs of OpenAI and Anthropic on loopback, after their public schema; a test decides what each request gives."""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# The body of a request -> the text of its reply, or the error's (status, message): status 0 stands for one that expired.
Answer = Callable[[dict[str, Any]], str | tuple[int, str] | None]


@dataclass
class Batches:
    """The server's state: `looks` are how often a batch is under way before it is over, `ends` how it ends."""

    answer: Answer
    looks: int = 2
    ends: str = "completed"
    fails_at: dict[str, int] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    is_looked_at: threading.Event = field(default_factory=threading.Event)
    base_url: str = ""
    stop: Callable[[], None] = lambda: None


def serve_batches(answer: Answer, **more: Any) -> Batches:
    """A running server; its `stop` ends it."""
    state = Batches(answer, **more)
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    state.base_url = f"http://127.0.0.1:{http.server_address[1]}/v1"

    def stop() -> None:
        http.shutdown()
        http.server_close()

    state.stop = stop
    return state


def _handler(state: Batches) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._reply("POST", self.rfile.read(int(self.headers["Content-Length"])))

        def do_GET(self) -> None:
            self._reply("GET", b"")

        def _reply(self, method: str, data: bytes) -> None:
            status, body = 404, b'{"error": {"message": "no such address"}}'
            if state.fails_at.get(self.path, 0) > 0:
                state.fails_at[self.path] -= 1
                status, body = 500, b"{}"
            elif (found := _routes(state, method, self.path, data)) is not None:
                status, body = 200, found
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


def _routes(state: Batches, method: str, path: str, data: bytes) -> bytes | None:
    if method == "POST" and path == "/v1/files":
        assert b'name="purpose"\r\n\r\nbatch\r\n' in data
        id_ = f"file-{len(state.files)}"
        state.files[id_] = data.split(b"\r\n\r\n", 2)[2].rsplit(b"\r\n--", 1)[0]
        return json.dumps({"id": id_, "object": "file", "purpose": "batch"}).encode()
    if method == "POST" and path == "/v1/batches":
        wanted = json.loads(data)
        lines = [json.loads(line) for line in state.files[wanted["input_file_id"]].splitlines()]
        assert wanted["completion_window"] == "24h"
        assert all(line["url"] == wanted["endpoint"] and line["method"] == "POST" for line in lines)
        return json.dumps(_new(state, {line["custom_id"]: line["body"] for line in lines})).encode()
    if method == "POST" and path == "/v1/messages/batches":
        return json.dumps(_new(state, {one["custom_id"]: one["params"] for one in json.loads(data)["requests"]})).encode()
    if found := re.fullmatch(r"/v1(?:/messages)?/batches/([\w-]+)", path):
        return None if found[1] not in state.batches else json.dumps(_looked_at(state, found[1])).encode()
    if found := re.fullmatch(r"/v1/files/out-([\w-]+)/content", path):
        return _results(state, found[1], lambda key, body: _openai_line(key, body, state.answer(body)))
    if found := re.fullmatch(r"/v1/messages/batches/([\w-]+)/results", path):
        return _results(state, found[1], lambda key, body: _anthropic_line(key, state.answer(body)))
    return None


def _new(state: Batches, bodies: dict[str, Any]) -> dict[str, Any]:
    id_ = f"batch_{len(state.batches)}"
    assert all(re.fullmatch(r"[\w-]{1,64}", key) for key in bodies)
    state.batches[id_] = bodies
    return {"id": id_, "status": "validating", "processing_status": "in_progress"}


def _looked_at(state: Batches, id_: str) -> dict[str, Any]:
    state.seen[id_] = state.seen.get(id_, 0) + 1
    is_over = state.seen[id_] > state.looks
    state.is_looked_at.set()
    said: dict[str, Any] = {"id": id_, "status": "in_progress", "processing_status": "in_progress"}
    if is_over:
        said |= {"status": state.ends, "processing_status": "ended", "results_url": "http://elsewhere.invalid/results"}
        said |= {"output_file_id": f"out-{id_}"} if state.ends != "failed" else {"errors": {"data": [{"message": "no money left"}]}}
    return said


def _results(state: Batches, id_: str, line: Callable[[str, dict[str, Any]], dict[str, Any]]) -> bytes | None:
    """The lines of a batch that is over; of another one there is no such address."""
    if state.seen.get(id_, 0) <= state.looks:
        return None
    told = {key: body for key, body in state.batches[id_].items() if state.answer(body) is not None}
    return b"".join(json.dumps(line(key, body)).encode() + b"\n" for key, body in told.items())


def _openai_line(key: str, asked: dict[str, Any], said: str | tuple[int, str] | None) -> dict[str, Any]:
    if isinstance(said, tuple):
        if not said[0]:
            return {"custom_id": key, "response": None, "error": {"code": "batch_expired", "message": said[1]}}
        return {"custom_id": key, "response": {"status_code": said[0], "body": {"error": {"message": said[1]}}}, "error": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "input_tokens": 100, "output_tokens": 10}
    message = {"type": "message", "content": [{"type": "output_text", "text": said}]}
    body: dict[str, Any] = {"model": "m-1", "status": "completed", "output": [message], "usage": usage}
    if "messages" in asked:
        body = {"model": "m-1", "choices": [{"message": {"content": said}, "finish_reason": "stop"}], "usage": usage}
    return {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}


def _anthropic_line(key: str, said: str | tuple[int, str] | None) -> dict[str, Any]:
    if isinstance(said, tuple):
        kind = "errored" if said[0] else "expired"
        error = {"error": {"type": "error", "error": {"type": "invalid_request_error", "message": said[1]}}} if said[0] else {}
        return {"custom_id": key, "result": {"type": kind, **error}}
    usage = {"input_tokens": 100, "output_tokens": 10}
    message = {"type": "message", "model": "m-1", "content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "usage": usage}
    return {"custom_id": key, "result": {"type": "succeeded", "message": message}}
