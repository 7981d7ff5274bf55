"""Parse a scorer's keyword parameters from command line options, by the types of its signature."""

import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsuite.core.errors import UsageError, did_you_mean
from evalsuite.core.scorer_contract import Scorer, fits, readable


def parse_options(entry: Scorer, words: Sequence[str], *, gold: Sequence[str] = (), known: Iterable[str] = ()) -> dict[str, Any]:
    """Return the scorer's parameters by name, with the types of its signature.

    Both spellings (`--ignore-order`, `--ignore_order`) and `--name=value` are accepted. A boolean parameter is a flag with an optional
    value and a `--no-` form. A repeated option is a list, and so is a single text if the parameter only accepts a list.

    Args:
        entry: the scorer.
        words: the arguments that are not options of the command itself.
        gold: the values of `--gold`, in order.
        known: further options for the "did you mean" of an error.

    Raises:
        UsageError: an unknown option, a value of another type, an option without value, a stray word.
    """
    given: dict[str, list[str]] = {"gold": list(gold)} if gold else {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise UsageError(f"{word!r} belongs to no option", hint="put a text with spaces in quotes; repeat an option for a list")
        option, assigned, value = word.partition("=")
        name = _parameter_named(entry, option, known)
        if name is None and assigned:
            raise UsageError(f"{option!r} takes no value", hint=f"write {spell(_negated(entry, option))} {value}")
        if name is None:
            given.setdefault(_negated(entry, option), []).append("false")
        elif assigned:
            given.setdefault(name, []).append(value)
        else:
            given.setdefault(name, []).append(_word_after(entry, name, rest))
    return {name: typed(entry, name, texts) for name, texts in given.items()}


def spell(name: str) -> str:
    """Return the command line spelling of a parameter: `--ignore-order`."""
    return "--" + name.replace("_", "-")


def json_type(entry: Scorer, name: str) -> Any:
    """Return the type of a parameter in a gold file; for `gold` of a file scorer the type of file names."""
    if name == "gold" and entry.marker.gold_files is not None:
        return entry.marker.gold_files
    return entry.parameters[name].annotation


def is_flag(entry: Scorer, name: str) -> bool:
    """Return whether the parameter may be given without a value."""
    annotation = json_type(entry, name)
    return annotation not in (Any, object) and fits(True, annotation)


def typed(entry: Scorer, name: str, texts: Sequence[str]) -> Any:
    """Convert one or several texts to a parameter's type; raises `UsageError` with the expected type."""
    annotation = json_type(entry, name)
    if len(texts) == 1:
        forms = _forms(texts[0], annotation, as_list=isinstance(entry.parameters[name].default, tuple | list))
    else:
        read = ([_forms(text, inner) for text in texts] for inner in _item_types(annotation))
        forms = [[item[0] for item in items] for items in read if all(items)]
    if forms:
        return forms[0]
    if len(texts) > 1 and not _item_types(annotation):
        raise UsageError(f"{spell(name)} is given {len(texts)} times", hint=f"{entry.name} takes one: {readable(annotation)}")
    shown = ", ".join(map(repr, texts))
    hint = "a list is written as JSON: '[0, 1]'" if _item_types(annotation) else ""
    raise UsageError(f"{spell(name)} of {entry.name} must be {readable(annotation)}, found {shown}", hint=hint)


def as_words(entry: Scorer, parameters: Mapping[str, Any]) -> list[str]:
    """Return the words that `parse_options` parses to these parameters."""
    words: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool) and is_flag(entry, name):
            words.append(spell(name if value else f"no_{name}"))
            continue
        texts = [value] if isinstance(value, str) else [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not texts or typed(entry, name, texts) != value:
            texts = [json.dumps(value, ensure_ascii=False)]
        for text in texts:
            words += [f"{spell(name)}={text}"] if text.startswith("--") else [spell(name), text]
    return words


def _parameter_named(entry: Scorer, spelled: str, known: Iterable[str]) -> str | None:
    """Return the parameter of an option, None for the `--no-` form of a flag."""
    name = spelled.removeprefix("--").replace("-", "_")
    if name in entry.parameters:
        return name
    if name.startswith("no_") and _negated(entry, spelled):
        return None
    options = [*map(spell, entry.parameters), *known]
    raise UsageError(f"{entry.name} has no option {spelled!r}", hint=did_you_mean(spell(name), options))


def _negated(entry: Scorer, spelled: str) -> str:
    """Return the flag of a `--no-` form, or an empty text."""
    name = spelled.removeprefix("--").replace("-", "_").removeprefix("no_")
    return name if name in entry.parameters and is_flag(entry, name) else ""


def _word_after(entry: Scorer, name: str, rest: list[str]) -> str:
    """Remove and return the word after an option; a flag may have none."""
    if rest and not rest[0].startswith("--"):
        return rest.pop(0)
    if is_flag(entry, name):
        return "true"
    raise UsageError(f"{spell(name)} needs a value: {readable(json_type(entry, name))}", hint=f"{spell(name)}=VALUE for one with dashes")


def _forms(text: str, annotation: Any, *, as_list: bool = False) -> list[Any]:
    """Yield the possible values of a text, best first; only those of a fitting type count."""
    values: list[Any] = [text]
    found, value = _from_json(text)
    # Quotes mark the text "17"; if no number is accepted they are part of the text.
    if found and (not isinstance(value, str) or fits(0, annotation)):
        values.insert(0, value)
    forms: list[Any] = []
    for value in values:
        both = [value] if isinstance(value, list) or value is None else [value, [value]]
        forms += reversed(both) if as_list else both
    return [form for form in forms if fits(form, annotation)]


def _from_json(text: str) -> tuple[bool, Any]:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        return True, json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False, None


def _item_types(annotation: Any) -> list[Any]:
    """Return the item types of a list, one for each list in a union."""
    origin = typing.get_origin(annotation)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        return [typing.get_args(annotation)[0]]
    if origin is None or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return []
    return [inner for part in typing.get_args(annotation) for inner in _item_types(part)]
