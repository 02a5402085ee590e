from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

from coalesce.arrow import conform as conform_module
from coalesce.arrow import reshape
from coalesce.arrow.conform import conform
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_schema, schema_from_arrow
from coalesce.model.types import (
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    Type,
)
from coalesce.table.evolve import add_column, evolve_spec
from coalesce.table.match import is_widening
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_version

SECOND_ONE = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
SMALL_MAP = pa.map_(pa.large_string(), pa.int8())


def fit(type_: pa.DataType, given_: pa.Array) -> pa.Array:
    """`given_` written into a column of `type_`."""
    return conform(pa.table({"x": given_}), schema_from_arrow(pa.schema([("x", type_)]))).column("x")


@given(tables())
def test_rows_that_fit_are_not_changed(generated: Generated) -> None:
    """Rows of the table's own schema come out bit for bit, with ids at every level."""
    schema = generated.version.schema
    fitted = conform(generated.rows, schema)
    fitted.validate(full=True)
    assert fitted.schema.equals(arrow_schema(schema), check_metadata=True)
    assert plain_rows(fitted) == plain_rows(generated.rows)


@given(tables())
def test_slices_and_chunks_do_not_matter(generated: Generated) -> None:
    """Rows that are a slice of others, or come in pieces, are the same rows."""
    half = generated.rows.num_rows // 2
    pieces = pa.concat_tables([generated.rows.slice(0, half), generated.rows.slice(half)])
    assert plain_rows(conform(pieces, generated.version.schema)) == plain_rows(generated.rows)


def test_names_are_matched_without_regard_to_case_and_order() -> None:
    """As Spark resolves names by default, inside structs too."""
    schema = schema_from_arrow(
        pa.schema([("A", pa.int64()), ("s", pa.struct([("X", pa.int64()), ("Y", pa.string())]))])
    )
    rows = pa.table({"S": [{"y": "q", "x": 1}], "a": [2]})
    assert conform(rows, schema).to_pylist() == [{"A": 2, "s": {"X": 1, "Y": "q"}}]


def test_missing_nullable_columns_are_null() -> None:
    """Columns and struct members that are not given are NULL."""
    schema = schema_from_arrow(
        pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]))])
    )
    assert conform(pa.table({"s": [{"x": 1}, None]}), schema).to_pylist() == [
        {"a": None, "s": {"x": 1, "y": None}},
        {"a": None, "s": None},
    ]


def test_missing_columns_hold_their_default() -> None:
    """As rows do that were written before the column was there; required columns and members too, and 0 is a value."""
    version = make_version(pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64())]))]))
    version = add_column(version, "d", "date", default="2026-05-17", required=True)
    version = add_column(version, "z", "int64", default=0)
    version = add_column(version, "s.y", "string", default="")
    assert conform(pa.table({"a": [1, 2], "s": [{"x": 3}, None]}), version.schema).to_pylist() == [
        {"a": 1, "s": {"x": 3, "y": ""}, "d": date(2026, 5, 17), "z": 0},
        {"a": 2, "s": None, "d": date(2026, 5, 17), "z": 0},
    ]


def test_a_missing_partition_column_is_refused() -> None:
    """Which logical partition rows are of has to be said; NULL is one, and was taken in silence."""
    version = make_version(
        pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64()), ("v", pa.int64())]),
        ["dt", "bucket(4, app)", "void(v)"],
    )
    with pytest.raises(SchemaError) as caught:
        conform(pa.table({"n": [1]}), version.schema, version.spec)
    assert "partition column 'dt' is missing" in str(caught.value)
    assert "partition column 'app' is missing" in str(caught.value)
    assert "'v'" not in str(caught.value)
    rows = pa.table({"n": [1], "dt": pa.nulls(1), "APP": pa.nulls(1)})
    assert conform(rows, version.schema, version.spec).num_rows == 1


def test_a_missing_partition_column_with_a_default_is_no_mistake() -> None:
    """The rows are of the default's partition."""
    version = add_column(make_version(pa.schema([("n", pa.int64())])), "app", "string", default="web")
    version = evolve_spec(version, add="app")
    assert conform(pa.table({"n": [1]}), version.schema, version.spec).to_pylist() == [{"n": 1, "app": "web"}]


