"""Statuses and faults, value by value: what each is worth, whose it is, how it is said, and what each level of reveal leaves."""

import math
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core import errors, status
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import join_names
from evalsuite.core.metric import Measure, MetricError, best, on_unit
from evalsuite.core.scores import reaches
from evalsuite.core.types import Fault, Result, Score

RESULT = Result(
    instance_id="q", status="scored", score=1.0, official=1.0, strict=1.0, scorer="f1", reason="gold is 77", fault=None, details={}
)


def with_status(name: Any, **more: Any) -> Result:
    """A result of that status without scores."""
    return replace(RESULT, **{"status": name, "score": None, "official": None, "strict": None, **more})


def test_exit_codes_and_statuses() -> None:
    """The numbers of docs/cli.md; a 0 for what the submission did, nothing for what the grader or the set-up did."""
    names = ("OK", "GATE", "USAGE", "INTERNAL", "UNSCORABLE", "NOTHING", "INTERRUPTED")
    assert [getattr(errors, f"EXIT_{name}") for name in names] == [0, 1, 2, 3, 4, 5, 130]
    assert set(status.STATUSES) == {"scored", "missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"}
    assert {"missing", "submission_fault", "timeout", "crashed"} == status.ZERO
    assert {"gold_fault", "scorer_fault", "unscored"} == status.UNJUDGED
    assert {"scorer_fault", "unscored"} == status.UNGRADED
    assert {"crashed", "timeout", "submission_fault", "gold_fault", "scorer_fault", "unscored"} == status.FAULTY
    kept = {name for name, kind in status.KINDS.items() if kind.may_be_kept}
    assert kept == {"gold_fault", "wrong", "partial", "missing", "measured", "handed_in", "right"}
    blamed = {side: status.UNJUDGED_BY[side] for side in ("submission", "gold", "tool", "setup", "nobody")}  # type: ignore[index]
    assert list(blamed.values()) == ["gold_fault", "gold_fault", "scorer_fault", "unscored", "unscored"]
    assert [status.RANKS[name] for name in ("crashed", "wrong", "right")] == [0, 6, 11]
    counted = [status.KINDS[name].label_count(n) for name, n in (("gold_fault", 1), ("gold_fault", 2), ("crashed", 2), ("timeout", 2))]
    assert counted == ["1 gold fault", "2 gold faults", "2 crashed", "2 timeouts"]
    faults = {"crashed", "timeout", "submission_fault", "gold_fault", "scorer_fault", "unscored"}
    assert {kind.name for kind in status._TABLE if kind.is_fault} == faults == status.FAULTY
    assert [name for name in status.STATUSES if status.is_ungraded(with_status(name))] == ["scorer_fault", "unscored"]
    assert not status.is_ungraded(with_status("unscored", score=0.0))
    sides = {kind.side: code for code, kind in errors.FAULTS.items()}
    found = {side: status.lacks_setup(with_status("unscored", fault=code)) for side, code in sides.items()}
    assert found == {side: side != "nobody" for side in sides}
    assert not status.lacks_setup(with_status("unscored", fault="NO_SUCH"))
    assert not status.lacks_setup(with_status("scorer_fault", fault=sides["setup"]))
    row = status.further_result_row(with_status("unscored"))
    assert [status.needs_rescoring(one) for one in (RESULT, with_status("unscored"), replace(RESULT, details={"beside": {"b": row}}))] == [
        *(False, True, True)
    ]


