"""Each option, parameter of a scorer, key of suite.yaml, fault code and exit code has a test that fails where it has no effect.

`tests/data/noticed_by.json` names it, and `python -m tests.mutation --options --record` writes that file again.
"""

import sys

import pytest

from tests.conftest import ROOT
from tests.features import UNNOTICED, features, noticed_by
from tests.meta import absent_tests
from tests.processes import finished


def test_each_feature_has_a_test_that_notices_it() -> None:
    """What comes without one is listed here, as is a test of something that went."""
    names = features()
    known = {*noticed_by(), *UNNOTICED}
    assert [name for name in names if name not in known] == []
    assert [name for name in known if name not in names] == []
    assert not {*noticed_by()} & {*UNNOTICED}


def test_each_of_these_tests_is_there() -> None:
    """One that is renamed or deleted is replaced by another that notices the same."""
    assert absent_tests({*noticed_by().values()} - {""}) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({name.partition(" ")[0] for name in features()}))
def test_they_notice_it(kind: str) -> None:
    """Each feature of a kind is made ineffective, and a test fails."""
    done = finished([sys.executable, "-m", "tests.mutation", "--options", kind], cwd=ROOT, seconds=7_200)
    assert done.returncode == 0, done.stdout
    assert f"{kind}: " in done.stdout
