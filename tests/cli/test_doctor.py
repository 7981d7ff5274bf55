"""`evalsuite doctor` names every sandbox feature, and agrees with the receipt of a run."""

import re

import pytest

from evalsuite.sandbox.linux_layers import can_filter, landlock_version
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.cli.test_run import as_json, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_every_sandbox_feature_is_named() -> None:
    """Exit 0 with or without a feature; the table and the JSON agree with what each feature reports of itself."""
    shown = said("doctor")
    found = as_json("doctor")
    stands = {name: row["stands"] for name, row in found.items()}
    assert (stands["landlock"], stands["seccomp"], stands["jail"]) == (landlock_version() > 0, can_filter(), can_sandbox_programs())
    for name, stood in stands.items():
        word = {"jail": "programs"}.get(name, name)
        assert any(line.split()[:2] == [word, "yes" if stood else "no"] for line in shown.splitlines())


def test_an_absent_feature_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line names what the machine lacks by the words of the table."""
    monkeypatch.setattr("evalsuite.sandbox.program_sandbox.can_sandbox_programs", lambda: False)
    shown = said("doctor").splitlines()
    assert any(line.split()[:2] == ["programs", "no"] for line in shown)
    assert re.fullmatch(r"done: not supported on this machine: (.+, )?programs; SECURITY\.md explains what that means", shown[-1])