@pytest.mark.parametrize(
    ("score", "gate", "is_met"),
    [(0.8, 0.8, True), (0.81, 0.8, True), (0.79, 0.8, False), (sum([0.6, 0.7, 0.8]) / 3, 0.7, True), (0, 0, True), (1 - 1e-9, 1, False)],
)
def test_a_gate(score: float, gate: float, is_met: bool) -> None:
    """It is met by an equal score, also one that only the rounding of a mean makes less; not by one that is 1e-9 less."""
    assert reaches(score, gate) is is_met


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (RESULT, "right"),
        (replace(RESULT, score=0.0), "wrong"),
        (replace(RESULT, score=0.999), "partial"),
        (with_status("scored"), "handed_in"),
        (with_status("scored", details={"raw": 3}), "measured"),
        (with_status("scored", details={"raw": True}), "handed_in"),
        (with_status("scored", details={"raw": math.inf}), "handed_in"),
        *((with_status(name, score=0.0), name) for name in ("missing", "timeout", "crashed", "submission_fault")),
    ],
)
def test_the_kind_of_a_result(result: Result, kind: str) -> None:
    """By its status, and of what was scored by its score."""
    assert (status.kind_of(result).name, result.is_right) == (kind, kind == "right")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # (id, scorer, status, score, raw, the scorers that declare a scale of their own)
        ([("a", "words", "missing", 0.0, None, ["words"]), ("b", "marks", "missing", 0.0, None, None)], {"a"}),
        ([("a", "words", "scored", None, 3, ["words"]), ("b", "words", "missing", 0.0, None, None)], {"a"}),
        ([("a", "words", "scored", None, 3, None), ("b", "words", "missing", 0.0, None, None)], {"a", "b"}),
        ([("a", "words", "scored", 1.0, 3, ["words"]), ("b", "words", "timeout", 0.0, None, ["words"])], set()),
        ([("a", "words", "unscored", None, None, ["words"]), ("b", "words", "gold_fault", None, None, ["chars"])], {"a"}),
    ],
)
def test_instances_on_a_scale_of_their_own(rows: list[Any], expected: set[str]) -> None:
    """By what their scorers declare, answered or not; without a declaration by other values of the scorer, and never against a score."""
    results = [
        replace(RESULT, instance_id=name, scorer=scorer, status=status_of_row, score=score, details={"raw": raw, "own_scale": declared})
        for name, scorer, status_of_row, score, raw, declared in rows
    ]
    assert status.own_scale_ids(results) == expected


def test_signs_and_the_rule_that_fails() -> None:
    """Decimals never say 0 or 1 of what is neither; the chosen rule fails first; strict has its own value, fault and reason."""
    assert [status.sign_of(value) for value in (None, 1, 0, 0.5, 0.999, 0.001)] == ["–", "✓", "✗", "0.50", "0.99", "0.01"]
    assert status.sign_under(RESULT, 0.0) == "✗"
    assert status.sign_under(RESULT, None) == "?"
    assert status.sign_under(with_status("scored"), None) == "·"
    assert status.sign_under(with_status("scored", details={"raw": 2.0}), None) == "~"
    assert status.sign_under(with_status("timeout", score=0.0), 0.0) == "!"
    assert status.sign_under(with_status("timeout", score=0.0), 1.0) == "✓"
    one = replace(RESULT, official=0.0, strict=0.5)
    assert [status.failing_rule(one, rule) for rule in ("official", "strict")] == ["official", "strict"]
    assert status.failing_rule(replace(RESULT, strict=0.0), "official") == "strict"
    assert status.failing_rule(replace(RESULT, strict=None), "official") is None
    faults = {"fault": Fault(code="BAD_CSV"), "strict_fault": Fault(code="TIMEOUT")}
    score = Score(official=1.0, strict=0.0, reason="same", strict_reason="rows differ", **faults)
    assert [(score.value(rule), score.fault_under(rule), score.reason_for(rule)) for rule in ("official", "strict")] == [
        (1.0, faults["fault"], "same"),
        (0.0, faults["strict_fault"], "rows differ"),
    ]
    assert (score.value(), score.fault_under(), score.why()) == (1.0, faults["fault"], "same")
    assert Score(official=1.0, reason="same").reason_for("strict") == "same"


