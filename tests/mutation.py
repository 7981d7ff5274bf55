"""`python -m tests.mutation [PACKAGE|FILE ...|--changed]`: change one place of a package at a time, and see whether its tests notice.

Changed are comparisons, operators, constants (not texts), conditions, results and whole statements. A seed draws a sample of places. A copy
of the project contains all changes of the sample, each behind a switch. One process imports it and collects the package's quick tests; one
fork runs them and notes who reaches which switch; then one fork for each change turns its switch on and runs the tests that reach it, until
one fails, also those that reach it in a process that they start. A change that is made when a file is imported (a
constant, a default, a decorator) needs a new import and takes longer. A change that no test could notice is listed in `EQUIVALENT` with its
reason.
`--options` makes each option of a command, parameter of a scorer, key of suite.yaml, fault code and exit code ineffective instead
(`tests/features.py`); `--record` writes which test notices each into `tests/data/noticed_by.json`.
`--reach` changes nothing and names the lines that no test reaches.
`--changed` takes the lines that differ from the branch `main` (there: from the last commit) and stops after 45 seconds.
"""

import argparse
import ast
import contextlib
import ctypes
import importlib
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Files of the package, and its quick tests.
PACKAGES: dict[str, tuple[str, Sequence[str]]] = {
    "causes": ("analysis/causes/*.py", ("tests/analysis/explain",)),
    "compare": (
        "compare/**/*.py",
        (
            *("tests/compare", "tests/conformance/test_recorded_data.py", "tests/scorers/test_parameters.py"),
            *("tests/scorers/test_duckdb_match_big.py", "tests/trees/test_alignment.py"),
            *("tests/analysis/leaderboard/test_margins.py", "tests/reports/test_terminal.py"),
        ),
    ),
    "core": (
        "core/*.py",
        (
            *("tests/core", "tests/runs/test_small_fields.py", "tests/runs/store/test_run_files.py", "tests/meta/test_foreign_code.py"),
            "tests/gold/test_suite.py",
            *("tests/scorers/test_contract.py", "tests/scorers/test_parameters.py", "tests/scorers/metrics"),
        ),
    ),
    "gold": (
        "gold/*.py",
        (
            *("tests/gold", "tests/core/test_plugins.py", "tests/cli/test_databases.py", "tests/cli/test_runs.py"),
            *("tests/scorers/judge/test_run.py", "tests/runs/test_query_pairs.py"),
        ),
    ),
    "gold_checks": (
        "analysis/gold_checks/*.py",
        (
            "tests/analysis/gold_checks",
            *("tests/cli/test_gold.py", "tests/cli/test_entrance.py"),
            "tests/readers/test_submission_files.py",
        ),
    ),
    "plan": (
        "runs/plan.py",
        ("tests/runs/test_plan.py", "tests/runs/test_gold_queries.py", "tests/trees/test_schemas.py", "tests/suites/test_suites.py"),
    ),
    "ranking": (
        "analysis/leaderboard/*.py",
        (
            *(
                "tests/analysis/leaderboard",
                "tests/reports/site/test_board_yaml.py",
                "tests/cli/test_runs.py",
            ),
            *("tests/cli/test_suite.py", "tests/runs/store/test_given_labels.py", "tests/reports/test_comparison.py"),
        ),
    ),
    "readers": (
        "readers/*.py",
        (
            *("tests/readers", "tests/gold", "tests/compare/tables/test_big_tables.py", "tests/runs/test_archives.py"),
            *("tests/runs/test_submitted_files.py", "tests/runs/test_query_pairs.py", "tests/scorers/test_duckdb_match_big.py"),
            *("tests/cli/test_gold.py", "tests/analysis/explain/test_bundle.py", "tests/runs/workers/test_equal_answers.py"),
        ),
    ),
    "receipts": (
        "analysis/receipts/*.py",
        (
            *(f"tests/analysis/gold_checks/test_{name}.py" for name in ("verify", "forgery", "signing")),
            *("tests/reports/site/test_board_yaml.py", "tests/runs/store/test_run_files.py", "tests/runs/test_query_pairs.py"),
            "tests/runs/test_swap_race.py",
        ),
    ),
    "rescoring": (
        "runs/rescoring.py",
        (
            *("tests/runs/test_shards.py", "tests/runs/test_drift.py", "tests/cli/test_runs.py"),
            *("tests/runs/test_sql_answers.py", "tests/runs/test_gold_queries.py", "tests/scorers/judge/test_run.py"),
        ),
    ),
    "run_folder": ("runs/run_f*.py", ("tests/runs/store", "tests/runs/test_frozen_clock.py", "tests/analysis/gold_checks/test_signing.py")),
    "scorers": (
        "scorers/**/*.py",
        (
            *("tests/scorers", "tests/trees", "tests/meta/test_scorer_table.py"),
            *(f"tests/compare/tables/test_{name}.py" for name in ("small_rules", "table_strict")),
            *("tests/compare/texts/test_values.py", "tests/readers/test_duckdb_views.py", "tests/sql/test_pairs.py"),
        ),
    ),
    "stats": ("stats/*.py", ("tests/stats", "tests/analysis/leaderboard", "tests/conformance/test_text_statistics.py")),
    "summary": ("runs/summary.py", ("tests/runs/test_summary.py",)),
    "trees": ("trees/*.py", ("tests/trees", "tests/conformance/test_recorded_data.py")),
}
# A list of [function, statement, change with its number among those that look the same, why no test can notice it]. Names in statements
# and changes do not count, so that an entry outlives a rename.
_WORDS = {"and", "or", "not", "in", "is", "if", "else", "for", "while", "return", "pass", "lambda", "None", "True", "False", "del", "raise"}


