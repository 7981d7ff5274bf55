"""The query of a request, read strictly: an unknown key, a bad page or a bad sort word is an error and never ignored."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from evalsuite.errors import EvalsuiteError, did_you_mean

Item = TypeVar("Item")

# One vocabulary for all lists; a list takes the words that its rows have. A minus in front turns the order round.
SUITE_SORTS = ("name", "created_at", "score", "last_run_time")
RUN_SORTS = ("name", "created_at", "score", "last_run_time")
RESULT_SORTS = ("name", "score")
# Arthur Bench's word for it, so that its clients go on working.
ALIASES = {"avg_score": "score"}
MOST_PER_PAGE = 500
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")


class BadQueryError(EvalsuiteError):
    """A request that cannot be meant: HTTP 422."""


class NotThereError(EvalsuiteError):
    """A suite, run or instance that is not there: HTTP 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a list is asked for. `chosen` holds the filters by name, each with its values; `sort` is a word with or without a minus."""

    page: int
    page_size: int
    sort: str
    chosen: Mapping[str, tuple[str, ...]]

    def one(self, key: str) -> str:
        """The last value of a filter, empty where it is not set."""
        return self.chosen.get(key, ("",))[-1]

    def many(self, key: str) -> tuple[str, ...]:
        """All values of a filter that say something."""
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
    """The query of (key, value) pairs. Raises `BadQueryError` for an unknown key, a bad number, or a sort word the list does not have."""
    given: dict[str, list[str]] = {}
    for key, value in pairs:
        given.setdefault(key, []).append(value)
    known = (*filters, *(("page", "page_size") if is_paged else ()), *(("sort",) if sorts else ()))
    for key in given:
        if key not in known:
            raise BadQueryError(f"no parameter {key!r}", hint=did_you_mean(key, known))
    return Query(
        page=_number(given, "page", 1, 10**9),
        page_size=_number(given, "page_size", page_size, MOST_PER_PAGE),
        sort=_sort(given.get("sort", [""])[-1] or default, sorts),
        chosen={key: tuple(values) for key, values in given.items() if key in filters},
    )


def _number(given: Mapping[str, Sequence[str]], key: str, default: int, most: int) -> int:
    text = given.get(key, [""])[-1]
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and 1 <= int(text) <= most):
        raise BadQueryError(f"{key} cannot be {text!r}", hint=f"a whole number from 1 to {most}")
    return int(text)


def _sort(word: str, sorts: Sequence[str]) -> str:
    minus, bare = ("-", word[1:]) if word.startswith("-") else ("", word)
    bare = ALIASES.get(bare, bare)
    if word and bare not in sorts:
        raise BadQueryError(f"cannot sort by {word!r}", hint="known: " + ", ".join(f"{name}, -{name}" for name in sorts))
    return minus + bare


def checked_id(text: str) -> str:
    """The id of a suite or run. Raises `BadQueryError` for a text that can be none."""
    if not ID.fullmatch(text) or ".." in text:
        raise BadQueryError(f"not an id: {text[:80]!r}", hint="letters, digits, dot, hyphen and underscore")
    return text


def ordered(items: Sequence[Item], sort: str, key: Callable[[Item, str], Any]) -> list[Item]:
    """The items in the order of a sort word; those without a value stand last either way, equal ones keep their order."""
    if not sort:
        return list(items)
    word = sort.removeprefix("-")
    known = [item for item in items if key(item, word) is not None]
    known.sort(key=lambda item: key(item, word), reverse=sort.startswith("-"))
    return known + [item for item in items if key(item, word) is None]
