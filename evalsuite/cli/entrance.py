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
from evalsuite.cli.showing import print_step
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import EXIT_OK, UsageError, did_you_mean, join_names
from evalsuite.core.files import is_dir, is_file
from evalsuite.core.runtime import program

if TYPE_CHECKING:
    from evalsuite.suites.recognition import Benchmark, Thing

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_READ = "submissions, gold folders, tables, JSON records, SQL queries, logs of other tools, runs and archives"
# Words in the name of a file with right answers.
_RIGHT = re.compile(r"(?<![a-z])(gold|golden|right|reference|ref|expected|truth|target|correct|solution)(?![a-z])", re.IGNORECASE)
# Runs of a folder that are compared; more are listed.
_MOST_COMPARED = 4
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

    A command is its words without `evalsuite`; a proposed text is a whole line of the shell.
    """

    kind: str
    commands: Sequence[Sequence[str]] = ()
    proposed: Sequence[Sequence[str] | str] = ()
    why: str = ""

    def lines(self, start: str) -> list[str]:
        """Return the commands, or else the proposed ones, as lines of the shell that begin with `start`."""
        return [line if isinstance(line, str) else f"{start} {shlex.join(line)}" for line in self.commands or self.proposed]


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
        proposed = "; or ".join(plan.lines(program())[:_MOST_PROPOSED])
        raise UsageError(plan.why, hint=proposed or f"it reads {_READ}; `evalsuite --help` shows more")
    stream = sys.stderr if {"--json", "-q", "--quiet"} & set(more) else sys.stdout
    code = EXIT_OK
    for command in plan.commands:
        print_step("$", [*command, *more], stream)
        code = max(code, dispatch([*command, *more]))
    return code


def what_command(
    things: Annotated[list[str], Argument(metavar="THING", help="files, folders or URLs")],
    json_: opt.Json = False,
) -> int:
    """Print what files and folders are, and which command `evalsuite THING` would run."""
    plan = plan_for(things, ())
    lines = plan.lines("evalsuite")
    if json_:
        print(json.dumps({"kind": plan.kind, "would_run": lines}))
        return EXIT_OK
    names = join_names([shlex.quote(word) for word in things])
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

    if (absent := next((word for word in words if not is_thing(word)), None)) is not None:
        near = did_you_mean(absent, [place.name for place in Path().iterdir()])
        raise UsageError(
            f"no such file or folder: {absent!r}", hint=near if near.startswith("did") else "name a file or folder that exists"
        )
    return _only_named_code(
        words,
        _plan_of_things(
            words, [Thing(path=Path(word), kind="submission") if _URL.match(word) else recognise(Path(word)) for word in words], more
        ),
    )


def _plan_of_things(words: Sequence[str], kinds: "Sequence[Thing]", more: Sequence[str]) -> Plan:
    """Return the plan for the recognised words; an archive or a folder of several things is replaced by its content."""
    things: list[Thing] = []
    names: list[str] = []
    is_archive = False
    for word, thing in zip(words, kinds, strict=True):
        is_archive = is_archive or thing.kind == "archive"
        thing = _look_inside_archive(thing)
        parts = thing.parts if thing.kind != "submission" or len(thing.parts) > 1 else ()
        things += parts or [thing]
        names += [_spell_path(part.path) for part in parts] or [
            word if _URL.match(word) or thing.path == Path(word) else _spell_path(thing.path)
        ]
    if len(words) == 1 and len(things) > 1:
        plan = _plan_of_folder(words[0], things, names, more)
    else:
        folders = [i for i, thing in enumerate(kinds) if thing.kind == "submission" and len(thing.parts) > 1]
        if len(words) == 2 and len(folders) == 1 and kinds[1 - folders[0]].kind == "gold":
            # A folder of submissions and their gold: as the folder alone.
            return Plan(kind="submission", commands=[["leaderboard", words[folders[0]], "--gold", words[1 - folders[0]]]])
        plan = _Planner(things, names, more).plan()
    return replace(plan, kind="archive") if is_archive and plan.kind not in ("checkout", "unknown") else plan


def _only_named_code(words: Sequence[str], plan: Plan) -> Plan:
    """Return the plan; without commands if they would execute plugins of a gold folder that the words do not name."""
    golds = {command[at + 1] for command in plan.commands for at, word in enumerate(command[:-1]) if word in ("--gold", "check")}
    if unnamed := next((gold for gold in golds - {*words, "gold"} if _has_plugins(Path(gold))), None):
        return replace(plan, commands=(), proposed=plan.commands, why=f"{unnamed} has plugins, which are executed: name it if you trust it")
    return plan


def _has_plugins(gold: Path) -> bool:
    """Return whether a gold folder may load Python code."""
    folder = gold if is_dir(gold) else gold.parent
    suite = folder / "suite.yaml"
    return next(folder.glob("*.py"), None) is not None or (is_file(suite) and b"plugin" in suite.read_bytes())


def _look_inside_archive(thing: "Thing") -> "Thing":
    """Return what is in an archive that is no submission, unpacked into the cache; another thing as it is."""
    from evalsuite.readers.archives import is_archive

    for _ in range(_MOST_COMPARED):
        if thing.kind != "archive" or thing.facts.get("is_submission") or not is_archive(thing.path.name):
            break
        from evalsuite.suites.recognition import recognise

        thing = recognise(opt.local_folder(thing.path) or thing.path)
    return thing


def _plan_of_folder(name: str, things: "Sequence[Thing]", names: Sequence[str], more: Sequence[str]) -> Plan:
    """Return the plan for a folder of submissions, runs and gold."""
    by_kind = {kind: [i for i, thing in enumerate(things) if thing.kind == kind] for kind in ("gold", "submission", "run")}
    if by_kind["submission"]:
        gold = [names[i] for i in by_kind["gold"]] or [
            str(near) for near in [_find_gold_near(things[by_kind["submission"][0]])] if near is not None
        ]
        if len(gold) == 1 and (by_kind["submission"][1:] or not by_kind["gold"]):
            folder = name if not by_kind["gold"] else [names[i] for i in by_kind["submission"]]
            return Plan(
                kind="submission", commands=[["leaderboard", *([folder] if isinstance(folder, str) else folder), "--gold", gold[0]]]
            )
        named_folders = [*by_kind["gold"], *by_kind["submission"]]
    elif len(by_kind["run"]) > _MOST_COMPARED:
        return Plan(kind="run", commands=[["runs", "list", "--runs", name]])
    else:
        named_folders = by_kind["gold"] or by_kind["run"]
    return _Planner([things[i] for i in named_folders], [names[i] for i in named_folders], more).plan()


def _spell_path(path: Path) -> str:
    """Return a path relative to the working folder if it is below it."""
    working_folder = Path.cwd()
    return str(path.relative_to(working_folder)) if path.is_relative_to(working_folder) else str(path)


class _Planner:
    """The choice of a command for recognised things; `names` are their paths as the user wrote them."""

    def __init__(self, things: "Sequence[Thing]", names: Sequence[str], more: Sequence[str]) -> None:
        self.things, self.names, self.more = things, list(names), more

    def plan(self) -> Plan:
        """Return the plan by the kinds, in the user's order where that matters."""
        kinds = [thing.kind for thing in self.things]
        if len(kinds) == 1:
            alone: Plan = getattr(self, f"_plan_{kinds[0]}")(self.things[0], self.names[0])
            return alone
        golds = [i for i, kind in enumerate(kinds) if kind in ("gold", "checkout")]
        answers = [i for i, kind in enumerate(kinds) if kind in ("submission", "archive", "sql_pairs")]
        if len(golds) == 1 and len(golds) + len(answers) == len(kinds):
            return self._score_against_gold(golds[0], answers)
        files = [thing.parts[0] if thing.parts else thing for thing in self.things]
        if any(thing.parts for thing in self.things) and {file.kind for file in files} <= {"table", "candidates", "records"}:
            # Folders with a single file: no submission, as there is no gold.
            return _Planner(files, [_spell_path(file.path) for file in files], self.more).plan()
        if set(kinds) <= {"run", "submission", "archive"}:
            return self._compare(answers)
        if kinds == ["sql_pairs", "sql_pairs"]:
            return self._pairs()
        return self._plan_files(kinds)

    def _plan_files(self, kinds: Sequence[str]) -> Plan:
        """Return the plan for several logs, two tables, or two sets of records."""
        if set(kinds) == {"log"}:
            files = [file for thing, name in zip(self.things, self.names, strict=True) for file in _log_files(thing, name)]
            return Plan(kind="log", commands=[["runs", "import", *files, "--compare"]])
        right, *rest = sorted(self.names, key=lambda name: not _RIGHT.search(Path(name).name))
        is_table = set(kinds) <= {"table", "candidates"}
        if is_table or (set(kinds) <= {"records", "table"} and self._are_json()):
            pairs = [["explain", right, name] for name in rest]
            kind = "table" if is_table else "records"
            if len(pairs) == 1:
                return Plan(kind=kind, commands=pairs)
            return Plan(kind=kind, proposed=pairs, why=f"{len(kinds)} files: which two?")
        return self._explain_unclear(kinds)

    def _explain_unclear(self, kinds: Sequence[str]) -> Plan:
        """Return the plan for things that do not fit together: the possible commands of each."""
        about = join_names(
            [f"{name} ({thing.facts.get('why') or _NOUNS[thing.kind]})" for name, thing in zip(self.names, self.things, strict=True)]
        )
        golds = [name for name, kind in zip(self.names, kinds, strict=True) if kind == "gold"]
        answers = [name for name, kind in zip(self.names, kinds, strict=True) if kind in ("submission", "archive")]
        proposed: list[Sequence[str] | str] = [["run", answers[0], "--gold", gold] for gold in golds] if len(answers) == 1 else []
        for thing, name in zip(self.things, self.names, strict=True) if not proposed else ():
            alone = _Planner([thing], [name], ()).plan()
            proposed += (alone.commands or alone.proposed)[:1] or [["what", name]]
        kind = kinds[0] if len(set(kinds)) == 1 else "unknown"
        return Plan(kind=kind, proposed=list(dict.fromkeys(map(_hashable, proposed))), why=f"cannot tell what to do with {about}")

    def _are_json(self) -> bool:
        from evalsuite.readers.load_table import TREES, ending_of

        return all(is_dir(thing.path) or ending_of(thing.path) in TREES for thing in self.things)

    def _score_against_gold(self, at: int, answers: Sequence[int]) -> Plan:
        """Score one submission against gold, or compare several on it."""
        from evalsuite.readers.archives import is_archive

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
        for i in answers:
            if self.things[i].kind == "archive" and not is_archive(self.things[i].path.name):
                return self._plan_archive(self.things[i], self.names[i])
        folders = [self.names[i] for i in answers]
        options = ["--gold", name]
        if thing.kind == "checkout":
            fitting = _choose_benchmarks(thing.benchmarks, self.things[answers[0]])
            if len(fitting) != 1:
                proposed = [["run", folders[0], *_options_of(benchmark, self.things[answers[0]])] for benchmark in fitting]
                return Plan(kind=kind, proposed=proposed, why=f"{name} contains {len(fitting)} suites that {folders[0]} could answer")
            options = _options_of(fitting[0], self.things[answers[0]])
        return Plan(kind=kind, commands=[["compare" if folders[1:] else "run", *folders, *options]])

    def _compare(self, answers: Sequence[int]) -> Plan:
        kind = "submission" if answers else "run"
        if not answers:
            return Plan(kind=kind, commands=[["compare", *self.names]])
        gold = _find_gold_near(self.things[answers[0]])
        if gold is None and len(answers) == len(self.things):
            proposed = [["compare", *self.names, "--gold", "GOLD"], *_gold_of_tables(self.things[0], self.names[0], self.names[1])]
            return Plan(kind=kind, proposed=proposed, why=_no_gold(self.names[answers[0]]))
        return Plan(kind=kind, commands=[["compare", *self.names, *(["--gold", str(gold)] if gold is not None else [])]])

    def _pairs(self) -> Plan:
        golds = [i for i, thing in enumerate(self.things) if thing.facts.get("is_gold")]
        if len(golds) != 1:
            proposed = [["run", a, "--gold", b, "--rules", "bird-ex"] for a, b in (self.names, self.names[::-1])]
            return Plan(kind="sql_pairs", proposed=proposed, why="which of the two files is gold? Its lines end in a tab and the database")
        from evalsuite.suites.recognition import Benchmark, benchmarks_of

        gold, answer = self.things[golds[0]], self.things[1 - golds[0]]
        around = next((suite for suite in benchmarks_of(gold.path.absolute().parent) if suite.gold.name == gold.path.name), None)
        databases = around.databases if around is not None else None
        benchmark = Benchmark(
            name="", gold=Path(self.names[golds[0]]), rules=around.rules if around is not None else None, databases=databases
        )
        return Plan(kind="sql_pairs", commands=[["run", self.names[1 - golds[0]], *_options_of(benchmark, answer)]])

    def _plan_submission(self, thing: "Thing", name: str) -> Plan:
        gold = _find_gold_near(thing) if not _URL.match(name) else _find_gold_near(replace(thing, path=Path.cwd() / "x"))
        if gold is not None:
            return Plan(kind=thing.kind, commands=[["run", name, "--gold", str(gold)]])
        if thing.parts:
            return _Planner(thing.parts, [_spell_path(thing.parts[0].path)], self.more).plan()
        proposed = [["run", name, "--gold", "GOLD"], *(_gold_of_tables(thing, name, "ANSWERS") or [["validate", name]])]
        return Plan(kind=thing.kind, proposed=proposed, why=_no_gold(name))

    def _plan_archive(self, thing: "Thing", name: str) -> Plan:
        from evalsuite.readers.archives import is_archive

        if is_archive(name):
            return self._plan_submission(thing, name)
        folder = f"{Path(name).name.partition('.')[0]}_unpacked"
        unpack = f"mkdir {shlex.quote(folder)} && tar -xf {shlex.quote(name)} -C {shlex.quote(folder)}"
        return Plan(
            kind="archive", proposed=[unpack, [folder]], why=f"{name} is an archive, but its name does not end in .zip, .tar or .tar.gz"
        )

    def _plan_gold(self, _: "Thing", name: str) -> Plan:
        return Plan(kind="gold", commands=[["gold", "check", name], ["gold", "lint", name]])

    def _plan_checkout(self, thing: "Thing", name: str) -> Plan:
        checks = [["gold", "check", *_options_of(suite, None)[1:]] for suite in thing.benchmarks]
        if len(checks) == 1:
            return Plan(kind="checkout", commands=checks)
        suites = join_names([suite.name for suite in thing.benchmarks])
        why = f"{name} contains {len(checks)} suites: {suites}; name one, or the predictions too"
        return Plan(kind="checkout", proposed=checks, why=why)

    def _plan_sql_pairs(self, thing: "Thing", name: str) -> Plan:
        from evalsuite.suites.recognition import benchmarks_of

        suites = benchmarks_of(thing.path.absolute().parent)
        if thing.facts.get("is_gold"):
            return Plan(kind="sql_pairs", proposed=[["run", "PREDICTIONS", "--gold", name]], why=f"{name} is gold: which predictions?")
        if len(suites) == 1:
            return Plan(kind="sql_pairs", commands=[["run", name, *_options_of(suites[0], thing)]])
        return Plan(kind="sql_pairs", proposed=[["run", name, "--gold", "gold.sql", "--databases", "DIR"]], why=_no_gold(name))

    def _plan_table(self, thing: "Thing", name: str) -> Plan:
        from evalsuite.suites.recognition import is_label

        columns = [str(column) for column in thing.facts.get("columns", ())]
        if len(texts := [column for column in columns if not is_label(column)]) > 2:
            columns = texts
        guess = columns[:3] if len(columns) > 2 else ["COLUMN"] * 3
        words = [word for option, column in zip(("--input", "--reference", "--candidate"), guess, strict=True) for word in (option, column)]
        more = [word for column in columns[3:6] for word in ("--candidate", column)]
        proposed = [["explain", "RIGHT.csv", name], ["suite", "try", name, *words, *more]][:: -1 if columns[2:] else 1]
        if thing.facts.get("n_rows") == 0:
            return Plan(kind="table", proposed=[["explain", "RIGHT.csv", name]], why=f"{name} has a header and no row")
        lacks = "right answers" if not columns or len(columns) > 2 else "candidates' answers"
        return Plan(kind="table", proposed=proposed, why=f"{name} is one table, without a known column of {lacks}")

    def _plan_records(self, _: "Thing", name: str) -> Plan:
        return Plan(
            kind="records", proposed=[["explain", "RIGHT", name]], why=f"{name} contains JSON records, without others to compare them with"
        )

    def _plan_candidates(self, thing: "Thing", name: str) -> Plan:
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

    def _plan_log(self, thing: "Thing", name: str) -> Plan:
        return Plan(kind="log", commands=[["runs", "import", *_log_files(thing, name), "--compare"]])

    def _plan_run(self, _: "Thing", name: str) -> Plan:
        return Plan(kind="run", commands=[["report", name]])

    def _plan_unknown(self, thing: "Thing", name: str) -> Plan:
        why = f"cannot tell what {name} is"
        if reason := thing.facts.get("why"):
            why += f": {reason}"
        proposed: list[Sequence[str] | str] = []
        if encoding := thing.facts.get("encoding"):
            plain = str(Path(name).with_suffix(f".utf8{Path(name).suffix}"))
            proposed = [f"iconv -f {encoding} -t UTF-8 {shlex.quote(name)} > {shlex.quote(plain)}", [plain]]
        elif ending := thing.facts.get("ending"):
            plain = str(Path(name).with_suffix(ending))
            proposed = [f"cp {shlex.quote(name)} {shlex.quote(plain)}", [plain]]
        elif thing.facts.get("is_text"):
            proposed = [["suite", "run", "SUITE", "--from", name]]
        elif thing.facts.get("is_unfinished"):
            proposed = [["run", "FOLDER", "--resume", name]]
        elif any(file.lower().endswith(".csv") for file in thing.facts.get("files", ())):
            proposed = [["init", "--gold-from", name], ["run", name, "--gold", "GOLD"]]
        return Plan(kind="unknown", proposed=proposed, why=why)


