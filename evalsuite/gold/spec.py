"""Read the spec of a gold folder: the instances of its only `*_eval.jsonl` with their checks and question texts, and the suite.

A spec that cannot be read as a whole is a GoldError with file and line. Bad parameters of one check are data: `Check.problems`.
"""

import json
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from msgspec import MsgspecError

from evalsuite.core import registry
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, GoldError, UsageError, describe, did_you_mean
from evalsuite.core.files import is_file
from evalsuite.core.registry import UnknownScorerError
from evalsuite.core.types import Check, Gold, GoldInstance, Problem, Submission, Suite
from evalsuite.gold.suite_yaml import class_schema, names_class, read_suite
from evalsuite.readers.json_text import Entry, Layout, Obj
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import SPEC_PATTERN, FromRoot, open_trusted, resolve_in_side
from evalsuite.scorers import SCORERS

# Gold keys that may contain the question, the likeliest first.
_QUESTION_KEYS: Final = ("input", "question", "instruction", "prompt")
# Longer texts are cut in reports.
LONGEST: Final = 20_000
# Values of `reads` of scorers with gold that names files.
_FILES: Final = frozenset({"table", "tables", "database"})


class Exchange(NamedTuple):
    """Question, reference and answer of an instance; an empty text if there is none, or if it is a file."""

    question: str = ""
    reference: str = ""
    answer: str = ""

    def full_reason(self, reason: str) -> str:
        """Return a reason with the gold text itself in place of "the gold text", if it may be shown."""
        from evalsuite.compare.answer_messages import LACKED, shorten

        return reason.replace(f"lacks {LACKED}", f"lacks {shorten(self.reference)}") if self.reference else reason


NOTHING: Final = Exchange()


class Exchanges:
    """The texts of each instance by id, `NOTHING` for one without; gold and submission are loaded at the first access."""

    def __init__(self, open_sides: Callable[[], tuple[Gold | None, Submission | None]]) -> None:
        self._open_sides = open_sides

    @cached_property
    def _sides(self) -> tuple[Mapping[str, GoldInstance], Submission | None]:
        gold, submission = self._open_sides()
        return {instance.instance_id: instance for instance in gold.instances} if gold is not None else {}, submission

    def without_answers(self) -> "Exchanges":
        """Return the same questions and references, for scores that are of no single answer."""
        return Exchanges(lambda: (self._open_sides()[0], None))

    def texts_of(self, instance_id: str) -> Exchange:
        """Return the texts of an instance, each cut at 20,000 characters; nothing for an answer that is a file."""
        instances, submission = self._sides
        instance = instances.get(instance_id)
        answer = submission.answers.get(instance_id) if submission is not None else None
        if answer is not None and (answer.fault is not None or answer.answer_type != "answer"):
            return NOTHING
        reference = reference_text(instance.checks[0], between=" | ") if instance is not None and instance.checks else None
        question = question_of(instance) if instance is not None else ""
        if not question or (reference is None and answer is None):
            # Gold without a question is not meant for reading, so its values are left out of reports.
            return NOTHING
        texts = (question, reference or "", str(answer.value) if answer is not None else "")
        return Exchange(*(text[:LONGEST] for text in texts))


def exchanges_of(gold: Gold, submission: Submission) -> Exchanges:
    """Return the texts for a run that has just ended."""
    return Exchanges(lambda: (gold, submission))


def question_of(instance: GoldInstance) -> str:
    """Return the question among the further keys of a gold entry, else that of the file of questions; empty if there is none."""
    texts = (text for key in _QUESTION_KEYS if isinstance(text := instance.extra.get(key), str) and text)
    return next(texts, instance.question_entry.get("question", ""))


def reference_text(check: Check, *, between: str = "") -> str | None:
    """Return gold as text; None if there is none, or if the parameter only names a file. Several are JSON, or joined with `between`."""
    gold = check.parameters.get("gold")
    try:
        reads = SCORERS.load(check.scorer).marker.reads
        if reads in _FILES or (reads == "tree" and isinstance(gold, str) and gold.lower().endswith((".json", ".jsonl"))):
            return None
    except UnknownScorerError:
        pass
    if between and isinstance(gold, list):
        return between.join(map(str, gold))
    return gold if isinstance(gold, str) else None if gold is None else json.dumps(gold, ensure_ascii=False, default=str)


