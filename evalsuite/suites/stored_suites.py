"""Suites on disk, `<root>/suites/<slug>/` with `suite.json`, gold and submissions; and the data they are made of.

A suite consists of its cases, its scorers, and the object of its `suite.json`. Cases and candidates come from files (CSV, TSV, JSON Lines,
JSON, Parquet or Excel, by their ending), frames or lists; an error names the row of a blank cell.
"""

import hashlib
import inspect
import json
import re
import shutil
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from evalsuite.compare.messages import cut, shorten
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError, count_words, did_you_mean
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.registry import NO_DEFAULT, UnknownScorerError, check_parameters
from evalsuite.core.scores import Status
from evalsuite.core.types import Result
from evalsuite.readers.csv_table import read_named_rows
from evalsuite.readers.json_text import LONG_NUMBER, JsonError, finite_float, json_problem, with_distinct_keys
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.load_table import ending_of, read_parquet, read_workbook
from evalsuite.readers.paths import refuse_endless
from evalsuite.runs.run_files import keep_out_of_git, read_json, write_atomically
from evalsuite.scorers import SCORERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case: its id, the input, and the reference output (None where the scorer needs none)."""

    id: str
    input: str
    reference_output: str | None = None


class ScoringMethod(dict[str, Any]):
    """{name, type, config} of a scorer, also as attributes; it also equals its name, which Bench code compares it with."""

    __hash__ = None

    def __getattr__(self, key: str) -> Any:
        if key in self:
            return self[key]
        raise AttributeError(key)

    def __eq__(self, other: object) -> bool:
        return bool(self.get("name") == other) if isinstance(other, str) else super().__eq__(other)

    def __str__(self) -> str:
        return str(self.get("name", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSuite:
    """A suite as `suite.json` keeps it."""

    id: str
    name: str
    description: str
    scoring_method: ScoringMethod
    test_cases: tuple[Case, ...]
    created_at: str
    updated_at: str
    data_hash: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object of `suite.json`."""
        return {**asdict(self), "test_cases": [asdict(case) for case in self.test_cases]}

    @property
    def scorer(self) -> str:
        """The name of the first scorer, which makes the score."""
        return str(self.scoring_method["name"])

    @property
    def scorers(self) -> tuple[str, ...]:
        """The names of all its scorers: the score's first, then those with a column of their own."""
        return (self.scorer, *self.extra.get("further", {}))

    def config_of(self, scorer: str) -> dict[str, Any]:
        """Return the parameters of one of its scorers, the same for each case; empty for a user-defined scorer, which contains them
        itself.
        """
        method = self.method(scorer)
        return {} if method.get("type") == "custom" else dict(method.get("config", {}))

    def method(self, scorer: str) -> Mapping[str, Any]:
        """Return {name, type, config} of one of its scorers."""
        method: Mapping[str, Any] = self.scoring_method if scorer == self.scorer else self.extra["further"][scorer]
        return method

    @property
    def clusters(self) -> dict[str, list[str]]:
        """Return cluster -> the ids of its cases, of an imported suite with several cases for one sample; else empty."""
        return dict(self.extra.get("clusters", {}))

    @property
    def input_texts(self) -> list[str]:
        """The inputs of the n cases."""
        return [case.input for case in self.test_cases]

    @property
    def reference_outputs(self) -> list[str] | None:
        """The references of the n cases; None where there are none."""
        texts = [case.reference_output for case in self.test_cases if case.reference_output is not None]
        return texts if len(texts) == len(self.test_cases) else None


def from_json(data: Mapping[str, Any]) -> StoredSuite:
    """Return the suite of a `suite.json` object. Raises `AttributeError`, `KeyError`, `TypeError` or `ValueError` if it is not one."""
    cases = tuple(Case(**{key: case.get(key) for key in ("id", "input", "reference_output")}) for case in data["test_cases"])
    return check_values(StoredSuite(**{**data, "test_cases": cases, "scoring_method": ScoringMethod(data["scoring_method"])}))


