"""Treeval and Struct Extract Eval themselves next to ours on cases of five domains and of any shape: numbers are equal, or we know why.

`EVALSUITE_TREEVAL=<clone> EVALSUITE_XEVAL=<clone> pytest -m upstream tests/upstream -s`. They run in an interpreter of their own:
`EVALSUITE_UPSTREAM_PYTHON` (default: this one) has numpy, scipy, jsonref, jsonschema and Levenshtein.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalsuite.trees import evaluate, infer_schema, resolve_schema_references, treeval_score, validate_gold
from evalsuite.trees.field_results import Notice
from tests.conformance.test_treeval import REFERENCE_METRICS, close, wrong_container
from tests.conformance.test_xeval import near
from tests.upstream.tree_cases import DOMAINS, Obj, asked, cases, odd_cases

pytestmark = pytest.mark.upstream
N_CASES = 500  # of each domain
SEED = int(os.environ.get("EVALSUITE_UPSTREAM_SEED", "20261124"))


@cache
def made() -> list[Obj]:
    """The cases of all domains, and those of any shape."""
    return [*(case for domain in DOMAINS for case in cases(domain, N_CASES, SEED)), *odd_cases(2 * N_CASES, SEED)]


@cache
def answered(variable: str) -> list[tuple[Obj, Obj]]:
    """Each case of a reference with what the reference says."""
    folder = os.environ.get(variable, "")
    if not folder:
        pytest.skip(f"{variable} does not name a clone")
    own = [case for case in made() if (case["kind"] == "treeval") == (variable == "EVALSUITE_TREEVAL")]
    return list(asked(own, Path(folder)))


def report(name: str, kinds: Counter[str], unexplained: list[tuple[str, str]]) -> None:
    """Print the figures; fail with the first differences that have no reason."""
    print(f"\n{name}: {kinds.total()} cases: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}; {len(unexplained)} unexplained")
    assert unexplained == []


def treeval_numbers(case: Obj, **options: Any) -> Any:
    """Our result of a case."""
    return treeval_score(case["extracted"], case["gold"], case["schema"], types_metrics=case["types_metrics"], **options)


def is_tie(theirs: Obj) -> bool:
    """Whether the numbers depend on which of several best assignments is taken."""
    return not theirs["as_is"] == theirs["first"] == theirs["last"]


def treeval_kind(case: Obj, theirs: Obj) -> tuple[str, str]:
    """(what happened, the difference or "")."""
    ours = treeval_numbers(case, compat=True)
    if "raises" in theirs["first"]:
        error = f"{theirs['first']['raises']}: {theirs['first'].get('message', '')}"
        return "raised there", "" if ours.reference_raises else f"it raises {error}, we give {ours.score}"
    found, wanted = {**ours.tree, **ours.summary}, theirs["first"]["value"]
    if theirs["out_of_order"]:
        # Its count of surplus objects depends on their order; all that does not come from it is equal.
        counted = ("precision_node", "recall_node", "f1_node", "treeval_score")
        sides = [{key: value for key, value in side.items() if key not in counted} for side in (found, wanted)]
        return "surplus out of order", "" if close(*sides) else f"found {sides[0]}, there {sides[1]}"
    if ours.reference_raises:
        return "equal", f"we say that it raises ({ours.reference_raises}), it gives {wanted['treeval_score']}"
    same = close(found, wanted) and close(ours.per_metric, theirs["per_metric"].get("value"))
    kind = "tie" if is_tie(theirs) else "equal"
    return kind, "" if same else f"found {found}, there {wanted}"


def test_treeval_gives_the_same() -> None:
    """Official: results tree, rates, score and means are Treeval's, and where it raises we say so."""
    kinds: Counter[str] = Counter()
    unexplained = []
    for case, theirs in answered("EVALSUITE_TREEVAL"):
        kind, difference = treeval_kind(case, theirs)
        kinds[kind] += 1
        if difference:
            unexplained.append((case["id"], difference[:600]))
    report("Treeval, official", kinds, unexplained)


def types_at(node: Any, values: list[Any]) -> Iterator[set[type]]:
    """The types of the predicted values at each leaf of a schema, at any depth of lists; `object` for a value in a container's place."""
    is_container = isinstance(node, dict) or (isinstance(node, list) and len(node) == 1)
    if is_container and any(value is not None and not isinstance(value, type(node)) for value in values):
        yield {object}
    if isinstance(node, dict):
        for key, below in node.items():
            yield from types_at(below, [value.get(key) for value in values if isinstance(value, dict)])
    elif is_container:
        yield from types_at(node[0], [item for value in values if isinstance(value, list) for item in value])
    else:
        yield set(map(type, values))


