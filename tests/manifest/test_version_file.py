import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from coalesce.errors import CoalesceError, CorruptMetadata, UnsupportedFeature
from coalesce.manifest.parts import Parts
from coalesce.manifest.version_file import decode_version, digest_of, encode_version
from coalesce.model.rule import Groups, group
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    StructType,
    Value,
)
from coalesce.model.version import Version
from tests.builders import make_version
from tests.manifest.examples import EVERYTHING, document_of, signed, versions
from tests.support.examples import examples

FILE = "_coalesce/versions/00000000000000000007.json"

Document = dict[str, Any]


# --- there and back ----------------------------------------------------------------------------------------------


@settings(max_examples=examples(50), deadline=None)
@given(versions())
def test_any_version_is_read_back_as_it_was(version: Version) -> None:
    """Whatever the schema, specs, rules, bounds and names: nothing changes, not a bit of a float."""
    data = encode_version(version)
    decoded = decode_version(data, version.number)
    assert encode_version(decoded) == data
    if b'"NaN"' not in data:  # which is not equal to itself
        assert decoded == version


def test_what_says_nothing_is_not_written() -> None:
    """A table without tags, of which nothing has expired, has the file that earlier releases wrote."""
    plain = json.loads(encode_version(replace(EVERYTHING, retained_from=0, tags={})))
    assert {"retained_from", "tags"}.isdisjoint(plain)
    assert {"retained_from", "tags"} <= set(json.loads(encode_version(EVERYTHING)))


def test_a_version_with_everything_in_it_is_read_back() -> None:
    """The example that the tests below damage is sound, and its file is one line of JSON."""
    data = encode_version(EVERYTHING)
    assert encode_version(decode_version(data, 7)) == data
    assert data.count(b"\n") == 1
    assert json.loads(data)["digest"] == f"sha256:{digest_of(data).decode()}"


# --- damage ------------------------------------------------------------------------------------------------------


def is_refused(data: bytes) -> None:
    """The data is an error that names the file."""
    with pytest.raises(CoalesceError) as caught:
        decode_version(data, 7)
    assert FILE in str(caught.value)


def test_every_flipped_bit_is_noticed() -> None:
    """Each of the eight bits at every position: an error that names the file, never another table."""
    data = encode_version(EVERYTHING)
    for position in range(len(data)):
        for bit in range(8):
            is_refused(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :])


def test_every_truncation_is_noticed() -> None:
    """A file that ends anywhere before its end is refused, the empty one too."""
    data = encode_version(EVERYTHING)
    for length in range(len(data)):
        is_refused(data[:length])


@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: data + data,
        lambda data: data + b"\n",
        lambda data: b"\n" + data,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data[1:],
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.decode().encode("utf-16"),
        lambda data: encode_version(replace(EVERYTHING, number=6)) + data,
    ],
    ids=["twice", "longer", "shifted", "bom", "beheaded", "crlf", "utf-16", "after another"],
)
def test_other_damage_is_noticed(damaged: Callable[[bytes], bytes]) -> None:
    """What editors, transfers and appending programs do to files."""
    is_refused(damaged(encode_version(EVERYTHING)))


def test_a_file_under_another_number_is_refused() -> None:
    """A version that was copied or renamed to another number is not that version."""
    with pytest.raises(CorruptMetadata, match=r"00000000000000000008\.json at version: the file says it is version 7"):
        decode_version(encode_version(EVERYTHING), 8)


# --- forged documents: the digest is right, the content is not ---------------------------------------------------


def wrong(document: Document | str) -> CorruptMetadata:
    """The error of a signed document, which is the same after a sound one was read."""
    with pytest.raises(CorruptMetadata) as caught:
        decode_version(signed(document), 7)
    assert caught.value.file == FILE
    decode_version(encode_version(EVERYTHING), 7, parts := Parts())
    with pytest.raises(CorruptMetadata) as again:
        decode_version(signed(document), 7, Parts(parts))
    assert str(again.value) == str(caught.value)
    return caught.value