def _hashable(command: Sequence[str] | str) -> Sequence[str] | str:
    return command if isinstance(command, str) else tuple(command)


def _log_files(thing: "Thing", name: str) -> list[str]:
    """Return the files of a log, or of a folder of logs."""
    return [str(Path(name) / file) for file in thing.facts["files"]] if is_dir(thing.path) else [name]


def _gold_of_tables(thing: "Thing", name: str, answers: str) -> list[list[str]]:
    """Return the commands that make gold of a folder of CSV files and score another against it; empty for another folder."""
    if ".csv" not in thing.facts.get("endings", ()):
        return []
    gold = f"{Path(name).name}_gold"
    return [["init", "--gold-from", name, "--out", gold], ["run", answers, "--gold", gold, "--layout", "lite"]]


def _no_gold(name: str) -> str:
    return f"no gold folder with the ids of {name} in ./gold or next to it: against which gold?"


def _find_gold_near(thing: "Thing") -> Path | None:
    """Return `./gold`, or the folder `gold` next to a submission or next to its parent folder: the first that knows one of its ids.

    For a folder with a metadata file it is the first one at all if none knows an id; None if there is none.
    """
    from evalsuite.readers.paths import SPEC_PATTERN, metadata_like
    from evalsuite.suites.recognition import ids_of_answers, ids_of_gold

    parent = thing.path.absolute().parent
    places = [place for place in (Path("gold"), parent / "gold", parent.parent / "gold") if is_dir(place) and any(place.glob(SPEC_PATTERN))]
    is_sure = thing.kind == "archive" or not is_dir(thing.path) or bool(metadata_like(thing.path))
    if not is_sure or len({place.resolve() for place in places}) > 1:
        ids = ids_of_answers(thing)
        fitting = [place for place in places if ids & ids_of_gold(place)]
        places = fitting or (places if is_sure else [])
    for place in places[:1]:
        return place if not place.is_absolute() else Path(os.path.relpath(place)) if place.is_relative_to(Path.cwd().parent) else place
    return None


