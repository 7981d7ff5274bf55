"""`python -m tests.mutation [PACKAGE ...|--changed]`: change one place of a package at a time, and see whether its tests notice.

Changed are comparisons, operators, constants (not texts), conditions, results and whole statements. A seed draws a sample of places;
each change is made in a copy of the project, in which the package's quick tests that run the changed line are started in a fork of a
process that has imported everything else. A line that they do not run in their own process counts as unnoticed. A change that no test
could notice is listed in `EQUIVALENT` with its reason.
`--changed` takes the lines that differ from the branch `main` (there: from the last commit) and stops after 50 seconds.
"""

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Files of the package, and its quick tests.
PACKAGES: dict[str, tuple[str, Sequence[str]]] = {
    "compare": ("compare/**/*.py", ("tests/compare", "tests/conformance/test_recorded_data.py")),
    "core": ("core/*.py", ("tests/core", "tests/scorers/test_contract.py", "tests/scorers/test_parameters.py", "tests/scorers/metrics")),
    "gold": ("gold/*.py", ("tests/gold",)),
    "ranking": (
        "analysis/leaderboard/*.py",
        ("tests/analysis/leaderboard", "tests/reports/site/test_board_yaml.py", "tests/cli/test_samples.py"),
    ),
    "readers": ("readers/*.py", ("tests/readers", "tests/compare/tables")),
    "receipts": (
        "analysis/receipts/*.py",
        tuple(f"tests/analysis/gold_checks/test_{name}.py" for name in ("verify", "verify_excuses", "forgery", "signing")),
    ),
    "run_folder": ("runs/run_f*.py", ("tests/runs/store", "tests/runs/test_frozen_clock.py", "tests/analysis/gold_checks/test_signing.py")),
    "scorers": ("scorers/**/*.py", ("tests/scorers", "tests/trees")),
    "stats": ("stats/*.py", ("tests/stats", "tests/analysis/leaderboard", "tests/conformance/test_text_statistics.py")),
    "summary": ("runs/summary.py", ("tests/runs/test_summary.py",)),
    "trees": ("trees/*.py", ("tests/trees", "tests/conformance/test_recorded_data.py")),
}
# (file, text of the line, change): why no test can notice it.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "evalsuite/stats/ranking.py",
        "for part in np.array_split(_ranks_in_rows(drawn), max(1, drawn.size // 500_000)):",
        "1 -> (2)",
    ): "parts are joined again: their number is a matter of memory",
    (
        "evalsuite/stats/power.py",
        "guess = z * math.sqrt(units.share * units.square / units.n) / units.size",
        "z * math.sqrt(units.share * units.square / units.n) / units.size"
        " -> (z * math.sqrt(units.share * units.square / units.n) * units.size)",
    ): "where the search begins; it ends where the power is",
    (
        "evalsuite/stats/power.py",
        "start = max(2, math.ceil(z**2 * max(0.0, share * units.square - difference**2) / difference**2))",
        "2 -> (3)",
    ): "where the search begins; it ends where the power is",
    (
        "evalsuite/runs/run_files.py",
        "return _held(text) if len(text) < _SHORT else text",
        "len(text) < _SHORT -> (len(text) <= _SHORT)",
    ): "which texts are held parsed is a matter of memory",
}

# A package of this project is imported by the fork alone.
IMPORTED = ("_pytest.assertion.rewrite", "duckdb", "hypothesis", "msgspec", "numpy", "pandas", "pydantic", "pytest", "rapidfuzz", "regex")
IMPORTED += ("rich.console", "rich.table", "scipy.optimize", "scipy.stats", "sqlglot", "typer", "yaml")
CPU_SECONDS, WALL_SECONDS = 60, 300

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
    """The text between two offsets of a file, and what stands there instead."""

    file: str
    line: int
    begin: int
    end: int
    text: str
    before: str
    line_text: str

    @property
    def what(self) -> str:
        """Old and new text, in one line."""
        return re.sub(r"\s+", " ", f"{self.before} -> {self.text}")

    @property
    def reason(self) -> str:
        """Why no test can notice it, or an empty text."""
        return EQUIVALENT.get((self.file, self.line_text, self.what), "")


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


