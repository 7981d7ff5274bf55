"""The layouts of pairs of queries, named after the evaluators whose rules they ask for: `bird-ex` and `test-suite`.

Gold is one file with a query and its database a line, a submission one file with a query for each line of gold (`readers.query_files`).
An entry is read as the `evaluation` it stands for, one `sql_match`; the difficulty that a file of questions gives is the instance's group.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evalsuite.errors import FaultError, SubmissionError, UsageError
from evalsuite.gold.spec import MakeInstance, check_of, groups_of
from evalsuite.readers.json_text import Obj
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import open_trusted
from evalsuite.readers.query_files import read_gold_pairs, read_predictions, read_questions
from evalsuite.types import GoldInstance, Problem, Submission, Suite

# What is shown of a question, besides its difficulty.
_KEPT = ("question_id", "question", "evidence", "difficulty")


@dataclass(frozen=True, slots=True)
class PairsLayout:
    """One of the two layouts; they read the same files and differ in the evaluator, which the name says, and the ending of a spec."""

    name: str
    ending: str

    def detect(self, spec: Path, _entry: Obj, /) -> bool:
        """Whether a spec file is one of pairs by its name: `.sql` as BIRD's, `.txt` as Spider's."""
        return spec.suffix.lower() == self.ending

    read_entries = staticmethod(read_gold_pairs)

    def maker(self, spec: Path, /) -> MakeInstance:
        """What makes an instance of a pair; the file about the questions is read once."""
        try:
            with open_trusted(spec, limit_bytes=DEFAULT_LIMITS["metadata_bytes"]) as handle:
                pairs = [entry.value for entry in read_gold_pairs(handle, limits=DEFAULT_LIMITS) if entry.value is not None]
        except FaultError:
            pairs = []
        found, note = read_questions(spec, [str(pair["database"]) for pair in pairs])
        about = {str(pair["instance_id"]): item for pair, item in zip(pairs, found, strict=True)}
        return partial(_instance, self.name, about, note)

    def read_submission(self, path: Path, limits: Limits, mode: str | None = None, ids: Collection[str] | None = None, /) -> Submission:
        """The queries in a file. Raises `UsageError` where a mode is given, and `SubmissionError` for what is no such file."""
        if mode is not None:
            raise UsageError(f"--mode {mode} is for the layouts lite and snow", hint="leave it out: every answer is a query")
        if path.is_dir():
            raise SubmissionError(f"{path}: a folder", hint="name the file with the queries, such as pred.json or predict.txt")
        return read_predictions(path, limits, ids)


def _instance(evaluator: str, about: Mapping[str, Obj], note: str, entry: Obj, where: str, suite: Suite) -> GoldInstance:
    """One instance out of one pair; the first one tells the note on the file about the questions."""
    id_, known = str(entry["instance_id"]), about.get(str(entry["instance_id"]), {})
    parameters = {"gold": entry["gold"], "database": entry["database"], "evaluator": evaluator}
    check = check_of({"func": "sql_match", "parameters": parameters}, id_, where, suite)
    if note and id_ == next(iter(about)):
        problem = Problem(code="BAD_SPEC", message=note, where=where, blocks=frozenset())
        check = replace(check, problems=(*check.problems, problem))
    difficulty = known.get("difficulty")
    groups = (*groups_of(id_, suite), *([difficulty] if isinstance(difficulty, str) and difficulty else []))
    extra = {"db_id": entry["database"], **{key: known[key] for key in _KEPT if key in known}}
    return GoldInstance(instance_id=id_, checks=(check,), where=where, extra=extra, groups=groups)


BIRD, TEST_SUITE = PairsLayout("bird-ex", ".sql"), PairsLayout("test-suite", ".txt")