def check_values(suite: StoredSuite) -> StoredSuite:
    """Return the suite of a foreign file if its values are of the right types. Raises `AttributeError`, `KeyError` or `TypeError`."""
    methods = [suite.scoring_method, *suite.extra.get("further", {}).values()]
    texts = [getattr(suite, key) for key in ("id", "name", "description", "created_at", "updated_at", "data_hash")]
    texts += [text for case in suite.test_cases for text in (case.id, case.input)]
    texts += [case.reference_output for case in suite.test_cases if case.reference_output is not None]
    texts += [method["name"] for method in methods]
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(method.get("config", {}), dict) for method in methods):
        raise TypeError("not the values of a suite")
    return suite


def recorded_result(
    case_id: str, scorer: str, value: float | None, reason: str, details: Mapping[str, Any] | None = None, *, is_missing: bool = False
) -> Result:
    """Return another tool's verdict on a case as a result; None is unscored, not 0."""
    status: Status = "missing" if is_missing else "unscored" if value is None else "scored"
    return Result(
        instance_id=case_id,
        status=status,
        score=value,
        official=value,
        strict=value,
        scorer=scorer,
        reason=reason,
        fault="MISSING_INSTANCE" if is_missing else None,
        details=details or {},
    )


ROOT = Path(".evalsuite")
SPEC = "suite_eval.jsonl"
_FILE: Final = "suite.json"
MAX_SLUG = 60


class SuiteError(EvalsuiteError, ValueError):
    """A suite or run by name that is missing, exists already, or is of another kind."""


def new_suite(
    name: str,
    scorer: str | Sequence[str],
    *,
    inputs: Sequence[str],
    references: Sequence[str | None] | None,
    description: str = "",
    config: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
    suite_id: str | None = None,
    case_ids: Sequence[str] | None = None,
    created_at: str | None = None,
    updated_at: str | None = None,
    foreign: bool = False,
) -> StoredSuite:
    """Make a suite of n inputs and n references (or none); nothing is written yet.

    Of several scorers the first makes the score, and `config` gives each its parameters by name. An imported suite (`foreign`) is not
    checked: its scorer may be missing here, which a run of it reports.

    Raises:
        UnknownScorerError: no such scorer.
        UsageError: a blank name, a scorer of files, references missing for a scorer that needs them, or parameters it cannot use.
    """
    check_name(name)
    configs = {scorer: dict(config or {})} if isinstance(scorer, str) else configs_of(scorer, config)
    # Counted, not random, because reports name cases by them. Ids of the data are kept.
    ids = case_ids or number_ids(len(inputs))
    outputs: Sequence[str | None] = references if references is not None else [None] * len(inputs)
    cases = tuple(Case(id=i, input=text, reference_output=out) for i, text, out in zip(ids, inputs, outputs, strict=True))
    if not foreign:
        _check_scorers(configs, cases, has_references=references is not None)
    first, *further = methods = {
        key: ScoringMethod(name=key, type=kind_of(key), config=dict(settings)) for key, settings in configs.items()
    }
    now = created_at or _timestamp()
    return StoredSuite(
        id=suite_id or str(uuid.uuid4()),
        name=name,
        description=description,
        scoring_method=methods[first],
        test_cases=cases,
        created_at=now,
        updated_at=updated_at or now,
        data_hash=data_hash(inputs, references),
        extra={**(extra or {}), **({"further": {key: methods[key] for key in further}} if further else {})},
    )


def _check_scorers(configs: Mapping[str, Mapping[str, Any]], cases: Sequence[Case], *, has_references: bool) -> None:
    """Raise `UsageError` for a scorer of files, missing references, or parameters that a scorer cannot use."""
    for name in configs:
        if kind_of(name) == "built_in" and SCORERS.load(name).marker.reads in ("table", "tables", "database"):
            hint = "choose a scorer of texts; `evalsuite run` scores files against a gold folder"
            raise UsageError(f"{name} compares files, the cases of a suite are texts", hint=hint)
        if not has_references and needs_reference(name):
            raise UsageError(f"{name} compares with a reference output, and none was given", hint="name the column with --reference")
    for name, config in configs.items():
        if cases and kind_of(name) != "custom":
            _check_config(name, config, cases[0])


