"""Read the optional `suite.yaml` of a gold folder as a `Suite`, checked key by key with file and line, and the judge of a run.

The judge is the `judge` section of suite.yaml, overridden by `judge.yaml` next to it, overridden by the file of `--judge`. YAML mappings
know the line of each key, so that errors name file and line.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args

from evalsuite.core import plugin_calls, registry
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, GoldError, UntrustedPluginError, UsageError, did_you_mean, reading_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.types import RULES, Gold, Suite
from evalsuite.readers.gold_files import SUITE_FILE
from evalsuite.readers.limits import CLOCK, clock_of, resolve_limits
from evalsuite.readers.paths import refuse_endless
from evalsuite.scorers import SCORERS


class Placed(dict[str, Any]):
    """A mapping of a file with the line of each of its keys."""

    lines: dict[str, int]


def place_of_fault(section: Any, place: str, message: str) -> str:
    """Return the "file:line" of the key that a message names, quoted or as `judge.key`; else that of the section, `place`."""
    lines = section.lines if isinstance(section, Placed) else {}
    lines_of_key = (line for key, line in lines.items() if repr(key) in message or f".{key} " in message)
    return f"{place.rpartition(':')[0]}:{line}" if (line := next(lines_of_key, None)) is not None else place


def top_level(file: Path, where: str) -> Iterator[tuple[str, Any, str]]:
    """Yield (key, value, "file:line") of the mapping in a file. Raises `GoldError` with the line."""
    with yaml_nodes(file, where) as (loader, node):
        if node is None:
            return
        if node.id != "mapping":
            raise GoldError(f"{where}:{node.start_mark.line + 1}: not a mapping", hint="write `key: value` lines")
        for key_node, value_node in node.value:
            place = f"{where}:{key_node.start_mark.line + 1}"
            value = _placed(loader.construct_object(value_node, deep=True), value_node)
            if key_node.value == "defaults" and isinstance(value, Placed):
                nodes = {key.value: node for key, node in value_node.value}
                value.update({name: _placed(parameters, nodes.get(name)) for name, parameters in value.items()})
            yield str(key_node.value), value, place


def _placed(value: Any, node: Any) -> Any:
    """Return a mapping with the lines of its keys in a file; another value as it is."""
    if not isinstance(value, dict) or node is None:
        return value
    placed = Placed(value)
    placed.lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return placed


@contextmanager
def yaml_nodes(file: Path, where: str) -> Iterator[tuple[Any, Any]]:
    """Yield (the loader, the top node) of a YAML file without repeated keys; the node is None for an empty file.

    Inside the block, YAML errors become a `GoldError` with the line.
    """
    import yaml

    refuse_endless(file)
    try:
        loader = _loader()(file.read_text(encoding="utf-8-sig"))
        node = loader.get_single_node()
        if node is not None and node.tag == "tag:yaml.org,2002:null":
            node = None
        if node is not None:
            refuse_ambiguous(node, where)
            sizes: dict[int, int] = {}
            if _size_with_aliases(node, sizes) > max(_MOST_VALUES, 10 * len(sizes)):
                message = f"{where}: its aliases (`*name`) stand for more than {_MOST_VALUES} values"
                raise GoldError(message, hint="write the values themselves")
        yield loader, node
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        is_tab = "'\\t'" in str(error.problem)
        hint = "replace the tab by spaces" if is_tab else "quote texts that contain ': ' or begin with a special character"
        raise GoldError(f"{where}{line}: not valid YAML", hint=hint) from None
    except EvalsuiteError:
        raise
    except yaml.reader.ReaderError as error:
        raise GoldError(f"{where}: the character {chr(error.character)!r} is not allowed in YAML", hint="remove it") from None
    except UnicodeDecodeError:
        raise GoldError(f"{where}: not readable as UTF-8 text", hint="save the file as UTF-8") from None
    except (yaml.YAMLError, ValueError):
        raise GoldError(f"{where}: a date or a number in it cannot be read", hint="dates are written 2027-06-30") from None
    except RecursionError:
        raise GoldError(f"{where}: nested too deeply", hint="write each level on lines of its own") from None
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise GoldError(f"{where}: the file cannot be read") from None
    except OSError as error:
        raise reading_error(where, error) from None


@cache
def _loader() -> Any:
    """Return the loader of YAML that reads numbers as JSON writes them: for YAML 1.1 alone `1e-09` is a text."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Floats need no point."""

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"-?[0-9]+[eE][-+][0-9]+$"), list("-0123456789"))
    return Loader