# The gold query of an instance, in its folder.
GOLD_QUERY = "gold.sql"
# Values of `reads` of scorers with gold that can be a query: tables from gold's files, or texts and numbers in the parameters.
TABLES, TEXTS = frozenset({"table", "tables"}), frozenset({"text", "number"})
CHECK_KEYS = ("func", "parameters", "temporal")
# Parameters that define a case: all scorers of a suite get the same ones.
CASE_KEYS = frozenset({"gold", "question", "input", "context", "text"})
# Number of gold ids that are compared with an unknown id for a suggestion.
MOST_COMPARED = 2000
# Hint for a file without evaluations.
EVALUATION_HINT = 'write "evaluation": {"func": "string_match", "parameters": {"gold": "..."}}'
PAIRS_HINT = "a file of questions and references becomes a suite: `evalsuite suite create NAME --from FILE`"
# Nearly every instance has no further keys: all share one empty object.
_NONE: dict[str, Any] = {}
# Types of values that JSON preserves.
_PLAIN = frozenset({str, int, bool, type(None)})
_TEXT_ONLY = frozenset({str})


# (entry of the spec, its place, suite) -> instance.
MakeInstance = Callable[[Obj, str, Suite], GoldInstance]
# (open spec, limits=, layout=) -> its entries.
ReadEntries = Callable[..., Iterable[Entry]]


def read_spec(spec: Path, limits: Limits, make: MakeInstance, *, layout: str, entries: ReadEntries, plugins: bool) -> Gold:
    """Return the gold of one spec file, with `make(entry, where, suite)` for each entry. Raises as `read_gold` does."""
    suite = read_suite(spec.parent, plugins=plugins)
    name = f"{spec.resolve().parent.name}/{spec.name}"
    met = Layout()
    instances: dict[str, GoldInstance] = {}
    try:
        handle = open_trusted(spec, limit_bytes=limits["metadata_bytes"])
    except FaultError as error:
        raise GoldError(f"{name}: {describe(error.fault)}") from None
    with handle:
        for entry in entries(handle, limits=limits, layout=met):
            where = f"{name}:{entry.line}"
            if entry.fault is not None:
                hint = "" if spec.match(SPEC_PATTERN) else f"give the gold folder, or its {SPEC_PATTERN}; {PAIRS_HINT}"
                raise GoldError(f"{where}: {entry.fault.detail or FAULTS[entry.fault.code].message}", hint=entry.hint or hint)
            instance = make(entry.value or {}, where, suite)
            if (first := instances.get(instance.instance_id)) is not None:
                line = first.where.rpartition(":")[2]
                _refuse(where, f"instance {instance.instance_id!r} is repeated, first on line {line}", "give each instance its own id")
            instances[instance.instance_id] = instance
    notes = (*(f"{name}:{line}: {text}" for text, line in met.notes.items()), *_check_clusters(suite, instances))
    return Gold(folder=spec.parent, spec_file=spec, instances=tuple(instances.values()), suite=suite, notes=notes, layout=layout)


def _refuse(where: str, problem: str, hint: str = "") -> NoReturn:
    raise GoldError(f"{where}: {problem}", hint=hint)


def instance_of(entry: Obj, where: str, suite: Suite) -> GoldInstance:
    """Return the instance of one object of the spec."""
    id_ = id_of(entry, where)
    if "evaluation" not in entry:
        near = next((key for key in entry if did_you_mean(key, ["evaluation"]).startswith("did")), None)
        _refuse(
            where, f"{id_}: evaluation is missing", f"found {near!r}: write 'evaluation'" if near else f"{EVALUATION_HINT}; {PAIRS_HINT}"
        )
    block = entry["evaluation"]
    evaluations = block if isinstance(block, list) else [block]
    if not evaluations:
        _refuse(where, f"{id_}: evaluation is empty", "give one {func, parameters} or a list of them")
    checks = with_further_scorers(tuple(check_of(evaluation, id_, where, suite) for evaluation in evaluations), id_, where, suite)
    extra = {key: value for key, value in entry.items() if key not in ("instance_id", "evaluation")} or _NONE
    return GoldInstance(instance_id=id_, checks=checks, where=where, extra=extra, groups=suite.groups_of(id_), question_entry=_NONE)


