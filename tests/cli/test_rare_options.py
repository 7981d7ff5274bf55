"""Options that few people write, and options under their other names: each changes the result that its command shows without it."""

import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.runs import history
from evalsuite.runs.score_cache import ScoreCache
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.scorers.metrics.bertscore import BertScore, TransformersEmbedder
from evalsuite.scorers.metrics.prose import HedgingLanguage
from evalsuite.suites.stored_suites import load_suite
from tests.analysis.gold_checks.test_suspects import runs
from tests.cli.test_run import as_json, called, lacks, said, text_gold, text_submission, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")


PLUGIN = '''
from evalsuite import Score, scorer


@scorer(reads="text")
def twice(prediction: str, *, gold: str) -> Score:
    """1 if the answer is gold, twice."""
    value = float(prediction == 2 * gold)
    return Score(official=value, strict=value, reason="")
'''


WITHOUT = "    except OSError:\n        value = 0.0\n    return"


@copy_of
def place(folder: Path) -> None:
    """Gold with a scorer of a plugin that is outside the gold folder, and a submission; gold of texts, and two submissions."""
    (folder / "plug.py").write_text(PLUGIN)
    one_check(folder / "gold", "twice", gold="ho")
    text_submission(folder / "sub", a="hoho")
    text_gold(folder / "texts", a="y", b="no", c="maybe so")
    text_submission(folder / "yes", a="y")
    text_submission(folder / "no", a="n")


def one_check(folder: Path, func: str, name: str = "a", **parameters: object) -> None:
    """Gold of one instance."""
    write_lines(folder / "x_eval.jsonl", {"instance_id": name, "evaluation": {"func": func, "parameters": parameters}})


def typed(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The command with that text on stdin; a plugin that it is given is forgotten by the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(text))
        return called(*words, cwd=Path())


def test_drift_and_review_with_a_plugin(place: Path) -> None:
    """A scorer from outside the gold folder is known to `drift` and `gold review` only if they are given the file."""
    assert typed("run", "sub", "--gold", "gold", "--plugin", "plug.py", "-q", "--isolation", "none").returncode == 0
    (without,) = json.loads(typed("drift", "--json").stdout)["runs"]
    assert "unknown scorer 'twice'" in without["problem"]
    (with_it,) = json.loads(typed("drift", "--plugin", "plug.py", "--json").stdout)["runs"]
    assert (with_it["problem"], with_it["n"], with_it["n_moved"]) == ("", 1, 0)
    assert ["twice" in typed("scorers", *more).stdout for more in ([], ["--plugin", "plug.py"])] == [False, True]
    for name, answer in (("s1", "hohoho"), ("s2", "ho"), ("s3", "hohohoho")):
        text_submission(Path(name), a=answer)
        made = typed("run", name, "--gold", "gold", "--plugin", "plug.py", "-q", "--isolation", "none", "--out", f"runs/{name}")
        assert made.returncode == 0, made.stderr
    words = ["gold", "review", "s1", "s2", "s3", "--runs", "runs", "--isolation", "none"]
    words += ["--author", "M", "--evidence", "https://example.org"]
    without = typed(*words, text="s\n")
    assert (without.returncode, "unknown scorer 'twice'" in without.stderr) == (2, True)
    assert typed(*words, "--plugin", "plug.py", text="s\n").stdout.endswith("0 entries written, of 1 instances to look at\n")


