"""CONTRIBUTING's table "I want to add X": every row is carried out in a copy of the project, and what was added is used.

Places are taken from the table's own words: where a row names the wrong file or the wrong table, its addition fails.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT
from tests.processes import started

COPIED = ("evalsuite", "gold", "example_submission_folder", "tests/benchmarks", "tests/data")
FILES = (
    "README.md",
    "docs/benchmarks.json",
    "docs/benchmarks.md",
    "tests/__init__.py",
    "tests/conftest.py",
    "tests/processes.py",
    "tests/command_server.py",
    "tests/properties.py",
)


class Row(NamedTuple):
    """A row of the table: what is wanted, the new file, the line, and where its test goes."""

    wanted: str
    file: str
    line: str
    test: str

    def new_file(self, name: str) -> str:
        """The path that the row gives a new file of this name; the file it names where that is one that is there."""
        return re.sub(r"<\w+>", name, _code(self.file)[0])

    @property
    def place(self) -> tuple[str, str]:
        """(table or function, file) of the row's line; the new file itself where the row names no other."""
        return _code(self.line)[0], next((word for word in _code(self.line) if word.endswith(".py")), _code(self.file or "` `")[0])


def _code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def rows() -> list[Row]:
    """The table's rows, in order."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## I want to add X")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [Row(*(cell.strip() for cell in line.strip()[1:-1].split("|"))) for line in lines]


@dataclass(frozen=True)
class Copy:
    """A copy of the project, to which each row's file and line are added; then a process that has imported it runs what uses them."""

    root: Path
    server: list[subprocess.Popen[str]]

    def write(self, path: str, text: str) -> None:
        """A new file, or more at the end of one that is there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(dedent(text))

    def insert(self, path: str, after: str, line: str) -> None:
        """The line behind the first one that matches the pattern `after`."""
        target = self.root / path
        text = target.read_text(encoding="utf-8")
        found = re.search(rf"^.*(?:{after}).*\n", text, re.MULTILINE)
        assert found, f"{path} has no {after}"
        target.write_text(text[: found.end()] + line + "\n" + text[found.end() :], encoding="utf-8")

    def add_line(self, row: Row, line: str) -> None:
        """The line at the beginning of the table that the row names."""
        name, path = row.place
        self.insert(path, rf"^{name}\b.*[(\[{{]$", line)

    def python(self, code: str) -> str:
        """What a Python program prints; `main` is the command line."""
        stdin, stdout = self.server[0].stdin, self.server[0].stdout
        assert stdin is not None
        assert stdout is not None
        print(json.dumps("from evalsuite.cli import main\n" + dedent(code)), file=stdin, flush=True)
        assert stdout.readline() == "0\n", (self.root / "printed").read_text(encoding="utf-8")
        return (self.root / "printed").read_text(encoding="utf-8")

    def commands(self, *commands: str) -> str:
        """What several commands print, one after the other in one process; each must end with exit code 0."""
        return self.python(f"for words in {[command.split() for command in commands]!r}:\n    assert main(words) == 0, words")

    def folders(self, name: str, evaluation: Any, answer: str, files: dict[str, str] | None = None, suite: str = "") -> str:
        """The words that name a gold folder of one instance `q`, and a submission that answers it; `files` are paths -> texts."""
        kind = "file" if answer.count(".") else "answer"
        self.write(f"{name}/gold/{name}_eval.jsonl", json.dumps({"instance_id": "q", "evaluation": evaluation}) + "\n")
        line = {"instance_id": "q", "answer_type": kind, "answer_or_path": answer}
        self.write(f"{name}/handed_in/results_metadata.jsonl", json.dumps(line) + "\n")
        for path, text in (files or {}).items():
            self.write(f"{name}/{path}", text)
        if suite:
            self.write(f"{name}/gold/suite.yaml", suite)
        return f"--result_dir {name}/handed_in --gold_dir {name}/gold"


ROWS = {row.wanted: row for row in rows()}
# What adds a row's file and line, and goes on with what uses them.
Carried = Callable[[Copy, Row], Iterator[None]]
CARRIED_OUT: dict[str, Carried] = {}
# Runs each program that it reads in a fork, and says how it ended.
SERVER = """
import json, os, sys, traceback
from tests.command_server import _import_everything
_import_everything()
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        place = os.open("printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(place, 1)
        os.dup2(place, 2)
        code = 1
        try:
            exec(json.loads(line), {"__name__": "__main__"})
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
RUN = "--no-save --no-cache --isolation none"
PARIS = {"func": "string_match", "parameters": {"gold": "Paris"}}


def carries_out(wanted: str) -> Callable[[Carried], Carried]:
    """Marks the function that carries out a row."""

    def mark(function: Carried) -> Carried:
        CARRIED_OUT[wanted] = function
        return function

    return mark


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Iterator[None]]]:
    """What uses the addition of each row: one copy for all of them, to which each row has added its own."""
    root = tmp_path_factory.mktemp("project")
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name)
    for name in FILES:
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    copy = Copy(root, [])
    pending = {wanted: carry_out(copy, ROWS[wanted]) for wanted, carry_out in CARRIED_OUT.items()}
    for wanted, use in pending.items():
        assert next(use, wanted) is None
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started([sys.executable, "-c", SERVER], cwd=root, env=environment, seconds=600, **pipes) as server:
        copy.server.append(server)
        yield pending


