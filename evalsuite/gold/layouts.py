"""Layouts of gold and submissions: `original` (and dbt), Spider 2.0-Lite and Snow, and query pairs; conversion to `original`.

A layout is an object with `detect(spec, entry)` (whether a spec file with this first entry has the layout), `maker(spec)` (returns a
function that makes an instance of an entry) and `read_submission(folder, limits, mode, ids)`. The results are the same for all layouts, so
that later code knows only one kind of gold. A layout whose spec does not consist of JSON objects also has
`read_entries(handle, limits=, layout=)`.

Lite and Snow (`spider2lite_eval.jsonl`, `spider2snow_eval.jsonl`): gold is `exec_result/<id>.csv` or `<id>_a.csv ...`, a submission is a
folder of `<id>.csv` or `<id>.sql`. An entry is read as one `table_match` with the layout's own reference. The gold files that count are
those of the reference (spider2-lite `evaluate.py`, `resolve_gold_paths`): the file without a letter alone if it exists, else all with one
letter, sorted.

Query pairs (`bird-ex`, `test-suite`, named after the evaluators): gold is one file with a query and its database per line, a submission is
one file with a query per line of gold (`readers.gold_files`). An entry is read as one `sql_match`; the difficulty in a file of questions
is the instance's group.
"""

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FaultError, GoldError, SubmissionError, UsageError, did_you_mean, write_error
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.import_ref import ImportRef, lazy_pattern
from evalsuite.core.types import EVALUATORS, Answer, Gold, GoldInstance, Problem, Rule, Submission, Suite
from evalsuite.gold.checkout import with_questions
from evalsuite.gold.spec import GOLD_QUERY, MakeInstance, ReadEntries, check_of, id_of, read_spec
from evalsuite.gold.suite_yaml import JUDGE_FILE, with_judge
from evalsuite.readers.gold_files import SUITE_FILE, find_spec, is_alone, read_gold_pairs, read_predictions, read_questions
from evalsuite.readers.json_text import Obj, read_objects
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import FromRoot, metadata_like, open_trusted, resolve_in_side, why_no_folder

# The kinds of answers of a submission without metadata: queries, or their result tables.
MODES = ("sql", "exec_result")
OFFICIAL_ONLY: frozenset[Rule] = frozenset({"official"})
RESULTS, QUERIES = "exec_result", "sql"
ENDINGS = {"exec_result": ".csv", "sql": ".sql"}
TYPES = {"exec_result": "file", "sql": "sql"}
_LETTERED = lazy_pattern(r"(.+)_[a-z]\.csv")
# Keys of an entry that become part of its `evaluation`.
KEYS = ("instance_id", "condition_cols", "ignore_order")


