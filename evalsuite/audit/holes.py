"""What an audit found: the verdicts of each check on the answers made for it, and their counts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evalsuite.audit.made_answers import OWN
from evalsuite.types import RULES, Rule


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a made answer was taken, by rule; None where that rule could not judge it.

    `size` is by which share of itself a number was changed, None where something else was; `lines` have for each rule that is wrong about
    the answer the line of spec that was tried and closes that hole, "" where none does.
    """

    kind: str
    right: bool
    taken: Mapping[Rule, bool | None]
    size: float | None = None
    lines: Mapping[Rule, str] = field(default_factory=dict)

    def fails(self, rule: Rule) -> bool:
        """Whether the check is wrong about it: takes a wrong answer, or refuses a right one."""
        taken = self.taken[rule]
        return taken is not None and taken is not self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One check with what it said of the answers made for it; `unfit` are the rules that refuse gold itself, where nothing else counts."""

    instance_id: str
    scorer: str
    where: str
    verdicts: tuple[Verdict, ...]
    unfit: tuple[Rule, ...] = ()

    def counted(self, rule: Rule, *, right: bool) -> list[Verdict]:
        """The wrong, or right, answers that count under a rule."""
        if rule in self.unfit:
            return []
        return [one for one in self.verdicts if one.right is right and one.kind != OWN and one.taken[rule] is not None]

    def holes(self, rule: Rule) -> list[Verdict]:
        """The answers the check is wrong about, wrong ones that it takes first."""
        return [one for right in (False, True) for one in self.counted(rule, right=right) if one.fails(rule)]

    def weakness(self, rule: Rule) -> float:
        """The share of wrong answers taken and that of right ones refused, added: 0 to 2, and 0 where nothing counts."""
        return sum(share(self.counted(rule, right=right), rule) or 0.0 for right in (False, True))

    def advice(self, hole: Verdict, rule: Rule) -> str:
        """The line that closes a hole of this check, as it was tried; else what may help, and that it was not tried."""
        line = hole.lines.get(rule, "")
        return line or f"{advice(hole.kind, rule, self.scorer, right=hole.right)} (no line that was tried closes it)"

    def to_json(self) -> dict[str, Any]:
        """As data: the counts, and each hole with what closes it."""
        rules: dict[str, Any] = {}
        for rule in RULES:
            wrong, right = self.counted(rule, right=False), self.counted(rule, right=True)
            rules[rule] = {
                "n_wrong": len(wrong),
                "n_wrong_taken": sum(one.fails(rule) for one in wrong),
                "n_right": len(right),
                "n_right_refused": sum(one.fails(rule) for one in right),
                "holes": [
                    {
                        "kind": hole.kind,
                        "right": hole.right,
                        "rule": rule,
                        "size": hole.size,
                        "line": hole.lines.get(rule, ""),
                        "advice": self.advice(hole, rule),
                    }
                    for hole in self.holes(rule)
                ],
            }
        return {"instance_id": self.instance_id, "scorer": self.scorer, "where": self.where, "unfit": list(self.unfit), **rules}


def share(verdicts: Sequence[Verdict], rule: Rule) -> float | None:
    """The share of answers that a check is wrong about, 0 to 1; None of none."""
    return sum(one.fails(rule) for one in verdicts) / len(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found: the checks, those not audited as (check, reason), and how many a limit of time kept it from."""

    name: str
    checks: tuple[Audited, ...]
    untried: tuple[tuple[str, str], ...]
    n_answers: int
    n_left: int
    seed: int

    def kinds(self) -> dict[tuple[str, bool], dict[Rule, tuple[int, int]]]:
        """(kind, right) -> rule -> (answers the checks are wrong about, answers that count), in the order of first sight."""
        found: dict[tuple[str, bool], dict[Rule, Counter[str]]] = {}
        for check in self.checks:
            for rule in RULES:
                for right in (False, True):
                    for one in check.counted(rule, right=right):
                        counts = found.setdefault((one.kind, right), {rule: Counter() for rule in RULES})[rule]
                        counts["n"] += 1
                        counts["fails"] += one.fails(rule)
        return {key: {rule: (counts["fails"], counts["n"]) for rule, counts in by_rule.items()} for key, by_rule in found.items()}

    def sizes(self) -> dict[str, dict[Rule, tuple[int, int]]]:
        """Size of change -> rule -> (wrong numbers taken, wrong numbers that count), the smallest first; only sizes that were made."""
        found: dict[str, dict[Rule, tuple[int, int]]] = {}
        for at, (words, _) in enumerate(SIZES):
            low, high = SIZES[at - 1][1] if at else 0.0, SIZES[at][1]
            by_rule: dict[Rule, tuple[int, int]] = {}
            for rule in RULES:
                wrong = [one for check in self.checks for one in check.counted(rule, right=False)]
                sized = [one for one in wrong if one.size is not None and low <= one.size < high]
                by_rule[rule] = sum(one.fails(rule) for one in sized), len(sized)
            if any(n for _, n in by_rule.values()):
                found[words] = by_rule
        return found

    def weakest(self, rule: Rule) -> list[Audited]:
        """The checks with a hole under a rule, the weakest first, then in gold's order."""
        return sorted((check for check in self.checks if check.holes(rule)), key=lambda check: -check.weakness(rule))

    def to_json(self, rules: Rule) -> dict[str, Any]:
        """As data: totals by kind of answer, then each check, the weakest under `rules` first."""
        weakest = self.weakest(rules)
        return {
            "name": self.name,
            "rules": rules,
            "seed": self.seed,
            "n_checks": len(self.checks),
            "n_answers": self.n_answers,
            "n_left": self.n_left,
            "kinds": [
                {"kind": kind, "right": right, **{rule: {"n": n, "n_failed": failed} for rule, (failed, n) in by_rule.items()}}
                for (kind, right), by_rule in self.kinds().items()
            ],
            "sizes": [
                {"size": size, **{rule: {"n": n, "n_failed": failed} for rule, (failed, n) in by_rule.items()}}
                for size, by_rule in self.sizes().items()
            ],
            "checks": [check.to_json() for check in (*weakest, *(check for check in self.checks if check not in weakest))],
            "untried": [{"check": name, "reason": why} for name, why in self.untried],
        }

    def caught(self, rule: Rule) -> float | None:
        """The share of all wrong answers that are refused under a rule, 0 to 1; None where none counts."""
        taken = share([one for check in self.checks for one in check.counted(rule, right=False)], rule)
        return None if taken is None else 1 - taken

    def reasons(self) -> dict[str, int]:
        """Why checks were not audited -> how many, most first."""
        counted: dict[str, int] = defaultdict(int)
        for _, why in self.untried:
            counted[why] += 1
        return dict(sorted(counted.items(), key=lambda item: -item[1]))


