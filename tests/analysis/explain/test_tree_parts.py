"""Causes of parts of records are proved by scoring: each is undone alone, or the schema is patched."""

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.analysis.explain.search_trees import _short
from evalsuite.reports.explain_documents import _evidence_facts
from evalsuite.scorers import SCORERS

pytestmark = pytest.mark.usefixtures("shared_fork_server")

Records = list[dict[str, Any]]


def records(n: int = 100, seed: int = 3) -> Records:
    """n made invoices with three lines each."""
    random_ = random.Random(seed)
    return [
        {
            "vendor": random_.choice(["Acme", "Globex", "Initech"]),
            "country": random_.choice(["USA", "Germany", "France"]),
            "date": f"20{random_.randint(10, 24)}-{random_.randint(1, 12):02}-{random_.randint(13, 28)}",
            "total": round(random_.uniform(10, 5000), 2),
            "net": round(random_.uniform(10, 5000), 2),
            "lines": [{"sku": f"s{random_.randint(1, 999)}", "qty": random_.randint(1, 90)} for _ in range(3)],
        }
        for _ in range(n)
    ]


def turned(found: Records) -> None:
    """The lines of each record in another order."""
    for record in found:
        record["lines"] = [*record["lines"][1:], record["lines"][0]]


def german(found: Records) -> None:
    """Ten dates as DD.MM.YYYY."""
    for record in found[:10]:
        record["date"] = ".".join(reversed(record["date"].split("-")))


def taxed(found: Records) -> None:
    """All totals times 1.1."""
    for record in found:
        record["total"] = round(record["total"] * 1.1, 2)


def exchanged(found: Records) -> None:
    """Total and net in each other's place in every third record."""
    for record in found[::3]:
        record["total"], record["net"] = record["net"], record["total"]


def renamed(found: Records) -> None:
    """One country in other words."""
    for record in found:
        record["country"] = record["country"].replace("USA", "United States")


def explained(change: Callable[[Records], None], n: int = 100, scorer: str = "tree_match", **parameters: Any) -> dict[str, Any]:
    """The explanation of changed records."""
    gold = records(n)
    answer = copy.deepcopy(gold)
    change(answer)
    return explain(SCORERS.load(scorer), answer, {"gold": gold, **parameters}, rules="strict")


@pytest.mark.parametrize(
    ("change", "name", "words", "patch"),
    [
        (turned, "list order", "matching 'lines' in order gives", {"lines": {"x-eval-align": {"match_by": "hungarian"}}}),
        (german, "date form", "as DD.MM.YYYY, in 10 of 100 values of 'date'", {"date": {"x-eval-compare": {"date": {"locale": "de"}}}}),
        (taxed, "constant factor", "in 100 of 100 values of 'total': gold's times 1.1", None),
        (exchanged, "fields exchanged", "'net' and 'total' are exchanged in 34 of 100 places", None),
    ],
)
def test_a_part_is_proved_by_its_score(change: Callable[[Records], None], name: str, words: str, patch: Any) -> None:
    """Each mistake is named with how often it stands, the score before and after, and the patch of the schema that takes it."""
    found = explained(change)
    (cause,) = found["causes"]
    assert (cause["name"], cause["standing"], found["proved"]) == (name, "proved", True)
    assert words in cause["text"]
    assert cause["scores"][0] < cause["scores"][1] == 1
    assert cause.get("patch") == patch
    if patch:
        gold, schema = records(), _with_patch(patch)
        answer = copy.deepcopy(gold)
        change(answer)
        assert SCORERS.load("tree_match").score(answer, gold=gold, schema=schema).strict == 1


def _with_patch(patch: dict[str, Any]) -> dict[str, Any]:
    from evalsuite.trees import infer_schema

    schema = infer_schema(records(), widen=True, notify=lambda _: None)
    for path, keys in patch.items():
        schema["properties"][path].update(keys)
    return schema


def test_synonyms_are_suggested() -> None:
    """Other words that always stand for the same text fit, as they are taken from gold, with the groups that would accept them."""
    (cause,) = explained(renamed)["causes"]
    assert (cause["name"], cause["standing"]) == ("synonyms", "fits")
    assert cause["patch"] == {"country": {"x-eval-compare": {"oneof": {"groups": [["USA", "United States"]]}}}}


