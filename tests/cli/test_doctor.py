"""`evalsuite doctor` names every sandbox feature, and agrees with the receipt of a run."""

import json

import pytest

from evalsuite.cli import main
from evalsuite.sandbox.linux_layers import can_filter, landlock_version
from evalsuite.sandbox.program_sandbox import can_sandbox_programs

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_every_wall_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 whatever stands; the table and the JSON agree with what the walls say of themselves."""
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    stands = {name: row["stands"] for name, row in found.items()}
    assert (stands["landlock"], stands["seccomp"], stands["jail"]) == (landlock_version() > 0, can_filter(), can_sandbox_programs())
    for name, stood in stands.items():
        assert any(line.split()[:2] == [name, "yes" if stood else "no"] for line in shown.splitlines())
