"""The one way of hostile text into a report: what cannot be seen becomes its escape."""

import unicodedata
from typing import Final

# Printable by Python's rule, yet drawn as nothing: what Unicode calls default-ignorable (joiners, fillers, inherent vowels and all
# variation selectors), and the blank Braille pattern, the notehead that is none and the filler of Khitan.
_RANGES: Final = (
    *((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180D), (0x180F, 0x180F), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
    *((0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x2800, 0x2800), (0x1D159, 0x1D159), (0x16FE4, 0x16FE4)),
)
_HIDDEN: Final = frozenset(chr(code) for first, last in _RANGES for code in range(first, last + 1))
# More marks than any script stacks on a letter.
_MOST_MARKS: Final = 8


def clean(text: str) -> str:
    """The text with every character that is not seen (ESC, C1, bidi, zero-width, selectors, surrogates, line ends) as its escape.

    Visible characters of any script stay. Of a run of combining marks the first eight stay, so that no cell grows over its neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        if not char.isprintable() or char in _HIDDEN:
            named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
            code = ord(char)
            out.append(named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"))
            marks = 0
            continue
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        if marks <= _MOST_MARKS:
            out.append(char)
    return "".join(out)