def test_a_member_twice_is_refused() -> None:
    """Which of two values counts differs between JSON readers, so neither does; at any depth."""
    text = json.dumps(document_of(EVERYTHING))
    assert "'operation' is there twice" in wrong(text.replace('"operation":', '"operation": "x", "operation":')).reason
    assert "'rows' is there twice" in wrong(text.replace('"rows":', '"rows": 0, "rows":')).reason


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "12345678901234567890.5", "1" * 5000])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    """JSON has no NaN, and a count is an integer of sane length."""
    text = json.dumps(document_of(EVERYTHING))
    wrong(text.replace('"timestamp_ms": 1794000000123', f'"timestamp_ms": {number}'))


@pytest.mark.parametrize("text", ["[]", "{", "nonsense}", "[" * 100_000 + "}"], ids=["list", "open", "text", "deep"])
def test_what_is_not_an_object_is_refused(text: str) -> None:
    """A right digest over something else."""
    wrong(text)


@pytest.mark.parametrize("depth", [400, 500, 700, 1000, 20_000])
def test_types_nested_too_deeply_are_refused(depth: int) -> None:
    """Not with a RecursionError, wherever in reading the document the depth is too much."""
    element = '{"kind":"list","element":{"id":%d,"name":"element","physical_name":"e","required":false,"type":'
    nested = "".join(element % (100 + i) for i in range(depth)) + '"int64"' + "}}" * depth
    wrong(json.dumps(document_of(EVERYTHING)).replace('"date"', nested, 1))


def test_half_a_surrogate_pair_is_refused() -> None:
    """An escape can name what no UTF-8 file can hold."""
    document = document_of(EVERYTHING)
    text = json.dumps(document).replace('"stream-1"', '"stream-1"').replace('"append"', r'"\ud800"')
    assert wrong(text).where == "operation"


Path = tuple[str | int, ...]
OPTIONAL = {"parent_commit_id", "default", "bounds", "lower", "upper", "retained_from", "tags"}
FREE = {"summary", "properties", "applied", "tags"}  # their members' names are not the format's


