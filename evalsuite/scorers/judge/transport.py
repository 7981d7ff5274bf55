"""Requests to model providers: one POST with a deadline for the whole call, and the protocol of each provider.

httpx is not used: its time limit applies to each read, so that a server that sends one byte per minute keeps a call open for ever, and
redirects and connection pools are not needed. `http.client` with a timer that shuts the socket down is shorter than an adapter.

A new provider is one `Provider` here and one entry in `client.PROVIDERS`.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import SplitResult, parse_qs, quote, urlsplit, urlunsplit

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import append_whole
from evalsuite.core.errors import FaultError, reason_of
from evalsuite.core.files import exists

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
    import msgspec

    try:
        return replace(msgspec.convert(entry, Reply), known=True)
    except msgspec.ValidationError:
        return None


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
        line = json.dumps({"key": request.key(), "model": request.model, "reply": reply.to_json()}).encode() + b"\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append_whole(self._path, line)
        except OSError as error:
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} cannot be written: {reason_of(error)}") from None
        if self._replies is not None:
            self._replies[request.key()] = reply

    def _kept_replies(self) -> dict[str, Reply]:
        if self.mode == "record" and not exists(self._path):
            return {}
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError as error:
            raise FaultError("JUDGE_FAILED", f"the cassette {self._path.name} cannot be read: {reason_of(error)}") from None
        replies: dict[str, Reply] = {}
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                reply = reply_of(entry["reply"])
                if reply is not None:
                    replies[entry["key"]] = reply
            except (ValueError, KeyError, TypeError):
                where = f"line {number} of the cassette {self._path.name}"
                raise FaultError("JUDGE_FAILED", f"{where} is no recorded reply: delete it, or record again") from None
        return replies


LONGEST_BODY = 8 << 20
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
        self.kind = kind


def send(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
    open_sockets: "set[socket.socket] | None" = None,
    method: str = "POST",
    most_bytes: int = LONGEST_BODY,
) -> Response:
    """Send one request and return the response. Redirects are not followed, so that a key never reaches another host.

    `open_sockets` contains the socket during the call, so that another thread can end it.

    Raises:
        TransportError: there was no complete response.
    """
    import http.client

    open_sockets = set() if open_sockets is None else open_sockets
    raw: Any = None
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        with suppress(OSError, AttributeError):
            raw.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        connection, target = _connect(urlsplit(url), timeout_seconds)
        raw = connection.sock
        open_sockets.add(raw)
        if not is_late.is_set():
            connection.request(method, target, body=body, headers={**headers, "Connection": "close"})
            answer = connection.getresponse()
            data = answer.read(most_bytes + 1)
        # A body without a length also ends when the timer shuts the socket down.
        if is_late.is_set():
            raise TimeoutError
    except (OSError, http.client.HTTPException) as error:
        is_timeout = is_late.is_set() or isinstance(error, TimeoutError)
        raise TransportError(f"no reply within {timeout_seconds:g} s" if is_timeout else _kind(error)) from None
    finally:
        timer.cancel()
        if raw is not None:
            open_sockets.discard(raw)
            raw.close()
    if len(data) > most_bytes:
        raise TransportError(f"the reply is longer than {most_bytes >> 20} MiB")
    return Response(status=answer.status, headers={k.lower(): v for k, v in answer.getheaders()}, body=data)


def _connect(parts: SplitResult, timeout_seconds: float) -> tuple["HTTPConnection", str]:
    """Return (an open connection, the request's target), through the proxy of the environment if there is one."""
    import ssl
    from http.client import HTTPConnection, HTTPSConnection

    host, target = str(parts.hostname), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = _proxy(parts.scheme, host)
    place = (str(proxy.hostname), proxy.port) if proxy else (host, parts.port)
    if parts.scheme == "https":
        connection: HTTPConnection = HTTPSConnection(*place, timeout=timeout_seconds, context=ssl.create_default_context())
        if proxy:
            connection.set_tunnel(host, parts.port or 443)
    else:
        connection = HTTPConnection(*place, timeout=timeout_seconds)
        target = f"http://{parts.netloc}{target}" if proxy else target
    connection.connect()
    return connection, target


def _proxy(scheme: str, host: str) -> SplitResult | None:
    from urllib.request import getproxies, proxy_bypass

    address = getproxies().get(scheme, "")
    if not address or host in _LOOPBACK or proxy_bypass(host):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    return parts if parts.hostname else None


def _kind(error: Exception) -> str:
    from http.client import HTTPException
    from ssl import SSLCertVerificationError

    kinds: tuple[tuple[type[Exception], str], ...] = (
        (HTTPException, "the connection was cut, or its reply is no HTTP"),
        (ConnectionRefusedError, "the connection was refused"),
        (ConnectionError, "the connection was cut"),
        (socket.gaierror, "the host name is not known"),
        (SSLCertVerificationError, "its certificate is not trusted"),
    )
    return next((words for kind, words in kinds if isinstance(error, kind)), "the network failed")


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
        read: the reply's JSON -> (text, finish reason), None if it is not from this provider; missing keys may raise LookupError,
            TypeError or AttributeError.
        usage: the key of the token counts, and the keys of the counts of prompt and completion in them.
        served: the key of the model that replied.
        key_header: the header of the key if the settings name none.
        headers: further headers of each request.
        limit_key: the key of the body that limits the reply, and the alternative that some models require.
        batches: its batch API, if it has one.
    """

    address: Callable[[str, str], str]
    body: Callable[[Request], dict[str, Any]]
    read: Callable[[Any], tuple[str, str] | None]
    usage: tuple[str, tuple[str, ...], tuple[str, ...]] = ("usage", ("input_tokens",), ("output_tokens",))
    served: str = "model"
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    limit_key: tuple[str, str] | None = None
    batches: BatchApi | None = None

    def reply(self, body: bytes) -> Reply | None:
        """Return the reply in a response's body, None if there is none."""
        try:
            return self.reply_in(parse_response(body))
        except (ValueError, RecursionError):
            return None

    def reply_in(self, data: object) -> Reply | None:
        """Return the reply in the JSON of a response, None if there is none."""
        try:
            read, (usage, prompt, completion) = self.read(data), self.usage
            if read is None:
                return None
            counts: Any = data.get(usage)  # type: ignore[attr-defined]
            return Reply(
                text=read[0],
                n_prompt_tokens=sum_tokens(counts, *prompt),
                n_completion_tokens=sum_tokens(counts, *completion),
                finish=read[1],
                served=word(data.get(self.served)),  # type: ignore[attr-defined]
            )
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return None


def parse_response(body: bytes) -> Any:
    """Return the JSON of a response. Raises `ValueError` if it is none, or if a key has two values, of which one would be guessed."""
    return json.loads(body, object_pairs_hook=_one_value_each)


def _one_value_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and any(values[key] != value for key, value in pairs):
        raise ValueError("a key has two values")
    return values


def join_address(base_url: str, ending: str) -> str:
    """Return the address with `ending` appended to its path, unless it is there already; a query is kept."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(ending) else path + ending, fragment=""))


def _address(ending: str) -> Callable[[str, str], str]:
    """Return the function from (base address, model) to the address of an API whose path does not depend on the model."""
    return lambda base_url, _: join_address(base_url, ending)


def parameters_of(request: Request, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Return the request's parameters under the provider's names, without null ones."""
    return {renamed.get(key, key): value for key, value in request.parameters.items() if value is not None}


def text_of(parts: Any, kinds: tuple[str, ...] = ()) -> str:
    """Return the joined texts of a list of parts, of all kinds or of the named ones."""
    chosen = [part for part in parts if isinstance(part, dict) and (not kinds or part.get("type") in kinds)]
    return "".join(part["text"] for part in chosen if isinstance(part.get("text"), str))


def sum_tokens(usage: Any, *keys: str) -> int:
    """Return the sum of some token counts; other values count 0."""
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(
        int(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_COUNTED
    )


_MOST_COUNTED = 10**12


def word(value: Any) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


_OVER: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_BOUNDARY: Final = "evalsuite-lines-of-requests-7d41"


def openai_batches(endpoint: str) -> BatchApi:
    """Return the batch API of one endpoint: `/chat/completions` or `/responses`."""

    def start(call: Call, base_url: str, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Start a batch of these bodies by key and return its id."""
        root, url = base_url.rstrip("/").removesuffix(endpoint), f"/v1{endpoint}"
        lines = [{"custom_id": key, "method": "POST", "url": url, "body": body} for key, body in bodies.items()]
        # The upload is a form with two parts.
        part = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
        purpose = f'{part}"purpose"\r\n\r\nbatch\r\n'
        file_part = f'{part}"file"; filename="requests.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
        data = (purpose + file_part + "".join(json.dumps(line) + "\n" for line in lines) + f"\r\n--{_BOUNDARY}--\r\n").encode()
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        file = json.loads(call("POST", join_address(root, "/files"), data, kind=kind).body)["id"]
        request = {"input_file_id": file, "endpoint": url, "completion_window": "24h"}
        return str(json.loads(call("POST", join_address(root, "/batches"), json.dumps(request).encode()).body)["id"])

    def look(call: Call, base_url: str, id_: str) -> BatchState:
        """Return the state of a batch; a failed or expired one may have partial results."""
        root = base_url.rstrip("/").removesuffix(endpoint)
        data = json.loads(call("GET", join_address(root, f"/batches/{quote(id_, safe='')}")).body)
        files = [data.get(key) for key in ("output_file_id", "error_file_id")]
        problems = (data.get("errors") or {}).get("data") or [{}]
        problem = f": {word(problems[0].get('message'))}" if problems[0].get("message") else ""
        return BatchState(
            is_over=data["status"] in _OVER,
            places=tuple(join_address(root, f"/files/{quote(file, safe='')}/content") for file in files if isinstance(file, str)),
            why="" if data["status"] == "completed" else f"the batch {word(data['status'])}{problem}",
        )

    return BatchApi(start=start, look=look, line=_line)


def _line(data: Any) -> tuple[str, object, str]:
    """Return (key, the reply's body, the reason if there is none) of a line of a result file."""
    response = data.get("response") or {}
    body = response.get("body")
    if response.get("status_code") == 200:
        return data["custom_id"], body, ""
    error = (body or {}).get("error") or data.get("error") or {}
    status = f"HTTP {response['status_code']}" if response.get("status_code") else "no reply"
    return data["custom_id"], None, f"the batch says {status}: {word(error.get('message')) or word(error.get('code'))}"


def read_chat(data: Any) -> tuple[str, str] | None:
    """Return the text of the choices, each different one on lines of its own, so that a contradiction is not a verdict; None for an error.

    A refusal is a reply without text; a text may consist of parts. If the choices end differently, the first that did not just stop counts.
    """
    texts, ends = dict[str, None](), list[str]()
    for choice in data["choices"]:
        content = choice["message"].get("content")
        if isinstance(content, list):
            content = text_of([part for part in content if part.get("type") in (None, "text", "output_text")])
        if (content is not None and not isinstance(content, str)) or choice.get("error"):
            return None
        texts[content or ""] = None
        ends.append("refusal" if choice["message"].get("refusal") else word(choice.get("finish_reason")))
    return None if data.get("error") else ("\n".join(texts), next((end for end in ends if end != "stop"), ends[0]))


_CHAT: Final[dict[str, Any]] = {
    "body": Request.body,
    "read": read_chat,
    "usage": ("usage", ("prompt_tokens",), ("completion_tokens",)),
    "limit_key": ("max_tokens", "max_completion_tokens"),
}
OPENAI_CHAT = Provider(address=_address("/chat/completions"), batches=openai_batches("/chat/completions"), **_CHAT)


_RESPONSES_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


def responses_body(request: Request) -> dict[str, Any]:
    """Return model, messages and parameters; nothing is stored on the server unless the parameters say `store: true`."""
    messages = [dict(message) for message in request.messages]
    return {"model": request.model, "input": messages, "store": False, **parameters_of(request, _RESPONSES_NAMES)}


def read_responses(data: Any) -> tuple[str, str] | None:
    """Return the text of all messages in the output."""
    messages = [item for item in data["output"] if item.get("type") == "message"]
    cut = data.get("incomplete_details")
    reason = word(cut.get("reason")) if isinstance(cut, dict) else ""
    if not messages and data.get("status") not in ("completed", "incomplete"):
        return None
    text = "".join(text_of(message["content"], ("output_text",)) for message in messages)
    return text, "length" if reason == "max_output_tokens" else reason or "stop"


OPENAI_RESPONSES = Provider(address=_address("/responses"), body=responses_body, read=read_responses, batches=openai_batches("/responses"))


AZURE_VERSION = "2024-10-21"


def azure_address(base_url: str, model: str) -> str:
    """Return the address of the deployment's chat completions, from a resource (`https://NAME.openai.azure.com`) or a longer address.

    The API version is taken from the address, by default the last stable one; the newer `/openai/v1` has no version.
    """
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if path.endswith("/openai/v1") or "/deployments/" in path:
        whole = join_address(base_url, "/chat/completions")
    else:
        path = path.removesuffix("/openai")
        whole = urlunsplit(parts._replace(path=f"{path}/openai/deployments/{quote(model, safe='')}/chat/completions", fragment=""))
    parts = urlsplit(whole)
    if "/openai/v1/" in parts.path or "api-version" in parse_qs(parts.query):
        return whole
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, f"api-version={AZURE_VERSION}")))))