def id_of(entry: Obj, where: str) -> str:
    """Return the instance id of a spec's entry. Raises GoldError if it has no usable one."""
    id_ = entry.get("instance_id")
    if "instance_id" not in entry:
        near = next((key for key in entry if did_you_mean(key, ["instance_id"]).startswith("did")), None)
        _refuse(where, "instance_id is missing", f"found {near!r}: write 'instance_id'" if near else "")
    if not isinstance(id_, str) or not id_:
        _refuse(where, f"instance_id must be a text that is not empty, found {id_!r}")
    return id_


def check_ids(gold: Gold, ids: Iterable[str]) -> None:
    """Raise `UsageError` for an id that gold does not have."""
    all_ids = {instance.instance_id: None for instance in gold.instances}
    for name in ids:
        if name not in all_ids:
            raise UsageError(f"no instance {name!r} in gold", hint=did_you_mean(name, list(all_ids)[:MOST_COMPARED]))


def _check_clusters(suite: Suite, instances: Mapping[str, GoldInstance]) -> Iterator[str]:
    """Yield notes on clusters of suite.yaml: unknown ids, a single cluster. Raises `GoldError` for an instance in none or several."""
    tags, place = dict.fromkeys(suite.extra.get("clusters", ())), suite.extra.get("clusters_at", "")
    for instance in instances.values() if tags else ():
        clusters_of_instance = [tag for tag in instance.groups if tag in tags]
        if len(clusters_of_instance) != 1:
            names = " and ".join(clusters_of_instance) or "none"
            raise GoldError(f"{place}: instance {instance.instance_id!r} is in {names} of the clusters", hint="each must be in exactly one")
    for tag in tags:
        if unknown := [name for name in suite.groups[tag] if name not in instances]:
            yield f"{place}: the cluster {tag!r} names {', '.join(map(repr, unknown[:5]))}, which gold does not have"
    if len({tag for instance in instances.values() for tag in instance.groups if tag in tags}) == 1:
        yield f"{place}: one cluster alone does not show the spread between clusters"


def with_own_files(check: Check, id_: str, folder: Path, *, inside: str = "", keys: Container[str] | None = None) -> Check:
    """Return the check with each file of its instance that its parameters (those of `keys`) name as a path from gold's `folder`.

    Only names of files that are there, or in the folder `inside` of it, are changed.
    """

    def from_root(value: Any) -> Any:
        if isinstance(value, list):
            return [from_root(item) for item in value]
        if not isinstance(value, str) or isinstance(value, FromRoot):
            return value
        try:
            place = f"{inside}{resolve_in_side(id_, value)}"
        except FaultError:
            return value
        return FromRoot(place) if is_file(folder / place) else value

    parameters = {key: from_root(value) if keys is None or key in keys else value for key, value in check.parameters.items()}
    return replace(check, parameters=parameters)


def check_of(evaluation: Any, id_: str, where: str, suite: Suite) -> Check:
    """Return the check of one `{func, parameters}`; its own parameters override the suite's defaults."""
    if not isinstance(evaluation, dict):
        _refuse(where, f"{id_}: evaluation must be an object {{func, parameters}} or a list of them, found {type(evaluation).__name__}")
    func = evaluation.get("func")
    if not isinstance(func, str):
        _refuse(where, f"{id_}: func must be the name of a scorer, found {func!r}", "run `evalsuite gold scorers` for the names")
    parameters = evaluation.get("parameters", {})
    if not isinstance(parameters, dict):
        _refuse(where, f"{id_}: parameters must be an object, found {type(parameters).__name__}")
    if func in suite.extra.get("unexecuted", ()):
        return _make_unexecuted_check(func, {**suite.defaults.get(func, {}), **parameters}, func, where)
    try:
        scorer = SCORERS.load(func)
    except EvalsuiteError as error:
        _refuse(where, error.message, error.hint)
    merged: dict[str, Any] = {**suite.defaults.get(func, {}), **parameters}
    if scorer.marker.reads == "tree" and names_class(merged):
        if "unexecuted" in suite.extra:
            return _make_unexecuted_check(func, merged, str(merged["schema"]), where)
        merged["schema"] = class_schema(merged["schema"], suite.folder, where)
    extra = {key: value for key, value in evaluation.items() if key not in ("func", "parameters")} or _NONE
    if evaluation.get("temporal") is True and scorer.marker.reads in TABLES | TEXTS and "gold" in scorer.parameters:
        merged.setdefault("gold", GOLD_QUERY)
    used = _as_text(merged) if scorer.marker.reads in TEXTS else merged
    check = Check(scorer=sys.intern(func), parameters=used, where=where, extra=extra)
    living = names_queries(check)
    misplaced = _warn_of_misplaced_keys(evaluation, where) if extra else []
    places = _places_of_defaults(suite, func, parameters)
    problems = [*misplaced, *registry.check_parameters(scorer, merged, where=where, places=places, later=["gold"] if living else [])]
    if living:
        hint = "configure a connection for this instance"
        problems.append(Problem(code="NEEDS_CONNECTION", message="its gold query has to be run", hint=hint, where=where))
    return replace(check, problems=tuple(problems)) if problems else check