# What aliases of aliases may stand for, if the file itself has fewer values.
_MOST_VALUES = 1_000_000


def _size_with_aliases(node: Any, sizes: dict[int, int]) -> int:
    """The number of values in a node, those of an alias counted each time; `sizes` has them by node."""
    if id(node) not in sizes:
        # A node inside itself ends here; the loader refuses it.
        sizes[id(node)] = 1
        parts = node.value if isinstance(node.value, list) else []
        sizes[id(node)] += sum(_size_with_aliases(part, sizes) for pair in parts for part in (pair if isinstance(pair, tuple) else (pair,)))
    return sizes[id(node)]


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
# 1:30 is 90, and 010 is 8.
_ODD_BASE = re.compile(r"[-+]?(?:0[0-7_]+|[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?)")


def refuse_ambiguous(node: Any, where: str) -> None:
    """Raise if a key is repeated in a mapping, at any depth (YAML itself would keep the last one), or is a list or a mapping.

    Raise too if YAML counts a plain value by sixties or eights. Each key is then read as its text, as in JSON: `0:` names column "0".
    """
    import yaml

    nodes, visited = [node], set()
    while nodes:
        node = nodes.pop()
        # An alias is the same node again.
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            if node.tag in _NUMBERS and node.style is None and _ODD_BASE.fullmatch(node.value):
                message = f"{where}:{node.start_mark.line + 1}: YAML reads {node.value} in base {60 if ':' in node.value else 8}"
                raise GoldError(message, hint=f'write "{node.value}" for the text, or the number in full')
            continue
        if isinstance(node, yaml.SequenceNode):
            nodes.extend(node.value)
            continue
        keys: set[str] = set()
        for key_node, value_node in node.value:
            key, place = str(key_node.value), f"{where}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise GoldError(f"{place}: a key is a list or a mapping", hint="write `key: value` lines, each key a plain text")
            if key in keys:
                raise GoldError(f"{place}: the key {key!r} is repeated", hint="keep each key once")
            keys.add(key)
            if key_node.tag != _MERGE:
                key_node.tag = _TEXT
            nodes.append(value_node)


# Scorers whose official rules depend on `reference`.
TABLE_SCORERS = ("table_match", "tables_match", "duckdb_match")
# Values of `reads` of scorers that can be in a list with others.
TEXT_FORMS = frozenset({"text", "number", "batch"})


def read_suite(folder: Path, *, plugins: bool = True) -> Suite:
    """Return the suite of a gold folder; without a `suite.yaml` it has the folder's name and defaults.

    Plugin files run only if the user named the folder (`plugin_calls.trusting_plugins`). Otherwise a suite with plugins is
    refused, or, with `plugins` False, read with the names of their scorers in `extra["unexecuted"]`.

        name: sales questions
        rules: strict
        reference: dbt          # the official rules of tables: original, lite, snow, dbt
        limits: {seconds: 20}
        groups: {hr: {prefix: hr_}, hard: [q7, q9]}
        defaults: {table_match: {ignore_order: true}}
        fail_under: 0.8
        clusters: [hr, sales]   # groups whose instances are not independent; each is in exactly one
        hidden: true            # gold is secret: reports show classes of differences, no cells
        scorers: [f1, bleu]     # a column each, over the same gold
        score: f1               # which of them is the score; else the first

    Raises:
        GoldError: the file is not a YAML mapping, or a key or value is invalid; the message names file and line.
        UntrustedPluginError: it names a plugin file, and the user did not name the folder.
    """
    name = folder.resolve().name
    file = folder / SUITE_FILE
    extra: dict[str, Any] = {} if plugins or plugin_calls.is_trusted(folder) else {"unexecuted": frozenset()}
    if not is_file(file):
        return Suite(name=name, folder=folder, extra=extra)
    where = f"{name}/{SUITE_FILE}"
    fields, scorer_names, unexecuted = dict[str, Any](name=name, folder=folder, extra=extra), tuple[str, ...](), set[str]()
    for key, value, place in top_level(file, where):
        if key == "scorers":
            scorer_names = _load_scorers(value, place, folder, unexecuted if not plugins else None)
        elif key in _FIELDS:
            if key == "defaults" and isinstance(value, dict):
                for name in value.keys() & unexecuted:
                    del value[name]
            fields.update(_FIELDS[key](value, place))
        else:
            raise GoldError(f"{place}: unknown key {key!r}", hint=did_you_mean(key, [*_FIELDS, "scorers"]))
    if unexecuted:
        fields["extra"]["unexecuted"] = frozenset(unexecuted)
    return _suite_of(fields, scorer_names, where)


