"""What is asked and what came back, as plain data, with the key it is kept under; and replies recorded in one file, to replay."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from evalsuite.errors import FaultError

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
    """The text of a reply with its token counts. `known` says that nobody was asked for it now."""

    text: str
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    finish: str = ""
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
    return Reply(text=entry["text"], finish=str(entry.get("finish", "")), known=True, **counts)


class Cassette:
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
            self._replies = self._read()
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

    def _read(self) -> dict[str, Reply]:
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
