"""Runs that are signed and ranked as receipts: the root over all instances, the key of their host, and boards of others' runs."""

import json
import os
import re
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import OutputError, UsageError
from evalsuite.runs.run_files import seal
from evalsuite.runs.run_folder import RESULTS, RUN, SIGNATURE, read_key, read_public_key, sign_run
from tests.analysis.gold_checks.small import ANSWERS, GOLD, scored, write_gold, write_submission

pytestmark = pytest.mark.usefixtures("shared_fork_server")

pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with gold, a submission and two keys."""
    monkeypatch.chdir(tmp_path)
    write_gold(tmp_path / "gold", GOLD)
    write_submission(tmp_path / "sub", ANSWERS)
    for name in ("ours", "theirs"):
        assert main(["keys", "new", f"keys/{name}"]) == 0
    return tmp_path


def run(name: str, *options: str) -> int:
    """The exit code of a run of the submission, saved under that name."""
    return main(["run", "sub", "--gold", "gold", "--isolation", "none", "-q", "--out", name, *options])


def verified(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of a command without walls, and what it printed."""
    capsys.readouterr()
    code = main([*words, "--isolation", "none"])
    said = capsys.readouterr()
    return code, said.out + said.err


def changed(run: Path, **summary: object) -> None:
    """Another summary in a run, its digests redone."""
    said = json.loads((run / RUN).read_text())
    said["summary"] |= summary
    (run / RUN).write_text(seal(said, (run / RESULTS).read_text()))


def test_a_signed_run_is_held_to_its_key(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own key verifies it, another one and a run without a signature do not; a change with digests redone breaks the signature."""
    umask = os.umask(0)
    os.umask(umask)
    modes = [(place / "keys" / name).stat().st_mode & 0o777 for name in ("ours", "ours.pub")]
    assert modes == [0o600, 0o644 & ~umask]
    assert run("signed", "--sign", "keys/ours") == 0
    assert re.fullmatch(r'\{\n  "public_key": "[^"]+",\n  "signature": "[0-9a-f]{128}"\n\}\n', (place / "signed" / SIGNATURE).read_text())
    assert run("bare") == 0
    code, out = verified(capsys, "verify", "signed", "--key", "keys/ours.pub")
    assert (code, "signature      made with the key of keys/ours.pub" in out, "signed by not verified" in out) == (0, True, False)
    assert verified(capsys, "verify", "signed", "--key", "keys/theirs.pub")[0] == 1
    assert verified(capsys, "verify", "bare", "--key", "keys/ours.pub")[0] == 1
    code, out = verified(capsys, "verify", "signed")
    assert code == 0
    assert any("signed by not verified" in line for line in out.splitlines())
    changed(place / "signed", score=1)
    code, out = verified(capsys, "verify", "signed", "--key", "keys/ours.pub")
    assert (code, "not signed with this key, or changed since" in out) == (1, True)


def test_a_signature_that_cannot_be_written(place: Path) -> None:
    """It is named by its file."""
    assert run("signed") == 0
    (place / "signed" / "signature.json").mkdir()
    with pytest.raises(OutputError, match=r"cannot write signed/signature\.json"):
        sign_run(Path("signed"), read_key(place / "keys" / "ours"))


def test_keys_that_are_none_are_told_before_anything_is_scored(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No key is replaced. One of another kind, a missing one, a public one to sign with and a private one to verify with are errors."""
    assert main(["keys", "new", "keys/ours"]) == 2
    assert run("none", "--sign", "keys/absent") == 2
    assert run("none", "--sign", "keys/ours.pub") == 2
    assert run("none", "--sign", "keys/ours", "--no-save") == 2
    other = ec.generate_private_key(ec.SECP256R1())
    openssh = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    (place / "keys" / "curve").write_bytes(other.private_bytes(*openssh))
    public = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    (place / "keys" / "curve.pub").write_bytes(other.public_key().public_bytes(*public))
    for read, name in ((read_key, "curve"), (read_public_key, "curve.pub")):
        with pytest.raises(UsageError, match="not an Ed25519 key"):
            read(place / "keys" / name)
    assert not (place / "none").exists()
    assert run("signed", "--sign", "keys/ours") == 0
    assert verified(capsys, "verify", "signed", "--key", "keys/ours")[0] == 2
    capsys.readouterr()
    assert main(["keys", "show", "keys/ours"]) == 0
    assert capsys.readouterr().out.split()[:2] == (place / "keys/ours.pub").read_text().split()[:2]


def test_the_root_is_over_gold_answers_and_verdicts(place: Path) -> None:
    """Two runs of the same have one root; another answer and another gold give another one."""

    def root(name: str) -> str:
        scored(place / "sub", place / "gold", place / name)
        found = str(json.loads((place / name / RUN).read_text())["root"])
        assert len(found) == 64
        return found

    first = root("one")
    assert root("two") == first
    (spec,) = (place / "gold").glob("*_eval.jsonl")
    for file in (place / "sub/results_metadata.jsonl", spec):
        kept = file.read_text()
        file.write_text(re.sub(r'("answer_or_path"|"gold"): "', r'\1: "x', kept, count=1))
        assert file.read_text() != kept
        assert root(file.name) != first
        file.write_text(kept)


def test_a_board_of_receipts_ranks_what_can_be_trusted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key every row is scored again, with one the signature decides; what is not trusted is named and has no rank."""
    assert run("signed", "--sign", "keys/ours") == 0
    assert run("forged") == 0
    changed(place / "forged", score=1)
    board = ("leaderboard", "--receipts", "signed/run.json", "forged/run.json", "--gold", "gold", "--json")
    code, out = verified(capsys, *board)
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert (code, rows["signed"]["rank"], rows["forged"]["rank"]) == (1, 1, None)
    assert rows["forged"]["fault"] == "not verified: numbers"
    code, out = verified(capsys, *board, "--key", "keys/ours.pub")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert (rows["signed"]["rank"], rows["forged"]["fault"]) == (1, "not verified: not signed")
    assert verified(capsys, *board, "--key", "keys/theirs.pub")[0] == 2
