"""Versions and their files for the tests of the format: one with everything in it, random ones, and forged ones."""

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

from hypothesis import strategies as st

from coalesce.errors import SpecError
from coalesce.manifest.version_file import encode_version
from coalesce.model.rule import BySize, Groups, KeepAll, Rule
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.transforms import Bucket, Day, Hour, Identity, Month, Transform, Truncate, Void, Year, result_type
from coalesce.model.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT32,
    STRING,
    TIMESTAMP,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
)
from coalesce.model.values import order_key
from coalesce.model.version import (
    COLUMN_MAPPING_USAGE_TRACKING,
    ICEBERG_COMPAT_V3,
    LOGICAL_PARTITIONS,
    MATERIALIZE_PARTITION_COLUMNS,
    RETENTION,
    FieldBounds,
    ManifestRef,
    Version,
)
from tests.strategies import schemas, values

TRANSFORMS: tuple[Transform, ...] = (
    Identity(), Bucket(64), Truncate(4), Year(), Month(), Day(), Hour(), Void(),
)  # fmt: skip

_MONEY = DecimalType(10, 2)

EVERYTHING = Version(
    number=7,
    table_id="5d0c2a4b6e8f40719a3b5c7d9e1f2a4b",
    commit_id="00112233445566778899aabbccddeeff",
    parent_commit_id="ffeeddccbbaa99887766554433221100",
    timestamp_ms=1_794_000_000_123,
    operation="append",
    summary={"files_added": 2, "note": "größer 🙂"},
    schema=Schema(
        (
            Field(id=1, name="dt", type=DATE, required=True),
            Field(id=2, name="app", type=STRING, physical_name="c-2"),
            Field(id=3, name="price", type=_MONEY, default=Decimal("0.50")),
            Field(id=4, name="tags", type=ListType(Field(id=5, name="element", type=STRING))),
            Field(
                id=6,
                name="more",
                type=MapType(
                    Field(id=7, name="key", type=STRING, required=True),
                    Field(id=8, name="value", type=StructType((Field(id=9, name="x", type=DOUBLE),))),
                ),
            ),
            Field(id=10, name="key", type=BINARY),
            Field(id=11, name="ratio", type=FLOAT),
            Field(id=12, name="at", type=TIMESTAMP),
        )
    ),
    specs=(
        Spec(0, (PartitionField(field_id=1000, source_id=1, transform=Identity(), name="dt"),)),
        Spec(
            1,
            (
                PartitionField(field_id=1000, source_id=1, transform=Identity(), name="dt"),
                PartitionField(field_id=1001, source_id=2, transform=Bucket(64), name="app_bucket"),
                PartitionField(field_id=1002, source_id=11, transform=Identity(), name="ratio"),
                PartitionField(field_id=1003, source_id=13, transform=Truncate(4), name="gone_trunc"),
            ),
        ),
    ),
    current_spec_id=1,
    rules=(
        KeepAll(0),
        BySize(1, (1001,), below=1024),
        Groups(
            2,
            {1000: {20_000: "[#old]", None: "[#old]"}, 1002: {0.5: "[#half]", float("inf"): "[#top]"}},
            {1000: DATE, 1002: FLOAT},
        ),
    ),
    current_rule_id=2,
    properties={"write.target-file-bytes": "64MB", "": ""},
    writer_features=frozenset(
        {LOGICAL_PARTITIONS, MATERIALIZE_PARTITION_COLUMNS, COLUMN_MAPPING_USAGE_TRACKING, ICEBERG_COMPAT_V3, RETENTION}
    ),
    manifests=(
        ManifestRef(
            path="_coalesce/manifests/0123456789abcdef0123456789abcdef.parquet",
            spec_id=0,
            files=3,
            rows=1000,
            bytes=123_456,
            length=4096,
            digest="sha256:" + "ab" * 32,
            bounds=(FieldBounds(field_id=1000, type=DATE, lower=-1, upper=20_590, has_null=True),),
            added_version=6,
            first_row_id=0,
        ),
        ManifestRef(
            path="_coalesce/manifests/fedcba9876543210fedcba9876543210.parquet",
            spec_id=1,
            files=1,
            rows=10,
            bytes=99,
            length=2048,
            digest="sha256:" + "0f" * 32,
            bounds=None,
            added_version=7,
            first_row_id=1000,
        ),
        ManifestRef(
            path="_coalesce/manifests/other.parquet",
            spec_id=1,
            files=1,
            rows=10,
            bytes=99,
            length=2048,
            digest="sha256:" + "00" * 32,
            bounds=(
                FieldBounds(field_id=1000, type=DATE, lower=None, upper=None, has_null=True),
                FieldBounds(field_id=1001, type=INT32, lower=0, upper=63, has_null=False),
                FieldBounds(field_id=1002, type=FLOAT, lower=-0.5, upper=float("nan"), has_null=False),
            ),
            added_version=7,
            first_row_id=1010,
        ),
    ),
    next_row_id=1020,
    max_column_id=13,
    has_dropped_or_renamed=True,
    applied={"stream-1": 41},
    retained_from=5,
    tags={"audit-2026": 3, "größer 🙂": 6},
)


def document_of(version: Version) -> dict[str, Any]:
    """The JSON document of a version without its digest, to be changed and signed again."""
    document: dict[str, Any] = json.loads(encode_version(version))
    del document["digest"]
    return document


