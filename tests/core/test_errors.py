"""Suggestions name the nearest known words, shortened to a line or two."""

import pytest

from evalsuite.core.errors import did_you_mean, listed

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
        ("match", f"known: {', '.join(SCORERS)}"),
        ("zzz", f"known: {', '.join(SCORERS)}"),
        ("", f"known: {', '.join(SCORERS)}"),
        ("_", f"known: {', '.join(SCORERS)}"),
    ],
)
def test_the_nearest(word: str, hint: str) -> None:
    """A part of a name comes before a likeness: `table` is no `bleu`; what many names share names none of them."""
    assert did_you_mean(word, SCORERS) == hint


def test_options() -> None:
    """Dashes do not count, and the beginning of an option is enough."""
    known = ("--no-cache", "--gold-cache", "--durations", "--scheduler", "--gold")
    assert did_you_mean("--cache", known) == "did you mean '--no-cache' or '--gold-cache'?"
    assert did_you_mean("--dur", known) == "did you mean '--durations'?"
    assert did_you_mean("--goldd", known) == "did you mean '--gold'?"


def test_many_names_are_counted() -> None:
    """What does not fit is told by its number; one name is always there, however long."""
    names = [f"sales_{number:04}" for number in range(2000)]
    said = listed(names)
    assert said.startswith("sales_0000, sales_0001, ")
    assert said.endswith(" more")
    n_named = said.count("sales_")
    assert f"and {2000 - n_named:,} more" in said
    assert len(said) < 430
    assert listed(["x" * 1000, "y"]) == f"{'x' * 1000} and 1 more"
    assert listed([]) == ""
    assert did_you_mean("sale_0012", names) == "did you mean 'sales_0012'?"


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
    assert listed(["x" * length for length in lengths]) == ", ".join("x" * length for length in lengths[:shown]) + more