AZURE = Provider(address=azure_address, key_header="api-key", **_CHAT)


ANTHROPIC_VERSION = "2023-06-01"
_MOST_TOKENS = 1024  # used if the request has no limit
_MESSAGES_NAMES = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}


def messages_body(request: Request) -> dict[str, Any]:
    """Return model, messages, system text and parameters."""
    system = "\n\n".join(message["content"] for message in request.messages if message["role"] == "system")
    messages = [dict(message) for message in request.messages if message["role"] != "system"]
    parameters = {"max_tokens": _MOST_TOKENS, **parameters_of(request, _MESSAGES_NAMES)}
    return {"model": request.model, **({"system": system} if system else {}), "messages": messages, **parameters}


def read_messages(data: Any) -> tuple[str, str]:
    """Return the text of all parts, without thinking."""
    stop = word(data.get("stop_reason"))
    return text_of(data["content"], ("text",)), "length" if stop == "max_tokens" else stop


def start_batch(call: Call, base_url: str, bodies: Mapping[str, Mapping[str, Any]]) -> str:
    """Start a batch of these bodies by key and return its id."""
    requests = [{"custom_id": key, "params": params} for key, params in bodies.items()]
    return str(json.loads(call("POST", _message_batches(base_url), json.dumps({"requests": requests}).encode()).body)["id"])


