"""Tokens of SQL text: against Spark's own lexer, and what a reader of them relies on."""

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.model.types import INT32, Field
from coalesce.predicate.bind import bind
from coalesce.predicate.render import to_sql
from coalesce.predicate.sql.lexer import MAX_NESTING, Tokens, tokenize
from coalesce.predicate.sql.parse import parse
from tests.support.java import answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema((Field(id=1, name="p", type=INT32),))

FRAGMENTS = (
    "a", "App", "_x1", "größe", "名前", "NULL", "case", "END", "`a``b`", "`x y`", "``", "5", "5L", "5y", "5bd", "5.5",
    ".5", "5.", "1e3", "1.5E-3", "1e", "5.5D", "5F", "12abc", "1e3x", "5LL", "0x1F", "'a'", "'it''s'", "'a\\'b'",
    "'\\\\'", '"q"', '"a""b"', "''", "r'\\'", "R\"a\"", "'a\nb'", "'-- no'", "'/* no */'", "=", "==", "<=>", "<>",
    "!=", "<", "<=", ">", ">=", "||", "|", "->", "=>", "::", ":", ".", ",", ";", "+", "-", "*", "/", "%", "~", "&",
    "^", "!", "@", "#", "$", "?", "{", "}", "(", ")", "[", "]", "-- c\n", "--\n", "-- a\\\n b\n", "-- c\r",
    "-- c\r\n", "/* c */", "/* a /* b */ c */", "/**/", "/* ' */", " ", "\t", "\n", "\r\n", "\f", "\u00a0",
    "\u3000",
)  # fmt: skip

_SPARKS_TOKENS = """
StringBuilder out = new StringBuilder();
String[] texts = text.split("\\u0001", -1);
for (int n = 0; n < texts.length; n++) {
  org.apache.spark.sql.catalyst.parser.SqlBaseLexer lexer =
    new org.apache.spark.sql.catalyst.parser.SqlBaseLexer(
      new org.apache.spark.sql.catalyst.parser.UpperCaseCharStream(
        org.antlr.v4.runtime.CharStreams.fromString(texts[n])));
  lexer.removeErrorListeners();
  java.util.Iterator tokens = lexer.getAllTokens().iterator();
  while (tokens.hasNext()) {
    org.antlr.v4.runtime.Token token = (org.antlr.v4.runtime.Token) tokens.next();
    if (token.getChannel() == 0) {
      out.append(lexer.getVocabulary().getSymbolicName(token.getType())).append(' ')
         .append(token.getStartIndex()).append(' ').append(token.getStopIndex() + 1).append('\\n');
    }
  }
  out.append('\\u0001');
}
return out.toString();
"""
_KINDS = {
    "STRING_LITERAL": "string",
    "DOUBLEQUOTED_STRING": "string",
    "BACKQUOTED_IDENTIFIER": "quoted",
    "IDENTIFIER": "word",
    "BIGINT_LITERAL": "number",
    "SMALLINT_LITERAL": "number",
    "TINYINT_LITERAL": "number",
    "INTEGER_VALUE": "number",
    "EXPONENT_VALUE": "number",
    "DECIMAL_VALUE": "number",
    "FLOAT_LITERAL": "number",
    "DOUBLE_LITERAL": "number",
    "BIGDECIMAL_LITERAL": "number",
}


def _ours(tokens: Tokens) -> list[tuple[str, int, int]]:
    return list(zip(tokens.kinds, tokens.starts, tokens.ends, strict=True))


def _sparks(text: str, lines: str) -> list[tuple[str, int, int]]:
    found = []
    for line in lines.splitlines():
        name, start, end = line.split(" ")
        keyword = text[int(start)].isalpha() or text[int(start)] == "_"
        found.append((_KINDS.get(name, "word" if keyword else "symbol"), int(start), int(end)))
    return found


