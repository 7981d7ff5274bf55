"""Show a run, live or saved: the options that `run` and `report` share, printing, and the progress bar."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from evalsuite.cli.options import AllowUnscored, Option
from evalsuite.compare.characters import clean
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, EXIT_UNSCORABLE, OutputError, UsageError, count_words
from evalsuite.core.scores import reaches

if TYPE_CHECKING:
    from evalsuite.analysis.explain.instance_evidence import RunEvidence
    from evalsuite.analysis.leaderboard.comparison import Comparison
    from evalsuite.core.types import Result
    from evalsuite.reports.document import Document
    from evalsuite.reports.record import Record
    from evalsuite.reports.terminal import Screen
    from evalsuite.runs.summary import Summary


Outputs = Annotated[
    list[Path] | None,
    Option("-o", "--output", help="also write a report, in the format of the file's ending; may be repeated", metavar="FILE"),
]
Reveal = Annotated[
    str | None,
    Option(
        "--reveal",
        metavar="none|status|class|shape|cells",
        help="how much of gold a report may show [default: cells; class if suite.yaml says hidden]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Showing:
    """Options of how a run is shown, live or saved."""

    output: Outputs = None
    reveal: Reveal = None
    labels: Annotated[Path | None, Option(metavar="FILE.csv", help="human labels of answers; their score is shown next to the run's")] = (
        None
    )
    verbose: Annotated[bool, Option("--verbose", "-v", help="show every detail of each instance")] = False
    failures: Annotated[bool, Option("--failures", help="show only instances that are not right under every rule")] = False
    durations: Annotated[int, Option(min=0, metavar="N", help="also show the N slowest instances")] = 0

    def check(self) -> None:
        """Raise what `check_showing` raises, and `UsageError` for unreadable labels."""
        check_showing(self.output or (), self.reveal)
        if self.labels is not None:
            from evalsuite.runs.corrected_scores import labels_of

            labels_of(self.labels)

    def print(self, record: "Record", last_line: str | None, moved: Sequence[str] = (), databases: Path | None = None) -> None:
        """Print the report in the terminal's width; `record` is redacted, `moved` is printed above the last line.

        `databases` is the databases folder of the run.
        """
        from evalsuite.reports.run_document import run_document
        from evalsuite.reports.terminal import print_line, show

        how: dict[str, Any] = {"verbose": self.verbose, "failures": self.failures, "durations": self.durations}
        document, screen = run_document(record, databases=databases, **how), console()
        show(document, screen, last_line="" if moved else last_line)
        for line in (*moved, last_line or "") if moved else ():
            print_line(screen, line, "bold")


def check_showing(outputs: Iterable[Path], reveal: str | None) -> None:
    """Raise `UsageError` for an unknown format or level, `OutputError` for an unwritable path; called before scoring.

    Two outputs must be different files.
    """
    from evalsuite.core.status import check_level
    from evalsuite.reports import check_output

    done: set[str] = set()
    for path in outputs:
        check_output(path)
        place = os.path.realpath(path)
        if place in done:
            raise UsageError(f"--output names {path} twice", hint="give each report a name of its own")
        done.add(place)
    check_level(reveal)


def run_report(record: "Record", reveal: str | None = None, **how: Any) -> "Document":
    """Build the report of a redacted run; evidence of wrong answers is computed when a page is written."""
    from evalsuite.reports.record import redact_record
    from evalsuite.reports.run_document import run_document

    def find_evidence(record: "Record", ids: Sequence[str]) -> "RunEvidence":
        from evalsuite.analysis.explain.instance_evidence import evidence_of_run

        return evidence_of_run(record, ids)

    return run_document(redact_record(record, reveal), find_evidence=find_evidence, **how)


def print_document(document: "Document", form: str = "text", *, last_line: str | None = None) -> None:
    """Print a document: in the terminal's width, or in a format by name (json, md ...); `github` prints annotations."""
    from evalsuite.reports import FORMATS
    from evalsuite.reports.file_formats import annotations
    from evalsuite.reports.terminal import show

    if form == "text":
        show(document, console(), last_line=last_line)
    elif form == "github":
        print(*annotations(document, most=None), sep="\n")
    else:
        rendered = FORMATS[f".{form}"].load()(document)
        print(*([rendered] if isinstance(rendered, str) else rendered), sep="", end="")


