"""How the columns of a manifest that lists many tuples are encoded: as they take the fewest bytes, by trying.

Names that are counted up take a tenth where each says only how it differs from the one before it; identifiers of
random digits that stand in many entries take a third if each is written once, in a dictionary; numbers of rows are
mostly smallest as they are. No rule tells these apart as well as a trial does, and it takes a millisecond or two.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as at

_DICTIONARY: Final = ""  # what is chosen where nothing is gained by another encoding
_FEW: Final = 256  # values: whatever they take is little
_TRIED: Final = 8_192  # values: the first ones tell of all

_TEXTS: Final = (_DICTIONARY, "DELTA_BYTE_ARRAY")
_NUMBERS: Final = (_DICTIONARY, "DELTA_BINARY_PACKED", "PLAIN")


def better_than_dictionaries(columns: Mapping[str, pa.Array]) -> dict[str, str]:
    """The encoding of each column that is to have one other than a dictionary, by its name."""
    found = {name: _best(column.slice(0, _TRIED)) for name, column in columns.items() if len(column) >= _FEW}
    return {name: encoding for name, encoding in found.items() if encoding != _DICTIONARY}


def _best(column: pa.Array) -> str:
    """The one that takes the fewest bytes; of equals the first."""
    candidates = _candidates(column.type)
    return min(candidates, key=lambda encoding: _bytes(column, encoding)) if len(candidates) > 1 else _DICTIONARY


def _candidates(type_: pa.DataType) -> tuple[str, ...]:
    if at.is_string(type_) or at.is_binary(type_):
        return _TEXTS
    return _NUMBERS if at.is_integer(type_) or at.is_date(type_) or at.is_timestamp(type_) else ()


def _bytes(column: pa.Array, encoding: str) -> int:
    """What the column takes that is encoded like that."""
    footers: list[pq.FileMetaData] = []
    pq.write_table(
        pa.table({"c": column}),
        pa.BufferOutputStream(),
        compression="zstd",
        write_statistics=False,
        use_dictionary=encoding == _DICTIONARY,
        column_encoding=None if encoding == _DICTIONARY else encoding,
        store_schema=False,
        metadata_collector=footers,
    )
    return int(footers[0].row_group(0).column(0).total_compressed_size)
