"""Causes: simple things that go wrong on the way to an answer, by name and in order of cost, with what undoes and what plants each.

`evalsuite.explain` undoes them to prove a cause; `evalsuite.audit` plants them to see whether a scorer notices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.causes import (
    file_repairs,
    filter_repairs,
    grouping_repairs,
    laws,
    number_laws,
    plants,
    row_repairs,
    text_laws,
    time_laws,
    total_rows,
)
from evalsuite.causes.laws import Law
from evalsuite.causes.row_repairs import Repair
from evalsuite.causes.value_pairs import DAY

LAWS: Final[tuple[Law, ...]] = (
    Law("null and zero", "0 and NULL are taken for each other", laws.null_and_zero, plants.plant_null_and_zero),
    Law("null word", "a word stands where gold is NULL", laws.each(laws.null_word), plants.plant_null_word),
    Law("spaces", "spaces, hyphens or underscores differ", text_laws.same_text("spaces"), plants.plant_spaces),
    Law("case", "upper and lower case differ", text_laws.same_text("case"), plants.plant_text(str.swapcase)),
    Law("quotes", "quotation marks stand around the text, or around gold's", text_laws.quotes, plants.plant_text(lambda text: f"'{text}'")),
    Law("accents", "accents or forms of letters differ", text_laws.same_text("accents"), plants.plant_text(text_laws.bare)),
    Law(
        "characters lost",
        "characters beyond ASCII are lost",
        laws.each(text_laws.characters_lost),
        plants.plant_text(text_laws.without_symbols),
    ),
    Law("encoding", "the text was read in the wrong encoding, or stands as HTML", text_laws.encoding, plants.plant_encoding),
    Law("punctuation", "punctuation differs", text_laws.same_text("punctuation"), plants.plant_text(plants.with_full_stop)),
    Law("stored as text", "values are stored as text, or texts as other values", laws.stored_as_text, plants.plant_stored_as_text),
    Law("number in text", "the numbers stand in text", laws.number_in_text, plants.plant_number_in_text),
    Law("leading zeros", "leading zeros differ", laws.each(text_laws.leading_zeros), plants.plant_leading_zeros),
    Law("date form", "dates are written in another form", time_laws.date_form, plants.plant_date_form),
    Law(
        "day and month", "days and months are exchanged", time_laws.day_and_month,
        plants.plant_day_and_month, scope=time_laws.exchanged_days,
    ),
    Law("off by one day", "dates are one day off", time_laws.off_by_a_day, plants.plant_instant(DAY)),
    Law("summer time", "times are one hour off in one season", time_laws.summer_time, partial=True),
    Law("time zone", "times are shifted, as in another time zone", time_laws.time_zone, plants.plant_zone),
    Law("epoch time", "times are counted from 1970", time_laws.epoch_time, plants.plant_epoch),
    Law("time cut off", "the time of day, the day or the month is cut off", time_laws.time_cut, plants.plant_time_cut),
    Law("sign", "the sign is the opposite", number_laws.sign, plants.plant_number(lambda value: -value)),
    Law("times 100", "the numbers are 100 times gold's, or 1 %", number_laws.scaled_by(["100"]), plants.plant_number(lambda v: v * 100)),
    Law("unit", "the numbers are in another unit", number_laws.scaled_by(list(number_laws.UNITS)), plants.plant_number(lambda v: v / 1000)),
    Law("off by one", "the numbers are off by one", number_laws.off_by_one, plants.plant_off_by_one),
    Law("rounding", "the numbers have lost digits", number_laws.rounding, plants.plant_rounding),
    Law("fan-out", "rows are counted several times, as after a join that fans out", number_laws.fan_out, partial=True),
    Law("constant factor", "all numbers are off by one factor", number_laws.constant_factor, plants.plant_number(lambda value: value * 7)),
    Law("true and false", "yes and no are written in other words", laws.truth_form, plants.plant_truth(("yes", "no"), same=True)),
    Law("inverted", "true and false are exchanged", laws.inverted, plants.plant_truth(("true", "false"), same=False)),
    Law("default value", "a constant stands where gold is NULL", laws.default_value),
    Law("value lost", "NULL stands where gold has a value", laws.each(laws.value_lost), plants.plant_value_lost),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableCause:
    """A cause that concerns the rows and columns of a table: its repair, and in which phase of the search it is tried."""

    name: str
    says: str
    repair: Repair
    phase: str


TABLE_CAUSES: Final[tuple[TableCause, ...]] = (
    TableCause("delimiter", "the file has another separator than the comma", file_repairs.delimiter, "file"),
    TableCause("transposed", "rows stand for columns", file_repairs.transposed, "file"),
    TableCause("no header row", "the header line is missing", file_repairs.no_header, "file"),
    TableCause("wrong order", "the rows stand in another order", row_repairs.wrong_order, "rows"),
    TableCause("total rows", "rows are totals or subtotals of the others", total_rows.total_rows, "rows"),
    TableCause("rows duplicated", "rows stand several times, as after a join that fans out", row_repairs.duplicated, "rows"),
    TableCause("wrong grouping level", "the numbers are grouped more finely or more coarsely", grouping_repairs.wrong_level, "rows"),
    TableCause("tie at the cut", "rows tie with the last place", row_repairs.tie_at_the_cut, "rows"),
    TableCause("missing filter", "extra rows share a value: a filter is missing", filter_repairs.missing_filter, "rows"),
    TableCause("keys repeated", "rows repeat a key that stands once in gold", row_repairs.repeated_keys, "rows"),
    TableCause("extra rows", "there are rows too many", filter_repairs.extra_rows, "rows"),
    TableCause("missing rows", "there are rows too few", filter_repairs.missing_rows, "rows"),
    TableCause("missing column", "a needed column is not handed in", row_repairs.missing_column, "columns"),
    TableCause("columns swapped", "two columns are exchanged in some rows", row_repairs.swapped_cells, "columns"),
    TableCause("rows scrambled", "cells of different rows are put together", row_repairs.scrambled, "columns"),
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


def law(name: str) -> Law:
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
        if wrong is plants.NOTHING:
            continue
        if n % every == 0:
            planted[row] = wrong
        n += 1
    return planted if n else None
