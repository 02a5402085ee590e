"""The literal that stands at a place in the tokens: a number with its sign, texts that are one, a word with a text."""

from coalesce.model.types import STRING
from coalesce.predicate.expr import Literal
from coalesce.predicate.sql import literals
from coalesce.predicate.sql.lexer import Tokens


def read_literal(tokens: Tokens, index: int, end: int, time_zone: str) -> tuple[Literal | None, int]:
    """The literal at `index`, or None if it is not one to be read here, and the index behind it."""
    position = tokens.starts[index]
    if tokens.kinds[index] == "string":
        text, index = read_text(tokens, index, end)
        return None if text is None else Literal(text, STRING, position), index
    if tokens.kinds[index] == "word":
        text, after = read_text(tokens, index + 1, end)
        if text is None:
            return None, after
        word = tokens.words[index]
        return literals.typed(word, text, time_zone=time_zone, source=tokens.text, position=position), after
    negative = tokens.words[index] == "-"
    index += negative
    return literals.number(tokens.raw(index), negative=negative, position=position), index + 1


def read_text(tokens: Tokens, index: int, end: int) -> tuple[str | None, int]:
    """The text at `index`, adjacent ones as one; None if one of them is no text."""
    texts: list[str | None] = []
    while index < end and tokens.kinds[index] == "string":
        texts.append(literals.unquoted(tokens.raw(index)))
        index += 1
    known = [text for text in texts if text is not None]
    return "".join(known) if len(known) == len(texts) else None, index
