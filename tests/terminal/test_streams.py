"""stdout, stderr and paths of any encoding, streams closed, full or left by their reader: nothing is lost, and the exit code stands."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from evalsuite.cli.output_streams import SIGNS
from tests.cli.test_run import text_gold, text_submission, write_lines
from tests.conftest import ROOT
from tests.processes import started
from tests.terminal.pty_harness import C_LOCALE, EVALSUITE, environment, piped, run

ENCODINGS = [
    pytest.param({"PYTHONIOENCODING": "cp1252"}, "cp1252", id="cp1252"),
    pytest.param({"PYTHONIOENCODING": "ascii"}, "ascii", id="ascii"),
    pytest.param({"PYTHONIOENCODING": "latin-1"}, "latin-1", id="latin-1", marks=pytest.mark.slow),
    pytest.param(C_LOCALE, "ascii", id="C locale"),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Gold and a submission whose ids and answers are of several scripts; three of four are right."""
    texts = {"Zürich": "Šárka", "Киев": "Борщ", "plain": "✓", "smile": "ok"}
    text_gold(tmp_path / "gold", **texts)
    text_submission(tmp_path / "sub", **{**texts, "smile": "\N{GRINNING FACE} … no"})
    return tmp_path


def as_printed(text: str, encoding: str) -> str:
    """What a text looks like in that encoding: what it has stays, a sign degrades, the rest is escaped."""

    def one(char: str) -> str:
        try:
            char.encode(encoding)
        except UnicodeEncodeError:
            return SIGNS.get(char) or char.encode("ascii", "backslashreplace").decode()
        return char

    return re.sub(r"took +.*", "", "".join(map(one, text)))


@pytest.mark.parametrize(("env", "encoding"), ENCODINGS)
def test_nothing_is_lost(place: Path, env: dict[str, str | None], encoding: str) -> None:
    """The report is the one of UTF-8 character by character, and the gate's last line and exit code stand; `-o` writes UTF-8 as ever."""
    score = [*EVALSUITE, "run", "sub", "--gold", "gold", "--no-save", "--no-cache", "--fail-under", "0.9", "--failures", "--verbose", "-o"]
    plain = piped([*score, "plain.txt"], cwd=place)
    shown = piped([*score, "shown.txt"], cwd=place, env=env, encoding=encoding)
    assert (plain.code, shown.code) == (1, 1)
    assert as_printed(shown.raw, encoding) == as_printed(plain.raw, encoding)
    assert shown.lines[-1] == "done: 75.0 %, below the gate of 90.0 % (exit 1)"
    assert (place / "shown.txt").read_bytes() == (place / "plain.txt").read_bytes()
    assert "Киев" in (place / "shown.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("env", "encoding"),
    [pytest.param(*one.values, marks=[pytest.mark.slow] if at % 3 else [], id=one.id) for at, one in enumerate(ENCODINGS)],
)
def test_json_stays_json(place: Path, env: dict[str, str | None], encoding: str) -> None:
    """`--json` prints the same object in every encoding."""
    for words in (["run", "sub", "--gold", "gold", "--no-save"], ["check", "plain", "--result_dir", "sub", "--gold_dir", "gold"]):
        found = [
            json.loads(piped([*EVALSUITE, *words, "--json"], cwd=place, env=how, encoding=code).raw)
            for how, code in (({}, "utf-8"), (env, encoding))
        ]
        assert without_clock(found[0]) == without_clock(found[1])


def without_clock(value: object) -> object:
    """The value without what the clock wrote into it."""
    if isinstance(value, dict):
        return {key: without_clock(item) for key, item in value.items() if key not in ("seconds", "created", "digests")}
    return value


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "ascii"}, C_LOCALE], ids=["ascii", "C locale"])
def test_errors_are_said_in_any_encoding(place: Path, env: dict[str, str | None]) -> None:
    """stderr degrades too: the name that was not found is there, as its escape, and the exit code is that of the error."""
    shown = piped([*EVALSUITE, "run", "sub", "--gold", "gold", "--only", "Lübeck"], cwd=place, env=env, encoding="ascii")
    assert (shown.code, shown.raw) == (2, "")
    assert re.search(r"error: .*L(\\xfc|\\udcc3\\udcbc)beck", shown.errors)


def test_a_path_of_bytes_that_are_no_text(place: Path) -> None:
    """A folder whose name is not UTF-8 is scored, saved and named on an UTF-8 terminal."""
    name = os.fsdecode(b"caf\xe9")
    (place / "sub").rename(place / name)
    for way in (run, piped):
        shown = way([*EVALSUITE, "run", name, "--gold", "gold"], cwd=place)
        assert (shown.code, shown.lines[-1]) == (0, "done: 75.0 % (no gate set)")
        assert "caf\\udce9" in shown.screen


