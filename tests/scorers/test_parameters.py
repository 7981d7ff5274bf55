"""Parameters of scorers by the name under which gold gives them: each changes the verdict, to what its own library or rule says."""

import json
import math
from dataclasses import fields
from io import BytesIO
from typing import Any

import pytest
import sacrebleu

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.core.plugin_calls import OfficialError, allowing_programs, official_only
from evalsuite.core.registry import check_parameters
from evalsuite.core.types import Fault, Table
from evalsuite.readers.csv_table import read_csv_table
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, get_metric
from evalsuite.scorers.metrics.prose import DISCLAIMER
from evalsuite.trees.treeval import treeval_score

LONG, NEAR = "the small cat sat down on the old mat", "the small cats sit on an old mat !"
OF_SACREBLEU: list[tuple[str, str, str, dict[str, Any]]] = [
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "floor"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "add-k"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "none"}),
    ("bleu", "a cat is here", "the cat is there now", {"smooth_method": "floor", "smooth_value": 0.4}),
    ("bleu", NEAR, LONG, {"max_ngram_order": 2}),
    ("bleu", NEAR.upper(), LONG, {"lowercase": True}),
    ("bleu", "a-b c-d", "a-b c d", {"tokenize": "intl"}),
    ("chrf", NEAR, LONG, {"char_order": 3}),
    ("chrf", NEAR, LONG, {"word_order": 2}),
    ("chrf", NEAR, LONG, {"beta": 1}),
    ("chrf", NEAR, LONG, {"whitespace": True}),
    ("chrf", "ab", "abcdefgh", {"eps_smoothing": True}),
    ("chrf", NEAR.upper(), LONG, {"lowercase": True}),
    ("ter", "the cat, sat.", "the cat sat .", {"normalized": True}),
    ("ter", "the cat, sat", "the cat sat", {"no_punct": True}),
    ("ter", "猫が座る", "猫は座る", {"normalized": True, "asian_support": True}),
    ("ter", "The cat sat", "the cat sat", {"case_sensitive": True}),
]
THEIRS = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}


@pytest.mark.parametrize(("name", "text", "gold", "options"), OF_SACREBLEU)
def test_options_of_sacrebleu(name: str, text: str, gold: str, options: dict[str, Any]) -> None:
    """The raw value is sacrebleu's own with the option, and another one without it."""
    scored = SCORERS.load(name).score
    more = {"effective_order": True} if name == "bleu" else {}
    expected = THEIRS[name](**options, **more).sentence_score(text, [gold]).score
    assert scored(text, gold=gold, **options).details["raw"] == pytest.approx(expected, abs=1e-9)
    assert scored(text, gold=gold).details["raw"] != pytest.approx(expected, abs=1e-3)


