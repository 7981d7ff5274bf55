"""Records for the tests of reports: the example, a hidden suite full of marked gold, a hostile one, a graded one, and large ones."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import evalsuite
from evalsuite.core.types import Result, Rule
from evalsuite.reports.record import Record, record_of_run
from evalsuite.runs.scoring import Run
from evalsuite.runs.summary import summarise
from tests.conftest import ROOT

HOSTILE = (
    "=1+1|<script>alert(1)</script>",
    "@everyone see https://evil.example/x and #12, ![x](http://evil.example/i.png)",
    "``` \n\n</details><img src=x onerror=alert(1)>\n\n# heading",
    "\x1b[2J\u202eevil\x00 ::error file=x::pwn ##[add-mask]a %0A::set-output name=x::y",
    '"]]><!-- & \ud800 |a|b|\\',
    "`one` ``two`` ```three```",
    "+49 170 123", "-3.5", "\t=cmd|' /C calc'!A0", "＝１",
)  # fmt: skip


@cache
def example(rules: Rule = "official") -> Run:
    """The project's example, run once for all tests."""
    return evalsuite.evaluate(ROOT / "example_submission_folder", ROOT / "gold", save=False, rules=rules)


def record(*results: Result, groups: dict[str, list[str]] | None = None, rules: Rule = "official", **gold: Any) -> Record:
    """A record of these results, with all that a report reads."""
    tags: dict[str, list[str]] = {}
    for tag, ids in (groups or {}).items():
        for name in ids:
            tags.setdefault(name, []).append(tag)
    summary = summarise(results, rules=rules, groups=tags)
    run = {
        "schema_version": 1,
        "signature": "evalsuite:0|rules:official|gold:0",
        "options": {"rules": rules, "only": [], "filter": None, "group": None, "limits": {}},
        "submission": {"folder": "some/sub", "n_objects": len(results)},
        "gold": {"folder": "gold", "name": "suite", "hash": "0" * 12, "n_instances": len(results), "clusters": [], "hidden": False, **gold},
        "summary": summary.to_json(),
        "groups": groups or {},
        "metadata": {},
        "notes": {},
        "warnings": [],
        "receipt": {"isolation": "process"},
        "seconds": 1.0,
    }
    return Record(name="made", run=run, results=results, summary=summary, folder=None)


def result(name: str, score: float | None = 1.0, **more: Any) -> Result:
    """A result that was scored, unless `more` says otherwise."""
    said = {"status": "scored", "official": score, "strict": score, "scorer": "string_match", "reason": "", "fault": None, **more}
    return Result(instance_id=name, score=score, **said)


def hostile() -> Record:
    """Every hostile text as an id, a reason, a flip's cause, a group, a warning and the suite's name."""
    wrong = [result(text, 0.0, reason=text) for text in HOSTILE]
    flips = [result(f"flip {text}", 1.0, strict=0.0, details={"flip": text}, reason=text, scorer=text) for text in HOSTILE]
    groups = {text: [wrong[0].instance_id, flips[at].instance_id] for at, text in enumerate(HOSTILE)}
    made = record(*wrong, *flips, groups=groups, name=HOSTILE[1])
    made.run["warnings"].extend(HOSTILE)  # type: ignore[attr-defined]
    return made


def graded() -> Record:
    """Partly right answers, and every status there is."""
    statuses = ("missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored")
    faults = ("MISSING_INSTANCE", "BAD_CSV", "BAD_SPEC", "SCORER_ERROR", "TIMEOUT", "WORKER_DIED", "NO_VERDICT")
    unjudged = {"gold_fault", "scorer_fault", "unscored"}
    rest = [
        result(f"s_{status}", None if status in unjudged else 0.0, status=status, fault=fault, reason=f"said of {status}")
        for status, fault in zip(statuses, faults, strict=True)
    ]
    return record(result("right"), result("half", 0.5, reason="half of it"), result("wrong", 0.0, reason="no"), *rest)


def large(n: int) -> Record:
    """n wrong answers in ten groups."""
    results = [result(f"instance_{at:06}", 0.0, reason=f"reason {at} é " * 20, strict=float(at % 2)) for at in range(n)]
    groups = {f"group_{tag}": [r.instance_id for r in results[tag::10]] for tag in range(10)}
    return record(*results, groups=groups)


# What stands in the gold of `hidden_suite` and nowhere else; no two marks share a text.
MARKS = ("GOLDCELL7", "918273.645", "GOLDCOLUMN9", "55443322.5", "GOLDLEAF4", "GOLDFILE3", "GOLDPARAM2")


def hidden_suite(folder: Path) -> tuple[Path, Path]:
    """(submission, gold) of a suite with `hidden: true` whose gold is marked in every place that a reason, flip or warning quotes."""
    gold, sub = folder / "gold", folder / "sub"
    tables = {"table": "name,value\nGOLDCELL7,1.5\nb,2\nc,3\n", "near": "name,GOLDCOLUMN9\na,1.5\nb,918273.645\nc,3\n"}
    specs: dict[str, tuple[str, dict[str, Any]]] = {
        "table": ("table_match", {"gold": "t.csv"}),
        "near": ("table_match", {"gold": "t.csv"}),
        "text": ("string_match", {"gold": "Paris"}),
        "number": ("number_match", {"gold": 55443322.5}),
        "sign": ("number_match", {"gold": -55443322.5}),
        "tree": ("tree_match", {"gold": "t.json"}),
        "broken": ("string_match", {"gold": "Paris", "GOLDPARAM2": True}),
        "lost": ("table_match", {"gold": "GOLDFILE3.csv"}),
        "absent": ("string_match", {"gold": "Paris"}),
    }
    files = {**tables, "tree": '{"a": "GOLDLEAF4", "n": 55443322.5}'}
    answers = {
        "table": "name,v\na,1.5\nb,2\nc,3\n", "near": "name,v\na,1.5\nb,918273\nc,3\n", "lost": "x\n1\n", "tree": '{"a": "x", "n": 1}',
        "text": "none", "number": "41", "sign": "it is 7", "broken": "x",
    }  # fmt: skip
    for name, text in files.items():
        path = gold / name / ("t.json" if name == "tree" else "t.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    lines = [{"instance_id": name, "evaluation": {"func": func, "parameters": given}} for name, (func, given) in specs.items()]
    (gold / "toy_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (gold / "suite.yaml").write_text("name: secret\nhidden: true\n", encoding="utf-8")
    rows = []
    for name, text in answers.items():
        is_file = name in ("table", "near", "lost", "tree")
        if is_file:
            path = sub / name / ("a.json" if name == "tree" else "a.csv")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        rows.append({"instance_id": name, "answer_type": "file" if is_file else "answer", "answer_or_path": path.name if is_file else text})
    (sub / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return sub, gold


def example_record(rules: Rule = "official") -> Record:
    """The record of the example."""
    return record_of_run(example(rules))