@dataclass(frozen=True, slots=True)
class ResultsLayout:
    """One of the two layouts; they differ in their reference, which has the same name."""

    name: str

    def detect(self, spec: Path, entry: Obj, /) -> bool:
        """Return whether the first entry has the keys that replace an `evaluation`; Snow is recognised by its file name too."""
        if not entry or "evaluation" in entry or (self.name == "snow" and "snow" not in spec.name.lower()):
            return False
        return "condition_cols" in entry or "ignore_order" in entry or is_dir(spec.parent / RESULTS)

    def maker(self, spec: Path, /) -> MakeInstance:
        """Return a function that makes an instance of an entry of the spec; the gold tables are listed once."""
        return partial(_instance, GoldFiles(spec.parent), self.name)

    def read_submission(self, folder: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """Return the answers in a folder of `<id>.csv` or `<id>.sql`, sorted by id; a folder with metadata is read by that.

        `mode` None takes the kind of file that exists.

        Raises:
            SubmissionError: no such folder, no answers in it, or unreadable metadata.
            UsageError: no such mode, or both kinds of file and no mode.
        """
        if mode is not None and mode not in MODES:
            raise UsageError(f"--mode cannot be {mode!r}", hint=did_you_mean(mode, MODES))
        if why := why_no_folder(folder, "submission folder"):
            raise SubmissionError(f"{folder}: {why}", hint="give the folder with the <id>.csv or <id>.sql files")
        names = sorted(place.name for place in folder.iterdir())
        kinds = [kind for kind, ending in ENDINGS.items() if any(_is_answer(name, ending) for name in names)]
        if metadata_like(folder) and mode is None and not kinds:
            from evalsuite.readers.submission import read_metadata

            return read_metadata(folder, limits, ids)
        chosen = _chosen_kind(folder, kinds, mode)
        ending = ENDINGS[chosen]
        answers = {
            id_: Answer(instance_id=id_, answer_type=TYPES[chosen], value=FromRoot(name), where=name)
            for name in names
            if _is_answer(name, ending) and (id_ := name.removesuffix(ending))
        }
        return Submission.of_answers(folder, answers, ids, limits, notes=tuple(_notes_on_strays(names, ending, int(limits["notes"]))))


def _chosen_kind(folder: Path, kinds: list[str], mode: str | None) -> str:
    """Return the kind of answer files to read. Raises `UsageError` if both kinds exist and no mode, `SubmissionError` if there is none."""
    if mode is None and len(kinds) == 2:
        raise UsageError(f"{folder} contains both .csv and .sql files", hint="choose the answers: --mode exec_result or --mode sql")
    chosen = mode or next(iter(kinds), None)
    if chosen is None or chosen not in kinds:
        expected = f"<id>{ENDINGS[chosen]}" if chosen else "<id>.csv and no <id>.sql"
        from evalsuite.readers.submission import what_there_is

        hint = f"it has {ENDINGS[kinds[0]]} files: --mode {kinds[0]}" if kinds else what_there_is(folder, "one file an instance")
        raise SubmissionError(f"{folder}: no {expected} in it", hint=hint)
    return chosen


class GoldFiles:
    """The gold tables of a folder, listed once, by instance id."""

    def __init__(self, folder: Path) -> None:
        self._names = _names_in(folder / RESULTS)
        self._queries = _names_in(folder / QUERIES)
        self._lettered: dict[str, list[str]] = {}
        for name in sorted(self._names):
            if match := _LETTERED.fullmatch(name):
                self._lettered.setdefault(match[1], []).append(name)

    def files_of(self, id_: str) -> str | list[str]:
        """Return the gold of an instance as a check names it: one file, or the list of those with a letter; an empty list if there is
        none.
        """
        if f"{id_}.csv" in self._names:
            return f"{id_}.csv"
        return list(self._lettered.get(id_, ()))

    def unused_files(self, id_: str) -> list[str]:
        """Return the files with a letter that do not count, because the one without exists."""
        return list(self._lettered.get(id_, ())) if f"{id_}.csv" in self._names else []

    def query(self, id_: str) -> str | None:
        """Return the name of the instance's gold query below `sql/`, None if there is none."""
        return f"{id_}.sql" if f"{id_}.sql" in self._queries else None


def _names_in(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir()} if is_dir(folder) else set()


def evaluation_of(entry: Obj, gold: str | list[str], layout: str) -> tuple[dict[str, Any], list[str]]:
    """Return (the `evaluation` of an entry, reasons why the reference cannot use it). `gold` is its value in the check."""
    parameters: dict[str, Any] = {"gold": gold}
    unusable: list[str] = []
    for key in ("condition_cols", "ignore_order"):
        if key in entry:
            parameters[key] = entry[key]
        elif layout == "snow":
            unusable.append(f"{key} is missing")
    evaluation: dict[str, Any] = {"func": "table_match", "parameters": {**parameters, "reference": layout}}
    return evaluation | ({"temporal": entry["temporal"]} if "temporal" in entry else {}), unusable


def _instance(files: GoldFiles, layout: str, entry: Obj, where: str, suite: Suite) -> GoldInstance:
    """Return the instance of one entry of the spec."""
    id_ = id_of(entry, where)
    gold_names = files.files_of(id_)
    names = gold_names or f"{id_}.csv"
    gold: Any = FromRoot(f"{RESULTS}/{names}") if isinstance(names, str) else [FromRoot(f"{RESULTS}/{name}") for name in names]
    evaluation, unusable = evaluation_of(entry, gold, layout)
    check = check_of(evaluation, id_, where, suite)
    failing = (f"{text}: the reference fails" for text in unusable)
    problems = [Problem(code="BAD_SPEC", message=text, where=where, blocks=OFFICIAL_ONLY) for text in failing]
    if not gold_names:
        problems.append(_no_gold(id_, entry, files, where))
    if unused := files.unused_files(id_):
        message = f"{', '.join(unused)} next to {id_}.csv: the reference reads {id_}.csv alone"
        problems.append(Problem(code="BAD_SPEC", message=message, where=where, blocks=frozenset()))
    extra = {key: value for key, value in entry.items() if key not in KEYS}
    check = replace(check, problems=(*check.problems, *problems))
    return GoldInstance(instance_id=id_, checks=(check,), where=where, extra=extra, groups=suite.groups_of(id_))


def _no_gold(id_: str, entry: Obj, files: GoldFiles, where: str) -> Problem:
    """Return the problem of an instance without a gold table: only a query can make it, or it is missing."""
    if entry.get("temporal") or files.query(id_) is not None:
        message = f"no {RESULTS}/{id_}.csv: its gold query has to be run"
        return Problem(code="NEEDS_CONNECTION", message=message, hint="configure a connection for this instance", where=where)
    message = f"no {RESULTS}/{id_}.csv and no {RESULTS}/{id_}_a.csv"
    return Problem(code="BAD_GOLD_FILE", message=message, hint=f"put the accepted table into {RESULTS}", where=where)


def _is_answer(name: str, ending: str) -> bool:
    return name.endswith(ending) and len(name) > len(ending) and not name.startswith(".")


def holds_answers(folder: Path) -> bool:
    """Return whether a folder has files with names of answers."""
    return any(_is_answer(place.name, ending) for place in folder.iterdir() for ending in ENDINGS.values())


def layout_without_gold(folder: Path) -> str:
    """Return the layout that a submission shows by itself: `lite` (snow has the same files) if all it has is files, some with names of
    answers, and no metadata; else `original`.
    """
    with contextlib.suppress(OSError):  # reading the submission says why
        if is_dir(folder) and not metadata_like(folder) and holds_answers(folder):
            return "original" if any(is_dir(place) and not place.name.startswith(".") for place in folder.iterdir()) else "lite"
    return "original"


def _notes_on_strays(names: list[str], ending: str, most: int) -> Iterator[str]:
    """Yield a note for each ignored file, at most `most`."""
    others = [name for name in names if not _is_answer(name, ending) and not name.startswith(".")]
    yield from (f"{name} is not read: answers are <id>{ending}" for name in others[:most])
    if len(others) > most:
        yield f"{len(others) - most} more files are not read"


LITE, SNOW = ResultsLayout("lite"), ResultsLayout("snow")


# Keys of an entry in a file of questions that the instance keeps.
_KEPT = ("question_id", "question", "evidence", "difficulty")


@dataclass(frozen=True, slots=True)
class PairsLayout:
    """One of the two layouts; they read the same files and differ in the evaluator, which has the same name, and the ending of a spec."""

    name: str
    ending: str

    def detect(self, spec: Path, _entry: Obj, /) -> bool:
        """Return whether a spec file is one of pairs by its name: `.sql` for BIRD, `.txt` for Spider."""
        return spec.suffix.lower() == self.ending

    read_entries = staticmethod(read_gold_pairs)

    def maker(self, spec: Path, /) -> MakeInstance:
        """Return a function that makes an instance of a pair; the file of questions is read once."""
        try:
            with open_trusted(spec, limit_bytes=DEFAULT_LIMITS["metadata_bytes"]) as handle:
                pairs = [entry.value for entry in read_gold_pairs(handle, limits=DEFAULT_LIMITS) if entry.value is not None]
        except FaultError:
            pairs = []
        questions, note = read_questions(spec, [str(pair["database"]) for pair in pairs])
        about = {str(pair["instance_id"]): item for pair, item in zip(pairs, questions, strict=True)}
        return partial(_pair_instance, self.name, about, note)

    def read_submission(self, path: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """Return the queries in a file. Raises `UsageError` if a mode is given, and `SubmissionError` for any other file."""
        if mode is not None:
            raise UsageError(f"--mode {mode!r} is for the layouts lite and snow", hint="leave it out: every answer is a query")
        if is_dir(path):
            raise SubmissionError(f"{path}: a folder", hint="name the file with the queries, such as pred.json or predict.txt")
        return read_predictions(path, limits, ids)


def _pair_instance(evaluator: str, about: Mapping[str, Obj], note: str, entry: Obj, where: str, suite: Suite) -> GoldInstance:
    """Return the instance of one pair; the first one carries the note about the file of questions."""
    id_, facts = str(entry["instance_id"]), about.get(str(entry["instance_id"]), {})
    parameters = {"gold": entry["gold"], "database": entry["database"], "evaluator": evaluator}
    check = check_of({"func": "sql_match", "parameters": parameters}, id_, where, suite)
    if note and id_ == next(iter(about)):
        problem = Problem(code="BAD_SPEC", message=note, where=where, blocks=frozenset())
        check = replace(check, problems=(*check.problems, problem))
    difficulty = facts.get("difficulty")
    groups = (*suite.groups_of(id_), *([difficulty] if isinstance(difficulty, str) and difficulty else []))
    extra = {"db_id": entry["database"], **{key: facts[key] for key in _KEPT if key in facts}}
    return GoldInstance(instance_id=id_, checks=(check,), where=where, extra=extra, groups=groups)


BIRD, TEST_SUITE = PairsLayout("bird-ex", ".sql"), PairsLayout("test-suite", ".txt")


# name -> layout; the first one that recognises a spec reads it.
LAYOUTS: dict[str, ImportRef] = {
    "snow": ImportRef("evalsuite.gold.layouts:SNOW"),
    "lite": ImportRef("evalsuite.gold.layouts:LITE"),
    "bird-ex": ImportRef("evalsuite.gold.layouts:BIRD"),
    "test-suite": ImportRef("evalsuite.gold.layouts:TEST_SUITE"),
    "original": ImportRef("evalsuite.gold.original:Original"),
}


class Layout(Protocol):
    """Interface of a layout."""

    def detect(self, spec: Path, entry: Obj, /) -> bool:
        """Return whether a spec file with this first entry has the layout."""

    def maker(self, spec: Path, /) -> MakeInstance:
        """Return a function that makes an instance of an entry of the spec."""

    def read_submission(self, folder: Path, limits: Limits, mode: str | None, ids: Collection[str] | None, /) -> Submission:
        """Return the submission in a folder."""


def read_gold(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, layout: str | None = None, questions: Path | None = None, plugins: bool = True
) -> Gold:
    """Read the gold in `folder` (or next to the given spec file), instances in file order; `hash` is left empty.

    Hashing reads every gold file and is a separate step: `gold_hash`.

    Args:
        folder: the gold folder or its spec file.
        limits: the limits of a run.
        layout: a key of `LAYOUTS`; None detects it from the first entry of the spec.
        questions: the file of questions; None looks for one around the folder.
        plugins: False reads gold even if its plugins may not run; their checks then have a problem, see `read_suite`.

    Raises:
        GoldError: no such folder, not exactly one spec file, or an invalid spec or suite.yaml.
        UsageError: no such layout, an unreadable file of questions, or (`UntrustedPluginError`) plugins of a folder that the user
            did not name.
    """
    spec = find_spec(folder)
    name = layout_of(spec, layout, limits)
    known_layout = layout_named(name)
    gold = read_spec(spec, limits, known_layout.maker(spec), layout=name, entries=entries_of(known_layout), plugins=plugins)
    # If gold is a single file, other files next to it are not part of it.
    if is_alone(spec):
        return replace(gold, folder=spec)
    judge = spec.parent / JUDGE_FILE
    return with_judge(with_questions(gold, questions, limits), judge if is_file(judge) else None)


def refuse_empty(gold: Gold) -> Gold:
    """Return gold that has an instance; raises `GoldError` for a spec without any, of which every statement would be true."""
    if not gold.instances:
        raise GoldError(f"{gold.spec_file}: no instance in it", hint="one JSON object per line, with instance_id and evaluation")
    return gold


def entries_of(layout: Layout) -> ReadEntries:
    """Return the function that reads the entries of a layout's spec: JSON objects, unless the layout has its own `read_entries`."""
    return getattr(layout, "read_entries", read_objects)


def read_submission(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, layout: str = "original", mode: str | None = None, ids: Collection[str] | None = None
) -> Submission:
    """Return the submission in `folder`: one Answer per instance id in file order, a broken one with its `fault`, and notes.

    An empty file is a submission without answers. An id in several entries gets one Answer with fault DUPLICATE_ID.

    Args:
        folder: the submission.
        limits: the limits of a run.
        layout: the layout of its gold, a key of `LAYOUTS`.
        mode: the kind of answers of a folder without metadata (sql or exec_result), or one sample of several (`sample 2 of 5`: the second
            line of each id).
        ids: the ids of gold; answers to others are counted, not kept.

    Raises:
        SubmissionError: no such folder, or it cannot be read as a whole.
        UsageError: no such layout, or an invalid mode.
    """
    return layout_named(layout).read_submission(folder, limits, mode, ids)


def layout_named(name: str) -> Layout:
    """Return the layout of that name. Raises `UsageError` if there is none."""
    return cast(Layout, reference_of(name).load())


def reference_of(name: str) -> ImportRef:
    """Return the place of the layout of that name. Raises `UsageError` if there is none."""
    if name not in LAYOUTS:
        raise UsageError(f"no layout {name!r}", hint=did_you_mean(name, sorted(LAYOUTS)))
    return LAYOUTS[name]


def layout_of(spec: Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return that name, or for None the name of the layout detected from the spec file's first entry.

    Raises `UsageError` for an unknown name, and for a name that contradicts the entries.
    """
    entry = _first_entry(spec, limits)
    if name is None:
        return next(name for name in LAYOUTS if layout_named(name).detect(spec, entry))
    if layout_named(name) and name in EVALUATORS and not is_alone(spec):
        raise UsageError(f"--rules {name} is for pairs of queries", hint="--gold gold.sql: SQL, a tab, and its database a line")
    if name != "original" and "evaluation" in entry:
        raise UsageError(f"{spec} is not of the layout {name}: its entries have an 'evaluation'", hint="leave --layout out")
    return name


def _first_entry(spec: Path, limits: Limits) -> Obj:
    """Return the first object of a spec file, empty if there is none; errors in the file are reported by its reader."""
    try:
        with open_trusted(spec, limit_bytes=limits["metadata_bytes"]) as handle:
            first = next(iter(read_objects(handle, limits=limits)), None)
    except FaultError:
        return {}
    return (first.value or {}) if first is not None else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Result of a conversion: the folder, the numbers of instances and files, and notes on contents that the original layout cannot
    express.
    """

    folder: Path
    layout: str
    n_instances: int
    n_files: int
    notes: tuple[str, ...]


def convert(gold: Path, out: Path, *, layout: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Converted:
    """Write gold in the layout `lite` or `snow` to the new folder `out` in the original layout.

    Unknown keys of an entry are kept. A gold query becomes `<id>/gold.sql`; files of no instance are left out, with a note. Each entry's
    `evaluation` is the one that its layout's reader makes, with `reference` naming the official rules, so that verdicts stay the same.

    Raises:
        GoldError: gold cannot be read, or an id is not a valid folder name.
        UsageError: gold is in the original layout already, or `out` is not empty.
        OutputError: a file cannot be written.
    """
    import shutil

    read = read_gold(gold, limits, layout=layout)
    if read.layout == "original":
        raise UsageError(f"{gold} is in the original layout already", hint="only gold of the layouts lite and snow is converted")
    if is_alone(find_spec(gold)):
        raise UsageError(f"{gold} contains pairs of queries", hint="only gold of the layouts lite and snow can be converted")
    if exists(out) and (not is_dir(out) or any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder", hint="name a new folder: --out DIR")
    spec = find_spec(gold)
    files = GoldFiles(spec.parent)
    entries = list(_entries_of_spec(spec, limits))
    plan = {source: target for id_, _ in entries for source, target in _copies(files, id_)}
    lines = []
    for id_, entry in entries:
        # If gold has no file, the entry names the missing one.
        evaluation, _ = evaluation_of(entry, files.files_of(id_) or f"{entry['instance_id']}.csv", read.layout)
        rest = {key: value for key, value in entry.items() if key not in KEYS}
        lines.append(json.dumps({"instance_id": entry["instance_id"], "evaluation": evaluation, **rest}, ensure_ascii=False))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for source, target in plan.items():
            (out / target).parent.mkdir(exist_ok=True)
            shutil.copyfile(spec.parent / source, out / target)
        if is_file(suite := spec.parent / SUITE_FILE):
            shutil.copyfile(suite, out / SUITE_FILE)
        (out / spec.name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise write_error(out, error) from error
    lost = [f"{problem.where}: {problem.message}" for i in read.instances for problem in i.checks[0].problems if "fails" in problem.message]
    return Converted(
        folder=out,
        layout=read.layout,
        n_instances=len(entries),
        n_files=len(plan),
        notes=(*(f"{text}; as converted it does not" for text in lost), *_note_leftovers(spec.parent, plan)),
    )


def _entries_of_spec(spec: Path, limits: Limits) -> Iterator[tuple[str, Obj]]:
    """Yield (id, entry) of a spec file that is known to be readable."""
    with open_trusted(spec, limit_bytes=limits["metadata_bytes"]) as handle:
        for record in read_objects(handle, limits=limits):
            entry = record.value or {}
            id_ = str(entry["instance_id"])
            try:
                resolve_in_side(id_, "x")
            except FaultError as error:
                raise GoldError(f"{spec.name}:{record.line}: the id {id_!r} is no folder name", hint=error.fault.detail) from None
            yield id_, entry


def _copies(files: GoldFiles, id_: str) -> Iterator[tuple[str, str]]:
    """Yield (path of an instance's file, its new path), both relative to gold's folder."""
    copies = files.files_of(id_)
    for name in [*([copies] if isinstance(copies, str) else copies), *files.unused_files(id_)]:
        yield f"{RESULTS}/{name}", f"{id_}/{name}"
    if (query := files.query(id_)) is not None:
        yield f"{QUERIES}/{query}", f"{id_}/{GOLD_QUERY}"


def _note_leftovers(folder: Path, plan: dict[str, str]) -> Iterator[str]:
    for below in (RESULTS, QUERIES):
        names = sorted(place.name for place in (folder / below).iterdir()) if is_dir(folder / below) else []
        left = [name for name in names if f"{below}/{name}" not in plan and not name.startswith(".")]
        if left:
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            yield f"{below}/: {', '.join(left[:5])}{more} of no instance, not copied"
