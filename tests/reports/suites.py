"""A small suite with an answer of every kind, and hostile texts, as real folders for the tests of reports."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalsuite.reports.record import Record, record_of_run
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.reports import made

# What a submission may say to get at the reader of a report: markup, scripts, terminal codes, formulas, hidden characters.
HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    '"><img src=x onerror=window.pwned=3>',
    "<svg onload=window.pwned=4>",
    "'-window.pwned=5-'",
    "javascript:window.pwned=6",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "</title></textarea></style><style>body{display:none}</style>",
    "\x1b[2J\x1b[1;1Hscore: 1.0",
    "\u202egpj.exe",
    "\ud800",
    "x\nPASS ctl",
    "=cmd|'/C calc'!A0",
    "| a | b |\n|---|---|",
    "<details open><summary>x</summary></details>",
    "a" * 5000,
)


def write_suite(folder: Path, rows: Sequence[tuple[str, dict[str, Any], Any, dict[str, str], dict[str, str]]]) -> tuple[Path, Path]:
    """(submission, gold) folders of n rows (instance id, evaluation, answer, gold files, answer files).

    An answer of None is not handed in.
    """
    gold, submission = folder / "gold", folder / "submission"
    specs, answers = [], []
    for name, evaluation, answer, gold_files, answer_files in rows:
        specs.append({"instance_id": name, "evaluation": evaluation})
        for side, files in ((gold, gold_files), (submission, answer_files)):
            for file, text in files.items():
                (side / name).mkdir(parents=True, exist_ok=True)
                (side / name / file).write_text(text, encoding="utf-8", errors="surrogatepass")
        if answer is not None:
            kind = "file" if answer_files else "answer"
            answers.append({"instance_id": name, "answer_type": kind, "answer_or_path": answer})
    for side, file, lines in ((gold, "demo_eval.jsonl", specs), (submission, "results_metadata.jsonl", answers)):
        side.mkdir(parents=True, exist_ok=True)
        (side / file).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return submission, gold


def check(func: str, **parameters: Any) -> dict[str, Any]:
    """One entry of gold's `evaluation`."""
    return {"func": func, "parameters": parameters}


def every_kind(folder: Path) -> Record:
    """The record of nine instances: tables with wrong, missing and extra rows, numbers, texts, a tree, a graded text, one missing."""
    gold_table = "city,people,rank\nOslo,709037,1\nBergen,286930,2\nStavanger,144699,3\nDrammen,102273,4\n"
    answer_table = "town,people,note\nOslo,709037,x\nBergen,286931,y\nMolde,27000,z\n"
    record, born = {"name": "Ada", "born": 0, "tags": ["a", "b"]}, (("g", 1815), ("a", 1816))
    rows = [
        ("table", check("table_match", gold="g.csv"), "a.csv", {"g.csv": gold_table}, {"a.csv": answer_table}),
        ("table_right", check("table_match", gold="g.csv"), "a.csv", {"g.csv": gold_table}, {"a.csv": gold_table}),
        ("number", check("number_match", gold="1284"), "It is 1,248 km", {}, {}),
        ("sign", check("number_match", gold="5"), "It fell by -5", {}, {}),
        ("text", check("string_match", gold=["Aurora Desk Lamp"]), "Aurora Desk Lam", {}, {}),
        ("text_right", check("string_match", gold=["Paris"]), "It is Paris", {}, {}),
        ("graded", check("rouge", gold="the cat sat on the mat"), "the cat sat on a chair", {}, {}),
        (
            "tree",
            check("tree_match", gold="g.json"),
            "a.json",
            *({f"{name}.json": json.dumps(record | {"born": year})} for name, year in born),
        ),
        ("missing", check("string_match", gold=["Rome"]), None, {}, {}),
    ]
    submission, gold = write_suite(folder, rows)
    (gold / "suite.yaml").write_text("name: every kind\ngroups:\n  tables: [table, table_right]\n", encoding="utf-8")
    return record_of_run(run(submission, gold, RunOptions(save=False, isolation="none", jobs=1)))


# What stands in the gold of `hidden_suite` and nowhere else; no two marks share a text.
MARKS = ("GOLDCELL7", "918273.645", "GOLDCOLUMN9", "55443322.5", "GOLDLEAF4", "GOLDFILE3", "GOLDPARAM2")


def hidden_suite(folder: Path) -> tuple[Path, Path]:
    """(submission, gold) of a suite with `hidden: true` whose gold is marked in every place that a reason, flip or warning quotes."""
    table, near = "name,value\nGOLDCELL7,1.5\nb,2\nc,3\n", "name,GOLDCOLUMN9\na,1.5\nb,918273.645\nc,3\n"
    tree = '{"a": "GOLDLEAF4", "n": 55443322.5}'
    rows = [
        ("table", check("table_match", gold="t.csv"), "a.csv", {"t.csv": table}, {"a.csv": "name,v\na,1.5\nb,2\nc,3\n"}),
        ("near", check("table_match", gold="t.csv"), "a.csv", {"t.csv": near}, {"a.csv": "name,v\na,1.5\nb,918273\nc,3\n"}),
        ("text", check("string_match", gold="Paris"), "none", {}, {}),
        ("number", check("number_match", gold=55443322.5), "41", {}, {}),
        ("sign", check("number_match", gold=-55443322.5), "it is 7", {}, {}),
        ("tree", check("tree_match", gold="t.json"), "a.json", {"t.json": tree}, {"a.json": '{"a": "x", "n": 1}'}),
        ("broken", check("string_match", gold="Paris", GOLDPARAM2=True), "x", {}, {}),
        ("lost", check("table_match", gold="GOLDFILE3.csv"), "a.csv", {}, {"a.csv": "x\n1\n"}),
        ("absent", check("string_match", gold="Paris"), None, {}, {}),
    ]
    submission, gold = write_suite(folder, rows)
    (gold / "suite.yaml").write_text("name: secret\nhidden: true\n", encoding="utf-8")
    return submission, gold


def hostile(folder: Path) -> Record:
    """The record of one wrong text and one wrong table for each hostile text."""
    rows: list[tuple[str, dict[str, Any], Any, dict[str, str], dict[str, str]]] = []
    for number, text in enumerate(HOSTILE):
        rows.append((f"r_{number:02d}", check("string_match", gold=["canary"]), text, {}, {}))
        cell = '"' + text.replace('"', '""') + '"'
        answer = f"{cell},n\n{cell},1\n"
        rows.append((f"t_{number:02d}", check("table_match", gold="g.csv"), "a.csv", {"g.csv": "name,n\ncanary,1\n"}, {"a.csv": answer}))
    submission, gold = write_suite(folder, rows)
    return record_of_run(run(submission, gold, RunOptions(save=False, isolation="none", jobs=1)))


def many(n: int) -> Record:
    """A record of n results of one scorer whose folders are gone: every third is wrong, every seventh half right."""
    scores = [0.5 if at % 7 == 0 else float(at % 3 != 0) for at in range(n)]
    named = enumerate(scores)
    return made.record(*(made.result(f"case_{at:05d}", score, scorer="rouge", reason=f"reason number {at}") for at, score in named))
