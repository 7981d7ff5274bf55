"""`evalsuite THING ...` and `evalsuite what THING ...`: recognise what the user has, and run the command that handles it."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from evalsuite.cli import options as opt
from evalsuite.cli.options import Argument
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EXIT_OK, UsageError, did_you_mean, listed
from evalsuite.core.runtime import program

if TYPE_CHECKING:
    from evalsuite.suites.recognition import Benchmark, Thing

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Most commands that are proposed where several fit.
_MOST_PROPOSED = 3
_NOUNS = {
    "submission": "a submission",
    "gold": "a gold folder",
    "checkout": "a checkout of a benchmark",
    "sql_pairs": "SQL queries",
    "table": "a table",
    "records": "JSON records",
    "candidates": "a table of questions, references and candidates",
    "log": "a log of another tool",
    "run": "a saved run",
    "archive": "an archive of a submission",
    "unknown": "nothing that evalsuite knows",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to do with the things: `commands` in this order, or if that is not clear, no command and the `proposed` ones.

    A command is its words without `evalsuite`.
    """

    kind: str
    commands: Sequence[Sequence[str]] = ()
    proposed: Sequence[Sequence[str]] = ()
    why: str = ""


def is_thing(word: str) -> bool:
    """Return whether a first argument that is no command names something that exists."""
    return bool(_URL.match(word)) or os.path.lexists(word)


def enter(arguments: Sequence[str], dispatch: Callable[[list[str]], int]) -> int:
    """Print and run the commands for the things before the first option; further options go to each command.

    Raises:
        UsageError: it is not clear what to do with the things.
    """
    n = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    things, more = arguments[:n], list(arguments[n:])
    plan = plan_for(things, more)
    if not plan.commands:
        proposed = "; or ".join(f"{program()} {shlex.join(words)}" for words in plan.proposed[:_MOST_PROPOSED])
        raise UsageError(plan.why, hint=proposed or "evalsuite --help lists what can be done")
    stream = sys.stderr if {"--json", "-q", "--quiet"} & set(more) else sys.stdout
    code = EXIT_OK
    for command in plan.commands:
        print(clean(f"$ {program()} {shlex.join([*command, *more])}"), file=stream, flush=True)
        code = max(code, dispatch([*command, *more]))
    return code


def what_command(
    things: Annotated[list[str], Argument(metavar="THING", help="files, folders or URLs")],
    json_: opt.Json = False,
) -> int:
    """Say what files and folders are, and which command `evalsuite THING` would run.

    evalsuite what answers.csv
    """
    plan = plan_for(things, ())
    lines = [f"evalsuite {shlex.join(words)}" for words in plan.commands or plan.proposed]
    if json_:
        print(json.dumps({"kind": plan.kind, "would_run": lines}))
        return EXIT_OK
    names = listed([shlex.quote(word) for word in things])
    print(clean(f"{names}: {_NOUNS[plan.kind]}"))
    if plan.why:
        print(clean(plan.why))
    for at, line in enumerate(lines):
        lead = "would run" if plan.commands and not at else "then" if plan.commands else "possible"
        print(clean(f"{lead}: {line}"))
    return EXIT_OK


def plan_for(words: Sequence[str], more: Sequence[str]) -> Plan:
    """Return what to do with files, folders and URLs; `more` are further options of the command line.

    Raises:
        UsageError: a path that does not exist.
    """
    from evalsuite.suites.recognition import Thing, recognise

    if absent := next((word for word in words if not is_thing(word)), None):
        near = did_you_mean(absent, [place.name for place in Path().iterdir()])
        raise UsageError(
            f"no such file or folder: {absent!r}", hint=near if near.startswith("did") else "name a file or folder that exists"
        )
    things = [Thing(path=Path(word), kind="submission") if _URL.match(word) else recognise(Path(word)) for word in words]
    spelled = [
        word if _URL.match(word) or thing.path == Path(word) else _spelling(thing.path) for word, thing in zip(words, things, strict=True)
    ]
    return _Planner(things, spelled, more).plan()


