import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given

from coalesce.arrow.dictionaries import dictionary_paths
from tests.arrow.generated import Generated, tables


def test_values_that_repeat_have_a_dictionary() -> None:
    """Of a column of few values, or one in whose neighbours much is alike; not of one that is always another."""
    count = 100_000
    rows = pa.table(
        {
            "kind": np.arange(count) % 7,
            "app": [f"app {i // 100}" for i in range(count)],
            "id": np.arange(count),
            "nothing": pa.nulls(count, pa.string()),
        }
    )
    assert dictionary_paths(rows) == ["kind", "app", "nothing"]
    assert dictionary_paths(rows.slice(0, 50)) == []


def test_a_column_in_pieces_is_judged_like_a_whole_one() -> None:
    """Runs of the sample may lie in two of them."""
    whole = pa.table({"few": np.arange(9_000) % 7, "many": np.arange(9_000)})
    pieces = pa.concat_tables([whole.slice(0, 100), whole.slice(100, 3_000), whole.slice(3_100)])
    assert dictionary_paths(pieces) == dictionary_paths(whole) == ["few"]


@given(tables())
def test_what_is_nested_always_has_one(generated: Generated) -> None:
    """The paths are those that Parquet has for the columns, lists, maps and structs included."""
    if generated.rows.num_rows == 0:
        return
    rows = pa.concat_tables([generated.rows] * (5_000 // generated.rows.num_rows + 1))
    written = io.BytesIO()
    pq.write_table(rows, written)
    parquet = pq.ParquetFile(written).schema
    paths = [parquet.column(i).path for i in range(len(parquet))]
    chosen = dictionary_paths(rows)
    assert set(chosen) <= set(paths)
    nested = [f.name for f in rows.schema if f.type.num_fields]
    tops = rows.schema.names
    assert {p for p in paths if p not in tops and any(p.startswith(f"{name}.") for name in nested)} <= set(chosen)
