"""The Python API: `evalsuite.evaluate`, `evalsuite.score` and `evalsuite.assert_scores`."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import EvalsuiteError, FaultError, UsageError, describe, did_you_mean, naming_lost_folder
from evalsuite.core.plugin_calls import allowing_programs, trusting_plugins
from evalsuite.core.registry import Scorer, check_parameters
from evalsuite.core.scores import RULES, Rule, Score, Table, reaches
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.reports.test_suite import ReportedRun
    from evalsuite.scorers.judge import Judge


@contextmanager
def _showing_hints() -> Iterator[None]:
    """Add to an error of the block its hint, or the file of a fault, so that a traceback shows it."""
    try:
        yield
    except EvalsuiteError as error:
        if error.hint:
            error.add_note(f"hint: {error.hint}")
        raise
    except FaultError as error:
        error.add_note(describe(error.fault))
        raise


@_showing_hints()
def evaluate(result_dir: str | Path, gold_dir: str | Path = "gold", **options: Any) -> "ReportedRun":
    """Score a submission against gold.

        run = evalsuite.evaluate("example_submission_folder", "gold")
        run.summary.score    # the mean in [0, 1], None if nothing was scored
        run.to_frame()       # a data frame, one row per instance
        run.write("x.html")  # a report

    Args:
        result_dir: the submission, a folder with `results_metadata.jsonl`.
        gold_dir: the gold folder with one `*_eval.jsonl`.
        **options: the fields of `evalsuite.runs.run_options.RunOptions`: rules, only (ids), pattern, group, limits, jobs, out,
            runs_folder, save (True), allow_programs (False).

    Returns:
        The run: n results in gold order, `run.summary` with all numbers, `run.folder`, where it was saved.

    Raises:
        EvalsuiteError: a folder that cannot be read as a whole, an unknown option, or a working folder that was deleted.
    """
    from evalsuite.reports.test_suite import read_reported_run
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import run

    settings = RunOptions(**_checked_options(options))
    SCORERS.begin_call()
    with naming_lost_folder(), trusting_plugins(Path(gold_dir)):
        return read_reported_run(run(Path(result_dir), Path(gold_dir), settings))


# Options with a few values; None is the default of each.
_CHOICES = {"rules": RULES, "isolation": ("process", "none"), "invalid_as": ("zero",)}


def _checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run, with texts as the types that they stand for. Raises `UsageError` for a name or a value of no use."""
    from dataclasses import fields

    from evalsuite.runs.run_options import RunOptions

    names, checked = [f.name for f in fields(RunOptions)], dict(options)
    for name, value in options.items():
        if name not in names:
            raise UsageError(f"unknown option {name!r}", hint=did_you_mean(name, names))
        if name in _CHOICES and value is not None and value not in _CHOICES[name]:
            raise UsageError(f"{name} cannot be {value!r}", hint=did_you_mean(str(value), _CHOICES[name]))
    for name in ("out", "resume", "runs_folder", "cache", "databases", "questions", "gold_cache", "judge"):
        if isinstance(checked.get(name), str):
            checked[name] = Path(checked[name])
    only, jobs, limits = checked.get("only") or (), checked.get("jobs"), checked.get("limits")
    checked["only"] = tuple(map(str.strip, only.split(","))) if isinstance(only, str) else tuple(only)
    if wrong := [id_ for id_ in checked["only"] if not isinstance(id_, str)]:
        raise UsageError(f"only takes instance ids, found {wrong[0]!r}", hint="ids are texts, as in gold")
    if jobs is not None and (type(jobs) is not int or not 1 <= jobs <= 256):
        raise UsageError(f"jobs cannot be {jobs!r}", hint="a whole number from 1 to 256, or None for the number of cores")
    if limits is not None and not isinstance(limits, Mapping):
        raise UsageError(f"limits cannot be {limits!r}", hint='names and values: {"seconds": 30}')
    if isinstance(checked.get("shard"), str):
        from evalsuite.runs.rescoring import parse_shard

        checked["shard"] = parse_shard(checked["shard"])
    return checked


def assert_scores(
    result_dir: str | Path, gold_dir: str | Path = "gold", *, at_least: float = 1.0, rules: Rule | None = None, **options: Any
) -> "ReportedRun":
    """Score a submission and check its score; for tests.

    Args:
        result_dir: the submission, a folder with `results_metadata.jsonl`.
        gold_dir: the gold folder with one `*_eval.jsonl`.
        at_least: the minimum score in [0, 1].
        rules: `official` or `strict`; by default as the suite says.
        **options: those of `evaluate`; by default the run is not saved.

    Returns:
        The run.

    Raises:
        AssertionError: the score is lower, or nothing was scored; the message lists the instances that are not right.
        EvalsuiteError: as in `evaluate`.
    """
    if not 0 <= at_least <= 1:
        raise UsageError(f"at_least must be between 0 and 1, found {at_least}", hint="0.8 means 80 %")
    run = evaluate(result_dir, gold_dir, **{"save": False, "rules": rules, **options})
    score = run.summary.score
    if score is None or not reaches(score, at_least):
        wrong = [f"{result.instance_id}: {result.reason or result.status}" for result in run.results if result.score != 1]
        words = "nothing was judged" if score is None else f"{score:.4g} is less than {at_least:.4g}"
        more = f"\n  ... {len(wrong) - 20} more" if len(wrong) > 20 else ""
        raise AssertionError(f"{words} in {result_dir}\n" + "\n".join(f"  {line}" for line in wrong[:20]) + more)
    return run