def test_one_error_names_everything() -> None:
    """All that is wrong with the rows is in one message."""
    required = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = schema_from_arrow(
        pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("name", pa.string(), nullable=False),
                ("amount", pa.decimal128(10, 2)),
                ("s", required),
                ("l", pa.list_(pa.field("element", pa.int32(), nullable=False))),
                ("t", pa.timestamp("us", "UTC")),
            ]
        )
    )
    rows = pa.table(
        {
            "name": ["a", None, None],
            "amount": [1.5, 2.5, None],
            "s": pa.array([{"x": 1}, {"x": None}, None], pa.struct([("x", pa.int32())])),
            "l": pa.array([[1, None], [], None], pa.list_(pa.int32())),
            "t": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
            "nmae": ["a", "b", "c"],
            "u": pa.array([1, 2, 3], pa.uint64()),
            "NAME": ["x", "y", "z"],
        }
    )
    with pytest.raises(SchemaError) as raised:
        conform(rows, schema)
    message = str(raised.value)
    for part in (
        "'id' is required and missing",
        "'name' is required and has 2 NULLs",
        "'amount' is double, which does not widen to the table's decimal(10,2)",
        "'s.x' is required and has 1 NULLs",
        "'l.element' is required and has 1 NULLs",
        "'t' does not fit timestamp",
        "there is no column 'nmae' in the table; did you mean 'name'?",
        "there is no column 'u' in the table",
        "column 'NAME' is there twice",
    ):
        assert part in message
    assert message.count("\n") == 9


def test_a_required_member_of_a_missing_struct_is_no_null() -> None:
    """Where a struct is NULL there is nothing inside it that could be missing."""
    inside = pa.struct(
        [pa.field("x", pa.int32(), nullable=False), pa.field("m", pa.map_(pa.string(), pa.date32()), False)]
    )
    outer = pa.struct([pa.field("i", inside, nullable=False)])
    schema = schema_from_arrow(pa.schema([("s", outer)]))
    rows = pa.table({"s": pa.array([None, {"i": {"x": 1, "m": [("k", None)]}}], outer)})
    assert conform(rows, schema).to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    ("type_", "given_", "expected"),
    [
        (pa.int64(), pa.array([1, None], pa.int8()), [1, None]),
        (pa.int64(), pa.array([2**32 - 1], pa.uint32()), [2**32 - 1]),
        (pa.float64(), pa.array([0.1], pa.float32()), [0.10000000149011612]),
        (pa.float64(), pa.array([2**31 - 1], pa.int32()), [float(2**31 - 1)]),
        (pa.float32(), pa.array(np.array([1.5], np.float16)), [1.5]),
        (pa.decimal128(12, 4), pa.array([Decimal("1.25")], pa.decimal128(10, 2)), [Decimal("1.2500")]),
        (pa.decimal128(5, 2), pa.array([-128], pa.int8()), [Decimal("-128.00")]),
        (pa.string(), pa.array(["a", None], pa.large_string()), ["a", None]),
        (pa.string(), pa.array(["a", None], pa.string_view()), ["a", None]),
        (pa.string(), pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "b", "a", None]),
        (pa.string(), pc.run_end_encode(pa.array(["a", "a", None])), ["a", "a", None]),
        (pa.binary(), pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (pa.date32(), pa.array([86_400_000], pa.date64()), [date(1970, 1, 2)]),
        (pa.timestamp("us"), pa.array([1000], pa.timestamp("ns")), [datetime(1970, 1, 1, 0, 0, 0, 1)]),
        (pa.timestamp("us", "UTC"), pa.array([1], pa.timestamp("s", "Asia/Tokyo")), [SECOND_ONE]),
        (pa.int64(), pa.nulls(2), [None, None]),
        (pa.list_(pa.int64()), pa.array([[1, 2], None, [3]], pa.list_view(pa.int8())), [[1, 2], None, [3]]),
        (pa.list_(pa.int64()), pa.array([[1, 2], None, [3]], pa.large_list_view(pa.int8())), [[1, 2], None, [3]]),
        (pa.list_(pa.int64()), pa.array([[1, 2], None, [3]], pa.large_list(pa.int8())), [[1, 2], None, [3]]),
        (pa.list_(pa.int64()), pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, 4]]),
        (pa.map_(pa.string(), pa.int64()), pa.array([[("a", 1)], None], SMALL_MAP), [[("a", 1)], None]),
    ],
)  # fmt: skip
def test_what_is_exact_is_converted(type_: pa.DataType, given_: pa.Array, expected: list[object]) -> None:
    """Narrower types are widened and other encodings decoded."""
    assert fit(type_, given_).to_pylist() == expected


