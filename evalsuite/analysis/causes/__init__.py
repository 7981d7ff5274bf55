"""Causes: simple things that go wrong on the way to an answer, by name and in order of cost, with what undoes and what plants each.

`evalsuite.explain` undoes them to prove a cause; `evalsuite.audit` plants them to see whether a scorer notices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.analysis.causes import error_hypotheses, error_injection, table_repairs
from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis
from evalsuite.analysis.causes.table_repairs import Repair
from evalsuite.analysis.causes.values import DAY

LAWS: Final[tuple[ErrorHypothesis, ...]] = (
    ErrorHypothesis("null and zero", "0 and NULL are taken for each other", error_hypotheses.null_and_zero, error_injection.plant_null_and_zero),
    ErrorHypothesis("null word", "a word stands where gold is NULL", error_hypotheses.each(error_hypotheses.null_word), error_injection.plant_null_word),
    ErrorHypothesis("spaces", "spaces, hyphens or underscores differ", error_hypotheses.same_text("spaces"), error_injection.plant_spaces),
    ErrorHypothesis("case", "upper and lower case differ", error_hypotheses.same_text("case"), error_injection.plant_text(str.swapcase)),
    ErrorHypothesis("quotes", "quotation marks stand around the text, or around gold's", error_hypotheses.quotes, error_injection.plant_text(lambda text: f"'{text}'")),
    ErrorHypothesis("accents", "accents or forms of letters differ", error_hypotheses.same_text("accents"), error_injection.plant_text(error_hypotheses.bare)),
    ErrorHypothesis(
        "characters lost",
        "characters beyond ASCII are lost",
        error_hypotheses.each(error_hypotheses.characters_lost),
        error_injection.plant_text(error_hypotheses.without_symbols),
    ),
    ErrorHypothesis("encoding", "the text was read in the wrong encoding, or stands as HTML", error_hypotheses.encoding, error_injection.plant_encoding),
    ErrorHypothesis("punctuation", "punctuation differs", error_hypotheses.same_text("punctuation"), error_injection.plant_text(error_injection.with_full_stop)),
    ErrorHypothesis("stored as text", "values are stored as text, or texts as other values", error_hypotheses.stored_as_text, error_injection.plant_stored_as_text),
    ErrorHypothesis("number in text", "the numbers stand in text", error_hypotheses.number_in_text, error_injection.plant_number_in_text),
    ErrorHypothesis("leading zeros", "leading zeros differ", error_hypotheses.each(error_hypotheses.leading_zeros), error_injection.plant_leading_zeros),
    ErrorHypothesis("date form", "dates are written in another form", error_hypotheses.date_form, error_injection.plant_date_form),
    ErrorHypothesis(
        "day and month", "days and months are exchanged", error_hypotheses.day_and_month,
        error_injection.plant_day_and_month, scope=error_hypotheses.exchanged_days,
    ),
    ErrorHypothesis("off by one day", "dates are one day off", error_hypotheses.off_by_a_day, error_injection.plant_instant(DAY)),
    ErrorHypothesis("summer time", "times are one hour off in one season", error_hypotheses.summer_time, partial=True),
    ErrorHypothesis("time zone", "times are shifted, as in another time zone", error_hypotheses.time_zone, error_injection.plant_zone),
    ErrorHypothesis("epoch time", "times are counted from 1970", error_hypotheses.epoch_time, error_injection.plant_epoch),
    ErrorHypothesis("time cut off", "the time of day, the day or the month is cut off", error_hypotheses.time_cut, error_injection.plant_time_cut),
    ErrorHypothesis("sign", "the sign is the opposite", error_hypotheses.sign, error_injection.plant_number(lambda value: -value)),
    ErrorHypothesis("times 100", "the numbers are 100 times gold's, or 1 %", error_hypotheses.scaled_by(["100"]), error_injection.plant_number(lambda v: v * 100)),
    ErrorHypothesis("unit", "the numbers are in another unit", error_hypotheses.scaled_by(list(error_hypotheses.UNITS)), error_injection.plant_number(lambda v: v / 1000)),
    ErrorHypothesis("off by one", "the numbers are off by one", error_hypotheses.off_by_one, error_injection.plant_off_by_one),
    ErrorHypothesis("rounding", "the numbers have lost digits", error_hypotheses.rounding, error_injection.plant_rounding),
    ErrorHypothesis("fan-out", "rows are counted several times, as after a join that fans out", error_hypotheses.fan_out, partial=True),
    ErrorHypothesis("constant factor", "all numbers are off by one factor", error_hypotheses.constant_factor, error_injection.plant_number(lambda value: value * 7)),
    ErrorHypothesis("true and false", "yes and no are written in other words", error_hypotheses.truth_form, error_injection.plant_truth(("yes", "no"), same=True)),
    ErrorHypothesis("inverted", "true and false are exchanged", error_hypotheses.inverted, error_injection.plant_truth(("true", "false"), same=False)),
    ErrorHypothesis("default value", "a constant stands where gold is NULL", error_hypotheses.default_value),
    ErrorHypothesis("value lost", "NULL stands where gold has a value", error_hypotheses.each(error_hypotheses.value_lost), error_injection.plant_value_lost),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableCause:
    """A cause that concerns the rows and columns of a table: its repair, and in which phase of the search it is tried."""

    name: str
    says: str
    repair: Repair
    phase: str


TABLE_CAUSES: Final[tuple[TableCause, ...]] = (
    TableCause("delimiter", "the file has another separator than the comma", table_repairs.delimiter, "file"),
    TableCause("transposed", "rows stand for columns", table_repairs.transposed, "file"),
    TableCause("no header row", "the header line is missing", table_repairs.no_header, "file"),
    TableCause("wrong order", "the rows stand in another order", table_repairs.wrong_order, "rows"),
    TableCause("total rows", "rows are totals or subtotals of the others", table_repairs.total_rows, "rows"),
    TableCause("rows duplicated", "rows stand several times, as after a join that fans out", table_repairs.duplicated, "rows"),
    TableCause("wrong grouping level", "the numbers are grouped more finely or more coarsely", table_repairs.wrong_level, "rows"),
    TableCause("tie at the cut", "rows tie with the last place", table_repairs.tie_at_the_cut, "rows"),
    TableCause("missing filter", "extra rows share a value: a filter is missing", table_repairs.missing_filter, "rows"),
    TableCause("keys repeated", "rows repeat a key that stands once in gold", table_repairs.repeated_keys, "rows"),
    TableCause("extra rows", "there are rows too many", table_repairs.extra_rows, "rows"),
    TableCause("missing rows", "there are rows too few", table_repairs.missing_rows, "rows"),
    TableCause("missing column", "a needed column is not handed in", table_repairs.missing_column, "columns"),
    TableCause("columns swapped", "two columns are exchanged in some rows", table_repairs.swapped_cells, "columns"),
    TableCause("rows scrambled", "cells of different rows are put together", table_repairs.scrambled, "columns"),
)

OTHER_CAUSES: Final[dict[str, str]] = {
    "ties in another order": "rows that tie stand in another order",
    "NULL group": "a row whose key is NULL is missing, or one too many",
    "join lost": "all rows of some keys are missing, or too many: a join was lost or is of another kind",
    "tables swapped": "the tables are handed in in another order",
    "extra text": "text beside the answer keeps it from being accepted",
    "excluded text": "the answer holds what it must not hold",
    "part missing": "a part of the answer is missing",
    "field missing": "a field is missing",
    "field too many": "a field is too many",
    "list order": "a list is right in another order",
    "fields exchanged": "two fields are exchanged",
    "synonyms": "texts stand in other words, always the same ones",
    "filter too many": "a filter too many leaves rows out",
    "distinct too many": "equal rows or values are counted once",
    "wrong join": "another join, or one on other columns",
    "wrong bound": "a bound is another one",
    "wrong condition": "a condition is another one",
    "wrong aggregate": "another aggregate",
    "wrong expression": "a value is computed in another way",
    "wrong limit": "another number of rows is taken",
}


def law(name: str) -> ErrorHypothesis:
    """The law of that name. Raises KeyError."""
    return {entry.name: entry for entry in LAWS}[name]


def general_sentence(name: str) -> str:
    """What a cause means, without anything of gold or the prediction; the name itself for an unknown one."""
    sentences = {law.name: law.says for law in LAWS} | {cause.name: cause.says for cause in TABLE_CAUSES} | OTHER_CAUSES
    return sentences.get(name, name)


def plant_column(name: str, cells: list[Any], *, native: bool, every: int = 1) -> list[Any] | None:
    """A gold column with a law's error in every `every`-th cell that can bear it; None where none can, or the law cannot be planted."""
    plant: Callable[[Any, bool], Any] | None = law(name).plant
    if plant is None:
        return None
    planted, n = list(cells), 0
    for row, value in enumerate(cells):
        wrong = plant(value, native)
        if wrong is error_injection.NOTHING:
            continue
        if n % every == 0:
            planted[row] = wrong
        n += 1
    return planted if n else None
