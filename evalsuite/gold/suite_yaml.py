"""The optional `suite.yaml` of a gold folder -> `Suite`, checked key by key with file and line."""

import math
import shlex
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, get_args

from evalsuite import registry
from evalsuite.errors import EvalsuiteError, GoldError, UntrustedPluginError, did_you_mean
from evalsuite.gold.yaml_places import place_of_fault, top_level
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.readers.limits import CLOCK, clock_of, resolve_limits
from evalsuite.scorers import SCORERS
from evalsuite.tables.official_cells import Reference
from evalsuite.types import RULES, Suite

# The scorers whose official rules `reference` names.
TABLE_SCORERS = ("table_match", "tables_match", "duckdb_match")
# What a scorer reads that can stand beside others in a list.
TEXT_FORMS = frozenset({"text", "number", "batch"})


def read_suite(folder: Path, *, plugins: bool = True) -> Suite:
    """The suite of a gold folder; without a `suite.yaml` it is named after the folder and all else has its default.

    Plugin files are executed only where the user named the folder (`registry.trusting_plugins`). Elsewhere a suite that brings some is
    refused, or, without `plugins`, read with the names of their scorers in `extra["unexecuted"]`.

        name: sales questions
        rules: strict
        reference: dbt          # whose official rules hold for tables: original, lite, snow, dbt
        limits: {seconds: 20}
        groups: {hr: {prefix: hr_}, hard: [q7, q9]}
        defaults: {table_match: {ignore_order: true}}
        fail_under: 0.8
        clusters: [hr, sales]   # groups whose instances are not independent; each is in exactly one
        hidden: true            # gold is secret: reports show classes of differences, no cells
        scorers: [f1, bleu]     # a column each, over the same gold
        score: f1               # which of them is the score; else the first

    Raises:
        GoldError: the file is no YAML mapping, or a key or value cannot be meant; the message names file and line.
        UntrustedPluginError: it names a plugin file, and the user did not name the folder.
    """
    name = folder.resolve().name
    file = folder / SUITE_FILE
    if not file.is_file():
        return Suite(name=name)
    where = f"{name}/{SUITE_FILE}"
    fields, listed, unexecuted = dict[str, Any](name=name, extra={}), tuple[str, ...](), set[str]()
    for key, value, place in top_level(file, where):
        if key == "scorers":
            listed = _bring_scorers(value, place, folder, unexecuted if not plugins else None)
        elif key in _FIELDS:
            if key == "defaults" and isinstance(value, dict):
                value = {name: parameters for name, parameters in value.items() if name not in unexecuted}
            fields.update(_FIELDS[key](value, place))
        else:
            raise GoldError(f"{place}: unknown key {key!r}", hint=did_you_mean(key, [*_FIELDS, "scorers"]))
    if unexecuted:
        fields["extra"]["unexecuted"] = frozenset(unexecuted)
    if (score := fields.pop("score", None)) is not None:
        if score not in listed:
            raise GoldError(f"{where}: score names {score!r}, which scorers does not list", hint=did_you_mean(score, listed))
        listed = (score, *(other for other in listed if other != score))
    if listed[1:]:
        fields["scorers"] = listed
    # What has no field of its own is for later rooms.
    for key in [key for key in fields if key not in Suite.__dataclass_fields__ and key != "reference"]:
        fields["extra"][key] = fields.pop(key)
    for tag in fields["extra"].get("clusters", ()):
        if tag not in fields.get("groups", {}):
            known = did_you_mean(tag, fields.get("groups", {}))
            raise GoldError(f"{fields['extra']['clusters_at']}: the cluster {tag!r} is no group", hint=known)
    if (reference := fields.pop("reference", None)) is not None:
        own = fields.get("defaults", {})
        fields["defaults"] = own | {name: {"reference": reference, **own.get(name, {})} for name in TABLE_SCORERS}
    return Suite(**fields)


def _bring_scorers(value: Any, where: str, folder: Path, unexecuted: set[str] | None) -> tuple[str, ...]:
    """The scorers that every instance has a column of, where `scorers` is a list; those that a suite brings are loaded.

    Brought is one as `{shout: "python:my.py:shout"}`, files relative to the gold folder, or with a metric's options:
    `{quality: {composite: {parts: [{f1: {}, weight: 0.3}, {llm_judge: {}, weight: 0.7}]}}}`; in a list such an entry stands for its name.
    Of a folder that is not trusted `unexecuted` gets the names of scorers that plugin files would bring; None refuses them.
    """
    names = []
    for entry in value if isinstance(value, list) else [value]:
        brought = {entry: None} if isinstance(value, list) and isinstance(entry, str) else _mapping(entry, "scorers", where)
        for name, target in brought.items():
            if target is not None:
                _bring_scorer(name, target, where, folder, unexecuted)
            names.append(name)
    if not isinstance(value, list):
        return ()
    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise GoldError(f"{where}: scorers lists {twice!r} twice", hint="a scorer has one column")
    for name in names:
        if unexecuted is not None and name in unexecuted:
            continue
        if (reads := _known(name, where).marker.reads) not in TEXT_FORMS:
            hint = "list scorers of texts and numbers; one of files or records scores instances of its own"
            raise GoldError(f"{where}: {name} reads a {reads}, and the scorers of a list read one text", hint=hint)
    return tuple(names)


def _known(name: str, where: str) -> registry.Scorer:
    try:
        return SCORERS.load(name)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from None


