"""`leaderboard --site` and the recipes of its page: the files of the folder, rank changes, secrets, and the cost of a second build."""

import json
import os
import re
import signal
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.reports import site as building
from evalsuite.reports.site import find_previous_board, slug_of
from tests.cli.test_run import said, text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished
from tests.reports.site.conftest import DAY, EVIL, hand_in
from tests.runs.test_archives import tarred

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def pages(site: Path) -> Iterator[Path]:
    """All pages of a site."""
    return site.rglob("*.html")


def state(site: Path) -> dict[str, str]:
    """The digest of each file of a site."""
    return {str(file.relative_to(site)): sha256(file.read_bytes()).hexdigest() for file in site.rglob("*") if file.is_file()}


def test_nothing_secret_is_published(place: Path, build: Callable[..., str]) -> None:
    """No page holds a text of gold or an answer, private ones stand beside the site; an anonymous board holds no name either."""
    build("2026-11-21")
    said = "".join(file.read_text(encoding="utf-8") for file in (place / "site").rglob("*") if file.is_file())
    assert "secret city" not in said
    assert "my wrong answer" not in said
    assert str(place) not in said
    page = (place / "site" / "submissions" / f"{slug_of('alice')}.html").read_text(encoding="utf-8")
    assert "6/8" in page or "75.0 %" in page
    assert "not gold&#39;s answer" not in page
    private = (place / "site.private" / slug_of("alice") / "index.html").read_text(encoding="utf-8")
    assert "not gold&#39;s answer" in private
    assert "secret city" not in private
    assert (place / "site.private").stat().st_mode & 0o077 == 0
    build("2026-11-21", "--anonymise")
    said = "".join(file.read_text(encoding="utf-8") for file in (place / "site").rglob("*") if file.is_file())
    assert not any(name in said for name in ("alice", "bob", "alert"))
    assert list((place / "site" / "submissions").iterdir()) == []


