"""`evalsuite check` and `evalsuite validate`: check one instance, one prediction, or a whole submission folder.

A simple call of `check` is parsed here, because importing the command line parser would take most of its time.
"""

import json
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
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, UsageError
from evalsuite.core.types import EVALUATORS, Rule

if TYPE_CHECKING:
    pass


def check_command(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID|SCORER", help="an instance with --result_dir, else a scorer")],
    result_dir: ResultDir = None,
    gold_dir: Annotated[Path | None, typer.Option("--gold-dir", "--gold_dir", help="the gold folder [default: gold]")] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", help="the gold folder with --result_dir; otherwise an accepted answer; may be repeated")
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            "--prediction",
            help="the answer: a text, @FILE or - for stdin; a path if the scorer reads files or JSON, then it may be repeated",
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
    """Score one instance of a submission, or one prediction with a scorer, and show every detail.

        evalsuite check sales_001 --result_dir FOLDER --gold_dir gold

        evalsuite check number_match --prediction "about 17.5%" --gold 0.175 --percentage

    The options of a scorer are its parameters; `evalsuite scorers NAME` explains them.
    """
    share(fail_under, "--fail-under")
    limits = limits_of(None, frozen_clock)
    if name.startswith("-"):
        raise UsageError(f"{name!r} stands before the name", hint="evalsuite check NAME, then its options")
    code.load()
    # An evaluator of query pairs is a layout of gold; its verdict is the official one.
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
        from evalsuite.cli.prediction import check_prediction

        value = check_prediction(*given, as_json=json_, allow_programs=code.allow_programs)
    if fail_under is None or (value is not None and value >= fail_under):
        return EXIT_OK
    if not json_:
        print(f"below the gate of {fail_under:g} (exit 1)")
    return EXIT_GATE


def _check_instance(
    name: str, submission: Path, gold: Path, rules: Rule | None, read: dict[str, Any], *, level: str | None, explain: bool, as_json: bool
) -> float | None:
    """Score an instance, print it at its reveal level, with `explain` also the explanation; return its score."""
    from evalsuite.cli.instance_commands import evidence
    from evalsuite.core.redaction import check_level, level_for, redact
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
        row = json.loads(result_line(redact(result, level)))
        more = {key: value for key, value in found.items() if key not in row and key != "rules"}
        print(json.dumps(row | ({"reveal": level, **more} if explain else {})))
        return result.score
    # The spec contains the accepted answers, or their file names.
    instance = next(i for i in finished.gold.instances if i.instance_id == name) if level == "cells" else None
    print(instance_text(redact(result, level), instance=instance, submission=finished.submission), end="")
    if explain:
        print_document(explanation_document(name, found))
    return result.score


def validate_command(
    submission: Annotated[Path, typer.Argument(help="the submission folder", show_default=False)],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold folder; its *_eval.jsonl is enough [default: check the submission alone]"
        ),
    ] = None,
    layout: Layout = None,
    mode: Mode = None,
    json_: Json = False,
) -> int:
    """Check whether a submission folder is ready to submit: lines, ids, answer types, and whether each file can be read."""
    from evalsuite.analysis.gold_checks.readiness import finding_line, validate

    found = validate(submission, gold, layout=layout, mode=mode)
    if json_:
        print(json.dumps(found.to_json(), indent=2))
        return EXIT_OK if found.ready else EXIT_GATE
    for problem in found.problems:
        print(clean(finding_line(problem)))
    for note in found.notes:
        print(clean(f"note: {note}"))
    kinds = " · ".join(f"{count} {kind}" for kind, count in found.n_answers.items() if count)
    n_answers = sum(found.n_answers.values())
    of = "" if found.n_gold is None else f" of {found.n_gold}"
    print(f"{n_answers}{of} answers" + (f" ({kinds})" if kinds else "") + f", {found.n_ready} ready")
    n_problems = f"{len(found.problems)} problem{'s' if len(found.problems) != 1 else ''}"
    print("ready to submit" if found.ready else f"not ready: {n_problems} (exit 1)")
    return EXIT_OK if found.ready else EXIT_GATE
