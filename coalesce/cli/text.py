"""Text for a terminal: cut values, counts."""

WIDTH = 100  # columns that a listing should fit into


def cut_middle(text: str, longest: int) -> str:
    """The text, or its two ends around an ellipsis: of a path, both are worth seeing."""
    if len(text) <= longest:
        return text
    tail = longest // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def number(count: int | None) -> str:
    """A count with separators; what is unknown is a question mark."""
    return "?" if count is None else f"{count:,}"