def configs_of(scorers: Sequence[str], config: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return scorer -> its parameters; `config` is that of the only one, or gives those of several by name.

    The reading ease is counted as in Bench, unless configured otherwise. Raises `UsageError` for a repeated scorer, and for parameters of a
    scorer that the suite lacks.
    """
    if len(set(scorers)) < len(scorers):
        raise UsageError(f"scorers cannot be {', '.join(scorers)}", hint="name each once; the first makes the score")
    by_name = {} if config is None else {scorers[0]: config} if len(scorers) == 1 else config
    for name, settings in by_name.items():
        if name not in scorers or not isinstance(settings, Mapping):
            hint = did_you_mean(name, scorers) if name not in scorers else ""
            raise UsageError(f"of several scorers config gives the parameters by name, found {name!r}", hint=hint or "{'f1': {...}}")
    return {name: dict(by_name.get(name, {"variant": "upstream"} if name == "readability" else {})) for name in scorers}


def number_ids(n: int) -> list[str]:
    """Return the ids of n cases that have none of their own: `case_01` to `case_40`."""
    return [f"case_{number:0{len(str(n))}}" for number in range(1, n + 1)]


def check_name(name: object, what: str = "suite") -> None:
    """Raise `UsageError` for an invalid name of a suite or run."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a {what} needs a name, found {name!r}", hint="any text that is not blank")


def kind_of(scorer: str) -> str:
    """Return `built_in`, `plugin` (from a file or an installed package), or `custom`: an object of the process that made the suite."""
    return "built_in" if scorer in SCORERS.bundled else "custom" if scorer in SCORERS.additions.objects else "plugin"


def needs_reference(scorer: str) -> bool:
    """Whether a scorer needs a reference: it says so by `requires_reference` (Arthur Bench's way), or its `gold` has no default."""
    requires_reference = getattr(SCORERS.additions.objects.get(scorer), "requires_reference", None)
    return bool(requires_reference()) if callable(requires_reference) else needs(scorer, "gold")


def needs(scorer: str, parameter: str) -> bool:
    """Whether a scorer has a parameter without default of this name."""
    declared = SCORERS.load(scorer).parameters.get(parameter)
    return declared is not None and declared.default is NO_DEFAULT


def _check_config(scorer: str, config: Mapping[str, Any], case: Case) -> None:
    """Raise `UsageError` for parameters the scorer cannot use; a context comes with each run."""
    parameters = {**config, **_own_parameters(scorer, case, "" if needs(scorer, "context") else None)}
    blocked = [p for p in check_parameters(SCORERS.load(scorer), parameters) if p.blocks]
    if blocked:
        hint = blocked[0].hint or f"config={{...}} gives a suite's scorer its parameters; `evalsuite gold scorers {scorer}` explains them"
        raise UsageError(blocked[0].message, hint=hint)


def parse_scorers(scoring_method: Any, config: Mapping[str, Any] | None) -> tuple[tuple[str, ...], Mapping[str, Any] | None]:
    """Return the names of the given scorers, and their parameters: of user-defined ones their constructor's arguments."""
    several = isinstance(scoring_method, list | tuple)
    methods = list(scoring_method) if several else [] if scoring_method is None else [scoring_method]
    names = tuple(method if isinstance(method, str) else SCORERS.register_object(method) for method in methods)
    configs = {name: settings_of(scorer) for name, scorer in zip(names, methods, strict=True) if not isinstance(scorer, str)}
    if configs and not several:
        return names, configs[names[0]]
    return names, {**(config or {}), **configs} if configs else config


def settings_of(scorer: Any) -> dict[str, Any]:
    """Return the constructor's arguments of a user-defined scorer, as far as they are JSON: the attributes of the same names."""
    if inspect.isfunction(scorer):
        return {}
    attributes = scorer.to_dict() if callable(getattr(scorer, "to_dict", None)) else getattr(scorer, "__dict__", {})
    parameters = inspect.signature(type(scorer)).parameters
    plain = {
        key: value
        for key, value in attributes.items()
        if key in parameters and isinstance(value, str | int | float | bool | list | dict | None)
    }
    copy: dict[str, Any] = json.loads(json.dumps(plain, default=str))
    return copy


