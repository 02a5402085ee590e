"""Columns that are called like words of SQL: a condition asks for them, or is refused; no word is passed over."""

from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot.dialects.spark import Spark

import coalesce
from coalesce.arrow.row_filter import is_true
from coalesce.errors import CoalesceError, PredicateError
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import Condition, Opaque
from coalesce.predicate.sql.parse import parse

# Those that are literals where nobody quotes them mean just that.
WORDS = sorted({w.lower() for w in Spark.Tokenizer.KEYWORDS if w.isidentifier()} | {"all", "as", "distinct", "of"})
NAMES = [word for word in WORDS if word not in ("null", "true", "false")]
FORMS = (
    "{} = 'x'",
    "{} IS NULL",
    "NOT ({} = 'x')",
    "{} IN ('x', 'z')",
    "coalesce({}, 'y') = 'y'",
    "coalesce('y', {}) = 'y'",
    "concat({}, 'z') = 'xz'",
    "concat('z', {}, 'z') = 'zxz'",
    "lower({}) = 'x'",
    "length({}) > 0",
    "CAST({} AS STRING) = 'x'",
    "({} || 'z') = 'xz'",
    "CASE WHEN {} = 'x' THEN 1 ELSE 0 END = 1",
    "concat(app, {}) = 'ax'",
    "'x' = {}",
    "app IN ('b', {})",
    "({} || 'z') IN ('xz')",
)


def matching(text: str, rows: pa.Table) -> list[bool] | None:
    """Which rows a condition holds on; None if it is refused, or only Spark can tell."""
    schema = schema_from_arrow(rows.schema)
    try:
        return list(is_true(bind(parse(text), schema), rows, schema).tolist())
    except CoalesceError:
        return None


@pytest.mark.parametrize("form", FORMS)
def test_a_word_is_the_column_of_that_name_or_is_refused(form: str) -> None:
    """Never something else: with quotes and without them the same rows match."""
    for word in NAMES:
        rows = pa.table({word: ["x", "y", None], "app": ["a", "b", "c"]})
        quoted, bare = matching(form.format(f"`{word}`"), rows), matching(form.format(word), rows)
        assert quoted is not None, word
        assert bare in (quoted, None), word


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("coalesce(as, 'x') = 'x'", "AS cannot stand here; a column of that name is written `as`"),
        ("concat(app, as) = 'a1'", "AS cannot stand here"),
        ("lower(app as) = 'a1'", "AS cannot stand here"),
        ("coalesce(all, 'x') = 'x'", "ALL cannot stand here; a column of that name is written `all`"),
        ("concat(distinct app, 'x') = 'x'", "DISTINCT cannot stand here"),
        ("concat('x', all) = 'x'", "ALL cannot stand here"),
        ("struct(as, k).k = 1", "AS cannot stand here"),
        ("app as = 'x' || 'y'", "AS cannot stand here"),
        ("concat(app,) = 'a1'", r"there is nothing before this '\)'"),
        ("coalesce(,app) = 'a1'", "there is nothing before this ','"),
        ("coalesce(app, 'x',,) = 'a1'", "there is nothing before this ','"),
        ("lower('A1',) = 'a1'", r"there is nothing before this '\)'"),
        ("k IN (1, 2,)", r"there is nothing before this '\)'"),
        ("k IN (,1)", "there is nothing before this ','"),
    ],
)
def test_what_would_be_passed_over_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """By whoever asks: a DELETE of what nobody wrote would be worst."""
    rows = pa.table({"app": ["a1", "b"], "k": [1, 2]})
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["app"])
    table.append(rows)
    with pytest.raises(PredicateError, match=said):
        table.delete(text)
    assert table.count() == 2


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("upper(s.as) = 'X'", {"s.as"}),
        ("(s.as + 1) = 2", {"s.as"}),
        ("coalesce(s.all, 1) = 2", {"s.`all`"}),
        ("(k AS x, app AS y) = struct(1 AS x, 'a' AS y)", {"k", "app"}),
        ("(k AS x, app).x = 1", {"k", "app"}),
        ("app LIKE ALL ('a%', '%b')", {"app"}),
        ("k IS NOT DISTINCT FROM abs(k)", {"k"}),
        ("upper(CAST(all AS STRING)) = 'x'", {"`all`"}),
        ("k IN (1, all)", {"k", "`all`"}),
        ("trim(BOTH 'x' FROM app) = 'a'", {"app"}),
    ],
)
def test_what_spark_takes_is_not_refused(text: str, read: set[str]) -> None:
    """Whether it can be computed here or not, it reads the columns that it names, quoted where they have to be."""
    parsed = parse(text)
    assert isinstance(parsed, Condition | Opaque)
    assert (parsed.otherwise if isinstance(parsed, Condition) else parsed).columns == frozenset(read)


def test_as_stands_where_it_belongs() -> None:
    """In casts, however deep."""
    rows = pa.table({"k": [1, 2], "app": ["1", "x"]})
    assert matching("concat(CAST(CAST(k AS BIGINT) AS STRING), 'x') = '1x'", rows) == [True, False]
    assert matching("coalesce(try_cast(app AS INT), k) = 2", rows) == [False, True]
