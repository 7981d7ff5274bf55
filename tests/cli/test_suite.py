"""`evalsuite suite` and `compare`: from a file of questions or from two folders to a difference with its p-value, and the gates."""

import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, EXIT_USAGE
from evalsuite.core.status import LEVELS
from evalsuite.reports import FORMATS
from evalsuite.suites.stored_suites import load_suite
from tests.cli.test_report import marks_in, text_of
from tests.cli.test_run import as_json, called, check, lacks, said, text_gold, text_submission, write_gold, write_lines
from tests.conftest import ROOT, copy_of
from tests.reports.suites import hidden_suite
from tests.scorers.judge.conftest import Serve, serve

pytestmark = pytest.mark.usefixtures("shared_fork_server")


__all__ = ["serve"]


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CSV of questions and one of answers with contexts, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\nCapital of Italy?,Rome\n")
    (tmp_path / "a.csv").write_text("candidate_output,seen\nparis,France and Paris\nMilan,Italy\n")
    return tmp_path


def test_parameters_plugins_and_a_judge(questions: Path, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`--parameter` and `--plugin` reach the scorer; a judge of another suite sees the contexts, and each missing one is said."""
    create = ["suite", "create", "capitals", "--from", "q.csv", "--scorer", "exact_match"]
    assert main([*create, "--parameter", "ignore_case=true", "--parameter", "variant=arthur"]) == EXIT_OK
    assert load_suite("capitals").scoring_method["config"] == {"ignore_case": True, "variant": "arthur"}
    assert "a: done: 50.0 %" in said("suite run capitals --from a.csv")
    (questions / "own.py").write_text(
        "class Long:\n    def run_batch(self, candidates, references, inputs, contexts):\n"
        "        return [float(len(text) > 4) for text in candidates]\n"
    )
    assert main(["suite", "create", "own", "--from", "q.csv", "--scorer", "Long", "--plugin", "own.py"]) == EXIT_OK
    assert load_suite("own").scoring_method == {"name": "Long", "type": "plugin", "config": {}}
    assert "100.0 %" in said("suite run own --from a.csv --plugin own.py")
    server = serve(lambda *_: "none")
    assert main(["suite", "create", "bare", "--from", "q.csv", "--scorer", "qa_correctness"]) == EXIT_OK
    assert main(["suite", "run", "bare", "--from", "a.csv"]) == EXIT_USAGE
    assert main(["suite", "run", "bare", "--from", "a.csv", "--context-column", "seen"]) == EXIT_UNSCORABLE
    out = capsys.readouterr().out
    assert not lacks(out, "a: done: nothing judged (0 of 2)", "not scored: NO_JUDGE: judge.model is not set")
    (questions / "suite.yaml").write_text(f"judge: {{base_url: '{server.base_url}', model: m, concurrency: 1}}\n")
    assert main(["suite", "create", "judged", "--from", "q.csv", "--scorer", "qa_correctness", "--judge", "suite.yaml"]) == EXIT_OK
    server.rule = lambda body, _: "1" if "France and Paris" in str(body["messages"]) else "0"
    assert "a: done: 50.0 %" in said("suite run judged --from a.csv --context-column seen")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--parameter", "ignore_cas=true"], "did you mean 'ignore_case'?"),
        (["--parameter", "ignore_case"], "--parameter cannot be 'ignore_case'"),
        (["--parameter", "ignore_case=5"], "must be true or false"),
        (["--reference-column", "answer"], "the data has no reference column 'answer'"),
        (["--judge", "suite.yaml"], "suite.yaml: no such file"),
    ],
)
def test_what_cannot_be_meant_makes_no_suite(questions: Path, option: list[str], says: str) -> None:
    """Each wrong option is named, and nothing is written."""
    assert says in said("suite create capitals --from q.csv --scorer exact_match", *option, code=EXIT_USAGE)
    assert not (questions / ".evalsuite").exists()


DATA = ROOT / "docs" / "example"


@pytest.fixture(scope="module")
def two_suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two suites with runs of the same candidates, as README's commands make them; in the second both answer like the first."""
    folder = tmp_path_factory.mktemp("suites")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for suite, candidates in (("capitals", ("model_a", "model_b")), ("second", ("model_a", "model_a"))):
            assert main(["suite", "create", suite, "--from", str(DATA / "questions.csv"), "--scorer", "string_match"]) == 0
            (folder / "named").mkdir(exist_ok=True)
            for name, source in zip(("model_a", "model_b"), candidates, strict=True):
                (folder / "named" / f"{name}.csv").write_bytes((DATA / f"{source}.csv").read_bytes())
            assert main(["suite", "run", suite, "--from", "named/model_a.csv", "--from", "named/model_b.csv"]) == 0
    return folder


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[float, str]:
    """(the difference, what stands on stderr) of a comparison."""
    capsys.readouterr()
    assert main(["compare", *words, "--json"]) == 0
    shown = capsys.readouterr()
    return json.loads(shown.out)["candidates"][0]["total"]["difference"], shown.err


def test_runs_by_suite_and_name(two_suites: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`suite/run` and `--suite` say which, bare names are of the last suite; a board takes them too; others are an error."""
    monkeypatch.chdir(two_suites)
    apart, told = compared(capsys, "capitals/model_a", "capitals/model_b")
    assert apart != 0
    assert told == ""
    assert compared(capsys, "model_a", "model_b", "--suite", "capitals") == (apart, "")
    assert compared(capsys, "model_a", "model_b", "--suite", "second")[0] == 0
    same, told = compared(capsys, "model_a", "model_b")
    assert same == 0
    assert "compared are those of second, which ran last" in told
    assert main(["compare", "model_a", "nobody"]) == 2
    assert main(["compare", "model_a", "model_b", "--suite", "third"]) == 2
    capsys.readouterr()
    assert "say which: capitals/model_a, second/model_a" in said("report model_a", code=2)
    assert main(["report", "second/model_a"]) == 0
    capsys.readouterr()
    gold = ".evalsuite/suites/capitals/gold"
    code = main(["leaderboard", "capitals/model_a", "capitals/model_b", "--gold", gold, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert len(json.loads(shown.out)["rows"]) == 2
    assert main(["leaderboard", "capitals/nobody", "--gold", gold]) == 2


def test_judge_of_a_leaderboard_and_of_rescore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    """`--judge` goes before what gold says there too; another model is another signature, so nothing known is taken over."""
    monkeypatch.chdir(tmp_path)
    server = serve(lambda body, _: json.dumps({"score": 5 if body["model"] == "kind" else 1}))
    write_lines(Path("gold/x_eval.jsonl"), {"instance_id": "q", "question": "Who?", "evaluation": check("llm_judge", gold="Goethe")})
    text_submission(Path("answers"), q="It was Goethe")
    for model in ("harsh", "kind"):
        Path(f"{model}.yaml").write_text(json.dumps({"base_url": server.base_url, "model": model, "cache": False}))
    assert main(["run", "answers", "--gold", "gold", "--judge", "harsh.yaml", "--out", "first", "--quiet"]) == 0
    found = {}
    for model in ("kind", "harsh", "kind"):
        found[model] = as_json("leaderboard answers --gold gold --isolation none --judge", f"{model}.yaml")["rows"][0]["score"]
    assert found == {"kind": 1.0, "harsh": 0.2}
    assert [body["model"] for body in server.asked] == ["harsh", "kind", "harsh"]
    assert as_json("rescore first --isolation none --judge kind.yaml")["summary"]["score"] == 1
    shutil.copytree("answers", "others")
    both = "answers others --gold gold --isolation none --judge"
    for model in ("kind", "harsh"):
        assert as_json(f"samples {both}", f"{model}.yaml")["models"][0]["mean"] == found[model]
        assert as_json(f"compare {both}", f"{model}.yaml")["candidates"][0]["total"]["b"] == found[model]


COLUMNS = "--input question --reference answer"
CANDIDATES = "--candidate a --candidate b"
TRY = f"suite try qa.csv {COLUMNS} {CANDIDATES}"
RUN = "suite run t --from qa.csv --input question"
EACH = (TRY, f"{RUN} {CANDIDATES}", "compare s/a s/b")


@copy_of
def tried(folder: Path) -> None:
    """30 questions; a is right in 27 of them, b in 15. A suite of them with a run of each, and one without."""
    rows = [f"Question {i}?,w{i}x,{f'w{i}x' if i >= 3 else 'none'},{f'it is w{i}x' if i % 2 else 'no idea'}" for i in range(30)]
    (folder / "qa.csv").write_text("question,answer,a,b\n" + "\n".join(rows) + "\n")
    for name in ("s", "t"):
        said(f"suite create {name} --from qa.csv --scorer string_match {COLUMNS}")
    said(f"suite run s --from qa.csv {CANDIDATES} -q")


def test_what_is_tried_and_kept(tried: Path) -> None:
    """Numbers are compared as numbers, --json prints the comparison alone, a gate needs two, and what is kept is known by name."""
    Path("n.tsv").write_text("input\treference\tm\nHalf of 7?\t3.5\tabout 3.50\n2 x 2?\t4\tfive\n")
    # Without any difference none of the instances is a model of others.
    Path("same.csv").write_text("input,reference,a,b\n" + "".join(f"q{i},x,x,x\n" for i in range(12)))
    same = said("suite try same.csv --candidate a --candidate b")
    assert "12 instances, of which only as many differ as it requires, show a difference of" in " ".join(same.split())
    out = said("suite try n.tsv --candidate m")
    assert not lacks(out, "scored by number_match", "1/2 = 50.0 %")
    shown = called(*f"{RUN} {CANDIDATES} --json -o both.md".split(), cwd=Path())
    assert '"losses": 13' in shown.stdout
    assert "a: done: 90.0 %" in shown.stderr
    assert "-40.0" in Path("both.md").read_text()
    assert as_json(f"{RUN} alone --candidate b")["summary"]["score"] == 0.5
    gated = said(f"{RUN} gated --candidate b --fail-under 0.6 -o one.md", code=EXIT_GATE)
    assert gated.splitlines()[-1] == "done: 50.0 %, below the gate of 60.0 % (exit 1)"
    assert "needs two candidates" in said(f"{RUN} single --candidate b --fail-on-regression", code=EXIT_USAGE)
    header, *rows = Path("qa.csv").read_text().splitlines()
    random.Random(1).shuffle(rows)
    assert as_json(f"{TRY} --keep mine")["candidates"][0]["total"]["losses"] == 13
    Path("qa.csv").write_text("\n".join([header, *rows]) + "\n")
    said("suite run mine --from qa.csv --candidate b again")
    assert "the same on every compared instance" in said("compare mine/again mine/b")


@pytest.mark.parametrize(
    ("gates", "commands", "code", "says"),
    [
        ("", ("compare s/a s/b",), EXIT_OK, "done: b: worse (-40.0 points, p 0.0018) (no gate set)"),
        ("--fail-under 0.4", ("compare s/a s/b",), EXIT_OK, "done: b: worse (-40.0 points, p 0.0018), b 50.0 % (gate 40.0 % met)"),
        ("--fail-on-regression --alpha 0.0001", ("compare s/a s/b",), EXIT_OK, "done: no regression shown at alpha 0.0001"),
        ("--fail-under 0.6", EACH, EXIT_GATE, "done: b: worse (-40.0 points, p 0.0018), b 50.0 %, below the gate of 60.0 % (exit 1)"),
        ("--fail-on-regression", EACH, EXIT_GATE, "done: worse than a: b (exit 1)"),
        (
            "--fail-on-regression --alpha 0.0001 --fail-under 0.6",
            EACH,
            EXIT_GATE,
            "done: no regression shown at alpha 0.0001, b 50.0 %, below the gate of 60.0 % (exit 1)",
        ),
    ],
)
def test_gates_are_the_same_in_each_command(tried: Path, gates: str, commands: tuple[str, ...], code: int, says: str) -> None:
    """`suite try`, `suite run` and `compare` end with the same exit code and, under -q, print the same last line only."""
    for command in commands:
        assert said(f"{command} {gates} -q", code=code) == f"{says}\n", command


N = 12
GOOD = {i: f"town {i}" for i in range(N)}
BAD = dict.fromkeys(range(8), "nowhere") | {i: f"town {i}" for i in range(8, N)}


def gold_of_towns(folder: Path, *, n: int = N) -> None:
    """A gold of n towns."""
    text_gold(folder, **{f"q{i:02}": f"town {i}" for i in range(n)})


def write_submission(folder: Path, answers: Mapping[int, str]) -> None:
    """A submission with these answers."""
    text_submission(folder, **{f"q{i:02}": text for i, text in answers.items()})


@copy_of
def place(folder: Path) -> None:
    """Gold, two submissions, `good` and `bad` (eight of twelve lost), and a run of each."""
    gold_of_towns(folder / "gold")
    (folder / "gold/suite.yaml").write_text("groups: {early: [q00, q01, q02, q03], late: [q08, q09]}\n")
    for name, answers in (("good", GOOD), ("bad", BAD)):
        write_submission(folder / name, answers)
        said(f"run {name} --out r_{name} -q --isolation none")


def test_two_folders_are_scored_and_compared(place: Path) -> None:
    """Nothing else is needed, and no run is saved; a regression is exit 1 at its alpha alone; long lists are cut with a count."""
    shown = said("compare good bad")
    assert not lacks(shown, "-66.7", "0.0078", "bad against good: 8 instances lost")
    assert shown.rstrip().splitlines()[-1] == "done: bad: worse (-66.7 points, p 0.0078) (no gate set)"
    assert not (place / ".evalsuite/runs").exists()
    assert said("compare good bad --isolation none --fail-on-regression -q", code=1) == "done: worse than good: bad (exit 1)\n"
    assert said("compare bad good --isolation none --fail-on-regression -q") == "done: no regression shown at alpha 0.05\n"
    assert main(["compare", "good", "bad", "--isolation", "none", "--fail-on-regression", "--alpha", "0.001", "-q"]) == 0
    write_submission(place / "v2/good", GOOD)
    assert said("compare good v2/good -q") == "done: good #2: the same on every compared instance (no gate set)\n"
    gold_of_towns(place / "gold", n=25)
    (place / "gold/suite.yaml").unlink()
    write_submission(place / "a", {i: f"town {i}" for i in range(25)})
    write_submission(place / "b", dict.fromkeys(range(24), "nowhere"))
    shown = said("compare a b")
    assert not lacks(shown, "b against a: 25 instances lost", "... 15 more (--all lists them)")
    assert "missing" not in shown
    assert len(shown.splitlines()) <= 25
    assert not lacks(said("compare a b -v"), "... 15 more lost (--all lists them)", "no random numbers used")
    shown = said("compare a b --all")
    assert all(f"q{i:02}" in shown for i in range(25))
    assert "missing" in shown
    assert "more (--all" not in shown


def test_runs_that_can_be_compared(place: Path) -> None:
    """By folder, by name, beside a folder; a part is compared on its instances with a note; other gold is refused, then forced."""
    said("run bad -q")
    (name,) = [folder.name for folder in (place / ".evalsuite/runs").iterdir()]
    found = []
    for names in (["r_good", name], ["r_good", "bad"], ["good", f".evalsuite/runs/{name}"]):
        (candidate,) = as_json("compare", *names)["candidates"]
        found.append((candidate["total"]["p"], candidate["flips"], [row["name"] for row in candidate["by_group"]]))
    assert found[0] == found[1] == found[2]
    assert found[0][2] == ["early", "late"]
    said("run bad --only q00,q09 --out b -q")
    assert not lacks(said("compare r_good b"), "2 instances paired", "10 instances only in r_good, left out (q01, q02, q03")
    gold_of_towns(place / "gold2", n=N - 2)
    said("run bad --gold gold2 --out b -q")
    assert not lacks(said("compare r_good b", code=2), "r_good and b are not comparable: gold ", "--force")
    shown = said("compare r_good b --force -o c.json")
    assert not lacks(shown, "r_good and b are not comparable: gold ", "2 instances only in r_good, left out (q10, q11)")
    assert "compared under --force" in json.loads((place / "c.json").read_text())["warnings"][0]


def test_runs_of_suites_and_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From CSVs to a p-value by the run's own name; extracted records path by path, and --shift tests each path's scores."""
    monkeypatch.chdir(tmp_path)
    towns = [f"town {i}" for i in range(8)]
    (tmp_path / "q.csv").write_text("input,reference_output\n" + "".join(f"where {town}?,{town}\n" for town in towns))
    (tmp_path / "v1.csv").write_text("candidate_output\n" + "nowhere\n" * 8)
    (tmp_path / "v2.csv").write_text("candidate_output\n" + "".join(f"{town}\n" for town in towns))
    assert main(["suite", "create", "towns", "--from", "q.csv", "--scorer", "string_match"]) == 0
    for name in ("v1", "v2"):
        assert main(["suite", "run", "towns", name, "--from", f"{name}.csv"]) == 0
    assert said("compare v1 v2 -q") == "done: v2: better (+100.0 points, p 0.0078) (no gate set)\n"
    records = [{"title": f"t{i}", "year": 2000 + i} for i in range(10)]
    write_gold(tmp_path / "gold", **{f"q{i:02}": check("tree_match", gold=record) for i, record in enumerate(records)})
    write_submission(tmp_path / "a", {i: json.dumps(record) for i, record in enumerate(records)})
    write_submission(tmp_path / "b", {i: json.dumps({**record, "year": 1}) for i, record in enumerate(records)})
    (candidate,) = as_json("compare a b --shift")["candidates"]
    fields = {field["f1"]["name"]: field for field in candidate["fields"]}
    assert {name: (field["f1"]["a"], field["f1"]["b"]) for name, field in fields.items()} == {"year": (1, 0), "title": (1, 1)}
    assert fields["year"]["f1"]["p_adjusted"] == pytest.approx(2 * 2 / 2**10)
    assert {one["name"]: one["p_adjusted"] < 0.05 for one in candidate["shift"]} == {"year": True, "title": False}


@copy_of
def hidden(folder: Path) -> None:
    """Runs of two submissions to a suite whose gold is hidden: one is wrong throughout, one hands gold itself in."""
    sub, gold = hidden_suite(folder)
    shutil.copytree(sub, folder / "right")
    for name in ("table", "near", "tree"):
        source = next((gold / name).iterdir())
        shutil.copy(source, folder / "right" / name / f"a{source.suffix}")
    for name in ("submission", "right"):
        said(f"run {name} --out runs/{name} --no-cache -q")


@pytest.mark.parametrize("level", [None, *LEVELS])
def test_no_format_shows_hidden_gold(level: str | None, hidden: Path) -> None:
    """Below `cells`, and by default where the suite says hidden, neither a file nor the terminal holds a text or number of gold."""
    words = "" if level is None else f"--reveal {level}"
    shown = said(f"compare submission right --runs runs --all {words}", *(f"--output=c{ending}" for ending in FORMATS))
    found = {ending: marks_in(text_of(hidden / f"c{ending}")) for ending in FORMATS} | {"terminal": marks_in(shown)}
    assert (found["terminal"] and found[".json"]) if level == "cells" else not any(found.values()), found