def _places_of_defaults(suite: Suite, scorer: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameter -> "file:line" of those that a check has from suite.yaml."""
    places: Mapping[str, str] = suite.extra.get("defaults_at", {}).get(scorer, {})
    return {key: place for key, place in places.items() if key not in parameters}


def _make_unexecuted_check(scorer: str, parameters: dict[str, Any], code: str, where: str) -> Check:
    problem = Problem(code="BAD_SPEC", message=f"{code} is a plugin of gold, which was not executed", where=where)
    return Check(scorer=scorer, parameters=parameters, where=where, problems=(problem,))


def _as_text(parameters: dict[str, Any]) -> Any:
    """Return the parameters as JSON text for `Check`; unchanged if JSON would not preserve them. Paths become texts."""
    from msgspec.json import decode, encode

    try:
        text = encode(parameters)
        is_plain = all(_is_plain(value) for value in parameters.values())
        return text if is_plain or repr(decode(text)) == repr(parameters) else parameters
    except (MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return parameters


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return kind in _PLAIN or (kind is list and _TEXT_ONLY.issuperset(map(type, value))) or (kind is float and isfinite(value))


def with_further_scorers(checks: tuple[Check, ...], id_: str, where: str, suite: Suite) -> tuple[Check, ...]:
    """Return the checks, and one check of each further scorer in suite.yaml, which does not change the score.

    A scorer without its own check gets gold, question and context of the existing checks. An instance that none of the listed scorers
    scores is unchanged.
    """
    names = tuple([name for name in suite.extra.get("scorers", ()) if name not in suite.extra.get("unexecuted", ())])
    scorer = next((check.scorer for check in checks if check.scorer in names), None)
    if scorer is None:
        return checks
    rest = [check for check in checks if check.scorer not in names]
    for name in names:
        checks_of_scorer = [check for check in checks if check.scorer == name]
        for check in [] if checks_of_scorer else [check for check in checks if check.scorer == scorer]:
            parameters = SCORERS.load(name).parameters
            case = {key: value for key, value in check.parameters.items() if key in CASE_KEYS and key in parameters}
            checks_of_scorer.append(check_of({"func": name, "parameters": case}, id_, where, suite))
        rest += checks_of_scorer if name == names[0] else [replace(check, is_further=True) for check in checks_of_scorer]
    return tuple(rest)


def names_queries(check: Check) -> bool:
    """Return whether all gold of a check is queries: `.sql` files, for tables, and for texts and numbers that are `temporal`."""
    reads = SCORERS.load(check.scorer).marker.reads
    if reads not in TABLES and not (reads in TEXTS and check.extra.get("temporal") is True):
        return False
    return bool(check.golds) and all(isinstance(name, str) and name.lower().endswith(".sql") for name in check.golds)


def _warn_of_misplaced_keys(evaluation: Obj, where: str) -> list[Problem]:
    """Return a warning for each ignored key next to `func` and `parameters`."""
    problems = []
    for key in evaluation:
        if key in CHECK_KEYS:
            continue
        near = did_you_mean(key, CHECK_KEYS)
        hint = near if near.startswith("did") else "move it into parameters if it is meant"
        message = f"key {key!r} next to 'parameters' is not read"
        problems.append(Problem(code="BAD_SPEC", message=message, hint=hint, where=where, blocks=frozenset()))
    return problems