def _bring_scorer(name: str, target: Any, where: str, folder: Path, unexecuted: set[str] | None) -> None:
    if isinstance(target, dict):
        try:
            SCORERS.bring_metric(name, target)
        except EvalsuiteError as error:
            raise GoldError(f"{where}: scorer {name!r}: {error.message}", hint=error.hint) from error
        return
    kind, _, rest = str(target).partition(":")
    file, _, attribute = (part.strip() for part in rest.rpartition(":"))
    if kind != "python" or not file or not attribute:
        raise GoldError(f"{where}: scorer {name!r} cannot be {target!r}", hint='write "python:FILE.py:FUNCTION"')
    if not registry.is_trusted(folder):
        if unexecuted is None:
            raise UntrustedPluginError(
                f"{folder} brings a plugin, {file}, which is executed only with --gold {shlex.quote(str(folder))}",
                hint="name the folder if you trust its code",
            )
        unexecuted.add(name)
        return
    try:
        SCORERS.bring(name, folder / file, attribute)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from error


def _mapping(value: Any, key: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise GoldError(f"{where}: {key} must be a mapping of names to values")
    return value


def _hidden(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise GoldError(f"{where}: hidden must be true or false, found {value!r}", hint="true keeps gold's cells out of every report")
    return {"hidden": value}


def _judge(value: Any, where: str) -> dict[str, Any]:
    from evalsuite.judge import read_settings

    section = _mapping(value, "judge", where)
    try:
        read_settings(section)
    except EvalsuiteError as error:
        raise GoldError(f"{place_of_fault(section, where, error.message)}: {error.message}", hint=error.hint) from None
    return {"judge": section}


def _text_field(key: str) -> Callable[[Any, str], dict[str, Any]]:
    def read(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, str):
            raise GoldError(f"{where}: {key} must be text, found {value!r}", hint="put quotes round it")
        return {key: value}

    return read


def _rules(value: Any, where: str) -> dict[str, Any]:
    if value not in RULES:
        raise GoldError(f"{where}: rules must be {' or '.join(RULES)}, found {value!r}", hint=did_you_mean(str(value), RULES))
    return {"rules": value}


def _reference(value: Any, where: str) -> dict[str, Any]:
    known = get_args(Reference)
    if value not in known:
        hint = did_you_mean(str(value), known)
        raise GoldError(f"{where}: reference must be {' or '.join(known)}, found {value!r}", hint=hint)
    return {"reference": value}


def _limits(value: Any, where: str) -> dict[str, Any]:
    limits = _mapping(value, "limits", where)
    try:
        if isinstance(clock := limits.get(CLOCK), str | date):
            # YAML reads `2026-05-31` as a day, and a time as one too where it is written in full.
            limits = {**limits, CLOCK: clock_of(str(clock))}
        resolve_limits(limits)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from None
    return {"limits": limits}


def _groups(value: Any, where: str) -> dict[str, Any]:
    """`tag: [ids]` or `tag: {ids: [...], prefix: text or list of text}`."""
    groups: dict[str, tuple[str, ...]] = {}
    prefixes: dict[str, tuple[str, ...]] = {}
    for tag, entry in _mapping(value, "groups", where).items():
        parts = entry if isinstance(entry, dict) else {"ids": entry}
        for part in parts:
            if part not in ("ids", "prefix"):
                raise GoldError(f"{where}: unknown key {part!r} in group {tag!r}", hint=did_you_mean(str(part), ("ids", "prefix")))
        groups[tag] = _list_of_texts(parts.get("ids", []), f"{where}: ids of group {tag!r}")
        prefix = parts.get("prefix", [])
        prefixes[tag] = _list_of_texts([prefix] if isinstance(prefix, str) else prefix, f"{where}: prefix of group {tag!r}")
        if "" in prefixes[tag]:
            raise GoldError(f"{where}: prefix of group {tag!r} is empty", hint="an empty prefix would take every instance in")
    return {"groups": groups, "group_prefixes": prefixes}


def _list_of_texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GoldError(f"{what} must be a list of text", hint="put quotes round ids that look like numbers")
    return tuple(value)


def _clusters(value: Any, where: str) -> dict[str, Any]:
    """The tags that part the instances into clusters, and the place where they stand."""
    if not (tags := _list_of_texts(value, f"{where}: clusters")):
        raise GoldError(f"{where}: clusters names no group", hint="name groups, or leave the key out where instances are independent")
    return {"clusters": tags, "clusters_at": where}


def _defaults(value: Any, where: str) -> dict[str, Any]:
    """Parameters by scorer name; each must be one the scorer knows."""
    defaults = _mapping(value, "defaults", where)
    for name, parameters in defaults.items():
        entry = _known(name, where)
        for key in _mapping(parameters, f"defaults of {name}", where):
            if key not in entry.parameters and key not in registry.CONNECTION_PARAMETERS:
                raise GoldError(f"{where}: unknown parameter {key!r} of {name}", hint=did_you_mean(key, entry.parameters))
    return {"defaults": defaults}


def _fail_under(value: Any, where: str) -> dict[str, Any]:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 <= value <= 1:
        raise GoldError(f"{where}: fail_under must be a number from 0 to 1, found {value!r}", hint="0.8 means 80 %")
    return {"fail_under": float(value)}


_FIELDS: dict[str, Callable[[Any, str], dict[str, Any]]] = {
    "name": _text_field("name"),
    "description": _text_field("description"),
    "rules": _rules,
    "reference": _reference,
    "limits": _limits,
    "groups": _groups,
    "defaults": _defaults,
    "fail_under": _fail_under,
    "connections": lambda value, where: {"connections": _mapping(value, "connections", where)},
    "judge": _judge,
    "clusters": _clusters,
    "hidden": _hidden,
    "score": _text_field("score"),
}
