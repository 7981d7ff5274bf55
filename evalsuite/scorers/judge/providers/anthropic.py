"""Anthropic's messages API: a separate system text, a required reply limit, and its own key header."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evalsuite.scorers.judge.providers import BatchApi, BatchState, Call, Provider, below, counted, parameters_of, text_of, word
from evalsuite.scorers.judge.transport import Reply, Request

API_VERSION = "2023-06-01"
_MOST_TOKENS = 1024  # used if the request has no limit
_RENAMED = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}


def address(base_url: str, _: str) -> str:
    """Return the address of the messages API."""
    return below(base_url, "/messages")


def body(request: Request) -> dict[str, Any]:
    """Return model, messages, system text and parameters."""
    system = "\n\n".join(message["content"] for message in request.messages if message["role"] == "system")
    messages = [dict(message) for message in request.messages if message["role"] != "system"]
    given = {"max_tokens": _MOST_TOKENS, **parameters_of(request, _RENAMED)}
    return {"model": request.model, **({"system": system} if system else {}), "messages": messages, **given}


def read(said: Any) -> Reply | None:
    """Return the text of all parts, without thinking."""
    usage = said.get("usage")
    stop = word(said.get("stop_reason"))
    return Reply(
        text=text_of(said["content"], ("text",)),
        n_prompt_tokens=counted(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        n_completion_tokens=counted(usage, "output_tokens"),
        finish="length" if stop == "max_tokens" else stop,
        served=word(said.get("model")),
    )


def start_batch(call: Call, base_url: str, bodies: Mapping[str, Mapping[str, Any]]) -> str:
    """Start a batch of these bodies by key and return its id."""
    requests = [{"custom_id": key, "params": params} for key, params in bodies.items()]
    return str(json.loads(call("POST", _batches(base_url), json.dumps({"requests": requests}).encode()).body)["id"])


def look_at_batch(call: Call, base_url: str, id_: str) -> BatchState:
    """Return the state of a batch. Results are fetched from the configured address, whatever the response names."""
    place = f"{_batches(base_url)}/{quote(id_, safe='')}"
    is_over = json.loads(call("GET", place).body)["processing_status"] == "ended"
    return BatchState(is_over=is_over, places=(f"{place}/results",) if is_over else ())


def line_of_batch(said: Any) -> tuple[str, object, str]:
    """Return (key, the message, the reason if there is none) of a result line: succeeded, errored, canceled, expired."""
    result = said["result"]
    if result["type"] == "succeeded":
        return said["custom_id"], result["message"], ""
    error = result.get("error") or {}
    told = word((error.get("error") or error).get("message"))
    return said["custom_id"], None, f"the batch says {word(result['type'])}" + (f": {told}" if told else "")


def _batches(base_url: str) -> str:
    return below(base_url.rstrip("/").removesuffix("/messages"), "/messages/batches")


PROVIDER = Provider(
    address=address,
    body=body,
    read=read,
    key_header="x-api-key",
    headers={"anthropic-version": API_VERSION},
    batches=BatchApi(start=start_batch, look=look_at_batch, line=line_of_batch),
)
