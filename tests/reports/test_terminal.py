"""Reports on the screens that people have; no report holds invisible characters, selectors, blanks or stacked marks, in any format."""

import json
import unicodedata
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import replace
from evalsuite.core.status import LEVELS
from evalsuite.core.types import Rule
from evalsuite.reports import BINARY, FORMATS
from evalsuite.reports.document import Document, Section
from evalsuite.reports.record import Record, record_of_entry
from evalsuite.reports.run_document import MOST_GROUPS, MOST_LINES, MOST_ROWS, run_document
from evalsuite.reports.terminal import Screen, as_text, show
from evalsuite.runs.history import GoldSelfScore, read_run, save_self_score, signature_of
from evalsuite.runs.submission_reader import saved_exchanges
from tests.cli.test_run import check, write_answers, write_gold
from tests.conftest import ROOT
from tests.reports import made

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture
def runs() -> dict[Rule, Record]:
    """The example under each rule."""
    rules: tuple[Rule, ...] = ("official", "strict")
    return {rule: made.example_record(rule) for rule in rules}


@pytest.mark.parametrize("width", [60, *(pytest.param(width, marks=pytest.mark.slow) for width in (79, 123, 200))])
def test_every_width_is_readable(runs: dict[Rule, Record], width: int) -> None:
    """No line is wider than asked, no instance that is not right is lost, and no flip, fault or number is cut off."""
    run = runs["official"]
    text = as_text(run_document(run), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(result.instance_id in text for result in run.results if result.score != 1 or result.strict != 1)
    assert "...  21 more, right under every rule that judged them" in text
    assert all(result.instance_id in as_text(run_document(run, verbose=True), width=width) for result in run.results)
    _, _, numbers = text.partition("BAD_GOLD_FILE  ")
    assert "…" not in numbers
    words = " ".join(numbers.split())
    assert all(flip["instance_id"] in words for flip in run.summary.flips)
    assert "save the file as text in UTF-8" in " ".join(text.split())
    told = numbers[numbers.index(" signature") :].removeprefix(" signature").partition(" isolation")[0].split()
    assert "".join(told) == run.run["signature"]
    assert all(line.endswith("|") for line in told[:-1])


@pytest.mark.parametrize(
    ("reason", "below"),
    [
        ("no number within 0.0001 of gold 12: closest is 18, and so on until the line is full", ""),
        (
            "gold column 1 'month' has no match; closest is 'm' (3 of 3 cells differ); is the delimiter a semicolon?",
            "is the delimiter a semicolon?",
        ),
        ("gold column 1 'month' has no match at all; 'a; b' is one column: what is it?", "'a; b' is one column: what is it?"),
        (
            "none of gold's texts is in the answer, which is as long as this line; closest is O'Brien's 'O'Neil'",
            "closest is O'Brien's 'O'Neil'",
        ),
        ("the answer is another text than gold's 'a; b', which is as long as a line", ""),
        ("a line; that fits", ""),
    ],
)
def test_the_end_of_a_long_reason_is_below(reason: str, below: str) -> None:
    """What a cut reason ends with, a hint or the nearest, is below its row."""
    text = as_text(run_document(made.record(made.result("a", 0.0, reason=reason))), width=80)
    row, after = text.partition("\n a ")[2].splitlines()[:2]
    assert row.endswith("…") is not row.endswith(reason)
    assert after.strip() == below


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_are_wrapped_on_a_terminal_only(width: int) -> None:
    """There `label  text` hangs below its text, SQL breaks between its words only; a file keeps each line whole."""
    literal = "read_csv('a folder of many words/and a file of the name that is longer than a line.csv')"
    sql = f"   SELECT {', '.join(f'round(x{i}, 6) AS c{i}' for i in range(9))} FROM {literal} -- a comment of one line {'is whole ' * 9}"
    text = f"where: {'a finding of many words ' * 9}"
    sections = [Section(look="part", lines=[sql], values={"language": "sql"}), Section(look="lines", lines=[text])]
    document = Document(name="x", sections=lambda _: sections)
    assert {sql, text} <= set(as_text(document, width=width).splitlines())
    stream = StringIO()
    show(document, Screen(stream, width, is_terminal=True))
    lines = stream.getvalue().splitlines()
    assert max(len(line) for line in lines if "'" not in line and "--" not in line) <= width
    assert sum(literal in line for line in lines) == 1
    assert [line.partition("--")[2].strip() for line in lines if "--" in line] == [sql.partition("--")[2].strip()]
    assert " ".join(" ".join(lines).split()) == " ".join(f"{sql} {text}".split())
    section = Section(
        look="lines", lines=[f" why         {'a finding of many words ' * 9}".rstrip(), f" two words   {'and more ' * 20}".rstrip()]
    )
    stream = StringIO()
    show(Document(name="x", sections=lambda _: [section]), Screen(stream, width, is_terminal=True))
    lines = stream.getvalue().splitlines()
    assert {line[:13] for line in lines} == {" why         ", " two words   ", " " * 13}
    assert all(line[13] != " " and len(line) <= width for line in lines)


@pytest.mark.parametrize("width", range(60, 201, 20))
def test_hostile_texts_at_every_width(width: int) -> None:
    """Hostile ids, scorers, groups and reasons neither widen a line nor break one, and every row begins with its id."""
    text = as_text(run_document(made.hostile()), width=width)
    assert max(map(len, text.split("\n"))) <= width
    assert sorted({char for char in text if not char.isprintable()} - {"\n"}) == []


def test_a_saved_run_reads_as_the_live_one(tmp_path: Path) -> None:
    """The report of the run folder is, letter for letter, the report of the run that wrote it."""
    run = evalsuite.evaluate(
        ROOT / "example_submission_folder", ROOT / "gold", out=tmp_path / "run", only=("ops_001", "fin_004", "geo_005")
    )
    entry = read_run(tmp_path / "run")
    assert entry is not None
    from evalsuite.reports.record import record_of_run

    assert as_text(run_document(record_of_entry(entry, exchanges=saved_exchanges(entry)))) == as_text(run_document(record_of_run(run)))


def test_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right under --failures, groups beyond a line, and the wrong answers that are too many."""
    record = made.example_record()
    stream = StringIO()
    show(run_document(record, failures=True, verbose=True, durations=2), Screen(stream, 150))
    table, _, rest = stream.getvalue().partition("more, right under every rule")
    rows = [line.split()[0] for line in table.splitlines()[3:] if line.strip() and not line.startswith("   ")]
    both_right = {r.instance_id for r in record.results if r.official == 1 and r.strict == 1}
    assert set(rows) - {"..."} == {r.instance_id for r in record.results} - both_right
    assert f"{len(both_right)} " in table.splitlines()[-1]
    assert rest.count("\n instance ") == len(record.results) - len(both_right)
    slowest = sorted(record.results, key=lambda r: -r.seconds)[:2]
    assert [line.split()[2] for line in rest.partition(" slowest 2\n")[2].splitlines()[:2]] == [r.instance_id for r in slowest]
    results = [made.result(f"q{n}") for n in range(MOST_GROUPS + 2)]
    for n, end in ((MOST_GROUPS, f"g{MOST_GROUPS - 1} 1/1 (strict 1/1)"), (MOST_GROUPS + 2, "2 more, -o FILE.json lists all")):
        record = made.record(*results, groups={f"g{at}": [f"q{at}"] for at in range(n)})
        text = " ".join(as_text(run_document(record), width=200).split())
        assert f"{end} signature" in text
    assert MOST_ROWS == 2000
    monkeypatch.setattr("evalsuite.reports.run_document.MOST_ROWS", 200)
    few, lines = (as_text(run_document(made.large(250), failures=failures), width=100).splitlines() for failures in (False, True))
    assert sum(line.startswith(" instance_") for line in few) == MOST_LINES
    assert any(f"{250 - MOST_LINES} more that are not right; --failures shows all" in line for line in few)
    assert sum(line.startswith(" instance_") for line in lines) == 200
    assert any("50 more not shown" in line for line in lines)


def test_the_ceiling_of_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where gold was checked, the report says how far gold itself comes; for a part of gold it does not."""
    monkeypatch.chdir(tmp_path)
    record = made.example_record()
    assert "gold reaches" not in as_text(run_document(record))
    hash_ = str(record.run["gold"]["hash"])
    save_self_score(GoldSelfScore(gold_hash=hash_, name="x", n=40, n_untried=0, official=38, strict=39, made_by=signature_of(hash_)), [])
    assert "gold reaches 38/40 (strict 39/40)" in " ".join(as_text(run_document(record)).split())
    by_scorer = replace(record, run={**record.run, "signature": "rules:default"})
    assert "gold reaches official 38/40, strict 39/40" in " ".join(as_text(run_document(by_scorer)).split())
    part = made.record(made.result("a"), hash=hash_, n_instances=40)
    assert "gold reaches" not in as_text(run_document(part))


# `Default_Ignorable_Code_Point` of Unicode 16 (DerivedCoreProperties.txt), first and last of each run.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip
UNSEEN = [chr(code) for first, last in IGNORABLE for code in range(first, last + 1)]
# Drawn as nothing, whatever Unicode calls them, and what moves the cursor or the line.
UNSEEN += [*map(chr, (0x2800, 0x1D159, 0x16FE4, 0xA0, 0x2028, 0x2029, 0x3000, 0x85, 0x9B, 0x1B, 0, 0xFFF9, 0xFFFB, 0xE000))]
NEVER = frozenset(UNSEEN)
TOWER = "o" + "\u0336\u20dd\u0488\u0e31" * 9


def faults(text: str) -> list[str]:
    """What a report must not hold, of what this text holds."""
    towers, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char).startswith("M") else 0
        towers += ["a tower"] if marks > 8 else []
    return sorted({f"U+{ord(char):04X}" for char in NEVER.intersection(text)}) + towers[:1]