def _suite_of(fields: dict[str, Any], scorer_names: tuple[str, ...], where: str) -> Suite:
    """Return the suite of checked sections. Raises `GoldError` where two of them contradict each other."""
    if (score := fields.pop("score", None)) is not None:
        if score not in scorer_names:
            raise GoldError(f"{where}: score names {score!r}, which scorers does not list", hint=did_you_mean(score, scorer_names))
        scorer_names = (score, *(other for other in scorer_names if other != score))
    if scorer_names[1:]:
        fields["scorers"] = scorer_names
    # Sections without their own field are used by later code.
    for key in [key for key in fields if key not in Suite.__dataclass_fields__ and key != "reference"]:
        fields["extra"][key] = fields.pop(key)
    for tag in fields["extra"].get("clusters", ()):
        if tag not in fields.get("groups", {}):
            hint = did_you_mean(tag, fields.get("groups", {}))
            raise GoldError(f"{fields['extra']['clusters_at']}: the cluster {tag!r} is no group", hint=hint)
    if (reference := fields.pop("reference", None)) is not None:
        defaults = fields.get("defaults", {})
        fields["defaults"] = defaults | {name: {"reference": reference, **defaults.get(name, {})} for name in TABLE_SCORERS}
    return Suite(**fields)


def _load_scorers(value: Any, where: str, folder: Path, unexecuted: set[str] | None) -> tuple[str, ...]:
    """Return the scorers in the list `scorers`, each a column of every instance; scorers that a suite defines are loaded.

    A suite defines one as `{shout: "python:my.py:shout"}`, with files relative to the gold folder, or as a metric with options:
    `{quality: {composite: {parts: [{f1: {}, weight: 0.3}, {llm_judge: {}, weight: 0.7}]}}}`; in a list such an entry stands for its name.
    For an untrusted folder, `unexecuted` gets the names of scorers in plugin files; None refuses them.
    """
    names = []
    for entry in value if isinstance(value, list) else [value]:
        specs = {entry: None} if isinstance(value, list) and isinstance(entry, str) else _read_mapping(entry, "scorers", where)
        for name, target in specs.items():
            if target is not None:
                _load_scorer(name, target, where, folder, unexecuted)
            names.append(name)
    if not isinstance(value, list):
        return ()
    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise GoldError(f"{where}: scorers lists {twice!r} twice", hint="a scorer has one column")
    for name in names:
        if unexecuted is not None and name in unexecuted:
            continue
        if (reads := _find_scorer(name, where).marker.reads) not in TEXT_FORMS:
            hint = "list scorers of texts and numbers; one of files or records scores instances of its own"
            raise GoldError(f"{where}: {name} reads a {reads}, and the scorers of a list read one text", hint=hint)
    return tuple(names)


def _find_scorer(name: str, where: str) -> registry.Scorer:
    try:
        return SCORERS.load(name)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from None


def _load_scorer(name: str, target: Any, where: str, folder: Path, unexecuted: set[str] | None) -> None:
    if isinstance(target, dict):
        try:
            SCORERS.register_metric(name, target)
        except EvalsuiteError as error:
            raise GoldError(f"{where}: scorer {name!r}: {error.message}", hint=error.hint) from error
        return
    file, attribute = _code_place(target, f"{where}: scorer {name!r}", "FUNCTION")
    if not plugin_calls.is_trusted(folder):
        if unexecuted is None:
            raise _untrusted_plugin_error(folder, file)
        unexecuted.add(name)
        return
    try:
        SCORERS.register(name, folder / file, attribute)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from error


def _code_place(target: Any, what: str, attribute_kind: str) -> tuple[str, str]:
    """Return (file, attribute) of `python:FILE.py:ATTRIBUTE`."""
    kind, _, rest = str(target).partition(":")
    file, _, attribute = (part.strip() for part in rest.rpartition(":"))
    if kind != "python" or not file or not attribute:
        raise GoldError(f"{what} cannot be {target!r}", hint=f'write "python:FILE.py:{attribute_kind}"')
    return file, attribute


def _untrusted_plugin_error(folder: Path, file: str) -> UntrustedPluginError:
    import shlex

    message = f"{folder} brings a plugin, {file}, which is executed only with --gold {shlex.quote(str(folder))}"
    return UntrustedPluginError(message, hint="name the folder if you trust its code")


def names_class(parameters: Mapping[str, Any]) -> bool:
    """Return whether the schema of a check is a class that has to be imported, `python:FILE.py:CLASS`."""
    return isinstance(schema := parameters.get("schema"), str) and schema.startswith("python:")


