"""A stranger's folder full of code, and every command of the table called in it under an audit hook.

Run as a script, it says what was executed: `python stranger.py PLACE LINES`, where LINES is JSON: command lines, [] for all commands.
"""

import contextlib
import io
import json
import os
import pickle
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PLUGIN = """
from evalsuite.core.registry import scorer
from evalsuite.core.types import Score


@scorer(reads="text")
def shout(prediction: str, *, gold: str) -> Score:
    \"\"\"1 for the gold text in capitals.\"\"\"
    value = float(prediction == gold.upper())
    return Score(official=value, strict=value, reason="in capitals" if value else "not in capitals")
"""
MODELS = """
from typing import TypedDict

Record = TypedDict("Record", {"n": int})
"""
SUITE = """
scorers: {shout: "python:plugin.py:shout"}
defaults: {shout: {}}
groups: {all: {prefix: q}}
"""
# Modules that commands import, and files that an interpreter executes by itself.
SHADOWS = ("sitecustomize", "usercustomize", "json", "yaml", "duckdb", "evalsuite", "models", "conftest", "plugin")
RUNS, SUBMISSIONS = ("r1", "r2"), ("sub", "other")
# Values of parameters by metavar; of any other one the name of a run.
VALUES: dict[str, list[str]] = {
    **{metavar: list(RUNS) for metavar in ("RUN...", "[RUN]...", "A B [C ...]", "RUN RUN [RUN ...]")},
    **{metavar: ["q2"] for metavar in ("ID", "ID|GOLD", "ID|SCORER")},
    **{metavar: ["written.json"] for metavar in ("FILE", "FILE.json", "DIR")},
    "SELECT": ["select run, score, details from results"],
    "https://...": ["https://example.org/issue"],
}
# Commands with options that read more than the bare ones.
MORE = (
    *("report r1 -o r.html -o r.json -o r.md -o r.xml -o r.csv --verbose", "check q2 --run r1 --explain", "compare r1 r2 -o c.html"),
    *("compare r1 sub", "leaderboard .evalsuite/runs/r1 .evalsuite/runs/r2 --force -o l.html", "bundle q1 --run r1 -o b.md"),
    *("explain q1 --run r1 --result_dir sub", "run sub --lf", "run sub --resume .evalsuite/runs/r1"),
    *("gold suspects r1 r2 --isolation none", "rescore r1 --isolation none", "verify r1 --isolation none"),
)


