"""`evalsuite suite try`: from one file to both percentages and an exact p, with nothing to set up and nothing left behind."""

import random
from pathlib import Path

import pytest

from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_USAGE
from tests.cli.test_run import as_json, called, lacks, said
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

COLUMNS = "--input question --reference answer"
CANDIDATES = "--candidate a --candidate b"
TRY = f"suite try qa.csv {COLUMNS} {CANDIDATES}"
RUN = "suite run t --from qa.csv --input question"
EACH = (TRY, f"{RUN} {CANDIDATES}", "compare s/a s/b")


def make_place(folder: Path) -> None:
    """30 questions; a is right in 27 of them, b in 15. A suite of them with a run of each, and one without."""
    rows = [f"Question {i}?,w{i}x,{f'w{i}x' if i >= 3 else 'none'},{f'it is w{i}x' if i % 2 else 'no idea'}" for i in range(30)]
    (folder / "qa.csv").write_text("question,answer,a,b\n" + "\n".join(rows) + "\n")
    for name in ("s", "t"):
        said(f"suite create {name} --from qa.csv --scorer string_match {COLUMNS}")
    said(f"suite run s --from qa.csv {CANDIDATES} -q")


place = copy_of(make_place)


def test_numbers_are_compared_as_numbers() -> None:
    """Where every reference is a number the default scorer is the one of numbers; one candidate alone has the report of a run."""
    Path("n.tsv").write_text("input\treference\tm\nHalf of 7?\t3.5\tabout 3.50\n2 x 2?\t4\tfive\n")
    # Without any difference none of the instances is a model of others.
    Path("same.csv").write_text("input,reference,a,b\n" + "".join(f"q{i},x,x,x\n" for i in range(12)))
    same = said("suite try same.csv --candidate a --candidate b")
    assert "12 instances, of which only as many differ as it requires, show a difference of" in " ".join(same.split())
    out = said("suite try n.tsv --candidate m")
    assert not lacks(out, "scored by number_match", "1/2 = 50.0 %")


def test_keep_saves_the_suite_and_its_runs() -> None:
    """What is kept can be compared again by name, and shuffled rows make no difference."""
    header, *rows = Path("qa.csv").read_text().splitlines()
    random.Random(1).shuffle(rows)
    assert as_json(f"{TRY} --keep mine")["candidates"][0]["total"]["losses"] == 13
    Path("qa.csv").write_text("\n".join([header, *rows]) + "\n")
    said("suite run mine --from qa.csv --candidate b again")
    assert "the same on every compared instance" in said("compare mine/again mine/b")


@pytest.mark.parametrize(
    ("gates", "commands", "code", "says"),
    [
        ("", ("compare s/a s/b",), EXIT_OK, "done: b: worse (-40.0 points, p 0.0018) (no gate set)"),
        ("--fail-under 0.4", ("compare s/a s/b",), EXIT_OK, "done: b: worse (-40.0 points, p 0.0018), b 50.0 % (gate 40.0 % met)"),
        ("--fail-on-regression --alpha 0.0001", ("compare s/a s/b",), EXIT_OK, "done: no regression shown at alpha 0.0001"),
        ("--fail-under 0.6", EACH, EXIT_GATE, "done: b: worse (-40.0 points, p 0.0018), b 50.0 %, below the gate of 60.0 % (exit 1)"),
        ("--fail-on-regression", EACH, EXIT_GATE, "done: worse than a: b (exit 1)"),
        (
            "--fail-on-regression --alpha 0.0001 --fail-under 0.6",
            EACH,
            EXIT_GATE,
            "done: no regression shown at alpha 0.0001, b 50.0 %, below the gate of 60.0 % (exit 1)",
        ),
    ],
)
def test_gates_are_the_same_in_each_command(gates: str, commands: tuple[str, ...], code: int, says: str) -> None:
    """`suite try`, `suite run` and `compare` end with the same exit code and, under -q, print the same last line only."""
    for command in commands:
        assert said(f"{command} {gates} -q", code=code) == f"{says}\n", command


def test_runs_of_a_suite_are_written_and_printed_as_json() -> None:
    """`suite run --json` prints the comparison alone, of one run its report; -o writes it; a gate needs something to compare with."""
    shown = called(*f"{RUN} {CANDIDATES} --json -o both.md".split(), cwd=Path())
    assert '"losses": 13' in shown.stdout
    assert "a: done: 90.0 %" in shown.stderr
    assert "-40.0" in Path("both.md").read_text()
    assert as_json(f"{RUN} alone --candidate b")["summary"]["score"] == 0.5
    gated = said(f"{RUN} gated --candidate b --fail-under 0.6 -o one.md", code=EXIT_GATE)
    assert gated.splitlines()[-1] == "done: 50.0 %, below the gate of 60.0 % (exit 1)"
    assert "needs two candidates" in said(f"{RUN} single --candidate b --fail-on-regression", code=EXIT_USAGE)