# One of them has no value for a text without words.
WITH_NO_VALUE = ["exact_match", {"readability": {}, "scale": [0, 100]}]
# Scorer, answer, gold, a parameter, and (raw value or official verdict, strict verdict) without it and with it.
WITHOUT_AND_WITH: list[tuple[str, str, Any, dict[str, Any], tuple[float | None, float | None], tuple[float | None, float | None]]] = [
    ("string_match", "Oslo", "Oslo", {"exclude": ["slo"]}, (1, 1), (0, 1)),
    ("string_match", "Oslo", ["Oslo", "Rome"], {"conj": "and"}, (1, 1), (0, 0)),
    ("number_match", "17.5", 0.175, {"percentage": True}, (0, 0), (1, 1)),
    ("number_match", "1.04", 1.0, {"precision": 1}, (0, 0), (1, 1)),
    ("number_match", "1", [1, 2], {"conj": "and"}, (1, 1), (0, 0)),
    ("number_match", "5 x", 5, {"exclude": ["x"]}, (1, 1), (0, 0)),
    ("number_match", "6", 5, {"abs_tol": 1}, (0, 0), (0, 1)),
    ("number_match", "105", 100, {"rel_tol": 0.05}, (0, 0), (0, 1)),
    ("exact_match", "The cat.", "the cat", {"variant": "squad"}, (0, 0), (1, 1)),
    ("exact_match", "A", "a", {"ignore_case": True}, (0, 0), (1, 1)),
    ("exact_match", "a.", "a", {"ignore_punctuation": True}, (0, 0), (1, 1)),
    ("exact_match", "a  b", "a b", {"normalize_whitespace": False}, (1, 1), (0, 0)),
    ("f1", "the b", "b", {"variant": "multiset"}, (1, 1), (2 / 3, 2 / 3)),
    ("f1", "cat", "cut", {"tokens": "char"}, (0, 0), (2 / 3, 2 / 3)),
    ("f1", "X y", "x y", {"ignore_case": False}, (1, 1), (0.5, 0.5)),
    ("f1", "b.", "b", {"ignore_punctuation": False}, (1, 1), (0, 0)),
    ("f1", "a  b", "a b", {"normalize_whitespace": False}, (1, 1), (0.8, 0.8)),
    ("rouge", "b a", "a b", {"kind": "rouge1"}, (0.5, 0.5), (1, 1)),
    ("rouge", "a", "a b", {"part": "precision"}, (2 / 3, 2 / 3), (1, 1)),
    ("rouge", "a", "!", {"kind": "rouge1", "part": "recall"}, (0, 0), (0, 0)),
    ("rouge", "!", "a", {"kind": "rouge1", "part": "precision"}, (0, 0), (0, 0)),
    ("rouge", "\u00e9", "\u00e9", {"tokenizer": "unicode"}, (0, 0), (1, 1)),
    ("rouge", "running", "run", {"use_stemmer": True}, (0, 0), (1, 1)),
    ("levenshtein", "abcd", "acbd", {"edits": "damerau"}, (0.5, 0.5), (0.75, 0.75)),
    ("levenshtein_distance", "abc", "abd", {"edits": "indel"}, (1, None), (2, None)),
    ("levenshtein_distance", "abc", "abd", {"scale": [0, 4]}, (1, None), (1, 0.75)),
    ("ter", "one two three four", "one two three five", {"scale": [0, 100]}, (25, None), (25, 0.75)),
    ("jaro_winkler", "martha", "marhta", {"prefix_weight": 0.0}, (173 / 180, 173 / 180), (17 / 18, 17 / 18)),
    ("readability", "The cat sat on the mat.", None, {"variant": "upstream"}, (116.145, None), (116.15, None)),
    ("readability", "The cat sat on the mat.", None, {"scale": [0, 200]}, (116.145, None), (116.145, 0.580725)),
    ("composite", "cat", "the cat", {"parts": ["exact_match", "f1"], "aggregation": "min"}, (0.5, 0.5), (0, 0)),
    ("composite", "cat", "the cat", {"parts": ["exact_match", "f1"], "aggregation": "max"}, (0.5, 0.5), (1, 1)),
    ("composite", "...", "...", {"parts": WITH_NO_VALUE, "on_missing": "zero"}, (None, None), (0.5, 0.5)),
    ("composite", "...", "...", {"parts": WITH_NO_VALUE, "on_missing": "renormalise"}, (None, None), (1, 1)),
    ("bleu", "a cat", "a cat is there", {"effective_order": False}, (100 / math.e, 1 / math.e), (0, 0)),
    ("bertscore", "a cat", "the cat sat", {"model": "tiny", "precision_weight": None}, (0.45, 0.45), (8 / 17, 8 / 17)),
    ("hedging_language", " ".join(reversed(DISCLAIMER.split())), None, {"model": "tiny"}, (0, 1), (1, 0)),
]


@pytest.mark.parametrize(("name", "text", "gold", "options", "without", "with_it"), WITHOUT_AND_WITH)
def test_what_a_parameter_changes(
    name: str, text: str, gold: Any, options: dict[str, Any], without: tuple[Any, Any], with_it: tuple[Any, Any]
) -> None:
    """The verdict without the last parameter, which is that of its default, and with it."""
    *others, last = options
    found = []
    for keys in (others, [*others, last]):
        score = SCORERS.load(name).score(text, gold=gold, **{key: options[key] for key in keys})
        found.append((score.details.get("raw", score.official), score.strict))
    assert found == [pytest.approx(without), pytest.approx(with_it)]
    # A flip of a text says whether the excluded word was inside another one.
    assert name != "string_match" or found[1] != (0, 1) or score.flip.startswith("exclude inside a word: ")


@pytest.mark.parametrize(("header", "delimiter", "hint"), [
    ("a,b", ";", "'a,b' is one column: is the delimiter a comma? fields must be separated by semicolons"),
    ("a;b", "#", "'a;b' is one column: is the delimiter a semicolon? fields must be separated by '#'"),
    ("a;b", ",", "'a;b' is one column: is the delimiter a semicolon? fields must be separated by commas"),
    ("a;b", ";", ""),
    ("a^b", ",", "'a^b' is one column: is the delimiter a caret? fields must be separated by commas"),
    ("a\x01b", ",", "'a\\x01b' is one column: is the delimiter a Ctrl-A character? fields must be separated by commas"),
    *(("\\begin{tabular}{ll}", ",", "LaTeX"), ("\\beginning", ",", "")),
    *(("[", ",", "JSON"), ('{"id": 1', ",", "JSON"), ('[{"id": 1', ",", "JSON"), ("[1,2]", ",", "JSON"), ("[1] share", ",", "")),
    *(("[{'id': 1}]", ",", "a Python list or dict"), ("```csv", ",", "a Markdown code block"), ("| id | a |", ",", "a Markdown table")),
    *(("+----+", ",", "a table drawn with lines"), ("┌──┬──┐", ",", "a table drawn with lines"), ("+1 day", ",", "")),
    *(("<!DOCTYPE html>", ",", "HTML or XML"), ('<table border="1">', ",", "HTML or XML"), ("<NA>", ",", ""), ("< 5", ",", "")),
    *(("SELECT a FROM t", ",", "SQL"), ("insert into t values (1)", ",", "SQL"), ("Select one", ",", "")),
    *(("sep=;", ",", "Excel's `sep=` line"), ("i\0d\0", ",", "UTF-16 without a byte order mark")),
])  # fmt: skip
def test_a_file_in_another_form_is_named(header: str, delimiter: str, hint: str) -> None:
    """A wrong table of one column whose name is the beginning of another format, or contains another delimiter, is said to be that."""
    answer, gold = (
        Table(header=names, columns=((cell,),) * len(names), n_rows=1) for names, cell in (((header,), header), (("a", "b"), "1"))
    )
    one, several = SCORERS.load("table_match"), SCORERS.load("tables_match")
    if hint and "delimiter" not in hint:
        hint = f"the file begins like {hint}, not like a CSV: {header!r}"
    for score in (one.score(answer, gold=gold, delimiter=delimiter), several.score([answer], gold=[gold], delimiter=delimiter)):
        assert (score.official, score.strict) == (0, 0)
        assert score.strict_reason.endswith(hint and f"; {hint}")
        assert any(words in score.strict_reason for words in ("one column:", "begins like")) is bool(hint)