def look_at_batch(call: Call, base_url: str, id_: str) -> BatchState:
    """Return the state of a batch. Results are fetched from the configured address, whatever the response names."""
    place = f"{_message_batches(base_url)}/{quote(id_, safe='')}"
    is_over = json.loads(call("GET", place).body)["processing_status"] == "ended"
    return BatchState(is_over=is_over, places=(f"{place}/results",) if is_over else ())


def line_of_batch(data: Any) -> tuple[str, object, str]:
    """Return (key, the message, the reason if there is none) of a result line: succeeded, errored, canceled, expired."""
    result = data["result"]
    if result["type"] == "succeeded":
        return data["custom_id"], result["message"], ""
    error = result.get("error") or {}
    problem = word((error.get("error") or error).get("message"))
    return data["custom_id"], None, f"the batch says {word(result['type'])}" + (f": {problem}" if problem else "")


def _message_batches(base_url: str) -> str:
    return join_address(base_url.rstrip("/").removesuffix("/messages"), "/messages/batches")


ANTHROPIC = Provider(
    address=_address("/messages"),
    body=messages_body,
    read=read_messages,
    usage=("usage", ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), ("output_tokens",)),
    key_header="x-api-key",
    headers={"anthropic-version": ANTHROPIC_VERSION},
    batches=BatchApi(start=start_batch, look=look_at_batch, line=line_of_batch),
)


