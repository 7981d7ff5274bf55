"""Comparators that get all their fields of a record at once: groups of fields, judges and their replies; what gives no verdict is no 0."""

from typing import Any

import pytest

from evalsuite.core.scores import Fault
from evalsuite.trees import (
    BatchItem,
    ComparatorResult,
    CompoundComparator,
    FakeJudge,
    JudgeItem,
    PromptJudge,
    SemanticBatchComparator,
    TreeLimitError,
    evaluate,
    propagate_batch_errors,
)
from evalsuite.trees.batch_comparators import parse_judge_reply
from tests.trees.test_xeval_sound import BEST_FIT, NUMBER, TEXT, a_list, an_object

OWN = {"type": "string", "x-eval-compare": "own"}


def judged(compare: Any, gold: Any, answer: Any, schema: Any = None, **options: Any) -> Any:
    """(path, status, score, reason) of the rows of a record whose comparator is judged in one batch, and the codes of faults."""
    if not hasattr(compare, "is_batch"):
        compare.is_batch = True
    result = evaluate([gold], [answer], schema or an_object(a=OWN, b=OWN), comparators={"own": compare}, **options)
    [record] = result.records
    return [(r.path, r.status, r.score, r.reason) for r in record.field_results], [fault.detail for fault in result.faults]


@pytest.mark.parametrize(
    ("given", "rows", "faults"),
    [
        ([ComparatorResult(1.0), ComparatorResult(0.5, "own", "half")],
         [("a", "match", 1.0, None), ("b", "mismatch", 0.5, "half")], []),
        ([ComparatorResult(0.9, "own", "no", skip=True), None], [("a", "skipped", 0.0, "no"), ("b", "batch_error", 0.0, None)], []),
        ([ComparatorResult(1.0)], [("a", "match", 1.0, None), ("b", "batch_error", 0.0, None)], []),
        ([ComparatorResult(1.0)] * 3, [("a", "match", 1.0, None), ("b", "match", 1.0, None)], []),
        ([1, ComparatorResult(1.5)],
         [("a", "batch_error", 0.0, "comparator own gave int, expected a ComparatorResult"),
          ("b", "batch_error", 0.0, "comparator own gave 1.5, expected a number in [0, 1]")],
         ["comparator own gave int, expected a ComparatorResult", "comparator own gave 1.5, expected a number in [0, 1]"]),
        ([Fault(code="JUDGE_FAILED", detail="no route"), ComparatorResult(0.0)],
         [("a", "batch_error", 0.0, "no route"), ("b", "mismatch", 0.0, None)], ["no route"]),
        (5, [("a", "batch_error", 0.0, "comparator own gave int, expected a list"),
             ("b", "batch_error", 0.0, "comparator own gave int, expected a list")], ["comparator own gave int, expected a list"]),
    ],
)  # fmt: skip
def test_what_a_batch_gives(given: Any, rows: Any, faults: Any) -> None:
    """A result for each field in order; one that is missing, None or no result leaves its field without a verdict, and says why."""

    def own(items: list[BatchItem]) -> Any:
        assert [(item.path, item.name, item.parent, item.one_sided) for item in items] == [("a", "a", "", ()), ("b", "b", "", ())]
        return given

    assert judged(own, {"a": "x", "b": "y"}, {"a": "x", "b": "z"}) == (rows, faults)


def test_a_limit_in_a_batch_is_an_error_of_the_record() -> None:
    """It is not a verdict of that field alone."""

    def own(items: list[BatchItem]) -> Any:
        raise TreeLimitError("too long", "a")

    with pytest.raises(TreeLimitError, match="a: too long"):
        judged(own, {"a": "x"}, {"a": "y"})


