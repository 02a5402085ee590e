"""Which files of a table's directory its own writers have made: the only ones that a clean-up may delete.

A file is known by its whole path. What was adopted from elsewhere, or put beside the table's files by people, has
another one; if in doubt, a file is somebody else's.
"""

import re
from typing import Final

from coalesce.manifest.paths import ADOPTED, CLOCK, DATA, MANIFESTS, METADATA, VERSIONS

_ID: Final = r"[0-9a-f]{32}"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY: Final = rf"\.coalesce-{_ID}\.tmp"  # a file that was not complete when its writer died
# A write's directory, or that of one task of it, and below it one for each partition field.
_WRITE: Final = rf"{DATA}/{_ID}(?:/{_ID})?(?:/_[^/]*=[^/]*)*"
_PART: Final = rf"part-[0-9]{{5,}}-{_UUID}[^/]*\.parquet"  # as Spark calls it
_OWN: Final = re.compile(
    rf"""
      {_WRITE}/(?:[0-9]{{5,}}\.parquet|{_PART}|_SUCCESS|\.[^/]+\.crc|{_TEMPORARY})
    | {DATA}/{_ID}/_temporary/.+                       # of a job of Spark's that died
    | {MANIFESTS}/(?:{_ID}\.parquet|{_TEMPORARY})
    | {VERSIONS}/{_TEMPORARY}                          # versions themselves: `version_files.py`
    | {CLOCK}/(?:{_ID}|{_TEMPORARY})
    | {ADOPTED}/(?:{_ID}\.parquet|{_TEMPORARY})        # lists of adopted files
    | {METADATA}/{_TEMPORARY}
    """,
    re.VERBOSE | re.DOTALL,
)


def is_own(path: str) -> bool:
    """Whether a file lies where the table's writers put files, and is called as they call them."""
    return _OWN.fullmatch(path) is not None
