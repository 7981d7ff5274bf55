"""Errata: entries that are applied, stale, expired or malformed, and corrected scores that add up."""

import json
from datetime import date
from pathlib import Path

import pytest

from evalsuite.analysis.gold_checks.mutation import audit_gold
from evalsuite.cli import main
from evalsuite.core.errors import GoldError
from evalsuite.gold.errata import ERRATA_FILE, instance_hash, keep_right, read_errata, reviewed_right
from evalsuite.gold.layouts import read_gold
from evalsuite.reports.record import record_of_run, redact_record
from evalsuite.reports.run_document import run_document
from evalsuite.reports.terminal import as_text
from tests.analysis.gold_checks.small import GOLD, TABLE, scored, write_gold, write_submission
from tests.gold.layouts import gold_folder

pytestmark = pytest.mark.usefixtures("shared_fork_server")

TAIL = "  author: A. Person\n  reason: the source says so\n  evidence: https://example.org/1\n  expires: 2027-06-30\n"
DAY = date(2026, 11, 21)


def entry(gold: Path, name: str, action: str = "waive: true", tail: str = TAIL) -> str:
    """An entry about an instance of the gold as it is."""
    read = read_gold(gold)
    instance = next(instance for instance in read.instances if instance.instance_id == name)
    return f'- id: {name}\n  gold: "{instance_hash(read, instance)}"\n  {action}\n{tail}'


def write(gold: Path, *entries: str) -> None:
    """The errata file of these entries."""
    (gold / ERRATA_FILE).write_text("".join(entries))


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """A small gold folder."""
    return write_gold(tmp_path / "gold")


def test_raw_and_corrected_add_up(gold: Path, tmp_path: Path) -> None:
    """Corrected points are the raw ones without those of waived and patched instances, and with what the patched are worth now."""
    submission = write_submission(tmp_path / "sub")
    why = TAIL.replace("the source says so", "gold says 48, the source 47")
    write(gold, entry(gold, "capital"), entry(gold, "total", "patch: {gold: 47}", why))
    run = scored(submission, gold, errata_day=DAY)
    said = run.to_json()["corrections"]
    raw, now = run.summary.chosen, said["score"] * said["n_gold"]
    rows = {row["instance_id"]: row for row in said["applied"]}
    assert {name: row["action"] for name, row in rows.items()} == {"capital": "waive", "total": "patch"}
    assert rows["capital"]["raw"]["score"] == 1
    assert rows["capital"]["corrected"] is None
    assert (rows["total"]["raw"]["score"], rows["total"]["corrected"]["score"]) == (0, 1)
    assert raw.points == pytest.approx(2)
    assert now == pytest.approx(raw.points - sum(row["raw"]["score"] for row in rows.values()) + rows["total"]["corrected"]["score"])
    assert (said["n_gold"], said["n_waived"], said["n_patched"]) == (raw.n - 1, 1, 1)
    assert run.summary.score == 0.5
    assert "corrected" in as_text(run_document(record_of_run(run)))
    assert "2/3 = 66.7 %  (1 waived, 1 patched)" in as_text(run_document(record_of_run(run)))
    # Reasons quote gold: below the level `cells` they are left out of every report.
    shown = [record.run for record in (record_of_run(run), redact_record(record_of_run(run), "class"))]
    assert ["the source 47" in json.dumps(one) for one in shown] == [True, False]


def test_a_stale_entry_is_said_and_not_applied(gold: Path, tmp_path: Path) -> None:
    """An entry whose gold file has changed since changes nothing, and a warning says so with both hashes, also after its last day."""
    write(gold, entry(gold, "table"))
    (gold / "table" / "table.csv").write_text(TABLE + "4,40\n")
    run = scored(write_submission(tmp_path / "sub"), gold, errata_day=DAY)
    assert run.corrections["applied"] == []
    assert run.corrections["stale"][0]["gold"] != run.corrections["stale"][0]["gold_now"]
    assert run.corrections["score"] == run.summary.score
    assert any("'table' is stale and not applied" in text and f"gold/{ERRATA_FILE}:1" in text for text in run.warnings)
    assert "(nothing applied; 1 stale)" in as_text(run_document(record_of_run(run)))
    assert [one.state for one in read_errata(read_gold(gold), day=date(2027, 7, 1)).entries] == ["stale"]  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ['"gold": 49', '"gold": 48, "precision": 2'])
