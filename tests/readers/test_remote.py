"""Submissions behind a URL: copied by name, never more than their answers name, never through what a submission says."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import MissingExtraError, SubmissionError
from evalsuite.core.types import Submission
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.submission import read_metadata
from evalsuite.readers.submission_files import is_remote, local_copy


def whole(folder: Path) -> list[Submission]:
    """All that its metadata say."""
    return [read_metadata(folder)]


@pytest.fixture
def memory() -> Any:
    """An object store in memory, empty before and after."""
    fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def hand_in(memory: Any, *answers: tuple[str, str, Any], **files: bytes) -> None:
    """Put a submission into the bucket `memory://team`."""
    keys = ("instance_id", "answer_type", "answer_or_path")
    lines = "".join(json.dumps(dict(zip(keys, answer, strict=True))) + "\n" for answer in answers)
    memory.pipe("/team/results_metadata.jsonl", lines.encode())
    for name, data in files.items():
        memory.pipe(f"/{name}", data)


@pytest.mark.parametrize(
    ("place", "remote"),
    [("s3://b/x", True), ("gs://b", True), ("memory://a", True), ("folder", False), ("C://x", False), ("a/b://c", False), ("", False)],
)
def test_what_is_a_url(place: str, remote: bool) -> None:
    """A scheme of two letters or more and `://` make a URL."""
    assert is_remote(place) == remote


def test_a_large_file_is_cut_above_its_limit(memory: Any) -> None:
    """What is too large there is too large here, without being copied whole."""
    hand_in(memory, ("a", "file", "x.csv"))
    memory.pipe("/team/a/x.csv", b"x" * 5000)
    with local_copy("memory://team", {**DEFAULT_LIMITS, "file_bytes": 1000}, read=whole) as folder:
        assert (folder / "a" / "x.csv").stat().st_size == 1001


def test_a_file_and_a_folder_of_one_name(memory: Any) -> None:
    """An object store can hold `a/x` and `a/x/y`: the second one is absent, and the rest is there."""
    hand_in(memory, ("a", "files", ["x", "x/y"]), ("b", "file", "z.csv"))
    for name in ("a/x", "a/x/y", "b/z.csv"):
        memory.store[f"/team/{name}"] = memory.store["/team/results_metadata.jsonl"]
    with local_copy("memory://team", DEFAULT_LIMITS, read=whole) as folder:
        assert (folder / "b" / "z.csv").is_file()


def test_absent_places(memory: Any) -> None:
    """No metadata and no such scheme: an error that says which."""
    for url, said in (("memory://nobody", "no results_metadata.jsonl there"), ("nosuch://x", "unknown kind of URL")):
        with pytest.raises(SubmissionError, match=said), local_copy(url, DEFAULT_LIMITS, read=whole):
            pass


def test_an_address_that_cannot_be_read(memory: Any) -> None:
    """The kind of the error is said, not its text, which could contain credentials."""
    hand_in(memory, ("a", "file", "x.csv"))

    def fail(_: Path) -> list[Submission]:
        raise TimeoutError("secret")

    with pytest.raises(SubmissionError) as refused, local_copy("memory://team", DEFAULT_LIMITS, read=fail):
        pass
    assert refused.value.message == "memory://team: cannot be read (TimeoutError)"


def test_a_link_in_a_file_url_is_not_followed(tmp_path: Path) -> None:
    """`file://` is read where it lies, where links are refused as always."""
    pytest.importorskip("fsspec", reason="the extra `remote` is not installed")
    with local_copy(f"file://{tmp_path}", DEFAULT_LIMITS, read=whole) as folder:
        assert folder == tmp_path


def test_the_files_of_all_samples_come(memory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines of one id are two samples there too: each has its file, and each is right."""
    (tmp_path / "gold" / "a").mkdir(parents=True)
    (tmp_path / "gold" / "a" / "x.csv").write_text("v\n1\n")
    line = {"instance_id": "a", "evaluation": {"func": "table_match", "parameters": {"gold": "x.csv"}}}
    (tmp_path / "gold" / "x_eval.jsonl").write_text(json.dumps(line) + "\n")
    hand_in(memory, ("a", "file", "1.csv"), ("a", "file", "2.csv"))
    for name in ("1.csv", "2.csv"):
        memory.pipe(f"/team/a/{name}", b"v\n1\n")
    words = ["--gold", str(tmp_path / "gold"), "--samples", "2", "--no-cache", "--no-save", "--isolation", "none", "--quiet"]
    assert main(["run", "memory://team", *words]) == 0
    assert capsys.readouterr().out.startswith("done: 100.0 %, the mean of 2 samples")


def test_a_run_of_a_url(memory: Any, example: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`evalsuite run memory://...` gives the folder's own results, and `run.json` names the URL."""
    source, gold = example
    for path in source.rglob("*"):
        if path.is_file():
            memory.pipe(f"/team/{path.relative_to(source).as_posix()}", path.read_bytes())
    words = ["--gold", str(gold), "--no-cache", "--isolation", "none", "--quiet"]
    assert main(["run", str(source), *words, "--out", str(tmp_path / "folder")]) == 0
    assert main(["run", "memory://team", *words, "--out", str(tmp_path / "url")]) == 0
    folder, url = ((tmp_path / name / "results.jsonl").read_text().splitlines() for name in ("folder", "url"))
    assert [line.rpartition(', "seconds"')[0] for line in folder] == [line.rpartition(', "seconds"')[0] for line in url]
    assert json.loads((tmp_path / "url" / "run.json").read_text())["submission"]["folder"] == "memory://team"
    assert main(["run", "memory://team", *words, "--watch"]) == 2
    assert "--watch cannot watch a URL" in capsys.readouterr().err


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all URLs, and that of one kind of them, each with what installs it."""

    def fail(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    for module, url, message in (
        (SimpleNamespace(url_to_fs=fail), "s3://b/x", "s3:// needs one more package"),
        (None, "s3://b/x", "s3://b/x needs the package fsspec"),
    ):
        monkeypatch.setitem(sys.modules, "fsspec.core", module)
        with pytest.raises(MissingExtraError) as refused, local_copy(url, DEFAULT_LIMITS, read=whole):
            pass
        assert refused.value.message == message
        assert ("install s3fs" in refused.value.hint) is (module is not None)
