"""Limit how much of gold a report shows: results, differences and explanations, the same for every format.

Levels; each includes the ones before it:

- `none`: whether an answer was submitted and readable
- `status`: right, wrong, or why it could not be scored
- `class`: the kind of error (fault, flip kind, cause)
- `shape`: counts and places: column and row numbers, JSON paths
- `cells`: gold's values

Reasons and details are texts of scorers that may quote gold; below `cells` only selected numbers of them are passed on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from evalsuite.core.errors import FAULTS, UsageError, did_you_mean
from evalsuite.core.status import FURTHER_SCORERS, ZERO, further_result_row, further_results
from evalsuite.core.types import Gold, Result, Suite

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


def level_for(suite: Suite | Gold, chosen: str | None = None) -> str:
    """Return the level to use: the chosen one, else the default for `hidden` in suite.yaml. Raises `UsageError`."""
    check_level(chosen)
    return chosen or default_level(hidden=(suite.suite if isinstance(suite, Gold) else suite).extra.get("hidden") is True)


def shows(level: str, needed: str) -> bool:
    """Return whether a level includes another level."""
    return LEVELS.index(level) >= LEVELS.index(needed)


def redact(result: Result, level: str) -> Result:
    """Return the result reduced to a level. At `none` its numbers are None, so totals must come from the full results."""
    if level == "cells":
        return result
    # The digests name gold files.
    result = replace(result, digests={}, strict_fault=result.strict_fault if shows(level, "class") else None)
    if level == "none":
        own = result.status in ZERO
        status = result.status if own else "scored"
        return replace(
            result, status=status, score=None, official=None, strict=None, reason="", fault=result.fault if own else None, details={}
        )
    details = _details(result, level)
    fault = result.fault if shows(level, "class") or result.status in ZERO else None
    return replace(result, reason=_reason(result, level, details), fault=fault, details=details)


def _details(result: Result, level: str) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if beside := further_results(result):
        kept[FURTHER_SCORERS] = {name: further_result_row(redact(one, level)) for name, one in beside.items()}
    if shows(level, "class") and result.details.get("flip"):
        kept["flip"] = str(result.details["flip"]).partition(":")[0]
    if shows(level, "class") and result.details.get("hint"):
        kept["hint"] = result.details["hint"]
    if shows(level, "shape"):
        kept |= {key: value for key, value in result.details.items() if key in _COUNTS and _is_count(value)}
    return kept


def _is_count(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_count, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reason(result: Result, level: str, details: Mapping[str, Any]) -> str:
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
        kept = {key: cause[key] for key in ("name", "standing", "proved", "chance", "general") if key in cause}
        if shows(level, "shape"):
            kept["says"] = cause["says"]
        if level == "cells":
            kept |= {key: cause[key] for key in ("where", "text", "patch", "scores") if key in cause}
        causes.append(kept)
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
    kept = {
        key: data[key] for key in ("ordered", "n_rows", "rules", "counts", "n_columns", "n_rows_shown", "n_rows_cut", "note") if key in data
    }
    return {**kept, "columns": columns, "rows": rows}


def _number_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"n_numbers": data["n_numbers"], "n_gold": len(data["gold"]), "conj": data["conj"], "tolerance": data["tolerance"]}


def _text_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    found = [item["found"] for item in data["gold"]]
    return {"n_gold": data["n_gold"], "found": found, "conj": data["conj"], "n_excluded": len(data["excluded"])}


def _tree_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    rows: Sequence[Mapping[str, Any]] = data["rows"]
    kept = [{key: row.get(key) for key in ("path", "status")} for row in rows]
    return {"rows": kept, "n_rows": data["n_rows"], "n_rows_shown": data["n_rows_shown"]}


_SHAPES: Final = {"table": _table_shape, "number": _number_shape, "text": _text_shape, "tree": _tree_shape}


def redact_corrections(corrections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `corrections` of a run.json without reasons and evidence, which quote gold, for a suite with hidden gold."""
    kept = {
        key: [{name: value for name, value in row.items() if name not in ("reason", "evidence")} for row in corrections[key]]
        for key in ("applied", "stale", "expired")
    }
    return {**corrections, **kept}


def redact_evidence(evidence: Mapping[str, Any], level: str, *, result: Result | None = None) -> dict[str, Any]:
    """Return one instance's evidence (`evidence.explain_results`) reduced to a level, with the reduced reason of `result` if given."""
    if level == "cells":
        return dict(evidence)
    cut: dict[str, Any] = {}
    if shows(level, "status"):
        cut |= {key: evidence[key] for key in ("rules", "status") if key in evidence}
    if result is not None:
        cut["reason"] = redact(result, level).reason
    if "explanation" in evidence and (shown := redact_explanation(evidence["explanation"], level)):
        cut["explanation"] = shown
    if "difference" in evidence and (left := redact_difference(evidence["difference"], level)):
        cut["difference"] = left
    return cut
