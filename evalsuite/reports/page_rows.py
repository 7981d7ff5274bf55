"""A result as a row of a page: what kind of outcome it is, and what stands beside it when it is opened."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.errors import FAULTS
from evalsuite.outcome import kind_of
from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.types import Result, Rule

LONGEST_WHY = 240
LONGEST_DETAILS = 6_000
# Shown in words of their own, so the raw details need not repeat them.
_SHOWN_APART = frozenset({"reasons", "flip", "fault", "hint", "judge"})


def row(result: "Result", *, rules: "Rule", groups: Sequence[str] = ()) -> dict[str, Any]:
    """The closed row of a result: id, kind, both values, scorer, groups, flip, and what `rules` say of it; made printable."""
    why = clean(str(result.details.get("reasons", {}).get(rules, "")) or result.reason)
    return {
        "id": clean(result.instance_id),
        "kind": kind_of(result).name,
        "official": result.official,
        "strict": result.strict,
        "scorer": clean(result.scorer or ""),
        "groups": [clean(tag) for tag in groups],
        "flip": clean(str(result.details.get("flip", "")).partition(":")[0]),
        "why": why if len(why) <= LONGEST_WHY else why[: LONGEST_WHY - 1] + "…",
    }


def facts(result: "Result") -> list[tuple[str, str]]:
    """(label, text) pairs of an opened row: what both rules say, the flip, the fault and what to do about it."""
    reasons: Mapping[str, Any] = result.details.get("reasons", {})
    rows = [(f"{rule} says", str(text)) for rule, text in reasons.items()] or [("why", result.reason)]
    flip, fault = str(result.details.get("flip", "")), str(result.details.get("fault", ""))
    if flip:
        said = any(str(text) and str(text) in flip for text in reasons.values())
        rows.append(("flip", flip.partition(":")[0] if said else flip))
    if fault and fault != result.reason:
        rows.append(("fault", fault))
    if result.fault in FAULTS:
        rows.append(("hint", str(result.details.get("hint") or FAULTS[result.fault].hint)))
    return rows


def body(result: "Result", evidence: Mapping[str, Any] | None = None, *, groups: Sequence[str] = ()) -> "Markup":
    """The opened row as HTML: facts, what is proved and the difference where they are known, fields, raw details.

    `evidence` is one of `trust.evidence.explain_results`, cut to what may be shown.
    """
    from urllib.parse import quote

    from markupsafe import Markup

    from evalsuite.reports.html_difference import render as render_difference
    from evalsuite.reports.page import environment

    known = evidence or {}
    values = {
        "facts": [*facts(result), *proofs(known), *([("groups", ", ".join(groups))] if groups else [])],
        "difference": render_difference(known.get("difference") or {}),
        "fields": fields_picture(result.details),
        "sql": str(known.get("sql", "")).splitlines(),
        "raw": raw_details(result.details),
        "link": "#" + quote(clean(result.instance_id)),
    }
    return Markup(environment().get_template("instance_body.html").render(values))


def proofs(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    """("proved", cause) pairs of an explanation that the scorer itself confirmed."""
    explanation = evidence.get("explanation") or {}
    if not explanation.get("proved"):
        return []
    return [("proved", str(cause.get("says") or cause["general"])) for cause in explanation["causes"]]


def fields_picture(details: Mapping[str, Any]) -> "Markup | None":
    """Precision, recall and F1 of the worst twelve fields of a tree score, None for other scores."""
    from markupsafe import Markup

    from evalsuite.reports.pictures import bars
    from evalsuite.reports.tree import is_tree

    if not is_tree(details) or not details["fields"]:
        return None
    shown = details["fields"][:12]
    rows = [(str(field["path"] or "(root)"), {name: field[name] for name in ("precision", "recall", "f1")}) for field in shown]
    rest = int(details["n_fields"]) - len(shown)
    return Markup(bars.draw(rows, title="Fields, worst first" + (f" ({rest} more not drawn)" if rest > 0 else "")))


def raw_details(details: Mapping[str, Any]) -> list[str]:
    """The lines of the remaining details as JSON, cut with a count; none where nothing remains."""
    rest = {key: value for key, value in details.items() if key not in _SHOWN_APART}
    if not rest:
        return []
    text = json.dumps(rest, ensure_ascii=False, indent=1, default=str)
    if len(text) > LONGEST_DETAILS:
        text = text[:LONGEST_DETAILS] + f"\n… {len(text) - LONGEST_DETAILS} more characters in results.jsonl"
    return text.splitlines()
