"""`python -m tests.upstream.record NAME CLONE`: ask a live reference about made cases again, and write `tests/data/recorded/NAME.jsonl`.

| NAME | CLONE | commit of the record | what is asked |
|---|---|---|---|
| `spider2` | a git directory of xlang-ai/Spider2 | those of `PLACES` | the five functions, in Lite and Snow those of tables |
| `suites` | the same | those of `upstream_suites` | the programs of Lite (tables; queries on SQLite), Snow, dbt and the original suite |
| `treeval` | numindai/treeval | a56937f4 | `treeval` with exact match and Levenshtein |
| `xeval` | FAIRmat-NFDI/extract-eval | 6a51aa28 | `evaluate` |
| `bird` | bird-bench/mini_dev | 4d970a9a | `execute_sql` with `calculate_ex` |
| `test-suite` | taoyds/test-suite-sql-eval | e97acc54 | `eval_exec_match` without options |
| `statistics` | the folder of statsmodels 0.15.0 | | intervals, tests, corrections and kappa, of scipy 1.17.1 the paired tests |

The cases are made here, from seeds; nothing of a benchmark is in them. A reference needs its own packages (jsonref; sqlparse and tqdm);
those that no verdict needs are replaced by empty modules. Run it on a clone that you trust: its code is executed. It prints what
differs from the record that was there, by rule; with `--check` it writes nothing.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from evalsuite.compare.official_cells import Reference
from tests.conformance.upstream_suites import VARIABLE, extract, scores
from tests.gold.checkouts import make_checkout, make_folders, make_queries, submit
from tests.processes import finished
from tests.upstream.clone_functions import verdicts
from tests.upstream.queries import make_databases, query_pairs
from tests.upstream.reference_cases import made_cases, write_cases
from tests.upstream.tree_cases import DOMAINS, asked, cases, odd_cases


class Place(NamedTuple):
    """Where a reference lies in a clone of Spider 2.0, and the commit whose functions our rules say."""

    file: str
    commit: str


PLACES: Final[dict[Reference, Place]] = {
    "original": Place("spider2/evaluation_suite/eval_utils.py", "db1d8e1b4c054b8f36d72e118ec2ef62e2f2b9ac"),
    "lite": Place("spider2-lite/evaluation_suite/evaluate.py", "5fa8a5179c411c22ff8fd902c9e01c5bc2bf6c47"),
    "snow": Place("spider2-snow/evaluation_suite/evaluate.py", "76b85e5d225fdae2c8f335a8f2eac30ee17d617c"),
    "dbt": Place("spider2-dbt/evaluation_suite/eval_utils.py", "e12c5f1e6550a5df88995520c3bf00bbe7bad2d2"),
}
RECORDED = Path(__file__).parent.parent / "data" / "recorded"
SEED = 7
N_OF_A_RULE, N_TREES, N_ODD, N_QUERIES, N_OF_A_SUITE = 16, 110, 200, 120, 90
# To write two databases costs more than all else of a case.
N_DATABASES = 6
Row = dict[str, Any]


def spider2(clone: Path, at: str = "") -> Iterator[Row]:
    """Each made case with the score that each reference gives it, null where it dies; `at` is another commit than the record's."""
    cases = [
        case for case in made_cases(SEED, N_OF_A_RULE) if case.function != "duckdb_match" or int(case.id.rpartition("-")[2]) < N_DATABASES
    ]
    with TemporaryDirectory() as place:
        folder = Path(place, "cases")
        write_cases(cases, folder)
        found: dict[str, dict[str, float | None]] = {}
        for name, where in PLACES.items():
            file = Path(place, name, Path(where.file).name)
            _extract(clone, at or where.commit, str(Path(where.file).parent), file.parent)
            own = [case.id for case in cases if name in case.references]
            # A process of its own: each file brings modules of equal names.
            with get_context("spawn").Pool(1) as pool:
                found[name] = dict(pool.apply(_verdicts, (str(file), str(folder), own)))
    for case in cases:
        scores = {name: found[name][case.id] for name in case.references}
        yield {**case.shown(), "function": case.function, "rule": case.rule, "expected": scores}


def _verdicts(file: str, folder: str, ids: Sequence[str]) -> list[tuple[str, float | None]]:
    with contextlib.redirect_stdout(io.StringIO()):
        return list(verdicts(file, folder, ids))


def _extract(clone: Path, commit: str, inside: str, folder: Path) -> None:
    """Write the programs of a folder at a commit into `folder`."""
    git = ["git", f"--git-dir={clone}"]
    folder.mkdir(parents=True)
    listed = finished([*git, "ls-tree", "--name-only", commit, f"{inside}/"], check=True).stdout
    for name in listed.split():
        if name.endswith(".py"):
            shown = finished([*git, "show", f"{commit}:{name}"], check=True, encoding="utf-8").stdout
            (folder / Path(name).name).write_text(shown, encoding="utf-8")


