"""Explanations of the recorded mutations that have a named cause: named right, and never proved wrong."""

import csv
import json
import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from evalsuite.analysis.explain.instance_evidence import explain_results
from evalsuite.core.types import Gold
from evalsuite.gold.layouts import read_gold
from tests.conformance.recorded import expected, gold_folder, is_in_part, submission_folder, submissions
from tests.conftest import corpus, is_default_corpus
from tests.properties import is_full

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("shared_fork_server")]

OF_A_KIND: Final = 100_000 if is_full() else 1
LONG: Final = 1000

# What each mutation does, in the words of the table of causes. Several where the mutation itself can be several things: `swap_two_rows`
# is wrong only where order counts, a currency sign leaves a number in text.
NAMED: dict[str, set[str]] = {
    "x100": {"times 100"},
    "negate_one": {"sign"},
    "int_plus_one": {"off by one"},
    **{name: {"rounding"} for name in ("round0", "round1", "float_to_int", "ans_round0", "ans_round1", "ans_round2", "ans_round3")},
    **{name: {"case"} for name in ("case_lower", "case_upper", "case_one")},
    **{name: {"spaces"} for name in ("ws_leading", "ws_trailing", "ws_inner", "ws_newline")},
    **{name: {"number in text"} for name in ("currency", "thousands_sep", "decimal_comma", "percent_suffix", "num_suffix_unit")},
    "str_quoted": {"quotes"},
    "str_mojibake": {"encoding"},
    **{name: {"date form"} for name in ("date_mdy", "date_slash", "date_compact", "date_T_sep", "date_utc_suffix", "date_add_time")},
    "null_to_zero": {"null and zero"},
    "zero_to_empty": {"null and zero"},
    "null_to_dash": {"null word"},
    "null_to_false": {"null and zero", "null word"},
    "value_to_empty": {"value lost", "null and zero"},
    "value_to_nan_text": {"value lost", "null and zero"},
    "bool_yesno": {"true and false"},
    "bool_flip": {"inverted"},
    **{name: {"wrong order"} for name in ("shuffle_rows", "reverse_rows", "swap_two_rows")},
    "dup_all_rows": {"rows duplicated"},
    "dup_rows": {"rows duplicated"},
    "db_dup_rows": {"rows duplicated"},
    **{name: {"missing rows"} for name in ("missing_rows", "missing_last_row", "db_missing_rows")},
    "break_row_assoc": {"rows scrambled", "columns swapped"},
    "drop_required_col": {"missing column"},
    "transposed": {"transposed"},
    "no_header": {"no header row"},
    **{name: {"delimiter"} for name in ("semicolon", "tabsep")},
    "files_wrong_order": {"tables swapped"},
    "ans_x100": {"times 100"},
    "ans_div100": {"times 100"},
    "ans_negated": {"sign"},
    **{name: {"number in text", "extra text"} for name in ("ans_sci", "ans_percent_suffix")},
    "s_ans_excluded": {"excluded text"},
    "s_ans_excluded_negated": {"excluded text"},
    **{name: {"spaces"} for name in ("s_ans_nbsp", "s_ans_hyphen_for_space", "s_ans_underscore_for_space")},
    "db_all_varchar": {"stored as text"},
    "db_num_to_varchar": {"stored as text"},
    "db_date_to_str": {"stored as text"},
}


# What these do depends on what they meet, so that the case itself is looked at.
LOOKED_AT: Final = ("str_ascii", "date_drop_time", "ans_space_thousands")
_MIDNIGHT: Final = re.compile(r"[ T]00:00:00(\.0+)?\b")


def accepted(name: str, instance_id: str, mutation: str) -> set[str]:
    """The causes that are right of one case."""
    if mutation == "str_ascii":
        return of_ascii(name, instance_id)
    if mutation == "date_drop_time":
        # A day and midnight are one moment in two forms; any other time of day is lost.
        return {"time cut off"} if not all(map(_MIDNIGHT.search, times(name, instance_id))) else {"date form"}
    if mutation == "ans_space_thousands":
        # It writes spaces between thousands, and two decimals: of a number below 1000 only those are left.
        return {"number in text"} if re.search(r"\d \d{3}", answer(name, instance_id)) else {"rounding"}
    return NAMED[mutation]


def of_ascii(name: str, instance_id: str) -> set[str]:
    """What a text that was forced into ASCII lost: accents, whole characters, or only another kind of space."""
    found = set()
    for wanted, got in changed_cells(name, instance_id):
        beyond = [c for c in unicodedata.normalize("NFKD", wanted) if not c.isascii() and not unicodedata.combining(c)]
        spaces = all(c.isascii() or c.isspace() for c in wanted)
        found.add("characters lost" if beyond else "spaces" if spaces else "accents")
        assert got.isascii()
    # One column gets one cause, the strongest of its cells.
    return {"characters lost"} if "characters lost" in found else found