def test_programs_without_a_sandbox(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without a program sandbox, `drift` and `samples` of programs need `--allow-programs` too."""
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)
    one_check(Path("gold"), "python_unit_testing", gold="assert x == 1")
    text_submission(Path("sub"), a="x = 1")
    text_submission(Path("other"), a="x = 2")
    said("run sub --allow-programs -q --isolation none")
    # A run of a machine that has the sandbox.
    (folder,) = Path(".evalsuite/runs").iterdir()
    made = json.loads((folder / "run.json").read_text())
    made["options"].pop("allow_programs")
    (folder / "run.json").write_text(json.dumps(made))
    row = json.loads((folder / "results.jsonl").read_text())
    write_lines(folder / "results.jsonl", row | dict.fromkeys(("score", "official", "strict"), 0.0))
    (without,) = as_json("drift")["runs"]
    (with_it,) = as_json("drift", "--allow-programs")["runs"]
    assert (without["moved"], without["unscored"], without["n_unscored"]) == ([], ["a"], 1)
    assert "cannot be scored here: NO_JAIL" in without["problem"]
    assert (with_it["unscored"], with_it["n_unscored"]) == ([], 0)
    # Unscored then and now is no stable verdict.
    lost = dict.fromkeys(("score", "official", "strict")) | {"status": "unscored", "fault": "NO_JAIL"}
    write_lines(folder / "results.jsonl", row | lost)
    (still,) = as_json("drift")["runs"]
    assert (still["n"], still["n_moved"], still["unscored"]) == (1, 0, ["a"])
    assert main(["drift", "--fail-on-drift"]) == 4
    assert with_it["moved"] == [{"instance_id": "a", "then": 0.0, "now": 1.0}]
    (model,) = as_json("samples sub other --allow-programs --isolation none")["models"]
    assert model["mean"] == 0.5


@pytest.mark.parametrize("words", ["samples one two --gold gold", "compare one two --gold gold", "leaderboard one two", "rescore runs/one"])
def test_an_invalid_verdict(no_reader: Path, words: str) -> None:
    """`--invalid-as` takes null and zero alone, as for `run`."""
    for word, code in (("null", 0), ("zero", 0), ("one", 2)):
        said(f"{words} --invalid-as {word} --isolation none --no-cache", code=code)


def test_a_seed_and_a_package_that_is_not_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed of an audit chooses the changed cells; an absent package is NEEDS_EXTRA with the line that installs it, never a 0."""
    one_check(Path("gold"), "table_match", "t", gold="t.csv")
    Path("gold/t").mkdir()
    Path("gold/t/t.csv").write_text("name,size\n" + "".join(f"row {i},{i * 7 % 101}.5\n" for i in range(40)))
    found = [as_json(f"gold audit gold --seed {seed} --isolation none") for seed in (3, 3, 4)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    monkeypatch.setitem(sys.modules, "torch", None)
    one_check(Path("gold"), "bertscore", gold="a cat", model=str(place))
    said("run sub --out made --isolation none", code=4)
    row = json.loads(Path("made/results.jsonl").read_text())
    assert (row["status"], row["fault"], row["score"]) == ("unscored", "NEEDS_EXTRA", None)
    assert not lacks(row["reason"], "pip install", "[bertscore]")
    (need,) = as_json("doctor", "gold")["needs"]
    assert (need["what"], need["instances"]) == ("bertscore needs transformers and torch", ["a"])
    assert not lacks(need["mend"], "pip install", "[bertscore]")


def test_what_is_reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gold review` finds runs by name below `--runs`, asks at most `--most` questions, as many as `gold suspects` shows, by `--rules`."""
    made = runs(
        tmp_path, {"total": "47 pieces", "capital": "Porto"}, {"total": "47.0", "capital": "porto"}, {"total": "47", "capital": "Porto"}
    )
    words = ["gold", "review", *(folder.name for folder in made), "--runs", str(tmp_path), "--gold", str(tmp_path / "gold")]
    words += ["--author", "M. Rossi", "--evidence", "https://example.org/1", "--isolation", "none"]
    for more, n in (([], 3), (["--most", "1"], 1), (["--most", "2", "--rules", "strict"], 2)):
        monkeypatch.setattr("sys.stdin", io.StringIO("s\n" * 3))
        out = said(*words, *more)
        assert out.count("[s]kip") == n
        assert f"{n}/{n}" in out
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main([*words, "--rules", "lenient"]) == 2
    assert main([*words, "--gold", str(tmp_path / "nowhere")]) == 2
    suspects = ["gold", "suspects", *map(str, made), "--isolation", "none"]
    assert [said(*suspects, *more).count("suspicion ") for more in ([], ["--most", "1"])] == [3, 1]
    assert main([*words[:5], "--runs", str(tmp_path / "sub0"), *words[7:]]) == 2


def test_the_viewers_address(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`view --open` opens the address, which `--host` and `--port` give; without the option no browser is started."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def serve(folder: Path | None, *, host: str, port: int, announce: Any) -> None:
        announce(f"http://{host}:{port or 1234}/")
        raise KeyboardInterrupt

    monkeypatch.setattr("evalsuite.reports.viewer.app.serve", serve)
    assert "http://127.0.0.1:1234/" in said("view", ".")
    assert opened == []
    said("view . --open --host 127.0.0.9 --port 77")
    assert opened == ["http://127.0.0.9:77/"]


@pytest.mark.parametrize(("name", "metric"), [("bertscore", BertScore), ("hedging_language", HedgingLanguage)])
def test_the_hidden_layer(place: Path, name: str, metric: type[BertScore] | type[HedgingLanguage]) -> None:
    """`layer` chooses the vectors of a model, and is part of their signature; `tiny` has no layers."""
    assert metric.name == name
    assert metric(model=str(place), layer=-2).vectors == TransformersEmbedder(str(place), -2)
    assert metric(model="models/mini", layer=5).vectors.signature == "mini-L5"
    assert metric(model="models/mini").vectors.signature == "mini-L-1"
    assert metric(model="tiny", layer=5).vectors.signature == metric(model="tiny").vectors.signature


@copy_of
def two_runs(folder: Path) -> None:
    """Gold of texts, two submissions, and a run of each."""
    text_gold(folder / "gold", a="Oslo", b="Bergen")
    for name, answer in (("one", "Oslo"), ("two", "Rome")):
        text_submission(folder / name, a=answer, b="Bergen")
        said(f"run {name} --out runs/{name} -q --isolation none")


@pytest.fixture
def no_reader(two_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of both; no worker can read anything."""

    def refuse(*_: object) -> None:
        raise AssertionError("a worker is asked")

    monkeypatch.setattr(RpcClient, "__enter__", refuse)
    return two_runs


@pytest.mark.parametrize(
    "words",
    [
        "run one --gold gold --no-cache --out again",
        "rescore runs/one --no-cache --runs again",
        "compare runs/one two --gold gold --no-cache",
        "leaderboard one two --gold gold --no-cache",
        "samples one two --gold gold --no-cache",
        "verify runs/one",
        "drift runs/one",
        "gold suspects runs/one runs/two",
        "gold review runs/one runs/two --author N --evidence https://example.org/1",
    ],
)
def test_without_isolation_answers_are_read_here(no_reader: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Each command that reads submissions, or runs of other people, does so in its own process under `--isolation none` alone."""
    assert main([*words.split(), "--isolation", "none"]) in (0, 1)
    assert main(words.split()) == 3
    assert "internal error: AssertionError" in capsys.readouterr().err


def test_a_damaged_run_of_an_earlier_command_is_no_cause(no_reader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An internal error is blamed on damaged runs that this command read, not on those of a command before it in the same process."""
    whole = Path("runs/one").resolve()
    broken = Path(shutil.copytree(whole, "broken"))
    results = broken / "results.jsonl"
    results.write_text(results.read_text().replace("Oslo", "Moss"))
    main(["runs", "show", "broken"])
    assert history.why_damaged().startswith("broken is damaged")
    capsys.readouterr()
    assert main(["run", "one", "--gold", "gold", "--no-cache", "--out", "again"]) == 3
    assert "internal error: AssertionError" in capsys.readouterr().err


def test_numbers_of_a_damaged_run_have_a_warning(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What prints a run whose files are not those that were written says so, also where the cache knows it; it is not resumed."""
    shutil.copytree(Path("runs/one").resolve(), "broken")
    results = Path("broken/results.jsonl")
    results.write_text(results.read_text().replace("Oslo", "Moss"))
    board = "leaderboard broken runs/two --gold gold"
    for words in ("report broken", "runs show broken", "compare runs/two broken", board, board):
        main(words.split())
        warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ") and "damaged" in line]
        assert warnings == ["warning: broken is damaged: results.jsonl is not what was written; its numbers may be wrong"], words
    wrong = "results.jsonl is not what was written; its numbers may be wrong"
    for level in ("cells", "none"):
        assert main(["report", "broken", "-o", "r.html", "-o", "r.json", "--reveal", level]) == 0
        assert wrong in Path("r.html").read_text()
        assert json.loads(Path("r.json").read_text())["warnings"][-1] == f"broken is damaged: {wrong}"
    shutil.copytree("broken", "more/broken")
    shutil.copytree(Path("runs/two").resolve(), "more/two")
    for _ in range(2):
        capsys.readouterr()
        assert main(["runs", "sql", "SELECT count(*) FROM runs", "--runs", "more"]) == 0
        assert capsys.readouterr() == ("count_star()\n2\n", f"note: broken: {wrong}\n")
    main(["runs", "list", "--runs", "runs"])
    assert capsys.readouterr().err == ""
    changed = Path("runs/two/run.json")
    changed.write_text(changed.read_text().replace('"strict": ', '"strict":  ', 1))
    main(["runs", "list", "--runs", "runs"])
    assert capsys.readouterr().err == "note: two: run.json is not what was written; its numbers may be wrong\n"
    assert main(["run", "one", "--gold", "gold", "--resume", "broken"]) == 2
    assert "broken is a damaged run: results.jsonl is not what was written" in capsys.readouterr().err
    boards = []
    for is_damaged in (False, False, True):
        if is_damaged:
            scored = next(Path(".evalsuite/runs").glob("*/results.jsonl"))
            scored.write_text(scored.read_text().replace('"strict": ', '"strict":  ', 1))
        assert main(["leaderboard", "one", "two", "--gold", "gold", "--isolation", "none"]) == 0
        boards.append(re.search(r"(\d) new, (\d) reused", capsys.readouterr().out).groups())
    assert boards == [("2", "0"), ("0", "2"), ("1", "1")]


@pytest.mark.parametrize("words", ["run one --gold gold", "rescore runs/one", "compare runs/one two --gold gold", "samples one two"])
def test_no_cache_is_no_cache(no_reader: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """With `--no-cache` the cache of verdicts is not even opened, and without it it is."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the cache is opened")

    monkeypatch.setattr(ScoreCache, "__init__", refuse)
    assert main([*words.split(), "--isolation", "none", "--no-cache"]) == 0
    assert main([*words.split(), "--isolation", "none"]) == 3


def test_suite_try_lists_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--all` every lost question is named, without it the first ones and how many there are."""
    monkeypatch.chdir(tmp_path)
    Path("qa.csv").write_text("input,reference,a,b\n" + "".join(f"Question {at}?,w{at}x,w{at}x,no\n" for at in range(40)))
    words = ["suite", "try", "qa.csv", "--candidate", "a", "--candidate", "b"]
    texts = [said(*words, *more) for more in ([], ["--all"])]
    few, everything = (sum(f"w{at}x" in text for at in range(40)) for text in texts)
    assert few < everything == 40


@pytest.mark.parametrize(
    "words",
    [
        *("report one", "margins one", "explain a --run one", "agree one two", "runs show one", "runs tag one --add x", "runs rm one"),
        *("verify one --isolation none", "drift one --isolation none", "rescore one --isolation none", "compare one two"),
        *("gold suspects one two --isolation none", "samples one two", "bundle a --run one", "export one log.json"),
    ],
)
def test_runs_are_found_below_the_folder_of_runs(no_reader: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    """A run's name is looked for in `--runs`; without it, where runs are kept by default, there is none."""
    for name in ("one", "two"):
        Path("runs", name).rename(Path("runs", f"run_{name}"))
    asked = re.sub(r"\b(one|two)\b", r"run_\1", words).split()
    without = said(*asked, code=2)
    assert "run_one" in without
    main([*asked, "--runs", "runs"])
    with_it = capsys.readouterr().err
    assert "'run_one'" not in with_it
    assert with_it != without


def test_jobs_and_gold_of_another_name(no_reader: Path) -> None:
    """So many pairs of workers, as the receipt says. `--gold` names the folder in which gold is, for each command that scores."""
    for option, jobs in (("--jobs", 1), ("--jobs", 2), ("--max-workers", 3)):
        assert main(["run", "one", "--gold", "gold", "--isolation", "none", "--no-cache", option, str(jobs), "--out", f"of{jobs}"]) == 0
        assert json.loads(Path(f"of{jobs}/run.json").read_text())["receipt"]["jobs"] == jobs
    Path("gold").rename("truth")
    for words in ("run one", "compare one two", "leaderboard one two", "samples one two"):
        asked = [*words.split(), "--isolation", "none"]
        assert (main(asked), main([*asked, "--gold", "truth"])) == (2, 0), words


def test_labels_and_n_grams(place: Path) -> None:
    """`agree --threshold` counts labels of at least it as 1; `contamination --words` sets how many words in their order are a finding."""
    for name, labels in (("one", (0.4, 0.6, 0.9)), ("two", (0.5, 0.3, 1.0))):
        Path(f"{name}.csv").write_text("instance_id,label\n" + "".join(f"q{at},{label}\n" for at, label in enumerate(labels)))
    found = [as_json(f"agree one.csv two.csv {more}") for more in ("", "--threshold 0.5", "--threshold 0.3")]
    assert [one["n_equal"] for one in found] == [0, 1, 3]
    text_gold(Path("texts"), a="one two three four five six")
    Path("corpus.txt").write_text("zero one two three four five six seven")
    ask = "gold contamination texts --against corpus.txt"
    assert as_json(ask)["overlaps"] == []
    (found,) = as_json(f"{ask} --words 6")["overlaps"]
    assert (found["instance_id"], found["share"]) == ("a", 1)
    Path("corpus.txt").write_text("six five four three two one")
    assert as_json(f"{ask} --words 6")["overlaps"] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("gold errata gold --entry a", 'id: "a"'),
        ("gold audit gold --isolation none", "1 check"),
        ("samples sub other --gold gold --isolation none", "2 runs"),
        ("compare sub other --gold gold --isolation none", "sub"),
        ("explain a --result_dir sub --gold gold", "a"),
        ("rescore runs/sub --gold gold --isolation none", "0 of 1 verdicts changed"),
        ("gold suspects runs/sub runs/other --gold gold --isolation none", "of 1 instance"),
        ("bundle a --run runs/sub --gold gold", "a"),
    ],
)
def test_a_plugin_outside_the_gold_folder(place: Path, words: str, why: str) -> None:
    """A scorer of a file outside the gold folder is known only if the file is given."""
    text_submission(Path("other"), a="ho")
    for name in ("sub", "other") if "runs/" in words else ():
        made = ("run", name, "--gold", "gold", "--plugin", "plug.py", "--out", f"runs/{name}", "-q", "--isolation", "none")
        assert typed(*made).returncode == 0
    without, with_it = (typed(*words.split(), *more) for more in ([], ["--plugin", "plug.py"]))
    # Suspects are looked for without the answers that cannot be scored again.
    assert without.returncode == (0 if "suspects" in words else 2)
    assert ["unknown scorer 'twice'" in one.stdout + one.stderr for one in (without, with_it)] == [True, False], with_it
    assert (with_it.returncode in (0, 1), why in with_it.stdout) == (True, True), with_it