def class_schema(target: str, folder: Path | None, where: str, *, is_named: bool = False) -> Any:
    """Return the JSON Schema of the class `python:FILE.py:CLASS`, its file relative to a gold folder.

    Args:
        target: the text.
        folder: the gold folder; nothing of it is imported unless the user named it.
        where: the place of the text, for messages.
        is_named: whether the user named the file itself, on the command line.

    Raises:
        UntrustedPluginError: the user named neither.
        GoldError: the file fails, or has no such class.
    """
    file, name = _code_place(target, f"{where}: schema", "CLASS")
    folder = folder or Path()
    if not is_named and not plugin_calls.is_trusted(folder):
        raise _untrusted_plugin_error(folder, file)
    try:
        return _schema_of_class(registry.plugin_file((folder / file).resolve()).module, name)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: schema {target}: {error.message}", hint=error.hint) from error


@lru_cache(maxsize=64)
def _schema_of_class(module: ModuleType, name: str) -> Any:
    from evalsuite.trees.json_schema import SchemaError, plain_schema

    file = Path(str(module.__file__))
    if not hasattr(module, name):
        raise UsageError(f"{file.name} does not define {name!r}", hint=did_you_mean(name, [key for key in vars(module) if key[:1] != "_"]))
    try:
        return {**plain_schema(getattr(module, name)), "x-eval-class": f"{file.name}:{name}"}
    except SchemaError as error:
        raise UsageError(str(error)) from None


