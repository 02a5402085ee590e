"""Keeping manifests few: when many of one size have gathered, they become one of the next size.

As in a log-structured merge tree, an entry is rewritten once per size class, so ten thousand tiny commits leave a
few dozen manifests and cost each entry a handful of rewrites. A manifest that is full is never touched again by this.
"""

from collections import defaultdict
from collections.abc import Sequence

from coalesce.model.version import ManifestRef
from coalesce.table.commit.manifests import MAX_ENTRIES

FAN_IN = 16  # manifests of one size class that become one of the next


def due(refs: Sequence[ManifestRef]) -> list[ManifestRef]:
    """The manifests that should be merged now: all of one spec and size class, or none."""
    classes: dict[tuple[int, int], list[ManifestRef]] = defaultdict(list)
    for ref in refs:
        if ref.files * 2 <= MAX_ENTRIES:
            classes[ref.spec_id, _size_class(ref.files)].append(ref)
    crowded = [members for members in classes.values() if len(members) >= FAN_IN]
    return max(crowded, key=len) if crowded else []


def _size_class(files: int) -> int:
    size_class = 0
    while files >= FAN_IN:
        files //= FAN_IN
        size_class += 1
    return size_class
