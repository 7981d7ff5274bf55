"""The table of formats: any document in any form."""

from pathlib import Path

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.reports import FORMATS, check_output
from evalsuite.reports.document import Document


def test_every_name_leads_to_a_function() -> None:
    """Each format has its function."""
    for name in FORMATS.values():
        assert callable(name.load())


@pytest.mark.parametrize("ending", [ending for ending in FORMATS if ending not in (".csv", ".parquet")])
def test_a_document_with_nothing_in_it_has_every_form(ending: str) -> None:
    """A renderer asks nothing of its subject but a name and a first line; files of rows need a table."""
    rendered = FORMATS[ending].load()(Document(name="n", title="the first line", last_line="done"))
    text = rendered if isinstance(rendered, str) else "".join(rendered)
    assert text


def test_an_unknown_ending_is_refused() -> None:
    """One sentence for all subjects, with the endings there are."""
    with pytest.raises(UsageError, match=r"no report format for 'x\.htm'") as caught:
        check_output(Path("x.htm"))
    assert ".html" in str(caught.value.hint)
