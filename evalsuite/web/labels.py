"""Labels that a person gives in the viewer: a CSV beside the run's folder, which `evalsuite agree RUN FILE.csv` reads as a rater."""

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from evalsuite.errors import EvalsuiteError
from evalsuite.store.given_labels import write_labels, written_labels
from evalsuite.store.run_folder import labels_beside
from evalsuite.web.query import BadQueryError

if TYPE_CHECKING:
    from starlette.requests import Request

    from evalsuite.reports.record import Record

# What a person may say of an answer; the empty label takes one back and keeps its note.
LABELS = {"": "no label", "1": "right", "0.5": "partly right", "0": "wrong"}
_MOST_BYTES = 64 * 1024
_LOOPBACK = ("127.0.0.1", "::1")
_one_at_a_time = Lock()


class NotAllowedError(EvalsuiteError):
    """A request that would write and may not: HTTP 403."""


class OwnLabel(NamedTuple):
    """A label of `LABELS`, and a note."""

    label: str = ""
    note: str = ""


def labels_file(record: "Record") -> Path | None:
    """Where the labels of a run stand; None for one that lies in no folder of its own."""
    return None if record.folder is None else labels_beside(record.folder)


def read_own_labels(record: "Record") -> dict[str, OwnLabel]:
    """Instance id -> what was said of it. A file that somebody broke by hand is none: the run's warnings say why."""
    path = labels_file(record)
    try:
        return _in_file(path) if path is not None else {}
    except EvalsuiteError:
        return {}


def keep_label(record: "Record", instance_id: str, given: OwnLabel) -> None:
    """Write the label of one instance; the file is whole before and after.

    Raises `BadQueryError`, `OutputError`, and `UsageError` for a file that somebody broke by hand: what can be mended is not written over.
    """
    path = labels_file(record)
    if path is None or given.label not in LABELS:
        raise BadQueryError(f"no label {given.label[:80]!r}", hint=f"known: {', '.join(LABELS)}")
    with _one_at_a_time:
        write_labels(path, {**_in_file(path), instance_id: given})


def _in_file(path: Path) -> dict[str, OwnLabel]:
    return {name: OwnLabel(*said) for name, said in written_labels(path).items()} if path.is_file() else {}


async def label_of_request(request: "Request") -> OwnLabel:
    """What a form sent. Raises `NotAllowedError` unless a page of this viewer sent it, from this machine."""
    origin = request.headers.get("origin", "")
    is_own = (
        urlsplit(origin).netloc == request.headers.get("host") and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    )
    if not is_own or request.client is None or request.client.host not in _LOOPBACK:
        raise NotAllowedError("labels are given on the viewer's own pages, on its own machine", hint="open the page and choose there")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise BadQueryError("a note of more than 64 kB", hint="shorten it")
    given = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return OwnLabel(given.get("label", ""), given.get("note", "").replace("\r\n", "\n").strip())
