"""What the shipped comparators may be told, and what is wrong with what they were."""

from collections.abc import Callable, Mapping
from typing import Any

from evalsuite.trees import dates, number_texts

Params = Mapping[str, Any]
OPTIONS: dict[str, tuple[str, ...]] = {
    "exact": (),
    "numeric": ("tolerance", "locale"),
    "oneof": ("values", "groups"),
    "date": ("formats", "days", "locale"),
    "datetime": ("formats", "seconds", "locale"),
    "quantity": ("unit", "units", "rel", "abs", "locale"),
    "regex": ("pattern", "ignore_case"),
    "set": ("separator",),
    "text": (),
    "edit_distance": (),
    "token_f1": (),
}


def problem_of(name: str, params: Params) -> str | None:
    """What keeps a shipped comparator from working with these parameters, None where nothing does."""
    for check in CHECKS.get(name, ()):
        if problem := check(params):
            return f"{name}: {problem}"
    return None


def unknown_options(name: str, params: Params) -> list[str]:
    """The parameters that a shipped comparator does not take; `tolerance` of `numeric` takes `abs` and `rel`."""
    found = [key for key in params if key not in OPTIONS[name]]
    tolerance = params.get("tolerance")
    inner = [f"tolerance.{key}" for key in tolerance if key not in ("abs", "rel")] if isinstance(tolerance, dict) else []
    return found + inner


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tolerance(params: Params) -> str | None:
    tolerance = params.get("tolerance")
    if tolerance is None:
        return None
    if not isinstance(tolerance, dict):
        return "'tolerance' must be an object with 'abs' or 'rel'"
    wrong = [key for key in ("abs", "rel") if tolerance.get(key) is not None and not _is_number(tolerance[key])]
    return f"tolerance {wrong[0]!r} must be a number" if wrong else None


def _groups(params: Params) -> str | None:
    groups = params.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return "'groups' must be a list of lists"
    return None if isinstance(params.get("values"), list) or groups else "a list 'values' is needed"


def _at_least_0(*names: str) -> Callable[[Params], str | None]:
    def check(params: Params) -> str | None:
        wrong = [name for name in names if not _is_number(params.get(name, 0)) or not 0 <= params.get(name, 0) < float("inf")]
        return f"{wrong[0]!r} must be a number of at least 0" if wrong else None

    return check


def _texts(params: Params) -> str | None:
    wrong = [name for name in ("unit", "separator", "locale") if not isinstance(params.get(name, ""), str)]
    if not wrong and params.get("separator") == "":
        return "'separator' must not be empty"
    formats = params.get("formats", [])
    if not isinstance(formats, list) or not all(isinstance(form, str) for form in formats):
        return "'formats' must be a list of texts"
    return f"{wrong[0]!r} must be a text" if wrong else None


def _units(params: Params) -> str | None:
    for name, entry in (params.get("units") or {}).items() if isinstance(params.get("units", {}), dict) else [("units", None)]:
        if not (isinstance(entry, list) and len(entry) == 2 and _is_number(entry[0]) and isinstance(entry[1], str)):
            return f'unit {name!r} must be [factor, unit], such as [201.168, "m"]'
    return None


def _locale(params: Params) -> str | None:
    language = str(params.get("locale", "")).replace("_", "-").split("-")[0]
    known = sorted({*(name.split("-")[0] for name in number_texts.LOCALES), *dates.LOCALES})
    return (
        None if not language or language in known else f"unknown locale {params['locale']!r}: one of {', '.join(known)}, or with a region"
    )


def _pattern(params: Params) -> str | None:
    import regex

    try:
        regex.compile(params.get("pattern", ""))
    except (regex.error, TypeError):
        return "'pattern' is not a pattern"
    return None


CHECKS: dict[str, tuple[Callable[[Params], str | None], ...]] = {
    "numeric": (_tolerance, _texts, _locale),
    "oneof": (_groups,),
    "date": (_at_least_0("days"), _texts, _locale),
    "datetime": (_at_least_0("seconds"), _texts, _locale),
    "quantity": (_at_least_0("rel", "abs"), _texts, _units, _locale),
    "regex": (_pattern,),
    "set": (_texts,),
}
