"""The one way of hostile text into a report: what cannot be printed becomes its escape."""

import unicodedata

# Printable by Python's rule, yet invisible or able to reorder a line.
_HIDDEN = frozenset("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_COMBINING_RUN = 4


def clean(text: str) -> str:
    """The text with every non-printable character (ESC, C1, bidi, zero-width, surrogates, line ends) as its escape.

    Printable characters of any script stay. A run of more than four combining marks is cut, so that no cell grows over its neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks > _COMBINING_RUN:
            continue
        out.append(char if char.isprintable() and char not in _HIDDEN else _escape(char))
    return "".join(out)


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    code = ord(char)
    return named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
