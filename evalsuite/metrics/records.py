"""The text of a prediction or reference that may be a record."""

from collections.abc import Mapping
from typing import Any, Final

from evalsuite.errors import EvalsuiteError

FALLBACK: Final = ("answer", "output", "result", "text")


class RecordError(EvalsuiteError):
    """A record without the field that holds its text."""


def text_of(value: Any, field: str | None = None) -> str:
    """The text of a value: a text itself, a number as it prints, a record's `field`, else its answer, output, result or text.

    `field` is a path of keys joined by dots (`choice.message`). A named field that is absent falls back to the four names, as in the
    Desiru issue; raises `RecordError` where there is none of them either.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    if not isinstance(value, Mapping):
        raise RecordError(f"a text or a record is needed, found {type(value).__name__}")
    for name in (field, *FALLBACK) if field else FALLBACK:
        found = _at(value, name)
        if found is not None:
            return text_of(found)
    wanted = ([field] if field else []) + list(FALLBACK)
    raise RecordError(f"the record has none of the fields {', '.join(wanted)}", hint=f"its fields: {', '.join(map(str, value)) or 'none'}")


def _at(record: Mapping[str, Any], path: str) -> Any:
    here: Any = record
    for key in path.split("."):
        if not isinstance(here, Mapping) or key not in here:
            return None
        here = here[key]
    return here