def shape(text: str) -> str:
    """A text of Python with `_` for each name and one kind of quotes: what a rename leaves as it is, and another version of Python."""
    text = text.replace("\\'", "'").replace('"', "'")
    return re.sub(r"""'[^']*'|[^\W\d]\w*""", lambda found: found[0] if found[0][0] == "'" or found[0] in _WORDS else "_", text)


EQUIVALENT: dict[tuple[str, str, str], str] = {
    (function, shape(statement), shape(what)): reason
    for function, statement, what, reason in map(json.loads, (ROOT / "tests/data/equivalent_changes.jsonl").read_text().splitlines())
}

# A package of this project is imported by the fork alone.
IMPORTED = ("_pytest.assertion.rewrite", "duckdb", "hypothesis", "msgspec", "numpy", "pandas", "pydantic", "pytest", "rapidfuzz", "regex")
IMPORTED += ("rich.console", "rich.table", "scipy.optimize", "scipy.stats", "sqlglot", "typer", "yaml")
# Folders of tests that call no command and no scorer by its parameters, or that compare names only.
UNCONCERNED = {*["attacks", "benchmarks", "browser", "conformance", "meta", "newcomer", "platforms", "sandbox", "stats", "upstream"]}
CPU_SECONDS, WALL_SECONDS, LATE = 60, 200, -1000
# Options of `prctl`: a process becomes the parent of what its descendants leave, and gets a signal when its own parent ends.
_ADOPT, _WITH_PARENT = 36, 1
# Events of a test that starts a process, itself or through the command server.
STARTS = {"os.fork", "os.posix_spawn", "socket.connect", "subprocess.Popen"}

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add}
OPERATORS |= {ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}


@dataclass(frozen=True)
class Change:
    """One place of a file (a node of its tree, by its number), and the text of what takes its place."""

    file: str
    line: int
    node: int
    text: str
    before: str
    line_text: str
    at_import: bool
    function: str
    statement: str
    nth: int

    @property
    def what(self) -> str:
        """Old and new text, in one line."""
        return re.sub(r"\s+", " ", f"{self.before} -> {self.text}")

    @property
    def reason(self) -> str:
        """Why no test can notice it, or an empty text."""
        return EQUIVALENT.get(self.key, "")

    @property
    def key(self) -> tuple[str, str, str]:
        """What `EQUIVALENT` lists it by."""
        return self.function, shape(self.statement), shape(f"{self.what} #{self.nth}")


