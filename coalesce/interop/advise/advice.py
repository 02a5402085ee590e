"""What is said of a place: how its data lies, what coalescing would change, and how to do it."""

from dataclasses import dataclass
from typing import Final

from coalesce.plan.report import human_bytes

# What the times are reckoned with, one thing after the other: a listing, an open, and a second of reading.
LISTING_SECONDS: Final = 0.005
OPENING_SECONDS: Final = 0.01
BYTES_A_SECOND: Final = 100 * 1024 * 1024
ENTRY_SECONDS: Final = 0.00001


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How data lies, or would: files and their directories, footers and manifests, and about how long queries take.

    `planning_seconds` is what it takes to find the files of a query of everything, `reading_seconds` to read them with
    one core.
    """

    files: int
    directories: int
    bytes: int
    metadata_bytes: int
    planning_seconds: float
    reading_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advice:
    """What coalescing would bring to what is there.

    `source` is `"parquet"`, `"delta"`, `"iceberg"` or `"coalesce"`. There are `partitions` logical partitions, of which
    `sizes` has the bytes of the least, of those that a tenth, half, nine tenths and 99 of 100 are not above, and of the
    greatest; `small` of them are below `below`. `now` and `after` say how the data lies and would lie with `rule`,
    which is None if no partitions are to share files, and files of `target` bytes, for the reasons in `why`.
    How well rows pack is only known when they are written: `files_between` are the fewest and the most files that may
    come of it. `moved_bytes` would be written again for it. `unknown` counts files of which it is not known which
    partitions they hold.
    """

    source: str
    rows: int
    partitions: int
    sizes: dict[str, int]
    small: int
    unknown: int
    share: tuple[str, ...]
    below: int
    target: int
    now: Shape
    after: Shape
    files_between: tuple[int, int]
    moved_bytes: int
    why: tuple[str, ...]
    left_out: int = 0

    @property
    def rule(self) -> str | None:
        """The rule as it is written; None if no partitions are to share files."""
        if not self.share:
            return None
        columns = ", ".join(f'"{name}"' for name in self.share)
        return f'coalesce.small({columns}, below="{_size(self.below)}", target="{_size(self.target)}")'

    @property
    def is_worth_it(self) -> bool:
        """Whether there would be fewer files."""
        return self.after.files < self.now.files

    def __repr__(self) -> str:
        return (
            f"<advice: {self.partitions:,} logical partitions in {self.now.files:,} files could be in "
            f"{self.after.files:,}{f', by {self.rule}' if self.rule else ''}>"
        )


def lies(files: int, directories: int, size: int, metadata_bytes: float, *, listed: bool) -> Shape:
    """How so many files are found and read; `listed` if by listing directories, else from manifests."""
    planning = directories * LISTING_SECONDS if listed else OPENING_SECONDS + files * ENTRY_SECONDS
    return Shape(
        files=files,
        directories=directories,
        bytes=size,
        metadata_bytes=int(metadata_bytes),
        planning_seconds=round(planning, 3),
        reading_seconds=round(files * OPENING_SECONDS + size / BYTES_A_SECOND, 3),
    )


def _size(number: int) -> str:
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if number % unit == 0 and number >= unit:
            return f"{number // unit}{name}"
    return str(number)


def told(advice: Advice) -> str:
    """The advice for people."""
    a = advice
    rows = [
        ("files", f"{a.now.files:,}", f"{a.after.files:,}"),
        ("directories", f"{a.now.directories:,}", f"{a.after.directories:,}"),
        ("metadata", human_bytes(a.now.metadata_bytes), human_bytes(a.after.metadata_bytes)),
        ("to plan everything", f"{a.now.planning_seconds:,.2f} s", f"{a.after.planning_seconds:,.2f} s"),
        ("to read everything", f"{a.now.reading_seconds:,.1f} s", f"{a.after.reading_seconds:,.1f} s"),
    ]
    widths = [max(len(row[i]) for row in [*rows, ("", "now", "after")]) for i in range(3)]
    table = [f"  {'':{widths[0]}}  {'now':>{widths[1]}}  {'after':>{widths[2]}}"]
    table += [f"  {name:{widths[0]}}  {now:>{widths[1]}}  {after:>{widths[2]}}" for name, now, after in rows]
    sizes = ", ".join(f"{name} {human_bytes(size)}" for name, size in a.sizes.items())
    head = f"{a.source}: {a.rows:,} rows, {human_bytes(a.now.bytes)}, {a.partitions:,} logical partitions"
    lines = [head, f"  their sizes: {sizes}", f"  below {human_bytes(a.below)}: {a.small:,}", "", *table, ""]
    if a.unknown:
        lines.append(
            f"Of {a.unknown:,} files it is not known which logical partitions they hold; adopt with scan=True."
        )
    least, most = a.files_between
    if least < most:
        lines.append(f"Between {least:,} and {most:,} files: how well rows pack is only known when they are written.")
    lines += [*a.why]
    return "\n".join(lines)
