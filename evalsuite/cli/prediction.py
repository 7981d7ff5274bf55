"""`evalsuite check` of one prediction with one scorer: its options are the parameters of the scorer.

The arguments are parsed here, because importing the command line parser would take most of the command's time.
"""

import json
import os
import shlex
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import EXIT_OK, FAULTS, FaultError, UsageError, describe, did_you_mean, machine_error
from evalsuite.core.files import exists
from evalsuite.core.plugin_calls import OfficialError, late_strict, official_only
from evalsuite.core.registry import NO_DEFAULT, Scorer, UnknownScorerError, check_parameters, fits, readable, type_in_gold
from evalsuite.core.scores import RULES, Fault, Rule, Score

if TYPE_CHECKING:
    from evalsuite.reports.document import Document


OWN_OPTIONS = (
    *("--prediction", "--gold", "--rules", "--json", "--explain", "--reveal", "--databases", "--plugin", "--allow-programs"),
    *(
        "--frozen-clock",
        "--questions",
        "--live-gold",
        "--judge",
        "--fail-under",
        "--result-dir",
        "--gold-dir",
        "--layout",
        "--mode",
        "--run",
        "--output",
        "--submission",
    ),
)
_VALUED = ("--prediction", "--gold", "--rules")


def quick_check(words: Sequence[str]) -> int | None:
    """Return the exit code of `check SCORER --prediction ... --gold ...`, None if the command line parser must parse it."""
    plain = plain_call(words)
    if plain is None:
        return None
    options, rest, as_json = plain
    rules: Rule | None = next((name for name in RULES if [name] == options["--rules"][-1:]), None)
    check_prediction(words[0], options["--prediction"], options["--gold"], rest, rules, None, as_json=as_json)
    return EXIT_OK


def plain_call(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str], bool] | None:
    """Parse a call with a bundled scorer's name: (values by own option, the scorer's words, whether --json is given).

    None for any other option of the command, a short option, or an invalid one.
    """
    from evalsuite.scorers import SCORERS

    if not words or words[0] not in SCORERS.bundled:
        return None
    options: dict[str, list[str]] = {name: [] for name in _VALUED}
    rest: list[str] = []
    as_json = False
    waiting = iter(words[1:])
    for word in waiting:
        option, assigned, value = word.partition("=")
        if option in options:
            option_value = value if assigned else next(waiting, None)
            if option_value is None or (option == "--rules" and option_value not in RULES):
                return None
            options[option].append(option_value)
        elif word == "--json":
            as_json = True
        elif word in ("-", "--") or option.replace("_", "-") in (*OWN_OPTIONS, "--help") or (word[:1] == "-" and word[:2] != "--"):
            return None
        else:
            rest.append(word)
    return options, rest, as_json


def check_prediction(
    name: str,
    predictions: Sequence[str],
    gold: Sequence[str],
    words: Sequence[str],
    rules: Rule | None,
    judge: Path | None,
    *,
    as_json: bool,
    allow_programs: bool = False,
) -> "tuple[float | None, Document]":
    """Print and return the score of one prediction under the rules, by default strict for trees and official for other scorers.

    Raises `UsageError` for parameters that the scorer does not accept, and for an unreadable file.
    """
    from evalsuite.api import score
    from evalsuite.reports.score_text import score_document
    from evalsuite.reports.terminal import as_text

    entry = _scorer(name)
    rules = rules or ("strict" if entry.marker.reads == "tree" else "official")
    parameters = parse_options(entry, words, gold=gold, further=OWN_OPTIONS)
    if entry.marker.reads == "tree":
        from evalsuite.gold.suite_yaml import class_schema, names_class

        if names_class(parameters):
            parameters["schema"] = class_schema(parameters["schema"], Path(), "--schema", is_named=True)
    gold_parameter = entry.parameters.get("gold")
    if gold_parameter is not None and gold_parameter.default is NO_DEFAULT and "gold" not in parameters:
        raise UsageError("no gold given", hint=f"evalsuite check {name} --prediction {_metavar(entry)} --gold {_metavar(entry)}")
    warnings = [problem.message for problem in check_parameters(entry, parameters) if len(problem.blocks) < 2]
    try:
        prediction, judge_client = _prediction(entry, predictions), _judge_of_file(judge)
        # Files that need a parser are read in a worker.
        in_json = entry.marker.reads == "tree" and prediction.lower().endswith((".json", ".jsonl"))
        if judge_client is None and (in_json or (entry.marker.gold_files is not None and entry.marker.reads != "tree")):
            result = _score_in_sandbox(entry, prediction, parameters)
        else:
            result = score(name, prediction, judge=judge_client, allow_programs=allow_programs, **parameters)
    except FaultError as error:
        if error.is_of_machine:
            raise machine_error("", error.fault) from None
        hint = "" if error.fault.code == "MISSING_FILE" else FAULTS[error.fault.code].hint
        raise UsageError(describe(error.fault), hint=hint) from None
    warnings = list(dict.fromkeys([*warnings, *result.details.get("warnings", ())]))
    document = score_document(name, result, rules=rules, warnings=warnings)
    print(json.dumps(document.whole, ensure_ascii=True, default=str) + "\n" if as_json else as_text(document), end="")
    return result.value(rules), document


