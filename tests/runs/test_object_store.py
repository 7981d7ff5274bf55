"""Shards of a submission that lies in an object store: each task reads it there, and what is merged is the run of a folder."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission

N = 12


@pytest.mark.slow
def test_shards_of_a_submission_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shards over s3:// (a server of moto on this machine) are merged to the score of the folder."""
    server = pytest.importorskip("moto.server", reason="moto is not installed (pip install 'moto[server]')")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed (pip install s3fs)")
    text_gold(tmp_path / "gold", **{f"q{i}": f"city {i}" for i in range(N)})
    team = text_submission(tmp_path / "team", **{f"q{i}": f"city {i}" if i % 3 else "no" for i in range(N)})
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
