"""`evalsuite suite`, `import` and `export`: suites by name, runs of candidates, logs of other tools."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument, Option
from evalsuite.cli.output_streams import complain
from evalsuite.cli.showing import (
    NO_GATE,
    ComparisonGates,
    Outputs,
    ProgressBar,
    Reveal,
    add_write_failures,
    apply_gate,
    check_showing,
    console,
    is_open,
    print_document,
    print_step,
    write_all,
)
from evalsuite.compare.characters import clean
from evalsuite.compare.values import number_gold
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EXIT_USAGE, UsageError, count_words, write_error
from evalsuite.core.status import UNJUDGED
from evalsuite.gold.spec import exchanges_of
from evalsuite.gold.suite_yaml import judge_section
from evalsuite.reports import check_writable
from evalsuite.reports.document import percent
from evalsuite.reports.record import record_of_entry, record_of_run, redact_record, score_words, unjudged_words, verdict_line
from evalsuite.runs.history import find_runs, one_run
from evalsuite.runs.run_files import write_atomically
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.suites.stored_suites import (
    ROOT,
    SuiteError,
    delete_suite,
    folder_of,
    has_suite,
    list_suites,
    load_suite,
    reference_data_of,
    rename_suite,
)

if TYPE_CHECKING:
    from evalsuite.reports.document import Document
    from evalsuite.reports.test_suite import TestRun, TestSuite
    from evalsuite.runs.scoring import Run
    from evalsuite.suites.tool_logs import ForeignLog


@dataclass(frozen=True, kw_only=True)
class Outcome(ComparisonGates):
    """Options of how the runs of candidates are compared, written and gated."""

    alpha: Annotated[float, Option(help="the accepted rate of false positives", metavar="0-1")] = 0.05
    output: Outputs = None
    json_: opt.Json = False
    quiet: opt.Quiet = False

    def check(self, n_candidates: int) -> None:
        """Raise `UsageError` or `OutputError` before anything is scored."""
        check_showing(self.output or (), None)
        opt.check_share(self.fail_under, "--fail-under")
        if self.fail_on_regression and n_candidates < 2:
            raise UsageError("--fail-on-regression needs two candidates, the first is the baseline", hint="--fail-under is a gate of one")

    @property
    def is_requested(self) -> bool:
        """Return whether any option asks for the outcome of the runs together."""
        return bool(self.json_ or self.quiet or self.output or self.fail_under is not None or self.fail_on_regression)

    def write(self, runs: "Mapping[str, Run]", *, everything: bool = False) -> "tuple[Document, Document, int, str]":
        """Write the comparison of the runs, or the report of the only one; return it, a brief one, the exit code and the last line.

        A missed gate has precedence over answers that could not be judged.
        """
        from evalsuite.analysis.leaderboard import compare
        from evalsuite.analysis.leaderboard.pairing import side_of
        from evalsuite.reports.comparison_documents import comparison_document
        from evalsuite.reports.run_document import run_document

        n_unjudged = count_unjudged(runs.values())
        if len(runs) == 1:
            run = next(iter(runs.values()))
            document = brief = run_document(record_of_run(run))
            code, line = apply_gate(done := f"done: {score_words(run.summary)}", run.summary.score, self.fail_under)
            left_open = n_unjudged > 0 or is_open(run.summary, run.results, self.fail_under)
            line_of_open = f"{done}, {unjudged_words(run.summary)} (exit {EXIT_UNSCORABLE})"
        else:
            sides = [
                side_of(name, run_of_name.to_json(), run_of_name.results, exchanges=exchanges_of(run_of_name.gold, run_of_name.submission))
                for name, run_of_name in runs.items()
            ]
            comparison = compare(sides, alpha=self.alpha)
            document = comparison_document(comparison, everything=everything)
            brief = comparison_document(comparison, everything=everything, brief=True)
            code, line = self.verdict(comparison)
            left_open = n_unjudged > 0
            line_of_open = f"{line.removesuffix(NO_GATE)}, {count_words(n_unjudged, 'answer')} not judged (exit {EXIT_UNSCORABLE})"
        if code == EXIT_OK and left_open and not self.allow_unscored:
            code, line = EXIT_UNSCORABLE, line_of_open
        return document, brief, *add_write_failures(code, line, write_all(document, self.output or ()))


def count_unjudged(runs: "Iterable[Run]") -> int:
    """Return how many answers could not be judged; those without a value under their metric do not count."""
    return sum(result.status in UNJUDGED and result.fault != "UNDEFINED" for run in runs for result in run.results)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Options of the suite that `suite try` makes."""

    input_column: Annotated[str, Option("--input", help="the column of questions")] = "input"
    reference_column: Annotated[str, Option("--reference", help="the column of right answers")] = "reference"
    scorer: Annotated[str | None, Option(help="the scorer [default: number_match if every reference is a number, else string_match]")] = (
        None
    )
    parameters: Annotated[
        list[str] | None, Option("--parameter", metavar="NAME=VALUE", help="a parameter of the scorer; may be repeated")
    ] = None
    keep: Annotated[str | None, Option(metavar="NAME", help="save the suite under this name and its runs in the history")] = None

    def scorer_for(self, source: Path) -> str:
        """Return the requested scorer, or the one that fits the references of the file."""
        data = reference_data_of(None, source, None, None, self.input_column, self.reference_column, False)
        references = data.references if data is not None and data.references else []
        return self.scorer or ("number_match" if all(number_gold(text) is not None for text in references) else "string_match")

    def next_command(self, source: Path, candidates: Sequence[str]) -> list[str]:
        """Return the words of the next command: save the suite, or report a saved run. The report of a single run names its own."""
        if self.keep is not None:
            return ["report", f"{self.keep}/{candidates[0]}"] if candidates[1:] else []
        options = {"--input": [self.input_column], "--reference": [self.reference_column], "--candidate": candidates}
        options |= {"--scorer": [self.scorer] if self.scorer else [], "--parameter": self.parameters or [], "--keep": [source.stem]}
        return ["suite", "try", str(source), *(word for option, values in options.items() for value in values for word in (option, value))]