def _spelling(path: Path) -> str:
    """Return a path relative to the working folder if it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


class _Planner:
    """The choice of a command for recognised things; `names` are their paths as the user wrote them."""

    def __init__(self, things: "Sequence[Thing]", names: Sequence[str], more: Sequence[str]) -> None:
        self.things, self.names, self.more = things, names, more

    def plan(self) -> Plan:
        """Return the plan by the kinds, in the user's order where that matters."""
        kinds = [thing.kind for thing in self.things]
        if len(kinds) == 1:
            alone: Plan = getattr(self, f"_one_{kinds[0]}")(self.things[0], self.names[0])
            return alone
        golds = [i for i, kind in enumerate(kinds) if kind in ("gold", "checkout")]
        answers = [i for i, kind in enumerate(kinds) if kind in ("submission", "archive", "sql_pairs")]
        if len(golds) == 1 and len(golds) + len(answers) == len(kinds):
            return self._against_gold(golds[0], answers)
        if set(kinds) <= {"run", "submission", "archive"}:
            return self._compared(answers)
        if kinds == ["sql_pairs", "sql_pairs"]:
            return self._pairs()
        return self._of_files(kinds)

    def _of_files(self, kinds: Sequence[str]) -> Plan:
        """Return the plan for several logs, two tables, or two sets of records."""
        if set(kinds) == {"log"}:
            return Plan(kind="log", commands=[["import", *self.names, "--compare"]])
        if len(kinds) == 2 and set(kinds) <= {"table", "candidates"}:
            return Plan(kind="table", commands=[["explain", *self.names]])
        if kinds == ["records", "records"] or (sorted(kinds) == ["records", "table"] and self._are_json()):
            return Plan(kind="records", commands=[["explain", *self.names]])
        about = listed([f"{name} ({_NOUNS[kind]})" for name, kind in zip(self.names, kinds, strict=True)])
        proposed = [["what", name] for name in self.names]
        return Plan(kind=kinds[0] if len(set(kinds)) == 1 else "unknown", proposed=proposed, why=f"cannot tell what to do with {about}")

    def _are_json(self) -> bool:
        return all(thing.path.is_dir() or thing.path.suffix.lower() in (".json", ".jsonl") for thing in self.things)

    def _against_gold(self, at: int, answers: Sequence[int]) -> Plan:
        """Score one submission against gold, or compare several on it."""
        thing, name = self.things[at], self.names[at]
        kinds = {self.things[i].kind for i in answers}
        kind = (
            "checkout"
            if thing.kind == "checkout"
            else "archive"
            if kinds == {"archive"}
            else "sql_pairs"
            if kinds == {"sql_pairs"}
            else "submission"
        )
        folders = [self.names[i] for i in answers]
        options = ["--gold", name]
        if thing.kind == "checkout":
            fitting = _fitting(thing.benchmarks, self.things[answers[0]])
            if len(fitting) != 1:
                proposed = [["run", folders[0], *_options_of(one, self.things[answers[0]])] for one in fitting]
                return Plan(kind=kind, proposed=proposed, why=f"{name} contains {len(fitting)} suites that {folders[0]} could answer")
            options = _options_of(fitting[0], self.things[answers[0]])
        return Plan(kind=kind, commands=[["compare" if folders[1:] else "run", *folders, *options]])

    def _compared(self, answers: Sequence[int]) -> Plan:
        kind = "submission" if answers else "run"
        if not answers:
            return Plan(kind=kind, commands=[["compare", *self.names]])
        gold = _gold_near(self.things[answers[0]].path)
        if gold is None and len(answers) == len(self.things):
            return Plan(kind=kind, proposed=[["compare", *self.names, "--gold", "GOLD"]], why=_no_gold(self.names[answers[0]]))
        return Plan(kind=kind, commands=[["compare", *self.names, *(["--gold", str(gold)] if gold is not None else [])]])

    def _pairs(self) -> Plan:
        golds = [i for i, thing in enumerate(self.things) if thing.facts.get("is_gold")]
        if len(golds) != 1:
            proposed = [["run", a, "--gold", b, "--rules", "bird-ex"] for a, b in (self.names, self.names[::-1])]
            return Plan(kind="sql_pairs", proposed=proposed, why="which of the two files is gold? Its lines end in a tab and the database")
        from evalsuite.suites.recognition import Benchmark, benchmarks_of

        gold, answer = self.things[golds[0]], self.things[1 - golds[0]]
        around = next((one for one in benchmarks_of(gold.path.absolute().parent) if one.gold.name == gold.path.name), None)
        databases = around.databases if around is not None else None
        known = Benchmark(name="", gold=Path(self.names[golds[0]]), rules=around.rules if around is not None else None, databases=databases)
        return Plan(kind="sql_pairs", commands=[["run", self.names[1 - golds[0]], *_options_of(known, answer)]])

    def _one_submission(self, thing: "Thing", name: str) -> Plan:
        gold = _gold_near(thing.path) if not _URL.match(name) else _gold_near(Path.cwd() / "x")
        if gold is None:
            return Plan(kind=thing.kind, proposed=[["run", name, "--gold", "GOLD"], ["validate", name]], why=_no_gold(name))
        return Plan(kind=thing.kind, commands=[["run", name, "--gold", str(gold)]])

    _one_archive = _one_submission

    def _one_gold(self, _: "Thing", name: str) -> Plan:
        return Plan(kind="gold", commands=[["gold", "check", name], ["gold", "lint", name]])

    def _one_checkout(self, thing: "Thing", name: str) -> Plan:
        checks = [["gold", "check", *_options_of(one, None)[1:]] for one in thing.benchmarks]
        if len(checks) == 1:
            return Plan(kind="checkout", commands=checks)
        why = f"{name} contains {len(checks)} suites: {listed([one.name for one in thing.benchmarks])}; name one, or the predictions too"
        return Plan(kind="checkout", proposed=checks, why=why)

    def _one_sql_pairs(self, thing: "Thing", name: str) -> Plan:
        from evalsuite.suites.recognition import benchmarks_of

        known = benchmarks_of(thing.path.absolute().parent)
        if thing.facts.get("is_gold"):
            return Plan(kind="sql_pairs", proposed=[["run", "PREDICTIONS", "--gold", name]], why=f"{name} is gold: which predictions?")
        if len(known) == 1:
            return Plan(kind="sql_pairs", commands=[["run", name, *_options_of(known[0], thing)]])
        return Plan(kind="sql_pairs", proposed=[["run", name, "--gold", "gold.sql", "--databases", "DIR"]], why=_no_gold(name))

    def _one_table(self, _: "Thing", name: str) -> Plan:
        proposed = [
            ["explain", "RIGHT.csv", name],
            ["suite", "try", name, "--input", "COLUMN", "--reference", "COLUMN", "--candidate", "COLUMN"],
        ]
        return Plan(kind="table", proposed=proposed, why=f"{name} is a table without a column of right answers: compared with what?")

    def _one_records(self, _: "Thing", name: str) -> Plan:
        return Plan(kind="records", proposed=[["explain", "RIGHT", name]], why=f"{name} contains JSON records: compared with what?")

    def _one_candidates(self, thing: "Thing", name: str) -> Plan:
        facts = thing.facts
        guessed = {
            "--input": [facts["input"] or facts["reference"]],
            "--reference": [facts["reference"]],
            "--candidate": facts["candidates"],
        }
        options = [
            word for option, columns in guessed.items() if option not in self.more for column in columns for word in (option, column)
        ]
        return Plan(kind="candidates", commands=[["suite", "try", name, *options]])

    def _one_log(self, thing: "Thing", name: str) -> Plan:
        files = [name] if not thing.path.is_dir() else [str(Path(name) / file) for file in thing.facts["files"]]
        return Plan(kind="log", commands=[["import", *files, "--compare"]])

    def _one_run(self, _: "Thing", name: str) -> Plan:
        return Plan(kind="run", commands=[["report", name]])

    def _one_unknown(self, thing: "Thing", name: str) -> Plan:
        why = f"cannot tell what {name} is"
        if reason := thing.facts.get("why"):
            why += f": {reason}"
        tables = [file for file in thing.facts.get("files", ()) if file.endswith(".csv")]
        proposed = [["init", "--gold-from", name], ["run", name, "--gold", "GOLD"]] if tables else []
        return Plan(kind="unknown", proposed=proposed, why=why)