def test_what_a_batch_gets() -> None:
    """Raw and transformed values, parameters, the object of each field and the fields there that only one side has."""
    seen: list[BatchItem] = []

    def own(items: list[BatchItem]) -> Any:
        seen.extend(items)
        return [ComparatorResult(1.0) for _ in items]

    field = {"type": "string", "x-eval-compare": {"own": {"p": 1}}, "x-eval-transform": ["lowercase"]}
    schema = an_object(o=an_object(**{"c": field, "d.e": field, "f": field, "g": field}), t=a_list(field), n=NUMBER)
    judged(own, {"o": {"c": "X", "d.e": "A", "f": "y"}, "t": ["K"], "n": 1}, {"o": {"c": "Z", "d.e": "A", "g": "q"}, "t": ["L"]}, schema)
    assert [(i.path, i.name, i.parent, i.one_sided) for i in seen] == [
        ("o.c", "c", "o", ("f", "g")), ("o.d.e", "d.e", "o", ("f", "g")), ("t[0]", "[]", "t[0]", ()),
    ]  # fmt: skip
    assert (seen[0].gold_raw, seen[0].extracted_raw, seen[0].gold_compared, seen[0].extracted_compared) == ("X", "Z", "x", "z")
    assert seen[0].params == {"p": 1}


def test_the_verdicts_of_a_failed_batch_may_be_left_out() -> None:
    """`propagate_batch_errors` takes every verdict of that comparator back, but not what one side lacks, and no other comparator's."""

    def own(items: list[BatchItem]) -> Any:
        return [ComparatorResult(1.0), None]

    schema = an_object(a=OWN, b=OWN, c=OWN, d=TEXT)
    rows, _ = judged(
        own, {"a": "x", "b": "y", "c": "z", "d": "w"}, {"a": "x", "b": "y", "d": "w"}, schema, post_process=propagate_batch_errors
    )
    why = "batch tainted: comparator 'own' had errors in this record — all its results are excluded"
    assert rows == [("a", "batch_error", 0.0, why), ("b", "batch_error", 0.0, why), ("c", "omission", 0.0, None), ("d", "match", 1.0, None)]


def item(path: str, gold: Any, answer: Any, one_sided: tuple[str, ...] | None = ()) -> BatchItem:
    """A field of a compound."""
    if one_sided is None:
        return BatchItem(path, gold, answer, gold, answer, {})
    parent, _, name = path.rpartition(".")
    return BatchItem(path.replace("/", "."), gold, answer, gold, answer, {}, name, parent, one_sided)


MISSING, MATCH, WRONG = "incomplete compound (missing {})", "compound: match", "compound: mismatch"


@pytest.mark.parametrize(
    ("rule", "items", "expected"),
    [
        ("all_equal", [item("v", 1, 1), item("u", "m", "m")], [(1.0, MATCH), "compound with v"]),
        ("all_equal", [item("v", 1, 1), item("u", "m", "M")], [(0.0, WRONG), "compound with v"]),
        ("all_equal", [item("v", 1, True), item("u", "m", "m")], [(0.0, WRONG), "compound with v"]),
        ("casefold", [item("v", 1, "1"), item("u", "m", "M")], [(1.0, MATCH), "compound with v"]),
        ("fraction", [item("v", 1, 2), item("u", "m", "m")], [(0.5, WRONG), "compound with v"]),
        ("all_equal", [item("u", "m", "m")], [(1.0, MATCH)]),
        ("all_equal", [item("u", "m", "m", ("v",))], [(0.0, MISSING.format(["v"]))]),
        ("all_equal", [item("v", 1, 1, ("u", "w")), item("w", 1, 1, ("u", "w"))],
         [(0.0, MISSING.format(["u", "w"])), "compound with v"]),
        ("all_equal", [item("z", 1, 1), item("z.q", 1, 2)],
         [(1.0, "not a part of this compound: z"), (0.0, "not a part of this compound: q")]),
        ("all_equal", [item("o.v", 1, 1), item("o.u/x", 1, 2)], [(1.0, MATCH), (0.0, "not a part of this compound: u/x")]),
        ("all_equal", [item("a.v", 1, 1), item("b.v", 1, 2), item("a.u", 3, 3), item("b.u", 4, 4)],
         [(1.0, MATCH), (0.0, WRONG), "compound with a.v", "compound with b.v"]),
        ("all_equal", [item("t[0].v", 1, 1, None), item("t[0].u", 1, 1, None), item("t[0].w", 1, 1, None)],
         [(1.0, MATCH), "compound with t[0].v", "compound with t[0].v"]),
        ("all_equal", [item(f"a.{o}.{name}", 1, 1 if name != o else 2, None) for o in "tu" for name in "vuw"],
         [(1.0, MATCH), "compound with a.t.v", "compound with a.t.v", (0.0, WRONG), "compound with a.u.v", "compound with a.u.v"]),
        ("all_equal", [item("t[0].v", 1, 1, None), item("t[0].u", 1, 1, None)], [(0.0, MISSING.format(["w"]))] * 2),
        ("all_equal", [item("v", 1, 1, None), item("u", 2, 2, None), item("w", 3, 4, None), item("x", 1, 1, None)],
         [(0.0, WRONG), "compound with v", "compound with v", "compound with v"]),
    ],
)  # fmt: skip
def test_a_compound(rule: Any, items: list[BatchItem], expected: list[Any]) -> None:
    """The primary field, or the first there is, has the score of its object's parts; the others are left out of all numbers."""
    found = CompoundComparator(["v", "u", "w"], "v", "own", rule)(items)
    shown = [one.reason if one.skip else (one.score, one.reason) for one in found if one is not None]
    assert shown == expected


