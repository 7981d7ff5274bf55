"""Runs for Python code and notebooks, and `TestSuite` and `TestRun` with the interface of Arthur Bench's classes."""

import asyncio
import json
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import UsageError, count_words
from evalsuite.core.plugin_calls import trusting_plugins
from evalsuite.core.registry import Scorer, UnknownScorerError
from evalsuite.core.status import own_value, results_by
from evalsuite.readers.submission_files import submission_hash
from evalsuite.reports import check_output, write
from evalsuite.reports.record import Record, record_of_run, redact_record, verdict_line
from evalsuite.reports.run_document import results_table, run_document
from evalsuite.runs.history import METADATA_KEYS, find_runs
from evalsuite.runs.run_files import write_atomically
from evalsuite.runs.run_folder import RunFolder, new_folder
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run
from evalsuite.scorers import SCORERS
from evalsuite.scorers.judge import read_settings
from evalsuite.suites.stored_suites import (
    INPUT_COLUMN,
    REFERENCE_COLUMN,
    ROOT,
    CaseData,
    StoredSuite,
    SuiteError,
    candidates_of,
    check_name,
    configs_of,
    data_hash,
    folder_of,
    gold_of,
    has_suite,
    load_suite,
    needs,
    new_suite,
    parse_scorers,
    reference_data_of,
    save_suite,
    slug,
    write_gold,
)

if TYPE_CHECKING:
    import pandas as pd

    from evalsuite.core.types import Result


# Rows shown in a notebook.
_MOST_ROWS = 20


