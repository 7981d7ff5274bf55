"""Statuses of results (label, symbol, responsible party, score, cacheable), and how much of a result a report may show of gold.

Levels of `--reveal`; each includes the ones before it:

- `none`: whether an answer was submitted and readable
- `status`: right, wrong, or why it could not be scored
- `class`: the kind of error (fault, flip kind, cause)
- `shape`: counts and places: column and row numbers, JSON paths
- `cells`: gold's values

Reasons and details are texts of scorers that may quote gold; below `cells` only selected numbers of them are passed on.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FAULTS, MachineError, Side, UsageError, did_you_mean
from evalsuite.core.scores import Fault, Rule, Status

if TYPE_CHECKING:
    from evalsuite.core.types import Gold, Result, Suite

Worth = Literal["judged", "zero", "unjudged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One status of the table.

    Attributes:
        name: a status, or the class of a scored result (right, wrong, partial, ...); also the class of a row in reports.
        words: the label.
        sign: the symbol.
        worth: whether the scorer's value counts (`judged`), a 0 (`zero`), or nothing (`unjudged`).
        side: the party that has to act, or empty.
        may_be_kept: whether the same bytes give the same result again, so that it may be cached.
    """

    name: str
    words: str
    sign: str
    worth: Worth
    side: Literal["submission", "gold", "tool", "setup", ""] = ""
    may_be_kept: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether a fault prevented a plain verdict on the submission."""
        return self.side != "" and self.name != "missing"

    def label_count(self, n: int) -> str:
        """Return the count with the label: `1 gold fault`, `2 gold faults`, `2 crashed`."""
        return f"{n} {self.words}" + ("s" if n != 1 and self.words.endswith(("fault", "timeout")) else "")


# Worst first: the order of reports.
_TABLE: Final = (
    Kind(name="crashed", words="crashed", sign="!", worth="zero", side="submission"),
    Kind(name="timeout", words="timeout", sign="!", worth="zero", side="submission"),
    # The result may depend on more than the bytes of the submission (a link to gold, a full disk, a busy machine).
    Kind(name="submission_fault", words="submission fault", sign="!", worth="zero", side="submission"),
    # The same gold files always give the same fault.
    Kind(name="gold_fault", words="gold fault", sign="!", worth="unjudged", side="gold", may_be_kept=True),
    Kind(name="scorer_fault", words="scorer fault", sign="!", worth="unjudged", side="tool"),
    Kind(name="unscored", words="unscored", sign="?", worth="unjudged", side="setup"),
    Kind(name="wrong", words="wrong", sign="✗", worth="judged", may_be_kept=True),
    Kind(name="partial", words="partly right", sign="◐", worth="judged", may_be_kept=True),
    Kind(name="missing", words="missing", sign="–", worth="zero", side="submission", may_be_kept=True),
    # A value on the scale of a metric without a fixed range: there is no score.
    Kind(name="measured", words="measured", sign="~", worth="judged", may_be_kept=True),
    # Scored, but the verdict is hidden (`--reveal none`).
    Kind(name="handed_in", words="submitted", sign="·", worth="judged", may_be_kept=True),
    Kind(name="right", words="right", sign="✓", worth="judged", may_be_kept=True),
)
# Status of an instance that could not be scored, by the responsible party.
UNJUDGED_BY: Final[Mapping[Side, Status]] = {
    "submission": "gold_fault",
    "gold": "gold_fault",
    "tool": "scorer_fault",
    "setup": "unscored",
    "nobody": "unscored",
}
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _TABLE}
RANKS: Final[Mapping[str, int]] = {name: at for at, name in enumerate(KINDS)}
# In the order of a line of counts.
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
# Kinds of the note on a missing answer whose gold could score no answer: its files are not there, or its spec is faulty.
NO_GOLD: Final = ("gold is absent", "gold is faulty")
# Groups of statuses. All other statuses are "scored".
ZERO: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "zero")
UNJUDGED: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "unjudged")
# Not scored because of the grader's side: excluded from the mean. A gold fault is the same for every submission and stays included.
UNGRADED: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "unjudged" and kind.side != "gold")
FAULTY: Final = frozenset(kind.name for kind in _TABLE if kind.is_fault)


def kind_of(result: "Result") -> Kind:
    """Return the kind of a result: its status if it was not scored, else right, wrong or partial.

    `measured` if there is a value without a score, `handed_in` if the verdict is hidden.
    """
    if result.status != "scored":
        return KINDS[result.status]
    if result.score is None:
        return KINDS["handed_in" if raw_value(result) is None else "measured"]
    return KINDS["right" if result.score == 1 else "wrong" if result.score == 0 else "partial"]


def raw_value(result: "Result") -> float | None:
    """Return the value on the metric's own scale for a measured result without a score; None for other results."""
    return own_value(result) if result.status == "scored" and result.score is None else None


