"""How gold and submissions are laid out: `original` (and dbt), those of Spider 2.0 Lite and Snow, and pairs of queries.

A layout is a module or object with `detect(spec, entry)` (does this spec file, whose first entry is given, have the layout?),
`maker(spec)` (what makes an instance of an entry) and `read_submission(folder, limits, mode, ids)`. What they give is the same for all, and
so is everything after them. One whose spec is no file of JSON objects also has `read_entries(handle, limits=, layout=)`.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from evalsuite.errors import FaultError, UsageError
from evalsuite.gold.checkout import with_questions
from evalsuite.gold.judge_file import JUDGE_FILE, with_judge
from evalsuite.gold.spec import MakeInstance, ReadEntries, instance_of, read_spec
from evalsuite.lazy import Lazy
from evalsuite.readers.gold_files import find_spec, is_alone
from evalsuite.readers.json_text import Obj
from evalsuite.readers.jsonl import read_objects
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import metadata_like, open_trusted
from evalsuite.types import EVALUATORS, Gold, Submission

# The mode of one sample of several: the i-th of the k lines of each id.
SAMPLE = re.compile(r"sample ([1-9]\d*) of ([1-9]\d*)")
# name -> module; the first one that knows the spec as its own reads it.
LAYOUTS: dict[str, Lazy] = {
    "snow": Lazy("evalsuite.gold.lite_and_snow:SNOW"),
    "lite": Lazy("evalsuite.gold.lite_and_snow:LITE"),
    "bird-ex": Lazy("evalsuite.gold.query_pairs:BIRD"),
    "test-suite": Lazy("evalsuite.gold.query_pairs:TEST_SUITE"),
    "original": Lazy("evalsuite.gold.layouts:Original"),
}


class Layout(Protocol):
    """What a layout gives."""

    def detect(self, spec: Path, entry: Obj, /) -> bool:
        """Whether a spec file with this first entry has the layout."""

    def maker(self, spec: Path, /) -> MakeInstance:
        """What makes an instance of an entry of the spec."""

    def read_submission(self, folder: Path, limits: Limits, mode: str | None, ids: Collection[str] | None, /) -> Submission:
        """The submission in a folder."""


def read_gold(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, layout: str | None = None, questions: Path | None = None, plugins: bool = True
) -> Gold:
    """The gold in `folder` (or beside the spec file given in its place), instances in file order; `hash` is left empty.

    `layout` says how the folder is laid out (a key of `LAYOUTS`); None looks at the first entry of the spec. Hashing reads every
    gold file, so it is a step of its own: `gold_hash`. `questions` is the file of questions, None for one that lies around the folder.
    Without `plugins` gold is read although it brings some that may not be executed: their checks hold a problem, see `read_suite`.

    Raises:
        GoldError: no such folder, not exactly one spec file, or the spec or suite.yaml cannot be meant.
        UsageError: no such layout, a file of questions that cannot be read, or (`UntrustedPluginError`) plugins of a folder that the user
            did not name.
    """
    spec = find_spec(folder)
    name = layout_of(spec, layout, limits)
    found = layout_named(name)
    gold = read_spec(spec, limits, found.maker(spec), layout=name, entries=entries_of(found), plugins=plugins)
    # Gold that is one file is no folder: what lies beside it is none of it.
    if is_alone(spec):
        return replace(gold, folder=spec)
    judge = spec.parent / JUDGE_FILE
    return with_judge(with_questions(gold, questions, limits), judge if judge.is_file() else None)


def entries_of(layout: Layout) -> ReadEntries:
    """What reads the entries of a layout's spec: a JSON object each, unless the layout has a `read_entries` of its own."""
    return getattr(layout, "read_entries", read_objects)


def read_submission(
    folder: Path,
    limits: Limits = DEFAULT_LIMITS,
    *,
    layout: str = "original",
    mode: str | None = None,
    ids: Collection[str] | None = None,
) -> Submission:
    """The submission in `folder`: one Answer an instance id in file order, a broken one with its `fault`, and notes.

    An empty file is a submission without answers. An id that stands in several entries gets one Answer with fault DUPLICATE_ID. `layout`
    is that of the gold it is meant for, a key of `LAYOUTS`; `mode` (sql or exec_result) says which files of a folder without
    metadata are the answers, or which sample of several (`sample 2 of 5`: the second line of each id). `ids` are those of the gold it is
    read for: answers to others are counted, not kept.

    Raises:
        SubmissionError: no such folder, or it cannot be read as a whole.
        UsageError: no such layout, or a mode that cannot be meant.
    """
    return layout_named(layout).read_submission(folder, limits, mode, ids)


def layout_named(name: str) -> Layout:
    """The layout of that name; raises `UsageError` where there is none."""
    if name not in LAYOUTS:
        raise UsageError(f"no layout {name!r}", hint="known: " + ", ".join(sorted(LAYOUTS)))
    return cast(Layout, LAYOUTS[name].load())


def layout_of(spec: Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> str:
    """That name, or where it is None the name of the layout that the spec file's first entry shows.

    Raises `UsageError` for an unknown name, and for one whose entries say by their files what the spec says by itself.
    """
    entry = _first_entry(spec, limits)
    if name is None:
        return next(name for name in LAYOUTS if layout_named(name).detect(spec, entry))
    if layout_named(name) and name in EVALUATORS and not is_alone(spec):
        raise UsageError(f"--rules {name} is for pairs of queries", hint="--gold gold.sql: SQL, a tab, and its database a line")
    if name != "original" and "evaluation" in entry:
        raise UsageError(f"{spec} is not of the layout {name}: its entries have an 'evaluation'", hint="leave --layout out")
    return name


class Original:
    """The layout of Spider 2.0 and its dbt suite: an `evaluation` in each entry, a folder an instance, `results_metadata.jsonl`."""

    @staticmethod
    def detect(_spec: Path, _entry: Obj, /) -> bool:
        """True: whatever no other layout knows as its own is read as this one, which says what is wrong with it."""
        return True

    @staticmethod
    def maker(_spec: Path, /) -> MakeInstance:
        """What makes an instance of an entry."""
        return instance_of

    @staticmethod
    def read_submission(folder: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """What the folder's metadata describes, or where it has none the databases of its dbt projects.

        Of a mode such as `sample 2 of 5` it is the second line of each id.

        Raises `UsageError` where another mode is given, for each line says its type.
        """
        from evalsuite.readers.submission import read_metadata

        if (sample := SAMPLE.fullmatch(mode or "")) is not None:
            return read_metadata(folder, limits, ids, sample=(int(sample[1]), int(sample[2])))
        if mode is not None:
            raise UsageError(f"--mode {mode} is for the layouts lite and snow", hint="results_metadata.jsonl gives each answer its type")
        if not metadata_like(folder):
            from evalsuite.readers.dbt_projects import read_projects

            if (projects := read_projects(folder, limits, ids)) is not None:
                return projects
        return read_metadata(folder, limits, ids)


def _first_entry(spec: Path, limits: Limits) -> Obj:
    """The first object of a spec file, empty where there is none: what is wrong with the file its reader will say."""
    try:
        with open_trusted(spec, limit_bytes=limits["metadata_bytes"]) as handle:
            first = next(iter(read_objects(handle, limits=limits)), None)
    except FaultError:
        return {}
    return (first.value or {}) if first is not None else {}
