"""docs/scorers.md and docs/metrics.md say what the code says."""

from tests.meta.scorer_table import METRIC_PAGE, PAGE, metric_page, page


def test_the_table_of_scorers_is_current() -> None:
    """The committed page is what the code gives; `python -m tests.meta.scorer_table` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    """docs/metrics.md has every metric with its range, direction, options and value on the example, as the code has them."""
    assert METRIC_PAGE.read_text(encoding="utf-8") == metric_page(), "run `python -m tests.meta.scorer_table`"