OF_GOLD = "id,name,active,note\n1,Oslo,True,\n2,Rome,False,x\n"
DRAWN, LINES, FIRST = (
    "the file begins like a table drawn with lines",
    "the file begins like `name = value`",
    "the first line, which is read",
)


@pytest.mark.parametrize(("text", "hint"), [
    *(("id  name\n--  ----\n1   Oslo\n", DRAWN), (" id | name\n----+------\n  1 | Oslo\n", DRAWN), ("a\n-----\n--\n", "")),
    *(("   id = 1\n name = Oslo\n", LINES), ("a = 1\nb = 2\n", ""), (" a = 1\n long = 2\n", "")),
    *(("- id: 1\n  name: Oslo\n", "the file begins like YAML"), ("- id: 1\n- id: 2\n", "")),
    *(("Here it is:\n```csv\n1\n", "the file contains the line '```csv'"), ("a,b\n```,```\n", ""), ("a;b\nOslo\n", "")),
    *((OF_GOLD.partition("\n")[2], f"{FIRST} as the names of the columns, has the values of row 1 of gold"), ("1,Oslo,True,y\n", "")),
    ("1,Oslo,1,\n", f"{FIRST} as the names of the columns, has the values of row 1 of gold"),
    *((f"Cities,,,\n{OF_GOLD}", "row 1 has the names of gold's columns"), ("Cities,,,\nid,name,active,other\n", "")),
    *((f"{OF_GOLD}(2 rows),,,\n", "the last line '(2 rows)', which"), (f"{OF_GOLD}(3 rows),,,\n", ""), (f"{OF_GOLD}(2 rows),,1,\n",
        "")),
    (OF_GOLD.replace("True", "t").replace("False", "f"),
        "'active' that differs is 't' where gold has True or 'f' where gold has False"),
    (OF_GOLD.replace("True", "no").replace("False", "yes"), ""),
    (OF_GOLD.replace("True,", "True,(null)"), "each cell of 'note' that differs is '(null)' where gold is empty"),
    (OF_GOLD.replace("True,", "True,-").replace(",x", ",y"), ""),
])  # fmt: skip
def test_a_file_that_shows_why_it_is_wrong(text: str, hint: str) -> None:
    """Two lines of another form, lines that are no rows, and other words for true, false and empty; a file that is only like one is not."""
    answer, gold = (read_csv_table(BytesIO(data.encode()), name="r.csv", limits=DEFAULT_LIMITS) for data in (text, OF_GOLD))
    score = SCORERS.load("table_match").score(answer, gold=gold)
    assert (score.official, score.strict) == (0, 0)
    last = score.reason.rpartition("; ")[2]
    assert hint in last if hint else not any(words in last for words in ("the file ", "line", "names of", "that differs", "delimiter"))


def test_rows_longer_than_the_header_are_named() -> None:
    """Under the official rules too, where the fields before the last ones are no columns."""
    answer, gold = (Table(header=("a", "b"), columns=(("1",), ("2",)), n_rows=1, ragged_line=line) for line in (2, None))
    score = SCORERS.load("table_match").score(replace(answer, columns=(("x",), ("y",))), gold=gold)
    assert score.reason.endswith(
        "; line 2 has more fields than the header, so the first fields of each row are read as its label, not as columns"
    )
    assert score.strict_reason == "ragged rows: line 2 has more fields than the header"