def test_treeval_sound_gives_the_same() -> None:
    """Sound, with the reference's equality: the same numbers, but for ties, wrong containers, and whole numbers beside floats.

    These have rules of their own: the reference compares all numbers of a leaf as floats if one prediction is a float.
    """
    kinds: Counter[str] = Counter()
    unexplained = []
    for case, theirs in answered("EVALSUITE_TREEVAL"):
        pairs = zip(case["extracted"], case["gold"], strict=True)
        if "raises" in theirs["first"] or theirs["out_of_order"] or is_tie(theirs):
            kinds["raised there, or a tie"] += 1
        elif any(not isinstance(p, dict) or wrong_container(case["schema"], p, r) for p, r in pairs):
            kinds["wrong container"] += 1
        elif any(types & {dict, list, object} or types >= {int, float} for types in types_at(case["schema"], case["extracted"])):
            kinds["wrong container in a list, or whole numbers beside floats"] += 1
        else:
            kinds["compared"] += 1
            ours = treeval_numbers(case, metrics=REFERENCE_METRICS)
            if not close({**ours.tree, **ours.summary}, theirs["first"]["value"]):
                unexplained.append((case["id"], f"found {ours.tree, ours.summary}, there {theirs['first']['value']}"[:900]))
    report("Treeval, sound", kinds, unexplained)


def xeval_kind(case: Obj, theirs: Obj) -> tuple[str, str]:
    """(what happened, the difference or "")."""
    remarks: Counter[str] = Counter()

    def count(notice: Notice) -> None:
        remarks[notice.kind] += 1

    try:
        if case["kind"] == "infer_schema":
            found: Any = infer_schema(case["gold"], notify=count)
        elif case["kind"] == "resolve":
            found = resolve_schema_references(case["schema"], compat=True, notify=count)
        elif case["kind"] == "validate_gold":
            found = validate_gold(case["gold"], case["schema"], **case["options"], compat=True, notify=count)
        else:
            found = evaluated(case)
    except Exception as error:  # what is raised is compared
        same = type(error).__name__ == theirs.get("raises")
        return "raised there", "" if same else f"we raise {type(error).__name__}: {error}; there {theirs.get('raises') or 'a result'}"
    if "raises" in theirs:
        return "raised there", f"it raises {theirs['raises']}: {theirs.get('message')}"
    wanted = theirs["value"]
    if case["kind"] == "validate_gold" and dict(remarks) != theirs["remarks"]:
        return case["kind"], f"remarks {dict(remarks)}, there {theirs['remarks']}"
    if theirs.get("tie_of_means"):
        found, wanted = found["totals"][0], wanted["totals"][0]
    elif theirs.get("tie"):
        found, wanted = ([side["records"], side["mean"]] for side in (found, wanted))
    kind = "tie" if theirs.get("tie") else case["kind"]
    return kind, "" if near(found, wanted) else f"found {json.dumps(found)[:700]}, there {json.dumps(wanted)[:700]}"


def evaluated(case: Obj) -> Obj:
    """Our result in the form of `run_trees`."""
    found = evaluate(case["gold"], case["extracted"], case["schema"], compat=True)
    rows = [[[row.path, row.status, row.score, row.comparator, row.reason] for row in r.field_results] for r in found.records]
    totals = [found.total_records, found.total_fields, found.total_omissions, found.total_hallucinations, found.total_batch_errors]
    each = {path: [e.mean_score, e.matches, e.mismatches, e.omissions, e.hallucinations] for path, e in found.per_field.items()}
    records = [[r.precision, r.recall, r.f1] for r in found.records]
    mean = [found.mean_precision, found.mean_recall, found.mean_f1]
    return {"rows": rows, "records": records, "mean": mean, "totals": totals, "per_field": each}


def test_xeval_gives_the_same() -> None:
    """Official: rows, metrics, totals, inferred schemas and remarks on gold are Struct Extract Eval's, its errors too."""
    kinds: Counter[str] = Counter()
    unexplained = []
    for case, theirs in answered("EVALSUITE_XEVAL"):
        kind, difference = xeval_kind(case, theirs)
        kinds[kind] += 1
        if difference:
            unexplained.append((case["id"], difference[:1500]))
    report("Struct Extract Eval, official", kinds, unexplained)
