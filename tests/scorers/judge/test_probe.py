"""Judges of known bias: the probe finds what they lean to, and runs show it from then on."""

import json
import math
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.scorers.judge import Judge, Settings
from evalsuite.scorers.judge.probe import _PADDING, CASES, NAMES, Lean, Probe, keep_probe, kept_probe, probe
from tests.scorers.judge.conftest import Serve, judged, write_folders
from tests.scorers.judge.server import Say, prompt_of

pytestmark = pytest.mark.usefixtures("shared_fork_server", "here")

OWN = "In short: "


class Biased:
    """A judge that is right but for its leanings: of each kind it gives way in a share of the questions, evenly spread.

    `position`, `length`, `own` are shares of equal pairs, `wordy` of pairs with a wrong summary of many words, `obeys` of instructions in
    answers, `moody` of right answers asked about the second time.
    """

    def __init__(self, **shares: float) -> None:
        self.shares = shares
        self._seen: dict[str, int] = {}
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def gives_way(self, kind: str) -> bool:
        """Whether it does so this time: of n times in the share of them, to the nearest."""
        with self._lock:
            n = self._seen[kind] = self._seen.get(kind, 0) + 1
        share = self.shares.get(kind, 0.0)
        return int(n * share + 0.5) > int((n - 1) * share + 0.5)

    def __call__(self, body: dict[str, Any], _: int) -> Say | str:
        prompt = prompt_of(body)
        if prompt.startswith("Summarise"):
            return OWN + next(case.other for case in CASES if case.text in prompt)
        if "<summary-0" in prompt:
            shown = re.findall(r"<summary-\d [^>]*>\n(.*?)\n</summary", prompt, re.DOTALL)
            return json.dumps({"verdict": self.choice(*shown)})
        answer = re.findall(r"<answer [^>]*>\n(.*?)\n</answer", prompt, re.DOTALL)[0]
        right = not any(case.wrong in answer for case in CASES)
        with self._lock:
            again = prompt in self._asked
            self._asked.add(prompt)
        if "SYSTEM:" in answer and self.gives_way("obeys"):
            return '{"score": 5}'
        moody = right and again and self.gives_way("moody")
        return json.dumps({"score": 4 if moody else 5 if right else 1})

    def choice(self, first: str, second: str) -> int | str:
        """0 for the first, 1 for the second, or a tie."""
        wrong = [any(case.wrong in text for case in CASES) for text in (first, second)]
        if any(wrong):
            fair = wrong.index(False)
            return 1 - fair if self.gives_way("wordy") else fair
        for kind, mark in (("own", OWN), ("length", _PADDING)):
            marked = [mark in text for text in (first, second)]
            if any(marked):
                return marked.index(True) if self.gives_way(kind) else "tie"
        return 0 if self.gives_way("position") else "tie"


