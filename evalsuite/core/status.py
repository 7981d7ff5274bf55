"""What an outcome is, once: every kind with its words, its sign, whose side it is on, what it is worth and whether it may be kept."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from evalsuite.core.errors import FAULTS, Side
from evalsuite.core.types import Fault, Result, Rule, Status

Worth = Literal["judged", "zero", "unjudged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One line of the table.

    `name` is a status, or what a scored result came to; reports use it as the class of a row too. `worth` says whether a scorer's value
    counts, a 0, or nothing at all. `side` is who has to act, empty where nobody does. `may_be_kept`: whether the same bytes give the same
    outcome tomorrow.
    """

    name: str
    words: str
    sign: str
    worth: Worth
    side: Literal["submission", "gold", "tool", "setup", ""] = ""
    may_be_kept: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether something stood in the way of a plain verdict on what was handed in."""
        return self.side != "" and self.name != "missing"

    def counted(self, n: int) -> str:
        """`1 gold fault`, `2 gold faults`, `2 crashed`."""
        return f"{n} {self.words}" + ("s" if n != 1 and self.words.endswith(("fault", "timeout")) else "")


# The worst first: the order of a report that shows what to look at.
_TABLE: Final = (
    Kind(name="crashed", words="crashed", sign="!", worth="zero", side="submission"),
    Kind(name="timeout", words="timeout", sign="!", worth="zero", side="submission"),
    # What a submission's file did may hang on more than its bytes (a link to gold, a full disk, a busy machine).
    Kind(name="submission_fault", words="submission fault", sign="!", worth="zero", side="submission"),
    # Of the same gold files it is the same fault tomorrow.
    Kind(name="gold_fault", words="gold fault", sign="!", worth="unjudged", side="gold", may_be_kept=True),
    Kind(name="scorer_fault", words="scorer fault", sign="!", worth="unjudged", side="tool"),
    Kind(name="unscored", words="unscored", sign="?", worth="unjudged", side="setup"),
    Kind(name="wrong", words="wrong", sign="✗", worth="judged", may_be_kept=True),
    Kind(name="partial", words="partly right", sign="◐", worth="judged", may_be_kept=True),
    Kind(name="missing", words="not handed in", sign="–", worth="zero", side="submission", may_be_kept=True),
    # A value on the scale of its metric, which has no fixed range: there is no score.
    Kind(name="measured", words="measured", sign="~", worth="judged", may_be_kept=True),
    # Judged, and nobody may see how (`--reveal none`).
    Kind(name="handed_in", words="handed in", sign="·", worth="judged", may_be_kept=True),
    Kind(name="right", words="right", sign="✓", worth="judged", may_be_kept=True),
)
# What became of an instance that nobody could judge, by the side of the fault.
UNJUDGED_BY: Final[Mapping[Side, Status]] = {
    "submission": "gold_fault",
    "gold": "gold_fault",
    "tool": "scorer_fault",
    "setup": "unscored",
    "nobody": "unscored",
}
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _TABLE}
RANKS: Final[Mapping[str, int]] = {name: at for at, name in enumerate(KINDS)}
# In the order in which a line of counts names them.
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
# The statuses by what they are worth and by what they say; all others are "scored".
ZERO: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "zero")
UNJUDGED: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "unjudged")
# What the grader's side left unjudged: no score is made over it. A fault of gold is the same for every submission, and stays in.
UNGRADED: Final = frozenset(kind.name for kind in _TABLE if kind.worth == "unjudged" and kind.side != "gold")
FAULTY: Final = frozenset(kind.name for kind in _TABLE if kind.is_fault)


def kind_of(result: Result) -> Kind:
    """The kind of a result: right, wrong, partial, or its status where it was not scored; `measured` where there is a value and no score.

    `handed_in` where no verdict may be seen.
    """
    if result.status != "scored":
        return KINDS[result.status]
    if result.score is None:
        return KINDS["handed_in" if raw_value(result) is None else "measured"]
    return KINDS["right" if result.score == 1 else "wrong" if result.score == 0 else "partial"]


def raw_value(result: Result) -> float | None:
    """The value on the metric's own scale of a result that was measured and has no score, because that scale has no fixed range."""
    return own_value(result) if result.status == "scored" and result.score is None else None


