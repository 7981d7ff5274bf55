"""Shards as tasks: the job array of docs/scale.md, killed and resumed, and a submission in an object store; merged they are a whole run."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission
from tests.command_server import command_server
from tests.conftest import ROOT
from tests.processes import finished

N = 12
# The command, killed by the kernel when it has written so many rows.
DYING = """
import os, signal, sys
from evalsuite.cli import main
from evalsuite.runs.run_folder import RunFolder
n, plainly = [int(os.environ["DIES_AFTER"])], RunFolder.append
def append(folder, result):
    plainly(folder, result)
    n[0] -= 1
    if not n[0]:
        os.kill(os.getpid(), signal.SIGKILL)
RunFolder.append = append
sys.exit(main(sys.argv[1:]))
"""


def sides(folder: Path) -> Path:
    """The submission, beside gold, of twelve texts of which eight are right."""
    text_gold(folder / "gold", **{f"q{i}": f"city {i}" for i in range(N)})
    return text_submission(folder / "team", **{f"q{i}": f"city {i}" if i % 3 else "no" for i in range(N)})


def test_a_job_array_is_resumed(tmp_path: Path) -> None:
    """The first task is killed in the middle of its shard; called again it takes over what was scored, and what is merged is whole."""
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- shards.sbatch -->\n```shell\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    script = tmp_path / "shards.sbatch"
    script.write_text(found[1])
    sides(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "evalsuite").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "$RUN" "$@" --isolation none --jobs 1\n')
    (tmp_path / "bin" / "evalsuite").chmod(0o755)

    def task(number: int, *, dies_after: int = N) -> int:
        own = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": "2", "SUBMISSION": "team", "GOLD": "gold"}
        own |= {"RUN": DYING, "DIES_AFTER": str(dies_after)}
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return finished(["bash", script], cwd=tmp_path, env={"PATH": path, "PYTHONPATH": str(ROOT), **own}).returncode

    assert task(1, dies_after=2) == 137
    # The others are killed by nobody.
    (tmp_path / "bin" / "evalsuite").write_text(f'#!/bin/sh\nexec {command_server().script} "$@" --isolation none --jobs 1\n')
    shard = tmp_path / "shards" / "1"
    assert len((shard / "results.jsonl").read_text().splitlines()) == 2
    assert task(1) == 0
    assert "resumed with 2 results" in (shard / "run.json").read_text()
    stamp = (shard / "run.json").stat().st_mtime_ns
    assert task(1) == task(2) == 0
    assert (shard / "run.json").stat().st_mtime_ns == stamp
    assert main(["merge", str(shard), str(tmp_path / "shards" / "2"), "--out", str(tmp_path / "merged")]) == 0
    assert json.loads((tmp_path / "merged" / "run.json").read_text())["summary"]["score"] == 8 / 12


@pytest.mark.slow
def test_shards_of_a_submission_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shards over s3:// (a server of moto on this machine) are merged to the score of the folder."""
    server = pytest.importorskip("moto.server", reason="moto is not installed (pip install 'moto[server]')")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed (pip install s3fs)")
    team = sides(tmp_path)
    served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    served.start()
    try:
        host, port = served.get_host_and_port()
        named = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
        for key, value in {**named, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            monkeypatch.setenv(key, value)
        store = s3fs.S3FileSystem(endpoint_url=f"http://{host}:{port}", use_listings_cache=False)
        store.mkdir("bucket")
        store.put(str(team), "bucket/team", recursive=True)
        monkeypatch.chdir(tmp_path)
        ask = ["run", "s3://bucket/team", "--gold", "gold", "--isolation", "none", "--jobs", "1", "-q"]
        for i in (1, 2):
            assert main([*ask, "--shard", f"{i}/2", "--out", f"shards/{i}"]) == 0
    finally:
        served.stop()
    assert main(["merge", "shards/1", "shards/2", "--out", "merged"]) == 0
    merged = json.loads((tmp_path / "merged" / "run.json").read_text(encoding="utf-8"))
    assert merged["summary"]["score"] == 8 / 12
    assert merged["submission"]["folder"] == "s3://bucket/team"
