"""What is asked and what came back, as plain data, and the keys they are remembered under."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

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
