"""`evalsuite check` and `evalsuite validate`: a look before handing in, at one instance or prediction, or at the whole folder.

One prediction with one scorer, for `evalsuite check`: what is known about it, printed.

A plain call is read here without the command line parser, whose import would be most of what judging a text costs.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import (
    Code,
    Databases,
    FailUnder,
    FrozenClock,
    Json,
    JudgeFile,
    Layout,
    LiveGold,
    Mode,
    OfRun,
    Questions,
    ResultDir,
    Rules,
    limits_of,
    rule,
    share,
    trusted,
)
from evalsuite.cli.showing import Reveal, print_document
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, FAULTS, FaultError, UsageError, describe
from evalsuite.core.types import EVALUATORS, RULES, Fault, Rule, Score

if TYPE_CHECKING:
    from evalsuite.core.scorer_contract import Scorer


OWN_OPTIONS = (
    "--prediction",
    "--gold",
    "--rules",
    "--json",
    "--explain",
    "--reveal",
    "--databases",
    "--plugin",
    "--allow-programs",
    "--frozen-clock",
    "--questions",
    "--live-gold",
    "--judge",
    "--fail-under",
    "--result-dir",
    "--gold-dir",
    "--layout",
    "--mode",
    "--run",
)
_VALUED = ("--prediction", "--gold", "--rules")


def quick_check(words: Sequence[str]) -> int | None:
    """The exit code of `check SCORER --prediction ... --gold ...`, None for whatever the command line parser has to read."""
    plain = plain_call(words)
    if plain is None:
        return None
    given, rest, as_json = plain
    rules: Rule | None = next((known for known in RULES if given["--rules"] and known == given["--rules"][-1]), None)
    check_prediction(words[0], given["--prediction"], given["--gold"], rest, rules, None, as_json=as_json)
    return EXIT_OK


def plain_call(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str], bool] | None:
    """(values by own option, the scorer's words, whether --json stands there) of a call that begins with a bundled scorer's name.

    None where it has any other option of the command, a short one, or one that cannot be meant.
    """
    from evalsuite.scorers import SCORERS

    if not words or words[0] not in SCORERS.bundled:
        return None
    given: dict[str, list[str]] = {name: [] for name in _VALUED}
    rest: list[str] = []
    as_json = False
    waiting = iter(words[1:])
    for word in waiting:
        option, assigned, value = word.partition("=")
        if option in given:
            taken = value if assigned else next(waiting, None)
            if taken is None or (option == "--rules" and taken not in RULES):
                return None
            given[option].append(taken)
        elif word == "--json":
            as_json = True
        elif word in ("-", "--") or option.replace("_", "-") in (*OWN_OPTIONS, "--help") or (word[:1] == "-" and word[:2] != "--"):
            return None
        else:
            rest.append(word)
    return given, rest, as_json


def check_prediction(
    name: str,
    predictions: Sequence[str],
    gold: Sequence[str],
    words: Sequence[str],
    rules: Rule | None,
    judge: Path | None,
    *,
    as_json: bool,
    allow_programs: bool = False,
) -> float | None:
    """Print what a scorer says of one prediction; the value under the rules, by default strict for trees and official for all else.

    Raises `UsageError` for parameters that the scorer cannot use, and for a file that cannot be read.
    """
    from evalsuite.api import score
    from evalsuite.cli.scorer_options import parse_options
    from evalsuite.core.scorer_contract import check_parameters
    from evalsuite.reports.instance import score_object, score_text

    entry = _scorer(name)
    rules = rules or ("strict" if entry.marker.reads == "tree" else "official")
    parameters = parse_options(entry, words, gold=gold, known=OWN_OPTIONS)
    wanted = entry.parameters.get("gold")
    if wanted is not None and wanted.default is wanted.empty and "gold" not in parameters:
        raise UsageError("no gold given", hint=f"evalsuite check {name} --prediction {_metavar(entry)} --gold {_metavar(entry)}")
    warnings = [problem.message for problem in check_parameters(entry, parameters) if len(problem.blocks) < 2]
    try:
        prediction, asked = _prediction(entry, predictions), _judge_of_file(judge)
        # Files of a form that takes a parser are read in a worker.
        in_json = entry.marker.reads == "tree" and prediction.lower().endswith((".json", ".jsonl"))
        if asked is None and (in_json or (entry.marker.gold_files is not None and entry.marker.reads != "tree")):
            found = _score_behind_walls(entry, prediction, parameters)
        else:
            found = score(name, prediction, judge=asked, allow_programs=allow_programs, **parameters)
    except FaultError as error:
        hint = "" if error.fault.code == "MISSING_FILE" else FAULTS[error.fault.code].hint
        raise UsageError(describe(error.fault), hint=hint) from None
    warnings = list(dict.fromkeys([*warnings, *found.details.get("warnings", ())]))
    if as_json:
        print(json.dumps(score_object(name, found, rules=rules, warnings=warnings), ensure_ascii=True, default=str))
    else:
        print(score_text(name, found, rules=rules, warnings=warnings), end="")
    return found.value(rules)


def _score_behind_walls(entry: "Scorer", prediction: Any, parameters: dict[str, Any]) -> Score:
    """The score of files, read and compared in a worker that may read them and nothing else: none of them ends this process."""
    from evalsuite.api import checked_scorer
    from evalsuite.readers.duckdb_connections import unnamed_copy
    from evalsuite.readers.limits import resolve_limits
    from evalsuite.readers.paths import open_trusted
    from evalsuite.sandbox.rpc_client import WorkerCalls
    from evalsuite.scorers import worker_setup

    checked_scorer(entry.name, parameters)
    limits = resolve_limits()
    given = prediction if isinstance(prediction, list) else [prediction]
    named = [*given, *(value for key in ("gold", "schema") for value in _as_list(parameters.get(key)))]
    files = [Path(value) for value in named if isinstance(value, str) and _is_there(value)]
    n_bytes = sum(file.stat().st_size for file in files)
    with ExitStack() as stack:
        calls = stack.enter_context(WorkerCalls(readable=files, hostile=Path(str(given[0])), limits=limits, setup=worker_setup()))
        copy = None
        if entry.marker.reads == "database":
            source = stack.enter_context(open_trusted(Path(prediction), limit_bytes=limits["file_bytes"]))
            copy = stack.enter_context(unnamed_copy(source, int(limits["file_bytes"])))
        words = (f"{__name__}:score_files", str(Path.cwd()), entry.name, prediction, parameters)
        try:
            told = calls.call(*words, copy=copy, n_bytes=n_bytes)
        except FaultError as error:
            if error.fault.code != "TIMEOUT":
                raise
            # As in a run: the official verdict alone may still be there in time.
            told = calls.call(*words, True, copy=copy, n_bytes=n_bytes)
    faults = {key: None if told[key] is None else Fault(**told[key]) for key in ("fault", "strict_fault")}
    return Score(**{**told, **faults})


def score_files(
    folder: str, name: str, prediction: Any, parameters: dict[str, Any], without_strict: bool = False, *, private: Path | None = None
) -> dict[str, Any]:
    """The fields of the score of files whose names are relative to `folder`. Runs in a worker."""
    from dataclasses import asdict

    from evalsuite.core.plugin_calls import OfficialError, late_strict, official_alone
    from evalsuite.readers.load_answer import read_pair
    from evalsuite.scorers import SCORERS

    os.chdir(folder)
    entry = SCORERS.load(name)
    read, gold = read_pair(entry.marker.reads, prediction, parameters, private=private)
    try:
        with official_alone() if without_strict else nullcontext():
            return asdict(entry.score(read, **{**parameters, **gold}))
    except OfficialError as error:
        return asdict(late_strict(error.score))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _judge_of_file(file: Path | None) -> Any:
    """The judge of a file, None where none is named. Raises `UsageError` for a file that says nothing of one."""
    if file is None:
        return None
    from evalsuite.gold.suite_yaml import judge_section
    from evalsuite.scorers.judge import Judge, read_settings

    return Judge(read_settings(judge_section(file)))


def _scorer(name: str) -> "Scorer":
    from evalsuite.core.registry import UnknownScorerError
    from evalsuite.scorers import SCORERS

    try:
        return SCORERS.load(name)
    except UnknownScorerError as error:
        raise UnknownScorerError(error.message, hint=f"{error.hint} (for an instance add --result_dir FOLDER)") from None


def _metavar(entry: "Scorer") -> str:
    if entry.marker.reads == "tree":
        return "FILE.json"
    return "TEXT" if entry.marker.gold_files is None else "FILE"


def _prediction(entry: "Scorer", given: Sequence[str]) -> Any:
    """What the scorer is to judge: a text, a path, or several paths."""
    if not given:
        raise UsageError("no prediction given", hint=f"evalsuite check {entry.name} --prediction {_metavar(entry)} --gold ...")
    if entry.marker.reads == "tables":
        return list(given)
    if len(given) > 1:
        raise UsageError(f"--prediction is given {len(given)} times", hint=f"{entry.name} judges one")
    if entry.marker.reads == "tree" and given[0].lower().endswith((".json", ".jsonl")):
        # The name of a file, with or without @ in front; any other text is the JSON itself.
        return given[0].removeprefix("@")
    return given[0] if entry.marker.gold_files is not None and entry.marker.reads != "tree" else _named_text(given[0])


def _named_text(given: str) -> str:
    """The text itself, of a file (`@FILE`), or of stdin (`-`); `@@` begins a text with one @. Raises `FaultError`."""
    if given.startswith("@@"):
        return given[1:]
    if given != "-" and not given.startswith("@"):
        return given
    from evalsuite.readers.limits import DEFAULT_LIMITS
    from evalsuite.readers.paths import open_trusted

    where = "stdin" if given == "-" else given[1:]
    try:
        if given == "-":
            return sys.stdin.buffer.read().decode("utf-8")
        with open_trusted(Path(where), limit_bytes=DEFAULT_LIMITS["file_bytes"]) as handle:
            return handle.read().decode("utf-8")
    except UnicodeDecodeError:
        raise FaultError("BAD_ENCODING", where=where) from None
    except FaultError as error:
        raise FaultError(error.fault.code, error.fault.detail, where=where) from None


def check_command(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID|SCORER", help="an instance with --result_dir, else a scorer")],
    result_dir: ResultDir = None,
    gold_dir: Annotated[Path | None, typer.Option("--gold-dir", "--gold_dir", help="the gold folder [default: gold]")] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", help="the gold folder with --result_dir; else what is accepted; may be repeated")
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            "--prediction",
            help="the answer: a text, @FILE or - for stdin; a path where the scorer reads files or JSON; may be repeated there",
        ),
    ] = None,
    run_name: OfRun = None,
    rules: Rules = None,
    judge: JudgeFile = None,
    json_: Json = False,
    explain: Annotated[bool, typer.Option("--explain", help="with --result_dir: also say why the answer is wrong")] = False,
    reveal: Reveal = None,
    *,
    code: Code,
    fail_under: FailUnder = None,
    databases: Databases = None,
    questions: Questions = None,
    frozen_clock: FrozenClock = None,
    live_gold: LiveGold = False,
    layout: Layout = None,
    mode: Mode = None,
) -> int:
    """Score one instance of a submission, or one prediction with a scorer, and show everything known about it.

    evalsuite check sales_001 --result_dir FOLDER --gold_dir gold

    evalsuite check number_match --prediction "about 17.5%" --gold 0.175 --percentage

    The options of a scorer are its parameters; `evalsuite scorers NAME` explains them.
    """
    share(fail_under, "--fail-under")
    limits = limits_of(None, frozen_clock)
    if name.startswith("-"):
        raise UsageError(f"{name!r} stands before the name", hint="evalsuite check NAME, then its options")
    code.load()
    # An evaluator of pairs is how gold is laid out, and its verdict the official one.
    evaluator = rules if rules in EVALUATORS and result_dir is not None else None
    chosen = "official" if evaluator else rule(rules)
    gold_of_run: list[Path] = []
    if run_name is not None:
        if result_dir is not None:
            raise UsageError("--run and --result_dir exclude each other", hint="a run knows its submission")
        from evalsuite.runs.history import one_run, submission_folder
        from evalsuite.runs.rescoring import questions_of

        entry = one_run(run_name)
        result_dir = submission_folder(entry.folder, entry.run)
        gold_of_run = [Path(str(entry.run["gold"]["folder"]))]
        chosen = chosen or rule(str(entry.run["options"].get("rules") or "official"))
        questions = questions_of(entry, questions)
        layout, mode = layout or entry.run["gold"]["layout"], mode or entry.run["options"].get("mode")
        live_gold = live_gold or entry.run["options"].get("live_gold", False)
    if result_dir is not None:
        if ctx.args or prediction:
            word = ctx.args[0] if ctx.args else "--prediction"
            raise UsageError(f"{word!r} is not used with --result_dir", hint="scorer options go without it: evalsuite check SCORER ...")
        folders = [*([gold_dir] if gold_dir is not None else []), *map(Path, gold or ())]
        if len(folders) > 1:
            raise UsageError("the gold folder is given twice", hint="name it once: --gold_dir FOLDER")
        read = {
            "databases": databases,
            "questions": questions,
            "layout": evaluator or layout,
            "mode": mode,
            "allow_programs": code.allow_programs,
            "live_gold": live_gold,
            "limits": limits,
        }
        named = folders or ([] if gold_of_run else [Path("gold")])
        places = (result_dir, (named or gold_of_run)[0])
        with trusted(*named):
            value = _check_instance(name, *places, chosen, read, level=reveal, explain=explain, as_json=json_)
    elif only_for_instances := [
        option
        for option, given in {
            "--explain": explain,
            "--databases": databases,
            "--frozen-clock": frozen_clock,
            "--live-gold": live_gold,
            "--reveal": reveal,
        }.items()
        if given
    ]:
        option = only_for_instances[0]
        raise UsageError(f"{option} needs a submission", hint=f"evalsuite check ID {option} ... --result_dir FOLDER, not {name}")
    else:
        if gold_dir is not None:
            raise UsageError("no submission folder given", hint=f"evalsuite check {name} --result_dir FOLDER --gold_dir {gold_dir}")
        given = (name, prediction or [], gold or [], ctx.args, chosen, judge)
        value = check_prediction(*given, as_json=json_, allow_programs=code.allow_programs)
    if fail_under is None or (value is not None and value >= fail_under):
        return EXIT_OK
    if not json_:
        print(f"below the gate of {fail_under:g} (exit 1)")
    return EXIT_GATE


def _check_instance(
    name: str, submission: Path, gold: Path, rules: Rule | None, read: dict[str, Any], *, level: str | None, explain: bool, as_json: bool
) -> float | None:
    """Score an instance and print it, cut to what may be shown of gold, with `explain` also why it is wrong: its score."""
    from evalsuite.cli.instance_commands import evidence
    from evalsuite.core.redaction import check_level, level_for, reveal
    from evalsuite.reports.explain_documents import explanation_document
    from evalsuite.reports.instance import instance_text
    from evalsuite.runs.run_files import result_line
    from evalsuite.runs.run_options import RunOptions
    from evalsuite.runs.scoring import run

    check_level(level)
    finished = run(submission, gold, RunOptions(rules=rules, only=(name,), save=False, **read))
    result = finished.results[0]
    name, level = result.instance_id, level_for(finished.gold, level)
    about = {"rules": rules, "level": level, "result": result, "databases": read["databases"], "mode": read["mode"]}
    found = evidence(name, submission, finished.gold, **about) if explain else {}
    if as_json:
        row = json.loads(result_line(reveal(result, level)))
        more = {key: value for key, value in found.items() if key not in row and key != "rules"}
        print(json.dumps(row | ({"reveal": level, **more} if explain else {})))
        return result.score
    # The spec holds what is accepted, or the names of the files that do.
    instance = next(i for i in finished.gold.instances if i.instance_id == name) if level == "cells" else None
    print(instance_text(reveal(result, level), instance=instance, submission=finished.submission), end="")
    if explain:
        print_document(explanation_document(name, found))
    return result.score


def validate_command(
    submission: Annotated[Path, typer.Argument(help="the submission folder", show_default=False)],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold folder; its *_eval.jsonl is enough [default: look at the submission alone]"
        ),
    ] = None,
    layout: Layout = None,
    mode: Mode = None,
    json_: Json = False,
) -> int:
    """Say whether a submission folder is ready to hand in: lines, ids, answer types, and whether each file can be read."""
    from evalsuite.analysis.gold_checks.readiness import told, validate

    found = validate(submission, gold, layout=layout, mode=mode)
    if json_:
        print(json.dumps(found.to_json(), indent=2))
        return EXIT_OK if found.ready else EXIT_GATE
    for problem in found.problems:
        print(clean(told(problem)))
    for note in found.notes:
        print(clean(f"note: {note}"))
    kinds = " · ".join(f"{count} {kind}" for kind, count in found.n_answers.items() if count)
    n_answers = sum(found.n_answers.values())
    of = "" if found.n_gold is None else f" of {found.n_gold}"
    print(f"{n_answers}{of} answers" + (f" ({kinds})" if kinds else "") + f", {found.n_ready} ready")
    n_problems = f"{len(found.problems)} problem{'s' if len(found.problems) != 1 else ''}"
    print("ready to hand in" if found.ready else f"not ready: {n_problems} (exit 1)")
    return EXIT_OK if found.ready else EXIT_GATE