def changes(file: str) -> Iterator[Change]:
    """Every change of a file."""
    source = (ROOT / file).read_text(encoding="utf-8")
    # Offsets of nodes count bytes.
    data = source.encode()
    begins = [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    lines = source.splitlines()
    for node in _behaviour(ast.parse(source)):
        place: Any = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
        for text in changed_nodes(node):
            begin, end = begins[place.lineno - 1] + place.col_offset, begins[place.end_lineno - 1] + place.end_col_offset
            new = text if isinstance(node, ast.stmt) and place is node else f"({text})"
            yield Change(file, place.lineno, begin, end, new, data[begin:end].decode(), lines[place.lineno - 1].strip())


def _behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that do something: no annotations, decorators, f-string formats, nor what only type checkers read."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "format_spec", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            # `zip` of sides that are of one length anyway.
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            # `X = A | B` at the top of a module is a name for types.
            if isinstance(node, ast.Module) and isinstance(child, ast.Assign) and isinstance(child.value, ast.BinOp):
                continue
            yield child
            yield from _behaviour(child)


class Tracer:
    """A plugin of pytest: which tests run which lines of the files, in their own process."""

    def __init__(self, files: Sequence[str], until: float) -> None:
        self._until = until
        self._names = {str(Path.cwd() / file): file for file in files}
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self._now: set[tuple[str, int]] = set()

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        """Begin with no lines; those of imports belong to every test."""
        if not self.seconds:
            for file, line in self._now:
                self.tests.setdefault(f"{file}:{line}", set())
        self._now = set()
        self._began = time.process_time()
        if time.monotonic() > self._until:
            item.session.shouldstop = "the time for tracing is up"

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Keep the test's lines."""
        self.seconds[nodeid] = time.process_time() - self._began
        for file, line in self._now:
            self.tests[f"{file}:{line}"].add(nodeid)

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        """Trace the lines of the frames of these files only."""
        file = self._names.get(frame.f_code.co_filename)
        if file is None:
            return None
        self._now.add((file, frame.f_lineno))

        def line(frame: Any, event: str, argument: Any) -> Any:
            self._now.add((file, frame.f_lineno))
            return line

        return line


def _pytest(words: Sequence[str], plugins: Sequence[Any] = ()) -> int:
    pytest = importlib.import_module("pytest")
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *words], plugins=list(plugins)))


def _in_fork(job: Any, log: Path, wall_seconds: float = WALL_SECONDS, cpu_seconds: int = CPU_SECONDS) -> int:
    """The exit code of a fork that did a job, -1 where it had to be ended."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(out, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.path[0] = str(Path.cwd())
            # This file is of the project itself.
            for name in [name for name in sys.modules if name.partition(".")[0] in {"evalsuite", "tests"}]:
                del sys.modules[name]
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
    _, status = os.waitpid(pid, 0)
    timer.cancel()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return -1 if late.is_set() else os.waitstatus_to_exitcode(status)


def _traced(files: Sequence[str], tests: Sequence[str], seconds: float) -> tuple[dict[str, list[str]], dict[str, float]]:
    """The tests of each line, and the CPU time of each test; tests that come after so many seconds are not known."""
    found = Path("lines.json")

    def job() -> int:
        tracer = Tracer(files, time.monotonic() + seconds)
        threading.settrace(tracer.trace)
        sys.settrace(tracer.trace)
        code = 0
        try:
            code = _pytest(tests, [tracer])
        finally:
            sys.settrace(None)
            found.write_text(json.dumps([{line: sorted(names) for line, names in tracer.tests.items()}, tracer.seconds]))
        return code

    code = _in_fork(job, Path("traced.txt"), 2 * seconds + 30, cpu_seconds=10_000)
    # 2: it was stopped.
    if code not in {0, -1, 2}:
        raise SystemExit(f"the tests fail without a change:\n{Path('traced.txt').read_text()[-3000:]}")
    if not found.exists():
        return {}, {}
    lines, times = json.loads(found.read_text())
    return lines, times


def survives(change: Change, lines: dict[str, list[str]], times: dict[str, float], tests: Sequence[str], at: int) -> bool:
    """Whether all tests that run the line pass with the change made; all of the package's where it runs when the file is imported."""
    if (place := f"{change.file}:{change.line}") not in lines:
        return True
    path = Path(change.file)
    original = path.read_bytes()
    path.write_bytes(original[: change.begin] + change.text.encode() + original[change.end :])
    # Bytecode is taken for that of the file while size and time are equal.
    os.utime(path, (at, at))
    known = sorted(lines[place] or times, key=lambda name: times.get(name, 0.0))
    try:
        code = _in_fork(lambda: _pytest(known[:300] or tests), Path("log.txt"))
    finally:
        path.write_bytes(original)
        os.utime(path, (at + 1, at + 1))
    return code in {0, 5}