def changed_nodes(node: ast.AST) -> Iterator[str]:
    """The texts that may take a node's place."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others):
            yield ast.unparse(ast.Compare(left, [COMPARISONS[type(op)]()], others))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))
        case ast.BoolOp(op=op, values=values):
            yield ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield ast.unparse(operand)
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield repr(value + 1 if value + 1 != value else value * 2)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if isinstance(test, ast.Name | ast.Attribute | ast.Call):
            yield f"not {ast.unparse(test)}"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"


def changes(file: str, only: Container[str] | None = None) -> Iterator[Change]:
    """Every change of a file, or of these functions, classes and constants of its top level, then without the numbers of their nodes."""
    source = (ROOT / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    # `ast.get_source_segment` splits the file again for each node.
    encoded = source.encode().splitlines(keepends=True)

    def text_of(node: Any) -> str:
        first, *rest = encoded[node.lineno - 1 : node.end_lineno]
        if not rest:
            return first[node.col_offset : node.end_col_offset].decode()
        return b"".join([first[node.col_offset :], *rest[:-1], rest[-1][: node.end_col_offset]]).decode()

    tree = ast.parse(source)
    numbers = {} if only else {id(node): number for number, node in enumerate(ast.walk(tree))}
    if only is not None:
        tree.body = [statement for statement in tree.body if _name(statement) in only]
    owners = dict(_owners(tree, Path(file).stem))
    n_before = Counter[tuple[str, str, str]]()
    for node, at_import in _behaviour(tree):
        place: Any = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
        for text in changed_nodes(node):
            new = text if isinstance(place, ast.stmt) else f"({text})"
            at = place.lineno
            owner = owners[id(node)]
            number = 0 if only else numbers[id(place)]
            change = Change(file, at, number, new, text_of(place), lines[at - 1].strip(), at_import, *owner, nth=1)
            key = change.key
            n_before[key] += 1
            yield replace(change, nth=n_before[key])


def _first_line(statement: ast.AST) -> str:
    """The first line of a statement, after its decorators; what is below it is not written out."""
    bodies: dict[str, list[Any]] = {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": [], "cases": [], "decorator_list": []}
    if not isinstance(getattr(statement, "body", None), list) and not isinstance(statement, ast.Match):
        return ast.unparse(statement).splitlines()[0]
    fields = {name: bodies.get(name, getattr(statement, name, None)) for name in statement._fields}
    return next(filter(None, ast.unparse(type(statement)(**fields, lineno=1)).splitlines()))


def _name(node: ast.AST) -> str:
    """What a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target)
    return ""


def _owners(node: ast.AST, function: str, statement: str = "") -> Iterator[tuple[int, tuple[str, str]]]:
    """The function (after its class and module) or constant, and the first line of the statement of each node, by the node's id."""
    for child in ast.iter_child_nodes(node):
        name, line = function, statement
        if isinstance(child, ast.stmt | ast.match_case):
            line = _first_line(child)
        if isinstance(child, ast.FunctionDef | ast.ClassDef) or (isinstance(node, ast.Module) and _name(child)):
            name = f"{function}.{_name(child)}"
        yield id(child), (name, line)
        yield from _owners(child, name, line)


def with_switches(source: str, sample: Sequence[tuple[int, Change]]) -> str:
    """The source with each change of the sample behind its number's switch."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    places: dict[int, list[tuple[int, Change]]] = {}
    for number, change in sample:
        places.setdefault(id(nodes[change.node]), []).append((number, change))

    class Switches(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            made: Any = self.generic_visit(node)
            for number, change in places.get(id(node), ()):
                switch = ast.parse(f"_switch_({number})", mode="eval").body
                if isinstance(node, ast.stmt):
                    made = ast.If(switch, ast.parse(change.text).body, [made])
                else:
                    made = ast.IfExp(switch, ast.parse(change.text, mode="eval").body, made)
            return made

    tree = Switches().visit(tree)
    begin = next(at for at, node in enumerate(tree.body) if not _is_docstring(node) and not _is_future(node))
    tree.body[begin:begin] = ast.parse("from _switch import is_on as _switch_").body
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _behaviour(node: ast.AST, at_import: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes below one that do something, and whether they do it on import.

    Left out are annotations, decorators, patterns, f-strings and what only type checkers read.
    """
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "format_spec", "bases"}:
            continue
        later = isinstance(node, ast.FunctionDef | ast.Lambda) and name == "body"
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.pattern):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            # `zip` of sides that are of one length anyway.
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            # `X = A | B` at the top of a module is a name for types.
            if isinstance(node, ast.Module) and isinstance(child, ast.Assign) and isinstance(child.value, ast.BinOp):
                continue
            yield child, at_import and not later
            yield from _behaviour(child, at_import and not later)