@pytest.mark.parametrize(
    ("cell", "gold", "options"), [("6", "5", {"abs_tol": 1}), ("105", "100", {"rel_tol": 0.05}), ("17.5%", "0.175", {"percentage": True})]
)
def test_tolerances_of_tables(cell: str, gold: str, options: dict[str, Any]) -> None:
    """For one table, for each of several and for those of a database; a database has no percent signs."""
    answer, expected = (Table(header=("a",), columns=((text,),), n_rows=1, name="t") for text in (cell, gold))
    sides: dict[str, tuple[Any, Any]] = {"table_match": (answer, expected), "tables_match": ([answer], [expected])}
    if "percentage" not in options:
        typed = [replace(one, columns=((int(one.columns[0][0]),),), types=("INTEGER",)) for one in (answer, expected)]
        sides["duckdb_match"] = ({"t": typed[0]}, {"t": typed[1]})
    for name, (found, right) in sides.items():
        assert SCORERS.load(name).score(found, gold=right).strict == 0
        assert SCORERS.load(name).score(found, gold=right, **options).strict == 1


@pytest.mark.parametrize(("options", "official"), [({}, 0), ({"reference": "lite"}, 1)])
def test_the_reference_of_tables(options: dict[str, str], official: float) -> None:
    """In Lite an empty cell is 0, in the original it is not; for one table and for each of several."""
    answer, gold = (Table(header=("a",), columns=((text,),), n_rows=1, name="t") for text in ("", "0"))
    assert SCORERS.load("table_match").score(answer, gold=gold, **options).official == official
    assert SCORERS.load("tables_match").score([answer], gold=[gold], **options).official == official


TREE = {"a": "Oslo", "b": {"c": "Bergen", "d": 7}}
ANSWER = {"a": "Osla", "b": {"c": "Bergen", "d": 8}}
SCHEMA = {"a": "string", "b": {"c": "string", "d": "integer"}}
LEAVES = {"a": "levenshtein", "b": {"c": "exact_match", "d": "exact_match"}}


@pytest.mark.parametrize("options", [
    {"leaves_metrics": LEAVES},
    {"leaves_metrics": LEAVES, "exclusive": True},
    {"hierarchical": True},
    {"types_metrics": {"string": "levenshtein"}},
])  # fmt: skip
def test_options_of_tree_score(options: dict[str, Any]) -> None:
    """Both rules' scores are those of the function with the option, and others without it."""
    scored = SCORERS.load("tree_score").score
    plain: dict[str, Any] = {"gold": TREE, "schema": SCHEMA, "types_metrics": {"string": "exact_match", "integer": "exact_match"}}
    found, without = scored(ANSWER, **{**plain, **options}), scored(ANSWER, **plain)
    how = {name: value for name, value in {**plain, **options}.items() if name not in {"gold", "schema"}}
    expected = [treeval_score([ANSWER], [TREE], SCHEMA, compat=compat, **how).score for compat in (True, False)]
    assert [found.official, found.strict] == pytest.approx(expected)
    assert found.strict != pytest.approx(without.strict)


def test_fields_of_tree_match_that_count_together() -> None:
    """With a compound one wrong part makes the whole wrong, on the primary field; without it the other field is right."""
    field = {"type": "string", "x-eval-compare": "name"}
    schema = {"type": "object", "properties": {"first": field, "last": field}}
    plain = {"type": "object", "properties": {"first": {"type": "string"}, "last": {"type": "string"}}}
    gold, answer = {"first": "Ada", "last": "King"}, {"first": "Ida", "last": "King"}
    compound = {"fields": ["first", "last"], "primary": "last", "name": "name", "rule": "all_equal"}
    scored = SCORERS.load("tree_match").score
    together, apart = scored(answer, gold=gold, schema=schema, compounds=[compound]), scored(answer, gold=gold, schema=plain)
    assert (together.strict, apart.strict) == (0.0, 0.5)
    assert scored(gold, gold=gold, schema=schema, compounds=[compound]).strict == 1.0


def test_compat_of_tree_match() -> None:
    """The strict numbers are the reference's too: it compares more than 50 texts in order, and the sound rules find each."""
    texts = [f"t{at}" for at in range(51)]
    part = {"type": "array", "items": {"type": "string"}, "x-eval-align": {"match_by": "hungarian"}}
    options = {"gold": {"t": texts}, "schema": {"type": "object", "properties": {"t": part}}}
    scored = SCORERS.load("tree_match").score
    sound, compat = scored({"t": texts[::-1]}, **options), scored({"t": texts[::-1]}, **options, compat=True)
    assert (sound.official, sound.strict) == pytest.approx((1 / 51, 1.0))
    assert (compat.official, compat.strict) == pytest.approx((1 / 51, 1 / 51))


@pytest.mark.parametrize(("n_golds", "options", "why"), [
    (2, {"condition_cols": [[0]]}, "condition_cols has 1 value for 2 tables"),
    (1, {"ignore_orders": [True, False]}, "ignore_orders has 2 values for 1 table"),
    (0, {}, "gold names no file"),
    (2, {"condition_cols": [], "ignore_orders": []}, ""),
])  # fmt: skip
def test_lists_of_tables_match_have_an_entry_a_table(n_golds: int, options: dict[str, Any], why: str) -> None:
    """Where one has not, the official rules cannot judge, and say which; an empty list is none."""
    table = Table(header=("a",), columns=(("1", "2"),), n_rows=2)
    found = SCORERS.load("tables_match").score([table] * max(1, n_golds), gold=[table] * n_golds, **options)
    assert (found.official, found.fault) == ((None, Fault(code="BAD_SPEC", detail=why)) if why else (1.0, None))


