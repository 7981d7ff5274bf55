"""Official verdicts equal the recorded scores of the reference in every recorded folder."""

from collections import Counter

import pytest

from evalsuite.scorers import SCORERS
from tests.conformance.recorded import EXEMPT, UNUSED, cases, expected, replayed_submissions, submissions
from tests.conftest import corpus, is_default_corpus

pytestmark = pytest.mark.conformance
FOLDERS = submissions()
STATUSES = {"scored", "missing", "submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"}


def test_recorded_cases_are_there() -> None:
    """A present corpus holds folders with more than zero cases; the default one all eight with 4,569."""
    corpus("spider2")
    total = sum(len(expected(name)) for name in FOLDERS)
    assert total > 0
    if is_default_corpus():
        assert (len(FOLDERS), total) == (8, 4569)


@pytest.mark.parametrize("name", replayed_submissions())
def test_official_equals_the_record(name: str) -> None:
    """Every recorded 0 or 1 is our official score (a null official agrees with a 0), but for the two mutations refused by design."""
    differing, exempted, agreed = [], Counter[str](), 0
    for row, result in cases(name):
        assert set(row["funcs"]) <= set(SCORERS.names()), f"unknown scorer in {row['instance_id']}: {row['funcs']}"
        if row["mutation"] in EXEMPT:
            exempted[row["mutation"]] += 1
        elif row["score"] in (0, 1):
            if (result.official or 0) == row["score"]:
                agreed += 1
            else:
                differing.append((row["instance_id"], row["mutation"], row["score"], result.official, result.reason))
    print(f"\n{name}: {agreed} equal, exempt " + (", ".join(f"{m} {n} ({EXEMPT[m]})" for m, n in exempted.items()) or "none"))
    assert differing == []
    assert agreed > 0


@pytest.mark.parametrize("name", replayed_submissions())
def test_nothing_dies_where_the_reference_died(name: str) -> None:
    """Where the record is null (the reference's run dies) there is a status and a reason."""
    for row, result in cases(name):
        assert result.status in STATUSES
        assert result.status != "scorer_fault", (row["instance_id"], row["mutation"], result.reason)
        if row["score"] is None and row["mutation"] not in UNUSED:
            assert result.reason, row["mutation"]
