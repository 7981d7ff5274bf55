"""The results of a run as the list of a page: closed rows, what stands in each when it is opened, and what the list is filtered by."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.errors import FAULTS
from evalsuite.outcome import KINDS, RANKS, kind_of, results_beside, sign_under
from evalsuite.reports.clean import clean
from evalsuite.reports.document import text_of
from evalsuite.reports.html import environment, json_block
from evalsuite.reports.words import flip_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.reports.document import Table
    from evalsuite.reports.record import Record
    from evalsuite.types import Result

N_FIRST = 50
PER_BLOCK = 100
# A page of more than this many characters of opened rows would be slow to load; what is left out is said.
MOST_BODIES = 16_000_000
# Nor does anybody look through more rows than this: of a larger run the worst are listed, and what is left out is said.
MOST_LISTED = 20_000

LONGEST_WHY = 240
LONGEST_DETAILS = 6_000
# Shown in words of their own, so the raw details need not repeat them.
_SHOWN_APART = frozenset({"reasons", "flip", "fault", "hint", "judge", "units", "beside"})


def instance_list(record: "Record", table: "Table[Any]", order: Sequence[int], evidence: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the template of the list is filled with; `table` holds all results in gold order, `order` their places, the worst first.

    The first rows stand in the document, all that are listed wait as JSON in short lists as `script.js` reads them.
    """
    place_of = {at: place for place, at in enumerate(sorted(order[:MOST_LISTED]))}
    listed, order = [one for at, one in enumerate(table.rows) if at in place_of], [place_of[at] for at in order[:MOST_LISTED]]
    more = [column for column in table.of("html") if column.role == "more" and any(text_of(column.cell(one)) for one in listed)]
    rows = [
        {
            **closed_row(one.result, groups=one.groups, reason=one.reason),
            "more": [(column.head, clean(text_of(column.cell(one)))) for column in more],
        }
        for one in listed
    ]
    bodies = _opened_rows([one.result for one in listed], record.groups, order, evidence)
    blank = {"id": "", "kind": "right", "signs": ("–", "–"), "scorer": "", "flip": "", "why": "", "more": ()}
    return {
        "rows": [(rows[at], bodies[at]) for at in order[:N_FIRST]],
        "rest": len(rows) > N_FIRST,
        "n_listed": len(rows),
        "n_gold": record.summary.n_gold,
        "kinds": KINDS,
        "blank": blank,
        "index": json_block(_script_index(rows, [column.head for column in more])),
        # Each is made when the template comes to it.
        "chunks": (json_block(bodies[at : at + PER_BLOCK]) for at in range(0, len(bodies), PER_BLOCK)),
        "choices": _filter_choices(record, rows),
    }


def _opened_rows(
    results: Sequence["Result"], groups: Mapping[str, Sequence[str]], order: Sequence[int], evidence: Mapping[str, Mapping[str, Any]]
) -> list[Any]:
    """The opened row of each result, as they stand; the least telling ones stay empty where they are too many for one file."""
    from markupsafe import Markup

    bodies: list[Any] = [""] * len(order)
    size = 0
    for at in order:
        if size < MOST_BODIES:
            result = results[at]
            name = result.instance_id
            bodies[at] = opened_row(result, evidence.get(name), groups=groups.get(name, ()))
            size += len(bodies[at])
        else:
            bodies[at] = Markup('<p class="note">Left out to keep this file small: see <code>evalsuite explain</code>.</p>')
    return bodies


def _script_index(rows: Sequence[Mapping[str, Any]], more: Sequence[str]) -> dict[str, Any]:
    """The rows as short lists, as `script.js` reads them; `more` are the titles of the columns that have no place of their own."""
    scorers = list(dict.fromkeys(one["scorer"] for one in rows))
    groups = list(dict.fromkeys(tag for one in rows for tag in one["groups"]))
    scorer_at, group_at, kind_at = ({name: at for at, name in enumerate(names)} for names in (scorers, groups, KINDS))
    return {
        "kinds": [{"name": kind.name, "sign": kind.sign, "words": kind.words} for kind in KINDS.values()],
        "scorers": scorers,
        "groups": groups,
        "per_block": PER_BLOCK,
        "more": list(more),
        "rows": [
            [
                one["id"],
                kind_at[one["kind"]],
                one["official"],
                one["strict"],
                scorer_at[one["scorer"]],
                [group_at[tag] for tag in one["groups"]],
                one["flip"],
                one["why"],
                at,
                one["signs"],
                [text for _, text in one["more"]],
            ]
            for at, one in enumerate(rows)
        ],
    }


