"""Anthropic's messages: the system text stands apart, the reply's length must be bounded, and the key has a header of its own."""

from typing import Any

from evalsuite.judge.providers import Provider, below, counted, parameters_of, text_of, word
from evalsuite.judge.transport import Reply, Request

API_VERSION = "2023-06-01"
_MOST_TOKENS = 1024  # where the request bounds nothing
_RENAMED = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}


def address(base_url: str, _: str) -> str:
    """The messages under a base address."""
    return below(base_url, "/messages")


def body(request: Request) -> dict[str, Any]:
    """Model, messages, the system text and the parameters."""
    system = "\n\n".join(message["content"] for message in request.messages if message["role"] == "system")
    messages = [dict(message) for message in request.messages if message["role"] != "system"]
    given = {"max_tokens": _MOST_TOKENS, **parameters_of(request, _RENAMED)}
    return {"model": request.model, **({"system": system} if system else {}), "messages": messages, **given}


def read(said: Any) -> Reply | None:
    """The text of all its parts; what it thinks is none."""
    usage = said.get("usage")
    stop = word(said.get("stop_reason"))
    return Reply(
        text=text_of(said["content"], ("text",)),
        n_prompt_tokens=counted(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        n_completion_tokens=counted(usage, "output_tokens"),
        finish="length" if stop == "max_tokens" else stop,
        served=word(said.get("model")),
    )


PROVIDER = Provider(address=address, body=body, read=read, key_header="x-api-key", headers={"anthropic-version": API_VERSION})
