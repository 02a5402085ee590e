"""Which partition fields logical partitions had better share files on, and what that would bring."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from posixpath import dirname
from typing import Final

from coalesce.interop.adopt.survey import Packing
from coalesce.interop.advise.advice import Advice, lies
from coalesce.interop.advise.estimate import Estimate, compacted, looked_at
from coalesce.model.datafile import DataFile
from coalesce.model.rule import RuleRequest, keep_all, resolve, small
from coalesce.model.version import Version
from coalesce.plan.report import human_bytes
from coalesce.table.engine import DEFAULT_TARGET_FILE_BYTES

# Files of this share of the target, on average, are large enough: fields beyond those that this takes are left alone.
_ENOUGH: Final = 0.25
# So many times as many files without sharing as with it are worth a rule.
_MANY: Final = 1.25
_SHARES: Final = (("least", 0.0), ("10%", 0.1), ("half", 0.5), ("90%", 0.9), ("99%", 0.99), ("greatest", 1.0))


def advise(
    kind: str,
    version: Version,
    files: Sequence[DataFile],
    *,
    packing: Packing,
    target: int | None = None,
    left_out: int = 0,
    listed: bool = True,
) -> Advice:
    """What to do with these files, which lie as a version of their columns and partition fields would have them."""
    wanted = DEFAULT_TARGET_FILE_BYTES if target is None else target
    below = max(wanted // 2, 1)
    share, estimate, tried = _chosen(version, files, wanted, below, packing)
    rule = small(*share, below=below) if share else keep_all()
    looser = (replace(packing, factor=packing.factor * by) for by in (packing.least, packing.most))
    numbers = [len(estimate.files), *(len(_with(version, files, rule, wanted, p).files) for p in looser)]
    partitions, sizes = _sizes(version, files)
    size = sum(f.bytes for f in files)
    # A footer of a shared file says about as much, and its entry lists the partitions that are inside.
    entries = sum(len(f.tuples or ()) for f in estimate.files) * _TUPLE_BYTES
    directories = len({dirname(f.path) for f in files})
    after = estimate.files
    return Advice(
        source=kind,
        rows=sum(f.rows for f in files),
        partitions=partitions,
        sizes={name: sizes[min(int(at * len(sizes)), len(sizes) - 1)] if sizes else 0 for name, at in _SHARES},
        small=sum(s < below for s in sizes),
        unknown=sum(not f.trusted for f in files),
        share=share,
        below=below,
        target=wanted,
        now=lies(len(files), directories, size, len(files) * packing.footer, listed=listed),
        after=lies(
            len(after),
            estimate.directories,
            sum(f.bytes for f in after),
            len(after) * packing.footer + entries,
            listed=False,
        ),
        files_between=(min(numbers), max(numbers)),
        moved_bytes=estimate.moved,
        why=tuple(_reasons(version, files, share, estimate, tried, wanted, below)),
        left_out=left_out,
    )


_TUPLE_BYTES: Final = 24

_Tried = list[tuple[tuple[str, ...], Estimate]]


def _chosen(
    version: Version, files: Sequence[DataFile], target: int, below: int, packing: Packing
) -> tuple[tuple[str, ...], Estimate, _Tried]:
    """The last fields on which to share: as few as make files large enough, else those that leave the fewest files."""
    names = [f.name for f in version.spec.fields]
    tried: _Tried = [((), _with(version, files, keep_all(), target, packing))]
    for number in range(1, len(names) + 1):
        fields = tuple(names[-number:])
        estimate = _with(version, files, small(*fields, below=below), target, packing)
        tried.append((fields, estimate))
        if estimate.mean >= _ENOUGH * target:
            break
    # However large files are on average: if there are many fewer with sharing, many are small.
    alone, shared = tried[0], tried[1:]
    if all(len(alone[1].files) <= _MANY * len(e.files) for _, e in shared):
        return *alone, tried
    large = next((t for t in shared if t[1].mean >= _ENOUGH * target), None)
    fields, estimate = min(shared, key=lambda t: (len(t[1].files), len(t[0]))) if large is None else large
    return fields, estimate, tried


def _with(version: Version, files: Sequence[DataFile], rule: RuleRequest, target: int, packing: Packing) -> Estimate:
    resolved = resolve(rule, version.current_rule_id, version.spec, version.schema)
    others = tuple(r for r in version.rules if r.rule_id != resolved.rule_id)
    return compacted(replace(version, rules=(*others, resolved)), files, target, packing)


def _sizes(version: Version, files: Sequence[DataFile]) -> tuple[int, list[int]]:
    """How many logical partitions are known, and their bytes, ascending: a file's are dealt out by rows."""
    known = looked_at(version, files)
    bytes_ = Counter[int]()
    per_row = known.bytes / known.rows.clip(1)
    for file, tuple_, rows in zip(
        known.posting_file.tolist(), known.posting_tuple.tolist(), known.posting_rows.tolist(), strict=True
    ):
        bytes_[tuple_] += int(rows * per_row[file])
    return len(bytes_), sorted(bytes_.values())


def _reasons(
    version: Version,
    files: Sequence[DataFile],
    share: Sequence[str],
    estimate: Estimate,
    tried: _Tried,
    target: int,
    below: int,
) -> list[str]:
    if len(estimate.files) >= len(files):
        return ["Nothing is to be won: there would be as many files as there are."]
    if not share:
        return [f"Files of the same logical partition are merged up to {human_bytes(target)}; none need to share."]
    fields = " and ".join(share)
    reasons = [
        f"Logical partitions below {human_bytes(below)} share files on {fields}; larger ones keep files of their own.",
    ]
    reasons += [
        f"Sharing on {' and '.join(names) if names else 'nothing'} would leave {len(e.files):,} files of "
        f"{human_bytes(int(e.mean))} on average."
        for names, e in tried
        if tuple(names) != tuple(share)
    ]
    kept = [f.name for f in version.spec.fields if f.name not in share]
    if kept:
        reasons.append(f"Files are still divided by {' and '.join(kept)}.")
    return reasons
