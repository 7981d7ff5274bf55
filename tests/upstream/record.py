"""`python -m tests.upstream.record NAME CLONE`: ask a live reference about made cases again, and write `tests/data/recorded/NAME.jsonl`.

| NAME | CLONE | commit of the record | what is asked |
|---|---|---|---|
| `spider2` | a git directory of xlang-ai/Spider2 | those of `references.PLACES` | the five functions, in Lite and Snow those of tables |
| `treeval` | numindai/treeval | a56937f4 | `treeval` with exact match and Levenshtein |
| `xeval` | FAIRmat-NFDI/extract-eval | 6a51aa28 | `evaluate` |
| `bird` | bird-bench/mini_dev | 4d970a9a | `execute_sql` with `calculate_ex` |
| `test-suite` | taoyds/test-suite-sql-eval | e97acc54 | `eval_exec_match` without options |

The cases are made here, from seeds; nothing of a benchmark is in them. A reference needs its own packages (jsonref; sqlparse and tqdm);
those that no verdict needs are replaced by empty modules. Run it on a clone that you trust: its code is executed.
"""

import argparse
import contextlib
import importlib
import io
import json
import subprocess
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.upstream.clone_functions import verdicts
from tests.upstream.made_queries import make_databases, query_pairs
from tests.upstream.made_trees import treeval_cases, xeval_cases
from tests.upstream.reference_cases import made_cases, write_cases
from tests.upstream.references import PLACES

RECORDED = Path(__file__).parent.parent / "data" / "recorded"
SEED = 7
N_OF_A_RULE, N_TREEVAL, N_XEVAL, N_QUERIES = 16, 400, 300, 120
# To write two databases costs more than all else of a case.
N_DATABASES = 6
Row = dict[str, Any]


def spider2(clone: Path) -> Iterator[Row]:
    """Each made case with the score that each reference gives it, null where it dies."""
    cases = [
        case for case in made_cases(SEED, N_OF_A_RULE) if case.function != "duckdb_match" or int(case.id.rpartition("-")[2]) < N_DATABASES
    ]
    with TemporaryDirectory() as place:
        folder = Path(place, "cases")
        write_cases(cases, folder)
        found: dict[str, dict[str, float | None]] = {}
        for name, where in PLACES.items():
            file = Path(place, name, Path(where.file).name)
            _extract(clone, where.commit, str(Path(where.file).parent), file.parent)
            own = [case.id for case in cases if name in case.references]
            # A process of its own: each file brings modules of equal names.
            with get_context("spawn").Pool(1) as pool:
                found[name] = dict(pool.apply(_verdicts, (str(file), str(folder), own)))
    for case in cases:
        scores = {name: found[name][case.id] for name in case.references}
        yield {**case.shown(), "function": case.function, "rule": case.rule, "expected": scores}


def _verdicts(file: str, folder: str, ids: Sequence[str]) -> list[tuple[str, float | None]]:
    with contextlib.redirect_stdout(io.StringIO()):
        return [(id_, score) for id_, score, _ in verdicts(file, folder, ids)]


def _extract(clone: Path, commit: str, inside: str, folder: Path) -> None:
    """Write the programs of a folder at a commit into `folder`."""
    git = ["git", f"--git-dir={clone}"]
    folder.mkdir(parents=True)
    listed = subprocess.run([*git, "ls-tree", "--name-only", commit, f"{inside}/"], check=True, capture_output=True, text=True).stdout
    for name in listed.split():
        if name.endswith(".py"):
            shown = subprocess.run([*git, "show", f"{commit}:{name}"], check=True, capture_output=True).stdout
            (folder / Path(name).name).write_bytes(shown)