def test_who_chose_an_answer_keeps_it(place: Path) -> None:
    """`PYTHONIOENCODING=ascii:replace` is obeyed."""
    shown = piped([*EVALSUITE, "run", "sub", "--gold", "gold", "--no-save"], cwd=place, env={"PYTHONIOENCODING": "ascii:replace"})
    assert (shown.code, "Z?rich" in shown.raw) == (0, True)


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        ("--version", None),
        pytest.param("scorers", "1", marks=pytest.mark.slow),
        ("run nowhere --gold gold", None),
        pytest.param("run sub --gold gold --no-save --fail-under 0.9", None, marks=pytest.mark.slow),
        ("run sub --gold gold --no-save --fail-under 0.9", "1"),
    ],
)
def test_the_exit_code_stands(place: Path, words: str, unbuffered: str | None) -> None:
    """A reader that went away and closed ends change nothing; a full disk is one clear error, and never a better exit code."""
    env = environment({"PYTHONUNBUFFERED": unbuffered})
    expected = piped([*EVALSUITE, *words.split()], cwd=place).code
    for shell in ('"$@" | true; exit ${PIPESTATUS[0]}', '"$@" >&- 2>&-', '"$@" 2>/dev/full'):
        ended = piped(["bash", "-c", shell, "bash", *EVALSUITE, *words.split()], cwd=place, env=env)
        assert ended.code == expected, shell
        assert ended.errors == "" or expected == 2, shell
    full = piped(["bash", "-c", '"$@" >/dev/full', "bash", *EVALSUITE, *words.split()], cwd=place, env=env)
    assert full.code == (expected or 1)
    assert full.errors.startswith("error: ")
    assert ("cannot write to stdout: No space left" in full.errors) == (expected < 2)


def test_a_slow_reader_of_a_pipe_that_does_not_block(place: Path) -> None:
    """Where the pipe is full and does not block (a parent has set it so), the command waits and nothing is lost."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    code = "import sys, evalsuite.cli.output_streams as s; s.make_streams_safe(); [print('x' * 99) for _ in range(5000)]"
    with started([sys.executable, "-c", code], cwd=ROOT, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        n_bytes = 0
        while piece := os.read(ours, 65536):
            n_bytes += len(piece)
        assert process.wait() == 0
    os.close(ours)
    assert n_bytes == 500_000


def test_watch_ends_when_nobody_reads(place: Path) -> None:
    """`run --watch | head` ends with its reader."""
    words = [*EVALSUITE, "run", "sub", "--gold", "gold", "--watch", "--quiet"]
    assert piped(["bash", "-c", '"$@" | true', "bash", *words], cwd=place, timeout=60).code == 0


def test_signs_are_one_character_wide() -> None:
    """No sign degrades to more than one character: the columns of a table stay where they are."""
    assert {len(sign) for sign in SIGNS.values()} == {1}
    assert all(sign.isascii() for sign in SIGNS.values())


def test_a_file_while_the_terminal_shows_errors(place: Path) -> None:
    """`run > log.txt` in a terminal of another encoding: the file has the report, the terminal nothing but what went wrong."""
    log = place / "log.txt"
    shown = run([*EVALSUITE, "run", "sub", "--gold", "gold", "--no-save"], cwd=place, env={"PYTHONIOENCODING": "cp1252"}, into=log)
    assert (shown.code, shown.lines) == (0, [])
    assert log.read_text(encoding="cp1252").endswith("done: 75.0 % (no gate set)\n")


@pytest.mark.parametrize(
    ("engine", "env"),
    [
        pytest.param("sqlite", {}, marks=pytest.mark.slow),
        pytest.param("duckdb", {}, marks=pytest.mark.slow),
        ("sqlite", C_LOCALE),
        ("duckdb", C_LOCALE),
    ],
)
def test_a_relative_folder_of_databases(engine: str, env: dict[str, str | None], tmp_path: Path) -> None:
    """`run ... --databases '../d b/ö'` finds the file for a gold query and for an SQL answer."""
    for folder in ("d b/ö", "here", "gold/q1", "gold/q2", "sub/q1", "sub/q2"):
        (tmp_path / folder).mkdir(parents=True)
    database = tmp_path / "d b" / "ö" / "shop"
    with sqlite3.connect(database) if engine == "sqlite" else duckdb.connect(str(database)) as made:
        made.execute("CREATE TABLE sales AS SELECT 40 AS amount")
    made.close()
    (tmp_path / "gold" / "q1" / "gold.sql").write_text("SELECT sum(amount) FROM sales")
    (tmp_path / "gold" / "q2" / "r.csv").write_text("total\n40\n")
    (tmp_path / "sub" / "q2" / "a.sql").write_text("SELECT amount AS total FROM sales")
    (tmp_path / "sub" / "q1" / "r.csv").write_text("total\n40\n")
    (tmp_path / "gold" / "connections.yaml").write_text(f"shop: {{engine: {engine}, database: shop, prefix: q}}\n")
    checks = {"q1": ({"parameters": {}, "temporal": True}, "r.csv"), "q2": ({"parameters": {"gold": "r.csv"}}, "a.sql")}
    gold = [{"instance_id": id_, "evaluation": {"func": "table_match", **how}} for id_, (how, _) in checks.items()]
    answers = [{"instance_id": id_, "answer_type": "file", "answer_or_path": name} for id_, (_, name) in checks.items()]
    write_lines(tmp_path / "gold" / "shop_eval.jsonl", *gold)
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *answers)
    shown = run([*EVALSUITE, "run", "../sub", "--gold", "../gold", "--databases", "../d b/ö", "--no-save"], cwd=tmp_path / "here", env=env)
    assert (shown.code, shown.lines[-1]) == (0, "done: 100.0 % (no gate set)")


def test_standing_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Relative paths lead nowhere there: one clear error, exit 2."""
    (tmp_path / "gone").mkdir()
    command = [*EVALSUITE, "run", ROOT / "example_submission_folder", "--gold", ROOT / "gold", "--no-save"]
    shown = piped(["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *command], cwd=tmp_path / "gone")
    assert (shown.code, shown.raw) == (2, "")
    assert "error: the current folder does not exist any more\nhint: " in shown.errors