# The module `_switch` of the copy; outside the package, because some tests import the package again. What is on, and what was reached, is
# in a file that all processes of a test map, also those that may open no file later.
_SWITCH = """
import mmap
from pathlib import Path

N_BYTES = 1 << 15
with Path(__file__).with_suffix(".bin").open("r+b") as file:
    memory = mmap.mmap(file.fileno(), N_BYTES)

def turn_on(number):
    memory[:4] = (number + 1).to_bytes(4, "big")

def is_on(number):
    memory[4 + number] = 1
    return int.from_bytes(memory[:4], "big") == number + 1

def reached():
    return [at for at, is_reached in enumerate(memory[4:]) if is_reached]

def forget():
    memory[4:] = bytes(N_BYTES - 4)
"""


class Session:
    """A plugin of pytest that runs the collected tests in forks: once as they are, then for each change those that reach it."""

    def __init__(self, sample: Sequence[Change], until: float, only_reach: bool) -> None:
        self._sample = sample
        self._until = until
        self._only_reach = only_reach
        self.survivors: list[int] = []
        self.n_tried = 0

    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of pytest's own loop."""
        items = {item.nodeid: item for item in session.items}
        on_import = set(_switch().reached())
        noted, left = Path("reached.json"), self._until - time.monotonic()
        items_in_order = session.items if left > 3600 else _widely(session.items)
        _in_fork(lambda: _note(items_in_order, noted, left / 2), Path("log.txt"), 3600, 3600)
        seconds, reached, starting, is_whole = json.loads(noted.read_text()) if noted.exists() else ({}, {}, [], False)
        names: dict[int, list[str]] = {}
        by_time = sorted(reached, key=seconds.__getitem__)
        widest = sorted(reached, key=lambda name: len(reached[name]))[-2:]
        for name in by_time:
            for number in reached[name]:
                names.setdefault(number, []).append(name)
        if self._only_reach:
            missed = [change for number, change in enumerate(self._sample) if number not in names and number not in on_import]
            lines = {(change.file, change.line): change.line_text for change in missed}
            print(*(f"  {file}:{line}  {text}" for (file, line), text in sorted(lines.items())), sep="\n", flush=True)
            return True
        for number, change in enumerate(self._sample):
            if change.reason:
                print(f"  equivalent {change.file}:{change.line}  {change.what}  ({change.reason})", flush=True)
                continue
            if time.monotonic() > self._until:
                break
            again = change.at_import or (number in on_import and number not in names)
            # Tests that name the file of a change are likeliest to notice it.
            own, wall = {*_tests_of(change.file)}, min(WALL_SECONDS, self._until - time.monotonic() + 1)
            nearest = sorted(by_time, key=lambda name, own=own: name.partition("::")[0] not in own)
            if again:
                known = _within(nearest, seconds)
                code = _in_fork(lambda known=known, number=number: _imported_again(known, number), Path("log.txt"), wall)
            else:
                # The quickest, and two that reach the most.
                known = [name for at, name in enumerate(names.get(number, [])) if at < 300 or name in widest]
                code = _in_fork(lambda known=known, number=number: _run([items[name] for name in known], number), Path("log.txt"), wall)
            failed = Path("failed.txt").read_text() if code == 1 and not again else ""
            if code == 0 and not again:
                # Of what a cache keeps only the first test that asks is noted; and a test that imports the file again, in itself or in a
                # process, need not be one that looks at what was made then.
                known = _within(nearest, seconds)
                code = _in_fork(lambda known=known, number=number: _imported_again(known, number), Path("log.txt"), wall)
            if failed in starting and _in_fork(lambda failed=failed: _run([items[failed]], -1), Path("log.txt")):
                # It fails without the change too, because processes are slow now.
                code = LATE
            if code == LATE or (code in {0, 5} and not is_whole):
                # On a busy machine nothing is known of it: it may wait for ever, or for the CPU; or no test had its turn.
                print(f"  no time    {change.file}:{change.line}  {change.what}", flush=True)
                continue
            self.n_tried += 1
            if code in {0, 5}:
                self.survivors.append(number)
                ran = "" if number in names or again else "  (no test runs it)"
                print(f"  SURVIVED {change.file}:{change.line}  {change.what}{ran}\n      {change.line_text}", flush=True)
        return True


