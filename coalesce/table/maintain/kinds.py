"""What can be wrong with a table, in texts that stay the same: programs go by them."""

from typing import Final

# Of versions.
MISSING_VERSION: Final = "missing-version"
DAMAGED_VERSION: Final = "damaged-version"
BROKEN_HISTORY: Final = "broken-history"
WRONG_HINT: Final = "wrong-hint"
# Of manifests.
MISSING_MANIFEST: Final = "missing-manifest"
DAMAGED_MANIFEST: Final = "damaged-manifest"
WRONG_RANGE: Final = "wrong-range"
# Of data files, by metadata and a listing.
DUPLICATE_PATH: Final = "duplicate-path"
ROW_ID_OVERLAP: Final = "row-id-overlap"
ROW_ID_BEYOND: Final = "row-id-beyond"
MISSING_FILE: Final = "missing-file"
WRONG_SIZE: Final = "wrong-size"
# Of data files, by what is in them.
UNREADABLE_FILE: Final = "unreadable-file"
SWAPPED_FILES: Final = "swapped-files"
FOREIGN_COLUMNS: Final = "foreign-columns"
NULL_IN_REQUIRED: Final = "null-in-required"
WRONG_ROWS: Final = "wrong-rows"
WRONG_TUPLE: Final = "wrong-tuple"
MISSING_TUPLE: Final = "missing-tuple"
WRONG_COUNT: Final = "wrong-count"
WRONG_DEAD: Final = "wrong-dead"
WRONG_KEY: Final = "wrong-key"
WRONG_ORDER: Final = "wrong-order"
WRONG_BOUNDS: Final = "wrong-bounds"
WRONG_NULL_COUNT: Final = "wrong-null-count"
WRONG_NAN_COUNT: Final = "wrong-nan-count"
