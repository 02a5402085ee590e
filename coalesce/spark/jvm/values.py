"""Values as they cross the bridge: `-` for NULL, or `=` and a text that `Values.java` reads back by type."""

import base64
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.types import BINARY, DATE, FLOATING, STRING, TEMPORAL, AtomicType

NULL = "-"
END = "\0"  # after each row: no value's text has it, and no path


def crosses(type_: AtomicType) -> bool:
    """Whether a value says all there is to know. A tuple's float does not: it may be -0.0, or another NaN."""
    return type_ not in FLOATING


def texts(type_: AtomicType, values: pa.Array) -> pa.Array:
    """The text of each value, NULL included; `values` may be of a narrower type that `type_` was widened from."""
    if values.type != arrow_type(type_):
        values = values.cast(arrow_type(type_))
    if type_ in (STRING, BINARY):
        plain = values.cast(pa.binary()).to_pylist()
        written = pa.array(
            [None if v is None else "=" + base64.b64encode(v).decode("ascii") for v in plain], pa.string()
        )
    else:
        if type_ in TEMPORAL:
            values = values.cast(pa.int32() if type_ == DATE else pa.int64())
        written = pc.binary_join_element_wise(pa.scalar("="), values.cast(pa.string()), "")
    return pc.fill_null(written, NULL)


def rows(columns: Sequence[pa.Array], codes: Sequence[npt.NDArray[np.integer]], count: int) -> pa.Array:
    """The text of `count` rows; `codes` are the positions of their values in `columns`."""
    if not columns:
        return pa.repeat(pa.scalar(""), count)
    gathered = [column.take(pa.array(places)) for column, places in zip(columns, codes, strict=True)]
    return pc.binary_join_element_wise(*gathered, " ")
