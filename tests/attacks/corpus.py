"""The corpus of hostile submissions, built and run once for all tests of this folder."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from evalsuite.reports import BINARY, FORMATS
from evalsuite.scorers import SCORERS
from tests.attacks.must import Seen
from tests.conftest import ROOT, made_once
from tests.processes import finished
from tests.properties import is_full

MAKER = Path(os.environ.get("EVALSUITE_ATTACKS", ROOT.parent / "shared" / "attacks")) / "make_corpus.py"
CANARY = "CANARY_GOLD_7f3a"
RULES = ("official", "strict")


# The test line lowers some limits, and makes bombs that are above these (or below them, for what is scored); it makes one database of gold
# and copies it, and names no data frame in the views over variables, so that the maker need not import pandas.
LOWER = ("seconds=1", "cell_bytes=1000000", "table_bytes=20000000", "json_keys=20000", "json_records=2000")
SMALLER = {
    "ddb(f'{G}/{i}/gold.duckdb', T_SQL)": (
        "w(f'{G}/{i}/gold.duckdb', open(f'{G}/ctl_duck_ok/gold.duckdb', 'rb').read()) if i != 'ctl_duck_ok' else "
        "ddb(f'{G}/{i}/gold.duckdb', T_SQL)"
    ),
    "duckdb, pandas as pd": "duckdb",
    "gold_df = df2 = gold_table = pd.DataFrame": "gold_df = df2 = gold_table = dict",
    "c.execute(f'create view t as select * from {var}')": (
        "c.execute(f'create table {var} (id int)').execute(f'create view t as select * from {var}').execute(f'drop table {var}')"
    ),
    "[[n] for n in range(20000)]": "[[n] for n in range(2000)]",
    "'cnt\\n7321\\n'": "'cnt\\n1321\\n'",
    "f'{n} c{n}' for n in range(5000)": "f'{n} c{n}' for n in range(500)",
    "[{'a': n} for n in range(20000)]": "[{'a': n} for n in range(2200)]",
    "[{'a': n * n} for n in range(20000)]": "[{'a': n * n} for n in range(2200)]",
    "range(300000000)": "range(6000000)",
    "(repeat(\\'x\\',1000000000))": "(repeat(\\'x\\',20000000))",
    "1.0 v from range(3000)": "1.0 v from range(150)",
    "printf('%.*c',1000000000": "printf('%.*c',20000000",
    "'1\\n' * 5000000": "'1\\n' * 200000",
    "b'1\\n' * 100_000_000": "b'1\\n' * 6_000_000",
    "for n in range(300000)}": "for n in range(22000)}",
    "range(100000)) + '\\n' + ','.join('1' * 100000)": "range(5000)) + '\\n' + ','.join('1' * 5000)",
    "'x' * 20000000": "'x' * 1100000",
}


def rules_of_runs() -> tuple[str, ...]:
    """The rules under which each set is run: one run gives both verdicts, so that the test line needs no second one."""
    return RULES if is_full() else RULES[:1]


def json_run() -> str:
    """The run that printed `--json`: of all instances where there is a second one, else a further one of those that attack reports."""
    return run_name("submission", "strict" if is_full() else "json")


# Parquet is written by duckdb, which the parent of a run that is measured here must not load. HTML shows gold's cells side by side unless
# told otherwise, so that its file is written apart, as for a suite whose gold is hidden.
TEXTS = [ending for ending in FORMATS if ending not in BINARY and ending != ".html"]

# The sets whose reports are written in the test line: all attacks, and a submission inside gold.
WITH_REPORTS = ("submission", "variants/goldinside")


@dataclass(frozen=True)
class Corpus:
    """A built corpus in `place/corpus` and what evalsuite made of it in `place/out`."""

    place: Path

    @property
    def out(self) -> Path:
        """The folder of everything that the runs wrote."""
        return self.place / "out"

    @cached_property
    def process(self) -> dict[str, Any]:
        """What the driver says of its own process."""
        return _json(self.out / "process.json")

    @cached_property
    def expectations(self) -> list[dict[str, Any]]:
        """All expectations, in file order."""
        lines = (self.place / "corpus" / "expectations.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @cached_property
    def _rows(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The rows of all runs. What a busy machine left unscored is run once more, alone."""
        found = {name: self.rows(name) for name in self.process["codes"]}
        for name, rows in found.items():
            for instance_id in [instance_id for instance_id, row in rows.items() if "waited for a CPU" in row["reason"]]:
                self._run_again(name, instance_id)
                rows[instance_id] = self.rows(f"{name}.{instance_id}.again")[instance_id]
        return found

    def rows(self, name: str) -> dict[str, dict[str, Any]]:
        """The lines of a run's results.jsonl by instance; none where no run came about."""
        file = self.out / f"{name}.run" / "results.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return {row["instance_id"]: row for row in map(json.loads, lines)}

    def warnings(self, name: str) -> tuple[str, ...]:
        """The warnings of a run."""
        file = self.out / f"{name}.run" / "run.json"
        return tuple(_json(file)["warnings"]) if file.exists() else ()

    def seen(self, set_: str, instance_id: str, rules: str) -> Seen:
        """What the run of a set under some rules did with an instance."""
        name = run_name(set_, rules if rules in rules_of_runs() else RULES[0])
        row = self._rows[name].get(instance_id)
        is_scored = row is not None and row["status"] == "scored"
        return Seen(
            rules=rules,
            value=row[rules if is_scored else "score"] if row else None,
            fault=row["fault"] if row else None,
            status=row["status"] if row else "",
            seconds=row["seconds"] if row else 0.0,
            errors=(self.out / f"{name}.stderr").read_text(encoding="utf-8"),
            warnings=self.warnings(name),
            row=row or {},
            in_results=row is not None,
            is_root=self.process["is_root"],
        )

    def cpu_seconds(self, set_: str, instance_id: str) -> float:
        """The CPU that an instance takes alone with all its processes: on a busy machine the seconds of its row are more."""
        before = os.times()
        self._run_again(run_name(set_, RULES[0]), instance_id)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def _run_again(self, name: str, instance_id: str) -> None:
        """Run one instance of a run alone, into a folder of its own and without reports."""
        arguments = [*_json(self.place / "plan.json")["runs"][name], "--only", instance_id]
        place = self.out / f"{name}.{instance_id}.again.run"
        shutil.rmtree(place, ignore_errors=True)
        arguments[arguments.index("--out") + 1] = str(place)
        command = [sys.executable, "-m", "evalsuite", *(word for word in arguments if not word.startswith("--output="))]
        finished(command, cwd=self.place)


