"""A small gold and submissions with text, number and table answers, and runs of them, for the tests of trust in runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import Run, run

GOLD = {
    "capital": {"func": "string_match", "parameters": {"gold": "Lisbon"}},
    "total": {"func": "number_match", "parameters": {"gold": 48}},
    "share": {"func": "number_match", "parameters": {"gold": 12.5}},
    "table": {"func": "table_match", "parameters": {"gold": "table.csv", "ignore_order": True}},
}
TABLE = "id,amount\n1,10\n2,20\n3,30\n"
ANSWERS = {"capital": "It is Lisbon", "total": "47", "share": "12.5", "table": TABLE.replace("20", "21")}


def write_gold(folder: Path, specs: Mapping[str, Any] | None = None, table: str = TABLE) -> Path:
    """A gold folder of the specs; each table check has `table` as its gold file."""
    (folder / "table").mkdir(parents=True, exist_ok=True)
    (folder / "table" / "table.csv").write_text(table)
    lines = [json.dumps({"instance_id": name, "evaluation": spec}) for name, spec in (specs or GOLD).items()]
    (folder / "small_eval.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "suite.yaml").write_text("name: small\ngroups: {texts: [capital], rest: [total, share, table]}\n")
    return folder


def write_submission(folder: Path, answers: Mapping[str, str] | None = None) -> Path:
    """A submission: a text of several lines is handed in as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, text in (ANSWERS if answers is None else answers).items():
        is_file = "\n" in text
        if is_file:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "answer.csv").write_text(text)
        kind = "file" if is_file else "answer"
        lines.append({"instance_id": name, "answer_type": kind, "answer_or_path": "answer.csv" if is_file else text})
    (folder / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def make_run(_: Path) -> None:
    """Gold, a submission and a run of it in the working folder."""
    scored(write_submission(Path("sub")), write_gold(Path("gold")), Path("run"))


def scored(submission: Path, gold: Path, out: Path | None = None, **more: Any) -> Run:
    """The run, in this process."""
    return run(submission, gold, RunOptions(out=out, save=out is not None, isolation="none", jobs=1, **more))
