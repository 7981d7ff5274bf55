"""Every command and subcommand with what it ends with, and a small folder in which all of them have something to do."""

import shlex
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cli.test_run import write_lines
from tests.conftest import ROOT
from tests.gold.layouts import CITIES, gold_folder
from tests.reports.viewer.served import bench_folder
from tests.runs.made import write_file
from tests.terminal.pty_harness import EVALSUITE, piped

# Ids and submissions as people give them: long, of other scripts, with spaces. No terminal of the table may break one of them.
RIGHT, FLIPPED, TABLE, WRONG = "spider2-lite-local-0041-a", "größe_002", "table_of_cities_by_number_of_people", "Киев"
NAMES = (RIGHT, FLIPPED, TABLE, WRONG)
LONG, SPACED = "a_submission_with_a_rather_long_name_as_people_give_them", "äpfel und birnen"


@dataclass(frozen=True)
class Command:
    """A line after `evalsuite`, its exit code, what its last line begins with, and what must stand whole on the screen.

    `writes` is what it cannot do in a read-only folder; `main` are the commands that every dimension of the line is tried on; `set` marks
    those that set their report to the width of the terminal.
    """

    line: str
    code: int = 0
    last: str = ""
    whole: tuple[str, ...] = ()
    writes: bool = False
    main: bool = False
    set: bool = False

    @property
    def words(self) -> list[str]:
        """The whole command line."""
        return [*EVALSUITE, *shlex.split(self.line)]