class Readable(ABC):
    """Mixin of run classes: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one."""

    __slots__ = ()

    @abstractmethod
    def _own_run(self) -> "Run":
        """The run to report."""

    def record(self, reveal: str | None = None) -> Record:
        """The record of the reports, cut to what may be shown of gold."""
        return redact_record(record_of_run(self._own_run()), reveal)

    def to_frame(self) -> "pd.DataFrame":
        """Return the n results in gold order as a data frame with the columns of a CSV report."""
        import pandas as pd

        table = results_table(self.record())
        return pd.DataFrame(list(table.values("csv")), columns=[column.name for column in table.columns_of("csv")])

    def write(self, path: str | Path, *, reveal: str | None = None) -> Path:
        """Write a report in the format of the path's ending (.html, .md, .csv, .json ...) and return its path.

        Raises:
            UsageError: no format has this ending.
            OutputError: the path cannot be written.
        """
        check_output(Path(path))
        write(run_document(self.record(reveal)), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        run = self._own_run()
        return clean(f"<Run of {run.submission.folder.name!r} on {run.gold.suite.name!r}: {verdict_line(run.summary)}>")

    def _repr_html_(self) -> str:
        table = results_table(self.record())
        columns = [column for column in table.columns_of("csv") if column.name in ("instance_id", "scorer", "score", "reason")]
        head = "".join(f"<th>{escape(column.head)}</th>" for column in columns)
        rows = list(table.rows)
        cells = ("".join(f"<td>{escape(clean(str(column.value(row))))}</td>" for column in columns) for row in rows[:_MOST_ROWS])
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<p>... {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>{more}"


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportedRun(Readable, Run):
    """A `Run` that can be read: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one."""

    def _own_run(self) -> Run:
        return self


def read_reported_run(run: Run) -> ReportedRun:
    """The run with everything that it can be read as."""
    return ReportedRun(**{attribute.name: getattr(run, attribute.name) for attribute in fields(run)})


# Bench gives these on their own scale: hedging 1 if the answer hedges, specificity up to 0.99, reading ease without bounds.
ON_THEIR_OWN_SCALE: Final = frozenset({"hedging_language", "readability", "specificity"})


class Category(NamedTuple):
    """A category by its name."""

    name: str


class ScoreResult(NamedTuple):
    """The result of a case, as in Bench."""

    score: float | None
    category: Category | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """One case of a run: input, reference, output and score; `score` is None if the case could not be judged.

    `scores` maps scorers to scores.
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


def _run_argument(name: str) -> Any:
    """Return the property of a `TestRun` for an argument of `run` that is saved with it."""
    return property(lambda run: str(run.run.options.metadata.get(name) or ""), doc=f"The argument `{name}` of `run`; empty by default.")


@dataclass(slots=True, kw_only=True, repr=False)
class TestRun(Readable):
    """One run of a suite: n cases in the suite's order, with the underlying `Run`.

    Has the methods of a run: `to_frame()`, `write("x.html")`, a short `repr`, and an HTML one for notebooks.
    """

    __test__: ClassVar[bool] = False  # not a test class for pytest

    name: str
    run: "Run"
    suite: StoredSuite
    output: tuple[str, ...]

    def save(self) -> Path:
        """Save a run made with `save=False` to the history and return its folder. Raises `SuiteError` if it is already saved."""
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
        """The run folder's name, for `evalsuite runs show`; empty if the run is not saved."""
        return self.run.folder.name if self.run.folder is not None else ""

    @property
    def test_suite_id(self) -> str:
        """The id of the suite."""
        return self.suite.id

    @property
    def scores(self) -> list[float | None]:
        """The score of each case, None if it could not be judged. Hedging, reading ease and specificity are on their own scale."""
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
        """The category of each case for scorers with categories, else None."""
        return [result.details.get("category") for result in self.run.results]

    @property
    def test_cases(self) -> list[RunCase]:
        """The n cases with their outputs and scores."""
        outputs = {case.id: (case, output) for case, output in zip(self.suite.test_cases, self.output, strict=True)}
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
            for result in self.run.results
            for case, output in [outputs[result.instance_id]]
        ]

    @property
    def test_case_outputs(self) -> list[RunCase]:
        """Alias of `test_cases` with Bench's name."""
        return self.test_cases

    model_name = _run_argument("model_name")
    model_version = _run_argument("model_version")
    foundation_model = _run_argument("foundation_model")
    prompt_template = _run_argument("prompt_template")
    description = _run_argument("description")


def _score_of(result: "Result") -> float | None:
    raw = own_value(result) if result.score is None or result.scorer in ON_THEIR_OWN_SCALE else None
    return (None if result.score is None else float(result.score)) if raw is None else raw


def _suite_property(name: str, doc: str) -> Any:
    """Return the property of a `TestSuite` for a part of the suite as it is stored."""
    return property(lambda made: getattr(made.suite, name), doc=doc)


# Id of a suite -> its scorers made in this process.
_OBJECTS: dict[str, Mapping[str, Any]] = {}


class TestSuite:
    """A suite of test cases under a name.

    Args:
        name: any text; the folder is named after it.
        scoring_method: the name of a scorer, or a scorer of your own: an object with `run_batch` (as in Arthur Bench) or a function
            `(answer, reference) -> number in [0, 1]`. May be left out when a suite with a named scorer is reloaded. A list of several
            gives a column for each; the first makes the score.
        description: saved with the suite and shown.
        reference_data: a data frame.
        reference_data_path: a CSV, TSV, JSONL, JSON, Parquet or Excel file; its column `id`, where it has one, names the cases.
        input_text_list: n inputs, with `reference_output_list` of n references.
        input_column, reference_column: their names in a frame or file.
        client: only None, for Arthur Bench code: suites are files below `root`.
        config: further parameters of the scorer, the same for each case; of several scorers by their names.
        judge: the `judge` section of suite.yaml for scorers that ask a model: base_url, model, key_env, ...
        allow_empty: blank cells of a frame or file are empty texts and no error.
        root: the folder of suites and runs (`.evalsuite`).

    Raises:
        UnknownScorerError: no such scorer.
        UsageError: no data, data that cannot be read, a reference that is missing.
        SuiteError: the name exists with another scorer or other data.
    """

    __test__ = False  # not a test class for pytest

    def __init__(
        self,
        name: str,
        scoring_method: Any = None,
        description: str | None = "",
        reference_data: Any = None,
        reference_data_path: str | Path | None = None,
        input_text_list: Iterable[str] | None = None,
        reference_output_list: Iterable[str | None] | None = None,
        input_column: str = INPUT_COLUMN,
        reference_column: str = REFERENCE_COLUMN,
        client: object = None,
        *,
        config: Mapping[str, Any] | None = None,
        judge: Mapping[str, Any] | None = None,
        allow_empty: bool = False,
        root: str | Path = ROOT,
    ) -> None:
        if client is not None:
            raise UsageError("suites have no client, they are stored in files", hint="leave `client` out; `root` is their folder")
        check_name(name)
        self._root = Path(root)
        scorers, config = parse_scorers(scoring_method, config)
        cases = reference_data_of(
            reference_data, reference_data_path, input_text_list, reference_output_list, input_column, reference_column, allow_empty
        )
        columns = {} if input_column == INPUT_COLUMN else {"input_column": input_column}
        made = {} if isinstance(scoring_method, str) else SCORERS.additions.objects
        objects = {name: made[name] for name in scorers if name in made}
        with SCORERS.using(objects):
            self._suite = self._reload(name, scorers, cases, config, frozenset(objects)) or self._create(
                name, scorers, description or "", cases, config, judge, columns
            )
        if objects:
            _OBJECTS[self._suite.id] = objects
        self._objects = _OBJECTS.get(self._suite.id, {})

    def __repr__(self) -> str:
        return clean(f"<TestSuite {self.name!r}: {count_words(len(self.test_cases), 'case')}, {', '.join(self._suite.scorers)}>")

    @property
    def suite(self) -> StoredSuite:
        """The suite as it is stored."""
        return self._suite

    name = _suite_property("name", "The suite's name.")
    description = _suite_property("description", "The description given when the suite was made.")
    test_cases = _suite_property("test_cases", "The n cases.")
    input_texts = _suite_property("input_texts", "The inputs of the n cases.")
    reference_outputs = _suite_property("reference_outputs", "The references of the n cases; None where there are none.")
    scoring_method = _suite_property("scoring_method", "The scorer with its type and configuration; it equals its name.")

    @property
    def scorer(self) -> Scorer:
        """The scorer of the score. Raises `UnknownScorerError` for a user-defined scorer that is not loaded."""
        with SCORERS.using(self._objects):
            return SCORERS.load(self._suite.scorer)

    async def arun(self, run_name: str, *data: Any, **options: Any) -> TestRun:
        """Call `run` in a thread, so that the event loop continues; takes the arguments of `run`."""
        return await asyncio.to_thread(self.run, run_name, *data, **options)

    def run(
        self,
        run_name: str,
        candidate_data: Any = None,
        candidate_data_path: str | Path | None = None,
        candidate_output_list: Iterable[str] | None = None,
        candidate_column: str = "candidate_output",
        context_column: str | None = None,
        context_list: Iterable[str] | None = None,
        save: bool = True,
        batch_size: int | None = 1,
        model_name: str | None = "",
        model_version: str | None = "",
        foundation_model: str | None = "",
        prompt_template: str | None = "",
        *,
        input_column: str | None = None,
        description: str | None = "",
        allow_programs: bool = False,
        invalid_as: Literal["zero"] | None = None,
        only: Sequence[str] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> TestRun:
        """The scored candidates, one per case in case order; saved in the history with all metadata unless `save` is False.

        Args:
            run_name: unique among the suite's saved runs.
            candidate_data: a data frame with the column `candidate_column`.
            candidate_data_path: a CSV, TSV, JSONL, JSON, Parquet or Excel file with that column. Its rows are joined with the cases by
                the column `id`, else by the column of inputs, else by their places.
            candidate_output_list: n texts.
            candidate_column: the column's name in a frame or file.
            context_column: the column of contexts of a frame or file. Scorers with a `context` parameter get it; it is saved.
            input_column: the column of inputs to join by, by default the suite's.
            context_list: n contexts for `candidate_output_list`. Runs with other contexts have another signature.
            save: whether to save the run in the history; `TestRun.save()` does it later.
            batch_size: at least 1; has no effect, because the judge settings limit the number of parallel requests.
            model_name, model_version, foundation_model, prompt_template, description: saved with the run and shown.
            allow_programs: whether candidates that are programs may run without a sandbox (python_unit_testing, pass_at_k).
            invalid_as: "zero" counts a candidate without a verdict of the judge as wrong; by default its score is None.
            only: the ids of the cases to score, by default all.
            progress: called with the number of cases done and their total number.

        Raises:
            UsageError: no candidates, another number of them than of cases, a context that is missing.
            SuiteError: the run name is taken, or the suite's user-defined scorer is not loaded.
        """
        check_name(run_name, "run")
        if not (batch_size is None or (hasattr(batch_size, "__index__") and batch_size is not True and batch_size >= 1)):
            raise UsageError(f"batch_size cannot be {batch_size!r}", hint="a whole number of at least 1")
        facts = (model_name, model_version, foundation_model, prompt_template, description)
        metadata = {key: value for key, value in zip(METADATA_KEYS, facts, strict=True) if value}
        data = candidate_data if candidate_data is not None else candidate_data_path
        columns: dict[str, Any] = {"candidate_column": candidate_column, "context_column": context_column, "input_column": input_column}
        outputs, contexts = candidates_of(self._suite, data, candidate_output_list, contexts=context_list, **columns)
        earlier = [entry for entry in find_runs(self._root / "runs") if entry.metadata.get("suite_id") == self._suite.id]
        if name_taken := next((entry.name for entry in earlier if slug(str(entry.metadata.get("run_name", ""))) == slug(run_name)), None):
            hint = f"choose another run name, or `evalsuite runs rm {shlex.quote(name_taken)}`"
            raise SuiteError(f"the suite {self._suite.name!r} already has a run {run_name!r}", hint=hint)
        with SCORERS.using(self._objects):
            gold = self._gold_for(run_name, contexts)
        submission = self._write_submission(run_name, outputs, contexts)
        about = {"run_name": run_name, "suite_id": self._suite.id, **metadata}
        place: dict[str, Any] = {"save": save, "runs_folder": self._root / "runs", "label": slug(run_name)}
        options = RunOptions(metadata=about, allow_programs=allow_programs, invalid_as=invalid_as, only=tuple(only), **place)
        with trusting_plugins(gold), SCORERS.using(self._objects):
            return TestRun(name=run_name, run=run(submission, gold, options, progress=progress), suite=self._suite, output=tuple(outputs))

    def _gold_for(self, run_name: str, contexts: Sequence[str] | None) -> Path:
        """The gold folder to score against: the suite's own, or a copy with this run's contexts for a scorer that takes one."""
        takes = False
        for name in (scorers := self._suite.scorers):
            try:
                takes |= "context" in SCORERS.load(name).parameters
            except UnknownScorerError:
                hint = f"TestSuite({self._suite.name!r}, your_scorer), or --plugin with the file that defines it"
                raise SuiteError(f"the suite's scorer {name!r} is not loaded", hint=hint) from None
        gold_folder = gold_of(self._suite.name, self._root)
        if contexts is None and (without := next((name for name in scorers if needs(name, "context")), None)):
            raise UsageError(f"{without} needs a context", hint="context_column or context_list, at the command line --context COLUMN")
        if contexts is None or not takes:
            return gold_folder
        copy = gold_folder.parent / "golds" / slug(run_name)
        shutil.copytree(gold_folder, copy, dirs_exist_ok=True)
        write_gold(self._suite, copy, contexts)
        return copy

    def _reload(
        self,
        name: str,
        scorers: tuple[str, ...],
        cases: CaseData | None,
        config: Mapping[str, Any] | None,
        objects: frozenset[str],
    ) -> StoredSuite | None:
        """The stored suite of that name, or None; data or a scorer that differ from what is stored are an error, never ignored.

        `objects` are the scorers that were given as objects.
        """
        if not has_suite(name, self._root):
            return None
        stored = load_suite(name, self._root)
        way_out = "take another name, or delete the suite first"
        if scorers and scorers != stored.scorers:
            raise SuiteError(f"the suite {name!r} is scored by {', '.join(stored.scorers)}, not {', '.join(scorers)}", hint=way_out)
        if absent := next((scorer for scorer in scorers if scorer not in objects and stored.method(scorer).get("type") == "custom"), None):
            hint = "give the scorer itself, not its name"
            raise SuiteError(f"the suite {name!r} uses the user-defined scorer {absent}", hint=hint)
        if cases is not None and data_hash(cases.inputs, cases.references) != stored.data_hash:
            raise SuiteError(f"the suite {name!r} contains other data", hint=f"leave the data out to reload it, or {way_out}")
        configs = {} if config is None else configs_of(stored.scorers, config)
        scorer_config = stored.scorers if len(stored.scorers) == 1 else config or ()
        if any(dict(stored.method(scorer).get("config", {})) != configs[scorer] for scorer in scorer_config if configs):
            raise SuiteError(f"the suite {name!r} has another configuration", hint=way_out)
        return stored

    def _create(
        self,
        name: str,
        scorers: tuple[str, ...],
        description: str,
        cases: CaseData | None,
        config: Mapping[str, Any] | None,
        judge: Mapping[str, Any] | None,
        extra: Mapping[str, Any],
    ) -> StoredSuite:
        if not scorers:
            raise UsageError(f"no suite {name!r}, and no scoring method for a new one", hint="`evalsuite gold scorers` lists them")
        if cases is None:
            raise UsageError("no reference data given", hint="reference_data, reference_data_path or input_text_list")
        read_settings(judge or {})
        suite = new_suite(
            name,
            scorers,
            inputs=cases.inputs,
            references=cases.references,
            case_ids=cases.ids,
            description=description,
            config=config,
            extra={**extra, "judge": dict(judge)} if judge is not None else extra,
        )
        save_suite(suite, self._root)
        return suite

    def _write_submission(self, run_name: str, outputs: Sequence[str], contexts: Sequence[str] | None) -> Path:
        folder = folder_of(self._suite.name, self._root) / "submissions" / slug(run_name)
        folder.mkdir(parents=True, exist_ok=True)
        cases = zip(self._suite.test_cases, outputs, strict=True)
        rows = ({"instance_id": case.id, "answer_type": "answer", "answer_or_path": output} for case, output in cases)
        write_atomically(folder / "results_metadata.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        if contexts is not None:
            by_case = {case.id: context for case, context in zip(self._suite.test_cases, contexts, strict=True)}
            write_atomically(folder / "contexts.json", json.dumps(by_case, ensure_ascii=False, indent=1) + "\n")
        return folder
