"""The report of the example at the widths people have."""

import pytest

import evalsuite
from evalsuite.reports.terminal import render
from evalsuite.runner.run import Run
from evalsuite.types import Rule
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def runs() -> dict[Rule, Run]:
    """The example under each rule."""
    rules: tuple[Rule, ...] = ("official", "strict")
    return {rule: evalsuite.evaluate(ROOT / "example_submission_folder", ROOT / "gold", save=False, rules=rule) for rule in rules}


@pytest.mark.parametrize("width", [60, 80, 100, 150, 200])
def test_every_width_is_readable(runs: dict[Rule, Run], width: int) -> None:
    """No line is wider than asked, no instance is lost, and no flip, fault or number is cut off."""
    run = runs["official"]
    text = render(run, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(result.instance_id in text for result in run.results)
    _, _, numbers = text.partition("BAD_GOLD_FILE  ")
    assert "…" not in numbers
    words = " ".join(numbers.split())
    assert all(flip["instance_id"] in words for flip in run.summary.flips)
    assert "save the file as UTF-8" in " ".join(text.split())


@pytest.mark.parametrize(("rule", "other"), [("official", "strict"), ("strict", "official")])
def test_both_rules_by_scorer_and_group(runs: dict[Rule, Run], rule: Rule, other: Rule) -> None:
    """Each scorer and group shows what is right under the rule that counts, and under the other one beside it."""
    run = runs[rule]
    text = " ".join(render(run, width=200).split())
    for name, row in (*run.summary.by_scorer.items(), *run.summary.by_group.items()):
        n_right = {r: sum(result_value == 1 for result_value in values(run, name, r)) for r in ("official", "strict")}
        assert f"{name} {n_right[rule]}/{row['n']} ({other} {n_right[other]}/{row['n']})" in text


def values(run: Run, name: str, rule: str) -> list[float | None]:
    """The values under a rule of the results that a scorer or group holds."""
    groups = {instance.instance_id: instance.groups for instance in run.gold.instances}
    mine = [result for result in run.results if result.scorer == name or name in groups[result.instance_id]]
    return [getattr(result, rule) for result in mine]


def test_flips_are_grouped_by_cause(runs: dict[Rule, Run]) -> None:
    """Flips down and up stand on a line each, a cause with its instances."""
    lines = render(runs["official"], width=200).splitlines()
    down = next(line for line in lines if line.startswith(" flips down"))
    up = next(line for line in lines if line.startswith(" flips up"))
    assert "rows scrambled (sales_007)" in down
    assert "tolerance by size (sales_008, " in up
    assert "sign (geo_005)" in up