def _widely(items: Sequence[Any]) -> list[Any]:
    """The first case of each test function before the second of any: in little time more functions have their turn."""
    n_before = Counter[str]()
    ranks = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        ranks.append(n_before[function])
        n_before[function] += 1
    return [item for _, item in sorted(zip(ranks, items, strict=True), key=lambda pair: pair[0])]


def _within(names: Sequence[str], seconds: dict[str, float], most: float = 20.0) -> list[str]:
    """The first names whose CPU time is at most so many seconds in all."""
    return [name for name, total in zip(names, accumulate(seconds[name] for name in names), strict=True) if total <= most]


def _switch() -> Any:
    return importlib.import_module("_switch")


def _turn_on(number: int) -> None:
    """Make a change, in this process and in those that tests start."""
    _switch().turn_on(number)


def _passes(item: Any, following: Any) -> bool:
    reports = importlib.import_module("_pytest.runner").runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _run(items: Sequence[Any], number: int) -> int:
    """1 if a test fails with the change made; its name is in `failed.txt`."""
    # Verdicts that commands in the folder of the copy keep are those of the code without the change.
    shutil.rmtree(".evalsuite", ignore_errors=True)
    _turn_on(number)
    for item, following in zip_longest(items, items[1:]):
        if not _passes(item, following):
            Path("failed.txt").write_text(item.nodeid)
            return 1
    return 0


def _note(items: Sequence[Any], target: Path, seconds: float) -> int:
    """Write the time of each test that passes, the switches that it reaches, and the tests that start processes.

    The time is that of the CPU, but that of the clock for a test that starts processes.
    """
    times: dict[str, float] = {}
    reached: dict[str, list[int]] = {}
    starting: list[str] = []
    starts: list[str] = []
    sys.addaudithook(lambda event, _: starts.append(event) if event in STARTS else None)
    end, is_whole = time.monotonic() + seconds, True
    for item, following in zip_longest(items, items[1:]):
        if time.monotonic() > end:
            is_whole = False
            break
        _switch().forget()
        starts.clear()
        begun = time.process_time(), time.monotonic()
        if _passes(item, following):
            times[item.nodeid] = time.monotonic() - begun[1] if starts else time.process_time() - begun[0]
            reached[item.nodeid] = _switch().reached()
            starting += [item.nodeid] if starts else []
    target.write_text(json.dumps([times, reached, starting, is_whole]))
    return 0


def _imported_again(names: Sequence[str], number: int) -> int:
    _turn_on(number)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"evalsuite", "tests"} and name != __name__]:
        del sys.modules[name]
    return _pytest(names)


def _pytest(words: Sequence[str], plugins: Sequence[Any] = ()) -> int:
    pytest = importlib.import_module("pytest")
    options = ["-x", "-q", "--no-header", "--disable-warnings", *(f"-pno:{name}" for name in ("cacheprovider", "xdist"))]
    return int(pytest.main([*options, *words], plugins=list(plugins)))