def test_every_character_that_is_not_seen_becomes_its_escape() -> None:
    """Each of them alone and between letters, by its number, so that two that differ are told apart."""
    for char in UNSEEN:
        assert faults(clean(char)) == []
        assert clean(f"a{char}b") == f"a{clean(char)}b"
    assert len(set(map(clean, UNSEEN))) == len(set(UNSEEN))


def disguised(folder: Path) -> tuple[Path, Path]:
    """(submission, gold) whose texts, cells, columns, keys, ids and files' names are full of what is not seen."""
    hidden = "x".join(UNSEEN[:600:7] + UNSEEN[-14:]).replace("\0", "") + TOWER
    gold, sub = folder / "gold", folder / "sub"
    checks = {
        f"text{hidden[:40]}": ("string_match", {"gold": [f"Paris{hidden[:80]}"]}, "answer", f"no{hidden}"),
        "number": ("number_match", {"gold": 5}, "answer", f"4{hidden}"),
        "table": ("table_match", {"gold": "t.csv"}, "file", f"a{chr(0xFE0F)}{TOWER[:60]}.csv"),
        "same": ("table_match", {"gold": "t.csv"}, "file", "a.csv"),
        "absent": ("table_match", {"gold": "t.csv"}, "file", f"none{hidden[:40]}.csv"),
        "tree": ("tree_match", {"gold": "t.json"}, "answer", json.dumps({f"k{hidden}": f"v{hidden}"}, ensure_ascii=False)),
    }
    for name, (_, _, kind, value) in checks.items():
        (sub / name).mkdir(parents=True)
        (gold / name).mkdir(parents=True)
        (gold / name / "t.csv").write_text(f"na{hidden}me,v\nb{hidden},1\nc,2\n", encoding="utf-8", newline="")
        (gold / name / "t.json").write_text(json.dumps({"k": f"v{hidden}", f"z{hidden}": 1}), encoding="utf-8")
        if kind == "file" and name != "absent":
            (sub / name / value).write_text(f"na{hidden[:-8]}me,w\nb{hidden[:-9]},1\nc,3\n", encoding="utf-8", newline="")
    write_gold(gold, **{name: check(func, **parameters) for name, (func, parameters, *_) in checks.items()})
    write_answers(sub, *((name, kind, value) for name, (_, _, kind, value) in checks.items()), (f"un{hidden}", "", ""))
    return sub, gold