def test_a_changed_spec_makes_an_entry_stale(gold: Path, change: str) -> None:
    """The spec line counts as well as the files; blanks in it do not."""
    write(gold, entry(gold, "total"))
    spec = gold / "small_eval.jsonl"
    text = spec.read_text()
    spec.write_text(text.replace('"gold": 48', '"gold":   48'))
    assert [one.state for one in read_errata(read_gold(gold), day=DAY).entries] == ["applied"]  # type: ignore[union-attr]
    spec.write_text(text.replace('"gold": 48', change))
    assert [one.state for one in read_errata(read_gold(gold), day=DAY).entries] == ["stale"]  # type: ignore[union-attr]


def test_the_hash_of_an_entry_stays_from_version_to_version(gold: Path) -> None:
    """Or every entry that somebody wrote would be stale: that of a text, of a number, and of a check with a file."""
    read = read_gold(gold)
    hashes = {instance.instance_id: instance_hash(read, instance) for instance in read.instances}
    assert hashes == {"capital": "74b955aa18e0", "total": "56d60b7640bd", "share": "bf4c9202de4c", "table": "fd76bbb141ea"}


def test_what_a_review_found_right(gold: Path) -> None:
    """It counts for the gold that the review saw and is no part of the errata; a damaged line is named."""
    write(gold, entry(gold, "table"))
    before = read_errata(read_gold(gold))
    assert reviewed_right(read_gold(gold)) == set()
    for name in ("capital", "total"):
        keep_right(read_gold(gold), name, "N")
    after = read_errata(read_gold(gold))
    assert (before and before.hash, reviewed_right(read_gold(gold))) == (after and after.hash, {"capital", "total"})
    spec = gold / "small_eval.jsonl"
    spec.write_text(spec.read_text().replace('"gold": 48', '"gold": 49'))
    assert reviewed_right(read_gold(gold)) == {"capital"}
    keep_right(read_gold(gold), "total", "N")
    assert reviewed_right(read_gold(gold)) == {"capital", "total"}
    with (gold / ".errata" / "reviewed.jsonl").open("a") as file:
        file.write("half a li")
    with pytest.raises(GoldError, match=r"reviewed\.jsonl:4: not an entry"):
        reviewed_right(read_gold(gold))