def suite_try(
    source: Annotated[Path, Argument(metavar="FILE", help="a CSV, TSV, JSONL, JSON, Parquet or Excel file with one row per question")],
    candidates: Annotated[list[str], Option("--candidate", help="a column of answers; may be repeated, the first is the baseline")],
    trial: Trial,
    all_: Annotated[bool, Option("--all", help="list every lost or won instance")] = False,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="show both reasons of each flip, the tests, the seed and the signature")
    ] = False,
    *,
    outcome: Outcome,
) -> int:
    """Score columns of answers against a column of references and compare them: scores, differing answers, and the exact p-value.

    Nothing is saved unless `--keep` names a suite.
    """
    from evalsuite.reports.terminal import print_last_line
    from evalsuite.reports.test_suite import TestSuite

    outcome.check(len(candidates))
    if len(set(candidates)) < len(candidates):
        raise UsageError("--candidate names a column twice", hint="each candidate is a column of its own")
    chosen, keep = trial.scorer_for(source), trial.keep
    columns: dict[str, Any] = {"input_column": trial.input_column, "reference_column": trial.reference_column}
    config = opt.load_parameters(trial.parameters or ())
    with TempDir() as scratch:
        suite = TestSuite(keep or source.stem, chosen, reference_data_path=source, config=config, root=ROOT if keep else scratch, **columns)
        runs = {}
        for name in candidates:
            with ProgressBar(hidden=outcome.json_ or outcome.quiet) as progress:
                candidate_run = suite.run(name, candidate_data_path=source, candidate_column=name, save=keep is not None, progress=progress)
            runs[name] = candidate_run.run
        document, brief, code, line = outcome.write(runs, everything=all_)
        if outcome.json_:
            print_document(document, "json")
        elif outcome.quiet:
            print(line)
        else:
            by = "" if trial.scorer else "; --scorer chooses another of `evalsuite gold scorers`"
            print(clean(f"scored by {chosen}{by}"))
            print_document(document if verbose else brief, last_line="")
            if step := trial.next_command(source, candidates):
                print_step("next:", step)
            print_last_line(console(), line)
    return code