def _score_in_sandbox(entry: "Scorer", prediction: Any, parameters: dict[str, Any]) -> Score:
    """Return the score of files, computed in a worker that can read only them, so that no file can end this process."""
    from evalsuite.api import checked_scorer
    from evalsuite.readers.duckdb_tables import unnamed_copy
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.readers.paths import open_trusted
    from evalsuite.sandbox.rpc_client import RpcClient
    from evalsuite.scorers import worker_setup

    checked_scorer(entry.name, parameters)
    limits = resolve_limits()
    values = prediction if isinstance(prediction, list) else [prediction]
    more = [parameters.get(key) for key in ("gold", "schema")]
    paths = [*values, *(item for value in more for item in (value if isinstance(value, list | tuple) else [value]))]
    files = [Path(value) for value in paths if isinstance(value, str) and _is_there(value)]
    n_bytes = sum(file.stat().st_size for file in files)
    with ExitStack() as stack:
        calls = stack.enter_context(RpcClient(readable=files, hostile=Path(str(values[0])), limits=limits, setup=worker_setup()))
        copy = None
        if entry.marker.reads == "database":
            try:
                source = stack.enter_context(open_trusted(Path(prediction), limit_bytes=limits["file_bytes"]))
            except FaultError as error:
                raise FaultError(error.fault.code, error.fault.detail, where=prediction, side=error.side) from None
            copy = stack.enter_context(unnamed_copy(source, int(limits["file_bytes"])))
        words = (f"{__name__}:score_files", str(Path.cwd()), entry.name, prediction, parameters)
        try:
            fields = calls.call(*words, copy=copy, n_bytes=n_bytes)
        except FaultError as error:
            if error.fault.code != "TIMEOUT":
                raise
            # As in a run, the official verdict alone may finish in time.
            fields = calls.call(*words, True, copy=copy, n_bytes=n_bytes)
    faults = {key: None if fields[key] is None else Fault(**fields[key]) for key in ("fault", "strict_fault")}
    return Score(**{**fields, **faults})


def score_files(
    folder: str, name: str, prediction: Any, parameters: dict[str, Any], without_strict: bool = False, *, private: Path | None = None
) -> dict[str, Any]:
    """Return the fields of the score of files with names relative to `folder`. Runs in a worker."""
    from dataclasses import asdict

    from evalsuite.readers.load_answer import read_pair
    from evalsuite.scorers import SCORERS

    os.chdir(folder)
    entry = SCORERS.load(name)
    read, gold = read_pair(entry.marker.reads, prediction, parameters, private=private)
    try:
        with official_only() if without_strict else nullcontext():
            return asdict(entry.score(read, **{**parameters, **gold}))
    except OfficialError as error:
        return asdict(late_strict(error.score))


def _is_there(name: str) -> bool:
    try:
        return exists(Path(name))
    except (OSError, ValueError):
        return False


