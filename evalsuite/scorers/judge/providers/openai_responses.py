"""OpenAI's responses API: the messages are its `input`; the reply is the text of the output messages, without reasoning."""

from typing import Any

from evalsuite.scorers.judge.providers import Provider, below, counted, parameters_of, text_of, word
from evalsuite.scorers.judge.providers.openai_batches import openai_batches
from evalsuite.scorers.judge.transport import Reply, Request

_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


def address(base_url: str, _: str) -> str:
    """Return the address of the responses API."""
    return below(base_url, "/responses")


def body(request: Request) -> dict[str, Any]:
    """Return model, messages and parameters; nothing is stored on the server unless the parameters say `store: true`."""
    messages = [dict(message) for message in request.messages]
    return {"model": request.model, "input": messages, "store": False, **parameters_of(request, _RENAMED)}


def read(said: Any) -> Reply | None:
    """Return the text of all messages in the output."""
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