def test_tables_of_a_database() -> None:
    """Without names all of gold's tables count, with names those alone."""
    right, wrong = (Table(header=("a",), columns=((cell,),), n_rows=1, types=("INTEGER",), name="t") for cell in (1, 2))
    scored = SCORERS.load("duckdb_match").score
    for names, expected in ((["t"], 1), (["t", "u"], 0), (None, 0)):
        found = scored({"t": right, "u": wrong}, gold={"t": right, "u": right}, **({} if names is None else {"condition_tabs": names}))
        assert (found.official, found.strict) == (expected, expected)


COLUMNS, CSV_HINT = "[0, 2] for one gold table, [[0, 2], [1]] for a list of two", "how the CSV files of the answer and of gold are written"
ORDERS = "one value for each gold table"
AT_LEAST_0 = "number of at least 0 or object of number of at least 0 or null"
BOUNDED = "parameter {!r} of {} must be {}, found {}"
SCALE = "scale must be two numbers from -1e+300 to 1e+300, the low one first"
NUMBERS = "numbers may be written as 17.5, '17.5', '1,234' or '17.5%'"
# Scorer, parameters, and (message, hint, number of rules that it blocks) of the problem in them.
PROBLEMS: list[tuple[str, dict[str, Any], tuple[str, str, int] | None]] = [
    ("table_match", {"gold": ""}, ("gold names no file", "name the gold table, or a list of accepted ones", 2)),
    (
        "table_match",
        {"gold": ["a"], "condition_cols": [[0], [1]]},
        ("condition_cols has 2 lists for 1 gold table; the rest is ignored", "", 0),
    ),
    ("table_match", {"gold": ["a", "b"], "condition_cols": [[0], [1]]}, None),
    ("table_match", {"gold": ["a"], "condition_cols": [[]]}, None),
    (
        "table_match",
        {"gold": ["a", "b"], "ignore_order": [True]},
        ("ignore_order has 1 value for 2 gold tables; the reference takes any list but [] as true", ORDERS, 0),
    ),
    (
        "table_match",
        {"gold": "a", "ignore_order": [True]},
        ("ignore_order has 1 value for 1 gold table; the reference takes any list but [] as true", ORDERS, 0),
    ),
    ("table_match", {"gold": ["a", "b"], "ignore_order": [True, False]}, None),
    (
        "table_match",
        {"gold": "a", "order_by": [0, -1]},
        ("order_by [0, -1] names no column: gold's columns count from 0", "the columns that gold is ordered by, as [0, 2]", 0),
    ),
    (
        "table_match",
        {"gold": ["a", "b"], "order_by": [[0], [-2]]},
        ("order_by [[0], [-2]] names no column: gold's columns count from 0", "the columns that gold is ordered by, as [0, 2]", 0),
    ),
    ("table_match", {"gold": "a", "order_by": [0]}, None),
    ("table_match", {"gold": "a", "condition_cols": 3}, ("condition_cols is 3: the reference fails", COLUMNS, 0)),
    (
        "table_match",
        {"gold": "a", "condition_cols": [[0]]},
        ("condition_cols cannot be [[0]] for one gold table: the reference takes a flat list for each", COLUMNS, 1),
    ),
    ("table_match", {"gold": ["a", "b"], "condition_cols": [[0]]}, ("condition_cols contains 1 list for 2 gold tables", COLUMNS, 0)),
    (
        "table_match",
        {"gold": ["a"], "condition_cols": [0, 2], "reference": "lite"},
        ("the reference takes all columns: of a list for one gold table in a list it reads the first entry alone", "write [[0, 2]]", 0),
    ),
    ("table_match", {"gold": ["a"], "condition_cols": [[0, 2]], "reference": "lite"}, None),
    ("table_match", {"gold": "a", "delimiter": "xx"}, ("delimiter 'xx' is not one character between cells", CSV_HINT, 2)),
    ("tables_match", {"gold": ["a"], "delimiter": "xx"}, ("delimiter 'xx' is not one character between cells", CSV_HINT, 2)),
    ("tables_match", {"gold": []}, ("gold names no file", "name one gold table for each table of an answer", 2)),
    ("tables_match", {"gold": ["a"], "condition_cols": [[0], [1]]}, ("condition_cols has 2 values for 1 table", ORDERS, 1)),
    ("number_match", {"gold": []}, ("gold is an empty list", "name at least one accepted number", 2)),
    ("number_match", {"gold": "x"}, ("gold is not a finite number", NUMBERS, 2)),
    ("number_match", {"gold": float("inf")}, ("gold is not a finite number", NUMBERS, 2)),
    ("number_match", {"gold": ["17.5%", 3, "1,234"]}, None),
    ("number_match", {"gold": [1, "1"], "conj": "and"}, ("gold names a number twice; one in the answer is enough for both", "", 0)),
    ("number_match", {"gold": [1, 1]}, None),
    ("number_match", {"gold": 1, "abs_tol": -1}, (BOUNDED.format("abs_tol", "number_match", "number of at least 0 or null", -1), "", 2)),
    ("number_match", {"gold": 1, "abs_tol": 0, "rel_tol": 1e308, "precision": -308}, None),
    ("number_match", {"gold": 1, "precision": 400}, (BOUNDED.format("precision", "number_match", "integer from -308 to 308", 400), "", 2)),
    (
        "table_match",
        {"gold": "a", "abs_tol": {"a": float("nan")}},
        (BOUNDED.format("abs_tol", "table_match", AT_LEAST_0, "{'a': nan}"), "", 2),
    ),
    ("tables_match", {"gold": ["a"], "rel_tol": float("inf")}, (BOUNDED.format("rel_tol", "tables_match", AT_LEAST_0, "inf"), "", 2)),
    ("duckdb_match", {"gold": "a", "rel_tol": -0.1}, (BOUNDED.format("rel_tol", "duckdb_match", AT_LEAST_0, "-0.1"), "", 2)),
    ("ter", {"gold": "a", "scale": [0, float("inf")]}, (SCALE, '"scale": [0, 100]', 2)),
    ("bleu", {"gold": "a", "max_ngram_order": 0}, ("parameter 'max_ngram_order' of bleu must be integer from 1 to 1000, found 0", "", 2)),
    ("composite", {"gold": "a", "parts": [{"f1": {}, "weight": 10**400}]}, ("weights must be numbers from 0 to 1e+300", "", 2)),
    (
        "composite",
        {"gold": "a", "parts": [{"bleu": {"smooth_value": -1}}]},
        ("bleu: smooth_value must be number from 0 to 1000 or null, found -1", "", 2),
    ),
    ("sql_match", {"gold": " \0", "database": "x"}, ("gold is empty", "give gold's SQL", 2)),
    ("sql_match", {"gold": "SELECT 1", "database": ""}, ("database is empty", "the name of a folder or file below --databases", 2)),
]