def members(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every member and element of a document."""
    if isinstance(value, dict):
        for key in value:
            yield (*path, key)
            yield from members(value[key], (*path, key))
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            yield (*path, i)
            yield from members(inside, (*path, i))


def place(path: Path) -> str:
    """A path as errors show it."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).removeprefix(".")


def parent_of(document: Document, path: Path) -> Any:
    """What holds the last part of the path."""
    inside: Any = document
    for part in path[:-1]:
        inside = inside[part]
    return inside


ALL_MEMBERS = list(members(document_of(EVERYTHING)))
REQUIRED = [
    p for p in ALL_MEMBERS if isinstance(p[-1], str) and p[-1] not in OPTIONAL and (len(p) == 1 or p[-2] not in FREE)
]


@pytest.mark.parametrize("path", REQUIRED, ids=place)
def test_a_missing_member_is_named(path: Path) -> None:
    """Every required member, at every depth: the error says which one is missing."""
    document = document_of(EVERYTHING)
    del parent_of(document, path)[path[-1]]
    error = wrong(document)
    assert (error.where, error.reason) == (place(path), "it is missing.")
    assert str(error) == f"{FILE} at {place(path)}: it is missing."


WRONG_TYPES: list[Any] = [None, True, -1, 1.5, "", "x", [], {}, [{}], [[]], {"a": []}]


@pytest.mark.parametrize("path", ALL_MEMBERS, ids=place)
def test_a_value_of_the_wrong_type_is_named(path: Path) -> None:
    """Every member and element, replaced by values of other types: the error leads to it, or into what replaced it."""
    original = document_of(EVERYTHING)
    here = parent_of(original, path)[path[-1]]
    for value in WRONG_TYPES if here is not None else []:
        if _kind(value) == _kind(here) or (value is None and path[-1] in OPTIONAL) or _is_fine(path, value):
            continue
        document = deepcopy(original)
        parent_of(document, path)[path[-1]] = value
        assert wrong(document).where.startswith(place(path)), f"{place(path)} = {value!r}"


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "list" if not value or value[0] not in ({}, []) else "list of nonsense"
    return type(value).__name__


def _is_fine(path: Path, value: Any) -> bool:
    """Where another type happens to be a legal value."""
    if path[-2:-1] == ("summary",):
        return isinstance(value, int | str) and not isinstance(value, bool)
    if path[-2:-1] == ("values",):  # a member of a group: NULL, days or a float
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    if path[-1] in ("lower", "upper"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return path[-1] in FREE | {"reader_features", "writer_features"} and value in ([], {})


def change(*path: str | int, to: Any) -> Callable[[Document], None]:
    """A change of one member."""

    def apply(document: Document) -> None:
        parent_of(document, path)[path[-1]] = to

    return apply


def again(*path: str | int) -> Callable[[Document], None]:
    """The first element of a list a second time, at its end."""

    def apply(document: Document) -> None:
        listed = parent_of(document, (*path, 0))
        listed.append(deepcopy(listed[0]))

    return apply


FIELD = ("schema", "fields")
MANIFEST = ("manifests", 0)
OTHER = ("manifests", 2, "bounds")


@pytest.mark.parametrize(
    ("forge", "where"),
    [
        (change("format_version", to=0), "format_version"),
        (change("version", to=8), "version"),
        (change("current_spec_id", to=5), "current_spec_id"),
        (change("timestamp_ms", to=10**20), "timestamp_ms"),
        (change("timestamp_ms", to=253_402_300_800_000), "timestamp_ms"),
        (change("timestamp_ms", to=-62_135_596_800_001), "timestamp_ms"),
        (change("applied", "stream-1", to=2**70), "applied.stream-1"),
        (change("applied", "stream-1", to=-5), "applied.stream-1"),
        (change("retained_from", to=8), "retained_from"),
        (change("tags", "audit-2026", to=8), "tags"),
        (change("tags", "audit-2026", to=-1), "tags.audit-2026"),
        (change("next_row_id", to=2**63), "next_row_id"),
        (change("summary", to={"rows_added": 2**64}), "summary.rows_added"),
        (change("current_rule_id", to=5), "current_rule_id"),
        (again("specs"), "specs[2].spec_id"),
        (again("rules"), "rules[3].rule_id"),
        (again("manifests"), "manifests[3].path"),
        (change("specs", 1, "fields", 0, "source_id", to=2), "specs[1].fields[0].field_id"),
        (change("specs", 1, "fields", 0, "transform", to="day"), "specs[1].fields[0].field_id"),
        (change("specs", 1, "fields", 1, "transform", to="year"), "specs[1].fields[1].transform"),
        (change("specs", 1, "fields", 1, "transform", to="bucket[0]"), "specs[1].fields[1].transform"),
        (change("specs", 1, "fields", 1, "transform", to="cube"), "specs[1].fields[1].transform"),
        (
            change("rules", 2, "fields", 0, "groups", 0, "values", to=[1, 2, 1]),
            "rules[2].fields[0].groups[0].values[2]",
        ),
        (change("rules", 2, "fields", 0, "type", to="struct"), "rules[2].fields[0].type"),
        (change(*FIELD, 0, "id", to=0), "schema.fields[0].id"),
        (change(*FIELD, 0, "id", to=2147483540), "schema.fields[0].id"),
        (change(*FIELD, 0, "type", to="decimal(39,0)"), "schema.fields[0].type"),
        (change(*FIELD, 3, "type", "kind", to="set"), "schema.fields[3].type.kind"),
        (change(*FIELD, 3, "default", to=1), "schema.fields[3].default"),
        (change(*FIELD, 2, "default", to="0.505"), "schema.fields[2].default"),
        (change(*FIELD, 2, "default", to="0.5"), "schema.fields[2].default"),
        (change(*FIELD, 0, "physical_name", to=""), "schema.fields[0].physical_name"),
        (change(*FIELD, 0, "name", to="APP"), ""),
        (change(*FIELD, 0, "name", to=""), ""),
        (change(*FIELD, 0, "physical_name", to="C-2"), ""),
        (change(*FIELD, 0, "id", to=9), ""),
        (change("max_column_id", to=11), "max_column_id"),
        (change(*MANIFEST, "spec_id", to=5), "manifests[0].spec_id"),
        (change(*MANIFEST, "spec_id", to=1), None),
        (change(*MANIFEST, "added_version", to=8), "manifests[0].added_version"),
        (change(*MANIFEST, "first_row_id", to=1021), "manifests[0].first_row_id"),
        (change(*MANIFEST, "digest", to="sha256:" + "AB" * 32), "manifests[0].digest"),
        (change(*MANIFEST, "digest", to="md5:" + "ab" * 16), "manifests[0].digest"),
        (change(*OTHER, 1, "lower", to=None), "manifests[2].bounds[1]"),
        (change(*OTHER, 1, "lower", to=64), "manifests[2].bounds[1]"),
        (change(*OTHER, 0, "has_null", to=False), "manifests[2].bounds[0]"),
        (change(*OTHER, 1, "field_id", to=1000), "manifests[2].bounds[1].field_id"),
        (change(*MANIFEST, "bounds", 0, "field_id", to=1001), "manifests[0].bounds"),
        (change(*OTHER, 2, "lower", to=0.1), "manifests[2].bounds[2].lower"),
        (change(*OTHER, 2, "lower", to="nan"), "manifests[2].bounds[2].lower"),
        (change(*OTHER, 1, "upper", to=2**31), "manifests[2].bounds[1].upper"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(forge: Callable[[Document], None], where: str | None) -> None:
    """Ids that stand for nothing or for two things, values that are none, and sums that cannot be."""
    document = document_of(EVERYTHING)
    forge(document)
    if where is None:  # harmless: the manifest itself says which spec it is of
        decode_version(signed(document), 7)
    else:
        assert wrong(document).where == where


@pytest.mark.parametrize(
    "path",
    [
        "_coalesce/manifests/../../etc/passwd",
        "/etc/passwd",
        "../other/_coalesce/manifests/a.parquet",
        "s3://bucket/_coalesce/manifests/a.parquet",
        "_coalesce/manifests/a/b.parquet",
        "_coalesce/manifests/",
        "_coalesce/manifests/.parquet",
        "_coalesce/manifests/..parquet",
        "_coalesce/manifests/a.json",
        "_coalesce/manifests/a.parquet\n",
        "_coalesce/versions/a.parquet",
        "data/a.parquet",
        "a.parquet",
        "",
    ],
)
def test_a_manifest_somewhere_else_is_refused(path: str) -> None:
    """A version cannot point out of its own directory of manifests."""
    document = document_of(EVERYTHING)
    document["manifests"][0]["path"] = path
    assert wrong(document).where == "manifests[0].path"


# --- what other releases write -----------------------------------------------------------------------------------


def test_a_format_version_from_the_future_is_refused_by_number() -> None:
    """Before anything else is looked at: the rest may be in any form by then."""
    with pytest.raises(UnsupportedFeature, match=r"0007\.json is in format version 2.*upgrade"):
        decode_version(signed({"format_version": 2, "schema": "a poem"}), 7)


def test_an_unknown_reader_feature_is_refused_by_name() -> None:
    """Also if the feature made something else unreadable: the reason is the feature, not damage."""
    document = document_of(EVERYTHING)
    document["reader_features"] = ["logicalPartitions", "quantumPages", "deletionVectors"]
    document["rules"][0]["kind"] = "by_moon"
    with pytest.raises(UnsupportedFeature, match=r"0007\.json needs deletionVectors, quantumPages"):
        decode_version(signed(document), 7)


def test_an_unknown_writer_feature_is_readable_but_not_writable() -> None:
    """Readers need not know it; a writer that does not is refused by name."""
    document = document_of(EVERYTHING)
    document["writer_features"].append("rowFilters")
    version = decode_version(signed(document), 7)
    with pytest.raises(UnsupportedFeature, match=r"version 7 uses rowFilters"):
        version.check_writable()


@pytest.mark.parametrize("kind", ["by_moon", ""])
def test_an_unknown_kind_of_rule_is_readable_but_not_writable(kind: str) -> None:
    """Nothing is pruned by a rule, so a reader needs none; a writer could not route rows by it."""
    document = document_of(EVERYTHING)
    document["rules"][0] = {"rule_id": document["rules"][0]["rule_id"], "kind": kind, "phases": [1, 2]}
    version = decode_version(signed(document), 7)
    with pytest.raises(UnsupportedFeature, match=f"rule of kind '{kind}'; upgrade"):
        version.check_writable()


@pytest.mark.parametrize("timestamp_ms", [-62_135_596_800_000, -1, 253_402_300_799_999])
def test_every_moment_that_is_read_can_be_shown(timestamp_ms: int) -> None:
    """The first and the last that a version may have been committed at."""
    document = document_of(EVERYTHING)
    document["timestamp_ms"] = timestamp_ms
    version = decode_version(signed(document), 7)
    assert version.committed.timestamp() == pytest.approx(timestamp_ms / 1000)


def test_unknown_members_are_ignored() -> None:
    """A later release may say more without breaking this one, anywhere in the document."""
    document = document_of(EVERYTHING)
    for path in [(), ("schema",), ("schema", "fields", 0), ("specs", 0), ("rules", 1), ("manifests", 0)]:
        parent_of(document, (*path, ""))["new in 2030"] = {"a": [1]}
    assert encode_version(decode_version(signed(document), 7)) == encode_version(EVERYTHING)


def test_a_document_in_another_order_is_the_same_version() -> None:
    """Order, spaces and escapes are free; only the digest has its place."""
    document = dict(reversed(document_of(EVERYTHING).items()))
    text = json.dumps(document, indent=2)
    assert encode_version(decode_version(signed(text), 7)) == encode_version(EVERYTHING)


# --- what cannot be written --------------------------------------------------------------------------------------


def test_comments_survive() -> None:
    """Comments of fields at every level are kept, the empty one too; one that is no text is refused."""
    member = Field(id=21, name="a", type=INT64, comment="")
    column = Field(id=20, name="s", type=StructType((member,)), comment="über alles")
    version = replace(make_version(EVERYTHING.schema), schema=Schema((column,)), max_column_id=21)
    (decoded,) = decode_version(encode_version(version), 0).schema
    assert decoded.comment == "über alles"
    assert isinstance(decoded.type, StructType)
    assert decoded.type.fields[0].comment == ""
    document = document_of(EVERYTHING)
    document["schema"]["fields"][0]["comment"] = 7
    assert wrong(document).where == "schema.fields[0].comment"


def test_a_default_inside_a_list_survives() -> None:
    """Defaults of fields at every level are kept."""
    version = make_version(EVERYTHING.schema)
    element = Field(id=21, name="element", type=INT64, default=-(2**63))
    column = Field(id=20, name="numbers", type=ListType(element))
    version = replace(version, schema=replace(version.schema, fields=(column,)), max_column_id=21)
    decoded = decode_version(encode_version(version), 0)
    assert decoded.schema.fields[0].type == ListType(element)


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        (INT64, 0),
        (DOUBLE, 0.0),
        (DOUBLE, -0.0),
        (STRING, ""),
        (BINARY, b""),
        (BOOLEAN, False),
        (DATE, 0),
        (DecimalType(9, 2), Decimal("0.00")),
    ],
)
def test_a_default_that_python_takes_for_nothing_is_a_default(type_: AtomicType, default: Value) -> None:
    """0, '', False and 0.0 are values; only NULL is none."""
    field = Field(id=20, name="added", type=type_, default=default)
    version = replace(EVERYTHING, schema=Schema((*EVERYTHING.schema, field)), max_column_id=20)
    read = decode_version(encode_version(version), version.number).schema.field("added")
    assert (read.default, repr(read.default)) == (default, repr(default))


def test_null_is_a_member_of_its_group() -> None:
    """A rule that puts NULL into a group does so for whoever reads it."""
    version = make_version(EVERYTHING.schema, ["app"], group("app", {"[#small]": [None, "a"], "[#rest]": [""]}))
    (rule,) = decode_version(encode_version(version), 0).rules
    assert isinstance(rule, Groups)
    assert list(rule.members.values()) == [{None: "[#small]", "a": "[#small]", "": "[#rest]"}]
