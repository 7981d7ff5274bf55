"""The reading of a plain `check` call without the parser agrees with the parser."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli.parser import load_command
from evalsuite.cli.prediction import OWN_OPTIONS, plain_call
from tests.cli.test_run import said
from tests.properties import examples

pytestmark = pytest.mark.usefixtures("shared_fork_server")

WORDS = st.sampled_from(
    [
        *("--prediction", "--gold", "--rules", "--json", "--exclude", "--percentage", "--precision", "--no-percentage", "--prediction=x"),
        *("--gold=", "--rules=strict", "--json=1", "--precision=2", "--fail-under", "--layout", "--", "-", "-5", "-q", "--help"),
        *("strict", "official", "a b", "", "0.5", "--unknown", "--result_dir", "é"),
    ]
)


@examples(500)
@given(st.lists(WORDS, max_size=7))
def test_what_is_read_at_once_is_read_as_the_parser_does(words: list[str]) -> None:
    """Where `plain_call` answers, the parser gives the same values and leaves the same words to the scorer."""
    plain = plain_call(["string_match", *words])
    if plain is None:
        return
    command: Any = load_command("check")
    context = command.make_context("check", ["string_match", *words])
    given_, rest, as_json = plain
    read = context.params
    assert (read["name"], list(read["prediction"] or []), list(read["gold"] or [])) == (
        "string_match",
        given_["--prediction"],
        given_["--gold"],
    )
    assert read["rules"] == (given_["--rules"][-1] if given_["--rules"] else None)
    assert (list(context.args), read["json_"]) == (rest, as_json)
    assert not [name for name in ("result_dir", "gold_dir", "plugin", "judge", "fail_under", "explain") if read[name]]


def test_own_options_are_all_there() -> None:
    """The options that are left to the parser are all options of the command."""
    spelled = {name.replace("_", "-") for option in load_command("check").params for name in option.opts if name.startswith("--")}
    assert set(OWN_OPTIONS) == spelled


def test_a_scorer_without_a_reference_asks_for_none() -> None:
    """What needs no gold is scored from the prediction alone; what needs it says so."""
    assert "category          hedging" in said("check hedging_language --prediction", "As an AI I cannot say")
    assert "no gold given" in said("check f1 --prediction a", code=2)