def treeval(clone: Path) -> Iterator[Row]:
    """Each made batch with the results of the reference; what it raises on is left out."""
    from rapidfuzz.distance import Indel, Levenshtein

    class Module:
        def __init__(self, name: str) -> None:
            self.name = name.rpartition("/")[2]

        def compute(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
            pairs = list(zip(predictions, references, strict=True))
            if self.name == "exact_match":
                return {"exact_match": sum(p == r for p, r in pairs) / len(pairs)}
            if not all(isinstance(text, str) for pair in pairs for text in pair):
                raise TypeError("the package Levenshtein takes texts alone")
            distances = [Levenshtein.distance(p, r) for p, r in pairs]
            ratios = [Indel.normalized_similarity(p, r) for p, r in pairs]
            return {"levenshtein": sum(distances) / len(pairs), "levenshtein_ratio": sum(ratios) / len(pairs)}

    _put_module("evaluate", EvaluationModule=Module, load=Module)
    sys.path.insert(0, str(clone / "src"))
    reference = importlib.import_module("treeval")
    parts = importlib.import_module("treeval.metrics")
    metrics = {"exact_match": parts.ExactMatch(), "levenshtein": parts.Levenshtein()}
    for case in treeval_cases(SEED, N_TREEVAL):
        types_metrics = {() if name == "()" else name: list(of) for name, of in case["types_metrics"].items()}
        given = (case["predictions"], case["references"], case["schema"])
        try:
            tree = reference.create_tree_metrics(case["schema"], types_metrics=types_metrics)
            results = reference.treeval(*given, metrics=metrics, tree_metrics=tree)
            means = reference.treeval(*given, metrics=metrics, tree_metrics=tree, aggregate_results_per_metric=True)
        except Exception:  # the reference's own faults: there is no verdict
            continue
        yield {**case, "tags": [], "expected": {"results": results, "per_metric": means, "per_leaf_type": {"__raises__": ""}}}


def xeval(clone: Path) -> Iterator[Row]:
    """Each made run with its records, means, totals and fields, in the form of the recorded corpus, or the class of its error."""
    sys.path.insert(0, str(clone / "src"))
    evaluate = importlib.import_module("struct_extract_eval").evaluate
    for case in xeval_cases(SEED, N_XEVAL):
        try:
            run = evaluate(**json.loads(json.dumps(case["input"])))
        except Exception as error:  # recorded as well
            yield {**case, "expected": {"error": {"class": type(error).__name__}}}
            continue
        records = [
            {
                "id": record.record_id,
                "fields": [[row.path, row.status, row.score, row.comparator, row.reason] for row in record.field_results],
                **{"p": record.precision, "r": record.recall, "f1": record.f1},
            }
            for record in run.records
        ]
        counts = ("records", "fields", "omissions", "hallucinations", "batch_errors")
        fields = {
            path: [one.mean_score, one.matches, one.mismatches, one.omissions, one.hallucinations] for path, one in run.per_field.items()
        }
        means = [run.mean_precision, run.mean_recall, run.mean_f1]
        totals = [getattr(run, f"total_{name}") for name in counts]
        yield {**case, "expected": {"ok": {"records": records, "mean": means, "totals": totals, "per_field": fields}}}


def _pairs(score: Callable[[Path, str, str], Any]) -> Iterator[Row]:
    """Each made pair of queries with its score, null where the evaluator dies."""
    with TemporaryDirectory() as place:
        for pair in query_pairs(SEED, N_QUERIES, make_databases(Path(place), SEED)):
            database = Path(place, pair["db_id"], f"{pair['db_id']}.sqlite")
            found = None
            with contextlib.suppress(Exception):
                found = int(score(database, pair["predicted"], pair["gold"]))
            yield {**pair, "expected": found}


def bird(clone: Path) -> Iterator[Row]:
    """The pairs as BIRD's evaluator scores them: a query that fails is 0."""
    for name in ("psycopg2", "pymysql", "func_timeout"):
        _put_module(name, func_timeout=None, FunctionTimedOut=TimeoutError)
    sys.path.insert(0, str(clone / "evaluation"))
    execute = importlib.import_module("evaluation_utils").execute_sql
    compare = importlib.import_module("evaluation_ex").calculate_ex

    def score(database: Path, predicted: str, gold: str) -> int:
        try:
            return int(execute(predicted, gold, str(database), "SQLite", compare))
        except Exception:  # as its caller does
            return 0

    return _pairs(score)


def test_suite(clone: Path) -> Iterator[Row]:
    """The pairs as the test suite's evaluator scores them without options, on every database of the folder."""
    sys.path.insert(0, str(clone))
    match = importlib.import_module("exec_eval").eval_exec_match
    return _pairs(lambda database, predicted, gold: match(str(database), predicted, gold, False, False, False))


def _put_module(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


REFERENCES: dict[str, Callable[[Path], Iterable[Row]]] = {
    "spider2": spider2,
    "treeval": treeval,
    "xeval": xeval,
    "bird": bird,
    "test-suite": test_suite,
}


def main(words: Sequence[str] | None = None) -> int:
    """Record one reference again."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.record", description="ask a live reference about made cases again")
    parser.add_argument("name", choices=REFERENCES)
    parser.add_argument("clone", type=Path)
    given = parser.parse_args(words)
    rows = list(REFERENCES[given.name](given.clone.resolve()))
    RECORDED.mkdir(exist_ok=True)
    file = RECORDED / f"{given.name}.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows)} cases, {file.stat().st_size} bytes in {file}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
