"""Why sqlglot does not read everything: what it would get wrong, or could not read at all, in Spark's dialect.

Each test shows both: what sqlglot makes of the text by itself, and what the front door makes of it. One that fails
because sqlglot has learnt something says that a special case of ours can go.
"""

import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from coalesce.model.types import INT8, INT64
from coalesce.predicate.expr import And, Comparison, Condition, Literal, Opaque, Or
from coalesce.predicate.sql.parse import parse


def by_sqlglot(text: str) -> Any:
    """What sqlglot alone makes of it."""
    return parse_one(text, read="spark", into=exp.Condition)


@pytest.mark.parametrize(
    ("number", "value", "type_"), [("-128Y", -128, INT8), ("-9223372036854775808L", -(2**63), INT64)]
)
def test_a_sign_belongs_to_its_number(number: str, value: int, type_: object) -> None:
    """To sqlglot it is the opposite of a number that the type does not have."""
    right = by_sqlglot(f"k = {number}").expression
    assert isinstance(right, exp.Neg)
    expr = parse(f"k = {number}")
    assert isinstance(expr, Comparison)
    assert expr.literal == Literal(value, type_, 4)  # type: ignore[arg-type]  # as parametrized


def test_a_plus_makes_a_number_of_a_text() -> None:
    """To Spark, `+ a = '5'` is a comparison of numbers, which '5.0' passes; sqlglot leaves the plus out."""
    assert by_sqlglot("+ a = '5'").this == by_sqlglot("a = '5'").this
    for text in ("+ a = '5'", "(+ a) = '5'", "b = + a", "CASE WHEN true THEN + a END = 5", "a IN (1, + a)"):
        expr = parse(text)
        assert isinstance(expr, Condition)
        assert "function='positive'" in repr(expr.value)


def test_a_pipe_is_a_sum() -> None:
    """Spark reads `a || b + c` from left to right; sqlglot adds first. What they read differently is left to Spark."""
    assert isinstance(by_sqlglot("a || b + c = 'x'").this.expression, exp.Add)
    assert isinstance(parse("a || b + c = 'x'"), Opaque)


def test_a_comparison_ends_before_like() -> None:
    """To Spark, `a = b LIKE c` asks whether (a = b) is like c; sqlglot compares a with (b LIKE c)."""
    assert isinstance(by_sqlglot("a = b LIKE c").expression, exp.Like)
    assert isinstance(parse("a = b LIKE c"), Opaque)


def test_a_comparison_ends_before_is() -> None:
    """Likewise `k = 5 IS NULL`, which newer releases of sqlglot read as Spark does; of others it is not taken."""
    expr = parse("k = 5 IS NULL")
    if isinstance(by_sqlglot("k = 5 IS NULL"), exp.Is):
        assert isinstance(expr, Condition)
        assert expr.value.function == "isnull"
    else:
        assert isinstance(expr, Opaque)


def test_a_length_belongs_to_its_type() -> None:
    """Sqlglot makes a text of any length of VARCHAR(3)."""
    assert by_sqlglot("CAST(a AS VARCHAR(3)) = 'x'").this.args["to"].expressions == []
    assert isinstance(parse("CAST(a AS VARCHAR(3)) = 'x'"), Opaque)


def test_functions_are_what_they_are_called() -> None:
    """Sqlglot puts a conversion around what year() is given, which is no such thing for a timestamp in a zone."""
    assert isinstance(by_sqlglot("year(ts) = 2026").this.this, exp.TsOrDsToDate)
    expr = parse("year(ts) = 2026")
    assert isinstance(expr, Condition)
    assert "to_date" not in repr(expr.value)


def test_what_catalyst_prints_of_between() -> None:
    """A function of that name, which sqlglot does not know."""
    with pytest.raises(ParseError):
        by_sqlglot("between(k, 1, 2)")
    assert isinstance(parse("between(k, 1, 2)"), And)


def test_not_less_is_at_least() -> None:
    """An operator that Spark has from other databases. Some releases of sqlglot refuse it, some take it for `<`."""
    with suppress(ParseError):
        assert isinstance(by_sqlglot("k !< 5"), exp.LT)
    for text, operator in (("k !< 5", ">="), ("k !> 5", "<=")):
        expr = parse(text)
        assert isinstance(expr, Comparison)
        assert expr.operator.value == operator
        computed = parse(f"j + {text}")
        assert isinstance(computed, Condition)
        assert computed.value.function == operator


def test_long_chains() -> None:
    """Catalyst nests a chain of ORs as deep as it is long, and sqlglot recurses."""
    text = "k = 0"
    for i in range(1, 3_000):
        text = f"({text} OR j = {i})"
    with pytest.raises((RecursionError, ParseError)):
        by_sqlglot(text)
    expr = parse(text)
    assert isinstance(expr, Or)
    assert len(expr.parts) == 3_000


def test_plain_conditions_need_no_sqlglot() -> None:
    """Importing it takes longer than planning most queries, and of a list of a hundred thousand it makes seconds."""
    program = (
        "import sys\n"
        "from coalesce.predicate.sql.parse import parse\n"
        "from coalesce.predicate.expr import Membership\n"
        "text = 'k IN (' + ', '.join(map(str, range(100_000))) + \") AND app = 'a' AND dt >= DATE '2026-05-17'\"\n"
        "assert len(parse(text).parts[0].literals) == 100_000\n"
        "sys.exit('sqlglot' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