def duckdb_survives(file: Path) -> bool:
    """Whether the installed duckdb refuses a crafted file that ends the process of an older one."""
    read = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); c.execute('from t').fetchall()"
    return finished([sys.executable, "-c", read, file]).returncode >= 0


def run_name(set_: str, rules: str) -> str:
    """The name under which the run of a set is kept."""
    return f"{set_.replace('/', '-')}.{rules}"


def database_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of the corpus's databases."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted((folder / "databases").iterdir())}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The corpus, built and run; one for all processes of a parallel test run."""
    if not MAKER.exists():
        pytest.skip(f"no corpus maker at {MAKER} (set EVALSUITE_ATTACKS to its folder)")
    if not hasattr(os, "mkfifo"):
        pytest.skip("the corpus needs pipes and links")
    return Corpus(made_once(tmp_path_factory, "attacks", lambda place: (_build(place), _run(place))))


def _build(place: Path) -> None:
    folder, maker = place / "corpus", MAKER
    if not is_full():
        maker = place / MAKER.name
        text = MAKER.read_text(encoding="utf-8")
        for size, smaller in SMALLER.items():
            text = text.replace(size, smaller)
        maker.write_text(text, encoding="utf-8")
    finished([sys.executable, maker, folder], seconds=900, check=True)
    known = set(SCORERS.names())
    spec = folder / "gold" / "spider2_eval.jsonl"
    lines = spec.read_text().splitlines(keepends=True)
    spec.write_text("".join(line for line in lines if json.loads(line)["evaluation"]["func"] in known))
    (place / "databases.json").write_text(json.dumps(database_digests(folder)))


def _run(place: Path) -> None:
    corpus, out = place / "corpus", place / "out"
    out.mkdir()
    sets = ["submission", *(f"variants/{path.name}" for path in sorted((corpus / "variants").iterdir()))]
    runs: dict[str, list[str]] = {}
    # Two endless queries take all the time that they are given.
    limits = [] if is_full() else [f"--limit={limit}" for limit in LOWER]

    def add(set_: str, name: str, *options: str) -> None:
        places = {"--gold": corpus / "gold", "--databases": corpus / "databases", "--out": out / f"{name}.run"}
        where = [str(word) for place in places.items() for word in place]
        runs[name] = ["run", str(corpus / set_), *where, "--jobs", "2" if is_full() else "1", "--no-cache", *limits, *options]

    for set_ in sets:
        for rules in rules_of_runs():
            name = run_name(set_, rules)
            has_reports = rules == "official" and (is_full() or set_ in WITH_REPORTS)
            reports = [f"--output={out / name}{ending}" for ending in TEXTS] if has_reports else []
            add(set_, name, "--rules", rules, *(["--json"] if rules == "strict" else []), *reports)
    if json_run() not in runs:
        add("submission", json_run(), "--filter", "r_*", "--json")
    alone = _own_network()
    # What differs between the variants is read before any answer: only the workers of the first run need an interpreter of their own.
    sharing = [] if is_full() else [*runs][1:]
    plan = {"out": str(out), "runs": runs, "metered": bool(alone), "sharing": sharing}
    (place / "plan.json").write_text(json.dumps(plan))
    done = finished([*alone, sys.executable, "-m", "tests.attacks.driver", place / "plan.json"], seconds=900, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def _own_network() -> list[str]:
    """The command in front that gives a process a network namespace of its own, empty where the system does not let us."""
    tool = shutil.which("unshare")
    for options in (["--net"], ["--user", "--map-root-user", "--net"]) if tool else ():
        if finished([str(tool), *options, "true"]).returncode == 0:
            return [str(tool), *options]
    return []


def _json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