def _filter_choices(record: "Record", rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """The options of the three filters: what occurs, with its count."""
    seen = Counter(one["kind"] for one in rows)
    kinds = [(name, f"{KINDS[name].words} ({seen[name]})") for name in sorted(seen, key=lambda name: RANKS[name])]
    if record.summary.flips:
        kinds.append(("flips", f"flips ({len(record.summary.flips)})"))
    s = record.summary
    return {
        "kind": kinds,
        "scorer": [(name, f"{name} ({found['n']})") for name, found in s.by_scorer.items() if name not in s.scorers[1:]],
        "group": [(name, f"{name} ({found['n']})") for name, found in s.by_group.items()],
    }


def closed_row(result: "Result", *, groups: Sequence[str] = (), reason: str = "") -> dict[str, Any]:
    """The closed row of a result: id, kind, both values with their signs, scorer, groups, flip, and why; made printable.

    `reason` stands for the scorer's own where more may be said than it does.
    """
    why = clean(flip_of(result) or reason or result.reason)
    return {
        "id": clean(result.instance_id),
        "kind": kind_of(result).name,
        "official": result.official,
        "strict": result.strict,
        "signs": (sign_under(result, result.official), sign_under(result, result.strict)),
        "scorer": clean(result.scorer or ""),
        "groups": [clean(tag) for tag in groups],
        "flip": clean(flip_of(result).partition(":")[0]),
        "why": why if len(why) <= LONGEST_WHY else why[: LONGEST_WHY - 1] + "…",
    }


def opened_facts(result: "Result") -> list[tuple[str, str]]:
    """(label, text) pairs of an opened row: what both rules say, the flip, the fault and what to do about it, what further scorers say."""
    reasons: Mapping[str, Any] = result.details.get("reasons", {})
    rows = [(f"{rule} says", str(text)) for rule, text in reasons.items()] or [("why", result.reason)]
    flip, fault = str(result.details.get("flip", "")), str(result.details.get("fault", ""))
    if flip:
        said = any(str(text) and str(text) in flip for text in reasons.values())
        rows.append(("flip", flip.partition(":")[0] if said else flip))
    rows += [(name, f"{sign_under(one, one.score)}  {one.reason}") for name, one in results_beside(result).items()]
    if fault and fault != result.reason:
        rows.append(("fault", fault))
    if result.fault in FAULTS:
        rows.append(("hint", str(result.details.get("hint") or FAULTS[result.fault].hint)))
    return rows + [(name, one.reason) for name, one in results_beside(result).items() if one.reason]


def opened_row(result: "Result", evidence: Mapping[str, Any] | None = None, *, groups: Sequence[str] = ()) -> "Markup":
    """The opened row as HTML: facts, what is proved and the difference where they are known, fields, raw details.

    `evidence` is one of `explain.instance_evidence.explain_results`, cut to what may be shown.
    """
    from urllib.parse import quote

    from markupsafe import Markup

    from evalsuite.reports.html import difference_html

    known = evidence or {}
    values = {
        "facts": [*opened_facts(result), *proofs(known), *([("groups", ", ".join(groups))] if groups else [])],
        "difference": difference_html(known.get("difference") or {}),
        "fields": fields_picture(result.details),
        "sql": str(known.get("sql", "")).splitlines(),
        "asked": judge_exchanges(result.details),
        "raw": raw_details(result.details),
        "link": "#" + quote(clean(result.instance_id)),
    }
    return Markup(environment().get_template("instance_body.html").render(values))


def judge_exchanges(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What judges were asked, replied, and were taken to say, of the score, of its parts and of scorers beside it: as lines of text."""
    found: list[dict[str, Any]] = []
    asked: Sequence[Mapping[str, str]] = ()
    for verdict, said in zip(details.get("verdicts") or (), details.get("transcript") or (), strict=False):
        asked = said.get("asked", asked)
        texts = [*((message["role"], message["content"]) for message in asked)]
        texts += [(name, said[name]) for name in ("unreadable", "why", "reply") if name in said]
        read = "no verdict" if verdict["value"] is None else f"{verdict['value']:.4g}"
        found.append({
            "texts": [(name, text[:LONGEST_DETAILS].splitlines()) for name, text in texts],
            "read": f"{verdict['model']}: {read}" + (f" ({verdict['label']})" if verdict["label"] not in ("", read) else ""),
        })  # fmt: skip
    for value in details.values():
        found += judge_exchanges(value) if isinstance(value, Mapping) else []
    return found


def proofs(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(standing, cause) pairs of an explanation that the scorer itself confirmed: `proved`, or `fits`."""
    explanation = evidence.get("explanation") or {}
    return [(str(cause["standing"]), str(cause.get("says") or cause["general"])) for cause in explanation.get("causes", ())]


def fields_picture(details: Mapping[str, Any]) -> "Markup | None":
    """Precision, recall and F1 of the worst twelve fields of a tree score, None for other scores."""
    from markupsafe import Markup

    from evalsuite.reports.instance import is_tree
    from evalsuite.reports.pictures import draw_bars

    if not is_tree(details) or not details["fields"]:
        return None
    shown = details["fields"][:12]
    rows = [(str(field["path"] or "(root)"), {name: field[name] for name in ("precision", "recall", "f1")}) for field in shown]
    rest = int(details["n_fields"]) - len(shown)
    return Markup(draw_bars(rows, title="Fields, worst first" + (f" ({rest} more not drawn)" if rest > 0 else "")))


def raw_details(details: Mapping[str, Any]) -> list[str]:
    """The lines of the remaining details as JSON, cut with a count; none where nothing remains."""
    rest = {key: value for key, value in details.items() if key not in _SHOWN_APART}
    if not rest:
        return []
    text = json.dumps(rest, ensure_ascii=False, indent=1, default=str)
    if len(text) > LONGEST_DETAILS:
        text = text[:LONGEST_DETAILS] + f"\n… {len(text) - LONGEST_DETAILS} more characters in results.jsonl"
    return text.splitlines()
