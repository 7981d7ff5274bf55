"""Recorded replies in one JSONL file: recorded once against a real judge, replayed anywhere without one."""

import json
import os
from pathlib import Path
from typing import Literal

from evalsuite.errors import FaultError
from evalsuite.judge.request import Reply, Request, reply_of


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