@pytest.mark.parametrize(("name", "parameters", "problem"), PROBLEMS)
def test_problems_of_parameters(name: str, parameters: dict[str, Any], problem: tuple[str, str, int] | None) -> None:
    """Each names what is wrong and how it is written; only what the reference cannot read blocks its rules, what nobody can, both."""
    found = [(one.message, one.hint, len(one.blocks)) for one in check_parameters(SCORERS.load(name), parameters)]
    assert found == ([problem] if problem else [])


def a_result(*rows: tuple[Any, ...], header: str = "ab") -> Table:
    """The result of a query."""
    return Table(header=tuple(header), columns=tuple(zip(*rows, strict=True)), n_rows=len(rows), types=("INTEGER",) * len(header))


@pytest.mark.parametrize(("evaluator", "gold", "rows", "others", "official", "strict", "why"), [
    ("bird-ex", "SELECT a, b", [(1, 2), (1, 2)], [(1, 2)], 1, 0, "the same set of rows: 2 rows"),
    ("bird-ex", "SELECT a, b", [(1, 2), (3, 4)], [(3, 4), (5, 6)], 0, 0,
        "1 of gold's 2 distinct rows is not among the answer's, 1 of its own"),
    ("bird-ex", "SELECT a, b", [(1, 2), (3, 4)], [(5, 6)], 0, 0,
        "2 of gold's 2 distinct rows are not among the answer's, 1 of its own"),
    ("test-suite", "SELECT a, b", [(1, 2), (3, 4)], [(3, 4), (1, 2)], 1, 1, "the same rows: 2 rows"),
    ("test-suite", "SELECT a, b", [(1, 2), (1, 2)], [(1, 2)], 0, 0, "1 row, gold's query gives 2: the distinct ones are the same"),
    ("test-suite", "SELECT a, b", [(1, 2), (1, 2), (3, 4)], [(1, 2), (3, 4), (3, 4)], *(0, 0,
        "the same distinct rows, in other numbers")),
    ("test-suite", "SELECT a, b Order By a", [(1, 2), (3, 4)], [(3, 4), (1, 2)], 0, 0, "the same rows in another order than gold's"),
    ("test-suite", "SELECT a, b Order By a", [(1, 2), (3, 4), (3, 4)], [(1, 2), (1, 2), (3, 4)], 0, 0,
        "the same distinct rows, in other numbers"),
    ("test-suite", "SELECT a, b ORDER BY a", [(1, 2), (3, 4)], [(1, 2), (3, 4)], 1, 1, "rows in gold's order: 2 rows"),
    ("test-suite", "SELECT a, b ORDER BY a", [(1, 2), (1, 3)], [(1, 3), (1, 2)], 0, 1, "the same rows in another order than gold's"),
])  # fmt: skip
def test_the_reasons_of_query_pairs(
    evaluator: str, gold: str, rows: list[tuple[int, int]], others: list[tuple[int, int]], official: int, strict: int, why: str
) -> None:
    """What differs between two results, and on which database; strict counts rows, and keeps gold's outermost order but for ties."""
    scored = SCORERS.load("sql_match").score
    found = scored(([a_result(*others)], [a_result(*rows)]), gold=gold, database="x", evaluator=evaluator)
    assert (found.official, found.strict, found.reason) == (official, strict, why)
    same = a_result((7, 8))
    several = scored(([same, a_result(*others)], [same, a_result(*rows)]), gold=gold, database="x", evaluator=evaluator)
    assert (several.official, several.strict) == (official, strict)
    assert several.reason == (f"{why.partition(':')[0]}: 1 row on 2 databases" if official else f"database 2 of 2: {why}")
    if not strict:
        assert several.reason_for("strict").startswith("database 2 of 2: ")
    narrow = scored(([a_result((1,), header="a")], [same]), gold=gold, database="x", evaluator=evaluator)
    assert narrow.reason == "1 column, gold's query gives 2"
    half = scored(([a_result((1, 2))], [a_result((1, 2), (3, 4))]), gold=gold, database="x", evaluator=evaluator)
    assert (half.details["soft_f1"], several.details["soft_f1"]) == (0.666667, 1)