def _no_gold(name: str) -> str:
    return f"no gold folder in ./gold or next to {name}: against which gold?"


def _gold_near(path: Path) -> Path | None:
    """Return `./gold`, or the folder `gold` next to a submission or next to its parent folder; None if there is none."""
    from evalsuite.readers.paths import SPEC_PATTERN

    parent = path.absolute().parent
    for place in (Path("gold"), parent / "gold", parent.parent / "gold"):
        if place.is_dir() and any(place.glob(SPEC_PATTERN)):
            return place if not place.is_absolute() else Path(os.path.relpath(place)) if place.is_relative_to(Path.cwd().parent) else place
    return None


def _options_of(benchmark: "Benchmark", answer: "Thing | None") -> list[str]:
    """Return the options of a run against a benchmark's gold; databases only for answers that are queries."""
    runs_queries = answer is not None and (answer.kind == "sql_pairs" or ".sql" in answer.facts.get("endings", ()))
    found = ["--gold", _spelling(benchmark.gold)]
    if benchmark.rules is not None and not (benchmark.rules == "bird-ex" and benchmark.gold.suffix == ".sql"):
        found += ["--rules", benchmark.rules] if answer is not None else []
    if benchmark.databases is not None and (runs_queries or benchmark.rules is not None):
        found += ["--databases", _spelling(benchmark.databases)]
    return found


def _fitting(benchmarks: "Sequence[Benchmark]", answer: "Thing") -> "Sequence[Benchmark]":
    """Return the suites whose gold knows the most of an answer's ids; all if none knows any."""
    from evalsuite.suites.recognition import ids_of_answers, ids_of_gold

    if len(benchmarks) == 1:
        return benchmarks
    ids = ids_of_answers(answer)
    known = [len(ids & ids_of_gold(one.gold)) for one in benchmarks]
    return [one for one, n in zip(benchmarks, known, strict=True) if n == max(known)]
