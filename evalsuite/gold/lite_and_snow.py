"""The layouts of Spider 2.0-Lite (`spider2lite_eval.jsonl`) and Snow (`spider2snow_eval.jsonl`).

Gold is `exec_result/<id>.csv` or `<id>_a.csv ...`, a submission a folder of `<id>.csv` or `<id>.sql`. An entry is read as the `evaluation`
it stands for, one `table_match` under the layout's own reference, so that nothing after the reader knows a second kind of gold. Which gold
files count is the reference's choice (spider2-lite `evaluate.py`, `resolve_gold_paths`): the file without a letter alone where it is there,
else all with one letter, sorted.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evalsuite.errors import SubmissionError, UsageError
from evalsuite.gold.spec import MakeInstance, check_of, groups_of, id_of
from evalsuite.readers.json_text import Obj
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import FromRoot, metadata_like, why_no_folder
from evalsuite.types import Answer, GoldInstance, Problem, Rule, Submission, Suite

# What the answers of a submission without metadata are: queries, or tables that queries gave.
MODES = ("sql", "exec_result")
OFFICIAL_ONLY: frozenset[Rule] = frozenset({"official"})
RESULTS, QUERIES = "exec_result", "sql"
ENDINGS = {"exec_result": ".csv", "sql": ".sql"}
TYPES = {"exec_result": "file", "sql": "sql"}
_LETTERED = re.compile(r"(.+)_[a-z]\.csv")
# The keys of an entry that its `evaluation` takes up.
KEYS = ("instance_id", "condition_cols", "ignore_order")


@dataclass(frozen=True, slots=True)
class ResultsLayout:
    """One of the two layouts; they differ in their reference, which the name says."""

    name: str

    def detect(self, spec: Path, entry: Obj, /) -> bool:
        """Whether a spec with this first entry has what these entries have in place of an `evaluation`; Snow says so in its name too."""
        if not entry or "evaluation" in entry or (self.name == "snow" and "snow" not in spec.name.lower()):
            return False
        return "condition_cols" in entry or "ignore_order" in entry or (spec.parent / RESULTS).is_dir()

    def maker(self, spec: Path, /) -> MakeInstance:
        """What makes an instance of an entry of the spec; the gold tables are listed once."""
        return partial(_instance, GoldFiles(spec.parent), self.name)

    def read_submission(self, folder: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """The answers in a folder of `<id>.csv` or `<id>.sql`, sorted by id; one that has metadata instead is read by that.

        `mode` None takes the kind of file that is there.

        Raises:
            SubmissionError: no such folder, nothing to score in it, or metadata that cannot be read.
            UsageError: no such mode, or both kinds of file and no mode.
        """
        if mode is not None and mode not in MODES:
            raise UsageError(f"--mode cannot be {mode!r}", hint="known: " + ", ".join(MODES))
        if why := why_no_folder(folder, "submission folder"):
            raise SubmissionError(f"{folder}: {why}", hint="give the folder that holds the <id>.csv or <id>.sql files")
        names = sorted(place.name for place in folder.iterdir())
        found = [kind for kind, ending in ENDINGS.items() if any(_is_answer(name, ending) for name in names)]
        if metadata_like(folder) and mode is None and not found:
            from evalsuite.readers.submission import read_metadata

            return read_metadata(folder, limits, ids)
        if mode is None and len(found) == 2:
            raise UsageError(
                f"{folder.name} holds both .csv and .sql files", hint="say which are the answers: --mode exec_result or --mode sql"
            )
        chosen = mode or next(iter(found), None)
        if chosen is None or chosen not in found:
            wanted = f"<id>{ENDINGS[chosen]}" if chosen else "<id>.csv and no <id>.sql"
            raise SubmissionError(f"{folder.name}: no {wanted} in it", hint="a submission is a folder with one file an instance")
        ending = ENDINGS[chosen]
        answers = {
            id_: Answer(instance_id=id_, answer_type=TYPES[chosen], value=FromRoot(name), where=name)
            for name in names
            if _is_answer(name, ending) and (id_ := name.removesuffix(ending))
        }
        unknown = [(answer.where, name) for name, answer in answers.items() if ids is not None and name not in ids]
        for _, name in unknown:
            del answers[name]
        return Submission(
            folder=folder,
            answers=answers,
            n_unknown=len(unknown),
            unknown=tuple(unknown[: int(limits["notes"])]),
            notes=tuple(_notes_on_strays(names, ending, int(limits["notes"]))),
            n_objects=len(answers) + len(unknown),
            limit_bytes=limits["file_bytes"],
        )


class GoldFiles:
    """The gold tables of a folder, listed once, by instance id."""

    def __init__(self, folder: Path) -> None:
        self._names = _names_in(folder / RESULTS)
        self._queries = _names_in(folder / QUERIES)
        self._lettered: dict[str, list[str]] = {}
        for name in sorted(self._names):
            if match := _LETTERED.fullmatch(name):
                self._lettered.setdefault(match[1], []).append(name)

    def of(self, id_: str) -> str | list[str]:
        """The gold of an instance as a check names it: one file, or the list of those with a letter; an empty list where none is there."""
        if f"{id_}.csv" in self._names:
            return f"{id_}.csv"
        return list(self._lettered.get(id_, ()))

    def beside(self, id_: str) -> list[str]:
        """The files with a letter that do not count, because the one without is there."""
        return list(self._lettered.get(id_, ())) if f"{id_}.csv" in self._names else []

    def query(self, id_: str) -> str | None:
        """The name of the instance's gold query below `sql/`, None where there is none."""
        return f"{id_}.sql" if f"{id_}.sql" in self._queries else None