def _options_of(benchmark: "Benchmark", answer: "Thing | None") -> list[str]:
    """Return the options of a run against a benchmark's gold; databases only for answers that are queries."""
    runs_queries = answer is not None and (answer.kind == "sql_pairs" or ".sql" in answer.facts.get("endings", ()))
    options = ["--gold", _spell_path(benchmark.gold)]
    if benchmark.rules is not None and not (benchmark.rules == "bird-ex" and benchmark.gold.suffix == ".sql"):
        options += ["--rules", benchmark.rules] if answer is not None else []
    if benchmark.databases is not None and (runs_queries or benchmark.rules is not None):
        options += ["--databases", _spell_path(benchmark.databases)]
    return options


def _choose_benchmarks(benchmarks: "Sequence[Benchmark]", answer: "Thing") -> "Sequence[Benchmark]":
    """Return the suites whose gold knows the most of an answer's ids; all if none knows any."""
    from evalsuite.suites.recognition import ids_of_answers, ids_of_gold

    if len(benchmarks) == 1:
        return benchmarks
    ids = ids_of_answers(answer)
    n_shared = [len(ids & ids_of_gold(benchmark.gold)) for benchmark in benchmarks]
    return [benchmark for benchmark, n in zip(benchmarks, n_shared, strict=True) if n == max(n_shared)]