def test_further_scorers_and_levels() -> None:
    """Each further scorer's result comes back as it was; of a result each level leaves its part, `none` no verdict."""
    late = replace(RESULT, score=0.5, scorer="bleu", strict_fault=Fault(code="TIMEOUT", detail="d"))
    both = replace(RESULT, details={"beside": {"bleu": status.further_result_row(late)}})
    assert status.scorers_of([RESULT, both]) == ("f1", "bleu")
    assert status.scorers_of([RESULT]) == ()
    assert status.results_by(both, ("f1", "bleu")) == {"f1": both, "bleu": late}
    absent = with_status("missing", score=0.0)
    assert status.results_by(absent, ("f1", "bleu")) == {"f1": absent, "bleu": replace(absent, scorer="bleu")}
    assert list(status.results_by(RESULT, ("f1", "bleu"))) == ["f1"]
    assert list(status.results_by(replace(absent, scorer="x"), ("f1", "bleu"))) == ["x"]
    shown = status.results_by(status.redact(both, "status"), ("f1", "bleu"))["bleu"]
    assert shown == status.redact(late, "status")
    assert (shown.strict_fault, late.strict_fault is not None) == (None, True)
    details = {"flip": "case: Oslo", "n_rows": 3, "first_row": [1, 2], "f1": True, "gold": "Oslo", "hint": "h"}
    one = replace(RESULT, score=0.5, details=details, digests={"gold.csv": "x"}, fault=None)
    found = {level: status.redact(one, level) for level in status.LEVELS}
    assert found["cells"] is one
    assert {level: result.details for level, result in found.items()} == {
        **{"none": {}, "status": {}, "class": {"flip": "case", "hint": "h"}, "cells": details},
        "shape": {"flip": "case", "hint": "h", "n_rows": 3, "first_row": [1, 2]},
    }
    reasons = ["", "", "case (partly right)", "case (partly right): rows 3, first row [1, 2]", "gold is 77"]
    assert [result.reason for result in found.values()] == reasons
    assert [result.score for result in found.values()] == [None, 0.5, 0.5, 0.5, 0.5]
    assert [dict(found[level].digests) for level in status.LEVELS[:4]] == [{}] * 4
    assert status.redact(RESULT, "class").reason == "right"
    assert status.redact(replace(RESULT, score=0.0), "class").reason == "not gold's answer"
    fault = with_status("timeout", score=0.0, fault="TIMEOUT", strict_fault=Fault(code="TIMEOUT", detail="d"))
    cut = {level: status.redact(fault, level) for level in status.LEVELS[:3]}
    assert [result.fault for result in cut.values()] == ["TIMEOUT"] * 3
    assert [result.status for result in cut.values()] == ["timeout"] * 3
    assert [result.reason for result in cut.values()] == ["", "", errors.FAULTS["TIMEOUT"].message]
    assert [result.strict_fault is None for result in cut.values()] == [True, True, False]
    blamed = with_status("gold_fault", fault="BAD_SPEC")
    assert [status.redact(blamed, level).fault for level in status.LEVELS[:3]] == [None, None, "BAD_SPEC"]
    assert [status.redact(blamed, level).status for level in status.LEVELS[:2]] == ["scored", "gold_fault"]


def test_evidence_at_each_level() -> None:
    """Causes from `class` on, what they say from `shape` on, notes and values at `cells` alone; kinds, counts and paths of differences."""
    cause = {"name": "case", "proved": True, "says": "5 of 6", "where": "b2", "text": "Oslo", "chance": 0.1}
    explanation = {"cause": "case", "proved": True, "causes": [cause], "notes": ["Oslo"], "n_attempts": 4, "secret": 1}
    cell = {"gold": "Oslo", "predicted": "oslo", "equal": False}
    table = {
        **{"kind": "table", "n_rows": 3, "note": "n", "secret": "Oslo"},
        "columns": [{"name": "a", "gold_header": "city", "predicted_header": "town"}],
        "rows": [{"status": "differs", "gold_row": 1, "predicted_row": 2, "cells": [cell], "secret": "Oslo"}],
    }
    evidence = {"rules": "strict", "status": "scored", "explanation": explanation, "difference": table, "secret": "Oslo"}
    found = {level: status.redact_evidence(evidence, level) for level in status.LEVELS}
    kept = {"cause": "case", "proved": True, "n_attempts": 4}
    causes = {"class": [{"name": "case", "proved": True, "chance": 0.1}]}
    causes["shape"] = [{**causes["class"][0], "says": "5 of 6"}]
    shape = {"n_rows": 3, "note": "n", "columns": [{"name": "a"}]}
    rows = [{"status": "differs", "gold_row": 1, "predicted_row": 2, "cells": [{"gold": None, "predicted": None, "equal": False}]}]
    own = {"rules": "strict", "status": "scored"}
    assert found == {
        "none": {},
        "status": own,
        "class": {**own, "explanation": {**kept, "causes": causes["class"], "notes": []}, "difference": {"kind": "table"}},
        "shape": {
            **own,
            "explanation": {**kept, "causes": causes["shape"], "notes": []},
            "difference": {"kind": "table", **shape, "rows": rows},
        },
        "cells": evidence,
    }
    reasons = {level: status.redact_evidence({}, level, result=RESULT) for level in status.LEVELS}
    assert reasons == {
        "none": {"reason": ""},
        "status": {"reason": ""},
        "class": {"reason": "right"},
        "shape": {"reason": "right"},
        "cells": {},
    }
    numbers = {"kind": "number", "n_numbers": 4, "gold": [7, 8], "conj": "and", "tolerance": 0.1, "secret": 7}
    texts = {"kind": "text", "n_gold": 1, "gold": [{"found": True, "text": "Oslo"}], "conj": "or", "excluded": ["x"]}
    trees = {"kind": "tree", "rows": [{"path": "a.b", "status": "mismatch", "gold": 7}], "n_rows": 9, "n_rows_shown": 1}
    cut = [
        status.redact_difference(one, "shape") for one in (numbers, texts, trees, {"kind": "tables", "tables": [numbers], "n_tables": 1})
    ]
    of_numbers = {"kind": "number", "n_numbers": 4, "n_gold": 2, "conj": "and", "tolerance": 0.1}
    assert cut == [
        of_numbers,
        {"kind": "text", "n_gold": 1, "found": [True], "conj": "or", "n_excluded": 1},
        {"kind": "tree", "rows": [{"path": "a.b", "status": "mismatch"}], "n_rows": 9, "n_rows_shown": 1},
        {"kind": "tables", "tables": [of_numbers], "n_tables": 1},
    ]
    assert status.redact_difference({"kind": "odd", "x": 1}, "shape") == {"kind": "odd"}
    assert status.redact_difference({"kind": "odd", "x": 1}, "cells") == {"kind": "odd", "x": 1}
    assert status.redact_explanation(explanation, "cells")["causes"] == [{key: cause[key] for key in cause}]
    assert status.redact_explanation(explanation, "status") == {}
    correction = {"id": "q", "reason": "Oslo", "evidence": "Oslo"}
    corrections = {"file": "f", "applied": [correction], "stale": [correction], "expired": []}
    assert status.redact_corrections(corrections) == {"file": "f", "applied": [{"id": "q"}], "stale": [{"id": "q"}], "expired": []}