def _names_in(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir()} if folder.is_dir() else set()


def evaluation_of(entry: Obj, gold: str | list[str], layout: str) -> tuple[dict[str, Any], list[str]]:
    """(the `evaluation` an entry stands for, what keeps the reference from using it). `gold` is as the check shall name it."""
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
    """One instance out of one entry of the spec."""
    id_ = id_of(entry, where)
    found = files.of(id_)
    names = found or f"{id_}.csv"
    gold: Any = FromRoot(f"{RESULTS}/{names}") if isinstance(names, str) else [FromRoot(f"{RESULTS}/{name}") for name in names]
    evaluation, unusable = evaluation_of(entry, gold, layout)
    check = check_of(evaluation, id_, where, suite)
    failing = (f"{text}: the reference fails" for text in unusable)
    problems = [Problem(code="BAD_SPEC", message=text, where=where, blocks=OFFICIAL_ONLY) for text in failing]
    if not found:
        problems.append(_no_gold(id_, entry, files, where))
    if beside := files.beside(id_):
        message = f"{', '.join(beside)} beside {id_}.csv: the reference reads {id_}.csv alone"
        problems.append(Problem(code="BAD_SPEC", message=message, where=where, blocks=frozenset()))
    extra = {key: value for key, value in entry.items() if key not in KEYS}
    check = replace(check, problems=(*check.problems, *problems))
    return GoldInstance(instance_id=id_, checks=(check,), where=where, extra=extra, groups=groups_of(id_, suite))


def _no_gold(id_: str, entry: Obj, files: GoldFiles, where: str) -> Problem:
    """The problem of an instance without a gold table: one that only a query can make, or one that was forgotten."""
    if entry.get("temporal") or files.query(id_) is not None:
        message = f"no {RESULTS}/{id_}.csv: its gold query has to be run"
        return Problem(code="NEEDS_CONNECTION", message=message, hint="configure a connection for this instance", where=where)
    message = f"no {RESULTS}/{id_}.csv and no {RESULTS}/{id_}_a.csv"
    return Problem(code="BAD_GOLD_FILE", message=message, hint=f"put the accepted table into {RESULTS}", where=where)


def _is_answer(name: str, ending: str) -> bool:
    return name.endswith(ending) and len(name) > len(ending) and not name.startswith(".")


def holds_answers(folder: Path) -> bool:
    """Whether a folder has files that are answers by their names."""
    return any(_is_answer(place.name, ending) for place in folder.iterdir() for ending in ENDINGS.values())


def _notes_on_strays(names: list[str], ending: str, most: int) -> Iterator[str]:
    """A note for each file that nobody reads, as far as many are told."""
    others = [name for name in names if not _is_answer(name, ending) and not name.startswith(".")]
    yield from (f"{name} is not read: answers are <id>{ending}" for name in others[:most])
    if len(others) > most:
        yield f"{len(others) - most} more files are not read"


LITE, SNOW = ResultsLayout("lite"), ResultsLayout("snow")
