"""SQL text as tokens, by the rules of Spark's own lexer.

sqlglot's tokens would not do: they lose what Spark's typed literals need (suffixes such as 5L, raw strings, which
escapes stood where), and reading a megabyte of them takes seconds. Tokens are held by column, not one object each,
and every bracket knows its partner, so a parser can step over a group of any size at once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coalesce.errors import PredicateError

Kind = Literal["word", "quoted", "string", "number", "symbol"]

# Catalyst prints a chain of ten thousand ORs as ten thousand nested parentheses; ten times that is never written.
MAX_NESTING: Final = 100_000

_TOKEN = re.compile(
    r"""
      (?P<space>   \s++ | --(?:\\\n|[^\r\n])*+ )
    | (?P<comment> /\* )
    | (?P<string>  [rR]'[^']*+' | [rR]"[^"]*+"
                 | '[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'
                 | "[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+" )
    | (?P<quoted>  `[^`]*+(?:``[^`]*+)*+` )
    | (?P<open>    [rR]?['"] | ` )
    | (?P<number>  [0-9]++[lLsSyY](?!\w)
                 | (?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?:[fFdD]|[bB][dD])?+(?![0-9A-Za-z_])
                 | [0-9]++(?:[eE][+-]?[0-9]++)?+(?:[fFdD]|[bB][dD])?+(?!\w)
                 | [0-9]++[eE][+-][0-9]++(?:[fFdD]|[bB][dD])?+
                 | [0-9]++(?!\w) )
    | (?P<word>    \w++ )
    | (?P<symbol>  <=> | <> | != | !< | !> | <= | >= | == | -> | => | :: | \|\| | \|> | \*/ | << | >> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_BEFORE_OPERANDS: Final = frozenset({
    "(", ",", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "!<", "!>", "+", "-", "*", "/", "%", "||", "AND",
    "OR", "NOT", "!", "BETWEEN", "LIKE", "WHEN", "THEN", "ELSE", "DIV", "CASE",
})  # fmt: skip
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OPENING: Final = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of `text`, one list for each property.

    `words` holds words in upper case and symbols as they are; it is empty for names in back-quotes, strings and
    numbers, so that none of those is ever taken for a keyword. `partner` maps the index of an opening bracket (or
    CASE) to that of its closing one.
    """

    text: str
    kinds: Sequence[Kind]
    words: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    partner: dict[int, int]

    def __len__(self) -> int:
        return len(self.kinds)

    def raw(self, index: int) -> str:
        """A token as it stands in the text."""
        return self.text[self.starts[index] : self.ends[index]]

    def slice(self, start: int, end: int) -> str:
        """The text from one token up to, and without, another."""
        return self.text[self.starts[start] : self.ends[end - 1]]

    def starts_operand(self, index: int, start: int) -> bool:
        """Whether an operand begins at `index` of a condition from `start` on, so that a minus there is a sign."""
        return index == start or self.words[index - 1] in _BEFORE_OPERANDS

    def calls_between(self, index: int, start: int) -> bool:
        """Whether there is a function of that name, as Catalyst prints it, and not the operator of SQL."""
        if self.words[index] != "BETWEEN" or index + 1 not in self.partner:
            return False
        while index > start and self.words[index - 1] in ("NOT", "!"):
            index -= 1
        return self.starts_operand(index, start)

    def start_of(self, index: int) -> int:
        """Where a token starts; for the index after the last, where the text ends."""
        return self.starts[index] if index < len(self.starts) else len(self.text.rstrip())


def tokenize(text: str) -> Tokens:
    """The tokens of a predicate; an open quote, comment or bracket is an error."""
    kinds: list[Kind] = []
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    partner: dict[int, int] = {}
    unclosed: list[int] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative matches anything
        kind = match.lastgroup
        start, position = position, match.end()
        if kind == "space":
            continue
        if kind == "comment":
            position = _end_of_comment(text, start)
            continue
        if kind == "open":
            raise PredicateError(_unclosed_quote(match[0][-1]), text, start)
        index = len(kinds)
        word = ""
        if kind == "word":
            word = match[0].upper()
            if word == "CASE":
                unclosed.append(index)
            elif word == "END" and unclosed and words[unclosed[-1]] == "CASE":
                partner[unclosed.pop()] = index
        elif kind == "symbol":
            word = match[0]
            if word in _OPENING:
                if len(unclosed) == MAX_NESTING:
                    raise PredicateError(f"the predicate nests more than {MAX_NESTING} brackets.", text, start)
                unclosed.append(index)
            elif word in (")", "]"):
                _close(text, start, word, index, words, unclosed, partner)
        kinds.append(kind)  # type: ignore[arg-type]
        words.append(word)
        starts.append(start)
        ends.append(position)
    while unclosed and words[unclosed[-1]] == "CASE":
        unclosed.pop()  # a column of that name
    if unclosed:
        innermost = unclosed[-1]
        raise PredicateError(f"this {words[innermost]!r} is never closed.", text, starts[innermost])
    return Tokens(text, kinds, words, starts, ends, partner)


def _close(
    text: str, start: int, word: str, index: int, words: list[str], unclosed: list[int], partner: dict[int, int]
) -> None:
    while unclosed and words[unclosed[-1]] == "CASE":
        unclosed.pop()  # a column of that name
    if not unclosed:
        raise PredicateError(f"this {word!r} closes nothing.", text, start)
    expected = _OPENING[words[unclosed[-1]]]
    if word != expected:
        raise PredicateError(f"there should be a {expected!r} before this {word!r}.", text, start)
    partner[unclosed.pop()] = index


def _end_of_comment(text: str, start: int) -> int:
    """The end of the bracketed comment at `start`; they nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise PredicateError("this comment is never closed; end it with */.", text, start)


def _unclosed_quote(quote: str) -> str:
    if quote == "`":
        return "this back-quoted name is never closed; a ` inside one is written ``."
    return f"this text is never closed; a {quote} inside it is written \\{quote} or {quote}{quote}."