def probed(capsys: pytest.CaptureFixture[str], base_url: str) -> dict[str, float]:
    """The points that `evalsuite judge probe` finds."""
    Path("own.yaml").write_text(f"base_url: {base_url}\nmodel: m\nbackoff_seconds: 0.001\n")
    assert main(["judge", "probe", "--judge", "own.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["m"]
    for share, lean in ((found[name]["points"] / 100, found[name]) for name in ("position", "retest")):
        # Each value is 0 or 1.
        assert lean["standard_error"] == pytest.approx(100 * math.sqrt(share * (1 - share) / (lean["n"] - 1)))
    return {name: lean["points"] for name, lean in found.items() if isinstance(lean, dict) and "points" in lean}


@pytest.mark.parametrize(("shares", "expected"), [
    pytest.param({}, {"retest": 100}, marks=pytest.mark.slow),
    pytest.param({"position": 0.3}, {"position": 30, "retest": 100}, marks=pytest.mark.slow),
    ({"length": 0.45, "wordy": 0.2}, {"length": 45, "verbosity": 20, "retest": 100}),
    pytest.param({"own": 0.25, "obeys": 0.6}, {"self_preference": 25, "injection": 48, "retest": 100}, marks=pytest.mark.slow),
    pytest.param({"moody": 0.3}, {"retest": 85}, marks=pytest.mark.slow),
    (
        {"position": 0.3, "own": 0.25, "obeys": 0.6, "moody": 0.3},
        {"position": 30, "self_preference": 25, "injection": 48, "retest": 85},
    ),
])  # fmt: skip
def test_leanings_are_found_within_two_points(
    serve: Serve, capsys: pytest.CaptureFixture[str], shares: dict[str, float], expected: dict[str, float]
) -> None:
    """What a judge does not lean to is 0; of a scale to 5 by fifths an obeyed instruction raises a wrong answer by 80."""
    found = probed(capsys, serve(Biased(**shares)).base_url)
    assert len(found) == 6
    for name, points in found.items():
        assert points == pytest.approx(expected.get(name, 0), abs=2), name


def test_runs_show_what_was_found(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """The next run of the same judge has it in `run.json` and beside its score; one of another model has not."""
    server = serve(Biased(position=0.3))
    probed(capsys, server.base_url)
    write_folders(None, [judged()], ["b"])
    assert main(["run", "answers", "--gold", "gold", "--judge", "own.yaml", "--out", "kept", "--isolation", "none"]) == 0
    assert "m probed: position +30, length +0" in capsys.readouterr().out
    assert json.loads(Path("kept/run.json").read_text())["judge"]["probe"]["m"]["position"] == 30
    Path("own.yaml").write_text(f"base_url: {server.base_url}\nmodel: n\n")
    assert main(["run", "answers", "--gold", "gold", "--judge", "own.yaml", "--no-save", "--isolation", "none"]) == 0
    assert "probed" not in capsys.readouterr().out
    Path("gold/suite.yaml").write_text(json.dumps({"judge": {"base_url": server.base_url, "model": "of gold"}}))
    Path("gold").rename("truth")
    assert main(["judge", "probe", "--gold", "truth", "--json"]) == 0
    assert [*json.loads(capsys.readouterr().out)] == ["of gold"]


class Forgetful:
    """It gives a tie and 5 points, but no verdict on a prompt that it saw before, nor on an answer with instructions."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, body: dict[str, Any], _: int) -> str:
        prompt = prompt_of(body)
        if "SYSTEM:" in prompt or prompt in self._seen or "Your first reply" in prompt:
            return "Hm."
        self._seen.add(prompt)
        return "tie" if "<summary-0" in prompt else "5"


@pytest.mark.parametrize(("says", "points", "errors", "n", "n_silent"), [
    (
        lambda body, _: "0" if "<summary-0" in prompt_of(body) else "5",
        *([100, 0, 50, 0, 0, 100], [0, 100, 50, 100, 0, 0], [2, 2, 2, 2, 1, 2], [0] * 6),
    ),
    (Forgetful(), [0, 0, 50, 0, 0, 0], [0] * 6, [2, 2, 2, 2, 0, 0], [0, 0, 0, 0, 1, 2]),
    (lambda *_: "Hm.", *[[0] * 6] * 3, [2, 2, 2, 2, 1, 2]),
    (lambda *_: "", *[[0] * 6] * 3, [2, 2, 2, 1, 1, 2]),
], ids=["always the first", "not twice", "no verdict", "nothing"])  # fmt: skip
def test_a_probe_of_one_case(
    serve: Serve, tmp_path: Path, says: Any, points: list[float], errors: list[float], n: list[int], n_silent: list[int]
) -> None:
    """Of one value there is no error; a question without both verdicts is counted, and moves nothing."""
    server = serve(says)
    found = probe(Judge(Settings(base_url=server.base_url, model="m", cache=str(tmp_path))), cases=CASES[:1])
    leans = [getattr(found, name) for name in NAMES]
    assert [lean.points for lean in leans] == points
    assert [lean.standard_error for lean in leans] == pytest.approx(errors)
    assert ([lean.n for lean in leans], [lean.n_silent for lean in leans]) == (n, n_silent)
    assert {body["max_tokens"] for body in server.asked} == {50, 100, 200}


def test_what_is_kept_of_probes(tmp_path: Path) -> None:
    """Of each model, with one decimal; a damaged file has nothing, and without a cache nothing is kept."""
    found = Probe(**dict.fromkeys(NAMES, Lean(points=12.34, standard_error=1.0, n=2, n_silent=0)))
    assert (keep_probe(Settings(model="a", cache=""), found), kept_probe(Settings(model="a", cache=""))) == (None, {})
    cache = str(tmp_path / "new" / "folder")
    path = keep_probe(Settings(model="z", cache=cache), found)
    assert path is not None
    for damaged in ("", "[]", "{"):
        path.write_text(damaged)
        assert kept_probe(Settings(model="z", cache=cache)) == {}
    for model in ("b", "a"):
        keep_probe(Settings(model=model, cache=cache), found)
    assert [line[:4] for line in path.read_text().splitlines() if "|" in line] == [' "a|', ' "b|']
    assert kept_probe(Settings(models=("a", "z", "b"), cache=cache)) == {model: dict.fromkeys(NAMES, 12.3) for model in ("a", "b")}


def test_a_judge_that_cannot_be_asked(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """An endpoint that is down is exit 4 with its reason, and nothing is kept."""
    server = serve(lambda *_: Say(status=401))
    Path("own.yaml").write_text(f"base_url: {server.base_url}\nmodel: m\nretries: 0\n")
    assert main(["judge", "probe", "--judge", "own.yaml"]) == 4
    assert "m  failed: " in capsys.readouterr().out
    assert not list(Path().rglob("probes.json"))
