"""OpenAI's chat completions, the protocol of most servers: vLLM, llama.cpp, Ollama, LM Studio, gateways."""

from typing import Any

from evalsuite.scorers.judge.providers import Provider, below, counted, text_of, word
from evalsuite.scorers.judge.providers.openai_batches import openai_batches
from evalsuite.scorers.judge.transport import Reply, Request


def address(base_url: str, _: str) -> str:
    """Return the address of the chat completions."""
    return below(base_url, "/chat/completions")


def body(request: Request) -> dict[str, Any]:
    """Return model, messages and parameters unchanged."""
    return request.body()


def read(said: Any) -> Reply | None:
    """Return the first choice's text with its token counts. A refusal is a reply without text; a text may consist of parts."""
    choice = said["choices"][0]
    content = choice["message"].get("content")
    if isinstance(content, list):
        content = text_of([part for part in content if part.get("type") in (None, "text", "output_text")])
    if content is not None and not isinstance(content, str):
        return None
    usage = said.get("usage")
    return Reply(
        text=content or "",
        n_prompt_tokens=counted(usage, "prompt_tokens"),
        n_completion_tokens=counted(usage, "completion_tokens"),
        finish="refusal" if choice["message"].get("refusal") else word(choice.get("finish_reason")),
        served=word(said.get("model")),
    )


PROVIDER = Provider(
    address=address,
    body=body,
    read=read,
    limit_key=("max_tokens", "max_completion_tokens"),
    batches=openai_batches("/chat/completions"),
)
