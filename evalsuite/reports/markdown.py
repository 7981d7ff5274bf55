"""The report as Markdown for a comment on a pull request: the numbers, the worst groups, and everything else folded away.

Texts that a submission or gold has a say in stand in code spans, where Markdown and HTML mean nothing and nobody is mentioned.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.outcome import FAULTY
from evalsuite.reports.clean import clean
from evalsuite.reports.words import caused_by, ceiling_words, corrected_words, counts_line, faults_by_hint, flips_line, percent, share

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.summary import Mean
    from evalsuite.types import Result

# A comment on GitHub holds 65,536 characters; bytes are counted, so that it holds in any script.
MOST_BYTES = 60_000
WORST_GROUPS = 10
MOST_IN_A_FOLD = 50
LONGEST = 300
_FOLDS = 6
_MARKUP = re.compile(r"([\\`*_{}\[\]|~#!$])")


def render(record: "Record") -> str:
    """The report, below 60 kB whatever the size of the run; what is left out is counted."""
    head = "\n\n".join([*_heading(record), *_groups(record)])
    foot = f"<sub>evalsuite {__version__} · {code(str(record.run['signature']))}</sub>\n"
    folds = list(_folds(record))
    room = MOST_BYTES - len(head.encode()) - len(foot.encode())
    shown = [fold(title, lines, room // _FOLDS) for title, lines in folds if lines]
    return "\n\n".join([head, *shown, foot])


def code(text: str, longest: int = LONGEST) -> str:
    """The text as a code span that it cannot leave: one printable line of at most `longest` characters, fenced by more backticks."""
    text = clean(text)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # One space on each side is not shown, unless there is nothing else; it keeps a text that begins or ends with a backtick or a space.
    pad = " " if text.strip(" ") and (text[0] in "` " or text[-1] in "` ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell(text: str) -> str:
    """The text as a code span inside a table, where a bar would end the cell even there: it is shown as a broken bar."""
    return code(text.replace("|", "¦"), 60)


def plain(text: str) -> str:
    """The text as it stands, outside a code span: no markup, no link, no mention, no cell border."""
    return _MARKUP.sub(r"\\\1", plain_html(text))


def plain_html(text: str) -> str:
    """The text as it stands in an HTML element of a Markdown document, where a backslash would be one."""
    shown = html.escape(clean(text), quote=False)
    # A mention and a URL become links by themselves; nobody sees the space of no width.
    return shown.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """The lines of a table of plain cells: the first `left` columns flush left, the others right."""
    sides = [":--" if at < left else "--:" for at in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (map(plain, head), sides, *(map(plain, row) for row in rows))]


def _heading(record: "Record") -> Iterator[str]:
    s = record.summary
    yield f"### {code(record.suite, 80)} · {code(record.submission, 80)}"
    if not s.n_gold:
        yield "no instance to score"
        return
    lines = [f"**{share(s.chosen)}** under {record.rules} rules{_ends('95 % CI', s.interval)}{_unjudged(record)}"]
    other: Mean | None = s.strict if s.rules == "official" else s.official
    if other is not None:
        lines.append(f"{'strict' if s.rules == 'official' else 'official'} {share(other)} · {flips_line(s)}")
    if corrected := corrected_words(record):
        lines.append(f"corrected {corrected}")
    if reached := ceiling_words(record):
        lines.append(f"gold reaches {reached}")
    # Two spaces at the end of a line break it.
    yield "  \n".join(lines)
    yield counts_line(s)


def _unjudged(record: "Record") -> str:
    cause = caused_by(record.summary)
    bounds = (record.summary.chosen.low, record.summary.chosen.high)
    return f" · [{percent(bounds[0], '')}, {percent(bounds[1], '')}]: {cause}" if cause else ""


def _ends(label: str, interval: Sequence[float] | None) -> str:
    return f" · {label} [{percent(interval[0], '')}, {percent(interval[1], '')}]" if interval else ""


def _groups(record: "Record") -> Iterator[str]:
    """A table of the groups, or of the scorers where the suite has no groups, the worst first."""
    s = record.summary
    name, rows = ("group", s.by_group) if s.by_group else ("scorer", s.by_scorer)
    if len(rows) < 2:
        return
    worst = sorted(rows.items(), key=lambda item: (item[1]["score"] or 0.0, -item[1]["n"]))
    kind = "Groups" if name == "group" else "Scorers"
    head = f"**{kind}, worst first**\n\n| {name} | right | score | 95 % CI |\n|:--|--:|--:|:--|\n"
    rest = len(worst) - WORST_GROUPS
    yield head + "\n".join(map(_row, worst[:WORST_GROUPS])) + (f"\n\n... {rest} more" if rest > 0 else "")


def _row(item: tuple[str, Mapping[str, Any]]) -> str:
    name, row = item
    ends = _ends("", row.get("interval_95")).removeprefix(" ·  ")
    if row["score"] is None:
        return f"| {cell(name)} | not judged |  |  |"
    return f"| {cell(name)} | {row['n_right']}/{row['n']} | {percent(row['score'])} | {ends} |"


def _folds(record: "Record") -> Iterator[tuple[str, list[str]]]:
    results = record.results
    faults = [result for result in results if result.status in FAULTY]
    hints = [f"- hint: {code(code_)} {code(text)}" for code_, text in faults_by_hint(results)]
    yield _counted(len(faults), "fault"), [*map(_line, faults), *hints]
    wrong = [result for result in results if result.status == "scored" and result.score == 0]
    yield f"{len(wrong)} wrong", list(map(_line, wrong))
    partly = sorted((r for r in results if r.status == "scored" and r.score not in (0, 1, None)), key=lambda r: r.score or 0.0)
    yield f"{len(partly)} partly right, worst first", [_line(result, f" {result.score:.2f}") for result in partly]
    yield _counted(len(record.summary.flips), "flip") + " between the rules", [_flip(flip) for flip in record.summary.flips]
    missing = [result.instance_id for result in results if result.status == "missing"]
    yield f"{len(missing)} not handed in", [f"- {code(name)}" for name in missing]
    warnings: Iterable[str] = record.run.get("warnings", ())
    lines = [f"- {code(warning)}" for warning in warnings]
    yield _counted(len(lines), "warning"), lines


def _line(result: "Result", score: str = "") -> str:
    kind = f" {result.status}" if result.status in FAULTY else ""
    return f"- {code(result.instance_id, 80)}{kind}{score} {code(result.scorer or '', 40)} {code(result.reason)}".rstrip()


def _flip(flip: Mapping[str, Any]) -> str:
    way = "down" if flip["strict"] < flip["official"] else "up"
    return f"- {code(flip['instance_id'], 80)} {way} ({flip['official']:g} to {flip['strict']:g}) {code(flip['cause'])}".rstrip()


def fold(title: str, lines: Sequence[str], room: int, *, most: int = MOST_IN_A_FOLD, below: Sequence[str] = ()) -> str:
    """The lines folded under the title, at most `most` and as many as there is room for in bytes; what is left out is counted below."""
    shown: list[str] = []
    used = 200
    for line in lines[:most]:
        used += len(line.encode()) + 1
        if used > room:
            break
        shown.append(line)
    if len(shown) < len(lines):
        shown += [*([""] if lines[0].startswith("|") else []), f"- ... {len(lines) - len(shown)} more"]
    shown += ["", *below] if below else []
    return f"<details><summary>{title}</summary>\n\n" + "\n".join(shown) + "\n\n</details>"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