def own_value(result: Result) -> float | None:
    """The value on the metric's own scale, be there a score made of it or not; None where the result has none."""
    raw = result.detail("raw")
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw)
    return float(raw) if is_number and raw is not None else None


# In `details`, what each further scorer of the suite says: by its name these keys, as a result has them.
BESIDE: Final = "beside"
BESIDE_KEYS: Final = ("status", "score", "official", "strict", "reason", "fault", "details")


def results_beside(result: Result) -> dict[str, Result]:
    """The result as each further scorer of the suite gives it, by scorer; empty where the suite has one scorer."""
    rows = {name: {"strict_fault": None, **said} for name, said in (result.detail(BESIDE) or {}).items()}
    faults = {name: Fault(**said["strict_fault"]) if said["strict_fault"] else None for name, said in rows.items()}
    return {name: replace(result, **{**said, "scorer": name, "strict_fault": faults[name]}) for name, said in rows.items()}


def row_beside(result: Result) -> dict[str, Any]:
    """What stands in `details` of the result that a further scorer gives."""
    late = {"strict_fault": result.strict_fault.to_json()} if result.strict_fault else {}
    return {key: getattr(result, key) for key in BESIDE_KEYS} | late


def results_by(result: Result, scorers: Sequence[str]) -> dict[str, Result]:
    """The result as each scorer of a suite of several gives it, of which the first makes the score, without those that have no say.

    What was not handed in, or could not be read, no scorer saw: it is worth 0 to each.
    """
    beside = results_beside(result)
    if not beside and result.status in ZERO and result.scorer == scorers[0]:
        beside = {name: replace(result, scorer=name) for name in scorers[1:]}
    return {result.scorer or "": result, **beside}


def scorers_of(results: Iterable[Result]) -> tuple[str, ...]:
    """The scorers of a suite of several, the one that makes the score first; empty where there is only one."""
    several = [result for result in results if result.detail(BESIDE)]
    return tuple(dict.fromkeys(name for result in several for name in (result.scorer or "", *result.details[BESIDE])))


def sign_of(value: float | None) -> str:
    """✓ for 1, ✗ for 0, two decimals between (never rounded to 0 or 1), a dash for none."""
    if value is None:
        return KINDS["missing"].sign
    if value in (0, 1):
        return KINDS["right" if value else "wrong"].sign
    return f"{min(0.99, max(0.01, value)):.2f}"


def sign_under(result: Result, value: float | None) -> str:
    """The sign of what one rule says of a result, `value`: that of its status where the rule did not come to a verdict of its own."""
    kind = kind_of(result)
    if result.status == "scored":
        return sign_of(value) if value is not None else KINDS[kind.name if kind.name in ("handed_in", "measured") else "unscored"].sign
    return sign_of(value) if value else kind.sign


def failing_rule(result: Result, chosen: Rule) -> Rule | None:
    """The rule under which an instance is not fully right: the chosen one first, None where both are satisfied."""
    other: Rule = "strict" if chosen == "official" else "official"
    for rule in (chosen, other):
        value = result.official if rule == "official" else result.strict
        if value is not None and value < 1:
            return rule
    return None


def is_ungraded(result: Result) -> bool:
    """Whether nobody judged the result because the grader's side is absent or failed: it is in no mean, never as a 0."""
    return result.score is None and result.status in UNGRADED


def is_left_open(result: Result) -> bool:
    """Whether the result, or a further scorer's, is one that nobody judged for want of something: a resumed run has it judged."""
    return is_ungraded(result) or any(map(is_ungraded, results_beside(result).values()))


def lacks_setup(result: Result) -> bool:
    """Whether nobody judged the result because something is absent or fails that the user can set up: a judge, a
    connection, an extra, a machine with room and time for it.
    """
    return result.status == "unscored" and result.fault in FAULTS and FAULTS[result.fault].side != "nobody"