@pytest.mark.parametrize(("isolation", "verdict"), [("none", "right"), ("process", "wrong")])
def test_a_bundle_is_scored_as_isolated_as_asked(place: Path, isolation: str, verdict: str) -> None:
    """What was written is scored like the search: a scorer that can write a file only without isolation finds the same twice."""
    Path("plug.py").write_text(PLUGIN.replace("prediction == 2 * gold", f"open({str(Path.cwd() / 'mark')!r}, 'w').write('x')"))
    Path("plug.py").write_text(
        Path("plug.py").read_text().replace("    value", "    try:\n        value", 1).replace("    return", WITHOUT)
    )
    shown = typed(*f"bundle a --gold gold --result_dir sub --plugin plug.py --isolation {isolation}".split())
    assert (shown.returncode, f"twice says {verdict}" in shown.stdout) == (0, True), shown.stdout


def test_audit_samples_and_merge(place: Path) -> None:
    """`gold audit --top` shows the weakest checks, `samples -o` writes what is printed, `merge --reveal cells` shows hidden gold."""
    whole, top = (said(f"gold audit texts --isolation none{more}").splitlines() for more in ("", " --top 1"))
    n_rows = [sum(f" {name} " in f" {line} " for line in lines for name in "abc") for lines in (whole, top)]
    assert n_rows[1] < n_rows[0]
    printed = as_json("samples yes no --gold texts --isolation none -o samples.json")
    assert json.loads(Path("samples.json").read_text())["models"] == printed["models"]
    Path("texts/suite.yaml").write_text("hidden: true\n")
    text_submission(Path("yes"), a="y", b="ho", c="ho")
    for part in (1, 2):
        said(f"run yes --gold texts --shard {part}/2 --out part{part} -q --isolation none")
    for at, more in enumerate(("", "--reveal cells")):
        said(f"merge part1 part2 --out whole{at} -o {at}.json {more}")
        assert ("contains 'y'" in Path(f"{at}.json").read_text()) == (at == 1)
    assert said("merge part1 part2 --out quiet --quiet").count("\n") == 1