@carries_out("a scorer")
def _scorer(copy: Copy, row: Row) -> Iterator[None]:
    readme = (ROOT / "docs/add-a-scorer.md").read_text(encoding="utf-8").partition("## Add a scorer")[2]
    copy.write(row.new_file("shout_match"), readme.partition("```python\n")[2].partition("```")[0])
    copy.add_line(row, '    "shout_match": ImportRef("evalsuite.scorers.shout_match:shout_match", "the answer is shouted"),')
    yield
    shown = copy.commands("check shout_match --prediction PARIS --gold paris --json", "scorers")
    assert json.loads(shown.splitlines()[0])["official"] == 1
    assert "the answer is shouted" in shown


@carries_out("a text metric")
def _text_metric(copy: Copy, row: Row) -> Iterator[None]:
    copy.write(
        row.new_file("letter_share"),
        '''
        """letter_share: how many of the reference's letters the answer has."""

        from collections.abc import Sequence
        from dataclasses import dataclass
        from typing import ClassVar

        from evalsuite.core.metric import Measure, Metric, best


        @dataclass(frozen=True, kw_only=True)
        class LetterShare(Metric):
            """The share of the reference's letters that stand in the answer, the best over several references.

            Args:
                letters: those that count, all of them where it is empty.

            Example:
                `{"func": "letter_share", "parameters": {"gold": "seaside", "letters": "aeiou"}}`
            """

            name: ClassVar[str] = "letter_share"

            letters: str = ""

            def measure(self, prediction: str, references: Sequence[str]) -> Measure:
                """The share."""
                return best([Measure(value=self._share(prediction, set(reference))) for reference in references])

            def _share(self, prediction: str, wanted: set[str]) -> float:
                wanted = wanted & set(self.letters) if self.letters else wanted
                return len(wanted & set(prediction)) / len(wanted) if wanted else 1.0
        ''',
    )
    copy.add_line(
        row,
        '    "letter_share": ImportRef("evalsuite.scorers.metrics.letter_share:LetterShare", "letters of the reference in the answer"),',
    )
    folders = copy.folders("letters", {"func": "letter_share", "parameters": {"gold": "seaside"}}, "disease")
    yield
    shown = copy.python(
        f"""
        assert main("check letter_share --prediction see --gold seaside --letters ae --json".split()) == 0
        assert main("check letter_share --prediction see --gold seaside --leters ae".split()) == 2
        assert main("check letter_share --prediction see --gold seaside --letters 5 --fail-under 0.9".split()) == 0
        assert main("scorers letter_share".split()) == 0
        assert main("check q {folders}".split()) == 0
        from evalsuite.scorers.metrics import metric_from
        assert metric_from({{"composite": {{"parts": ["letter_share", "f1"]}}}})("sea", "sea") == 1
        """
    )
    assert json.loads(shown.splitlines()[0])["official"] == 0.5
    for words in ("letter_share: letters of the reference in the answer", "those that count, all of them", "Official", "gold"):
        assert words.casefold() in shown.casefold()


