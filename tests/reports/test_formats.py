"""The table of formats: one place, the same endings for a run, a comparison and a leaderboard."""

from pathlib import Path

import pytest

from evalsuite.errors import UsageError
from evalsuite.reports import FORMATS, check_output


def test_every_subject_has_every_format() -> None:
    """What a run can be written as, comparisons and leaderboards can be too, and each name leads to a function."""
    assert [sorted(formats) for formats in FORMATS.values()] == [sorted(FORMATS["run"])] * 3
    for formats in FORMATS.values():
        for name in formats.values():
            assert callable(name.load())


@pytest.mark.parametrize("subject", FORMATS)
def test_an_unknown_ending_is_refused(subject: str) -> None:
    """One sentence for all three, with a near ending where there is one."""
    with pytest.raises(UsageError, match=r"no report format for 'x\.htm'") as caught:
        check_output(Path("x.htm"), subject)  # type: ignore[arg-type]
    assert ".html" in str(caught.value.hint)