def test_movement_since_a_day_a_file_and_last(place: Path, build: Callable[..., str]) -> None:
    """Ranks of before come from the archive, from a board.json or from another site; who was not there is new."""
    build("2026-11-20")
    hand_in("bob", 7)
    hand_in("dora", 5)
    assert "4 pages of submissions, 2 of them" in build("2026-11-21")

    def moves() -> dict[str, object]:
        told = json.loads((place / "site/board.json").read_text(encoding="utf-8"))["site"]
        return {"since": told["since"], **{name: "new" if row["is_new"] else row["places_up"] for name, row in told["rows"].items()}}

    moved = {"since": "2026-11-20", "bob": 1, "alice": -1, "dora": "new", EVIL: -1}
    assert moves() == moved
    shown = (place / "site/index.html").read_text(encoding="utf-8")
    assert "since 2026-11-20" in shown
    assert all(words in shown for words in ("▲ 1", "▼ 1", "new"))
    assert "Up: bob by 1." in (place / "site/feed.xml").read_text(encoding="utf-8")
    build("2026-11-22")
    assert moves()["since"] == "2026-11-21"
    assert moves()["bob"] == 0
    for since in ("2026-11-20", "site/archive/2026-11-20.json"):
        build("2026-11-22", "--since", since)
        assert moves() == moved
    assert find_previous_board(place / "site", str(place / "site"), "2026-11-22").day == "2026-11-22"  # type: ignore[union-attr]
    assert [page.stem for page in sorted((place / "site/archive").glob("2*.html"))] == list(DAY)
    # The board of a day stays as it was.
    assert "dora" not in (place / "site/archive/2026-11-20.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--since", "2020-01-01"], "has no board of that day or before"),
        (["--since", "nowhere"], "no day, no board and no site"),
        (["--since", "gold/toy_eval.jsonl"], "no board that `evalsuite leaderboard` wrote"),
        (["--private", "site/private"], "the private folder is in the site"),
        (["--reveal", "all"], "--reveal cannot be 'all'"),
        (["--board", "none.yaml"], "none.yaml: the file cannot be read"),
        (["--site", "."], "cannot be a site"),
        (["--site", "gold/toy_eval.jsonl"], "cannot be a site"),
        (["--site", "pages"], "contains pages that evalsuite did not write"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_scored(more: list[str], said: str, place: Path, build: Callable[..., str]) -> None:
    """Exit code 2 with the reason, and no run is saved."""
    (place / "pages").mkdir()
    (place / "pages" / "index.html").write_text("my home page")
    assert said in build("2026-11-21", *more, code=2)
    assert not (place / ".evalsuite" / "runs").exists()
    assert (place / "pages" / "index.html").read_text() == "my home page"


def test_only_what_is_new_is_written(place: Path, build: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build renders no page, a new submission its own, a lower level all; who left has no page any more."""
    build("2026-11-21")
    before = state(place / "site")
    asked: list[str] = []
    plainly = building.submission_document

    def noted(entry: object, row: object, *more: object, **how: object) -> object:
        asked.append(row.name)  # type: ignore[attr-defined]
        return plainly(entry, row, *more, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "submission_document", noted)
    assert "3 pages of submissions, 0 of them" in build("2026-11-21")
    assert asked == []
    assert {name: digest for name, digest in state(place / "site").items() if name.startswith("submissions")} == {
        name: digest for name, digest in before.items() if name.startswith("submissions")
    }
    hand_in("dora", 5)
    build("2026-11-21")
    assert asked == ["dora", "dora"]
    assert "4 pages of submissions, 4 of them" in build("2026-11-21", "--reveal", "status")
    (place / "site.private" / "pages.json").unlink()
    assert "4 pages of submissions, 4 of them" in build("2026-11-21")
    for file in (place / "subs" / "bob").iterdir():
        file.unlink()
    (place / "subs" / "bob").rmdir()
    build("2026-11-21")
    assert not (place / "site" / "submissions" / f"{slug_of('bob')}.html").exists()


def build_killed(at: int) -> int:
    """The exit code of a build in a process of its own, which is killed at its n-th write, or where `at` is 0 just before the exchange."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(60)
    n, plainly = [at], building._write

    def dies(*where: Any, **how: Any) -> Any:
        n[0] -= 1
        return os.kill(os.getpid(), signal.SIGKILL) if n[0] == 0 else plainly(*where, **how)

    try:
        building._write = dies  # type: ignore[assignment]
        if at == 0:
            building._exchange = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        main(["leaderboard", "subs", "--isolation", "none", "--jobs", "1", "--site", "site"])
    finally:
        os._exit(0)


@pytest.mark.parametrize("at", [1, 4, 0], ids=["first write", "later write", "before the exchange"])
def test_a_killed_build_leaves_the_old_site(at: int, place: Path, build: Callable[..., str]) -> None:
    """Killed while it writes, or just before the new folder takes its place: the old site stands to the byte, and the next build works."""
    build("2026-11-20")
    before = state(place / "site")
    hand_in("dora", 5)
    assert build_killed(at) == -9
    assert state(place / "site") == before
    assert "4 pages of submissions" in build("2026-11-21")
    assert sorted(item.name for item in place.iterdir()) == [".evalsuite", "gold", "site", "site.private", "subs"]


def test_builds_at_once_and_in_two_steps(place: Path, build: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build says so, options of a site need one; where folders cannot be exchanged a killed build is made good."""
    from evalsuite.reports.site import build_lock

    with build_lock(place / "site.private"):
        assert "another build uses" in build("2026-11-21", code=2)
    with build_lock(place / "site.private"), pytest.raises(UsageError), build_lock(place / "site.private"):
        pass
    for option, value in (("--since", "last"), ("--board", "b.yaml"), ("--private", "p"), ("--reveal", "none")):
        assert f"{option} is an option of a site" in said("leaderboard subs", option, value, code=2)
    monkeypatch.setattr("evalsuite.reports.site.sys.platform", "elsewhere")
    build("2026-11-20")
    build("2026-11-21")
    assert len(list((place / "site" / "archive").glob("2*.html"))) == 2
    (place / "site").rename(place / ".site.old")
    build("2026-11-22")
    assert len(list((place / "site" / "archive").glob("2*.html"))) == 3


def test_archives_and_receipts_stand_on_the_site(place: Path, build: Callable[..., str]) -> None:
    """A tar is a submission as any other; a run of somebody else that verifies has a row and no page, one that does not has no rank."""
    lines = (place / "subs" / "alice" / "results_metadata.jsonl").read_bytes()
    tarred(place / "subs" / "packed.tar.gz", ("packed/results_metadata.jsonl", b"0", lines, ""))
    for name in ("theirs", "forged"):
        hand_in(f"../{name}", 5)
        assert main(["run", name, "-q", "--isolation", "none", "--out", f"runs/{name}"]) == 0
    results = place / "runs" / "forged" / "results.jsonl"
    results.write_text(results.read_text().replace('"score": 0,', '"score": 1,'))
    build("2026-11-21", "runs/theirs", "runs/forged", "--receipts", code=1)
    board = json.loads((place / "site/board.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in board["rows"]}
    assert rows["packed"]["score"] == rows["alice"]["score"]
    assert board["site"]["rows"]["packed"]["page"]
    assert rows["theirs"]["rank"] == 3
    assert rows["forged"]["rank"] is None
    assert rows["forged"]["fault"].startswith("not verified")
    assert not board["site"]["rows"]["forged"]["page"]


PAGE = (ROOT / "docs" / "leaderboard-site.md").read_text(encoding="utf-8")


def recipe(name: str) -> str:
    """The block below the comment that names its file."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture
def own_host(tmp_path: Path) -> Path:
    """What a host has: gold, two submissions, one of them hostile, and `evalsuite` on the path."""
    text_gold(tmp_path / "gold", a="Paris", b="Rome")
    for folder in ("inbox", "submissions"):
        text_submission(tmp_path / folder / "alpha", a="Paris", b="Bern")
        (tmp_path / folder / "bomb.zip").write_text("no zip")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "evalsuite").write_text(f'#!/bin/sh\nexec "{command_server().script}" "$@" --isolation none --jobs 1\n')
    (tmp_path / "bin" / "evalsuite").chmod(0o755)
    return tmp_path


def environment(own_host: Path, **more: str) -> dict[str, str]:
    """The variables of a host."""
    return {"PATH": f"{own_host / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def scores_by_name(own_host: Path) -> dict[str, Any]:
    """Name -> score of the board."""
    return {row["name"]: row["score"] for row in json.loads((own_host / "site" / "board.json").read_text(encoding="utf-8"))["rows"]}


def test_cron(own_host: Path) -> None:
    """The script builds and ends well though a submission is refused; without gold it fails with the command's own code."""
    script = own_host / "build.sh"
    script.write_text(recipe("build.sh"))
    done = finished(["sh", script], cwd="/", env=environment(own_host, BOARD=str(own_host)))
    assert done.returncode == 0, done.stderr
    assert scores_by_name(own_host) == {"alpha": 0.5, "bomb": None}
    (own_host / "gold").rename(own_host / "gone")
    assert finished(["sh", script], cwd="/", env=environment(own_host, BOARD=str(own_host))).returncode == 2


def test_small_server(own_host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip with a token is on the board after the next build; without one, too long or elsewhere nothing is taken."""
    monkeypatch.chdir(own_host)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (own_host / "tokens.json").write_text(json.dumps({"s3cret": "beta/../team"}))
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