def signed(document: dict[str, Any] | str) -> bytes:
    """A version file with this document, or JSON text, and the right digest: what a broken program might write."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    head, tail = text.encode(errors="surrogatepass")[:-1] + b',"digest":"sha256:', b'"}\n'
    return head + hashlib.sha256(head + b"0" * 64 + tail).hexdigest().encode() + tail


# --- random versions ---------------------------------------------------------------------------------------------


@st.composite
def versions(draw: st.DrawFn) -> Version:
    """Versions of any schema, specs, rules and manifests that fit together."""
    schema = draw(schemas())
    specs, fields = _specs(draw, schema)
    rules = _rules(draw, schema, fields)
    manifests = tuple(draw(st.lists(_manifests(specs, schema), max_size=3, unique_by=lambda m: m.path)))
    return Version(
        number=draw(st.integers(9, 2**63 - 1)),
        table_id=draw(st.text(min_size=1, max_size=40)),
        commit_id=draw(st.text(min_size=1, max_size=40)),
        parent_commit_id=draw(st.none() | st.text(max_size=40)),
        timestamp_ms=draw(st.integers(-62_135_596_800_000, 253_402_300_799_999)),
        operation=draw(st.text(max_size=20)),
        summary=draw(
            st.dictionaries(st.text(max_size=10), st.integers(-(2**63), 2**63 - 1) | st.text(max_size=10), max_size=3)
        ),
        schema=schema,
        specs=specs,
        current_spec_id=draw(st.sampled_from([s.spec_id for s in specs])),
        rules=rules,
        current_rule_id=draw(st.sampled_from([r.rule_id for r in rules])),
        properties=draw(st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3)),
        writer_features=draw(st.frozensets(st.text(max_size=10), max_size=3)),
        manifests=manifests,
        next_row_id=draw(st.integers(2**62, 2**63 - 1)),
        max_column_id=schema.highest_id + draw(st.integers(0, 10)),
        has_dropped_or_renamed=draw(st.booleans()),
        applied=draw(st.dictionaries(st.text(max_size=10), st.integers(0, 2**62), max_size=3)),
        retained_from=draw(st.integers(0, 9)),
        tags=draw(st.dictionaries(st.text(min_size=1, max_size=10), st.integers(0, 9), max_size=3)),
    )


def _specs(draw: st.DrawFn, schema: Schema) -> tuple[tuple[Spec, ...], list[PartitionField]]:
    ids = count(1000)
    known = [
        PartitionField(field_id=next(ids), source_id=field.id, transform=t, name=f"{field.name}_{t}")
        for field in schema
        if (type_ := schema.atomic(field.id)) is not None
        for t in TRANSFORMS
        if is_possible(t, type_)
    ]
    chosen = st.lists(st.sampled_from(known), max_size=3, unique_by=lambda f: f.field_id) if known else st.just([])
    lists = draw(st.lists(chosen, min_size=1, max_size=3))
    return tuple(Spec(i, tuple(fields)) for i, fields in enumerate(lists)), known


def is_possible(transform: Transform, type_: AtomicType) -> bool:
    """Whether a column of the type can be partitioned by the transform."""
    try:
        result_type(transform, type_)
    except SpecError:
        return False
    return True


def _rules(draw: st.DrawFn, schema: Schema, fields: list[PartitionField]) -> tuple[Rule, ...]:
    kinds: list[Callable[[int], Rule]] = [KeepAll]
    if fields:
        field = draw(st.sampled_from(fields))
        source = schema.atomic(field.source_id)
        assert source is not None
        type_ = result_type(field.transform, source)
        members = draw(st.dictionaries(values(type_).map(_one_nan), st.text(max_size=5), max_size=4))
        kinds.append(lambda i: Groups(i, {field.field_id: members}, {field.field_id: type_}))
        below = draw(st.integers(0, 2**50))
        kinds.append(lambda i: BySize(i, (field.field_id,), draw(st.text(max_size=10)), below))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    return tuple(make(i) for i, make in enumerate(chosen))


_NAN = float("nan")


def _one_nan(value: Any) -> Any:
    """NaN is a member once, however many objects stand for it."""
    return _NAN if value != value else value


@st.composite
def _manifests(draw: st.DrawFn, specs: tuple[Spec, ...], schema: Schema) -> ManifestRef:
    spec = draw(st.sampled_from(specs))
    bounds: tuple[FieldBounds, ...] | None = None
    if draw(st.booleans()):
        bounds = tuple(draw(_bounds(field, schema)) for field in spec.fields if draw(st.booleans()))
    counts = st.integers(0, 2**40)
    return ManifestRef(
        path=f"_coalesce/manifests/{draw(st.uuids()).hex}.parquet",
        spec_id=spec.spec_id,
        files=draw(counts),
        rows=draw(counts),
        bytes=draw(counts),
        length=draw(counts),
        digest=f"sha256:{draw(st.binary(min_size=32, max_size=32)).hex()}",
        bounds=bounds,
        added_version=draw(st.integers(0, 9)),
        first_row_id=draw(counts),
    )


@st.composite
def _bounds(draw: st.DrawFn, field: PartitionField, schema: Schema) -> FieldBounds:
    source = schema.atomic(field.source_id)
    assert source is not None
    type_ = result_type(field.transform, source)
    some = draw(st.booleans())
    ends = sorted((draw(values(type_, nulls=False)) for _ in range(2)), key=partial(order_key, type_)) if some else None
    return FieldBounds(
        field_id=field.field_id,
        type=type_,
        lower=None if ends is None else ends[0],
        upper=None if ends is None else ends[1],
        has_null=draw(st.booleans()) or ends is None,
    )