COMMANDS = (
    Command(f"run {LONG} --gold gold", last="done: 60.0 % (no gate set)", whole=(LONG, *NAMES), writes=True, main=True, set=True),
    Command(
        f"run '{SPACED}' --gold gold --no-save --fail-under 0.9", 1, "done: 40.0 %, below the gate of 90.0 % (exit 1)", (SPACED,), set=True
    ),
    Command("run nothing --gold gold --no-save", 5, "nothing to score: no answer to any of 5 instances (exit 5)", set=True),
    Command(f"run {LONG} --gold gold --no-save --json --verbose", whole=(LONG,)),
    Command(f"run {LONG} --gold gold --no-save --failures --verbose --durations 2", last="done: 60.0 %", whole=(FLIPPED, WRONG), set=True),
    Command(f"run {LONG} --gold gold -x --no-save", 1, "done: stopped at"),
    Command(f"run {LONG} --gold gold --lf --no-save", last="done: ", whole=(WRONG,), set=True),
    Command(f"run {LONG} --gold gold --github --no-save", whole=NAMES),
    Command(f"run {LONG} --gold gold --shard 1/2 --out part -q", last="done: ", writes=True),
    Command(f"what {LONG}", last=f"would run: evalsuite run {LONG} --gold gold", whole=(LONG,)),
    Command(f"check {TABLE} --result_dir {LONG} --gold_dir gold", whole=(TABLE,), main=True),
    Command(f"check {FLIPPED} --result_dir {LONG} --gold_dir gold --explain", whole=(FLIPPED,)),
    Command("check number_match --prediction 'about 17.5 %' --gold 17.5 --percentage"),
    Command("check tree_match --prediction docs/trees/extracted.jsonl --gold docs/trees/gold.jsonl --id-field id"),
    Command(f"explain {FLIPPED} --run first", whole=(FLIPPED,)),
    Command("doctor", last="done: "),
    Command("scorers", whole=("levenshtein_distance",), main=True),
    Command("scorers table_match", whole=("condition_cols",)),
    Command(f"validate {LONG} --gold gold", 1, "not ready: ", main=True),
    Command("schema infer docs/trees/gold.jsonl --id-field id --widen"),
    Command("schema resolve schema.json"),
    Command("schema annotate schema.json"),
    Command("schema check schema.json --gold docs/trees/gold.jsonl --id-field id", 1),
    Command("suite create again --from docs/example/questions.csv --scorer string_match", last="made suite 'again'", writes=True),
    Command("suite list", whole=("capitals",)),
    Command("suite show capitals", whole=("capitals",)),
    Command("suite run capitals --from model_c.csv", whole=("model_c: done: 65.0 %",), writes=True),
    Command("suite export capitals capitals.json", last="wrote capitals.json", writes=True),
    Command("suite import bench", last="imported suite 'typos'", writes=True),
    Command("suite rename capitals capital_cities", last="renamed suite 'capitals' to 'capital_cities'", writes=True),
    Command("suite delete capitals", last="deleted suite 'capitals'", writes=True),
    Command(f"leaderboard {LONG} '{SPACED}' --gold gold", last="done: 2 submissions ranked", whole=(LONG, SPACED), main=True, set=True),
    Command(
        "leaderboard .evalsuite/runs/first .evalsuite/runs/second --gold gold --by scorer --anonymise --force",
        last="done: 2 submissions ranked",
        set=True,
    ),
    Command("margins first"),
    Command("report first", last="done: 60.0 %", whole=NAMES, main=True, set=True),
    Command("report first -o report.html -o report.csv -o report.svg", writes=True),
    Command("merge parts/1 parts/2 --out whole", last="done: 60.0 %", writes=True, set=True),
    Command("rescore first --rules strict", last="done: ", whole=(FLIPPED,), writes=True),
    Command("drift first", last="done: 0 verdicts moved in 1 run"),
    Command("samples first second"),
    Command("example play", writes=True),
    Command("init --gold-from tables --to begun", writes=True),
    Command("import samples_cities.jsonl", writes=True),
    Command(
        "suite try docs/example/questions.csv --input input --reference reference_output --candidate reference_output --keep tried",
        writes=True,
    ),
    Command("verify first", last="verified 5 of 5: first matches its claims: yes"),
    Command(f"bundle {RIGHT} --run first"),
    Command(f"bundle {RIGHT} --run first -o case", writes=True),
    Command("runs", whole=("model-a",)),
    Command("runs list", whole=("model-a",), main=True),
    Command("runs show first", whole=("first",)),
    Command("runs tag model_a --add good", last="#good", writes=True),
    Command("runs rm model_a", last="deleted ", writes=True),
    Command("runs prune --keep 1"),
    Command("export model_a log.json", last="done: wrote 40 samples to log.json", writes=True),
    Command("judge test --judge judge.yaml", 4, "failed: nobody"),
    Command("judge probe --judge judge.yaml", 4, "failed: nobody"),
    Command("compare model_a model_b", last="done: model_b: worse", whole=("model_a", "model_b"), main=True, set=True),
    Command(f"compare first '{SPACED}' --all", last="done: ", whole=(SPACED, TABLE), set=True),
    Command('sql "select scorer, count(*) as n, avg(strict) as strict from results group by all"', whole=("string_match",)),
    Command("doctor", whole=("processes", "limits", "landlock", "seccomp", "programs"), last="done: "),
    Command("connections list --gold gold", whole=("local",)),
    Command("connections test --gold gold --databases databases", last="done: 1 of 1 work"),
    Command("references list", 2),
    Command("keys new host", last="wrote the private key host", writes=True),
    Command("keys show key", last="ssh-ed25519 "),
    Command("agree first labels.csv"),
    Command("agree first second", whole=(TABLE,)),
    Command("gold check gold", writes=True),
    Command("gold audit gold --seconds 2 --top 2"),
    Command("gold lint gold", whole=(FLIPPED,)),
    Command("gold lint gold --fix"),
    Command("gold suspects first second", whole=(WRONG,)),
    Command("gold errata gold"),
    Command(f"gold errata gold --entry {RIGHT}", whole=(RIGHT,)),
    Command("gold contamination gold --against docs"),
    Command("gold convert lite --out plain", writes=True),
)


