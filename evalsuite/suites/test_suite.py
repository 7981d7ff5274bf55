"""`TestSuite`: Arthur Bench's class. A suite by name, made once from data and reloaded without; a run scores candidates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import UsageError
from evalsuite.store.history import find_runs
from evalsuite.store.run_folder import write_atomically
from evalsuite.suites.data import column, equal_lengths, read_columns
from evalsuite.suites.names import slug
from evalsuite.suites.store import ROOT, StoredSuite, SuiteError, data_hash, folder_of, gold_of, load_suite, new_suite, save_suite

if TYPE_CHECKING:
    from evalsuite.runner.run import Run

METADATA_KEYS = ("model_name", "model_version", "foundation_model", "prompt_template", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One run of a suite: n scores in case order, the candidate outputs, and the `Run` behind them."""

    __test__ = False  # not a test class for pytest

    name: str
    run: "Run"
    output: tuple[str, ...]

    @property
    def id(self) -> str:
        """The run folder's name, by which `evalsuite runs show` knows it."""
        return self.run.folder.name if self.run.folder is not None else ""

    @property
    def scores(self) -> list[float | None]:
        """The score of each case; None where nobody could judge, never -1."""
        return [result.score for result in self.run.results]

    @property
    def categories(self) -> list[str | None]:
        """The category of each case for scorers that have them, else None."""
        return [result.details.get("category") for result in self.run.results]