def test_tokens_are_sparks(spark: "SparkSession") -> None:
    """Of three thousand texts, every token begins and ends where Spark's lexer says, and is of the same kind."""
    rng = random.Random(20260517)
    texts = []
    for _ in range(3000):
        pieces = rng.choices(FRAGMENTS, k=rng.randint(1, 7))
        texts.append("".join(piece + rng.choice(["", "", " "]) for piece in pieces))
    answers = answer(spark, _SPARKS_TOKENS, "\1".join(texts)).split("\1")
    wrong = []
    compared = 0
    for text, lines in zip(texts, answers, strict=False):
        try:
            ours = _ours(tokenize(text))
        except PredicateError:
            continue  # an open quote, bracket or comment: the parser would say so in Spark
        compared += 1
        if ours != _sparks(text, lines):
            wrong.append((text, ours, _sparks(text, lines)))
    assert wrong == []
    assert compared > 1000


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=12).map("".join))
def test_what_readers_rely_on(text: str) -> None:
    """Tokens lie in order without overlap, between them is nothing but space and comments, brackets know each other."""
    try:
        tokens = tokenize(text)
    except PredicateError as error:
        tokens, position = None, error.position
    if tokens is None:
        assert position is not None
        assert 0 <= position < len(text)
        return
    edges = [(0, 0), *zip(tokens.starts, tokens.ends, strict=True), (len(text), len(text))]
    for (_, end), (start, _) in pairwise(edges):
        assert end <= start
        between = text[end:start].lstrip()
        assert between == "" or between.startswith(("--", "/*"))
    for index, word in enumerate(tokens.words):
        if word in ("(", "["):
            assert tokens.words[tokens.partner[index]] == {"(": ")", "[": "]"}[word]
    closing = [i for i, word in enumerate(tokens.words) if word in (")", "]")]
    assert set(closing) <= set(tokens.partner.values())
    for opening, closed in tokens.partner.items():
        for other, other_closed in tokens.partner.items():
            assert not opening < other < closed < other_closed


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("a = 'x", 4, "never closed"),
        ('a = "x', 4, "never closed"),
        ("a = `x", 4, "back-quoted name is never closed"),
        ("a = r'x", 4, "never closed"),
        ("a /* b", 2, "comment is never closed"),
        ("a /* /* b */", 2, "comment is never closed"),
        ("(a", 0, r"'\(' is never closed"),
        ("(a]", 2, r"should be a '\)' before"),
        ("a)", 1, "closes nothing"),
    ],
)
def test_what_is_open_is_named(text: str, at: int, reason: str) -> None:
    """An open quote, comment or bracket is an error that points to it."""
    with pytest.raises(PredicateError, match=reason) as raised:
        tokenize(text)
    assert raised.value.position == at


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("p = 1 -- one\rOR p = 2", "p = 1 OR p = 2"),
        ("p = 1 -- one\r\nOR p = 2", "p = 1 OR p = 2"),
        ("p = 1 -- one \\\nOR p = 2", "p = 1"),
        ("p = 1 /* one -- \n */ OR p = 2", "p = 1 OR p = 2"),
        ("p !< 1", "p >= 1"),
        ("p !> 1", "p <= 1"),
    ],
)
def test_what_spark_means_by_it(text: str, meant: str) -> None:
    """A comment ends with the line, be it a carriage return's, and goes on after a backslash; odd operators count."""
    assert to_sql(bind(parse(text), SCHEMA)) == to_sql(bind(parse(meant), SCHEMA))


def test_columns_called_case_and_end() -> None:
    """A CASE that has no END is a column's name, and brackets around it close all the same."""
    assert tokenize("(case = 1)").partner == {0: 4}
    assert tokenize("case = end").partner == {0: 2}
    assert tokenize("CASE WHEN (a) THEN b END").partner == {2: 4, 0: 7}


def test_nesting_has_an_end() -> None:
    """So deep that nobody means it: refused in a sentence, not by Python's stack."""
    tokenize("(" * MAX_NESTING + ")" * MAX_NESTING)
    with pytest.raises(PredicateError, match="nests more than"):
        tokenize("(" * (MAX_NESTING + 1))
