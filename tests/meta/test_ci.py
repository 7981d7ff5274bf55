"""A week of `.ci/full` runs every slow test; each exit code has a test of a command that ends with it."""

from evalsuite.core import errors
from tests.conftest import ROOT, is_in_part
from tests.processes import finished

# Exit code -> file below `tests` and its test.
EXIT_CODES = {
    "EXIT_OK": "cli/test_run.py::test_example_is_scored",
    "EXIT_GATE": "cli/test_run.py::test_gate",
    "EXIT_USAGE": "terminal/test_mistakes.py::test_a_mistake",
    "EXIT_INTERNAL": "cli/test_rare_options.py::test_without_isolation_answers_are_read_here",
    "EXIT_UNSCORABLE": "meta/test_foreign_code.py::test_every_place_in_a_run",
    "EXIT_NOTHING": "cli/test_run.py::test_results_have_the_documented_keys",
    "EXIT_INTERRUPTED": "runs/test_interruption.py::test_interrupted_and_resumed",
}


def test_seven_days_run_every_slow_test() -> None:
    """Seven days in a row have seven parts, and each test is in exactly one of them."""
    lines = finished(["bash", ROOT / ".ci" / "full", "--plan"], check=True).stdout.splitlines()
    parts = {line.partition("--part ")[2] for line in lines}
    assert parts == {f"{part}/7" for part in range(1, 8)}
    assert len({line.partition(":")[0] for line in lines}) == 7
    chosen = [[part for part in parts if is_in_part(f"tests/test_x.py::test_{n}", *map(int, part.split("/")))] for n in range(500)]
    assert {len(one) for one in chosen} == {1}
    assert {part for one in chosen for part in one} == parts


def test_each_exit_code_has_a_test() -> None:
    """No exit code is without a test, and each test is there."""
    assert {name for name in vars(errors) if name.startswith("EXIT_")} == EXIT_CODES.keys()
    for place in EXIT_CODES.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), place