@pytest.mark.parametrize(("options", "why"), [
    ({"post_process": ["odd"]}, "unknown post-processor 'odd': reclassify_nulls or propagate_batch_errors"),
    ({"post_process": [{"reclassify_nulls": {"odd": 1}}]}, "unknown post-processor {'reclassify_nulls': {'odd': 1}}: "),
    ({"post_process": [{}]}, "unknown post-processor {}: "),
    ({"post_process": [{"propagate_batch_errors": {"a": 1}}]}, "unknown post-processor {'propagate_batch_errors': {'a': 1}}: "),
    ({"compounds": [{"name": "exact", "fields": ["a"], "primary": "a"}]}, "is built in and cannot be replaced"),
    ({"compounds": [{"fields": ["a"]}]}, "compound {'fields': ['a']}: lacks primary; write {'fields': ['value', 'unit'], "),
    ({"gold": []}, "no schema can be inferred from gold: "),
])  # fmt: skip
def test_steps_that_tree_match_does_not_know(options: dict[str, Any], why: str) -> None:
    """They are gold's fault, with what was written, and so is gold without a record, of which no schema can be inferred."""
    with pytest.raises(FaultError) as refused:
        SCORERS.load("tree_match").score([{"a": "x"}], **{"gold": [{"a": "x"}], **options})
    assert (refused.value.fault.code, refused.value.side) == ("BAD_SPEC", "gold")
    assert why in str(refused.value)


def test_steps_of_tree_match() -> None:
    """Both by name, the second with options too, in order: a null counts as absent."""
    scored, gold, answer = SCORERS.load("tree_match").score, {"a": "x", "b": None}, {"a": "x", "b": "n/a"}
    plain = scored(answer, gold=gold)
    for step in ("propagate_batch_errors", {"reclassify_nulls": {"absent_values": [None, "n/a"], "both_absent_skip": True}}):
        found = scored(answer, gold=gold, post_process=[step])
        assert (found.strict == plain.strict) is (step == "propagate_batch_errors")
    assert scored(answer, gold=gold, post_process=["reclassify_nulls"]).strict is not None


def test_the_official_verdict_is_known_before_the_strict_one() -> None:
    """So that a strict verdict that takes too long does not lose it."""
    table = Table(header=("a",), columns=(("1",),), n_rows=1, name="x")
    for name, answer, gold in (
        ("table_match", table, table), ("tables_match", [table], [table]), ("duckdb_match", {"x": table}, {"x": table}),
        ("tree_match", {"a": "x"}, {"a": "x"}),
    ):  # fmt: skip
        with official_only(), pytest.raises(OfficialError) as known:
            SCORERS.load(name).score(answer, gold=gold)
        assert (known.value.score.official, known.value.score.strict) == (1, None)


def test_a_limit_under_the_strict_rules_alone() -> None:
    """It is the strict reason, and the reference keeps its own, unless it has the same limit."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "set"}}}
    both = SCORERS.load("tree_match").score({"a": "x," * 2001}, gold={"a": "x"}, schema=schema)
    assert [fault and fault.code for fault in (both.fault, both.strict_fault)] == ["LIMIT"] * 2
    assert (both.official, both.strict, both.reason) == (0, 0, "a set of 2,001 elements, the limit is 2,000")
    long = SCORERS.load("tree_match").score({"a": "x"}, gold={"a": "x"}, schema=schema, id_field="y" * 300, compat=True)
    assert long.reason == "the reference fails: KeyError: '".ljust(200, "y")
    found = SCORERS.load("tree_match").score([{"a": "x," * 2001}, {"a": "x"}], gold=[{"a": "x"}], schema=schema)
    assert (found.official, found.strict, found.fault, found.strict_fault and found.strict_fault.code) == (0, 0, None, "LIMIT")
    assert "must have the same length" in found.reason
    assert found.strict_reason == "a set of 2,001 elements, the limit is 2,000"


def test_gold_of_which_nothing_can_be_compared() -> None:
    """A database without tables is gold's fault; a table that cannot be read is named by its number, from 1."""
    found = SCORERS.load("duckdb_match").score({}, gold={})
    assert (found.official, found.strict, found.fault and found.fault.code) == (None, None, "BAD_SPEC")
    assert found.reason == "gold has no table to compare"
    table = Table(header=("a",), columns=(("1",),), n_rows=1, name="x")
    score = SCORERS.load("tables_match").score([table, table], gold=[table, Fault(code="BAD_CSV", detail="d")])
    assert (score.strict, score.strict_reason) == (None, "table 'gold 2': BAD_CSV: d")


