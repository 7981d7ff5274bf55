"""The recipes of docs/leaderboard-site.md, taken out of the page and carried out."""

import json
import os
import re
import threading
import urllib.error
import urllib.request
import zipfile
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.test_run import text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")

PAGE = (ROOT / "docs" / "leaderboard-site.md").read_text(encoding="utf-8")


def recipe(name: str) -> str:
    """The block below the comment that names its file."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What a host has: gold, two submissions, one of them hostile, and `evalsuite` on the path."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome")
    for folder in ("inbox", "submissions"):
        text_submission(tmp_path / folder / "alpha", a="Paris", b="Bern")
        (tmp_path / folder / "bomb.zip").write_text("no zip")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "evalsuite").write_text(f'#!/bin/sh\nexec "{command_server().script}" "$@" --isolation none --jobs 1\n')
    (tmp_path / "bin" / "evalsuite").chmod(0o755)
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    """The variables of a host."""
    return {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def names(place: Path) -> dict[str, Any]:
    """Name -> score of the board."""
    return {row["name"]: row["score"] for row in json.loads((place / "site" / "board.json").read_text(encoding="utf-8"))["rows"]}


def test_cron(place: Path) -> None:
    """The script builds and ends well though a submission is refused; without gold it fails with the command's own code."""
    script = place / "build.sh"
    script.write_text(recipe("build.sh"))
    done = finished(["sh", script], cwd="/", env=environment(place, BOARD=str(place)))
    assert done.returncode == 0, done.stderr
    assert names(place) == {"alpha": 0.5, "bomb": None}
    (place / "gold").rename(place / "gone")
    assert finished(["sh", script], cwd="/", env=environment(place, BOARD=str(place))).returncode == 2


def test_small_server(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip with a token is on the board after the next build; without one, too long or elsewhere nothing is taken."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (place / "tokens.json").write_text(json.dumps({"s3cret": "beta/../team"}))
    server = ModuleType("server")
    exec(compile(recipe("server.py"), "server.py", "exec"), server.__dict__)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        line = {"instance_id": "a", "answer_type": "answer", "answer_or_path": "Paris"}
        archive.writestr("results_metadata.jsonl", json.dumps(line) + "\n")
    with server.serve(0) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{served.server_port}"

        def put(path: str, token: str, data: bytes = packed.getvalue()) -> int:
            ask = urllib.request.Request(address + path, data=data, method="PUT", headers={"Authorization": f"Bearer {token}"})
            try:
                with urllib.request.urlopen(ask, timeout=30) as reply:
                    return int(reply.status)
            except urllib.error.HTTPError as error:
                return error.code

        assert put("/submit", "s3cret") == 202
        assert [put("/submit", "guess"), put("/other", "s3cret"), put("/submit", "s3cret", b"")] == [403, 403, 413]
        assert server.build().returncode == 1
        with urllib.request.urlopen(f"{address}/board.json", timeout=30) as reply:
            rows = {row["name"]: row["score"] for row in json.load(reply)["rows"]}
        served.shutdown()
    handed_in = next(name for name in rows if name.startswith("beta-team--"))
    assert rows == {handed_in: 0.5, "alpha": 0.5, "bomb": None}
