"""Text in columns, for people."""

import unicodedata
from collections.abc import Sequence

_LONGEST_VALUE = 40


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Rows under a header, columns aligned: those named in `right` to the right. The last is not padded."""
    lines = [header, *rows]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(header))]
    padded = []
    for line in lines:
        cells = []
        for name, text, width in zip(header, line, widths, strict=True):
            space = " " * (width - _width(text))
            cells.append(space + text if name in right else text + space)
        padded.append("  ".join(cells).rstrip())
    return "\n".join(padded)


def _width(text: str) -> int:
    """How many columns of a terminal the text takes: 日 takes two, a combining accent none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def cut(text: str, longest: int = _LONGEST_VALUE) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