@carries_out("a way two values can be equal")
def _equality(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("consonants")
    copy.write(
        file,
        '''
        """Texts without their vowels."""


        def same_consonants(a: str, b: str) -> bool:
            """Whether two texts are the same but for a, e, i, o and u."""
            return [c for c in a.lower() if c not in "aeiou"] == [c for c in b.lower() if c not in "aeiou"]
        ''',
    )
    scorer = "evalsuite/scorers/text_match.py"
    copy.insert(scorer, "^from evalsuite.compare.answer_messages import", f"from {_module(file)} import same_consonants")
    official = '    official = verdict.Official(float(same_consonants(prediction, str(gold))), "the same consonants")'
    copy.insert(scorer, r"^    official = rules\.match_text\(", official)
    yield
    assert json.loads(copy.commands("check string_match --prediction brlen --gold Berlin --json"))["official"] == 1


@carries_out("a report format")
def _format(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("rst")
    copy.write(
        file,
        '''
        """reStructuredText."""


        def as_rst(document):
            """The title and the last line."""
            return f"{document.name}\\n====\\n\\n{document.last_line}\\n"
        ''',
    )
    copy.add_line(row, f'    ".rst": ImportRef("{_module(file)}:as_rst"),')
    folders = copy.folders("written", PARIS, "Paris", suite="name: written by hand\n")
    yield
    copy.commands(f"run {folders} {RUN} --quiet -o written/report.rst")
    assert (copy.root / "written/report.rst").read_text(encoding="utf-8") == "written by hand\n====\n\ndone: 100.0 % (no gate set)\n"


@carries_out("a column of a run's report")
def _column(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    Column(name="length", value=lambda row: len(row.result.instance_id)),')
    outputs = "-o columned/r.csv -o columned/r.md -o columned/r.html"
    yield
    shown = copy.commands(f"run {copy.folders('columned', PARIS, 'Rome')} {RUN} {outputs}")
    assert " length " in shown
    assert (copy.root / "columned/r.csv").read_text(encoding="utf-8").startswith("length,")
    for ending in ("md", "html"):
        assert "length" in (copy.root / f"columned/r.{ending}").read_text(encoding="utf-8")


@carries_out("a picture of the reports")
def _picture(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("dots")
    copy.write(
        file,
        '''
        """One dot an instance."""

        from markupsafe import Markup

        from evalsuite.reports.pictures import dot, picture


        def draw_dots(n: int) -> Markup:
            """An SVG of n dots."""
            dots = [dot(5 * at, 10, 4, colour="one") for at in range(n)]
            return picture(dots, height=20, title="dots", description=f"{n} dots", kind="dots")
        ''',
    )
    name, report = row.place
    copy.insert(
        report, rf"^def {name}\b", f"    from {_module(file)} import draw_dots\n    yield Picture('Dots', draw_dots(record.summary.n_gold))"
    )
    folders = copy.folders("pictured", PARIS, "Paris")
    yield
    copy.commands(f"run {folders} {RUN} --quiet -o pictured/report.html")
    assert "1 dots" in (copy.root / "pictured/report.html").read_text(encoding="utf-8")


@carries_out("a layout of gold")
def _layout(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("flashcards")
    copy.write(
        file,
        '''
        """Flashcards: `{"front": id, "back": text}`."""

        from evalsuite.gold.spec import instance_of
        from evalsuite.readers.submission import read_metadata


        def detect(spec, entry):
            """Whether the first entry is a card."""
            return "front" in entry


        def maker(spec):
            """What makes an instance of a card."""

            def make(entry, where, suite):
                check = {"func": "string_match", "parameters": {"gold": entry["back"]}}
                return instance_of({"instance_id": entry["front"], "evaluation": check}, where, suite)

            return make


        def read_submission(folder, limits, mode, ids):
            """The submission that the metadata describes."""
            return read_metadata(folder, limits, ids)
        ''',
    )
    copy.add_line(row, f'    "flashcards": ImportRef("{_module(file)}"),')
    folders = copy.folders("cards", PARIS, "Paris")
    (copy.root / "cards/gold/cards_eval.jsonl").write_text('{"front": "q", "back": "Paris"}\n', encoding="utf-8")
    yield
    copy.commands(f"run {folders} {RUN} --quiet -o cards/run.json")
    made = json.loads((copy.root / "cards/run.json").read_text(encoding="utf-8"))
    assert (made["summary"]["score"], made["gold"]["layout"]) == (1, "flashcards")


@carries_out("an SQL engine")
def _engine(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("constant")
    copy.write(
        file,
        '''
        """A database with one number."""

        from evalsuite.sql.session import Stream


        def open_session(connection, limits):
            """An open session."""
            return Constant(int(connection.options["number"]))


        class Constant:
            """Whatever it is asked, it says its number."""

            billed_bytes = None

            def __init__(self, number):
                self.number = number

            def stream(self, sql):
                """One row of one column."""
                return Stream(header=("number",), types=("BIGINT",), chunks=iter([[(self.number,)]]))

            def cancel(self):
                """Nothing runs."""

            def describe(self):
                """Its name."""
                return f"Constant {self.number}"

            def fingerprint(self):
                """It never changes."""
                return str(self.number)

            def close(self):
                """Nothing is open."""
        ''',
    )
    line = f'    "constant": Engine(module=ImportRef("{_module(file)}"), summary="a number", options={{"number": "the number"}}),'
    copy.add_line(row, line)
    check = {"func": "table_match", "parameters": {"gold": "seven.csv"}}
    suite = "connections: {seven: {engine: constant, number: 7, prefix: q}}\n"
    files = {"gold/q/seven.csv": "n\n7\n", "handed_in/q/a.sql": "SELECT n FROM t -- seven\n"}
    folders = copy.folders("sevens", check, "a.sql", files, suite)
    yield
    shown = copy.commands("connections test seven --gold sevens/gold", f"run {folders} {RUN} -o sevens/run.json")
    assert "Constant 7 · 1 row x 1 column" in shown
    assert json.loads((copy.root / "sevens/run.json").read_text(encoding="utf-8"))["summary"]["score"] == 1


@carries_out("a finding of `gold lint`")
def _finding(copy: Copy, row: Row) -> Iterator[None]:
    name, file = row.place[0], row.new_file("")
    function = '''
        def shouted(spot):
            """Golds in capitals."""
            if any(gold.isupper() for gold in golds_of(spot)):
                yield spot.finding("shouted-gold", "the gold is shouted")
        '''
    copy.insert(file, "^LONGEST_NUMBER", dedent(function))
    copy.add_line(row, '    "shouted-gold": Kind("warning", values.shouted, "a gold in capitals"),')
    copy.folders("shouted", {"func": "string_match", "parameters": {"gold": "PARIS"}}, "Paris")
    assert name.startswith("PER_")
    yield
    assert "shouted-gold" in copy.commands("gold lint shouted/gold")


@carries_out("a cause that `explain` proves")
def _cause(copy: Copy, row: Row) -> Iterator[None]:
    copy.write(
        row.new_file(""),
        '''

        def written_backwards(pair: Pair) -> bool:
            """Whether the text is gold's from its end."""
            return str(pair.predicted)[::-1] == str(pair.gold)
        ''',
    )
    copy.add_line(row, '    ErrorHypothesis("written backwards", "the text is reversed", errors.for_each_value(errors.written_backwards)),')
    check = {"func": "table_match", "parameters": {"gold": "cities.csv"}}
    files = {"gold/q/cities.csv": "city\nOslo\nLima\nRome\n", "handed_in/q/a.csv": "city\nolsO\namiL\nemoR\n"}
    folders = copy.folders("backwards", check, "a.csv", files)
    yield
    assert "written backwards" in copy.commands(f"explain q {folders} --json")


@carries_out("a benchmark")
def _benchmark(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("nothing")
    copy.write(file, '"""Nothing."""\n\n\ndef run(scratch, *, n=5):\n    """Half of it."""\n    return {"ratio": 0.5}\n')
    (table, path), (shown, page) = re.findall(r"`([A-Z]+)` in `([^`]+)`", row.line)
    copy.insert(path, rf"^{table}\b.*{{$", f'    "nothing": "{_module(file)}",')
    copy.insert(page, rf"^{shown}\b.*\($", '    Row("nothing at all", ("nothing", "ratio"), "something", 1),')
    yield
    printed = copy.python(
        """
        import runpy, sys
        sys.argv = ["benchmarks", "nothing", "-n", "1", "--readme"]
        runpy.run_module("tests.benchmarks", run_name="__main__")
        """
    )
    assert json.loads(printed) == {"nothing": {"ratio": 0.5}}
    assert "| nothing at all | 0.5 x something | 1 |" in (copy.root / "docs/benchmarks.md").read_text(encoding="utf-8")


@carries_out("a command")
def _command(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("hello")
    copy.write(
        file,
        '''
        """`evalsuite hello`: a greeting."""

        from typing import Annotated

        import typer


        def hello_command(name: Annotated[str, typer.Option(help="who is greeted")] = "world") -> int:
            """Greet somebody."""
            print(f"hello {name}")
            return 0
        ''',
    )
    place = _module(file).removeprefix("evalsuite.cli.")
    copy.add_line(row, f'    "More": {{"hello": ("{place}:hello_command", "greet somebody")}},')
    yield
    shown = copy.commands("hello --name Ada", "hello --help", "help --all")
    assert all(words in shown for words in ("hello Ada", "who is greeted", "greet somebody"))


@carries_out("an option of `run`")
def _option(copy: Copy, row: Row) -> Iterator[None]:
    own, shared = _code(row.file)
    copy.insert(own, r"^    fail_under: opt.FailUnder", '    motto: Annotated[str, Option(help="said before all else")] = "none"')
    copy.insert(own, r"^        opt.check_share\(self.fail_under", '        print(f"motto: {self.motto}")')
    copy.insert(shared, r"^    plugin: Plugins", '    wish: Annotated[str, Option(help="said before code is loaded")] = "none"')
    copy.insert(shared, r"^        load_plugins\(self.plugin", '        print(f"wish: {self.wish}")')
    folders = copy.folders("option", PARIS, "Paris")
    score = [f"run {folders} {RUN} --motto hurry --wish luck", "leaderboard option/handed_in --gold option/gold --wish more --no-cache"]
    yield
    shown = copy.commands(*score, "run --help-all", "rescore --help-all")
    assert all(words in shown for words in ("motto: hurry", "wish: luck", "wish: more", "said before all else"))
    assert shown.count("said before code") == 2


@carries_out("a number in the reports")
def _number(copy: Copy, row: Row) -> Iterator[None]:
    summary = row.new_file("")
    copy.insert(summary, r"^    by_group: Mapping", dedent('''
            @property
            def n_full(self):
                """How many instances have full marks."""
                return self.n_right
        ''').replace("\n", "\n    ").rstrip(" "))  # fmt: skip
    copy.insert(summary, r'^            "score": self\.score', '            "n_full": self.n_full,')
    name, report = row.place
    copy.insert(report, rf"^def {name}\b.*\n.*\n    s = record.summary$", '    yield "full marks", str(s.n_full)')
    folders = copy.folders("full", PARIS, "Paris")
    yield
    shown = copy.commands(f"run {folders} {RUN} -o full/run.json")
    assert re.search(r"full marks +1\b", shown)
    assert json.loads((copy.root / "full/run.json").read_text(encoding="utf-8"))["summary"]["n_full"] == 1


@carries_out("another interval of the score")
def _interval(copy: Copy, row: Row) -> Iterator[None]:
    name, file = row.place
    copy.insert(file, r"^# The interval of a reported mean.*", dedent("""

        def half_interval(scores, *, confidence=0.95):
            return Interval(estimate=mean(scores), low=0.25, high=0.75, confidence=confidence, method="half", n=len(scores), se=0.125)

        """))  # fmt: skip
    copy.insert(file, rf'^{name}\b.*{{\n    "scores"', '    "scores": half_interval,')
    folders = copy.folders("half", PARIS, "Paris")
    yield
    shown = copy.commands(f"run {folders} --no-cache --isolation none --out half/run", "leaderboard half/run --gold half/gold --json")
    assert "95 % CI 25.0-75.0" in shown
    assert json.loads(shown[shown.index("\n{") :])["rows"][0]["interval"] == [0.25, 0.75]


@carries_out("a parameter of the CSV dialect")
def _dialect(copy: Copy, row: Row) -> Iterator[None]:
    dialect = row.file.split("`")[3]
    copy.insert(dialect, r"^    decimal: str = ", '    comment: str = ""')
    used = "        if self.comment:\n            text = text.partition(self.comment)[0]"
    copy.insert(dialect, r"^        written = StringIO", used)
    copy.insert(row.place[1], r"^    decimal: str = ", '    comment: str = "",')
    evaluation = {"func": "table_match", "parameters": {"gold": "t.csv", "comment": "#", "delimiter": ";", "decimal": ","}}
    files = {"gold/q/t.csv": "a;b\n1,50;x\n# by hand\n", "handed_in/q/t.csv": "a;b\n1,5;x\n# of today; with more\n"}
    folders = copy.folders("dialect", evaluation, "t.csv", files)
    yield
    assert "done: 100.0 %" in copy.commands(f"run {folders} {RUN}")


@carries_out("a fault code")
def _fault(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    "NO_LUCK": FaultKind(message="there was no luck", hint="try again", side="tool"),')
    suite = 'scorers: {luck: "python:luck.py:luck"}\n'
    plugin = """
        from evalsuite.core.errors import FaultError
        from evalsuite.core.registry import scorer
        from evalsuite.core.types import Score


        @scorer(reads="text")
        def luck(prediction: str, *, gold: str) -> Score:
            raise FaultError("NO_LUCK")
        """
    folders = copy.folders("luck", {"func": "luck", "parameters": {"gold": "x"}}, "x", {"gold/luck.py": plugin}, suite)
    yield
    shown = copy.commands(f"run {folders} {RUN}")
    assert "NO_LUCK" in shown
    assert "there was no luck" in shown


@carries_out("a word of scale in numbers (`12 million`)")
def _scale(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    "lakh": 5,')
    yield
    copy.python(
        """
        from evalsuite import score
        assert score("number_match", "about 12 lakh rupees", gold=1_200_000).strict == 1
        assert score("number_match", "about 12 lakh rupees", gold=12_000_000).strict == 0
        """
    )


@carries_out("a reading of numbers, such as a sign of shares (`3 ‰`)")
def _share_sign(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    "‱": 4,')
    yield
    copy.python(
        """
        from evalsuite import score
        assert score("number_match", "a share of 120 ‱", gold=0.012).strict == 1
        assert score("number_match", "a share of 120 ‱", gold=0.12).strict == 0
        """
    )


@carries_out("a limit")
def _limit(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    "fingers": (10, "fingers of one hand or two"),')
    folders = copy.folders("limited", PARIS, "Paris", suite="limits: {fingers: 7}\n")
    yield
    copy.python(
        f"""
        assert main("run {folders} {RUN} --quiet --limit fingers=5".split()) == 0
        assert main("run {folders} {RUN} --quiet --limit fingers=none".split()) == 2
        from evalsuite.readers.limits import resolve_limits
        assert (resolve_limits()["fingers"], resolve_limits({{"fingers": 5}})["fingers"]) == (10, 5)
        """
    )


@carries_out("a key of `suite.yaml`")
def _suite_key(copy: Copy, row: Row) -> Iterator[None]:
    copy.add_line(row, '    "motto": _text_field("motto"),')
    folders = copy.folders("motto", PARIS, "Paris", suite="motto: measure twice\n")
    yield
    shown = copy.python(
        f"""
        assert main("run {folders} {RUN} --quiet".split()) == 0
        from pathlib import Path
        from evalsuite.gold.suite_yaml import read_suite
        print(read_suite(Path("motto/gold")).extra["motto"])
        Path("motto/gold/suite.yaml").write_text("motto: 5")
        assert main("run {folders} {RUN} --quiet".split()) == 2
        """
    )
    assert "measure twice" in shown


@carries_out("a file format of answers")
def _answers(copy: Copy, row: Row) -> Iterator[None]:
    file = row.new_file("tsv")
    copy.write(
        file,
        '''
        """Tables with tabs."""

        from evalsuite.core.types import Table


        def read_tsv(handle, *, name, limits):
            """The table of a file."""
            header, *rows = [line.split("\\t") for line in handle.read().decode().splitlines()]
            return Table(header=tuple(header), columns=tuple(zip(*rows)), n_rows=len(rows), name=name)
        ''',
    )
    function, place = row.place
    before = dedent(
        f"""
        if form == "table" and path.endswith(".tsv"):
            from {_module(file)} import read_tsv

            with files.open(path) as handle:
                return read_tsv(handle, name=path, limits=limits)"""
    ).replace("\n", "\n        ")
    text = (copy.root / place).read_text(encoding="utf-8")
    assert f"def {function}(" in text
    copy.insert(place, r"^    def read_file\(path: str\)", before)
    files = {"gold/q/cities.csv": "city,n\nOslo,1\nLima,2\n", "handed_in/q/a.tsv": "city\tn\nOslo\t1\nLima\t2\n"}
    folders = copy.folders("tabs", {"func": "table_match", "parameters": {"gold": "cities.csv"}}, "a.tsv", files)
    yield
    copy.commands(f"run {folders} {RUN} --quiet -o tabs/run.json")
    assert json.loads((copy.root / "tabs/run.json").read_text(encoding="utf-8"))["summary"]["score"] == 1


@carries_out("an instance of the example")
def _instance(copy: Copy, row: Row) -> Iterator[None]:
    made, file, module = _code(row.line)
    line = f'    {made}(id="geo_099", shows="one more", expected=RIGHT, instruction="Where?", checks=[check("string_match", gold="Oslo")],'
    copy.insert(re.sub(r"<\w+>", "geo", file), r"^INSTANCES\b.*\[$", f'{line} answer="Oslo"),')
    yield
    shown = copy.python(
        f"""
        import runpy, sys
        sys.argv = ["build"]
        runpy.run_module({module.removeprefix("python -m ")!r}, run_name="__main__")
        assert main("check geo_099 --result_dir example_submission_folder --gold_dir gold --json".split()) == 0
        """
    )
    assert json.loads(shown.splitlines()[-1])["official"] == 1


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize("wanted", ROWS)
def test_the_row_is_true(wanted: str, uses: dict[str, Iterator[None]]) -> None:
    """What the row says is enough: the file and the line are added, and what they add is used."""
    assert next(uses[wanted], "used") == "used"


def test_every_row_is_carried_out() -> None:
    """Each row has a function here, and each function here a row."""
    assert list(CARRIED_OUT) == list(ROWS)


def test_a_row_names_at_most_two_files_of_the_package() -> None:
    """What a person wants to add touches one or two files of the package."""
    files = {wanted: {path for path in _code(f"{row.file} {row.line}") if path.startswith("evalsuite/")} for wanted, row in ROWS.items()}
    assert {wanted: sorted(names) for wanted, names in files.items() if len(names) > 2} == {}


def test_where_tests_go_is_there() -> None:
    """The files and folders that the rows name for tests are there."""
    named = [path for row in ROWS.values() for path in _code(row.test) if "<" not in path]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_way_of_one_answer_names_what_is_there() -> None:
    """Each `file`: `name` of the section is a function or class of that file."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The way of one answer")[2].partition("\n## ")[0]
    named = re.findall(r"`(evalsuite/[\w/]+\.py)`:\s+`(\w+)`", section)
    assert len(named) >= 10
    lacking = [
        f"{file}: {name}" for file, name in named if not re.search(rf"^(?:def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert lacking == []