# Key in `details` for the scorers of an instance that declare a scale of their own.
OWN_SCALE: Final = "own_scale"


def own_scale_ids(results: "Iterable[Result]") -> set[str]:
    """Return the instances that are in no mean of scores, submitted or not: their scorers give values on their own scale and no score.

    The scorers of an instance declare it (`OWN_SCALE`). A run that does not record that, and a scorer that does not say so, are known by
    the other values of the same scorer.
    """
    measured, waiting, by_values, with_scores = set[str](), list[tuple[str, str | None, bool]](), set[str | None](), set[str | None]()
    for result in results:
        is_declared = result.scorer in (result.detail(OWN_SCALE) or ())
        if raw_value(result) is not None:
            measured.add(result.instance_id)
            by_values |= set() if is_declared else {result.scorer}
        elif result.status != "scored" or result.score is None:
            waiting.append((result.instance_id, result.scorer, is_declared))
        elif is_declared:
            with_scores.add(result.scorer)
    return measured | {name for name, scorer, is_declared in waiting if scorer in by_values or (is_declared and scorer not in with_scores)}


def own_value(result: "Result") -> float | None:
    """Return the value on the metric's own scale, with or without a score; None if the result has none."""
    raw = result.detail("raw")
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw)
    return float(raw) if is_number and raw is not None else None


# Key in `details` for the results of the suite's further scorers: by scorer name, these keys of a result.
FURTHER_SCORERS: Final = "beside"
FURTHER_KEYS: Final = ("status", "score", "official", "strict", "reason", "fault", "details")


def further_results(result: "Result") -> "dict[str, Result]":
    """Return the result under each further scorer of the suite, by scorer; empty for a suite with one scorer."""
    rows = {name: {"strict_fault": None, **row} for name, row in (result.detail(FURTHER_SCORERS) or {}).items()}
    faults = {name: Fault(**row["strict_fault"]) if row["strict_fault"] else None for name, row in rows.items()}
    return {name: replace(result, **{**row, "scorer": name, "strict_fault": faults[name]}) for name, row in rows.items()}


def further_result_row(result: "Result") -> dict[str, Any]:
    """Return the entry in `details` for the result of a further scorer."""
    late = {"strict_fault": result.strict_fault.to_json()} if result.strict_fault else {}
    return {key: getattr(result, key) for key in FURTHER_KEYS} | late


def results_by(result: "Result", scorers: Sequence[str]) -> "dict[str, Result]":
    """Return the result under each scorer of a suite with several; the first makes the score. Scorers without a result are left out.

    A missing or unreadable answer counts 0 for each scorer.
    """
    further = further_results(result)
    if not further and result.status in ZERO and result.scorer == scorers[0]:
        further = {name: replace(result, scorer=name) for name in scorers[1:]}
    return {result.scorer or "": result, **further}


def scorers_of(results: "Iterable[Result]") -> tuple[str, ...]:
    """Return the scorers of a suite with several, the one that makes the score first; empty for a suite with one."""
    several = [result for result in results if result.detail(FURTHER_SCORERS)]
    return tuple(dict.fromkeys(name for result in several for name in (result.scorer or "", *result.details[FURTHER_SCORERS])))


def sign_of(value: float | None) -> str:
    """Return ✓ for 1, ✗ for 0, two decimals between (never rounded to 0 or 1), a dash for None."""
    if value is None:
        return KINDS["missing"].sign
    if value in (0, 1):
        return KINDS["right" if value else "wrong"].sign
    return f"{min(0.99, max(0.01, value)):.2f}"


def sign_under(result: "Result", value: float | None) -> str:
    """Return the sign of a result under one rule with this `value`; the sign of its status if the rule has no verdict."""
    kind = kind_of(result)
    if result.status == "scored":
        return sign_of(value) if value is not None else KINDS[kind.name if kind.name in ("handed_in", "measured") else "unscored"].sign
    return sign_of(value) if value else kind.sign


def failing_rule(result: "Result", chosen: Rule) -> Rule | None:
    """Return the rule under which an instance is not fully right, the chosen one first; None if both are satisfied."""
    other: Rule = "strict" if chosen == "official" else "official"
    for rule in (chosen, other):
        value = result.official if rule == "official" else result.strict
        if value is not None and value < 1:
            return rule
    return None


