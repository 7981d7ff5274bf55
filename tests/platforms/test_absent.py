"""Other systems, as far as this one can play them: what they do not have is taken away from Python before the package is loaded.

Workers that are spawned come without that, as Python starts them apart from the user's paths: what is tried here is the side of the user.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import evalsuite
from tests.command_server import command_server
from tests.conftest import ROOT, copy_example, made_once
from tests.processes import finished

SYSTEMS = ("win32", "darwin", "fork", "AF_UNIX", "killpg", "O_NOFOLLOW", "memfd_create", "fcntl")
PLAIN = ("--jobs", "1")
IN_PROCESS = ("--isolation", "none", *PLAIN)
# The test line runs the systems that differ most.
LINE = (("win32", PLAIN), ("darwin", IN_PROCESS), ("memfd_create", PLAIN))
WAYS = [
    pytest.param(system, options, marks=[] if (system, options) in LINE else [pytest.mark.slow], id=f"{system}-{len(options)}")
    for system in SYSTEMS
    for options in (PLAIN, IN_PROCESS)
]


def encoding_of(system: str) -> str:
    """What a terminal there may have."""
    return "cp1252" if system == "win32" else "utf-8"


def on(system: str, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command of a user on that system."""
    encoding = encoding_of(system)
    paths = os.pathsep.join((str(Path(__file__).parent / "absent"), str(ROOT)))
    # Temporary folders of its own: without locks they look like a dead run's to the other tests of this machine.
    environment = {**os.environ, "TMPDIR": str(folder), "EVALSUITE_TEST_ABSENT": system, "PYTHONPATH": paths, "PYTHONIOENCODING": encoding}
    # What a command leaves open would be said on stderr.
    environment["PYTHONWARNINGS"] = "default::ResourceWarning"
    return finished([sys.executable, "-m", "evalsuite", *words], cwd=folder, env=environment, encoding=encoding)


def verdicts(run: Path) -> list[str]:
    """The lines of a run's results without how long each took."""
    return [line.rpartition(', "seconds"')[0] for line in (run / "results.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def as_here(example: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the example on this system, and what it printed."""

    def make(folder: Path) -> None:
        here = evalsuite("run", example[0], "--gold", example[1], "--no-cache", "--out", folder / "run", cwd=folder)
        assert here.returncode == 0
        (folder / "printed").write_text(here.stdout, encoding="utf-8")

    return made_once(tmp_path_factory, "as_here", make)


@pytest.mark.parametrize(("system", "options"), WAYS)
def test_the_example(system: str, options: tuple[str, ...], example: tuple[Path, Path], tmp_path: Path, as_here: Path) -> None:
    """The example has its score on every system, with and without workers, and each verdict is the same."""
    shown = on(system, tmp_path, "run", example[0], "--gold", example[1], "--no-cache", "--out", tmp_path / "run", *options)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.endswith(" % (no gate set)\n")
    assert shown.stdout.splitlines()[-1] == (as_here / "printed").read_text(encoding="utf-8").splitlines()[-1]
    assert verdicts(tmp_path / "run") == verdicts(as_here / "run")


@pytest.mark.parametrize(
    ("system", "n"),
    [("win32", 1), pytest.param("win32", None, marks=pytest.mark.slow), pytest.param("darwin", None, marks=pytest.mark.slow)],
)
def test_other_commands(system: str, n: int | None, example: tuple[Path, Path], tmp_path: Path) -> None:
    """What reads files outside of a run works there without an option, and says the same as here."""
    answers, gold = example
    if n is not None:
        copy_example(tmp_path, {"sales_003", "hr_007", "geo_005"})
        answers, gold = tmp_path / "example_submission_folder", tmp_path / "gold"
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", answers)
    commands: list[tuple[object, ...]] = [
        ("leaderboard", packed, "--gold", gold, "--no-cache", *PLAIN),
        ("gold", "check", gold, *PLAIN),
        ("validate", answers, "--gold", gold),
        ("check", "table_match", "--prediction", answers / "sales_001/result.csv", "--gold-value", gold / "sales_001/result.csv"),
        ("explain", "sales_004", "--result-dir", answers, "--gold", gold),
        ("doctor",),
        ("gold", "check", gold, *IN_PROCESS),
    ]
    # The test line tries the first, with a text, a number and a table: a board of what is packed.
    for command in commands[:n]:
        there = on(system, tmp_path, *command)
        assert "internal error" not in there.stderr, (command, there.stderr)
        if command[0] == "doctor":
            assert there.returncode == 0
        else:
            encoding = encoding_of(system)
            environment = {**os.environ, "PYTHONIOENCODING": encoding}
            here = command_server().run(command, cwd=tmp_path, env=environment, encoding=encoding)
            assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr), command


def test_a_hang_and_a_death_cost_one_answer_each(tmp_path: Path) -> None:
    """Without forks a worker that hangs or dies is ended, named, and the others are scored."""
    plugin = tmp_path / "odd.py"
    plugin.write_text(
        "import os, time\nfrom evalsuite.core.registry import scorer\nfrom evalsuite.core.types import Score\n\n\n"
        "@scorer(reads='text')\ndef odd(prediction: str, *, expected: str = '') -> Score:\n"
        "    time.sleep(60) if prediction == 'hang' else None\n    os._exit(1) if prediction == 'die' else None\n"
        "    return Score(official=1.0, strict=1.0, reason='right')\n",
        encoding="utf-8",
    )
    gold, answers = tmp_path / "gold", {"a": "fine", "b": "hang", "c": "die", "d": "fine"}
    gold.mkdir()
    (tmp_path / "sub").mkdir()
    spec = [{"instance_id": name, "evaluation": {"func": "odd", "parameters": {"expected": "x"}}} for name in answers]
    (gold / "t_eval.jsonl").write_text("\n".join(map(json.dumps, spec)), encoding="utf-8")
    told = [{"instance_id": name, "answer_type": "answer", "answer_or_path": text} for name, text in answers.items()]
    (tmp_path / "sub/results_metadata.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    out = tmp_path / "run"
    words = ("run", tmp_path / "sub", "--gold", gold, "--plugin", plugin, "--limit", "seconds=1", "--out", out, "--no-cache")
    shown = on("win32", tmp_path, *words)
    assert (out / "results.jsonl").exists(), shown.stdout + shown.stderr
    results = (out / "results.jsonl").read_text(encoding="utf-8")
    assert [line.count('"status": "scored"') for line in results.splitlines()] == [1, 0, 0, 1], shown.stdout + shown.stderr
    assert "TIMEOUT" in results.splitlines()[1]
    assert "odd ended its process (exit status 1)" in results.splitlines()[2]
