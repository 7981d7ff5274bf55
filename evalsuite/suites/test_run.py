"""`TestRun`: what `TestSuite.run` gives. The scores of a run with the names that Arthur Bench's code reads them by."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from evalsuite.outcome import own_value, results_by
from evalsuite.reports.clean import clean
from evalsuite.reports.readable import Readable
from evalsuite.reports.words import verdict_line
from evalsuite.store.new_folders import new_folder
from evalsuite.store.run_folder import RunFolder
from evalsuite.suites.stored_suites import SuiteError, slug
from evalsuite.suites.suite_record import StoredSuite

if TYPE_CHECKING:
    from evalsuite.run.scoring import Run
    from evalsuite.types import Result

# Bench gives these on their own scale: hedging 1 where the answer hedges, specificity up to 0.99, the reading ease without bounds.
ON_THEIR_OWN_SCALE: Final = frozenset({"hedging_language", "readability", "specificity"})


class Category(NamedTuple):
    """A category by its name."""

    name: str


class ScoreResult(NamedTuple):
    """What a scorer said of a case, as Bench has it."""

    score: float | None
    category: Category | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """One case of a run: what was asked, expected and answered, and what that is worth; `score` is None where nobody could judge.

    `scores` has the score of each scorer by name.
    """

    id: str
    input: str
    reference_output: str | None
    output: str
    score: float | None
    category: str | None
    reason: str
    scores: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def score_result(self) -> ScoreResult:
        """Score and category."""
        return ScoreResult(self.score, None if self.category is None else Category(self.category))


@dataclass(slots=True, kw_only=True, repr=False)
class TestRun(Readable):
    """One run of a suite: n cases in the suite's order, and the `Run` behind them.

    It is read as that is: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one for notebooks.
    """

    __test__: ClassVar[bool] = False  # not a test class for pytest

    name: str
    run: "Run"
    suite: StoredSuite
    output: tuple[str, ...]

    def save(self) -> Path:
        """The folder of a run that was made with `save=False`, now saved in the history. Raises `SuiteError` where it is saved already."""
        from evalsuite.readers.submission_files import submission_hash

        if self.run.folder is not None:
            raise SuiteError(f"the run {self.name!r} is saved already, in {self.run.folder}", hint="a run is saved once")
        folder = new_folder(self.run.options.runs_folder, slug(self.name))
        self.run = replace(self.run, folder=folder, submission_hash=submission_hash(self.run.submission))
        RunFolder(folder).open({"submission": self.run.submission_hash}).finish(self.run.results, self.run.to_json())
        return folder

    def _own_run(self) -> "Run":
        return self.run

    def __repr__(self) -> str:
        return clean(f"<TestRun {self.name!r} of {self.suite.name!r}: {verdict_line(self.run.summary)}>")

    @property
    def id(self) -> str:
        """The run folder's name, by which `evalsuite runs show` knows it; empty where it is not saved."""
        return self.run.folder.name if self.run.folder is not None else ""

    @property
    def test_suite_id(self) -> str:
        """The id of the suite."""
        return self.suite.id

    @property
    def scores(self) -> list[float | None]:
        """The score of each case; None where nobody could judge, never -1. Hedging, reading ease and specificity are on their own scale."""
        return [_score_of(result) for result in self.run.results]

    @property
    def scores_by_scorer(self) -> dict[str, list[float | None]]:
        """Scorer -> the score of each case, the suite's own score first."""
        return {name: [self._scores_of(result)[name] for result in self.run.results] for name in self.suite.scorers}

    def _scores_of(self, result: "Result") -> dict[str, float | None]:
        seen = results_by(result, self.suite.scorers)
        others = {name: _score_of(seen[name]) if name in seen else None for name in self.suite.scorers[1:]}
        return {self.suite.scorer: _score_of(result), **others}

    @property
    def categories(self) -> list[str | None]:
        """The category of each case for scorers that have them, else None."""
        return [result.details.get("category") for result in self.run.results]

    @property
    def test_cases(self) -> list[RunCase]:
        """The n cases with their outputs and scores."""
        cases = zip(self.suite.test_cases, self.output, self.run.results, strict=True)
        return [
            RunCase(
                id=case.id,
                input=case.input,
                reference_output=case.reference_output,
                output=output,
                score=_score_of(result),
                category=result.details.get("category"),
                reason=result.reason,
                scores=self._scores_of(result),
            )
            for case, output, result in cases
        ]

    @property
    def test_case_outputs(self) -> list[RunCase]:
        """The same under Bench's other name."""
        return self.test_cases

    def _metadata_text(self, key: str) -> str:
        metadata: Mapping[str, Any] = self.run.options.metadata
        return str(metadata.get(key, ""))

    @property
    def model_name(self) -> str:
        """What `run` was told; empty where it was not."""
        return self._metadata_text("model_name")

    @property
    def model_version(self) -> str:
        """What `run` was told; empty where it was not."""
        return self._metadata_text("model_version")

    @property
    def foundation_model(self) -> str:
        """What `run` was told; empty where it was not."""
        return self._metadata_text("foundation_model")

    @property
    def prompt_template(self) -> str:
        """What `run` was told; empty where it was not."""
        return self._metadata_text("prompt_template")

    @property
    def description(self) -> str:
        """What `run` was told; empty where it was not."""
        return self._metadata_text("description")


def _score_of(result: "Result") -> float | None:
    raw = own_value(result) if result.score is None or result.scorer in ON_THEIR_OWN_SCALE else None
    return (None if result.score is None else float(result.score)) if raw is None else raw
