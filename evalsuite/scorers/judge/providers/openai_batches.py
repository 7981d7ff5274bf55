"""OpenAI's batch API: upload a file of requests, start a batch, download files of replies and errors."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from evalsuite.scorers.judge.providers import BatchApi, BatchState, Call, below, word

_OVER: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_BOUNDARY: Final = "evalsuite-lines-of-requests-7d41"


def openai_batches(endpoint: str) -> BatchApi:
    """Return the batch API of one endpoint: `/chat/completions` or `/responses`."""

    def start(call: Call, base_url: str, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Start a batch of these bodies by key and return its id."""
        root, url = base_url.rstrip("/").removesuffix(endpoint), f"/v1{endpoint}"
        lines = [{"custom_id": key, "method": "POST", "url": url, "body": body} for key, body in bodies.items()]
        data = _form("".join(json.dumps(line) + "\n" for line in lines).encode())
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        file = json.loads(call("POST", below(root, "/files"), data, kind=kind).body)["id"]
        wanted = {"input_file_id": file, "endpoint": url, "completion_window": "24h"}
        return str(json.loads(call("POST", below(root, "/batches"), json.dumps(wanted).encode()).body)["id"])

    def look(call: Call, base_url: str, id_: str) -> BatchState:
        """Return the state of a batch; a failed or expired one may have partial results."""
        root = base_url.rstrip("/").removesuffix(endpoint)
        said = json.loads(call("GET", below(root, f"/batches/{quote(id_, safe='')}")).body)
        files = [said.get(key) for key in ("output_file_id", "error_file_id")]
        problems = (said.get("errors") or {}).get("data") or [{}]
        told = f": {word(problems[0].get('message'))}" if problems[0].get("message") else ""
        return BatchState(
            is_over=said["status"] in _OVER,
            places=tuple(below(root, f"/files/{quote(file, safe='')}/content") for file in files if isinstance(file, str)),
            why="" if said["status"] == "completed" else f"the batch {word(said['status'])}{told}",
        )

    return BatchApi(start=start, look=look, line=_line)


def _form(lines: bytes) -> bytes:
    """Return the upload as a form with two parts."""
    purpose = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    file = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
    file += "Content-Type: application/jsonl\r\n\r\n"
    return (purpose + file).encode() + lines + f"\r\n--{_BOUNDARY}--\r\n".encode()


def _line(said: Any) -> tuple[str, object, str]:
    """Return (key, the reply's body, the reason if there is none) of a line of a result file."""
    response = said.get("response") or {}
    body = response.get("body")
    if response.get("status_code") == 200:
        return said["custom_id"], body, ""
    error = (body or {}).get("error") or said.get("error") or {}
    status = f"HTTP {response['status_code']}" if response.get("status_code") else "no reply"
    return said["custom_id"], None, f"the batch says {status}: {word(error.get('message')) or word(error.get('code'))}"
