"""`evalsuite connections` shows the configured databases."""

import sqlite3
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.sql.session import QueryLimits
from tests.cli.test_run import said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

SECRET = "s3cr3t-9f"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with one database and a connection that cannot work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASSWORD_OF_NONE", SECRET)
    with sqlite3.connect("a.sqlite") as writer:
        writer.execute("CREATE TABLE t (x)")
    Path("connections.yaml").write_text(
        "sales: {engine: sqlite, database: a.sqlite, prefix: local_}\n"
        "none: {engine: postgres, host: 127.0.0.1, port: 1, user: u, password: '${PASSWORD_OF_NONE}', instances: [q1, q2]}\n"
    )


def test_one_that_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """All are tested, the exit code is 2, the last line says so, and no secret is shown."""
    assert main(["connections", "test"]) == 2
    shown = capsys.readouterr().out
    assert "✗ none" in shown
    assert shown.endswith("failed: 1 of 2 work\n")
    assert SECRET not in shown


def test_a_key_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """A private key that cannot be read, or is not there, is told as such, and the others are tested."""
    pytest.importorskip("snowflake.connector")
    Path("k.p8").write_text("garbage")
    entries = (f"{name}: {{engine: snowflake, account: a-1, user: u, private_key_file: {name}.p8}}\n" for name in ("k", "gone"))
    Path("connections.yaml").write_text("".join(entries))
    assert main(["connections", "test"]) == 2
    assert capsys.readouterr().out.count("its private key cannot be read") == 2


def test_its_own_statement(capsys: pytest.CaptureFixture[str]) -> None:
    """`--sql` is refused like any answer."""
    assert main(["connections", "test", "sales", "--sql", "DELETE FROM t"]) == 2
    assert "only one SELECT is run" in capsys.readouterr().out


def test_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--seconds` limits the statement."""
    asked: list[object] = []
    monkeypatch.setattr("evalsuite.sql.session.QueryLimits", lambda **limits: asked.append(limits) or QueryLimits(**limits))
    main(["connections", "test", "sales", "--seconds", "7"])
    assert asked == [{"seconds": 7}]


def test_unknown_name_and_nothing_configured(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name fails with a "did you mean"; without any file there is nothing to test."""
    assert main(["connections", "test", "sale"]) == 2
    assert "did you mean 'sales'?" in capsys.readouterr().out
    Path("connections.yaml").unlink()
    assert main(["connections", "test"]) == 0
    assert "docs/connections.md" in said("connections list")