def make_place(folder: Path) -> Path:
    """A folder with gold, four submissions, runs, suites, shards, a database, labels and schemas, in which every command works."""
    for name in ("docs/example", "docs/trees"):
        shutil.copytree(ROOT / name, folder / name)
    _gold(folder / "gold")
    right = {RIGHT: "Paris, as ever", FLIPPED: "it was 17 in the end", TABLE: CITIES, WRONG: "Борщ", "geo_5": "3"}
    _submission(folder / LONG, {**right, WRONG: "Щи"}, leave_out="geo_5")
    _submission(folder / SPACED, {**right, RIGHT: "Lyon", TABLE: CITIES.replace("2", "3"), WRONG: "Щи"})
    _submission(folder / "nothing", {})
    bench_folder(folder / "bench")
    for name in ("broken", "capitals"):
        shutil.rmtree(folder / "bench" / name)
    gold_folder(folder / "lite", {"local1": {}}, {"local1.csv": CITIES})
    write_lines(folder / "schema.json", {"type": "object", "properties": {"method": {"type": "string"}}})
    shutil.copy(folder / "docs" / "example" / "model_b.csv", folder / "model_c.csv")
    (folder / "labels.csv").write_text(f"instance_id,label\n{RIGHT},1\n{FLIPPED},0\n", encoding="utf-8")
    (folder / "judge.yaml").write_text("base_url: http://127.0.0.1:9/v1\nmodel: nobody\nretries: 0\n", encoding="utf-8")
    (folder / "databases").mkdir()
    write_file(folder / "tables" / "cities.csv", CITIES)
    sample = {"doc_id": 0, "doc": {"q": "Capital?"}, "target": "Paris", "arguments": [["Capital?"]], "resps": [["Paris"]]}
    write_lines(folder / "samples_cities.jsonl", {**sample, "filtered_resps": ["Paris"], "exact_match": 1.0})
    sqlite3.connect(folder / "databases" / "shop.sqlite").execute("CREATE TABLE sales (n INTEGER)").connection.close()
    for line in (
        *(f"run {LONG} --gold gold --out .evalsuite/runs/first", f"run '{SPACED}' --gold gold --out .evalsuite/runs/second"),
        *(f"run {LONG} --gold gold --shard 1/2 --out parts/1", f"run {LONG} --gold gold --shard 2/2 --out parts/2", "keys new key"),
        "suite create capitals --from docs/example/questions.csv --scorer string_match",
        "suite run capitals --from docs/example/model_a.csv --from docs/example/model_b.csv",
    ):
        done = piped([*EVALSUITE, *shlex.split(line)], cwd=folder)
        assert done.code == 0, (line, done.errors)
    return folder


def _gold(folder: Path) -> None:
    checks: Mapping[str, tuple[str, dict[str, object]]] = {
        RIGHT: ("string_match", {"gold": "Paris"}),
        FLIPPED: ("string_match", {"gold": "7"}),
        TABLE: ("table_match", {"gold": "cities.csv"}),
        WRONG: ("string_match", {"gold": "Борщ"}),
        "geo_5": ("number_match", {"gold": 3}),
    }
    rows = [{"instance_id": id_, "evaluation": {"func": func, "parameters": given}} for id_, (func, given) in checks.items()]
    write_lines(folder / "cities_eval.jsonl", *rows)
    write_file(folder / TABLE / "cities.csv", CITIES)
    (folder / "connections.yaml").write_text("local: {engine: sqlite, database: shop.sqlite, prefix: local_}\n")


def _submission(folder: Path, answers: Mapping[str, str], *, leave_out: str = "") -> None:
    rows = [
        {"instance_id": id_, "answer_type": "file", "answer_or_path": "cities.csv"}
        if id_ == TABLE
        else {"instance_id": id_, "answer_type": "answer", "answer_or_path": text}
        for id_, text in answers.items()
        if id_ != leave_out
    ]
    write_file(folder / TABLE / "cities.csv", answers.get(TABLE, ""))
    write_lines(folder / "results_metadata.jsonl", *rows)
