"""Parse requests strictly, page and sort lists, check ids, and store human labels given in the viewer.

An unknown key, a bad page or an unknown sort key is an error. Labels are a CSV next to the run's folder, which `evalsuite agree RUN
FILE.csv` reads as a rater.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from evalsuite.core.errors import EvalsuiteError, UsageError, did_you_mean
from evalsuite.runs.human_labels import write_labels, written_labels
from evalsuite.runs.run_folder import labels_beside

if TYPE_CHECKING:
    from starlette.requests import Request

    from evalsuite.reports.record import Record


Item = TypeVar("Item")

# Common sort keys of all lists; each list accepts those of its rows. A leading minus reverses the order.
SUITE_SORTS = ("name", "created_at", "score", "last_run_time")
RUN_SORTS = ("name", "created_at", "score", "last_run_time")
RESULT_SORTS = ("name", "score")
# Arthur Bench's name, for its clients.
ALIASES = {"avg_score": "score"}
MOST_PER_PAGE = 500
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


class BadQueryError(EvalsuiteError):
    """An invalid request: HTTP 422."""


class NotThereError(EvalsuiteError):
    """An unknown suite, run or instance: HTTP 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The parsed query of a list. `chosen` maps filters to their values; `sort` is a sort key, with a minus for reverse order."""

    page: int
    page_size: int
    sort: str
    chosen: Mapping[str, tuple[str, ...]]

    def last(self, key: str) -> str:
        """Return the last value of a filter, empty if it is not set."""
        return self.chosen.get(key, ("",))[-1]

    def many(self, key: str) -> tuple[str, ...]:
        """Return all non-empty values of a filter."""
        return tuple(value for value in self.chosen.get(key, ()) if value)


def read_query(
    pairs: Sequence[tuple[str, str]],
    *,
    sorts: Sequence[str] = (),
    default: str = "",
    filters: Sequence[str] = (),
    page_size: int = 10,
    is_paged: bool = True,
) -> Query:
    """Parse the query of (key, value) pairs. Raises `BadQueryError` for an unknown key, a bad number, or an unknown sort key."""
    given: dict[str, list[str]] = {}
    for key, value in pairs:
        given.setdefault(key, []).append(value)
    known = (*filters, *(("page", "page_size") if is_paged else ()), *(("sort",) if sorts else ()))
    for key in given:
        if key not in known:
            raise BadQueryError(f"no parameter {key!r}", hint=did_you_mean(key, known))
    word = given.get("sort", [""])[-1] or default
    minus, bare = ("-", word[1:]) if word.startswith("-") else ("", word)
    bare = ALIASES.get(bare, bare)
    if word and bare not in sorts:
        raise BadQueryError(f"cannot sort by {word!r}", hint="known: " + ", ".join(f"{name}, -{name}" for name in sorts))
    return Query(
        page=_number_given(given, "page", 1, 10**9),
        page_size=_number_given(given, "page_size", page_size, MOST_PER_PAGE),
        sort=minus + bare,
        chosen={key: tuple(values) for key, values in given.items() if key in filters},
    )


def _number_given(given: Mapping[str, Sequence[str]], key: str, default: int, most: int) -> int:
    text = given.get(key, [""])[-1]
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and 1 <= int(text) <= most):
        raise BadQueryError(f"{key} cannot be {text!r}", hint=f"a whole number from 1 to {most}")
    return int(text)


def checked_id(text: str) -> str:
    """Return the id of a suite or run. Raises `BadQueryError` for an invalid id."""
    if not ID.fullmatch(text) or ".." in text:
        raise BadQueryError(f"not an id: {text[:80]!r}", hint="letters, digits, dot, hyphen and underscore")
    return text


def in_order(items: Sequence[Item], sort: str, key: Callable[[Item, str], Any]) -> list[Item]:
    """Sort the items; items without a value come last in both directions, equal items keep their order."""
    if not sort:
        return list(items)
    word = sort.removeprefix("-")
    known = [item for item in items if key(item, word) is not None]
    known.sort(key=lambda item: key(item, word), reverse=sort.startswith("-"))
    return known + [item for item in items if key(item, word) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """The items of one page; `total_pages` is at least 1, also for an empty list."""

    items: tuple[Item, ...]
    page: int
    page_size: int
    total_pages: int
    total_count: int


def paginate(items: Sequence[Item], *, page: int = 1, page_size: int = 5) -> Page[Item]:
    """Return page `page` (from 1) of the items; a page past the end is empty, one below 1 is an error."""
    if page < 1 or page_size < 1:
        raise UsageError(f"page {page} of {page_size} items", hint="both count from 1")
    start = (page - 1) * page_size
    return Page(
        items=tuple(items[start : start + page_size]),
        page=page,
        page_size=page_size,
        total_pages=max(1, -(-len(items) // page_size)),
        total_count=len(items),
    )


STAMP = re.compile(r"^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")


def safe_id(text: str) -> str:
    """Return the text if it is a valid id, else 16 hex digits of its hash."""
    if ID.fullmatch(text) and ".." not in text:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def utc(seconds: float) -> str:
    """Format seconds since 1970 as `2026-11-21T14:03:22+00:00`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def made_at(folder_name: str) -> str | None:
    """Return the time at the start of a run folder's name, None if there is none."""
    found = STAMP.match(folder_name)
    if found is None:
        return None
    try:
        return datetime(*map(int, found.groups()), tzinfo=UTC).isoformat(timespec="seconds")  # type: ignore[arg-type,misc]
    except ValueError:
        return None


# Labels of an answer; the empty label removes one and keeps its note.
LABELS = {"": "no label", "1": "right", "0.5": "partly right", "0": "wrong"}
_MOST_BYTES = 64 * 1024
_LOOPBACK = ("127.0.0.1", "::1")
_one_at_a_time = Lock()


class NotAllowedError(EvalsuiteError):
    """A write request that is not allowed: HTTP 403."""


class OwnLabel(NamedTuple):
    """A label of `LABELS`, and a note."""

    label: str = ""
    note: str = ""


def labels_file(record: "Record") -> Path | None:
    """Return the path of a run's labels; None for a run without its own folder."""
    return None if record.folder is None else labels_beside(record.folder)


def read_own_labels(record: "Record") -> dict[str, OwnLabel]:
    """Map instance ids to labels. A damaged file counts as empty; the run's warnings report it."""
    path = labels_file(record)
    try:
        return _in_file(path) if path is not None else {}
    except EvalsuiteError:
        return {}


def keep_label(record: "Record", instance_id: str, given: OwnLabel) -> None:
    """Write the label of one instance atomically.

    Raises `BadQueryError`, `OutputError`, and `UsageError` for a damaged file, because it may be repairable.
    """
    path = labels_file(record)
    if path is None or given.label not in LABELS:
        raise BadQueryError(f"no label {given.label[:80]!r}", hint=f"known: {', '.join(LABELS)}")
    with _one_at_a_time:
        write_labels(path, {**_in_file(path), instance_id: given})


def _in_file(path: Path) -> dict[str, OwnLabel]:
    return {name: OwnLabel(*said) for name, said in written_labels(path).items()} if path.is_file() else {}


async def label_of_request(request: "Request") -> OwnLabel:
    """Parse a label form. Raises `NotAllowedError` unless a page of this viewer sent it from this machine."""
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