class Loot:
    """What unpickling executes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch EXECUTED",)


def make_place(folder: Path) -> Path:
    """The stranger's folder: gold with a plugin, a submission, two saved runs of it, and code planted all over."""
    from tests.command_server import command_server

    (folder / "theirs" / "q1").mkdir(parents=True)
    (folder / "theirs" / "plugin.py").write_text(PLUGIN)
    (folder / "theirs" / "suite.yaml").write_text(SUITE)
    record = {"gold": {"n": 1}, "schema": "python:models.py:Record"}
    checks = [("string_match", {"gold": "Paris"}), ("shout", {"gold": "rome"}), ("table_match", {"gold": "t.csv"}), ("tree_match", record)]
    rows = [
        {"instance_id": f"q{at}", "question": "which?", "evaluation": {"func": func, "parameters": parameters}}
        for at, (func, parameters) in enumerate(checks, 1)
    ]
    (folder / "theirs" / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for side, text in (("theirs", "a,b\n1,2\n"), *((name, "a,b\n1,3\n") for name in SUBMISSIONS)):
        (folder / side / "q3").mkdir(parents=True)
        (folder / side / "q3" / "t.csv").write_text(text)
    _plant_code(folder)
    for run, name, texts in zip(RUNS, SUBMISSIONS, (("Lyon", "rome"), ("Nice", "ROME")), strict=True):
        answers = [*(("answer", text) for text in texts), ("file", "t.csv"), ("answer", '{"n": 2}')]
        lines = [{"instance_id": f"q{n}", "answer_type": kind, "answer_or_path": value} for n, (kind, value) in enumerate(answers, 1)]
        (folder / name / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = command_server().run(["run", name, "--gold", "theirs", "--out", f".evalsuite/runs/{run}"], cwd=folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "EXECUTED").exists()
    (folder / "EXECUTED").unlink()
    for run in RUNS:
        (folder / ".evalsuite/runs" / run / "results.pickle").write_bytes(pickle.dumps(Loot()))
    return folder


def _plant_code(folder: Path) -> None:
    """Put code wherever an interpreter, a reader or a cache might look for it: executing any of it leaves the file `EXECUTED`."""
    touch = f"open({str(folder / 'EXECUTED')!r}, 'a').write(__name__ + '\\n')\n"
    codes = {"plugin": (folder / "theirs" / "plugin.py").read_text(), "models": MODELS}
    for place in (folder, folder / "theirs", folder / "theirs/q3", folder / "sub", folder / "sub/q3", folder / ".evalsuite/runs"):
        place.mkdir(parents=True, exist_ok=True)
        for name in SHADOWS:
            (place / f"{name}.py").write_text(touch + codes.get(name, ""))
        (place / "code.pth").write_text(f"import os; {touch}")
        (place / "__init__.py").write_text(touch)
        (place / "cache.pkl").write_bytes(pickle.dumps(Loot()))


class Executed:
    """The audit hook: what was compiled, executed, loaded or unpickled out of a folder, and workers that are not kept apart from it."""

    def __init__(self, folder: Path) -> None:
        self._root = f"{folder.resolve()}{os.sep}"
        self.found: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec":
            self._note(event, getattr(arguments[0], "co_filename", ""))
        elif event == "compile":
            self._note(event, arguments[1])
        elif event in ("import", "ctypes.dlopen"):
            self._note(event, arguments[1] if event == "import" else arguments[0])
        elif event == "pickle.find_class":
            self.found.append(f"{event} {arguments}")
        elif event == "subprocess.Popen":
            self._note(event, arguments[0])
            self._note("the folder of a process", f"{arguments[2] or Path.cwd()}{os.sep}")
            if "-I" not in arguments[1]:
                self.found.append(f"{event} without -I: {arguments[1]}")

    def _note(self, event: str, name: object) -> None:
        place = os.fsdecode(name) if isinstance(name, str | bytes) else ""
        if place and not place.startswith("<") and os.path.realpath(place).startswith(self._root):
            self.found.append(f"{event} {place}")


def lines() -> Iterator[list[str]]:
    """A line for each command of the table, with what it must have, for each of its options that takes a run, and `MORE`."""
    from evalsuite.cli.commands import COMMANDS
    from evalsuite.cli.parser import load_command

    for name in COMMANDS:
        command: Any = load_command(name)
        for words, one in [([name, own], inner) for own, inner in getattr(command, "commands", {}).items()] or [([name], command)]:
            if any(parameter.name in ("gold", "gold_dir") and parameter.required for parameter in one.params):
                # Its user names gold.
                continue
            line = [*words, *(word for parameter in one.params if parameter.required for word in _given(parameter))]
            yield line
            yield from (
                [*line, *_given(parameter)] for parameter in one.params if not parameter.required and parameter.metavar in ("RUN", "[RUN]")
            )
    yield from (line.split() for line in MORE)


def _given(parameter: Any) -> list[str]:
    option = next((spelled for spelled in parameter.opts if spelled.startswith("--")), None)
    values = VALUES.get(parameter.metavar or "", [RUNS[0]])
    return values if option is None else [option, values[0]]


def crawl(folder: Path | None, **_: object) -> None:
    """Ask the viewer, in the place of serving it, for every page that its pages link to."""
    from starlette.testclient import TestClient

    from evalsuite.reports.viewer.app import make_app

    client = TestClient(make_app(folder), base_url="http://127.0.0.1", raise_server_exceptions=False)
    waiting, seen = ["/", "/api/suites", "/api/runs"], set[str]()
    while waiting and len(seen) < 60:
        page = waiting.pop(0)
        if page not in seen:
            seen.add(page)
            waiting += [link.replace("&amp;", "&") for link in re.findall(r'href="(/[^"#]*)"', client.get(page).text)]
    assert len(seen) > 5, seen


def _looked_at(folder: Path) -> dict[str, tuple[int, int]]:
    """What tells that something below a folder was written."""
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}


def main(place: Path, chosen: list[list[str]]) -> None:
    """Call the commands, each in a clean copy of the place, and print a JSON object a line: what was executed, and how each one ended."""
    import evalsuite.cli
    import evalsuite.reports.viewer.app
    from evalsuite.core.registry import _EXECUTED
    from evalsuite.sandbox.fork_server import fork_server_for, share
    from evalsuite.scorers import SCORERS

    evalsuite.reports.viewer.app.serve = crawl
    copy = place.parent / "copy"
    # Runs start their workers as for a user; all other commands fork theirs from one server.
    with fork_server_for() as server:
        hook = Executed(copy)
        clean: dict[str, tuple[int, int]] | None = None
        for line in chosen or list(lines()):
            if clean is None or _looked_at(copy) != clean:
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(place, copy)
                clean = _looked_at(copy)
            os.chdir(copy)
            said = io.StringIO()
            with share(None if line[0] == "run" else server), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                try:
                    code = evalsuite.cli.main(line)
                except SystemExit as ended:
                    code = ended.code
            left = [str(file) for file in (copy / "EXECUTED", place.resolve() / "EXECUTED") if file.exists()]
            executed = [*hook.found, *SCORERS.additions.loaded, *left]
            print(json.dumps({"line": line, "code": code, "executed": executed, "said": said.getvalue()}))
            # The next command begins as in a process of its own.
            _EXECUTED.clear()
            hook.found.clear()
            os.chdir("/")
            for file in left:
                Path(file).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
