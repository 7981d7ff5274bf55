"""`evalsuite leaderboard` for a maintainer: reuse, refusals, and the content of each format."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.types import Submission
from tests.cli.test_run import text_gold, text_submission, write_lines

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = {f"q{i}": f"city {i}" for i in range(8)}
FORMATS = ("board.md", "board.csv", "board.json", "board.html")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold of eight texts and three submissions, right on 6, 4 and 1 of them; commands run here."""
    monkeypatch.chdir(tmp_path)
    text_gold(tmp_path / "gold", **GOLD)
    for name, right in (("alice", 6), ("bob", 4), ("carol", 1)):
        hand_in(tmp_path / "subs" / name, right)
    return tmp_path


def hand_in(folder: Path, right: int) -> None:
    """A submission that is right on the first instances."""
    text_submission(folder, **{key: text if at < right else "no" for at, (key, text) in enumerate(GOLD.items())})


def rank(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """What the command prints, without isolation and so quickly."""
    assert main(["leaderboard", "--isolation", "none", "--jobs", "1", *map(str, arguments)]) == code
    said = capsys.readouterr()
    return said.err if code == 2 else said.out


def test_only_what_is_new_is_scored(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second call scores nothing, a further submission or a changed byte only that one; the rows stay the same."""
    first = rank(capsys, "subs", "--json")
    assert rank(capsys, "subs", "-q") == "done: 3 submissions ranked (0 new, 3 reused)\n"
    again = rank(capsys, "subs", "--json")
    assert json.loads(again)["rows"] == json.loads(first)["rows"]
    hand_in(place / "subs" / "dave", 8)
    assert rank(capsys, "subs", "-q") == "done: 4 submissions ranked (1 new, 3 reused)\n"
    hand_in(place / "subs" / "carol", 2)
    assert rank(capsys, "subs", "-q") == "done: 4 submissions ranked (1 new, 3 reused)\n"
    assert rank(capsys, "subs", "-q", "--no-cache") == "done: 4 submissions ranked (4 new, 0 reused)\n"
    assert rank(capsys, "subs", "-q", "--rules", "strict") == "done: 4 submissions ranked (4 new, 0 reused)\n"


def test_a_run_made_by_hand_is_reused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `evalsuite run` saved counts, one of a part of the instances does not, and a copy is scored once."""
    assert main(["run", "subs/alice", "-q", "--isolation", "none"]) == 0
    assert main(["run", "subs/bob", "-q", "--isolation", "none", "--only", "q0"]) == 0
    shutil.copytree(place / "subs" / "carol", place / "subs" / "copy")
    capsys.readouterr()
    assert rank(capsys, "subs", "-q") == "done: 4 submissions ranked (2 new, 2 reused)\n"
    assert len(list((place / ".evalsuite" / "runs").iterdir())) == 4


def test_exchanged_files_give_nobody_elses_score(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that held an honest answer's bytes when it was hashed, and others when it was read: the honest one is scored by itself."""
    from evalsuite.runs import plan as running

    write_lines(
        place / "gold" / "toy_eval.jsonl", {"instance_id": "t", "evaluation": {"func": "table_match", "parameters": {"gold": "g.csv"}}}
    )
    (place / "gold" / "t").mkdir()
    (place / "gold" / "t" / "g.csv").write_text("n\n1\n")
    shutil.rmtree(place / "subs")
    for name in ("a_mallory", "honest"):
        (place / "subs" / name / "t").mkdir(parents=True)
        (place / "subs" / name / "t" / "r.csv").write_text("n\n1\n")
        write_lines(
            place / "subs" / name / "results_metadata.jsonl", {"instance_id": "t", "answer_type": "file", "answer_or_path": "r.csv"}
        )
    file = place / "subs" / "a_mallory" / "t" / "r.csv"
    read = running.read_submission_in_worker

    def exchanged(folder: Path, *arguments: Any, **options: Any) -> Submission:
        found = read(folder, *arguments, **options)
        file.write_text("n\n2\n")
        return found

    monkeypatch.setattr(running, "read_submission_in_worker", exchanged)
    board = json.loads(rank(capsys, "subs", "--json"))
    assert {row["name"]: row["score"] for row in board["rows"]} == {"honest": 1, "a_mallory": 0}
    monkeypatch.setattr(running, "read_submission_in_worker", read)
    file.write_text("n\n1\n")
    board = json.loads(rank(capsys, "subs", "--json"))
    assert {row["name"]: row["score"] for row in board["rows"]} == {"honest": 1, "a_mallory": 1}


def test_changed_gold_is_scored_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another gold file is another signature."""
    rank(capsys, "subs")
    text_gold(place / "gold", **{**GOLD, "q0": "elsewhere"})
    assert rank(capsys, "subs", "-q") == "done: 3 submissions ranked (3 new, 0 reused)\n"


def test_the_table_for_a_person(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Order, polarity, intervals, shared ranks and what is needed to repeat it stand on the terminal."""
    shown = rank(capsys, "subs")
    assert "score (higher is better)" in shown
    assert re.search(r"1 \(1-3\) +alice +75\.0 % +\[40\.9, 92\.9\] +75\.0 % +75\.0 % +8/8", shown)
    assert shown.index("alice") < shown.index("bob") < shown.index("carol")
    assert "exact McNemar on paired instances, Holm over 3 pairs" in shown
    assert "seed 12345" in shown
    assert shown.endswith("done: 3 submissions ranked (3 new, 0 reused)\n")


def test_runs_and_folders_of_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs are ranked without gold, with their metadata; other rules among them are refused, then forced and printed."""
    rank(capsys, "subs")
    shutil.rmtree(place / "gold")
    assert rank(capsys, ".evalsuite/runs", "-q") == "done: 3 submissions ranked (0 new, 0 reused, 3 runs)\n"
    one = next((place / ".evalsuite" / "runs").iterdir()) / "run.json"
    one.write_text(one.read_text().replace("rules:official", "rules:strict"))
    refused = rank(capsys, ".evalsuite/runs", code=2)
    assert "they differ in rules: official (2), strict (1)" in refused
    assert "--force" in refused
    assert "FORCED" in rank(capsys, ".evalsuite/runs", "--force")


def test_a_link_has_its_own_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Teams are often links into a store of uploads: the board names the team, and counts an upload once."""
    (place / "subs").rename(place / "store")
    (place / "subs").mkdir()
    for team, upload in (("blue", "alice"), ("red", "bob"), ("twin", "bob")):
        (place / "subs" / team).symlink_to(place / "store" / upload)
    assert [row["name"] for row in json.loads(rank(capsys, "subs", "--json"))["rows"]] == ["blue", "red"]


def test_broken_submissions_are_rows(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without metadata and one whose metadata is a folder stand last with their faults; the exit code says so."""
    (place / "subs" / "empty").mkdir()
    (place / "subs" / "odd" / "results_metadata.jsonl").mkdir(parents=True)
    rows = json.loads(rank(capsys, "subs", "--json", code=1))["rows"]
    assert [(row["name"], row["rank"]) for row in rows] == [("alice", 1), ("bob", 2), ("carol", 3), ("empty", None), ("odd", None)]
    assert "MISSING_FILE" in rows[3]["fault"]
    assert "NOT_REGULAR_FILE" in rows[4]["fault"]
    assert rank(capsys, "subs", "-q", code=1) == "done: 3 submissions ranked (0 new, 3 reused), 2 could not be read (exit 1)\n"
    assert rank(capsys, "subs/alice", "subs/empty", "-q", code=1).startswith("done: 1 submission ranked (0 new, 1 reused), 1 could not be")


def test_what_cannot_be_ranked_may_be_saved(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run under other rules is found out when the new submissions are scored: they are saved, so the exit code is not 2."""
    rank(capsys, "subs/alice")
    run = str(next((place / ".evalsuite" / "runs").iterdir()))
    assert main(["leaderboard", run, "subs/bob", "--rules", "strict", "--isolation", "none"]) == 1
    said = capsys.readouterr()
    assert "they differ in rules: official (1), strict (1); 1 new run saved in .evalsuite/runs (exit 1)" in said.err
    assert main(["leaderboard", run, "subs/bob", "--rules", "strict", "--isolation", "none"]) == 2


def test_an_empty_folder_among_runs_is_a_row(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is named and holds nothing ends no ranking of runs either, which needs no gold; alone it is an error."""
    rank(capsys, "subs")
    shutil.rmtree(place / "gold")
    (place / "nothing").mkdir()
    made = json.loads(rank(capsys, ".evalsuite/runs", "nothing", "--json", code=1))
    assert (made["rows"][-1]["name"], made["rows"][-1]["fault"]) == ("nothing", "no submission and no finished run in nothing")
    assert "nothing: no submission and no finished run in it" in rank(capsys, "nothing", code=2)
    assert "nowhere: no such folder" in rank(capsys, ".evalsuite/runs", "nowhere", code=2)


def forge(place: Path, folder: Path) -> None:
    """Put a finished run with full marks into a folder, as somebody does who has the gold of a practice round."""
    hand_in(place / "perfect", 8)
    assert main(["run", "perfect", "-q", "--isolation", "none", "--no-cache", "--out", "practice"]) == 0
    folder.mkdir(exist_ok=True)
    for name in ("run.json", "results.jsonl"):
        shutil.copy(place / "practice" / name, folder / name)


def test_a_run_inside_a_submission_is_not_taken_at_its_word(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A forged run of 100 % beside the answers changes nothing, however the folder is named; compare scores the answers too."""
    honest = json.loads(rank(capsys, "subs", "--json"))["rows"]
    forge(place, place / "subs" / "carol")
    capsys.readouterr()
    made = json.loads(rank(capsys, "subs", "--json"))
    assert made["rows"] == honest
    assert [row["score"] for row in json.loads(rank(capsys, "subs/carol", "--json"))["rows"]] == [1 / 8]
    assert main(["compare", "subs/alice", "subs/carol", "--json", "--jobs", "1"]) == 0
    total = json.loads(capsys.readouterr().out)["candidates"][0]["total"]
    assert (total["a"], total["b"]) == (6 / 8, 1 / 8)


def test_a_run_handed_in_among_submissions_has_no_rank(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who hands in a run instead of answers is a row with a fault, and is named; a folder of runs is still ranked as it is."""
    forge(place, place / "subs" / "mallory")
    capsys.readouterr()
    made = json.loads(rank(capsys, "subs", "--json", code=1))
    assert [(row["name"], row["rank"]) for row in made["rows"]] == [("alice", 1), ("bob", 2), ("carol", 3), ("mallory", None)]
    assert "MISSING_FILE" in made["rows"][3]["fault"]
    assert made["notes"] == ["mallory is a run among submissions, and not taken at its word: name it by itself"]
    assert json.loads(rank(capsys, "subs/mallory", "--json"))["rows"][0]["score"] == 1


@pytest.mark.parametrize("engine", ["lite", "snow"])
def test_a_run_inside_a_submission_of_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """In layouts without metadata a folder of answer files is a submission too."""
    monkeypatch.chdir(tmp_path)
    entry = {"instance_id": "q", "condition_cols": [], "ignore_order": True}
    write_lines(tmp_path / "gold" / f"{engine}_eval.jsonl", entry)
    for folder, text in (("gold/exec_result", "n\n1\n"), ("good", "n\n1\n"), ("bad", "n\n2\n")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "q.csv").write_text(text)
    assert main(["run", "good", "-q", "--isolation", "none", "--out", "practice"]) == 0
    for name in ("run.json", "results.jsonl"):
        shutil.copy(tmp_path / "practice" / name, tmp_path / "bad" / name)
    capsys.readouterr()
    assert [row["score"] for row in json.loads(rank(capsys, "bad", "--json"))["rows"]] == [0]


NO_RUN = {
    "verify": ["verify", "subs/carol"],
    "report": ["report", "subs/carol"],
    "runs show": ["runs", "show", "subs/carol"],
    "runs tag": ["runs", "tag", "subs/carol", "--add", "best"],
    "runs rm": ["runs", "rm", "subs/carol"],
    "rescore": ["rescore", "subs/carol"],
    "explain": ["explain", "q0", "--run", "subs/carol"],
    "bundle": ["bundle", "q0", "--run", "subs/carol"],
    "agree": ["agree", "subs/carol", "practice"],
    "merge": ["merge", "subs/carol", "--out", "merged"],
    "run --out": ["run", "subs/alice", "--out", "subs/carol"],
    "run --resume": ["run", "subs/carol", "--resume", "subs/carol"],
}


@pytest.mark.parametrize("arguments", NO_RUN.values(), ids=NO_RUN)
def test_no_command_takes_a_submission_for_a_run(place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Each refuses it by name, and leaves what lies in it alone."""
    forge(place, place / "subs" / "carol")
    before = {path: path.read_bytes() for path in (place / "subs").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "subs/carol is a submission, not a run" in said.err
    assert {path: path.read_bytes() for path in (place / "subs").rglob("*") if path.is_file()} == before


def test_the_history_has_no_submissions(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of submissions is no history, whatever lies in them: `runs list` and `sql` find nothing, a board scores anew."""
    forge(place, place / "subs" / "carol")
    capsys.readouterr()
    assert main(["runs", "list", "--runs", "subs"]) == 0
    assert "no runs in subs" in capsys.readouterr().out
    assert main(["sql", "SELECT count(*) AS n FROM results", "--runs", "subs"]) == 0
    assert re.search(r"\b0\b", capsys.readouterr().out)
    shutil.copy(place / "subs" / "carol" / "results_metadata.jsonl", place / "practice")
    hand_in(place / "other", 8)
    assert rank(capsys, "other", "-q", "--runs", ".") == "done: 1 submission ranked (1 new, 0 reused)\n"


def test_metadata_from_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CSV's columns stand in the row and are kept with the new run; a name that is not there is said."""
    (place / "models.csv").write_text("submission,model_name,team\nalice,gpt-x,red\nzed,y,blue\n")
    made = json.loads(rank(capsys, "subs", "--json", "--metadata", "models.csv"))
    assert made["rows"][0]["metadata"] == {"model_name": "gpt-x", "team": "red"}
    assert made["notes"] == ["models.csv: no submission 'zed'"]
    kept = [json.loads(path.read_text())["metadata"] for path in (place / ".evalsuite" / "runs").glob("*alice/run.json")]
    assert kept == [{"model_name": "gpt-x", "team": "red"}]


class Page(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note the tag."""
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.texts.append(data)


def test_hostile_names_in_every_format(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Markup, formulas, pipes and escapes in a folder's name stay text."""
    for name in ("=1+1", "<img src=x onerror=alert(1)>", "a|b", "\x1b[31mred", "[x](http:x)"):
        hand_in(place / "subs" / name, 3)
    shown = rank(capsys, "subs", *(word for name in FORMATS for word in ("-o", name)))
    assert "\x1b[31m" not in shown
    page = Page((place / "board.html").read_text())
    assert page.tags.isdisjoint({"script", "img", "iframe", "object", "form"})
    assert "<img src=x onerror=alert(1)>" in page.texts
    assert "default-src &#39;none&#39;" in (place / "board.html").read_text()
    rows = list(csv.reader(StringIO((place / "board.csv").read_text())))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert "'=1+1" in {row[1] for row in rows}
    markdown = (place / "board.md").read_text()
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert "<img" not in markdown
    assert {row["name"] for row in json.loads((place / "board.json").read_text())["rows"]} >= {"a|b", "=1+1"}


def test_anonymous_in_every_format(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No name, path or metadata of a submission in any output, on the terminal or in a file."""
    (place / "models.csv").write_text("submission,model_name\nalice,gpt-secret\nzed,y\n")
    (place / "subs" / "mallory").mkdir()
    shown = rank(capsys, "subs", "--anonymise", "--metadata", "models.csv", *(word for name in FORMATS for word in ("-o", name)), code=1)
    texts = [shown, *((place / name).read_text() for name in FORMATS)]
    for word in ("alice", "bob", "carol", "mallory", "zed", "gpt-secret", "subs", str(place)):
        assert not any(word in text for text in texts), word
    assert all("75.0" in text or "0.75" in text for text in texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["gold"], "gold: no submission and no finished run in it"),
        (["subs", "-o", "board.pdf"], "no report format for 'board.pdf'"),
        (["subs", "--by", "colour"], "--by cannot be 'colour'"),
        (["subs", "--metadata", "nowhere.csv"], "nowhere.csv: cannot be read as CSV"),
    ],
)
def test_what_cannot_be_meant(place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """Each is one error with exit code 2, and nothing is scored."""
    assert f"error: {message}" in rank(capsys, *arguments, code=2)
    assert not (place / ".evalsuite" / "runs").exists()


def test_trees_by_default_and_by_official_rules_are_not_mixed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees score strictly unless rules are named; a run of the one is never taken for the other although their signatures agree."""
    monkeypatch.chdir(tmp_path)
    parameters = {"gold": {"a": 1, "b": "x"}, "schema": {"a": "integer", "b": "string"}}
    write_lines(tmp_path / "gold" / "t_eval.jsonl", {"instance_id": "t", "evaluation": {"func": "tree_score", "parameters": parameters}})
    answer = json.dumps({"a": "1", "b": "x"})
    write_lines(tmp_path / "s" / "results_metadata.jsonl", {"instance_id": "t", "answer_type": "answer", "answer_or_path": answer})
    found = [json.loads(rank(capsys, "s", "--json", *words)) for words in ([], ["--rules", "official"], [], ["--rules", "official"])]
    assert [board["rows"][0]["score"] for board in found] == [0.5, 0, 0.5, 0]
    assert rank(capsys, "s", "--rules", "official", "-q") == "done: 1 submission ranked (0 new, 1 reused)\n"
