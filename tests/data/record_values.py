"""`python -m tests.data.record_values`: write again what `explain` and the checks of gold say of the rows in `tests/data/values`.

A new row needs its inputs only. Read the difference before it is committed: each line is what the tests hold to be right.
"""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalsuite.analysis.gold_checks.mutation import audit_gold
from tests.analysis.explain import test_transformations as causes
from tests.analysis.gold_checks import test_audit, test_gold_check, test_lint, test_suspects
from tests.analysis.gold_checks.gold_folders import clean
from tests.analysis.gold_checks.lint_plants import PLANTED
from tests.conftest import ROOT

Row = dict[str, Any]


def hypotheses(row: Row) -> Row:
    """Values of a column, or one cell."""
    (read,) = causes.read_rows(json.dumps(row))
    return {"made": causes.injected(read)} if "cell" in row else {"found": causes.fitted(read)}


def lint(row: Row) -> Row:
    """A planted fault by its name, or a change of the made gold."""
    made = test_lint.changed(row)
    for name, plant, _ in PLANTED:
        if name == row.get("name"):
            made = clean()
            plant(made)
    with TemporaryDirectory() as folder:
        return {"found": test_lint.said(made.write(Path(folder)))}


def audits(row: Row) -> Row:
    """The audit of the example, or of every third planted hole."""
    if row["of"] == "example":
        return {"told": test_audit.lines_of(audit_gold(ROOT / "gold", **test_audit.EXAMPLE, isolation="none").to_json())}
    with TemporaryDirectory() as folder:
        test_audit.write_holes(Path(folder, "gold"), list(test_audit.planted_holes())[::3])
        return {"told": test_audit.lines_of(audit_gold(Path(folder, "gold"), isolation="none").under("strict").to_json())}


def examples(row: Row) -> Row:
    """Gold with good and bad answers."""
    with TemporaryDirectory() as folder:
        return {"chosen": test_gold_check.inferred(row, Path(folder))}


def posteriors(row: Row) -> Row:
    """A drawn world; its numbers to nine digits."""
    found = test_suspects.fitted(row)
    return found | {"numbers": [float(f"{number:.9g}") for number in found["numbers"]]}


RECORDED: dict[str, Callable[[Row], Row]] = {
    "hypotheses": hypotheses,
    "repairs": lambda row: dict(zip(("aligned", "found"), causes.repaired(row), strict=True)),
    "lint": lint,
    "generated": lambda row: {"made": test_audit.generated(row)},
    "audits": audits,
    "examples": examples,
    "posteriors": posteriors,
}

if __name__ == "__main__":
    for name, again in RECORDED.items():
        path = ROOT / "tests/data/values" / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        path.write_text("".join(json.dumps(row | again(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
