"""One page of a list, in numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import UsageError
from evalsuite.reports.viewer.views import paginate


def test_pages() -> None:
    """Eleven items in fives: three pages, the last with one; past the end is empty; page 0 is an error."""
    assert paginate(range(11), page=3).items == (10,)
    assert (paginate(range(11), page=9).items, paginate(range(11), page=9).total_pages) == ((), 3)
    assert paginate([]).total_pages == 1
    for wrong in ({"page": 0}, {"page_size": 0}):
        with pytest.raises(UsageError):
            paginate([1], **wrong)


@given(st.integers(0, 60), st.integers(1, 20))
def test_pages_part_the_list(n: int, size: int) -> None:
    """All pages one after the other are the list."""
    first = paginate(range(n), page_size=size)
    pages = [paginate(range(n), page=number, page_size=size).items for number in range(1, first.total_pages + 1)]
    assert [item for page in pages for item in page] == list(range(n))
