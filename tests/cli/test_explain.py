"""`evalsuite explain` and `check --explain`, as a user runs them."""

import json
from pathlib import Path

import pytest

from evalsuite.runs.history import find_runs
from tests.cli.test_run import called, lacks, said, write_lines
from tests.conftest import copy_example, copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

RUN = "run example_submission_folder --no-cache -q --only"
EXAMPLE = "--result_dir example_submission_folder --gold gold"
HIDDEN = "q1 --result_dir hidden/answers --gold hidden/gold"


def make_place(folder: Path) -> None:
    """Two instances of the example, and a suite whose gold is hidden with a hostile answer that is 100 times gold."""
    copy_example(folder, {"sales_001", "sales_007"})
    for side, rows in (
        (folder / "hidden/gold", "region,share\nNorth\x1b[31m,0.1275\nSouth,0.4411\nEast,0.1926\nWest,0.2388\n"),
        (folder / "hidden/answers", "region,share\nNorth\x1b[31m,12.75\nSouth,44.11\nEast,19.26\nWest,23.88\n"),
    ):
        (side / "q1").mkdir(parents=True)
        (side / "q1" / "result.csv").write_text(rows)
    (folder / "hidden/gold/suite.yaml").write_text("hidden: true\n")
    check = {"func": "table_match", "parameters": {"gold": "result.csv"}}
    write_lines(folder / "hidden/gold/a_eval.jsonl", {"instance_id": "q1", "evaluation": check})
    line = {"instance_id": "q1", "answer_type": "file", "answer_or_path": "result.csv"}
    write_lines(folder / "hidden/answers/results_metadata.jsonl", line)


place = copy_of(make_place)


def test_the_last_run_is_the_default() -> None:
    """`explain`, `report`, `margins` and `bundle` take the newest run, which a note on stderr names; without any they exit 2.

    The run's folder is enough to show cause, rows and SQL.
    """
    commands = ("explain sales_007", "report", "margins", "bundle sales_007 -o case.md")
    note, other = "note        the saved run gives another reason: ", "note: the saved run gives another verdict: its answer or gold has "
    for words in commands:
        assert "no run is named, and there is none in .evalsuite/runs" in said(words, code=2)
    for only in ("sales_001", "sales_007"):
        said(f"{RUN} {only}")
    name = find_runs()[-1].name
    for words in commands:
        shown = called(*words.split(), cwd=Path())
        assert f"note: the last run, {name}\n" in shown.stderr, words
        Path("case.md").unlink(missing_ok=True)
        if not words.startswith("bundle"):
            assert said(f"{words} {name if ' ' not in words else f'--run {name}'}", code=shown.returncode) == shown.stdout, words
        assert not any(text in shown.stdout + shown.stderr for text in (note, other)), words
        if words == commands[0]:
            assert not lacks(shown.stdout, "proved      rows scrambled", "EXCEPT ALL")
    # From elsewhere the files are those of the run's history, and a note says so, even if a submission of that name is here.
    run_folder, elsewhere = find_runs()[-1].folder.resolve(), Path("elsewhere")
    (elsewhere / "example_submission_folder").mkdir(parents=True)
    for command in ("explain", "check", "bundle"):
        far = called(command, "sales_007", "--run", str(run_folder), cwd=elsewhere)
        assert f"note: the submission of {name} is read from {Path('example_submission_folder').resolve()}\n" in far.stderr
        assert (far.returncode, "sales_007" in far.stdout) == (0, True)
    # Under other rules a right answer has another reason.
    assert "why         8 rows match" in (right := said(f"explain sales_001 --rules strict --run {find_runs()[0].name}"))
    assert note not in right
    assert other not in called("check", "sales_007", cwd=Path()).stderr
    # An answer that changed since is explained as it is now, with a note; at a level that hides reasons without it.
    file = next(Path("example_submission_folder/sales_007").glob("*.csv"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    assert note in said("explain sales_007")
    assert note not in said("explain sales_007 --reveal status")
    assert all(other in called(*words.split(), cwd=Path()).stderr for words in ("check sales_007", commands[-1]))
    assert other not in called("check", "sales_007", "--reveal", "status", cwd=Path()).stderr
    assert other not in called("check", "sales_007", "--gold", "gold", cwd=Path()).stderr


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("", "broken has no answer to this instance; `evalsuite validate` says what it contains"),
        ('{"instance_id": "q1", "answer_type": "file", "answer_or_path": "no.csv"}', "paths are relative to <submission>/<instance_id>/"),
    ],
)
def test_a_missing_answer_and_a_fault_have_a_way_out(line: str, hint: str) -> None:
    """Below the reason is what to do; not where the level hides the reason too."""
    Path("broken").mkdir()
    Path("broken/results_metadata.jsonl").write_text(line + "\n")
    Path("hidden/gold/suite.yaml").unlink()
    words = "explain q1 --result_dir broken --gold hidden/gold"
    assert f" hint        {hint}" in said(words).splitlines()
    assert "hint" not in said(f"{words} --reveal status")


@pytest.mark.parametrize(
    "words", ["explain Q", "explain Q --json", "check Q", "check Q --json", "check Q --explain", "check Q --explain --json"]
)
def test_hidden_gold_stays_hidden(words: str) -> None:
    """By default the cause is named, no cell and not the spec; a chosen level shows more, with nothing that a terminal would obey.

    `--json` is one object: the result, the level it was cut to, and the explanation if it was asked for.
    """
    line = words.replace("Q", HIDDEN)
    shown = said(line)
    assert not [word for word in ("0.1275", "0.4411", "North", "share", "12.75", "table_match(") if word in shown]
    is_explained = words.startswith("explain") or "--explain" in words
    if "--json" in words:
        data = json.loads(shown)
        assert data.get("explanation", {}).get("cause") == ("times 100" if is_explained else None)
        assert data.get("reveal") == ("class" if is_explained else None)
        assert words.startswith("explain") or data["score"] == 0
    else:
        assert ("times 100" in shown) == is_explained
    revealed = said(f"{line} --reveal cells")
    assert ("0.1275" in revealed, "\x1b" in revealed) == (True, False)
    assert "hint:" in said(f"{line} --reveal everything", code=2)


@pytest.mark.parametrize("words", ["explain q1", f"explain nobody {EXAMPLE}", "check string_match --explain --prediction a --gold b"])
def test_mistakes(words: str) -> None:
    """No submission, nothing to explain, and an unknown id end with a hint and exit code 2."""
    assert "hint:" in said(words, code=2)