def _in_fork(job: Any, log: Path, wall_seconds: float = WALL_SECONDS, cpu_seconds: int = CPU_SECONDS) -> int:
    """The exit code of a fork that did a job, `LATE` where it had to be ended.

    Whatever the job started ends with it, in whatever session it is: a change can make a worker endless, and nothing else ends that.
    """
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    before = _children()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setsid()
            ctypes.CDLL(None).prctl(_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            # A limit on the CPU time would be passed on to workers, and a run refuses one of less than its answers may take.
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(out, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
            code = int(job())
        finally:
            sys.stdout.flush()
            os._exit(code)
    late = threading.Event()

    def end() -> None:
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    timer = threading.Timer(wall_seconds, end)
    timer.start()
    ended, status = os.waitpid(-1, 0)
    while ended != pid:
        ended, status = os.waitpid(-1, 0)
    timer.cancel()
    # Its thread must not vanish while the threads of this process are looked at.
    timer.join()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    while left := _children() - before:
        for name in left:
            os.kill(int(name), signal.SIGKILL)
            os.waitpid(int(name), 0)
    return LATE if late.is_set() else os.waitstatus_to_exitcode(status)


def _children() -> set[str]:
    """The ids of this process's children; a thread may end while its list is read."""
    found = set[str]()
    for place in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(place.read_text().split())
    return found


def _copied(place: str) -> None:
    """Work in a copy of the project from here on."""
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis", ".evalsuite")
    shutil.copytree(ROOT, Path(place, "project"), ignore=ignored, symlinks=True)
    if (ROOT.parent / "shared").exists():
        Path(place, "shared").symlink_to(ROOT.parent / "shared")
    os.chdir(Path(place, "project"))
    os.environ["PYTHONPATH"] = str(Path.cwd())
    # Commands of the copy are not those of the server of a test run around this one.
    os.environ.pop("PYTEST_XDIST_TESTRUNUID", None)
    Path("_switch.py").write_text(_SWITCH)
    Path("_switch.bin").write_bytes(bytes(1 << 15))
    sys.path.insert(0, str(Path.cwd()))
    for name in IMPORTED:
        importlib.import_module(name)


def _changed_lines() -> set[tuple[str, int]]:
    """Files and lines that differ from `main`, on `main` from the last commit."""
    from tests.processes import finished

    def git(*words: str) -> str:
        return finished(["git", *words], cwd=ROOT, check=True).stdout

    on_main = git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    base = "HEAD" if on_main else git("merge-base", "main", "HEAD").strip()
    found, file = set(), ""
    for line in git("diff", "-U0", base, "--", "evalsuite").splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            found |= {(file, at) for at in range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1))}
    return found


@cache
def _tests_of(file: str) -> list[str]:
    """The test files that name a module, in the folder of its package first."""
    module = file.removesuffix(".py").replace("/", ".")
    names = re.compile(r"{}|from {} import [^\n]*\b{}\b".format(module, *module.rsplit(".", 1)))
    package = file.split("/")[1]
    files = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: (f"tests/{package}" not in str(path), str(path)))
    return [str(path.relative_to(ROOT)) for path in files if names.search(path.read_text(encoding="utf-8"))]


def _measure(name: str, sample: Sequence[Change], tests: Sequence[str], until: float, only_reach: bool) -> int:
    """Print what became of each change of a sample, and the row of the table; how many survived."""
    # The last change of the package before is still on.
    _switch().turn_on(-1)
    _switch().forget()
    originals = {file: Path(file).read_text(encoding="utf-8") for file in {change.file for change in sample}}
    for file, source in originals.items():
        here = [(number, change) for number, change in enumerate(sample) if change.file == file]
        Path(file).write_text(with_switches(source, here), encoding="utf-8")
    session = Session(sample, until, only_reach)
    out = os.dup(1)

    def job() -> int:
        # This file is of the project itself; the copy's modules are imported by this fork.
        sys.path[0] = str(Path.cwd())
        for module in [module for module in sys.modules if module.partition(".")[0] in {"evalsuite", "tests"} and module != __name__]:
            del sys.modules[module]
        sys.stdout = os.fdopen(out, "w", closefd=False)
        _pytest(["-s", *tests], [session])
        if only_reach:
            return 0
        n_equivalent = sum(bool(change.reason) for change in sample)
        n_killed = session.n_tried - len(session.survivors)
        row = f"{name}: {_share(n_killed, session.n_tried)}, {n_equivalent} equivalent"
        print(row, flush=True)
        with Path("table.txt").open("a", encoding="utf-8") as table:
            table.write(f"{row}, {len(sample) - session.n_tried - n_equivalent} without time\n")
        return min(len(session.survivors), 90)

    try:
        return _in_fork(job, Path("session.txt"), max(until - time.monotonic(), 1) + 30, 10**6)
    finally:
        os.close(out)
        for file, source in originals.items():
            Path(file).write_text(source, encoding="utf-8")