def test_a_compound_is_made_of_its_own_fields_and_a_rule() -> None:
    """Another primary or rule is refused; a function gives a share, or a result."""
    with pytest.raises(ValueError, match=r"primary 'w' is not among the fields \['v', 'u'\]"):
        CompoundComparator(["v", "u"], "w")
    with pytest.raises(ValueError, match="unknown rule 'all': one of all_equal, casefold, fraction"):
        CompoundComparator(["v"], "v", compare="all")  # type: ignore[arg-type]
    for made in (lambda *_: 0.25, lambda *_: ComparatorResult(0.25, "x")):
        [found] = CompoundComparator(["v"], "v", compare=made)([item("v", 1, 2)])
        assert found == ComparatorResult(0.25, "compound", "compound: mismatch")


def test_a_semantic_comparator() -> None:
    """Equal values need no judge; the others are judged in one call, and what it does not answer has no verdict."""
    calls: list[list[JudgeItem]] = []

    def judge(items: list[JudgeItem]) -> Any:
        calls.append(items)
        return [1, 0.5, None, Fault(code="JUDGE_FAILED", detail="x")]

    compare = SemanticBatchComparator(judge, "own")
    items = [item(name, gold, answer) for name, gold, answer in (
        ("a", "x", "x"), ("b", 1, 1.0), ("c", "x", "y"), ("d", "x", "z"), ("e", "x", "w"), ("f", "x", "v"), ("g", [1], [True]),
    )]  # fmt: skip
    found = compare(items)
    exact, match, mismatch = (
        ComparatorResult(score, "own", why) for score, why in ((1.0, "exact"), (1.0, "judge match"), (0.5, "judge mismatch"))
    )
    assert found == [exact, match, mismatch, None, Fault(code="JUDGE_FAILED", detail="x"), None, exact]
    assert calls == [[JudgeItem(i.path, i.gold_raw, i.extracted_raw) for i in items[1:6]]]
    assert compare(items[:1]) == [exact]
    assert len(calls) == 1
    [fault] = SemanticBatchComparator(lambda _: 5)(items[1:2])
    assert isinstance(fault, Fault)
    assert fault.detail == "judge of semantic gave int, expected a list"


def test_a_judge_for_tests() -> None:
    """The table goes first, then the default, then equality as trimmed lower case; other values are compared as sorted JSON."""
    judge = FakeJudge({("a", "b"): 0.75, ('{"x": 1, "y": 2}', "[1]"): 1.0})
    items = [JudgeItem("p", *pair) for pair in (("a", "b"), (" A ", "a"), ("a", "c"), ({"y": 2, "x": 1}, [1]), (1, "1"))]
    assert judge.judge_batch(items) == [0.75, 1.0, 0.0, 1.0, 1.0]
    assert judge.calls == [items]
    assert FakeJudge({("a", "b"): 0.75}, 0.5).judge_batch(items[:3]) == [0.75, 0.5, 0.5]
    assert FakeJudge(default_score=0.0).judge_batch(items[1:2]) == [0.0]