def changed_cells(name: str, instance_id: str) -> list[tuple[str, str]]:
    """(gold, handed in) of the cells that count and differ, of a case that left rows and columns where they were.

    Of several accepted tables the one that differs least.
    """
    handed_in = answers(name)[instance_id]
    golds, columns = gold_tables(instance_id)
    if isinstance(handed_in, list):
        pairs = zip(golds, map(str, handed_in), columns, strict=True)
        return [pair for gold, got, needed in pairs for pair in _differing(gold, submission_folder(name) / instance_id / got, needed)]
    file = submission_folder(name) / instance_id / str(handed_in)
    return min((_differing(gold, file, needed) for gold, needed in zip(golds, columns, strict=True)), key=len)


def _differing(gold: Path, got: Path, needed: list[int]) -> list[tuple[str, str]]:
    sides = [list(csv.reader(path.open(encoding="utf-8")))[1:] for path in (gold, got)]
    rows = zip(*sides, strict=len(sides[0]) == len(sides[1]))
    return [(g[i], p[i]) for g, p in rows for i in needed or range(len(g)) if g[i] != p[i]]


def gold_tables(instance_id: str) -> tuple[list[Path], list[list[int]]]:
    """(the gold tables of an instance, which columns of each count; none: all)."""
    checks = next(one.checks for one in spec().instances if one.instance_id == instance_id)
    given = next(check.parameters for check in checks if "table" in check.scorer)
    names = [given["gold"]] if isinstance(given["gold"], str) else given["gold"]
    columns = given.get("condition_cols") or []
    each = columns if columns and isinstance(columns[0], list) else [columns] * len(names)
    return [gold_folder() / instance_id / name for name in names], each


@cache
def spec() -> Gold:
    """The recorded gold, read."""
    return read_gold(gold_folder())


def times(name: str, instance_id: str) -> list[str]:
    """Gold's timestamps that a case cut to days."""
    return [gold for gold, _ in changed_cells(name, instance_id)]


@cache
def answers(name: str) -> dict[str, str | list[str]]:
    """Instance -> text answer, or the files, of a recorded submission."""
    lines = (submission_folder(name) / "results_metadata.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["instance_id"]: row["answer_or_path"] for row in map(json.loads, filter(None, lines))}


def answer(name: str, instance_id: str) -> str:
    """One text answer."""
    return str(answers(name)[instance_id])


def of_today(cases: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The cases of a sixth of the mutations, of another sixth the next day."""
    return {name: {id_: one for id_, one in mutations.items() if is_in_part(one, 6)} for name, mutations in cases.items()}


def named_cases() -> dict[str, dict[str, str]]:
    """Submission -> instance -> mutation, of the cases with a named cause."""
    return {
        name: {row["instance_id"]: row["mutation"] for row in expected(name) if row["mutation"] in (*NAMED, *LOOKED_AT)}
        for name in submissions()
    }


def of_each_kind(cases: dict[str, dict[str, str]], n: int) -> dict[str, dict[str, str]]:
    """The first `n` cases of each mutation; of long texts, which take a hundred times as long, only where there are several of a kind."""
    seen, kept = Counter[str](), dict[str, dict[str, str]]()
    for name, mutations in cases.items():
        kept[name] = {}
        for instance_id, mutation in mutations.items():
            if n == 1 and len(answer(name, instance_id)) > LONG:
                continue
            seen[mutation] += 1
            if seen[mutation] <= n:
                kept[name][instance_id] = mutation
    return kept


def named_right(cases: dict[str, dict[str, str]]) -> None:
    """Assert that no case is given another cause than its own, and that 95 % are named."""
    if not any(cases.values()):
        pytest.skip("no recorded mutation with a named cause")
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: list[tuple[str, ...]] = []
    for name, mutations in ((name, mutations) for name, mutations in cases.items() if mutations):
        found: dict[str, dict[str, Any]] = dict(
            explain_results(gold_folder(), submission_folder(name), list(mutations), what=("explain",), isolation="none")
        )
        for instance_id, mutation in mutations.items():
            said = found[instance_id].get("explanation")
            if said is None:
                continue  # the mutation left the answer right, or unreadable
            causes = {cause["name"] for cause in said["causes"]}
            right = bool(causes & accepted(name, instance_id, mutation))
            seen[mutation]["right" if right else "wrong" if causes else "unproved"] += 1
            if causes and not right:
                wrong.append((name, instance_id, mutation, *sorted(causes)))
    for mutation, counts in sorted(seen.items()):
        print(f"{mutation}: {dict(counts)}")
    totals = sum(seen.values(), Counter())
    print(totals)
    assert wrong == []
    # Totals hold for the folder that was shown; another one has other numbers of each mutation.
    assert totals.total() >= ((200 if is_full() else 2) if is_default_corpus() else 1)
    assert totals["right"] >= int((0.95 if is_default_corpus() else 0.8) * totals.total())


def test_recorded_mutations_are_explained() -> None:
    """Of one case of a sixth of the recorded mutations (all of all under `slow`) none is given another cause, and nearly all their own."""
    corpus("spider2")
    named_right(of_each_kind(of_today(named_cases()), OF_A_KIND))
