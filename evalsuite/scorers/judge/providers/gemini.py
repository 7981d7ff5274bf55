"""Gemini's generateContent: the model is in the address, the parameters are in `generationConfig`."""

from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from evalsuite.scorers.judge.providers import Provider, counted, parameters_of, text_of, word
from evalsuite.scorers.judge.transport import Reply, Request

_RENAMED = {
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "top_p": "topP",
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_BESIDE = ("safetySettings", "tools", "toolConfig", "cachedContent")


def address(base_url: str, model: str) -> str:
    """Return `models/MODEL:generateContent` under a base address."""
    parts = urlsplit(base_url)
    path = f"{parts.path.rstrip('/').removesuffix('/models')}/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"
    return urlunsplit(parts._replace(path=path, fragment=""))


def body(request: Request) -> dict[str, Any]:
    """Return the messages as contents, with a separate system text."""
    system = [{"text": message["content"]} for message in request.messages if message["role"] == "system"]
    contents = [
        {"role": "model" if message["role"] == "assistant" else "user", "parts": [{"text": message["content"]}]}
        for message in request.messages
        if message["role"] != "system"
    ]
    given = parameters_of(request, _RENAMED)
    beside = {key: given.pop(key) for key in _BESIDE if key in given}
    return {**({"systemInstruction": {"parts": system}} if system else {}), "contents": contents, "generationConfig": given, **beside}


def read(said: Any) -> Reply | None:
    """Return the first candidate's text without thoughts; a blocked prompt is a reply without text."""
    usage = said.get("usageMetadata")
    if not said.get("candidates"):
        blocked = word(said["promptFeedback"].get("blockReason"))
        return Reply(text="", n_prompt_tokens=counted(usage, "promptTokenCount"), finish=blocked) if blocked else None
    candidate = said["candidates"][0]
    parts = [part for part in candidate.get("content", {}).get("parts", []) if not part.get("thought")]
    finish = word(candidate.get("finishReason"))
    return Reply(
        text=text_of(parts),
        n_prompt_tokens=counted(usage, "promptTokenCount"),
        n_completion_tokens=counted(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        finish="length" if finish == "MAX_TOKENS" else finish.lower(),
        served=word(said.get("modelVersion")),
    )


PROVIDER = Provider(address=address, body=body, read=read, key_header="x-goog-api-key")
