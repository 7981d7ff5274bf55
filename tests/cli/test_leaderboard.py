"""`evalsuite leaderboard` for a maintainer: reuse, refusals, and the content of each format."""

import csv
import json
import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.types import Submission
from tests.cli.test_run import called, check, lacks, said, text_gold, text_submission, write_answers, write_gold
from tests.conftest import copy_of
from tests.reports.test_html import Reader

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = {f"q{i}": f"city {i}" for i in range(8)}
FORMATS = ("board.md", "board.csv", "board.json", "board.html")
WRITE_ALL = " ".join(f"-o {name}" for name in FORMATS)


@copy_of
def place(folder: Path) -> None:
    """Gold of eight texts and three submissions, right on 6, 4 and 1 of them; a finished run with full marks, and its submission."""
    text_gold(folder / "gold", **GOLD)
    for name, right in (("subs/alice", 6), ("subs/bob", 4), ("subs/carol", 1), ("perfect", 8)):
        hand_in(folder / name, right)
    said("run perfect -q --isolation none --no-cache --out practice")


def hand_in(folder: Path, right: int) -> None:
    """A submission that is right on the first instances."""
    text_submission(folder, **{key: text if at < right else "no" for at, (key, text) in enumerate(GOLD.items())})


def rank(words: str, *, code: int = 0) -> str:
    """What the command prints, without isolation and so quickly."""
    return said(f"leaderboard --isolation none --jobs 1 {words}", code=code)


def ranked(words: str, *, code: int = 0) -> list[dict[str, Any]]:
    """The rows of the board."""
    return list(json.loads(rank(f"{words} --json", code=code))["rows"])


def test_only_what_is_new_is_scored(place: Path) -> None:
    """The second call scores nothing, a further submission, a changed byte, other libraries or code only that one; rows stay the same."""
    first = ranked("subs")
    assert rank("subs -q") == "done: 3 submissions ranked (0 new, 3 reused)\n"
    assert ranked("subs") == first
    recorded = next(place.glob(".evalsuite/runs/*alice*/run.json"))
    recorded.write_text(re.sub('("regex": ?")', r"\g<1>0.", recorded.read_text()))
    # Another code under the same version, and a run that does not say by which code it was scored.
    for name, edit in (("bob", ('"evalsuite_code": ?"', '"evalsuite_code": "0')), ("carol", ('"evalsuite_code": ?"[0-9a-f]*", ?', ""))):
        recorded = next(place.glob(f".evalsuite/runs/*{name}*/run.json"))
        recorded.write_text(re.sub(*edit, recorded.read_text(), count=1))
    assert rank("subs -q") == "done: 3 submissions ranked (3 new, 0 reused)\n"
    hand_in(place / "subs" / "dave", 8)
    assert rank("subs -q") == "done: 4 submissions ranked (1 new, 3 reused)\n"
    hand_in(place / "subs" / "carol", 2)
    assert rank("subs -q") == "done: 4 submissions ranked (1 new, 3 reused)\n"
    assert rank("subs -q --no-cache") == "done: 4 submissions ranked (4 new, 0 reused)\n"
    assert rank("subs -q --rules strict") == "done: 4 submissions ranked (4 new, 0 reused)\n"
    # Another gold file is another signature.
    text_gold(place / "gold", **{**GOLD, "q0": "elsewhere"})
    assert rank("subs -q") == "done: 4 submissions ranked (4 new, 0 reused)\n"


def test_what_counts_as_a_run(place: Path) -> None:
    """What `evalsuite run` saved of all instances is reused, a copy scored once; no command takes a submission for a run."""
    said("run subs/alice -q --isolation none")
    said("run subs/bob -q --isolation none --only q0")
    shutil.copytree(place / "subs" / "carol", place / "subs" / "copy")
    assert rank("subs -q") == "done: 4 submissions ranked (2 new, 2 reused)\n"
    assert len(list((place / ".evalsuite" / "runs").iterdir())) == 4
    forge(place / "subs" / "carol")
    before = {path: path.read_bytes() for path in (place / "subs").rglob("*") if path.is_file()}
    for words in NO_RUN:
        assert "subs/carol is a submission, not a run" in said(words, code=2), words
        assert {path: path.read_bytes() for path in (place / "subs").rglob("*") if path.is_file()} == before, words