def is_ungraded(result: "Result") -> bool:
    """Return whether the result was not scored because the grader's side is absent or failed. Such results are in no mean, never as a 0."""
    return result.score is None and result.status in UNGRADED


def needs_rescoring(result: "Result") -> bool:
    """Return whether the result, or that of a further scorer, was not scored because of the grader's side. Resumed runs score it again."""
    return is_ungraded(result) or any(map(is_ungraded, further_results(result).values()))


def lacks_setup(result: "Result") -> bool:
    """Return whether the result was not scored because of something that the user can set up: a judge, a connection, an extra, or a machine
    with enough memory and time.
    """
    return result.status == "unscored" and result.fault in FAULTS and FAULTS[result.fault].side != "nobody"


def has_open_verdict(result: "Result") -> bool:
    """Return whether the result leaves a gate open if it decides: `lacks_setup`, or an answer without a value under its metric.

    Such an answer is in no mean: an author could pass a gate by what it leaves out.
    """
    return lacks_setup(result) or result.fault == "UNDEFINED"


def refuse_small_machine(instance_id: str, result: "Result") -> None:
    """Raise `MachineError` if the machine had too little memory or time for an answer that gold gives: no check refused it."""
    if result.status == "unscored" and result.fault == "LIMIT":
        why = result.reason.removeprefix("LIMIT: ")
        raise MachineError(f"{instance_id}: {why}", hint="check gold again with more memory, or under less load")


LEVELS: Final = ("none", "status", "class", "shape", "cells")
# Keys of a scorer's details that are counts or positions and contain no gold value.
_COUNTS: Final = frozenset({
    "n_rows", "n_gold_rows", "n_rows_disagree", "n_differ", "n_found", "n_needed", "n_columns", "n_fields", "n_records", "n_wrong",
    "n_leaves", "n_numbers", "gold_column", "predicted_column", "gold_columns", "predicted_columns", "first_row",
    "precision", "recall", "f1", "coverage",
})  # fmt: skip
_TABLE_CUT: Final = ("gold_header", "predicted_header")


def check_level(level: str | None) -> None:
    """Raise `UsageError` for an unknown level of `--reveal`; None leaves the choice to the suite."""
    if level is not None and level not in LEVELS:
        raise UsageError(f"--reveal cannot be {level!r}", hint=did_you_mean(level, LEVELS))


def default_level(*, hidden: bool) -> str:
    """Return the default level: `class` for a suite with hidden gold, else `cells`."""
    return "class" if hidden else "cells"


def level_for(suite: "Suite | Gold", chosen: str | None = None) -> str:
    """Return the level to use: the chosen one, else the default for `hidden` in suite.yaml. Raises `UsageError`."""
    check_level(chosen)
    extra: Mapping[str, Any] = suite.suite.extra if hasattr(suite, "suite") else suite.extra
    return chosen or default_level(hidden=extra.get("hidden") is True)


def shows(level: str, needed: str) -> bool:
    """Return whether a level includes another level."""
    return LEVELS.index(level) >= LEVELS.index(needed)


def redact(result: "Result", level: str) -> "Result":
    """Return the result reduced to a level. At `none` its numbers are None, so totals must come from the full results."""
    if level == "cells":
        return result
    # The digests name gold files.
    result = replace(result, digests={}, strict_fault=result.strict_fault if shows(level, "class") else None)
    if level == "none":
        is_zero = result.status in ZERO
        status = result.status if is_zero else "scored"
        return replace(
            result, status=status, score=None, official=None, strict=None, reason="", fault=result.fault if is_zero else None, details={}
        )
    details = _details(result, level)
    fault = result.fault if shows(level, "class") or result.status in ZERO else None
    return replace(result, reason=_reason(result, level, details), fault=fault, details=details)


def _details(result: "Result", level: str) -> dict[str, Any]:
    details_shown: dict[str, Any] = {}
    if further := further_results(result):
        details_shown[FURTHER_SCORERS] = {name: further_result_row(redact(row, level)) for name, row in further.items()}
    if shows(level, "class") and result.details.get("flip"):
        details_shown["flip"] = str(result.details["flip"]).partition(":")[0]
    if shows(level, "class") and result.details.get("hint"):
        details_shown["hint"] = result.details["hint"]
    if shows(level, "shape"):
        details_shown |= {key: value for key, value in result.details.items() if key in _COUNTS and _is_count(value)}
    return details_shown


