"""OpenAI's responses: the messages are its `input`, the texts of its output's messages the reply; what it reasons is left aside."""

from typing import Any

from evalsuite.scorers.judge.providers import Provider, below, counted, parameters_of, text_of, word
from evalsuite.scorers.judge.providers.openai_batches import openai_batches
from evalsuite.scorers.judge.transport import Reply, Request

_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


def address(base_url: str, _: str) -> str:
    """The responses under a base address."""
    return below(base_url, "/responses")


def body(request: Request) -> dict[str, Any]:
    """Model, messages and parameters; nothing is stored there unless the parameters say `store: true`."""
    messages = [dict(message) for message in request.messages]
    return {"model": request.model, "input": messages, "store": False, **parameters_of(request, _RENAMED)}


def read(said: Any) -> Reply | None:
    """The text of all messages in the output."""
    messages = [item for item in said["output"] if item.get("type") == "message"]
    cut = said.get("incomplete_details")
    reason = word(cut.get("reason")) if isinstance(cut, dict) else ""
    if not messages and said.get("status") not in ("completed", "incomplete"):
        return None
    usage = said.get("usage")
    return Reply(
        text="".join(text_of(message["content"], ("output_text",)) for message in messages),
        n_prompt_tokens=counted(usage, "input_tokens"),
        n_completion_tokens=counted(usage, "output_tokens"),
        finish="length" if reason == "max_output_tokens" else reason or "stop",
        served=word(said.get("model")),
    )


PROVIDER = Provider(address=address, body=body, read=read, batches=openai_batches("/responses"))
