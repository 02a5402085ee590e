"""Functions of text do what Spark's do, whatever is in the text."""

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coalesce.model.types import STRING
from coalesce.predicate.scalar import texts
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.nodes import Call, Reference
from tests.predicate.scalar.against_spark import compare
from tests.predicate.scalar.awkward_texts import TEXT_COLUMNS, rows
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = ("st", "sb", "'abc'", "i8", "i64", "bo", "da", "NULL", "concat(st, sb)")
SEARCHED = ("sb", "'a'", "''", "'🙂'", "' '", "sc", "'b\\n'", "NULL", "i8")
SMALL = ("ln", "0", "1", "3", "-1", "12", "i8", "NULL")  # Spark would build texts of any length
NUMBER = ("po", "0", "1", "2", "3", "-1", "-2", "40", "i8", "i64", "NULL", "2147483647")


def every_call() -> list[str]:
    """Each function with all kinds of arguments."""
    one = (
        "lower", "lcase", "upper", "ucase", "length", "len", "char_length", "character_length", "octet_length",
        "bit_length", "trim", "ltrim", "rtrim", "btrim", "reverse", "ascii", "concat",
    )  # fmt: skip
    calls = [f"{name}({text})" for name in one for text in TEXT]
    calls += [f"{outer}({inner}({text}))" for outer in one[:4] for inner in one[:4] for text in TEXT]
    calls += [f"{name}(by)" for name in ("length", "octet_length", "bit_length")]
    for text in TEXT:
        for number in NUMBER:
            calls += [f"{name}({text}, {number})" for name in ("substring", "substr", "left", "right")]
            calls += [f"substring({text}, {number}, {other})" for other in NUMBER[::3]]
            calls += [
                f"{name}({sought}, {text}, {number})" for name in ("locate", "position") for sought in SEARCHED[:4]
            ]
        for number in ("nz", "1", "-2", "7"):  # Spark fails on 0, in any mode
            calls += [f"split_part({text}, {sep}, {number})" for sep in SEARCHED[:4]]
        for number in SMALL:
            calls += [f"{name}({text}, {number})" for name in ("repeat", "lpad", "rpad")]
            calls += [f"{name}({text}, {number}, {pad})" for name in ("lpad", "rpad") for pad in SEARCHED[::2]]
        for sought in SEARCHED:
            two = ("startswith", "endswith", "contains", "instr", "concat", "btrim", "replace")
            calls += [f"{name}({text}, {sought})" for name in two]
            calls += [f"{name}({sought}, {text})" for name in ("trim", "ltrim", "rtrim", "locate", "position")]
            calls += [
                f"{name}({text}, {sought}, {put})"
                for name in ("replace", "translate")
                for put in ("sc", "'x'", "''", "'yz'")
            ]
            calls += [f"{text} || {sought}", f"trim(BOTH {sought} FROM {text})", f"trim(LEADING {sought} FROM {text})"]
            calls += [f"trim(TRAILING {sought} FROM {text})", f"concat({text}, '-', {sought})"]
            calls += [
                f"concat_ws({sought}, {text}, sb, sc)",
                f"concat_ws('-', {sought}, {text})",
                f"concat_ws(sc, {text})",
            ]
    return calls


@pytest.mark.parametrize("name", ["lower", "length", "reverse", "ascii", "trim"])
def test_bytes_that_are_no_text_are_unsure(name: str) -> None:
    """Spark and Arrow let a string be any bytes; what they make of them is not known, and nothing fails."""
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"A\xffB")
    column = pa.Array.from_buffers(pa.string(), 3, [None, offsets, data])
    call = texts.FUNCTIONS[name]((Reference(1, "c", STRING),), "UTC")
    assert isinstance(call, Call)
    found = evaluate(call, {1: column}, 3)
    assert found.unsure is not None
    assert found.unsure.tolist() == [False, True, False]
    assert found.why


def test_functions_of_text_are_spark_s(spark: "SparkSession") -> None:
    """Any function of any arguments has Spark's values and Spark's type, with ANSI mode on and off."""
    calls = every_call()
    chosen = random.Random(16).sample(calls, min(examples(200), len(calls)))
    result = compare(spark, rows(spark, TEXT_COLUMNS), chosen)
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert result.unsure < result.compared / 20, "hardly anything is unsure"
