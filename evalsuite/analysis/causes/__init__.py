"""Causes: simple errors on the way to an answer, by name and in order of cost, each with what undoes it and what injects it.

`analysis.explain` undoes a cause to prove it; `analysis.gold_checks` injects it to test whether a scorer notices.
"""

from typing import Final

from evalsuite.analysis.causes import error_hypotheses as errors
from evalsuite.analysis.causes import error_injection as injection
from evalsuite.analysis.causes import table_repairs as repairs
from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis
from evalsuite.analysis.causes.table_repairs import Repair
from evalsuite.analysis.causes.values import DAY
from evalsuite.core.dataclasses import dataclass

ERROR_HYPOTHESES: Final[tuple[ErrorHypothesis, ...]] = (
    ErrorHypothesis("null and zero", "0 and NULL are confused", errors.null_and_zero, injection.inject_null_and_zero),
    ErrorHypothesis("null word", "a word where gold is NULL", errors.for_each_value(errors.null_word), injection.inject_null_word),
    ErrorHypothesis(
        "spaces", "spaces, hyphens or underscores differ",
        errors.same_text("spaces"), injection.inject_text(lambda text: text.replace(" ", "  ")),
    ),
    ErrorHypothesis("case", "upper and lower case differ", errors.same_text("case"), injection.inject_text(str.swapcase)),
    ErrorHypothesis(
        "quotes", "quotation marks around the text, or around gold's, are added",
        errors.quotes, injection.inject_text(lambda text: f"'{text}'"),
    ),
    ErrorHypothesis(
        "accents", "accents or forms of letters differ",
        errors.same_text("accents"), injection.inject_text(errors.strip_accents),
    ),
    ErrorHypothesis(
        "characters lost",
        "characters beyond ASCII are lost",
        errors.for_each_value(errors.characters_lost),
        injection.inject_text(errors.drop_symbols),
    ),
    ErrorHypothesis(
        "encoding", "the text was read in the wrong encoding, or contains HTML entities",
        errors.encoding, injection.inject_text(lambda text: text.encode().decode("latin-1")),
    ),
    ErrorHypothesis("punctuation", "punctuation differs", errors.same_text("punctuation"), injection.inject_text(injection.add_full_stop)),
    ErrorHypothesis(
        "stored as text", "values are stored as text, or texts as other values",
        errors.stored_as_text, injection.inject_stored_as_text,
    ),
    ErrorHypothesis("number in text", "the numbers are written as text", errors.number_in_text, injection.inject_number_in_text),
    ErrorHypothesis("leading zeros", "leading zeros differ", errors.for_each_value(errors.leading_zeros), injection.inject_leading_zeros),
    ErrorHypothesis("date form", "dates are written in another form", errors.date_form, injection.inject_date_form),
    ErrorHypothesis(
        "day and month", "days and months are exchanged", errors.day_and_month,
        injection.inject_day_and_month, scope=errors.exchanged_days,
    ),
    ErrorHypothesis("off by one day", "dates are one day off", errors.off_by_a_day, injection.inject_instant(DAY)),
    ErrorHypothesis("summer time", "times are one hour off in one season", errors.summer_time, partial=True),
    ErrorHypothesis("time zone", "times are shifted, as in another time zone", errors.time_zone, injection.inject_zone),
    ErrorHypothesis("epoch time", "times are counted from 1970", errors.epoch_time, injection.inject_epoch),
    ErrorHypothesis("time cut off", "the time of day, the day or the month is cut off", errors.time_cut, injection.inject_time_cut),
    ErrorHypothesis("sign", "the sign is the opposite", errors.sign, injection.inject_number(lambda value: -value)),
    ErrorHypothesis(
        "times 100", "the numbers are 100 times gold's, or 1 % of them",
        errors.scale_by(["100"]), injection.inject_number(lambda v: v * 100),
    ),
    ErrorHypothesis(
        "unit", "the numbers are in another unit",
        errors.scale_by(list(errors.UNITS)), injection.inject_number(lambda v: v / 1000),
    ),
    ErrorHypothesis("off by one", "the numbers are off by one", errors.off_by_one, injection.inject_off_by_one),
    ErrorHypothesis("rounding", "the numbers have lost digits", errors.rounding, injection.inject_rounding),
    ErrorHypothesis("fan-out", "rows are counted several times, as after a join that fans out", errors.fan_out, partial=True),
    ErrorHypothesis(
        "constant factor", "all numbers are off by one factor",
        errors.constant_factor, injection.inject_number(lambda value: value * 7),
    ),
    ErrorHypothesis(
        "true and false", "yes and no are written in other words",
        errors.truths(same=True), injection.inject_truth(("yes", "no"), same=True),
    ),
    ErrorHypothesis(
        "inverted", "true and false are exchanged",
        errors.truths(same=False), injection.inject_truth(("true", "false"), same=False),
    ),
    ErrorHypothesis("default value", "a constant where gold is NULL", errors.default_value),
    ErrorHypothesis("value lost", "NULL where gold has a value", errors.for_each_value(errors.value_lost), injection.inject_value_lost),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableCause:
    """A cause that concerns the rows and columns of a table: its repair, and the phase of the search that tries it."""

    name: str
    says: str
    repair: Repair
    phase: str


TABLE_CAUSES: Final[tuple[TableCause, ...]] = (
    TableCause("delimiter", "the separator of the file is not a comma", repairs.delimiter, "file"),
    TableCause("transposed", "rows and columns are exchanged", repairs.transpose_back, "file"),
    TableCause("no header row", "the header line is missing", repairs.no_header, "file"),
    TableCause("wrong order", "the rows are in another order", repairs.wrong_order, "rows"),
    TableCause("total rows", "rows are totals or subtotals of the others", repairs.total_rows, "rows"),
    TableCause("rows duplicated", "rows occur several times, as after a join that fans out", repairs.drop_duplicates, "rows"),
    TableCause("wrong grouping level", "the numbers are grouped more finely or more coarsely", repairs.wrong_level, "rows"),
    TableCause("tie at the cut", "rows tie with the last place", repairs.tie_at_the_cut, "rows"),
    TableCause("missing filter", "extra rows share a value: a filter is missing", repairs.missing_filter, "rows"),
    TableCause("keys repeated", "rows repeat a key that occurs once in gold", repairs.repeated_keys, "rows"),
    TableCause("extra rows", "there are extra rows", repairs.extra_rows, "rows"),
    TableCause("missing rows", "rows are missing", repairs.missing_rows, "rows"),
    TableCause("missing column", "a needed column is missing", repairs.missing_column, "columns"),
    TableCause("columns swapped", "two columns are exchanged in some rows", repairs.swapped_cells, "columns"),
    TableCause("rows scrambled", "cells of different rows are combined", repairs.unscramble_rows, "columns"),
)

OTHER_CAUSES: Final[dict[str, str]] = {
    "ties in another order": "rows that tie are in another order",
    "NULL group": "a row with a NULL key is missing or extra",
    "join lost": "all rows of some keys are missing or extra: a join is missing or of another type",
    "tables swapped": "the tables are in another order",
    "extra text": "text next to the answer prevents a match",
    "excluded text": "the answer contains excluded text",
    "part missing": "a part of the answer is missing",
    "field missing": "a field is missing",
    "field too many": "there is an extra field",
    "list order": "the items of a list are right, their order is not",
    "fields exchanged": "two fields are exchanged",
    "synonyms": "other words are used for texts, always the same ones",
    "filter too many": "an extra filter removes rows",
    "distinct too many": "equal rows or values are counted once",
    "wrong join": "another join, or one on other columns",
    "wrong bound": "a bound differs",
    "wrong condition": "a condition differs",
    "wrong aggregate": "another aggregate",
    "wrong expression": "a value is computed differently",
    "wrong limit": "another number of rows is taken",
}


def hypothesis(name: str) -> ErrorHypothesis:
    """Return the error hypothesis of that name. Raises KeyError."""
    return {entry.name: entry for entry in ERROR_HYPOTHESES}[name]


def general_sentence(name: str) -> str:
    """Return what a cause means, without any value of gold or the prediction; for an unknown cause its name."""
    sentences = (
        {hypothesis.name: hypothesis.says for hypothesis in ERROR_HYPOTHESES}
        | {cause.name: cause.says for cause in TABLE_CAUSES}
        | OTHER_CAUSES
    )
    return sentences.get(name, name)