@dataclass(frozen=True, kw_only=True)
class ComparisonGates:
    """Gates of candidates: the score of the last one, and each one's difference from the baseline."""

    fail_under: Annotated[
        float | None, Option("--fail-under", help="exit 1 if the score of the last candidate is lower", metavar="0-1")
    ] = None
    fail_on_regression: Annotated[bool, Option("--fail-on-regression", help="exit 1 if a candidate is worse at alpha")] = False
    allow_unscored: AllowUnscored = False

    def verdict(self, comparison: "Comparison") -> tuple[int, str]:
        """Return the exit code and the last line of a comparison. A metric without bounds has no score and misses `--fail-under`.

        A missed gate has precedence over answers without a value that decide whether it is met.
        """
        from evalsuite.reports.comparison_documents import comparison_verdict
        from evalsuite.reports.document import percent

        code, line = EXIT_OK, comparison_verdict(comparison, gate=self.fail_on_regression)
        if self.fail_on_regression and (comparison.regressions or comparison.undecided_names):
            return EXIT_GATE, line
        last, possible = comparison.candidates[-1], comparison.possible_regressions if self.fail_on_regression else ()
        decided = [side for candidate in possible for side in candidate.open_sides]
        if self.fail_under is not None:
            score = None if last.total.is_raw else last.total.b
            words = f"{clean(last.label)} {'without a score' if score is None else percent(score)}"
            code, line = apply_gate(f"{line.removesuffix(NO_GATE)}, {words}", score, self.fail_under)
            if last.worst_score is not None and not reaches(last.worst_score, self.fail_under):
                decided.append(last.label)
        if code != EXIT_OK or self.allow_unscored or not decided:
            return code, line
        done = line.removesuffix(NO_GATE).removesuffix(f" (gate {percent(self.fail_under or 0.0)} met)")
        sides = clean(", ".join(dict.fromkeys(decided)))
        return (
            EXIT_UNSCORABLE,
            f"{done}, but the gate depends on answers without a score: {sides} (exit 4)",
        )


NO_GATE = " (no gate set)"


def apply_gate(done: str, score: float | None, gate: float | None) -> tuple[int, str]:
    """Return the exit code and the last line: what is done, and whether its score meets the gate."""
    from evalsuite.reports.document import percent, rounded

    if gate is None:
        return EXIT_OK, done + NO_GATE
    if score is None or not reaches(score, gate):
        short = f" by {rounded(100 * (gate - score), 2, 0)} points" if score is not None and percent(score) == percent(gate) else ""
        return EXIT_GATE, f"{done}, below the gate of {percent(gate)}{short} (exit 1)"
    return EXIT_OK, f"{done} (gate {percent(gate)} met)"


def is_open(summary: "Summary", results: "Iterable[Result]", gate: float | None = None) -> bool:
    """Return whether unjudged instances leave the outcome open: something is not set up, or they decide whether the gate is met."""
    from evalsuite.core.status import has_open_verdict, lacks_setup

    decide = gate is not None and not reaches(summary.chosen.low, gate)
    return any((has_open_verdict if decide else lacks_setup)(result) for result in results)


def write_all(document: "Document", outputs: Iterable[Path]) -> int:
    """Write a report to every output; return how many could not be written."""
    from evalsuite.reports import write

    return sum(write_fails(partial(write, document, path)) for path in outputs)


def write_fails(write: Callable[[], object]) -> bool:
    """Return whether writing failed, and print the error to stderr; the command's result is still valid."""
    from evalsuite.cli.output_streams import complain

    try:
        write()
    except OutputError as error:
        complain(error.message, error.hint)
        return True
    return False


def add_write_failures(code: int, line: str, n_lost: int) -> tuple[int, str]:
    """Return the exit code and last line of a command, some of whose outputs could not be written."""
    if not n_lost or code != EXIT_OK:
        return code, line
    return EXIT_GATE, f"{line}, {count_words(n_lost, 'output')} could not be written (exit {EXIT_GATE})"


def console(width_in_a_file: int = 150) -> "Screen":
    """Return the screen of reports on stdout."""
    from evalsuite.reports.terminal import screen_of

    return screen_of(sys.stdout, width_in_a_file)


def print_step(lead: str, words: Sequence[str], stream: "TextIO | None" = None) -> None:
    """Print a command of evalsuite behind `$` (it runs now) or `next:`; on a terminal its lines can be pasted."""
    import shlex

    from evalsuite.core.runtime import program
    from evalsuite.reports.terminal import print_command, screen_of

    stream = stream or sys.stdout
    print_command(screen_of(stream, 150), f"{lead} {program()} {shlex.join(words)}")
    stream.flush()


class ProgressBar:
    """A progress bar with rate and remaining time on stderr, only on a terminal and after one second."""

    def __init__(self, *, hidden: bool = False) -> None:
        import time

        self._hidden = hidden or not sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: object | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]

    def __call__(self, done: int, total: int) -> None:
        import time

        if self._hidden or (self._bar is None and time.monotonic() - self._started < 1):
            return
        if self._bar is None:
            self._bar = _rich_bar(total)
            # The bar must be stored first: an interruption in `start` must restore the cursor.
            self._bar.start()  # type: ignore[attr-defined]
        self._bar.update(self._bar.task_ids[0], completed=done)  # type: ignore[attr-defined]


def _rich_bar(total: int) -> object:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        """Show the rate; empty until two updates are known."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:.{0 if task.speed >= 10 else 1}f}/s")

    bar = Progress(
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        Speed(),
        TimeRemainingColumn(),
        console=Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto"),
        transient=True,
    )
    bar.add_task("scoring", total=total)
    return bar