def _read_mapping(value: Any, key: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise GoldError(f"{where}: {key} must be a mapping of names to values")
    return value


def _read_hidden(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise GoldError(f"{where}: hidden must be true or false, found {value!r}", hint="true keeps gold's cells out of every report")
    return {"hidden": value}


def _judge(value: Any, where: str) -> dict[str, Any]:
    from evalsuite.scorers.judge import read_settings

    section = _read_mapping(value, "judge", where)
    try:
        read_settings(section)
    except EvalsuiteError as error:
        raise GoldError(f"{place_of_fault(section, where, error.message)}: {error.message}", hint=error.hint) from None
    return {"judge": section}


def _text_field(key: str) -> Callable[[Any, str], dict[str, Any]]:
    def read(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, str):
            raise GoldError(
                f"{where}: {key} must be text, found {value if isinstance(value, date) else repr(value)}", hint="put quotes round it"
            )
        return {key: value}

    return read


def _rules(value: Any, where: str) -> dict[str, Any]:
    if value not in RULES:
        raise GoldError(f"{where}: rules must be {' or '.join(RULES)}, found {value!r}", hint=did_you_mean(str(value), RULES))
    return {"rules": value}


def _reference(value: Any, where: str) -> dict[str, Any]:
    from evalsuite.compare.official_cells import Reference

    references = get_args(Reference)
    if value not in references:
        hint = did_you_mean(str(value), references)
        raise GoldError(f"{where}: reference must be {' or '.join(references)}, found {value!r}", hint=hint)
    return {"reference": value}


def _limits(value: Any, where: str) -> dict[str, Any]:
    limits = _read_mapping(value, "limits", where)
    try:
        if isinstance(clock := limits.get(CLOCK), str | date):
            # YAML reads `2026-05-31` as a date, and a complete time as one too.
            limits = {**limits, CLOCK: clock_of(str(clock))}
        resolve_limits(limits)
    except EvalsuiteError as error:
        raise GoldError(f"{where}: {error.message}", hint=error.hint) from None
    return {"limits": limits}


def _groups(value: Any, where: str) -> dict[str, Any]:
    """Read `tag: [ids]` or `tag: {ids: [...], prefix: text or list of text}`."""
    groups: dict[str, tuple[str, ...]] = {}
    prefixes: dict[str, tuple[str, ...]] = {}
    for tag, entry in _read_mapping(value, "groups", where).items():
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
        hint = f"write [{value}]" if isinstance(value, str) else "put quotes round ids that look like numbers"
        raise GoldError(f"{what} must be a list of texts", hint=hint)
    return tuple(value)


def _clusters(value: Any, where: str) -> dict[str, Any]:
    """Return the tags that divide the instances into clusters, and their place in the file."""
    if not (tags := _list_of_texts(value, f"{where}: clusters")):
        raise GoldError(f"{where}: clusters names no group", hint="name groups, or leave the key out where instances are independent")
    return {"clusters": tags, "clusters_at": where}


def _defaults(value: Any, where: str) -> dict[str, Any]:
    """Return parameters by scorer name, with the place of each; it must be a parameter of the scorer."""
    defaults, places = _read_mapping(value, "defaults", where), dict[str, dict[str, str]]()
    for name, parameters in defaults.items():
        entry = _find_scorer(name, place_of_fault(defaults, where, repr(name)))
        at = places[name] = {}
        for key in _read_mapping(parameters, f"defaults of {name}", where):
            at[key] = place_of_fault(parameters, where, repr(key))
            if key not in entry.parameters and key not in registry.CONNECTION_PARAMETERS:
                raise GoldError(f"{at[key]}: unknown parameter {key!r} of {name}", hint=did_you_mean(key, entry.parameters))
    return {"defaults": defaults, "defaults_at": places}


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
    "connections": lambda value, where: {"connections": _read_mapping(value, "connections", where)},
    "judge": _judge,
    "clusters": _clusters,
    "hidden": _read_hidden,
    "score": _text_field("score"),
}


JUDGE_FILE: Final = "judge.yaml"
_HINT: Final = "base_url: ..., model: ..., key_env: ... in judge.yaml, or below `judge:` in suite.yaml"
_FILES: Final = ("prompts", "cassette")


def judge_section(file: Path) -> dict[str, Any]:
    """Return the judge's keys in a `judge.yaml`, or below `judge:` in another file such as suite.yaml; paths are relative to the file.

    Raises:
        UsageError: no such file, no judge in it, or an invalid key or value, with file and line.
        GoldError: the file is not YAML.
    """
    if not is_file(file):
        raise UsageError(f"{file}: {'not a file' if exists(file) else 'no such file'}", hint=_HINT)
    if not (section := _section_of(file)):
        raise UsageError(f"{file} has no `judge` section and no key of one", hint=_HINT)
    return section


def judge_of(file: Path | None, folder: Path) -> dict[str, Any]:
    """Return the judge's keys of a file, which override those of a gold folder, or of a `judge.yaml` in the working folder.

    Raises:
        UsageError: no judge is configured, or an invalid key or value.
    """
    places = [folder / SUITE_FILE, folder / JUDGE_FILE] if is_dir(folder) else [Path(JUDGE_FILE)]
    section: dict[str, Any] = {}
    for place in places:
        section |= _section_of(place) if is_file(place) else {}
    section |= judge_section(file) if file is not None else {}
    if not section:
        raise UsageError("no judge is configured", hint=_HINT)
    return section


def _section_of(file: Path) -> dict[str, Any]:
    section: dict[str, Any] = {}
    whole = {key: (value, place) for key, value, place in top_level(file, str(file))}
    for key, (value, place) in whole.items():
        if key == "judge" and isinstance(value, dict):
            _check_section(value, place)
            section |= value
        elif "judge" not in whole and file.name != SUITE_FILE:
            _check_section({key: value}, place)
            section[key] = value
    return section | {key: str((file.parent / section[key]).resolve()) for key in _FILES if section.get(key)}


def with_judge(gold: Gold, file: Path | None) -> Gold:
    """Return gold with the judge keys of a file, which override the others. Raises `UsageError` for an invalid file."""
    if file is None:
        return gold
    judge = {**gold.suite.extra.get("judge", {}), **judge_section(file)}
    return replace(gold, suite=replace(gold.suite, extra={**gold.suite.extra, "judge": judge}))


def judge_line(gold: Gold) -> str:
    """Return the judge settings that affect a verdict, for the signature; empty if there are none."""
    return _verdict_line(gold.suite.extra.get("judge") or {}, gold.folder)


def judge_line_in(folder: Path | None, file: Path | None = None) -> str:
    """Return the `judge_line` of the gold in a folder, without reading anything else of it; `file` overrides it."""
    places = [folder / name for name in (SUITE_FILE, JUDGE_FILE)] if folder is not None else []
    section = {key: value for place in places if is_file(place) for key, value in _section_of(place).items()}
    section |= judge_section(file) if file is not None else {}
    return _verdict_line(section, folder)


def _verdict_line(section: Mapping[str, Any], folder: Path | None) -> str:
    if not section:
        return ""
    from evalsuite.scorers.judge.settings import read_settings

    return read_settings(section, folder=folder).verdict_line


def _check_section(section: Mapping[str, Any], place: str) -> None:
    from evalsuite.scorers.judge.settings import read_settings

    try:
        read_settings(section)
    except EvalsuiteError as error:
        raise UsageError(f"{place_of_fault(section, place, error.message)}: {error.message}", hint=error.hint) from None
