"""The form of a saved run's files, as far as what reads them relies on it: a file of another form is damaged, and is not read.

Keys on which no reader relies are not looked at.
"""

import json
from collections.abc import Mapping
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, TypedDict

from evalsuite.errors import FAULTS
from evalsuite.types import RULES, Status

_LONGEST_WHY: Final = 200
_ABOUT_ERRATA: Final = ("applied", "stale", "expired")
_SHARES: Final = ("score", "official", "strict")


def why_no_run(run: Any) -> str:
    """What in the value of a `run.json` is not as a run writes it, with its place; empty where all is."""
    import msgspec

    try:
        msgspec.convert(run, run_form())
    except UnicodeEncodeError:
        return why_no_run(without_halves(run))
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error)[:_LONGEST_WHY]
    return ""


def without_halves(value: Any) -> Any:
    """A JSON value of the same form in which `?` stands for half of a surrogate pair, which msgspec does not take."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@cache
def run_form() -> Any:
    """The type of a `run.json`, for msgspec."""
    number, count, share = _numbers()
    texts, some_text, by_name = list[str], str | None, dict[str, Any]
    corrections = _form(
        "Corrections",
        {**dict.fromkeys(("n_gold", "n_waived", "n_patched"), int), "hash": str, "score": share},
        {"n_judged": count, "interval_95": list[float] | None, **dict.fromkeys(_ABOUT_ERRATA, _of(list, _entry()))},
    )
    raw = _form("RawMean", {"scorer": str, "mean": number, "n_measured": int}, {})
    rows = _of(dict, str, _form("Row", {}, {"score": share, "raw": number}))
    summary = _form(
        "Summary",
        {},
        {
            **dict.fromkeys(_SHARES, share),
            **dict.fromkeys(("n_gold", "n_judged", "n_submitted"), count),
            **{"raw": raw | None, "scorers": texts, "flips": _of(list, _entry()), "by_scorer": rows, "by_group": rows},
        },
    )
    words = ("filter", "group", "layout", "mode", "shard", "as_of", "questions", "invalid_as")
    options = {"only": texts, "limits": dict[str, float], **dict.fromkeys(words, some_text)}
    gold = {"layout": str, "n_instances": count, "clusters": texts, "hidden": bool}
    return _form(
        "Run",
        {
            "signature": str,
            "options": _form("Options", {"rules": Literal[RULES]}, options),
            "submission": _form("Submission", {"folder": str}, {"hash": str, "unsure": texts}),
            "gold": _form("Gold", dict.fromkeys(("folder", "name", "hash"), str), gold),
            "summary": summary,
        },
        {
            **{"corrections": corrections, "metadata": by_name, "warnings": texts},
            **dict.fromkeys(("groups", "notes"), dict[str, list[str]]),
            **{"receipt": _form("Receipt", {}, {"isolation": str}), "databases": dict[str, str] | None, "judge": by_name | None},
            **{"living_gold": dict[str, dict[str, Any]], "sql": by_name | None},
        },
    )


class _Late(TypedDict):
    """Why a line has no strict verdict."""

    code: Literal[(*FAULTS,)]  # type: ignore[valid-type]
    detail: str


@cache
def line_form() -> Any:
    """The type of a line of `results.jsonl`: the very keys and kinds that a run writes."""
    from msgspec import Meta, Raw

    share = _numbers()[2]
    seconds = Annotated[int, Meta(ge=0, le=1 << 53)] | Annotated[float, Meta(ge=0, le=1e300)]
    words = {"scorer": str | None, "reason": str, "fault": Literal[(None, *FAULTS)]}
    kinds = {"instance_id": str, "status": Status, **dict.fromkeys(_SHARES, share), **words, "details": Raw, "seconds": seconds}
    return _form("Line", kinds, {"digests": dict[str, str] | None, "strict_fault": _Late | None}, forbid_unknown_fields=True)


@cache
def details_form() -> Any:
    """The type of a line's `details`, as far as all reports show them."""
    kinds = {"flip": str, "reasons": dict[str, str], "notes": list[str], "warnings": list[str], "raw": _numbers()[0]}
    return _form("Details", {}, kinds)


@cache
def _entry() -> Any:
    """An instance in a list: a flip, an erratum."""
    return _form("Entry", {"instance_id": str}, {})


@cache
def _numbers() -> tuple[Any, Any, Any]:
    """(a number, how many, a share) of which each may be null; none that DuckDB or a reader of JSON would not hold."""
    from msgspec import Meta

    share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)] | None
    return Annotated[float, Meta(ge=-1e300, le=1e300)] | None, Annotated[int, Meta(ge=0, le=1 << 53)] | None, share


def _form(name: str, required: Mapping[str, Any], optional: Mapping[str, Any], **settings: Any) -> Any:
    from msgspec import defstruct

    return defstruct(name, [*required.items(), *((key, kind, None) for key, kind in optional.items())], **settings)


def _of(kind: type, *inner: Any) -> Any:
    return GenericAlias(kind, inner)