def test_runs_in_a_submission_are_not_reused(place: Path) -> None:
    """Who works inside a submission has its author's runs there: such a submission is scored."""
    assert rank("subs/alice -q") == "done: 1 submission ranked (1 new, 0 reused)\n"
    (place / ".evalsuite").rename(place / "subs" / "alice" / ".evalsuite")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place / "subs" / "alice")
        assert rank(". --gold ../../gold -q") == "done: 1 submission ranked (1 new, 0 reused)\n"


def test_exchanged_files_give_nobody_elses_score(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that held an honest answer's bytes when it was hashed, and others when it was read: the honest one is scored by itself."""
    from evalsuite.runs import plan as running

    write_gold(place / "gold", t=check("table_match", gold="g.csv"))
    (place / "gold" / "t").mkdir()
    (place / "gold" / "t" / "g.csv").write_text("n\n1\n")
    shutil.rmtree(place / "subs")
    for name in ("a_mallory", "honest"):
        (place / "subs" / name / "t").mkdir(parents=True)
        (place / "subs" / name / "t" / "r.csv").write_text("n\n1\n")
        write_answers(place / "subs" / name, ("t", "file", "r.csv"))
    file = place / "subs" / "a_mallory" / "t" / "r.csv"
    read = running.read_submission_in_worker

    def exchanged(folder: Path, *arguments: Any, **options: Any) -> Submission:
        found = read(folder, *arguments, **options)
        file.write_text("n\n2\n")
        return found

    monkeypatch.setattr(running, "read_submission_in_worker", exchanged)
    assert {row["name"]: row["score"] for row in ranked("subs")} == {"honest": 1, "a_mallory": 0}
    monkeypatch.setattr(running, "read_submission_in_worker", read)
    file.write_text("n\n1\n")
    assert {row["name"]: row["score"] for row in ranked("subs")} == {"honest": 1, "a_mallory": 1}


def test_runs_and_folders_of_runs(place: Path) -> None:
    """Runs are ranked without gold; other rules among them are refused, then forced; an empty folder beside them ends no ranking."""
    rank("subs")
    shutil.rmtree(place / "gold")
    assert rank(".evalsuite/runs -q") == "done: 3 submissions ranked (0 new, 0 reused, 3 runs)\n"
    (place / "nothing").mkdir()
    last = ranked(".evalsuite/runs nothing", code=1)[-1]
    assert (last["name"], last["fault"]) == ("nothing", "no submission and no finished run in nothing")
    assert "nothing: no submission and no finished run in it" in rank("nothing", code=2)
    assert "nowhere: no such folder" in rank(".evalsuite/runs nowhere", code=2)
    one = next((place / ".evalsuite" / "runs").iterdir()) / "run.json"
    one.write_text(one.read_text().replace("rules:official", "rules:strict"))
    refused = rank(".evalsuite/runs", code=2)
    assert not lacks(refused, "they differ in rules: official (2), strict (1)", "--force")
    assert "FORCED" in rank(".evalsuite/runs --force")


def test_rules_are_not_mixed_up(place: Path) -> None:
    """New submissions are saved though a run under other rules keeps them unranked; trees by default are not those by official rules."""
    rank("subs/alice")
    (run,) = (place / ".evalsuite" / "runs").iterdir()
    words = ("leaderboard", run, "subs/bob", "--rules", "strict", "--isolation", "none")
    done = called(*words, cwd=place)
    assert done.returncode == 1
    assert "they differ in rules: official (1), strict (1); 1 new run saved in .evalsuite/runs (exit 1)" in done.stderr
    assert called(*words, cwd=place).returncode == 2
    write_gold(place / "trees", t=check("tree_score", gold={"a": 1, "b": "x"}, schema={"a": "integer", "b": "string"}))
    text_submission(place / "s", t=json.dumps({"a": "1", "b": "x"}))
    found = [ranked(f"s --gold trees {words}")[0]["score"] for words in ("", "--rules official") * 2]
    assert found == [0.5, 0, 0.5, 0]
    assert rank("s --gold trees --rules official -q") == "done: 1 submission ranked (0 new, 1 reused)\n"


def forge(folder: Path) -> None:
    """Put a finished run with full marks into a folder, as somebody does who has the gold of a practice round."""
    folder.mkdir(exist_ok=True)
    for name in ("run.json", "results.jsonl"):
        shutil.copy(Path("practice") / name, folder / name)


def test_runs_among_submissions(place: Path) -> None:
    """A run handed in instead of answers has no rank and is named; a folder of submissions is no history, whatever lies in them."""
    forge(place / "subs" / "carol")
    assert "no runs in subs" in said("runs list --runs subs")
    assert re.search(r"\b0\b", said("sql 'SELECT count(*) AS n FROM results' --runs subs"))
    shutil.copy(place / "subs" / "carol" / "results_metadata.jsonl", place / "practice")
    hand_in(place / "other", 8)
    assert rank("other -q --runs .") == "done: 1 submission ranked (1 new, 0 reused)\n"
    forge(place / "subs" / "mallory")
    made = json.loads(rank("subs --json", code=1))
    assert [(row["name"], row["rank"]) for row in made["rows"]] == [("alice", 1), ("bob", 2), ("carol", 3), ("mallory", None)]
    assert "MISSING_FILE" in made["rows"][3]["fault"]
    assert made["notes"] == ["mallory is a run among submissions, and not taken at its word: name it by itself"]
    assert ranked("subs/mallory")[0]["score"] == 1


NO_RUN = (
    *("verify subs/carol", "report subs/carol", "runs show subs/carol", "runs tag subs/carol --add best", "runs rm subs/carol"),
    *("rescore subs/carol", "explain q0 --run subs/carol", "bundle q0 --run subs/carol", "agree subs/carol practice"),
    *("merge subs/carol --out merged", "run subs/alice --out subs/carol", "run subs/carol --resume subs/carol"),
)


def test_metadata_and_anonymous_boards(place: Path) -> None:
    """Columns of a CSV stand in the row and stay with the run; an anonymous board holds no name, path or metadata in any output."""
    (place / "models.csv").write_text("submission,model_name,team\nalice,gpt-x,red\nzed,y,blue\n")
    made = json.loads(rank("subs --json --metadata models.csv"))
    assert made["rows"][0]["metadata"] == {"model_name": "gpt-x", "team": "red"}
    assert made["notes"] == ["models.csv: no submission 'zed'"]
    kept = [json.loads(path.read_text())["metadata"] for path in (place / ".evalsuite" / "runs").glob("*alice/run.json")]
    assert kept == [{"model_name": "gpt-x", "team": "red"}]
    (place / "models.csv").write_text("submission,model_name\nalice,gpt-secret\nzed,y\n")
    (place / "subs" / "mallory").mkdir()
    shown = rank(f"subs --anonymise --metadata models.csv {WRITE_ALL}", code=1)
    texts = [shown, *((place / name).read_text() for name in FORMATS)]
    for word in ("alice", "bob", "carol", "mallory", "zed", "gpt-secret", "subs", str(place)):
        assert not any(word in text for text in texts), word
    assert all("75.0" in text or "0.75" in text for text in texts)


def test_hostile_names_in_every_format(place: Path) -> None:
    """Markup, formulas, pipes and escapes in a folder's name stay text."""
    for name in ("=1+1", "<img src=x onerror=alert(1)>", "a|b", "\x1b[31mred", "[x](http:x)"):
        hand_in(place / "subs" / name, 3)
    assert "\x1b[31m" not in rank(f"subs {WRITE_ALL}")
    page = Reader((place / "board.html").read_text())
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "form"})
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