@pytest.mark.parametrize("levels", [LEVELS[2::2], pytest.param(LEVELS, marks=pytest.mark.slow)])
def test_no_report_holds_what_is_not_seen(levels: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every format at each level (in the line two of them), and every screen, about texts on both sides that are full of it."""
    sub, gold = disguised(tmp_path)
    sides, run = ["--result_dir", str(sub), "--gold_dir", str(gold)], tmp_path / "run"
    assert main(["run", str(sub), "--gold", str(gold), "--no-cache", "--out", str(run), "--jobs", "1"]) == 0
    places = {(level, ending): tmp_path / f"{level}{ending}" for level in levels for ending in FORMATS if ending not in BINARY}
    for level in levels:
        outputs = [f"--output={place}" for (at, _), place in places.items() if at == level]
        assert main(["report", str(run), *outputs, "--reveal", level]) == 0
    for words in (["explain", "table", *sides], ["check", "tree", *sides], ["validate", str(sub), "--gold", str(gold)]):
        assert main(words) in (0, 1)
    assert main(["check", f"nothing{TOWER}\u2800\ufe0f", *sides]) == 2
    shown = capsys.readouterr()
    texts = {" ".join(named): place.read_text(encoding="utf-8") for named, place in places.items()}
    texts |= {name: (run / name).read_text(encoding="utf-8") for name in ("results.jsonl", "run.json")}
    found = {name: faults(text.replace("\n", "")) for name, text in (texts | {"screen": shown.out, "errors": shown.err}).items()}
    assert {name: what for name, what in found.items() if what} == {}