def test_ranges_and_small_machines() -> None:
    """Values of a range become scores; a machine that is too small ends a check of gold, and no other fault does."""
    assert [on_unit(value, 10, 20, "higher") for value in (9, 10, 12.5, 20, 21)] == [0, 0, 0.25, 1, 1]
    assert [on_unit(value, 10, 20, "lower") for value in (9, 12.5, 21)] == [1, 0.75, 0]
    with pytest.raises(MetricError, match="nan"):
        on_unit(math.nan, 0, 1, "higher")
    measures = [Measure(value=value) for value in (None, 0.5, 0.7, 0.7)]
    assert best(measures) is measures[2]
    assert best(measures, [3, 1, 2, 0]) is measures[0]
    for other in (with_status("unscored", fault="SQL_ERROR"), with_status("submission_fault", fault="LIMIT"), with_status("scored")):
        status.refuse_small_machine("q", other)
    with pytest.raises(errors.MachineError, match=r"^q: 3 rows$") as raised:
        status.refuse_small_machine("q", replace(with_status("unscored", fault="LIMIT"), reason="LIMIT: 3 rows"))
    assert raised.value.hint == "check gold again with more memory, or under less load"


SCORERS = ("string_match", "number_match", "table_match", "tables_match", "duckdb_match", "bleu", "llm_judge", "readability")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("table", "did you mean 'table_match'?"),
        ("tables", "did you mean 'tables_match'?"),
        ("TABLE_MATCH", "did you mean 'table_match'?"),
        ("Judge", "did you mean 'llm_judge'?"),
        ("read", "did you mean 'readability'?"),
        ("tabel_match", "did you mean 'table_match'?"),
        ("blue", "did you mean 'bleu'?"),
        ("my_bleu_score", "did you mean 'bleu'?"),
        ("match", f"known: {', '.join(SCORERS)}"),
        ("zzz", f"known: {', '.join(SCORERS)}"),
        ("", f"known: {', '.join(SCORERS)}"),
        ("_", f"known: {', '.join(SCORERS)}"),
    ],
)
def test_the_nearest(word: str, hint: str) -> None:
    """A part of a name comes before a likeness: `table` is no `bleu`; what many names share names none of them."""
    assert errors.did_you_mean(word, SCORERS) == hint


@pytest.mark.parametrize(
    ("word", "names", "is_hinted"),
    [
        ("caf\xe9", ["cafe\u0301"], True),
        ("cafe\u0301", ["tea", "caf\xe9"], True),
        ("caf\xe9", ["caf\xe9"], False),
        ("caf\xe9", ["cafe", "tea"], False),
        ("caf\xe9", [], False),
        ("cafe", ["caf\xe9"], False),
    ],
)
def test_another_unicode_form(word: str, names: list[str], is_hinted: bool) -> None:
    """A name of the same letters in other code points is named; the word itself, other letters and none give no hint."""
    assert errors.unicode_form_hint(word, names, "gold's id").startswith("gold's id has the same letters") is is_hinted