def _is_count(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_count, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reason(result: "Result", level: str, details: Mapping[str, Any]) -> str:
    """Return a reason that contains only what the level allows."""
    if not shows(level, "class"):
        return ""
    if result.fault is not None and result.fault in FAULTS:
        return FAULTS[result.fault].message
    if result.score == 1:
        words = "right"
    else:
        words = "partly right" if result.score else "not gold's answer"
    words = f"{details['flip']} ({words})" if details.get("flip") else words
    counts = ", ".join(f"{key.removeprefix('n_').replace('_', ' ')} {value}" for key, value in details.items() if key in _COUNTS)
    return f"{words}: {counts}" if counts else words


def redact_explanation(explanation: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return an explanation reduced to a level: no causes below `class`, no counts and places below `shape`, no values below `cells`."""
    if not shows(level, "class"):
        return {}
    causes = []
    for cause in explanation.get("causes", ()):
        cause_shown = {key: cause[key] for key in ("name", "standing", "proved", "chance", "general") if key in cause}
        if shows(level, "shape"):
            cause_shown["says"] = cause["says"]
        if level == "cells":
            cause_shown |= {key: cause[key] for key in ("where", "text", "patch", "scores") if key in cause}
        causes.append(cause_shown)
    notes = list(explanation.get("notes", ())) if level == "cells" else []
    kept_keys = {
        key: explanation[key] for key in ("proved", "standing", "rules", "cause", "n_attempts", "n_executions") if key in explanation
    }
    return {**kept_keys, "causes": causes, "notes": notes}


def redact_difference(data: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return a difference reduced to a level: its kind at `class`, counts, columns and paths at `shape`, everything at `cells`."""
    if level == "cells":
        return dict(data)
    if not shows(level, "class"):
        return {}
    kind = data.get("kind", "none")
    if level == "class":
        return {"kind": kind}
    if kind == "tables":
        return {"kind": kind, "tables": [redact_difference(table, level) for table in data["tables"]], "n_tables": data["n_tables"]}
    return {"kind": kind, **_SHAPES[kind](data)} if kind in _SHAPES else {"kind": kind}


def _table_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    columns = [{key: value for key, value in column.items() if key not in _TABLE_CUT} for column in data["columns"]]
    rows = [
        {
            **{key: row[key] for key in ("status", "gold_row", "predicted_row")},
            "cells": [{"gold": None, "predicted": None, "equal": cell["equal"]} for cell in row["cells"]],
        }
        for row in data["rows"]
    ]
    shape = {
        key: data[key] for key in ("ordered", "n_rows", "rules", "counts", "n_columns", "n_rows_shown", "n_rows_cut", "note") if key in data
    }
    return {**shape, "columns": columns, "rows": rows}


def _number_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"n_numbers": data["n_numbers"], "n_gold": len(data["gold"]), "conj": data["conj"], "tolerance": data["tolerance"]}


def _text_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    matches = [item["found"] for item in data["gold"]]
    return {"n_gold": data["n_gold"], "found": matches, "conj": data["conj"], "n_excluded": len(data["excluded"])}


def _tree_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    rows: Sequence[Mapping[str, Any]] = data["rows"]
    shape = [{key: row.get(key) for key in ("path", "status")} for row in rows]
    return {"rows": shape, "n_rows": data["n_rows"], "n_rows_shown": data["n_rows_shown"]}


_SHAPES: Final = {"table": _table_shape, "number": _number_shape, "text": _text_shape, "tree": _tree_shape}


def redact_corrections(corrections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `corrections` of a run.json without reasons and evidence, which quote gold, for a suite with hidden gold."""
    public = {
        key: [{name: value for name, value in row.items() if name not in ("reason", "evidence")} for row in corrections[key]]
        for key in ("applied", "stale", "expired")
    }
    return {**corrections, **public}


def redact_evidence(evidence: Mapping[str, Any], level: str, *, result: "Result | None" = None) -> dict[str, Any]:
    """Return one instance's evidence (`evidence.explain_results`) reduced to a level, with the reduced reason of `result` if given."""
    if level == "cells":
        return dict(evidence)
    cut: dict[str, Any] = {}
    if shows(level, "status"):
        cut |= {key: evidence[key] for key in ("rules", "status") if key in evidence}
    if result is not None:
        cut["reason"] = redact(result, level).reason
    if "explanation" in evidence and (explanation := redact_explanation(evidence["explanation"], level)):
        cut["explanation"] = explanation
    if "difference" in evidence and (left := redact_difference(evidence["difference"], level)):
        cut["difference"] = left
    return cut
