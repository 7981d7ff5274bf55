"""Each mistake of the table is answered by a message that says what is wrong and where, and by a command line that works."""

import ast
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import evalsuite
from evalsuite.cli.cures import options_in
from evalsuite.cli.parser import options_of_call
from evalsuite.core.errors import EvalsuiteError, UsageError
from tests.cli.test_run import called, text_gold, text_submission, write_lines
from tests.conftest import ROOT, made_once
from tests.processes import finished
from tests.terminal.mistakes import CAFE, ENDINGS, IDS, LONG, Mistake, make_place, make_runs, mistakes
from tests.terminal.pty_harness import EVALSUITE, piped

pytestmark = pytest.mark.usefixtures("shared_fork_server")

ALL = mistakes()
# Served until it is interrupted: its help is shown instead.
SERVED = ("view",)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the table."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            make_place(folder)
            make_runs(folder)

    return made_once(tmp_path_factory, "mistakes ü 日本", make)


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """What tells whether a file or folder below was written, by path."""
    found, folders = {}, [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                found[entry.path] = (status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return found


class Copy:
    """A copy of the folder of the table, in which is made good what a test has changed."""

    def __init__(self, place: Path, folder: Path) -> None:
        self.place, self.folder = place, folder
        shutil.copytree(place, folder, symlinks=True)
        self.state = state(folder)

    def clean(self) -> Path:
        """The folder as it is in the table."""
        now = state(self.folder)
        if now == self.state:
            return self.folder
        for path in sorted(now.keys() - self.state.keys(), reverse=True):
            Path(path).rmdir() if stat.S_ISDIR(now[path][-1]) else Path(path).unlink()
        for path, was in sorted(self.state.items()):
            if stat.S_ISDIR(was[-1]):
                Path(path).mkdir(exist_ok=True)
            elif now.get(path) != was:
                shutil.copy2(self.place / Path(path).relative_to(self.folder), path)
        self.state = state(self.folder)
        return self.folder


@pytest.fixture(scope="module")
def copy(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy of this process."""
    return Copy(place, tmp_path_factory.mktemp("copy") / "place")


@pytest.fixture
def here(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, as the working folder."""
    monkeypatch.chdir(copy.clean())
    return copy.folder


def words_of(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of a row, with the names that cannot be written there, in its folder."""
    words = [word.replace("LONG", LONG).replace("CAFE", CAFE) for word in shlex.split(line)]
    if words and words[0].startswith("cd="):
        monkeypatch.chdir(here / words.pop(0).removeprefix("cd="))
    return words


def run(words: list[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command."""
    done = called(*words, cwd=Path())
    return done.returncode, done.stdout, done.stderr


def pasted(line: str) -> list[str]:
    """The arguments of a proposed line; a run reads its answers in this process where the line does not say how."""
    words = shlex.split(line)
    if words[0] in SERVED:
        return [*words, "--help"]
    return [*words, "--isolation", "none"] if "--isolation" in options_of_call(words) and "--isolation" not in words else words


@pytest.fixture(scope="module")
def codes() -> dict[tuple[str, Path], int]:
    """The exit codes of the proposed lines that were pasted, by line and folder: several mistakes have one cure."""
    return {}


@pytest.mark.parametrize("mistake", ALL, ids=[row.line[:70] for row in ALL])
def test_a_mistake(mistake: Mistake, here: Path, codes: dict[tuple[str, Path], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are printed, the exit code is that of the row, the hint fits the command, and the proposed line works when it is pasted.

    Under exit code 2 nothing is saved but a run whose gold is at fault.
    """
    words = words_of(mistake.line, here, monkeypatch)
    before = sorted((here / ".evalsuite" / "runs").iterdir())
    code, out, errors = run(list(words))
    assert code == mistake.code, out + errors
    assert not re.search("Traceback|internal error", errors)
    for wanted in mistake.words:
        assert {"IDS": IDS, "ENDINGS": ENDINGS}.get(wanted, wanted) in out + errors
    if code == 2 and "gold fault" not in out:
        assert sorted((here / ".evalsuite" / "runs").iterdir()) == before
        assert errors.startswith(("error: ", "note: ")) or "failed: " in out
    for hint in re.findall("^hint: (.*)", errors, re.MULTILINE):
        assert options_in(hint) <= {*options_of_call(words), "--help", "--debug", "--version"}, hint
    proposed = re.findall("^try: evalsuite (.*)", errors, re.MULTILINE)
    assert proposed == [mistake.cure][: bool(mistake.cure)]
    for line in proposed:
        if (line, Path.cwd()) not in codes:
            codes[line, Path.cwd()], out, errors = run(pasted(line))
        assert codes[line, Path.cwd()] == mistake.cure_code, out + errors


def test_the_table_is_large() -> None:
    """At least 200 mistakes, at least 100 of them with a proposed line, no line twice."""
    assert len(ALL) == len({row.line for row in ALL}) >= 200
    assert sum(bool(row.cure) for row in ALL) >= 100


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("rnu sub --gold gold -q --isolation none", 0),
        ("run sub --only geo_01 -q --isolation none", 1),
        ("run sub gold -q --isolation none", -1),
        ("compare a.csv b.csv", -1),
        ("run subb -q", 0),
    ],
)
def test_fix_runs_the_proposed_line(here: Path, line: str, at: int) -> None:
    """`--fix` stands anywhere on the line; the line that is run is printed first, and is the proposed one."""
    words = line.split()
    _, _, errors = run(list(words))
    proposed = errors.splitlines()[-1].removeprefix("try: ")
    words.insert(at if at >= 0 else len(words), "--fix")
    code, out, errors = run(words)
    assert (code in (0, 1), errors.splitlines()[0]) == (True, f"$ {proposed}")
    assert out.splitlines()[-1].startswith(("done: ", "different"))


@pytest.mark.parametrize("line", ["run sub --only zzz", "run sub --jobs 0", "compare sub", "runs rm nope"])
def test_fix_without_a_proposed_line(here: Path, line: str) -> None:
    """Where nothing, or several lines, are proposed, the error stays as it is."""
    assert run([*line.split(), "--fix"]) == run(line.split())


@pytest.mark.parametrize("line", ["run .", "run sub --filter 'zzz*'", "run sub --only nope", "scorers table", "run sub -o x.xlsx", "rnu"])
def test_the_same_as_a_process(here: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process prints on stderr what the table holds, nothing on stdout, and ends with 2."""
    words = words_of(line, here, monkeypatch)
    shown = piped([*EVALSUITE, *words], cwd=here)
    assert (shown.code, shown.raw, shown.errors) == run(words)


def test_commands_begin_with_this_installation(here: Path) -> None:
    """Where PATH does not lead to it, the proposed line begins with its path and works when pasted."""
    path = {"PATH": "/usr/bin:/bin"}
    done = finished([sys.executable, "-m", "evalsuite", "run", "sub", "--rules", "strikt", "-q"], env=path)
    line = done.stderr.splitlines()[-1].removeprefix("try: ")
    assert shlex.split(line)[0].startswith("/")
    pasted = finished(line, shell=True, env=path)
    assert (pasted.returncode, pasted.stdout) == (0, "done: 66.7 % (no gate set)\n")


@pytest.mark.parametrize("name", ["with spaces", "Übung Straße", "日本語", "a'b\"c", "-minus", "{braces} [x]", CAFE])
def test_names_that_need_care(place: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission, a gold folder, a run and a report of such a name are scored, written, shown and ranked like any other."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "gold", tmp_path / "gold" / name)
    shutil.copytree(place / "sub", tmp_path / "subs" / name)
    how = ["--isolation", "none", "--gold", f"gold/{name}"]
    report = ["--out", f"runs/{name}", "-o", f"{name}.md", "-q"]
    assert run(["run", f"subs/{name}", *how, *report])[:2] == (0, "done: 66.7 % (no gate set)\n")
    assert (tmp_path / f"{name}.md").exists()
    assert run(["report", f"runs/{name}"])[0] == 0
    assert run(["leaderboard", "subs", *how, "-q"])[0] == 0
    assert run(["validate", f"subs/{name}", "--gold", f"gold/{name}"])[0] == 0
    assert run(["compare", f"runs/{name}", f"subs/{name}", "-q", "--jobs", "1"])[0] == 0
    code, _, errors = run(["run", f"subs/{name} too", *how])
    assert code == 2
    assert errors.splitlines()[0].startswith("error: subs/")
    assert errors.splitlines()[0].endswith("too: no such submission folder")


def test_gold_without_instances_is_nothing_to_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 5 stays for gold without an instance, and for a submission that hands in nothing."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "bare" / "toy_eval.jsonl")
    text_gold(tmp_path / "gold", a="x")
    text_submission(tmp_path / "sub", a="x")
    text_submission(tmp_path / "nothing")
    for arguments in (["sub", "--gold", "bare"], ["nothing"]):
        code, out, _ = run(["run", *arguments, "--isolation", "none"])
        assert code == 5
        assert out.splitlines()[-1].startswith("nothing to score")


A_LIST = "tables_match takes a list of paths as prediction, found str"
NO_PREDICTIONS = [None, 1, 1.5, True, b"x", object(), {}, [None], [["a.csv"]], Path("a.csv"), "\0"]


@pytest.mark.parametrize("scorer", ["string_match", "number_match", "table_match", "tables_match", "duckdb_match"])
def test_a_prediction_of_another_type(scorer: str, here: Path) -> None:
    """`evalsuite.score` names the type that a scorer takes and the one that was given."""
    gold = {"number_match": 1, "tables_match": ["a.csv"], "table_match": "a.csv"}.get(scorer, "x")
    read_by = {"table_match": Path, "duckdb_match": Path | dict, "string_match": (), "number_match": (), "tables_match": ()}[scorer]
    for prediction in NO_PREDICTIONS:
        if isinstance(prediction, read_by) or (prediction == "\0" and scorer in ("string_match", "number_match")):
            continue
        with pytest.raises(UsageError, match=f"{scorer} "):
            evalsuite.score(scorer, prediction, gold=gold)


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: evalsuite.score("tabel_match", "a", gold="a"), "unknown scorer 'tabel_match'", "did you mean 'table_match'?"),
        (lambda: evalsuite.score("string_match", "a", golld="a"), "unknown parameter 'golld' of string_match", "did you mean 'gold'?"),
        (lambda: evalsuite.score("number_match", 17, gold=17), "number_match takes a text as prediction, found int", "did you mean '17'?"),
        (lambda: evalsuite.evaluate("sub", "gold", ruls="strict"), "unknown option 'ruls'", "did you mean 'rules'?"),
        (lambda: evalsuite.evaluate("subb", "gold"), "subb: no such submission folder", ""),
        # Whether the file exists or not.
        *(
            (partial(evalsuite.score, "tables_match", name, gold=["a.csv"]), A_LIST, f"did you mean ['{name}']?")
            for name in ("a.csv", "no.csv")
        ),
    ],
)
def test_mistakes_in_python(here: Path, call: Callable[[], object], message: str, hint: str) -> None:
    """The same messages as an error with a hint; the proposed call works."""
    with pytest.raises(EvalsuiteError, match=re.escape(message)) as error:
        call()
    assert hint in error.value.hint
    assert message != A_LIST or evalsuite.score("tables_match", ["a.csv"], gold=["a.csv"]).official == 1


# What an older Python compiles before the check of its version.
FIRST_FILES = ("evaluate.py", "evalsuite/__init__.py", "evalsuite/__main__.py")
STARTS = (["evaluate.py", "--result_dir", "x"], ["-m", "evalsuite", "run", "x"], ["-c", "import evalsuite"])


def test_the_needed_python_is_the_one_that_pip_asks_for() -> None:
    """The first files compile under Python 3.8, and the version they name is that of `requires-python`, which pip reports."""
    for name in FIRST_FILES:
        ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 8))
    needed = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert needed is not None
    assert f"needs Python {needed[1]} or later" in (ROOT / "evalsuite/__init__.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(("version", "start"), [*zip(("3.8", "3.9", "3.10"), STARTS, strict=True)], ids=["evaluate.py", "-m", "import"])
def test_an_older_python(version: str, start: list[str]) -> None:
    """One sentence with the needed version, exit code 2; where that Python is absent, this one says that it is older."""
    python = shutil.which(f"python{version}")
    if python is None or finished([python, "-c", ""]).returncode:
        older = f"import sys, runpy; sys.hexversion = 0x03{int(version.partition('.')[2]):02x}0000; sys.argv[0] = '-'; "
        run_it = {"-m": "runpy.run_module('evalsuite')", "-c": "import evalsuite"}.get(start[0], "runpy.run_path('evaluate.py')")
        done = finished([sys.executable, "-c", older + run_it], cwd=ROOT)
    else:
        done = finished([python, *start], cwd=ROOT, env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: evalsuite needs Python 3\.11 or later, this is Python 3\.\d+\.\d+\S* \(.*\)\n", done.stderr), done.stderr