def _copied(place: str) -> None:
    """Work in a copy of the project from here on."""
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis", ".evalsuite")
    shutil.copytree(ROOT, Path(place, "project"), ignore=ignored, symlinks=True)
    if (ROOT.parent / "shared").exists():
        Path(place, "shared").symlink_to(ROOT.parent / "shared")
    os.chdir(Path(place, "project"))
    os.environ["PYTHONPATH"] = str(Path.cwd())
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


def _tests_of(file: str) -> list[str]:
    """The test files that name a module, in the folder of its package first."""
    module = file.removesuffix(".py").replace("/", ".")
    package = file.split("/")[1]
    files = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: (f"tests/{package}" not in str(path), str(path)))
    return [str(path.relative_to(ROOT)) for path in files if module in path.read_text(encoding="utf-8")]


def _measure(name: str, sample: Sequence[Change], tests: Sequence[str], until: float) -> list[Change]:
    """Print what became of each change of a sample, and the row of the table; what survived."""
    files = sorted({change.file for change in sample})
    lines, times = _traced(files, tests, max((until - time.monotonic()) / 2, 5))
    survived, n, equivalent = [], 0, 0
    for number, change in enumerate(sample):
        if time.monotonic() > until:
            break
        if change.reason:
            equivalent += 1
            print(f"  equivalent {change.file}:{change.line}  {change.what}  ({change.reason})", flush=True)
            continue
        n += 1
        if survives(change, lines, times, tests, 10**9 + 10 * number):
            survived.append(change)
            ran = "" if f"{change.file}:{change.line}" in lines else "  (no test runs it)"
            print(f"  SURVIVED {change.file}:{change.line}  {change.what}{ran}\n      {change.line_text}", flush=True)
    killed = n - len(survived)
    print(f"{name}: {killed} of {n} killed ({killed / max(n, 1):.1%}), {equivalent} equivalent", flush=True)
    return survived


def main() -> int:
    """Exit code 1 where fewer than 95 % are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", choices=[*PACKAGES, []], metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--changed", action="store_true", help="the lines that differ from main, for at most a minute")
    parser.add_argument("-n", type=int, default=60, help="size of the sample of a package")
    parser.add_argument("--seed", default="1")
    asked = parser.parse_args()
    parts: dict[str, tuple[list[Change], Sequence[str]]] = {}
    until = time.monotonic() + (50 if asked.changed else 86_400)
    if asked.changed:
        places = _changed_lines()
        for file in sorted({file for file, _ in places}):
            parts[file] = [change for change in changes(file) if (file, change.line) in places], _tests_of(file)
    else:
        for name in asked.packages or PACKAGES:
            pattern, tests = PACKAGES[name]
            files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "evalsuite").glob(pattern))
            parts[name] = [change for file in files for change in changes(file)], tests
    bad = False
    with TemporaryDirectory(prefix="mutation-") as place:
        _copied(place)
        for at, (name, (all_, tests)) in enumerate(parts.items()):
            sample = random.Random(f"{asked.seed} {name}").sample(all_, min(asked.n, len(all_)))
            print(f"{name}: {len(sample)} of {len(all_)} changes", flush=True)
            end = time.monotonic() + (until - time.monotonic()) / (len(parts) - at)
            bad |= len(_measure(name, sample, tests, end)) > 0.05 * len(sample)
        os.chdir(ROOT)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
