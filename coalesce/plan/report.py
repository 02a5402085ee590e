"""The report of a plan: what each stage took away, and why."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from coalesce.model.spec import field_text
from coalesce.model.version import Version
from coalesce.plan.planner import Judge, JudgeOpaque, LoadManifests, PlannedManifest, kept_manifests
from coalesce.predicate.expr import Bound
from coalesce.predicate.outcomes import may_be_true
from coalesce.predicate.render import to_sql

_LONGEST = 80  # of a predicate that is shown on a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What was left after one stage."""

    name: str
    manifests: int
    files: int
    bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """A plan's history, from the whole table down to the files to read."""

    version: int
    predicate: str
    stages: tuple[Stage, ...]
    unknown_files: int
    residual: str

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        stages = ", ".join(f"{stage.name} {stage.files:,}" for stage in self.stages)
        return f"<report of {shortened(self.predicate)} on version {self.version}, files left by: {stages}>"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A predicate as a line can hold it."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def make_report(
    version: Version,
    predicate: Bound,
    planned: Sequence[PlannedManifest],
    load: LoadManifests,
    residual: Bound,
    opaque: JudgeOpaque | None = None,
) -> Report:
    """Run the stages one after the other and count; the plan itself took a shorter way to the same files."""
    judge = Judge(predicate, version.schema, opaque)
    kept = kept_manifests(version, predicate)
    stages = [
        Stage(
            name="version",
            manifests=len(version.manifests),
            files=version.files,
            bytes=version.bytes,
            why=f"everything in version {version.number}",
        ),
        Stage(
            name="manifests",
            manifests=len(kept),
            files=sum(r.files for r in kept),
            bytes=sum(r.bytes for r in kept),
            why=_bounds_reason(version),
        ),
    ]
    after_keys, after_tuples = _Tally(), _Tally()
    for ref, index in zip(kept, load(kept), strict=True):
        spec = version.spec_by_id(ref.spec_id)
        everything = np.arange(len(index.entries))
        by_key = may_be_true(judge.outcomes(index.physical_domains(spec, version.schema, everything), len(everything)))
        after_keys.add(by_key, index.bytes)
        domains = index.tuple_domains(spec, version.schema, judge.columns)
        tuples = may_be_true(judge.outcomes(domains, index.tuple_count, tuples=(spec, index, None)))
        by_tuple = by_key & ~index.trusted
        by_tuple[index.posting_file[tuples[index.posting_tuple]]] = True
        after_tuples.add(by_tuple, index.bytes)
    stages.append(after_keys.stage("physical keys", "the value or group each file's directory stands for"))
    stages.append(after_tuples.stage("logical tuples", "the tuples each file is known to hold"))
    stages.append(
        Stage(
            name="statistics",
            manifests=len(planned),
            files=sum(len(m.files) for m in planned),
            bytes=sum(int(m.index.bytes[m.files].sum()) for m in planned),
            why="bounds and NULL counts of each file's columns",
        )
    )
    return Report(
        version=version.number,
        predicate=to_sql(predicate),
        stages=tuple(stages),
        unknown_files=sum(len(m.unknown_files) for m in planned),
        residual=to_sql(residual),
    )


def explain(report: Report) -> str:
    """The report as a small table."""
    lines = [f"plan of version {report.version} where {report.predicate}", ""]
    header = ("stage", "manifests", "files", "bytes", "kept by")
    rows = [(s.name, f"{s.manifests:,}", f"{s.files:,}", human_bytes(s.bytes), s.why) for s in report.stages]
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(4)]
    for row in [header, *rows]:
        first = row[0].ljust(widths[0])
        numbers = "  ".join(row[i].rjust(widths[i]) for i in (1, 2, 3))
        lines.append(f"  {first}  {numbers}  {row[4]}")
    lines.append("")
    if report.unknown_files:
        files = counted(report.unknown_files, "file")
        lines.append(f"  {files} read because the tuples inside are unknown")
    lines.append(f"  left to check in the rows: {report.residual}")
    return "\n".join(lines)


def counted(count: int, what: str) -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def human_bytes(count: int) -> str:
    """A number of bytes with a unit."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


class _Tally:
    """Counts of what a stage leaves, manifest by manifest."""

    def __init__(self) -> None:
        self.manifests = self.files = self.bytes = 0

    def add(self, keep: np.ndarray, sizes: np.ndarray) -> None:
        self.manifests += bool(keep.any())
        self.files += int(keep.sum())
        self.bytes += int(sizes[keep].sum())

    def stage(self, name: str, why: str) -> Stage:
        return Stage(name=name, manifests=self.manifests, files=self.files, bytes=self.bytes, why=why)


def _bounds_reason(version: Version) -> str:
    texts = [", ".join(field_text(f, version.schema) for f in s.fields) for s in version.specs if s.fields]
    return f"the range of {' | '.join(dict.fromkeys(texts))} in each manifest" if texts else "the table has no spec"
