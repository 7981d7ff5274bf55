"""The parameters of a check against the signature of its scorer, in the words of a gold file."""

import inspect
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from evalsuite.registry.marker import Scorer
from evalsuite.registry.words import did_you_mean
from evalsuite.types import Problem

IGNORED_PARAMETERS = ("pred", "result")
# Where to run an SQL answer or a gold query: taken in every check, and kept from its scorer.
CONNECTION_PARAMETERS = ("connection", "engine", "database")


def check_parameters(entry: Scorer, parameters: Mapping[str, Any], *, where: str = "", later: Collection[str] = ()) -> list[Problem]:
    """What is wrong with a check's parameters: unknown keys, wrong types, missing ones, then the scorer's own findings.

    An unknown key blocks the official verdict (the reference dies of it) and is only a warning for strict. Of those in `later` the
    values are not known yet, so nothing is said of them.
    """
    known = entry.parameters
    found: list[Problem] = []
    usable: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in later:
            continue
        if key in IGNORED_PARAMETERS and key not in known:
            message = f"parameter {key!r} of {entry.name} is ignored"
            found.append(Problem(code="BAD_SPEC", message=message, where=where, blocks=frozenset()))
        elif key in CONNECTION_PARAMETERS and key not in known:
            if not isinstance(value, str) or not value:
                message = f"parameter {key!r} of {entry.name} must be text, found {type(value).__name__}"
                found.append(Problem(code="BAD_SPEC", message=message, where=where))
        elif key not in known:
            found.append(
                Problem(
                    code="BAD_SPEC",
                    message=f"unknown parameter {key!r} of {entry.name}",
                    hint=did_you_mean(key, known),
                    where=where,
                    blocks=frozenset({"official"}),
                )
            )
        elif not fits(value, annotation := _json_type(entry, key)):
            expected = readable(annotation)
            message = f"parameter {key!r} of {entry.name} must be {expected}, found {type(value).__name__}"
            found.append(Problem(code="BAD_SPEC", message=message, where=where))
        else:
            usable[key] = value
    missing = [k for k, p in known.items() if p.default is inspect.Parameter.empty and k not in parameters]
    for key in missing:
        found.append(Problem(code="BAD_SPEC", message=f"{entry.name} needs the parameter {key!r}", where=where))
    if not any(p.blocks >= {"strict"} for p in found):
        found.extend(replace(p, where=p.where or where) for p in entry.problems(usable))
    return found


def _json_type(entry: Scorer, key: str) -> Any:
    if key == "gold" and entry.marker.gold_files is not None:
        return entry.marker.gold_files
    return entry.parameters[key].annotation


def fits(value: object, annotation: Any) -> bool:
    """Whether a JSON value is of the annotated type; bool is not a number here, and an int fits float."""
    if annotation is Any or annotation is object:
        return True
    if annotation is None or annotation is type(None):
        return value is None
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in typing.get_args(annotation))
    if origin is Literal:
        return value in typing.get_args(annotation)
    if origin in (list, Sequence, tuple):
        inner = typing.get_args(annotation)[0]
        return isinstance(value, list | tuple) and all(fits(item, inner) for item in value)
    if origin in (dict, Mapping):
        inner = typing.get_args(annotation)[1]
        return isinstance(value, Mapping) and all(fits(item, inner) for item in value.values())
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(annotation, type) and isinstance(value, annotation)


def readable(annotation: Any) -> str:
    """An annotation in the words of a gold file: `text or list of text`."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(readable(part) for part in typing.get_args(annotation))
    if origin is Literal:
        return " or ".join(repr(part) for part in typing.get_args(annotation))
    if origin in (list, Sequence, tuple):
        return f"list of {readable(typing.get_args(annotation)[0])}"
    if origin in (dict, Mapping):
        return f"object of {readable(typing.get_args(annotation)[1])}"
    plain = {str: "text", int: "integer", float: "number", bool: "true or false", type(None): "null", Any: "anything"}
    return plain.get(annotation, getattr(annotation, "__name__", str(annotation)))
