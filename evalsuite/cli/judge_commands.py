"""`evalsuite judge`: test the judge model with one question, or measure its biases on cases with known verdicts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalsuite.cli.options import Group, JudgeFile
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_OK, EXIT_UNSCORABLE, FaultError, UsageError, describe

if TYPE_CHECKING:
    from evalsuite.scorers.judge.client import Exchange
    from evalsuite.scorers.judge.settings import Settings


JudgeGold = Annotated[
    Path, typer.Option("--gold", "--gold-dir", "--gold_dir", help="the gold folder with the judge settings, if --judge is not given")
]
JsonToo = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")]
_LONGEST = 2_000


def judge_test(judge: JudgeFile = None, gold: JudgeGold = Path("gold"), json_: JsonToo = False) -> int:
    """Ask each model one question and show the requests, duration, parsed reply and cost; exit 4 if one fails."""
    settings = _settings(judge, gold)
    tried = [_try_model(settings, model) for model in settings.all_models]
    if json_:
        print(json.dumps(tried[0] if len(tried) == 1 else tried, indent=2))
    else:
        for one in tried:
            _show_try(one)
    failed = [one["model"] for one in tried if one["fault"]]
    if not json_:
        print(clean(f"failed: {', '.join(failed)}" if failed else f"done: {', '.join(settings.all_models)} can judge"))
    return EXIT_UNSCORABLE if failed else EXIT_OK


def _settings(judge: Path | None, gold: Path) -> "Settings":
    """Return the judge settings. Raises `UsageError` if there are none, or no model."""
    from evalsuite.gold.suite_yaml import judge_of
    from evalsuite.scorers.judge.settings import read_settings

    settings = read_settings(judge_of(judge, gold), folder=gold)
    if not settings.all_models:
        raise UsageError("judge.model is not set", hint="model: NAME in judge.yaml, or below `judge:` in suite.yaml")
    return settings


def _try_model(settings: "Settings", model: str) -> dict[str, Any]:
    """Return one model's reply to the question who wrote Faust, with all traffic."""
    from evalsuite.scorers import SCORERS
    from evalsuite.scorers.judge import Judge

    # Without cached replies, because these do not test the endpoint.
    asking = Judge(replace(settings, model=model, models=(), cache="", cassette="", repeats=1))
    exchanges: list[Exchange] = []
    asking.client.endpoint.heard = exchanges.append
    found: dict[str, Any] = {"model": model, "score": None, "reads": "", "fault": ""}
    try:
        score = SCORERS.load("llm_judge").function("It was Goethe", asking, question="Who wrote Faust?", gold="Johann Wolfgang von Goethe")
        found |= {"score": score.official, "reads": score.reason, "fault": describe(score.fault) if score.fault else ""}
    except FaultError as error:
        found["fault"] = describe(error.fault)
    wire = [{"address": one.address, "headers": dict(one.headers), "body": dict(one.body), "status": one.status} for one in exchanges]
    said = [{"seconds": round(one.seconds, 3), "said": one.said[:_LONGEST]} for one in exchanges]
    return found | asking.account.to_json() | {"exchanges": [sent | got for sent, got in zip(wire, said, strict=True)]}


def _show_try(tried: dict[str, Any]) -> None:
    for exchange in tried["exchanges"]:
        print(clean(f"POST {exchange['address']}"))
        for name, value in exchange["headers"].items():
            print(clean(f"  {name}: {value}"))
        for line in json.dumps(exchange["body"], indent=2, ensure_ascii=False).splitlines():
            print(clean(f"  {line}"))
        status = f"HTTP {exchange['status']}" if exchange["status"] else "no whole reply"
        print(f"{status} after {exchange['seconds']:.2f} s")
        for line in exchange["said"].splitlines() or [""]:
            print(clean(f"  {line}"))
    price = "no price is set" if tried["cost"] is None else f"cost {tried['cost']:.4g}"
    print(clean(f"tokens  {tried['prompt_tokens']} + {tried['completion_tokens']}, {price}"))
    if tried.get("served"):
        print(clean(f"served  {', '.join(tried['served'])}"))
    print(clean(f"failed  {tried['fault']}" if tried["fault"] else f"reads   {tried['score']:g}: {tried['reads']}"))


def judge_probe(judge: JudgeFile = None, gold: JudgeGold = Path("gold"), json_: JsonToo = False) -> int:
    """Ask each model some 300 questions with known verdicts: measure its biases, and whether it repeats its verdicts.

    Later runs with the same judge show these biases next to its scores.
    """
    from evalsuite.scorers.judge import Judge
    from evalsuite.scorers.judge.probe import NAMES, Lean, keep_probe, probe

    settings = _settings(judge, gold)
    shown: dict[str, Any] = {}
    for model in settings.all_models:
        one = replace(settings, model=model, models=())
        asking = Judge(replace(one, cache="", cassette="", repeats=1))
        try:
            found = probe(asking)
        except FaultError as error:
            shown[model] = {"fault": describe(error.fault)}
            continue
        path = keep_probe(one, found)
        shown[model] = found.to_json() | {"account": asking.account.to_json(), "kept": str(path) if path else None}
    if json_:
        print(json.dumps(shown, indent=2))
    for model, one in () if json_ else shown.items():
        print(clean(model if "fault" not in one else f"{model}  failed: {one['fault']}"))
        for name in NAMES if "fault" not in one else ():
            lean = Lean(**one[name])
            width = 1.96 * lean.standard_error
            print(f"  {name.replace('_', ' '):<16}{lean.points:+7.1f} ± {width:4.1f}   n {lean.n}, {lean.n_silent} silent")
    failed = [model for model, one in shown.items() if "fault" in one]
    if not json_:
        print(clean(f"failed: {', '.join(failed)}" if failed else f"done: {len(shown)} model{'s' * (len(shown) != 1)} probed"))
    return EXIT_UNSCORABLE if failed else EXIT_OK


judge_commands = Group({"test": judge_test, "probe": judge_probe})
