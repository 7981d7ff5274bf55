"""Replies already known, on disk: one small file a reply, written beside and renamed, so that any number of processes may share it."""

import contextlib
import json
import os
import tempfile
from pathlib import Path

from evalsuite.judge.request import Reply, Request, reply_of


class ReplyCache:
    """Replies in `<folder>/<2 digits>/<key>.json`. A cache that cannot be read or written saves nothing and breaks nothing."""

    def __init__(self, folder: Path, *, base_url: str) -> None:
        self._folder, self._base_url = folder, base_url

    def get(self, request: Request) -> Reply | None:
        """The known reply to a request, None where there is none or its file is broken."""
        try:
            return reply_of(json.loads(self._file(request).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def put(self, request: Request, reply: Reply) -> None:
        """Remember a reply."""
        file = self._file(request)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor, beside = tempfile.mkstemp(dir=file.parent, suffix=".part")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as target:
                    json.dump(reply.to_json(), target)
                Path(beside).replace(file)
            finally:
                Path(beside).unlink(missing_ok=True)

    def _file(self, request: Request) -> Path:
        key = request.key(self._base_url)
        return self._folder / key[:2] / f"{key}.json"