def make_suite(name: str, root: Path) -> tuple[Path, Path]:
    """Gold and the submission of one of `SUITES` below `root`, the same each time."""
    if name == "lite, queries":
        return make_queries(root, query_pairs(SEED, N_OF_A_SUITE, make_databases(root / "databases", SEED)))
    if name in {"lite", "snow"}:
        made = make_checkout(root, name, N_OF_A_SUITE, seed=SEED)
        return made.gold_folder, submit(made, root / "submission", seed=SEED)
    return make_folders(root, N_OF_A_SUITE, seed=SEED)


SUITES = ("original", "dbt", "lite", "lite, queries", "snow")


def suites(clone: Path) -> Iterator[Row]:
    """What the programs of the suites of Spider 2.0 give each instance of made gold; the cases are made again from the seed."""
    os.environ[VARIABLE] = str(clone)
    for name in SUITES:
        layout, _, queries = name.partition(", ")
        with TemporaryDirectory() as place:
            root = Path(place)
            gold, submission = make_suite(name, root)
            folder = gold.parent
            extract(layout, folder)
            found = scores(layout, folder, gold, submission, "sql" if queries else "exec_result")
            ids = sorted(path.stem for path in submission.iterdir() if path.suffix != ".jsonl")
            yield from ({"suite": name, "id": id_, "expected": found.get(id_, 0)} for id_ in ids)


def _trees(clone: Path, kind: str) -> Iterator[tuple[Row, Row]]:
    """Each made case of a kind with what the reference says."""
    made = [*(case for domain in DOMAINS for case in cases(domain, N_TREES, SEED)), *odd_cases(N_ODD, SEED)]
    return asked([case for case in made if case["kind"] == kind], clone)


def treeval(clone: Path) -> Iterator[Row]:
    """Each made batch with the reference's results; left out where it raises or counts surplus objects by their order."""
    for case, theirs in _trees(clone, "treeval"):
        if "raises" in theirs["first"] or theirs["out_of_order"]:
            continue
        given = {"predictions": case["extracted"], "references": case["gold"], "schema": case["schema"]}
        expected = {"results": theirs["first"]["value"], "per_metric": theirs["per_metric"]["value"], "per_leaf_type": {"__raises__": ""}}
        yield {"id": case["id"], **given, "types_metrics": case["types_metrics"], "tags": [], "expected": expected}


def xeval(clone: Path) -> Iterator[Row]:
    """Each made run with its records, means, totals and fields, in the form of the recorded corpus, or the class of its error.

    Left out where several alignments are best.
    """
    for case, theirs in _trees(clone, "evaluate"):
        given = {name: case[name] for name in ("gold", "extracted", "schema")}
        expected: Row = {"error": {"class": theirs.get("raises")}}
        if "value" in theirs and theirs["tie"]:
            continue
        if "value" in theirs:
            found = theirs["value"]
            sides = zip(found["rows"], found["records"], strict=True)
            records = [{"id": at, "fields": rows, "p": p, "r": r, "f1": f1} for at, (rows, (p, r, f1)) in enumerate(sides)]
            expected = {"ok": {"records": records, **{name: found[name] for name in ("mean", "totals", "per_field")}}}
        yield {"id": case["id"], "kind": "evaluate", "input": given, "expected": expected}


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


