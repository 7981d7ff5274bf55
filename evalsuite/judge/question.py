"""What a judge is asked: the messages, how the reply is read, and how it is asked for again where it cannot be read."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsuite.judge.parsing import Reading, Verdict
from evalsuite.judge.settings import Message
from evalsuite.judge.transport import Reply

_LONGEST_REPLY = 4000
# What providers say of a reply that was ended for the model: it is never a verdict, whatever stands in it.
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_STOPPED = frozenset({
    *("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "language"),
    *("malformed_function_call", "pause_turn", "abort", "error"),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a judge is asked and how its reply is read. `choice` says that verdicts are kinds (yes, no) and no points on a scale.

    `wanted` names what a second request asks for where the first reply could not be read.
    """

    messages: tuple[Message, ...]
    read: Reading
    prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choice: bool = False
    wanted: str = "the verdict"

    def verdict(self, reply: Reply) -> Verdict:
        """What the reply says: none where it was cut or stopped, else what `read` makes of its text."""
        finish = reply.finish.lower()
        if finish in _CUT:
            return Verdict(value=None, why="it was cut at max_tokens")
        if finish in _STOPPED:
            return Verdict(value=None, why=f"it was ended by the provider ({finish})")
        return self.read(reply.text)

    def again(self, reply: Reply, why: str) -> tuple[Message, ...]:
        """The messages of a second request: the question with the reply that could not be read, why, and what is wanted alone."""
        *before, last = self.messages
        said = reply.text[:_LONGEST_REPLY].strip()
        mark = hashlib.sha256(f"{last['content']}\0{said}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        quoted = f"Your first reply was:\n<reply {mark}>\n{said}\n</reply {mark}>\n" if said else "Your first reply was empty.\n"
        asked = f"It could not be read as a verdict: {why or 'it holds none'}. Reply with {self.wanted} alone."
        return *before, {**last, "content": f"{last['content']}\n\n{quoted}{asked}"}