@pytest.mark.parametrize(
    ("type_", "given_", "reason"),
    [
        (pa.int32(), pa.array([1], pa.int64()), "int64, which does not widen to the table's int32"),
        (pa.float32(), pa.array([1], pa.int32()), "int32, which does not widen to the table's float"),
        (pa.float64(), pa.array([1], pa.int64()), "int64, which does not widen"),
        (pa.decimal128(10, 2), pa.array([1], pa.int64()), "int64, which does not widen"),
        (pa.decimal128(10, 2), pa.array([Decimal("1.125")]), "decimal(4,3), which does not widen"),
        (pa.string(), pa.array([1]), "int64, which does not widen"),
        (pa.string(), pa.array([b"a"]), "binary, which does not widen"),
        (pa.timestamp("us", "UTC"), pa.array([1], pa.timestamp("us")), "timestamp_ntz, which does not widen"),
        (pa.timestamp("us"), pa.array([1], pa.timestamp("us", "UTC")), "timestamp, which does not widen"),
        (pa.timestamp("us"), pa.array([1], pa.timestamp("ns")), "would lose data"),
        (pa.timestamp("us"), pa.array([2**62], pa.timestamp("s")), "would result in out of bounds"),
        (pa.date32(), pa.array([1], pa.date64()), "would lose data"),
        (pa.list_(pa.string()), pa.array(["a"]), "string, which does not widen to the table's list<string>"),
        (pa.list_(pa.int32()), pa.array([["a"]]), "'x.element' is string"),
        (pa.struct([("y", pa.int32())]), pa.array([{"y": "a"}]), "'x.y' is string"),
        (pa.map_(pa.string(), pa.int32()), pa.array([[(1, 1)]], pa.map_(pa.int32(), pa.int32())), "'x.key' is int32"),
        (pa.struct([("y", pa.int32())]), pa.array([{"z": 1}]), "there is no column 'x.z'"),
        (pa.int64(), pa.array([1], pa.duration("s")), "which a table cannot hold"),
    ],
)  # fmt: skip
def test_what_would_change_a_value_is_refused(type_: pa.DataType, given_: pa.Array, reason: str) -> None:
    """Each is an error that names the column and both types."""
    with pytest.raises(SchemaError) as raised:
        fit(type_, given_)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (INT8, INT16, True),
        (INT64, INT32, False),
        (INT16, FLOAT, True),
        (INT32, FLOAT, False),
        (INT32, DOUBLE, True),
        (INT64, DOUBLE, False),
        (FLOAT, DOUBLE, True),
        (DOUBLE, FLOAT, False),
        (INT64, DecimalType(19, 0), True),
        (INT64, DecimalType(20, 2), False),
        (DecimalType(10, 2), DecimalType(11, 3), True),
        (DecimalType(10, 2), DecimalType(10, 3), False),
        (DecimalType(10, 2), DOUBLE, False),
        (TIMESTAMP_NTZ, TIMESTAMP, False),
        (INT32, STRING, False),
    ],
)
def test_widening(source: Type, target: Type, expected: bool) -> None:
    """A type widens to another if that holds each of its values exactly."""
    assert is_widening(source, target) is expected


@pytest.mark.parametrize("type_", [pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view()])
def test_columns_too_long_for_32_bit_offsets(type_: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are cut into pieces that are not: what came with 64-bit offsets, or as views, may be of any length."""
    for module in (conform_module, reshape):
        monkeypatch.setattr(module, "MAX_STRING_BYTES", 100)
    values = [f"{n:020d}" for n in range(50)]
    given_ = pa.array(values).cast(type_)
    plain = pa.string() if type_ in (pa.large_string(), pa.string_view()) else pa.binary()
    found = fit(plain, given_)
    assert found.num_chunks > 5
    assert found.cast(pa.string()).to_pylist() == values


WORDS = pa.array(["a", None, "long enough not to be inline"])
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), WORDS)
STRUCTS = pa.array([{"y": 1}, {"y": 2}], pa.struct([pa.field("y", pa.int32(), nullable=False)]))
ENCODED: dict[str, tuple[pa.DataType, pa.Array]] = {
    "dictionary of views": (
        pa.string(),
        pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1], pa.uint32()), WORDS.cast(pa.string_view())),
    ),
    "a slice of runs": (pa.string(), RUNS.slice(1, 3)),
    "runs of a dictionary": (
        pa.string(),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int16()), pa.array(["a", "b"]).dictionary_encode()),
    ),
    "runs of views": (pa.string(), pa.RunEndEncodedArray.from_arrays([2, 4, 5], WORDS.cast(pa.string_view()))),
    "lists of a dictionary": (
        pa.list_(pa.string()),
        pa.ListArray.from_arrays([0, 2, 2, 3], pa.array(["a", None, "a"]).dictionary_encode()),
    ),
    "dictionary of structs": (
        STRUCTS.type,
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), STRUCTS),
    ),
    "dictionary of a narrower type": (
        pa.int64(),
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array([7, 8], pa.uint8())),
    ),
    "half floats": (pa.float64(), pa.array(np.array([0.5, -2.0], np.float16))),
    "nothing in a list": (pa.list_(pa.int32()), pa.array([[None], None], pa.list_(pa.null()))),
    **{
        f"decimals of {bits} bits": (
            pa.decimal128(12, 3),
            pa.array([Decimal("1.25"), None], getattr(pa, f"decimal{bits}")(9, 2)),
        )
        for bits in (32, 64, 256)
        if hasattr(pa, f"decimal{bits}")  # the short ones are younger than the oldest Arrow there may be
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", ENCODED)
def test_encodings_inside_encodings(kind: str) -> None:
    """However deep and in whatever slice, the values are those that Arrow itself says they are."""
    type_, given_ = ENCODED[kind]
    found = fit(type_, given_)
    found.validate(full=True)
    assert found.to_pylist() == given_.to_pylist()