def _judge_of_file(file: Path | None) -> Any:
    """Return the judge of a settings file, None if none is given. Raises `UsageError` for a file without judge settings."""
    if file is None:
        return None
    from evalsuite.gold.suite_yaml import judge_section
    from evalsuite.scorers.judge import Judge, read_settings

    return Judge(read_settings(judge_section(file)))


def _scorer(name: str) -> "Scorer":
    from evalsuite.scorers import SCORERS

    try:
        return SCORERS.load(name)
    except UnknownScorerError as error:
        raise UnknownScorerError(error.message, hint=f"{error.hint} (for an instance add --result_dir FOLDER)") from None


def _metavar(entry: "Scorer") -> str:
    if entry.marker.reads == "tree":
        return "FILE.json"
    return "TEXT" if entry.marker.gold_files is None else "FILE"


def _prediction(entry: "Scorer", texts: Sequence[str]) -> Any:
    """Return the prediction: a text, a path, or several paths."""
    if not texts:
        raise UsageError("no prediction given", hint=f"evalsuite check {entry.name} --prediction {_metavar(entry)} --gold ...")
    reads_files = entry.marker.gold_files is not None and entry.marker.reads != "tree"
    if reads_files and "-" in texts:
        raise UsageError(f"{entry.name} reads a file, not stdin", hint="name it: --prediction FILE")
    if entry.marker.reads == "tables":
        return list(texts)
    if len(texts) > 1:
        raise UsageError(f"--prediction is given {len(texts)} times", hint=f"{entry.name} judges one")
    if entry.marker.reads == "tree" and texts[0].lower().endswith((".json", ".jsonl")):
        # A file name, with or without a leading @; any other text is the JSON itself.
        return texts[0].removeprefix("@")
    return texts[0] if reads_files else _read_text(texts[0])


def _read_text(text: str) -> str:
    """Return the text itself, of a file (`@FILE`), or of stdin (`-`); `@@` escapes a leading @. Raises `FaultError`."""
    if text.startswith("@@"):
        return text[1:]
    if text != "-" and not text.startswith("@"):
        return text
    from evalsuite.readers.limits import DEFAULT_LIMITS
    from evalsuite.readers.paths import open_trusted

    where, most = "stdin" if text == "-" else text[1:], int(DEFAULT_LIMITS["file_bytes"])
    try:
        with nullcontext(sys.stdin.buffer) if text == "-" else open_trusted(Path(where), limit_bytes=most) as handle:
            data = handle.read(most + 1)
        if len(data) > most:
            raise FaultError("TOO_LARGE", f"more than {most} bytes")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FaultError("BAD_ENCODING", where=where) from None
    except FaultError as error:
        raise FaultError(error.fault.code, error.fault.detail, where=where, side=error.side) from None


def parse_options(entry: Scorer, words: Sequence[str], *, gold: Sequence[str] = (), further: Iterable[str] = ()) -> dict[str, Any]:
    """Return the scorer's parameters by name, with the types of its signature.

    Both spellings (`--ignore-order`, `--ignore_order`) and `--name=value` are accepted. A boolean parameter is a flag with an optional
    value and a `--no-` form. A repeated option is a list, and so is a single text if the parameter only accepts a list.

    Args:
        entry: the scorer.
        words: the arguments that are not options of the command itself.
        gold: the values of `--gold`, in order.
        further: more options for the "did you mean" of an error.

    Raises:
        UsageError: an unknown option, a value of another type, an option without value, a stray word.
    """
    values: dict[str, list[str]] = {"gold": list(gold)} if gold else {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            pair = [part for name, value in (("--prediction", word), ("--gold", rest[0])) for part in (name, value)] if rest else []
            whole = shlex.join(["evalsuite", "check", entry.name, *pair])
            hint = whole if pair and not (gold or rest[1:]) else "put a text with spaces in quotes; repeat an option for a list"
            raise UsageError(f"{word!r} belongs to no option", hint=hint)
        option, assigned, value = word.partition("=")
        name = _find_parameter(entry, option, further)
        if name is None and assigned:
            raise UsageError(f"{option!r} takes no value", hint=f"write {spell(_parse_negation(entry, option))} {value}")
        if name is None:
            values.setdefault(_parse_negation(entry, option), []).append("false")
        elif assigned:
            values.setdefault(name, []).append(value)
        else:
            values.setdefault(name, []).append(_word_after(entry, name, rest))
    return {name: parse_typed(entry, name, texts) for name, texts in values.items()}


def spell(name: str) -> str:
    """Return the command line spelling of a parameter: `--ignore-order`."""
    return "--" + name.replace("_", "-")


def is_flag(entry: Scorer, name: str) -> bool:
    """Return whether the parameter may be given without a value."""
    annotation = type_in_gold(entry, name)
    return annotation not in (Any, object) and fits(True, annotation)


def parse_typed(entry: Scorer, name: str, texts: Sequence[str]) -> Any:
    """Convert one or several texts to a parameter's type; raises `UsageError` with the expected type."""
    annotation = type_in_gold(entry, name)
    if len(texts) == 1:
        forms = _forms(texts[0], annotation, as_list=isinstance(entry.parameters[name].default, tuple | list))
    else:
        read = ([_forms(text, inner) for text in texts] for inner in _item_types(annotation))
        forms = [[item[0] for item in items] for items in read if all(items)]
    if forms:
        return forms[0]
    if len(texts) > 1 and not _item_types(annotation):
        raise UsageError(f"{spell(name)} is given {len(texts)} times", hint=f"{entry.name} takes one: {readable(annotation)}")
    listing = ", ".join(map(repr, texts))
    hint = "a list is written as JSON: '[0, 1]'" if _item_types(annotation) else ""
    raise UsageError(f"{spell(name)} of {entry.name} must be {readable(annotation)}, found {listing}", hint=hint)


def join_words(entry: Scorer, parameters: Mapping[str, Any]) -> list[str]:
    """Return the words that `parse_options` parses to these parameters."""
    words: list[str] = []
    for name, value in parameters.items():
        if isinstance(value, bool) and is_flag(entry, name):
            words.append(spell(name if value else f"no_{name}"))
            continue
        texts = [value] if isinstance(value, str) else [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not texts or parse_typed(entry, name, texts) != value:
            texts = [json.dumps(value, ensure_ascii=False)]
        for text in texts:
            words += [f"{spell(name)}={text}"] if text.startswith("--") else [spell(name), text]
    return words


def _find_parameter(entry: Scorer, spelled: str, further: Iterable[str]) -> str | None:
    """Return the parameter of an option, None for the `--no-` form of a flag."""
    name = spelled.removeprefix("--").replace("-", "_")
    if name in entry.parameters:
        return name
    if name.startswith("no_") and _parse_negation(entry, spelled):
        return None
    options = [*map(spell, entry.parameters), *further]
    raise UsageError(f"{entry.name} has no option {spelled!r}", hint=did_you_mean(spell(name), options))


def _parse_negation(entry: Scorer, spelled: str) -> str:
    """Return the flag of a `--no-` form, or an empty text."""
    name = spelled.removeprefix("--").replace("-", "_").removeprefix("no_")
    return name if name in entry.parameters and is_flag(entry, name) else ""


def _word_after(entry: Scorer, name: str, rest: list[str]) -> str:
    """Remove and return the word after an option; a flag may have none."""
    if rest and not rest[0].startswith("--"):
        return rest.pop(0)
    if is_flag(entry, name):
        return "true"
    raise UsageError(f"{spell(name)} needs a value: {readable(type_in_gold(entry, name))}", hint=f"{spell(name)}=VALUE for one with dashes")


def _forms(text: str, annotation: Any, *, as_list: bool = False) -> list[Any]:
    """Yield the possible values of a text, best first; only those of a fitting type count."""
    values: list[Any] = [text]
    is_json, value = _parse_json(text)
    # Quotes mark the text "17"; if no number is accepted they are part of the text.
    if is_json and (not isinstance(value, str) or fits(0, annotation, is_bounded=False)):
        values.insert(0, value)
    forms: list[Any] = []
    for value in values:
        both = [value] if isinstance(value, list) or value is None else [value, [value]]
        forms += reversed(both) if as_list else both
    return [form for form in forms if fits(form, annotation)]


def _parse_json(text: str) -> tuple[bool, Any]:
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