def _share(n: int, n_tried: int) -> str:
    return f"{n} of {n_tried} killed ({n / max(n_tried, 1):.1%})"


def _print_table(text: str) -> None:
    """Print the rows of all packages again, and their sums."""
    sums = [sum(map(int, column)) for column in zip(*re.findall(r"(\d+) of (\d+) .* (\d+) equivalent, (\d+) ", text), strict=True)]
    if len(text.splitlines()) > 1:
        print(f"\n{text}all: {_share(*sums[:2])}, {sums[2]} equivalent, {sums[3]} without time", flush=True)


def _measure_features(words: Sequence[str], is_recorded: bool) -> int:
    """Make features ineffective of which the name has all the words; exit code 1 where no test notices one."""
    from tests.features import UNNOTICED, Features, features, make_switchable, record

    names = [name for name in features() if {*words} <= {*name.split()}]
    files = [str(path) for path in sorted(Path("tests").rglob("test_*.py")) if not UNCONCERNED & {*path.parts}]
    with TemporaryDirectory(prefix="mutation-") as place:
        _copied(place)
        make_switchable(names)
        session = Features(names)
        sys.path[0] = str(Path.cwd())
        for module in [module for module in sys.modules if module.partition(".")[0] in {"evalsuite", "tests"} and module != __name__]:
            del sys.modules[module]
        _pytest(["-s", *files], [session])
        os.chdir(ROOT)
    if is_recorded:
        record(names, session.noticed_by)
    return int(any(name not in session.noticed_by and name not in UNNOTICED for name in names))


def main() -> int:
    """Exit code 1 where fewer than 95 % are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"{', '.join(PACKAGES)}, or a file")
    parser.add_argument("--at", action="append", default=[], metavar="FILE:LINE", help="all changes of a line, with the package's tests")
    parser.add_argument("--tests", nargs="*", metavar="PATH", help="these tests in place of the package's")
    parser.add_argument("--changed", action="store_true", help="the lines that differ from main, for at most a minute")
    parser.add_argument("--reach", action="store_true", help="name the lines of a package that no test reaches")
    parser.add_argument("--options", nargs="*", metavar="WORD", help="make options, parameters, keys and codes ineffective")
    parser.add_argument("--record", action="store_true", help="with --options: write the tests into tests/data/noticed_by.json")
    parser.add_argument("-n", type=int, default=60, help="size of the sample of a package")
    parser.add_argument("--seed", default="1")
    asked = parser.parse_args()
    if asked.options is not None:
        return _measure_features(asked.options, asked.record)
    parts: dict[str, tuple[list[Change], Sequence[str]]] = {}
    until = time.monotonic() + (45 if asked.changed else 86_400)
    if asked.changed:
        places = _changed_lines()
        for file in sorted({file for file, _ in places}):
            parts[file] = [change for change in changes(file) if (file, change.line) in places], _tests_of(file)
    else:
        for name in asked.packages or PACKAGES:
            pattern, tests = (name.removeprefix("evalsuite/"), _tests_of(name)) if name.endswith(".py") else PACKAGES[name]
            files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "evalsuite").glob(pattern))
            found = [change for file in files for change in changes(file)]
            parts[name] = [one for one in found if not asked.at or f"{one.file}:{one.line}" in asked.at], tests
    bad = False
    with TemporaryDirectory(prefix="mutation-") as place:
        _copied(place)
        for at, (name, (all_, tests)) in enumerate(parts.items()):
            sample = random.Random(f"{asked.seed} {name}").sample(all_, len(all_) if asked.reach else min(asked.n, len(all_)))
            print(f"{name}: {len(sample)} of {len(all_)} changes", flush=True)
            end = time.monotonic() + (until - time.monotonic()) / (len(parts) - at)
            bad |= _measure(name, sample, asked.tests or tests, end, asked.reach) not in range(int(0.05 * len(sample)) + 1)
        _print_table(Path("table.txt").read_text(encoding="utf-8") if Path("table.txt").exists() else "")
        os.chdir(ROOT)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