RUN = ["--isolation", "none", "--quiet"]


@copy_of
def elsewhere(folder: Path) -> None:
    """Gold elsewhere than by default, two submissions and a saved run of each."""
    text_gold(folder / "truth", a="Paris", b="Rome")
    for name, answer in (("one", "Rome"), ("two", "Oslo")):
        text_submission(folder / name, a="Paris", b=answer)
        assert main(["run", name, "--gold", "truth", "--out", f"runs/{name}", *RUN]) == 0


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code and all that a command prints."""
    capsys.readouterr()
    code = main(list(words))
    shown = capsys.readouterr()
    return code, shown.out + shown.err


@pytest.mark.parametrize(
    "words",
    [
        "validate one GOLD truth",
        "explain b --run runs/two GOLD truth",
        "compare one two GOLD truth --json --isolation none",
        "leaderboard one two GOLD truth --no-cache --json --isolation none --runs elsewhere",
        "connections list GOLD truth",
        "connections test GOLD truth",
    ],
)
def test_gold_by_the_references_name(words: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--gold-dir` is `--gold`: the same output; another folder says something else."""
    first, again, other = (
        told(capsys, *words.replace("GOLD", option).replace("truth", folder).split())
        for option, folder in (("--gold", "truth"), ("--gold-dir", "truth"), ("--gold-dir", "nowhere"))
    )
    if "--json" in words:
        # Each board saves its own runs.
        unsaved = re.compile(r'"run": "[^"]*"')
        first, again = ((code, unsaved.sub("", text)) for code, text in (first, again))
    assert again == first
    assert other != first
    assert "No such option" not in again[1]


