"""Versions: an immutable state of a table. Creating the file of version N+1 is the commit of N+1."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from coalesce.errors import UnsupportedFeature
from coalesce.model.rule import Groups, Rule, UnknownRule, unknown_kind
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.types import AtomicType, Value

FORMAT_VERSION = 1

MANIFEST_REF_BYTES = 1_500  # about how much memory one takes

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LOGICAL_PARTITIONS = "logicalPartitions"
MATERIALIZE_PARTITION_COLUMNS = "materializePartitionColumns"
COLUMN_MAPPING_USAGE_TRACKING = "columnMappingUsageTracking"
ICEBERG_COMPAT_V3 = "icebergCompatV3"
RETENTION = "retention"  # turned on by the first tag or expiry
DEAD_TUPLES = "deadTuples"  # on exactly while a file of the version has rows that the table has no more

READER_FEATURES = frozenset({LOGICAL_PARTITIONS, DEAD_TUPLES})
WRITER_FEATURES = frozenset(
    {
        LOGICAL_PARTITIONS,
        MATERIALIZE_PARTITION_COLUMNS,
        COLUMN_MAPPING_USAGE_TRACKING,
        ICEBERG_COMPAT_V3,
        RETENTION,
        DEAD_TUPLES,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldBounds:
    """The range of one partition field over all tuples of a manifest.

    `lower` and `upper` are None only when every value is NULL. NaN is the greatest value, as in Spark. `constant` says
    whether each file has but one value of the field; None is unknown.
    """

    field_id: int
    type: AtomicType
    lower: Value
    upper: Value
    has_null: bool
    constant: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRef:
    """A version's pointer to one manifest, with what a planner needs to skip it unread.

    `bounds` is None when an entry's tuples are unknown: such a manifest is always read. `added_version` and
    `first_row_id` are inherited by entries that lack their own, so that a commit that has to be tried again
    rewrites only the version file. `rows` are those that the table has; `dead_rows` of its files it has no more.
    """

    path: str
    spec_id: int
    files: int
    rows: int
    bytes: int
    length: int
    digest: str
    bounds: tuple[FieldBounds, ...] | None
    added_version: int
    first_row_id: int
    dead_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Version:
    """All of a table's state but its rows.

    `retained_from` and `tags` count in the newest version only: versions below the one that no tag names have expired.
    """

    number: int
    table_id: str
    commit_id: str
    parent_commit_id: str | None
    timestamp_ms: int
    operation: str
    summary: Mapping[str, int | str] = field(default_factory=dict)
    schema: Schema
    specs: tuple[Spec, ...]
    current_spec_id: int
    rules: tuple[Rule, ...]
    current_rule_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    reader_features: frozenset[str] = frozenset({LOGICAL_PARTITIONS})
    writer_features: frozenset[str] = frozenset(
        {LOGICAL_PARTITIONS, MATERIALIZE_PARTITION_COLUMNS, COLUMN_MAPPING_USAGE_TRACKING}
    )
    manifests: tuple[ManifestRef, ...] = ()
    next_row_id: int = 0
    max_column_id: int
    has_dropped_or_renamed: bool = False
    applied: Mapping[str, int] = field(default_factory=dict)
    retained_from: int = 0
    tags: Mapping[str, int] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        """The spec new data is written under."""
        return self.spec_by_id(self.current_spec_id)

    @property
    def rule(self) -> Rule:
        """The rule new data is written under."""
        return next(r for r in self.rules if r.rule_id == self.current_rule_id)

    def spec_by_id(self, spec_id: int) -> Spec:
        """The spec a file was written under."""
        return next(s for s in self.specs if s.spec_id == spec_id)

    def spec_to_rewrite(self, spec_id: int) -> Spec:
        """The spec for rows of a file written under `spec_id`: its own, while the columns it needs are there."""
        spec = self.spec_by_id(spec_id)
        return spec if all(self.schema.atomic(f.source_id) for f in spec.fields) else self.spec

    @property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """Every partition field of every spec, each once."""
        return tuple({f.field_id: f for s in self.specs for f in s.fields}.values())

    @property
    def files(self) -> int:
        """How many data files the version has."""
        return sum(m.files for m in self.manifests)

    @property
    def rows(self) -> int:
        """How many rows the version has."""
        return sum(m.rows for m in self.manifests)

    @property
    def dead_rows(self) -> int:
        """How many rows its data files have that the version has not: they were removed, and readers skip them."""
        return sum(m.dead_rows for m in self.manifests)

    @property
    def bytes(self) -> int:
        """How many bytes the data files have together."""
        return sum(m.bytes for m in self.manifests)

    def has_expired(self, number: int) -> bool:
        """Whether a version that there was has expired, by what this one says."""
        return 0 <= number < self.retained_from and number not in self.tags.values()

    def retains(self, number: int) -> bool:
        """Whether it has not."""
        return not self.has_expired(number)

    def check_writable(self) -> None:
        """Refuse to write a table with a writer feature or a kind of rule that this release does not know.

        One with an unknown reader feature is refused before there is a `Version` of it.
        """
        unknown = self.writer_features - WRITER_FEATURES
        if unknown:
            raise UnsupportedFeature(
                f"this release cannot write the table: version {self.number} uses {', '.join(sorted(unknown))}; "
                "upgrade coalesce."
            )
        for rule in self.rules:
            if isinstance(rule, UnknownRule):
                raise unknown_kind(rule)

    @property
    def committed(self) -> datetime:
        """When it was committed, by the clock of whoever did."""
        return _EPOCH + timedelta(milliseconds=self.timestamp_ms)

    def __repr__(self) -> str:
        when = self.committed.isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"<version {self.number}: {self.operation} at {when}; rows: {self.rows:,}, files: {self.files:,}>"


def with_dead_tuples(version: Version, there_are: bool) -> Version:
    """The version with the feature of dead tuples if there are some, and without it if there are none."""
    readers, writers = (
        features | {DEAD_TUPLES} if there_are else features - {DEAD_TUPLES}
        for features in (version.reader_features, version.writer_features)
    )
    return replace(version, reader_features=readers, writer_features=writers)


def held_bytes(version: Version) -> int:
    """About how much memory a version takes; `max_column_id` stands for the number of columns, inner ones too."""
    groups = [members for rule in version.rules if isinstance(rule, Groups) for members in rule.members.values()]
    pairs = len(version.applied) + len(version.tags) + len(version.properties) + sum(map(len, groups))
    return 4_000 + 900 * version.max_column_id + MANIFEST_REF_BYTES * len(version.manifests) + 150 * pairs
