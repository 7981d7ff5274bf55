"""The one way of hostile text into a report: what cannot be seen becomes its escape."""

import unicodedata

from evalsuite.texts.characters import MOST_MARKS, is_seen


def clean(text: str) -> str:
    """The text with every character that is not seen (ESC, C1, bidi, zero-width, selectors, surrogates, line ends) as its escape.

    Visible characters of any script stay. Of a run of combining marks the first eight stay, so that no cell grows over its neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        if not is_seen(char):
            named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
            code = ord(char)
            out.append(named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"))
            marks = 0
            continue
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        if marks <= MOST_MARKS:
            out.append(char)
    return "".join(out)