MALFORMED = [
    ("id: total", 1, "not a list"),
    ("- total", 1, "an entry must be a mapping"),
    ("- id: total\n  waive: true\n", 1, "the key 'gold' is missing"),
    ("- id: total\n  gold: '000000000000'\n  waive: true\n  autor: me\n", 4, "unknown key 'autor'"),
    ("- id: totl\n  gold: '000000000000'\n  waive: true\n" + TAIL, 1, "no instance 'totl' in gold"),
    ("- id: total\n  gold: 12\n  waive: true\n" + TAIL, 2, "gold must be 12 hex digits"),
    ("- id: total\n  gold: '000000000000'\n" + TAIL, 1, "exactly one of waive, patch, evaluation, found none"),
    ("- id: total\n  gold: '000000000000'\n  waive: true\n  patch: {gold: 1}\n" + TAIL, 1, "found waive and patch"),
    ("- id: total\n  gold: '000000000000'\n  waive: false\n" + TAIL, 3, "waive can only be true"),
    ("- id: total\n  gold: '000000000000'\n  waive: true\n" + TAIL.replace("https://example.org/1", "talk"), 6, "evidence must be a link"),
    ("- id: total\n  gold: '000000000000'\n  waive: true\n" + TAIL.replace("2027-06-30", "soon"), 7, "expires must be a day"),
    ("- id: total\n  gold: '000000000000'\n  waive: true\n" + TAIL.replace("A. Person", "''"), 4, "author must be a text"),
    ("- id: total\n  id: total\n", 2, "the key 'id' is repeated"),
    ("- id: [total\n", 2, "not valid YAML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_a_malformed_entry_names_file_and_line(gold: Path, text: str, line: int, message: str) -> None:
    """What cannot be meant ends the command with the place and the reason."""
    (gold / ERRATA_FILE).write_text(text)
    with pytest.raises(GoldError) as error:
        read_errata(read_gold(gold), day=DAY)
    assert error.value.message.startswith(f"gold/{ERRATA_FILE}:{line}: ")
    assert message in error.value.message


@pytest.mark.parametrize(("action", "message"), [
    ("patch: {gold: 1, presision: 2}", "unknown parameter 'presision'"),
    ("patch: {gold: []}", "gold"),
    ("patch: 3", "patch must be a mapping of parameters, found 3"),
    ("patch: {}", "patch must be a mapping of parameters, found {}"),
    ("evaluation: []", "evaluation is empty"),
    ("evaluation: {func: number_mach, parameters: {gold: 1}}", "unknown scorer 'number_mach'"),
])  # fmt: skip
def test_a_patch_is_checked_like_gold(gold: Path, action: str, message: str) -> None:
    """Parameters that no scorer takes are an error of the entry, on the line of the patch, and so are two entries about one instance."""
    write(gold, entry(gold, "total", action))
    with pytest.raises(GoldError) as error:
        read_errata(read_gold(gold), day=DAY)
    assert error.value.message.startswith(f"gold/{ERRATA_FILE}:3: ")
    assert message in error.value.message
    write(gold, entry(gold, "total"), entry(gold, "total", "patch: {gold: 1}"))
    with pytest.raises(GoldError, match=r":8: 'total' is repeated, first on line 1"):
        read_errata(read_gold(gold), day=DAY)


def test_a_patch_of_two_checks_or_of_an_odd_text(tmp_path: Path) -> None:
    """Of which check a patch is cannot be known; a text that is no name of a file stays as it is, and a file elsewhere in gold counts."""
    check = GOLD["capital"]
    gold = write_gold(tmp_path / "gold", {"two": [check, check], "capital": check})
    (gold / ".errata" / "capital").mkdir(parents=True)
    (gold / ".errata" / "capital" / "r.csv").touch()
    for golds, moved in (('"../x"', "../x"), ("[../x, r.csv]", ["../x", ".errata/capital/r.csv"])):
        write(gold, entry(gold, "capital", f"patch: {{gold: {golds}}}"))
        errata = read_errata(read_gold(gold), day=DAY)
        assert errata.entries[0].instance.checks[0].parameters["gold"] == moved
    write(gold, entry(gold, "two", "patch: {gold: 1}"))
    with pytest.raises(GoldError, match="'two' has 2 checks, and patch fits one") as told:
        read_errata(read_gold(gold), day=DAY)
    assert told.value.hint == "write the whole `evaluation` instead"
    lite = read_gold(gold_folder(tmp_path / "lite", {"a": {}}, {"a_a.csv": "n\n1\n", "a_b.csv": "n\n1\n", "b.csv": "n\n"}))
    before = instance_hash(lite, lite.instances[0])
    (lite.folder / "exec_result/b.csv").write_text("n\n2\n")
    assert instance_hash(lite, lite.instances[0]) == before
    (lite.folder / "exec_result/a_b.csv").write_text("n\n2\n")
    assert instance_hash(lite, lite.instances[0]) != before


def test_the_command_lists_and_drafts(gold: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`gold errata` names the state of each entry; `--entry` prints one whose hash is right."""
    assert main(["gold", "errata", str(gold)]) == 0
    assert f"no {ERRATA_FILE}" in capsys.readouterr().out
    assert main(["gold", "errata", str(gold), "--entry", "total"]) == 0
    draft = capsys.readouterr().out
    write(gold, draft.replace("author:", "author: me").replace("reason:", "reason: why").replace("https://", "https://example.org"))
    assert main(["gold", "errata", str(gold)]) == 0
    assert "1 applied, 0 stale, 0 expired" in capsys.readouterr().out


def test_corrections_are_seen_wherever_scores_are(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corrected column in leaderboard and compare, their CSV and Parquet and those of a run; expired entries are told."""
    import csv

    import duckdb

    submission = write_submission(tmp_path / "sub")
    write(gold, entry(gold, "capital"), entry(gold, "total", "patch: {gold: 47}", TAIL.replace("2027", "2099")))
    runs = [tmp_path / name for name in ("one", "two")]
    for run in runs:
        scored(submission, gold, run, errata_day=DAY)
    said = json.loads((runs[0] / "run.json").read_text())["corrections"]["score"]
    for name, words in (("board", ["leaderboard", *map(str, runs)]), ("compared", ["compare", *map(str, runs)])):
        files = [str(tmp_path / f"{name}.{ending}") for ending in ("csv", "parquet")]
        assert main([*words, "--gold", str(gold), "-o", files[0], "-o", files[1]]) == 0
        assert "corrected" in capsys.readouterr().out
        with Path(files[0]).open(encoding="utf-8") as lines:
            row = next(csv.DictReader(lines))
        assert float(row["corrected"]) == pytest.approx(said)
        with duckdb.connect() as connection:
            assert connection.execute("SELECT DISTINCT corrected FROM read_parquet(?)", [files[1]]).fetchall() == [(pytest.approx(said),)]
    assert main(["report", str(runs[0]), "-o", str(tmp_path / "run.csv")]) == 0
    with (tmp_path / "run.csv").open(encoding="utf-8") as lines:
        rows = {row["instance_id"]: (row["score"], row["corrected"]) for row in csv.DictReader(lines)}
    assert (rows["capital"], rows["total"]) == (("1", ""), ("0", "1"))
    write(gold, entry(gold, "capital", tail=TAIL.replace("2027", "2020")))
    expired = tmp_path / "expired"
    scored(submission, gold, expired, errata_day=DAY)
    capsys.readouterr()
    assert main(["leaderboard", str(expired), "--gold", str(gold)]) == 0
    assert "1 expired entry of gold.errata.yaml not applied" in capsys.readouterr().out


def test_a_run_under_other_errata_is_not_taken_over(gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A board's corrected column is that of today's errata: changed, expired or gone they make the run anew, unchanged they do not."""
    submission = write_submission(tmp_path / "sub")
    words = ["leaderboard", str(submission), "--gold", str(gold), "--runs", str(tmp_path / "runs"), "--isolation", "none", "--json"]
    seen = []
    for tail in (TAIL.replace("2027", "2099"), TAIL.replace("2027", "2099"), TAIL.replace("2027", "2020"), ""):
        (gold / ERRATA_FILE).unlink(missing_ok=True)
        if tail:
            write(gold, entry(gold, "total", "patch: {gold: 47}", tail))
        capsys.readouterr()
        assert main(words) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        seen.append((row["corrected"], len(list((tmp_path / "runs").iterdir()))))
    assert seen == [(0.75, 1), (0.75, 1), (0.5, 2), (None, 3)]


def test_a_patch_is_audited_as_gold_is(gold: Path) -> None:
    """A patch that accepts more stands among the audited checks by its own line, with the wrong answers that it takes."""
    write(gold, entry(gold, "total", "patch: {precision: -5}"))
    checks = [check for check in audit_gold(gold, only=["total"], isolation="none", jobs=1).checks if check.instance_id == "total"]
    assert [ERRATA_FILE in check.where for check in checks] == [False, True]
    holes = [len(check.holes("official")) for check in checks]
    assert holes[0] < holes[1]
