"""Rows of candidates are joined with cases by id, input or place; contradictions are refused; every file type is read."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_OK, EXIT_USAGE
from evalsuite.suites.stored_suites import load_suite
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "place")

QUESTIONS = "id,question,reference\nq1,Capital of France?,Paris\nq2,Capital of Italy?,Rome\nq3,Capital of Norway?,Oslo\n"


def make(folder: Path) -> None:
    """A suite of three capitals with ids of their own."""
    (folder / "q.csv").write_text(QUESTIONS)
    create = ["suite", "create", "capitals", "--from", "q.csv", "--scorer", "string_match"]
    assert main([*create, "--input-column", "question", "--reference-column", "reference"]) == EXIT_OK


place = copy_of(make)


def outputs(run: str) -> dict[str, str]:
    """Case id -> the answer that was joined with it."""
    lines = (Path(".evalsuite/suites/capitals/submissions") / run / "results_metadata.jsonl").read_text().splitlines()
    return {row["instance_id"]: row["answer_or_path"] for row in map(json.loads, lines)}


@pytest.mark.parametrize(("name", "text"), [
    ("by_id.csv", "id,out\nq3,C\nq1,A\nq2,B\n"), ("by_id.tsv", "id\tout\nq3\tC\nq1\tA\nq2\tB\n"),
    ("semicolons.csv", "id;out\nq3;C\nq1;A\nq2;B\n"),
    ("by_input.csv", "question,out\nCapital  of Norway?,C\nCapital of France?,A\nCapital of Italy?,B\n"),
    ("by_place.csv", "out\nA\nB\nC\n"),
    ("list.json", '[{"id": "q2", "out": ["B"]}, {"id": "q1", "out": "A"}, {"id": "q3", "out": "C"}]'),
    ("columns.json", '{"id": ["q2", "q1", "q3"], "out": ["B", "A", "C"]}'),
    ("lines.jsonl", '{"id": "q2", "out": "B"}\n{"id": "q1", "out": ["A"]}\n{"id": "q3", "out": "C"}\n'),
])  # fmt: skip
def test_rows_find_their_cases(place: Path, name: str, text: str) -> None:
    """By id, else by question, else by place; a list of one element is that element; whatever the kind of file."""
    (place / name).write_text(text)
    assert main(["suite", "run", "capitals", "run", "--from", name, "--candidate-column", "out"]) == EXIT_OK
    assert outputs("run") == {"q1": "A", "q2": "B", "q3": "C"}


def test_lines_of_a_text_are_answers_in_order(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of a .txt is one, an empty one too, whatever ends it; as many as there are cases, and what the file is is proposed."""
    (place / "lines.txt").write_bytes(b"\xef\xbb\xbfA \r\n\r\nC; D, E")
    assert main(["suite", "run", "capitals", "run", "--from", "lines.txt"]) == EXIT_OK
    assert outputs("run") == {"q1": "A ", "q2": "", "q3": "C; D, E"}
    (place / "few.txt").write_text("A\nB\n")
    assert main(["suite", "run", "capitals", "few", "--from", "few.txt"]) == EXIT_USAGE
    assert "2 candidates for 3 test cases" in capsys.readouterr().err
    assert main(["what", "few.txt"]) == EXIT_OK
    assert "possible: evalsuite suite run SUITE --from few.txt" in capsys.readouterr().out


def test_an_excel_sheet_is_read(place: Path) -> None:
    """The first sheet, its first row the names."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "out"], ["q2", "B"], ["q3", 3], [None, None], ["q1", "A"]):
        book.active.append(row)
    book.save(place / "a.xlsx")
    assert main(["suite", "run", "capitals", "run", "--from", "a.xlsx", "--candidate-column", "out"]) == EXIT_OK
    assert outputs("run") == {"q1": "A", "q2": "B", "q3": "3"}


@pytest.mark.parametrize(("name", "text", "says"), [
    ("other.csv", "question,out\nWhat is 2?,A\nWhat is 3?,B\nWhat is 4?,C\n", "row 1: the suite has no question 'What is 2?'"),
    ("unknown.csv", "id,out\nq1,A\nq2,B\nq9,C\n", "row 3: the suite has no id 'q9'"),
    ("twice.csv", "id,out\nq1,A\nq2,B\nq2,C\nq3,D\n", "row 3: the id 'q2' occurs 2 times"),
    ("short.csv", "id,out\nq1,A\n", "2 of 3 test cases have no candidate, first the id 'q2'"),
    ("contradicts.csv", "id,question,out\nq1,x,A\nq2,y,B\nq3,z,C\n", "but all questions differ"),
    ("few.csv", "out\nA\n", "1 candidate for 3 test cases"),
    ("lists.json", '[{"id": "q1", "out": ["A", "B"]}]', "row 1: the column 'out' contains a list of 2"),
    ("broken.json", '[{"id": "q1",\n "out": }]', "broken.json:2: not valid JSON"),
    ("scalar.json", "3", "contains no rows"),
    ("digits.json", f'[{{"out": {"9" * 5000}}}]', "digits.json: a number has too many digits"),
    ("twice.json", '[{"id": "q1", "out": "A", "out": "B"}]', "twice.json: the key 'out' is repeated"),
    ("twice.jsonl", '{"id": "q1", "out": "A"}\n{"id": "q2", "out": "A", "out": "B"}', "twice.jsonl:2: the key 'out' is repeated"),
    ("huge.jsonl", '{"id": "q1", "out": 1e999}', "huge.jsonl:1: a number is too large for a float"),
    ("unnamed.csv", "id,answer\nq1,A\n", "unnamed.csv: the data has no candidate column 'out'"),
    ("doubled.csv", "id,out,out\nq1,A,B\n", "doubled.csv: two columns are named 'out'"),
    ("broken.xlsx", "PK", "not a readable Excel file"),
])  # fmt: skip
def test_a_file_that_contradicts_is_refused(place: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, says: str) -> None:
    """Each is named with its row, exits 2 and leaves no run."""
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    (place / name).write_text(text)
    assert main(["suite", "run", "capitals", "run", "--from", name, "--candidate-column", "out"]) == EXIT_USAGE
    assert says in capsys.readouterr().err
    assert not (place / ".evalsuite/runs").exists()


def test_ids_that_cannot_be_ids_are_counted(place: Path) -> None:
    """A column `id` with a repeated or impossible one gives the cases no ids."""
    (place / "odd.csv").write_text("id,input,reference_output\n../x,Q?,a\n1,R?,b\n")
    assert main(["suite", "create", "odd", "--from", "odd.csv", "--scorer", "string_match"]) == EXIT_OK
    assert [case.id for case in load_suite("odd").test_cases] == ["case_1", "case_2"]
    assert [case.id for case in load_suite("capitals").test_cases] == ["q1", "q2", "q3"]
