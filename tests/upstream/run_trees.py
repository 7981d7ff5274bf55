"""Run Treeval and Struct Extract Eval themselves on cases: `python run_trees.py FOLDER < cases.jsonl > results.jsonl`, one line each.

Needs numpy, scipy, jsonref, jsonschema and Levenshtein, nothing of ours. `FOLDER` is the clone of one of the two. Metrics of the hub are
replaced by local ones of the same formula.
"""

import functools
import itertools
import json
import logging
import signal
import sys
import types
from pathlib import Path

SECONDS = 2


class _Module:
    """What `evaluate.load` gives: a metric of the hub, computed here."""

    def __init__(self, name):
        self.name = name.rpartition("/")[2]

    def compute(self, predictions, references):
        # A module of the hub wants texts first, and takes what follows as text.
        for value in (predictions[0], references[0]):
            if not isinstance(value, str):
                raise ValueError(f"Expected type str but got {type(value)}.")
        texts = [(str(p), str(r)) for p, r in zip(predictions, references, strict=True)]
        if self.name == "exact_match":
            return {"exact_match": sum(p == r for p, r in texts) / len(texts)}
        import Levenshtein

        return {
            "levenshtein": sum(Levenshtein.distance(*two) for two in texts) / len(texts),
            "levenshtein_ratio": sum(Levenshtein.ratio(*two) for two in texts) / len(texts),
        }


def first_best(matrix, maximize=True, choose=min):
    """(rows, columns) of the lexicographically first assignment (or last) among those with the largest sum, within 1e-9."""
    import numpy as np

    n, m = matrix.shape
    small = list(itertools.permutations(range(max(n, m)), min(n, m)))
    if n <= m:
        options = [list(enumerate(columns)) for columns in small]
    else:
        options = [sorted((row, column) for column, row in enumerate(rows)) for rows in small]
    sums = [sum(matrix[i, j] for i, j in pairs) for pairs in options]
    best = max(sums)
    pairs = choose(pairs for pairs, total in zip(options, sums, strict=True) if best - total <= 1e-9)
    return np.array([i for i, _ in pairs]), np.array([j for _, j in pairs])


def run_treeval(cases):
    """Treeval's results as it is, and with the first of several best assignments; whether surplus items were matched out of order."""
    fake = types.ModuleType("evaluate")
    fake.EvaluationModule = type("EvaluationModule", (), {})
    fake.load = lambda name, **_: _Module(name)
    sys.modules["evaluate"] = fake
    import treeval
    from treeval.metrics import ExactMatch, Levenshtein

    class Modules(Levenshtein):
        """Their class with the local module, called as one of the hub."""

        def _compute(self, predictions, references):
            return self._module.compute(predictions=predictions, references=references)

    engine = sys.modules["treeval.treeval"]
    own = engine.compute_matching_from_score_matrix
    metrics = {"exact_match": ExactMatch(), "levenshtein": Modules(name="levenshtein")}
    for case in cases:
        out_of_order = []
        by_type = {(() if name == "()" else name): names for name, names in case["types_metrics"].items()}

        def score(match, case=case, by_type=by_type, out_of_order=out_of_order, **options):
            def matching(matrix, maximize=True):
                rows, columns = match(matrix, maximize)
                if matrix.shape[1] > matrix.shape[0] and list(columns) != sorted(columns):
                    out_of_order.append(True)
                return rows, columns

            engine.compute_matching_from_score_matrix = matching
            tree = treeval.create_tree_metrics(case["schema"], types_metrics=by_type)
            return treeval.treeval(case["extracted"], case["gold"], case["schema"], metrics, tree, **options)

        result = {"as_is": limited(score, own)}
        if result["as_is"].get("raises") == "hangs":  # so would the others
            yield {**dict.fromkeys(("as_is", "first", "per_metric", "last"), result["as_is"]), "out_of_order": False}
            continue
        result["first"] = limited(score, first_best)
        result["per_metric"] = limited(score, first_best, aggregate_results_per_metric=True)
        result["out_of_order"] = bool(out_of_order)
        result["last"] = limited(score, functools.partial(first_best, choose=max))
        yield result


def limited(call, *arguments, **options):
    """The value of a call, or what it raised; `hangs` after some seconds."""

    def stop(*_):
        raise TimeoutError

    # Seconds of its own processor time: a busy machine is no hang.
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return {"value": call(*arguments, **options)}
    except TimeoutError:
        return {"raises": "hangs"}
    except Exception as error:  # what it raises is what is asked
        return {"raises": type(error).__name__, "message": str(error)[:200]}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


KINDS = {"multi_type": "not one of the declared types", "missing": "in schema but missing", "container_type": "not the schema's"}


def run_xeval(cases):
    """Struct Extract Eval's results, and with a little noise on the fits of lists, which shows several best assignments."""
    import numpy as np
    import scipy.optimize
    import struct_extract_eval as xeval
    from struct_extract_eval.core.schema import inference

    own = scipy.optimize.linear_sum_assignment
    log = []
    handler = logging.Handler()
    handler.emit = lambda record: log.append(record.getMessage())
    logging.getLogger("struct_extract_eval").addHandler(handler)
    logging.getLogger("struct_extract_eval").propagate = False

    def evaluated(case):
        found = xeval.evaluate(case["gold"], case["extracted"], case["schema"])
        rows = [[[row.path, row.status, row.score, row.comparator, row.reason] for row in r.field_results] for r in found.records]
        totals = [found.total_records, found.total_fields, found.total_omissions, found.total_hallucinations, found.total_batch_errors]
        each = {path: [e.mean_score, e.matches, e.mismatches, e.omissions, e.hallucinations] for path, e in found.per_field.items()}
        return {
            "rows": rows,
            "records": [[r.precision, r.recall, r.f1] for r in found.records],
            "mean": [found.mean_precision, found.mean_recall, found.mean_f1],
            "totals": totals,
            "per_field": each,
        }

    def noisy(seed):
        def assigned(matrix, maximize=False):
            noise = np.random.default_rng(seed).uniform(0, 1e-9, np.shape(matrix))
            return own(np.asarray(matrix) + noise * (np.asarray(matrix) > 0), maximize=maximize)

        return assigned

    for case in cases:
        log.clear()
        if case["kind"] == "evaluate":
            result = limited(evaluated, case)
            others = []
            for seed in range(4):
                scipy.optimize.linear_sum_assignment = noisy(seed)
                others.append(limited(evaluated, case))
            scipy.optimize.linear_sum_assignment = own
            values = [one.get("value") or {} for one in others]
            whole = result.get("value") or {}
            result["tie"] = any(value.get("rows") != whole.get("rows") for value in values)
            result["tie_of_means"] = any(value.get("records") != whole.get("records") for value in values)
        elif case["kind"] == "infer_schema":
            result = limited(xeval.infer_schema, case["gold"])
        elif case["kind"] == "resolve":
            result = limited(inference.resolve_schema_references, case["schema"])
        else:
            result = limited(xeval.validate_gold, case["gold"], case["schema"], **case["options"])
            result["remarks"] = {kind: n for kind, text in KINDS.items() if (n := sum(text in line for line in log))}
        yield result


def main():
    """Read cases, write results."""
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder / "src"))
    cases = [json.loads(line) for line in sys.stdin]
    run = run_treeval if (folder / "src" / "treeval").is_dir() else run_xeval
    out = sys.stdout
    sys.stdout = sys.stderr
    for result in run(cases):
        out.write(json.dumps(result, default=repr) + "\n")


if __name__ == "__main__":
    main()
