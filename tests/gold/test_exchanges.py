"""Question, reference and answer are found for every text answer, wherever gold stores the question."""

import json
from pathlib import Path

import pytest

from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.gold.spec import NOTHING, Exchange, exchanges_of
from evalsuite.readers.limits import DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("said", "file", "question"),
    [
        ({"question": "Capital of France?"}, {}, "Capital of France?"),
        ({"instruction": "Name it", "question": ""}, {}, "Name it"),
        ({}, {"question": "Which city?"}, "Which city?"),
        ({"input": "Capital?"}, {"question": "Which city?"}, "Capital?"),
        ({}, {}, ""),
    ],
)
def test_where_a_question_stands(tmp_path: Path, said: dict[str, str], file: dict[str, str], question: str) -> None:
    """In gold's own line, else in a file of questions; gold without any is for machines and shows nothing of itself."""
    checks = {"a": ("string_match", "Paris"), "b": ("table_match", "b.csv"), "c": ("string_match", ["Rome", "Roma"])}
    checks |= {"d": ("table_match", "d.csv"), "e": ("table_match", "e.csv"), "f": ("tree_score", "f.JSON"), "g": ("tree_score", {"n": 1})}
    for id_, (scorer, gold) in checks.items():
        line = {"instance_id": id_, **said, "evaluation": {"func": scorer, "parameters": {"gold": gold}}}
        with (tmp_path / "x_eval.jsonl").open("a") as spec:
            spec.write(json.dumps(line) + "\n")
    (tmp_path / "asked.jsonl").write_text(json.dumps({"instance_id": "a", **file}) + "\n")
    rows = [("a", "answer", "Lyon"), ("b", "file", "b.csv"), ("e", "answer", "7"), ("f", "answer", "{}")]
    (tmp_path / "results_metadata.jsonl").write_text(
        "".join(json.dumps(dict(zip(("instance_id", "answer_type", "answer_or_path"), row, strict=True))) + "\n" for row in rows)
    )
    gold = read_gold(tmp_path, questions=tmp_path / "asked.jsonl")
    found = exchanges_of(gold, read_submission(tmp_path, DEFAULT_LIMITS))
    assert found.texts_of("a") == (Exchange(question, "Paris", "Lyon") if question else NOTHING)
    assert found.texts_of("b") == NOTHING
    assert found.texts_of("c") == (Exchange(found.texts_of("c").question, "Rome | Roma", "") if said else NOTHING)
    assert found.texts_of("d") == NOTHING
    assert found.texts_of("e") == (Exchange(found.texts_of("c").question, "", "7") if said else NOTHING)
    assert found.texts_of("f") == (Exchange(found.texts_of("c").question, "", "{}") if said else NOTHING)
    assert found.texts_of("g") == (Exchange(found.texts_of("c").question, '{"n": 1}', "") if said else NOTHING)