def test_a_judge_of_prompts() -> None:
    """Each pair is sent once, with its place; a pair without a verdict is sent again; a template needs the place of the pairs."""
    prompts: list[str] = []
    replies = iter(['{"results": [1, "x"]}', '{"results": [0]}'])

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return next(replies)

    judge = PromptJudge(ask, template="{{}} {pairs}", model="m")
    items = [JudgeItem("p", "a", "b"), JudgeItem("q", 5, [1]), JudgeItem("p", "a", "b")]
    assert judge.judge_batch(items) == [1.0, None, 1.0]
    assert prompts == ["{} 1. field='p' gold='a' extracted='b'\n2. field='q' gold='5' extracted='[1]'"]
    assert judge.judge_batch(items) == [1.0, 0.0, 1.0]
    assert judge.judge_batch(items) == [1.0, 0.0, 1.0]
    assert prompts[1:] == ["{} 1. field='q' gold='5' extracted='[1]'"]
    assert judge.known == {("m", "p", "a", "b"): 1.0, ("m", "q", "5", "[1]"): 0.0}
    with pytest.raises(ValueError, match=r"the template must contain \{pairs\}"):
        PromptJudge(ask, template="pairs")
    assert "In doubt say 0" in PromptJudge(ask).template


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ('{"results": [1, 0, true, false, "1", " TRUE ", "0", "False", "no", null, 2, 0.5, 1.0, [1]]}',
         [1, 0, 1, 0, 1, 1, 0, 0, None, None, None, None, 1, None]),
        ('```json\n{"results": [1]}\n```', [1]),
        ('```\n{"results": [0]}```', [0]), ('```json{"results": [0]}', [0]), ('  {"results": []} ', []),
        ("no", []), ("[" * 100_000, []), ("[1]", []), ('{"result": [1]}', []), ('{"results": 1}', []), ("```", []),
    ],
)  # fmt: skip
def test_the_reply_of_a_judge(reply: str, scores: list[Any]) -> None:
    """Verdicts in fences or not, as numbers, booleans or texts; [] without results."""
    assert parse_judge_reply(reply) == scores


def test_pairs_of_elements_are_judged_once_and_chosen_by_their_verdicts() -> None:
    """In a best fit an independent judge is called once for all pairs; a record is not judged again for another rate."""
    calls: list[int] = []

    class Judge(FakeJudge):
        def judge_batch(self, items: list[JudgeItem]) -> list[float]:
            calls.append(len(items))
            return super().judge_batch(items)

    schema = an_object(t=a_list(an_object(k=OWN, n=NUMBER), align=BEST_FIT), k=OWN)
    gold = {"t": [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "c", "n": 3}], "k": "d"}
    answer = {"t": [{"k": "B", "n": 2}, {"k": "x", "n": 1}, {"k": "C", "n": 9}], "k": "e"}
    rows, _ = judged(SemanticBatchComparator(Judge(), "own"), gold, answer, schema)
    assert [(path, status) for path, status, *_ in rows] == [
        ("t[0].k", "mismatch"), ("t[0].n", "match"), ("t[1].k", "match"), ("t[1].n", "match"), ("t[2].k", "match"), ("t[2].n", "mismatch"),
        ("k", "mismatch"),
    ]  # fmt: skip
    assert calls == [9, 1]
    sizes: list[int] = []

    def own(items: list[BatchItem]) -> Any:
        sizes.append(len(items))
        return [ComparatorResult(float(item.gold_raw == item.extracted_raw.lower())) for item in items]

    for compat in (False, True):
        found, _ = judged(own, gold, answer, schema, compat=compat)
        assert [row[:2] for row in found] == [row[:2] for row in rows]
        assert sizes == [1] * 10
        sizes.clear()