PARTS = [{"exact_match": {}, "weight": 1}, {"f1": {}, "weight": 3}]
SCORES: list[tuple[str, str, dict[str, Any], float]] = [
    ("exact_match", "paris", {"gold": ["Rome", "Paris"], "ignore_case": True}, 1),
    ("f1", "a big cat", {"gold": "cat"}, 2 / 3),
    ("bleu", "the cat", {"gold": "the cat"}, 1),
    ("chrf", "the cat", {"gold": "the cat"}, 1),
    ("ter", "a b c d", {"gold": "a b c e", "scale": [0, 100]}, 0.75),
    ("rouge", "a b", {"gold": "a c", "kind": "rouge1"}, 0.5),
    ("rouge", "b a", {"gold": "a b"}, 0.5),
    ("levenshtein", "kitten", {"gold": "sitting"}, 4 / 7),
    ("levenshtein_distance", "kitten", {"gold": "sitting", "scale": [0, 6]}, 0.5),
    ("jaro_winkler", "same", {"gold": "same"}, 1),
    ("word_count_match", "one two", {"gold": "a b c d"}, 0.5),
    ("readability", "Go. Stop now. The cat sat down.", {"scale": [0, 100]}, 1),
    ("hedging_language", "As an AI language model, I cannot", {}, 0),
    ("pass_at_k", "x = 2", {"gold": "assert x == 1", "k": 2}, 0),
    ("composite", "a big cat", {"gold": "cat", "parts": PARTS}, 0.5),
    ("composite", "a big cat", {"gold": "cat", "parts": ["exact_match", {"exact_match": {}}, {"f1": {}, "weight": 6}]}, 0.5),
    ("composite", "a b", {"gold": "a c", "parts": [{"rouge": {"kind": "rouge1"}}]}, 0.5),
]


@pytest.mark.parametrize("name", [name for name in METRICS if name in SCORERS.bundled])
def test_its_parameters_are_its_options(name: str) -> None:
    """Gold may give each option of the metric that a gold file can hold, `gold`, and `scale` where the metric has no bounds."""
    made = get_metric(name, **{"parts": ["f1"]} if name == "composite" else {})
    own = set(SCORERS.load(name).parameters)
    assert own - {"gold", "scale"} <= {option.name for option in fields(made)}
    assert "gold" in own
    assert ("scale" in own) == (made.low is None or made.high is None or name == "llm_judge")
    assert own & {"field", "embedder", "allow_programs", "settings", "base_url", "key_env", "judge"} == set()


@pytest.mark.parametrize(("name", "prediction", "parameters", "expected"), SCORES)
def test_scores(name: str, prediction: str, parameters: dict[str, Any], expected: float) -> None:
    """The value on [0, 1] where more is better, the same under both rules, with a reason."""
    assert check_parameters(SCORERS.load(name), parameters) == []
    with allowing_programs(True):
        score = SCORERS.load(name).function(prediction, **parameters)
    assert score.official == score.strict == pytest.approx(expected)
    assert score.reason
    json.dumps(dict(score.details))


@pytest.mark.parametrize(("name", "parameters"), [
    ("exact_match", {"gold": []}), ("f1", {"gold": "a", "variant": "issue_set", "tokens": "char"}),
    ("jaro_winkler", {"gold": "a", "prefix_weight": 0.3}),
    *(("ter", {"gold": "a", "scale": scale}) for scale in ([100, 0], [5, 5], [5], [0, 5, 9])),
    ("python_unit_testing", {"gold": "a", "memory_mib": 63}), ("pass_at_k", {"gold": "a", "memory_mib": 1}),
    ("pass_at_k", {"gold": "a", "k": 0}), ("composite", {"gold": "a", "parts": [{"ter": {}}]}),
    ("composite", {"gold": "a", "parts": []}), ("composite", {"gold": "a", "parts": ["exact"]}),
])  # fmt: skip
def test_bad_gold_is_found_before_the_run(name: str, parameters: dict[str, Any]) -> None:
    """What the metric would refuse is a problem of gold."""
    assert [problem.code for problem in check_parameters(SCORERS.load(name), parameters)] == ["BAD_SPEC"]
    assert list(check_parameters(SCORERS.load("python_unit_testing"), {"gold": "a", "memory_mib": 64})) == []