# Sizes of change of a number, each up to the share of the number that stands beside it.
SIZES: Final = (
    ("below 1e-6", 1e-6),
    ("1e-6 to 1e-4", 1e-4),
    ("1e-4 to 1 %", 1e-2),
    ("1 % to 100 %", 1.0),
    ("100 % and more", float("inf")),
)
_STRICT: Final = "--rules strict"
# (kind, a scorer or a rule) -> advice; "" stands for every one.
_TAKEN: Final[dict[tuple[str, str], str]] = {
    ("rows scrambled", "official"): f"{_STRICT}; or ignore_order off where the order is known: each column is sorted apart",
    ("one cell", "official"): f"{_STRICT}: the tolerance is 0.01 whatever the size",
    ("one cell", ""): "rel_tol, abs_tol: smaller",
    ("sign", "official"): f"{_STRICT}: signs are not seen in texts, and 0.01 is allowed in tables",
    ("times 100", "official"): f"{_STRICT}: values under 0.01 are one to the tolerance; percentage off where no share is asked for",
    ("times 100", ""): "percentage off",
    ("off by one", ""): "precision, abs_tol: smaller",
    ("NULL to 0", "official"): f"{_STRICT}: rows of NULL alone are not read",
    ("wrong order", "official"): f"{_STRICT}; ignore_order as true or false: any list counts as true",
    ("wrong order", ""): "ignore_order off; a column that shows the order",
    ("row dropped", ""): "condition_cols: name a column that tells rows apart",
    ("another answer", ""): "gold: more of the answer, for it stands in others",
    ("all candidates listed", "number_match"): "one gold as text or with decimals, so that one number is taken; exclude; --rules strict",
    ("all candidates listed", ""): "exclude: the other candidates; or exact_match",
    ("negated text", ""): "exclude: not; or exact_match",
    ("inside a word", "official"): f"{_STRICT}; or exact_match",
    ("part missing", ""): "conj: and",
    ("one leaf", ""): "x-eval-match of the field: exact",
    ("leaf dropped", ""): "required fields in the schema; strict scoring of missing fields",
    ("element doubled", ""): "the list's comparator: ordered, or with extra elements counted",
}
_REFUSED: Final[dict[tuple[str, str], str]] = {
    ("jitter inside tolerance", "official"): f"precision lower; {_STRICT}: cells are sorted as text before they are compared",
    ("jitter inside tolerance", ""): "precision lower; rel_tol, abs_tol: larger",
    ("zeros at the end", "official"): f"{_STRICT}: a column with one text is compared as text",
    ("sentence around", "official"): f"{_STRICT}; gold as a list of accepted forms",
    ("thousands separators", "official"): _STRICT,
    ("rows reordered", ""): "ignore_order on",
    ("rows reordered", "official"): f"{_STRICT}: rows are sorted as text, which values within the tolerance disturb",
}
_OTHER_TAKEN: Final = "a stricter check: condition_cols, exact_match"
_OTHER_REFUSED: Final = "more accepted gold"


def advice(kind: str, rule: Rule, scorer: str, *, right: bool) -> str:
    """The parameter that closes a hole of a scorer, in a few words."""
    table = _REFUSED if right else _TAKEN
    found = next((table[kind, key] for key in (scorer, rule, "") if (kind, key) in table), None)
    return found or (_OTHER_REFUSED if right else _OTHER_TAKEN)