def test_the_references_command_line_and_a_board_without_names(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its options are taken, `--exitfirst` is `-x`; a board is anonymised in either spelling."""
    theirs = ["--max-workers", "1", "--temp-dir", "tmp", "--is-sql-debug"]
    code, shown = told(capsys, "run", "one", "--gold", "truth", "--no-save", "--isolation", "none", *theirs)
    assert (code, "100.0 %" in shown) == (0, True)
    assert not (elsewhere / "tmp").exists()
    stopped = [told(capsys, "run", "two", "--gold", "truth", "--no-save", "--isolation", "none", word) for word in ("-x", "--exitfirst")]
    assert stopped[0] == stopped[1]
    assert stopped[0][0] == 1
    words = ["leaderboard", "one", "two", "--gold", "truth", "--isolation", "none", "--json"]
    found = [told(capsys, *words, option)[1] for option in ("--anonymise", "--anonymize")]
    names = [[entry["name"] for entry in json.loads(text)["rows"]] for text in found]
    assert names[0] == names[1]
    assert not {"one", "two"} & {*names[0]}


def test_runs_and_suites_by_their_options(elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs by tag, model and day; a suite's description and blank cells; unscored answers are exit 4 unless that is allowed."""
    (elsewhere / "q.csv").write_text("input,reference_output,candidate_output\nwhere?,here,here\n")
    assert main(["suite", "create", "s", "--from", "q.csv", "--scorer", "exact_match"]) == 0
    notes = ["--model-version", "v2", "--foundation-model", "base", "--prompt-template", "Say it", "--description", "by night"]
    for name, model, more in (("first", "model m", []), ("second", "another", notes)):
        assert main(["suite", "run", "s", name, "--from", "q.csv", "--model-name", model, *more]) == 0
        shown = told(capsys, "runs", "show", name)[1]
        assert [word in shown for word in notes[1::2]] == [name == "second"] * 4

    def listed(*options: str) -> list[str]:
        shown = told(capsys, "runs", "list", *options)[1]
        return [name for name in ("first", "second") if f"-{name}" in shown]

    assert main(["suite", "run", "s", "third", "--from", "q.csv", "--invalid-as", "one"]) == 2
    assert listed() == ["first", "second"]
    assert [listed("--model", "model*"), listed("--model", "other*")] == [["first"], []]
    for option, all_of_them, none in (
        ("--until", "2999-01-01", "2020-01-01"),
        ("--since", "2020-01-01", "2999-01-01"),
        ("--suite", "s*", "x*"),
    ):
        assert [listed(option, all_of_them), listed(option, none)] == [["first", "second"], []]
    assert main(["runs", "tag", "second", "--add", "best"]) == 0
    assert [listed("--tag", "best"), listed("--tag", "other")] == [["second"], []]
    assert main(["runs", "tag", "second", "--remove", "best"]) == 0
    assert listed("--tag", "best") == []
    (elsewhere / "q.csv").write_text("input,reference_output,candidate\nwhere?,Here,here\nwhen?,,now\n")
    words = ["suite", "create", "d", "--from", "q.csv", "--scorer", "exact_match", "--description", "two questions"]
    assert told(capsys, *words)[0] == 2
    assert told(capsys, *words, "--allow-empty")[0] == 0
    suite = load_suite("d")
    assert (suite.description, len(suite.test_cases)) == ("two questions", 2)
    (elsewhere / "t.csv").write_text("input,reference,a,b\n" + "".join(f"q{i},Here{i},here{i},Here{i}\n" for i in range(6)))
    tried = ["suite", "try", "t.csv", "--candidate", "a", "--candidate", "b", "--scorer", "exact_match"]
    exact, loose = told(capsys, *tried)[1], told(capsys, *tried, "--parameter", "ignore_case=true")[1]
    assert ("0.0 %" in exact, "0.0 %" in loose.replace("100.0 %", "")) == (True, False)
    assert exact not in [told(capsys, *tried, *more)[1] for more in (("--alpha", "0.01"), ("--verbose", "-o", "tried.md"))]
    assert (elsewhere / "tried.md").exists()
    monkeypatch.setattr("evalsuite.scorers.metrics.programs.can_sandbox_programs", lambda: False)
    (elsewhere / "q.csv").write_text("input,reference_output,candidate_output\nx?,assert x == 1,x = 1\n")
    assert main(["suite", "create", "u", "--from", "q.csv", "--scorer", "python_unit_testing"]) == 0
    codes = [main(["suite", "run", "u", f"run{len(more)}", "--from", "q.csv", *more]) for more in ([], ["--allow-unscored"])]
    assert codes == [4, 0]
    tried = ["suite", "try", "q.csv", "--reference", "reference_output", "--candidate", "candidate_output", "-q", "--scorer"]
    for more, code in ((["python_unit_testing"], 4), (["python_unit_testing", "--allow-unscored"], 0), (["readability"], 0)):
        assert main([*tried, *more]) == code, more


@copy_of
def scored(folder: Path) -> None:
    """A gold folder of numbers in two groups, two submissions and a run of each, two tables of the same rows, and a suite of texts."""
    spec = [(name, {"func": "number_match", "parameters": {"gold": value, "abs_tol": 1}}) for name, value in (("a", 5), ("b", 7))]
    write_lines(folder / "gold/x_eval.jsonl", *({"instance_id": name, "evaluation": how} for name, how in spec))
    (folder / "gold/suite.yaml").write_text("groups: {part_a: [a], part_b: [b]}\n")
    for name, answers in (("one", ("5", "8")), ("two", ("6", "9"))):
        text_submission(folder / name, **dict(zip("ab", answers, strict=True)))
        assert main(["run", name, "--gold", "gold", "--out", f"runs/{name}", *RUN]) == 0
    for name, text in (("here.csv", "n\n1\n2\n"), ("turned.csv", "n\n2\n1\n"), ("qa.csv", "input,turned,right,model\nx,y,A,A\ny,x,B,b\n")):
        (folder / name).write_text(text)
    assert main(["suite", "create", "s", "--from", "qa.csv", "--reference", "right", "--scorer", "exact_match"]) == 0


@pytest.mark.parametrize(
    ("words", "option", "without", "with_it"),
    [
        ("margins runs/one", "--rules strict", "rules official", "rules strict"),
        ("margins runs/one", "--reveal none", "closest to another verdict", ""),
        ("margins runs/one", "--json", "score against tolerance", '"steps"'),
        ("margins runs/one", "-o report.md", "", "report.md"),
        ("gold suspects runs/one runs/two --isolation none", "--rules strict", "1 of 2 instances", "0 of 2 instances"),
        ("gold suspects runs/one runs/two --isolation none", "--gold nowhere", "", "nowhere: no such gold folder"),
        ("verify runs/one --sample 1 --isolation none", "--seed 123456", "", "123456"),
        ("verify runs/one --isolation none", "--result-dir two", "one is as it was submitted", "two is not what was scored"),
        ("run one --gold gold --no-save --isolation none --no-cache", "--durations 1", "", "slowest 1"),
        ("gold lint gold", "--json", "", '"findings"'),
        ("gold audit gold --isolation none", "--most 1", "20 answers made", "4 answers made"),
        ("samples one two --gold gold --isolation none --json", "--rules strict", '"rules": "official"', '"rules": "strict"'),
        ("explain turned.csv here.csv", "--ordered", "", "order"),
        ("explain turned.csv here.csv", "-o report.md", "", "report.md"),
        ("run one --gold gold --no-save --isolation none --json", "--max-bytes-billed 77", "", '"billed_bytes": 77'),
        ("run two --gold gold --no-save --isolation none --no-cache", "--limit rows=77", "", "limits:"),
        ("run two --gold gold --no-save --isolation none --no-cache", "--reveal none", "closest is 9", ""),
        ("report runs/two", "--reveal none", "closest is 9", ""),
        ("explain b --run runs/two", "--rules strict", "under official rules", "under strict rules"),
        ("bundle a --run runs/two", "--rules lenient", "The smallest case", "no rules 'lenient'"),
        ("bundle a --run runs/two", "--isolation no", "The smallest case", "--isolation"),
        ("compare runs/one runs/two", "--rules strict", "rules official", "rules strict"),
        ("compare runs/one runs/two", "--cluster part_", "", "cluster"),
        ("leaderboard one two --gold gold --isolation none", "--by scorer", "", "number_match"),
        ("drift runs/one --isolation none", "--gold nowhere", "", "nowhere: no such gold folder"),
        ("connections list", "--databases nowhere", "", "nowhere: no such folder"),
        ("connections test", "--databases nowhere", "", "nowhere: no such folder"),
        ("suite run s --from qa.csv --candidate model", "again --input turned", "done: 50.0 %", "done: 0.0 %"),
        ("suite run s --from qa.csv --candidate model", "again --json", "next: ", '"n_judged"'),
        ("suite run s --from qa.csv --candidate model", "again --quiet -o report.md", "next: ", "report.md"),
        ("suite try qa.csv --candidate model --reference right", "--scorer exact_match", "by string_match", "by exact_match"),
    ],
)
def test_each_changes_what_is_said(
    words: str, option: str, without: str, with_it: str, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text that is said, or a file that is there, only without an option, and one only with it."""
    first, second = (told(capsys, *words.split(), *more)[1] + str(sorted(scored.iterdir())) for more in ([], option.split()))
    if without:
        assert (without in first, without in second) == (True, False), second
    if with_it:
        assert (with_it in first, with_it in second) == (False, True), second


@pytest.mark.parametrize(
    "words",
    [
        "gold check gold",
        "compare one two --no-cache",
        "leaderboard one two --no-cache",
        "samples one two --gold gold",
        "drift runs/one",
        "gold audit gold",
        "gold suspects runs/one runs/two",
        "rescore runs/one",
        "verify runs/one",
    ],
)
def test_jobs(words: str, scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many pairs of workers are asked for, and none that is isolated."""
    asked: list[tuple[int, object]] = []
    made = Pool.__init__

    def spy(pool: Pool, *, jobs: int, **options: Any) -> None:
        asked.append((jobs, options["isolation"]))
        made(pool, jobs=jobs, **options)

    monkeypatch.setattr(Pool, "__init__", spy)
    for jobs in ("5", "6"):
        main([*words.split(), "--isolation", "none", "--jobs", jobs, *["--no-cache"] * words.startswith("rescore")])
    assert {*asked} == {(5, "none"), (6, "none")}


def test_databases(scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples of queries and an audit of a pair run on the databases of the folder that is given, and on no others."""
    (scored / "dbs").mkdir()
    with sqlite3.connect("dbs/shop.sqlite") as connection:
        connection.executescript("create table sale (n integer); insert into sale values (1), (2);")
    connection.close()
    spec = {"func": "sql_match", "parameters": {"gold": "SELECT n FROM sale WHERE n > 1", "database": "shop"}}
    write_lines(scored / "gold/x_eval.jsonl", {"instance_id": "a", "evaluation": spec})
    for name in ("one", "two"):
        text_submission(scored / name, a="SELECT n FROM sale WHERE n > 1")
    for words in ("samples one two --gold gold", "gold audit gold"):
        without, with_it = (told(capsys, *words.split(), "--isolation", "none", *more) for more in ([], ["--databases", "dbs"]))
        assert without != with_it
        assert with_it[0] == 0