class TestSuite:
    """A suite of test cases under a name.

    Args:
        name: any text; it is kept, and its slug is the folder.
        scoring_method: the name of a scorer; may be left out when an existing suite is reloaded.
        description: kept and shown.
        reference_data: a data frame.
        reference_data_path: a CSV, JSONL or Parquet file.
        input_text_list: n inputs, with `reference_output_list` of n references.
        input_column, reference_column: their names in a frame or file.
        config: further parameters of the scorer, the same for each case.
        root: where suites and runs are kept (`.evalsuite`).

    Raises:
        UsageError: no data, data that cannot be read, a reference that is missing.
        SuiteError: the name exists with another scorer or other data.
    """

    __test__ = False  # not a test class for pytest

    def __init__(
        self,
        name: str,
        scoring_method: str | None = None,
        description: str = "",
        *,
        reference_data: Any = None,
        reference_data_path: str | Path | None = None,
        input_text_list: Sequence[str] | None = None,
        reference_output_list: Sequence[str] | None = None,
        input_column: str = "input",
        reference_column: str = "reference_output",
        config: Mapping[str, Any] | None = None,
        allow_empty: bool = False,
        root: Path = ROOT,
    ) -> None:
        self._root = root
        given = _reference_data(
            reference_data, reference_data_path, input_text_list, reference_output_list, input_column, reference_column, allow_empty
        )
        self._suite = self._reload(name, scoring_method, given, config) or self._create(name, scoring_method, description, given, config)

    @property
    def suite(self) -> StoredSuite:
        """The suite as it is stored."""
        return self._suite

    def run(
        self,
        run_name: str,
        *,
        candidate_data: Any = None,
        candidate_data_path: str | Path | None = None,
        candidate_output_list: Sequence[str] | None = None,
        candidate_column: str = "candidate_output",
        context_column: str | None = None,
        context_list: Sequence[str] | None = None,
        save: bool = True,
        model_name: str = "",
        model_version: str = "",
        foundation_model: str = "",
        prompt_template: str = "",
        description: str = "",
    ) -> TestRun:
        """The scored candidates, one per case in case order; saved in the history with all metadata unless `save` is False.

        Metadata is kept and shown: model_name, model_version, foundation_model, prompt_template, description.
        """
        given = (model_name, model_version, foundation_model, prompt_template, description)
        metadata = {key: value for key, value in zip(METADATA_KEYS, given, strict=True) if value}
        outputs, contexts = _candidates(
            candidate_data, candidate_data_path, candidate_output_list, candidate_column, context_column, context_list
        )
        n = len(self._suite.test_cases)
        if len(outputs) != n:
            raise UsageError(f"{len(outputs)} candidates for {n} test cases", hint="one candidate for each test case, in their order")
        if any(entry.metadata.get("run_name") == run_name for entry in find_runs(self._root / "runs", suite=self._suite.name)):
            raise SuiteError(f"the suite {self._suite.name!r} has a run {run_name!r} already", hint="choose another run name")
        submission = self._write_submission(run_name, outputs, contexts)
        from evalsuite.runner.run import Options, run

        about = {"run_name": run_name, "suite_id": self._suite.id, **metadata}
        options = Options(save=save, runs_folder=self._root / "runs", metadata=about, label=slug(run_name))
        return TestRun(name=run_name, run=run(submission, gold_of(self._suite.name, self._root), options), output=tuple(outputs))

    def _reload(
        self, name: str, scorer: str | None, given: tuple[list[str], list[str] | None] | None, config: Mapping[str, Any] | None
    ) -> StoredSuite | None:
        """The stored suite of that name, or None; data or a scorer that differ from what is stored are an error, never ignored."""
        if not folder_of(name, self._root).exists():
            return None
        stored = load_suite(name, self._root)
        way_out = "take another name, or delete the suite first"
        if scorer is not None and scorer != stored.scorer:
            raise SuiteError(f"the suite {name!r} is scored by {stored.scorer}, not {scorer}", hint=way_out)
        if given is not None and data_hash(*given) != stored.data_hash:
            raise SuiteError(f"the suite {name!r} holds other data", hint=f"leave the data out to reload it, or {way_out}")
        if config is not None and dict(config) != dict(stored.scoring_method.get("config", {})):
            raise SuiteError(f"the suite {name!r} has another configuration", hint=way_out)
        return stored

    def _create(
        self,
        name: str,
        scorer: str | None,
        description: str,
        given: tuple[list[str], list[str] | None] | None,
        config: Mapping[str, Any] | None,
    ) -> StoredSuite:
        if scorer is None:
            raise UsageError(f"no suite {name!r}, and no scoring method to make one with", hint="`evalsuite scorers` lists them")
        if given is None:
            raise UsageError("no reference data given", hint="reference_data, reference_data_path or input_text_list")
        inputs, references = given
        suite = new_suite(name, scorer, inputs=inputs, references=references, description=description, config=config)
        save_suite(suite, self._root)
        return suite

    def _write_submission(self, run_name: str, outputs: Sequence[str], contexts: Sequence[str] | None) -> Path:
        folder = folder_of(self._suite.name, self._root) / "submissions" / slug(run_name)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [
            {"instance_id": case.id, "answer_type": "answer", "answer_or_path": output}
            for case, output in zip(self._suite.test_cases, outputs, strict=True)
        ]
        write_atomically(folder / "results_metadata.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        if contexts is not None:
            by_case = {case.id: context for case, context in zip(self._suite.test_cases, contexts, strict=True)}
            write_atomically(folder / "contexts.json", json.dumps(by_case, ensure_ascii=False, indent=1) + "\n")
        return folder


def _reference_data(
    frame: Any,
    path: str | Path | None,
    inputs: Sequence[str] | None,
    references: Sequence[str] | None,
    input_column: str,
    reference_column: str,
    allow_empty: bool,
) -> tuple[list[str], list[str] | None] | None:
    """(inputs, references) from the first source that was given: frame, file, lists; None where none was."""
    source = frame if frame is not None else path
    if source is None:
        if inputs is None:
            return None
        equal_lengths(inputs=inputs, references=references)
        return list(inputs), None if references is None else list(references)
    data = read_columns(source)
    texts = column(data, input_column, what="input", allow_empty=allow_empty)
    answers = column(data, reference_column, what="reference", allow_empty=allow_empty) if reference_column in data else None
    equal_lengths(inputs=texts)
    return texts, answers


def _candidates(
    frame: Any,
    path: str | Path | None,
    outputs: Sequence[str] | None,
    candidate_column: str,
    context_column: str | None,
    contexts: Sequence[str] | None,
) -> tuple[list[str], list[str] | None]:
    source = frame if frame is not None else path
    if source is None:
        if outputs is None:
            raise UsageError("no candidate data given", hint="candidate_data, candidate_data_path or candidate_output_list")
        equal_lengths(candidates=outputs, contexts=contexts)
        return list(outputs), None if contexts is None else list(contexts)
    if contexts is not None:
        raise UsageError("a list of contexts goes with a list of candidates", hint="name the context column of the data instead")
    data = read_columns(source)
    texts = column(data, candidate_column, what="candidate", allow_empty=True)
    return texts, column(data, context_column, what="context", allow_empty=True) if context_column is not None else None