def data_hash(inputs: Sequence[str], references: Sequence[str | None] | None) -> str:
    """Return 12 hex digits over inputs and references, by which a reload recognises the same data."""
    text = json.dumps([list(inputs), None if references is None else list(references)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def slug(name: str) -> str:
    """Return a folder name for any non-empty name: lower-case ASCII letters, digits and hyphens, never empty, never a path.

    If the slug loses more than case and spaces, a hash keeps similar names apart.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    text = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    lossless = re.fullmatch(r"[A-Za-z0-9 _-]+", name) is not None and len(name) <= MAX_SLUG and bool(text)
    if lossless:
        return text
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{text}-{mark}" if text else mark


def folder_of(name: str, root: Path = ROOT) -> Path:
    """Return the folder of a suite of that name."""
    return root / "suites" / slug(name)


def gold_of(name: str, root: Path = ROOT) -> Path:
    """Return the gold folder of a suite."""
    return folder_of(name, root) / "gold"


def has_suite(name: str, root: Path = ROOT) -> bool:
    """Whether there is a suite of that name; what a full disk or a kill left of one, without `suite.json`, is none."""
    return exists(folder_of(name, root) / _FILE)


def save_suite(suite: StoredSuite, root: Path = ROOT) -> Path:
    """Write a suite and its gold folder, `suite.json` last; raises `SuiteError` if the name is taken."""
    folder = folder_of(suite.name, root)
    if has_suite(suite.name, root):
        hint = "choose another name, or `evalsuite suite delete` the old one"
        raise SuiteError(f"there is a suite {suite.name!r} already", hint=hint)
    write_gold(suite, folder / "gold")
    keep_out_of_git(root)
    # JSON is YAML, so the texts need no quoting rules of their own.
    about = {"name": suite.name, "description": suite.description, "judge": suite.extra.get("judge")}
    about |= {"scorers": list(suite.scorers)} if suite.scorers[1:] else {}
    about |= {"groups": suite.clusters, "clusters": list(suite.clusters)}
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in about.items() if value)
    write_atomically(folder / "gold" / "suite.yaml", "".join(lines))
    _write_suite(suite, folder / _FILE)
    return folder


def _write_suite(suite: StoredSuite, file: Path) -> None:
    write_atomically(file, json.dumps(suite.to_json(), ensure_ascii=False, indent=2) + "\n")


def write_gold(suite: StoredSuite, folder: Path, contexts: Sequence[str] | None = None) -> None:
    """Write the gold entries of a suite, one per case: the input as an extra key, a run's contexts as parameters."""
    rows = []
    context_texts: Sequence[str | None] = contexts if contexts is not None else [None] * len(suite.test_cases)
    for case, context in zip(suite.test_cases, context_texts, strict=True):
        checks = [
            {"func": scorer, "parameters": {**suite.config_of(scorer), **_own_parameters(scorer, case, context)}}
            for scorer in suite.scorers
        ]
        rows.append({"instance_id": case.id, "input": case.input, "evaluation": checks if checks[1:] else checks[0]})
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / SPEC, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _own_parameters(scorer: str, case: Case, context: str | None = None) -> dict[str, str]:
    """Return the scorer parameters of a case. An unknown scorer (an imported suite) gets the reference, so that its gold stays complete."""
    try:
        names = set(SCORERS.load(scorer).parameters)
    except UnknownScorerError:
        names = {"gold"}
    values = {"gold": case.reference_output, "question": case.input, "input": case.input, "context": context}
    return {key: text for key, text in values.items() if key in names and text is not None}


def load_suite(name: str, root: Path = ROOT) -> StoredSuite:
    """Return the suite of that name; raises `SuiteError` with a "did you mean"."""
    path = folder_of(name, root) / _FILE
    if not exists(path):
        names = [suite.name for suite in list_suites(root)]
        raise SuiteError(f"no suite {name!r}", hint=did_you_mean(name, names) if names else "`evalsuite suite create` makes one")
    if (suite := read_suite_file(path)) is None:
        raise SuiteError(f"{path}: not a suite file")
    return suite


def read_suite_file(path: Path) -> StoredSuite | None:
    """Return the suite of a `suite.json`; None if there is none, or none that can be read.

    Commands find a suite by its folder, so in a copied folder, or after a killed `suite rename`, it has the folder's name.
    """
    try:
        suite = from_json(read_json(path))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return suite if slug(suite.name) == path.parent.name else replace(suite, name=path.parent.name)


def list_suites(root: Path = ROOT) -> list[StoredSuite]:
    """Return all suites under a root, by name."""
    suites = map(read_suite_file, (root / "suites").glob("*/suite.json"))
    return sorted((suite for suite in suites if suite is not None), key=lambda suite: suite.name)


def delete_suite(name: str, root: Path = ROOT) -> None:
    """Delete a suite with the submissions of its runs; the run folders of the history stay. Raises `SuiteError`."""
    load_suite(name, root)
    shutil.rmtree(folder_of(name, root))


def rename_suite(name: str, new: str, root: Path = ROOT) -> StoredSuite:
    """Return the suite under its new name. Raises `SuiteError` if the old one is missing or the new one exists.

    Both files are written under other names first, so that a full disk leaves the suite as it was. The folder is renamed last: after a
    kill the same call completes it.
    """
    check_name(new)
    suite = load_suite(name, root)
    folder, target = folder_of(name, root), folder_of(new, root)
    if exists(target) and target != folder:
        raise SuiteError(f"there is a suite {new!r} already", hint="choose another name")
    renamed = replace(suite, name=new, updated_at=_timestamp())
    file, yaml = folder / _FILE, gold_of(name, root) / "suite.yaml"
    new_file, new_yaml = (path.with_name(f".{path.name}.new") for path in (file, yaml))
    # Other keys that were added by hand stay.
    rest = [line for line in yaml.read_text(encoding="utf-8").split("\n") if not line.startswith("name:")]
    try:
        _write_suite(renamed, new_file)
        write_atomically(new_yaml, f"name: {json.dumps(new, ensure_ascii=False)}\n" + "\n".join(rest))
        new_file.replace(file)
        new_yaml.replace(yaml)
        folder.rename(target)
    except OSError:
        for path in (new_file, new_yaml):
            path.unlink(missing_ok=True)
        raise
    return renamed


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# Column name -> n cells as in the file; None for an empty one.
Columns = Mapping[str, Sequence[Any]]
FILE_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
# Text has one output a line, without a column's name.
TEXT_KIND, TEXT_COLUMN = ".txt", "candidate_output"
_HINT = "give a path to a CSV, TSV, JSONL, JSON, Parquet or Excel file, or to text with one output per line (.txt)"


class FileLimitError(UsageError):
    """A packed file has more content than is read into memory."""


def read_columns(source: Any) -> Columns:
    """Return the columns of a file (by its ending) or of a frame (anything with `columns` and `to_dict`), n cells each.

    Raises:
        UsageError: anything else, or a file that cannot be read; `FileLimitError` for one whose content exceeds a limit.
        MissingExtraError: Excel without its extra.
    """
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        _refuse_repeated(map(str, source.columns))
        return {str(name): list(source[name]) for name in source.columns}
    if not isinstance(source, str | Path):
        raise UsageError(f"cannot read data from {type(source).__name__}", hint=f"{_HINT}, or a data frame")
    path = Path(source)
    refuse_endless(path)
    kind = ending_of(path) or path.suffix.lower()
    if kind not in (*FILE_KINDS, TEXT_KIND):
        raise UsageError(f"{path}: its ending is none of {', '.join(FILE_KINDS)}", hint=_HINT)
    if kind in (".csv", ".tsv"):
        header, rows = read_named_rows(path, delimiters="\t" if kind == ".tsv" else ",;\t|")
        with _named(path):
            _refuse_repeated(header)
        return {name: [row[i] if i < len(row) else None for _, row in rows] for i, name in enumerate(header)}
    if not is_file(path):
        raise UsageError(f"{path}: {'a folder' if is_dir(path) else 'no such file'}", hint=_HINT)
    read = {TEXT_KIND: _read_lines, ".jsonl": _read_jsonl, ".json": _read_json_rows, ".parquet": _read_parquet, ".xlsx": _read_excel}[kind]
    try:
        return read(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint="save the file as UTF-8") from None
    except FaultError as error:
        if error.fault.code == "LIMIT":
            raise FileLimitError(f"{path}: {error}", hint="give a file with only the rows and columns of the suite") from None
        raise UsageError(f"{path}: not a readable Parquet file", hint=_HINT) from None


@contextmanager
def _named(source: Any) -> Iterator[None]:
    """Put the file's name in front of an error of its columns or rows; a frame has no name."""
    try:
        yield
    except UsageError as error:
        if isinstance(source, str | Path):
            raise UsageError(f"{source}: {error.message}", hint=error.hint) from None
        raise


def _refuse_repeated(names: Iterable[str]) -> None:
    """Raise `UsageError` for two columns of one name: it is unclear which one is meant. Blank names, as of an index, are not meant."""
    repeated = next((name for name, n in Counter(names).items() if n > 1 and name.strip()), None)
    if repeated is not None:
        raise UsageError(f"two columns are named {shorten(repeated)}", hint="rename or remove one of them")


# A row that says two things of one column, or a number that no float holds, is nobody's to choose.
_loads: Final = partial(json.loads, object_pairs_hook=with_distinct_keys, parse_float=finite_float)


def _read_lines(path: Path) -> Columns:
    lines = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").split("\n")
    return {TEXT_COLUMN: lines[:-1] if lines[-1] == "" else lines}


def _read_jsonl(path: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not `splitlines`: a text may contain other line ends, as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                records.append(_loads(line))
            except JsonError as error:
                raise UsageError(f"{path}:{number}: {error.detail}", hint=error.hint) from None
            except (ValueError, RecursionError) as error:
                problem = json_problem(line, error) if isinstance(error, json.JSONDecodeError) else ""
                raise UsageError(f"{path}:{number}: not valid JSON{problem}", hint="one JSON object per line") from None
            if not isinstance(records[-1], dict):
                raise UsageError(f"{path}:{number}: not a JSON object", hint="one JSON object per line")
    return _columns_of(records)


def json_in(path: Path, text: str, hint: str, *, else_: str = "", loads: Callable[[str], Any] = json.loads) -> Any:
    """Return the JSON value of a file's text. Raises `UsageError` with the line, and with `else_` if no problem is known there."""
    try:
        return loads(text)
    except JsonError as error:
        raise UsageError(f"{path}: {error.detail}", hint=error.hint) from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not valid JSON{json_problem(text, error) or else_}", hint=hint) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=hint) from None
    except ValueError:
        raise UsageError(f"{path}: {LONG_NUMBER}", hint="put quotes around it") from None


def _read_json_rows(path: Path) -> Columns:
    hint = 'a list of objects, [{"input": ..., "reference": ...}, ...], or an object of lists of one length'
    value = json_in(path, path.read_text(encoding="utf-8-sig"), hint, loads=_loads)
    if isinstance(value, list) and all(isinstance(record, dict) for record in value):
        return _columns_of(value)
    lists = isinstance(value, dict) and value and all(isinstance(cells, list) for cells in value.values())
    if not lists or len({len(cells) for cells in value.values()}) > 1:
        raise UsageError(f"{path}: contains no rows", hint=hint)
    return {str(name): cells for name, cells in value.items()}


def _columns_of(records: Sequence[Mapping[str, Any]]) -> Columns:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _read_parquet(path: Path) -> Columns:
    table = read_parquet(path, DEFAULT_LIMITS)
    return dict(zip(table.header, table.columns, strict=True))


def _read_excel(path: Path) -> Columns:
    header, rows = read_workbook(path, DEFAULT_LIMITS)
    with _named(path):
        _refuse_repeated(header)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


INPUT_COLUMN: Final = "input"
REFERENCE_COLUMN: Final = "reference_output"
ID_COLUMN: Final = "id"
# Allowed ids: they name files of answers and are shown in reports.
_ID = re.compile(r"[\w.:@+-][\w .:@+-]{0,99}")


class CaseData(NamedTuple):
    """n inputs, their references (None if there are none), and the ids of the data (None if it has none)."""

    inputs: list[str]
    references: list[str] | None
    ids: list[str] | None = None


def reference_data_of(
    frame: Any,
    path: str | Path | None,
    inputs: Iterable[str] | None,
    references: Iterable[str | None] | None,
    input_column: str,
    reference_column: str,
    allow_empty: bool,
) -> CaseData | None:
    """Return the cases from the first given source: frame, file, lists; None if there is none. Raises `UsageError`."""
    source = frame if frame is not None else path
    if source is None:
        if inputs is None:
            return None
        inputs, references = _as_list(inputs, "input"), None if references is None else _as_list(references, "reference")
        check_lengths(inputs=inputs, references=references)
        return CaseData(all_texts(inputs, what="input"), references_of(references))
    data = read_columns(source)
    # A named column must exist; the default one may be absent if a scorer needs no reference.
    is_required = reference_column in data or reference_column != REFERENCE_COLUMN
    with _named(source):
        questions = column(data, input_column, what="input", allow_empty=allow_empty)
        answers = column(data, reference_column, what="reference", allow_empty=allow_empty) if is_required else None
        check_lengths(inputs=questions)
    # The cells of the column `id` if each row has a unique valid one, else None: cases are then counted.
    ids = [_text_of_cell(cell) or "" for cell in data.get(ID_COLUMN, ())]
    return CaseData(questions, answers, ids if ids and len(set(ids)) == len(ids) and all(map(_ID.fullmatch, ids)) else None)


def candidates_of(
    suite: StoredSuite,
    source: Any,
    outputs: Iterable[str] | None,
    *,
    candidate_column: str,
    context_column: str | None,
    contexts: Iterable[str] | None,
    input_column: str | None = None,
) -> tuple[list[str], list[str] | None]:
    """Return (candidate outputs, contexts), one for each case of the suite in its order; `source` is a frame or a file, else the lists
    count.

    Raises:
        UsageError: no source was given, or its rows are not those of the suite.
    """
    n = len(suite.test_cases)
    if source is None:
        if outputs is None:
            raise UsageError("no candidate data given", hint="candidate_data, candidate_data_path or candidate_output_list")
        outputs, contexts = _as_list(outputs, "candidate"), None if contexts is None else _as_list(contexts, "context")
        if check_lengths(candidates=outputs, contexts=contexts) != n:
            raise UsageError(
                f"{count_words(len(outputs), 'candidate')} for {count_words(n, 'test case')}",
                hint="one candidate for each test case, in their order",
            )
        return all_texts(outputs, what="candidate"), None if contexts is None else all_texts(contexts, what="context")
    if contexts is not None:
        raise UsageError("a list of contexts goes with a list of candidates", hint="name the context column of the data instead")
    data = read_columns(source)
    with _named(source):
        answers = column(data, candidate_column, what="candidate", allow_empty=True)
        context_texts = column(data, context_column, what="context", allow_empty=True) if context_column is not None else None
        rows = rows_of_cases(data, suite, input_column or suite.extra.get("input_column") or INPUT_COLUMN)
    return [answers[row] for row in rows], None if context_texts is None else [context_texts[row] for row in rows]


def rows_of_cases(data: Columns, suite: StoredSuite, input_column: str) -> list[int]:
    """Return the row (from 0) of each case, by the column `id`, else by the column of inputs, else by position.

    An `id` column counts if the suite has ids of its own, or if it contains one of the suite's.

    Raises:
        UsageError: an extra or repeated row, a case without a row, or ids whose inputs all differ from the suite's.
    """
    cases = suite.test_cases
    ids, inputs = ([_text_of_cell(cell) or "" for cell in data.get(name, ())] for name in (ID_COLUMN, input_column))
    case_ids = [case.id for case in cases]
    if ids and (case_ids != number_ids(len(case_ids)) or set(case_ids) & set(ids)):
        rows = _places_of_keys(case_ids, ids, ID_COLUMN)
        if inputs and not any(_squeeze_spaces(inputs[row]) == _squeeze_spaces(case.input) for row, case in zip(rows, cases, strict=True)):
            hint = f"another column of questions is named by --input; here it is {input_column!r}"
            raise UsageError("the ids are those of the suite, but all questions differ: these are answers to another suite", hint=hint)
        return rows
    if inputs:
        return _places_of_keys([_squeeze_spaces(case.input) for case in cases], [_squeeze_spaces(text) for text in inputs], input_column)
    n = len(next(iter(data.values()), ()))
    if n != len(cases):
        hint = f"one row for each test case, in their order, or a column {ID_COLUMN!r} or {input_column!r} to join by"
        raise UsageError(f"{count_words(n, 'candidate')} for {count_words(len(cases), 'test case')}", hint=hint)
    return list(range(n))


def _squeeze_spaces(text: str) -> str:
    return " ".join(text.split())


def _places_of_keys(ids: Sequence[str], keys: Sequence[str], name: str) -> list[int]:
    """Return the position of each wanted key among `keys`; a key that is wanted k times takes its k positions in order."""
    places: dict[str, list[int]] = {key: [] for key in ids}
    for row, key in enumerate(keys):
        if key not in places:
            raise UsageError(f"row {row + 1}: the suite has no {name} {shorten(key)}", hint="are these answers to another suite?")
        places[key].append(row)
    wanted = Counter(ids)
    for key, rows in places.items():
        n = wanted[key]
        if len(rows) > n:
            times = count_words(len(rows), "time")
            raise UsageError(f"row {rows[n] + 1}: the {name} {shorten(key)} occurs {times}, in the suite {n}")
        if len(rows) < n:
            n_without = sum(len(places[other]) < wanted[other] for other in places)
            of = f"{n_without} of {len(ids)} test cases have no candidate, first" if n_without > 1 else "no candidate for"
            raise UsageError(
                f"{of} the {name} {shorten(key)}", hint="one row for each test case, in any order; an empty answer counts as one"
            )
    waiting = {key: iter(rows) for key, rows in places.items()}
    return [next(waiting[key]) for key in ids]


def column(data: Columns, name: str, *, what: str, allow_empty: bool = False) -> list[str]:
    """Return one column without blanks. Raises `UsageError` if it is missing or a cell is blank."""
    if name not in data:
        hint = f"{did_you_mean(name, map(cut, data))}; name another with --{what}"
        raise UsageError(f"the data has no {what} column {name!r}", hint=hint)
    cells = []
    for row, raw in enumerate(data[name], start=1):
        cell = _single_text(raw, row, name, what)
        if not cell and not allow_empty:
            raise UsageError(f"row {row}: the {what} column {name!r} is blank", hint="fill it in, or pass --allow-empty")
        cells.append(cell or "")
    return cells


def check_lengths(**lists: Sequence[Any] | None) -> int:
    """Return the length of all given lists. Raises `UsageError` with both numbers if two differ, or if there is no row."""
    lengths = {name: len(values) for name, values in lists.items() if values is not None}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise UsageError(f"the lists differ in length: {counts}", hint="one entry for each test case")
    n = next(iter(lengths.values()), 0)
    if n == 0:
        raise UsageError("there is no test case", hint="a suite needs at least one row")
    return n


def _as_list(values: Iterable[Any], what: str) -> list[Any]:
    """Return the values as a list. Raises `UsageError` for one text, of which each character would be a value."""
    if isinstance(values, str):
        raise UsageError(f"the {what} list is one text", hint="a list with one text for each test case")
    return list(values)


def all_texts(values: Sequence[Any], *, what: str) -> list[str]:
    """Return the list if all of it is text. Raises `UsageError` that names the first other entry, None too."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise UsageError(f"entry {row} of the {what} list is {type(value).__name__}, not text", hint="one text for each test case")
    return list(map(str, values))


def references_of(values: Sequence[Any] | None) -> list[str] | None:
    """Return the references, None if there is none. Raises `UsageError` if some are given and some are None."""
    if values is None or all(value is None for value in values):
        return None
    missing = [row for row, value in enumerate(values, start=1) if value is None]
    if missing:
        raise UsageError(f"some references are null and some are not: entry {missing[0]} is null", hint="all or none")
    return all_texts(values, what="reference")


def _single_text(cell: Any, row: int, name: str, what: str) -> str | None:
    """Return the cell as text; of a list its only element. Raises `UsageError` for a list of several, which is ambiguous."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    if not isinstance(cell, list | tuple):
        return _text_of_cell(cell)
    if len(cell) > 1:
        several = "; several references of one question are a list as `gold` in a gold folder" if what == "reference" else ""
        hint = f"one text per cell{several or '; write one row for each'}"
        raise UsageError(f"row {row}: the column {name!r} contains a list of {len(cell)}", hint=hint)
    return _text_of_cell(cell[0]) if cell else None


def _text_of_cell(value: Any) -> str | None:
    """Return a cell as text: missing values (None, NaN, pandas' NA and NaT) as None, whole numbers in their form, other values as JSON."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | bool) else str(value)
