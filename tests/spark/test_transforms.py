from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from coalesce.model.transform_arrays import apply_array
from coalesce.model.transforms import (
    Bucket,
    Day,
    Hour,
    Identity,
    Month,
    Transform,
    Truncate,
    Void,
    Year,
    result_type,
)
from coalesce.model.types import (
    BINARY,
    DATE,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import column_of, values_of
from coalesce.spark.translate.schema import spark_type
from coalesce.spark.translate.transforms import component
from tests.strategies import values
from tests.support.examples import examples
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS: list[AtomicType] = [INT8, INT16, INT32, INT64, DecimalType(9, 2), DecimalType(37, 5), DecimalType(38, 38)]
PAIRS: list[tuple[Transform, AtomicType]] = [
    *((Bucket(n), t) for n, t in zip((1, 7, 16, 64, 1000, 2**31 - 1, 3), NUMBERS, strict=True)),
    *((Bucket(16), t) for t in (DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING, BINARY)),
    *((Truncate(10), t) for t in NUMBERS),
    *((Truncate(2**31 - 1), t) for t in NUMBERS),
    *((Truncate(3), t) for t in (STRING, BINARY)),
    *((unit, t) for unit in (Year(), Month(), Day()) for t in (DATE, TIMESTAMP, TIMESTAMP_NTZ)),
    *((Hour(), t) for t in (TIMESTAMP, TIMESTAMP_NTZ)),
    (Identity(), STRING),
    (Void(), INT32),
]


def through_spark(
    spark: "SparkSession", columns: dict[AtomicType, list[Value]], pairs: list[tuple[Transform, AtomicType]]
) -> list[list[Value]]:
    """Each transform of the column of its type, as Spark computes them, in one job."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import IntegerType, StructField, StructType

    count = len(next(iter(columns.values())))
    arrays = {"n": pa.array(range(count), pa.int32())} | {str(t): column_of(t, values) for t, values in columns.items()}
    fields = [StructField("n", IntegerType()), *(StructField(str(t), spark_type(t)) for t in columns)]
    frame = spark.createDataFrame(pa.table(arrays), StructType(fields))
    frame = frame.repartition(2)  # or the optimizer would compute it all, without generating any code
    components = [component(spark, t, type_, F.col(f"`{type_}`")).alias(str(i)) for i, (t, type_) in enumerate(pairs)]
    answered = frame.select("n", *components).orderBy("n").toArrow()
    return [values_of(result_type(t, type_), answered.column(str(i))) for i, (t, type_) in enumerate(pairs)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spark_computes_what_the_model_does(spark: "SparkSession", zone: str) -> None:
    """Every transform of every type gives in Spark what it gives in Python, at the ends of ranges and in any zone."""
    pairs = PAIRS if zone == "UTC" else [p for p in PAIRS if p[1] in (DATE, TIMESTAMP, TIMESTAMP_NTZ)]
    columns = {type_: st.lists(values(type_), min_size=25, max_size=25) for _, type_ in pairs}

    @given(st.fixed_dictionaries(columns))
    @settings(
        max_examples=examples(3),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def check(drawn: dict[AtomicType, list[Value]]) -> None:
        for (transform, type_), answered in zip(pairs, through_spark(spark, drawn, pairs), strict=True):
            expected = apply_array(transform, type_, column_of(type_, drawn[type_]))
            assert answered == values_of(result_type(transform, type_), expected), (transform, type_)

    with changed(spark, {TIME_ZONE: zone}):
        check()


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [(INT32, 34, 2017239379), (STRING, "iceberg", 1210000089), (DATE, 17486, -653330422)],
)
def test_buckets_are_icebergs(spark: "SparkSession", type_: AtomicType, value: Value, expected: int) -> None:
    """The hashes printed in Iceberg's specification come out."""
    assert through_spark(spark, {type_: [value]}, [(Bucket(2**31 - 1), type_)]) == [
        [(expected & 0x7FFFFFFF) % (2**31 - 1)]
    ]