@pytest.mark.parametrize("code", errors.FAULTS)
def test_a_fault_by_its_code(code: str) -> None:
    """Its side is that of its code, unless the machine is at fault; its sentence has the code, the place and the case, or the message."""
    kind = errors.FAULTS[code]
    assert (errors.side_of(Fault(code=code)), errors.hint_of(Fault(code=code))) == (kind.side, kind.hint)
    assert (errors.FaultError(code).side, errors.FaultError(code).fault) == (kind.side, Fault(code=code))
    machine = errors.FaultError(code, "no disk", where="a.csv:3", side="setup")
    assert (machine.side, errors.side_of(machine.fault)) == ("setup", "setup")
    assert errors.describe(machine.fault) == f"{code}: a.csv:3: no disk"
    assert errors.describe(Fault(code=code)) == f"{code}: {kind.message}"
    assert (str(errors.FaultError(code)), str(machine)) == (kind.message, "no disk")
    assert (errors.FaultError(code).is_of_machine, machine.is_of_machine) == (False, kind.side != "setup")
    assert (errors.hint_of(machine.fault) == kind.hint) is (code != "LIMIT" or kind.side == "setup")


def test_errors_and_many_names_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its hint, the system's reason, or the class; a delayed process is the machine's fault; names that do not fit are counted."""
    assert errors.error_sentence(errors.UsageError("no gold", hint="name it")) == "no gold; name it"
    assert errors.error_sentence(errors.UsageError("no gold")) == "no gold"
    assert errors.error_sentence(errors.FaultError("TIMEOUT", "late")) == "late"
    assert errors.error_sentence(KeyError("a path")) == "KeyError"
    for error, reason in (
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (FileExistsError(17, "File exists"), "expected a folder, found a file"),
        (OSError(), "OSError"),
    ):
        assert errors.reason_of(error) == reason
        assert (errors.write_error("out", error).message, errors.write_error("out", error).hint) == (
            f"cannot write out: {reason}",
            errors.CHECK_HINT,
        )
    assert errors.write_error("out", OSError(), hint="elsewhere").hint == "elsewhere"
    assert (errors.timeout_error("delayed", "the scorer", 5).fault.code, errors.timeout_error("delayed", "the scorer", 5).side) == (
        "LIMIT",
        "setup",
    )
    late = errors.timeout_error("cpu", "the scorer", 2.5)
    assert (late.fault.code, late.side, str(late)) == ("TIMEOUT", "submission", "the scorer took longer than 2.5 seconds (limit seconds)")
    assert errors.side_of(errors.machine_fault("no memory")) == "setup"
    placed = Fault(code="LIMIT", detail="no memory", where="a.csv", side="setup")
    said = [
        errors.machine_error("", placed),
        errors.machine_error("b.csv", placed),
        errors.machine_error("", errors.machine_fault("no memory")),
    ]
    assert [error.message for error in said] == ["a.csv: no memory", "b.csv: no memory", "no memory"]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileNotFoundError, match="absent"), errors.naming_lost_folder():
        Path("absent").read_text()
    (tmp_path / "here").rmdir()
    with pytest.raises(errors.UsageError, match="the current folder does not exist any more"), errors.naming_lost_folder():
        Path("absent").read_text()
    names = [f"sales_{number:04}" for number in range(2000)]
    said = errors.join_names(names)
    assert said.startswith("sales_0000, sales_0001, ")
    assert said.endswith(" more")
    n_named = said.count("sales_")
    assert f"and {2000 - n_named:,} more" in said
    assert len(said) < 430
    assert errors.join_names(["x" * 1000, "y"]) == f"{'x' * 1000} and 1 more"
    assert errors.join_names([]) == ""
    assert [errors.count_words(n, "row") for n in range(3)] == ["0 rows", "1 row", "2 rows"]
    assert errors.did_you_mean("sale_0012", names) == "did you mean 'sales_0012'?"


@pytest.mark.parametrize(
    ("lengths", "shown", "more"),
    [
        # Each name takes two characters more, 400 in all.
        ([18] * 20, 20, ""),
        ([18] * 21, 20, " and 1 more"),
        ([18] * 19 + [19], 19, " and 1 more"),
        ([398, 1], 1, " and 1 more"),
        ([395, 1], 2, ""),
        ([396, 1], 1, " and 1 more"),
        ([500], 1, ""),
        ([1] * 1500, 133, " and 1,367 more"),
    ],
)
def test_names_fill_four_hundred_characters(lengths: list[int], shown: int, more: str) -> None:
    """As many names as fit into 400 characters with their commas; the first one in any case; the others are counted."""
    assert join_names(["x" * length for length in lengths]) == ", ".join("x" * length for length in lengths[:shown]) + more