_GEMINI_NAMES = {
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "top_p": "topP",
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_FURTHER_KEYS = ("safetySettings", "tools", "toolConfig", "cachedContent")


def gemini_address(base_url: str, model: str) -> str:
    """Return `models/MODEL:generateContent` under a base address."""
    parts = urlsplit(base_url)
    path = f"{parts.path.rstrip('/').removesuffix('/models')}/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"
    return urlunsplit(parts._replace(path=path, fragment=""))


def gemini_body(request: Request) -> dict[str, Any]:
    """Return the messages as contents, with a separate system text."""
    system = [{"text": message["content"]} for message in request.messages if message["role"] == "system"]
    contents = [
        {"role": "model" if message["role"] == "assistant" else "user", "parts": [{"text": message["content"]}]}
        for message in request.messages
        if message["role"] != "system"
    ]
    parameters = parameters_of(request, _GEMINI_NAMES)
    further = {key: parameters.pop(key) for key in _FURTHER_KEYS if key in parameters}
    return {**({"systemInstruction": {"parts": system}} if system else {}), "contents": contents, "generationConfig": parameters, **further}


def read_gemini(data: Any) -> tuple[str, str] | None:
    """Return the first candidate's text without thoughts; a blocked prompt is a reply without text."""
    if not data.get("candidates"):
        blocked = word(data["promptFeedback"].get("blockReason"))
        return ("", blocked) if blocked else None
    candidate = data["candidates"][0]
    parts = [part for part in candidate.get("content", {}).get("parts", []) if not part.get("thought")]
    finish = word(candidate.get("finishReason"))
    return text_of(parts), "length" if finish == "MAX_TOKENS" else finish.lower()


GEMINI = Provider(
    address=gemini_address,
    body=gemini_body,
    read=read_gemini,
    usage=("usageMetadata", ("promptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount")),
    served="modelVersion",
    key_header="x-goog-api-key",
)