@_showing_hints()
def score(
    name: str,
    prediction: Any,
    *,
    judge: "Judge | Mapping[str, Any] | None" = None,
    allow_programs: bool = False,
    **parameters: Any,
) -> Score:
    """Score one prediction with one scorer.

        evalsuite.score("number_match", "about 17.5%", gold=0.175, percentage=True).official  # 1.0
        evalsuite.score("table_match", "answer.csv", gold="gold.csv", ignore_order=True).reason

    Args:
        name: a scorer, for example `number_match`; `evalsuite gold scorers` lists them, `evalsuite gold scorers NAME` shows its parameters.
        prediction: the text of the answer; for table and database scorers a path (a list of paths for `tables_match`), relative to the
            working folder. A query runs in this process, on the file in `database`.
        judge: for scorers that ask a model: an `evalsuite.Judge`, or the keys of the `judge` section of a suite.yaml.
        allow_programs: whether a prediction that is a program may run without a sandbox (python_unit_testing, pass_at_k).
        **parameters: the keys of `parameters` in a gold file; `gold` is a path if the scorer reads files.

    Returns:
        A `Score`: `.official` and `.strict` in [0, 1] (None if that rule cannot judge), `.reason` and `.strict_reason`, one sentence each,
        `.fault` and `.strict_fault` for answers that could not be read or scored, and `.details`.

    Raises:
        UnknownScorerError: no such scorer.
        UsageError: parameters that the scorer cannot use under either rule.
        FaultError: a file that cannot be read, or a scorer of your own that fails.
    """
    entry = checked_scorer(name, parameters)
    _check_prediction(entry, prediction)
    own_judge = _judge(judge)
    with allowing_programs(allow_programs):
        if entry.marker.reads == "batch":
            return entry.score(prediction, own_judge if SCORERS.plugin_batch(name) is None else None, **parameters)
        if entry.marker.reads == "query":
            from evalsuite.sql.query_pairs import both_tables

            return entry.score(both_tables(prediction, parameters, Path()), **parameters)
        if entry.marker.gold_files is not None or entry.marker.reads == "tree":
            from evalsuite.readers.load_answer import read_pair

            prediction, read = read_pair(entry.marker.reads, prediction, parameters)
            parameters |= read
        if own_judge is not None and entry.asks_judge(parameters):
            parameters["judge"] = own_judge
        return entry.score(prediction, **parameters)


# What the prediction of a scorer is, by what it reads: in words, and by type (`Table` is a table that was read).
_PREDICTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    "table": ("the path of a file", (str, os.PathLike, Table)),
    "tables": ("a list of paths", (list, tuple)),
    "database": ("the path of a database", (str, os.PathLike, Mapping)),
}


def _check_prediction(entry: Scorer, prediction: Any) -> None:
    """Raise `UsageError` for a prediction of another type than a bundled scorer reads."""
    words, types = _PREDICTIONS.get(entry.marker.reads, ("", ()))
    if entry.marker.reads == "text" and entry.function.__annotations__.get("prediction") is str:
        words, types = "a text", (str,)
    if entry.is_foreign or not types:
        return
    paths = prediction if isinstance(prediction, list | tuple) and entry.marker.reads == "tables" else [prediction]
    each = _PREDICTIONS["table"][1] if entry.marker.reads == "tables" else types
    if isinstance(prediction, types) and all(isinstance(path, each) for path in paths):
        if words == "a text" or not any(isinstance(path, str) and "\0" in path for path in paths):
            return
        raise UsageError(f"the prediction of {entry.name} has a character that no path may have", hint=f"{entry.name} takes {words}")
    hint = ""
    if words == "a list of paths" and isinstance(prediction, str | os.PathLike):
        hint = f"did you mean [{os.fspath(prediction)!r}]?"
    elif words == "a text" and isinstance(prediction, int | float):
        hint = f"did you mean {str(prediction)!r}?"
    raise UsageError(f"{entry.name} takes {words} as prediction, found {type(prediction).__name__}", hint=hint)


def checked_scorer(name: str, parameters: Mapping[str, Any]) -> Scorer:
    """Return the scorer of that name after checking the parameters. Raises `UnknownScorerError`, `UsageError`."""
    entry = SCORERS.load(name)
    for problem in check_parameters(entry, parameters):
        if problem.blocks >= {"official", "strict"} or problem.message.startswith("unknown parameter"):
            raise UsageError(problem.message, hint=problem.hint)
    return entry


def _judge(client: "Judge | Mapping[str, Any] | None") -> "Judge | None":
    if isinstance(client, str | os.PathLike):
        raise UsageError(f"judge cannot be {client!r}", hint="an evalsuite.Judge, or the keys of `judge` in suite.yaml")
    if not isinstance(client, Mapping):
        return client
    from evalsuite.scorers.judge import Judge, read_settings

    return Judge(read_settings(client))
