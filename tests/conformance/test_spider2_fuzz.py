"""Official verdicts on made cases of the five functions equal the recorded scores of both reference suites, original and dbt."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalsuite.compare.verdict import CAUSES
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.conformance.recorded import is_whole, of_each_kind
from tests.conftest import corpus, is_default_corpus

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("shared_fork_server")]

# Where the record's 1 is not judged, by tag with its reason. Never an id.
LETTERS = "of a number in a list's place the reference makes a text that it compares letter by letter, or an empty column"
EXEMPT_PASSES = dict.fromkeys(("flat_cols_several_golds", "flat_cols_one_gold_in_list", "cols_is_number"), LETTERS)


def expected() -> list[dict[str, Any]]:
    """The recorded rows: instance_id, func, tags, and the score (0, 1, None where the reference dies) of each reference."""
    text = (corpus("spider2_fuzz") / "expected.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("reference", ["original", "dbt"])
def test_official_equals_the_record(reference: str, tmp_path: Path) -> None:
    """Every recorded 0 or 1 is our official score (a null official agrees with a 0); where it is null there is a status."""
    gold, submission = corpus("spider2_fuzz") / "gold", corpus("spider2_fuzz") / "submission"
    if reference == "dbt":
        for entry in gold.iterdir():
            if entry.name != "suite.yaml":
                (tmp_path / entry.name).symlink_to(entry)
        (tmp_path / "suite.yaml").write_text("reference: dbt\n", encoding="utf-8")
        gold = tmp_path
    known = expected()
    assert known
    if is_default_corpus():
        assert (len(known), sum(row[f"expected_{reference}"] is None for row in known)) == (1500, 17)
    rows = of_each_kind(known, lambda row: (row["func"], *row["tags"]))
    if not is_whole():
        # What both score alike is asked of one of them.
        at = ("original", "dbt").index(reference)
        rows = [row for n, row in enumerate(rows) if n % 2 == at or row["expected_original"] != row["expected_dbt"]]
    options = RunOptions(save=False, isolation="none", only=tuple(row["instance_id"] for row in rows))
    results = {result.instance_id: result for result in run(submission, gold, options).results}
    differing, exempted, agreed = [], Counter[str](), 0
    for row in rows:
        result, score = results[row["instance_id"]], row[f"expected_{reference}"]
        if (result.official, result.strict) == (0, 1):
            assert str(result.details["flip"]).partition(":")[0] in frozenset().union(*CAUSES.values())
        assert result.status not in ("scorer_fault", "crashed", "missing"), (row["instance_id"], result.reason)
        tags = [tag for tag in row["tags"] if tag in EXEMPT_PASSES]
        if score == 1 and tags:
            exempted.update(tags)
        elif score is not None and (result.official or 0) != score:
            differing.append((row["instance_id"], row["tags"], score, result.official, result.reason))
        else:
            agreed += 1
    print(f"\n{agreed} equal, exempt " + (", ".join(f"{tag} {n} ({EXEMPT_PASSES[tag]})" for tag, n in exempted.items()) or "none"))
    assert differing == []
    assert agreed > 0