def statistics(folder: Path) -> Iterator[Row]:
    """Values of statsmodels and scipy on made numbers: the name of our function, what it is given, and what comes out."""
    import numpy as np

    sys.path.insert(0, str(folder))
    for name in ("api", "stats.contingency_tables", "stats.inter_rater", "stats.multitest", "stats.proportion", "stats.weightstats"):
        importlib.import_module(f"statsmodels.{name}")
    statsmodels, scipy_stats = sys.modules["statsmodels"], importlib.import_module("scipy.stats")
    stats, rng = statsmodels.stats, np.random.default_rng(SEED)

    def row(name: str, given: Sequence[Any], expected: Iterable[Any]) -> Row:
        return {"name": name, "given": list(given), "expected": [float(value) for value in expected]}

    for n_clusters in (4, 9, 30):
        names = np.repeat(np.arange(n_clusters), rng.integers(1, 13, n_clusters))
        scores = np.clip(0.6 + rng.normal(0, 0.2, n_clusters)[names] + rng.normal(0, 0.2, len(names)), 0, 1).round(3)
        fit = statsmodels.api.OLS(scores, np.ones(len(scores)))
        both = [fit.fit(cov_type="cluster", cov_kwds={"groups": names, "use_correction": corrected}) for corrected in (False, True)]
        yield row("clustered_se", [scores.tolist(), names.tolist()], [both[0].params[0], both[0].bse[0], both[1].bse[0]])
    table = rng.random((12, 7)).round(3)
    interval = stats.weightstats.DescrStatsW(table.mean(axis=1)).tconfint_mean()
    yield row("clustered_interval", [table.ravel().tolist(), np.repeat(np.arange(12), 7).tolist()], interval)
    for ours in ("wilson", "clopper_pearson", "agresti_coull", "jeffreys", "normal"):
        theirs = "beta" if ours == "clopper_pearson" else ours
        for n, k in ((1, 0), (7, 0), (7, 3), (50, 1), (50, 25), (50, 50)):
            ends = stats.proportion.proportion_confint(k, n, alpha=0.1, method=theirs)
            yield row("proportion_interval", [k, n, 0.9, ours], np.clip(ends, 0, 1))
    scores = rng.random(30).round(3)
    yield row("t_interval", [scores.tolist(), 0.9], stats.weightstats.DescrStatsW(scores).tconfint_mean(alpha=0.1))
    for b, c in ((0, 1), (1, 1), (3, 9), (11, 2), (30, 14)):
        tests = [stats.contingency_tables.mcnemar([[5, b], [c, 5]], exact=exact, correction=c_) for exact, c_ in ((1, 0), (0, 0), (0, 1))]
        yield row("mcnemar_counts", [b, c], [min(1.0, test.pvalue) for test in tests])
    for method, theirs in {"holm": "holm", "bonferroni": "bonferroni", "holm_sidak": "holm-sidak", "bh": "fdr_bh", "by": "fdr_by"}.items():
        values = (rng.random(12) ** 3).round(2)
        yield row("adjust", [values.tolist(), method], stats.multitest.multipletests(values, method=theirs)[1])
    first, other = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    second = np.where(rng.random(80) < 0.6, first, other)
    counts = np.zeros((3, 3))
    np.add.at(counts, (first, second), 1)
    for weights in (None, "linear", "quadratic"):
        yield row("cohen_kappa", [first.tolist(), second.tolist(), weights], [stats.inter_rater.cohens_kappa(counts, wt=weights).kappa])
    for n in (8, 25):
        left, right = rng.random(n).round(6), rng.random(n).round(6)
        test = scipy_stats.ttest_rel(left, right)
        yield row("paired_t", [left.tolist(), right.tolist()], [test.pvalue, test.statistic, *test.confidence_interval(0.95)])
        for exact in (True, False):
            mode = {"method": "exact" if exact else "approx", "correction": False, "zero_method": "wilcox"}
            yield row("wilcoxon", [left.tolist(), right.tolist(), exact], [scipy_stats.wilcoxon(left, right, **mode).pvalue])


def _put_module(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


REFERENCES: dict[str, Callable[[Path], Iterable[Row]]] = {
    "spider2": spider2,
    "suites": suites,
    "treeval": treeval,
    "xeval": xeval,
    "bird": bird,
    "test-suite": test_suite,
    "statistics": statistics,
}


def moved(old: Iterable[Row], new: Iterable[Row]) -> list[str]:
    """The rules of which a case has another verdict than was recorded, with the first one; of cases without a rule each that differs."""
    known, found = {str(row.get("id", row)): row["expected"] for row in old}, dict[str, str]()
    for row in new:
        id_ = str(row.get("id", row))
        if id_ not in known or json.dumps(known[id_]) != json.dumps(row["expected"]):
            rule = f"{row['function']}, {row['rule']}" if "rule" in row else id_
            found.setdefault(rule, f"{rule}: {id_}: {known.get(id_, 'not recorded')}, now {row['expected']}"[:400])
    return list(found.values())


def main(words: Sequence[str] | None = None) -> int:
    """Record one reference again."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.record", description="ask a live reference about made cases again")
    parser.add_argument("name", choices=REFERENCES)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--at", default="", metavar="COMMIT", help="of spider2: another commit than the record's, such as HEAD")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where something differs")
    given = parser.parse_args(words)
    clone = given.clone.resolve()
    rows = list(spider2(clone, given.at) if given.at else REFERENCES[given.name](clone))
    file = RECORDED / f"{given.name}.jsonl"
    differing = moved([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()], rows)
    print("\n".join(f"differs: {line}" for line in differing) or "as recorded")
    if given.check:
        return int(bool(differing))
    file.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows)} cases, {file.stat().st_size} bytes in {file}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
