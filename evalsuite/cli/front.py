"""The page that `evalsuite --help` prints, written from the table of commands without loading a parser or any of them."""

import os

from evalsuite.cli.commands import COMMANDS

ABOUT = "Score a folder of answers against a folder of gold: what each answer is worth, why, and how sure we are."
OPTIONS = (
    ("--version", "print the version and exit"),
    ("--debug", "show tracebacks and the debug log"),
    ("--install-completion", "install the completion of commands in this shell"),
    ("--show-completion", "print the completion, to install it by hand"),
    ("-h, --help", "show this message and exit"),
)
_WIDEST = 100


def page(width: int | None = None) -> str:
    """The page, lines of at most `width` characters; None means the terminal's width, at most 100."""
    width = max(40, min(_WIDEST, (width or _terminal_width()) - 2))
    commands = [(name, line.summary) for name, line in COMMANDS.items()]
    column = max(len(name) for name, _ in (*OPTIONS, *commands)) + 4
    lines = ["Usage: evalsuite [OPTIONS] COMMAND [ARGS]...", "", *("  " + line for line in _folded(ABOUT, width - 2))]
    for title, rows in (("Options", OPTIONS), ("Commands", commands)):
        lines += ["", f"{title}:"]
        for name, text in rows:
            first, *rest = _folded(text, width - column)
            lines += [f"  {name:<{column - 2}}{first}", *(" " * column + line for line in rest)]
    return "\n".join([*lines, "", "`evalsuite COMMAND --help` explains a command.", ""])


def _terminal_width() -> int:
    """The columns of the terminal, 80 where there is none."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (ValueError, OSError):
        return 80


def _folded(text: str, width: int) -> list[str]:
    """The words of a text in lines of at most `width` characters, a longer word alone."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
