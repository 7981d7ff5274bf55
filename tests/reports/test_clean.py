"""No report contains invisible characters, selectors, blanks or stacked marks, in any format."""

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.compare.characters import clean
from evalsuite.core.status import LEVELS
from evalsuite.reports import BINARY, FORMATS

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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
    (gold).mkdir()
    spec, rows = [], []
    for name, (func, parameters, kind, value) in checks.items():
        (sub / name).mkdir(parents=True)
        (gold / name).mkdir(parents=True)
        (gold / name / "t.csv").write_text(f"na{hidden}me,v\nb{hidden},1\nc,2\n", encoding="utf-8", newline="")
        (gold / name / "t.json").write_text(json.dumps({"k": f"v{hidden}", f"z{hidden}": 1}), encoding="utf-8")
        if kind == "file" and name != "absent":
            (sub / name / value).write_text(f"na{hidden[:-8]}me,w\nb{hidden[:-9]},1\nc,3\n", encoding="utf-8", newline="")
        spec.append({"instance_id": name, "evaluation": {"func": func, "parameters": parameters}})
        rows.append({"instance_id": name, "answer_type": kind, "answer_or_path": value})
    (gold / "x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spec))
    (sub / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*rows, {"instance_id": f"un{hidden}"}]))
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