@pytest.mark.parametrize("scorer", ["tree_match", "tree_score"])
def test_parts_are_told_where_the_rest_is_not(scorer: str) -> None:
    """Beside values that nothing explains the parts stand all the same; then the whole is not proved."""

    def change(found: Records) -> None:
        for make in (turned, german, taxed):
            make(found)
        for i, record in enumerate(found):
            record["vendor"] = f"{i}?"

    found = explained(change, n=24, scorer=scorer)
    names = [cause["name"] for cause in found["causes"]]
    assert names == [*(["list order"] if scorer == "tree_match" else []), "date form", "constant factor"]
    assert all(cause["proved"] for cause in found["causes"])
    facts = dict(_evidence_facts({"explanation": found}))
    assert "without this error the score only rises to 0." in facts["fits"]
    assert found["proved"] is False
    values = [score for cause in found["causes"] for score in cause["scores"]]
    assert values == sorted(values)


def test_unrelated_values_have_no_part() -> None:
    """Texts and numbers that have nothing to do with gold's are no cause."""

    def change(found: Records) -> None:
        for other, record in zip(records(seed=9), found, strict=False):
            record |= {"vendor": other["vendor"] + "x" * len(record["vendor"]), "total": other["total"]}

    found = explained(change, n=24)
    assert [cause for cause in found["causes"] if cause["proved"]] == []


def test_a_part_that_another_part_makes_needless_is_left_out() -> None:
    """Reversed lines: pairing the orders by best fit raises the score too, but the pairing of the lines alone makes every record right."""

    def record(i: int, step: int) -> dict[str, Any]:
        skus = [["p", "q"], ["q", "p"], ["r", "s"]]
        return {"id": f"r{i}", "orders": [{"lines": [{"sku": f"{sku}{i}"} for sku in of[::step]]} for of in skus]}

    found = explain(
        SCORERS.load("tree_match"), [record(i, -1) for i in range(20)], {"gold": [record(i, 1) for i in range(20)]}, rules="strict"
    )
    (cause,) = found["causes"]
    assert cause["name"] == "list order"
    assert list(cause["patch"]) == ["orders[].lines"]
    assert cause["text"].startswith("matching 'orders[].lines' in order gives .14, by Hungarian 1: .14 as it is, 1 ")
    assert cause["scores"][0] < cause["scores"][1] == 1


def test_a_part_that_is_not_named_is_in_no_score_and_no_proof() -> None:
    """Years in the place of dates fit anything: what is said of the numbers is of the answer with its dates as they are."""

    def change(found: Records) -> None:
        for record in found:
            record |= {"date": record["date"][:4], "total": -record["total"], "vendor": record["vendor"].upper()}

    gold = records(8)
    answer = copy.deepcopy(gold)
    change(answer)
    found = explained(change, n=8)
    first, second = found["causes"]
    assert (first["name"], second["name"], found["proved"]) == ("sign", "case", False)
    assert any(note.startswith("time cut off fits") for note in found["notes"])
    scorer = SCORERS.load("tree_match")
    mended = copy.deepcopy(answer)
    scores = [scorer.score(mended, gold=gold).strict]
    for field in ("total", "vendor"):
        for record, right in zip(mended, gold, strict=True):
            record[field] = right[field]
        scores.append(scorer.score(mended, gold=gold).strict)
    assert [*first["scores"], *second["scores"]] == [scores[0], scores[1], scores[1], scores[2]]
    assert "as it is, " in first["text"]
    assert "with those before it undone, " in second["text"]


@pytest.mark.parametrize(
    ("scores", "texts"),
    [((0.5, 1), [".50", "1"]), ((0.963, 0.9964), [".963", ".996"]), ((0.0004, 0.25), [".0004", ".2500"]), ((0, 0.5), [".00", ".50"])],
)
def test_a_score_below_1_is_not_shown_as_1(scores: tuple[float, float], texts: list[str]) -> None:
    """Two scores have as many decimals as tell them from each other, from 0 and from 1."""
    assert _short(*scores) == texts
