"""The columns of a workload's rows: numbers, times, words and texts, by chance but the same in every run."""

from collections.abc import Sequence
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_KINDS: Final = ["view", "click", "buy", "login"]
_HEX: Final = np.array([f"{byte:02x}" for byte in range(256)], dtype="S2")
_DAY: Final = 86_400_000_000  # microseconds

Numbers = npt.NDArray[np.int64]


def events(
    columns: Sequence[str], seed: list[int], *, first_id: int, first_day: date, days: Numbers, tenants: Numbers,
    called: Sequence[str],
) -> pa.Table:  # fmt: skip
    """Rows on certain days, of certain tenants, both by number; `dt` and `app` come last."""
    random, rows = np.random.default_rng(seed), len(days)
    micros = days * _DAY + random.integers(0, _DAY, rows)
    made = {
        "id": pa.array(np.arange(first_id, first_id + rows)),
        "member": pa.array(random.integers(0, 1_000_000, rows)),
        "ts": pa.array(np.datetime64(first_day, "us") + micros.astype("timedelta64[us]"), pa.timestamp("us", "UTC")),
        "kind": pa.DictionaryArray.from_arrays(random.integers(0, len(_KINDS), rows), _KINDS).cast(pa.string()),
        "value": pa.array(random.random(rows)),
        "session": texts(random, rows),
    }
    chosen = {name: made[name] for name in columns}
    chosen["dt"] = pa.array(np.datetime64(first_day, "D") + days.astype("timedelta64[D]"), pa.date32())
    chosen["app"] = pa.DictionaryArray.from_arrays(tenants, pa.array(called, pa.string())).cast(pa.string())
    return pa.table(chosen)


def texts(random: np.random.Generator, rows: int, characters: int = 24) -> pa.Array:
    """Texts of hexadecimal digits: distinct, as ids of sessions are, so they hardly compress."""
    data = _HEX[random.integers(0, 256, (rows, characters // 2), dtype=np.uint8)].tobytes()
    offsets = np.arange(0, (rows + 1) * characters, characters, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(data))


def renewed(rows: pa.Table, more: int) -> pa.Table:
    """The same rows with other values, and with ids that are so much higher."""
    import pyarrow.compute as pc

    changes = {"id": pc.add(rows["id"], more), "value": pc.add(rows["value"], 1.0)}
    for name, column in changes.items():
        if name in rows.column_names:
            rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows
