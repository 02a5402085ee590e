import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.errors import CorruptMetadata
from coalesce.manifest.manifest_file import decode_manifest, encode_manifest
from coalesce.manifest.paths import new_manifest_path
from coalesce.model.conversions import integer_range, scaled
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.entries import Entries, concatenate, from_files
from coalesce.model.marking import marked
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, PartitionField, Spec
from coalesce.model.transforms import Identity, result_type
from coalesce.model.types import (
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT8,
    INT16,
    INT32,
    INT64,
    PRIMITIVES,
    STRING,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    Value,
)
from coalesce.model.version import ManifestRef
from coalesce.storage.local import LocalStorage
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import ManifestCache, Manifests
from tests.builders import make_version, told
from tests.manifest.examples import TRANSFORMS, is_possible
from tests.manifest.test_paths import REFUSED
from tests.strategies import atomic_types, values
from tests.support.examples import examples

TYPES: list[AtomicType] = [
    *PRIMITIVES.values(),
    *(DecimalType(*p) for p in [(1, 0), (9, 2), (18, 18), (19, 4), (38, 38)]),
]
SCHEMA = Schema(
    (Field(id=1, name="dt", type=DATE), Field(id=2, name="app", type=STRING), Field(id=3, name="x", type=INT64))
)
SPEC = Spec(
    4,
    (
        PartitionField(field_id=1000, source_id=1, transform=Identity(), name="dt"),
        PartitionField(field_id=1001, source_id=2, transform=Identity(), name="app"),
    ),
)
FILES = [
    DataFile(
        path="data/w1/a.parquet",
        spec_id=4,
        rows=10,
        bytes=1000,
        rule_id=0,
        physical_key=(20_590, Group("[#small]")),
        tuples=((20_590, "[#small]"), (20_590, ""), (20_590, None), (20_590, "__HIVE_DEFAULT_PARTITION__")),
        tuple_rows=(4, 3, 2, 1),
        complete=True,
        statistics={3: ColumnStatistics(lower=-5, upper=7, null_count=0)},
    ),
    DataFile(
        path="data/w1/b.parquet",
        spec_id=4,
        rows=5,
        bytes=500,
        rule_id=1,
        physical_key=(None, "[#small]"),
        tuples=((None, "[#small]"),),
        tuple_rows=(5,),
        complete=True,
        first_row_id=77,
        added_version=2,
    ),
    DataFile(path="dt=x/c.parquet", spec_id=4, rows=0, bytes=0),
]


def written(entries: Entries, version: int = 3, first_row_id: int = 100) -> tuple[bytes, ManifestRef]:
    """A manifest's bytes, and the pointer a version has to it."""
    encoded = encode_manifest(entries)
    return encoded.data, encoded.ref(new_manifest_path(), version, first_row_id)


def example(files: Sequence[DataFile] = FILES) -> tuple[bytes, ManifestRef]:
    """The manifest that the tests below damage."""
    return written(from_files(files, SPEC, SCHEMA))


def forged(ref: ManifestRef, data: bytes) -> ManifestRef:
    """A pointer to other bytes that does not give them away."""
    return replace(ref, length=len(data), digest="sha256:" + hashlib.sha256(data).hexdigest())


def refused(data: bytes, ref: ManifestRef, spec: Spec = SPEC) -> CorruptMetadata:
    """The error of a manifest that is not taken."""
    with pytest.raises(CorruptMetadata) as caught:
        decode_manifest(data, ref, spec)
    assert caught.value.file == ref.path
    return caught.value


# --- there and back ----------------------------------------------------------------------------------------------


@st.composite
def specs_with_files(draw: st.DrawFn) -> tuple[Schema, Spec, list[DataFile]]:
    """Entries under a spec of any types and transforms, with anything missing that may be."""
    types = draw(st.lists(atomic_types(), max_size=3))
    schema = Schema(tuple(Field(id=i + 1, name=f"c{i}", type=t) for i, t in enumerate(types)))
    fields = []
    for i, type_ in enumerate(types):
        transform = draw(st.sampled_from([t for t in TRANSFORMS if is_possible(t, type_)]))
        fields.append(PartitionField(field_id=1000 + i, source_id=i + 1, transform=transform, name=f"p{i}"))
    spec = Spec(draw(st.integers(0, 99)), tuple(fields))
    results = spec.types(schema)
    one_tuple = st.tuples(*(values(t) for t in results))
    one_key = st.tuples(*(values(t) | st.builds(Group, st.text(max_size=9)) for t in results))
    files = []
    for i in range(draw(st.integers(1, 4))):
        tuples = draw(st.none() | st.lists(one_tuple, max_size=4).map(tuple))
        counts = st.none() | st.integers(-1, 2**40)
        files.append(
            DataFile(
                path=f"data/{draw(st.uuids()).hex}/{i}.parquet",
                spec_id=spec.spec_id,
                rows=draw(st.integers(0, 2**40)),
                bytes=draw(st.integers(0, 2**40)),
                rule_id=draw(st.none() | st.integers(0, 2**31 - 1)),
                physical_key=draw(st.none() | one_key),
                tuples=tuples,
                tuple_rows=None if tuples is None else tuple(draw(counts) for _ in tuples),
                complete=draw(st.booleans()),
                ordered=draw(st.booleans()),
                statistics=_statistics(draw, types),
                first_row_id=draw(st.none() | st.integers(0, 2**40)),
                added_version=draw(st.none() | st.integers(0, 2**40)),
            )
        )
    return schema, spec, files


def _statistics(draw: st.DrawFn, types: Sequence[AtomicType]) -> dict[int, ColumnStatistics]:
    counts = st.none() | st.integers(0, 2**40)
    found = {
        i + 1: ColumnStatistics(
            lower=draw(values(t)),
            upper=draw(values(t)),
            null_count=draw(counts),
            nan_count=draw(counts) if t in FLOATING else None,
        )
        for i, t in enumerate(types)
        if draw(st.booleans())
    }
    return {i: s for i, s in found.items() if s != ColumnStatistics()}


def unknown_is_none(file: DataFile) -> DataFile:
    """Counts that are all unknown are the same as none."""
    counts = file.tuple_rows
    nothing = counts is not None and len(counts) > 0 and all(n is None for n in counts)
    return replace(file, tuple_rows=None) if nothing else file


@settings(max_examples=examples(50), deadline=None)
@given(specs_with_files())
def test_any_entries_are_read_back_as_they_were(given_: tuple[Schema, Spec, list[DataFile]]) -> None:
    """Every type and transform, NULL, NaN, groups, and whatever is unknown; only the order is the manifest's own."""
    schema, spec, files = given_
    data, ref = written(from_files(files, spec, schema))
    found = {f.path: f for f in decode_manifest(data, ref, spec).files()}
    assert len(found) == len(files)
    for file in map(unknown_is_none, files):
        inherited = replace(
            file,
            first_row_id=found[file.path].first_row_id if file.first_row_id is None else file.first_row_id,
            added_version=3 if file.added_version is None else file.added_version,
        )
        assert told(found[file.path]) == told(inherited)


@settings(max_examples=examples(50), deadline=None)
@given(specs_with_files())
def test_who_wrote_a_manifest_holds_what_a_reader_finds(given_: tuple[Schema, Spec, list[DataFile]]) -> None:
    """The same entries in the same order, versions and row ids that are inherited, statistics that are read later."""
    schema, spec, files = given_
    encoded = encode_manifest(from_files(files, spec, schema))
    ref = encoded.ref(new_manifest_path(), 3, 100)
    held, read = encoded.entries(ref), decode_manifest(encoded.data, ref, spec)
    assert held is not None
    assert held.core.column_names == read.core.column_names
    assert [told(f) for f in held.files()] == [told(f) for f in read.files()]
    assert held.unread == read.unread
    assert encoded.without_core().entries(ref) is None


def test_who_marked_tuples_holds_what_a_reader_finds() -> None:
    """Dead tuples lie in the order of their places, and an entry that says so in order has them so."""
    files = [replace(FILES[0], ordered=True), FILES[1]]
    once = marked(from_files(files, SPEC, SCHEMA), np.array([False, True, False, False, False]), since=5)
    twice = marked(once, np.array([True, False, False, False]), since=6)
    for entries in (once, twice):
        encoded = encode_manifest(entries)
        ref = encoded.ref(new_manifest_path(), 3, 100)
        held, read = encoded.entries(ref), decode_manifest(encoded.data, ref, SPEC)
        assert held is not None
        assert [told(f) for f in held.files()] == [told(f) for f in read.files()]
        assert [d.since for f in read.files() for d in f.dead] == ([5] if entries is once else [6, 5])


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_every_type_keeps_its_extreme_values(type_: AtomicType) -> None:
    """As tuple, as physical key and as bound; Parquet's own types say enough to get them all back."""
    extremes: dict[str, list[Value]] = {
        "boolean": [True, False],
        "int8": [-(2**7), 2**7 - 1],
        "int16": [-(2**15), 2**15 - 1],
        "int32": [-(2**31), 2**31 - 1],
        "int64": [-(2**63), 2**63 - 1],
        "float": [-math.inf, math.inf, math.nan, -0.0, 2.0**-149],
        "double": [-math.inf, math.inf, math.nan, -0.0, 5e-324],
        "string": ["", "\0", "\U0010ffff", "🙂" * 1000],
        "binary": [b"", b"\0", b"\xff" * 1000],
        "date": [-(2**31), 2**31 - 1, -719_162],
        "timestamp": [-(2**63), 2**63 - 1],
        "timestamp_ntz": [-(2**63), 2**63 - 1],
    }
    if isinstance(type_, DecimalType):
        chosen: list[Value] = [scaled(type_, digits) for digits in (*integer_range(type_), 0)]
    else:
        chosen = extremes[type_.name]
    schema = Schema((Field(id=1, name="c", type=type_),))
    spec = Spec(0, (PartitionField(field_id=1000, source_id=1, transform=Identity(), name="c"),))
    files = [
        DataFile(
            path=f"{i}.parquet",
            spec_id=0,
            rows=1,
            bytes=1,
            physical_key=(value,),
            tuples=((value,), (None,)),
            statistics={1: ColumnStatistics(lower=value, upper=value, null_count=0)},
            first_row_id=0,
            added_version=0,
        )
        for i, value in enumerate([*chosen, None])
    ]
    data, ref = written(from_files(files, spec, schema))
    found = sorted(decode_manifest(data, ref, spec).files(), key=lambda f: f.path)
    assert [told(f) for f in found] == [told(f) for f in files]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_the_tuple_column_has_the_transform_s_type(transform: Any) -> None:
    """A bucket is an int32, a day a date, whatever the column itself is."""
    for type_ in TYPES:
        if is_possible(transform, type_):
            schema = Schema((Field(id=1, name="c", type=type_),))
            spec = Spec(0, (PartitionField(field_id=1000, source_id=1, transform=transform, name="p"),))
            data, ref = written(from_files([DataFile(path="a", spec_id=0, rows=1, bytes=1)], spec, schema))
            assert decode_manifest(data, ref, spec).tuple_type(1000) == result_type(transform, type_)


def test_four_values_that_look_alike_stay_four() -> None:
    """NULL, '', '[#small]' and '__HIVE_DEFAULT_PARTITION__', and the group of the same name is none of them."""
    data, ref = example()
    found = {f.path: f for f in decode_manifest(data, ref, SPEC).files()}
    assert found["data/w1/a.parquet"].tuples == FILES[0].tuples
    assert found["data/w1/a.parquet"].physical_key == (20_590, Group("[#small]"))
    assert found["data/w1/b.parquet"].physical_key == (None, "[#small]")
    assert found["dt=x/c.parquet"].physical_key is None


def test_entries_are_sorted_by_physical_key() -> None:
    """By key, field by field; then by first tuple; then by path. Equal tables give equal bytes."""
    keys: list[tuple[str, PhysicalKey, LogicalTuple]] = [
        ("f", (2, "b"), (2, "b")),
        ("e", (2, Group("g")), (2, "z")),
        ("d", (2, Group("g")), (2, "a")),
        ("c", (1, "b"), (1, "b")),
        ("b", (1, "a"), (1, "a")),
        ("a", (1, "a"), (1, "a")),
    ]
    files = [
        DataFile(path=path, spec_id=4, rows=1, bytes=1, physical_key=key, tuples=(tuple_,), complete=True)
        for path, key, tuple_ in keys
    ]
    data, ref = example(files)
    assert [f.path for f in decode_manifest(data, ref, SPEC).files()] == ["a", "b", "c", "d", "e", "f"]
    assert example(files[::-1])[0] == data


def test_what_an_entry_lacks_it_inherits_from_the_version() -> None:
    """The version that added it, and row ids counted through the entries in the order of the file."""
    files = [
        replace(FILES[0], path="a", first_row_id=None, added_version=None, rows=10, physical_key=(1, "a")),
        replace(FILES[0], path="b", first_row_id=7, added_version=2, rows=5, physical_key=(2, "a")),
        replace(FILES[0], path="c", first_row_id=None, added_version=None, rows=3, physical_key=(3, "a")),
    ]
    encoded = encode_manifest(from_files(files, SPEC, SCHEMA))
    assert encoded.rows_without_id == 13
    found = decode_manifest(encoded.data, encoded.ref(new_manifest_path(), 9, 1000), SPEC).files()
    assert [(f.path, f.first_row_id, f.added_version) for f in found] == [("a", 1000, 9), ("b", 7, 2), ("c", 1010, 9)]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        (INT8, INT16, -5),
        (INT16, INT32, -5),
        (INT32, INT64, 2**31 - 1),
        (FLOAT, DOUBLE, 0.5),
        (DecimalType(5, 2), DecimalType(20, 2), Decimal("1.25")),
        (DATE, TIMESTAMP_NTZ, 0),
    ],
    ids=str,
)
def test_manifests_from_before_and_after_a_widening_become_one(old: AtomicType, new: AtomicType, value: Value) -> None:
    """Merging takes the wider type for tuples, keys and bounds alike."""
    spec = Spec(0, (PartitionField(field_id=1000, source_id=1, transform=Identity(), name="c"),))
    parts = []
    for path, type_ in (("a", old), ("b", new)):
        file = DataFile(
            path=path,
            spec_id=0,
            rows=1,
            bytes=1,
            physical_key=(value,),
            tuples=((value,),),
            tuple_rows=(1,),
            complete=True,
            statistics={1: ColumnStatistics(lower=value, upper=value, null_count=0)},
            first_row_id=0,
            added_version=0,
        )
        parts.append(from_files([file], spec, Schema((Field(id=1, name="c", type=type_),))))
    data, ref = written(concatenate(parts))
    merged = decode_manifest(data, ref, spec)
    assert merged.tuple_type(1000) == new
    assert [(f.tuples, f.physical_key, f.statistics[1].upper) for f in merged.files()] == [
        (((value,),), (value,), value)
    ] * 2


# --- bounds ------------------------------------------------------------------------------------------------------


def test_bounds_cover_every_tuple() -> None:
    """The least and the greatest value of each field over all entries, and whether one is NULL."""
    _, ref = example([FILES[0], FILES[1]])
    assert ref.bounds is not None
    dt, app = ref.bounds
    assert (dt.lower, dt.upper, dt.has_null, dt.type) == (20_590, 20_590, True, DATE)
    assert (app.lower, app.upper, app.has_null, app.type) == ("", "__HIVE_DEFAULT_PARTITION__", True, STRING)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", "", None])), min_size=1, unique=True),
        min_size=1,
        max_size=4,
    )
)
def test_a_field_of_which_each_file_has_one_value(tuples_of_files: list[list[LogicalTuple]]) -> None:
    """`constant` says so exactly: of all files together, however many tuples each has."""
    files = [
        DataFile(path=f"{n}", spec_id=4, rows=len(t), bytes=1, tuples=tuple(t), tuple_rows=(1,) * len(t), complete=True)
        for n, t in enumerate(tuples_of_files)
    ]
    bounds = example(files)[1].bounds or ()
    assert [b.constant for b in bounds] == [
        all(len({t[position] for t in tuples}) == 1 for tuples in tuples_of_files) for position in range(2)
    ]


@pytest.mark.parametrize(
    "unknown",
    [
        DataFile(path="x", spec_id=4, rows=1, bytes=1),
        DataFile(path="x", spec_id=4, rows=1, bytes=1, complete=True),
        DataFile(path="x", spec_id=4, rows=1, bytes=1, complete=True, tuples=()),
        DataFile(path="x", spec_id=4, rows=1, bytes=1, tuples=((1, "a"),), tuple_rows=(1,)),
        DataFile(path="x", spec_id=4, rows=9, bytes=1, tuples=((1, "a"),), tuple_rows=(1,), complete=True),
        DataFile(path="x", spec_id=4, rows=1, bytes=1, tuples=((1, "a"), (1, "b")), tuple_rows=(2, -1), complete=True),
    ],
    ids=["nothing", "no list", "empty list", "incomplete", "counts do not add up", "negative count"],
)
def test_one_entry_with_unknown_tuples_leaves_the_manifest_without_bounds(unknown: DataFile) -> None:
    """Missing, incomplete and contradictory are all unknown, and a bound must never be narrower than the truth."""
    assert example([FILES[0], unknown])[1].bounds is None


def test_bounds_of_floats_and_of_long_strings() -> None:
    """NaN is the greatest value; a bound that would bloat every later version is left out."""
    schema = Schema((Field(id=1, name="f", type=DOUBLE), Field(id=2, name="s", type=STRING)))
    spec = Spec(
        0,
        (
            PartitionField(field_id=1000, source_id=1, transform=Identity(), name="f"),
            PartitionField(field_id=1001, source_id=2, transform=Identity(), name="s"),
        ),
    )
    tuples = ((math.nan, "a"), (1.5, "b" * 1000), (None, None))
    file = DataFile(path="a", spec_id=0, rows=3, bytes=1, tuples=tuples, tuple_rows=(1, 1, 1), complete=True)
    (bounds,) = written(from_files([file], spec, schema))[1].bounds or ()
    assert bounds.field_id == 1000
    assert (bounds.lower, bounds.has_null) == (1.5, True)
    assert math.isnan(bounds.upper)  # type: ignore[arg-type]
    assert bounds.constant is False


# --- damage ------------------------------------------------------------------------------------------------------


def test_every_flipped_byte_is_noticed() -> None:
    """At every position of the file: an error that names it."""
    data, ref = example()
    for position in range(len(data)):
        refused(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :], ref)


def test_every_truncation_is_noticed() -> None:
    """The length alone gives it away."""
    data, ref = example()
    for length in range(len(data)):
        assert "bytes, not the" in refused(data[:length], ref).reason


@pytest.mark.parametrize("cut", [0, 1, 100, -1, -9])
def test_what_is_not_parquet_is_refused(cut: int) -> None:
    """Also when the digest is right, because somebody damaged the file before it was committed."""
    data, ref = example()
    assert "not a readable Parquet file" in refused(data[:cut], forged(ref, data[:cut])).reason


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    """The version names it, so that it is not there is damage."""
    _, ref = example()
    version = replace(make_version(SCHEMA), specs=(SPEC,), current_spec_id=4)
    storage = LocalStorage(tmp_path)
    Log(storage).create(version)
    with pytest.raises(CorruptMetadata, match="missing although version 0 names it") as caught:
        Manifests(storage, ManifestCache()).load(ref, version)
    assert caught.value.file == ref.path


# --- forgeries ---------------------------------------------------------------------------------------------------


METADATA = {"coalesce.format_version": "1", "coalesce.spec_id": "4"}


def forge(table: pa.Table, ref: ManifestRef, metadata: dict[str, str] | None = None) -> tuple[bytes, ManifestRef]:
    """Another table in place of the manifest, with everything the version says of it made to fit."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(METADATA if metadata is None else metadata)
    return sink.getvalue(), forged(ref, sink.getvalue())


def columns() -> tuple[pa.Table, ManifestRef]:
    """The example's columns as they are in the file."""
    data, ref = example()
    return pq.read_table(io.BytesIO(data)), ref


def with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    """The table with one column replaced."""
    return table.set_column(table.column_names.index(name), name, column)


def test_an_honest_forgery_is_taken() -> None:
    """Another program's Parquet, compression and pages do not matter, nor do columns nobody knows."""
    table, ref = columns()
    data, ref = forge(table.append_column("new in 2030", pa.nulls(3, pa.int32())), ref)
    assert len(decode_manifest(data, ref, SPEC)) == 3


@pytest.mark.parametrize("path", REFUSED)
def test_a_manifest_that_names_a_file_elsewhere_is_refused(path: str) -> None:
    """Another table's file, the machine's own, or this table's metadata: the whole manifest is not trusted."""
    table, ref = columns()
    data, ref = forge(with_column(table, "path", pa.array(["data/a", path, "data/b"])), ref)
    assert repr(path) in refused(data, ref).reason


def test_two_entries_of_one_file_are_refused() -> None:
    """Its rows would count twice. A writer does not write it either."""
    table, ref = columns()
    data, ref = forge(with_column(table, "path", pa.array(["data/a", "data/b", "data/a"])), ref)
    assert refused(data, ref).reason == "two entries name the same file."
    with pytest.raises(CorruptMetadata, match="two entries name the same file"):
        example([FILES[0], FILES[0]])


@pytest.mark.parametrize("spec_id", ["5", "", "04", None])
def test_a_manifest_of_another_spec_is_refused(spec_id: str | None) -> None:
    """Its tuples would be read as other columns' values."""
    table, ref = columns()
    metadata = {k: v for k, v in (METADATA | {"coalesce.spec_id": spec_id or ""}).items() if spec_id is not None or v}
    data, ref = forge(table, ref, metadata)
    assert "not a manifest of spec 4" in refused(data, ref).reason


def test_a_manifest_of_another_format_version_is_refused() -> None:
    """A version file of format 1 names manifests of format 1."""
    table, ref = columns()
    data, ref = forge(table, ref, METADATA | {"coalesce.format_version": "2"})
    assert "format version 1" in refused(data, ref).reason


def test_a_spec_with_other_fields_is_refused() -> None:
    """The members of the tuples are those of the spec's fields."""
    data, ref = example()
    fewer = Spec(4, SPEC.fields[:1])
    assert refused(data, ref, fewer).where == "tuples"


CORE = [
    "path",
    "rows",
    "bytes",
    "rule_id",
    "physical_known",
    "physical_group_1000",
    "physical_value_1000",
    "physical_group_1001",
    "physical_value_1001",
    "tuples",
    "complete",
    "first_row_id",
    "added_version",
]


@pytest.mark.parametrize("name", CORE)
def test_a_column_that_is_missing_or_of_another_type_is_named(name: str) -> None:
    """Every column but statistics has to be there."""
    table, ref = columns()
    assert name in table.column_names
    data, without = forge(table.drop_columns([name]), ref)
    assert refused(data, without).where == name
    other = pa.array([1.5] * 3) if table.schema.field(name).type != pa.float64() else pa.array(["a"] * 3)
    data, changed = forge(with_column(table, name, other), ref)
    assert refused(data, changed).where == name


@pytest.mark.parametrize("name", ["path", "tuples", "lower_3", "new in 2030"])
def test_two_columns_of_one_name_are_refused(name: str) -> None:
    """Nobody can say which of them is meant; statistics are looked at as well, and what a newer release may add."""
    table, ref = columns()
    if name not in table.column_names:
        table = table.append_column(name, pa.nulls(3, pa.int32()))
    data, forged_ref = forge(table.append_column(name, table.column(name)), ref)
    assert refused(data, forged_ref).reason == f"two of its columns are called {name!r}."
    assert refused(data, forged_ref).where == name


def test_two_members_of_one_name_are_refused() -> None:
    """Likewise inside a tuple."""
    table, ref = columns()
    members = [pa.field(name, type_) for name, type_ in [("f1000", pa.date32()), ("f1001", pa.string())] * 2]
    tuples = pa.array([[]] * 3, pa.list_(pa.struct([*members, pa.field("rows", pa.int64())])))
    data, ref = forge(with_column(table, "tuples", tuples), ref)
    assert refused(data, ref).where == "tuples"


@pytest.mark.parametrize("type_", [pa.list_(pa.int32()), pa.struct([("a", pa.int32())]), pa.time64("us")], ids=str)
def test_a_tuple_of_something_else_is_refused(type_: pa.DataType) -> None:
    """A partition field has one of the atomic types."""
    table, ref = columns()
    tuples = pa.array([[]] * 3, pa.list_(pa.struct([("f1000", pa.date32()), ("f1001", type_), ("rows", pa.int64())])))
    data, ref = forge(with_column(table, "tuples", tuples), ref)
    assert refused(data, ref).where == "tuples.f1001"


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("path", pa.array(["a", None, "b"]), "an entry has no path."),
        ("rows", pa.array([1, None, 1]), "an entry has no rows."),
        ("bytes", pa.array([1, None, 1]), "an entry has no bytes."),
        ("rows", pa.array([20, -10, 5]), "an entry has negative rows."),
        ("bytes", pa.array([2000, -1000, 500]), "an entry has negative bytes."),
    ],
)
def test_what_every_entry_has_is_not_null_or_negative(name: str, column: pa.Array, reason: str) -> None:
    """Path, rows and bytes are the only things that are never unknown."""
    table, ref = columns()
    data, ref = forge(with_column(table, name, column), ref)
    assert refused(data, ref).reason == reason


@pytest.mark.parametrize("wrong", [{"files": 4}, {"rows": 16}, {"bytes": 1501}], ids=str)
def test_sums_that_the_version_does_not_confirm_are_refused(wrong: dict[str, int]) -> None:
    """Counts are answered from these sums, so they have to be right."""
    data, ref = example()
    assert "and the version says" in refused(data, replace(ref, **wrong)).reason  # type: ignore[arg-type]


def test_a_tuple_that_is_null_is_refused() -> None:
    """A tuple of NULLs is something; no tuple is nothing a list can hold."""
    table, ref = columns()
    tuples = pa.array([[None], None, None], table.schema.field("tuples").type)
    data, ref = forge(with_column(table, "tuples", tuples), ref)
    assert refused(data, ref).where == "tuples"


def test_text_that_is_not_utf8_is_refused() -> None:
    """Not with a UnicodeDecodeError where somebody first looks at the path."""
    table, ref = columns()
    path = pa.array([b"a", b"\xff\xfe", b"b"]).view(pa.string())
    data, ref = forge(with_column(table, "path", path), ref)
    assert "UTF" in refused(data, ref).reason.upper()


def test_flags_that_are_missing_claim_nothing() -> None:
    """A NULL in `complete` or `physical_known` is false: the tuples and the key are unknown."""
    table, ref = columns()
    for flag in ("complete", "physical_known"):
        table = with_column(table, flag, pa.nulls(3, pa.bool_()))
    data, ref = forge(table, ref)
    found = decode_manifest(data, ref, SPEC).files()
    assert [(f.complete, f.physical_key) for f in found] == [(False, None)] * 3


def test_the_order_of_rows_is_only_there_if_it_is_known() -> None:
    """An older reader gets no column that nothing is in; a NULL is unknown, and another type is refused."""
    table, ref = columns()
    assert "ordered" not in table.column_names
    data, said = forge(table.append_column("ordered", pa.array([None, True, False])), ref)
    found = decode_manifest(data, said, SPEC)
    assert [f.ordered for f in found.files()] == [False, True, False]
    assert "ordered" in pq.read_schema(io.BytesIO(encode_manifest(found).data)).names
    assert "ordered" not in pq.read_schema(io.BytesIO(encode_manifest(found.take(np.array([0, 2]))).data)).names
    data, said = forge(table.append_column("ordered", pa.array(["true"] * 3)), ref)
    assert refused(data, said).where == "ordered"


# --- statistics are read when wanted -----------------------------------------------------------------------------


def test_statistics_are_loaded_by_name() -> None:
    """A column of them that is not there is None, not an error."""
    data, ref = example()
    entries = decode_manifest(data, ref, SPEC)
    lower = entries.statistic("lower_3")
    assert lower is not None
    assert sorted(lower.to_pylist(), key=str) == [-5, None, None]
    assert entries.statistic("lower_99") is None
    assert entries.files(np.array([0]))[0].path in {f.path for f in FILES}