# Most different reasons that `suite run` prints for cases it could not score.
_MOST_REASONS = 3
SuiteName = Annotated[str, Argument(help="the suite's name")]
Candidates = Annotated[
    list[str] | None,
    Option(
        "--candidate",
        "--candidate-column",
        help="the column of outputs; several are a run each, named after it [default: candidate_output]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class About:
    """Options of the candidates' metadata, which `TestSuite.run` takes."""

    model_name: Annotated[str, Option(help="saved with the run; `runs show` prints it")] = ""
    model_version: Annotated[str, Option(help="saved with the run; `runs show` prints it")] = ""
    foundation_model: Annotated[str, Option(help="saved with the run; `runs show` prints it")] = ""
    prompt_template: Annotated[str, Option(help="saved with the run; `runs show` prints it")] = ""
    description: Annotated[str, Option(help="saved with the run; `runs show` prints it")] = ""


def suite_create(
    name: SuiteName,
    source: Annotated[
        Path, Option("--from", help="a CSV, TSV, JSONL, JSON, Parquet or Excel file with a row per test case", metavar="FILE")
    ],
    scorers: Annotated[list[str], Option("--scorer", help="the scorer, see `evalsuite gold scorers`; of several the first is the score")],
    input_column: Annotated[str, Option("--input", "--input-column", help="the column of inputs")] = "input",
    reference_column: Annotated[
        str, Option("--reference", "--reference-column", help="the column of reference outputs")
    ] = "reference_output",
    description: Annotated[str, Option(help="saved with the suite and shown by `suite show`")] = "",
    parameters: Annotated[
        list[str] | None,
        Option("--parameter", metavar="NAME=VALUE", help="a parameter of the scorer, of several SCORER.NAME=VALUE; may be repeated"),
    ] = None,
    judge: opt.JudgeFile = None,
    allow_empty: Annotated[bool, Option("--allow-empty", help="take blank cells as empty texts")] = False,
    plugins: opt.Plugins = None,
) -> int:
    """Make a suite from a file of inputs and references."""
    from evalsuite.reports.test_suite import TestSuite

    opt.load_plugins(plugins)
    if has_suite(name):
        raise SuiteError(f"there is a suite {name!r} already", hint="choose another name, or `evalsuite suite delete` the old one")
    suite = TestSuite(
        name,
        scorers,
        description,
        reference_data_path=source,
        input_column=input_column,
        reference_column=reference_column,
        config=_group_by_scorer(opt.load_parameters(parameters), scorers) if parameters else None,
        judge=None if judge is None else judge_section(judge),
        allow_empty=allow_empty,
    )
    n = len(suite.suite.test_cases)
    print(f"made suite {name!r}: {count_words(n, 'test case')}, scored by {', '.join(scorers)}, in {folder_of(name)}")
    return EXIT_OK


def _group_by_scorer(parameters: dict[str, Any], scorers: list[str]) -> dict[str, Any]:
    """Return the parameters of a single scorer, or those of several by scorer."""
    if len(scorers) == 1:
        return parameters
    by_scorer: dict[str, Any] = {}
    for key, value in parameters.items():
        scorer, _, name = key.rpartition(".")
        if scorer not in scorers:
            raise UsageError(f"--parameter {key}: which scorer's is it?", hint=f"{scorers[0]}.{name}=...")
        by_scorer.setdefault(scorer, {})[name] = value
    return by_scorer


def suite_list() -> int:
    """List the suites with their scorer, number of cases and runs."""
    runs = find_runs()
    suites = list_suites()
    for suite in suites:
        suite_runs = [run for run in runs if run.metadata.get("suite_id") == suite.id]
        latest = f", latest {suite_runs[-1].name}" if suite_runs else ""
        counts = f"{count_words(len(suite.test_cases), 'case')}, {count_words(len(suite_runs), 'run')}"
        print(clean(f"{suite.name}: {', '.join(suite.scorers)}, {counts}{latest}"))
    if not suites:
        print("no suites; `evalsuite suite create NAME --from FILE --scorer NAME` makes one")
    return EXIT_OK


def suite_show(name: SuiteName) -> int:
    """Show a suite: its properties, its first cases, and its runs."""
    suite = load_suite(name)
    rows = [("name", suite.name), ("id", suite.id), ("description", suite.description), ("scorer", ", ".join(suite.scorers))]
    configs = {scorer: config for scorer in suite.scorers if (config := suite.method(scorer).get("config"))}
    config = configs.get(suite.scorer, {}) if len(suite.scorers) == 1 else configs
    rows += [("config", json.dumps(config) if config else ""), ("created", suite.created_at), ("updated", suite.updated_at)]
    rows += [("cases", str(len(suite.test_cases))), ("folder", str(folder_of(name)))]
    for label, text in rows:
        if text:
            print(f" {label:<12} {clean(text)}")
    for case in suite.test_cases[:5]:
        print(clean(f" case         {case.input[:70]} -> {(case.reference_output or '')[:50]}"))
    for entry in find_runs():
        if entry.metadata.get("suite_id") == suite.id:
            raw = entry.run.get("summary", {}).get("raw")
            score = f"mean {raw['mean']:.4g}" if raw else "not judged" if entry.score is None else percent(entry.score)
            about = f"{entry.metadata.get('run_name', entry.name)}  {score}  {entry.metadata.get('model_name', '')}"
            print(clean(f" run          {about}".rstrip()))
    return EXIT_OK


def suite_run(
    name: SuiteName,
    sources: Annotated[
        list[Path],
        Option("--from", help="a file of outputs; rows are joined by id, else by input, else in order; may be repeated", metavar="FILE"),
    ],
    run_name: Annotated[str | None, Argument(metavar="[RUN]", help="the run's name [default: the name of its file]")] = None,
    candidate_columns: Candidates = None,
    input_column: Annotated[
        str | None, Option("--input", "--input-column", help="the column of inputs to join by [default: the suite's]")
    ] = None,
    context_column: Annotated[str | None, Option("--context", "--context-column", help="the column of contexts, kept with the run")] = None,
    *,
    about: About,
    code: opt.Code,
    invalid_as: opt.InvalidAs = "null",
    outcome: Outcome,
) -> int:
    """Score files of candidate outputs against a suite, and save a run of each; exit 4 if a case could not be scored.

    With --json, -o or a gate the runs are also compared: the first is the baseline.
    """
    from evalsuite.reports.test_suite import TestSuite

    columns = list(dict.fromkeys(candidate_columns or ["candidate_output"]))
    planned = _plan_runs(sources, columns, run_name)
    outcome.check(len(planned))
    code.load()
    load_suite(name)
    suite = TestSuite(name)
    how: dict[str, Any] = {"input_column": input_column, "context_column": context_column, **asdict(about)}
    how |= {"allow_programs": code.allow_programs, "invalid_as": opt.parse_invalid_as(invalid_as)}
    runs = _run_each(suite, planned, outcome, how)
    if n_refused := len(planned) - len(runs):
        exit_code = EXIT_USAGE if not runs else EXIT_GATE
        line = f"{n_refused} of {len(planned)} {'files' if len(columns) == 1 else 'columns'} could not be run (exit {exit_code})"
        print(line, file=sys.stderr if outcome.json_ else sys.stdout)
        return exit_code
    names = [own_name for *_, own_name in planned]
    step = ["compare", *names[:2]] if names[1:] else ["report", f"{suite.name}/{names[0]}"]
    if not (outcome.json_ or outcome.quiet):
        print_step("next:", step)
    if not outcome.is_requested:
        return EXIT_UNSCORABLE if count_unjudged(runs.values()) and not outcome.allow_unscored else EXIT_OK
    document, _, exit_code, line = outcome.write(runs)
    if outcome.json_:
        print_document(document, "json")
    else:
        print(clean(line))
    return exit_code


def _plan_runs(sources: Sequence[Path], columns: Sequence[str], run_name: str | None) -> list[tuple[Path, str, str]]:
    """Return file, column and name of each run: `run_name`, else what distinguishes it (file, column or both). Raises `UsageError`."""
    planned = []
    for source in sources:
        for column in columns:
            own_name = source.stem if len(columns) == 1 else column if len(sources) == 1 else f"{source.stem}-{column}"
            planned.append((source, column, own_name))
    if run_name is None:
        return planned
    if len(planned) > 1:
        hint = "leave it out: each run has the name of its file or column"
        raise UsageError(f"one name {run_name!r} for {len(planned)} runs", hint=hint)
    return [(*planned[0][:2], run_name)]


def _run_each(suite: "TestSuite", planned: Sequence[tuple[Path, str, str]], outcome: Outcome, how: Mapping[str, Any]) -> "dict[str, Run]":
    """Run each (file, column, name); return the runs by name. Of several a bad one is left out."""
    runs: dict[str, Run] = {}
    for source, column, own_name in planned:
        try:
            with ProgressBar(hidden=outcome.json_ or outcome.quiet) as progress:
                run = suite.run(own_name, candidate_data_path=source, candidate_column=column, progress=progress, **how)
        except (UsageError, SuiteError) as error:
            if len(planned) == 1:
                raise
            complain(f"{source}: {error.message.removeprefix(f'{source}: ')}", error.hint)
        else:
            runs[own_name] = run.run
            if not outcome.quiet:
                _print_run(run, sys.stderr if outcome.json_ else sys.stdout)
    return runs


def _print_run(run: "TestRun", stream: "TextIO") -> None:
    """Print a run's score, and why cases were not scored."""
    reasons = list(dict.fromkeys(result.reason for result in run.run.results if result.status in UNJUDGED))
    lines = [f"{run.name}: {verdict_line(run.run.summary)}, saved {run.run.folder}"]
    lines += [f" not scored: {reason}" for reason in reasons[:_MOST_REASONS]]
    if reasons[_MOST_REASONS:]:
        lines.append(f" not scored: {len(reasons) - _MOST_REASONS} more reasons, see `evalsuite report {run.id}`")
    for line in lines:
        print(clean(line), file=stream)


def suite_delete(name: SuiteName) -> int:
    """Delete a suite; the run folders of its history are kept."""
    delete_suite(name)
    print(f"deleted suite {name!r}")
    return EXIT_OK


def suite_rename(name: SuiteName, new: Annotated[str, Argument(help="the new name")]) -> int:
    """Rename a suite."""
    rename_suite(name, new)
    print(f"renamed suite {name!r} to {new!r}")
    return EXIT_OK


def suite_export(name: SuiteName, path: Annotated[Path, Argument(help="the JSON file to write", metavar="FILE")]) -> int:
    """Write a suite with its runs to one JSON file."""
    from evalsuite.suites.transfer import export_suite

    export_suite(name, path)
    print(f"wrote {path}")
    return EXIT_OK


def suite_import(
    path: Annotated[Path, Argument(help="a Bench folder, a Bench suite JSON, or an export of evalsuite", metavar="FILE|DIR")],
    force_new_version: Annotated[
        bool, Option("--force-new-version", help="import a suite of an existing name with other cases under a numbered name")
    ] = False,
) -> int:
    """Import suites (and their runs) from a Bench folder, a Bench suite JSON, or an export; existing ones are kept."""
    from evalsuite.suites.transfer import import_suites

    for name in import_suites(path, force_new_version=force_new_version):
        print(f"imported suite {name!r}")
    return EXIT_OK


suite_commands = opt.Group.from_class(
    suite_create, suite_list, suite_show, suite_run, suite_try, suite_export, suite_import, suite_delete, suite_rename, default="list"
)


_MOST_LOST = 5


def import_command(
    paths: Annotated[list[Path], Argument(metavar="FILE...", help="results of promptfoo, logs of Inspect, or samples_*.jsonl of lm-eval")],
    name: Annotated[str | None, Option(help="the suite's name [default: the log's]")] = None,
    scorer: Annotated[str | None, Option(help="also score the outputs with this scorer, as separate runs for `agree`")] = None,
    compare: Annotated[bool, Option("--compare", help="then compare the imported runs of a suite, or report a single one")] = False,
    json_: opt.Json = False,
) -> int:
    """Import logs of promptfoo, Inspect or lm-eval, each as a suite with a run for each provider, log or filter.

    A run keeps the log's verdicts: `compare` compares two of them, `agree` compares theirs with evalsuite's. The same bytes are imported
    once, whatever the file's name; another log of the same suite adds runs, named after the file if a name is taken.
    """
    from evalsuite.suites.tool_logs import read_log, save_log

    steps: list[list[str]] = []
    logs = []
    for path in paths:
        log, folders = save_log(read_log(path), scorer, name=name)
        for lost in log.lost[:_MOST_LOST]:
            print(clean(f"warning: {path}: {lost} cannot be read and is left out"), file=sys.stderr)
        if log.lost[_MOST_LOST:]:
            print(f"warning: {path}: {len(log.lost) - _MOST_LOST} more are left out", file=sys.stderr)
        if log.note:
            print(clean(f"note: {path}: {log.note}"), file=sys.stderr)
        scored_here = _score_outputs(log, scorer) if scorer is not None else []
        logs.append(log)
        steps.append(_next_of_import(log, scored_here, is_new=bool(folders)))
        if json_:
            continue
        for row in log.to_json()["runs"]:
            verdict_of_log = "not judged" if row["theirs"] is None else percent(row["theirs"])
            print(clean(f" {row['name']}: {count_words(row['n'], 'sample')}, {verdict_of_log} by {log.format}"))
        if len(paths) > 1 or compare:
            print(clean(f" imported suite {log.suite!r} from {log.format}, {count_words(len(log.runs), 'run')}"))
        else:
            print_step("next:", steps[-1])
            rest_words = "" if folders or scored_here else "; all of it was there already"
            print(clean(f"done: imported suite {log.suite!r} from {log.format}, {count_words(len(log.runs), 'run')}{rest_words}"))
    if json_:
        print(json.dumps(logs[0].to_json() if len(logs) == 1 else [log.to_json() for log in logs], indent=1))
        return EXIT_OK
    return _compare_imported(logs) if compare else EXIT_OK


def _next_of_import(log: "ForeignLog", scored_here: Sequence[str], *, is_new: bool) -> list[str]:
    """Return the words of the command that a user runs after the import of one log."""
    names = [run.name for run in log.runs]
    if scored_here:
        return ["runs", "agree", f"{log.suite}/{names[0]}", f"{log.suite}/{scored_here[0]}"]
    # A single run is compared with an earlier import of the suite, if there is one.
    others = [str(entry.metadata.get("run_name")) for entry in find_runs(suite=log.suite)] if is_new and not names[1:] else []
    names = [*[name for name in others if name not in names][:1], *names]
    return ["compare", *names[:2]] if names[1:] else ["report", f"{log.suite}/{names[0]}"]


def _compare_imported(logs: "Sequence[ForeignLog]") -> int:
    """Compare the runs of the logs if they are of the same cases and at least two, else report each; return the largest exit code."""
    from evalsuite.cli.parser import load_command

    runs = list(dict.fromkeys(f"{log.suite}/{run.name}" for log in logs for run in log.runs))
    # Logs of other names may be of the same cases, as two files of promptfoo are.
    are_alike = len(runs) > 1 and len({str(one_run(run).run.get("signature")) for run in runs}) == 1
    code = EXIT_OK
    for words in [["compare", *runs]] if are_alike else [["report", run] for run in runs]:
        print_step("$", words)
        code = max(code, load_command(words[0]).main(args=words[1:], prog_name=f"evalsuite {words[0]}", standalone_mode=False) or EXIT_OK)
    return code


def _score_outputs(log: "ForeignLog", scorer: str) -> list[str]:
    """Score the outputs of each run of a log, as further runs of its suite unless they exist; return their names.

    A case without an answer in the log is left out.
    """
    from evalsuite.reports.test_suite import TestSuite

    suite, names = TestSuite(log.suite), []
    known = {entry.metadata.get("run_name") for entry in find_runs(suite=log.suite)}
    for run in log.runs:
        if (name := f"{run.name} by {scorer}") in known:
            names.append(name)
            continue
        outputs = {row.key: row.output for row in run.cases}
        texts = [outputs.get(case.id, "") for case in suite.suite.test_cases]
        unanswered = {row.key for row in run.cases if row.has_no_answer}
        answered = [case.id for case in suite.suite.test_cases if case.id not in unanswered]
        if unanswered:
            words = f"{run.name}: the log has no answer to {count_words(len(unanswered), 'sample')}"
            print(clean(f"note: {words}; {scorer} does not score {'it' if len(unanswered) == 1 else 'them'}"), file=sys.stderr)
        if answered:
            names.append(suite.run(name, candidate_output_list=texts, only=answered if unanswered else ()).name)
    return names


def export_command(
    run: opt.RunName,
    path: Annotated[Path, Argument(metavar="FILE", help="the log to write: .json for Inspect, .jsonl for lm-eval")],
    runs: opt.RunsFolder = opt.RUNS,
    as_: Annotated[str | None, Option("--as", metavar="inspect|lm-eval", help="the format, if the ending does not imply it")] = None,
    reveal: Reveal = None,
) -> int:
    """Write a saved run as a log of Inspect or as samples of lm-eval: question, reference, answer, verdict and reason.

    Instances answered by files, or without a question in gold, cannot be exported and are counted.
    """
    from evalsuite.runs.submission_reader import saved_exchanges
    from evalsuite.suites.tool_logs import EXPORTS, text_samples

    form = as_ or next((name for name, (ending, _) in EXPORTS.items() if path.suffix == ending), "")
    if form not in EXPORTS:
        raise UsageError(f"no log format for {as_ or path.name!r}", hint="--as inspect, or --as lm-eval")
    check_writable(path)
    entry = one_run(run, runs)
    record = redact_record(record_of_entry(entry, exchanges=saved_exchanges(entry)), reveal)
    n = sum(1 for _ in text_samples(record))
    if not n and record.level != "cells":
        why = f"{record.name}: questions and references of a log are gold's, which is hidden here"
        raise UsageError(why, hint="--reveal cells, if you may show them")
    if not n:
        raise UsageError(f"{record.name}: no instance has a question and a text as its answer", hint="`report -o x.json` writes any run")
    try:
        write_atomically(path, EXPORTS[form][1](record))
    except OSError as error:
        raise write_error(path, error) from error
    if n_omitted := len(record.results) - n:
        print(f"note: {n_omitted} of {len(record.results)} instances have no question or no text as their answer and are left out")
    print(clean(f"done: wrote {count_words(n, 'sample')} to {path} in the format of {form}"))
    return EXIT_OK
